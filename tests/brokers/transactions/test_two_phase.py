"""Transactions of a two-phase commit at their coordinator: no time limit, kept, ended by the last."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.context import MarkersOf
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions import two_phase
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionDecided
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    NO_TIME_LIMIT,
    TWO_PHASE,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    PartitionResult,
    TxnMarkerResult,
    TxnPartitions,
    WriteTxnMarkers,
)
from kipviz.records.transaction_state import LAST_CLIENT_EPOCH, TransactionState

S = TransactionState
HOME = "__transaction_state-0"
REFUSED = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
UNSUPPORTED = Errors.UNSUPPORTED_VERSION


def at_desk(rules="kip-939", **settings):
    settings = {"two_phase_commit_enable": True} | settings
    role = TransactionCoordinator(HOME, 2)
    return Desk(tc, role, leaders={HOME: 1, "out-0": 3, "out-1": 5}, rules=rules, **settings)


def request_2pc(timeout=NO_TIME_LIMIT, **more):
    return InitProducerId("t", timeout, version=TWO_PHASE, **{"enable_2pc": True, **more})


def init(desk, *, keep=False, two_phase=True, timeout=NO_TIME_LIMIT):
    request = request_2pc(timeout, enable_2pc=two_phase, keep_prepared_txn=keep)
    return desk.ask(tc.on_init_producer_id, request)


def add(desk, pid, epoch, *partitions):
    asked = TxnPartitions("t", pid, epoch, partitions)
    return error_in(desk.ask(tc.on_add_partitions, AddPartitionsToTxn((asked,))))


def end(desk, pid, epoch, *, commit=True):
    return desk.ask(tc.on_end_txn, EndTxn("t", pid, epoch, commit))


def mark(desk):
    """Let every broker write its markers."""
    known = desk.role.transactions["t"]
    results = tuple(PartitionResult(p, Errors.NONE) for p in known.partitions)
    response = TxnMarkerResult(known.producer_id, results)
    desk.do(tc.on_markers_answered(desk.role, response, MarkersOf(2, "t"), desk.on))


def open_transaction(epoch=0, rules="kip-939"):
    """A transaction of producer 9 that has written to out-0 in this epoch."""
    desk = at_desk(rules)
    for _ in range(epoch + 1):
        init(desk)
    assert add(desk, 9, epoch, "out-0") is Errors.NONE
    return desk


def ids(answer):
    return (
        (answer.producer_id, answer.producer_epoch),
        (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch),
    )


def states(desk):
    return [
        (r.state, r.producer_id, r.producer_epoch, r.next_producer_id, r.next_producer_epoch)
        for r in desk.written(HOME)
    ]


def test_a_broker_allows_two_phase_commit_only_if_its_operator_does():
    desk = at_desk(two_phase_commit_enable=False)
    assert init(desk).error is REFUSED
    assert init(desk, two_phase=False, timeout=60_000).error is Errors.NONE


def test_kafka_4_4_0_refuses_to_keep_a_transaction_whether_there_is_one_or_not():
    desk = at_desk("kafka")
    assert init(desk).error is Errors.NONE
    assert init(desk, keep=True).error is Errors.UNSUPPORTED_VERSION


def test_keeping_needs_transaction_version_2():
    on = at_desk().on
    older = on.but(image=on.image.but(features=on.image.features.but(transaction_version=1)))
    keep = request_2pc(keep_prepared_txn=True)
    assert error_of(two_phase.request_checks(keep, older)) is Errors.UNSUPPORTED_VERSION
    assert error_of(two_phase.request_checks(keep, on)) is Errors.NONE
    assert error_of(two_phase.request_checks(request_2pc(), older)) is Errors.NONE


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_release_asks_for_no_transaction_version_and_keeps_in_none(level):
    desk = at_desk("kafka")
    desk.image = {"features": Features(transaction_version=level)}
    assert init(desk).error is Errors.NONE
    assert desk.role.transactions["t"].timeout_ms == NO_TIME_LIMIT
    for timeout in (NO_TIME_LIMIT, 0):  # whether it is served is asked before the time-out
        assert init(desk, keep=True, two_phase=False, timeout=timeout).error is UNSUPPORTED
    assert add(desk, 9, 0, "out-0") is Errors.NONE
    assert init(desk, keep=True).error is UNSUPPORTED
    assert desk.role.transactions["t"].state is S.ONGOING


def test_the_setting_is_asked_before_whether_keeping_is_served():
    assert init(at_desk("kafka", two_phase_commit_enable=False), keep=True).error is REFUSED


def test_a_transaction_of_a_two_phase_commit_has_no_time_limit_and_others_keep_theirs():
    desk = open_transaction()
    assert desk.role.transactions["t"].timeout_ms == NO_TIME_LIMIT
    assert "no time limit" in (tc.why_no_timeout(desk.role, "t") or "")
    bounded = at_desk()
    over = bounded.on.settings.transaction_max_timeout_ms + 1
    refused = init(bounded, two_phase=False, timeout=over)
    assert refused.error is Errors.INVALID_TRANSACTION_TIMEOUT


def test_without_keeping_an_open_transaction_is_aborted_as_ever():
    desk = open_transaction()
    assert init(desk).error is Errors.CONCURRENT_TRANSACTIONS
    mark(desk)
    assert ids(init(desk)) == ((9, 2), (-1, -1))


def test_where_nothing_is_open_keeping_is_an_ordinary_start():
    desk = at_desk()
    assert ids(init(desk, keep=True)) == ((9, 0), (-1, -1))
    assert ids(init(desk, keep=True)) == ((9, 1), (-1, -1))


def test_a_kept_transaction_stays_as_it_is_and_its_next_owner_is_logged():
    desk = open_transaction(epoch=3)
    answer = init(desk, keep=True)
    assert ids(answer) == ((9, 4), (9, 3))
    assert states(desk)[-1] == (S.ONGOING, 9, 3, 9, 4)


def test_who_keeps_a_kept_transaction_fences_who_kept_it_before():
    desk = open_transaction()
    assert ids(init(desk, keep=True)) == ((9, 1), (9, 0))
    assert ids(init(desk, keep=True)) == ((9, 2), (9, 0))
    for epoch in (0, 1):
        assert end(desk, 9, epoch).error is Errors.PRODUCER_FENCED
    assert end(desk, 9, 2).error is Errors.NONE


def test_nothing_joins_a_kept_transaction():
    desk = open_transaction()
    init(desk, keep=True)
    assert add(desk, 9, 0, "out-1") is Errors.PRODUCER_FENCED
    assert add(desk, 9, 1, "out-1") is Errors.INVALID_TXN_STATE


@pytest.mark.parametrize("commit", [True, False])
def test_the_end_of_a_kept_transaction_is_above_the_epoch_that_ended_it(commit):
    """The example of pull request 21735: data at 100, kept at 101, complete at 102; from 3 here."""
    desk = open_transaction(epoch=3)
    init(desk, keep=True)
    answer = end(desk, 9, 4, commit=commit)
    assert (answer.error, answer.producer_id, answer.producer_epoch) == (Errors.NONE, 9, 5)
    ((marker,),) = (m.markers for m in desk.sent(WriteTxnMarkers))
    assert (marker.producer_id, marker.producer_epoch, marker.committed) == (9, 4, commit)
    mark(desk)
    assert states(desk)[-1] == (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT, 9, 5, -1, -1)
    (decided,) = [e for e in desk.events if isinstance(e, TransactionDecided)]
    assert (decided.producer_epoch, decided.committed) == (3, commit)


def test_a_repeated_end_of_a_kept_transaction_is_answered_as_the_first():
    desk = open_transaction()
    init(desk, keep=True)
    first = end(desk, 9, 1)
    assert end(desk, 9, 1).error is Errors.CONCURRENT_TRANSACTIONS
    mark(desk)
    assert end(desk, 9, 1) == first


def test_a_late_copy_of_that_end_cannot_touch_the_next_transaction_unless_the_epoch_is_not_bumped():
    answers = {}
    for rules in ("kip-939", "kip-939+kept_completion=as_kept"):
        desk = open_transaction(rules=rules)
        init(desk, keep=True)
        own = end(desk, 9, 1)
        mark(desk)
        assert add(desk, own.producer_id, own.producer_epoch, "out-0") is Errors.NONE
        answers[rules] = end(desk, 9, 1).error
    assert list(answers.values()) == [Errors.PRODUCER_FENCED, Errors.NONE]


def test_at_the_last_epoch_a_kept_transaction_is_ended_by_a_fresh_producer_id():
    desk = open_transaction()
    known = desk.role.transactions["t"].but(producer_epoch=32_766)
    desk.role = desk.role.but(transactions=desk.role.transactions.set("t", known))
    assert ids(init(desk, keep=True)) == ((10, 0), (9, 32_766))
    assert end(desk, 9, 32_766).error is Errors.PRODUCER_FENCED
    answer = end(desk, 10, 0)
    assert (answer.producer_id, answer.producer_epoch) == (10, 1)
    ((marker,),) = (m.markers for m in desk.sent(WriteTxnMarkers))
    assert (marker.producer_id, marker.producer_epoch) == (9, 32_767)
    mark(desk)
    assert states(desk)[-1] == (S.COMPLETE_COMMIT, 10, 1, -1, -1)


def test_the_next_coordinator_knows_from_the_log_who_may_end_a_kept_transaction():
    desk = open_transaction()
    init(desk, keep=True)
    fresh = TransactionCoordinator(HOME, 3, loading=True)
    desk.do(tc.on_loaded(fresh, desk.on))
    assert end(desk, 9, 0).error is Errors.PRODUCER_FENCED
    assert end(desk, 9, 1).error is Errors.NONE


def test_pull_request_22704_logs_nothing_and_leaves_the_old_owner_in_power():
    desk = open_transaction(rules="kip-939+keep_prepared=the_same")
    before = states(desk)
    assert ids(init(desk, keep=True)) == ((9, 0), (9, 0))
    assert states(desk) == before
    assert add(desk, 9, 0, "out-1") is Errors.NONE
    assert end(desk, 9, 0).error is Errors.NONE


def test_a_producer_without_two_phase_commit_is_answered_in_its_own_version():
    answer = at_desk().ask(tc.on_init_producer_id, InitProducerId("t"))
    assert type(answer).__name__ == "InitProducerIdResponse"


def test_below_transaction_version_2_a_kept_transaction_leaves_the_identity_that_ended_it():
    """Kept before the downgrade: the answer of the older version could not tell another identity."""
    desk = open_transaction()
    assert ids(init(desk, keep=True)) == ((9, 1), (9, 0))
    features = desk.on.image.features.but(transaction_version=1)
    desk.image = {"features": features}
    older = EndTxn("t", 9, 1, True, 4)
    assert desk.ask(tc.on_end_txn, older).error is Errors.NONE
    ((marker,),) = (m.markers for m in desk.sent(WriteTxnMarkers))
    assert (marker.producer_id, marker.producer_epoch) == (9, 0)
    mark(desk)
    assert states(desk)[-1] == (S.COMPLETE_COMMIT, 9, 1, -1, -1)


@pytest.mark.parametrize("interval", [0, 5_000])
def test_an_interval_of_heartbeats_is_told_where_a_producer_names_one(interval):
    request = request_2pc(heartbeat_interval_ms=interval)
    checks = two_phase.request_checks(request, at_desk().on)
    told = [check.found for check in checks if check.name == "heartbeat interval"]
    assert told == ([interval] if interval else [])


def test_the_time_limit_that_a_producer_of_a_two_phase_commit_names_is_not_looked_at():
    named = request_2pc(60_000)
    assert two_phase.limits_of(named)["timeout_ms"] == NO_TIME_LIMIT
    assert two_phase.limits_of(named.but(enable_2pc=False))["timeout_ms"] == 60_000


@pytest.mark.parametrize(("epoch", "drawn"), [(0, 0), (LAST_CLIENT_EPOCH, 1)])
def test_a_kept_transaction_takes_a_new_producer_id_only_behind_the_last_epoch(epoch, drawn):
    known = TransactionMetadata("t", 4, epoch, S.ONGOING, partitions=("out-0",))
    desk = at_desk()
    kept = two_phase.keep_transaction(known, desk.on)
    assert kept.new_producer_ids == drawn
    assert kept.record.next_producer_id == (desk.next_producer_id if drawn else 4)
