"""Operators' requests about transactions (KIP-664; filters of KIP-994 and KIP-1152)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.transaction_state import TransactionState

S = TransactionState

# The names that operators use (TransactionState.java, `toString` in the admin client).
STATE_NAMES: dict[TransactionState, str] = {
    state: "".join(word.capitalize() for word in state.value.split("_")) for state in S
}


class ListTransactions(Message, frozen=True):
    """An operator's request to each broker for the transactional ids that it coordinates.

    Empty filters match everything, and so does a duration of -1 (KIP-994).
    """

    API_KEY: ClassVar[int] = 66
    VERSION: ClassVar[int] = 2
    states: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    pattern: str = ""
    duration_ms: int = -1


class TransactionListing(Value, frozen=True):
    """One transactional id of a list."""

    transactional_id: str
    producer_id: int
    state: TransactionState


class ListTransactionsResponse(Message, frozen=True):
    """The transactional ids that the broker coordinates, and the unknown state filters."""

    API_KEY: ClassVar[int] = 66
    VERSION: ClassVar[int] = 2
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    unknown_states: tuple[str, ...] = ()
    transactions: tuple[TransactionListing, ...] = ()


class DescribeTransactions(Message, frozen=True):
    """An operator's request for a coordinator's state of transactional ids."""

    API_KEY: ClassVar[int] = 65
    VERSION: ClassVar[int] = 0
    transactional_ids: tuple[str, ...]


class TransactionDescription(Value, frozen=True):
    """The coordinator's state of a transactional id; `partitions` are those that have no marker yet.

    `transaction_start_time_ms` is the timestamp of its beginning, if records carry timestamps. Beside an error all
    other numbers are 0.
    """

    transactional_id: str
    error: Errors
    transaction_state: TransactionState | None = None
    transaction_timeout_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    partitions: tuple[str, ...] = ()
    transaction_start_time_ms: int = NO_TIMESTAMP


class DescribeTransactionsResponse(Message, frozen=True):
    """The state of each transactional id, or its error."""

    API_KEY: ClassVar[int] = 65
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    transaction_states: tuple[TransactionDescription, ...]


class DescribeProducers(Message, frozen=True):
    """An operator's request for the producers in the logs of partitions.

    NOT MODELLED: asking a replica that is not the leader.
    """

    API_KEY: ClassVar[int] = 61
    VERSION: ClassVar[int] = 0
    partitions: tuple[str, ...]


class ActiveProducer(Value, frozen=True):
    """A log's state of a producer; -1 for fields without a value.

    `current_txn_start_offset` is where its open transaction begins, `last_timestamp` when its last batch or marker was
    written, if records carry timestamps.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    coordinator_epoch: int
    current_txn_start_offset: int
    last_timestamp: int = NO_TIMESTAMP


class PartitionProducers(Value, frozen=True):
    """The producers in the log of a partition."""

    partition: str
    error: Errors
    active_producers: tuple[ActiveProducer, ...] = ()


class DescribeProducersResponse(Message, frozen=True):
    """The producers of each partition, or its error."""

    API_KEY: ClassVar[int] = 61
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    responses: tuple[PartitionProducers, ...]
