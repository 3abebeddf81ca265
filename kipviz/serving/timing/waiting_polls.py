"""The long polls of a served cluster's clients, from their arrival to their end: pages show which wait, and where."""

from __future__ import annotations

from collections import deque

from kipviz.cluster.real.served_run import ClientPoll
from kipviz.serving.callers import Caller

POLLS_MAX = 10_000  # that have ended


class WaitingPolls:
    """The long polls that wait, and the newest ones that have ended."""

    def __init__(self) -> None:
        self._open: dict[Caller, ClientPoll] = {}
        self._ended: deque[ClientPoll] = deque(maxlen=POLLS_MAX)
        self.changes = 0  # how many have begun or ended

    def begin(self, caller: Caller, request: str, node: int) -> None:
        """Note that a connection's request waits, and the newest node."""
        self._open[caller] = ClientPoll(caller.source, caller.broker, request, node)
        self.changes += 1

    def end(self, caller: Caller, node: int) -> None:
        """Note that it waits no longer; without a step in between no page has shown it."""
        poll = self._open.pop(caller, None)
        if poll is None:
            return
        self.changes += 1
        if poll.node != node:
            self._ended.append(poll.but(until=node))

    def list_polls(self) -> tuple[ClientPoll, ...]:
        """Return all of them, those that have ended first."""
        return (*self._ended, *self._open.values())
