"""The states of a producer, and the valid transitions between them.

WHERE IN KAFKA: TransactionManager.State.
"""

from __future__ import annotations

from enum import StrEnum

from kipviz.clients.throwing.client_errors import Raised
from kipviz.core.values import Value


class Result(Value, frozen=True):
    """The result that threads of a shared producer wait for (TransactionalRequestResult).

    `threads` are those that have not returned, "" is the first one of the process. It has `ended`, perhaps with an
    `error`, when the response has arrived, and is `acked` when a thread has returned with it.
    """

    call: str
    threads: tuple[str, ...]
    ended: bool = False
    error: Raised = ""
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

# state -> valid next states (TransactionManager.State.isTransitionValid)
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

# The states from which a producer with a group may initialise again (KIP-447, first draft: after every rebalance, and
# when it was fenced); any other producer may only from the first of them.
OF_A_GROUP = (S.UNINITIALIZED, S.READY, S.ABORTABLE_ERROR)
