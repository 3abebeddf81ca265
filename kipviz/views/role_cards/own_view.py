"""A reader's own view: a plain function from a world to rows, or to a picture, that becomes a card.

The function is called twice at each step, so that state, random numbers and the order of a set are noticed. An error in
it is shown as one sentence on its card; the rest of the page does not depend on it. No part of a function is written
into a link or a file.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import TypeAlias

from kipviz.cluster.world import World
from kipviz.core.outside.printable import sentence
from kipviz.core.outside.purity import (
    ANY_ORDER,
    LINES_MAX,
    Printed,
    TooLong,
    ask_once,
    in_any_order,
)
from kipviz.core.outside.suggestions import nearest
from kipviz.views.role_cards.card_rows import Card
from kipviz.views.role_cards.own_picture import BadPicture, checked_picture, is_picture, words_of

Plain: TypeAlias = str | int | float | bool | None
Row: TypeAlias = tuple[str, Plain] | tuple[str, Plain, str]
View: TypeAlias = Callable[[World], Mapping[str, Plain] | Sequence[Row] | str]

TONES = ("calm", "pending", "done", "warning", "broken", "gone")
ROWS_MAX = 200
# The prefix of the id of a view's card.
OF_VIEWS = "view:"
TEXT_MAX = 500
ALLOWED = (
    "A view returns a mapping of labels to values, a list of rows (label, value) or (label, value, tone), "
    "or the text of an SVG."
)


class BadView(ValueError):
    """A value cannot be a view; the message states the reason in one sentence."""


class _WrongAnswer(Exception):
    """A view returned neither rows nor a picture."""


class OwnView:
    """A view of one stepper.

    Attributes:
        id: the id of its card.
        title: the function's name in words.
        sentence: the first line of its docstring.
    """

    def __init__(self, function: View) -> None:
        name = function.__name__
        self.id = f"{OF_VIEWS}{name}"
        self.title = name.replace("_", " ").strip() or name
        self.sentence = sentence((function.__doc__ or "your view").strip().partition("\n")[0])
        self._name = name
        self._ask = _with_sets_in_any_order(function)
        self._stopped = ""

    def card(self, world: World) -> Card:
        """Return the card of a world: the function's rows or picture, or its error."""
        wrong = self._stopped
        if not wrong:
            try:
                return self._asked_twice(world)
            except (TooLong, Printed) as stopped:
                wrong = self._stopped = (
                    "printed. A view only returns its rows."
                    if isinstance(stopped, Printed)
                    else f"was not done after {LINES_MAX:,} lines and is not asked again."
                )
            except _WrongAnswer as answer:
                wrong = str(answer)
            except (Exception, SystemExit) as raised:  # noqa: BLE001  whatever a reader's function raises
                said = f": {raised}" if str(raised) else ""
                wrong = f"raised {type(raised).__name__}{said}."
        said = sentence(f"Your view {self._name} {wrong}")
        return {"wrong": {"label": "no view", "value": said, "tone": "broken"}}

    def _asked_twice(self, world: World) -> Card:
        first = _read(ask_once(self._ask, (world,), backwards=False))
        second = _read(ask_once(self._ask, (world,), backwards=True))
        if list(first.items()) != list(second.items()):
            self._stopped = (
                "returned something else when it was asked again about the same world. A view depends on the "
                "world alone, not on stored state, on random numbers, or on the order of a set."
            )
            raise _WrongAnswer(self._stopped)
        return first


def own_views(views: object) -> tuple[OwnView, ...]:
    """Return some functions as the views of a stepper.

    Raises:
        BadView: if one is not a plain function of one argument, or two have the same name.
    """
    if not isinstance(views, Iterable) or isinstance(views, str | bytes | Mapping):
        raise BadView(
            f"views must be a list of functions, such as [my_view], not {_render_value(views)}"
        )
    made: dict[str, OwnView] = {}
    for view in views:
        _check(view)
        if view.__name__ in made:
            raise BadView(f"two views are called {view.__name__}: give one of them another name")
        made[view.__name__] = OwnView(view)
    return tuple(made.values())


def _check(view: object) -> None:
    if not isinstance(view, FunctionType) or view.__name__ == "<lambda>":
        raise BadView(
            f"a view must be a function written with def, from a world to rows or to an SVG, not {_render_value(view)}"
        )
    given = list(inspect.signature(view).parameters.values())
    needed = [p for p in given if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if len(needed) != 1 or needed[0] is not given[0] or needed[0].kind not in positional:
        got = ", ".join(str(p) for p in given)
        raise BadView(f"a view takes one argument, the world. {view.__name__} takes ({got})")
    unusual = inspect.iscoroutinefunction(view) or inspect.isgeneratorfunction(view)
    if unusual:
        raise BadView(f"{view.__name__} is a generator or is async. {ALLOWED}")


def _kind(value: object) -> str:
    return next(
        (kind.__name__ for kind in (set, frozenset) if isinstance(value, kind)),
        type(value).__name__,
    )


def _render_value(value: object) -> str:
    said = sentence(repr(value))
    return said if len(said) <= 60 else f"a {type(value).__name__}"


def _with_sets_in_any_order(function: View) -> Callable[..., object]:
    """Return the same function, in whose own lines the order of a set can be reversed.

    A function without source text, with a decorator or with a closure is returned unchanged.
    """
    assert isinstance(function, FunctionType)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return function
    made = tree.body[0]
    if not isinstance(made, ast.FunctionDef) or made.decorator_list or function.__closure__:
        return function
    for part in ast.walk(made.args):  # annotations need not be evaluated again
        if isinstance(part, ast.arg):
            part.annotation = None
    made.returns = None
    made.args.defaults, made.args.kw_defaults = [], [None for _ in made.args.kwonlyargs]
    space = {**function.__globals__, **ANY_ORDER}
    exec(compile(in_any_order(tree), f"<view {function.__name__}>", "exec"), space)  # noqa: S102  the reader's own function, which they gave to open()
    again = space[function.__name__]
    assert isinstance(again, FunctionType)
    again.__defaults__, again.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return again


# --- what a view returned ----------------------------------------------------------------------------


def _read(answer: object) -> Card:
    """Return a view's result as a card."""
    if isinstance(answer, str):
        if not is_picture(answer):
            raise _WrongAnswer(f"returned a text that is not an SVG. {ALLOWED}")
        try:
            svg = checked_picture(answer)
        except BadPicture as wrong:
            raise _WrongAnswer(f"returned an SVG that {wrong}") from None
        return {"picture": {"label": "picture", "value": words_of(svg), "svg": svg}}
    if isinstance(answer, Mapping):
        rows: list[Sequence[object]] = list(answer.items())
    elif isinstance(answer, list | tuple):
        rows = [row if isinstance(row, tuple | list) else (row,) for row in answer]
    else:
        raise _WrongAnswer(f"returned a value of the type {_kind(answer)}. {ALLOWED}")
    if len(rows) > ROWS_MAX:
        raise _WrongAnswer(f"returned {len(rows):,} rows. A card has {ROWS_MAX} at most.")
    card: Card = {}
    for place, row in enumerate(rows):
        label, value, tone = _row(row, place)
        if label in card:
            raise _WrongAnswer(f"returned two rows with the label {label!r}. Use each label once.")
        card[label] = {"label": label, "value": value, "tone": tone, "order": place}
    return card


def _row(row: Sequence[object], place: int) -> tuple[str, str, str]:
    if len(row) not in (2, 3):
        raise _WrongAnswer(f"returned {_render_value(row)} as row {place + 1}. {ALLOWED}")
    label, value, tone = (*row, "calm")[:3]
    if not isinstance(label, str) or not label.strip():
        raise _WrongAnswer(
            f"returned the label {_render_value(label)} in row {place + 1}. A label is a text."
        )
    if value is not None and not isinstance(value, str | int | float):
        raise _WrongAnswer(
            f"returned a value of the type {_kind(value)} in row {label!r}. A value is a text, a number, True, False or None."
        )
    if tone not in TONES:
        like = nearest(str(tone), TONES)[0]
        raise _WrongAnswer(
            f"returned the tone {_render_value(tone)} in row {label!r}. Did you mean {like!r}? There are {', '.join(TONES)}."
        )
    return _text(label), _text("none" if value is None else str(value)), str(tone)


def _text(words: str) -> str:
    said = sentence(words)
    return said if len(said) <= TEXT_MAX else f"{said[:TEXT_MAX]}…"
