"""An external database: what survives the process that wrote it, and what does not."""

from __future__ import annotations

import pytest

from kipviz.clients import kinds
from kipviz.clients.transactions import external_database as db
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.messages.events import DatabaseChanged

EMPTY = ExternalDatabase("app-1/database")
ROW = ("src-0@4",)
STATE = PreparedTxnState(9, 0)


def crash(me):
    return db.restart(db.crash(me), 2)


def test_what_is_not_committed_is_gone_with_the_process():
    assert crash(db.insert(EMPTY, ROW, STATE)) == EMPTY


def test_rows_and_state_are_committed_together_and_survive():
    me = crash(db.commit(db.insert(EMPTY, ROW, STATE)))
    assert (me.rows, me.prepared_txn_state, me.open_rows) == (ROW, STATE, ())


def test_what_is_prepared_survives_and_can_still_go_either_way():
    me = crash(db.prepare(db.insert(EMPTY, ROW)))
    assert (me.in_doubt, me.open_rows) == (True, ROW)
    assert db.commit(me).rows == ROW
    assert db.rollback(me) == EMPTY


def test_a_commit_without_a_state_leaves_the_stored_one():
    me = db.commit(db.insert(EMPTY, ROW, STATE))
    assert db.commit(db.insert(me, ("src-0@5",))).prepared_txn_state == STATE


def test_ending_nothing_changes_nothing():
    assert db.commit(EMPTY) == db.rollback(EMPTY) == db.prepare(EMPTY) == EMPTY


def test_the_position_is_behind_the_last_row_of_the_partition():
    me = db.commit(db.insert(EMPTY, ("src-0@4", "src-1@9", "src-0@2")))
    assert [db.position(me, p) for p in ("src-0", "src-1", "src-2")] == [5, 10, 0]


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (EMPTY, db.insert(EMPTY, ROW, STATE), "written"),
        (EMPTY, db.prepare(db.insert(EMPTY, ROW, STATE)), "prepared"),
        (db.insert(EMPTY, ROW, STATE), db.commit(db.insert(EMPTY, ROW, STATE)), "committed"),
        (db.insert(EMPTY, ROW, STATE), EMPTY, "rolled back"),
    ],
)
def test_every_change_is_an_event_and_nothing_is_none(before, after, what):
    (event,) = db.change_events("app-1", before, after)
    assert isinstance(event, DatabaseChanged)
    assert (event.application, event.what, event.rows) == ("app-1", what, ROW)
    assert db.change_events("app-1", after, after) == ()


def test_a_database_is_a_client_that_no_broker_hears_of():
    assert kinds.next_request(EMPTY) is None
    assert kinds.on_disconnected(EMPTY, 1) is EMPTY
