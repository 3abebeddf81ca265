"""What an application sees of an error: the class of the exception, and what it can do about it.

What it can do follows from the state of the client: the same REQUEST_TIMED_OUT is retried within delivery.timeout.ms,
and requires an abort of the transaction after it.
"""

from __future__ import annotations

from kipviz.clients.application import Application
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.kinds import Holder
from kipviz.clients.sending.producer import is_plain
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.throwing.client_errors import RequestError
from kipviz.clients.throwing.exceptions import (
    ABORTS,
    ENDS,
    FAILED,
    HANDLED,
    REFUSED,
    REPORTED,
    RETRIES,
    THROWS,
    Thrown,
    class_of,
    exception_for,
    render_error,
)
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import ShareAcknowledge

# What an application can do, by the state of its transactional producer.
BY_STATE = {
    ProducerState.ABORTABLE_ERROR: ABORTS,
    ProducerState.FATAL_ERROR: ENDS,
    ProducerState.UNINITIALIZED: REFUSED,
}


def exception_of(
    app: Application, request: type[Message] | None = None, error: Errors = Errors.NONE
) -> Thrown | None:
    """Return what an application sees now, or None if there is no error.

    A client in an error state comes first. Otherwise it is the error in the last response that the process received, if
    its client did not throw it.
    """
    holder = next((each for each in _holders(app) if each.error), None)
    if holder is not None:
        return _of_holder(holder)
    members = (c for c in app.clients if isinstance(c, Consumer | ShareMember))
    for member in members:
        if isinstance(member.error, RequestError):
            return Thrown(class_of(member.error.error), THROWS)
    if error is Errors.NONE:
        return None
    if request is ShareAcknowledge:
        # Source: ShareConsumerImpl.commitSync, AcknowledgementCommitCallback.
        return Thrown(class_of(error), REPORTED)
    asks_again = exception_for(request, error).kind == RETRIES
    return Thrown(class_of(error), RETRIES if asks_again else HANDLED)


def _holders(app: Application) -> tuple[Holder, ...]:
    """Return the producers of a process and its session; the one that has its transactions comes first."""
    others = (c for c in app.clients if isinstance(c, Holder) and c is not app.holder)
    return (app.holder, *others)


def _of_holder(holder: Holder) -> Thrown:
    """Return the exception of a producer's error, and what the application can do in its state."""
    raised, plain = holder.error, is_plain(holder)
    # Without a transaction there is nothing to abort. Source: Sender.failBatch, ProducerBatch.completeExceptionally.
    kind = FAILED if plain else BY_STATE.get(holder.manager.state, ABORTS)
    if not isinstance(raised, RequestError):
        return Thrown(render_error(raised), kind)
    if plain:
        return Thrown(class_of(raised.error), kind)
    return Thrown(exception_for(raised.request, raised.error).exception, kind)
