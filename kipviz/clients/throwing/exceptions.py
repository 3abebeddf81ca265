"""The exception that an error becomes: its class, and its kind for the application.

The class follows from the error code and the request (org.apache.kafka.common.errors, the handlers of
TransactionManager). What a catch block catches is in `clients.catching`, which also knows the call and the client's state.
"""

from __future__ import annotations

from kipviz.clients.throwing.client_errors import Raised
from kipviz.clients.transactions.producer_errors import (
    client_errors,
    ends_the_transaction,
    is_fatal_for_batch,
    is_retried,
)
from kipviz.core.values import Value
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message

# Classes whose name does not follow from the name of the code.
CLASSES = {
    Errors.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    Errors.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequenceException",
    Errors.DUPLICATE_SEQUENCE_NUMBER: "DuplicateSequenceException",
    Errors.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMappingException",
    Errors.INVALID_TRANSACTION_TIMEOUT: "InvalidTxnTimeoutException",
    Errors.REQUEST_TIMED_OUT: "TimeoutException",
    Errors.NETWORK_EXCEPTION: "NetworkException",
    Errors.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    Errors.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    Errors.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
    Errors.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    Errors.KAFKA_STORAGE_ERROR: "KafkaStorageException",
    Errors.NON_EMPTY_GROUP: "GroupNotEmptyException",
    Errors.INVALID_REGULAR_EXPRESSION: "InvalidRegularExpression",
}
RETRIES, ABORTS, ENDS = "retriable", "abortable", "fatal"
REFUSED, FAILED, THROWS = "not allowed", "failed", "thrown"
HANDLED, REPORTED = "not thrown", "reported"
ADVICE = {
    RETRIES: "the client asks again by itself",
    ABORTS: "abort the transaction and continue",
    ENDS: "close this producer",
    REFUSED: "call initTransactions() again once it is allowed",
    FAILED: "the record's future has the error, and the producer continues",
    HANDLED: "the client handles the response itself",
    THROWS: "the consumer's call throws it",
    REPORTED: "commitSync() and the acknowledgement callback have it",
}


class Thrown(Value, frozen=True):
    """An error as the application sees it; `kind` is a key of `ADVICE`."""

    exception: str
    kind: str

    @property
    def words(self) -> str:
        """The class, its kind and what to do next, in one line."""
        return f"{self.exception}: {self.kind}, {ADVICE[self.kind]}"


def render_error(raised: Raised) -> str:
    """Render a client's error, or that there is none."""
    return raised.words if raised else "none"


def exception_for(request: type[Message] | None, error: Errors) -> Thrown:
    """Return the exception that an error of a producer's request becomes, from its code alone.

    `views.explanations.exceptions`, which also knows the client's state, says what the application may do next.
    """
    if request is Produce:
        fatal = is_fatal_for_batch(error)
        if not fatal and (error in RETRIABLE or error is Errors.INVALID_TXN_STATE):
            # A batch is retried until delivery.timeout.ms; then the caller sees this.
            kind = RETRIES if error in RETRIABLE else ABORTS
            return Thrown("TransactionAbortableException", kind)
        return Thrown(class_of(error), ENDS if fatal else ABORTS)
    if is_retried(request, error):
        return Thrown(class_of(error), RETRIES)
    kind = ABORTS if ends_the_transaction(request, error) else ENDS
    known = client_errors(request)
    if error in known.commit_failed:
        return Thrown("CommitFailedException", kind)
    if error in (Errors.INVALID_PRODUCER_EPOCH, Errors.PRODUCER_FENCED):
        # The handlers of transactional requests convert one into the other.
        return Thrown("ProducerFencedException", kind)
    own_class = known.own_class is None or error in known.own_class
    return Thrown(class_of(error) if own_class else "KafkaException", kind)


def class_of(error: Errors) -> str:
    """Return the simple class name of the exception for an error code."""
    plain = "".join(word.title() for word in error.name.split("_"))
    return CLASSES.get(error, f"{plain}Exception")
