"""The values that the page may send to Python; anything else changes nothing and is reported in one sentence.

The page is a separate program: an old tab, an extension or a person with a console may send anything, and an unchecked
value fails later, in unrelated code. Python makes the list of branches, their names and the score; what the page sends
about them is an echo and changes nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Annotated, Literal, TypeAlias, TypedDict

import msgspec

from kipviz.views.page_parts import Part
from kipviz.widgets.pages.payload import Branch

# Values that only Python sets. The page adds the branch of an answer to its own list and sends that list back.
MADE_HERE = frozenset({"payload", "branches", "tree", "score", "answer", "notice"})
TEXT_MAX = 1_000
PLACE_MAX = 2**31 - 1


class ViewState(msgspec.Struct):
    """Which cards are pinned or hidden, which rows are pinned, and whether only changes are shown."""

    pinned: list[str] = []
    hidden: list[str] = []
    rows: list[tuple[str, str]] = []
    only: bool = False


class Selection(TypedDict, total=False):
    """What the reader chose: a message by its id, a value by its card and row, or nothing; `side` is of a comparison."""

    kind: Literal["message", "value"]
    id: str
    card: str
    row: str
    side: str


# A request of the page, as it comes: the code that answers it checks the type of what is inside.
Command: TypeAlias = Mapping[str, object]


def number_of(command: Command) -> int | None:
    """Return the number of a request, with which its answer is sent; None if it has none."""
    number = command.get("id")
    return number if isinstance(number, int) else None


class BranchStep(TypedDict):
    """A step of a branch."""

    branch: int
    step: int


class PageAnswer(TypedDict, total=False):
    """What a request changes: a new branch, the cursor's place, a branch's number and name, or branches that are gone."""

    branch: Annotated[Part, msgspec.Meta(extra={"schema": Branch})]
    go: BranchStep
    name: tuple[int, str]
    gone: list[int]
    say: str


class Progress(TypedDict, total=False):
    """The progress of the work on a request, or what went wrong."""

    busy: str
    error: str


class Answer(PageAnswer, Progress, total=False):
    """What the page is told of its request `id`: the answer, or how it stands."""

    id: int | None


class TreeChanges(TypedDict, total=False):
    """The branches that have another name than they were made with, by their numbers, and those that are gone."""

    names: dict[str, str]
    gone: list[int]


# An answer that takes long: its progress in words, then the answer.
Work: TypeAlias = Generator[str, None, PageAnswer]

# The types that msgspec reads the page's values as.
SHAPES: dict[str, object] = {
    "step": int,
    "branch": int,
    "lines": tuple[int, int],
    "selection": Selection,
    "answers": dict[str, int],
    "revealed": list[str],
    "reached": list[str],
    "all_lanes": bool,
    "presenter": bool,
    "views": ViewState,
    "tool": str,
    "command": dict[str, object],
}
# The kinds of selection, and the names that each needs.
SELECTIONS: dict[str, tuple[str, ...]] = {"message": ("id",), "value": ("card", "row")}


def readable(said: object) -> tuple[dict[str, object], str]:
    """Return the page's valid values, and a sentence about the first invalid one, or ""."""
    if not isinstance(said, Mapping):
        return {}, "The page sent something that is no values; nothing was changed."
    taken: dict[str, object] = {}
    wrong = ""
    for name, value in said.items():
        why = "" if name in MADE_HERE else why_not(name, value)
        wrong = wrong or why
        if name not in MADE_HERE and not why:
            taken[name] = value
    return taken, wrong


def why_not(name: str, value: object) -> str:
    """Return why a value of the page is not valid, or ""."""
    if name not in SHAPES:
        return ""  # a value of the widgets' own machinery, which checks it itself
    if name == "selection" and isinstance(value, Mapping) and (missing := _missing(value)):
        return _render_kept(name, f"it has no text for {missing!r}")
    try:
        msgspec.convert(value, SHAPES[name])
    except (msgspec.ValidationError, RecursionError) as problem:
        return _render_kept(name, str(problem))
    asks = value.get("do", "take") if name == "command" and isinstance(value, Mapping) else ""
    if not isinstance(asks, str):
        return _render_kept(name, "what it asks for must be a text, such as 'take'")
    places = value if isinstance(value, list | tuple) and name == "lines" else [value]
    numbers = places if name in ("lines", "step", "branch") else []
    if any(isinstance(number, int) and abs(number) > PLACE_MAX for number in numbers):
        return _render_kept(name, f"a place is a number up to {PLACE_MAX:,}")
    return ""


def _missing(selection: Mapping[str, object]) -> str:
    """Return the first name that a selection of its kind lacks, or ""."""
    kind = selection.get("kind")
    names = SELECTIONS.get(kind, ()) if isinstance(kind, str) else ("kind",) if selection else ()
    return next((name for name in names if not isinstance(selection.get(name), str)), "")


def _render_kept(name: str, why: str) -> str:
    return f"The page sent a value of {name!r} that cannot be read ({why[:TEXT_MAX]}); the old one stays."
