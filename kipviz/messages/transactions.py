"""The transaction RPCs, in the order in which a transaction meets them (transaction version 2)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message


class InitProducerId(Message, frozen=True):
    """A producer asks for its producer id and epoch; an older one with the same name is fenced."""

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 5
    transactional_id: str
    transaction_timeout_ms: int = 60_000
    producer_id: int = -1
    producer_epoch: int = -1


class InitProducerIdResponse(Message, frozen=True):
    """The producer id and epoch to use, or why there is none yet."""

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    producer_id: int = -1
    producer_epoch: int = -1


class AddPartitionsToTxn(Message, frozen=True):
    """A broker enlists a partition in a transaction before it appends to it (KIP-890).

    NOT MODELLED: versions 0-3, which clients send under transaction versions 0 and 1; several
    transactions in one request; verify_only, which only those versions need.
    """

    API_KEY: ClassVar[int] = 24
    VERSION: ClassVar[int] = 5
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]


class AddPartitionsToTxnResponse(Message, frozen=True):
    """Whether the coordinator has the partition in the transaction's record."""

    API_KEY: ClassVar[int] = 24
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]


class EndTxn(Message, frozen=True):
    """The producer asks to commit or abort."""

    API_KEY: ClassVar[int] = 26
    VERSION: ClassVar[int] = 5
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


class EndTxnResponse(Message, frozen=True):
    """The decision is durable; producer id and epoch are those of the next transaction."""

    API_KEY: ClassVar[int] = 26
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    producer_id: int = -1
    producer_epoch: int = -1


class WriteTxnMarkers(Message, frozen=True):
    """The coordinator tells a broker to end a transaction on the partitions it leads.

    NOT MODELLED: several transactions in one request.
    """

    API_KEY: ClassVar[int] = 27
    VERSION: ClassVar[int] = 2
    producer_id: int
    producer_epoch: int
    committed: bool
    partitions: tuple[str, ...]
    coordinator_epoch: int
    transaction_version: int = 2


class PartitionResult(Value, frozen=True):
    """What became of one partition of a request."""

    partition: str
    error: Errors


class WriteTxnMarkersResponse(Message, frozen=True):
    """Per partition: the marker is in the log, or why not."""

    API_KEY: ClassVar[int] = 27
    VERSION: ClassVar[int] = 2
    IS_RESPONSE: ClassVar[bool] = True
    producer_id: int
    results: tuple[PartitionResult, ...]
