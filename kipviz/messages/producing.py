"""Produce and Fetch."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.batches import DataRecord


class FurtherBatch(Value, frozen=True):
    """The batch of a further partition in a Produce request; each batch names its producer."""

    partition: str
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: tuple[DataRecord, ...]


class Produce(Message, frozen=True):
    """A producer sends batches to the broker that leads their partitions, one of each, acks=all.

    From version 12 on the leader adds its partition to the transaction (transaction version 2); up to version 11 the
    client has done so, and the leader may verify that (KIP-890 part 1). `correlation_id` is that of the request's
    header; 0 if its sender does not need one to match the response. `further` are the batches of other partitions. NOT
    MODELLED: topic ids instead of names.
    """

    API_KEY: ClassVar[int] = 0
    VERSION: ClassVar[int] = 13
    IF_USED: ClassVar[tuple[str, ...]] = ("further",)
    transactional_id: str
    partition: str
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: tuple[DataRecord, ...]
    version: int = 13
    correlation_id: int = 0
    further: tuple[FurtherBatch, ...] = ()

    @property
    def parts(self) -> tuple[Produce, ...]:
        """The request split into one for each partition."""
        if not self.further:
            return (self,)
        alone = self.but(further=())
        others = (
            alone.but(
                partition=each.partition,
                producer_id=each.producer_id,
                producer_epoch=each.producer_epoch,
                base_sequence=each.base_sequence,
                records=each.records,
            )
            for each in self.further
        )
        return (alone, *others)


def merge_requests(parts: tuple[Produce, ...]) -> Produce:
    """Merge requests of one partition each into one, in their order; its header is the first one's."""
    first, *others = parts
    further = (
        FurtherBatch(p.partition, p.producer_id, p.producer_epoch, p.base_sequence, p.records)
        for p in others
    )
    return first.but(further=tuple(further))


class FurtherResult(Value, frozen=True):
    """The result for the batch of a further partition of a Produce request."""

    error: Errors
    partition: str
    base_sequence: int
    base_offset: int = -1


class ProduceResponse(Message, frozen=True):
    """The batch is in every in-sync replica, or an error says why not; each partition has its own result.

    `correlation_id` is that of the header, which repeats the request's. `further` are the results for other partitions.
    """

    API_KEY: ClassVar[int] = 0
    VERSION: ClassVar[int] = 13
    IS_RESPONSE: ClassVar[bool] = True
    IF_USED: ClassVar[tuple[str, ...]] = ("further",)
    error: Errors
    partition: str
    base_sequence: int
    base_offset: int = -1
    correlation_id: int = 0
    further: tuple[FurtherResult, ...] = ()

    @property
    def parts(self) -> tuple[ProduceResponse, ...]:
        """The response split into one for each partition."""
        if not self.further:
            return (self,)
        alone = self.but(further=())
        others = (
            ProduceResponse(
                each.error,
                each.partition,
                each.base_sequence,
                each.base_offset,
                self.correlation_id,
            )
            for each in self.further
        )
        return (alone, *others)


def merge_responses(parts: tuple[ProduceResponse, ...]) -> ProduceResponse:
    """Merge the responses for one partition each into one, in their order."""
    first, *others = parts
    further = (FurtherResult(p.error, p.partition, p.base_sequence, p.base_offset) for p in others)
    return first.but(further=tuple(further))


class Fetch(Message, frozen=True):
    """A consumer fetches records from an offset on.

    Without `wait` it is answered at once, even without records (MaxWaitMs 0). `resets` means that the consumer has no
    reset policy of its own for a position that the log does not have: it then reads on from the log's first record, and
    the round trips of auto.offset.reset=earliest are left out. NOT MODELLED: fetch sessions, several partitions in one
    request, followers' fetches.
    """

    API_KEY: ClassVar[int] = 1
    VERSION: ClassVar[int] = 18
    partition: str
    offset: int
    max_records: int
    read_committed: bool
    wait: bool = True
    resets: bool = True


class FetchedRecord(Value, frozen=True):
    """One record as a consumer receives it."""

    partition: str
    offset: int
    value: str
    delivery_count: int = 0


class FetchResponse(Message, frozen=True):
    """Records below the high watermark, or below the last stable offset under read_committed.

    The client's filter of aborted records has been applied; `next_offset` is the position after it. NOT MODELLED: the
    list of aborted transactions in the response.
    """

    API_KEY: ClassVar[int] = 1
    VERSION: ClassVar[int] = 18
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    partition: str
    records: tuple[FetchedRecord, ...] = ()
    next_offset: int = -1
