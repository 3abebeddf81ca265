"""A producer without a transactional id: idempotent, as it is by default, or not even that.

WHO: a client process. WHERE IN KAFKA: KafkaProducer, Sender, RecordAccumulator, TransactionManager
  (isTransactional() is false), TxnPartitionMap.
KIPS: KIP-98 (idempotence), KIP-360 (the client bumps its own epoch), KIP-185, KIP-679 (on by default).
DURABILITY: none; the next process gets another producer id, and nobody knows it as the same one.
NOT MODELLED: batching by size and time (what one send() brings is one batch); the identity is asked
  for with the first batch, in Kafka when the sender starts; a batch on the wire does not expire.
"""

from __future__ import annotations

from typing import Any

from kipviz.clients.sending import in_flight
from kipviz.clients.sending.in_flight import numbered_batches, replaced, tracked
from kipviz.clients.sending.outgoing import NumberedBatch
from kipviz.clients.transactions import producer as transactional
from kipviz.clients.transactions.producer import Producer, with_batches
from kipviz.clients.transactions.producer_errors import EXPIRED, FATAL_OF_PRODUCE, NOT_ALLOWED
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.message import Message
from kipviz.messages.producing import Produce, ProduceResponse, in_one_request
from kipviz.messages.transactions import InitProducerId, InitProducerIdResponse
from kipviz.messages.two_phase import NO_TIME_LIMIT
from kipviz.records.batches import DataRecord
from kipviz.records.transaction_state import EPOCH_MAX

S = ProducerState


class PlainProducer(Producer, frozen=True):
    """A producer of which a broker knows no name."""


# -- calls of the application thread ----------------------------------------------------------


def send(me: PlainProducer, partition: str, records: tuple[DataRecord, ...]) -> PlainProducer:
    """Put records into the accumulator; they get their numbers when they are sent."""
    return with_batches(me, (*me.accumulator.batches, NumberedBatch(partition, records, -1)))


def flush(me: PlainProducer) -> PlainProducer:
    """Wait until every batch is acknowledged or given up. Blocks, and throws nothing."""
    return _managed(me, done=not me.accumulator.batches)


# -- the sender ---------------------------------------------------------------------------------


def next_request(me: PlainProducer) -> Message | None:
    """Give what the sender puts on the wire next: its request for an identity, else a batch."""
    manager, batches = me.manager, me.accumulator.batches
    if manager.state is S.FATAL_ERROR or not batches:
        return None
    if me.idempotence and manager.producer_id < 0:
        return None if manager.on_wire is not None else InitProducerId(None, NO_TIME_LIMIT)
    found = in_flight.next_batches(me, dict.fromkeys(b.partition for b in batches))
    return in_one_request(tuple(in_flight.request_of(b) for b in found)) if found else None


def sent(me: PlainProducer, request: Message, broker: int) -> tuple[PlainProducer, Message]:
    """Note that a request is on the wire; a new batch has its number now."""
    if not isinstance(request, Produce):
        asked = _managed(me, on_wire=request, on_wire_broker=broker, state=S.INITIALIZING)
        return asked, request
    return in_flight.put_on_wire(me, request, broker), request


def on_response(me: PlainProducer, message: Message) -> PlainProducer:
    """Take an answer: go on, send again, bump the epoch, or give up.

    Clause: KIP-98 "Idempotent producer", KIP-360; TransactionManager.canRetry, handleFailedBatch.
    """
    if isinstance(message, ProduceResponse):
        for part in message.parts:
            me = _on_produced(me, part)
        return _settled(me)
    me = _managed(me, on_wire=None, on_wire_broker=-1)
    assert isinstance(message, InitProducerIdResponse), message
    if message.error is Errors.NONE:
        identity = (message.producer_id, message.producer_epoch)
        anew = [
            (b, b.but(identity=identity))
            for b in numbered_batches(me)
            if b.reset and b.identity[0] < 0
        ]
        me = _managed(
            replaced(me, anew), producer_id=identity[0], producer_epoch=identity[1], state=S.READY
        )
        of = me.partition_map.of
        for partition in dict.fromkeys(b.partition for b, _ in anew):
            of = of.set(partition, identity)
        return me.but(partition_map=me.partition_map.but(of=of))
    if message.error in RETRIABLE:
        return _managed(me, state=S.UNINITIALIZED)
    refused = message.error in NOT_ALLOWED
    me = _managed(
        me,
        state=S.UNINITIALIZED if refused else S.FATAL_ERROR,
        error=f"InitProducerId: {message.error.name}",
    )
    return _settled(_given_up(me, numbered_batches(me)))


def on_disconnected(me: PlainProducer, broker: int) -> PlainProducer:
    """Send again what was on a broken connection; with their numbers, leaders recognise them."""
    me = in_flight.on_disconnected(me, broker)
    if me.on_wire is not None and me.on_wire_broker == broker:
        me = _managed(me, on_wire=None, on_wire_broker=-1, state=S.UNINITIALIZED)
    return me


def expired(me: PlainProducer) -> PlainProducer:
    """Give a batch up after delivery.timeout.ms.

    Source: Sender.failExpiredBatches, TransactionManager.maybeResolveSequences.
    """
    batch = transactional.expiring(me)
    assert isinstance(batch, NumberedBatch), batch
    me = _managed(_given_up(me, (batch,)), error=f"Produce: {EXPIRED.name}")
    return _settled(in_flight.left_open(me, batch) if me.idempotence and batch.sent else me)


connected = transactional.connected


restarted = transactional.restarted

# -- pieces ------------------------------------------------------------------------------------


def _given_up(me: PlainProducer, gone: tuple[NumberedBatch, ...]) -> PlainProducer:
    lost = tuple(r.value for b in gone for r in b.records)
    left = tuple(b for b in me.accumulator.batches if not any(b is each for each in gone))
    return with_batches(me, left).but(failed=(*me.failed, *lost))


def _on_produced(me: PlainProducer, answer: ProduceResponse) -> PlainProducer:
    flying = [
        b for b in tracked(me, answer.partition) if b.broker >= 0 and b.wire == answer.base_sequence
    ]
    if not flying:
        return me
    batch = min(flying, key=lambda b: b.flight)
    if answer.error is Errors.NONE:
        return in_flight.acknowledged(me, batch)
    again, bumps = _may_be_sent_again(me, batch, answer.error)
    if again:
        me = in_flight.taken_back(me, (batch,))
        return _bumped(me, batch.partition) if bumps else me
    me = _managed(_given_up(me, (batch,)), error=f"Produce: {answer.error.name}")
    if answer.error in FATAL_OF_PRODUCE:
        return _given_up(_managed(me, state=S.FATAL_ERROR), numbered_batches(me))
    return _bumped(me, batch.partition) if me.idempotence else me


def _may_be_sent_again(me: PlainProducer, batch: NumberedBatch, error: Errors) -> tuple[bool, bool]:
    """Say whether a refused batch is sent again, and whether the epoch is bumped before that.

    If it did not merely come early, the leader lacks what it once had: the batch would never fit, and
    gets a new epoch and sequence 0.
    """
    if error is not Errors.OUT_OF_ORDER_SEQUENCE_NUMBER or not me.idempotence:
        return error in RETRIABLE, False
    if in_flight.comes_early(me, batch, error):
        return True, False
    unresolved = me.partition_map.unresolved
    return True, unresolved.get(batch.partition, batch.base_sequence) == batch.base_sequence


def _bumped(me: PlainProducer, partition: str) -> PlainProducer:
    """Take the next epoch without asking anybody, and count a partition anew from 0 with it.

    Other partitions follow when nothing of theirs is on the way. Behind the last epoch the producer
    asks for another id. Source: TransactionManager.bumpIdempotentProducerEpoch.
    """
    manager = me.manager
    if manager.producer_epoch == EPOCH_MAX:
        me = _managed(me, producer_id=-1, producer_epoch=-1, state=S.UNINITIALIZED)
    else:
        me = _managed(me, producer_epoch=manager.producer_epoch + 1)
    identity = me.manager.identity
    changes, at = [], 0
    for batch in tracked(me, partition):
        anew = batch.but(base_sequence=at, identity=identity, reset=True)
        changes.append((batch, anew))
        at += len(batch.records)
    me = replaced(me, changes)
    known = me.partition_map
    return me.but(
        partition_map=known.but(
            of=known.of.set(partition, identity),
            sequences=known.sequences.set(partition, at),
            acked=known.acked.without(partition),
            unresolved=known.unresolved.without(partition),
        )
    )


def _settled(me: PlainProducer) -> PlainProducer:
    """Resolve what was open once nothing of a partition is on the way; flush() may be over."""
    for partition in me.partition_map.unresolved:
        if tracked(me, partition):
            continue
        if in_flight.is_resolved(me, partition):
            known = me.partition_map
            unresolved = known.unresolved.without(partition)
            me = me.but(partition_map=known.but(unresolved=unresolved))
        else:
            me = _bumped(me, partition)
    return me if me.accumulator.batches else _managed(me, done=True)


def _managed(me: PlainProducer, **changes: Any) -> PlainProducer:
    return me.but(manager=me.manager.but(**changes))
