"""Two stores: when what was decided in one can no longer come true in the other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kipviz.clients.external_database import ExternalDatabase
from kipviz.core.model import Outcome
from kipviz.core.table import Table
from kipviz.messages.events import DatabaseChanged, TransactionDecided
from kipviz.properties.agreement import Agreement, OneOutcome
from kipviz.properties.atomic import Atomic
from kipviz.properties.pending import NothingPending
from kipviz.properties.verdict import BROKEN, HOLDS, PENDING
from tests.properties.history import WORLD, output

APP = SimpleNamespace(others=Table.of({"database": ExternalDatabase("app-1/database")}))
STORES = SimpleNamespace(**{**vars(WORLD), "applications": Table.of({"app-1": APP})})


def database(what, offset=100, state=""):
    return DatabaseChanged("app-1", what, (f"src-0@{offset}",), state)


def decided(committed, epoch=0):
    return TransactionDecided("my-txn", 9, epoch, committed)


COMMIT, ABORT = decided(True), decided(False)


def said(prop, *events, world=STORES):
    state = prop.initial(world)
    for event in events:
        state = prop.observe(state, None, Outcome(world, (event,)))
    return prop.finding(state)


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
        assert said(prop, *events).status == HOLDS


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
                decided(True, 1),
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
    found = said(Agreement(), *events)
    assert (found.status, word in found.reason) == (BROKEN, True), found
    assert said(Agreement(), *events[:-1]).status == HOLDS
    assert said(Atomic(), *events).status == BROKEN


def test_where_there_is_no_database_nothing_is_looked_at():
    assert said(Agreement(), output(100), COMMIT, world=WORLD).status == HOLDS
    assert Agreement().initial(WORLD).idle


@pytest.mark.parametrize(
    "events",
    [
        (output(100), database("committed", state="9:0"), ABORT),
        (output(100), ABORT, database("committed", state="9:0")),
    ],
)
def test_a_state_that_the_database_has_committed_must_not_be_aborted(events):
    found = said(OneOutcome(), *events)
    assert (found.status, "9:0" in found.reason) == (BROKEN, True)


def test_another_transaction_may_be_aborted():
    events = (output(100), database("committed", state="9:0"), COMMIT, decided(False, 1))
    assert said(OneOutcome(), *events).status == HOLDS


def test_a_database_in_doubt_is_pending_until_it_is_told():
    assert said(NothingPending(), database("prepared")).status == PENDING
    for told in ("committed", "rolled back"):
        assert said(NothingPending(), database("prepared"), database(told)).status == HOLDS
