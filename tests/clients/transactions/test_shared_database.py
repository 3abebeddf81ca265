"""Several processes at one external database: what each sees, and whose commit is refused."""

from __future__ import annotations

from kipviz.checking.single_run.seeded_run import Task
from kipviz.clients.transactions import external_database as db
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.messages.events import CallReturned
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.scenarios.scenario import PROPERTIES
from tests.properties.hostile import broken_in
from tests.scenarios.story import after, committed_outputs, nodes, play_once

OLD, NEW = PreparedTxnState(9, 0), PreparedTxnState(9, 1)
ONE = ExternalDatabase("app-1/database", shared="orders", place="my-txn")
TWO = ExternalDatabase("app-2/database", shared="orders", place="my-txn")


def database(world, name):
    return world.applications[name].others["database"]


def atomic(name):
    trace, _ = play_once(name, "kip-939")
    return PROPERTIES[0].finding(nodes(trace)[-1].observations[0]).status


def test_a_claim_makes_every_other_writer_of_its_place_stale():
    mine = db.claim(ONE, OLD)
    assert db.why_stale(mine) == ""
    theirs = db.claim(db.take_over_rows(TWO, mine), NEW)
    stale = db.take_over_rows(mine, theirs)
    assert str(db.why_stale(stale)) == (
        "StaleWriterException: my-txn is written by 9:1 now, not by 9:0"
    )
    assert db.why_stale(theirs) == ""
    assert db.why_stale(db.take_over_rows(db.claim(ONE.but(place="other"), OLD), theirs)) == ""


def test_a_claim_that_comes_late_leaves_the_newer_writer_in_its_place():
    """Found by a sweep: the older epoch shut the newer one out, and nobody could end the transaction."""
    theirs = db.claim(TWO, NEW)
    late = db.claim(db.take_over_rows(ONE, theirs), OLD)
    assert (late.newest, late.mine) == (NEW, OLD)
    assert "is written by" in str(db.why_stale(late))
    assert db.why_stale(db.take_over_rows(theirs, late)) == ""
    assert broken_in(Task("kip-939-database-fences", "kip-939", "calm", 18)) == {}


def test_a_writer_that_claims_nothing_is_never_stale_and_a_crash_forgets_the_claim():
    assert db.why_stale(db.take_over_rows(ONE, db.claim(TWO, NEW))) == ""
    assert db.crash(db.claim(ONE, OLD)).mine == PreparedTxnState()


def test_what_is_committed_is_seen_by_all_and_a_state_in_its_own_place_only():
    committed = db.commit(db.insert(ONE, ("src-0@0",), OLD))
    same, other = (
        db.take_over_rows(TWO, committed),
        db.take_over_rows(TWO.but(place="other"), committed),
    )
    assert same.rows == other.rows == ("src-0@0",)
    assert same.prepared_txn_state == OLD
    assert other.prepared_txn_state == PreparedTxnState()
    assert same.open_rows == ()


def test_whom_kafka_has_fenced_the_database_refuses_if_it_knows_its_writer():
    trace, _ = play_once("kip-939-database-fences", "kip-939")
    raised = [str(e.raised) for e in nodes(trace)[-1].events if isinstance(e, CallReturned)]
    assert raised == ["StaleWriterException: my-txn is written by 9:1 now, not by 9:0"]
    assert database(trace.world, "app-2").rows == ()
    assert committed_outputs(trace.world) == {}
    assert atomic("kip-939-database-fences") == HOLDS


def test_a_database_that_does_not_know_its_writer_commits_what_kafka_has_aborted():
    trace, _ = play_once("kip-939-database-lets-in", "kip-939")
    assert database(trace.world, "app-2").rows == ("src-0@0",)
    assert committed_outputs(trace.world) == {}
    assert atomic("kip-939-database-lets-in") == BROKEN


def test_two_transactions_of_one_database_have_a_state_each():
    open_both = after("kip-939-two-at-once", "kip-939", "app-2 does the same")
    assert database(open_both, "app-1").open_rows == ("src-0@0",)
    assert database(open_both, "app-2").open_rows == ("src-1@0",)
    trace, _ = play_once("kip-939-two-at-once", "kip-939")
    first, second = (database(trace.world, name) for name in ("app-1", "app-2"))
    assert first.rows == second.rows == ("src-0@0", "src-1@0")
    assert (str(first.prepared_txn_state), str(second.prepared_txn_state)) == ("9:0", "10:0")
    assert committed_outputs(trace.world) == {"src-0@0": 1, "src-1@0": 1}
    assert atomic("kip-939-two-at-once") == HOLDS
