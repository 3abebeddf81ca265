"""The calls that only a TransactionSession has (KIP-1310, draft): its constructors and its own methods.

The calls that it shares with a producer are in `kipviz.clients.calling.producer_calls`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.rules import ClientRules
from kipviz.clients.sending import producer as producing
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions import transaction_session as sessions
from kipviz.clients.sessions.bound_producer import NAME_OF_SESSION
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.throwing.client_errors import NothingToResume, TwoIdentities
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.external_database import IN_DOUBT, NAME, STORED, ExternalDatabase
from kipviz.clients.transactions.partitions_to_add import adding
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.core.model import Event
from kipviz.messages.events import SessionGiven

# How a line names the client whose method it calls: producer.transactionSession().commitTransaction().
GIVEN = "producer.transactionSession()"
# The calls of a session that a producer's own session has, too.
ON_GIVEN = (
    Call.INITIALIZE,
    Call.BEGIN_TRANSACTION,
    Call.SEND_OFFSETS,
    Call.PREPARE_TRANSACTION,
    Call.COMPLETE_TRANSACTION,
    Call.COMMIT_TRANSACTION,
    Call.ABORT_TRANSACTION,
)
# How a token names the transaction version of its transaction.
VERSIONS = {"v0": 0, "v1": 1, "v2": 2}


def session_of(me: Application) -> TransactionSession:
    """Return the session of a process that has one."""
    session = me.session
    assert session is not None, f"{me.name} has no TransactionSession"
    return session


class Resumed(NamedTuple):
    """The arguments of resume(): an identity, and the transaction version in which the transaction began.

    Released tokens do not contain the version; FLINK-40689 asks for one that does. -1 means an unknown version.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    version: int = -1


def resumed_identity(target: str) -> Resumed:
    """Parse the target of resume(): "my-txn 9 0", or "my-txn 9 0 v2" of a token that contains its version.

    Raises:
        ValueError: if it is anything but a name, two whole numbers from 0, and optionally v0, v1 or v2.
    """
    words = target.split()
    version = VERSIONS.get(words[3], -1) if len(words) == 4 else -1
    told = len(words) == 3 or version >= 0
    if not told or not all(w.isascii() and w.isdecimal() for w in words[1:3]):
        raise ValueError(
            "resume() takes a transactional id, a producer id and an epoch, such as 'my-txn 9 0', "
            f"and perhaps the transaction version, such as 'my-txn 9 0 v2', not {target!r}"
        )
    return Resumed(words[0], int(words[1]), int(words[2]), version)


def resume_target(target: str) -> Resumed | None:
    """Parse the target of a resume() line: an identity, or None if the database stores it.

    Raises:
        ValueError: if it is neither.
    """
    return None if target in (STORED, IN_DOUBT) else resumed_identity(target)


def _stored_identity(me: Application, line: Line) -> PreparedTxnState:
    """Return the identity that a database stored for the transaction that resume() continues."""
    database = me.others[NAME]
    assert isinstance(database, ExternalDatabase)
    if line.target == STORED:
        return database.prepared_txn_state
    return (database.open_state if database.in_doubt else None) or PreparedTxnState()


def why_no_resume(me: Application, line: Line) -> NothingToResume | Literal[""]:
    """Return the exception of resume() if the database has no identity to resume, or "".

    The KIP does not say what resume() does with numbers below 0: our inference.
    """
    if line.call is not Call.RESUME or line.target not in (STORED, IN_DOUBT):
        return ""
    if _stored_identity(me, line).has_transaction:
        return ""
    return NothingToResume()


def resume(me: Application, line: Line, rules: ClientRules) -> Application:
    """Create a session, or set up a producer, with an identity that another process stored."""
    client = me.client_named(line.client) if line.client else me.producer
    assert isinstance(client, Producer | TransactionSession), (
        "resume() is a call of a session, or of a producer by reflection"
    )
    if line.target in (STORED, IN_DOUBT):
        kept, name = _stored_identity(me, line), client.manager.transactional_id
        identity = Resumed(name, kept.producer_id, kept.producer_epoch)
    else:
        identity = resumed_identity(line.target)
    if isinstance(client, TransactionSession):
        fresh = _make_again(client, me.life)
        return me.with_client(sessions.resume(fresh, identity[:3], identity.version))
    return me.with_client(resumed_by_reflection(client, identity))


def resumed_by_reflection(me: Producer, identity: Resumed) -> Producer:
    """Set up a producer with an identity, as Flink does today.

    No InitProducerId response has told such a producer that brokers add partitions by themselves, so it ends the
    transaction as version 1 does, unless a token contains another version.
    """
    version = identity.version if identity.version >= 0 else 1
    return me.but(manager=managing.resume(me.manager, identity[:3], version))


def _make_again(session: TransactionSession, life: int) -> TransactionSession:
    """Return another session in the same process; it keeps the connection and its feature levels."""
    fresh = sessions.restart(session, life)
    return fresh.but(manager=fresh.manager.but(finalized=session.manager.finalized))


def new_session(me: Application, line: Line, rules: ClientRules) -> Application:
    """Create a session, and new producers for it in place of those that were bound to the previous one."""
    for client in me.clients:
        if isinstance(client, Producer) and client.manager.session:
            me = me.with_client(producing.restart(client, me.life))
    return me.with_client(_make_again(session_of(me), me.life))


def why_no_producer(me: Application, line: Line, rules: ClientRules) -> TwoIdentities | Literal[""]:
    """Return the exception of a producer's constructor that gets two identities, or ""."""
    if line.call is not Call.NEW_PRODUCER or _identity_of(me, line, rules):
        return ""
    return TwoIdentities(line.target, session_of(me).manager.transactional_id)


def _identity_of(me: Application, line: Line, rules: ClientRules) -> str:
    """Return the transactional id of a producer: the session's, if its configurations have none."""
    bound = session_of(me).manager.transactional_id
    return rules.session_and_id(bound, line.target) if line.target else bound


def new_producer(me: Application, line: Line, rules: ClientRules) -> Application:
    """Create a producer for the session, or one with an identity of its own beside it.

    The line's target is the transactional.id in its configurations, "" for none. Clause: KIP-1310 2.3, which has a
    sentence for a session and one for a transactional.id, but none for both.
    """
    name = _identity_of(me, line, rules)
    bound = name == session_of(me).manager.transactional_id
    fresh = producing.restart(me.producer, me.life)
    manager = fresh.manager.but(transactional_id=name, session=NAME_OF_SESSION if bound else "")
    return me.with_client(fresh.but(manager=manager))


def find_session(me: Application) -> Producer | TransactionSession | None:
    """Return the result of the producer's transactionSession(): an external session, its own, or null.

    A producer with a transactional.id is its own session here, because it has that one's state and calls.
    Clause: KIP-1310 2.3 "Access the session (internal or external). Returns null if non-transactional", 5.1.
    """
    if not me.producer.is_transactional:
        return None
    return me.session if me.producer.manager.session else me.producer


def transaction_session(me: Application, line: Line, rules: ClientRules) -> Application:
    """Get the session of a producer; an event shows the result."""
    return me


def session_told(me: Application, line: Line) -> tuple[Event, ...]:
    """Return the event with the result of transactionSession()."""
    if line.call is not Call.TRANSACTION_SESSION:
        return ()
    session = find_session(me)
    return (SessionGiven(me.name, me.producer.source, "" if session is None else session.source),)


def add_partitions(me: Application, line: Line, rules: ClientRules) -> Application:
    """Add the partitions that a line names, by default the output. Returns at once.

    Below transaction version 2 the session sends AddPartitionsToTxn. From version 2 on brokers add the partitions and
    no client sends it; the KIP does not say what the call is for then. No KIP gives a producer such a call: here it
    sends the request, for a design whose brokers leave it to the client to add the participant (study B5).
    Clause: KIP-1310 2.1, 3.3; that the call does not wait is our inference.
    """
    partitions = tuple((line.target or me.output).split())
    if me.session is None:
        manager = adding(me.producer.manager, partitions)
        started = manager.but(transaction_started=True)
        return me.with_client(me.producer.but(manager=started))
    session = session_of(me)
    if session.manager.implicit and not rules.session_adds():
        started = session.manager.but(transaction_started=True)
        return me.with_client(session.but(manager=started))
    return me.with_client(sessions.add_partitions(session, partitions))


def heartbeat(me: Application, line: Line, rules: ClientRules) -> Application:
    """Let the session send a heartbeat."""
    return me.with_client(sessions.heartbeat(session_of(me)))


def close(me: Application, line: Line, rules: ClientRules) -> Application:
    """Close the session, and abort its open transaction if the rules say so."""
    session = session_of(me)
    return me.with_client(sessions.close(session, aborts=rules.session_close(session.resumed)))
