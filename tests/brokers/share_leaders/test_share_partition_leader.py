"""The share-partition leader: who holds which record, and for how long.

Cases from Kafka's SharePartitionTest (SP), ShareConsumerTest (SCT) and ShareFetchAcknowledge-
RequestTest (REQ); the sixty cases of the fact sheets are in tests/conformance.
"""

from __future__ import annotations

import pytest

from kipviz.brokers.context import NOBODY, ReplyTo
from kipviz.brokers.local_calls import ApplyMarkerToShares, FetchFurther
from kipviz.brokers.logs.partition_log import PartitionLog, append, replicate
from kipviz.brokers.share_leaders import (
    share_partition,
    share_sessions,
    share_timers,
    share_writes,
)
from kipviz.brokers.share_leaders import share_partition_leader as spl
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import STATUSES, SharePartition, Status
from kipviz.brokers.timers import RefusedFetchWait
from kipviz.core.table import Table
from kipviz.driving.desk import TOPIC_IDS
from kipviz.messages.errors import Errors
from kipviz.messages.events import SharePartitionDropped
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    AcquiredRecords,
)
from kipviz.messages.shares.share_state import (
    PendingBatch,
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    ReadStateResult,
    TxnWriteShareGroupState,
    TxnWriteShareGroupStateResponse,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from kipviz.records.batches import Batch
from kipviz.records.placement import partition_for
from kipviz.records.share_group_members import ShareGroupAssignmentRecord, ShareGroupEpochRecord
from kipviz.records.share_group_state import StagedBatch
from tests.brokers.coordinator_answers import enlisted
from tests.brokers.share_leaders.share_place import (
    ACCEPT,
    ACK,
    ACQ,
    ARCH,
    AVL,
    BY_GROUP,
    GAP,
    HOME,
    KEY,
    REJECT,
    RELEASE,
    STATE,
    TXP,
    SharePlace,
    batch_of,
    durable,
    list_acquired,
)
from tests.messages.shares import fetch_response, fetches

MEMBERS = f"__consumer_offsets-{partition_for('g1', 50)}"
TO_OTHER = ReplyTo("M1/other", 1, 0)

# -- loading ------------------------------------------------------------------------------------


def test_the_durable_state_is_taken_over_when_it_is_loaded():
    """SP.testMaybeInitialize."""
    place = SharePlace().load(5, durable(5, 10, AVL, 2), durable(11, 15, ARCH, 3))
    assert (place.share.start_offset, place.share.next_offset, place.share.state_epoch) == (
        5,
        16,
        3,
    )
    assert place.states(5, 15) == [AVL] * 6 + [ARCH] * 5
    assert set(place.counts(5, 10)) == {2}


def test_what_lies_between_two_durable_batches_is_delivered_again_as_the_first_time():
    """SP.testMaybeInitializeAndAcquireWithFetchBatchPriorStartOffset, the gaps."""
    place = SharePlace().load(
        10, durable(15, 18, AVL, 2), durable(20, 22, ARCH, 1), durable(26, 30, AVL, 1)
    )
    place.fetch("M1", 10)
    assert list_acquired(place) == [(10, 14, 1), (15, 18, 3), (19, 19, 1)]


def test_without_a_durable_start_offset_the_log_s_first_record_is_the_start():
    """share.auto.offset.reset=earliest, as recorded of Kafka 4.4.0."""
    place = SharePlace(first=7, last=9).load(-1)
    assert (place.share.start_offset, place.share.next_offset) == (7, 7)


def test_when_everything_is_terminal_the_share_partition_starts_behind_it():
    """SP.testMaybeInitializeWhenReadStateRpcReturnsZeroAvailableRecords."""
    place = SharePlace().load(3, durable(3, 3, ARCH), durable(4, 12, ACK))
    assert (place.share.start_offset, place.share.next_offset) == (13, 13)
    assert not len(place.share.records)


def test_a_load_that_is_refused_for_good_is_told_to_whoever_waits():
    place = SharePlace()
    assert place.fetch("M1", 5) is None
    place.coordinator(ReadShareGroupStateResponse((ReadStateResult(Errors.INVALID_REQUEST, KEY),)))
    assert place.last.error is Errors.UNKNOWN_SERVER_ERROR
    assert KEY not in place.role.shares


def test_transactional_acknowledgements_that_are_pending_are_not_delivered_by_a_new_leader():
    acknowledgement = PendingBatch(9, 0, StagedBatch(1, 2, int(ACCEPT), 1))
    place = SharePlace().load(0, pending=(acknowledgement,))
    place.fetch("M1", 3)
    assert list_acquired(place) == [(0, 0, 1), (3, 4, 1)]


# -- acquiring, acknowledging, locks -------------------------------------------------------------


def test_two_members_never_hold_the_same_record():
    place = SharePlace().load()
    place.fetch("M1", 3)
    place.fetch("M2", 3)
    assert list_acquired(place) == [(3, 5, 1)]


def test_all_batches_of_a_request_are_taken_or_none():
    """SP.testAcknowledgeRollbackWithFullBatchError."""
    place = SharePlace().load(5)
    place.fetch("M1", 15)
    every = (batch_of(5, 9, RELEASE), batch_of(10, 14), batch_of(15, 19), batch_of(15, 19))
    assert place.acknowledge_unchecked("M1", *every) is Errors.INVALID_RECORD_STATE
    assert place.states(5, 19) == [ACQ] * 15
    assert set(place.counts(5, 19)) == {1}
    assert (place.share.start_offset, place.share.next_offset) == (5, 20)
    assert not place.sent(WriteShareGroupState)


MALFORMED = {
    "a type that does not exist": (batch_of(5, 9), batch_of(10, 10, 5)),
    "a negative type": (batch_of(5, 9, -1),),
    "the largest type": (batch_of(5, 9, 127),),
    "a batch that ends before it begins": (batch_of(5, 9), batch_of(12, 11)),
    "the same where nothing is in memory any more": (batch_of(4, 3), batch_of(5, 9)),
    "a batch that begins before the end of another": (batch_of(5, 9), batch_of(8, 10)),
    "a negative offset": (batch_of(-2, 9),),
}


@pytest.mark.parametrize("batches", MALFORMED.values(), ids=MALFORMED.keys())
@pytest.mark.parametrize("request_kind", ["acknowledge", "fetch", "stage"])
def test_malformed_acknowledgements_are_an_invalid_request_of_their_partition(
    request_kind, batches
):
    """KafkaApis.validateAcknowledgementBatches; of a staging it is our inference."""
    place = SharePlace().load(5)
    place.fetch("M1", 10)
    if request_kind == "acknowledge":
        assert place.acknowledge("M1", *batches).error is Errors.INVALID_REQUEST
    elif request_kind == "fetch":
        answer = place.fetch("M1", 2, *batches)
        assert (answer.error, answer.acknowledge_error) == (Errors.NONE, Errors.INVALID_REQUEST)
        assert list_acquired(place) == [(15, 16, 1)], "the fetch goes on"
    else:
        assert place.stage("M1", *batches).error is Errors.INVALID_REQUEST
    assert place.states(5, 14) == [ACQ] * 10
    assert not place.sent(WriteShareGroupState)


def test_a_batch_may_begin_where_the_one_before_it_ends():
    """KafkaApis lets it through, and SharePartition finds the record acknowledged already."""
    place = SharePlace().load(5)
    place.fetch("M1", 10)
    assert (
        place.acknowledge("M1", batch_of(5, 9), batch_of(9, 10)).error
        is Errors.INVALID_RECORD_STATE
    )
    assert place.states(5, 14) == [ACQ] * 10


def test_a_malformed_acknowledgement_is_told_before_the_share_partition_is_looked_for():
    """KafkaApis.handleAcknowledgements, before SharePartitionManager.acknowledge."""
    place = SharePlace().load(5)
    place.role = place.role.but(shares=place.role.shares.without(KEY))
    for batch, error in (
        (batch_of(5, 9), Errors.UNKNOWN_TOPIC_OR_PARTITION),
        (batch_of(5, 9, 5), Errors.INVALID_REQUEST),
    ):
        assert place.acknowledge("M1", batch).error is error


def test_offsets_behind_what_was_acquired_are_an_invalid_request():
    """SP.testAcknowledgeOutOfRangeCachedDataFirstBatch, with one run of acquired records."""
    place = SharePlace().load()
    place.fetch("M1", 5)
    assert place.acknowledge("M1", batch_of(0, 10)).error is Errors.INVALID_REQUEST
    assert place.states(0, 4) == [ACQ] * 5


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (batch_of(3, 2), Errors.INVALID_REQUEST),
        (batch_of(0, 60), Errors.INVALID_REQUEST),
    ],
)
def test_a_batch_that_makes_no_sense_is_an_invalid_request(batch, error):
    place = SharePlace().load()
    place.fetch("M1", 5)
    assert place.acknowledge("M1", batch).error is error


def test_another_member_cannot_acknowledge_and_the_owner_cannot_twice():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.fetch("M2", 2)
    assert place.acknowledge("M2", batch_of(0, 0)).error is Errors.INVALID_RECORD_STATE
    assert place.acknowledge("M1", batch_of(0, 0)) is None
    assert place.acknowledge("M1", batch_of(0, 0)).error is Errors.INVALID_RECORD_STATE


def test_where_nothing_is_in_flight_nothing_can_be_acknowledged():
    place = SharePlace().load()
    assert place.acknowledge("M1", batch_of(0, 0)).error is Errors.INVALID_RECORD_STATE
    assert not place.writes


def test_an_acknowledgement_reaches_over_offsets_that_the_log_never_had():
    place = SharePlace(batches=((0, 1),)).load()
    place.fetch("M1", 2)
    place.grow((0, 1), (5, 6))
    place.fetch("M1", 2)
    assert tuple(place.share.records) == (0, 1, 5, 6)
    assert place.acknowledge("M1", batch_of(0, 6)) is None
    place.coordinator()
    assert place.last.error is Errors.NONE
    assert place.share.start_offset == 7


def test_what_a_member_held_below_the_log_s_start_is_forgotten_when_the_start_moves_on():
    place = SharePlace(last=2).load()
    place.fetch("M1", 3)
    place.delete_up_to(2)
    place.expire(0)
    place.coordinator()
    assert place.states(0, 2) == [ARCH, ARCH, AVL]
    assert place.share.start_offset == 2
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(2, 2))
    place.coordinator()
    assert place.share.start_offset == 3
    assert not len(place.share.records)


def test_each_type_becomes_what_it_says_and_one_write_carries_them_all():
    """Recorded of Kafka 4.4.0: start 0, complete 3, four batches, answered after the write."""
    place = SharePlace().load()
    place.fetch("M1", 4)
    answer = place.acknowledge(
        "M1", batch_of(0, 0), batch_of(1, 1, RELEASE), batch_of(2, 2, REJECT), batch_of(3, 3, GAP)
    )
    assert answer is None
    (write,) = place.sent(WriteShareGroupState)
    assert (
        write.only.start_offset,
        write.only.delivery_complete_count,
        write.only.state_epoch,
    ) == (0, 3, 3)
    assert [(b.first, b.state, b.delivery_count) for b in write.only.batches] == [
        (0, ACK, 1),
        (1, AVL, 1),
        (2, ARCH, 1),
    ]
    assert write.only.batches[-1].last == 3
    place.coordinator()
    assert place.last.error is Errors.NONE
    assert (place.share.start_offset, place.states(1, 3)) == (1, [AVL, ARCH, ARCH])


def test_a_record_that_is_released_is_delivered_once_more_and_then_accepted():
    """SCT.testExplicitAcknowledgeReleasePollAccept."""
    place = SharePlace(last=0).load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0, RELEASE))
    place.coordinator()
    place.fetch("M1", 1)
    assert list_acquired(place) == [(0, 0, 2)]
    place.acknowledge("M1", batch_of(0, 0))
    place.coordinator()
    assert place.fetch("M1", 1) is None  # it waits: there is nothing left


def test_a_release_at_the_limit_archives():
    """REQ.testShareAcknowledgeRequestMaxDeliveryAttemptExhausted."""
    place = SharePlace(last=19, delivery_count_limit=2).load()
    for _ in range(2):
        place.fetch("M1", 10)
        assert list_acquired(place)[0][:2] == (0, 9)
        place.acknowledge("M1", batch_of(0, 9, RELEASE))
        place.coordinator()
    place.fetch("M1", 10)
    assert list_acquired(place) == [(10, 19, 1)]
    assert place.share.start_offset == 10


def test_a_lock_that_runs_out_at_the_limit_archives_and_the_start_waits_for_what_is_before():
    """SP.testAcquisitionLockTimeoutCauseMaxDeliveryCountExceed."""
    place = SharePlace(delivery_count_limit=2).load()
    place.fetch("M1", 10)
    place.fetch("M1", 10)
    place.expire(10)
    place.coordinator()
    assert (place.states(10, 19), set(place.counts(10, 19))) == ([AVL] * 10, {1})
    place.fetch("M1", 10)
    place.expire(10)
    place.coordinator()
    assert (place.states(10, 19), set(place.counts(10, 19))) == ([ARCH] * 10, {2})
    place.expire(0)
    assert place.share.start_offset == 0
    place.coordinator()
    place.fetch("M1", 10)
    assert list_acquired(place) == [(0, 9, 2)]


def test_a_lock_that_runs_out_can_move_the_start_offset():
    """SP.testAcquisitionLockTimeoutCauseSPSOMoveForward."""
    place = SharePlace(delivery_count_limit=2).load()
    place.fetch("M1", 10)
    place.expire(0)
    place.coordinator()
    place.fetch("M1", 5)
    assert list_acquired(place) == [(0, 4, 2)]
    place.expire(0)
    place.coordinator()
    assert place.share.start_offset == 5
    assert (place.states(5, 9), set(place.counts(5, 9))) == ([AVL] * 5, {1})


def test_a_lock_that_runs_out_while_the_write_is_under_way_decides_what_a_failure_leaves():
    """SP.testRecordArchivedWithWriteStateRPCFailure."""
    place = SharePlace(delivery_count_limit=2).load(7)
    place.fetch("M1", 5)
    place.acknowledge("M1", batch_of(7, 11))
    place.refuses(Errors.INVALID_REQUEST)
    assert place.last.error is Errors.UNKNOWN_SERVER_ERROR
    assert (place.states(7, 11), set(place.counts(7, 11))) == ([ACQ] * 5, {1})
    place.expire(7)
    place.coordinator()
    assert place.states(7, 11) == [AVL] * 5
    place.fetch("M1", 5)
    place.acknowledge("M1", batch_of(7, 11))
    place.expire(7)
    assert place.states(7, 11) == [ACK] * 5
    assert not share_timers.locks(place.role, place.on)  # the timer is a one-shot
    place.refuses(Errors.INVALID_REQUEST)
    assert (place.states(7, 11), set(place.counts(7, 11))) == ([ARCH] * 5, {2})


def test_a_lock_that_runs_out_while_a_write_is_under_way_changes_nothing_if_it_succeeds():
    """SP.testAcquisitionLockTimeoutWithConcurrentAcknowledgement."""
    place = SharePlace().load()
    place.fetch("M1", 5)
    place.acknowledge("M1", batch_of(0, 0, RELEASE), batch_of(1, 1))
    place.expire(0)
    assert place.states(0, 4) == [AVL, ACK, AVL, AVL, AVL]
    place.coordinator()  # the acknowledgements
    place.coordinator()  # what the lock's end wrote
    assert place.share.records[1].state is ACK
    assert place.states(2, 4) == [AVL] * 3
    assert place.share.start_offset == 0


def test_a_record_whose_release_is_not_durable_yet_is_not_delivered():
    place = SharePlace(last=0).load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0, RELEASE))
    assert place.fetch("M2", 1) is None
    place.coordinator()
    assert list_acquired(place) == [(0, 0, 2)]


def test_the_span_of_records_in_flight_is_limited_whatever_became_of_them():
    """SP.testMaybeUpdateCachedStateWhenAcknowledgementsInBetween; finding P."""
    place = SharePlace(record_locks_max=20).load()
    place.fetch("M1", 15)
    place.fetch("M1", 15)
    assert list_acquired(place) == [(15, 19, 1)]
    place.acknowledge("M1", batch_of(10, 14, REJECT))
    place.coordinator()
    assert place.share.start_offset == 0
    assert place.fetch("M2", 5) is None
    place.acknowledge("M1", batch_of(0, 4))
    place.coordinator()
    assert list_acquired(place) == [(20, 24, 1)]


def test_two_acquisitions_never_share_a_lock():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0, RELEASE))
    place.coordinator()
    place.fetch("M2", 1)
    place.expire(0)
    assert place.states(0, 1) == [ACQ, AVL]
    assert place.share.records[0].member_id == "M2"


def test_the_offset_of_a_marker_is_acquired_and_brings_no_record():
    place = SharePlace(last=1).load()
    log = place.logs["src-0"]
    end = Batch(log.end_offset, (), 4, 1, transactional=True, control="COMMIT")
    place.logs["src-0"] = replicate(append(log, end))
    place.fetch("M1", 5)
    assert list_acquired(place) == [(0, 2, 1)]
    assert [r.offset for r in place.last.records] == [0, 1]


def test_acknowledgements_that_come_with_a_fetch_are_durable_before_it_is_answered():
    place = SharePlace().load()
    place.fetch("M1", 2)
    assert place.fetch("M1", 2, batch_of(0, 1)) is None
    place.coordinator()
    assert place.last.acknowledge_error is Errors.NONE
    assert place.last.acquired == (AcquiredRecords(2, 3, 1),)


def test_a_fetch_whose_acknowledgements_fail_says_so():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.fetch("M1", 2, batch_of(0, 1))
    place.refuses(Errors.UNKNOWN_SERVER_ERROR)
    assert place.last.acknowledge_error is Errors.UNKNOWN_SERVER_ERROR
    assert place.states(0, 1) == [ACQ] * 2


def test_a_fetch_whose_acknowledgements_are_all_below_the_start_waits_for_no_write():
    """Another write may be under way: it is not this fetch's."""
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 1))
    place.coordinator()
    place.fetch("M1", 1)
    place.fetch("M1", 1)
    place.expire(2)
    answer = place.fetch("M1", 1, batch_of(0, 1))
    assert answer is not None
    assert answer.acknowledge_error is Errors.NONE


def test_acknowledgements_for_a_share_partition_that_was_forgotten_are_unknown():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.do(spl.on_leadership_lost(place.role, "src-0", place.on))
    answer = place.acknowledge("M1", batch_of(0, 1))
    assert answer.error is Errors.UNKNOWN_TOPIC_OR_PARTITION


# -- sessions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "epoch", "known", "error"),
    [
        ("fetch", 1, False, Errors.SHARE_SESSION_NOT_FOUND),
        ("fetch", 2, True, Errors.INVALID_SHARE_SESSION_EPOCH),
        ("fetch", 0, True, Errors.NONE),
        ("acknowledge", 0, True, Errors.INVALID_SHARE_SESSION_EPOCH),
        ("acknowledge", 0, False, Errors.INVALID_SHARE_SESSION_EPOCH),
        ("acknowledge", 1, False, Errors.SHARE_SESSION_NOT_FOUND),
        ("acknowledge", 7, True, Errors.INVALID_SHARE_SESSION_EPOCH),
        ("acknowledge", -1, False, Errors.SHARE_SESSION_NOT_FOUND),
        ("acknowledge", 1, True, Errors.NONE),
        ("acknowledge", -1, True, Errors.NONE),
    ],
)
def test_the_session_machine(kind, epoch, known, error):
    """Sheet 3.2, ShareSessionContext; the session of M1 expects epoch 1."""
    place = SharePlace().load()
    member = "M1" if known else "M9"
    place.epochs[member] = epoch
    fetches = kind == "fetch"
    answer = place.fetch(member, 1) if fetches else place.acknowledge(member, epoch=epoch)
    assert answer.error is error


def test_the_epoch_of_a_session_goes_on_at_1_behind_the_last_one():
    """ShareRequestMetadata.nextEpoch: 0 would open another session."""
    place = SharePlace().load()
    last = 2**31 - 1
    who = ("g1", "M1")
    known = place.role.sessions[who]
    place.role = place.role.but(sessions=place.role.sessions.set(who, known.but(epoch=last)))
    assert place.acknowledge("M1", epoch=last).error is Errors.NONE
    assert place.role.sessions[who].epoch == 1


def test_a_broker_with_as_many_sessions_as_it_may_have_refuses_another_member():
    """ShareSessionCache.maybeCreateSession: nobody's session is taken away, and the refusal takes its time."""
    place = SharePlace().load()
    place.settings = place.settings.but(share_sessions_max=1)
    place.epochs["M2"] = 0
    assert place.fetch("M2", 1) is None
    place.epochs["M3"] = 0
    assert place.fetch("M3", 1) is None
    waits = share_sessions.delays(place.role)
    assert waits == (RefusedFetchWait("M2"), RefusedFetchWait("M3"))
    place.do(share_sessions.on_delay(place.role, waits[1], place.on))
    assert place.last == fetch_response(Errors.SHARE_SESSION_LIMIT_REACHED, "src-0")
    place.do(spl.on_disconnected(place.role, "M2/consumer", place.on))
    assert share_sessions.delays(place.role) == ()
    hurried = fetches("M4", 0, "src-0", 1, max_wait_ms=0)
    answer = place.ask(spl.on_share_fetch, hurried, "M4/consumer")
    assert answer.error is Errors.SHARE_SESSION_LIMIT_REACHED
    assert place.role.sessions.keys() == (("g1", "M1"),)
    place.epochs["M1"] = 0
    place.fetch("M1", 1)
    assert place.role.sessions["g1", "M1"].epoch == 1  # its own place is its own


def test_a_first_fetch_cannot_bring_acknowledgements():
    """REQ.testShareFetchInitialEpochWithAcknowledgements."""
    place = SharePlace().load()
    answer = place.fetch("M2", 1, batch_of(0, 0))
    assert answer.error is Errors.INVALID_REQUEST
    assert ("g1", "M2") not in place.role.sessions


def test_a_session_that_is_closed_gives_back_what_the_member_holds_and_no_more():
    """SP.testReleaseAcquiredRecordsDoNotDecreaseDeliveryCount, without log-start movement."""
    place = SharePlace().load(5)
    place.fetch("M1", 10)
    place.fetch("M2", 2)
    place.acknowledge("M1", batch_of(12, 13))
    place.coordinator()
    place.acknowledge("M1", epoch=-1)
    write = place.sent(WriteShareGroupState)[-1]
    assert [(b.first, b.last, b.state, b.delivery_count) for b in write.only.batches] == [
        (5, 11, AVL, 1),
        (14, 14, AVL, 1),
    ]
    place.coordinator()
    assert place.states(5, 16) == [AVL] * 7 + [ACK] * 2 + [AVL] + [ACQ] * 2
    assert set(place.counts(5, 11)) == {1}


def test_a_member_whose_connection_breaks_waits_no_more_and_the_other_members_do():
    place = SharePlace().load()
    place.fetch("M1", 1_000)
    for member in ("M2", "M3"):
        assert place.fetch(member, 1) is None
    assert [p.request.member_id for p in place.share.parked] == ["M2", "M3"]
    place.do(spl.on_disconnected(place.role, "M2/consumer", place.on))
    assert [p.request.member_id for p in place.share.parked] == ["M3"]


def test_a_release_whose_write_fails_leaves_the_records_with_the_member_until_the_lock_runs_out():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.fetch("M2", 1)
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    assert place.states(0, 1) == [AVL] * 2
    place.refuses(Errors.UNKNOWN_SERVER_ERROR)
    assert place.states(0, 1) == [ACQ] * 2
    place.expire(0)
    assert place.states(0, 1) == [AVL] * 2


def test_when_the_last_member_is_gone_its_share_partitions_are_forgotten():
    """SPM.testShareGroupListener."""
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.fetch("M2", 1)
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    assert KEY in place.role.shares
    place.do(spl.on_disconnected(place.role, "M2/consumer", place.on))
    assert KEY not in place.role.shares
    assert isinstance(place.events[-1], SharePartitionDropped)


# -- the share coordinator is slow, gone, or led elsewhere --------------------------------------


def test_a_request_on_a_broken_connection_is_repeated_and_fails_after_five_attempts():
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0))
    for _ in range(4):
        place.do(spl.on_state_lost(place.role, KEY, "0", place.on))
    assert len(place.sent(WriteShareGroupState)) == 5
    place.do(spl.on_state_lost(place.role, KEY, "0", place.on))
    assert place.last.error is Errors.UNKNOWN_SERVER_ERROR
    assert place.states(0, 0) == [ACQ]


@pytest.mark.parametrize(
    ("said_by_it", "told"),
    [
        (Errors.INVALID_REQUEST, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.GROUP_ID_NOT_FOUND, Errors.GROUP_ID_NOT_FOUND),
        (Errors.FENCED_STATE_EPOCH, Errors.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_what_the_share_coordinator_says_is_put_into_errors_that_a_client_may_hear(
    said_by_it, told
):
    """SharePartition.fetchPersisterError, for ShareAcknowledge and ShareFetch alike."""
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0))
    place.refuses(said_by_it)
    assert place.last.error is told
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.fetch("M1", 1, batch_of(0, 0))
    place.refuses(said_by_it)
    assert told in (place.last.error, place.last.acknowledge_error)


@pytest.mark.parametrize(
    ("said_by_it", "told"),
    [
        (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_the_share_coordinator_says_five_times_is_told_then(said_by_it, told):
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.acknowledge("M1", batch_of(0, 0))
    for _ in range(5):
        place.refuses(said_by_it)
    assert place.last.error is told


def test_without_a_coordinator_a_request_waits_and_is_sent_once_when_there_is_one():
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.leaders[STATE] = NOBODY
    place.acknowledge("M1", batch_of(0, 0))
    assert not place.sent(WriteShareGroupState)
    place.leaders[STATE] = 5
    place.do(spl.on_image_changed(place.role, place.on))
    place.do(spl.on_image_changed(place.role, place.on))
    assert [r.broker for r in place.requests[1:]] == [5]


def test_requests_of_one_share_partition_go_one_after_the_other():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0))
    place.acknowledge("M1", batch_of(1, 1))
    assert len(place.sent(WriteShareGroupState)) == 1
    place.coordinator()
    assert [w.only.start_offset for w in place.sent(WriteShareGroupState)] == [0, 0]
    place.coordinator()
    assert place.share.start_offset == 2


@pytest.mark.parametrize("error", [Errors.FENCED_LEADER_EPOCH, Errors.FENCED_STATE_EPOCH])
def test_a_leader_that_is_fenced_forgets_the_share_partition(error):
    place = SharePlace().load()
    place.fetch("M1", 1)
    place.fetch("M2", 5)
    place.acknowledge("M1", batch_of(0, 0))
    place.refuses(error)
    assert place.last.error is Errors.NOT_LEADER_OR_FOLLOWER
    assert KEY not in place.role.shares


def test_a_write_that_is_under_way_when_the_leadership_is_lost_still_gets_its_answer():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0))
    place.acknowledge("M1", batch_of(1, 1))
    answered = len(place.replies)
    place.do(spl.on_leadership_lost(place.role, "src-0", place.on))
    (dropped,) = place.role.leaving.values()
    assert dropped.status is Status.FENCED
    place.coordinator()
    place.coordinator()
    assert [m.error for _, m in place.replies[answered:]] == [Errors.NONE] * 2
    assert not len(place.role.leaving)


def test_every_status_of_kafka_has_its_place_and_what_is_in_use_becomes_nothing_but_fenced():
    assert list(STATUSES) == list(Status)
    assert {after for each in STATUSES.values() for after in each} == {*Status} - {Status.EMPTY}
    assert STATUSES[Status.ACTIVE] == (Status.FENCED,)
    assert SharePartition("k", "g1", "src-0", 0).status is Status.INITIALIZING


def test_an_answer_for_a_share_partition_that_was_dropped_is_not_taken_for_its_successor_s():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 0))
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    place.epochs.clear()
    place.fetch("M2", 2)
    assert isinstance(place.requests[-1].message, ReadShareGroupState)
    assert place.requests[-1].tag == "1"
    place.coordinator(WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),)), tag="0")
    assert place.share.status == "INITIALIZING"
    place.coordinator(
        ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 3, 1),)), tag="1"
    )
    assert list_acquired(place) == [(1, 2, 1)]


def test_a_write_that_fails_after_the_leadership_is_lost_is_told_and_moves_no_record():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.acknowledge("M1", batch_of(0, 1))
    place.do(spl.on_leadership_lost(place.role, "src-0", place.on))
    seen = len(place.events)
    place.refuses(Errors.GROUP_ID_NOT_FOUND)
    assert place.last.error is Errors.GROUP_ID_NOT_FOUND
    assert len(place.events) == seen
    assert not len(place.role.leaving)


def test_a_write_of_a_dropped_share_partition_waits_for_a_coordinator_too():
    place = SharePlace().load()
    place.fetch("M1", 2)
    place.leaders[STATE] = NOBODY
    place.acknowledge("M1", batch_of(0, 1))
    place.do(spl.on_leadership_lost(place.role, "src-0", place.on))
    assert not place.writes
    place.leaders[STATE] = 7
    place.do(spl.on_image_changed(place.role, place.on))
    assert len(place.writes) == 1
    place.coordinator()
    assert place.last.error is Errors.NONE
    assert not len(place.role.leaving)


def test_an_answer_that_nobody_waits_for_any_more_changes_nothing():
    place = SharePlace().load()
    answer = WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, KEY),))
    before, asked = place.role, len(place.requests)
    place.do(spl.on_state_answered(place.role, KEY, "8", answer, place.on))
    place.do(spl.on_state_lost(place.role, KEY, "8", place.on))
    assert (place.role, len(place.requests)) == (before, asked)


def test_a_fetch_that_goes_on_where_another_broker_leads_is_sent_there():
    place = SharePlace().load()
    place.leaders["src-0"] = 2
    to, request = ReplyTo("M1/consumer", 1, 0), fetches("M1", 1, "src-0", 1)
    place.do(spl.on_fetch_further(place.role, FetchFurther(request, to), place.on))
    assert place.answer_to(to) == fetch_response(Errors.NOT_LEADER_OR_FOLLOWER, "src-0")


def test_a_member_that_goes_leaves_the_share_partitions_of_other_groups_alone():
    place = SharePlace().load()
    place.fetch("M1", 2)
    other = f"g2:{TOPIC_IDS['src']}:0"
    place.leaders[f"__share_group_state-{partition_for(other, 50)}"] = 7
    opening = fetches("M1", 0, "src-0", 2, group_id="g2")
    place.ask(spl.on_share_fetch, opening, "M1/other")
    loaded = ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, other, 3, 0),))
    place.do(spl.on_state_answered(place.role, other, "0", loaded, place.on))
    place.do(spl.on_share_fetch(place.role, opening.but(session_epoch=1), TO_OTHER, place.on))
    kept = place.role.shares[other]
    assert kept.records[0].member_id == "M1"
    place.fetch("M2", 0)
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    assert place.states(0, 1) == [AVL, AVL]
    assert place.role.shares[other] == kept


# -- staging (KIP-1289) -------------------------------------------------------------------------


def hold_three(rules="repaired", **settings):
    place = SharePlace(rules=rules, **settings).load()
    place.fetch("M1", 3)
    return place


def test_a_transactional_acknowledgement_is_promised_when_it_is_durable_and_then_pins_the_record():
    """[PR] InFlightStateTxnTest: staging cancels the lock."""
    place = hold_three()
    assert place.stage("M1", batch_of(0, 1)) is None
    (write,) = place.sent(TxnWriteShareGroupState)
    assert write.staged == (StagedBatch(0, 1, int(ACCEPT), 1),)
    assert write.start_offset == 0
    place.coordinator()
    assert place.last.error is Errors.NONE
    assert place.states(0, 2) == [TXP, TXP, ACQ]
    place.expire(0)
    assert place.states(0, 2) == [TXP, TXP, AVL]
    assert share_timers.why_no_lock_expiry(place.role, KEY, 0, place.on) is not None


@pytest.mark.parametrize("kind", [GAP, RELEASE, AcknowledgeType.RENEW])
def test_only_accept_and_reject_can_be_staged(kind):
    """KIP-1289 corner case 10."""
    place = hold_three()
    assert place.stage("M1", batch_of(0, 0, kind)).error is Errors.INVALID_RECORD_STATE
    assert place.states(0, 0) == [ACQ]


def test_one_record_that_cannot_be_staged_stops_them_all():
    """KIP-1289 corner case 11."""
    place = hold_three()
    place.fetch("M2", 1)
    assert place.stage("M1", batch_of(2, 3)).error is Errors.INVALID_RECORD_STATE
    assert place.states(2, 3) == [ACQ, ACQ]


def test_a_staging_for_a_partition_that_another_broker_leads_is_sent_there():
    place = hold_three()
    place.leaders["src-0"] = 2
    assert place.stage("M1", batch_of(0, 0)).error is Errors.NOT_LEADER_OR_FOLLOWER
    assert place.states(0, 0) == [ACQ]


def test_only_what_the_log_says_of_the_group_itself_is_held_against_the_member_s_epoch():
    place = hold_three("repaired+member_epoch=the_current_one")
    place.leaders[MEMBERS] = 1
    log = PartitionLog(MEMBERS)
    for name, epoch in (("g1", 2), ("g2", 7)):
        records = (
            ShareGroupEpochRecord(name, epoch),
            ShareGroupAssignmentRecord(name, "M1", epoch, epoch - 1, ("src-0",)),
        )
        log = append(log, Batch(log.end_offset, records))
    place.logs[MEMBERS] = replicate(log)
    assert place.stage("M1", batch_of(0, 0)) is None
    assert place.sent(TxnWriteShareGroupState)


@pytest.mark.parametrize(
    ("records", "error"),
    [
        ((), Errors.NONE),  # the group has had no members: it is of the old kind
        ((ShareGroupEpochRecord("g1", 3),), Errors.UNKNOWN_MEMBER_ID),
        (
            (
                ShareGroupEpochRecord("g1", 3),
                ShareGroupAssignmentRecord("g1", "M2", 3, 2, ("src-0",)),
            ),
            Errors.UNKNOWN_MEMBER_ID,
        ),
        (
            (
                ShareGroupEpochRecord("g1", 3),
                ShareGroupAssignmentRecord("g1", "M1", 3, 2, ("src-0",)),
            ),
            Errors.STALE_MEMBER_EPOCH,
        ),
    ],
)
def test_in_a_group_that_has_members_a_transactional_acknowledgement_needs_the_epoch_of_its_own(
    records, error
):
    place = hold_three("repaired+member_epoch=the_current_one")
    place.leaders[MEMBERS] = 1
    log = PartitionLog(MEMBERS)
    place.logs[MEMBERS] = replicate(append(log, Batch(0, records)) if records else log)
    answer = place.stage("M1", batch_of(0, 0))
    assert (answer.error if answer else Errors.NONE) is error


def test_a_staged_record_cannot_be_acquired_nor_acknowledged_nor_released_with_its_member():
    place = hold_three(last=2)
    place.stage("M1", batch_of(0, 2))
    place.coordinator()
    assert place.fetch("M2", 3) is None
    assert place.acknowledge("M1", batch_of(0, 0)).error is Errors.INVALID_RECORD_STATE
    place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    assert place.states(0, 2) == [TXP] * 3


def test_a_lock_that_gives_a_staged_record_to_its_member_leaves_no_timer():
    """Finding X32, corner case 6 by the letter: ACQUIRED, and nobody can acquire it, ever."""
    place = hold_three("finding-X32", last=2)
    lock = place.share.records[0].lock
    place.stage("M1", batch_of(0, 2))
    place.coordinator()
    assert place.states(0, 2) == [TXP] * 3
    place.expire(lock)
    assert place.states(0, 2) == [ACQ] * 3
    records = [place.share.records[offset] for offset in range(3)]
    told = {(each.member_id, each.lock, each.staged_producer_id) for each in records}
    assert told == {("M1", -1, -1)}
    assert share_timers.why_no_lock_expiry(place.role, KEY, lock, place.on) is not None
    assert place.fetch("M2", 3) is None


def test_a_transactional_acknowledgement_that_could_not_be_made_durable_gives_the_record_back_to_the_member():
    place = hold_three()
    place.stage("M1", batch_of(0, 0))
    place.coordinator(TxnWriteShareGroupStateResponse(Errors.CONCURRENT_TRANSACTIONS, KEY))
    assert place.last.error is Errors.CONCURRENT_TRANSACTIONS
    assert place.states(0, 0) == [ACQ]
    assert place.share.records[0].member_id == "M1"


def test_the_same_staging_again_is_answered_once_the_transactional_acknowledgement_is_durable():
    """Finding K: a lost answer must not abort a healthy transaction."""
    place = hold_three()
    place.stage("M1", batch_of(0, 0), source="p")
    assert place.stage("M1", batch_of(0, 0), source="p") is None
    place.coordinator()
    assert [error_of_response(m) for _, m in place.replies[-1:]] == [Errors.NONE]
    assert place.stage("M1", batch_of(0, 0)).error is Errors.NONE
    assert len(place.sent(TxnWriteShareGroupState)) == 1


def test_as_written_the_same_staging_again_is_an_invalid_record_state():
    place = hold_three("repaired+stage_retry=invalid_record_state")
    place.stage("M1", batch_of(0, 0))
    assert place.stage("M1", batch_of(0, 0)).error is Errors.INVALID_RECORD_STATE
    place.coordinator()
    assert place.stage("M1", batch_of(0, 0)).error is Errors.INVALID_RECORD_STATE


@pytest.mark.parametrize(
    ("outcome", "state", "start"), [(ACK, ACK, 1), (ARCH, ARCH, 1), (AVL, AVL, 0)]
)
def test_what_became_of_a_transactional_acknowledgement_is_looked_up_at_the_share_coordinator(
    outcome, state, start
):
    place = hold_three()
    place.stage("M1", batch_of(0, 0))
    place.coordinator()
    assert share_timers.why_no_refresh(place.role, KEY, place.on) is None
    place.do(spl.on_refresh(place.role, KEY, place.on))
    acknowledgement = PendingBatch(9, 0, StagedBatch(0, 0, int(ACCEPT), 1))
    undecided = ReadShareGroupStateResponse(
        (ReadStateResult(Errors.NONE, KEY, 3, 0, (), (acknowledgement,)),)
    )
    place.coordinator(undecided)
    assert place.states(0, 0) == [TXP]
    place.do(spl.on_refresh(place.role, KEY, place.on))
    decided = (durable(0, 0, outcome, 1),)
    place.coordinator(
        ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, 3, 0, decided),))
    )
    assert place.share.start_offset == start
    if state is AVL:
        assert place.states(0, 0) == [AVL]


@pytest.mark.parametrize("state_epoch", [3, 4])
def test_a_transactional_acknowledgement_of_which_the_state_has_no_word_any_more_ends_with_what_was_loaded(
    state_epoch,
):
    """The group was reset behind the leader: no later read would have an outcome for the transactional acknowledgement."""
    place = hold_three()
    place.stage("M1", batch_of(0, 0))
    place.coordinator()
    place.do(spl.on_refresh(place.role, KEY, place.on))
    place.coordinator(
        ReadShareGroupStateResponse((ReadStateResult(Errors.NONE, KEY, state_epoch, 1),))
    )
    assert KEY not in place.role.shares
    (dropped,) = [e for e in place.events if isinstance(e, SharePartitionDropped)]
    assert dropped.because == "its state was created again meanwhile"


def test_a_look_that_finds_no_state_ends_what_was_loaded_and_one_that_fails_does_not():
    """The state was deleted behind the leader (our inference)."""
    place = hold_three()
    place.stage("M1", batch_of(0, 0))
    place.coordinator()
    place.do(spl.on_refresh(place.role, KEY, place.on))
    place.coordinator(ReadShareGroupStateResponse((ReadStateResult(Errors.INVALID_REQUEST, KEY),)))
    assert KEY not in place.role.shares
    (dropped,) = [e for e in place.events if isinstance(e, SharePartitionDropped)]
    assert dropped.because == "its state was deleted meanwhile"
    place = hold_three()
    place.stage("M1", batch_of(0, 0))
    place.coordinator()
    place.do(spl.on_refresh(place.role, KEY, place.on))
    place.coordinator(
        ReadShareGroupStateResponse((ReadStateResult(Errors.UNKNOWN_SERVER_ERROR, KEY),))
    )
    assert KEY in place.role.shares


def test_a_newer_state_epoch_ends_what_was_loaded_whatever_else_it_says():
    place = hold_three()
    place.stage("M1", batch_of(0, 0))
    place.coordinator()
    place.do(spl.on_refresh(place.role, KEY, place.on))
    newer = ReadShareGroupStateResponse(
        (ReadStateResult(Errors.NONE, KEY, 4, 0, (durable(0, 0, AVL, 1),)),)
    )
    place.coordinator(newer)
    assert KEY not in place.role.shares


def test_a_share_partition_with_a_transactional_acknowledgement_is_not_forgotten_with_its_last_member():
    """Finding X5; Kafka's onGroupEmpty would forget it."""
    kept, dropped = hold_three(), hold_three("repaired+eviction=allowed")
    for place in (kept, dropped):
        place.stage("M1", batch_of(0, 0))
        place.coordinator()
        place.do(spl.on_disconnected(place.role, "M1/consumer", place.on))
    assert KEY in kept.role.shares
    assert KEY not in dropped.role.shares


def as_written_enlisted(place, error=Errors.NONE):
    (asked,) = place.requests[-1:]
    answer = enlisted(error, "t", 9, 0, asked.message.transactions[0].partitions)
    place.do(spl.on_enlisted(place.role, answer, place.on))


def test_as_written_a_transactional_acknowledgement_is_in_memory_once_the_group_s_partition_is_enlisted():
    place = hold_three("as-written")
    assert place.stage("M1", batch_of(0, 0)) is None
    assert place.requests[-1].message.transactions[0].partitions == (BY_GROUP,)
    assert place.states(0, 0) == [ACQ]
    as_written_enlisted(place)
    assert place.last.error is Errors.NONE
    assert place.states(0, 0) == [TXP]
    assert not place.sent(TxnWriteShareGroupState)
    place.expire(0)
    assert place.states(0, 0) == [AVL]


def test_as_written_a_staging_that_waits_twice_is_answered_by_the_rule_for_repeats():
    place = hold_three("as-written")
    place.stage("M1", batch_of(0, 0), source="old")
    place.stage("M1", batch_of(0, 0), source="new")
    as_written_enlisted(place)
    told = [error_of_response(m) for _, m in place.replies[-2:]]
    assert told == [Errors.NONE, Errors.INVALID_RECORD_STATE]


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (Errors.NOT_COORDINATOR, Errors.NOT_COORDINATOR),
        (Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH),
    ],
)
def test_as_written_a_refused_enlistment_stages_nothing(error, seen):
    """KIP-1289 corner cases 2 and 3."""
    place = hold_three("as-written")
    place.stage("M1", batch_of(0, 0))
    as_written_enlisted(place, error)
    assert place.last.error is seen
    assert place.states(0, 0) == [ACQ]


def test_as_written_a_staging_whose_transaction_has_no_coordinator_now_is_refused_at_once():
    place = hold_three("as-written")
    place.leaders[HOME] = NOBODY
    assert place.stage("M1", batch_of(0, 0)).error is Errors.COORDINATOR_NOT_AVAILABLE
    assert place.states(0, 0) == [ACQ]


def test_a_start_offset_in_a_gap_goes_by_the_record_before_it_and_not_by_one_behind():
    before, behind = InFlight(ACK, 1), InFlight(ACQ, 1, "M1", 7)
    share = SharePlace().load().share
    share = share.but(records=Table.of({3: before, 7: behind}), start_offset=5, next_offset=8)
    assert share_partition.advance_start(share).start_offset == 7
    held = share.but(records=Table.of({3: behind, 7: before}))
    assert share_partition.advance_start(held).start_offset == 5


def test_a_renewal_that_is_being_written_is_not_given_back_when_the_member_is_gone():
    place = SharePlace().load()
    place.fetch("M1", 2)
    ongoing = place.share.records[0].but(ongoing=True)
    share = place.share.but(records=place.share.records.set(0, ongoing))
    left = share_writes.release(share, "M1", place.on)
    assert left.state.records[0] == ongoing
    assert left.state.records[1].state is AVL


def test_a_marker_decides_its_producer_s_transactional_acknowledgements_behind_those_of_another_one():
    place = SharePlace(rules="as-written").load()
    place.fetch("M1", 3)
    acknowledgements = [
        InFlight(TXP, 1, staged_producer_id=8, staged_producer_epoch=0, staged_type=1),
        InFlight(TXP, 1, staged_producer_id=9, staged_producer_epoch=7, staged_type=1),
        InFlight(TXP, 1, staged_producer_id=9, staged_producer_epoch=0, staged_type=1),
    ]
    share = place.share.but(records=Table.of(dict(enumerate(acknowledgements))))
    done = share_writes.apply_marker(share, ApplyMarkerToShares(9, 0, committed=True), place.on)
    assert dict(done.state.records.items()) == {
        0: acknowledgements[0],
        1: acknowledgements[1],
        2: done.state.records[2],
    }
    assert done.state.records[2].state is ACK
