"""The part of a state space that a search has visited, in little memory.

A state has a 16-byte key and a number. The graph stores the state from which it was first reached, which of the
possible actions led to it, and whether something was pending. Worlds are not stored: the actions on the way to a state
produce its world again.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

NOWHERE = 0xFFFF_FFFF
Spread = Callable[[bytearray, list[int], int], None]


class Graph:
    """States by number, in the order in which a breadth-first search found them.

    Attributes:
        numbers: the number of each state, by its key.
        came_from: for each state the number of the state it was first reached from.
        by: for each state the index of the action that led to it, among those possible there.
        calm: for each state 1 if nothing was pending in it, 2 if a property was broken in it.
    """

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.came_from = array("I")
        self.by = array("H")
        self.calm = bytearray()
        self._from = array("I")
        self._to = array("I")

    def __len__(self) -> int:
        return len(self.came_from)

    def add(self, key: bytes, came_from: int, by: int) -> int:
        """Add a new state and return its number."""
        number = self.numbers[key] = len(self.came_from)
        self.came_from.append(came_from)
        self.by.append(by)
        self.calm.append(0)
        return number

    def mark_broken(self, number: int) -> None:
        """Record that a property is broken in a state: the search does not go beyond it."""
        self.calm[number] = 2

    def link(self, before: int, after: int) -> None:
        """Record that a state follows another one without a new fault."""
        self._from.append(before)
        self._to.append(after)

    def way(self, number: int) -> tuple[int, ...]:
        """Return the way in which a state was first reached: the index of each action among those possible."""
        places: list[int] = []
        while self.came_from[number] != NOWHERE:
            places.append(self.by[number])
            number = self.came_from[number]
        return tuple(reversed(places))

    def spreading(self, *, back: bool) -> Spread:
        """Return a function that marks what marked states come from (or lead to) along the links."""
        here, there = (self._to, self._from) if back else (self._from, self._to)
        count = len(self)
        starts = array("I", bytes(4 * (count + 1)))
        for at in here:
            starts[at + 1] += 1
        for at in range(count):
            starts[at + 1] += starts[at]
        others, filled = array("I", bytes(4 * len(here))), starts[:]
        for at, other in zip(here, there, strict=True):
            others[filled[at]] = other
            filled[at] += 1

        def spread(marked: bytearray, stack: list[int], mark: int) -> None:
            while stack:
                at = stack.pop()
                for other in others[starts[at] : starts[at + 1]]:
                    if not marked[other]:
                        marked[other] = mark
                        stack.append(other)

        return spread

    def pack(self) -> dict[str, Any]:
        """Return everything as plain bytes, the keys ordered by their numbers."""
        return {
            "keys": b"".join(self.numbers),
            "came_from": self.came_from.tobytes(),
            "by": self.by.tobytes(),
            "calm": bytes(self.calm),
            "from": self._from.tobytes(),
            "to": self._to.tobytes(),
        }

    @staticmethod
    def unpack(packed: dict[str, Any], key_size: int) -> Graph:
        """Rebuild a graph from its bytes.

        Raises:
            KeyError: if an entry is missing.
            ValueError: if the entries are inconsistent.
        """
        graph, keys = Graph(), packed["keys"]
        graph.numbers = {
            keys[at : at + key_size]: at // key_size for at in range(0, len(keys), key_size)
        }
        graph.came_from = array("I", packed["came_from"])
        graph.by = array("H", packed["by"])
        graph.calm = bytearray(packed["calm"])
        graph._from, graph._to = array("I", packed["from"]), array("I", packed["to"])
        if not graph._fits():
            raise ValueError("its states are inconsistent with how each was reached")
        return graph

    def _fits(self) -> bool:
        """Return whether every state has an entry in each array and was reached from an earlier one, in order."""
        count = len(self.numbers)
        parts = (self.came_from, self.by, self.calm)
        if not count or any(len(part) != count for part in parts) or self.came_from[0] != NOWHERE:
            return False
        if len(self._from) != len(self._to) or max((*self._from, *self._to), default=0) >= count:
            return False
        latest = 0
        for number in range(1, count):
            before = self.came_from[number]
            if not latest <= before < number:
                return False
            latest = before
        return True
