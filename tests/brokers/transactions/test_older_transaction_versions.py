"""Transaction versions 0 and 1 on the brokers: added by the client, verified, no epoch of one's own."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.context import MarkersOf
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_checks import end_txn_checks_below_5
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionDecided
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    PartitionResult,
    TxnMarkerResult,
    TxnPartitions,
    WriteTxnMarkers,
)
from kipviz.records.placement import partition_for
from kipviz.records.transaction_state import TransactionState
from tests.brokers.transactions.older_desk import OlderDesk

S = TransactionState
HOME = "__transaction_state-0"


@pytest.fixture
def desk():
    leaders = {HOME: 1, "out-0": 3, "out-1": 5}
    return OlderDesk(tc, TransactionCoordinator(HOME, 2), leaders=leaders)


def init(desk):
    return desk.ask(tc.on_init_producer_id, InitProducerId("t"))


def add(desk, epoch, *partitions):
    request = AddPartitionsToTxn((TxnPartitions("t", 9, epoch, partitions),), version=3)
    answer = desk.ask(tc.on_add_partitions, request)
    return None if answer is None else answer.results[0]


def verify(desk, pid, epoch, *partitions):
    request = AddPartitionsToTxn((TxnPartitions("t", pid, epoch, partitions, verify_only=True),))
    return error_in(desk.ask(tc.on_add_partitions, request))


def end(desk, epoch, *, commit=True):
    return desk.ask(tc.on_end_txn, EndTxn("t", 9, epoch, commit, 4))


def answer_markers(desk, *partitions):
    found = tuple(PartitionResult(p, Errors.NONE) for p in partitions)
    desk.do(
        tc.on_markers_answered(desk.role, TxnMarkerResult(9, found), MarkersOf(2, "t"), desk.on)
    )


def states(desk):
    return [(r.state, r.producer_epoch) for r in desk.written(HOME)]


def test_a_client_adds_its_partitions_and_the_epoch_stays_from_one_transaction_to_the_next(desk):
    init(desk)
    for _ in range(2):
        assert add(desk, 0, "out-0").error is Errors.NONE
        assert end(desk, 0) == EndTxnResponse(Errors.NONE, -1, -1)
        answer_markers(desk, "out-0")
    one = [(S.ONGOING, 0), (S.PREPARE_COMMIT, 0), (S.COMPLETE_COMMIT, 0)]
    assert states(desk) == [(S.EMPTY, 0), *one, *one]
    decided = [e for e in desk.events if isinstance(e, TransactionDecided)]
    assert [(e.producer_epoch, e.committed) for e in decided] == [(0, True)] * 2


def bumped_by_the_client(desk):
    """A transaction of epoch 1, behind a bump that its client has asked for at epoch 0."""
    init(desk)
    assert desk.ask(tc.on_init_producer_id, InitProducerId("t", 60_000, 9, 0)).producer_epoch == 1
    assert desk.role.transactions["t"].last_producer_epoch == 0
    add(desk, 1, "out-0")


def test_an_end_keeps_the_epoch_before_a_bump_and_the_bump_can_be_asked_for_again(desk):
    """TransactionMetadata.prepareAbortOrCommit: lastProducerEpoch stays below transaction version 2."""
    bumped_by_the_client(desk)
    end(desk, 1)
    assert desk.role.transactions["t"].last_producer_epoch == 0
    answer_markers(desk, "out-0")
    again = desk.ask(tc.on_init_producer_id, InitProducerId("t", 60_000, 9, 0))
    assert (again.error, again.producer_epoch) == (Errors.NONE, 1)


def test_a_fence_forgets_the_epoch_before_a_bump_and_the_bump_is_refused(desk):
    """TransactionMetadata.prepareFenceProducerEpoch: lastProducerEpoch is NO_PRODUCER_EPOCH."""
    bumped_by_the_client(desk)
    desk.do(tc.on_timeout(desk.role, "t", desk.on))
    known = desk.role.transactions["t"]
    assert (known.producer_epoch, known.last_producer_epoch) == (2, -1)
    answer_markers(desk, "out-0")
    again = desk.ask(tc.on_init_producer_id, InitProducerId("t", 60_000, 9, 0))
    assert again.error is Errors.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("version", "error"), [(1, Errors.INVALID_PRODUCER_EPOCH), (2, Errors.PRODUCER_FENCED)]
)
def test_before_version_2_of_a_request_nobody_knows_that_a_producer_can_be_fenced(
    desk, version, error
):
    """Recorded of librdkafka, which sends version 0 and 1 (KIP-588)."""
    init(desk)
    add(desk, 0, "out-0")
    asked = (
        (tc.on_end_txn, EndTxn("t", 9, 7, True, version)),
        (
            tc.on_add_partitions,
            AddPartitionsToTxn((TxnPartitions("t", 9, 7, ("out-1",)),), version=version),
        ),
        (tc.on_add_offsets, AddOffsetsToTxn("t", 9, 7, "g", version)),
    )
    assert [error_in(desk.ask(handler, request)) for handler, request in asked] == [error] * 3


def test_a_marker_has_the_epoch_of_the_data_and_says_that_it_is_an_old_one(desk):
    init(desk)
    add(desk, 0, "out-0")
    end(desk, 0)
    ((marker,),) = (m.markers for m in desk.sent(WriteTxnMarkers))
    assert (marker.producer_epoch, marker.transaction_version) == (0, 0)


@pytest.mark.parametrize("end_it", ["time-out", "a newer producer"])
def test_the_coordinators_own_abort_fences_with_the_next_epoch(desk, end_it):
    init(desk)
    add(desk, 0, "out-0")
    if end_it == "time-out":
        desk.do(tc.on_timeout(desk.role, "t", desk.on))
    else:
        assert init(desk).error is Errors.CONCURRENT_TRANSACTIONS
    ((marker,),) = (m.markers for m in desk.sent(WriteTxnMarkers))
    assert (marker.producer_epoch, marker.committed) == (1, False)
    (decided,) = [e for e in desk.events if isinstance(e, TransactionDecided)]
    assert decided.producer_epoch == 0
    assert desk.role.transactions["t"].last_producer_epoch == -1
    answer_markers(desk, "out-0")
    assert end(desk, 0).error is Errors.PRODUCER_FENCED


@pytest.mark.parametrize("end_it", ["time-out", "a newer producer"])
@pytest.mark.parametrize(("epoch", "fenced"), [(32_766, 32_767), (32_767, 32_767)])
def test_a_fence_at_the_last_epoch_keeps_it(desk, end_it, epoch, fenced):
    """TMT.testFenceProducerAfterEpochsExhausted; TransactionMetadata.prepareFenceProducerEpoch."""
    init(desk)
    add(desk, 0, "out-0")
    known = desk.role.transactions["t"].but(producer_epoch=epoch)
    desk.role = desk.role.but(transactions=desk.role.transactions.set("t", known))
    if end_it == "time-out":
        desk.do(tc.on_timeout(desk.role, "t", desk.on))
    else:
        assert init(desk).error is Errors.CONCURRENT_TRANSACTIONS
    assert states(desk)[-1] == (S.PREPARE_ABORT, fenced)
    answer_markers(desk, "out-0")
    assert states(desk)[-1] == (S.COMPLETE_ABORT, fenced)
    # The next producer gets another producer id, because no epoch is left.
    answer = init(desk)
    assert (answer.producer_id, answer.producer_epoch) == (10, 0)


def test_a_fence_shuts_its_producer_out_while_it_is_being_logged(desk):
    """endTransactionWithTV1: the epoch is in memory before the write, and compared before a transition."""
    init(desk)
    add(desk, 0, "out-0")
    desk.instant = False
    assert init(desk) is None
    assert end(desk, 0).error is Errors.PRODUCER_FENCED
    assert verify(desk, 9, 0, "out-0") is Errors.PRODUCER_FENCED
    assert add(desk, 0, "out-1").error is Errors.CONCURRENT_TRANSACTIONS, "a transition comes first"
    desk.replicate()
    assert desk.last.error is Errors.CONCURRENT_TRANSACTIONS
    assert desk.role.transactions["t"].producer_epoch == 1


def test_under_version_2_a_fence_has_its_epoch_when_it_is_logged(desk):
    desk.level = 2
    init(desk)
    add(desk, 0, "out-0")
    desk.instant = False
    assert init(desk) is None
    assert verify(desk, 9, 0, "out-0") is Errors.NONE
    assert end(desk, 0).error is Errors.CONCURRENT_TRANSACTIONS
    desk.replicate()
    assert verify(desk, 9, 0, "out-0") is Errors.PRODUCER_FENCED


def test_a_groups_offsets_are_added_by_the_group_id(desk):
    init(desk)
    desk.ask(tc.on_add_offsets, AddOffsetsToTxn("t", 9, 0, "g1"))
    assert desk.role.transactions["t"].partitions == (
        f"__consumer_offsets-{partition_for('g1', 50)}",
    )
    seen = desk.logs[HOME].end_offset
    again = desk.ask(tc.on_add_offsets, AddOffsetsToTxn("t", 9, 0, "g1"))
    assert (again.error, desk.logs[HOME].end_offset) == (Errors.NONE, seen)
    stale = desk.ask(tc.on_add_offsets, AddOffsetsToTxn("t", 9, 3, "g1"))
    assert stale.error is Errors.PRODUCER_FENCED


def test_who_asks_whether_a_partition_was_added_changes_nothing(desk):
    """TCT.testVerifyPartitionHandling."""
    assert verify(desk, 9, 0, "out-0") is Errors.INVALID_PRODUCER_ID_MAPPING
    init(desk)
    assert verify(desk, 9, 0, "out-0") is Errors.TRANSACTION_ABORTABLE
    add(desk, 0, "out-0")
    seen = desk.logs[HOME].end_offset
    assert verify(desk, 9, 0, "out-0") is Errors.NONE
    assert verify(desk, 9, 0, "out-0", "out-1") is Errors.TRANSACTION_ABORTABLE
    told = {p: desk.last.results[0].error_of(p) for p in ("out-0", "out-1")}
    assert told == {"out-0": Errors.NONE, "out-1": Errors.TRANSACTION_ABORTABLE}
    assert verify(desk, 9, 1, "out-0") is Errors.PRODUCER_FENCED
    assert verify(desk, 8, 0, "out-0") is Errors.INVALID_PRODUCER_ID_MAPPING
    assert desk.logs[HOME].end_offset == seen
    desk.instant = False
    assert add(desk, 0, "out-1") is None
    assert verify(desk, 9, 0, "out-0") is Errors.NONE, "a transition in progress is no reason"
    desk.replicate()
    desk.instant = True
    end(desk, 0)
    assert verify(desk, 9, 0, "out-0") is Errors.CONCURRENT_TRANSACTIONS


def test_transaction_version_0_writes_records_without_the_flexible_fields(desk):
    desk.level = 0
    init(desk)
    add(desk, 0, "out-0")
    assert {(r.version, r.previous_producer_id) for r in desk.written(HOME)} == {(0, -1)}
    desk.level = 1
    add(desk, 0, "out-1")
    assert desk.written(HOME)[-1].version == 1


# state, what is asked, what is answered: TransactionCoordinator.endTransactionWithTV1
END_TXN_4 = """
                  COMMIT                    ABORT
EMPTY             INVALID_TXN_STATE         INVALID_TXN_STATE
ONGOING           NONE                      NONE
PREPARE_COMMIT    CONCURRENT_TRANSACTIONS   INVALID_TXN_STATE
PREPARE_ABORT     INVALID_TXN_STATE         CONCURRENT_TRANSACTIONS
COMPLETE_COMMIT   NONE                      INVALID_TXN_STATE
COMPLETE_ABORT    INVALID_TXN_STATE         NONE
"""
ROWS = [line.split() for line in END_TXN_4.strip().splitlines()[1:]]


@pytest.mark.parametrize(("state", "commit", "abort"), ROWS)
def test_the_answers_of_end_txn_up_to_version_4(state, commit, abort):
    known = TransactionMetadata("t", 9, 5, S[state])
    for committed, answer in ((True, commit), (False, abort)):
        asked = EndTxn("t", 9, 5, committed, 4)
        assert error_of(end_txn_checks_below_5(known, asked)) is Errors[answer]
        other = EndTxn("t", 8, 5, committed, 4)
        assert error_of(end_txn_checks_below_5(known, other)) is Errors.INVALID_PRODUCER_ID_MAPPING
        stale = EndTxn("t", 9, 4, committed, 4)
        assert error_of(end_txn_checks_below_5(known, stale)) is Errors.PRODUCER_FENCED
        busy = known.but(pending_state=S.PREPARE_ABORT)
        assert error_of(end_txn_checks_below_5(busy, asked)) is Errors.CONCURRENT_TRANSACTIONS
        assert error_of(end_txn_checks_below_5(busy, stale)) is Errors.PRODUCER_FENCED, (
            "the epoch is first"
        )
