"""The calls of a TransactionSession alone (KIP-1310, draft): how it is made, and what it is told.

What it has in common with a producer is in `kipviz.clients.calls`, which has a row for every call.
"""

from __future__ import annotations

from kipviz.clients import producer as transactional
from kipviz.clients import transaction_session as sessions
from kipviz.clients.application import Application, Call, Line
from kipviz.clients.external_database import IN_DOUBT, NAME, STORED, ExternalDatabase
from kipviz.clients.prepared_txn_state import PreparedTxnState
from kipviz.clients.producer import Producer
from kipviz.clients.rules import ClientRules
from kipviz.clients.transaction_session import TransactionSession


def session_of(me: Application) -> TransactionSession:
    """Give the session of a process that has one."""
    session = me.session
    assert session is not None, f"{me.name} has no TransactionSession"
    return session


def resumed_identity(target: str) -> tuple[str, int, int]:
    """Read what resume() is given: "my-txn 9 0".

    Raises:
        ValueError: if it is anything but a name and two whole numbers from 0.
    """
    words = target.split()
    if len(words) != 3 or not all(w.isascii() and w.isdecimal() for w in words[1:]):
        raise ValueError(
            "resume() takes a transactional id, a producer id and an epoch, such as 'my-txn 9 0', "
            f"not {target!r}"
        )
    return words[0], int(words[1]), int(words[2])


def resume_target(target: str) -> tuple[str, int, int] | None:
    """Read what a line says of resume(): an identity, or None where the database has it.

    Raises:
        ValueError: if it is neither.
    """
    return None if target in (STORED, IN_DOUBT) else resumed_identity(target)


def _kept(me: Application, line: Line) -> PreparedTxnState:
    """Give the identity that a database has for the transaction that resume() is to take up."""
    database = me.others[NAME]
    assert isinstance(database, ExternalDatabase)
    if line.target == STORED:
        return database.prepared_txn_state
    return (database.open_state if database.in_doubt else None) or PreparedTxnState()


def why_no_resume(me: Application, line: Line) -> str:
    """Give the exception of resume() where the database has no identity to resume, or nothing.

    The page does not say what resume() makes of numbers below 0: our inference.
    """
    if line.call is not Call.RESUME or line.target not in (STORED, IN_DOUBT):
        return ""
    if _kept(me, line).has_transaction:
        return ""
    return (
        "IllegalArgumentException: resume() needs a producer id and an epoch from 0, not -1 and -1"
    )


def resume(me: Application, line: Line, rules: ClientRules) -> Application:
    """Make a session, or set up a producer, with an identity that somebody has kept."""
    client = me.others[line.client] if line.client else me.producer
    assert isinstance(client, Producer), (
        "resume() is a call of a session, or of a producer by reflection"
    )
    if line.target in (STORED, IN_DOUBT):
        kept = _kept(me, line)
        identity = (client.transactional_id, kept.producer_id, kept.producer_epoch)
    else:
        identity = resumed_identity(line.target)
    if isinstance(client, TransactionSession):
        client = _made_anew(client, me.life)
    return me.with_client(sessions.resume(client, identity))


def _made_anew(session: TransactionSession, life: int) -> TransactionSession:
    """Give another session in the same process; its connection goes on, with what it was told."""
    return sessions.restarted(session, life).but(finalized=session.finalized)


def new_session(me: Application, line: Line, rules: ClientRules) -> Application:
    """Make a session, and for it the producers that were bound to the one before."""
    for client in me.clients:
        if type(client) is Producer and client.session:
            me = me.with_client(transactional.restarted(client, me.life))
    return me.with_client(_made_anew(session_of(me), me.life))


def add_partitions(me: Application, line: Line, rules: ClientRules) -> Application:
    """Add the partitions that a line names, by default the output; returns at once.

    Below transaction version 2 the session sends AddPartitionsToTxn. From 2 on brokers enlist and no
    client sends it; what the call is for then is not on the page.
    Clause: KIP-1310 2.1, 3.3; that the call does not wait is our inference.
    """
    session = session_of(me)
    partitions = tuple((line.target or me.output).split())
    if session.implicit and not rules.session_adds():
        return me.with_client(session.but(transaction_started=True))
    return me.with_client(sessions.add_partitions(session, partitions))


def heartbeat(me: Application, line: Line, rules: ClientRules) -> Application:
    """Let the session say that it is alive."""
    return me.with_client(sessions.heartbeat(session_of(me)))


def close(me: Application, line: Line, rules: ClientRules) -> Application:
    """End the session, and what is open of it if the rules say so."""
    session = session_of(me)
    return me.with_client(sessions.close(session, aborts=rules.session_close(session.resumed)))
