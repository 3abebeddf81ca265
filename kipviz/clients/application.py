"""The application: the reader's own loop, a line at a time, and the clients that it uses.

WHO: a process with one application thread, one producer and one consumer of either kind.
WHERE IN KAFKA: nowhere; it is the code around the clients (KIP-1289 "Pseudo code").
DURABILITY: none. A crash ends the process; the next one starts at the first line with the same
  transactional id and another member id.
NOT MODELLED: expressions and variables: a program is a list of lines, each with one call. What
  processing a record means is that its output is named after it. An exception that is no
  KafkaException (a call in the wrong state) ends the program, as it would in Java.
"""

from __future__ import annotations

from enum import StrEnum

from kipviz.clients import consumer as regular
from kipviz.clients import producer as transactional
from kipviz.clients import share_consumer as sharing
from kipviz.clients.consumer import Consumer
from kipviz.clients.producer import Producer, ProducerState
from kipviz.clients.rules import ClientRules
from kipviz.clients.share_consumer import ShareConsumer
from kipviz.core.model import Event
from kipviz.core.values import Part, Value
from kipviz.messages.events import CallReturned, CallStarted
from kipviz.messages.groups import GroupOffset
from kipviz.messages.producing import FetchedRecord
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    batches_of,
    batches_of_each,
)
from kipviz.records.batches import DataRecord


class Call(StrEnum):
    """What a line of the program does."""

    INIT_TRANSACTIONS = "initTransactions"
    POLL = "poll"
    BEGIN_TRANSACTION = "beginTransaction"
    SEND = "send"
    SEND_OFFSETS = "sendOffsetsToTransaction"
    SEND_SHARE_ACKNOWLEDGEMENTS = "sendShareAcknowledgementsToTransaction"
    COMMIT_TRANSACTION = "commitTransaction"
    ABORT_TRANSACTION = "abortTransaction"
    ACKNOWLEDGE = "acknowledge"
    COMMIT_SYNC = "commitSync"


C = Call
S = ProducerState
OF_THE_CONSUMER = (C.POLL, C.ACKNOWLEDGE, C.COMMIT_SYNC)
BLOCKING = (
    C.INIT_TRANSACTIONS,
    C.POLL,
    C.SEND_OFFSETS,
    C.COMMIT_TRANSACTION,
    C.ABORT_TRANSACTION,
    C.COMMIT_SYNC,
)

# call of the producer -> states in which it is legal; in an error state it throws that error
LEGAL: dict[Call, tuple[ProducerState, ...]] = {
    C.INIT_TRANSACTIONS: (S.UNINITIALIZED,),
    C.BEGIN_TRANSACTION: (S.READY,),
    C.SEND: (S.IN_TRANSACTION,),
    C.SEND_OFFSETS: (S.IN_TRANSACTION,),
    C.SEND_SHARE_ACKNOWLEDGEMENTS: (S.IN_TRANSACTION,),
    C.COMMIT_TRANSACTION: (S.IN_TRANSACTION,),
    C.ABORT_TRANSACTION: (S.IN_TRANSACTION, S.ABORTABLE_ERROR),
}


class Line(Value, frozen=True):
    """One line of a program: its text, its call, and where to go on.

    `then` is the next line (-1: the one below), `on_error` the line of the catch block for a
    KafkaException (-1: none, the process ends). `verdicts` says what acknowledge() or
    sendShareAcknowledgementsToTransaction() says of which record: (offset, type), where offset
    -1 stands for every other record of the batch.
    """

    text: str
    call: Call
    then: int = -1
    on_error: int = -1
    verdicts: tuple[tuple[int, AcknowledgeType], ...] = ((-1, AcknowledgeType.ACCEPT),)


class Application(Part, frozen=True, dict=True):
    """A process: its program, its place in it, and its clients."""

    name: str
    program: tuple[Line, ...]
    output: str
    producer: Producer
    consumer: Consumer | ShareConsumer
    life: int = 1
    alive: bool = True
    line: int = 0
    waiting: bool = False
    records: tuple[FetchedRecord, ...] = ()
    ended: str = ""


def why_no_step(me: Application) -> str | None:
    """Say why the application thread cannot go on now, or None when it can."""
    if not me.alive:
        return f"{me.name} is down"
    if me.ended:
        return f"the program of {me.name} has ended: {me.ended}"
    if not me.waiting:
        return None
    call = me.program[me.line].call
    client = me.consumer if call in OF_THE_CONSUMER else me.producer
    if client.done:
        return None
    waits = f"{call.value}() of {me.name} has not returned yet"
    if client.on_wire is None:
        return waits
    asked = f"{type(client.on_wire).__name__} from broker {client.on_wire_broker}"
    return f"{waits}: it waits for the answer to {asked}"


def step(me: Application, rules: ClientRules) -> tuple[Application, tuple[Event, ...]]:
    """Let the application thread enter the next line, or come back from a blocking call."""
    line = me.program[me.line]
    if me.waiting:
        return _come_back(me, line)
    started = CallStarted(me.name, me.line, line.call.value)
    raised, illegal = _raised_on_entry(me, line), _why_illegal(me, line)
    if raised or illegal:
        return _leave(me, line, raised or illegal, (started,))
    me = _enter(me, line, rules)
    if line.call in BLOCKING:
        return me.but(waiting=True), (started,)
    return _leave(me, line, "", (started,))


def restarted(me: Application, fresh_member: str) -> Application:
    """Give the process that is started after a crash: nothing is remembered but names."""
    consumer: Consumer | ShareConsumer
    old = me.consumer
    if isinstance(old, ShareConsumer):
        consumer = ShareConsumer(
            old.source,
            old.group_id,
            fresh_member,
            old.member_epoch,
            old.partition,
            old.max_records,
            old.explicit,
        )
    else:
        consumer = Consumer(
            old.source,
            old.group_id,
            old.member_id,
            old.member_epoch,
            old.partition,
            old.max_records,
        )
    producer = Producer(
        me.producer.source, me.producer.transactional_id, me.producer.transaction_timeout_ms
    )
    return Application(me.name, me.program, me.output, producer, consumer, life=me.life + 1)


def _raised_on_entry(me: Application, line: Line) -> str:
    """Give the exception of a call that finds the producer in an error state."""
    if line.call in OF_THE_CONSUMER:
        return ""
    if me.producer.state is ProducerState.FATAL_ERROR:
        return me.producer.error
    if me.producer.state is ProducerState.ABORTABLE_ERROR and line.call is not C.ABORT_TRANSACTION:
        return me.producer.error
    return ""


def _why_illegal(me: Application, line: Line) -> str:
    """Give the exception of a call that is not legal in this state, or nothing."""
    if line.call in OF_THE_CONSUMER:
        why = sharing.why_no_poll(me.consumer) if isinstance(me.consumer, ShareConsumer) else None
        return (why or "") if line.call is C.POLL else ""
    if me.producer.state in LEGAL[line.call]:
        return ""
    return f"IllegalStateException: {line.call.value}() in state {me.producer.state.value}"


def _enter(me: Application, line: Line, rules: ClientRules) -> Application:
    producer, consumer = me.producer, me.consumer
    match line.call:
        case C.INIT_TRANSACTIONS:
            return me.but(producer=transactional.init_transactions(producer))
        case C.POLL:
            if isinstance(consumer, ShareConsumer):
                stages = any(each.call is C.SEND_SHARE_ACKNOWLEDGEMENTS for each in me.program)
                next_poll = rules.next_poll if stages else _accept_all
                return me.but(consumer=sharing.poll(consumer, next_poll), records=())
            return me.but(consumer=regular.poll(consumer), records=())
        case C.BEGIN_TRANSACTION:
            return me.but(producer=transactional.begin_transaction(producer))
        case C.SEND:
            outputs = tuple(
                DataRecord(f"f({r.value})", f"{r.partition}@{r.offset}") for r in me.records
            )
            return me.but(producer=transactional.send(producer, me.output, outputs))
        case C.SEND_OFFSETS:
            offsets = (GroupOffset(consumer.partition, me.records[-1].offset + 1),)
            producer = transactional.send_offsets(
                producer,
                consumer.group_id,
                consumer.member_id,
                consumer.member_epoch,
                offsets,
            )
            return me.but(producer=producer)
        case C.SEND_SHARE_ACKNOWLEDGEMENTS:
            return _stage(me)
        case C.COMMIT_TRANSACTION:
            return me.but(producer=transactional.end_transaction(producer, committed=True))
        case C.ABORT_TRANSACTION:
            if isinstance(consumer, Consumer):
                consumer = regular.forget_position(consumer)
            producer = transactional.end_transaction(producer, committed=False)
            return me.but(producer=producer, consumer=consumer)
        case C.ACKNOWLEDGE:
            assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
            return me.but(consumer=sharing.acknowledge(consumer, _verdicts(me)))
        case C.COMMIT_SYNC:
            assert isinstance(consumer, ShareConsumer), "only a share consumer acknowledges"
            return me.but(consumer=sharing.commit_sync(consumer))


def _accept_all(
    batch: tuple[int, ...], staged: tuple[int, ...]
) -> tuple[AcknowledgementBatch, ...]:
    """Say what a plain share consumer says in implicit mode: it has processed them all."""
    return batches_of(batch, AcknowledgeType.ACCEPT)


def _verdicts(me: Application) -> tuple[tuple[int, AcknowledgeType], ...]:
    """Give what the present line says of each record of the batch that it mentions."""
    said = dict(me.program[me.line].verdicts)
    found = ((r.offset, said.get(r.offset, said.get(-1))) for r in me.records)
    return tuple((offset, kind) for offset, kind in found if kind is not None)


def _stage(me: Application) -> Application:
    consumer = me.consumer
    assert isinstance(consumer, ShareConsumer)
    verdicts = _verdicts(me)
    producer = transactional.send_share_acknowledgements(
        me.producer,
        consumer.group_id,
        consumer.member_id,
        consumer.member_epoch,
        consumer.partition,
        batches_of_each(verdicts),
    )
    staged = tuple(offset for offset, _ in verdicts)
    return me.but(producer=producer, consumer=consumer.but(staged=staged))


def _come_back(me: Application, line: Line) -> tuple[Application, tuple[Event, ...]]:
    if line.call is C.POLL:
        return _leave(me.but(records=me.consumer.records), line, "", ())
    if line.call is C.COMMIT_SYNC:
        return _leave(me, line, "", ())
    failed = me.producer.state in (ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR)
    return _leave(me, line, me.producer.error if failed else "", ())


def _leave(
    me: Application, line: Line, raised: str, events: tuple[Event, ...]
) -> tuple[Application, tuple[Event, ...]]:
    """Go to the next line, to the catch block, or end the program."""
    returned = CallReturned(me.name, me.line, line.call.value, raised)
    me = me.but(waiting=False)
    fatal = me.producer.state is ProducerState.FATAL_ERROR or raised.startswith("IllegalState")
    if raised and (fatal or line.on_error < 0):
        return me.but(ended=f"{line.call.value}() threw {raised}"), (*events, returned)
    nxt = line.on_error if raised else line.then if line.then >= 0 else me.line + 1
    if nxt >= len(me.program):
        me = me.but(ended="it ran to its last line")
    return me.but(line=min(nxt, len(me.program) - 1)), (*events, returned)
