"""ListOffsets: where a partition begins and ends, for whoever has no position in it."""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.batches import NO_TIMESTAMP

# What is asked for in the place of a time (ListOffsetsRequest).
LATEST_TIMESTAMP, EARLIEST_TIMESTAMP = -1, -2
# That it is a time: `timestamp_ms` has it.
BY_TIME = 0


class ListOffsets(Message, frozen=True):
    """A consumer asks the leader of a partition where it begins (-2) or ends (-1), or for a time.

    `duration_ms` is that of auto.offset.reset=by_duration, and no part of the message: the time asked for
    (`timestamp_ms`) is so long before the moment in which the request is sent, by the clock of the client.

    NOT MODELLED: offsetsForTimes, several partitions in one request, tiered storage.
    """

    API_KEY: ClassVar[int] = 2
    VERSION: ClassVar[int] = 11
    IF_USED: ClassVar[tuple[str, ...]] = ("duration_ms", "timestamp_ms")
    partition: str
    timestamp: int
    read_committed: bool = True
    duration_ms: int = -1
    timestamp_ms: int = NO_TIMESTAMP


class ListOffsetsResponse(Message, frozen=True):
    """The offset that was asked for; -1 beside an error, or if no record is young enough.

    `timestamp_ms` is the time of the record that was found by one.
    """

    API_KEY: ClassVar[int] = 2
    VERSION: ClassVar[int] = 11
    IS_RESPONSE: ClassVar[bool] = True
    IF_USED: ClassVar[tuple[str, ...]] = ("timestamp_ms",)
    error: Errors
    partition: str
    offset: int = -1
    timestamp_ms: int = NO_TIMESTAMP


def dated(request: Message, now_ms: int) -> Message:
    """Return a request that is sent now: one for a time has that time from now on, also when it is sent again.

    Source: AutoOffsetResetStrategy.timestamp.
    """
    if not isinstance(request, ListOffsets) or request.duration_ms < 0:
        return request
    return request.but(timestamp_ms=max(now_ms - request.duration_ms, 0))
