"""Between which times a request was handled, as far as its line in the request log and the lines before it tell.

A broker's network thread measures the end of a request, puts the request into words and writes the line. So a line's
time is late by as long as that took, and nothing on the line says how long: on a busy broker it is a tenth of a
second and more. But the thread does one thing after the other: it measured this end after it had written its line
before. A request cannot have come earlier than that line's time minus its own totalTimeMs, and it was answered by the
time of its own line. Nothing else is assumed about how quick a machine is.

A connection is named after its ends and the number of its network thread: 127.0.0.1:9092-127.0.0.1:50210-2-14. A
recording does not say which thread it was; all of its lines count as one thread's. Its machine was quiet.
Source: RequestChannel.updateRequestMetrics, SocketServer.Processor, ServerConnectionId.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kipviz.recordings.recorded import Exchange

# A line's time is cut to whole milliseconds.
RESOLUTION_MS = 1


def with_earliest(exchanges: Iterable[Exchange]) -> tuple[Exchange, ...]:
    """Return the exchanges, in the order of their lines, each with the earliest time at which it can have come.

    A thread's first line says nothing about the time: it may have come at any time. A line that cannot be
    read has no time, and says nothing about those behind it.
    """
    last: dict[tuple[int, str], int] = {}
    found = []
    for exchange in exchanges:
        if exchange.problem:
            found.append(exchange)
            continue
        thread = exchange.broker, _thread_of(exchange.connection)
        took = exchange.answered_ms - exchange.received_ms
        before = last.get(thread)
        bound = 0 if before is None else before - took - RESOLUTION_MS
        found.append(exchange.but(earliest_ms=min(max(bound, 0), exchange.received_ms)))
        last[thread] = exchange.answered_ms
    return tuple(found)


def as_written(exchange: Exchange) -> Exchange:
    """Return an exchange that is taken by its line's own times, as if the line had been written at once."""
    return exchange.but(earliest_ms=exchange.received_ms - RESOLUTION_MS)


def as_early(exchanges: Iterable[Exchange], apis: Collection[str]) -> tuple[Exchange, ...]:
    """Return the exchanges with the requests of some APIs received as early as they can have been.

    That is not before the request before it on the same connection was answered: a broker reads the next one then.
    """
    last: dict[tuple[int, str], int] = {}
    found = []
    for exchange in exchanges:
        connection = exchange.broker, exchange.connection or exchange.client
        if exchange.api in apis:
            early = max(exchange.earliest_ms, last.get(connection, 0))
            found.append(exchange.but(received_ms=min(exchange.received_ms, early)))
        else:
            found.append(exchange)
        last[connection] = exchange.answered_ms
    return tuple(found)


def span_of(exchange: Exchange) -> tuple[int, int]:
    """Return the times between which a request was handled."""
    earliest = exchange.earliest_ms
    return as_written(exchange).earliest_ms if earliest < 0 else earliest, exchange.answered_ms


def _thread_of(connection: str) -> str:
    """Return the number of a connection's network thread, "" where nobody says it."""
    parts = connection.rsplit("-", 2)
    return parts[1] if len(parts) == 3 else ""
