"""A producer without a transactional id: idempotent, as it is by default, or not even that.

WHO: a client process. WHERE IN KAFKA: KafkaProducer, Sender, RecordAccumulator, TransactionManager
  (isTransactional() is false), TxnPartitionMap.
KIPS: KIP-98 (idempotence), KIP-360 (the client bumps its own epoch), KIP-185, KIP-679 (on by default).
DURABILITY: none; the next process gets another producer id, and nobody knows it as the same one.
NOT MODELLED: batching by size and time (what one send() brings is one batch); two partitions of one
  broker, which share a connection and its max.in.flight.requests; the identity is asked for with the
  first batch, in Kafka when the sender starts; a batch on the wire does not expire.
"""

from __future__ import annotations

from typing import TypeVar

from kipviz.clients import producer as transactional
from kipviz.clients.producer import OutgoingBatch, Producer, ProducerState
from kipviz.clients.producer_errors import EXPIRED, FATAL_OF_PRODUCE, NOT_ALLOWED
from kipviz.core.table import Table
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.message import Message
from kipviz.messages.producing import Produce, ProduceResponse
from kipviz.messages.transactions import InitProducerId, InitProducerIdResponse
from kipviz.messages.two_phase import NO_TIME_LIMIT
from kipviz.records.batches import DataRecord
from kipviz.records.transaction_state import EPOCH_MAX

S = ProducerState
# The most that an idempotent producer may have on the way: a leader knows its last five batches.
MAX_IN_FLIGHT = 5
Identity = tuple[int, int]


class NumberedBatch(OutgoingBatch, frozen=True):
    """A batch that gets identity and sequence when it is first sent, -1 before.

    `wire` is the sequence that it was last sent with, `flight` its place among those on the wire.
    `reset` says that its sequence was given anew, with another epoch.
    """

    identity: Identity = (-1, -1)
    wire: int = -1
    flight: int = 0
    reset: bool = False


class PlainProducer(Producer, frozen=True, dict=True):
    """What it holds besides: per partition, what is acknowledged and what is not known.

    `idempotence` is enable.idempotence, `max_in_flight` max.in.flight.requests.per.connection. `acked`
    has the last acknowledged sequence of a partition, `of` the identity with which it counts, and
    `unresolved` the sequence behind a batch that was sent and expired: whether a leader has it is open.
    `failed` are the values of records that were given up.
    """

    idempotence: bool = True
    max_in_flight: int = MAX_IN_FLIGHT
    acked: Table[str, int] = Table.of()
    of: Table[str, Identity] = Table.of()
    unresolved: Table[str, int] = Table.of()
    failed: tuple[str, ...] = ()

    @property
    def identity(self) -> Identity:
        """The producer id and epoch that new batches get."""
        return (self.producer_id, self.producer_epoch)


P = TypeVar("P", bound=PlainProducer)

# -- calls of the application thread ----------------------------------------------------------


def send(me: PlainProducer, partition: str, records: tuple[DataRecord, ...]) -> PlainProducer:
    """Put records into the accumulator; they get their numbers when they are sent."""
    return me.but(batches=(*me.batches, NumberedBatch(partition, records, -1)))


def flush(me: PlainProducer) -> PlainProducer:
    """Wait until every batch is acknowledged or given up. Blocks, and throws nothing."""
    return me.but(done=not me.batches)


# -- the sender ---------------------------------------------------------------------------------


def next_request(me: PlainProducer) -> Message | None:
    """Give what the sender puts on the wire next: its request for an identity, else a batch.

    Of a partition several may be on the way. One that has to be sent again waits until all before
    it are through, and everything waits behind it. Source:
    RecordAccumulator.shouldStopDrainBatchesForPartition.
    """
    if me.state is S.FATAL_ERROR or not me.batches:
        return None
    if me.idempotence and me.producer_id < 0:
        return None if me.on_wire is not None else InitProducerId("", NO_TIME_LIMIT)
    for partition in dict.fromkeys(b.partition for b in me.batches):
        batch = _next_of(me, partition)
        if batch is not None:
            numbered = _numbered(me, batch)
            return Produce("", partition, *numbered.identity, numbered.base_sequence, batch.records)
    return None


def sent(me: PlainProducer, request: Message, broker: int) -> tuple[PlainProducer, Message]:
    """Note that a request is on the wire; a new batch has its number now."""
    if not isinstance(request, Produce):
        return me.but(on_wire=request, on_wire_broker=broker, state=S.INITIALIZING), request
    batch = _next_of(me, request.partition)
    assert batch is not None, request
    numbered, partition = _numbered(me, batch), request.partition
    if me.idempotence and batch.base_sequence < 0:
        if me.of.get(partition) != me.identity:
            me = me.but(of=me.of.set(partition, me.identity), acked=me.acked.without(partition))
        behind = numbered.base_sequence + len(batch.records)
        me = me.but(sequences=me.sequences.set(partition, behind))
    last = max((b.flight for b in _tracked(me, partition) if b.broker >= 0), default=0)
    on_wire = numbered.but(broker=broker, sent=True, wire=numbered.base_sequence, flight=last + 1)
    return _replaced(me, [(batch, on_wire)]), request


def on_response(me: PlainProducer, message: Message) -> PlainProducer:
    """Take an answer: go on, send again, bump the epoch, or give up.

    Clause: KIP-98 "Idempotent producer", KIP-360; TransactionManager.canRetry, handleFailedBatch.
    """
    if isinstance(message, ProduceResponse):
        return _settled(_on_produced(me, message))
    me = me.but(on_wire=None, on_wire_broker=-1)
    assert isinstance(message, InitProducerIdResponse), message
    if message.error is Errors.NONE:
        identity = (message.producer_id, message.producer_epoch)
        anew = [(b, b.but(identity=identity)) for b in _all(me) if b.reset and b.identity[0] < 0]
        me = _replaced(me, anew).but(
            producer_id=identity[0], producer_epoch=identity[1], state=S.READY
        )
        for partition in dict.fromkeys(b.partition for b, _ in anew):
            me = me.but(of=me.of.set(partition, identity))
        return me
    if message.error in RETRIABLE:
        return me.but(state=S.UNINITIALIZED)
    refused = message.error in NOT_ALLOWED
    me = me.but(
        state=S.UNINITIALIZED if refused else S.FATAL_ERROR,
        error=f"InitProducerId: {message.error.name}",
    )
    return _settled(_given_up(me, _all(me)))


def on_disconnected(me: PlainProducer, broker: int) -> PlainProducer:
    """Send again what was on a broken connection; with their numbers, leaders recognise them."""
    lost = [(b, b.but(broker=-1, flight=0)) for b in _all(me) if b.broker == broker]
    me = _replaced(me, lost)
    if me.on_wire is not None and me.on_wire_broker == broker:
        me = me.but(on_wire=None, on_wire_broker=-1, state=S.UNINITIALIZED)
    return me


def expired(me: PlainProducer) -> PlainProducer:
    """Give a batch up after delivery.timeout.ms.

    If it was sent, nobody knows whether a leader has it: its partition sends nothing new until what
    is on the way shows it. Source: Sender.failExpiredBatches, TransactionManager.maybeResolveSequences.
    """
    batch = transactional.expiring(me)
    assert isinstance(batch, NumberedBatch), batch
    me = _given_up(me, (batch,)).but(error=f"Produce: {EXPIRED.name}")
    if me.idempotence and batch.sent:
        behind = batch.base_sequence + len(batch.records)
        behind = max(behind, me.unresolved.get(batch.partition, 0))
        me = me.but(unresolved=me.unresolved.set(batch.partition, behind))
    return _settled(me)


connected = transactional.connected


def restarted(me: PlainProducer, life: int) -> PlainProducer:
    """Give the producer of the process's next life: nothing of this one is known to anybody."""
    return PlainProducer(me.source, "", idempotence=me.idempotence, max_in_flight=me.max_in_flight)


# -- pieces ------------------------------------------------------------------------------------


def _all(me: PlainProducer) -> tuple[NumberedBatch, ...]:
    return tuple(b for b in me.batches if isinstance(b, NumberedBatch))


def _tracked(me: PlainProducer, partition: str) -> tuple[NumberedBatch, ...]:
    """Give the batches of a partition that were sent and are not through."""
    return tuple(b for b in _all(me) if b.partition == partition and b.sent)


def _next_of(me: PlainProducer, partition: str) -> NumberedBatch | None:
    """Give the batch of a partition that may be sent now, if there is one."""
    own = [b for b in _all(me) if b.partition == partition]
    batch = next((b for b in own if b.broker < 0), None)
    flying = sum(b.broker >= 0 for b in own)
    if batch is None or flying >= me.max_in_flight:
        return None
    if not me.idempotence:
        return batch
    if batch.base_sequence >= 0:
        return batch if own[0] is batch else None
    stale = me.of.get(partition, me.identity) != me.identity and own[0].sent
    return None if stale or partition in me.unresolved else batch


def _numbered(me: PlainProducer, batch: NumberedBatch) -> NumberedBatch:
    """Give a batch its identity and sequence, if it has none yet."""
    if not me.idempotence or batch.base_sequence >= 0:
        return batch
    counts = me.of.get(batch.partition) == me.identity
    first = me.sequences.get(batch.partition, 0) if counts else 0
    return batch.but(base_sequence=first, identity=me.identity)


def _replaced(me: P, changes: list[tuple[NumberedBatch, NumberedBatch]]) -> P:
    """Change batches where they stand; equal ones are told apart by which object they are."""
    by_id = {id(before): after for before, after in changes}
    return me.but(batches=tuple(by_id.get(id(b), b) for b in me.batches))


def _given_up(me: PlainProducer, gone: tuple[NumberedBatch, ...]) -> PlainProducer:
    lost = tuple(r.value for b in gone for r in b.records)
    left = tuple(b for b in me.batches if not any(b is each for each in gone))
    return me.but(batches=left, failed=(*me.failed, *lost))


def _on_produced(me: PlainProducer, answer: ProduceResponse) -> PlainProducer:
    flying = [
        b
        for b in _tracked(me, answer.partition)
        if b.broker >= 0 and b.wire == answer.base_sequence
    ]
    if not flying:
        return me
    batch = min(flying, key=lambda b: b.flight)
    if answer.error is Errors.NONE:
        last = batch.base_sequence + len(batch.records) - 1
        acked = max(last, me.acked.get(batch.partition, -1))
        me = me.but(batches=tuple(b for b in me.batches if b is not batch))
        return me.but(acked=me.acked.set(batch.partition, acked)) if me.idempotence else me
    again, bumps = _may_be_sent_again(me, batch, answer.error)
    if again:
        me = _replaced(me, [(batch, batch.but(broker=-1, flight=0))])
        return _bumped(me, batch.partition) if bumps else me
    me = _given_up(me, (batch,)).but(error=f"Produce: {answer.error.name}")
    if answer.error in FATAL_OF_PRODUCE:
        return _given_up(me.but(state=S.FATAL_ERROR), _all(me))
    return _bumped(me, batch.partition) if me.idempotence else me


def _may_be_sent_again(me: PlainProducer, batch: NumberedBatch, error: Errors) -> tuple[bool, bool]:
    """Say whether a refused batch is sent again, and whether the epoch is bumped before that.

    A gap in the sequences is none as long as a batch before this one is not through. Else the leader
    lacks what it once had: the batch would never fit, and gets a new epoch and sequence 0.
    """
    if error is not Errors.OUT_OF_ORDER_SEQUENCE_NUMBER or not me.idempotence:
        return error in RETRIABLE, False
    open_ = me.unresolved.get(batch.partition)
    is_next = batch.base_sequence == me.acked.get(batch.partition, -1) + 1
    if open_ is None and (batch.reset or not is_next):
        return True, False
    return True, open_ is None or open_ == batch.base_sequence


def _bumped(me: PlainProducer, partition: str) -> PlainProducer:
    """Take the next epoch without asking anybody, and count a partition anew from 0 with it.

    Other partitions follow when nothing of theirs is on the way. Behind the last epoch the producer
    asks for another id. Source: TransactionManager.bumpIdempotentProducerEpoch.
    """
    if me.producer_epoch == EPOCH_MAX:
        me = me.but(producer_id=-1, producer_epoch=-1, state=S.UNINITIALIZED)
    else:
        me = me.but(producer_epoch=me.producer_epoch + 1)
    changes, at = [], 0
    for batch in _tracked(me, partition):
        anew = batch.but(base_sequence=at, identity=me.identity, reset=True)
        changes.append((batch, anew))
        at += len(batch.records)
    me = _replaced(me, changes)
    return me.but(
        of=me.of.set(partition, me.identity),
        sequences=me.sequences.set(partition, at),
        acked=me.acked.without(partition),
        unresolved=me.unresolved.without(partition),
    )


def _settled(me: PlainProducer) -> PlainProducer:
    """Resolve what was open once nothing of a partition is on the way; flush() may be over."""
    for partition in me.unresolved:
        if _tracked(me, partition):
            continue
        if me.sequences.get(partition, 0) == me.acked.get(partition, -1) + 1:
            me = me.but(unresolved=me.unresolved.without(partition))
        else:
            me = _bumped(me, partition)
    return me.but(done=True) if not me.batches else me
