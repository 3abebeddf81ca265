"""The connections of the clients of a served cluster: their names, and which of them have something new.

With thousands of connections most of them are idle, so nothing here looks at all of them: a connection is found by its
name, and those that changed are kept in a list of their own.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from kipviz.messages.message import Message
from kipviz.serving.translating.apis import ServedApi
from kipviz.serving.translating.reply_context import TranslatedRequest


@dataclass
class Current:
    """The request that a connection is being served."""

    api: ServedApi
    version: int
    correlation_id: int
    asked: TranslatedRequest
    replies: list[Message] = field(default_factory=list)
    sent: int = 0
    waiting: bool = False


@dataclass(eq=False)
class Caller:
    """A client's connection. `out` are the bytes to write to it; `broken` says that it must be closed."""

    broker: int
    number: int
    source: str = ""
    client_id: str = ""
    software: str = ""
    frames: deque[bytes] = field(default_factory=deque)
    current: Current | None = None
    out: bytearray = field(default_factory=bytearray)
    broken: bool = False
    # The maximum wait of its request's long poll, by the clock of its owner.
    wait_ms: int = -1

    @property
    def in_flight(self) -> int:
        """How many requests of the client are unanswered."""
        return len(self.frames) + (self.current is not None)


class Callers:
    """The open connections, in the order in which they were made."""

    def __init__(self) -> None:
        self._all: dict[Caller, None] = {}
        self._by_place: dict[tuple[str, int], Caller] = {}
        # Of each host and broker: the number of its connections, and the free numbers up to the first unused one.
        self._numbers: dict[tuple[str, int], tuple[int, list[int]]] = {}
        self._touched: dict[Caller, None] = {}
        self._waiting: dict[Caller, None] = {}
        self._made = 0
        self._lowest = 1  # the number of the first connection of a client

    def __iter__(self) -> Iterator[Caller]:
        """Yield the open connections."""
        return iter(self._all)

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._all)

    def __contains__(self, caller: object) -> bool:
        """Return whether a connection is open."""
        return caller in self._all

    def add(self, broker: int) -> Caller:
        """Add a connection to a broker; it gets its name with its first request."""
        self._made += 1
        caller = Caller(broker, self._made)
        self._all[caller] = None
        return caller

    def remove(self, caller: Caller) -> None:
        """Remove a connection; its name is free again."""
        del self._all[caller]
        self._touched.pop(caller, None)
        self._waiting.pop(caller, None)
        if caller.source:
            del self._by_place[caller.source, caller.broker]
            host, _, number = caller.source.rpartition("/")
            used, free = self._numbers.pop((host, caller.broker))
            if used > 1:
                heapq.heappush(free, int(number))
                self._numbers[host, caller.broker] = (used - 1, free)

    def break_all(self) -> None:
        """Break every connection at once; each is still told to its owner by `take_touched`."""
        for caller in self._all:
            caller.broken = True
            self._touched[caller] = None
        self._all.clear()
        self._by_place.clear()
        self._numbers.clear()
        self._waiting.clear()

    def name(self, caller: Caller, host: str) -> None:
        """Name a connection: its client's host, and the lowest free number."""
        used, free = self._numbers.get((host, caller.broker)) or (0, [self._lowest])
        number = heapq.heappop(free)
        if not free:
            free.append(number + 1)
        self._numbers[host, caller.broker] = (used + 1, free)
        caller.source = f"{host}/{number}"
        self._by_place[caller.source, caller.broker] = caller

    def has_open(self, host: str, broker: int) -> bool:
        """Return whether a client has an open connection with a name to a broker."""
        return (host, broker) in self._numbers

    def number_from(self, lowest: int) -> None:
        """Assign no lower number to a connection of a client that has none open: those names were forgotten."""
        self._lowest = max(self._lowest, lowest)

    def find(self, source: str, broker: int) -> Caller | None:
        """Return the unbroken connection with a name."""
        found = self._by_place.get((source, broker))
        return None if found is None or found.broken else found

    def touch(self, caller: Caller) -> None:
        """Note that a connection has bytes to write, has to be closed, or takes its next request."""
        self._touched[caller] = None

    def take_touched(self) -> tuple[Caller, ...]:
        """Return the connections that were touched since the last time."""
        found = tuple(self._touched)
        self._touched.clear()
        return found

    @property
    def any_touched(self) -> bool:
        """Whether a connection was touched since the last time."""
        return bool(self._touched)

    def wait(self, caller: Caller) -> None:
        """Note that a connection's request is a long poll that waits."""
        self._waiting[caller] = None

    def end_wait(self, caller: Caller) -> None:
        """Note that it no longer waits."""
        self._waiting.pop(caller, None)

    def waiting(self) -> tuple[Caller, ...]:
        """Return the connections whose long polls wait, the oldest poll first."""
        return tuple(self._waiting)
