"""The effect of an error on a producer: it retries, fails the transaction, or fails itself.

WHERE IN KAFKA: the handlers of TransactionManager, Sender.canRetry.
"""

from __future__ import annotations

from kipviz.clients.transactions import topic_ids
from kipviz.messages.cluster.coordinators import FindCoordinator
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups.groups import TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    InitProducerId,
)
from kipviz.messages.transactions.two_phase import InitProducerId2Pc

# The errors of a batch that are fatal for the producer; any other one fails only the transaction. Source:
# TransactionManager.maybeTransitionToErrorState.
FATAL_OF_PRODUCE = (
    Errors.PRODUCER_FENCED,
    Errors.INVALID_PRODUCER_ID_MAPPING,
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Errors.CLUSTER_AUTHORIZATION_FAILED,
    Errors.UNSUPPORTED_VERSION,
)

# A producer without the right to an identity may ask again when it has the right: nothing has begun. Source:
# Sender.maybeSendAndPollTransactionalRequest, TransactionManager.transitionToUninitialized.
NOT_ALLOWED = (Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Errors.CLUSTER_AUTHORIZATION_FAILED)

# The errors of a transactional request that fail only the transaction; any other that is not retriable is fatal for the
# producer. UNKNOWN_PRODUCER_ID fails only the transaction if the coordinator can bump an epoch, as all here can:
# TransactionManager.abortableErrorIfPossible.
ABORTABLE: dict[type[Message], tuple[Errors, ...]] = {
    TxnOffsetCommit: (
        Errors.ILLEGAL_GENERATION,
        Errors.UNKNOWN_MEMBER_ID,
        Errors.FENCED_INSTANCE_ID,
        Errors.STALE_MEMBER_EPOCH,
        Errors.GROUP_ID_NOT_FOUND,
        Errors.GROUP_AUTHORIZATION_FAILED,
        Errors.TRANSACTION_ABORTABLE,
    ),
    # KIP-1289: "KafkaException for other non-fatal errors that may be retried by aborting". A new leader does not have
    # the acquisition lock, so a change of leader fails the transaction too (X10).
    TxnShareAcknowledge: (
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.INVALID_RECORD_STATE,
        Errors.INVALID_REQUEST,
        Errors.NOT_COORDINATOR,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.UNKNOWN_MEMBER_ID,
        Errors.STALE_MEMBER_EPOCH,
        Errors.FENCED_LEADER_EPOCH,
        Errors.FENCED_STATE_EPOCH,
        Errors.GROUP_AUTHORIZATION_FAILED,
        Errors.TRANSACTION_ABORTABLE,
    ),
    AddPartitionsToTxn: (
        Errors.TRANSACTION_ABORTABLE,
        Errors.TOPIC_AUTHORIZATION_FAILED,
        Errors.CLUSTER_AUTHORIZATION_FAILED,
    ),
    AddOffsetsToTxn: (
        Errors.TRANSACTION_ABORTABLE,
        Errors.GROUP_AUTHORIZATION_FAILED,
        Errors.UNKNOWN_PRODUCER_ID,
    ),
    EndTxn: (Errors.TRANSACTION_ABORTABLE, Errors.UNKNOWN_PRODUCER_ID),
    FindCoordinator: (Errors.TRANSACTION_ABORTABLE,),
    InitProducerId: (Errors.TRANSACTION_ABORTABLE, *NOT_ALLOWED),
    InitProducerId2Pc: (Errors.TRANSACTION_ABORTABLE, *NOT_ALLOWED),
    # KIP-447, first draft: a producer that comes too late joins its group again (our inference).
    InitProducerIdOfGroup: (Errors.ILLEGAL_GENERATION, *NOT_ALLOWED),
}

# The errors of AddPartitionsToTxn that are fatal for the producer; any other one that is not retriable is collected
# with those of other partitions, and fails the transaction. Source: TransactionManager.AddPartitionsToTxnHandler.
FATAL_OF_ADDING = (
    Errors.INVALID_PRODUCER_EPOCH,
    Errors.INVALID_TXN_STATE,
    Errors.INVALID_PRODUCER_ID_MAPPING,
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Errors.PRODUCER_FENCED,
)


def error_of(message: Message) -> Errors:
    """Return the error of a response to a transactional request, whose parts may have errors of their own.

    An unknown partition is retried, whatever the errors of the others.
    Source: TransactionManager.AddPartitionsToTxnHandler, which goes through the partitions.
    """
    if isinstance(message, TxnOffsetCommitResponse):
        return topic_ids.error_of(message)
    if isinstance(message, AddPartitionsToTxnResponse) and message.results[0].unknown:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION
    return error_of_response(message)


def ends_the_transaction(request: type[Message] | None, error: Errors) -> bool:
    """Return whether an error fails only the transaction; otherwise it is fatal for the producer.

    None stands for a request that no producer sends.
    """
    if request is Produce:
        return error not in FATAL_OF_PRODUCE
    if request is AddPartitionsToTxn:
        return error not in FATAL_OF_ADDING
    return request in ABORTABLE and error in ABORTABLE[request]


def is_retried(request: type[Message] | None, error: Errors) -> bool:
    """Return whether the client retries by itself after this error, for any request of this kind."""
    return error in RETRIABLE and not (request in ABORTABLE and error in ABORTABLE[request])


def may_be_asked_again(request: Message, error: Errors) -> bool:
    """Return whether a transactional request is sent again after this error."""
    return is_retried(type(request), error)


# The exception of every call after the sender attempted an invalid state transition: the state is poisoned. Source:
# TransactionManager.transitionTo, shouldPoisonStateOnInvalidTransition, maybeFailWithError (KAFKA-14831).
POISONED = "IllegalStateException: previous invalid state transition attempt"

# The error of a batch whose delivery.timeout.ms expires (TimeoutException).
EXPIRED = Errors.REQUEST_TIMED_OUT
