"""An external database: the second participant of a two-phase commit, which decides the outcome.

WHO: a database that one application writes to. WHERE IN KAFKA: nowhere; KIP-939 "dual write" and KIP-1310 4.5 have
  programs that use one.
DURABILITY: committed and prepared data survives everything. Other data is rolled back when the connection of the
  process breaks, which here happens when the process dies.
NOT MODELLED: a host of its own: a call takes effect at once, in one step of the application, so no call is lost or
  answered twice; crashes and locks of the database. A process that dies between a call's effect and its return
  crashes after that step. If several processes write to a database (`shared`), each has its own connection here, and
  after a step all of them show the committed data.

The database holds rows, named after their input records, and one PreparedTxnState, which is written in the same
database transaction as the rows.
"""

from __future__ import annotations

from typing import Literal

from kipviz.clients.throwing.client_errors import StaleWriter
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.core.model import Event
from kipviz.core.values import Part
from kipviz.messages.events import DatabaseChanged
from kipviz.messages.message import Message
from kipviz.records.record_name import place_of

NAME = "database"
# The target of a completeTransaction() line: "stored" is the state that the database has stored, "in doubt" the
# producer's own if the database is in doubt and an empty one if not, "" the producer's own.
STORED, IN_DOUBT = "stored", "in doubt"
Rows = tuple[str, ...]


class ExternalDatabase(Part, frozen=True):
    """The contents of the database, and its transaction in progress.

    `rows` and `prepared_txn_state` are committed. `open_rows` and `open_state` are those of the transaction in
    progress; `in_doubt` says that it is prepared, so that it waits for its outcome even if the process dies.

    `shared` is the name of a database that several processes write to, `place` the key of the process's state in it:
    one for each transactional id. `newest` is the identity that claimed that place last, and `mine` the identity of
    this connection's claim; a commit of an older one is rejected.
    """

    source: str
    rows: Rows = ()
    prepared_txn_state: PreparedTxnState = PreparedTxnState()
    open_rows: Rows = ()
    open_state: PreparedTxnState | None = None
    in_doubt: bool = False
    on_wire: Message | None = None
    on_wire_broker: int = -1
    done: bool = True
    shared: str = ""
    place: str = ""
    newest: PreparedTxnState = PreparedTxnState()
    mine: PreparedTxnState = PreparedTxnState()


# -- calls of the application thread ----------------------------------------------------------


def insert(
    me: ExternalDatabase, rows: Rows, state: PreparedTxnState | None = None
) -> ExternalDatabase:
    """Begin a database transaction and write rows, optionally with the state of Kafka's transaction."""
    return me.but(open_rows=rows, open_state=state, in_doubt=False)


def claim(me: ExternalDatabase, identity: PreparedTxnState) -> ExternalDatabase:
    """Record the current writer: UPDATE writers SET epoch = ? WHERE epoch < ?.

    The identity is the one that Kafka assigned to the producer, so that the database also rejects a producer that Kafka
    has fenced. KIP-939 does not mention this: our inference. A late claim records nothing: its writer is already
    replaced, and its own commit must be the one that is rejected.
    """
    late = _age(identity) < _age(me.newest)
    return me.but(newest=me.newest if late else identity, mine=identity)


def _age(identity: PreparedTxnState) -> tuple[int, int]:
    """Return the sort key of an identity of one transactional id: producer ids increase, and epochs within them."""
    return (identity.producer_id, identity.producer_epoch)


def why_stale(me: ExternalDatabase) -> StaleWriter | Literal[""]:
    """Return why a commit is rejected: another writer has claimed its place; "" if none has."""
    if not me.mine.has_transaction or me.newest == me.mine:
        return ""
    return StaleWriter(me.place, me.newest, me.mine)


def take_over_rows(me: ExternalDatabase, changed: ExternalDatabase) -> ExternalDatabase:
    """Return a process's view of a database after another process has changed it."""
    me = me.but(rows=changed.rows)
    if me.place != changed.place:
        return me
    return me.but(prepared_txn_state=changed.prepared_txn_state, newest=changed.newest)


def prepare(me: ExternalDatabase) -> ExternalDatabase:
    """Promise to commit or to roll back as decided later, after any crash: PREPARE TRANSACTION."""
    return me.but(in_doubt=bool(me.open_rows))


def commit(me: ExternalDatabase) -> ExternalDatabase:
    """Commit the open or prepared transaction, if there is one."""
    state = me.prepared_txn_state if me.open_state is None else me.open_state
    return _close_transaction(me).but(rows=(*me.rows, *me.open_rows), prepared_txn_state=state)


def rollback(me: ExternalDatabase) -> ExternalDatabase:
    """Roll back the open or prepared transaction, if there is one."""
    return _close_transaction(me)


def position(me: ExternalDatabase, partition: str) -> int:
    """Return the offset after the last row that was made from a partition's records, 0 without one."""
    places = map(place_of, me.rows)
    return max((offset + 1 for of, offset in places if of == partition), default=0)


def change_events(
    name: str, before: ExternalDatabase, after: ExternalDatabase
) -> tuple[Event, ...]:
    """Return the events about the changes of a step to the application's database."""

    def change_event(what: str, rows: Rows) -> tuple[Event, ...]:
        state = str(after.open_state or after.prepared_txn_state)
        return (DatabaseChanged(name, what, rows, state),)

    if len(after.rows) > len(before.rows):
        return change_event("committed", before.open_rows)
    if after.in_doubt and not before.in_doubt:
        return change_event("prepared", after.open_rows)
    if before.open_rows and not after.open_rows:
        return change_event("rolled back", before.open_rows)
    if after.open_rows and before.open_rows != after.open_rows:
        return change_event("written", after.open_rows)
    return ()


# -- what every client has ------------------------------------------------------------------------


def next_request(me: ExternalDatabase) -> Message | None:
    """Return nothing: no request is about a database."""
    return None


def note_sent(
    me: ExternalDatabase, request: Message, broker: int
) -> tuple[ExternalDatabase, Message]:  # pragma: no cover - nothing is ever sent
    """Change nothing: it has no requests."""
    return me, request


def on_response(me: ExternalDatabase, message: Message) -> ExternalDatabase:  # pragma: no cover
    """Change nothing: it gets no responses."""
    return me


def on_disconnected(me: ExternalDatabase, broker: int) -> ExternalDatabase:
    """Change nothing: its connection is not to a broker."""
    return me


def crash(me: ExternalDatabase) -> ExternalDatabase:
    """Roll back a transaction that was not prepared: the process that began it is gone."""
    if me.mine.has_transaction:
        me = me.but(mine=PreparedTxnState())
    return me if me.in_doubt else _close_transaction(me)


def restart(me: ExternalDatabase, life: int) -> ExternalDatabase:
    """Return the database as the next process finds it: unchanged."""
    return me


def _close_transaction(me: ExternalDatabase) -> ExternalDatabase:
    return me.but(open_rows=(), open_state=None, in_doubt=False)
