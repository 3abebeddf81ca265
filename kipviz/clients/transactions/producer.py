"""The producer: an application thread that calls, a sender that talks.

WHO: a client process. WHERE IN KAFKA: KafkaProducer, Sender.
KIPS: KIP-98, KIP-360, KIP-447, KIP-890, KIP-939, KIP-1289; what each adds is in `transaction_manager`.
PARTS: `manager` has the identity and the transactions, `accumulator` the batches, `partition_map` their sequences,
  `metadata` the topics that it knows.
DURABILITY: none; a crash loses all of it, and the next process fences it.
NOT MODELLED: the futures of send(): a record that an abort drops has a
  TransactionAbortedException there (RecordAccumulator.abortUndrainedBatches); that under transaction version 2 an abort goes on with a batch
  whose connection broke until delivery.timeout.ms, and several batches of a partition in flight:
  `pipelined_producer` has both.
"""

from __future__ import annotations

from typing import TypeVar

from kipviz.clients.sending import awaited_topics, sender, stray_records
from kipviz.clients.sending.awaited_topics import KnownTopics
from kipviz.clients.sending.outgoing import OutgoingBatch, without, without_unsent
from kipviz.clients.sending.record_accumulator import RecordAccumulator
from kipviz.clients.sending.txn_partition_map import TxnPartitionMap
from kipviz.clients.transactions import producer_timers
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_errors import EXPIRED
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import Failure, TransactionManager
from kipviz.core.values import Part
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.features import Features
from kipviz.messages.group_transactions import InitProducerIdOfGroup
from kipviz.messages.message import Message
from kipviz.messages.metadata import MetadataResponse
from kipviz.messages.producing import Produce, ProduceResponse
from kipviz.records.batches import DataRecord
from kipviz.records.sequences import sequence_after

S = ProducerState


class Producer(Part, frozen=True):
    """A producer's parts.

    Where it is bound to a session (KIP-1310, draft) its `manager` is what it has heard of the session's.
    `max_in_flight` is max.in.flight.requests.per.connection, `idempotence` enable.idempotence.
    `network` is the producer of whose sender and connections this is one transactional id more (KIP-447,
    a rejected alternative), "" for one that has its own. `failed` are the values of records that a producer without
    a transactional id has given up.
    """

    source: str
    manager: TransactionManager
    accumulator: RecordAccumulator = RecordAccumulator()
    partition_map: TxnPartitionMap = TxnPartitionMap()
    metadata: KnownTopics = KnownTopics()
    max_in_flight: int = 1
    idempotence: bool = True
    network: str = ""
    failed: tuple[str, ...] = ()

    @property
    def on_wire(self) -> Message | None:
        """The request beside batches that is on the wire."""
        return self.manager.on_wire

    @property
    def on_wire_broker(self) -> int:
        """The broker that it went to."""
        return self.manager.on_wire_broker

    @property
    def done(self) -> bool:
        """Whether the call that the application waits for has ended."""
        return self.manager.done

    @property
    def error(self) -> str:
        """What it is in error for, or nothing."""
        return self.manager.error

    @property
    def state_name(self) -> str:
        """The state as the client itself calls it."""
        return self.manager.state.value


P = TypeVar("P", bound=Producer)

# -- calls of the application thread ----------------------------------------------------------


def send(me: Producer, partition: str, records: tuple[DataRecord, ...]) -> Producer:
    """Put records into the accumulator; the sender takes them from there.

    It waits for the metadata of a topic of which the producer knows nothing, max.block.ms at most.
    """
    if awaited_topics.is_unknown(me.metadata, partition):
        return awaited_topics.asking(me, partition, records)
    me, records = stray_records.taken_along(me, partition, records)
    sequences = me.partition_map.sequences
    sequence = sequences.get(partition, 0)
    batch = OutgoingBatch(partition, records, sequence)
    following = sequences.set(partition, sequence_after(sequence, len(records)))
    return with_batches(me, (*me.accumulator.batches, batch)).but(
        partition_map=me.partition_map.but(sequences=following),
        manager=managing.enlisting(me.manager, partition),
    )


def with_batches(me: P, batches: tuple[OutgoingBatch, ...]) -> P:
    """Give the same producer with other batches."""
    return me.but(accumulator=me.accumulator.but(batches=batches))


def prepare_transaction(me: P, *, votes_first: bool = False) -> P:
    """Flush, and then accept no more records (KIP-939). Blocks."""
    incomplete = me.accumulator.has_incomplete
    return me.but(
        manager=managing.prepare_transaction(
            me.manager, incomplete=incomplete, votes_first=votes_first
        )
    )


def complete_transaction(me: P, stored: PreparedTxnState) -> P:
    """End a prepared transaction as the database says: commit if it has this one's state, else abort.

    There is no third outcome: what the database has not heard of is aborted (KIP-939).
    """
    return end_transaction(me, committed=stored == me.manager.prepared)


def end_transaction(me: P, *, committed: bool) -> P:
    """Commit or abort. Blocks. An abort drops what was not sent yet."""
    if not committed:
        me = me.but(accumulator=me.accumulator.but(stray=()))
        me = me if managing.ends_at_once(me.manager) else without_unsent(me)
    incomplete = me.accumulator.has_incomplete
    return me.but(
        manager=managing.end_transaction(me.manager, committed=committed, incomplete=incomplete)
    )


# -- the sender ---------------------------------------------------------------------------------


def connected(me: P, features: Features) -> P:
    """Learn the finalized feature levels, as a new connection tells them (ApiVersions)."""
    return me.but(manager=managing.connected(me.manager, features))


def next_request(me: Producer) -> Message | None:
    """Give what the sender puts on the wire next, or None when it has nothing to send.

    A transactional request goes before a batch, and no batch goes while one is on the wire. EndTxn waits
    until no batch is left. Below transaction version 2 a batch waits until its partition is added, and
    partitions are added before anything else but InitProducerId. Source: Sender.runOnce,
    TransactionManager.nextRequest.
    """
    if me.manager.state is S.FATAL_ERROR or me.manager.rests:
        return None
    request = next_transactional(me)
    if request is not None or me.manager.on_wire is not None or not me.accumulator.batches:
        return request
    return sender.next_batch(me)


def next_transactional(me: Producer) -> Message | None:
    """Give the transactional request that goes out next, if none is on the wire.

    The question for a topic that a send() waits for goes before all of them: it waits for none, as in Kafka.
    """
    manager, batches = me.manager, me.accumulator
    if manager.on_wire is not None or not (manager.queue or manager.to_add):
        return None
    if awaited_topics.asks(me):
        return manager.queue[0]
    return managing.next_request(
        manager, incomplete=batches.has_incomplete, flying=batches.has_flying
    )


def sent(me: P, request: Message, broker: int) -> tuple[P, Message]:
    """Note that a request is on the wire to a broker."""
    if not isinstance(request, Produce):
        return me.but(manager=managing.sent(me.manager, request, broker)), request
    out = tuple((part.partition, part.base_sequence) for part in request.parts)
    implicit = me.manager.implicit
    batches = tuple(
        b.but(broker=broker, sent=not implicit) if (b.partition, b.base_sequence) in out else b
        for b in me.accumulator.batches
    )
    return with_batches(me, batches), request


def on_response(me: P, message: Message) -> P:
    """Take an answer: go on, try again, or enter an error state."""
    if isinstance(message, ProduceResponse):
        for part in message.parts:
            me = _on_produced(me, part)
        return ended_locally(me)
    return ended_locally(on_answer(me, message))


def on_answer(me: P, message: Message) -> P:
    """Take the answer to what the transaction manager has asked; a new identity begins to count anew."""
    before = me.manager
    manager, failure = managing.on_answer(before, message, incomplete=me.accumulator.has_incomplete)
    me = me.but(manager=manager)
    if failure is not None:
        return fail(me, failure)
    if manager.identity != before.identity:
        of_group = isinstance(before.on_wire, InitProducerIdOfGroup)
        me = with_batches(me, ()) if of_group else me
        me = me.but(partition_map=me.partition_map.begun_anew)
    return _on_metadata(me, message) if isinstance(message, MetadataResponse) else me


def _on_metadata(me: P, answer: MetadataResponse) -> P:
    refused = awaited_topics.why_refused(me.metadata, answer)
    if refused is Errors.NONE:
        return awaited_topics.told(me, answer)
    return fail(me, Failure(ProduceResponse(refused, me.metadata.held[0][0], -1), refused))


def ended_locally(me: P) -> P:
    """End a transaction of which the coordinator has never heard (transaction versions 0 and 1)."""
    if not me.manager.queue:
        return me
    manager = managing.ended_locally(me.manager, incomplete=me.accumulator.has_incomplete)
    return me if manager is me.manager else me.but(manager=manager)


def on_disconnected(me: P, broker: int) -> P:
    """Send again what was on a broken connection; the brokers recognise repeats."""
    batches = me.accumulator.batches
    me = with_batches(me, tuple(b.but(broker=-1) if b.broker == broker else b for b in batches))
    me = me.but(manager=managing.on_disconnected(me.manager, broker))
    aborts = me.manager.state is S.ABORTING_TRANSACTION
    return ended_locally(without_unsent(me) if aborts else me)


def expiring(me: Producer) -> OutgoingBatch | None:
    """Give the batch for which delivery.timeout.ms may be over: the oldest that is not on the wire."""
    kept = me.accumulator
    return next((b for b in (*kept.stray, *kept.batches) if b.broker < 0), None)


def expired(me: P) -> P:
    """Give a batch up after delivery.timeout.ms.

    Whether it arrived is not known if it was sent: below transaction version 2 the client bumps its
    epoch when the transaction is over, so that its sequences can begin anew (KIP-360). Source:
    Sender.sendProducerData, TransactionManager.maybeResolveSequences.
    """
    batch = expiring(me)
    assert batch is not None
    if batch.sent and not me.manager.implicit:
        me = with_batches(me, tuple(b for b in me.accumulator.batches if b is not batch))
        me = me.but(manager=me.manager.but(bump=True))
    else:
        me = without(me, (batch,))
        stray = tuple(b for b in me.accumulator.stray if b is not batch)
        me = me.but(accumulator=me.accumulator.but(stray=stray))
    if me.manager.state is S.ABORTING_TRANSACTION:
        return ended_locally(me)
    refused = ProduceResponse(EXPIRED, batch.partition, batch.base_sequence)
    return fail(me, Failure(refused, EXPIRED))


def restarted(me: P, life: int) -> P:
    """Give the producer of the process's next life: it has the transactional id, no identity."""
    return type(me)(
        me.source,
        managing.restarted(me.manager),
        me.accumulator.anew,
        metadata=me.metadata.anew,
        max_in_flight=me.max_in_flight,
        idempotence=me.idempotence,
        network=me.network,
    )


# -- what is due of itself -----------------------------------------------------------------------


def timers(me: Producer) -> tuple[str, ...]:
    """Give the timers that are set."""
    return producer_timers.timers(me.manager, resting=me.metadata.resting)


def running(me: Producer) -> tuple[str, ...]:
    """Give the timers whose time passes."""
    return producer_timers.running(me.manager, resting=me.metadata.resting)


def on_timer(me: P, timer: str) -> P:
    """Let one of them run out."""
    me = me.but(manager=producer_timers.on_timer(me.manager, timer))
    return awaited_topics.asked_again(me) if timer == producer_timers.BACK_OFF else me


# -- pieces --------------------------------------------------------------------------------------


def prepared_when_flushed(me: P) -> P:
    """Enter PREPARED_TRANSACTION as soon as no batch is left, if the application waits for that."""
    if not me.manager.preparing:
        return me
    incomplete = me.accumulator.has_incomplete
    return me.but(manager=managing.prepared_when_flushed(me.manager, incomplete=incomplete))


def _on_produced(me: P, answer: ProduceResponse) -> P:
    key, batches = (answer.partition, answer.base_sequence), me.accumulator.batches
    batch = next((b for b in batches if (b.partition, b.base_sequence) == key), None)
    if batch is None:
        return me
    aborts = me.manager.state is S.ABORTING_TRANSACTION
    if answer.error in RETRIABLE and not (aborts and me.manager.implicit):
        return with_batches(me, tuple(b.but(broker=-1) if b is batch else b for b in batches))
    if answer.error is Errors.NONE:
        me = with_batches(me, tuple(b for b in batches if b is not batch))
        return prepared_when_flushed(me)
    me = without(me, (batch,))
    return me if aborts else fail(me, Failure(answer, answer.error))


def fail(me: P, failure: Failure) -> P:
    """Enter an error state, and drop what no broker can have."""
    manager = managing.failed(me.manager, failure)
    if manager is me.manager or manager.state is S.ABORTING_TRANSACTION:
        return me.but(manager=manager)
    me = awaited_topics.after_failure(without_unsent(me), failure.about, failure.error)
    return me.but(accumulator=me.accumulator.but(stray=()), manager=manager)
