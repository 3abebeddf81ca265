"""The producer: an application thread that calls, a sender that talks.

WHO: a client process. WHERE IN KAFKA: KafkaProducer.
KIPS: KIP-98, KIP-360, KIP-447, KIP-890, KIP-939, KIP-1289; what each adds is in `transaction_manager`.
PARTS: `manager` has the identity and the transactions, `accumulator` the batches, `partition_map` their sequences,
  `metadata` the topics that it knows. What goes out and comes back is the `sender`'s.
SETTINGS: with a transactional.id or without, idempotent or not, one request in flight or several: one producer, whose
  parts ask its settings.
DURABILITY: none; a crash loses all of it, and the next process fences it.
NOT MODELLED: the futures of send(): a record that an abort drops has a
  TransactionAbortedException there (RecordAccumulator.abortUndrainedBatches).
"""

from __future__ import annotations

from typing import TypeVar

from kipviz.clients.sending import appending, awaited_topics, sender
from kipviz.clients.sending.awaited_topics import KnownTopics
from kipviz.clients.sending.in_flight import replaced
from kipviz.clients.sending.outgoing import OutgoingBatch, without_unsent
from kipviz.clients.sending.record_accumulator import RecordAccumulator
from kipviz.clients.sending.txn_partition_map import TxnPartitionMap
from kipviz.clients.transactions import producer_timers
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.managed_client import ManagedClient
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_errors import EXPIRED
from kipviz.clients.transactions.producer_state import TRANSITIONS, ProducerState
from kipviz.clients.transactions.transaction_manager import Failure
from kipviz.messages.features import Features
from kipviz.messages.producing import ProduceResponse
from kipviz.records.batches import DataRecord

S = ProducerState
# The timer of a batch that backs off, before its number.
BATCH_BACK_OFF = "the retry back-off of batch"


class Producer(ManagedClient, frozen=True):
    """A producer's parts and settings.

    Where it is bound to a session (KIP-1310, draft) its `manager` is what it has heard of the session's.
    `max_in_flight` is max.in.flight.requests.per.connection, `idempotence` enable.idempotence.
    `network` is the producer of whose sender and connections this is one transactional id more (KIP-447,
    a rejected alternative), "" for one that has its own. `failed` are the values of records that a producer without
    a transactional id has given up.
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
        """Whether it tells a batch that came back from one that was never sent.

        NOT MODELLED: that one does which has a single request in flight, under transaction version 2. In Kafka it
        sends such a batch again in an abort, too; here it drops it, as it drops what was never sent. Producers that
        count together tell them apart: another one may have counted on, so a number cannot be given back.
        """
        alone = self.is_transactional and self.manager.implicit and not self.partition_map.shared
        return self.max_in_flight > 1 or not alone

    @property
    def numbers_batches(self) -> bool:
        """Whether a batch and its request have a number; one that goes alone is known by its sequence."""
        return self.max_in_flight > 1 or not self.is_transactional


P = TypeVar("P", bound=Producer)


def is_plain(me: object) -> bool:
    """Say whether a client is a producer without a transactional id."""
    return isinstance(me, Producer) and not me.is_transactional


# The sender's part, which every client has under these names.
next_request, sent = sender.next_request, sender.sent
on_response, on_disconnected = sender.on_response, sender.on_disconnected

# -- send() -----------------------------------------------------------------------------------


def send(me: P, partition: str, records: tuple[DataRecord, ...]) -> P:
    """Put records into the accumulator; the sender takes them from there, and numbers them.

    It waits for the metadata of a topic of which the producer knows nothing, and for room in buffer.memory,
    max.block.ms at most.
    """
    if awaited_topics.is_unknown(me.metadata, partition):
        return awaited_topics.asking(me, partition, records)
    return appending.appended(me, partition, records)


def send_waits(me: object) -> bool:
    """Say whether a client is a producer whose send() waits for its topic, or for room; else it returns at once."""
    return isinstance(me, Producer) and bool(me.accumulator.blocked or me.metadata.held)


def send_goes_on(me: P) -> P:
    """Let a send() go on whose topic is known now: its records go where those of others go."""
    partition, records = me.metadata.held[0]
    return send(awaited_topics.released(me), partition, records)


def why_no_error_state(me: Producer) -> str:
    """Return what send() throws if its error cannot end the transaction, or "".

    Another thread has ended the transaction meanwhile. The application's thread poisons nothing: the producer
    goes on. Source: KafkaProducer.doSend, TransactionManager.transitionTo.
    """
    state, target = me.manager.state, S.ABORTABLE_ERROR
    if state is S.ABORTING_TRANSACTION or target in TRANSITIONS[state]:
        return ""
    return f"IllegalStateException: Invalid transition attempted from state {state.value} to state {target.value}"


def send_timed_out(me: P) -> P:
    """Give up a send() after max.block.ms, which waits for its topic or for room.

    It throws nothing, but its transaction is over: the exception is in its Future, and thrown by the
    next call. Source: KafkaProducer.doSend, BufferPool.allocate, TransactionManager.maybeTransitionToErrorState.
    """
    held, blocked = me.metadata.held, me.accumulator.blocked
    (partition, _), *_ = held or blocked
    refused = Failure(ProduceResponse(EXPIRED, partition, -1), EXPIRED)
    free = me.but(accumulator=me.accumulator.but(blocked=()))
    if why_no_error_state(me):
        return (
            free.but(manager=me.manager.but(done=True)) if blocked else awaited_topics.released(me)
        )
    if not held:
        return sender.settled(sender.fail(free, refused))
    given_up = sender.fail(me, refused)
    why = awaited_topics.why_timed_out(me.metadata)
    return given_up.but(manager=given_up.manager.but(error=why))


def flush(me: P) -> P:
    """Wait until every batch is acknowledged or given up. Blocks, and throws nothing."""
    return me.but(manager=me.manager.but(done=not me.accumulator.batches))


# -- transactions -----------------------------------------------------------------------------


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


# -- a client like others ---------------------------------------------------------------------


def connected(me: P, features: Features) -> P:
    """Learn the finalized feature levels, as a new connection tells them (ApiVersions)."""
    return me.but(manager=managing.connected(me.manager, features))


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
    """Give the timers that are set: those of its manager, and one for each batch that backs off."""
    mine = producer_timers.timers(me.manager, resting=me.metadata.resting)
    return (*mine, *_resting(me)) if me.accumulator.backs_off else mine


def running(me: Producer) -> tuple[str, ...]:
    """Give the timers whose time passes."""
    mine = producer_timers.running(me.manager, resting=me.metadata.resting)
    return (*mine, *_resting(me)) if me.accumulator.backs_off else mine


def on_timer(me: P, timer: str) -> P:
    """Let one of them run out: a batch may go out again, or its manager goes on."""
    if timer.startswith(BATCH_BACK_OFF):
        batches = me.accumulator.batches
        return replaced(me, [(b, b.but(rests=False)) for b in batches if _name(b) == timer])
    me = me.but(manager=producer_timers.on_timer(me.manager, timer))
    return awaited_topics.asked_again(me) if timer == producer_timers.BACK_OFF else me


def back_off(me: Producer, timer: str, first_ms: int, most_ms: int) -> int:
    """Give how long a batch rests, in ms: twice as long each time (KIP-580).

    NOT MODELLED: the jitter of 20 %; that a batch does not rest whose leader has changed (KIP-951).
    """
    attempts = next(b.attempts for b in me.accumulator.batches if _name(b) == timer)
    doubled: int = first_ms * 2 ** (attempts - 1)
    return min(doubled, most_ms)


def _resting(me: Producer) -> tuple[str, ...]:
    return tuple(_name(b) for b in me.accumulator.batches if b.rests)


def _name(batch: OutgoingBatch) -> str:
    return f"{BATCH_BACK_OFF} {batch.serial}"
