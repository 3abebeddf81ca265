"""Kafka's own test cases of the transaction protocol, one each, asked of the model.

Each docstring names the test in Kafka's sources that the case comes from. All of them were read in
Kafka's trunk of August 2026 (4.5-SNAPSHOT) and hold for 4.4, the release that the model follows,
unless a docstring says another version. TMT is TransactionMetadataTest, TCT
TransactionCoordinatorTest, TSM TransactionStateManagerTest, MCM TransactionMarkerChannelManagerTest,
MRH TransactionMarkerRequestCompletionHandlerTest, PSM ProducerStateManagerTest, ULT UnifiedLogTest,
OMM OffsetMetadataManagerTest and TMgr TransactionManagerTest.
"""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import error_of
from kipviz.brokers.context import MarkersOf
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_coordinator import GroupCoordinator
from kipviz.brokers.logs import partition_log as logs
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_checks import end_txn_checks, identity_checks
from kipviz.brokers.transactions.transaction_metadata import (
    Identity,
    TransactionMetadata,
    next_identity,
)
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.sending import producer as clients
from kipviz.designs.catalogue import REPAIRED
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    TWO_PHASE,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    InitProducerIdResponse,
    PartitionResult,
    TxnMarkerResult,
    TxnPartitions,
    WriteTxnMarkers,
)
from kipviz.records.batches import ABORT, COMMIT, Batch, DataRecord
from kipviz.records.consumer_offsets import MemberRecord, OffsetCommitRecord
from kipviz.records.placement import partition_for
from kipviz.records.transaction_state import TransactionState
from tests.brokers.coordinator_answers import enlisted
from tests.clients.parts import begin_transaction, init_transactions, producer_of
from tests.messages import offset_fetches

S = TransactionState
HOME = "__transaction_state-0"
OFFSETS = "__consumer_offsets-0"
PID, FRESH = 4, 9
RULES = REPAIRED.broker_rules()


# -- one transactional id -----------------------------------------------------------------------


def stored_transaction(state: TransactionState, epoch: int, last: int = -1, **more: object):
    """What a coordinator holds of the transactional id t."""
    known = TransactionMetadata("t", PID, epoch, state, last_producer_epoch=last)
    return known.but(**more)


def make_request(producer_id: int = -1, epoch: int = -1) -> InitProducerId:
    return InitProducerId("t", producer_id=producer_id, producer_epoch=epoch)


def test_01_the_first_epoch_of_a_producer_id_is_0():
    """TMT.testInitializeEpoch."""
    assert next_identity(stored_transaction(S.EMPTY, -1), make_request(), FRESH) == Identity(
        PID, 0, -1
    )


def test_02_whoever_asks_without_an_expected_epoch_gets_the_next_one():
    """TMT.testNormalEpochBump."""
    assert next_identity(stored_transaction(S.EMPTY, 735, 734), make_request(), FRESH) == Identity(
        PID, 736, -1
    )


def test_03_the_epoch_behind_the_last_one_is_never_given_to_a_client():
    """TMT.testBumpEpochNotAllowedIfEpochsExhausted: there, an increment at 32766 is an
    IllegalStateException, and its caller takes a fresh producer id before it comes to that.
    """
    last = stored_transaction(S.EMPTY, 32766)
    assert next_identity(last, make_request(), FRESH) == Identity(FRESH, 0, -1, new_producer_ids=1)
    assert error_of(identity_checks(last, make_request(PID, 12))) is Errors.UNKNOWN_SERVER_ERROR


# -- the coordinator ----------------------------------------------------------------------------


@pytest.fixture
def desk() -> Desk:
    """A coordinator of epoch 2 with nothing in its log, and the leaders that markers go to."""
    leaders = {HOME: 1, "topic1-0": 3, "topic2-0": 5}
    return Desk(tc, TransactionCoordinator(HOME, 2), leaders=leaders)


def hold(desk: Desk, state: TransactionState, epoch: int, **more: object) -> None:
    """Let the coordinator hold the id t in a state."""
    known = stored_transaction(state, epoch, **({"last": epoch - 1} | more))
    desk.role = desk.role.but(transactions=desk.role.transactions.set("t", known))


def init(desk: Desk, *expected: int):
    return desk.ask(tc.on_init_producer_id, InitProducerId("t", 60_000, *expected))


def add(desk: Desk, epoch: int, *partitions: str, pid: int = PID):
    asked = TxnPartitions("t", pid, epoch, partitions)
    answer = desk.ask(tc.on_add_partitions, AddPartitionsToTxn((asked,)))
    return None if answer is None else answer.results[0]


def end(desk: Desk, epoch: int, *, commit: bool, pid: int = PID):
    return desk.ask(tc.on_end_txn, EndTxn("t", pid, epoch, commit))


def transaction_of(desk: Desk) -> TransactionMetadata:
    return desk.role.transactions["t"]


def identity(answer) -> tuple[Errors, int, int]:
    return (answer.error, answer.producer_id, answer.producer_epoch)


def epochs(desk: Desk) -> tuple[TransactionState, int, int, int]:
    t = transaction_of(desk)
    return (t.state, t.producer_id, t.producer_epoch, t.last_producer_epoch)


def last_record(desk: Desk) -> tuple[TransactionState, int, int]:
    record = desk.written(HOME)[-1]
    return (record.state, record.producer_id, record.producer_epoch)


def times(desk: Desk) -> tuple[int, int]:
    """When the transaction began, and when it was changed last: held, and in the log."""
    t, record = transaction_of(desk), desk.written(HOME)[-1]
    held = (t.start_timestamp_ms, t.last_update_timestamp_ms)
    assert held == (record.start_timestamp_ms, record.last_update_timestamp_ms)
    return held


def answer_markers(desk: Desk, error: Errors = Errors.NONE) -> None:
    """Let the brokers answer for every partition that still needs its marker."""
    results = tuple(PartitionResult(p, error) for p in transaction_of(desk).partitions)
    response = TxnMarkerResult(transaction_of(desk).producer_id, results)
    desk.do(tc.on_markers_answered(desk.role, response, MarkersOf(2, "t"), desk.on))


def test_04_a_commit_bumps_the_epoch_when_it_is_prepared_and_not_again(desk):
    """TMT.testEpochBumpOnEndTxn."""
    hold(desk, S.ONGOING, 10, partitions=("topic1-0",))
    end(desk, 10, commit=True)
    assert epochs(desk) == (S.PREPARE_COMMIT, PID, 11, 10)
    answer_markers(desk)
    assert epochs(desk) == (S.COMPLETE_COMMIT, PID, 11, 10)


def test_05_at_the_last_epoch_the_next_producer_id_takes_over_at_the_completion(desk):
    """TMT.testEpochBumpOnEndTxnOverflow."""
    desk.next_producer_id = 9893
    hold(desk, S.ONGOING, 32766, partitions=("topic1-0",))
    end(desk, 32766, commit=True)
    assert epochs(desk) == (S.PREPARE_COMMIT, PID, 32767, 32766)
    answer_markers(desk)
    assert epochs(desk) == (S.COMPLETE_COMMIT, 9893, 0, 32766)


def test_06_an_abort_of_a_transaction_that_was_never_begun_bumps_the_epoch_too(desk):
    """TMT.testTransitFromEmptyToPrepareAbortInV2: it has begun when it is aborted."""
    desk.now_ms = 70_000
    hold(desk, S.EMPTY, 735)
    desk.instant = False
    end(desk, 735, commit=False)
    desk.replicate()
    assert epochs(desk) == (S.PREPARE_ABORT, PID, 736, 735)
    assert times(desk) == (70_000, 70_000)


def test_07_a_clock_that_goes_back_keeps_nobody_from_adding_partitions(desk):
    """TMT.testTolerateTimeShiftDuringAddPartitions."""
    now_ms = 70_000
    hold(desk, S.EMPTY, 0, last_update_timestamp_ms=now_ms)
    desk.now_ms = now_ms - 1
    assert add(desk, 0, "topic1-0").error is Errors.NONE
    assert transaction_of(desk).partitions == ("topic1-0",)
    assert times(desk) == (now_ms - 1, now_ms - 1)
    desk.now_ms = now_ms - 2
    assert add(desk, 0, "topic2-0").error is Errors.NONE
    assert transaction_of(desk).partitions == ("topic1-0", "topic2-0")
    assert times(desk) == (now_ms - 1, now_ms - 2)


def test_08_a_new_name_gets_a_new_producer_id_and_epoch_0(desk):
    """TCT.shouldInitPidWithEpochZeroForNewTransactionalId."""
    assert identity(init(desk)) == (Errors.NONE, FRESH, 0)
    assert last_record(desk) == (S.EMPTY, FRESH, 0)


def test_09_a_producer_without_a_name_gets_an_identity_that_nobody_remembers(desk):
    """TCT.shouldAcceptInitPidAndReturnNextPidWhenTransactionalIdIsNull."""
    answers = [desk.ask(tc.on_init_producer_id, InitProducerId(None)) for _ in range(2)]
    assert [identity(a) for a in answers] == [(Errors.NONE, FRESH + i, 0) for i in range(2)]
    assert not desk.written(HOME)


def test_10_a_lost_answer_can_be_asked_for_again_with_the_epoch_from_before_it(desk):
    """TCT.testInitProducerIdWithCurrentEpochProvided."""
    hold(desk, S.EMPTY, 10)
    assert identity(init(desk, PID, 10)) == (Errors.NONE, PID, 11)
    assert identity(init(desk, PID, 10)) == (Errors.NONE, PID, 11)


def test_11_an_older_instance_cannot_get_back_what_a_newer_one_has_taken(desk):
    """TCT.testInitProducerIdStaleCurrentEpochProvided."""
    hold(desk, S.EMPTY, 10)
    assert identity(init(desk)) == (Errors.NONE, PID, 11)
    assert init(desk, PID, 10).error is Errors.PRODUCER_FENCED


def test_12_a_new_instance_aborts_what_is_ongoing_and_gets_no_identity_yet(desk):
    """TCT.shouldAbortTransactionOnHandleInitPidWhenExistingTransactionInOngoingState."""
    hold(desk, S.ONGOING, 5, partitions=("topic1-0",))
    assert identity(init(desk)) == (Errors.CONCURRENT_TRANSACTIONS, -1, -1)
    assert last_record(desk) == (S.PREPARE_ABORT, PID, 6)


def test_13_no_partition_joins_a_transaction_that_is_decided(desk):
    """TCT.shouldRespondWithConcurrentTransactionsOnAddPartitionsWhenStateIsPrepareCommit."""
    hold(desk, S.PREPARE_COMMIT, 5, partitions=("topic1-0",))
    assert add(desk, 5, "topic2-0").error is Errors.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("held", "epoch", "error"),
    [
        (
            stored_transaction(S.PREPARE_COMMIT, 0, producer_id=1),
            0,
            Errors.INVALID_PRODUCER_ID_MAPPING,
        ),
        (stored_transaction(S.PREPARE_COMMIT, 0, producer_id=0), 1, Errors.PRODUCER_FENCED),
        (stored_transaction(S.PREPARE_COMMIT, 0, producer_id=0), 0, Errors.CONCURRENT_TRANSACTIONS),
        (
            stored_transaction(S.ONGOING, 0, producer_id=0, pending_state=S.COMPLETE_COMMIT),
            0,
            Errors.TRANSACTION_ABORTABLE,
        ),
    ],
)
def test_14_a_verification_looks_at_what_is_stored_and_not_at_what_is_pending(
    desk, held, epoch, error
):
    """TCT.testVerifyPartitionHandling."""
    desk.role = desk.role.but(transactions=desk.role.transactions.set("t", held))
    verify = AddPartitionsToTxn((TxnPartitions("t", 0, epoch, ("topic1-0",), verify_only=True),))
    assert error_in(desk.ask(tc.on_add_partitions, verify)) is error


def test_15_a_commit_that_was_carried_out_is_known_by_the_epoch_from_before_it(desk):
    """TCT.testEndTxnWhenStatusIsCompleteCommitAndResultIsCommitInV2."""
    hold(desk, S.COMPLETE_COMMIT, 8)
    assert identity(end(desk, 7, commit=True)) == (Errors.NONE, PID, 8)
    assert end(desk, 8, commit=True).error is Errors.INVALID_TXN_STATE


def test_16_an_empty_abort_needs_the_current_epoch(desk):
    """TCT.TestEndTxnRequestWhenEmptyTransactionStateForAbortInV2."""
    hold(desk, S.EMPTY, 8)
    assert end(desk, 7, commit=False).error is Errors.PRODUCER_FENCED
    assert identity(end(desk, 8, commit=False)) == (Errors.NONE, PID, 9)


def test_17_the_epoch_of_the_decision_itself_is_no_retry():
    """TCT.shouldReturnInvalidTxnRequestOnEndTxnV2IfNotEndTxnV2Retry."""
    request = EndTxn("t", PID, 8, committed=True)
    answers = [
        error_of(end_txn_checks(stored_transaction(s, 8), request))
        for s in (S.PREPARE_COMMIT, S.COMPLETE_COMMIT)
    ]
    assert answers == [Errors.PRODUCER_FENCED, Errors.INVALID_TXN_STATE]


def test_18_a_timeout_at_the_last_epoch_goes_on_under_a_new_producer_id(desk):
    """TCT.shouldHandleTimeoutAtEpochOverflowBoundaryCorrectlyTV2."""
    hold(desk, S.ONGOING, 32766, partitions=("topic1-0",))
    assert tc.why_no_timeout(desk.role, "t") is None
    desk.do(tc.on_timeout(desk.role, "t", desk.on))
    assert last_record(desk) == (S.PREPARE_ABORT, PID, 32767)
    answer_markers(desk)
    assert last_record(desk) == (S.COMPLETE_ABORT, FRESH, 0)


def test_19_a_timeout_aborts_and_bumps_the_epoch(desk):
    """TCT.shouldAbortExpiredTransactionsInOngoingStateAndBumpEpoch."""
    hold(desk, S.ONGOING, 5, partitions=("topic1-0",))
    desk.do(tc.on_timeout(desk.role, "t", desk.on))
    assert last_record(desk) == (S.PREPARE_ABORT, PID, 6)


@pytest.mark.parametrize(
    ("timeout_ms", "fits"),
    [(1, True), (0, False), (-1, False), (900_000, True), (900_001, False)],
)
def test_20_a_timeout_is_positive_and_within_the_brokers_limit(desk, timeout_ms, fits):
    """TSM.testValidateTransactionTimeout, without two-phase commit."""
    answer = desk.ask(tc.on_init_producer_id, InitProducerId("t", timeout_ms))
    assert answer.error is (Errors.NONE if fits else Errors.INVALID_TRANSACTION_TIMEOUT)


@pytest.mark.parametrize("timeout_ms", [-1, 10, 900_001])
def test_20_two_phase_commit_knows_no_timeout(desk, timeout_ms):
    """TSM.testValidateTransactionTimeout, with two-phase commit."""
    desk.settings = desk.settings.but(two_phase_commit_enable=True)
    request = InitProducerId("t", timeout_ms, version=TWO_PHASE, enable_2pc=True)
    assert desk.ask(tc.on_init_producer_id, request).error is Errors.NONE


def test_21_whoever_waits_for_a_record_that_was_not_replicated_is_told_to_come_back(desk):
    """TSM.testAppendFailToCoordinatorNotAvailableError."""
    desk.image["min_insync_replicas"] = (("__transaction_state", 2),)
    hold(desk, S.EMPTY, 5)
    desk.instant = False
    assert add(desk, 5, "topic1-0") is None
    desk.do(tc.on_timer(desk.role, tc.timers(desk.role, desk.on)[0], desk.on))
    assert error_in(desk.last) is Errors.COORDINATOR_NOT_AVAILABLE
    assert (transaction_of(desk).state, transaction_of(desk).pending_state) == (S.EMPTY, None)


def test_22_a_partition_whose_topic_was_deleted_needs_no_marker(desk):
    """MCM.shouldSkipSendMarkersWhenLeaderNotFound."""
    hold(desk, S.ONGOING, 5, partitions=("deleted-0", "topic1-0"))
    end(desk, 5, commit=True)
    assert transaction_of(desk).partitions == ("topic1-0",)
    assert [r.message.markers[0].partitions for r in desk.requests] == [("topic1-0",)]
    answer_markers(desk)
    assert transaction_of(desk).state is S.COMPLETE_COMMIT


def test_23_a_marker_that_came_to_the_wrong_broker_is_sent_to_the_new_leader(desk):
    """MRH.shouldRetryPartitionWhenNotLeaderOrFollowerError."""
    hold(desk, S.ONGOING, 5, partitions=("topic1-0",))
    end(desk, 5, commit=True)
    desk.leaders["topic1-0"] = 7
    answer_markers(desk, Errors.NOT_LEADER_OR_FOLLOWER)
    assert transaction_of(desk).partitions == ("topic1-0",)
    asked_now = [(r.broker, r.message.markers[0].partitions) for r in desk.requests]
    assert asked_now == [(3, ("topic1-0",)), (7, ("topic1-0",))]
    assert all(isinstance(r.message, WriteTxnMarkers) for r in desk.requests)


# -- a partition's log --------------------------------------------------------------------------


def log_at(offset: int) -> PartitionLog:
    return PartitionLog("a-0", offset, end_offset=offset, high_watermark=offset)


def data(
    log: PartitionLog, pid: int = PID, epoch: int = 0, first: int = 0, count: int = 1
) -> Batch:
    records = tuple(DataRecord(f"{first + i}") for i in range(count))
    return Batch(log.end_offset, records, pid, epoch, first, transactional=True)


def marker(log: PartitionLog, pid: int, epoch: int, outcome: str) -> Batch:
    return Batch(log.end_offset, (), pid, epoch, transactional=True, control=outcome)


def fill_log(log: PartitionLog, count: int) -> PartitionLog:
    """Add records of nobody's, to move the end."""
    return logs.append(log, Batch(log.end_offset, tuple(DataRecord("x") for _ in range(count))))


def may(log: PartitionLog, batch: Batch) -> Errors:
    return error_of(logs.check_client_batch(log, batch, RULES, verified=True, origin_client=True))


def test_24_a_marker_bumps_the_epoch_and_the_sequences_begin_anew():
    """PSM.testControlRecordBumpsProducerEpoch."""
    log = logs.append(log_at(0), data(log_at(0)))
    log = logs.append(log, marker(log, PID, 1, ABORT))
    entry = log.producers[PID]
    assert (entry.epoch, entry.transaction_first_offset, entry.batches) == (1, -1, ())
    assert may(log, data(log, epoch=1, first=0)) is Errors.NONE
    assert may(log, data(log, epoch=1, first=1)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_25_a_transaction_is_unstable_until_its_marker_is_below_the_high_watermark():
    """PSM.testFirstUnstableOffset."""
    log = logs.append(log_at(99), data(log_at(99), 1))
    found = [log.first_unstable_offset]
    log = fill_log(log, 5)
    log = logs.append(log, data(log, 2))
    found.append(log.first_unstable_offset)
    log = fill_log(log, 3)
    log = logs.append(log, marker(log, 1, 1, COMMIT))
    assert log.end_offset == 110
    found.append(log.first_unstable_offset)
    for high_watermark in (100, 110):
        log = logs.replicate(log, high_watermark)
        found.append(log.first_unstable_offset)
    log = fill_log(log, 2)
    log = logs.append(log, marker(log, 2, 1, ABORT))
    found.append(log.first_unstable_offset)
    found.append(logs.replicate(log, 113).first_unstable_offset)
    assert found == [99, 99, 99, 99, 105, 105, None]


def test_26_the_same_marker_again_is_taken_and_changes_nothing():
    """PSM.testIdempotentTransactionMarkerRetryTV2, Kafka 4.2 and later (KAFKA-19999)."""
    log = logs.append(log_at(99), data(log_at(99)))
    log = logs.append(log, marker(log, PID, 1, COMMIT))
    assert error_of(logs.check_marker(log, PID, 1, 0, 2, RULES)) is Errors.NONE
    again = logs.append(log, marker(log, PID, 1, COMMIT))
    assert (again.end_offset, again.producers, again.open) == (102, log.producers, ())


def test_27_the_last_five_batches_of_a_producer_are_recognised():
    """ULT.testDuplicateAppends."""
    log = log_at(0)
    for first in range(6):
        log = logs.append(log, data(log, first=first))
    log = logs.append(log, data(log, first=6, count=3))

    def again(first: int, count: int = 1) -> int:
        batch = data(log, first=first, count=count)
        cached = logs.duplicate_of(log, batch, RULES)
        return -may(log, batch) if cached is None else cached.base_offset

    assert [again(6, 3), again(7, 2), again(2), again(1)] == [6, -45, 2, -45]


def test_28_the_index_of_aborted_transactions_names_what_was_still_open():
    """ULT.testTransactionIndexUpdated."""
    log = log_at(0)

    def put(pid: int, count: int) -> None:
        nonlocal log
        first = log.producers[pid].batches[-1].last + 1 if pid in log.producers else 0
        log = logs.append(log, data(log, pid, first=first, count=count))

    put(1, 5)
    log = fill_log(log, 3)
    for pid, count in ((2, 2), (1, 4), (3, 3), (2, 7), (1, 1)):
        put(pid, count)
    log = fill_log(log, 4)
    log = logs.append(log, marker(log, 1, 1, ABORT))
    log = fill_log(log, 5)
    log = logs.append(log, marker(log, 3, 1, COMMIT))
    put(4, 20)
    put(2, 18)
    log = logs.append(log, marker(log, 2, 1, ABORT))
    log = logs.append(log, marker(log, 4, 1, COMMIT))
    index = [
        (a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset) for a in log.aborted
    ]
    assert index == [(1, 0, 29, 8), (2, 8, 74, 36)]


# -- groups and clients -------------------------------------------------------------------------


def test_29_a_pending_offset_hides_the_committed_one_from_whoever_wants_stable_offsets():
    """OMM.testFetchOffsetsWithPendingTransactionalOffsets."""
    home = f"__transaction_state-{partition_for('t', 50)}"
    topics = dict.fromkeys(("foo-0", "foo-1", "bar-0", "bar-1"), 3)
    leaders = {OFFSETS: 1, home: 7, **topics}
    desk = Desk(gc, GroupCoordinator(OFFSETS, loading=True), leaders=leaders)
    before = (
        MemberRecord("g", "m", 2),
        OffsetCommitRecord("g", "foo-0", 100),
        OffsetCommitRecord("g", "foo-1", 110),
        OffsetCommitRecord("g", "bar-0", 200),
    )
    desk.logs[OFFSETS] = logs.replicate(logs.append(desk.logs[OFFSETS], Batch(0, before)))
    desk.do(gc.on_loaded(desk.role, desk.on))
    staged = (GroupOffset("foo-1", 111), GroupOffset("bar-0", 201), GroupOffset("bar-1", 1))
    desk.ask(gc.on_txn_offset_commit, TxnOffsetCommit("t", "g", 10, 0, "m", 2, staged))
    yes = enlisted(Errors.NONE, "t", 10, 0, (OFFSETS,))
    desk.do(gc.on_enlisted(desk.role, yes, desk.on))

    def fetch_value(partition: str, stable: bool) -> tuple[Errors, int]:
        answer = offset_fetches.fetch_offset_of(desk, partition, stable)
        assert answer is not None
        return (answer.error, answer.offset)

    names = ("foo-0", "foo-1", "bar-0", "bar-1")
    unstable = (Errors.UNSTABLE_OFFSET_COMMIT, -1)
    assert [fetch_value(n, True) for n in names] == [(Errors.NONE, 100), *[unstable] * 3]
    assert [fetch_value(n, False) for n in names] == [(Errors.NONE, o) for o in (100, 110, 200, -1)]


def test_30_a_commit_is_not_sent_before_every_batch_is_answered():
    """TMgr.testEndTxnNotSentIfIncompleteBatches."""
    me = init_transactions(producer_of("app-1/producer", "t"))
    me, _ = clients.note_sent(me, clients.next_request(me), 1)
    me = begin_transaction(clients.on_response(me, InitProducerIdResponse(Errors.NONE, PID, 0)))
    me = clients.end_transaction(clients.send(me, "out-0", (DataRecord("r"),)), committed=True)
    batch = clients.next_request(me)
    assert isinstance(batch, Produce)
    me, _ = clients.note_sent(me, batch, 1)
    assert clients.next_request(me) is None
    me = clients.on_response(me, ProduceResponse((PartitionProduceResponse("out-0", Errors.NONE),)))
    assert clients.next_request(me) == EndTxn("t", PID, 0, committed=True)
