"""ListOffsets: the start and the end of a partition, for consumers without a position."""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.batches import NO_TIMESTAMP

# The values that stand for the start and the end instead of a timestamp (ListOffsetsRequest).
LATEST_TIMESTAMP, EARLIEST_TIMESTAMP = -1, -2
# The request is for a timestamp, which is in `timestamp_ms`.
BY_TIME = 0


class ListOffsets(Message, frozen=True):
    """A consumer asks the leader of a partition for its start (-2), its end (-1), or a timestamp's offset.

    `duration_ms` is that of auto.offset.reset=by_duration, and not part of the message: the requested timestamp
    (`timestamp_ms`) is that long before the moment in which the request is sent, by the clock of the client.

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
    """The requested offset; -1 beside an error, or if no record is young enough.

    `timestamp_ms` is the timestamp of the record that was found by one.
    """

    API_KEY: ClassVar[int] = 2
    VERSION: ClassVar[int] = 11
    IS_RESPONSE: ClassVar[bool] = True
    IF_USED: ClassVar[tuple[str, ...]] = ("timestamp_ms",)
    error: Errors
    partition: str
    offset: int = -1
    timestamp_ms: int = NO_TIMESTAMP


def with_timestamp(request: Message, now_ms: int) -> Message:
    """Return a request with the timestamp to send now, also when it is sent again.

    Source: AutoOffsetResetStrategy.timestamp.
    """
    if not isinstance(request, ListOffsets) or request.duration_ms < 0:
        return request
    return request.but(timestamp_ms=max(now_ms - request.duration_ms, 0))
