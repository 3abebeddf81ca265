"""Produce and Fetch."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.batches import DataRecord


class Produce(Message, frozen=True):
    """A producer sends one batch to the leader of a partition, acks=all.

    From version 12 on the leader enlists its partition (transaction version 2); up to version 11 the
    client has done so, and the leader may ask (KIP-890 part 1). `correlation_id` is that of the
    request's header; 0 where its sender needs none to know the answer. NOT MODELLED: several
    partitions in one request; topic ids instead of names.
    """

    API_KEY: ClassVar[int] = 0
    VERSION: ClassVar[int] = 13
    transactional_id: str
    partition: str
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: tuple[DataRecord, ...]
    version: int = 13
    correlation_id: int = 0


class ProduceResponse(Message, frozen=True):
    """The batch is in every in-sync replica, or why not.

    `correlation_id` is that of the header, which repeats the request's.
    """

    API_KEY: ClassVar[int] = 0
    VERSION: ClassVar[int] = 13
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    partition: str
    base_sequence: int
    base_offset: int = -1
    correlation_id: int = 0


class Fetch(Message, frozen=True):
    """A consumer asks for records from an offset on.

    Without `wait` it is answered at once, if need be with nothing (MaxWaitMs 0). `resets` says that its
    consumer has not been told what to do with a position that the log does not have: then it reads on from
    the log's first record, and the round trips by which auto.offset.reset=earliest comes to that are left
    out. NOT MODELLED: fetch sessions, several partitions in one request, followers' fetches.
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

    The client's filter of aborted records is applied here already; `next_offset` is the
    position after it. NOT MODELLED: the list of aborted transactions on the wire.
    """

    API_KEY: ClassVar[int] = 1
    VERSION: ClassVar[int] = 18
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    partition: str
    records: tuple[FetchedRecord, ...] = ()
    next_offset: int = -1
