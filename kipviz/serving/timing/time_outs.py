"""What a served cluster ends by this machine's clock: long polls, transactions that took too long, sessions of members.

Under the model's time it ends none of them: that is what `Server.end_polls`, `Server.time_out` and `Server.take` are for.
"""

from __future__ import annotations

import contextlib
from heapq import heapify, heappop, heappush
from time import monotonic

from kipviz.cluster.actions import ClusterAction, TimeOutTransaction
from kipviz.core.model import NotEnabled
from kipviz.serving.callers import Caller
from kipviz.serving.served_cluster import ServedCluster

SCAN_S = 1.0  # of transactions
TIMER_SCAN_S = 0.2  # of groups, while any timer runs
ENDED_MAX = 1_000  # long polls that ended early and are still in the order of time


class TimeOuts:
    """When each long poll is over, and since when each transaction has been open."""

    def __init__(self, cluster: ServedCluster, *, by_clock: bool) -> None:
        """Watch a cluster; without `by_clock` nothing of it ends by itself."""
        self._cluster = cluster
        self._by_clock = by_clock
        # Until when each long poll waits, and the same in the order of time; ended ones may still be in the heap.
        self._polls: dict[Caller, float] = {}
        self._heap: list[tuple[float, int, Caller]] = []
        self._transactions: dict[TimeOutTransaction, float] = {}
        self._groups = cluster.desk.groups
        self._scan_at = self._timers_at = monotonic()

    @property
    def patience_s(self) -> float:
        """For how many seconds nothing has to be looked at."""
        longest = TIMER_SCAN_S if self._by_clock and self._groups.any_running else SCAN_S
        if not self._heap:
            return longest
        return max(0.0, min(self._heap[0][0] - monotonic(), longest))

    def end_what_is_over(self) -> bool:
        """End long polls whose time is over, and in a scan a transaction whose time is; return whether it scanned."""
        now = monotonic()
        while self._heap and self._heap[0][0] <= now:
            until, _, caller = heappop(self._heap)
            if self._polls.get(caller) == until:
                del self._polls[caller]
                self._cluster.time_over(caller)
        if self._by_clock and self._groups.any_running and now >= self._timers_at:
            self._timers_at = now + TIMER_SCAN_S
            for timer in self._groups.due(self._cluster.model, self._cluster.world):
                self._expire(timer)
        if now < self._scan_at:
            return False
        self._scan_at = now + SCAN_S
        begun = {}
        for action, timeout_ms in (
            tuple(self._cluster.overdue_transactions()) if self._by_clock else ()
        ):
            since = self._transactions.get(action, now)
            if now - since >= timeout_ms / 1_000:
                self._expire(action)
            else:
                begun[action] = since
        self._transactions = begun
        return True

    def _expire(self, action: ClusterAction) -> None:
        """Let a timer expire, if it still runs after those before it."""
        with contextlib.suppress(NotEnabled):
            self._cluster.take(action)
            self._cluster.run()

    def look_at(self, caller: Caller) -> None:
        """Begin or end the time of a client's long poll, by what its request waits for now."""
        if not self._by_clock:
            return  # a long poll ends when there are records, or by end_polls
        if caller.wait_ms >= 0 and caller not in self._polls:
            until = monotonic() + caller.wait_ms / 1_000
            self._polls[caller] = until
            heappush(self._heap, (until, caller.number, caller))
            if len(self._heap) > 2 * len(self._polls) + ENDED_MAX:
                self._heap = [e for e in self._heap if self._polls.get(e[2]) == e[0]]
                heapify(self._heap)
        elif caller.wait_ms < 0:
            self._polls.pop(caller, None)

    def end_poll(self, caller: Caller) -> None:
        """End a client's long poll now."""
        self._polls.pop(caller, None)
        self._cluster.time_over(caller)

    def forget(self, caller: Caller) -> None:
        """Forget a client that is gone."""
        self._polls.pop(caller, None)

    def forget_transactions(self) -> None:
        """Count every open transaction and every timer of a group afresh."""
        self._transactions.clear()
        self._groups.forget()
