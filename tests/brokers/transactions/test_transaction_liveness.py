"""Whether a transaction's owner is alive: who is watched, who is heard, and what silence does."""

from __future__ import annotations

import pytest

from kipviz.brokers.timers import TransactionalIdExpiry, TransactionLiveness
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions import transaction_liveness as liveness
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.liveness import TxnHeartbeat
from kipviz.messages.transactions.transactions import (
    NO_TIME_LIMIT,
    TWO_PHASE,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    TxnPartitions,
)
from kipviz.records.transaction_state import TransactionState
from tests.brokers.rights_table import NEEDS

S = TransactionState
HOME = "__transaction_state-0"
SILENCE = TransactionLiveness("t")


def open_transaction(rules="kip-1309", *, two_phase=False, interval=5_000):
    role = TransactionCoordinator(HOME, 2)
    desk = Desk(tc, role, leaders={HOME: 1, "out-0": 3}, rules=rules, two_phase_commit_enable=True)
    limit = NO_TIME_LIMIT if two_phase else 60_000
    request = InitProducerId(
        "t",
        limit,
        version=TWO_PHASE,
        enable_2pc=two_phase,
        heartbeat_interval_ms=interval,
        keep_prepared_txn=False,
    )
    assert desk.ask(tc.on_init_producer_id, request).error is Errors.NONE
    add = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),))
    assert error_in(desk.ask(tc.on_add_partitions, add)) is Errors.NONE
    return desk


def beat(desk, pid=9, epoch=0, name="t"):
    return desk.ask(liveness.on_txn_heartbeat, TxnHeartbeat(name, pid, epoch)).error


def list_timers(desk):
    return liveness.timers(desk.role, desk.on)


def test_a_heartbeat_is_heard_from_the_owner_only_and_changes_nothing():
    desk = open_transaction()
    before = desk.role
    assert beat(desk) is Errors.NONE
    assert beat(desk, epoch=1) is Errors.PRODUCER_FENCED
    assert beat(desk, pid=8) is Errors.INVALID_PRODUCER_ID_MAPPING
    assert beat(desk, name="other") is Errors.INVALID_PRODUCER_ID_MAPPING
    assert desk.role == before
    desk.role = desk.role.but(loading=True)
    assert beat(desk) is Errors.COORDINATOR_LOAD_IN_PROGRESS


def test_silence_aborts_and_fences_as_a_time_out_does():
    silent, timed_out = open_transaction(), open_transaction()
    silent.do(liveness.on_timer(silent.role, SILENCE, silent.on))
    timed_out.do(tc.on_timeout(timed_out.role, "t", timed_out.on))
    assert silent.written(HOME) == timed_out.written(HOME)
    assert silent.role.transactions["t"].state is S.PREPARE_ABORT
    assert beat(silent) is Errors.PRODUCER_FENCED
    assert list_timers(silent) == ()


def test_the_time_limit_runs_beside_it():
    desk = open_transaction()
    assert list_timers(desk) == (SILENCE,)
    assert tc.why_no_timeout(desk.role, "t") is None


def test_nobody_is_watched_who_has_not_promised_heartbeats_or_has_nothing_open():
    assert list_timers(open_transaction(interval=0)) == ()
    desk = open_transaction()
    desk.instant = False
    desk.ask(tc.on_end_txn, EndTxn("t", 9, 0, True))
    assert list_timers(desk) == ()


def test_what_was_promised_is_known_to_the_next_coordinator():
    desk = open_transaction()
    desk.do(tc.on_loaded(TransactionCoordinator(HOME, 3, loading=True), desk.on))
    assert list_timers(desk) == (SILENCE,)


@pytest.mark.parametrize(
    ("rules", "plain", "two_phase"),
    [
        ("kafka", 0, 0),
        ("kip-1309", 1, 1),
        ("kip-1309+liveness=not_in_two_phases", 1, 0),
    ],
)
def test_whether_a_two_phase_commit_is_watched_is_a_question_of_design(rules, plain, two_phase):
    assert len(list_timers(open_transaction(rules))) == plain
    assert len(list_timers(open_transaction(rules, two_phase=True))) == two_phase


def test_a_heartbeat_needs_what_the_page_says():
    (need,) = NEEDS["TxnHeartbeat"]
    assert (need.operation, need.resource) == (Operation.WRITE, Resource.TRANSACTIONAL_ID)
    assert need.status == "draft"


@pytest.mark.parametrize(("interval", "timers"), [(0, ()), (1, (SILENCE,))])
def test_every_producer_that_promises_heartbeats_is_watched_however_often_they_come(
    interval, timers
):
    found = list_timers(open_transaction(interval=interval))
    assert tuple(t for t in found if isinstance(t, TransactionLiveness)) == timers


def test_nobody_is_watched_before_the_first_partition_or_by_a_coordinator_that_reads_its_log():
    desk = open_transaction()
    assert list_timers(desk) == (SILENCE,)
    known = desk.role.transactions["t"]
    idle = desk.role.transactions.set("t", known.but(state=S.EMPTY))
    assert liveness.timers(desk.role.but(transactions=idle), desk.on) == ()
    assert liveness.timers(desk.role.but(loading=True), desk.on) == ()


def test_a_timer_of_another_kind_is_the_coordinator_s_own():
    desk = open_transaction()
    idle = desk.role.transactions.set("t", desk.role.transactions["t"].but(state=S.EMPTY))
    desk.role = desk.role.but(transactions=idle)
    desk.do(liveness.on_timer(desk.role, TransactionalIdExpiry("t"), desk.on))
    assert "t" not in desk.role.transactions
