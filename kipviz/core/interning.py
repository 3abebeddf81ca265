"""Things that are alike: the one that was met first stands for all of them, and is digested once.

In a search almost everything is equal to something that was met before: the 64,000 states of
`kip-1289-small-two` to a depth of 30 are put together from 1,300 different tables of roles, 800 of logs,
1,500 of applications and 8,400 of connections. To find the equal one is a hash and a comparison, most of it
in C; it takes a tenth of a digest.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

# Of a million states, some 100,000 tables; who meets more starts over.
ALIKE_MAX = 200_000


class Alike(Generic[T]):
    """Remembers things by their content, with a digest of each."""

    def __init__(self, digest: Callable[[T], bytes]) -> None:
        """Start with nothing met; `digest` is asked once for equal things."""
        self._met: dict[T, tuple[T, bytes]] = {}
        # The same by the very object, which is kept above: most of what a step leaves alone was met before.
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
