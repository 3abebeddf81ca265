"""The times between which a request was handled, from its line in the request log and earlier lines.

A broker's network thread measures the end of a request, renders the request and writes the line. So a line's time is
late by that duration, and the line does not show it: on a busy broker it is a tenth of a second and more. But the
thread works sequentially: it measured this end after it had written its previous line. A request cannot have arrived
earlier than that line's time minus its own totalTimeMs, and it was answered by the time of its own line. Nothing else
is assumed about the speed of a machine.

A connection is named after its ends and the number of its network thread: 127.0.0.1:9092-127.0.0.1:50210-2-14. A
recording does not name the thread; all of its lines count as one thread's. Its machine was idle.
Source: RequestChannel.updateRequestMetrics, SocketServer.Processor, ServerConnectionId.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kipviz.recordings.recorded import Exchange

# A line's time is cut to whole milliseconds.
RESOLUTION_MS = 1


def with_earliest(exchanges: Iterable[Exchange]) -> tuple[Exchange, ...]:
    """Return the exchanges, in the order of their lines, each with the earliest time of its arrival.

    A thread's first line says nothing about the time: it may have arrived at any time. A line that cannot be read has
    no time, and says nothing about later ones.
    """
    last: dict[tuple[int, str], int] = {}
    found = []
    for exchange in exchanges:
        if exchange.problem:
            found.append(exchange)
            continue
        thread = exchange.broker, thread_of(exchange.connection)
        took = exchange.answered_ms - exchange.received_ms
        before = last.get(thread)
        bound = 0 if before is None else before - took - RESOLUTION_MS
        found.append(exchange.but(earliest_ms=min(max(bound, 0), exchange.received_ms)))
        last[thread] = exchange.answered_ms
    return tuple(found)


def as_written(exchange: Exchange) -> Exchange:
    """Return an exchange with its line's own times, as if the line had been written at once."""
    return exchange.but(earliest_ms=exchange.received_ms - RESOLUTION_MS)


def as_early(exchanges: Iterable[Exchange], apis: Collection[str]) -> tuple[Exchange, ...]:
    """Return the exchanges with the requests of some APIs received as early as possible.

    That is not before the previous request on the same connection was answered: a broker reads the next one then.
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


def with_one_earlier(
    exchanges: tuple[Exchange, ...], apis: Collection[str], by_ms: int
) -> tuple[Exchange, ...] | None:
    """Return the exchanges with one more request of some APIs received by a time; None if none can have arrived so early.

    It is the first line of those that were received later as they stand. Their order in time becomes another one than
    that of the lines, which `as_early` changes for all requests at once.
    """
    for place, (exchange, early) in enumerate(
        zip(exchanges, as_early(exchanges, apis), strict=True)
    ):
        if exchange.api in apis and early.received_ms <= by_ms < exchange.received_ms:
            moved = exchange.but(received_ms=by_ms)
            return (*exchanges[:place], moved, *exchanges[place + 1 :])
    return None


def span_of(exchange: Exchange) -> tuple[int, int]:
    """Return the times between which a request was handled."""
    earliest = exchange.earliest_ms
    return as_written(exchange).earliest_ms if earliest < 0 else earliest, exchange.answered_ms


def thread_of(connection: str) -> str:
    """Return the number of a connection's network thread, "" if its name has none."""
    parts = connection.rsplit("-", 2)
    return parts[1] if len(parts) == 3 else ""
