"""The states of a producer, and which follows on which.

WHERE IN KAFKA: TransactionManager.State.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.transactions import AddPartitionsToTxn, InitProducerId


class Result(Value, frozen=True):
    """What threads wait for that share a producer (TransactionalRequestResult).

    `threads` are those that have not come back, "" is the first one of the process. It has `ended`, maybe with an
    `error`, when the answer is there, and is `acked` when a thread has come back with it.
    """

    call: str
    threads: tuple[str, ...]
    ended: bool = False
    error: str = ""
    acked: bool = False


class ProducerState(StrEnum):
    """The states of the client's TransactionManager."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    PREPARED_TRANSACTION = "PREPARED_TRANSACTION"
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


S = ProducerState

# state -> states it may go to (TransactionManager.State.isTransitionValid)
TRANSITIONS: dict[ProducerState, tuple[ProducerState, ...]] = {
    S.UNINITIALIZED: (S.INITIALIZING, S.FATAL_ERROR),
    S.INITIALIZING: (S.READY, S.PREPARED_TRANSACTION, S.ABORTABLE_ERROR, S.FATAL_ERROR),
    # To UNINITIALIZED only without a transactional id (resetIdempotentProducerId), when its epochs are used up.
    S.READY: (S.UNINITIALIZED, S.IN_TRANSACTION, S.FATAL_ERROR),
    S.IN_TRANSACTION: (
        S.PREPARED_TRANSACTION,
        S.COMMITTING_TRANSACTION,
        S.ABORTING_TRANSACTION,
        S.ABORTABLE_ERROR,
        S.FATAL_ERROR,
    ),
    S.PREPARED_TRANSACTION: (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION, S.FATAL_ERROR),
    # To INITIALIZING: the client bumps its epoch itself (KIP-360; transaction versions 0 and 1).
    S.COMMITTING_TRANSACTION: (S.READY, S.INITIALIZING, S.ABORTABLE_ERROR, S.FATAL_ERROR),
    S.ABORTING_TRANSACTION: (S.READY, S.INITIALIZING, S.FATAL_ERROR),
    S.ABORTABLE_ERROR: (
        S.UNINITIALIZED,
        S.ABORTING_TRANSACTION,
        S.ABORTABLE_ERROR,
        S.FATAL_ERROR,
    ),
    S.FATAL_ERROR: (S.FATAL_ERROR,),
}

# States from which a producer with a group may initialise again (KIP-447, first draft: after every
# rebalance, and when it was fenced); for any other one there is only the first of them.
OF_A_GROUP = (S.UNINITIALIZED, S.READY, S.ABORTABLE_ERROR)


def anew(me: Any) -> Any:
    """Give a producer that has forgotten what belonged to the identity before (KIP-447, first draft)."""
    return me.but(
        batches=(), partitions=(), to_add=(), transaction_started=False, sequences=Table.of()
    )


def bumping(me: Any) -> tuple[InitProducerId, ...]:
    """Give the request for the next epoch, if the client has to bump it itself (KIP-360)."""
    who = (me.transactional_id, me.transaction_timeout_ms, me.producer_id, me.producer_epoch)
    return (InitProducerId(*who),) if me.bump else ()


def being_added(me: Any) -> tuple[str, ...]:
    """Give the partitions of an AddPartitionsToTxn that is on the wire or to be sent again."""
    return tuple(
        partition
        for request in (me.on_wire, *me.queue)
        if isinstance(request, AddPartitionsToTxn)
        for partition in request.partitions
    )
