"""What an application sees of an error: the exception's class, and what it may do about it.

What is left to do follows from the state of the client: the same REQUEST_TIMED_OUT is
asked again as long as delivery.timeout.ms lasts, and leaves a transaction that has to be aborted behind it.
"""

from __future__ import annotations

from kipviz.clients.application import Application
from kipviz.clients.exceptions import (
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
    thrown,
    told,
)
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.kinds import Holder, MemberConsumer
from kipviz.clients.sending.producer import is_plain
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.errors import Errors

# What the state of a transactional producer leaves to its application.
BY_STATE = {
    ProducerState.ABORTABLE_ERROR: ABORTS,
    ProducerState.FATAL_ERROR: ENDS,
    ProducerState.UNINITIALIZED: REFUSED,
}


def exception_of(app: Application, request: str = "", error: Errors = Errors.NONE) -> Thrown | None:
    """Return what an application meets now, or None where nothing is the matter.

    A client that is in error comes first. Otherwise it is the error of the answer that the process heard
    last, if there is one, which its client did not throw.
    """
    holder = next((each for each in _holders(app) if each.error), None)
    if holder is not None:
        return _of_holder(holder)
    members = (c for c in app.clients if isinstance(c, Consumer | MemberConsumer | ShareMember))
    for member in members:
        _, known = told(member.error)
        if known is not None:
            return Thrown(class_of(known), THROWS)
    if error is Errors.NONE:
        return None
    if request == "ShareAcknowledge":
        # Source: ShareConsumerImpl.commitSync, AcknowledgementCommitCallback.
        return Thrown(class_of(error), REPORTED)
    asks_again = thrown(request, error).kind == RETRIES
    return Thrown(class_of(error), RETRIES if asks_again else HANDLED)


def _holders(app: Application) -> tuple[Holder, ...]:
    """Return the producers of a process and its session, the one that has its transactions first."""
    others = (c for c in app.clients if isinstance(c, Holder) and c is not app.holder)
    return (app.holder, *others)


def _of_holder(holder: Holder) -> Thrown:
    """Return the exception of a producer's error, and what its state leaves to do."""
    request, known = told(holder.error)
    if is_plain(holder):
        # It has no transaction to abort. Source: Sender.failBatch, ProducerBatch.completeExceptionally.
        return Thrown(class_of(known) if known is not None else holder.error, FAILED)
    kind = BY_STATE.get(holder.manager.state, ABORTS)
    if known is None:
        return Thrown(holder.error, kind)
    return Thrown(thrown(request, known).exception, kind)
