"""The transactional producer with several batches of a partition on the wire, as Kafka's has.

WHO: a client process. WHERE IN KAFKA: KafkaProducer, Sender, RecordAccumulator, TransactionManager,
  TxnPartitionMap.
KIPS: KIP-98, KIP-360, KIP-890, KIP-91 (delivery.timeout.ms); max.in.flight.requests.per.connection
  above 1 (KAFKA-5494).
DURABILITY: none.
NOT MODELLED: what `producer` and `in_flight` leave out.

A producer like any other one in its calls, its states and its transactional requests. What differs is
how batches go: a batch gets its sequence when it is first sent, up to five are on the way, and one
that a leader can have is sent until it is through or its time is over, in an abort, too. No batch
goes out while a transactional request is on the wire, and EndTxn waits for all of them.
"""

from __future__ import annotations

from kipviz.clients.sending import awaited_topics, in_flight, stray_records
from kipviz.clients.sending.in_flight import numbered_batches, replaced, tracked
from kipviz.clients.sending.outgoing import NumberedBatch
from kipviz.clients.transactions import producer as transactional
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.producer import Producer, with_batches
from kipviz.clients.transactions.producer_errors import EXPIRED
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import Failure
from kipviz.core.table import Table
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.features import LAST_PRODUCE
from kipviz.messages.message import Message
from kipviz.messages.producing import Produce, ProduceResponse, in_one_request
from kipviz.records.batches import DataRecord

S = ProducerState
# The timer of a batch that backs off, before its number.
BATCH_BACK_OFF = "the retry back-off of batch"


class PipelinedProducer(Producer, frozen=True):
    """A transactional producer with `max_in_flight` batches of a partition on the wire."""


# -- calls of the application thread ----------------------------------------------------------


def send(
    me: PipelinedProducer, partition: str, records: tuple[DataRecord, ...]
) -> PipelinedProducer:
    """Put records into the accumulator; they get their numbers when they are sent.

    Without room there send() waits until a batch is through, max.block.ms at most; before that it waits
    for the metadata of a topic of which the producer knows nothing.
    """
    if awaited_topics.is_unknown(me.metadata, partition):
        return awaited_topics.asking(me, partition, records)
    me, records = stray_records.taken_along(me, partition, records)
    kept = me.accumulator
    if kept.is_full:
        blocked = kept.but(blocked=((partition, records),))
        return me.but(accumulator=blocked, manager=me.manager.but(done=False))
    batch = NumberedBatch(partition, records, -1, serial=kept.sends + 1)
    return me.but(
        accumulator=kept.but(batches=(*kept.batches, batch), sends=batch.serial),
        manager=managing.enlisting(me.manager, partition),
    )


def send_timed_out(me: PipelinedProducer) -> PipelinedProducer:
    """Give up a send() that waits for room: it throws nothing, but its transaction is over.

    The exception is in its Future, and thrown by the next call. Source: KafkaProducer.doSend,
    BufferPool.allocate, TransactionManager.maybeTransitionToErrorState.
    """
    (partition, _), *_ = me.accumulator.blocked
    refused = ProduceResponse(EXPIRED, partition, -1)
    me = me.but(accumulator=me.accumulator.but(blocked=()))
    return _settled(transactional.fail(me, Failure(refused, EXPIRED)))


# -- the sender ---------------------------------------------------------------------------------


def next_request(me: PipelinedProducer) -> Message | None:
    """Give what the sender puts on the wire next: a transactional request before any batch.

    After an error of the transaction, and in an abort, only those batches are left that a leader
    can have. Source: Sender.runOnce, RecordAccumulator.abortUndrainedBatches.
    """
    manager = me.manager
    if manager.state is S.FATAL_ERROR or manager.rests:
        return None
    request = transactional.next_transactional(me)
    if request is not None or manager.on_wire is not None:
        return request
    partitions = dict.fromkeys(b.partition for b in me.accumulator.batches)
    allowed = (p for p in partitions if manager.implicit or p in manager.partitions)
    found = in_flight.next_batches(me, allowed)
    version = 13 if manager.implicit else LAST_PRODUCE
    parts = (in_flight.request_of(b, manager.transactional_id, version) for b in found)
    return in_one_request(tuple(parts)) if found else None


def sent(me: PipelinedProducer, request: Message, broker: int) -> tuple[PipelinedProducer, Message]:
    """Note that a request is on the wire; a new batch has its number now."""
    if isinstance(request, Produce):
        return in_flight.put_on_wire(me, request, broker), request
    return transactional.sent(me, request, broker)


def on_response(me: PipelinedProducer, message: Message) -> PipelinedProducer:
    """Take an answer: go on, send again, or enter an error state.

    Clause: KIP-98 "Producer"; TransactionManager.handleCompletedBatch, handleFailedBatch.
    """
    if isinstance(message, ProduceResponse):
        for part in message.parts:
            me = _on_produced(me, part)
        return _settled(me)
    return _settled(transactional.on_response(me, message))


def on_disconnected(me: PipelinedProducer, broker: int) -> PipelinedProducer:
    """Send again what was on a broken connection; with their numbers, leaders recognise batches."""
    lost = [b for b in numbered_batches(me) if b.broker == broker]
    return transactional.on_disconnected(_refused(me, lost), broker)


def expiring(me: PipelinedProducer) -> NumberedBatch | None:
    """Give the batch for which delivery.timeout.ms may be over: the oldest, on the wire or not."""
    return next(iter(numbered_batches(me)), None)


def expired(me: PipelinedProducer) -> PipelinedProducer:
    """Give a batch up after delivery.timeout.ms: its transaction can only be aborted.

    Its sequence is not given again, because a leader may have it. If it had to be sent again before, its
    partition sends nothing new until that is known. Source: Sender.getExpiredInflightBatches,
    Sender.failExpiredBatches.
    """
    batch = expiring(me)
    assert batch is not None
    me = _failed(me, batch, ProduceResponse(EXPIRED, batch.partition, batch.base_sequence))
    return _settled(in_flight.left_open(me, batch) if batch.retried else me)


connected = transactional.connected


# -- the retry back-off of batches (timed clock) ----------------------------------------------------


def timers(me: PipelinedProducer) -> tuple[str, ...]:
    """Give the timers that are set: those of a producer, and one for each batch that backs off."""
    return (*transactional.timers(me), *_resting(me))


def running(me: PipelinedProducer) -> tuple[str, ...]:
    """Give the timers whose time passes."""
    return (*transactional.running(me), *_resting(me))


def on_timer(me: PipelinedProducer, timer: str) -> PipelinedProducer:
    """Let a batch go out again, or do what every producer does."""
    if not timer.startswith(BATCH_BACK_OFF):
        after: PipelinedProducer = transactional.on_timer(me, timer)
        return after
    return replaced(
        me, [(b, b.but(rests=False)) for b in numbered_batches(me) if _name(b) == timer]
    )


def back_off(me: PipelinedProducer, timer: str, first_ms: int, most_ms: int) -> int:
    """Give how long a batch rests, in ms: twice as long each time (KIP-580).

    NOT MODELLED: the jitter of 20 %; that a batch does not rest whose leader has changed (KIP-951).
    """
    attempts = next(b.attempts for b in numbered_batches(me) if _name(b) == timer)
    doubled: int = first_ms * 2 ** (attempts - 1)
    return min(doubled, most_ms)


def _resting(me: PipelinedProducer) -> tuple[str, ...]:
    return tuple(_name(b) for b in numbered_batches(me) if b.rests)


def _name(batch: NumberedBatch) -> str:
    return f"{BATCH_BACK_OFF} {batch.serial}"


restarted = transactional.restarted

# -- pieces ------------------------------------------------------------------------------------


def _on_produced(me: PipelinedProducer, answer: ProduceResponse) -> PipelinedProducer:
    """Take the answer to a batch; one that was given up has none any more."""
    asked = (answer.partition, answer.correlation_id)
    flying = (b for b in numbered_batches(me) if b.broker >= 0)
    batch = next((b for b in flying if (b.partition, b.request or b.serial) == asked), None)
    if batch is None:
        return me
    if answer.error is Errors.NONE:
        return transactional.prepared_when_flushed(in_flight.acknowledged(me, batch))
    if answer.error in RETRIABLE or in_flight.comes_early(me, batch, answer.error):
        return _refused(me, [batch])
    me = _failed(me, batch, answer)
    return me if me.manager.state is S.FATAL_ERROR else _closed_up(me, batch)


def _refused(me: PipelinedProducer, batches: list[NumberedBatch]) -> PipelinedProducer:
    """Take batches back that have to be sent again, after a rest if the producer backs off."""
    if me.accumulator.backs_off:
        resting = [b.but(attempts=b.attempts + 1, rests=True) for b in batches]
        me, batches = replaced(me, list(zip(batches, resting, strict=True))), resting
    return in_flight.taken_back(me, batches)


def _failed(
    me: PipelinedProducer, batch: NumberedBatch, answer: ProduceResponse
) -> PipelinedProducer:
    me = with_batches(me, tuple(b for b in me.accumulator.batches if b is not batch))
    return transactional.fail(me, Failure(answer, answer.error))


def _closed_up(me: PipelinedProducer, gone: NumberedBatch) -> PipelinedProducer:
    """Give the sequences of a batch that a leader failed for good to those behind it.

    They are in the same transaction, which can only be aborted; but they are sent until a leader has
    them. Where the numbers began again at 0 between the two nothing is adjusted: Kafka throws an
    IllegalStateException there, which its sender logs. Source: TxnPartitionEntry.adjustSequencesDueToFailedBatch,
    TxnPartitionEntry.decrementSequence, Sender.failBatch.
    """
    count = len(gone.records)
    sequences = me.partition_map.sequences
    following = sequences[gone.partition] - count
    if following < 0:
        return me
    behind = [b for b in tracked(me, gone.partition) if b.base_sequence > gone.base_sequence]
    changes = [(b, b.but(base_sequence=b.base_sequence - count, reset=True)) for b in behind]
    sequences = sequences.set(gone.partition, following)
    return replaced(me, changes).but(partition_map=me.partition_map.but(sequences=sequences))


def _settled(me: PipelinedProducer) -> PipelinedProducer:
    """Resolve what was open once nothing of a partition is on the way; nothing outlives a producer.

    If what was given up is in no log, the transaction can only be aborted, which it can only be
    already; below version 2 the epoch is bumped after it. Source:
    TransactionManager.maybeResolveSequences, Sender.maybeAbortBatches.
    """
    if me.manager.state is S.FATAL_ERROR:
        known = me.partition_map.but(unresolved=Table.of())
        return _with_room(with_batches(me, ()).but(partition_map=known))
    for partition in me.partition_map.unresolved:
        if not tracked(me, partition):
            known, manager = me.partition_map, me.manager
            resolved = manager.implicit or in_flight.is_resolved(me, partition)
            me = me.but(
                partition_map=known.but(unresolved=known.unresolved.without(partition)),
                manager=manager.but(bump=manager.bump or not resolved),
            )
    return transactional.ended_locally(_with_room(me))


def _with_room(me: PipelinedProducer) -> PipelinedProducer:
    """Let a send() go on for which there is room now; after an error it throws that, with nothing sent."""
    kept = me.accumulator
    if not kept.blocked or kept.is_full:
        return me
    (partition, records), *_ = kept.blocked
    me = me.but(accumulator=kept.but(blocked=()), manager=me.manager.but(done=True))
    if me.manager.state is S.IN_TRANSACTION or stray_records.goes_along(me, partition):
        return send(me, partition, records)
    return stray_records.left_behind(me, partition, records)
