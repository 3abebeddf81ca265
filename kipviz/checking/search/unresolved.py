"""Liveness on the graph of a finished search: what can no path without a new fault resolve?

Most states lead to one without pending work within the graph. For the others the budget may be the obstacle: timers
keep running in a real cluster, so `settle` tries those states with unbounded timers. A state that leads to one that
settles also settles, so the deepest states are examined first. A state that is reached from one that does not settle
does not settle either. So once there is such a state, the middle of the open ones is examined, and every answer decides
many others. Only the nearest state that does not settle is reported, so no state behind it is examined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kipviz.checking.search.liveness import CANCELLED, FOR_EVER, UNDECIDED, Futures, settle
from kipviz.checking.search.search_result import Counterexample

if TYPE_CHECKING:
    from kipviz.checking.search.explore import Search

OPEN, RESOLVED, STUCK = 0, 1, 2


class Forever:
    """The last phase of a search; it can be stopped and continued like the first one.

    Attributes:
        undecided: the number of examined states that could not be decided.
    """

    def __init__(self, search: Search, progress_at: int) -> None:
        """Mark the states that lead to one without pending work; `progress_at` is the index of the property."""
        self.undecided = 0
        self._search = search
        self._at = progress_at
        graph = search.graph
        self._back = graph.spreading(back=True)
        self._on = graph.spreading(back=False)
        calm = [number for number, each in enumerate(graph.calm) if each == 1]
        self._known = bytearray(each == 1 for each in graph.calm)
        self._back(self._known, calm, RESOLVED)
        # The search does not go beyond a state that breaks a property, so it is not examined.
        self._due = [n for n, each in enumerate(graph.calm) if not each and not self._known[n]]
        self._ranges = [(0, len(self._due))]
        self._nearest = len(self._due)
        self._futures = Futures()

    def judge(self, go_on: Callable[[], bool]) -> bool:
        """Find the nearest state in which something is pending forever; return False if cancelled."""
        due = self._due
        while self._ranges:
            first, end = self._ranges[-1]
            # A state behind a stuck state cannot be the nearest one.
            if first >= min(end, self._nearest):
                self._ranges.pop()
                continue
            at = (first + end) // 2 if self._nearest < len(due) else end - 1
            if self._known[due[at]] == OPEN and not self._ask(due[at], go_on):
                return False
            self._ranges[-1:] = [(at + 1, end), (first, at)]
        if self._nearest < len(due):
            self._tell(due[self._nearest])
        return True

    def _ask(self, number: int, go_on: Callable[[], bool]) -> bool:
        """Record for a state, and for all whose answer follows from it, whether they settle."""
        if not go_on():
            return False
        world, states = self._search.state(number)
        answer = settle(self._search.model, world, states[self._at], self._futures, go_on).answer
        if answer == CANCELLED:
            return False
        self.undecided += answer == UNDECIDED
        stuck = answer == FOR_EVER
        self._known[number] = STUCK if stuck else RESOLVED
        (self._on if stuck else self._back)(self._known, [number], self._known[number])
        if stuck:
            first = (at for at, each in enumerate(self._due) if self._known[each] == STUCK)
            self._nearest = next(first)
        return True

    def _tell(self, number: int) -> None:
        search = self._search
        world, states = search.state(number)
        name = search.properties[self._at].name
        settled = settle(search.model, world, states[self._at])
        search.found[name] = Counterexample(
            name, settled.for_ever, search.story(number), settled.harm
        )
