"""What an error means to a producer: it asks again, ends the transaction, or ends itself.

WHERE IN KAFKA: the handlers of TransactionManager, Sender.canRetry.
"""

from __future__ import annotations

from kipviz.clients.transactions import topic_ids
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups import TxnOffsetCommitResponse
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.transactions import AddPartitionsToTxnResponse

# The errors of a batch that end the producer; any other one ends only the transaction.
# Source: TransactionManager.maybeTransitionToErrorState.
FATAL_OF_PRODUCE = (
    Errors.PRODUCER_FENCED,
    Errors.INVALID_PRODUCER_ID_MAPPING,
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Errors.CLUSTER_AUTHORIZATION_FAILED,
    Errors.UNSUPPORTED_VERSION,
)

# Whoever may not have an identity may ask again, when it is allowed: nothing has begun.
# Source: Sender.maybeSendAndPollTransactionalRequest, TransactionManager.transitionToUninitialized.
NOT_ALLOWED = (Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Errors.CLUSTER_AUTHORIZATION_FAILED)

# Which errors of a transactional request end only the transaction; any other that is not
# retriable ends the producer. UNKNOWN_PRODUCER_ID does where the coordinator can bump an epoch, as all here can:
# TransactionManager.abortableErrorIfPossible.
ABORTABLE: dict[str, tuple[Errors, ...]] = {
    "TxnOffsetCommit": (
        Errors.ILLEGAL_GENERATION,
        Errors.UNKNOWN_MEMBER_ID,
        Errors.FENCED_INSTANCE_ID,
        Errors.STALE_MEMBER_EPOCH,
        Errors.GROUP_ID_NOT_FOUND,
        Errors.GROUP_AUTHORIZATION_FAILED,
        Errors.TRANSACTION_ABORTABLE,
    ),
    # KIP-1289: "KafkaException for other non-fatal errors that may be retried by aborting".
    # A new leader has no lock of ours, so being sent there ends the transaction too (X10).
    "TxnShareAcknowledge": (
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
    "AddPartitionsToTxn": (
        Errors.TRANSACTION_ABORTABLE,
        Errors.TOPIC_AUTHORIZATION_FAILED,
        Errors.CLUSTER_AUTHORIZATION_FAILED,
    ),
    "AddOffsetsToTxn": (
        Errors.TRANSACTION_ABORTABLE,
        Errors.GROUP_AUTHORIZATION_FAILED,
        Errors.UNKNOWN_PRODUCER_ID,
    ),
    "EndTxn": (Errors.TRANSACTION_ABORTABLE, Errors.UNKNOWN_PRODUCER_ID),
    "FindCoordinator": (Errors.TRANSACTION_ABORTABLE,),
    "InitProducerId": (Errors.TRANSACTION_ABORTABLE, *NOT_ALLOWED),
    "InitProducerId2Pc": (Errors.TRANSACTION_ABORTABLE, *NOT_ALLOWED),
    # KIP-447, first draft: whoever comes too late joins its group again (our inference).
    "InitProducerIdOfGroup": (Errors.ILLEGAL_GENERATION, *NOT_ALLOWED),
}

# The errors of AddPartitionsToTxn that end the producer; any other one that is not retriable is put
# together with those of other partitions, and ends the transaction.
# Source: TransactionManager.AddPartitionsToTxnHandler.
FATAL_OF_ADDING = (
    Errors.INVALID_PRODUCER_EPOCH,
    Errors.INVALID_TXN_STATE,
    Errors.INVALID_PRODUCER_ID_MAPPING,
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Errors.PRODUCER_FENCED,
)


def said(message: Message) -> Errors:
    """Give what an answer to a transactional request comes to, where its parts have errors of their own.

    A partition that is not there is one to ask again for, whatever else is wrong with the others.
    Source: TransactionManager.AddPartitionsToTxnHandler, which goes through the partitions.
    """
    if isinstance(message, TxnOffsetCommitResponse):
        return topic_ids.said(message)
    if isinstance(message, AddPartitionsToTxnResponse) and message.unknown:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION
    return error_of_response(message)


def ends_the_transaction(request: str, error: Errors) -> bool:
    """Say whether an error ends only the transaction; if it does not, it ends the producer."""
    if request == "Produce":
        return error not in FATAL_OF_PRODUCE
    if request == "AddPartitionsToTxn":
        return error not in FATAL_OF_ADDING
    return error in ABORTABLE.get(request, ())


def is_retried(request: str, error: Errors) -> bool:
    """Say whether the client asks again by itself after this error, whoever asked."""
    return error in RETRIABLE and error not in ABORTABLE.get(request, ())


def may_be_asked_again(request: Message, error: Errors) -> bool:
    """Say whether a transactional request goes out again after this error."""
    return is_retried(type(request).__name__, error)


# What every call throws after the sender attempted a step that no state has: the state is poisoned.
# Source: TransactionManager.transitionTo, shouldPoisonStateOnInvalidTransition, maybeFailWithError (KAFKA-14831).
POISONED = "IllegalStateException: previous invalid state transition attempt"

# What a batch fails with whose delivery.timeout.ms expires (TimeoutException).
EXPIRED = Errors.REQUEST_TIMED_OUT
