"""For ever, on the graph of a finished search: what can no path without a new fault resolve?

Most states lead back to calm within the graph. For the others the budget may be what stops them:
timers go on in a real cluster, so `settle` tries them with timers unbounded, deepest first,
because what leads to a state that settles settles, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kipviz.checking.found import Counterexample
from kipviz.checking.liveness import settle

if TYPE_CHECKING:
    from kipviz.checking.explore import Search


class Forever:
    """The last phase of a search; it can be stopped and taken up like the first one.

    Attributes:
        undecided: of how many states it stayed open.
    """

    def __init__(self, search: Search, progress_at: int) -> None:
        """Mark what leads back to calm within the graph; `progress_at` is the property's place."""
        self.undecided = 0
        self._search = search
        self._at = progress_at
        graph = search.graph
        self._spread = graph.spreading_back()
        self._resolved = bytearray(each == 1 for each in graph.calm)
        self._spread(self._resolved, [n for n, calm in enumerate(graph.calm) if calm == 1])
        self._left = [n for n, calm in enumerate(graph.calm) if not calm and not self._resolved[n]]
        self._stuck: dict[int, str] = {}
        self._dead_ends: set[tuple[bytes, bytes]] = set()

    def judge(self, go_on: Callable[[], bool]) -> bool:
        """Find the nearest state in which something is pending for ever; False if cancelled."""
        search: Any = self._search
        while self._left:
            number = self._left[-1]
            if not self._resolved[number]:
                if not go_on():
                    return False
                world, states = search.state(number)
                settled = settle(search.model, world, states[self._at], self._dead_ends, go_on)
                if settled.answer == "cancelled":
                    return False
                if settled.answer == "for ever":
                    self._stuck[number] = settled.what
                else:
                    self.undecided += settled.answer == "undecided"
                    self._resolved[number] = 1
                    self._spread(self._resolved, [number])
            self._left.pop()
        for number in sorted(self._stuck):
            if not self._resolved[number]:
                name = search.properties[self._at].name
                reason = (
                    f"{self._stuck[number]}, and no continuation without a new fault resolves it"
                )
                search.found[name] = Counterexample(name, reason, search.story(number))
                break
        return True
