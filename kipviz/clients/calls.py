"""The calls of an application thread: what each one does to which client, and when it is legal.

One row a call. A new call is a name in `Call`, a function here and a row in `CALLS`.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.clients import consumer as regular
from kipviz.clients import producer as transactional
from kipviz.clients import share_consumer as sharing
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.consumer import Consumer
from kipviz.clients.kinds import Client
from kipviz.clients.producer import Producer, ProducerState
from kipviz.clients.rules import ClientRules
from kipviz.clients.share_consumer import ShareConsumer
from kipviz.core.values import Value
from kipviz.messages.groups import GroupOffset
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    batches_of,
    batches_of_each,
)
from kipviz.records.batches import DataRecord

C = Call
S = ProducerState


class Calling(Value, frozen=True):
    """What there is to know about a call.

    `of` is the kind of client that it is a method of. `blocking` says that the thread waits until
    the client is `done`. `legal` are the states of the producer in which the call may be made; in
    an error state it throws that error, in another one an IllegalStateException. `enter` gives the
    application after the call was entered.
    """

    of: str
    enter: Callable[[Application, Line, ClientRules], Application]
    blocking: bool = False
    legal: tuple[ProducerState, ...] = ()


def client_of(me: Application, line: Line) -> Client:
    """Give the client whose method a line calls."""
    if line.client:
        return me.others[line.client]
    return me.consumer if CALLS[line.call].of == CONSUMER else me.producer


# -- of the producer ----------------------------------------------------------------------------


def _producer(me: Application, line: Line) -> Producer:
    client = client_of(me, line)
    assert isinstance(client, Producer), f"{line.call.value}() is a call of a producer"
    return client


def _init_transactions(me: Application, line: Line, rules: ClientRules) -> Application:
    return me.with_client(transactional.init_transactions(_producer(me, line)))


def _begin_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    return me.with_client(transactional.begin_transaction(_producer(me, line)))


def _send(me: Application, line: Line, rules: ClientRules) -> Application:
    outputs = tuple(DataRecord(f"f({r.value})", f"{r.partition}@{r.offset}") for r in me.records)
    to = line.target or me.output
    return me.with_client(transactional.send(_producer(me, line), to, outputs))


def _send_offsets(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = me.consumer
    offsets = (GroupOffset(consumer.partition, me.records[-1].offset + 1),)
    producer = transactional.send_offsets(
        _producer(me, line),
        consumer.group_id,
        consumer.member_id,
        consumer.member_epoch,
        offsets,
    )
    return me.with_client(producer)


def _stage(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = me.consumer
    assert isinstance(consumer, ShareConsumer)
    verdicts = _verdicts(me, line)
    producer = transactional.send_share_acknowledgements(
        _producer(me, line),
        consumer.group_id,
        consumer.member_id,
        consumer.member_epoch,
        consumer.partition,
        batches_of_each(verdicts),
    )
    staged = tuple(offset for offset, _ in verdicts)
    return me.with_client(producer).but(consumer=consumer.but(staged=staged))


def _commit_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    return me.with_client(transactional.end_transaction(_producer(me, line), committed=True))


def _abort_transaction(me: Application, line: Line, rules: ClientRules) -> Application:
    if isinstance(me.consumer, Consumer):
        me = me.but(consumer=regular.forget_position(me.consumer))
    return me.with_client(transactional.end_transaction(_producer(me, line), committed=False))


# -- of the consumer ----------------------------------------------------------------------------


def _poll(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    if isinstance(consumer, ShareConsumer):
        stages = any(each.call is C.SEND_SHARE_ACKNOWLEDGEMENTS for each in me.program)
        next_poll = rules.next_poll if stages else _accept_all
        return me.with_client(sharing.poll(consumer, next_poll)).but(records=())
    assert isinstance(consumer, Consumer), "poll() is a call of a consumer"
    return me.with_client(regular.poll(consumer)).but(records=())


def _acknowledge(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    return me.with_client(sharing.acknowledge(consumer, _verdicts(me, line)))


def _commit_sync(me: Application, line: Line, rules: ClientRules) -> Application:
    consumer = client_of(me, line)
    assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
    return me.with_client(sharing.commit_sync(consumer))


def _accept_all(
    batch: tuple[int, ...], staged: tuple[int, ...]
) -> tuple[AcknowledgementBatch, ...]:
    """Say what a plain share consumer says in implicit mode: it has processed them all."""
    return batches_of(batch, AcknowledgeType.ACCEPT)


def _verdicts(me: Application, line: Line) -> tuple[tuple[int, AcknowledgeType], ...]:
    """Give what a line says of each record of the batch that it mentions."""
    said = dict(line.verdicts)
    found = ((r.offset, said.get(r.offset, said.get(-1))) for r in me.records)
    return tuple((offset, kind) for offset, kind in found if kind is not None)


PRODUCER, CONSUMER = "producer", "consumer"
IN_TRANSACTION = (S.IN_TRANSACTION,)

CALLS: dict[Call, Calling] = {
    C.INIT_TRANSACTIONS: Calling(PRODUCER, _init_transactions, True, (S.UNINITIALIZED,)),
    C.BEGIN_TRANSACTION: Calling(PRODUCER, _begin_transaction, False, (S.READY,)),
    C.SEND: Calling(PRODUCER, _send, False, IN_TRANSACTION),
    C.SEND_OFFSETS: Calling(PRODUCER, _send_offsets, True, IN_TRANSACTION),
    C.SEND_SHARE_ACKNOWLEDGEMENTS: Calling(PRODUCER, _stage, False, IN_TRANSACTION),
    C.COMMIT_TRANSACTION: Calling(PRODUCER, _commit_transaction, True, IN_TRANSACTION),
    C.ABORT_TRANSACTION: Calling(
        PRODUCER, _abort_transaction, True, (S.IN_TRANSACTION, S.ABORTABLE_ERROR)
    ),
    C.POLL: Calling(CONSUMER, _poll, True),
    C.ACKNOWLEDGE: Calling(CONSUMER, _acknowledge),
    C.COMMIT_SYNC: Calling(CONSUMER, _commit_sync, True),
}
