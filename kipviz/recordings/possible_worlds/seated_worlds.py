"""The worlds of several brokers for a broker with some knowledge of the leaders: a cache.

Many requests of the same time need the same worlds, and building one costs more than most answers. The size is a
setting (`Evidence.worlds_max`): the least recently used world is dropped first, and built again if it is needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

from kipviz.cluster.world import World
from kipviz.recordings.decoded.elections import (
    KnownDecisions,
    LeaderDecision,
    list_known,
    seat_leaders,
)

T = TypeVar("T")


class SeatedWorlds:
    """What the brokers may have known between two times, and worlds with the leaders that they knew."""

    def __init__(self, decisions: tuple[LeaderDecision, ...], most: int) -> None:
        """Start with an empty cache of at most `most` entries of each kind.

        Raises:
            ValueError: if `most` is less than 1.
        """
        if most < 1:
            raise ValueError(f"the number of worlds to keep must be at least 1, not {most}")
        self._decisions, self._most = decisions, most
        self._known: OrderedDict[Hashable, tuple[KnownDecisions, ...]] = OrderedDict()
        self._worlds: OrderedDict[Hashable, tuple[World, World]] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of cached worlds."""
        return len(self._worlds)

    def known_between(self, begin_ms: int, end_ms: int) -> tuple[KnownDecisions, ...]:
        """Return what the brokers may have known between two times; nothing with a single broker."""
        if not self._decisions:
            return ()
        return self._keep_made(
            self._known,
            (begin_ms, end_ms),
            lambda: tuple(list_known(self._decisions, begin_ms, end_ms)),
        )

    def of(self, world: World, known: KnownDecisions) -> World:
        """Return a world with the known leaders."""
        # The world is kept beside it, so that no other object gets its id.
        place = (id(world), known.heard)
        return self._keep_made(self._worlds, place, lambda: (world, seat_leaders(world, known)))[1]

    def _keep_made(
        self, kept: OrderedDict[Hashable, T], place: Hashable, make: Callable[[], T]
    ) -> T:
        if place in kept:
            kept.move_to_end(place)
            return kept[place]
        made = kept[place] = make()
        if len(kept) > self._most:
            kept.popitem(last=False)
        return made
