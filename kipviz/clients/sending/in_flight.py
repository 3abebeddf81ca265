"""Several batches of a partition on the way at once: their numbers, and the order that they keep.

WHERE IN KAFKA: RecordAccumulator, TransactionManager, TxnPartitionMap, TxnPartitionEntry.
Both have it: producers without a transactional id (`plain_producer`), and those with one that may
have more than one batch of a partition on the wire (`pipelined_producer`).
NOT MODELLED: that the batch of another broker goes out while the one whose turn it is finds no room on its
  connection; that a batch given up on the wire counts there; that a partition which may not send ends the
  broker's round, so that those behind it go in the next request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from kipviz.clients.sending.outgoing import NumberedBatch
from kipviz.clients.transactions.producer import Producer, with_batches
from kipviz.messages.errors import Errors
from kipviz.messages.producing import Produce
from kipviz.records.sequences import as_java_int, sequence_after

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


P = TypeVar("P", bound=Producer)


def has_room(me: Producer, broker: int) -> bool:
    """Say whether one more request may go out on the connection to a broker.

    Transactional requests are among them: the sender waits for room before it sends one. Source:
    InFlightRequests.canSendMore, NetworkClientUtils.awaitReady.
    """
    flying = [b for b in numbered_batches(me) if b.broker == broker]
    together = {b.request for b in flying if b.request}
    alone = sum(not b.request for b in flying)
    asked = me.on_wire is not None and me.on_wire_broker == broker
    return len(together) + alone + asked < me.max_in_flight


def numbered_batches(me: Producer) -> tuple[NumberedBatch, ...]:
    """Give the batches that are not through."""
    return tuple(b for b in me.accumulator.batches if isinstance(b, NumberedBatch))


def tracked(me: Producer, partition: str) -> tuple[NumberedBatch, ...]:
    """Give the batches of a partition that were sent and are not through."""
    return tuple(b for b in numbered_batches(me) if b.partition == partition and b.sent)


def next_batches(me: Producer, partitions: Iterable[str]) -> tuple[NumberedBatch, ...]:
    """Give the batches that are sent next to some partitions, one of each, with their numbers.

    Of a partition several may be on the way. One that has to be sent again waits until all before
    it are through, and everything waits behind it and behind one that backs off. Source:
    RecordAccumulator.drainBatchesForOneNode, shouldStopDrainBatchesForPartition, shouldBackoff.
    """
    found = (_next_of(me, partition) for partition in partitions)
    return tuple(_numbered(me, batch) for batch in found if batch is not None)


def request_of(batch: NumberedBatch, transactional_id: str = "", version: int = 13) -> Produce:
    """Give the request that carries one batch."""
    return Produce(
        transactional_id,
        batch.partition,
        *batch.identity,
        batch.base_sequence,
        batch.records,
        version,
        batch.serial,
    )


def put_on_wire(me: P, request: Produce, broker: int) -> P:
    """Note that the next batch of each partition of a request is on the wire.

    Batches of one request have a number in common: the first one's, or the next that is free.
    """
    number = 0
    if request.further:
        number = request.correlation_id or 1 + max(b.request for b in numbered_batches(me))
    for part in request.parts:
        me = _put_on_wire(me, part.partition, broker, number)
    return me


def _put_on_wire(me: P, partition: str, broker: int, number: int) -> P:
    """Note that the next batch of a partition is on the wire; a new one has its number now."""
    batch = _next_of(me, partition)
    assert batch is not None, partition
    numbered = _numbered(me, batch)
    if me.idempotence and batch.base_sequence < 0:
        known, identity = me.partition_map, me.manager.identity
        if known.of.get(partition) != identity:
            acked = known.acked.without(partition)
            known = known.but(of=known.of.set(partition, identity), acked=acked)
        behind = sequence_after(numbered.base_sequence, len(batch.records))
        sequences = known.sequences.set(partition, behind)
        me = me.but(partition_map=known.but(sequences=sequences))
    last = max((b.flight for b in tracked(me, partition) if b.broker >= 0), default=0)
    on_wire = numbered.but(broker=broker, sent=True, wire=numbered.base_sequence, flight=last + 1)
    return replaced(me, [(batch, on_wire.but(request=number))])


def acknowledged(me: P, batch: NumberedBatch) -> P:
    """Take a batch as written.

    The last sequence of a batch does not wrap here, so behind 2147483647 nothing counts as acknowledged
    any more. Source: ProducerBatch.lastSequence, TxnPartitionEntry.maybeUpdateLastAckedSequence.
    """
    me = with_batches(me, tuple(b for b in me.accumulator.batches if b is not batch))
    if not me.idempotence:
        return me
    known = me.partition_map
    last = as_java_int(batch.base_sequence + len(batch.records) - 1)
    acked = max(last, known.acked.get(batch.partition, -1))
    return me.but(partition_map=known.but(acked=known.acked.set(batch.partition, acked)))


def taken_back(me: P, batches: Iterable[NumberedBatch]) -> P:
    """Put batches that were on the wire back, to be sent again with the numbers that they have.

    Whether that was so before matters only where a batch may expire on the wire.
    """
    back = [(b, b.but(broker=-1, flight=0, retried=b.serial > 0, request=0)) for b in batches]
    return replaced(me, back)


def on_disconnected(me: P, broker: int) -> P:
    """Take back what was on a broken connection; with their numbers, leaders recognise them."""
    return taken_back(me, [b for b in numbered_batches(me) if b.broker == broker])


def comes_early(me: Producer, batch: NumberedBatch, error: Errors) -> bool:
    """Say whether a batch was refused only because one before it is not through yet.

    A gap in the sequences is none as long as that is so. Source: TransactionManager.canRetry.
    """
    known = me.partition_map
    is_next = batch.base_sequence == known.acked.get(batch.partition, -1) + 1
    gap = error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.partition not in known.unresolved
    return gap and (batch.reset or not is_next)


def left_open(me: P, batch: NumberedBatch) -> P:
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


def replaced(me: P, changes: list[tuple[NumberedBatch, NumberedBatch]]) -> P:
    """Change batches where they stand; equal ones are told apart by which object they are."""
    by_id = {id(before): after for before, after in changes}
    return with_batches(me, tuple(by_id.get(id(b), b) for b in me.accumulator.batches))


def _next_of(me: Producer, partition: str) -> NumberedBatch | None:
    """Give the batch of a partition that may be sent now, if there is one."""
    own = [b for b in numbered_batches(me) if b.partition == partition]
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


def _numbered(me: Producer, batch: NumberedBatch) -> NumberedBatch:
    """Give a batch its identity and sequence, if it has none yet."""
    if not me.idempotence or batch.base_sequence >= 0:
        return batch
    known, identity = me.partition_map, me.manager.identity
    counts = known.of.get(batch.partition) == identity
    first = known.sequences.get(batch.partition, 0) if counts else 0
    return batch.but(base_sequence=first, identity=identity)
