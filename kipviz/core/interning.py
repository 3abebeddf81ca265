"""Interning: the first of several equal things stands for all of them, and is digested once.

In a search almost everything is equal to something that was met before: the 64,000 states of `kip-1289-small-two` to a
depth of 30 consist of 1,300 different tables of roles, 800 of logs, 1,500 of applications and 8,400 of connections.
Finding the equal one is a hash and a comparison, most of it in C; it takes a tenth of a digest's time.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

# A million states have some 100,000 tables; beyond this limit the table starts over.
ALIKE_MAX = 200_000


class Alike(Generic[T]):
    """Stores things by their content, with a digest of each."""

    def __init__(self, digest: Callable[[T], bytes]) -> None:
        """Start with nothing met; `digest` is called once for equal things."""
        self._met: dict[T, tuple[T, bytes]] = {}
        # The same by the object itself, which is kept above: most parts that a step leaves unchanged were met before.
        self._itself: dict[int, tuple[T, bytes]] = {}
        self._digest = digest

    def first(self, thing: T) -> tuple[T, bytes]:
        """Return the equal thing that was met first, and its digest."""
        known = self._itself.get(id(thing))
        if known is not None:
            return known
        known = self._met.get(thing)
        if known is None:
            if len(self._met) >= ALIKE_MAX:
                self._met.clear()
                self._itself.clear()
            known = self._met[thing] = (thing, self._digest(thing))
            self._itself[id(thing)] = known
        return known
