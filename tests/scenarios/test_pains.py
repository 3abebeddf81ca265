"""The index of symptoms: every story that it names shows what it says, where it says so."""

from __future__ import annotations

import pytest

from kipviz.messages.errors import Errors
from kipviz.messages.events import BatchAppended, CallReturned, MessageDelivered, RecordsMoved
from kipviz.messages.logs.producing import FetchResponse
from kipviz.messages.message_errors import error_in
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import scenario
from kipviz.scenarios.pains import PAINS, UnknownPain, pain
from tests.scenarios.story import nodes, play_once


def test_there_are_twenty_five_and_each_says_what_stands_behind_it():
    assert [p.number for p in PAINS] == list(range(1, 26))
    for p in PAINS:
        assert all(text.endswith(".") for text in (p.see, p.cause, p.way_out)), p.number
        assert p.source


@pytest.mark.parametrize("p", PAINS, ids=lambda p: str(p.number))
def test_the_step_that_shows_a_symptom_is_there(p):
    assert 1 <= p.beat <= len(scenario(p.story).beats)


def test_another_number_is_refused_with_the_numbers_there_are():
    with pytest.raises(UnknownPain, match="there is no symptom 26; they are numbered from 1 to 25"):
        pain(26)


def beat(number):
    """The nodes of the beat that shows a symptom."""
    p = pain(number)
    trace, chapters = play_once(p.story, scenario(p.story).designs[0])
    chapter = chapters[p.beat - 1]
    return nodes(trace)[chapter.first + 1 : chapter.end + 1]


def list_events(number, kind):
    return [e for node in beat(number) for e in node.events if isinstance(e, kind)]


@pytest.mark.parametrize(
    ("number", "raised"),
    [
        (1, "EndTxn: PRODUCER_FENCED"),
        (2, "EndTxn: INVALID_TXN_STATE"),
        (3, "Produce: INVALID_PRODUCER_EPOCH"),
        (4, "Produce: INVALID_TXN_STATE"),
        (7, "EndTxn: PRODUCER_FENCED"),
        (8, "InitProducerId: INVALID_TRANSACTION_TIMEOUT"),
        (9, "EndTxn: INVALID_TXN_STATE"),
        (12, "EndTxn: INVALID_PRODUCER_ID_MAPPING"),
        (13, "Produce: INVALID_PRODUCER_ID_MAPPING"),
        (16, "EndTxn: PRODUCER_FENCED"),
        (17, "FindCoordinator: TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        (24, "IllegalStateException: all records must be acknowledged in explicit mode"),
    ],
)
def test_the_application_gets_the_exception_that_users_name(number, raised):
    assert [str(e.raised) for e in list_events(number, CallReturned) if e.raised] == [raised]


@pytest.mark.parametrize(
    ("number", "error", "times"),
    [(14, Errors.CONCURRENT_TRANSACTIONS, 2), (20, Errors.UNSTABLE_OFFSET_COMMIT, 1)],
)
def test_the_client_is_told_the_same_again_and_again(number, error, times):
    answers = [error_in(e.message) for e in list_events(number, MessageDelivered)]
    assert answers.count(error) >= times


@pytest.mark.parametrize(
    ("number", "partition", "name"),
    [(5, "output-A-0", "reader"), (6, "output-A-0", "reader"), (25, "src-0", "app-2")],
)
def test_a_reader_waits_behind_the_last_stable_offset_without_an_error(number, partition, name):
    last = beat(number)[-1].world
    log = last.logs[partition]
    assert log.last_stable_offset < log.high_watermark
    reader = last.applications[name]
    assert reader.waiting
    assert not reader.records


def test_of_the_mended_release_the_same_pause_has_an_error_that_clients_know():
    trace, chapters = play_once("pain-order-of-checks", "kafka")
    last = nodes(trace)[chapters[-1].first + 1 :]
    raised = [
        str(e.raised) for n in last for e in n.events if isinstance(e, CallReturned) if e.raised
    ]
    assert raised == ["Produce: INVALID_PRODUCER_EPOCH"]


def test_what_became_of_a_commit_is_decided_before_its_answer_is_lost():
    world = beat(15)[-1].world
    (coordinator,) = [
        r for k, r in world.roles.items() if k[1] == "transaction_coordinator" and r.transactions
    ]
    assert coordinator.transactions["my-txn"].state.value == "PREPARE_COMMIT"
    assert world.applications["app-1"].waiting


def test_the_default_reader_has_a_ghost_and_a_duplicate():
    trace, _ = play_once("pain-ghosts", "kafka")
    got = [
        record.value
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, MessageDelivered)
        and e.source == "default/consumer"
        and e.way == "response"
        if isinstance(e.message, FetchResponse)
        for part in e.message.responses
        for record in part.records
    ]
    assert got == ["f(a)", "f(a)"]
    assert [r.value for r in trace.world.applications["reader"].consumer.records] == ["f(a)"]


def test_an_operators_marker_and_the_commits_stand_in_one_log():
    log = beat(19)[-1].world.logs["output-A-0"]
    assert [b.control for b in log.batches if b.control] == ["ABORT", "COMMIT"]


def test_a_late_acceptance_is_refused_and_a_record_goes_after_its_last_delivery():
    answers = [e.message for e in list_events(22, MessageDelivered) if e.way == "response"]
    assert Errors.INVALID_RECORD_STATE in [error_in(a) for a in answers]
    trace, _ = play_once("pain-vanished", "kafka")
    moved = [e for node in nodes(trace) for e in node.events if isinstance(e, RecordsMoved)]
    assert [e.after for e in moved if e.first == 100][-1] is RecordState.ARCHIVED
    assert list_events(23, RecordsMoved)[-1].first == 101


def test_a_timeout_is_nothing_that_the_application_hears_of():
    """Symptom 21: the ABORT marker is written while the application works on."""
    assert [e.control for e in list_events(21, BatchAppended)] == ["ABORT"]
    assert not [e for e in list_events(21, MessageDelivered) if e.source.startswith("app-1")]


def test_a_recovery_commits_what_stands_behind_its_checkpoint_if_the_epoch_is_the_same():
    """Symptom 10, and that it goes with transaction version 2."""
    below, _ = play_once("pain-more-than-the-checkpoint", "kafka-tv1")
    assert [b.control for b in below.world.logs["output-A-0"].batches if b.control] == [
        "COMMIT"
    ] * 2
    now, _ = play_once("pain-more-than-the-checkpoint", "kafka")
    assert now.world.logs["output-A-0"].open
    raised = [str(e.raised) for n in nodes(now) for e in n.events if isinstance(e, CallReturned)]
    assert raised[-1] == "EndTxn: PRODUCER_FENCED"


def test_a_forgotten_transaction_holds_up_what_the_restored_job_commits():
    """Symptom 11: two records are committed, and the reader gets the first one."""
    world = beat(11)[-1].world
    log = world.logs["output-A-0"]
    assert log.last_stable_offset < log.high_watermark
    assert [r.value for r in world.applications["reader"].records] == ["f(a)"]


def test_what_the_checkpoint_relied_on_is_aborted_and_nobody_reads_it():
    trace, _ = play_once("pain-recovered-too-late", "kafka")
    assert [b.control for b in trace.world.logs["output-A-0"].batches if b.control] == ["ABORT"]
    assert not trace.world.applications["reader"].records
