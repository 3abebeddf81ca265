"""The transaction session: one identity and one life cycle, to which other clients are bound.

WHO: a client process. WHERE IN KAFKA: nowhere; KIP-1310 takes it out of the TransactionManager
  that every transactional producer has today.
STATUS: draft (KIP-1310, under discussion).
KIPS: KIP-1310; its requests are those of KIP-98, KIP-447, KIP-890 and KIP-1289.
DURABILITY: none. resume() starts from an identity that somebody else kept.
NOT MODELLED: what the producer leaves out of its TransactionManager; two session objects of a process
  at once (resume() of KIP-1310 4.5 stands in the place of the one before, and has its connection).

A session is a producer's TransactionManager without an accumulator, so it is that value and has
its calls; what it has no use for (batches, sequences) stays empty. What the session and the
clients bound to it owe each other is in `kipviz.clients.sessions.binding`.
"""

from __future__ import annotations

from typing import ClassVar

from kipviz.clients.transactions import producer, producer_timers
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer import P, Producer, ProducerState
from kipviz.core.values import Value
from kipviz.messages.features import LAST_END_TXN
from kipviz.messages.message import Message
from kipviz.messages.share_groups import AcknowledgementBatch
from kipviz.messages.transactions import EndTxn

S = ProducerState

# KIP-1310 3.2 "State mapping": today's state of the TransactionManager -> the session's.
STATES: dict[ProducerState, str] = {
    S.COMMITTING_TRANSACTION: "COMMITTING",
    S.ABORTING_TRANSACTION: "ABORTING",
    S.PREPARED_TRANSACTION: "PREPARED",
}


class Sender(Value, frozen=True):
    """One row of KIP-1310 3.3: who sends a request today, and who would."""

    request: str
    today: str
    draft: str


MANAGER, SESSION, NOBODY = "TransactionManager", "TransactionSession", "N/A"

# KIP-1310 3.3, row by row, in the page's own names. `views.ledger` counts who really sends what.
SENDERS: tuple[Sender, ...] = (
    Sender("FindCoordinator", MANAGER, SESSION),
    Sender("InitProducerId", MANAGER, SESSION),
    Sender("AddPartitionsToTxn", MANAGER, SESSION),
    Sender("EndTxn", MANAGER, SESSION),
    Sender("AddOffsetsToTxn", MANAGER, SESSION),
    Sender("TxnOffsetCommit", MANAGER, SESSION),
    Sender("TxnHeartbeat", NOBODY, SESSION),
    # KIP-1310 calls it AddShareAcksToTxn; KIP-1289, whose request it is, calls it this.
    Sender("TxnShareAcknowledge", NOBODY, SESSION),
)


class TransactionSession(Producer, frozen=True):
    """An identity and the life cycle of its transactions.

    `resumed` says that it was made by resume(). `held_back_by` are the bound clients whose work is
    still unsent: EndTxn waits for them. `closed` says that close() was called. `session_timeout_ms` is
    transaction.session.timeout.ms, -1 for no heartbeats. `closing` says that close() aborts first.
    """

    NAMES: ClassVar[dict[ProducerState, str]] = STATES
    resumed: bool = False
    held_back_by: tuple[str, ...] = ()
    closed: bool = False
    session_timeout_ms: int = -1
    closing: bool = False

    @property
    def state_name(self) -> str:
        """The state in the session's own words."""
        return state_name(self.state)


def state_name(state: ProducerState) -> str:
    """Give what a session calls a state of the TransactionManager."""
    return STATES.get(state, state.value)


# -- calls of the application thread ----------------------------------------------------------


def resume(me: P, identity: tuple[str, int, int], version: int = -1) -> P:
    """Take up a transaction that somebody else began: (transactional id, producer id, epoch).

    `version` is the transaction version in which it was begun, where a token has remembered it (FLINK-40689,
    no part of KIP-1310); the transaction is ended in that one then.

    KIP-1310 7.1 "Session Resume": it starts IN_TRANSACTION. Nobody is asked, nobody is fenced. Flink
    does the same to a producer today, by reflection; that one has never been told by an
    InitProducerId that brokers enlist, so it ends the transaction as version 1 does.
    """
    name, producer_id, epoch = identity
    me = me.but(
        transactional_id=name,
        producer_id=producer_id,
        producer_epoch=epoch,
        state=S.IN_TRANSACTION,
        transaction_started=True,
    )
    if version >= 0:
        me = me.but(version=version)
    elif not isinstance(me, TransactionSession):
        me = me.but(version=1)
    return me.but(resumed=True) if isinstance(me, TransactionSession) else me


def add_share_acks(
    me: TransactionSession,
    group_id: str,
    member: tuple[str, int],
    partition: str,
    acknowledgements: tuple[AcknowledgementBatch, ...],
) -> TransactionSession:
    """Stage a share group's acknowledgements, sent by the session. Returns at once.

    The page's method has no member id and no epoch (KIP-1310 2.1), the request of KIP-1289 has
    both: they are taken from the consumer.
    """
    return producer.send_share_acknowledgements(me, group_id, *member, partition, acknowledgements)


# Below transaction version 2 the session adds partitions as a producer does.
add_partitions = producer.adding


def prepare(me: TransactionSession) -> TransactionSession:
    """Wait for what the bound clients have unsent, and then accept nothing more. Blocks.

    Clause: KIP-1310 2.1, KIP-939. When it is over is said where the bound clients are seen.
    """
    return me.but(preparing=True, done=False, error="")


def complete(me: TransactionSession, stored: PreparedTxnState) -> TransactionSession:
    """End what is prepared as the database says: commit if it has this one's state, else abort.

    A resumed session was never told what was prepared: it compares with the identity that it was
    made from. Clause: KIP-1310 2.1, KIP-939.
    """
    if me.prepared.has_transaction:
        return producer.complete_transaction(me, stored)
    mine = PreparedTxnState(me.producer_id, me.producer_epoch)
    return producer.end_transaction(me, committed=stored == mine)


def close(me: TransactionSession, *, aborts: bool) -> TransactionSession:
    """End the object and its connections, if it `aborts` after what is open was aborted.

    What is prepared stays open: the next process is to end it. Clause: KIP-1310 2.1 has the method and
    no sentence about it; KafkaProducer.close() (Sender.run) aborts.
    """
    if not aborts or me.state not in (S.IN_TRANSACTION, S.ABORTABLE_ERROR):
        return me.but(closed=True, done=True)
    aborting = producer.end_transaction(me, committed=False)
    return _closed_when_done(aborting.but(closing=True))


def _closed_when_done(me: TransactionSession) -> TransactionSession:
    return me.but(closed=True, closing=False) if me.closing and me.done else me


def heartbeat(me: TransactionSession) -> TransactionSession:
    """Say that the owner of the transaction is alive. Returns at once (KIP-1310 2.1, KIP-1309).

    Without a heartbeat thread (transaction.session.timeout.ms of -1) nothing is sent.
    """
    due = producer_timers.INTERVAL in timers(me)
    return producer_timers.on_timer(me, producer_timers.INTERVAL) if due else me


# -- the heartbeat thread -------------------------------------------------------------------------


def timers(me: TransactionSession) -> tuple[str, ...]:
    """Give the timers that are set: those of a producer, until the session is closed."""
    return () if me.closed else producer_timers.timers(me)


def running(me: TransactionSession) -> tuple[str, ...]:
    """Give the timers whose time passes."""
    return () if me.closed else producer_timers.running(me)


on_timer = producer_timers.on_timer


# -- the network thread -------------------------------------------------------------------------


def next_request(me: TransactionSession) -> Message | None:
    """Give what the session puts on the wire next; EndTxn waits for what the others have unsent."""
    if me.closed:
        return None
    request = producer.next_request(me)
    return None if isinstance(request, EndTxn) and me.held_back_by else request


def sent(
    me: TransactionSession, request: Message, broker: int
) -> tuple[TransactionSession, Message]:
    """Note that a request is on the wire.

    A resumed session has asked for no identity, so it learns the cluster's transaction version from the
    connection over which it ends the transaction.
    """
    noted, request = producer.sent(me, request, broker)
    if isinstance(request, EndTxn) and me.resumed and me.finalized < 2:
        request = request.but(version=LAST_END_TXN)
        noted = noted.but(version=me.finalized, on_wire=request)
    return noted, request


connected = producer.connected


def on_response(me: TransactionSession, message: Message) -> TransactionSession:
    """Take an answer; a session that was only waiting for it to close is closed then."""
    answered = producer.on_response(me, message)
    assert isinstance(answered, TransactionSession)
    return _closed_when_done(answered)


def on_disconnected(me: TransactionSession, broker: int) -> TransactionSession:
    """Send again what was on a broken connection, unless nobody waits for it any more."""
    told = producer.on_disconnected(me, broker)
    return told.but(queue=()) if me.closed else told


def restarted(me: TransactionSession, life: int) -> TransactionSession:
    """Give the session of the process's next life: it has the transactional id, no identity."""
    return TransactionSession(
        me.source,
        me.transactional_id,
        me.transaction_timeout_ms,
        two_phase_commit=me.two_phase_commit,
        heartbeat_interval_ms=me.heartbeat_interval_ms,
        session_timeout_ms=me.session_timeout_ms,
        finds=me.finds,
        backs_off=me.backs_off,
    )
