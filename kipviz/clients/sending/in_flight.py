"""The batches of a producer that are on the way: their numbers, and the order that they keep.

WHERE IN KAFKA: RecordAccumulator, TransactionManager, TxnPartitionMap, TxnPartitionEntry; InFlightRequests.
Every producer has it, however many requests max.in.flight.requests.per.connection lets it have on the wire; with one,
a partition waits for its batch (guaranteeMessageOrder).
NOT MODELLED: that the batch of another broker goes out while the one whose turn it is finds no room on its
  connection; that a partition which may not send ends the broker's round, so that those behind it go in the next
  request.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

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
from kipviz.messages.producing import Produce, ProduceResponse
from kipviz.records.sequences import as_java_int, sequence_after

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

# The most that an idempotent producer may have on the way: a leader knows its last five batches.
MAX_IN_FLIGHT = 5


def why_no_such_producer(application: Any) -> str:
    """Say why a spec's application cannot have the producer that it asks for, or nothing.

    It has half of a transactional id, or more batches on the way than leaders know.
    """
    name, plain = application.name, application.plain
    if (plain is not None) != (not application.transactional_id) and not application.admin:
        return f"{name} has a plain producer if its transactional id is empty, and only then"
    most = application.max_in_flight if plain is None else plain.max_in_flight
    if most < 1:
        return f"{name} has at least one batch in flight, not {most}"
    if most > MAX_IN_FLIGHT and (plain is None or plain.idempotence):
        return (
            f"the idempotent producer of {name} has at most {MAX_IN_FLIGHT} batches of a partition in "
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
    """Say whether one more request may go out on the connection to a broker.

    Transactional requests are among them: the sender waits for room before it sends one. The request of a batch
    that expired is one until it is answered. Source: InFlightRequests.canSendMore, NetworkClientUtils.awaitReady.
    """
    kept = me.accumulator
    flying = {b.request for b in kept.batches if b.broker == broker}
    flying |= {each.request for each in kept.unanswered if each.broker == broker}
    asked = me.on_wire is not None and me.on_wire_broker == broker
    return len(flying) + asked < me.max_in_flight


def tracked(me: Producer, partition: str) -> tuple[OutgoingBatch, ...]:
    """Give the batches of a partition that were sent and are not through."""
    return tuple(b for b in me.accumulator.batches if b.partition == partition and b.sent)


def number_of(me: Producer, batch: OutgoingBatch) -> int:
    """Say which batch of its partition one is; the same as long as it is on its way.

    Where none has a number it is the sequence that it has, or will have when it is sent.
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
    """Give the batches that are sent next to some partitions, one of each, with their numbers.

    Of a partition several may be on the way. One that has to be sent again waits until all before
    it are through, and everything waits behind it and behind one that backs off. Source:
    RecordAccumulator.drainBatchesForOneNode, shouldStopDrainBatchesForPartition, shouldBackoff.
    """
    found = (_next_of(me, partition) for partition in partitions)
    return tuple(_numbered(me, batch) for batch in found if batch is not None)


def request_of(me: Producer, batch: OutgoingBatch, version: int) -> Produce:
    """Give the request that carries one batch."""
    return Produce(
        me.manager.transactional_id,
        batch.partition,
        *(me.manager.identity if me.is_transactional else batch.identity),
        batch.base_sequence,
        batch.records,
        version,
        batch.serial,
    )


def put_on_wire(me: P, request: Produce, broker: int) -> P:
    """Note that the next batch of each partition of a request is on the wire, under its correlation id."""
    for part in request.parts:
        me = _put_on_wire(me, part.partition, broker, request.correlation_id)
    return me


def _put_on_wire(me: P, partition: str, broker: int, request: int) -> P:
    """Note that the next batch of a partition is on the wire; a new one has its number now."""
    batch = _next_of(me, partition)
    assert batch is not None, partition
    numbered = _numbered(me, batch)
    if me.idempotence and batch.base_sequence < 0:
        known, identity = me.partition_map, me.manager.identity
        if not me.is_transactional and known.of.get(partition) != identity:
            acked = known.acked.without(partition)
            known = known.but(of=known.of.set(partition, identity), acked=acked)
        behind = sequence_after(numbered.base_sequence, len(batch.records))
        sequences = known.sequences.set(partition, behind)
        me = me.but(partition_map=known.but(sequences=sequences))
    return replaced(me, [(batch, numbered.but(broker=broker, sent=True, request=request))])


def acknowledged(me: P, batch: OutgoingBatch) -> P:
    """Take a batch as written.

    The last sequence of a batch does not wrap here, so behind 2147483647 nothing counts as acknowledged
    any more. Source: ProducerBatch.lastSequence, TxnPartitionEntry.maybeUpdateLastAckedSequence.
    """
    me = without(me, batch)
    if not me.idempotence:
        return me
    known = me.partition_map
    last = as_java_int(batch.base_sequence + len(batch.records) - 1)
    acked = max(last, known.acked.get(batch.partition, -1))
    return me.but(partition_map=known.but(acked=known.acked.set(batch.partition, acked)))


def taken_back(me: P, batches: Iterable[OutgoingBatch]) -> P:
    """Put batches that were on the wire back, to be sent again with the numbers that they have.

    They rest before that if the producer backs off.
    """
    if not me.tells_sent:
        return _as_never_sent(me, tuple(batches))
    rests = me.accumulator.backs_off
    back = [
        (b, b.but(broker=-1, request=0, retried=True, attempts=b.attempts + rests, rests=rests))
        for b in batches
    ]
    return replaced(me, back)


def _as_never_sent(me: P, batches: tuple[OutgoingBatch, ...]) -> P:
    """Put batches back, each alone on the way in its partition, as if they had not been sent.

    Each gives its number back, and has the same one when it is sent again. After an error, and in an abort, they are
    dropped with what was not sent.
    """
    sequences = me.partition_map.sequences
    for batch in batches:
        sequences = _counted_to(sequences, batch.partition, batch.base_sequence)
    me = me.but(partition_map=me.partition_map.but(sequences=sequences))
    back = replaced(me, [(b, b.but(base_sequence=-1, broker=-1, sent=False)) for b in batches])
    dropped = me.manager.state in (S.ABORTABLE_ERROR, S.ABORTING_TRANSACTION)
    return without_unsent(back) if dropped else back


def expired(me: P, batch: OutgoingBatch) -> P:
    """Give up a batch; if it is on the wire, its request goes on, and takes its place there."""
    me = without(me, batch)
    if batch.broker < 0:
        return me
    kept = me.accumulator
    left = Unanswered(batch.broker, batch.request, batch.partition)
    return me.but(accumulator=kept.but(unanswered=(*kept.unanswered, left)))


def answered(me: P, answer: ProduceResponse) -> P:
    """Take the answer for a batch that expired: nobody waits for it any more."""
    asked, kept = (answer.correlation_id, answer.partition), me.accumulator
    left = tuple(each for each in kept.unanswered if (each.request, each.partition) != asked)
    return me.but(accumulator=kept.but(unanswered=left)) if kept.unanswered else me


def on_disconnected(me: P, broker: int) -> P:
    """Take back what was on a broken connection; with their numbers, leaders recognise them."""
    kept = me.accumulator
    if kept.unanswered:
        left = tuple(each for each in kept.unanswered if each.broker != broker)
        me = me.but(accumulator=kept.but(unanswered=left))
    return taken_back(me, [b for b in kept.batches if b.broker == broker])


def comes_early(me: Producer, batch: OutgoingBatch, error: Errors) -> bool:
    """Say whether a batch was refused only because one before it is not through yet.

    A gap in the sequences is none as long as that is so. Source: TransactionManager.canRetry.
    """
    known = me.partition_map
    is_next = batch.base_sequence == known.acked.get(batch.partition, -1) + 1
    gap = error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.partition not in known.unresolved
    return gap and (batch.reset or not is_next)


def closed_up(me: P, gone: OutgoingBatch) -> P:
    """Give the sequences of a batch that a leader failed for good to those behind it.

    They are in the same transaction, which can only be aborted; but they are sent until a leader has
    them. Where the numbers began again at 0 between the two nothing is adjusted: Kafka throws an
    IllegalStateException there, which its sender logs. Source: TxnPartitionEntry.adjustSequencesDueToFailedBatch,
    TxnPartitionEntry.decrementSequence, Sender.failBatch.
    """
    count = len(gone.records)
    sequences = me.partition_map.sequences
    following = sequences.get(gone.partition, 0) - count
    if following < 0:
        return me
    behind = [b for b in tracked(me, gone.partition) if b.base_sequence > gone.base_sequence]
    changes = [(b, b.but(base_sequence=b.base_sequence - count, reset=True)) for b in behind]
    sequences = _counted_to(sequences, gone.partition, following)
    return replaced(me, changes).but(partition_map=me.partition_map.but(sequences=sequences))


def _counted_to(sequences: Table[str, int], partition: str, following: int) -> Table[str, int]:
    """Give the sequences in which one partition was counted so far; at 0 it was not counted at all."""
    return sequences.set(partition, following) if following else sequences.without(partition)


def left_open(me: P, batch: OutgoingBatch) -> P:
    """Note that a batch was given up of which nobody knows whether a leader has it.

    Its partition sends nothing new until what is on the way shows it. Source:
    Sender.failExpiredBatches, TransactionManager.markSequenceUnresolved.
    """
    behind = as_java_int(batch.base_sequence + len(batch.records))
    known = me.partition_map
    behind = max(behind, known.unresolved.get(batch.partition, behind))
    unresolved = known.unresolved.set(batch.partition, behind)
    return me.but(partition_map=known.but(unresolved=unresolved))


def is_resolved(me: Producer, partition: str) -> bool:
    """Say whether the batches behind one that was given up showed that a leader has it."""
    known = me.partition_map
    return known.sequences.get(partition, 0) == known.acked.get(partition, -1) + 1


def replaced(me: P, changes: list[tuple[OutgoingBatch, OutgoingBatch]]) -> P:
    """Change batches where they stand; equal ones are told apart by which object they are."""
    if not changes:
        return me
    by_id = {id(before): after for before, after in changes}
    return with_batches(me, tuple(by_id.get(id(b), b) for b in me.accumulator.batches))


def _next_of(me: Producer, partition: str) -> OutgoingBatch | None:
    """Give the batch of a partition that may be sent now, if there is one."""
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


def _numbered(me: Producer, batch: OutgoingBatch) -> OutgoingBatch:
    """Give a batch its sequence, and its identity where that may change under way, if it has none yet."""
    if not me.idempotence or batch.base_sequence >= 0:
        return batch
    known, identity = me.partition_map, me.manager.identity
    if me.is_transactional:
        return batch.but(base_sequence=known.sequences.get(batch.partition, 0))
    counts = known.of.get(batch.partition) == identity
    first = known.sequences.get(batch.partition, 0) if counts else 0
    return batch.but(base_sequence=first, identity=identity)
