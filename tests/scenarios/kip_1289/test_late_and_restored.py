"""Markers, questions and ends that come late: what the coordinator makes of them, and what is lost."""

from __future__ import annotations

from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.errors import Errors
from kipviz.messages.events import CallReturned, MessageDelivered, MessageSent
from kipviz.messages.logs.producing import Produce
from kipviz.messages.transactions.transactions import EndTxnResponse, WriteTxnMarkersResponse
from tests.scenarios.story import after, nodes, play_once


def controls(world, partition="output-A-0"):
    return [b.control for b in world.logs[partition].batches if b.control]


def list_delivered(name, under, kind):
    trace, _ = play_once(name, under)
    return [
        e.message
        for node in nodes(trace)
        for e in node.events
        if isinstance(e, MessageDelivered) and isinstance(e.message, kind)
    ]


def list_raised(name, under):
    trace, _ = play_once(name, under)
    events = [e for n in nodes(trace) for e in n.events if isinstance(e, CallReturned)]
    return [(e.application, str(e.raised)) for e in events if e.raised]


def test_a_late_marker_commits_what_is_to_be_aborted_below_version_2_only():
    """Anomaly 10.5; KIP-1228 makes the epoch of a marker strictly higher."""
    below, _ = play_once("kip-890-late-marker", "kafka-tv1")
    assert controls(below.world) == ["COMMIT", "COMMIT", "ABORT"]
    now, _ = play_once("kip-890-late-marker", "kafka")
    assert controls(now.world) == ["COMMIT", "ABORT"]


def test_an_abort_of_nothing_is_told_to_come_back_and_fences_nobody():
    """Anomaly 10.11, KAFKA-18464."""
    answers = list_delivered("kip-890-empty-abort", "kafka", EndTxnResponse)
    expected = [Errors.NONE, Errors.CONCURRENT_TRANSACTIONS, Errors.NONE]
    assert [a.error for a in answers] == expected
    trace, _ = play_once("kip-890-empty-abort", "kafka")
    assert trace.world.applications["app-1"].producer.manager.producer_epoch == 2
    assert controls(trace.world) == ["COMMIT"]


def test_a_repeated_question_is_a_zombies_after_the_coordinator_moved():
    """Anomaly 10.9 (c), KAFKA-20357."""
    assert list_raised("kip-360-fenced-by-nobody", "kafka-tv1")[-1] == (
        "app-1",
        "InitProducerId: PRODUCER_FENCED",
    )
    before = after("kip-360-fenced-by-nobody", "kafka-tv1", "The response with epoch 1 is lost")
    known = before.roles[1, "transaction_coordinator", "__transaction_state-45"]
    assert known.transactions["my-txn"].last_producer_epoch == 0
    moved = after("kip-360-fenced-by-nobody", "kafka-tv1", "The coordinator moves")
    known = moved.roles[5, "transaction_coordinator", "__transaction_state-45"]
    assert known.transactions["my-txn"].last_producer_epoch == -1


def test_a_stale_question_ends_two_producers():
    """Anomaly 10.12."""
    trace, _ = play_once("kip-360-stale-question", "kafka-tv1")
    states = {name: app.producer.manager.state for name, app in trace.world.applications.items()}
    assert set(states.values()) == {ProducerState.FATAL_ERROR}
    assert controls(trace.world)[-1] == "ABORT"


def test_a_success_proves_no_ownership():
    """Anomaly 10.14."""
    (answer,) = list_delivered("kip-890-zombie-aborts", "kafka", EndTxnResponse)
    assert (answer.error, answer.producer_epoch) == (Errors.NONE, 1)
    trace, _ = play_once("kip-890-zombie-aborts", "kafka")
    assert trace.world.applications["app-2"].producer.manager.producer_epoch == 2
    assert list_raised("kip-890-zombie-aborts", "kafka") == [
        ("app-1", "Produce: INVALID_PRODUCER_EPOCH")
    ]
    sent = [e.message for n in nodes(trace) for e in n.events if isinstance(e, MessageSent)]
    batches = [batch for m in sent if isinstance(m, Produce) for batch in m.partition_data]
    assert [batch.producer_epoch for batch in batches] == [0, 1]


def test_markers_of_the_coordinator_before_are_refused():
    """Anomaly 10.16."""
    answers = list_delivered("kip-98-zombie-coordinator", "kafka", WriteTxnMarkersResponse)
    errors = [result.error for answer in answers for result in answer.results]
    fenced = Errors.TRANSACTION_COORDINATOR_FENCED
    assert errors == [Errors.NONE, Errors.NONE, fenced, fenced]
    trace, _ = play_once("kip-98-zombie-coordinator", "kafka")
    assert controls(trace.world) == ["COMMIT"]
