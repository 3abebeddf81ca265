"""The scenarios, by name: each is a document in the folder `stories`, which is read when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import overload

from kipviz.cluster.specs.abstraction import SMALL
from kipviz.core.outside.suggestions import unknown
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.documents.clusters_in_head import list_stated
from kipviz.scenarios.documents.read import Document, read_story
from kipviz.scenarios.documents.write import write_story
from kipviz.scenarios.scenario import Scenario

SUFFIX = ".md"


FORMER_NAMES: Mapping[str, str] = {
    "kip-1310-late-vote": "kip-1310-late-acknowledgement",
    "kip-939-small-votes-swapped": "kip-939-small-swapped",
}
"""The names that stories have now, by names that they had in links, saved runs and commands."""


class UnknownScenario(ValueError):
    """No scenario has this name."""


def documents_in(folder: Traversable) -> dict[str, Traversable]:
    """Return the story documents in the subfolders of a folder, by their file names.

    Raises:
        BadStory: if two subfolders have a document of the same name.
    """
    found: dict[str, Traversable] = {}
    for room in sorted(folder.iterdir(), key=lambda each: each.name):
        for file in sorted(room.iterdir(), key=lambda each: each.name) if room.is_dir() else ():
            if not file.name.endswith(SUFFIX):
                continue
            name = file.name.removesuffix(SUFFIX)
            if name in found:
                what = f"there are two stories {name!r}: the other one is {_place(found[name])}"
                raise BadStory(_place(file), 1, what)
            found[name] = file
    return found


def read_document(file: Traversable) -> Document:
    """Read the document in a file of the library.

    Raises:
        BadStory: if it is not a story, or its name differs from the file's.
    """
    text = file.read_text(encoding="utf-8")
    document = read_story(text, _place(file))
    name = document.scenario.name
    if name != file.name.removesuffix(SUFFIX):
        what = f"the story {name!r} belongs in a file {name}{SUFFIX}"
        raise BadStory(_place(file), document.name, what)
    return document


def _place(file: Traversable) -> str:
    """Return a file's name in an error message: the whole path if it is on a disk."""
    return str(file)


@cache
def _files() -> Mapping[str, Traversable]:
    return MappingProxyType(documents_in(files("kipviz.scenarios") / "stories"))


# For a changed story: the maximum number of changes that are listed, and of letters of a line.
CHANGES_TOLD, LETTERS_TOLD = 3, 80

# The stories that a reader has added, by name, for the life of the process.
_brought: dict[str, Document] = {}


def register_story(document: Document) -> None:
    """Register a story, so that it is found by its name in this process; a later one replaces it.

    Raises:
        ValueError: if the library has a story of that name.
    """
    _refuse_known(document.scenario.name)
    _brought[document.scenario.name] = document


def registered_stories() -> tuple[Scenario, ...]:
    """Return the stories that a reader has registered in this process, ordered by name."""
    return tuple(_brought[name].scenario for name in sorted(_brought))


def _refuse_known(name: str) -> None:
    if current_name(name) in _files():
        raise ValueError(f"the library has a story {name!r}: choose another name")


def document_of(story: Scenario) -> str:
    """Return the document for a saved run or a link: "" for a story of the library.

    Raises:
        ValueError: if the story cannot be written as a document.
    """
    if story.name in _files():
        return ""
    if type(story) is not Scenario:
        raise ValueError(
            f"the story {story.name!r} was made from logs or by real clients, and is not a document"
        )
    try:
        # A setting may have changed what the head stated.
        story = story.but(stated=list_stated(story.spec, story.searched.spec))
        text = write_story(Document(story))
        if read_story(text).scenario == story:
            return text
    except (AttributeError, BadStory, KeyError, TypeError) as wrong:
        raise ValueError(f"the story {story.name!r} is not a document: {wrong}") from wrong
    raise ValueError(f"the story {story.name!r} is not a document: it would be read as another one")


def carried(name: str, text: str) -> Scenario:
    """Return the story of a saved run or a link: the one in its document, or one found by name.

    Raises:
        UnknownScenario: if it has no document, and no story has its name.
        ValueError: if its document is no story, or has the name of one in the library.
    """
    if not text:
        return scenario(name)
    # A document with neither a profile nor its simplifications is older than both, and was played with the values of
    # `small`. One that is written today has the key `simplified`, if only with an empty list.
    story = read_story(text, "the story that it carries", SMALL).scenario
    _refuse_known(story.name)
    return story


def changed_since(text: str, under: Callable[[Scenario], Scenario]) -> tuple[str, ...]:
    """Return how the story in a saved run or a link differs from the one that is registered under its name.

    It is empty if there is no document, no other story, or if both are the same, as they are or with the settings of
    the run (`under`).
    """
    now = _brought.get(read_story(text, unnamed=SMALL).scenario.name) if text else None
    if now is None:
        return ()
    there = write_story(Document(now.scenario))
    if text in (there, _write_document(under, now.scenario)):
        return ()
    before, after = text.splitlines(), there.splitlines()
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    differ = [
        _changed_lines(first + 1, before[first:end], after[start:last])
        for kind, first, end, start, last in blocks
        if kind != "equal"
    ]
    more = f"; and {len(differ) - CHANGES_TOLD} more places" if len(differ) > CHANGES_TOLD else ""
    told = "; ".join(differ[:CHANGES_TOLD])
    return (
        f"the story {now.scenario.name} has changed since, and what opens is the story as it was: {told}{more}",
    )


def _write_document(under: Callable[[Scenario], Scenario], story: Scenario) -> str:
    """Return the document of a story with a run's settings, "" if it cannot have them any more."""
    try:
        return write_story(Document(under(story)))
    except (ValueError, AttributeError, KeyError, TypeError):
        return ""


def _changed_lines(line: int, was: list[str], now: list[str]) -> str:
    said = [
        " / ".join(text[:LETTERS_TOLD] for text in lines if text.strip()) for lines in (was, now)
    ]
    if not was:
        return f"before line {line} there is now {said[1]!r}"
    if not now:
        return f"line {line}, {said[0]!r}, is gone"
    return f"line {line} was {said[0]!r} and is now {said[1]!r}"


def document(name: str) -> Document:
    """Find the document of a scenario by its name, or by a name that it had before.

    Raises:
        UnknownScenario: if there is none; the message suggests the nearest names.
    """
    return _brought.get(name) or _own(current_name(name))


def current_name(name: str) -> str:
    """Return the present name of a story of the library; any other name stays as it is."""
    return FORMER_NAMES.get(name, name)


@cache
def _own(name: str) -> Document:
    file = _files().get(name)
    if file is None:
        raise UnknownScenario(unknown("scenario", name, _files(), "`kipviz list`"))
    return read_document(file)


def scenario(name: str) -> Scenario:
    """Find a scenario by name.

    Raises:
        UnknownScenario: if there is none; the message suggests the nearest names.
    """
    return document(name).scenario


def searched_scenario(name: str) -> Scenario:
    """Find a scenario by name, with the cluster on which searches run.

    Raises:
        UnknownScenario: if there is none; the message suggests the nearest names.
    """
    return scenario(name).searched


def is_scenario(name: str) -> bool:
    """Return whether there is a scenario of that name."""
    return current_name(name) in _files() or name in _brought


@cache
def _in_order() -> tuple[Scenario, ...]:
    found = [document(name) for name in _files()]
    placed = sorted(found, key=lambda each: (not each.order, each.order, each.scenario.name))
    return tuple(each.scenario for each in placed)


class Library(Sequence[Scenario]):
    """All scenarios in the order of the list; the first access reads all documents."""

    @overload
    def __getitem__(self, at: int) -> Scenario: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Scenario, ...]: ...
    def __getitem__(self, at: int | slice) -> Scenario | tuple[Scenario, ...]:
        return _in_order()[at]

    def __len__(self) -> int:
        return len(_in_order())

    def __iter__(self) -> Iterator[Scenario]:
        return iter(_in_order())


# Shipped KIPs first, then the drafts.
LIBRARY = Library()
