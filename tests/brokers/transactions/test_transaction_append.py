"""The append of a transition: its date, its time limit, what it is undone to, and who is told."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers.context import Effects, MarkersOf, ReplyTo, Request
from kipviz.brokers.timers import AppendTimeout
from kipviz.brokers.transactions import transaction_append as ta
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_append import PendingAppend
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata, record_of
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import (
    NO_TIME_LIMIT,
    AddPartitionsToTxn,
    InitProducerId,
    TxnMarker,
    TxnPartitions,
    WriteTxnMarkers,
)
from kipviz.records.transaction_state import TransactionState

S = TransactionState
HOME = "__transaction_state-0"
TO = ReplyTo("app-1/producer", 1, 0)
OPEN = TransactionMetadata("t", 9, 4, S.ONGOING, partitions=("out-0",))


def pending_append(
    answer: str, state: TransactionState = S.PREPARE_ABORT, **record: int
) -> PendingAppend:
    return PendingAppend(7, record_of(OPEN, state).but(**record), -1, answer, TO, ("out-0",))


def test_a_completion_is_dated_when_its_decision_was_replicated_and_all_else_now() -> None:
    known = OPEN.but(complete_timestamp_ms=500)
    for answer, at_ms in (("complete", 500), ("end", 800), ("timeout", 800)):
        wait, written = ta.add_time(pending_append(answer), known, 800, 2)
        assert wait.record.last_update_timestamp_ms == at_ms
        assert written == wait.record


def test_a_producer_without_a_name_gets_the_next_producer_id_of_the_broker() -> None:
    desk = Desk(tc, TransactionCoordinator(HOME, 2), leaders={HOME: 1})
    ids = [desk.ask(ta.nameless, InitProducerId(None)).producer_id for _ in range(2)]
    assert ids == [9, 10]
    refused = desk.ask(ta.nameless, InitProducerId(None, producer_id=9))
    assert (refused.error, refused.producer_id) == (Errors.INVALID_REQUEST, -1)


def test_an_append_of_a_two_phase_commit_has_no_time_limit_and_each_other_one_its_own() -> None:
    endless = pending_append("end", timeout_ms=NO_TIME_LIMIT)
    waiting = (endless, pending_append("end").but(offset=8), pending_append("add").but(offset=9))
    assert ta.append_timers(HOME, waiting) == (AppendTimeout(8, HOME), AppendTimeout(9, HOME))
    assert ta.append_of(AppendTimeout(9, HOME), waiting) is waiting[2]


def test_a_failed_append_tells_no_identity_to_who_asked_for_one() -> None:
    error = Errors.COORDINATOR_NOT_AVAILABLE
    newest = OPEN.but(client_transaction_version=2)
    for answer in ("init", "end"):
        (reply,) = ta.refusals(pending_append(answer), newest, error)
        assert (reply.message.error, reply.message.producer_id) == (error, -1)
    (reply,) = ta.refusals(pending_append("add", S.ONGOING), newest, error)
    (result,) = reply.message.results
    assert (result.transactional_id, result.error) == ("t", error)


@pytest.mark.parametrize(
    ("answer", "version", "fences"),
    [("fence", 0, True), ("timeout", 1, True), ("timeout", 2, False), ("end", 0, False)],
)
def test_a_fence_of_an_older_version_keeps_its_epoch_when_it_could_not_be_logged(
    answer: str, version: int, fences: bool
) -> None:
    """TransactionMetadata.hasFailedEpochFence; an abort that its producer asked for fences nobody."""
    wait = pending_append(answer, client_transaction_version=version, producer_epoch=5)
    assert ta.before_logging(wait, OPEN).producer_epoch == (5 if fences else 4)
    failed = ta.after_failure(wait, OPEN.but(pending_state=S.PREPARE_ABORT))
    assert (failed.has_failed_epoch_fence, failed.pending_state) == (fences, None)


def test_markers_of_several_transactions_for_one_broker_are_one_request() -> None:
    def marker(broker: int, producer_id: int) -> Request:
        message = WriteTxnMarkers((TxnMarker(producer_id, 0, True, ("out-0",), 2, 2),))
        return Request(
            "markers", broker, message, "transaction_coordinator", HOME, MarkersOf(2, "t")
        )

    first, other, second = marker(3, 9), marker(5, 10), marker(3, 11)
    done = ta.merge_markers(Effects(None, requests=(first, other, second)))
    found = [m.message.markers for m in (first, second)]
    both = first.but(message=WriteTxnMarkers((*found[0], *found[1])))
    assert done.requests == (both, other)
    assert ta.merge_markers(Effects(None, requests=(first,))).requests == (first,)


def test_nothing_is_applied_before_its_own_record_is_replicated() -> None:
    desk = Desk(tc, TransactionCoordinator(HOME, 2), leaders={HOME: 1, "out-0": 3})
    desk.ask(tc.on_init_producer_id, InitProducerId("t"))
    desk.instant = False
    assert (
        desk.ask(tc.on_add_partitions, AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),)))
        is None
    )
    desk.do(tc.on_replicated(desk.role, desk.on))
    assert desk.role.transactions["t"].state is S.EMPTY
    assert len(desk.role.waiting) == 1
    desk.replicate()
    assert desk.role.transactions["t"].state is S.ONGOING


def test_who_fences_an_open_transaction_is_answered_at_once_also_where_an_end_waits_for_its_markers() -> (
    None
):
    desk = Desk(tc, TransactionCoordinator(HOME, 2), leaders={HOME: 1, "out-0": 3})
    desk.rules = desk.rules.but(end_txn_response=lambda: True)
    desk.ask(tc.on_init_producer_id, InitProducerId("t"))
    desk.ask(tc.on_add_partitions, AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),)))
    answer = desk.ask(tc.on_init_producer_id, InitProducerId("t"))
    assert answer.error is Errors.CONCURRENT_TRANSACTIONS
    assert desk.role.transactions["t"].owed is None


@pytest.mark.parametrize(
    ("changes", "logged", "waits"),
    [
        ({}, False, True),  # its markers are written, and its completion could not be logged
        ({}, True, False),
        ({"partitions": ("out-0",)}, False, False),  # a marker is on its way
        ({"partitions": ("out-0",), "to_send": ("out-0",)}, False, True),
        ({"cancelled": True}, False, False),
        ({"state": S.ONGOING}, False, False),
    ],
)
def test_a_decided_transaction_waits_for_the_cluster_where_a_marker_or_its_completion_is_unsent(
    changes: dict[str, Any], logged: bool, waits: bool
) -> None:
    known = TransactionMetadata("t", 9, 4, S.PREPARE_COMMIT).but(**changes)
    other = PendingAppend(8, record_of(OPEN.but(transactional_id="u"), S.EMPTY), -1, "init")
    waiting = (other, pending_append("complete", S.COMPLETE_COMMIT)) if logged else (other,)
    assert ta.needs_image(known, waiting) is waits
