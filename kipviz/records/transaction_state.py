"""The records of `__transaction_state` and the states they name."""

from __future__ import annotations

from enum import StrEnum

from kipviz.core.values import Value
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS


class TransactionState(StrEnum):
    """The coordinator's states of a transactional id (TransactionState.java)."""

    EMPTY = "EMPTY"
    ONGOING = "ONGOING"
    PREPARE_COMMIT = "PREPARE_COMMIT"
    PREPARE_ABORT = "PREPARE_ABORT"
    COMPLETE_COMMIT = "COMPLETE_COMMIT"
    COMPLETE_ABORT = "COMPLETE_ABORT"
    DEAD = "DEAD"
    PREPARE_EPOCH_FENCE = "PREPARE_EPOCH_FENCE"


S = TransactionState

# Kafka's numeric ids, as in the log (TransactionState.java).
STATE_IDS: dict[TransactionState, int] = {state: i for i, state in enumerate(TransactionState)}

# target state -> states it may be entered from. PREPARE_ABORT lists the states from which a
# TV2 client may abort a transaction that never reached the coordinator ("empty abort").
VALID_PREVIOUS: dict[TransactionState, tuple[TransactionState, ...]] = {
    S.EMPTY: (S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT),
    S.ONGOING: (S.ONGOING, S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT),
    S.PREPARE_COMMIT: (S.ONGOING,),
    S.PREPARE_ABORT: (
        S.ONGOING,
        S.PREPARE_EPOCH_FENCE,
        S.EMPTY,
        S.COMPLETE_COMMIT,
        S.COMPLETE_ABORT,
    ),
    S.COMPLETE_COMMIT: (S.PREPARE_COMMIT,),
    S.COMPLETE_ABORT: (S.PREPARE_ABORT,),
    S.DEAD: (S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT),
    S.PREPARE_EPOCH_FENCE: (S.ONGOING,),
}

# States without a record: DEAD waits for a tombstone, and the fence of an InitProducerId is logged as the PREPARE_ABORT
# that follows it.
NOT_ENTERED = (S.DEAD, S.PREPARE_EPOCH_FENCE)

# 32766 is the last epoch a client ever holds; 32767 is reserved for the coordinator's fence.
LAST_CLIENT_EPOCH = 32766
EPOCH_MAX = 32767


class TransactionRecord(Value, frozen=True):
    """One value of `__transaction_state` (TransactionLogValue) with its key.

    `next_producer_epoch` is in Kafka 4.4.0's schema (tag 3) and no release writes it: KIP-939 stores in it, with
    `next_producer_id`, the identity that may end a kept transaction. Version 0 is written under transaction version 0:
    it has no fields for the previous and the next producer id, nor for the client's transaction version.
    `heartbeat_interval_ms` is not in Kafka's record: that KIP-1309 (draft) would log it is our inference.

    The two timestamps are TransactionStartTimestampMs and TransactionLastUpdateTimestampMs: when the first partition
    was added, and when the transition was prepared. Both are NO_TIMESTAMP if records carry no timestamps.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: TransactionState
    partitions: tuple[str, ...] = ()
    previous_producer_id: int = -1
    next_producer_id: int = -1
    timeout_ms: int = TRANSACTION_TIMEOUT_MS.default
    client_transaction_version: int = 0
    next_producer_epoch: int = -1
    version: int = 1
    heartbeat_interval_ms: int = 0
    start_timestamp_ms: int = NO_TIMESTAMP
    last_update_timestamp_ms: int = NO_TIMESTAMP


class GroupAssignmentRecord(Value, frozen=True):
    """A producer's assignment in a generation of its group (KIP-447, first draft).

    The draft requires a record type of its own beside the transaction's, which does not change; the fields of its key
    and its value are our inference.
    """

    group_id: str
    transactional_id: str
    generation: int
    assigned: tuple[str, ...] = ()


class Tombstone(Value, frozen=True):
    """A key without a value: the transactional id has expired."""

    transactional_id: str
