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
from kipviz.clients.kinds import MemberConsumer
from kipviz.clients.sending.plain_producer import PlainProducer
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.transactions.producer import Producer, ProducerState
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
    producer = next((each for each in _producers(app) if each.error), None)
    if producer is not None:
        return _of_producer(producer)
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


def _producers(app: Application) -> tuple[Producer, ...]:
    """Return the producers of a process, the one that has its transactions first."""
    others = (c for c in app.clients if isinstance(c, Producer) and c is not app.manager)
    return (app.manager, *others)


def _of_producer(producer: Producer) -> Thrown:
    """Return the exception of a producer's error, and what its state leaves to do."""
    request, known = told(producer.error)
    if isinstance(producer, PlainProducer):
        # It has no transaction to abort. Source: Sender.failBatch, ProducerBatch.completeExceptionally.
        return Thrown(class_of(known) if known is not None else producer.error, FAILED)
    kind = BY_STATE.get(producer.state, ABORTS)
    if known is None:
        return Thrown(producer.error, kind)
    return Thrown(thrown(request, known).exception, kind)
