"""The calls of an external database that takes part in a transaction (KIP-939)."""

from __future__ import annotations

from kipviz.clients.application import Application, Line
from kipviz.clients.rules import ClientRules
from kipviz.clients.transactions import external_database as databases
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.records.record_name import name_record

# The target of a database.insert() line: Kafka's transaction state is stored with the rows.
WITH_STATE = "with state"
# The same without rows: a checkpoint, which stores the state only.
CHECKPOINT = "checkpoint"
# The same for a database that prepares before Kafka: the identity of the session, which resume() will need.
WITH_IDENTITY = "with identity"


def database_of(me: Application) -> ExternalDatabase:
    """Return the database of a process that has one."""
    client = me.others[databases.NAME]
    assert isinstance(client, ExternalDatabase)
    return client


def insert(me: Application, line: Line, rules: ClientRules) -> Application:
    """Write the rows of the batch, with the state of the transaction if the line asks for it."""
    rows = tuple(name_record(r.partition, r.offset) for r in me.records)
    if line.target == CHECKPOINT:
        rows = ()
    state = me.manager.prepared if line.target in (WITH_STATE, CHECKPOINT) else None
    if line.target == WITH_IDENTITY:
        state = PreparedTxnState(*me.manager.identity)
    return me.with_client(databases.insert(database_of(me), rows, state))


def prepare(me: Application, line: Line, rules: ClientRules) -> Application:
    """Write rows, and prepare the database's own transaction."""
    me = insert(me, line, rules)
    return me.with_client(databases.prepare(database_of(me)))


def database_commit(me: Application, line: Line, rules: ClientRules) -> Application:
    """Commit the database transaction."""
    return me.with_client(databases.commit(database_of(me)))


def database_claim(me: Application, line: Line, rules: ClientRules) -> Application:
    """Claim the database for the identity of this process."""
    identity = PreparedTxnState(*me.producer.manager.identity)
    return me.with_client(databases.claim(database_of(me), identity))


def database_rollback(me: Application, line: Line, rules: ClientRules) -> Application:
    """Roll back the database transaction."""
    return me.with_client(databases.rollback(database_of(me)))
