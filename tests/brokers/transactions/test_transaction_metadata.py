"""The coordinator's decision tables, complete: transaction version 2, Kafka 4.4."""

from __future__ import annotations

from itertools import product

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.transactions.transaction_checks import (
    add_partitions_checks,
    end_txn_checks,
    identity_checks,
    init_producer_id_checks,
)
from kipviz.brokers.transactions.transaction_metadata import (
    Identity,
    TransactionMetadata,
    add_partitions,
    completion_of,
    decision_of,
    error_for_version,
    is_end_txn_retry,
    is_overflow_retry,
    metadata_of,
    next_identity,
    why_not_timed_out,
)
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import EndTxn, InitProducerId, TxnPartitions
from kipviz.records.transaction_state import LAST_CLIENT_EPOCH, TransactionState

S = TransactionState
E, PID, FRESH = 7, 4, 44


def metadata(state=S.EMPTY, epoch=E, **changes):
    known = TransactionMetadata("t", PID, epoch, state, last_producer_epoch=epoch - 1)
    return known.but(**changes)


# -- EndTxn -------------------------------------------------------------------------------------

# rows: the stored state; columns: the request's epoch against the stored one, COMMIT / ABORT.
# "decide" logs PREPARE_*, "same" answers the stored identity, a number is the error.
END_TXN_TABLE = """
                  E        E        E-1   E-1   E+1   E+1   E-2   E-2
                  COMMIT   ABORT    COMM  ABRT  COMM  ABRT  COMM  ABRT
EMPTY             48       decide   90    90    90    90    90    90
ONGOING           decide   decide   90    90    90    90    90    90
PREPARE_COMMIT    90       90       51    48    90    90    90    90
PREPARE_ABORT     90       90       48    51    90    90    90    90
COMPLETE_COMMIT   48       decide   same  48    90    90    90    90
COMPLETE_ABORT    48       decide   48    same  90    90    90    90
"""
DISTANCES = (0, 0, -1, -1, 1, 1, -2, -2)
CELLS = [
    (S(row[0]), distance, at % 2 == 0, cell)
    for row in (line.split() for line in END_TXN_TABLE.strip().splitlines()[2:])
    for at, (distance, cell) in enumerate(zip(DISTANCES, row[1:], strict=True))
]


def identity_or_error(known, request):
    """What InitProducerId gives: the next identity, or why not."""
    return error_of(identity_checks(known, request)) or next_identity(known, request, FRESH)


def outcome(known, request):
    error = error_of(end_txn_checks(known, request))
    if error is not Errors.NONE:
        return str(int(error))
    return "same" if is_end_txn_retry(known, request) else "decide"


@pytest.mark.parametrize(("state", "distance", "committed", "cell"), CELLS)
def test_end_txn_answers_as_the_table_says(state, distance, committed, cell):
    """TCT.testEndTxnWhenStatusIs*V2, shouldReturnInvalidTxnRequestOnEndTxnV2IfNotEndTxnV2Retry,
    TestEndTxnRequestWhenEmptyTransactionStateForAbortInV2.
    """
    request = EndTxn("t", PID, E + distance, committed)
    assert outcome(metadata(state), request) == cell


@pytest.mark.parametrize(("state", "distance", "committed", "cell"), CELLS)
def test_a_transition_in_progress_comes_before_every_other_check(state, distance, committed, cell):
    """Anomaly KAFKA-18464: an abort right after a commit must wait, not fence itself."""
    busy = metadata(state, pending_state=S.COMPLETE_COMMIT)
    assert error_of(end_txn_checks(busy, EndTxn("t", 99, E + distance, committed))).value == 51


@pytest.mark.parametrize("state", [s for s in S if s not in (S.DEAD, S.PREPARE_EPOCH_FENCE)])
@pytest.mark.parametrize("committed", [True, False])
def test_another_producer_id_is_refused_before_the_epoch_is_looked_at(state, committed):
    assert error_of(end_txn_checks(metadata(state), EndTxn("t", 99, 1, committed))).value == 49


ROTATED = {
    (S.COMPLETE_COMMIT, True): "same",
    (S.COMPLETE_COMMIT, False): "48",
    (S.COMPLETE_ABORT, True): "48",
    (S.COMPLETE_ABORT, False): "same",
    (S.EMPTY, True): "90",
    (S.EMPTY, False): "90",
    (S.ONGOING, True): "90",
    (S.ONGOING, False): "90",
}


@pytest.mark.parametrize(("state", "committed"), ROTATED)
def test_a_retry_over_a_rotated_producer_id_is_recognised(state, committed):
    rotated = metadata(state, 0, producer_id=FRESH, previous_producer_id=PID)
    request = EndTxn("t", PID, 32766, committed)
    assert outcome(rotated, request) == ROTATED[state, committed]


def test_a_naive_reading_of_one_below_would_report_a_commit_that_was_an_abort():
    """Anomaly 10.8; Kafka 4.4.0 answers 48, recorded; KAFKA-20785 makes it 90."""
    timed_out = metadata(S.COMPLETE_ABORT)
    assert (
        error_of(end_txn_checks(timed_out, EndTxn("t", PID, E - 1, True)))
        is Errors.INVALID_TXN_STATE
    )


# -- InitProducerId -----------------------------------------------------------------------------


def init(producer_id=-1, epoch=-1):
    return InitProducerId("t", producer_id=producer_id, producer_epoch=epoch)


@pytest.mark.parametrize(
    ("epoch", "last", "expected", "found"),
    [
        (-1, -1, None, Identity(PID, 0, -1)),  # TMT.testInitializeEpoch
        (-1, -1, 3, Identity(PID, 0, -1)),
        (735, 734, None, Identity(PID, 736, -1)),  # TMT.testNormalEpochBump
        (735, 734, 735, Identity(PID, 736, 735)),
        (735, 734, 734, Identity(PID, 735, 734)),
        (735, 734, 733, Errors.PRODUCER_FENCED),
        (735, -1, 734, Errors.PRODUCER_FENCED),
        # TMT.testBumpEpochNotAllowedIfEpochsExhausted: the producer id is rotated instead.
        (32765, 32764, None, Identity(PID, 32766, -1)),
        (32766, 32765, None, Identity(FRESH, 0, -1, 1)),
        (32766, 32765, 32766, Identity(FRESH, 0, 32766, 1)),
        (32766, 32765, 32765, Errors.UNKNOWN_SERVER_ERROR),
        (32767, 32766, None, Identity(FRESH, 0, -1, 1)),
    ],
)
def test_the_next_identity_follows_from_the_stored_epoch_and_the_expected_one(
    epoch, last, expected, found
):
    known = metadata(epoch=epoch, last_producer_epoch=last)
    request = init() if expected is None else init(PID, expected)
    assert identity_or_error(known, request) == found


def test_a_repeated_init_producer_id_gives_the_same_epoch_both_times():
    """TCT.testInitProducerIdWithCurrentEpochProvided."""
    known = metadata(epoch=10, last_producer_epoch=-1)
    first = next_identity(known, init(PID, 10), FRESH)
    again = known.but(
        producer_epoch=first.producer_epoch, last_producer_epoch=first.last_producer_epoch
    )
    assert next_identity(again, init(PID, 10), FRESH).producer_epoch == first.producer_epoch == 11


def test_an_older_instance_is_fenced_once_another_has_asked_without_an_expectation():
    """TCT.testInitProducerIdStaleCurrentEpochProvided."""
    first = next_identity(metadata(epoch=10), init(), FRESH)
    taken = metadata(epoch=first.producer_epoch, last_producer_epoch=first.last_producer_epoch)
    assert identity_or_error(taken, init(PID, 10)) is Errors.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("known", "request_", "error"),
    [
        (metadata(pending_state=S.EMPTY), init(99, 1), Errors.CONCURRENT_TRANSACTIONS),
        (metadata(S.PREPARE_COMMIT), init(99, 1), Errors.PRODUCER_FENCED),
        (metadata(S.PREPARE_COMMIT), init(PID, 1), Errors.CONCURRENT_TRANSACTIONS),
        (metadata(S.PREPARE_ABORT), init(), Errors.CONCURRENT_TRANSACTIONS),
        (metadata(previous_producer_id=3), init(3, 32766), Errors.NONE),
        (metadata(previous_producer_id=3), init(3, 32765), Errors.PRODUCER_FENCED),
        (metadata(epoch=-1), init(99, 1), Errors.NONE),
        (metadata(S.ONGOING), init(PID, 1), Errors.NONE),
    ],
)
def test_who_may_ask_for_an_identity_is_checked_in_kafkas_order(known, request_, error):
    """TransactionCoordinator.prepareInitProducerIdTransit."""
    assert error_of(init_producer_id_checks(known, request_)) is error


# -- AddPartitionsToTxn -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        # Each row lacks what the row before it failed for and still has all that comes later.
        (("unknown", "pending", "producer id", "epoch", "prepared"), 49),
        (("pending", "producer id", "epoch", "prepared"), 51),
        (("producer id", "epoch", "prepared"), 49),
        (("epoch", "prepared"), 90),
        (("prepared",), 51),
        ((), 0),
    ],
)
@pytest.mark.parametrize("epoch_off_by", [-1, 1])
@pytest.mark.parametrize("prepared", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_partitions_are_refused_for_the_first_reason_in_kafkas_order(
    wrong, error, epoch_off_by, prepared
):
    """TCT.shouldRespondWith*OnAddPartitions*; a rotation's pending state comes before the pid."""
    known = metadata(prepared if "prepared" in wrong else S.ONGOING)
    if "pending" in wrong:
        known = known.but(pending_state=S.COMPLETE_COMMIT)
    request = TxnPartitions(
        "t",
        99 if "producer id" in wrong else PID,
        E + epoch_off_by if "epoch" in wrong else E,
        ("a-0",),
    )
    found = error_of(add_partitions_checks(None if "unknown" in wrong else known, request))
    assert found.value == error


# -- decisions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("committed", [True, False])
def test_a_decision_bumps_the_epoch_at_prepare_and_completion_leaves_it(committed):
    """TMT.testEpochBumpOnEndTxn."""
    decided = decision_of(metadata(S.ONGOING, 10), FRESH, committed=committed)
    assert (decided.producer_id, decided.producer_epoch, decided.next_producer_id) == (PID, 11, -1)
    done = completion_of(metadata_of(decided))
    assert (done.producer_id, done.producer_epoch, done.partitions) == (PID, 11, ())


@pytest.mark.parametrize("committed", [True, False])
def test_at_the_last_epoch_the_next_producer_id_is_taken_at_prepare_and_used_at_completion(
    committed,
):
    """TMT.testEpochBumpOnEndTxnOverflow."""
    decided = decision_of(metadata(S.ONGOING, 32766), 9893, committed=committed)
    assert (decided.producer_id, decided.producer_epoch) == (PID, 32767)
    assert decided.next_producer_id == 9893
    done = completion_of(metadata_of(decided))
    assert (done.producer_id, done.producer_epoch, done.next_producer_id) == (9893, 0, -1)
    assert done.previous_producer_id == PID


def test_the_first_producer_id_of_all_is_one_that_a_rotation_may_have_drawn():
    done = completion_of(metadata_of(decision_of(metadata(S.ONGOING, 32766), 0, committed=True)))
    assert (done.producer_id, done.producer_epoch, done.previous_producer_id) == (0, 0, PID)


def test_an_abort_at_the_very_last_epoch_goes_through_without_a_bump():
    """KAFKA-20090: a broken state can be left."""
    decided = decision_of(metadata(S.ONGOING, 32767), 9893, committed=False)
    assert (decided.producer_epoch, decided.next_producer_id) == (32767, 9893)


def test_every_transition_remembers_the_producer_id_from_before_it():
    """Recorded of Kafka 4.4.0: the previous producer id is never -1 in a record."""
    for state, committed in product((S.ONGOING, S.EMPTY), (True, False)):
        decided = decision_of(metadata(state), FRESH, committed=committed)
        assert decided.previous_producer_id == PID


@pytest.mark.parametrize("state", [*TransactionState])
def test_only_an_ongoing_transaction_of_which_no_step_is_being_logged_can_time_out(state):
    """TransactionStateManager.timedOutTransactions."""
    known = TransactionMetadata("t", 9, 0, state)
    due = state is TransactionState.ONGOING
    assert (why_not_timed_out(known) is None) == due
    assert why_not_timed_out(known.but(pending_state=TransactionState.PREPARE_COMMIT))
    assert why_not_timed_out(known.but(timeout_ms=2_147_483_647))


@pytest.mark.parametrize("state", list(S))
def test_only_an_open_transaction_is_kept_for_another_identity(state):
    kept = metadata(state, next_producer_id=PID, next_producer_epoch=E + 1)
    is_open = state is S.ONGOING
    assert kept.is_kept is is_open
    assert kept.kept_for == (f"{PID}:{E + 1}" if is_open else "")
    assert metadata(state).kept_for == ""


@pytest.mark.parametrize("state", [S.EMPTY, S.ONGOING, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_a_transaction_begins_with_its_first_partition_or_with_the_abort_of_none(state):
    """TransactionMetadata.prepareAddPartitions, prepareAbortOrCommit."""
    known = metadata(state, start_timestamp_ms=100)
    began = 100 if state is S.ONGOING else 700
    assert add_partitions(known, ("out-0",), 2, 700).start_timestamp_ms == began
    assert decision_of(known, FRESH, committed=False, now_ms=700).start_timestamp_ms == began


@pytest.mark.parametrize(
    ("stored", "asked", "is_retry"),
    [
        ({}, {}, True),
        ({"producer_epoch": 1}, {}, False),
        ({"previous_producer_id": 2}, {}, False),
        ({}, {"producer_epoch": LAST_CLIENT_EPOCH - 1}, False),
    ],
)
def test_a_retry_over_a_rotation_names_the_last_epoch_of_the_producer_id_before_the_first_of_this(
    stored, asked, is_retry
):
    known = metadata(S.COMPLETE_COMMIT, 0, previous_producer_id=3).but(**stored)
    request = EndTxn("t", 3, LAST_CLIENT_EPOCH, True).but(**asked)
    assert is_overflow_retry(known, request) is is_retry


@pytest.mark.parametrize(
    ("version", "error", "told"),
    [
        (1, Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH),
        (2, Errors.PRODUCER_FENCED, Errors.PRODUCER_FENCED),
        (1, Errors.CONCURRENT_TRANSACTIONS, Errors.CONCURRENT_TRANSACTIONS),
        (1, Errors.NONE, Errors.NONE),
    ],
)
def test_an_older_version_has_another_word_for_a_fence_and_for_nothing_else(version, error, told):
    assert error_for_version(version, error) is told


def test_a_completed_transaction_remembers_who_ended_it_where_it_was_kept_and_else_who_wrote_it():
    rotated = metadata(S.PREPARE_COMMIT, next_producer_id=FRESH, previous_producer_id=3)
    assert completion_of(rotated).previous_producer_id == PID
    kept = rotated.but(next_producer_epoch=0)
    assert completion_of(kept).previous_producer_id == 3
