"""The producer: an application thread makes its calls, and a sender thread sends its requests.

WHO: a client process. WHERE IN KAFKA: KafkaProducer.
KIPS: KIP-98, KIP-360, KIP-447, KIP-890, KIP-939, KIP-1289; `transaction_manager` says what each adds.
PARTS: `manager` has the identity and the transactions, `accumulator` the batches, `partition_map` their sequences,
  `metadata` the topics that it knows. The `sender` handles requests and responses.
SETTINGS: with a transactional.id or without, idempotent or not, one request in flight or several: one producer, whose
  parts ask its settings.
DURABILITY: none; a crash loses everything, and the next process fences the old producer.
NOT MODELLED: the futures of send(): a record that an abort drops has a TransactionAbortedException there
  (RecordAccumulator.abortUndrainedBatches).
"""

from __future__ import annotations

from typing import TypeVar

from kipviz.clients.sending import appending, awaited_topics, sender
from kipviz.clients.sending.awaited_topics import KnownTopics
from kipviz.clients.sending.in_flight import replace_batches
from kipviz.clients.sending.outgoing import without_unsent
from kipviz.clients.sending.record_accumulator import RecordAccumulator
from kipviz.clients.sending.txn_partition_map import TxnPartitionMap
from kipviz.clients.throwing.client_errors import Raised, WrongTransition
from kipviz.clients.timers import BatchBackOff, RetryBackOff, TimerOfClient
from kipviz.clients.transactions import producer_timers
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.managed_client import ManagedClient
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_errors import EXPIRED
from kipviz.clients.transactions.producer_state import TRANSITIONS, ProducerState
from kipviz.clients.transactions.transaction_manager import Failure
from kipviz.messages.cluster.features import Features
from kipviz.messages.logs.producing import PartitionProduceResponse
from kipviz.records.batches import DataRecord

S = ProducerState


class Producer(ManagedClient, frozen=True):
    """A producer's parts and settings.

    If it is bound to a session (KIP-1310, draft), its `manager` is that of the session, borrowed for a moment
    (`kipviz.clients.sessions.bound_producer`). `max_in_flight` is
    max.in.flight.requests.per.connection, `idempotence` enable.idempotence. `network` names the producer whose sender
    and connections this one shares as a further transactional id (KIP-447, a rejected alternative), "" for a producer
    with its own. `failed` are the values of the records that a producer without a transactional id has failed to send.
    """

    accumulator: RecordAccumulator = RecordAccumulator()
    partition_map: TxnPartitionMap = TxnPartitionMap()
    metadata: KnownTopics = KnownTopics()
    max_in_flight: int = 1
    idempotence: bool = True
    network: str = ""
    failed: tuple[str, ...] = ()

    @property
    def is_transactional(self) -> bool:
        """Whether it has a transactional.id (TransactionManager.isTransactional)."""
        return bool(self.manager.transactional_id)

    @property
    def tells_sent(self) -> bool:
        """Whether it distinguishes a batch that was put back from one that was never sent.

        NOT MODELLED: that a producer with a single request in flight does so under transaction version 2. In Kafka it
        sends such a batch again, even in an abort; here it drops it like an unsent one. Producers that share sequences
        do distinguish them: another one may have used later sequences, so a sequence cannot be returned.
        """
        alone = self.is_transactional and self.manager.implicit and not self.partition_map.shared
        return self.max_in_flight > 1 or not alone

    @property
    def numbers_batches(self) -> bool:
        """Whether batches and requests have a number; a batch that is alone in flight is identified by its sequence."""
        return self.max_in_flight > 1 or not self.is_transactional


P = TypeVar("P", bound=Producer)


def is_plain(me: object) -> bool:
    """Return whether a client is a producer without a transactional id."""
    return isinstance(me, Producer) and not me.is_transactional


# The sender's functions, under the names that every client has.
next_request, note_sent = sender.next_request, sender.note_sent
on_response, on_disconnected = sender.on_response, sender.on_disconnected

# -- send() -----------------------------------------------------------------------------------


def send(me: P, partition: str, records: tuple[DataRecord, ...]) -> P:
    """Append records to the accumulator; the sender takes them from there, and numbers them.

    send() waits for the metadata of an unknown topic, and for room in buffer.memory, for max.block.ms at most.
    """
    if awaited_topics.is_unknown(me.metadata, partition):
        return awaited_topics.asking(me, partition, records)
    return appending.append_records(me, partition, records)


def send_waits(me: object) -> bool:
    """Return whether a client is a producer whose send() waits for its topic or for room."""
    return isinstance(me, Producer) and bool(me.accumulator.blocked or me.metadata.held)


def send_goes_on(me: P) -> P:
    """Continue a send() whose topic is known now."""
    partition, records = me.metadata.held[0]
    return send(awaited_topics.end_wait(me), partition, records)


def why_no_error_state(me: Producer) -> Raised:
    """Return what send() throws if its error cannot end the transaction, or "".

    Another thread has ended the transaction meanwhile. The application's thread causes no error state: the producer
    continues. Source: KafkaProducer.doSend, TransactionManager.transitionTo.
    """
    state, target = me.manager.state, S.ABORTABLE_ERROR
    if state is S.ABORTING_TRANSACTION or target in TRANSITIONS[state]:
        return ""
    return WrongTransition(state.value, target.value)


def send_timed_out(me: P) -> P:
    """Time out a send() that waited for its topic or for room for max.block.ms.

    It throws nothing, but its transaction fails: the exception is in its Future, and the next call throws it. Source:
    KafkaProducer.doSend, BufferPool.allocate, TransactionManager.maybeTransitionToErrorState.
    """
    held, blocked = me.metadata.held, me.accumulator.blocked
    (partition, _), *_ = held or blocked
    refused = Failure(PartitionProduceResponse(partition, EXPIRED), EXPIRED)
    free = me.but(accumulator=me.accumulator.but(blocked=()))
    if why_no_error_state(me):
        return (
            free.but(manager=me.manager.but(done=True)) if blocked else awaited_topics.end_wait(me)
        )
    if not held:
        return sender.resolve_sequences(sender.fail(free, refused))
    given_up = sender.fail(me, refused)
    why = awaited_topics.why_timed_out(me.metadata)
    return given_up.but(manager=given_up.manager.but(error=why))


def flush(me: P) -> P:
    """Wait until every batch is acknowledged or has failed. Blocks, and throws nothing."""
    return me.but(manager=me.manager.but(done=not me.accumulator.batches))


# -- transactions -----------------------------------------------------------------------------


def prepare_transaction(me: P, *, acknowledgements_first: bool = False) -> P:
    """Flush, and accept no more records afterwards (KIP-939). Blocks."""
    incomplete = me.accumulator.has_incomplete
    return me.but(
        manager=managing.prepare_transaction(
            me.manager, incomplete=incomplete, acknowledgements_first=acknowledgements_first
        )
    )


def complete_transaction(me: P, stored: PreparedTxnState) -> P:
    """End a prepared transaction as the database says: commit if it stored this one's state, else abort.

    There is no third outcome: a transaction that the database did not store is aborted (KIP-939).
    """
    return end_transaction(me, committed=stored == me.manager.prepared)


def end_transaction(me: P, *, committed: bool) -> P:
    """Commit or abort. Blocks. An abort drops the batches that were not sent yet."""
    if not committed:
        me = me.but(accumulator=me.accumulator.but(stray=()))
        me = me if managing.ends_at_once(me.manager) else without_unsent(me)
    incomplete = me.accumulator.has_incomplete
    return me.but(
        manager=managing.end_transaction(me.manager, committed=committed, incomplete=incomplete)
    )


# -- a client like others ---------------------------------------------------------------------


def note_features(me: P, features: Features) -> P:
    """Learn the finalized feature levels from a new connection (ApiVersions)."""
    return me.but(manager=managing.note_features(me.manager, features))


def restart(me: P, life: int) -> P:
    """Return the producer of the process's next life: with its transactional id, without an identity."""
    return type(me)(
        me.source,
        managing.restart(me.manager),
        me.accumulator.anew,
        metadata=me.metadata.anew,
        max_in_flight=me.max_in_flight,
        idempotence=me.idempotence,
        network=me.network,
    )


# -- what is due of itself -----------------------------------------------------------------------


def timers(me: Producer) -> tuple[TimerOfClient, ...]:
    """Return the timers that are set: those of its manager, and one for each batch that backs off."""
    mine = producer_timers.timers(me.manager, resting=me.metadata.resting)
    return (*mine, *_resting(me)) if me.accumulator.backs_off else mine


def running(me: Producer) -> tuple[TimerOfClient, ...]:
    """Return the timers that run."""
    mine = producer_timers.running(me.manager, resting=me.metadata.resting)
    return (*mine, *_resting(me)) if me.accumulator.backs_off else mine


def on_timer(me: P, timer: TimerOfClient) -> P:
    """Fire a timer: a batch may be sent again, or its manager continues."""
    if isinstance(timer, BatchBackOff):
        batches = me.accumulator.batches
        return replace_batches(
            me, [(b, b.but(rests=False)) for b in batches if b.serial == timer.number]
        )
    me = me.but(manager=producer_timers.on_timer(me.manager, timer))
    return awaited_topics.look_up_again(me) if isinstance(timer, RetryBackOff) else me


def back_off(me: Producer, timer: BatchBackOff, first_ms: int, most_ms: int) -> int:
    """Return how long a batch backs off, in ms: twice as long each time (KIP-580).

    NOT MODELLED: the jitter of 20 %; that a batch does not back off if its leader has changed (KIP-951).
    """
    attempts = next(b.attempts for b in me.accumulator.batches if b.serial == timer.number)
    doubled: int = first_ms * 2 ** (attempts - 1)
    return min(doubled, most_ms)


def _resting(me: Producer) -> tuple[BatchBackOff, ...]:
    return tuple(BatchBackOff(b.serial) for b in me.accumulator.batches if b.rests)
