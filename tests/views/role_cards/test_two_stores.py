"""What the cards say of a database, of a prepared transaction, and of one that is kept."""

from __future__ import annotations

from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.views.role_cards import coordinators, owners
from tests.scenarios.story import after

STORY, DESIGN = "kip-939-dual-write", "kip-939"
RECOVERED = "initTransactions(true) of the next process"


def read_card(card):
    return {row["label"]: row["value"] for row in card.values()}


def client_at(title, story=STORY):
    return read_card(owners.clients(after(story, DESIGN, title).applications["app-1"]))


def coordinator_at(title):
    for role in after(STORY, DESIGN, title).roles.values():
        if isinstance(role, TransactionCoordinator) and "my-txn" in role.transactions:
            return read_card(coordinators.transaction(role.transactions["my-txn"], role.loading))
    raise AssertionError("nobody coordinates my-txn")


def test_what_is_prepared_and_what_is_in_the_database_stands_beside_the_producer():
    written = client_at("database.insert(rows, state)")
    assert written["prepared"] == "9:0"
    assert (written["rows"], written["in progress"]) == ("nothing", "src-0@0")
    decided = client_at("database.commit(): the decision")
    assert (decided["rows"], decided["stored state"]) == ("src-0@0", "9:0")
    assert decided["in doubt"] == "no"


def test_a_database_in_doubt_says_so():
    title = "app-1 crashes before database.commitTransaction(dbTxnId)"
    assert client_at(title, "kip-1310-kafka-first")["in doubt"] == "yes"


def test_the_coordinator_knows_nothing_of_prepared_and_says_for_whom_it_keeps():
    prepared = coordinator_at("state = producer.prepareTransaction()")
    assert prepared["state"] == "ONGOING"
    assert "kept: to be ended by" not in prepared
    kept = coordinator_at(RECOVERED)
    assert (kept["state"], kept["epoch"]) == ("ONGOING", "0")
    assert kept["kept: to be ended by"] == "9:1"
