"""A reader's own rule: a plain Python function in a slot, checked each time it decides.

The function is kept as text: its `def`, and one line for each import and constant that it uses. Processes and Spark
workers rebuild the rule from that text, so it is the same rule everywhere. A rule is called once per question, and its
answer is cached.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache, lru_cache
from itertools import islice, product
from types import CodeType, FunctionType, ModuleType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

import msgspec

from kipviz.brokers.rules import BrokerRules
from kipviz.clients.rules import ClientRules
from kipviz.core.outside.purity import (
    ANY_ORDER,
    LINES_MAX,
    Printed,
    TooLong,
    ask_once,
    in_any_order,
)
from kipviz.core.values import Value
from kipviz.designs.design import Design
from kipviz.designs.slot import Slot
from kipviz.messages.errors import Errors

SAMPLES_MAX = 64
_NOT_FOR_RULES = frozenset(
    {"__import__", "breakpoint", "eval", "exec", "globals", "hash", "id", "input", "open", "vars"}
)


class BadRule(ValueError):
    """A function that cannot fill its slot; the message repeats the slot's question."""


class Rule:
    """A function in a slot. A call checks that it is pure and that its answer is valid for the slot."""

    def __init__(self, slot: Slot, text: str, name: str) -> None:
        self.slot, self.text = slot, text
        self.__name__ = self.__qualname__ = name
        self._decide = _compile_rule(text, name)
        self.__doc__ = " ".join((self._decide.__doc__ or "").split())
        self._takes, self._gives = question_of(slot)
        self._answer = lru_cache(maxsize=4096)(self._check_answer)

    def __call__(self, *asked: object) -> object:
        """Return the rule's answer.

        Raises:
            BadRule: if it raises, prints, takes too long, answers differently the second time, or returns an answer
                that is invalid for the slot.
        """
        return self._answer(*asked)

    @property
    def names(self) -> Mapping[str, object]:
        """The imports and constants of the rule's text, by name."""
        return self._decide.__globals__

    def __reduce__(self) -> tuple[Callable[[Slot, str, str], Rule], tuple[Slot, str, str]]:
        return rule_of, (self.slot, self.text, self.__name__)

    def __repr__(self) -> str:
        return f"{self.__name__}: {self.__doc__}"

    def probe(self) -> None:
        """Call the rule with some sample questions before any run does, if the slot's questions are plain values.

        Raises:
            BadRule: see `__call__`.
        """
        kinds = [samples(kind) for kind in self._takes]
        for asked in islice(product(*kinds), SAMPLES_MAX):
            self(*asked)

    def _check_answer(self, *asked: object) -> object:
        first, second = self._once(asked, backwards=False), self._once(asked, backwards=True)
        if type(first) is not type(second) or first != second:
            raise self._bad(
                f"asked {_render_question(asked)} twice, answered {value_words(first)} and then {value_words(second)}: a rule depends on its "
                "arguments only, not on stored state, on random numbers, or on the order of a set"
            )
        if not fits(first, self._gives):
            raise self._bad(
                f"asked {_render_question(asked)}, answered {value_words(first)}, which is not of type {kind_words(self._gives)}"
            )
        return first

    def _once(self, asked: tuple[object, ...], *, backwards: bool) -> object:
        try:
            return ask_once(self._decide, asked, backwards=backwards)
        except TooLong:
            raise self._bad(
                f"asked {_render_question(asked)}, was not done after {LINES_MAX:,} lines"
            ) from None
        except Printed:
            raise self._bad(
                f"asked {_render_question(asked)}, printed: a rule only returns its answer"
            ) from None
        except Exception as wrong:
            raise self._bad(
                f"asked {_render_question(asked)}, raised {type(wrong).__name__}: {wrong}"
            ) from wrong

    def _bad(self, what: str) -> BadRule:
        return bad_rule(self.slot, self.__name__, what)


def bad_rule(slot: Slot, name: str, what: str) -> BadRule:
    """Return the error that says what is wrong with a function, and what its slot asks."""
    joint = "," if what.startswith("asked") else ""
    return BadRule(f"Your rule {name}{joint} {what}. The slot {slot.name} asks: {slot.question}")


@cache
def rule_of(slot: Slot, text: str, name: str) -> Rule:
    """Return the rule of a text: within one process equal texts are one rule."""
    return Rule(slot, text, name)


def own_rule(slot: Slot, function: object) -> Rule:
    """Return a reader's function as the rule of a slot.

    Raises:
        BadRule: if it is not a plain function with a docstring, takes other arguments than the slot's, uses a value
            that cannot be sent with it, or fails when it is called.
    """
    name = getattr(function, "__name__", repr(function))
    if not isinstance(function, FunctionType) or name == "<lambda>":
        raise bad_rule(slot, name, "is not a function written with def and a docstring")
    if not (function.__doc__ or "").strip():
        raise bad_rule(slot, name, "has no docstring: its first sentence is how it is shown")
    if name in [option.name for option in slot.options]:
        raise bad_rule(
            slot, name, "has the name of an option that the slot has: choose another name"
        )
    takes, _ = question_of(slot)
    given = inspect.signature(function).parameters.values()
    plain = all(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in given)
    if not plain or len(given) != len(takes):
        expected = ", ".join(inspect.signature(slot.options[0].choose).parameters)
        got = ", ".join(str(p) for p in given)
        raise bad_rule(slot, name, f"takes ({got}), and the slot gives ({expected})")
    rule = rule_of(slot, _text_of(slot, function), name)
    rule.probe()
    return rule


def texts_of(design: Design) -> tuple[str, ...]:
    """Return the additions of a reader's own design to the catalogue, as text: slot, base and function."""
    rules = tuple((slot, option.choose) for slot, option in design.own)
    if not rules:
        return ()
    others = ", ".join(design.choices.values())
    return (others, *(f"{slot}: {rule.text}" for slot, rule in rules if isinstance(rule, Rule)))


@cache
def question_of(slot: Slot) -> tuple[tuple[object, ...], object]:
    """Return the types of a slot's arguments, and the type of its answer."""
    hints = get_type_hints(BrokerRules if slot.on_brokers else ClientRules)
    takes, gives = get_args(hints[slot.name])
    return tuple(takes), gives


def fits(value: object, kind: object) -> bool:
    """Return whether an answer has the type of a slot; True is not an int here."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(fits(one, inner[0]) for one in value)
        return len(value) == len(inner) and all(map(fits, value, inner))
    kind = origin or kind
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind) if isinstance(kind, type) else value is None


def samples(kind: object) -> tuple[object, ...]:
    """Return a few values of a type; none for a type that only a run can provide."""
    if kind is bool:
        return (False, True)
    if kind is int:
        return (0, 1, 2, 7)
    if kind is str:
        return ("orders", "payments")
    if kind is Errors:
        return (Errors.NONE, Errors.FENCED_MEMBER_EPOCH)
    if get_origin(kind) is tuple and get_args(kind)[1:] == (Ellipsis,):
        some = samples(get_args(kind)[0])
        return ((), some) if some else ((),)
    return ()


def kind_words(kind: object) -> str:
    """Render a type as a reader writes it."""
    if isinstance(kind, type) and not get_args(kind):
        return kind.__name__
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(kind))


def _render_question(asked: tuple[object, ...]) -> str:
    return f"({', '.join(map(value_words, asked))})"


def value_words(value: object) -> str:
    """Render a value as a reader writes it: members of enums by their names, without fields at their defaults."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        inner = ", ".join(map(value_words, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if not isinstance(value, Value):
        return repr(value)
    given = (
        (field.name, getattr(value, field.name))
        for field in msgspec.structs.fields(type(value))
        if getattr(value, field.name) != field.default
    )
    fields = ", ".join(f"{name}={value_words(each)}" for name, each in given)
    return f"{type(value).__name__}({fields})"


# -- from a function to its text, and back ----------------------------------------------------------


def _text_of(slot: Slot, function: FunctionType) -> str:
    name = function.__name__
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        raise bad_rule(slot, name, "has no source text: write it in a cell or a file") from None
    made = tree.body[0]
    if not isinstance(made, ast.FunctionDef) or made.decorator_list:
        raise bad_rule(
            slot, name, "has a decorator or is not a plain def: write def and the answer"
        )
    for node in ast.walk(made):
        if isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom):
            raise bad_rule(
                slot, name, f"keeps state in line {node.lineno}: a rule only returns its answer"
            )
        if isinstance(node, ast.arg):
            node.annotation = None
    made.returns = None
    lines = [_carry_value(slot, function, used) for used in _list_used(made)]
    return "\n".join((*lines, ast.unparse(made), ""))


def _list_used(made: ast.FunctionDef) -> Iterator[str]:
    """Yield the names that a function uses from outside, in their order."""
    names = [node for node in ast.walk(made) if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | {made.name}
    own |= {node.arg for node in ast.walk(made) if isinstance(node, ast.arg)}
    for node in ast.walk(made):
        if isinstance(node, ast.Import | ast.ImportFrom):
            own |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ExceptHandler) and node.name:
            own.add(node.name)
    used = {node.id: None for node in names if node.id not in own}
    yield from (name for name in used if name in _NOT_FOR_RULES or not hasattr(builtins, name))


def _carry_value(slot: Slot, function: FunctionType, name: str) -> str:
    if name in _NOT_FOR_RULES:
        raise bad_rule(slot, function.__name__, f"uses {name}(), which no rule needs")
    if name not in function.__globals__:
        raise bad_rule(
            slot, function.__name__, f"uses {name!r}, which is neither an argument nor an import"
        )
    value = function.__globals__[name]
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    home = str(getattr(value, "__module__", ""))
    there = str(getattr(value, "__qualname__", ""))
    module = None if home == "__main__" else sys.modules.get(home)
    if module is not None and there and getattr(module, there, None) is value:
        return f"from {home} import {there} as {name}"
    if _is_constant(value):
        return f"{name} = {value!r}"
    raise bad_rule(
        slot,
        function.__name__,
        f"uses {name!r} from outside, which is neither an import nor a number, a text or a tuple of them",
    )


def _is_constant(value: object) -> bool:
    if type(value) is tuple:
        return all(map(_is_constant, value))
    return value is None or type(value) in (bool, int, str, bytes)


def _compile_rule(text: str, name: str) -> FunctionType:
    file = f"<rule {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    code: CodeType = compile(in_any_order(ast.parse(text)), file, "exec")
    space: dict[str, object] = dict(ANY_ORDER)
    exec(code, space)  # noqa: S102 - a reader's own function, which they gave to propose()
    made = space[name]
    assert isinstance(made, FunctionType)
    return made
