"""An external database: the second participant of a two-phase commit, and the one that decides.

WHO: a database that one application writes to. WHERE IN KAFKA: nowhere; KIP-939 "dual write" and
  KIP-1310 4.5 write programs against one.
DURABILITY: what is committed or prepared survives everything. What is neither is rolled back when
  the connection of the process breaks, which here is when the process dies.
NOT MODELLED: a host of its own: a call is carried out at once, in one step of the application, so
  no call of it is lost or answered twice; crashes and locks of the database. That a process dies
  between a call's effect and its return is a crash after that step. Of a database that several
  processes write to (`shared`) each has its own connection here, and after a step all of them show
  what is committed.

The database holds rows, named after the records that they are made of, and one place for a
PreparedTxnState, which is written in the same database transaction as the rows.
"""

from __future__ import annotations

from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.core.model import Event
from kipviz.core.values import Part
from kipviz.messages.events import DatabaseChanged
from kipviz.messages.message import Message

NAME = "database"
# What a line's target says of completeTransaction(): the state is the one that the database has
# stored, or the producer's own if the database is in doubt and none if not; "" is the producer's own.
STORED, IN_DOUBT = "stored", "in doubt"
Rows = tuple[str, ...]


class ExternalDatabase(Part, frozen=True):
    """What the database holds, and the transaction that is in progress in it.

    `rows` and `prepared_txn_state` are committed. `open_rows` and `open_state` are those of the
    transaction in progress; `in_doubt` says that it is prepared, so that it waits for its outcome
    whatever becomes of the process.

    `shared` is the name of a database that several processes write to, `place` whose state a process
    keeps in it: one for each transactional id. `newest` is the identity that claimed that place last,
    and `mine` the one with which this connection did; a commit of an older one is refused.
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
    """Begin a database transaction and write rows, and with them the state of Kafka's, if it is given."""
    return me.but(open_rows=rows, open_state=state, in_doubt=False)


def claim(me: ExternalDatabase, identity: PreparedTxnState) -> ExternalDatabase:
    """Write down who writes from now on: UPDATE writers SET epoch = ? WHERE epoch < ?.

    The identity is the one that Kafka gave the producer, so that whom Kafka has replaced the
    database refuses, too. KIP-939 says nothing of this: our inference. A claim that comes late writes
    nothing down: its writer is replaced already, and the commit that is refused has to be its own.
    """
    late = _age(identity) < _age(me.newest)
    return me.but(newest=me.newest if late else identity, mine=identity)


def _age(identity: PreparedTxnState) -> tuple[int, int]:
    """Order the identities of one transactional id: producer ids are given upwards, epochs within them."""
    return (identity.producer_id, identity.producer_epoch)


def why_stale(me: ExternalDatabase) -> str:
    """Say why a commit is refused: another writer has claimed its place; "" if none has."""
    if not me.mine.has_transaction or me.newest == me.mine:
        return ""
    return f"StaleWriterException: {me.place} is written by {me.newest} now, not by {me.mine}"


def agreed(me: ExternalDatabase, changed: ExternalDatabase) -> ExternalDatabase:
    """Give what a process sees of a database after another one has changed it."""
    me = me.but(rows=changed.rows)
    if me.place != changed.place:
        return me
    return me.but(prepared_txn_state=changed.prepared_txn_state, newest=changed.newest)


def prepare(me: ExternalDatabase) -> ExternalDatabase:
    """Promise to commit or to roll back as one will be told, after any crash: PREPARE TRANSACTION."""
    return me.but(in_doubt=bool(me.open_rows))


def commit(me: ExternalDatabase) -> ExternalDatabase:
    """Make what is open or prepared last; nothing if there is nothing."""
    state = me.prepared_txn_state if me.open_state is None else me.open_state
    return _closed(me).but(rows=(*me.rows, *me.open_rows), prepared_txn_state=state)


def rollback(me: ExternalDatabase) -> ExternalDatabase:
    """Undo what is open or prepared; nothing if there is nothing."""
    return _closed(me)


def position(me: ExternalDatabase, partition: str) -> int:
    """Give the offset behind the last row that was made of a partition's records, 0 if none was."""
    found = [row.rpartition("@") for row in me.rows]
    return max((int(at) + 1 for name, _, at in found if name == partition), default=0)


def happened(name: str, before: ExternalDatabase, after: ExternalDatabase) -> tuple[Event, ...]:
    """Say what a step of the application has done to its database."""

    def changed(what: str, rows: Rows) -> tuple[Event, ...]:
        state = str(after.open_state or after.prepared_txn_state)
        return (DatabaseChanged(name, what, rows, state),)

    if len(after.rows) > len(before.rows):
        return changed("committed", before.open_rows)
    if after.in_doubt and not before.in_doubt:
        return changed("prepared", after.open_rows)
    if before.open_rows and not after.open_rows:
        return changed("rolled back", before.open_rows)
    if after.open_rows and before.open_rows != after.open_rows:
        return changed("written", after.open_rows)
    return ()


# -- what is asked of every client --------------------------------------------------------------


def next_request(me: ExternalDatabase) -> Message | None:
    """Give nothing: no broker hears of a database."""
    return None


def sent(
    me: ExternalDatabase, request: Message, broker: int
) -> tuple[ExternalDatabase, Message]:  # pragma: no cover - nothing is ever sent
    """Note nothing: it has no requests."""
    return me, request


def on_response(me: ExternalDatabase, message: Message) -> ExternalDatabase:  # pragma: no cover
    """Take no answer: it has asked nothing."""
    return me


def on_disconnected(me: ExternalDatabase, broker: int) -> ExternalDatabase:
    """Take no notice: its connection is not to a broker."""
    return me


def crashed(me: ExternalDatabase) -> ExternalDatabase:
    """Roll back what was not prepared: the process that had begun it is gone."""
    if me.mine.has_transaction:
        me = me.but(mine=PreparedTxnState())
    return me if me.in_doubt else _closed(me)


def restarted(me: ExternalDatabase, life: int) -> ExternalDatabase:
    """Give the database as the next process finds it: it has forgotten nothing."""
    return me


def _closed(me: ExternalDatabase) -> ExternalDatabase:
    return me.but(open_rows=(), open_state=None, in_doubt=False)
