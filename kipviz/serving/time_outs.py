"""What a served cluster ends by this machine's clock: long polls, and transactions that took too long.

Under the model's time it ends none of them: that is what `Server.end_polls` and `Server.time_out` are for.
"""

from __future__ import annotations

from heapq import heappop, heappush
from time import monotonic

from kipviz.cluster.actions import TimeOutTransaction
from kipviz.serving.callers import Caller
from kipviz.serving.served_cluster import ServedCluster

TRANSACTION_SCAN_S = 1.0


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
        self._scan_at = monotonic()

    @property
    def patience_s(self) -> float:
        """For how many seconds nothing has to be looked at."""
        if not self._heap:
            return TRANSACTION_SCAN_S
        return max(0.0, min(self._heap[0][0] - monotonic(), TRANSACTION_SCAN_S))

    def end_what_is_over(self) -> bool:
        """End long polls whose time is over, and in a scan a transaction whose time is; return whether it scanned."""
        now = monotonic()
        while self._heap and self._heap[0][0] <= now:
            until, _, caller = heappop(self._heap)
            if self._polls.get(caller) == until:
                del self._polls[caller]
                self._cluster.time_over(caller)
        if now < self._scan_at:
            return False
        self._scan_at = now + TRANSACTION_SCAN_S
        begun = {}
        for action, timeout_ms in self._cluster.overdue() if self._by_clock else ():
            since = self._transactions.get(action, now)
            begun[action] = since
            if now - since >= timeout_ms / 1_000:
                begun.pop(action)
                self._cluster.take(action)
                self._cluster.run()
                break
        self._transactions = begun
        return True

    def look_at(self, caller: Caller) -> None:
        """Begin or end the time of a client's long poll, by what its request waits for now."""
        if not self._by_clock:
            return  # a long poll ends when there are records, or by end_polls
        if caller.wait_ms >= 0 and caller not in self._polls:
            until = monotonic() + caller.wait_ms / 1_000
            self._polls[caller] = until
            heappush(self._heap, (until, caller.number, caller))
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
        """Count every open transaction afresh."""
        self._transactions.clear()
