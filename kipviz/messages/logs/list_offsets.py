"""ListOffsets: the start and the end of a partition, for consumers without a position."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.batches import NO_TIMESTAMP

# The values that stand for a place in the log instead of a timestamp (ListOffsetsRequest): its end, its start, its
# record with the highest timestamp, and three that only tiered storage tells apart from those.
LATEST_TIMESTAMP, EARLIEST_TIMESTAMP, MAX_TIMESTAMP = -1, -2, -3
EARLIEST_LOCAL_TIMESTAMP, LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP = -4, -5, -6
# The first version that has each of them. Source: ReplicaManager.timestampMinSupportedVersion.
_FIRST_VERSION = {
    LATEST_TIMESTAMP: 1,
    EARLIEST_TIMESTAMP: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}


class ListOffsetsPartition(Value, frozen=True):
    """A partition of a ListOffsets request, and what is asked: a timestamp in ms, or a place in its log (negative)."""

    partition: str
    timestamp: int


class ListOffsets(Message, frozen=True):
    """A client asks a broker for offsets in the partitions that it leads.

    NOT MODELLED: tiered storage: a log is as on a broker without it.
    """

    API_KEY: ClassVar[int] = 2
    VERSION: ClassVar[int] = 11
    partitions: tuple[ListOffsetsPartition, ...]
    read_committed: bool = True


class ListOffsetsPartitionResponse(Value, frozen=True):
    """The requested offset of a partition; -1 beside an error, or if no record is young enough.

    `timestamp_ms` is the timestamp of the record that was found by one, `leader_epoch` that of the leader.
    """

    partition: str
    error: Errors
    offset: int = -1
    timestamp_ms: int = NO_TIMESTAMP
    leader_epoch: int = -1


class ListOffsetsResponse(Message, frozen=True):
    """The result for each partition of a ListOffsets request."""

    API_KEY: ClassVar[int] = 2
    VERSION: ClassVar[int] = 11
    IS_RESPONSE: ClassVar[bool] = True
    responses: tuple[ListOffsetsPartitionResponse, ...]


def is_supported(timestamp: int, version: int) -> bool:
    """Return whether a version of ListOffsets has a timestamp, or the negative number in its place.

    Source: ReplicaManager.isListOffsetsTimestampUnsupported.
    """
    return timestamp >= 0 or version >= _FIRST_VERSION.get(timestamp, version + 1)
