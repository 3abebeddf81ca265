"""What an operator asks about transactions (KIP-664; filters of KIP-994 and KIP-1152)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.transaction_state import TransactionState

S = TransactionState

# The names that operators use (TransactionState.java, `toString` of the admin client's).
STATE_NAMES: dict[TransactionState, str] = {
    state: "".join(word.capitalize() for word in state.value.split("_")) for state in S
}


class ListTransactions(Message, frozen=True):
    """An operator asks a broker which transactional ids it coordinates.

    `broker` is whom it is for, because every broker is asked; it is no part of the message.
    Empty filters let everything through, and so does a duration of -1 (KIP-994).
    """

    API_KEY: ClassVar[int] = 66
    VERSION: ClassVar[int] = 2
    broker: int
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
    """The transactional ids that the broker coordinates, and the state filters it does not know."""

    API_KEY: ClassVar[int] = 66
    VERSION: ClassVar[int] = 2
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    unknown_states: tuple[str, ...] = ()
    transactions: tuple[TransactionListing, ...] = ()


class DescribeTransactions(Message, frozen=True):
    """An operator asks a coordinator what it knows of a transactional id.

    NOT MODELLED: several transactional ids in one request.
    """

    API_KEY: ClassVar[int] = 65
    VERSION: ClassVar[int] = 0
    transactional_id: str


class DescribeTransactionsResponse(Message, frozen=True):
    """What the coordinator knows; `partitions` are those that have no marker yet.

    `began_ms` is how long ago the transaction began, as far as a timed clock counts that, else -1. In
    Kafka it is the time at which it began, from which the operator's tool takes the difference: that is
    `start_timestamp_ms`, where records carry their time.
    Beside an error all other numbers are 0.
    """

    API_KEY: ClassVar[int] = 65
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    transactional_id: str
    state: TransactionState | None = None
    timeout_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    partitions: tuple[str, ...] = ()
    began_ms: int = -1
    start_timestamp_ms: int = NO_TIMESTAMP


class DescribeProducers(Message, frozen=True):
    """An operator asks the leader of a partition which producers its log knows.

    NOT MODELLED: several partitions in one request; asking a replica that does not lead.
    """

    API_KEY: ClassVar[int] = 61
    VERSION: ClassVar[int] = 0
    partition: str


class ActiveProducer(Value, frozen=True):
    """What a log knows of a producer; -1 where it has nothing to say.

    `start_offset` is where its open transaction begins, `last_timestamp_ms` when its last batch or marker
    was written, where records carry their time; `silent_ms` is how long ago that was, for an operator's tool
    that in Kafka takes the difference to its own clock.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    coordinator_epoch: int
    start_offset: int
    last_timestamp_ms: int = NO_TIMESTAMP
    silent_ms: int = -1


class DescribeProducersResponse(Message, frozen=True):
    """The producers that the log of the partition knows."""

    API_KEY: ClassVar[int] = 61
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    partition: str
    producers: tuple[ActiveProducer, ...] = ()
