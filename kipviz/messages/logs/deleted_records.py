"""DeleteRecords: an operator deletes the oldest records of partitions (KIP-107)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

# DeleteRecordsRequest.HIGH_WATERMARK and DeleteRecordsResponse.INVALID_LOW_WATERMARK
TO_HIGH_WATERMARK = -1
NO_LOW_WATERMARK = -1


class DeleteRecordsPartition(Value, frozen=True):
    """The offset before which the records of one partition are deleted; -1 is the high watermark."""

    partition: str
    offset: int


class DeleteRecords(Message, frozen=True):
    """A request to delete the oldest records of partitions.

    NOT MODELLED: that the response waits until every replica has deleted them; the request's timeout.
    """

    API_KEY: ClassVar[int] = 21
    VERSION: ClassVar[int] = 2
    partitions: tuple[DeleteRecordsPartition, ...]


class DeleteRecordsPartitionResult(Value, frozen=True):
    """The first offset that one partition has from now on, or the error."""

    partition: str
    error: Errors
    low_watermark: int = NO_LOW_WATERMARK


class DeleteRecordsResponse(Message, frozen=True):
    """The result for each partition."""

    API_KEY: ClassVar[int] = 21
    VERSION: ClassVar[int] = 2
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[DeleteRecordsPartitionResult, ...]
