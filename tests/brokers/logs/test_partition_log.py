"""A partition's log: what may be appended, what is stable, what was aborted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.brokers.checks import error_of
from kipviz.brokers.logs.partition_log import (
    PartitionLog,
    append,
    check_client_batch,
    check_marker,
    delete_records,
    duplicate_of,
    find_by_time,
    forget,
    is_aborted,
    read,
    rebuild,
    replicate,
)
from kipviz.brokers.logs.verification import Verification
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.messages.errors import Errors
from kipviz.records.batches import ABORT, COMMIT, Batch, DataRecord
from kipviz.records.sequences import SEQUENCE_MAX

PID = 1
RULES = REPAIRED.broker_rules()


def data(log, pid=PID, epoch=0, first=0, count=1, *, transactional=True):
    records = tuple(DataRecord(f"{pid}:{epoch}:{first + i}") for i in range(count))
    return Batch(log.end_offset, records, pid, epoch, first, transactional=transactional)


def marker(log, pid=PID, epoch=1, outcome=COMMIT, coordinator_epoch=0):
    return Batch(
        log.end_offset,
        (),
        pid,
        epoch,
        transactional=True,
        control=outcome,
        coordinator_epoch=coordinator_epoch,
    )


def at(offset):
    return PartitionLog("a-0", offset, end_offset=offset, high_watermark=offset)


def may(log, batch, *, verified=True):
    return error_of(check_client_batch(log, batch, RULES, verified=verified, origin_client=True))


def filler(log, count):
    """Records of nobody's, to move the end."""
    return append(log, Batch(log.end_offset, tuple(DataRecord("x") for _ in range(count))))


@pytest.mark.parametrize(
    ("epoch", "verified", "now", "before"),
    [
        (0, False, Errors.INVALID_PRODUCER_EPOCH, Errors.INVALID_TXN_STATE),
        (0, True, Errors.INVALID_PRODUCER_EPOCH, Errors.INVALID_PRODUCER_EPOCH),
        (1, False, Errors.INVALID_TXN_STATE, Errors.INVALID_TXN_STATE),
        (1, True, Errors.NONE, Errors.NONE),
    ],
)
def test_before_kafka_19690_a_log_asks_for_the_verification_first(epoch, verified, now, before):
    log = append(PartitionLog("a-0"), marker(PartitionLog("a-0"), outcome=ABORT))
    batch = data(log, epoch=epoch)
    for epoch_first, error in ((True, now), (False, before)):
        said = error_of(
            check_client_batch(
                log, batch, RULES, verified=verified, origin_client=True, epoch_first=epoch_first
            )
        )
        assert said is error


@pytest.mark.parametrize("epoch_first", [True, False])
def test_a_batch_outside_of_transactions_needs_no_verification_in_any_release(epoch_first):
    """UnifiedLog.batchMissingRequiredVerification looks at transactional batches only."""
    log = at(0)
    told = check_client_batch(
        log,
        data(log, transactional=False),
        RULES,
        verified=False,
        origin_client=True,
        epoch_first=epoch_first,
    )
    assert error_of(told) is Errors.NONE
    assert "partition added" not in {check.name for check in told}
    in_one = data(log)
    told = check_client_batch(
        log, in_one, RULES, verified=True, origin_client=True, epoch_first=epoch_first
    )
    assert [check.name for check in told].count("partition added") == 1


def test_a_marker_bumps_the_epoch_and_the_next_transaction_starts_at_sequence_0():
    """PSM.testControlRecordBumpsProducerEpoch."""
    log = append(PartitionLog("a-0"), data(PartitionLog("a-0")))
    log = append(log, marker(log, outcome=ABORT))
    entry = log.producers[PID]
    assert (entry.epoch, entry.transaction_first_offset, entry.batches) == (1, -1, ())
    assert may(log, data(log, epoch=1, first=0)) is Errors.NONE
    assert may(log, data(log, epoch=1, first=1)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_completed_transaction_stays_unstable_until_its_marker_is_below_the_high_watermark():
    """PSM.testFirstUnstableOffset."""
    log = at(99)
    log = append(log, data(log, 1))
    log = filler(log, 5)
    log = append(log, data(log, 2))
    assert [o for o, _ in log.open] == [99, 105]
    log = filler(log, 3)
    found = [replicate(log).last_stable_offset]
    log = append(log, marker(log, 1))
    assert log.batches[-1].base_offset == 109
    for high_watermark in (100, 110):
        log = replicate(log, high_watermark)
        found.append(log.last_stable_offset)
    log = filler(log, 2)
    log = append(log, marker(log, 2, outcome=ABORT))
    assert log.batches[-1].base_offset == 112
    found.append(log.last_stable_offset)
    found.append(replicate(log, 113).last_stable_offset)
    assert found == [99, 99, 105, 105, 113]


def test_the_lso_waits_for_the_earliest_of_all_unreplicated_transactions():
    """The later one of two may end first: their markers' order is not that of their data."""
    log = append(at(0), data(at(0), 1))
    log = append(log, data(log, 2))
    log = append(log, marker(log, 2))
    log = append(log, marker(log, 1))
    assert replicate(log, 2).last_stable_offset == 0
    assert replicate(log, 3).last_stable_offset == 0
    assert replicate(log, 4).last_stable_offset == 4


@pytest.mark.parametrize(
    ("version", "entry_epoch", "is_open", "epoch", "error"),
    [
        (2, 5, True, 4, 47),
        (2, 5, True, 5, 47),
        (2, 5, True, 6, 0),
        (2, 5, False, 4, 47),
        (2, 5, False, 5, 0),  # PSM.testIdempotentTransactionMarkerRetryTV2
        (2, 5, False, 6, 0),
        (2, 32767, True, 32767, 0),
        (1, 5, True, 4, 47),
        (1, 5, True, 5, 0),
        (1, 5, False, 5, 0),
        (0, 5, True, 6, 0),
    ],
)
def test_which_epoch_a_marker_needs(version, entry_epoch, is_open, epoch, error):
    """KIP-1228 and KAFKA-19999, ProducerAppendInfo.checkProducerEpoch; anomalies 10.5, 10.10."""
    log = append(PartitionLog("a-0"), data(PartitionLog("a-0"), epoch=entry_epoch - 1))
    log = append(log, marker(log, epoch=entry_epoch))
    if is_open:
        log = append(log, data(log, epoch=entry_epoch))
    assert error_of(check_marker(log, PID, epoch, 0, version, RULES)).value == error


def test_a_repeated_marker_is_written_again_and_changes_nothing():
    """PSM.testIdempotentTransactionMarkerRetryTV2."""
    log = append(at(99), data(at(99)))
    log = append(log, marker(log))
    assert error_of(check_marker(log, PID, 1, 0, 2, RULES)) is Errors.NONE
    again = append(log, marker(log))
    assert again.end_offset == 102
    assert (again.producers, again.open, again.aborted) == (log.producers, (), log.aborted)
    assert again.unreplicated == log.unreplicated


def test_a_marker_of_a_coordinator_that_was_replaced_is_fenced():
    """Anomaly 10.16, the zombie coordinator."""
    log = append(at(0), data(at(0)))
    log = append(log, marker(log, coordinator_epoch=4))
    assert error_of(check_marker(log, PID, 2, 3, 2, RULES)) is Errors.TRANSACTION_COORDINATOR_FENCED
    assert error_of(check_marker(log, PID, 2, 4, 2, RULES)) is Errors.NONE
    log = append(log, data(log, epoch=1))
    assert error_of(check_marker(log, PID, 2, 3, 2, RULES)) is Errors.TRANSACTION_COORDINATOR_FENCED


def test_the_last_five_batches_are_recognised_as_duplicates_and_older_ones_are_out_of_order():
    """ULT.testDuplicateAppends."""
    log = PartitionLog("a-0")
    for first in range(6):
        log = append(log, data(log, first=first))
    log = append(log, data(log, first=6, count=3))
    assert duplicate_of(log, data(log, first=6, count=3), RULES).base_offset == 6
    partial = data(log, first=7, count=2)
    assert duplicate_of(log, partial, RULES) is None
    assert may(log, partial) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert duplicate_of(log, data(log, first=2), RULES).base_offset == 2
    assert duplicate_of(log, data(log, first=1), RULES) is None
    assert may(log, data(log, first=1)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    longer = data(log, first=2, count=2)
    assert duplicate_of(log, longer, RULES) is None, (
        "ProducerStateEntry.findDuplicateBatch: both ends"
    )


def test_a_newer_epoch_repeats_no_batch_of_the_one_before():
    """ProducerStateEntry.maybeUpdateProducerEpoch clears what was cached."""
    log = PartitionLog("a-0")
    for first in range(2):
        log = append(log, data(log, first=first, transactional=False))
    log = append(log, data(log, epoch=1, transactional=False))
    newer = data(log, epoch=1, first=1, transactional=False)
    assert duplicate_of(log, newer, RULES) is None
    assert may(log, newer) is Errors.NONE


def test_a_batch_without_a_producer_id_is_judged_by_nothing_and_leaves_nothing():
    """UnifiedLog.analyzeAndValidateProducerState: batch.hasProducerId."""
    log = append(at(0), Batch(0, (DataRecord("x"),)))
    assert (log.producers, log.open) == (at(0).producers, ())
    told = check_client_batch(log, Batch(1, ()), RULES, verified=False, origin_client=True)
    assert [check.name for check in told] == ["producer epoch"]


def test_what_a_coordinator_writes_for_a_producer_has_no_sequence_that_could_be_repeated():
    """DefaultRecordBatch.lastSequence of NO_SEQUENCE is NO_SEQUENCE."""
    log = append(at(0), data(at(0), first=-1, count=2))
    assert log.producers[PID].batches == ()


LOWEST, FOLLOWS = "lowest sequence", "sequence"


@pytest.mark.parametrize(
    ("known", "lowest", "first", "compared"),
    [
        (False, None, 3, [(LOWEST, 3, SEQUENCE_MAX)]),
        (True, None, 1, [(FOLLOWS, 1, 0)]),
        (True, 1, 1, [(LOWEST, 1, 1), (FOLLOWS, 1, 0)]),
        (True, 0, 0, [(FOLLOWS, 0, 0)]),
    ],
)
def test_a_sequence_is_compared_with_a_failed_verification_where_one_could_refuse_it(
    known, lowest, first, compared
):
    """ProducerAppendInfo.checkSequence; no sequence is below 0."""
    log = append(at(0), data(at(0), transactional=False)) if known else at(0)
    batch = data(log, first=first, transactional=False)
    failed = None if lowest is None else Verification(PID, 0, lowest, supports_epoch_bump=False)
    told = check_client_batch(
        log, batch, RULES, verified=True, origin_client=True, verification=failed
    )
    rows = [(c.name, c.asked, c.found) for c in told if c.name in (LOWEST, FOLLOWS)]
    assert rows == compared


@pytest.mark.parametrize(
    ("batches", "first", "error", "compared"),
    [
        (1, 1, Errors.NONE, [LOWEST, FOLLOWS]),
        (0, 0, Errors.NONE, [FOLLOWS]),
        (0, 5, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, [FOLLOWS]),
    ],
)
def test_under_transaction_version_2_a_producer_without_a_batch_begins_at_0(
    batches, first, error, compared
):
    """ProducerAppendInfo.checkSequence: supportsEpochBump and currentEntry.isEmpty."""
    log = append(at(0), data(at(0))) if batches else at(0)
    log = append(log, marker(log, epoch=0))
    failed = Verification(PID, 0, first, supports_epoch_bump=True)
    told = check_client_batch(
        log,
        data(log, first=first),
        RULES,
        verified=True,
        origin_client=True,
        verification=failed,
    )
    assert error_of(told) is error
    assert [c.name for c in told if c.name in (LOWEST, FOLLOWS)] == compared


def test_a_log_that_ignores_sequences_recognises_no_duplicate():
    careless = design("repaired+sequence_check=sequences_are_ignored").broker_rules()
    log = append(PartitionLog("a-0"), data(PartitionLog("a-0")))
    assert duplicate_of(log, data(log), RULES) is not None
    assert duplicate_of(log, data(log), careless) is None
    late = data(log, first=7)
    told = check_client_batch(log, late, careless, verified=True, origin_client=True)
    assert error_of(told) is Errors.NONE


def test_a_sequence_wraps_behind_the_largest_int():
    log = append(at(0), data(at(0), first=0))
    entry = log.producers[PID]
    last = entry.batches[-1].but(first=2_147_483_647, last=2_147_483_647)
    log = log.but(producers=log.producers.set(PID, entry.but(batches=(last,))))
    assert may(log, data(log, first=0)) is Errors.NONE
    assert may(log, data(log, first=1)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_sequences_of_a_batch_wrap_within_it():
    """DefaultRecordBatch.lastSequence: 20 records from 2147483637 on end at 8."""
    near = data(at(0), first=2_147_483_637, count=20)
    log = append(at(0), near)
    (remembered,) = log.producers[PID].batches
    assert (remembered.first, remembered.last) == (2_147_483_637, 8)
    assert duplicate_of(log, data(log, first=2_147_483_637, count=20), RULES) == remembered
    assert may(log, data(log, first=9)) is Errors.NONE
    for first in (8, 0, 2_147_483_647):
        assert may(log, data(log, first=first)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(
    ("epoch", "first", "transactional", "verified", "error"),
    [
        (4, 0, True, False, 47),  # the epoch is looked at before the enlistment
        (4, 0, True, True, 47),
        (6, 0, True, False, 48),
        (6, 1, True, True, 45),
        (6, 0, True, True, 0),
        (5, 1, True, False, 0),  # the transaction is known here: nobody has to be asked
        (5, 3, True, False, 45),
        (5, 1, False, False, 48),  # not transactional while a transaction is open
    ],
)
def test_a_batch_is_refused_for_the_first_reason_in_kafkas_order(
    epoch, first, transactional, verified, error
):
    """UnifiedLog.analyzeAndValidateProducerState; the open transaction is at (epoch 5, seq 0)."""
    log = append(at(0), data(at(0), epoch=5))
    batch = data(log, epoch=epoch, first=first, transactional=transactional)
    assert may(log, batch, verified=verified).value == error


def test_a_late_batch_of_an_ended_transaction_cannot_leak_into_the_next_one():
    """Anomalies 10.1 and 10.2: the reason for an epoch per transaction."""
    log = append(at(0), data(at(0)))
    log = append(log, marker(log, outcome=ABORT))
    assert may(log, data(log, epoch=0, first=1)) is Errors.INVALID_PRODUCER_EPOCH


def test_the_index_of_aborted_transactions_is_that_of_the_recorded_example():
    """ULT.testTransactionIndexUpdated: p1 aborts [0,29], p2 aborts [8,74], p3 and p4 commit."""
    log = at(0)

    def put(pid, count):
        nonlocal log
        first = log.producers[pid].batches[-1].last + 1 if pid in log.producers else 0
        log = append(log, data(log, pid, first=first, count=count))

    put(1, 5)
    log = filler(log, 3)
    put(2, 2)
    put(1, 4)
    put(3, 3)
    put(2, 7)
    put(1, 1)
    log = filler(log, 4)
    log = append(log, marker(log, 1, outcome=ABORT))
    assert log.end_offset == 30
    log = filler(log, 5)
    log = append(log, marker(log, 3))
    put(4, 20)
    put(2, 18)
    log = append(log, marker(log, 2, outcome=ABORT))
    found = [
        (a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset) for a in log.aborted
    ]
    assert found == [(1, 0, 29, 8), (2, 8, 74, 36)]


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from(["data", "commit", "abort"])), max_size=40
    )
)
def test_a_batch_is_aborted_exactly_if_the_next_marker_of_its_producer_says_so(steps):
    log, epochs = at(0), dict.fromkeys((1, 2, 3), 0)
    for pid, what in steps:
        entry = log.producers.get(pid)
        if what == "data":
            same = entry is not None and entry.epoch == epochs[pid] and entry.batches
            first = entry.batches[-1].last + 1 if same else 0
            log = append(log, data(log, pid, epochs[pid], first))
        else:
            epochs[pid] += 1
            log = append(log, marker(log, pid, epochs[pid], what.upper()))
    batches = tuple(log.batches)
    for i, batch in enumerate(batches):
        ends = (b.control for b in batches[i:] if b.control and b.producer_id == batch.producer_id)
        expected = not batch.control and next(ends, "") == ABORT
        assert (not batch.control and is_aborted(log, batch)) == expected
    low = min((o for o, _ in log.open), default=log.end_offset)
    assert replicate(log).last_stable_offset == low
    assert rebuild(replicate(log)) == replicate(log)


def test_a_new_leader_has_what_was_replicated_and_knows_the_producers_from_it():
    log = append(at(100), data(at(100)))
    log = replicate(append(log, marker(log, outcome=ABORT)))
    longer = append(append(log, data(log, epoch=1)), data(log, 2))
    assert rebuild(longer) == log


def test_a_marker_without_a_transaction_aborts_nothing_and_holds_nobody_back():
    """ProducerAppendInfo.appendEndTxnMarker: only an open transaction is completed."""
    log = append(at(0), marker(at(0), outcome=ABORT))
    assert (tuple(log.aborted), log.unreplicated) == ((), ())
    assert log.first_unstable_offset is None


def test_with_the_front_of_a_log_goes_what_is_known_of_it_alone():
    """UnifiedLog.maybeIncrementLogStartOffset (KIP-107): an aborted transaction goes with its last record."""
    log = at(0)
    for pid in (1, 2):
        log = append(log, data(log, pid=pid))
        log = append(log, marker(log, pid=pid, outcome=ABORT))
    log = replicate(forget(log, 1))
    log = replicate(append(log, data(log, pid=3)))
    assert [entry.last_offset for entry in delete_records(log, 1).aborted] == [1, 3]
    assert [entry.last_offset for entry in delete_records(log, 2).aborted] == [3]
    assert not delete_records(log, 4).aborted
    assert [len(delete_records(log, offset).forgotten) for offset in (3, 4)] == [1, 0]


def test_a_front_without_producers_leaves_a_log_that_begins_as_an_empty_one():
    log = replicate(filler(filler(at(0), 1), 1))
    assert delete_records(log, 1).at_start is None
    known = replicate(append(log, data(log)))
    assert delete_records(known, 3).at_start.producers == known.producers


def test_a_record_that_a_segment_still_has_before_the_log_s_start_is_not_found_by_its_time():
    """UnifiedLog.fetchOffsetByTimestamp searches from the log start offset on."""
    log = at(0)
    for written_ms in (20, 10):
        log = append(log, Batch(log.end_offset, (DataRecord("x"),), max_timestamp_ms=written_ms))
    assert find_by_time(log, 10) == (0, 20)
    assert find_by_time(log.but(start_offset=1), 10) == (1, 10)
    assert find_by_time(log.but(start_offset=1), 11) is None


def test_a_new_leader_of_an_empty_log_still_starts_where_the_log_starts():
    log = append(at(100), data(at(100)))
    assert rebuild(log) == at(100)


@given(st.integers(0, 12), st.integers(0, 12))
def test_reading_gives_the_batches_that_hold_the_offsets(offset, up_to):
    log = at(0)
    for count in (1, 3, 2, 4):
        log = filler(log, count)
    expected = tuple(b for b in log.batches if b.last_offset >= offset and b.base_offset < up_to)
    assert read(log, offset, up_to) == expected


def test_a_fetch_reads_a_log_no_further_than_it_needs() -> None:
    log = PartitionLog("src-0")
    for first in range(0, 60, 3):
        log = append(log, Batch(first, tuple(DataRecord(f"r{first + i}") for i in range(3))))
    assert [b.base_offset for b in read(log, 4, 60, most=1)] == [3]
    assert [b.base_offset for b in read(log, 4, 60, most=5)] == [3, 6]
    assert [b.base_offset for b in read(log, 4, 6, most=50)] == [3]
    assert len(read(log, 4, 60)) == 19
    gap = append(log, Batch(100, (DataRecord("behind a gap"),)))
    assert [b.base_offset for b in read(gap, 60, 101, most=1)] == [100]


def test_a_new_leader_keeps_the_given_up_offsets_below_its_end_and_forgets_those_above():
    log = append(append(at(0), data(at(0), count=3)), data(at(3), first=3, count=3))
    log = log.but(high_watermark=3, given_up=(1, 5))
    assert rebuild(log).end_offset == 3
    assert rebuild(log).given_up == (1,)
