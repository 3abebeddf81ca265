"""The transaction session: one identity and one life cycle, to which other clients are bound.

WHO: a client process. WHERE IN KAFKA: nowhere; KIP-1310 takes it out of the TransactionManager
  that every transactional producer has today.
STATUS: draft (KIP-1310, under discussion).
KIPS: KIP-1310; its requests are those of KIP-98, KIP-447, KIP-890 and KIP-1289.
DURABILITY: none. resume() starts from an identity that somebody else kept.
NOT MODELLED: what the producer leaves out of its TransactionManager; two session objects of a process
  at once (resume() of KIP-1310 4.5 stands in the place of the one before, and has its connection).

A session is a transaction manager that no producer holds: the very object that every transactional producer has, and its
calls, without an accumulator beside it. What the session and the clients bound to it owe each other is in
`kipviz.clients.sessions.binding`.
"""

from __future__ import annotations

from kipviz.clients.transactions import producer_timers
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.managed_client import ManagedClient
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.core.values import Value
from kipviz.messages.features import LAST_END_TXN, Features
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


class TransactionSession(ManagedClient, frozen=True):
    """A transaction manager on its own, with a connection of its own.

    `resumed` says that it was made by resume(). `held_back_by` are the bound clients whose work is
    still unsent: EndTxn waits for them. `closed` says that close() was called. `session_timeout_ms` is
    transaction.session.timeout.ms, -1 for no heartbeats. `closing` says that close() aborts first.
    """

    resumed: bool = False
    held_back_by: tuple[str, ...] = ()
    closed: bool = False
    session_timeout_ms: int = -1
    closing: bool = False

    @property
    def state_name(self) -> str:
        """The state in the session's own words."""
        return state_name(self.manager.state)


def state_name(state: ProducerState) -> str:
    """Give what a session calls a state of the TransactionManager."""
    return STATES.get(state, state.value)


# -- calls of the application thread ----------------------------------------------------------


def resume(
    me: TransactionSession, identity: tuple[str, int, int], version: int = -1
) -> TransactionSession:
    """Take up a transaction that somebody else began: (transactional id, producer id, epoch).

    `version` is the transaction version in which it was begun, where a token has remembered it (FLINK-40689,
    no part of KIP-1310); the transaction is ended in that one then. Clause: KIP-1310 7.1 "Session Resume".
    """
    return me.but(manager=managing.resume(me.manager, identity, version), resumed=True)


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
    stage = managing.send_share_acknowledgements
    return me.but(manager=stage(me.manager, group_id, *member, partition, acknowledgements))


def add_partitions(me: TransactionSession, partitions: tuple[str, ...]) -> TransactionSession:
    """Add partitions below transaction version 2, as a producer does."""
    return me.but(manager=managing.adding(me.manager, partitions))


def prepare(me: TransactionSession) -> TransactionSession:
    """Wait for what the bound clients have unsent, and then accept nothing more. Blocks.

    Clause: KIP-1310 2.1, KIP-939. When it is over is said where the bound clients are seen.
    """
    return me.but(manager=me.manager.but(preparing=True, done=False, error=""))


def complete(me: TransactionSession, stored: PreparedTxnState) -> TransactionSession:
    """End what is prepared as the database says: commit if it has this one's state, else abort.

    A resumed session was never told what was prepared: it compares with the identity that it was
    made from. Clause: KIP-1310 2.1, KIP-939.
    """
    mine = me.manager.prepared
    if not mine.has_transaction:
        mine = PreparedTxnState(*me.manager.identity)
    return end_transaction(me, committed=stored == mine)


def end_transaction(me: TransactionSession, *, committed: bool) -> TransactionSession:
    """Commit or abort. Blocks. What the bound clients have unsent is `held_back_by`'s business."""
    ending = managing.end_transaction(me.manager, committed=committed, incomplete=False)
    return me.but(manager=ending)


def close(me: TransactionSession, *, aborts: bool) -> TransactionSession:
    """End the object and its connections, if it `aborts` after what is open was aborted.

    What is prepared stays open: the next process is to end it. Clause: KIP-1310 2.1 has the method and
    no sentence about it; KafkaProducer.close() (Sender.run) aborts.
    """
    if not aborts or me.manager.state not in (S.IN_TRANSACTION, S.ABORTABLE_ERROR):
        return me.but(closed=True, manager=me.manager.but(done=True))
    return _closed_when_done(end_transaction(me, committed=False).but(closing=True))


def _closed_when_done(me: TransactionSession) -> TransactionSession:
    return me.but(closed=True, closing=False) if me.closing and me.done else me


def heartbeat(me: TransactionSession) -> TransactionSession:
    """Say that the owner of the transaction is alive. Returns at once (KIP-1310 2.1, KIP-1309).

    Without a heartbeat thread (transaction.session.timeout.ms of -1) nothing is sent.
    """
    due = producer_timers.INTERVAL in timers(me)
    return on_timer(me, producer_timers.INTERVAL) if due else me


# -- the heartbeat thread -------------------------------------------------------------------------


def timers(me: TransactionSession) -> tuple[str, ...]:
    """Give the timers that are set: those of its manager, until the session is closed."""
    return () if me.closed else producer_timers.timers(me.manager)


def running(me: TransactionSession) -> tuple[str, ...]:
    """Give the timers whose time passes."""
    return () if me.closed else producer_timers.running(me.manager)


def on_timer(me: TransactionSession, timer: str) -> TransactionSession:
    """Let one of them run out."""
    return me.but(manager=producer_timers.on_timer(me.manager, timer))


# -- the network thread -------------------------------------------------------------------------


def next_request(me: TransactionSession) -> Message | None:
    """Give what the session puts on the wire next; EndTxn waits for what the others have unsent."""
    manager = me.manager
    if me.closed or manager.state is S.FATAL_ERROR or manager.rests:
        return None
    request = managing.next_request(manager)
    return None if isinstance(request, EndTxn) and me.held_back_by else request


def sent(
    me: TransactionSession, request: Message, broker: int
) -> tuple[TransactionSession, Message]:
    """Note that a request is on the wire.

    A resumed session has asked for no identity, so it learns the cluster's transaction version from the
    connection over which it ends the transaction.
    """
    manager = managing.sent(me.manager, request, broker)
    if isinstance(request, EndTxn) and me.resumed and manager.finalized < 2:
        request = request.but(version=LAST_END_TXN)
        manager = manager.but(version=manager.finalized, on_wire=request)
    return me.but(manager=manager), request


def connected(me: TransactionSession, features: Features) -> TransactionSession:
    """Learn the finalized feature levels, as a new connection tells them (ApiVersions)."""
    return me.but(manager=managing.connected(me.manager, features))


def on_response(me: TransactionSession, message: Message) -> TransactionSession:
    """Take an answer; a session that was only waiting for it to close is closed then."""
    manager, failure = managing.on_answer(me.manager, message, incomplete=False)
    if failure is not None:
        manager = managing.failed(manager, failure)
    manager = managing.ended_locally(manager, incomplete=False)
    return _closed_when_done(me.but(manager=manager))


def on_disconnected(me: TransactionSession, broker: int) -> TransactionSession:
    """Send again what was on a broken connection, unless nobody waits for it any more."""
    manager = managing.on_disconnected(me.manager, broker)
    manager = managing.ended_locally(manager, incomplete=False)
    return me.but(manager=manager.but(queue=()) if me.closed else manager)


def restarted(me: TransactionSession, life: int) -> TransactionSession:
    """Give the session of the process's next life: it has the transactional id, no identity."""
    return TransactionSession(
        me.source, managing.restarted(me.manager), session_timeout_ms=me.session_timeout_ms
    )
