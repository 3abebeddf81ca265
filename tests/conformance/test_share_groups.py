"""The thirty cases that were read out of Kafka's own tests of share groups, one each.

Each docstring names the test and the versions that have it: O24 is the early access of 2024, 4.2 the
first general release, T the trunk of August 2026. Unless said otherwise there is one
share-partition, its SPSO is 0, the delivery limit 5 and the lock limit 2,000, and the share
coordinator says yes.
"""

from __future__ import annotations

from kipviz.brokers.local_calls import ApplyMarkerToShares
from kipviz.brokers.logs.partition_log import append, is_aborted, replicate
from kipviz.brokers.share_leaders import share_partition, share_timers
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.messages.errors import Errors
from kipviz.messages.events import LockRenewed, SharePartitionDropped
from kipviz.messages.logs.producing import Produce
from kipviz.messages.shares.share_groups import ShareFetchResponse
from kipviz.messages.shares.share_state import InitializeShareGroupState
from kipviz.messages.wire.frame import KINDS
from kipviz.records.batches import Batch
from kipviz.records.share_group_state import (
    ShareSnapshotRecord,
    ShareUpdateRecord,
    StateBatch,
)
from tests.brokers.membership import test_share_membership as membership
from tests.brokers.share_coordinators import test_share_coordinator as shard
from tests.brokers.share_leaders.share_place import (
    ACCEPT,
    ACK,
    ACQ,
    ARCH,
    ARCHIVING,
    AVL,
    GAP,
    KEY,
    REJECT,
    RELEASE,
    RENEW,
    TXP,
    SharePlace,
    batch_of,
    durable,
    list_acquired,
    log_of,
)
from tests.cluster.invariants import shares_of
from tests.scenarios.story import after

HALVES = (
    [(15, 24, 5)],
    [(15, 19, 6)],
    *([(o, o, 7)] for o in range(15, 20)),
    [(20, 24, 6)],
    [(25, 34, 5)],
)


def span(place):
    """How far the share-partition reaches: from the SPSO to the last offset ever acquired."""
    return place.share.next_offset - place.share.start_offset


def test_01_the_durable_state_is_taken_over_with_its_counts():
    """SP.testMaybeInitialize (O24, 4.2, T)."""
    place = SharePlace().load(5, durable(5, 10, AVL, 2), durable(11, 15, ARCH, 3))
    assert (place.share.start_offset, place.share.next_offset - 1) == (5, 15)
    assert (place.next_fetch, place.complete, span(place)) == (5, 5, 11)
    assert place.states(5, 15) == [AVL] * 6 + [ARCH] * 5


def test_02_holes_of_the_durable_state_are_delivered_as_the_first_time():
    """SP.testMaybeInitializeAndAcquireWithFetchBatchPriorStartOffset (4.2, T)."""
    place = SharePlace(batches=[(6, 21)]).load(
        10, durable(15, 18, AVL, 2), durable(20, 22, ARCH), durable(26, 30, AVL, 1)
    )
    place.fetch("M1", 500)
    assert list_acquired(place) == [(10, 14, 1), (15, 18, 3), (19, 19, 1)]
    assert (place.next_fetch, place.share.next_offset - 1) == (23, 30)


def test_03_inside_the_window_records_are_delivered_again_and_it_does_not_grow():
    """SP.testAcquireWithMaxInFlightRecordsAndReleaseLastOffset (4.2, T)."""
    batches = [(10, 14), (15, 24), (25, 29), (30, 32)]
    place = SharePlace(batches=batches, record_locks_max=20).load(10)
    place.fetch("M1", 500)
    assert (list_acquired(place), place.next_fetch) == ([(10, 29, 1)], 30)
    place.acknowledge("M1", batch_of(15, 19, RELEASE))
    place.coordinator()
    assert place.next_fetch == 15
    place.fetch("M1", 500)
    assert list_acquired(place) == [(15, 19, 2)]
    place.acknowledge("M1", batch_of(29, 29, RELEASE))
    place.coordinator()
    assert place.next_fetch == 29
    place.fetch("M1", 500)
    assert list_acquired(place) == [(29, 29, 2)]


def test_04_one_request_says_different_things_and_gaps_are_archived():
    """SP.testAcknowledgeMultipleRecordBatchWithGapOffsets (O24 without the count, 4.2, T)."""
    place = SharePlace(batches=[(5, 6)]).load(5)
    place.fetch("M1", 500)
    place.grow((5, 6), (10, 18))
    place.fetch("M1", 500)
    assert list_acquired(place) == [(10, 18, 1)]
    place.acknowledge(
        "M1",
        batch_of(5, 6, RELEASE),
        batch_of(10, 14, RELEASE),
        batch_of(15, 17, GAP),
        batch_of(18, 18),
    )
    place.coordinator()
    assert place.states(5, 6) + place.states(10, 14) == [AVL] * 7
    assert place.states(15, 18) == [ARCH] * 3 + [ACK]
    assert set(place.counts(5, 6) + place.counts(10, 18)) == {1}
    assert (place.next_fetch, place.complete, place.share.start_offset) == (5, 4, 5)


def test_05_a_batch_that_reaches_beyond_what_is_cached_refuses_the_whole_request():
    """SP.testAcknowledgeOutOfRangeCachedDataFirstBatch (O24, 4.2, T)."""
    place = SharePlace(batches=[(0, 4)]).load()
    place.fetch("M1", 500)
    place.grow((0, 4), (20, 24))
    place.fetch("M1", 500)
    assert list_acquired(place) == [(20, 24, 1)]
    assert (
        place.acknowledge("M1", batch_of(0, 10), batch_of(20, 24)).error is Errors.INVALID_REQUEST
    )
    assert place.states(0, 4) == [ACQ] * 5
    assert place.acknowledge("M1", batch_of(0, 4), batch_of(20, 24)) is None
    place.coordinator()
    assert not len(place.share.records)
    assert (place.share.start_offset, place.next_fetch) == (25, 25)


def test_06_what_was_begun_is_rolled_back_when_a_later_batch_is_wrong():
    """SP.testAcknowledgeRollbackWithFullBatchError (O24, 4.2, T)."""
    place = SharePlace(batches=[(5, 9), (10, 14), (15, 19)]).load(5)
    for _ in range(3):
        place.fetch("M1", 5)
    every = (batch_of(5, 9, RELEASE), batch_of(10, 14), batch_of(15, 19), batch_of(15, 19))
    assert place.acknowledge_unchecked("M1", *every) is Errors.INVALID_RECORD_STATE
    assert (place.states(5, 19), set(place.counts(5, 19))) == ([ACQ] * 15, {1})
    assert {place.share.records[o].member_id for o in range(5, 20)} == {"M1"}
    assert (place.next_fetch, place.complete) == (20, 0)


def test_07_a_lock_that_runs_out_at_the_limit_archives():
    """SP.testAcquisitionLockTimeoutCauseMaxDeliveryCountExceed (4.2, T)."""
    place = SharePlace(batches=[(0, 9), (10, 19)], delivery_count_limit=2).load()
    place.fetch("M1", 10)
    place.fetch("M1", 10)
    place.expire(10)
    place.coordinator()
    assert (place.states(10, 19), set(place.counts(10, 19))) == ([AVL] * 10, {1})
    place.fetch("M1", 10)
    place.expire(10)
    place.coordinator()
    place.expire(0)
    place.coordinator()
    assert (place.states(10, 19), set(place.counts(10, 19))) == ([ARCH] * 10, {2})
    assert (place.complete, place.next_fetch, place.share.start_offset) == (10, 0, 0)


def test_08_a_part_of_what_came_back_reaches_the_limit_and_the_start_moves_past_it():
    """SP.testAcquisitionLockTimeoutCauseSPSOMoveForward (O24, 4.2, T)."""
    place = SharePlace(delivery_count_limit=2, last=9).load()
    place.fetch("M1", 10)
    place.expire(0)
    place.coordinator()
    place.fetch("M1", 5)
    assert list_acquired(place) == [(0, 4, 2)]
    place.expire(0)
    place.coordinator()
    assert (place.states(5, 9), set(place.counts(5, 9))) == ([AVL] * 5, {1})
    assert (place.share.start_offset, place.next_fetch) == (5, 5)


def test_09_a_session_that_closes_gives_back_what_the_log_still_has_and_counts_stay():
    """SP.testReleaseAcquiredRecordsDoNotDecreaseDeliveryCount (T; 4.2 ends at count 0)."""
    place = SharePlace(batches=[(5, 9), (10, 14)]).load(5)
    place.fetch("M1", 5)
    place.fetch("M1", 5)
    place.acknowledge("M1", batch_of(12, 13))
    place.coordinator()
    place.delete_up_to(11)
    place.acknowledge("M1", epoch=-1)
    place.coordinator()
    assert place.states(5, 10) == [ARCH] * 6
    assert place.states(11, 14) == [AVL, ACK, ACK, AVL]
    assert (set(place.counts(5, 14)), place.complete) == ({1}, 2)


def test_10_the_window_is_a_span_and_records_that_are_done_count():
    """SP.testMaybeUpdateCachedStateWhenAcknowledgementsInBetween (4.2, T)."""
    place = SharePlace(batches=[(0, 14), (15, 29), (30, 40)], record_locks_max=20).load()
    place.fetch("M1", 15)
    place.fetch("M1", 15)
    assert list_acquired(place) == [(15, 29, 1)]
    place.acknowledge("M1", batch_of(10, 14, REJECT))
    place.coordinator()
    assert (place.share.start_offset, place.next_fetch, place.complete) == (0, 30, 5)
    assert (span(place), place.fetch("M2", 10)) == (30, None)
    place.acknowledge("M1", batch_of(1, 9, REJECT))
    place.coordinator()  # 16 of the 30 are not done, and that is not what counts
    assert (place.complete, span(place), place.fetch("M3", 10)) == (14, 30, None)


def test_11_timers_of_records_whose_write_succeeded_change_nothing():
    """SP.testAcquisitionLockTimeoutWithConcurrentAcknowledgement (4.2, T)."""
    place = SharePlace(batches=[(0, 4), (5, 19)]).load()
    place.fetch("M1", 5)
    place.fetch("M1", 15)
    place.acknowledge("M1", batch_of(0, 0, RELEASE), batch_of(1, 1), batch_of(5, 19))
    assert place.complete == 16
    assert share_timers.locks(place.role, place.on) == ((KEY, 0), (KEY, 5))
    place.coordinator()
    assert share_timers.locks(place.role, place.on) == ((KEY, 0),)
    assert "no record" in share_timers.why_no_lock_expiry(place.role, KEY, 5, place.on)
    place.expire(0)
    assert place.states(0, 19) == [AVL, ACK, AVL, AVL, AVL] + [ACK] * 15


def test_12_a_failed_write_leaves_what_the_lock_says():
    """SP.testRecordArchivedWithWriteStateRPCFailure (4.2, T).

    Kafka's test asks no SharePartitionManager, which drops the share-partition for the error that it
    answers; the records do the same whatever the error is.
    """
    place = SharePlace(delivery_count_limit=2).load(7)
    place.fetch("M1", 5)
    place.acknowledge("M1", batch_of(7, 11))
    place.refuses(Errors.UNKNOWN_SERVER_ERROR)
    assert (place.states(7, 11), set(place.counts(7, 11))) == ([ACQ] * 5, {1})
    assert place.complete == 0
    place.expire(7)
    place.coordinator()
    assert (place.states(7, 11), set(place.counts(7, 11))) == ([AVL] * 5, {1})
    place.fetch("M1", 5)
    place.acknowledge("M1", batch_of(7, 11))
    place.expire(7)
    assert place.states(7, 11) == [ACK] * 5
    place.refuses(Errors.UNKNOWN_SERVER_ERROR)
    assert (place.states(7, 11), set(place.counts(7, 11))) == ([ARCH] * 5, {2})
    assert place.complete == 5


def test_13_a_batch_that_came_back_too_often_travels_alone():
    """SP.testThrottleRecordsWhenPendingDeliveriesExist (4.2, T)."""
    place = SharePlace(batches=[(7, 19), (20, 27)], log_start=0).load(
        5, durable(15, 19, AVL, 2), durable(20, 22, ARCH, 3), durable(26, 30, AVL, 3)
    )
    place.fetch("M1", 500)
    assert list_acquired(place) == [(7, 14, 1), (15, 19, 3), (23, 25, 1)]
    assert place.next_fetch == 26
    place.fetch("M1", 500)
    assert list_acquired(place) == [(26, 27, 4)]


def test_14_what_fails_again_travels_in_halves_and_alone_at_its_last_attempt():
    """SP.testAcquireRecordsHalvesBatchSizeOnEachFailureUntilSingleRecordOnLastAttempt (4.2, T)."""
    place = SharePlace(batches=[(15, 34)], delivery_count_limit=7).load(15, durable(15, 34, AVL, 4))
    for expected in HALVES:
        place.fetch("M1", 500)
        assert list_acquired(place) == expected
        first, _, count = expected[0]
        if count in (5, 6) and first == 15:
            place.expire(15)
            place.coordinator()


def test_15_a_renewed_lock_is_a_new_timer_and_nothing_is_written():
    """SP.testRenewAcknowledgeWithCompleteBatchAck (4.2, T)."""
    place = SharePlace(batches=[(0, 9)]).load()
    place.fetch("M1", 10)
    before = share_timers.locks(place.role, place.on)
    assert place.acknowledge("M1", batch_of(0, 9, RENEW)).error is Errors.NONE
    assert place.states(0, 9) == [ACQ] * 10
    ((_, lock),) = share_timers.locks(place.role, place.on)
    assert ((KEY, lock),) != before
    assert not place.writes
    assert isinstance(place.events[-1], LockRenewed)
    place.expire(lock)
    assert (place.states(0, 9), len(place.writes)) == ([AVL] * 10, 1)


def test_16_a_group_that_reads_committed_records_is_not_given_aborted_ones():
    """SP.testAcquireWithReadCommittedIsolationLevel (4.2, T)."""
    place = SharePlace(group={"isolation_level": "read_committed"})
    log = log_of((10, 14, 1), (15, 19), (20, 34), (50, 57), (58, 67, 2), (70, 74, 2))
    for pid in (1, 2):
        log = append(log, Batch(log.end_offset, (), pid, 0, transactional=True, control="ABORT"))
    place.logs["src-0"] = replicate(log).but(start_offset=0)
    place.load()
    place.fetch("M1", 65)
    assert list_acquired(place) == [(15, 57, 1), (68, 69, 1)]
    assert sum(last - first + 1 for first, last, _ in list_acquired(place)) == 45
    for first, last in ((10, 14), (58, 67), (70, 74)):
        assert place.states(first, last) == [ARCH] * (last - first + 1)
        assert {place.share.records[o].lock for o in range(first, last + 1)} == {-1}
        assert {place.share.records[o].member_id for o in range(first, last + 1)} == {""}
    assert place.next_fetch == 75


def test_17_a_first_write_that_fails_does_not_keep_a_record_out_of_the_dead_letter_queue():
    """SP.testAcquisitionLockTimeoutWithDlqPhase1FailsPhase2SucceedsCompleteBatch (T)."""
    place = SharePlace(
        batches=[(0, 9), (10, 19)], delivery_count_limit=2, group={"dead_letter_topic": "dlq.g1"}
    ).load()
    place.fetch("M1", 10)
    place.fetch("M1", 10)
    for lock in (0, 10):
        place.expire(lock)
        place.refuses(Errors.UNKNOWN_SERVER_ERROR)
    place.fetch("M1", 10)
    assert list_acquired(place) == [(0, 9, 2)]
    place.expire(0)
    assert place.states(0, 9) == [ARCHIVING] * 10
    place.refuses(Errors.UNKNOWN_SERVER_ERROR)
    (copy,) = place.sent(Produce)
    copied = [(batch.partition, len(batch.records)) for batch in copy.partition_data]
    assert copied == [("dlq.g1-0", 10)]
    place.answer_copy()
    assert place.writes[-1].only.batches == (StateBatch(0, 9, ARCH, 2),)
    assert place.share.start_offset == 0  # until that is durable, or failed
    place.coordinator()
    assert (place.share.start_offset, len(place.share.records)) == (10, 10)


def test_18_a_durable_state_that_is_all_done_leaves_nothing_in_memory():
    """SP.testMaybeInitializeWhenReadStateRpcReturnsZeroAvailableRecords (O24, 4.2, T)."""
    each = (durable(o, o, ACK) for o in range(234, 734))
    place = SharePlace().load(233, durable(233, 233, ARCH), *each)
    assert not len(place.share.records)
    assert (place.share.start_offset, place.next_fetch, place.complete) == (734, 734, 0)


def test_19_the_log_may_begin_behind_everything_that_is_held():
    """SP.testLsoMovementAheadOfEndOffset (O24, 4.2, T)."""
    place = SharePlace(batches=[(2, 6), (7, 11)]).load(2)
    place.fetch("M1", 5)
    place.fetch("M1", 5)
    place.delete_up_to(14)
    assert (place.share.start_offset, place.share.next_offset, place.next_fetch) == (14, 14, 14)
    assert place.states(2, 11) == [ACQ] * 10
    assert {r.member_id for r in place.share.records.values()} == {"M1"}


def test_20_a_stale_write_moves_neither_the_start_nor_a_state_back():
    """SCS.testWriteStateDiscardsStartOffsetRegression (T)."""
    desk = shard.initialised_desk(5, (StateBatch(11, 20, ARCH, 1),))
    assert shard.write(desk, StateBatch(0, 20, AVL, 1), start=2).only.error is Errors.NONE
    found = shard.state(desk)
    assert found.start_offset == 5
    assert found.batches == (StateBatch(5, 10, AVL, 1), StateBatch(11, 20, ARCH, 1))
    assert desk.written(shard.HERE)[-1].start_offset == 5


def test_21_every_so_many_updates_there_is_a_snapshot():
    """SCS.testSnapshotUpdateCountBoundary (T)."""
    desk = shard.initialised_desk(updates_per_snapshot=2)
    for _ in range(3):
        shard.write(desk, StateBatch(0, 4, ACK, 1))
    kinds = [type(record) for record in desk.written(shard.HERE)[1:]]
    assert kinds == [ShareUpdateRecord, ShareUpdateRecord, ShareSnapshotRecord]
    assert shard.state(desk).updates == 0


def test_22_what_was_never_initialised_is_not_written():
    """SCS.testWriteFailsOnUninitializedPartition (4.2, T)."""
    desk = shard.initialised_desk()
    before = desk.written(shard.HERE)
    answer = shard.write(desk, StateBatch(0, 4, ACK, 1), key="g1:AAAAAAAAAAAAAAAAAAAAAg:9")
    assert answer.only.error is Errors.INVALID_REQUEST
    assert desk.written(shard.HERE) == before


def test_23_a_connection_that_breaks_ends_its_member_and_the_last_one_the_group():
    """SSC.testShareGroupListenerEvents (4.2, T)."""
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.fetch("M2", 1)
    place.acknowledge("M1", epoch=-1)
    assert not any(isinstance(e, SharePartitionDropped) for e in place.events)
    place.epochs["M1"] = 0
    place.fetch("M1", 1)
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    assert place.role.sessions.keys() == (("g1", "M2"),)
    assert not any(isinstance(e, SharePartitionDropped) for e in place.events)
    place.do(spl.on_disconnected(place.role, "M2/consumer", place.on))
    assert not len(place.role.sessions)
    assert isinstance(place.events[-1], SharePartitionDropped)


def test_24_a_session_that_was_closed_before_its_connection_broke_still_counts_the_members():
    """SPM.testShareGroupListener (4.2, T), with a normal close instead of the first break."""
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.acknowledge("M1", epoch=-1)
    place.coordinator()
    assert KEY in place.role.shares  # a close alone drops nothing
    place.fetch("M2", 1)
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    assert KEY in place.role.shares
    place.acknowledge("M2", epoch=-1)
    place.do(spl.on_disconnected(place.role, "M2/consumer", place.on))
    assert KEY not in place.role.shares
    assert sum(isinstance(e, SharePartitionDropped) for e in place.events) == 1


def test_25_records_that_were_released_too_often_are_not_delivered_any_more():
    """REQ.testShareAcknowledgeRequestMaxDeliveryAttemptExhausted (O24, 4.2, T)."""
    place = SharePlace(batches=[(0, 9), (10, 19)], delivery_count_limit=2).load()
    for count in (1, 2):
        place.fetch("M1", 10)
        assert list_acquired(place) == [(0, 9, count)]
        place.acknowledge("M1", batch_of(0, 9, RELEASE))
        place.coordinator()
    place.fetch("M1", 10)
    assert list_acquired(place) == [(10, 19, 1)]
    said_by_broker = KINDS[ShareFetchResponse].defaults
    assert said_by_broker["ShareFetchResponse.AcquisitionLockTimeoutMs"][0] == 30_000


def test_26_the_first_request_of_a_session_cannot_acknowledge():
    """REQ.testShareFetchInitialEpochWithAcknowledgements (O24, 4.2, T)."""
    place = SharePlace()
    assert place.fetch("M1", 10, batch_of(0, 9)).error is Errors.INVALID_REQUEST
    assert not len(place.role.sessions)
    found = place.acknowledge("M1", batch_of(0, 9), epoch=0)
    assert found.error is Errors.INVALID_SHARE_SESSION_EPOCH


def test_27_a_record_that_is_released_comes_again_and_one_that_is_accepted_does_not():
    """SCT.testExplicitAcknowledgeReleasePollAccept (O24, 4.2, T)."""
    place = SharePlace(last=0).load()
    place.fetch("M1", 500)
    assert list_acquired(place) == [(0, 0, 1)]
    place.fetch("M1", 500, batch_of(0, 0, RELEASE))
    place.coordinator()
    assert list_acquired(place) == [(0, 0, 2)]
    assert place.fetch("M1", 500, batch_of(0, 0, ACCEPT)) is None
    place.coordinator()
    assert place.share.parked  # there is nothing to deliver: it waits
    assert (place.share.start_offset, len(place.share.records)) == (1, 0)


def test_28_a_new_group_begins_at_epoch_one_and_its_first_member_has_two():
    """GMM.testShareGroupMemberIdGeneration (T; 4.2 gives epoch 1): the member chose its own id."""
    group = membership.Group(1)
    answer = group.joins("a-member-of-its-own-choice")
    assert (answer.member_id, answer.member_epoch) == ("a-member-of-its-own-choice", 2)
    (asked,) = group.sent(InitializeShareGroupState)
    assert (asked.only.state_epoch, asked.only.start_offset) == (2, -1)


def stage_record(kind, *, dead_letters=False):
    """A record that was acquired and staged, with the transactional acknowledgement in memory as the draft has it."""
    group = {"dead_letter_topic": "dlq.g1"} if dead_letters else None
    place = SharePlace(rules="as-written-broadcast", last=0, group=group).load()
    place.fetch("M1", 1)
    assert place.stage("M1", batch_of(0, 0, kind)).error is Errors.NONE
    assert place.states(0, 0) == [TXP]
    return place


def mark(place, pid=9, epoch=0, *, commit=True):
    place.do(spl.on_marker(place.role, ApplyMarkerToShares(pid, epoch, commit), place.on))
    return place.share.records.get(0)


def test_29_a_transactional_acknowledgement_ends_as_its_marker_says_and_as_no_other_marker_says():
    """[PR] InFlightStateTxnTest and RecordStateTest: the transactional acknowledgement is in memory, as in the draft."""
    for kind in (RELEASE, RENEW):
        place = SharePlace(rules="as-written-broadcast").load()
        place.fetch("M1", 1)
        assert place.stage("M1", batch_of(0, 0, kind)).error is Errors.INVALID_RECORD_STATE
    place = stage_record(ACCEPT)
    assert place.fetch("M2", 1) is None
    for pid, epoch in ((8, 0), (9, 1)):
        assert mark(place, pid, epoch).state is TXP
    assert mark(place) is None  # ACKNOWLEDGED, and the start offset is past it
    assert place.writes[-1].only.batches == (durable(0, 0, ACK),)
    archiving = mark(stage_record(REJECT, dead_letters=True))
    assert archiving.state is ARCHIVING
    assert (archiving.staged_producer_id, archiving.staged_type) == (-1, -1)
    for kind in (ACCEPT, REJECT):
        place = stage_record(kind)
        before = place.stage("M1", batch_of(0, 0, kind))
        assert before.error in (Errors.NONE, Errors.INVALID_RECORD_STATE)
        freed = mark(place, commit=False)
        assert freed.staged_producer_id == -1


def lag(world):
    """End of the source, less the SPSO, less what is done, as the leader has them in memory."""
    (share,) = shares_of(world)
    end = world.logs["src-0"].high_watermark
    return end - share.start_offset - share_partition.delivery_complete_count(share)


def test_30_lag_is_what_is_not_acknowledged_for_good():
    """[PR] ShareConsumerTransactionTest: accept and commit, accept and abort (repaired design)."""
    before = after("kip-1289-share-commit", "repaired", "TX_PENDING")
    assert lag(before) == 2
    done = after("kip-1289-share-commit", "repaired", "ACKNOWLEDGED")
    assert lag(done) == 0
    assert list_committed(done) == ["f(a)", "f(b)"]
    again = after("kip-1289-share-commit", "repaired", "consumer.poll() again")
    assert not len(shares_of(again)[0].records)
    undone = after("kip-1289-share-abort", "repaired", "The records are available again")
    assert (lag(undone), list_committed(undone)) == (2, [])
    again = after("kip-1289-share-abort", "repaired", "consumer.poll(): delivered again")
    assert [shares_of(again)[0].records[o].delivery_count for o in (100, 101)] == [2, 2]


def list_committed(world):
    """The outputs that a read_committed consumer sees."""
    log = world.logs["output-A-0"]
    return [
        record.value
        for batch in log.batches
        if not batch.control
        and batch.last_offset < log.last_stable_offset
        and not is_aborted(log, batch)
        for record in batch.records
    ]
