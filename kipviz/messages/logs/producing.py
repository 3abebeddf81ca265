"""Produce and Fetch."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.batches import DataRecord
from kipviz.settings.consumer_configs import FETCH_MAX_WAIT_MS, MAX_PARTITION_FETCH_BYTES

ACKS_ALL = -1  # acks=all
ACKS_NONE = 0


class PartitionProduceData(Value, frozen=True):
    """The batch for one partition in a Produce request; each batch names its producer."""

    partition: str
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: tuple[DataRecord, ...]

    @property
    def identity(self) -> tuple[int, int]:
        """The producer id and epoch."""
        return (self.producer_id, self.producer_epoch)


class Produce(Message, frozen=True):
    """A producer sends batches to the broker that leads their partitions, one for each partition.

    `acks` says when the response is sent: -1 (acks=all) when all in-sync replicas have the batches, 1 when the leader has
    them, 0 never. The model's own clients send -1.

    From version 12 on the leader adds its partition to the transaction (transaction version 2); up to version 11 the
    client has done so, and the leader may verify that (KIP-890 part 1). NOT MODELLED: topic ids instead of names.
    """

    API_KEY: ClassVar[int] = 0
    VERSION: ClassVar[int] = 13
    transactional_id: str
    partition_data: tuple[PartitionProduceData, ...]
    version: int = 13
    acks: int = ACKS_ALL

    def list_fields(self, version: int) -> tuple[str, ...]:
        """Return the names of its fields; acks only if it is not acks=all."""
        return tuple(
            f for f in super().list_fields(version) if f != "acks" or self.acks != ACKS_ALL
        )


class PartitionProduceResponse(Value, frozen=True):
    """The result for one partition: its batch is in every in-sync replica, or an error says why not.

    `base_offset` is the offset of the batch's first record; -1 with an error.
    """

    partition: str
    error: Errors
    base_offset: int = -1


class ProduceResponse(Message, frozen=True):
    """The result for each partition of a Produce request."""

    API_KEY: ClassVar[int] = 0
    VERSION: ClassVar[int] = 13
    IS_RESPONSE: ClassVar[bool] = True
    partition_responses: tuple[PartitionProduceResponse, ...]


class FetchPartition(Value, frozen=True):
    """A partition of a Fetch request, and the offset from which on its records are fetched.

    The leader returns whole batches of `partition_max_bytes` together, and at least one.
    """

    partition: str
    fetch_offset: int
    partition_max_bytes: int = MAX_PARTITION_FETCH_BYTES.default


class Fetch(Message, frozen=True):
    """A consumer fetches records from partitions that one broker leads.

    Without records the leader waits for them, unless `max_wait_ms` is 0. NOT MODELLED: fetch sessions, followers'
    fetches, MinBytes; MaxBytes, which counts the batches of all partitions (a served cluster has both); that only the
    first partition with records returns a batch that is longer than its limit (ReplicaManager.readFromLog); that the
    wait ends after that time (the listener of a served cluster does that).
    """

    API_KEY: ClassVar[int] = 1
    VERSION: ClassVar[int] = 18
    partitions: tuple[FetchPartition, ...]
    read_committed: bool
    max_wait_ms: int = FETCH_MAX_WAIT_MS.default


class FetchedRecord(Value, frozen=True):
    """One record as a consumer receives it."""

    partition: str
    offset: int
    value: str
    delivery_count: int = 0


class PartitionData(Value, frozen=True):
    """The records of one partition below the high watermark, or below the last stable offset under read_committed.

    The client's filter of aborted records has been applied; `next_offset` is the position after it. NOT MODELLED: the
    list of aborted transactions.
    """

    partition: str
    error: Errors
    records: tuple[FetchedRecord, ...] = ()
    next_offset: int = -1


class FetchResponse(Message, frozen=True):
    """The result for each partition of a Fetch request.

    NOT MODELLED: the error of the whole response, which is about fetch sessions.
    """

    API_KEY: ClassVar[int] = 1
    VERSION: ClassVar[int] = 18
    IS_RESPONSE: ClassVar[bool] = True
    responses: tuple[PartitionData, ...]
