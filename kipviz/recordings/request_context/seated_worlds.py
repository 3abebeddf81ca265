"""The worlds of several brokers, as they look to one that knows who leads what: kept as long as there is room.

Many requests of the same time ask about the same worlds, and to seat every leader anew costs more than most answers. How
many are kept is a setting (`Evidence.worlds_max`): the one that was asked for longest ago goes first, and is made again
if somebody asks once more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

from kipviz.cluster.world import World
from kipviz.recordings.decoded.elections import Decision, Known, known_between, seated

T = TypeVar("T")


class SeatedWorlds:
    """What the brokers may have known between two times, and worlds in which those lead who were known to."""

    def __init__(self, decisions: tuple[Decision, ...], most: int) -> None:
        """Keep at most so many of each.

        Raises:
            ValueError: `most` is less than 1.
        """
        if most < 1:
            raise ValueError(f"at least 1 world is kept, not {most}")
        self._decisions, self._most = decisions, most
        self._known: OrderedDict[Hashable, tuple[Known, ...]] = OrderedDict()
        self._worlds: OrderedDict[Hashable, tuple[World, World]] = OrderedDict()

    def __len__(self) -> int:
        """Return how many worlds are kept."""
        return len(self._worlds)

    def known_between(self, begin_ms: int, end_ms: int) -> tuple[Known, ...]:
        """Return what the brokers may have known between two times; nothing if there is one broker."""
        if not self._decisions:
            return ()
        return self._kept(
            self._known,
            (begin_ms, end_ms),
            lambda: tuple(known_between(self._decisions, begin_ms, end_ms)),
        )

    def of(self, world: World, known: Known) -> World:
        """Return a world in which those lead who are known to."""
        # The world is kept beside it, so that no other one gets its number.
        place = (id(world), known.heard)
        return self._kept(self._worlds, place, lambda: (world, seated(world, known)))[1]

    def _kept(self, kept: OrderedDict[Hashable, T], place: Hashable, make: Callable[[], T]) -> T:
        if place in kept:
            kept.move_to_end(place)
            return kept[place]
        made = kept[place] = make()
        if len(kept) > self._most:
            kept.popitem(last=False)
        return made
