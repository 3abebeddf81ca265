"""A table that notes which entries are read.

A step with such tables shows what it depends on, without a declaration. Reasons are derived from that
(`views.reasons.causes`), and a step whose places hold the same objects as before need not be computed again
(`cluster.step_memory`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from kipviz.core.table import Table

# A cell: the name of its table, and its key there; the set of a table's keys is (KEYS, its name).
Cell: TypeAlias = tuple[str, Any]
KEYS = "keys"


class Notes:
    """The places that a step reads, except those that it wrote itself."""

    def __init__(self) -> None:
        self.read: dict[Cell, None] = {}
        self.written: dict[Cell, None] = {}

    def look(self, place: Cell) -> None:
        """Note that a place was read, unless the step itself wrote it before."""
        if place not in self.written:
            self.read.setdefault(place)

    def write(self, place: Cell) -> None:
        """Note that the step wrote a place."""
        self.written[place] = None


class Watched:
    """A table that notes its reads; `table` is the table itself."""

    __slots__ = ("_name", "_notes", "table")

    def __init__(self, name: str, table: Table[Any, Any], notes: Notes) -> None:
        self._name = name
        self.table = table
        self._notes = notes

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        self._notes.look((self._name, key))
        return self.table.get(key, default)

    def __getitem__(self, key: Any) -> Any:
        self._notes.look((self._name, key))
        return self.table[key]

    def __contains__(self, key: object) -> bool:
        self._notes.look((self._name, key))
        return key in self.table

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> tuple[Any, ...]:
        """Return the keys; the set of keys is a place of its own."""
        self._notes.look((KEYS, self._name))
        return self.table.keys()

    def values(self) -> tuple[Any, ...]:
        """Return all values."""
        return tuple(value for _, value in self.items())

    def items(self) -> tuple[tuple[Any, Any], ...]:
        """Return all entries."""
        for key in self.keys():
            self._notes.look((self._name, key))
        return self.table.items()

    def set(self, key: Any, value: Any) -> Watched:
        """Return a table with another value of a key."""
        self._notes.write((self._name, key))
        return Watched(self._name, self.table.set(key, value), self._notes)

    def without(self, key: Any) -> Watched:
        """Return a table without a key."""
        self._notes.write((self._name, key))
        return Watched(self._name, self.table.without(key), self._notes)
