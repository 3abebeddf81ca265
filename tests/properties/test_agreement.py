"""Two stores: when what was decided in one can no longer come true in the other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kipviz.clients.calling.database_calls import CHECKPOINT
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.core.model import Outcome
from kipviz.core.table import Table
from kipviz.messages.events import BatchAppended, DatabaseChanged, TransactionDecided
from kipviz.properties.agreement import Agreement, OneOutcome, Stores, fold, looked_at
from kipviz.properties.atomic import Atomic
from kipviz.properties.pending import NothingPending
from kipviz.properties.verdict import BROKEN, HOLDS, PENDING
from kipviz.records.batches import DataRecord
from kipviz.records.consumer_offsets import OffsetTombstone
from tests.properties.history import WORLD, output

APP = SimpleNamespace(others=Table.of({"database": ExternalDatabase("app-1/database")}))
STORES = SimpleNamespace(**{**vars(WORLD), "applications": Table.of({"app-1": APP})})


def database(what, offset=100, state=""):
    return DatabaseChanged("app-1", what, (f"src-0@{offset}",), state)


def decision(committed, epoch=0):
    return TransactionDecided("my-txn", 9, epoch, committed)


COMMIT, ABORT = decision(True), decision(False)


def find(prop, *events, world=STORES):
    state = prop.initial(world)
    for event in events:
        state = prop.observe(state, None, Outcome(world, (event,)))
    return prop.finding(state)


@pytest.mark.parametrize(
    ("targets", "looks"),
    [((), True), (("database",), True), ((CHECKPOINT,), False), (("database", CHECKPOINT), False)],
)
def test_what_a_job_checkpoints_in_its_database_is_no_second_output(targets, looks):
    """A checkpoint holds offsets and prepared transactions, and no row of any record (KIP-939)."""
    program = tuple(SimpleNamespace(target=target) for target in targets)
    app = SimpleNamespace(**vars(APP), program=program)
    there = SimpleNamespace(**vars(WORLD) | {"applications": Table.of({"app-1": app})})
    assert looked_at(there) is looks
    assert (find(Agreement(), output(100), COMMIT, world=there).status == BROKEN) is looks


@pytest.mark.parametrize(
    "events",
    [
        (output(100), database("written"), database("committed"), COMMIT),
        (output(100), database("written"), COMMIT, database("committed")),
        (output(100), database("prepared"), COMMIT, database("committed")),
        (output(100), database("written"), ABORT, database("rolled back")),
        (output(100), database("written"), database("rolled back"), ABORT),
        (output(100), ABORT, output(100, epoch=1), database("written"), database("committed")),
    ],
)
def test_two_stores_that_end_alike_agree_whichever_comes_first(events):
    for prop in (Agreement(), Atomic(), OneOutcome()):
        assert find(prop, *events).status == HOLDS


@pytest.mark.parametrize(
    ("events", "word"),
    [
        ((output(100), COMMIT), "no trace"),
        ((output(100), database("prepared"), COMMIT, database("rolled back")), "rolled"),
        ((output(100), database("written"), database("committed"), ABORT), "it is lost"),
        ((database("written"), database("committed")), "it is lost"),
        (
            (
                output(100),
                database("written"),
                database("committed"),
                COMMIT,
                output(100, epoch=1),
                decision(True, 1),
            ),
            "2 committed outputs",
        ),
        (
            (
                output(100),
                database("written"),
                database("committed"),
                COMMIT,
                database("written"),
                database("committed"),
            ),
            "twice",
        ),
    ],
)
def test_they_disagree_at_the_step_after_which_nothing_can_make_them_alike(events, word):
    found = find(Agreement(), *events)
    assert (found.status, word in found.reason) == (BROKEN, True), found
    assert find(Agreement(), *events[:-1]).status == HOLDS
    assert find(Atomic(), *events).status == BROKEN


def test_where_there_is_no_database_nothing_is_looked_at():
    assert find(Agreement(), output(100), COMMIT, world=WORLD).status == HOLDS
    assert Agreement().initial(WORLD).idle


@pytest.mark.parametrize(
    "events",
    [
        (output(100), database("committed", state="9:0"), ABORT),
        (output(100), ABORT, database("committed", state="9:0")),
    ],
)
def test_a_state_that_the_database_has_committed_must_not_be_aborted(events):
    found = find(OneOutcome(), *events)
    assert (found.status, "9:0" in found.reason) == (BROKEN, True)


def test_another_transaction_may_be_aborted():
    events = (output(100), database("committed", state="9:0"), COMMIT, decision(False, 1))
    assert find(OneOutcome(), *events).status == HOLDS


def test_a_database_in_doubt_is_pending_until_it_is_told():
    assert find(NothingPending(), database("prepared")).status == PENDING
    for told in ("committed", "rolled back"):
        assert find(NothingPending(), database("prepared"), database(told)).status == HOLDS


# -- clause by clause: one that is refused, and a neighbour that is accepted ----------------------

WRITTEN, STORED, BACK = database("written"), database("committed"), database("rolled back")
SOURCELESS = BatchAppended("out-0", 0, (DataRecord("f"),), 9, 0, "")
TOMBSTONE = BatchAppended("__consumer_offsets-0", 0, (OffsetTombstone("g", "src-0"),), 9, 0, "")


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        # An output outside any transaction is no promise of a commit, and producer id 0 is a producer.
        ((output(100, pid=-1), WRITTEN, STORED), (output(100, pid=0), WRITTEN, STORED)),
        # Only a record that is made of a source record has to be in the database.
        ((output(100), SOURCELESS, COMMIT), (SOURCELESS, TOMBSTONE, COMMIT)),
        # A row whose output was aborted is lost, unless another output of it may yet be committed.
        (
            (output(100), WRITTEN, STORED, ABORT),
            (output(100), output(100, epoch=1), WRITTEN, STORED, ABORT, decision(True, 1)),
        ),
        # What was rolled back is not being written any more.
        ((output(100), WRITTEN, BACK, COMMIT), (output(100), WRITTEN, BACK, ABORT)),
    ],
)
def test_a_clause_of_the_two_stores_refuses_the_one_and_accepts_the_other(refused, kept):
    assert find(Agreement(), *refused[:-1]).status == HOLDS
    assert find(Agreement(), *refused).status == BROKEN
    assert find(Agreement(), *kept).status == HOLDS


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        ((ABORT, database("committed", state="9:0")), (COMMIT, database("committed", state="9:0"))),
        (
            (database("committed", state="9:0"), ABORT),
            (database("rolled back", state="9:0"), ABORT),
        ),
        (
            (database("committed", state="9:0"), ABORT),
            (database("committed", state="9:1"), ABORT),
        ),
    ],
)
def test_the_state_that_the_database_has_committed_is_not_aborted(refused, kept):
    assert find(OneOutcome(), *refused).status == BROKEN
    assert find(OneOutcome(), *kept).status == HOLDS


def test_the_first_reason_of_each_invariant_stays():
    torn = (output(100), COMMIT, output(100, epoch=1), decision(True, 1))
    assert find(Agreement(), *torn) == find(Agreement(), *torn[:2])
    unheard = (database("committed", state="9:0"), ABORT, decision(False, 1))
    later = (*unheard, database("committed", state="9:1"))
    assert find(OneOutcome(), *later) == find(OneOutcome(), *unheard)
    assert "9:0" in find(OneOutcome(), *later).reason


def test_what_says_nothing_of_a_source_record_leaves_the_very_same_state():
    """A search that took these for another situation would visit everything twice."""
    start = Stores()
    assert fold(start, (SOURCELESS,)) is start
    assert fold(start, (TOMBSTONE,)) is start
    assert fold(start, (DatabaseChanged("app-1", "committed", (), ""),)) == start
    idle = Agreement().initial(WORLD)
    assert Agreement().observe(idle, None, Outcome(WORLD, (output(100), COMMIT))) is idle
