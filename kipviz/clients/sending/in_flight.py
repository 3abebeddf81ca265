"""The batches of a producer that are in flight: their sequences, and the order that they keep.

WHERE IN KAFKA: RecordAccumulator, TransactionManager, TxnPartitionMap, TxnPartitionEntry; InFlightRequests.
Every producer has it, whatever its max.in.flight.requests.per.connection; with one,
a partition waits for its batch (guaranteeMessageOrder).
NOT MODELLED: that the batch of another broker is sent while the one whose turn it is finds no room on its
  connection; that a partition which may not send ends the broker's round, so that those behind it go in the next
  request.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING, TypeVar

from kipviz.clients.process_spec import ProcessSpec
from kipviz.clients.sending.outgoing import (
    OutgoingBatch,
    with_batches,
    without,
    without_unsent,
)
from kipviz.clients.sending.record_accumulator import Unanswered
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import PartitionProduceData, Produce
from kipviz.records.sequences import as_java_int, sequence_after

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

# The maximum for an idempotent producer: a leader keeps its last five batches.
MAX_IN_FLIGHT = 5


def why_no_such_producer(application: ProcessSpec) -> str:
    """Return why an application of a spec cannot have its producer, or "".

    The transactional id and the plain producer may contradict each other, or it may have more batches in flight than
    leaders keep.
    """
    name, plain = application.name, application.plain
    if (plain is not None) != (not application.transactional_id) and not application.admin:
        return f"{name} has a plain producer if its transactional id is empty, and only then"
    most = application.max_in_flight if plain is None else plain.max_in_flight
    if most < 1:
        return f"{name} must have at least one batch in flight, not {most}"
    if most > MAX_IN_FLIGHT and (plain is None or plain.idempotence):
        return (
            f"the idempotent producer of {name} can have at most {MAX_IN_FLIGHT} batches of a partition in "
            f"flight, because a leader knows the last {MAX_IN_FLIGHT}, not {most}"
        )
    if application.buffer < 0 or (application.buffer and application.max_in_flight == 1):
        return f"buffer of {name} is 0 or more batches, and needs max_in_flight above 1"
    if application.max_in_flight != 1 and (plain or application.session):
        return f"max_in_flight of {name} is for a producer with a transaction of its own"
    return ""


P = TypeVar("P", bound="Producer")
S = ProducerState


def has_room(me: Producer, broker: int) -> bool:
    """Return whether one more request may be sent on the connection to a broker.

    Transactional requests count: the sender waits for room before it sends one. The request of an expired batch counts
    until its response arrives. Source: InFlightRequests.canSendMore, NetworkClientUtils.awaitReady.
    """
    kept = me.accumulator
    flying = {b.request for b in kept.batches if b.broker == broker}
    flying |= {each.request for each in kept.unanswered if each.broker == broker}
    asked = me.on_wire is not None and me.on_wire_broker == broker
    return len(flying) + asked < me.max_in_flight


def tracked_batches(me: Producer, partition: str) -> tuple[OutgoingBatch, ...]:
    """Return the batches of a partition that were sent and are not complete."""
    return tuple(b for b in me.accumulator.batches if b.partition == partition and b.sent)


def number_of(me: Producer, batch: OutgoingBatch) -> int:
    """Return the number that identifies a batch within its partition, as long as it is in the accumulator.

    Without serial numbers it is the sequence that the batch has, or will have when it is sent.
    """
    if me.numbers_batches or batch.serial < 0:
        return batch.serial
    if batch.sent:
        return batch.base_sequence
    earlier = takewhile(lambda b: b is not batch, me.accumulator.batches)
    waiting = (b for b in earlier if b.partition == batch.partition and not b.sent)
    before = me.partition_map.sequences.get(batch.partition, 0)
    return before + sum(len(b.records) for b in waiting)


def next_batches(me: Producer, partitions: Iterable[str]) -> tuple[OutgoingBatch, ...]:
    """Return the batches to send next, at most one for each partition, with their sequences.

    A partition may have several batches in flight. A batch to retry waits until all batches before it are complete, and
    everything waits behind it and behind one that backs off. Source: RecordAccumulator.drainBatchesForOneNode,
    shouldStopDrainBatchesForPartition, shouldBackoff.
    """
    found = (_next_of(me, partition) for partition in partitions)
    return tuple(_number_batch(me, batch) for batch in found if batch is not None)


def data_of(me: Producer, batch: OutgoingBatch) -> PartitionProduceData:
    """Return a batch as its request carries it."""
    identity = me.manager.identity if me.is_transactional else batch.identity
    return PartitionProduceData(batch.partition, *identity, batch.base_sequence, batch.records)


def correlation_id_of(me: Producer, request: Produce) -> int:
    """Return the correlation id of the next Produce request: the serial number of its first batch.

    A client of Kafka counts its requests (NetworkClient.nextCorrelationId); here a count would keep equal states apart.
    """
    batch = _next_of(me, request.partition_data[0].partition)
    assert batch is not None, request
    return batch.serial


def put_on_wire(me: P, request: Produce, broker: int) -> P:
    """Note that the next batch of each partition of a request is in flight, under its correlation id."""
    number = correlation_id_of(me, request)
    for batch in request.partition_data:
        me = _put_on_wire(me, batch.partition, broker, number)
    return me


def _put_on_wire(me: P, partition: str, broker: int, request: int) -> P:
    """Note that the next batch of a partition is in flight; a new batch gets its sequence now."""
    batch = _next_of(me, partition)
    assert batch is not None, partition
    numbered = _number_batch(me, batch)
    if me.idempotence and batch.base_sequence < 0:
        known, identity = me.partition_map, me.manager.identity
        if not me.is_transactional and known.of.get(partition) != identity:
            acked = known.acked.without(partition)
            known = known.but(of=known.of.set(partition, identity), acked=acked)
        behind = sequence_after(numbered.base_sequence, len(batch.records))
        sequences = known.sequences.set(partition, behind)
        me = me.but(partition_map=known.but(sequences=sequences))
    return replace_batches(me, [(batch, numbered.but(broker=broker, sent=True, request=request))])


def note_acknowledged(me: P, batch: OutgoingBatch) -> P:
    """Note that a batch was written.

    The last sequence of a batch does not wrap here, so after 2147483647 no batch counts as acknowledged. Source:
    ProducerBatch.lastSequence, TxnPartitionEntry.maybeUpdateLastAckedSequence.
    """
    me = without(me, batch)
    if not me.idempotence:
        return me
    known = me.partition_map
    last = as_java_int(batch.base_sequence + len(batch.records) - 1)
    acked = max(last, known.acked.get(batch.partition, -1))
    return me.but(partition_map=known.but(acked=known.acked.set(batch.partition, acked)))


def put_back(me: P, batches: Iterable[OutgoingBatch]) -> P:
    """Put batches that were in flight back, to be sent again with the same sequences.

    They wait first if the producer backs off.
    """
    if not me.tells_sent:
        return _as_never_sent(me, tuple(batches))
    rests = me.accumulator.backs_off
    back = [
        (b, b.but(broker=-1, request=0, retried=True, attempts=b.attempts + rests, rests=rests))
        for b in batches
    ]
    return replace_batches(me, back)


def _as_never_sent(me: P, batches: tuple[OutgoingBatch, ...]) -> P:
    """Put batches back as if they had not been sent; each is the only one of its partition in flight.

    Each returns its sequence, and gets the same one when it is sent again. After an error, and in an abort, they are
    dropped with the unsent batches.
    """
    sequences = me.partition_map.sequences
    for batch in batches:
        sequences = _set_sequence(sequences, batch.partition, batch.base_sequence)
    me = me.but(partition_map=me.partition_map.but(sequences=sequences))
    back = replace_batches(
        me, [(b, b.but(base_sequence=-1, broker=-1, sent=False)) for b in batches]
    )
    dropped = me.manager.state in (S.ABORTABLE_ERROR, S.ABORTING_TRANSACTION)
    return without_unsent(back) if dropped else back


def drop_expired(me: P, batch: OutgoingBatch) -> P:
    """Drop an expired batch; if it is in flight, its request keeps its place on the connection."""
    me = without(me, batch)
    if batch.broker < 0:
        return me
    kept = me.accumulator
    left = Unanswered(batch.broker, batch.request, batch.partition)
    return me.but(accumulator=kept.but(unanswered=(*kept.unanswered, left)))


def note_late_response(me: P, partition: str, request: int) -> P:
    """Handle the response for a batch that expired: no caller waits for it."""
    asked, kept = (request, partition), me.accumulator
    left = tuple(each for each in kept.unanswered if (each.request, each.partition) != asked)
    return me.but(accumulator=kept.but(unanswered=left)) if kept.unanswered else me


def on_disconnected(me: P, broker: int) -> P:
    """Put the batches of a broken connection back; leaders recognise them by their sequences."""
    kept = me.accumulator
    if kept.unanswered:
        left = tuple(each for each in kept.unanswered if each.broker != broker)
        me = me.but(accumulator=kept.but(unanswered=left))
    return put_back(me, [b for b in kept.batches if b.broker == broker])


def comes_early(me: Producer, batch: OutgoingBatch, error: Errors) -> bool:
    """Return whether a batch was rejected only because an earlier one is not complete yet.

    Until then a gap in the sequences is no error. Source: TransactionManager.canRetry.
    """
    known = me.partition_map
    is_next = batch.base_sequence == known.acked.get(batch.partition, -1) + 1
    gap = error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.partition not in known.unresolved
    return gap and (batch.reset or not is_next)


def close_gap(me: P, gone: OutgoingBatch) -> P:
    """Shift the sequences of later batches down by those of a batch that a leader rejected for good.

    They are in the same transaction, which can only be aborted; but they are sent until a leader has them. If the
    sequences restarted at 0 between the two, nothing is adjusted: Kafka throws an IllegalStateException there, which
    its sender logs. Source: TxnPartitionEntry.adjustSequencesDueToFailedBatch, TxnPartitionEntry.decrementSequence,
    Sender.failBatch.
    """
    count = len(gone.records)
    sequences = me.partition_map.sequences
    following = sequences.get(gone.partition, 0) - count
    if following < 0:
        return me
    behind = [
        b for b in tracked_batches(me, gone.partition) if b.base_sequence > gone.base_sequence
    ]
    changes = [(b, b.but(base_sequence=b.base_sequence - count, reset=True)) for b in behind]
    sequences = _set_sequence(sequences, gone.partition, following)
    return replace_batches(me, changes).but(partition_map=me.partition_map.but(sequences=sequences))


def _set_sequence(sequences: Table[str, int], partition: str, following: int) -> Table[str, int]:
    """Return the sequences after one partition's count was set; a partition at 0 has no entry."""
    return sequences.set(partition, following) if following else sequences.without(partition)


def left_open(me: P, batch: OutgoingBatch) -> P:
    """Note that a batch was dropped which a leader may or may not have.

    Its partition sends nothing new until the batches in flight show it. Source: Sender.failExpiredBatches,
    TransactionManager.markSequenceUnresolved.
    """
    behind = as_java_int(batch.base_sequence + len(batch.records))
    known = me.partition_map
    behind = max(behind, known.unresolved.get(batch.partition, behind))
    unresolved = known.unresolved.set(batch.partition, behind)
    return me.but(partition_map=known.but(unresolved=unresolved))


def is_resolved(me: Producer, partition: str) -> bool:
    """Return whether later batches showed that a leader has a dropped one."""
    known = me.partition_map
    return known.sequences.get(partition, 0) == known.acked.get(partition, -1) + 1


def replace_batches(me: P, changes: list[tuple[OutgoingBatch, OutgoingBatch]]) -> P:
    """Replace batches in place; equal batches are distinguished by object identity."""
    if not changes:
        return me
    by_id = {id(before): after for before, after in changes}
    return with_batches(me, tuple(by_id.get(id(b), b) for b in me.accumulator.batches))


def _next_of(me: Producer, partition: str) -> OutgoingBatch | None:
    """Return the batch of a partition that may be sent now, or None."""
    own = [b for b in me.accumulator.batches if b.partition == partition]
    batch = next((b for b in own if b.broker < 0), None)
    flying = sum(b.broker >= 0 for b in own)
    if batch is None or batch.rests or flying >= me.max_in_flight:
        return None
    if not me.idempotence:
        return batch
    if batch.base_sequence >= 0:
        return batch if own[0] is batch else None
    known, identity = me.partition_map, me.manager.identity
    stale = known.of.get(partition, identity) != identity and own[0].sent
    return None if stale or partition in known.unresolved else batch


def _number_batch(me: Producer, batch: OutgoingBatch) -> OutgoingBatch:
    """Assign a batch its sequence, and its identity if a plain producer may change that, unless it has them."""
    if not me.idempotence or batch.base_sequence >= 0:
        return batch
    known, identity = me.partition_map, me.manager.identity
    if me.is_transactional:
        return batch.but(base_sequence=known.sequences.get(batch.partition, 0))
    counts = known.of.get(batch.partition) == identity
    first = known.sequences.get(batch.partition, 0) if counts else 0
    return batch.but(base_sequence=first, identity=identity)
