"""When the coordinator responds to EndTxn: with the decision, as Kafka does, or with the completion (study B6)."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import MarkersOf
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    PartitionResult,
    TxnMarkerResult,
    TxnPartitions,
)
from kipviz.records.transaction_state import LAST_CLIENT_EPOCH, TransactionState

S = TransactionState
HOME = "__transaction_state-0"
WAITS = "repaired+end_txn_response=at_completion"


def desk_under(rules: str) -> Desk[TransactionCoordinator]:
    leaders = {HOME: 1, "out-0": 3, "out-1": 5}
    desk = Desk(tc, TransactionCoordinator(HOME, 2), leaders=leaders, rules=rules)
    desk.ask(tc.on_init_producer_id, InitProducerId("t", 60_000))
    desk.ask(
        tc.on_add_partitions, AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0", "out-1")),))
    )
    return desk


@pytest.fixture
def waiting() -> Desk[TransactionCoordinator]:
    """A coordinator that waits, with an open transaction of (9, 0) on two partitions."""
    return desk_under(WAITS)


def end(desk: Desk[TransactionCoordinator], *, committed: bool = True, version: int = 5):
    return desk.ask(tc.on_end_txn, EndTxn("t", 9, 0, committed, version))


def answer_markers(desk: Desk[TransactionCoordinator], *partitions: str) -> None:
    """Let a broker answer WriteTxnMarkers."""
    results = tuple(PartitionResult(each, Errors.NONE) for each in partitions)
    response = TxnMarkerResult(desk.role.transactions["t"].producer_id, results)
    desk.do(tc.on_markers_answered(desk.role, response, MarkersOf(2, "t"), desk.on))


def state(desk: Desk[TransactionCoordinator]) -> TransactionState:
    return desk.role.transactions["t"].state


def test_kafka_responds_with_the_decision_before_any_marker_is_written() -> None:
    desk = desk_under("kafka")
    assert end(desk) == EndTxnResponse(Errors.NONE, 9, 1)
    assert state(desk) is S.PREPARE_COMMIT


@pytest.mark.parametrize("committed", [True, False])
def test_a_coordinator_that_waits_responds_when_the_last_marker_is_written_and_logged(
    waiting: Desk[TransactionCoordinator], committed: bool
) -> None:
    assert end(waiting, committed=committed) is None
    assert state(waiting) in {S.PREPARE_COMMIT, S.PREPARE_ABORT}
    answer_markers(waiting, "out-0")
    before = len(waiting.replies)
    waiting.instant = False
    answer_markers(waiting, "out-1")
    assert len(waiting.replies) == before
    waiting.replicate()
    assert state(waiting) in {S.COMPLETE_COMMIT, S.COMPLETE_ABORT}
    assert waiting.last == EndTxnResponse(Errors.NONE, 9, 1)
    assert len(waiting.replies) == before + 1


def test_below_version_5_the_late_response_has_no_identity_either(
    waiting: Desk[TransactionCoordinator],
) -> None:
    assert end(waiting, version=4) is None
    answer_markers(waiting, "out-0", "out-1")
    assert waiting.last == EndTxnResponse(Errors.NONE)


def test_at_the_last_epoch_both_responses_have_the_new_producer_id() -> None:
    told = []
    for rules in ("kafka", WAITS):
        desk = desk_under(rules)
        known = desk.role.transactions["t"].but(producer_epoch=LAST_CLIENT_EPOCH)
        desk.role = desk.role.but(transactions=desk.role.transactions.set("t", known))
        desk.ask(tc.on_end_txn, EndTxn("t", 9, LAST_CLIENT_EPOCH, committed=True))
        answer_markers(desk, "out-0", "out-1")
        told += [m for _, m in desk.replies if isinstance(m, EndTxnResponse)]
    assert told == [EndTxnResponse(Errors.NONE, 10, 0)] * 2


def test_a_repeated_end_is_told_to_wait_and_takes_nobodys_response(
    waiting: Desk[TransactionCoordinator],
) -> None:
    assert end(waiting) is None
    assert end(waiting).error is Errors.CONCURRENT_TRANSACTIONS
    answer_markers(waiting, "out-0", "out-1")
    assert waiting.last == EndTxnResponse(Errors.NONE, 9, 1)


def test_whoever_waits_for_a_completion_is_told_when_the_coordinator_resigns(
    waiting: Desk[TransactionCoordinator],
) -> None:
    end(waiting)
    done = tc.on_resigned(waiting.role, waiting.on)
    assert [r.message for r in done.replies] == [EndTxnResponse(Errors.NOT_COORDINATOR)]
    waiting.instant = False
    answer_markers(waiting, "out-0", "out-1")
    done = tc.on_resigned(waiting.role, waiting.on)
    assert [r.message for r in done.replies] == [EndTxnResponse(Errors.NOT_COORDINATOR)]


def test_a_completion_that_could_not_be_logged_still_owes_its_response(
    waiting: Desk[TransactionCoordinator],
) -> None:
    end(waiting)
    waiting.image |= {"min_insync_replicas": (("__transaction_state", 2),), "offline": (99,)}
    before = len(waiting.replies)
    answer_markers(waiting, "out-0", "out-1")
    assert state(waiting) is S.PREPARE_COMMIT
    assert len(waiting.replies) == before
    waiting.image["offline"] = ()
    waiting.do(tc.on_image_changed(waiting.role, waiting.on))
    assert state(waiting) is S.COMPLETE_COMMIT
    assert waiting.last == EndTxnResponse(Errors.NONE, 9, 1)
