"""Two stores, one outcome: an external database and Kafka agree on what is committed.

Only runs with an external database are checked; in any other run both properties hold.
"""

from __future__ import annotations

from kipviz.clients.calling.database_calls import CHECKPOINT
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.cluster.world import World
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.events import BatchAppended, DatabaseChanged, TransactionDecided
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from kipviz.records.batches import DataRecord

Identity = tuple[int, int]


class Stores(Part, frozen=True):
    """The content of both stores so far, by the names of the source records.

    `open` are the outputs of undecided transactions by (producer id, epoch); `committed` counts the committed outputs;
    `rows` are in the database, `writing` in a transaction of the database that is not over. `ended` holds the outcomes
    of Kafka's transactions by (producer id, epoch), `told` the states of Kafka's transactions that the database has
    committed. `torn` and `unheard` are the reasons why the two properties are broken. `idle` means that there is no
    database. `harm` is what the violation of the first property costs.
    """

    open: Table[Identity, tuple[str, ...]] = Table.of()
    committed: Table[str, int] = Table.of()
    rows: Table[str, bool] = Table.of()
    writing: Table[str, bool] = Table.of()
    ended: Table[str, str] = Table.of()
    told: Table[str, bool] = Table.of()
    torn: str = ""
    unheard: str = ""
    idle: bool = False
    harm: Harm | None = None


def looked_at(world: World) -> bool:
    """Return whether an application writes rows to a database; a checkpoint has none."""
    return any(
        isinstance(client, ExternalDatabase)
        for app in world.applications.values()
        for client in app.others.values()
        if not any(line.target == CHECKPOINT for line in getattr(app, "program", ()))
    )


def fold(stores: Stores, events: tuple[Event, ...]) -> Stores:
    """Fold the events of one step."""
    for event in events:
        match event:
            case BatchAppended(control="", producer_id=producer_id) if producer_id >= 0:
                stores = _fold_append(stores, event)
            case TransactionDecided():
                stores = _fold_decision(stores, event)
            case DatabaseChanged():
                stores = _fold_database(stores, event)
            case _:
                pass
    return stores


def _fold_append(stores: Stores, event: BatchAppended) -> Stores:
    origins = tuple(r.origin for r in event.records if isinstance(r, DataRecord) and r.origin)
    if not origins:
        return stores
    place = (event.producer_id, event.producer_epoch)
    together = tuple(sorted((*stores.open.get(place, ()), *origins)))
    return stores.but(open=stores.open.set(place, together))


def _fold_decision(stores: Stores, event: TransactionDecided) -> Stores:
    place = (event.producer_id, event.producer_epoch)
    state = f"{event.producer_id}:{event.producer_epoch}"
    outputs = stores.open.get(place, ())
    outcome = "committed" if event.committed else "aborted"
    stores = stores.but(open=stores.open.without(place), ended=stores.ended.set(state, outcome))
    if not event.committed and state in stores.told:
        stores = _note_unheard(
            stores, f"the database has committed the state {state}, but Kafka has aborted it"
        )
    for record in outputs:
        if event.committed:
            count = stores.committed.get(record, 0) + 1
            stores = stores.but(committed=stores.committed.set(record, count))
            if count > 1:
                stores = _tear(stores, f"{record} has {count} committed outputs in Kafka")
            elif record not in stores.rows and record not in stores.writing:
                stores = _tear(
                    stores,
                    f"the output of {record} is committed in Kafka, and the database has no trace of it",
                )
        elif record in stores.rows and not _still(stores, record):
            stores = _tear(
                stores,
                f"{record} is in the database, but Kafka has aborted its output: it is lost",
                Harm.LOSS,
            )
    return stores


def _fold_database(stores: Stores, event: DatabaseChanged) -> Stores:
    if event.what in ("written", "prepared"):
        for record in event.rows:
            stores = stores.but(writing=stores.writing.set(record, True))
        return stores
    for record in event.rows:
        stores = stores.but(writing=stores.writing.without(record))
        if event.what == "committed":
            stores = _into_database(stores, record)
        elif stores.committed.get(record, 0):
            stores = _tear(
                stores,
                f"the database has rolled {record} back, but its output is committed in Kafka",
            )
    state = event.prepared_txn_state
    if event.what == "committed" and state and state not in stores.told:
        stores = stores.but(told=stores.told.set(state, True))
        if stores.ended.get(state) == "aborted":
            stores = _note_unheard(
                stores, f"the database commits the state {state}, which Kafka has aborted"
            )
    return stores


def _into_database(stores: Stores, record: str) -> Stores:
    if record in stores.rows:
        stores = _tear(stores, f"{record} is in the database twice")
    stores = stores.but(rows=stores.rows.set(record, True))
    if _still(stores, record):
        return stores
    return _tear(
        stores,
        f"{record} is in the database, but no output of it is in Kafka: it is lost",
        Harm.LOSS,
    )


def _still(stores: Stores, record: str) -> bool:
    """Return whether an output of a record is committed, or may still be."""
    if stores.committed.get(record, 0):
        return True
    return any(record in outputs for outputs in stores.open.values())


def _tear(stores: Stores, reason: str, harm: Harm | None = None) -> Stores:
    return stores if stores.torn else stores.but(torn=reason, harm=harm)


def _note_unheard(stores: Stores, reason: str) -> Stores:
    return stores if stores.unheard else stores.but(unheard=reason)


class Agreement:
    """The two stores have the same records in the end.

    It breaks at the earliest step that cannot be undone: when one store has decided on a record and the other one has
    decided otherwise, or has lost it.
    """

    name = "stores agree"
    sentence = (
        "A record is committed in the database if and only if its output is committed in Kafka."
    )

    def initial(self, world: World) -> Stores:
        """Start with two empty stores; without a database nothing is checked."""
        return Stores(idle=not looked_at(world))

    def observe(self, stores: Stores, action: object, outcome: Outcome) -> Stores:
        """Fold one step."""
        return stores if stores.idle else fold(stores, outcome.events)

    def finding(self, stores: Stores) -> Finding:
        """Return whether it still holds."""
        reason = stores.torn
        return Finding(BROKEN, reason, stores.harm) if reason else Finding(HOLDS)


class OneOutcome(Agreement):
    """Kafka gives a prepared transaction the outcome that the database has stored for it."""

    name = "prepared transactions have one outcome"
    sentence = "If the database has committed a prepared transaction's state, Kafka commits it too."

    def finding(self, stores: Stores) -> Finding:
        """Return whether it still holds."""
        reason = stores.unheard
        return Finding(BROKEN, reason) if reason else Finding(HOLDS)
