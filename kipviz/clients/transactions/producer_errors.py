"""The effect of an error on a producer: it retries, fails the transaction, or fails itself.

WHERE IN KAFKA: the handlers of TransactionManager, Sender.canRetry.
"""

from __future__ import annotations

from kipviz.clients.transactions import topic_ids
from kipviz.messages.apis.catalogue import API_OF
from kipviz.messages.apis.client_errors import ClientErrors
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups.groups import TxnOffsetCommitResponse
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxnResponse,
)

NO_PRODUCER = ClientErrors()
"""The errors of a request that no producer sends: none fails only a transaction."""


def error_of(message: Message) -> Errors:
    """Return the error of a response to a transactional request, whose parts may have errors of their own.

    An unknown partition is retried, whatever the errors of the others.
    Source: TransactionManager.AddPartitionsToTxnHandler, which goes through the partitions.
    """
    if isinstance(message, TxnOffsetCommitResponse):
        return topic_ids.error_of(message)
    if isinstance(message, AddPartitionsToTxnResponse):
        errors = tuple(each.error for each in message.results[0].results)
        if Errors.UNKNOWN_TOPIC_OR_PARTITION in errors:
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
    return error_of_response(message)


def client_errors(request: type[Message] | None) -> ClientErrors:
    """Return what a client does with the errors of a request; None stands for a request that no producer sends."""
    api = None if request is None else API_OF.get(request)
    return NO_PRODUCER if api is None or api.client_errors is None else api.client_errors


def ends_the_transaction(request: type[Message] | None, error: Errors) -> bool:
    """Return whether an error fails only the transaction; otherwise it is fatal for the producer.

    None stands for a request that no producer sends.
    """
    known = client_errors(request)
    return error in known.abortable if known.fatal is None else error not in known.fatal


def is_retried(request: type[Message] | None, error: Errors) -> bool:
    """Return whether the client retries by itself after this error, for any request of this kind."""
    return error in RETRIABLE and error not in client_errors(request).abortable


def is_fatal_for_batch(error: Errors) -> bool:
    """Return whether the error of a batch is fatal for its producer."""
    return not ends_the_transaction(Produce, error)


def may_be_asked_again(request: Message, error: Errors) -> bool:
    """Return whether a transactional request is sent again after this error."""
    return is_retried(type(request), error)


# The error of a batch whose delivery.timeout.ms expires (TimeoutException).
EXPIRED = Errors.REQUEST_TIMED_OUT
