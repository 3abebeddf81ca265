"""The transaction coordinator at work: what it logs, answers and sends."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import NOBODY, MarkersOf
from kipviz.brokers.transactions import transaction_coordinator as tc
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionDecided
from kipviz.messages.message_errors import error_in
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    PartitionResult,
    TxnMarkerResult,
    TxnPartitions,
    WriteTxnMarkers,
)
from kipviz.records.transaction_state import TransactionState

S = TransactionState
HOME = "__transaction_state-0"


@pytest.fixture
def desk():
    leaders = {HOME: 1, "out-0": 3, "out-1": 5, "other-0": NOBODY}
    return Desk(tc, TransactionCoordinator(HOME, 2), leaders=leaders)


def init(desk, *expected):
    request = InitProducerId("t", 60_000, *expected)
    return desk.ask(tc.on_init_producer_id, request)


def add(desk, pid, epoch, *partitions):
    asked = TxnPartitions("t", pid, epoch, partitions)
    answer = desk.ask(tc.on_add_partitions, AddPartitionsToTxn((asked,)))
    return None if answer is None else answer.results[0]


def end(desk, pid, epoch, *, commit=True):
    return desk.ask(tc.on_end_txn, EndTxn("t", pid, epoch, commit))


def transaction_of(desk):
    return desk.role.transactions["t"]


def states(desk):
    return [(r.state, r.producer_id, r.producer_epoch) for r in desk.written(HOME)]


def sent_markers(desk):
    return [marker for message in desk.sent(WriteTxnMarkers) for marker in message.markers]


SENT = MarkersOf(2, "t")


def answer_markers(desk, *results, tag=SENT):
    """Let a broker answer WriteTxnMarkers."""
    found = tuple(PartitionResult(p, e) for p, e in results)
    response = TxnMarkerResult(transaction_of(desk).producer_id, found)
    desk.do(tc.on_markers_answered(desk.role, response, tag, desk.on))


@pytest.fixture
def ongoing(desk):
    """A transaction of (9, 0) on two partitions."""
    init(desk)
    add(desk, 9, 0, "out-0", "out-1")
    return desk


def test_a_coordinator_remembers_to_which_brokers_its_markers_are_under_way(ongoing):
    end(ongoing, 9, 0)
    assert transaction_of(ongoing).sent == (("out-0", 3), ("out-1", 5))
    answer_markers(ongoing, ("out-0", Errors.NOT_LEADER_OR_FOLLOWER))
    assert transaction_of(ongoing).sent == (("out-1", 5), ("out-0", 3))
    answer_markers(ongoing, ("out-1", Errors.NONE))
    assert transaction_of(ongoing).sent == (("out-0", 3),)


def test_a_new_name_gets_a_new_producer_id_and_epoch_0(desk):
    """TCT.shouldInitPidWithEpochZeroForNewTransactionalId."""
    answer = init(desk)
    assert (answer.error, answer.producer_id, answer.producer_epoch) == (Errors.NONE, 9, 0)
    assert states(desk) == [(S.EMPTY, 9, 0)]
    assert desk.next_producer_id == 10


def test_nothing_is_answered_before_the_record_is_replicated(desk):
    desk.instant = False
    assert init(desk) is None
    assert init(desk).error is Errors.CONCURRENT_TRANSACTIONS
    desk.replicate()
    assert desk.last.producer_id == 9
    assert transaction_of(desk).pending_state is None


@pytest.mark.parametrize(
    ("timeout_ms", "error"),
    [
        (1, Errors.NONE),
        (0, Errors.INVALID_TRANSACTION_TIMEOUT),
        (-1, Errors.INVALID_TRANSACTION_TIMEOUT),
        (900_000, Errors.NONE),
        (900_001, Errors.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_the_timeout_must_be_positive_and_within_the_brokers_limit(desk, timeout_ms, error):
    """TSM.testValidateTransactionTimeout, without two-phase commit."""
    assert desk.ask(tc.on_init_producer_id, InitProducerId("t", timeout_ms)).error is error


def test_a_new_instance_aborts_what_is_ongoing_and_has_to_ask_again(ongoing):
    """TCT.shouldAbortTransactionOnHandleInitPidWhenExistingTransactionInOngoingState; 5 -> 6 -> 7."""
    answer = init(ongoing)
    assert (answer.error, answer.producer_id) == (Errors.CONCURRENT_TRANSACTIONS, -1)
    assert states(ongoing)[-1] == (S.PREPARE_ABORT, 9, 1)
    assert init(ongoing).error is Errors.CONCURRENT_TRANSACTIONS
    answer_markers(ongoing, ("out-0", Errors.NONE), ("out-1", Errors.NONE))
    assert states(ongoing)[-1] == (S.COMPLETE_ABORT, 9, 1)
    assert init(ongoing).producer_epoch == 2


def test_partitions_are_logged_once_and_answered_when_replicated(desk):
    init(desk)
    assert add(desk, 9, 0, "out-0").error is Errors.NONE
    assert add(desk, 9, 0, "out-0").error is Errors.NONE
    assert [r.partitions for r in desk.written(HOME)] == [(), ("out-0",)]
    add(desk, 9, 0, "out-1")
    assert transaction_of(desk).partitions == ("out-0", "out-1")
    assert transaction_of(desk).client_transaction_version == 2


@pytest.mark.parametrize(
    ("committed", "state"), [(True, S.PREPARE_COMMIT), (False, S.PREPARE_ABORT)]
)
def test_the_decision_is_logged_before_it_is_answered(ongoing, committed, state):
    ongoing.instant = False
    assert ongoing.ask(tc.on_end_txn, EndTxn("t", 9, 0, committed)) is None
    assert ongoing.written(HOME)[-1].state is state
    assert ongoing.sent(WriteTxnMarkers) == []


def test_a_commit_is_answered_with_the_next_identity_before_any_marker_is_written(ongoing):
    answer = end(ongoing, 9, 0)
    assert (answer.error, answer.producer_id, answer.producer_epoch) == (Errors.NONE, 9, 1)
    assert transaction_of(ongoing).state is S.PREPARE_COMMIT
    markers = sent_markers(ongoing)
    assert [(m.partitions, m.producer_epoch, m.committed) for m in markers] == [
        (("out-0",), 1, True),
        (("out-1",), 1, True),
    ]
    assert [e for e in ongoing.events if isinstance(e, TransactionDecided)] == [
        TransactionDecided("t", 9, 0, committed=True)
    ]


def test_a_transaction_is_over_when_every_partition_has_its_marker(ongoing):
    end(ongoing, 9, 0)
    answer_markers(ongoing, ("out-0", Errors.NONE))
    assert transaction_of(ongoing).state is S.PREPARE_COMMIT
    answer_markers(ongoing, ("out-1", Errors.NONE))
    assert states(ongoing)[-1] == (S.COMPLETE_COMMIT, 9, 1)


@pytest.mark.parametrize("error", tc.RETRY_MARKER)
def test_a_marker_that_finds_no_leader_is_sent_again_to_the_new_one(ongoing, error):
    """MRH.shouldRetryPartitionWhenNotLeaderOrFollowerError."""
    end(ongoing, 9, 0)
    ongoing.leaders["out-0"] = 7
    answer_markers(ongoing, ("out-0", error))
    again = ongoing.requests[-1]
    assert (again.broker, again.message.markers[0].partitions) == (7, ("out-0",))
    answer_markers(ongoing, ("out-0", Errors.NONE))
    answer_markers(ongoing, ("out-1", Errors.NONE))
    assert transaction_of(ongoing).state is S.COMPLETE_COMMIT


@pytest.mark.parametrize("identity", [(9, -1), (-1, 0)])
@pytest.mark.parametrize("name", ["t", None])
def test_half_an_identity_is_no_request(desk, identity, name):
    """KafkaApis.handleInitProducerIdRequest."""
    request = InitProducerId(name, 60_000, *identity)
    assert desk.ask(tc.on_init_producer_id, request).error is Errors.INVALID_REQUEST
    assert not desk.role.transactions


def test_an_empty_name_is_no_name_and_not_the_same_as_none(desk):
    """TransactionCoordinator: handleInitProducerId, handleAddPartitionsToTransaction, endTransaction."""
    asked = (
        (tc.on_init_producer_id, InitProducerId("")),
        (tc.on_add_partitions, AddPartitionsToTxn((TxnPartitions("", 9, 0, ("out-0",)),))),
        (
            tc.on_add_partitions,
            AddPartitionsToTxn((TxnPartitions("", 9, 0, ("out-0",), verify_only=True),)),
        ),
        (tc.on_end_txn, EndTxn("", 9, 0, True)),
    )
    for handler, request in asked:
        assert error_in(desk.ask(handler, request)) is Errors.INVALID_REQUEST
    assert desk.ask(tc.on_init_producer_id, InitProducerId(None)).error is Errors.NONE


@pytest.mark.parametrize(
    ("version", "error"), [(3, Errors.INVALID_PRODUCER_EPOCH), (4, Errors.PRODUCER_FENCED)]
)
def test_before_version_4_of_init_producer_id_nobody_knows_that_a_producer_can_be_fenced(
    desk, version, error
):
    """KIP-588; KafkaApis.handleInitProducerIdRequest."""
    init(desk)
    request = InitProducerId("t", 60_000, 8, 0, version)
    assert desk.ask(tc.on_init_producer_id, request).error is error


def test_the_errors_after_which_a_marker_is_sent_again_are_those_of_kafka():
    """TransactionMarkerRequestCompletionHandler.onComplete."""
    named = (
        "UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER NOT_ENOUGH_REPLICAS "
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND REQUEST_TIMED_OUT KAFKA_STORAGE_ERROR"
    )
    assert {error.name for error in tc.RETRY_MARKER} == set(named.split())


@pytest.mark.parametrize(
    "error", [Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, Errors.UNSUPPORTED_VERSION]
)
def test_a_partition_that_cannot_have_any_data_of_a_transaction_needs_no_marker(ongoing, error):
    """MRH.shouldRemoveTopicPartitionWhenUnsupportedForMessageFormat."""
    end(ongoing, 9, 0)
    answer_markers(ongoing, ("out-0", error))
    assert transaction_of(ongoing).partitions == ("out-1",)
    answer_markers(ongoing, ("out-1", Errors.NONE))
    assert transaction_of(ongoing).state is S.COMPLETE_COMMIT


@pytest.mark.parametrize(
    "error", [Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_COORDINATOR_FENCED]
)
def test_a_marker_that_is_fenced_leaves_the_transaction_prepared_until_it_is_loaded_again(
    ongoing, error
):
    end(ongoing, 9, 0)
    answer_markers(ongoing, ("out-0", error))
    answer_markers(ongoing, ("out-1", Errors.NONE))
    assert transaction_of(ongoing).state is S.PREPARE_COMMIT
    assert end(ongoing, 9, 0).error is Errors.CONCURRENT_TRANSACTIONS
    sent = len(ongoing.requests)
    ongoing.role = TransactionCoordinator(HOME, 3, loading=True)
    ongoing.do(tc.on_loaded(ongoing.role, ongoing.on))
    assert [r.message.markers[0].coordinator_epoch for r in ongoing.requests[sent:]] == [3, 3]


def test_a_fence_of_one_marker_does_not_keep_those_of_other_brokers_back(ongoing):
    """MRH re-enqueues what another broker did not take, or what a connection lost, all the same."""
    end(ongoing, 9, 0)
    lost = sent_markers(ongoing)[1]
    answer_markers(ongoing, ("out-0", Errors.INVALID_PRODUCER_EPOCH))
    answer_markers(ongoing, ("out-1", Errors.NOT_LEADER_OR_FOLLOWER))
    ongoing.do(tc.on_markers_lost(ongoing.role, lost, SENT, ongoing.on))
    assert [r.message.markers[0].partitions for r in ongoing.requests[2:]] == [
        ("out-1",),
        ("out-1",),
    ]
    answer_markers(ongoing, ("out-1", Errors.NONE))
    assert (transaction_of(ongoing).partitions, transaction_of(ongoing).sent) == (("out-0",), ())
    assert transaction_of(ongoing).state is S.PREPARE_COMMIT


def test_what_is_refused_with_a_fenced_marker_is_not_sent_again_and_nothing_completes(desk):
    init(desk)
    add(desk, 9, 0, "out-0", "also-0")
    desk.leaders["also-0"] = desk.leaders["out-0"]
    end(desk, 9, 0)
    asked = len(desk.requests)
    fenced, later = ("out-0", Errors.INVALID_PRODUCER_EPOCH), ("also-0", Errors.REQUEST_TIMED_OUT)
    answer_markers(desk, fenced, later)
    assert (len(desk.requests), transaction_of(desk).cancelled) == (asked, True)
    assert transaction_of(desk).partitions == ("also-0", "out-0")


def test_the_answer_to_an_earlier_coordinator_on_this_broker_counts_for_nothing(ongoing):
    """TransactionMarkerRequestCompletionHandler looks at the coordinator epoch first."""
    end(ongoing, 9, 0)
    answer_markers(ongoing, ("out-0", Errors.NONE), ("out-1", Errors.NONE), tag=MarkersOf(0, "t"))
    assert transaction_of(ongoing).partitions == ("out-0", "out-1")


def test_a_marker_for_a_partition_that_nobody_leads_waits_for_a_leader(desk):
    init(desk)
    add(desk, 9, 0, "other-0")
    end(desk, 9, 0)
    assert not desk.sent(WriteTxnMarkers)
    desk.leaders["other-0"] = 5
    desk.do(tc.on_image_changed(desk.role, desk.on))
    assert desk.requests[-1].broker == 5


def test_markers_on_a_broken_connection_are_sent_again_and_only_they(ongoing):
    end(ongoing, 9, 0)
    lost = sent_markers(ongoing)[0]
    ongoing.do(tc.on_markers_lost(ongoing.role, lost, SENT, ongoing.on))
    assert [r.message.markers[0].partitions for r in ongoing.requests[2:]] == [("out-0",)]
    answer = TxnMarkerResult(9, (PartitionResult("out-1", Errors.NONE),))
    ongoing.do(tc.on_markers_lost(ongoing.role, answer, SENT, ongoing.on))
    assert [r.message.markers[0].partitions for r in ongoing.requests[3:]] == [("out-1",)]


def test_markers_that_an_earlier_coordinator_on_this_broker_lost_are_not_sent_again(ongoing):
    end(ongoing, 9, 0)
    sent, lost = len(ongoing.requests), sent_markers(ongoing)[0]
    ongoing.do(tc.on_markers_lost(ongoing.role, lost, MarkersOf(1, "t"), ongoing.on))
    assert len(ongoing.requests) == sent


def test_a_new_image_changes_nothing_for_a_transaction_that_waits_for_none(ongoing):
    before, asked, logged = ongoing.role, len(ongoing.requests), states(ongoing)
    ongoing.do(tc.on_image_changed(ongoing.role, ongoing.on))
    assert (ongoing.role, len(ongoing.requests), states(ongoing)) == (before, asked, logged)


def test_an_abort_of_a_transaction_that_never_reached_the_coordinator_completes_at_once(desk):
    """TMT.testTransitFromEmptyToPrepareAbortInV2."""
    init(desk)
    answer = end(desk, 9, 0, commit=False)
    assert (answer.error, answer.producer_epoch) == (Errors.NONE, 1)
    assert states(desk)[1:] == [(S.PREPARE_ABORT, 9, 1), (S.COMPLETE_ABORT, 9, 1)]


def test_two_empty_aborts_that_are_replicated_together_are_completed_one_behind_the_other(desk):
    desk.ask(tc.on_init_producer_id, InitProducerId("a"))
    desk.ask(tc.on_init_producer_id, InitProducerId("b"))
    desk.instant = False
    desk.ask(tc.on_end_txn, EndTxn("a", 9, 0, committed=False))
    desk.ask(tc.on_end_txn, EndTxn("b", 10, 0, committed=False))
    desk.replicate()
    desk.replicate()
    assert [r.state for r in desk.written(HOME)[4:]] == [S.COMPLETE_ABORT] * 2
    assert {t.state for t in desk.role.transactions.values()} == {S.COMPLETE_ABORT}


def test_a_transaction_that_runs_out_of_time_is_aborted_with_a_bump(ongoing):
    """TCT.shouldAbortExpiredTransactionsInOngoingStateAndBumpEpoch."""
    assert tc.why_no_timeout(ongoing.role, "t") is None
    ongoing.do(tc.on_timeout(ongoing.role, "t", ongoing.on))
    assert states(ongoing)[-1] == (S.PREPARE_ABORT, 9, 1)
    assert tc.why_no_timeout(ongoing.role, "t") is not None


def test_a_timeout_at_the_last_epoch_rotates_the_producer_id(ongoing):
    """TCT.shouldHandleTimeoutAtEpochOverflowBoundaryCorrectlyTV2."""
    at_the_end = transaction_of(ongoing).but(producer_epoch=32766)
    ongoing.role = ongoing.role.but(transactions=ongoing.role.transactions.set("t", at_the_end))
    ongoing.do(tc.on_timeout(ongoing.role, "t", ongoing.on))
    assert states(ongoing)[-1] == (S.PREPARE_ABORT, 9, 32767)
    assert {m.producer_epoch for m in sent_markers(ongoing)} == {32767}
    answer_markers(ongoing, ("out-0", Errors.NONE), ("out-1", Errors.NONE))
    assert states(ongoing)[-1] == (S.COMPLETE_ABORT, 10, 0)


@pytest.mark.parametrize(
    ("committed", "error", "last"),
    [
        (True, Errors.UNKNOWN_SERVER_ERROR, (S.ONGOING, 9, 0)),
        (False, Errors.NONE, (S.PREPARE_ABORT, 9, 32767)),
    ],
)
def test_behind_the_last_epoch_of_all_only_an_abort_goes_through(ongoing, committed, error, last):
    """TransactionMetadata.prepareAbortOrCommit (KAFKA-20090): the epoch after 32767 is negative."""
    broken = transaction_of(ongoing).but(producer_epoch=32767)
    ongoing.role = ongoing.role.but(transactions=ongoing.role.transactions.set("t", broken))
    answer = ongoing.ask(tc.on_end_txn, EndTxn("t", 9, 32767, committed))
    assert answer.error is error
    beyond = [check.found for check in ongoing.checks if check.name == "next epoch"]
    assert beyond == ([32768] if committed else [])
    assert states(ongoing)[-1] == last
    # The producer id for the time after it was drawn in either case.
    assert ongoing.ask(tc.on_init_producer_id, InitProducerId("another")).producer_id == 11


def test_a_producer_that_was_timed_out_recovers_with_an_abort_and_not_with_a_commit(ongoing):
    """Recorded of Kafka 4.4.0: commit 48, abort NONE with the bumped identity."""
    ongoing.do(tc.on_timeout(ongoing.role, "t", ongoing.on))
    answer_markers(ongoing, ("out-0", Errors.NONE), ("out-1", Errors.NONE))
    assert end(ongoing, 9, 0, commit=True).error is Errors.INVALID_TXN_STATE
    answer = end(ongoing, 9, 0, commit=False)
    assert (answer.error, answer.producer_id, answer.producer_epoch) == (Errors.NONE, 9, 1)
    assert states(ongoing)[-1] == (S.COMPLETE_ABORT, 9, 1)


def test_a_new_coordinator_redoes_from_the_log_and_sends_every_marker_again(ongoing):
    end(ongoing, 9, 0)
    answer_markers(ongoing, ("out-0", Errors.NONE))
    sent = len(ongoing.requests)
    ongoing.role = TransactionCoordinator(HOME, 5, loading=True)
    assert add(ongoing, 9, 1, "out-0").error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert end(ongoing, 9, 1).error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert init(ongoing).error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    ongoing.do(tc.on_loaded(ongoing.role, ongoing.on))
    again = ongoing.requests[sent:]
    assert [r.message.markers[0].partitions for r in again] == [("out-0",), ("out-1",)]
    assert transaction_of(ongoing).last_producer_epoch == -1  # never persisted, KAFKA-20357


def test_two_empty_aborts_in_one_log_are_completed_one_behind_the_other_on_load(desk):
    desk.ask(tc.on_init_producer_id, InitProducerId("a"))
    desk.ask(tc.on_init_producer_id, InitProducerId("b"))
    desk.instant = False
    for name, pid in (("a", 9), ("b", 10)):
        desk.ask(tc.on_end_txn, EndTxn(name, pid, 0, committed=False))
    desk.role = TransactionCoordinator(HOME, 5, loading=True)
    desk.do(tc.on_loaded(desk.role, desk.on))
    desk.replicate()
    assert {t.state for t in desk.role.transactions.values()} == {S.COMPLETE_ABORT}


def test_whoever_waits_for_a_record_is_told_when_the_coordinator_resigns(desk):
    """TSM.testAppendFail*: the metadata stays as it was for the next coordinator."""
    desk.instant = False
    assert init(desk) is None
    done = tc.on_resigned(desk.role, desk.on)
    assert [r.message.error for r in done.replies] == [Errors.NOT_COORDINATOR]


# -- guards, each with a neighbour on its other side ----------------------------------------------


@pytest.mark.parametrize(("version", "remembered"), [(3, 0), (4, 2), (5, 2)])
def test_from_version_4_on_a_partition_is_added_by_a_client_of_transaction_version_2(
    desk, version, remembered
):
    """TransactionCoordinator.handleAddPartitionsToTransaction: clientTransactionVersion."""
    init(desk)
    request = AddPartitionsToTxn((TxnPartitions("t", 9, 0, ("out-0",)),), version=version)
    assert error_in(desk.ask(tc.on_add_partitions, request)) is Errors.NONE
    assert transaction_of(desk).client_transaction_version == remembered


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_that_bumps_remembers_the_epoch_that_it_ended(ongoing, committed):
    end(ongoing, 9, 0, commit=committed)
    assert (
        transaction_of(ongoing).producer_epoch,
        transaction_of(ongoing).last_producer_epoch,
    ) == (1, 0)
    assert ongoing.next_producer_id == 10  # no new producer id is drawn for a bump


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_that_does_not_bump_keeps_what_it_remembered(ongoing, committed):
    old = EndTxn("t", 9, 0, committed, version=4)
    assert ongoing.ask(tc.on_end_txn, old).error is Errors.NONE
    assert (
        transaction_of(ongoing).producer_epoch,
        transaction_of(ongoing).last_producer_epoch,
    ) == (0, -1)


def test_a_new_instance_that_aborts_remembers_the_epoch_that_it_fenced(desk):
    """A client of epoch 1 is fenced by the bump to 2 (transaction version 2)."""
    init(desk)
    add(desk, 9, 0, "out-0")
    end(desk, 9, 0)
    answer_markers(desk, ("out-0", Errors.NONE))
    add(desk, 9, 1, "out-0")
    assert (transaction_of(desk).producer_epoch, transaction_of(desk).last_producer_epoch) == (1, 0)
    init(desk)
    assert (transaction_of(desk).producer_epoch, transaction_of(desk).last_producer_epoch) == (2, 1)


def test_a_marker_that_was_not_lost_stays_sent(ongoing):
    end(ongoing, 9, 0)
    before = transaction_of(ongoing).sent
    lost = sent_markers(ongoing)[0]
    ongoing.do(tc.on_markers_lost(ongoing.role, lost, SENT, ongoing.on))
    assert sorted(transaction_of(ongoing).sent) == sorted(before)


def test_several_partitions_that_nobody_leads_all_wait(desk):
    desk.leaders["other-1"] = NOBODY
    init(desk)
    add(desk, 9, 0, "other-0", "other-1", "out-0")
    end(desk, 9, 0)
    assert sorted(transaction_of(desk).to_send) == ["other-0", "other-1"]
    answer_markers(desk, ("out-0", Errors.NOT_LEADER_OR_FOLLOWER))
    assert sorted(transaction_of(desk).to_send) == ["other-0", "other-1"]
    desk.leaders["out-0"] = NOBODY
    answer_markers(desk, ("out-0", Errors.NOT_LEADER_OR_FOLLOWER))
    assert sorted(transaction_of(desk).to_send) == ["other-0", "other-1", "out-0"]
