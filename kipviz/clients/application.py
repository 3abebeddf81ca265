"""The application: the reader's own loop, a line at a time, and the clients that it uses.

WHO: a process with one application thread, one producer and one consumer of either kind.
WHERE IN KAFKA: nowhere; it is the code around the clients (KIP-1289 "Pseudo code").
DURABILITY: none. A crash ends the process; the next one starts at the first line with the same
  transactional id and another member id.
NOT MODELLED: expressions and variables: a program is a list of lines, each with one call. What
  processing a record means is that its output is named after it.
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
from kipviz.messages.share_groups import AcknowledgeType, batches_of
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


C = Call
BLOCKING = (C.INIT_TRANSACTIONS, C.POLL, C.SEND_OFFSETS, C.COMMIT_TRANSACTION, C.ABORT_TRANSACTION)


class Line(Value, frozen=True):
    """One line of a program: its text, its call, and where to go on.

    `then` is the next line (-1: the one below), `on_error` the line of the catch block for a
    KafkaException (-1: none, the process ends).
    """

    text: str
    call: Call
    then: int = -1
    on_error: int = -1


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
        return "the process is down"
    if me.ended:
        return f"the program has ended: {me.ended}"
    if not me.waiting:
        return None
    call = me.program[me.line].call
    done = me.consumer.done if call is C.POLL else me.producer.done
    return None if done else f"{call.value}() has not returned yet"


def step(me: Application, rules: ClientRules) -> tuple[Application, tuple[Event, ...]]:
    """Let the application thread enter the next line, or come back from a blocking call."""
    line = me.program[me.line]
    if me.waiting:
        return _come_back(me, line)
    started = CallStarted(me.name, me.line, line.call.value)
    raised = _raised_on_entry(me, line)
    if raised:
        return _leave(me, line, raised, (started,))
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
            old.source, old.group_id, fresh_member, old.member_epoch, old.partition, old.max_records
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
    producer = Producer(me.producer.source, me.producer.transactional_id)
    return Application(me.name, me.program, me.output, producer, consumer, life=me.life + 1)


def _raised_on_entry(me: Application, line: Line) -> str:
    """Give the exception of a call that finds the producer in an error state."""
    if line.call is C.POLL or line.call is C.INIT_TRANSACTIONS:
        return ""
    if me.producer.state is ProducerState.FATAL_ERROR:
        return me.producer.error
    if me.producer.state is ProducerState.ABORTABLE_ERROR and line.call is not C.ABORT_TRANSACTION:
        return me.producer.error
    return ""


def _enter(me: Application, line: Line, rules: ClientRules) -> Application:
    producer, consumer = me.producer, me.consumer
    match line.call:
        case C.INIT_TRANSACTIONS:
            return me.but(producer=transactional.init_transactions(producer))
        case C.POLL:
            if isinstance(consumer, ShareConsumer):
                return me.but(consumer=sharing.poll(consumer, rules), records=())
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


def _stage(me: Application) -> Application:
    consumer = me.consumer
    assert isinstance(consumer, ShareConsumer)
    offsets = tuple(r.offset for r in me.records)
    producer = transactional.send_share_acknowledgements(
        me.producer,
        consumer.group_id,
        consumer.member_id,
        consumer.member_epoch,
        consumer.partition,
        batches_of(offsets, AcknowledgeType.ACCEPT),
    )
    return me.but(producer=producer, consumer=consumer.but(staged=offsets))


def _come_back(me: Application, line: Line) -> tuple[Application, tuple[Event, ...]]:
    if line.call is C.POLL:
        return _leave(me.but(records=me.consumer.records), line, "", ())
    failed = me.producer.state in (ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR)
    return _leave(me, line, me.producer.error if failed else "", ())


def _leave(
    me: Application, line: Line, raised: str, events: tuple[Event, ...]
) -> tuple[Application, tuple[Event, ...]]:
    """Go to the next line, to the catch block, or end the program."""
    returned = CallReturned(me.name, me.line, line.call.value, raised)
    me = me.but(waiting=False)
    fatal = me.producer.state is ProducerState.FATAL_ERROR
    if raised and (fatal or line.on_error < 0):
        return me.but(ended=f"{line.call.value}() threw {raised}"), (*events, returned)
    nxt = line.on_error if raised else line.then if line.then >= 0 else me.line + 1
    if nxt >= len(me.program):
        me = me.but(ended="it ran to its last line")
    return me.but(line=min(nxt, len(me.program) - 1)), (*events, returned)
