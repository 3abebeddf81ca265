"""The scenarios, by name: each is a document in the folder `stories`, which is read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import overload

from kipviz.core.nearest import unknown
from kipviz.scenarios.documents.bad_story import BadStory
from kipviz.scenarios.documents.read import Document, read_story
from kipviz.scenarios.scenario import Scenario

SUFFIX = ".md"


class UnknownScenario(ValueError):
    """A scenario of a name that there is not."""


def documents_in(folder: Traversable) -> dict[str, Traversable]:
    """Return the story documents in the rooms of a folder, by the names of their files.

    Raises:
        BadStory: if two rooms have a document of the same name.
    """
    found: dict[str, Traversable] = {}
    for room in sorted(folder.iterdir(), key=lambda each: each.name):
        for file in sorted(room.iterdir(), key=lambda each: each.name) if room.is_dir() else ():
            if not file.name.endswith(SUFFIX):
                continue
            name = file.name.removesuffix(SUFFIX)
            if name in found:
                what = f"There are two stories {name!r}: the other one is {_place(found[name])}."
                raise BadStory(_place(file), 1, what)
            found[name] = file
    return found


def read_document(file: Traversable) -> Document:
    """Read the document in a file of the library.

    Raises:
        BadStory: if it is no story, or its name is not that of its file.
    """
    text = file.read_text(encoding="utf-8")
    document = read_story(text, _place(file))
    name = document.scenario.name
    if name != file.name.removesuffix(SUFFIX):
        at = next(n for n, line in enumerate(text.splitlines(), 1) if line.startswith("name:"))
        raise BadStory(_place(file), at, f"The story {name!r} belongs in a file {name}{SUFFIX}.")
    return document


def _place(file: Traversable) -> str:
    """Return a file's name as an error says it: the whole path if it is on a disk."""
    return str(file)


@cache
def _files() -> Mapping[str, Traversable]:
    return MappingProxyType(documents_in(files("kipviz.scenarios") / "stories"))


@cache
def document(name: str) -> Document:
    """Return the document of a scenario by its name.

    Raises:
        UnknownScenario: if there is none; the message has the names nearest to it.
    """
    file = _files().get(name)
    if file is None:
        raise UnknownScenario(unknown("scenario", name, _files(), "`kipviz list`"))
    return read_document(file)


def scenario(name: str) -> Scenario:
    """Give a scenario by name.

    Raises:
        UnknownScenario: if there is none; the message has the names nearest to it.
    """
    return document(name).scenario


def is_scenario(name: str) -> bool:
    """Say whether there is a scenario of that name."""
    return name in _files()


@cache
def _in_order() -> tuple[Scenario, ...]:
    found = [document(name) for name in _files()]
    placed = sorted(found, key=lambda each: (not each.order, each.order, each.scenario.name))
    return tuple(each.scenario for each in placed)


class Library(Sequence[Scenario]):
    """All scenarios in the order in which a list shows them; the first look reads all documents."""

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


# What a release ships first, then the drafts.
LIBRARY = Library()
