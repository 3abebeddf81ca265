"""The transaction RPCs, in the order in which a transaction uses them.

The version of a request depends on the transaction version: AddPartitionsToTxn 3, AddOffsetsToTxn 4, and EndTxn 4 are
what a client sends under transaction versions 0 and 1.
"""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.cluster.coordinators import TRANSACTION, FindCoordinator
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions.admin import DescribeTransactions
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS

# The version of InitProducerId for two-phase commits (KIP-939).
TWO_PHASE = 6
# The time limit that a producer of a two-phase commit sends, and that is stored: no limit.
NO_TIME_LIMIT = 2_147_483_647
# Versions 0 to 3 of AddPartitionsToTxn are sent by clients, the later ones by brokers.
LAST_OF_A_CLIENT = 3


class InitProducerId(Message, frozen=True):
    """A producer requests its producer id and epoch; an older producer with the same name is fenced.

    Without a transactional id (None, null in the protocol) it gets an id that no broker stores. From version 6 on,
    which is unstable in Kafka 4.4.0, it says whether there is a time limit, and whether an open transaction is kept
    (KIP-939). `heartbeat_interval_ms` is KIP-1309's (draft): version 7, or 6 if that comes before KIP-939 is stable. Its
    name and place in the request are our inference.
    """

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 5
    SINCE: ClassVar[tuple[tuple[str, int], ...]] = (
        ("enable_2pc", TWO_PHASE),
        ("keep_prepared_txn", TWO_PHASE),
        ("heartbeat_interval_ms", TWO_PHASE),
    )
    transactional_id: str | None
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS.default
    producer_id: int = -1
    producer_epoch: int = -1
    version: int = 5
    enable_2pc: bool = False
    keep_prepared_txn: bool = False
    heartbeat_interval_ms: int = 0


class InitProducerIdResponse(Message, frozen=True):
    """The producer id and epoch to use, or an error; from version 6 on also the identity of a kept transaction, or -1."""

    API_KEY: ClassVar[int] = 22
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[tuple[str, int], ...]] = (
        ("ongoing_txn_producer_id", TWO_PHASE),
        ("ongoing_txn_producer_epoch", TWO_PHASE),
    )
    error: Errors
    producer_id: int = -1
    producer_epoch: int = -1
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1


class PartitionResult(Value, frozen=True):
    """The result for one partition of a request."""

    partition: str
    error: Errors


def first_error(results: tuple[PartitionResult, ...]) -> Errors:
    """Return the first error of a partition, Errors.NONE without one."""
    return next((each.error for each in results if each.error), Errors.NONE)


class TxnPartitions(Value, frozen=True):
    """Partitions that are added to a transaction or, with `verify_only`, looked for in it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]
    verify_only: bool = False


class AddPartitionsToTxn(Message, frozen=True):
    """Partitions are added to transactions, or checked.

    Version 3 is a client's: transaction versions 0 and 1. It has one transaction, in fields of its own
    (V3AndBelowTransactionalId and so on), which Kafka's brokers read as the array of the later versions, too
    (AddPartitionsToTxnRequest.normalizeRequest). From version 4 on it is a broker's, which adds its own partition to
    the transaction (transaction version 2) or verifies that the client has added it (KIP-890 part 1).
    """

    API_KEY: ClassVar[int] = 24
    VERSION: ClassVar[int] = 5
    transactions: tuple[TxnPartitions, ...]
    version: int = 5


class TxnPartitionsResult(Value, frozen=True):
    """Whether the coordinator has the partitions in a transaction's record: a result for each.

    One partition that the client may not write to, or that does not exist, is enough that none is added: the others
    have OPERATION_NOT_ATTEMPTED. Then the unauthorized partitions come first, and the missing ones before those that
    were not attempted, as in KafkaApis.handleAddPartitionsToTxnRequest. A verification may find some of the partitions
    in the transaction and others not.
    """

    transactional_id: str
    results: tuple[PartitionResult, ...]

    @property
    def error(self) -> Errors:
        """The first error of a partition."""
        return first_error(self.results)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions that have a result."""
        return tuple(each.partition for each in self.results)

    def error_of(self, partition: str) -> Errors:
        """Return the error of a partition."""
        return next(each.error for each in self.results if each.partition == partition)


class AddPartitionsToTxnResponse(Message, frozen=True):
    """The result for each transaction, or an error of the whole request of a broker, from version 4 on."""

    API_KEY: ClassVar[int] = 24
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    IF_USED: ClassVar[tuple[str, ...]] = ("error",)
    results: tuple[TxnPartitionsResult, ...]
    error: Errors = Errors.NONE


def refused_partitions(
    asked: TxnPartitions | TxnPartitionsResult, error: Errors
) -> TxnPartitionsResult:
    """Return the result with one error for all partitions of a transaction."""
    results = tuple(PartitionResult(partition, error) for partition in asked.partitions)
    return TxnPartitionsResult(asked.transactional_id, results)


def response_with_error(asked: AddPartitionsToTxn, error: Errors) -> AddPartitionsToTxnResponse:
    """Return the response with an error: of the whole request if its sender is no broker, else of each partition.

    Source: AddPartitionsToTxnRequest.getErrorResponse; what only a coordinator finds out is an error of partitions.
    """
    if error is Errors.CLUSTER_AUTHORIZATION_FAILED and asked.version > LAST_OF_A_CLIENT:
        return AddPartitionsToTxnResponse((), error)
    each = asked.transactions
    return AddPartitionsToTxnResponse(tuple(refused_partitions(one, error) for one in each))


def named_transactions(message: object) -> tuple[str, ...]:
    """Return the transactional ids that any message names: in its array, or the one that it is about."""
    if isinstance(message, AddPartitionsToTxn):
        return tuple(each.transactional_id for each in message.transactions)
    if isinstance(message, DescribeTransactions):
        return message.transactional_ids
    if isinstance(message, FindCoordinator):
        return message.coordinator_keys if message.key_type == TRANSACTION else ()
    name: str | None = getattr(message, "transactional_id", None)
    return () if name is None else (name,)


class AddOffsetsToTxn(Message, frozen=True):
    """A client adds the partition that holds a group's offsets (transaction versions 0 and 1)."""

    API_KEY: ClassVar[int] = 25
    VERSION: ClassVar[int] = 4
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
    version: int = 4


class AddOffsetsToTxnResponse(Message, frozen=True):
    """Whether the partition of the group's offsets is in the transaction."""

    API_KEY: ClassVar[int] = 25
    VERSION: ClassVar[int] = 4
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors


class EndTxn(Message, frozen=True):
    """A producer commits or aborts; version 5 means that the epoch goes up with it."""

    API_KEY: ClassVar[int] = 26
    VERSION: ClassVar[int] = 5
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    version: int = 5


class EndTxnResponse(Message, frozen=True):
    """The decision is durable; producer id and epoch are those of the next transaction.

    Below version 5 they are -1: the client keeps what it has.
    """

    API_KEY: ClassVar[int] = 26
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    producer_id: int = -1
    producer_epoch: int = -1


class TxnMarker(Value, frozen=True):
    """The end of one transaction on some partitions: a commit or an abort."""

    producer_id: int
    producer_epoch: int
    committed: bool
    partitions: tuple[str, ...]
    coordinator_epoch: int
    transaction_version: int = 2


class WriteTxnMarkers(Message, frozen=True):
    """The coordinator makes a broker end transactions on the partitions that it leads."""

    API_KEY: ClassVar[int] = 27
    VERSION: ClassVar[int] = 2
    markers: tuple[TxnMarker, ...]


class TxnMarkerResult(Value, frozen=True):
    """The results of one transaction's marker: in each partition it is in the log, or an error says why not."""

    producer_id: int
    results: tuple[PartitionResult, ...]


class WriteTxnMarkersResponse(Message, frozen=True):
    """The results of each marker."""

    API_KEY: ClassVar[int] = 27
    VERSION: ClassVar[int] = 2
    IS_RESPONSE: ClassVar[bool] = True
    markers: tuple[TxnMarkerResult, ...]

    @property
    def results(self) -> tuple[PartitionResult, ...]:
        """The results of all markers."""
        return tuple(result for marker in self.markers for result in marker.results)
