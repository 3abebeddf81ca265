"""The transaction session: one identity and one life cycle for all clients that are bound to it.

WHO: a client process. WHERE IN KAFKA: nowhere; KIP-1310 separates it from the TransactionManager that every
  transactional producer has today.
STATUS: draft (KIP-1310, under discussion).
KIPS: KIP-1310; its requests are those of KIP-98, KIP-447, KIP-890 and KIP-1289.
DURABILITY: none. resume() starts from an identity that another process stored.
NOT MODELLED: what the producer leaves out of its TransactionManager; two session objects of a process at once
  (resume() of KIP-1310 4.5 replaces the previous one, and keeps its connection).

A session is a transaction manager outside every producer: the same object with the same calls, without an accumulator.
A producer that is bound to it borrows the manager (`bound_producer`), and reports to it (`binding`).
"""

from __future__ import annotations

from kipviz.clients.timers import HeartbeatInterval, TimerOfClient
from kipviz.clients.transactions import producer_timers
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.managed_client import ManagedClient
from kipviz.clients.transactions.partitions_to_add import adding
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.core.values import Value
from kipviz.messages.cluster.features import LAST_END_TXN, Features
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import TxnPartitionAcknowledgements
from kipviz.messages.transactions.transactions import EndTxn

S = ProducerState

# KIP-1310 3.2 "State mapping": today's state of the TransactionManager -> the session's.
STATES: dict[ProducerState, str] = {
    S.COMMITTING_TRANSACTION: "COMMITTING",
    S.ABORTING_TRANSACTION: "ABORTING",
    S.PREPARED_TRANSACTION: "PREPARED",
}


class Sender(Value, frozen=True):
    """One row of KIP-1310 3.3: the sender of a request today, and in the draft."""

    request: str
    today: str
    draft: str


MANAGER, SESSION, NOBODY = "TransactionManager", "TransactionSession", "N/A"

# KIP-1310 3.3, row by row, in the KIP's own names. `studies.review_findings.session_tallies` lists the real senders.
SENDERS: tuple[Sender, ...] = (
    Sender("FindCoordinator", MANAGER, SESSION),
    Sender("InitProducerId", MANAGER, SESSION),
    Sender("AddPartitionsToTxn", MANAGER, SESSION),
    Sender("EndTxn", MANAGER, SESSION),
    Sender("AddOffsetsToTxn", MANAGER, SESSION),
    Sender("TxnOffsetCommit", MANAGER, SESSION),
    Sender("TxnHeartbeat", NOBODY, SESSION),
    # KIP-1310 calls it AddShareAcksToTxn; KIP-1289, which defines the request, calls it this.
    Sender("TxnShareAcknowledge", NOBODY, SESSION),
)


class TransactionSession(ManagedClient, frozen=True):
    """A transaction manager of its own, with its own connection.

    `resumed` says that it was made by resume(). `held_back_by` are the bound clients that still have unsent work:
    EndTxn waits for them. `closed` says that close() was called. `session_timeout_ms` is
    transaction.session.timeout.ms, -1 for no heartbeats. `closing` says that close() aborts first.
    """

    resumed: bool = False
    held_back_by: tuple[str, ...] = ()
    closed: bool = False
    session_timeout_ms: int = -1
    closing: bool = False

    @property
    def state_name(self) -> str:
        """The state in the session's own terms."""
        return state_name(self.manager.state)


def state_name(state: ProducerState) -> str:
    """Return the session's name for a state of the TransactionManager."""
    return STATES.get(state, state.value)


# -- calls of the application thread ----------------------------------------------------------


def resume(
    me: TransactionSession, identity: tuple[str, int, int], version: int = -1
) -> TransactionSession:
    """Continue a transaction that another process began: (transactional id, producer id, epoch).

    `version` is the transaction version in which it began, if a token contains it (FLINK-40689, not part of KIP-1310);
    the transaction is then ended in that version. Clause: KIP-1310 7.1 "Session Resume".
    """
    return me.but(manager=managing.resume(me.manager, identity, version), resumed=True)


def add_share_acks(
    me: TransactionSession,
    group_id: str,
    member: tuple[str, int],
    part: TxnPartitionAcknowledgements,
) -> TransactionSession:
    """Add a share group's acknowledgements to the transaction, sent by the session. Returns at once.

    The KIP's method has no member id and no epoch (KIP-1310 2.1), but KIP-1289's request has both: they are taken from
    the consumer.
    """
    stage = managing.send_share_acknowledgements
    return me.but(manager=stage(me.manager, group_id, *member, (part,)))


def add_partitions(me: TransactionSession, partitions: tuple[str, ...]) -> TransactionSession:
    """Add partitions below transaction version 2, as a producer does."""
    return me.but(manager=adding(me.manager, partitions))


def prepare(me: TransactionSession) -> TransactionSession:
    """Wait until the bound clients have sent everything, and accept nothing more afterwards. Blocks.

    Clause: KIP-1310 2.1, KIP-939. The call ends where the bound clients are visible (`binding`).
    """
    return me.but(manager=me.manager.but(preparing=True, done=False, error=""))


def complete(me: TransactionSession, stored: PreparedTxnState) -> TransactionSession:
    """End a prepared transaction as the database says: commit if it stored this one's state, else abort.

    A resumed session does not know what was prepared: it compares with its own identity. Clause: KIP-1310 2.1, KIP-939.
    """
    mine = me.manager.prepared
    if not mine.has_transaction:
        mine = PreparedTxnState(*me.manager.identity)
    return end_transaction(me, committed=stored == mine)


def end_transaction(me: TransactionSession, *, committed: bool) -> TransactionSession:
    """Commit or abort. Blocks. `held_back_by` has the bound clients with unsent work."""
    ending = managing.end_transaction(me.manager, committed=committed, incomplete=False)
    return me.but(manager=ending)


def close(me: TransactionSession, *, aborts: bool) -> TransactionSession:
    """Close the session and its connections; with `aborts`, abort its open transaction first.

    A prepared transaction stays open: the next process ends it. Clause: KIP-1310 2.1 has the method and no sentence
    about it; KafkaProducer.close() (Sender.run) aborts.
    """
    if not aborts or me.manager.state not in (S.IN_TRANSACTION, S.ABORTABLE_ERROR):
        return me.but(closed=True, manager=me.manager.but(done=True))
    return _closed_when_done(end_transaction(me, committed=False).but(closing=True))


def _closed_when_done(me: TransactionSession) -> TransactionSession:
    return me.but(closed=True, closing=False) if me.closing and me.done else me


def heartbeat(me: TransactionSession) -> TransactionSession:
    """Send a heartbeat: the owner of the transaction is alive. Returns at once (KIP-1310 2.1, KIP-1309).

    Without a heartbeat thread (transaction.session.timeout.ms of -1) nothing is sent.
    """
    beat = HeartbeatInterval()
    return on_timer(me, beat) if beat in timers(me) else me


# -- the heartbeat thread -------------------------------------------------------------------------


def timers(me: TransactionSession) -> tuple[TimerOfClient, ...]:
    """Return the timers that are set: those of its manager, until the session is closed."""
    return () if me.closed else producer_timers.timers(me.manager)


def running(me: TransactionSession) -> tuple[TimerOfClient, ...]:
    """Return the timers that run."""
    return () if me.closed else producer_timers.running(me.manager)


def on_timer(me: TransactionSession, timer: TimerOfClient) -> TransactionSession:
    """Fire one of them."""
    return me.but(manager=producer_timers.on_timer(me.manager, timer))


# -- the network thread -------------------------------------------------------------------------


def next_request(me: TransactionSession) -> Message | None:
    """Return the next request of the session; EndTxn waits for the unsent work of the other clients."""
    manager = me.manager
    if me.closed or manager.state is S.FATAL_ERROR or manager.rests:
        return None
    request = managing.next_request(manager)
    return None if isinstance(request, EndTxn) and me.held_back_by else request


def note_sent(
    me: TransactionSession, request: Message, broker: int
) -> tuple[TransactionSession, Message]:
    """Note that a request is in flight.

    A resumed session has sent no InitProducerId, so it learns the cluster's transaction version from the connection on
    which it ends the transaction.
    """
    manager = managing.note_sent(me.manager, request, broker)
    if isinstance(request, EndTxn) and me.resumed and manager.finalized < 2:
        request = request.but(version=LAST_END_TXN)
        manager = manager.but(version=manager.finalized, on_wire=request)
    return me.but(manager=manager), request


def note_features(me: TransactionSession, features: Features) -> TransactionSession:
    """Learn the finalized feature levels from a new connection (ApiVersions)."""
    return me.but(manager=managing.note_features(me.manager, features))


def on_response(me: TransactionSession, message: Message) -> TransactionSession:
    """Handle a response; a session that waited for it to close is closed then."""
    manager, failure = managing.on_answer(me.manager, message, incomplete=False)
    if failure is not None:
        manager = managing.enter_error(manager, failure)
    manager = managing.ended_locally(manager, incomplete=False)
    return _closed_when_done(me.but(manager=manager))


def on_disconnected(me: TransactionSession, broker: int) -> TransactionSession:
    """Retry the requests of a broken connection, unless the session is closed."""
    manager = managing.on_disconnected(me.manager, broker)
    manager = managing.ended_locally(manager, incomplete=False)
    return me.but(manager=manager.but(queue=()) if me.closed else manager)


def restart(me: TransactionSession, life: int) -> TransactionSession:
    """Return the session of the process's next life: with its transactional id, without an identity."""
    return TransactionSession(
        me.source, managing.restart(me.manager), session_timeout_ms=me.session_timeout_ms
    )
