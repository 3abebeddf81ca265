"""The stories of KIP-890 under each transaction version."""

from __future__ import annotations

import pytest

from kipviz.designs.catalogue import design
from kipviz.lessons.goals import Spans
from kipviz.scenarios.library import scenario


def play_story(name, under):
    trace, _ = scenario(name).play(design(under))
    return trace


def output(trace):
    return trace.world.logs["output-A-0"]


def list_reached(trace, *goals):
    seen = Spans(goals)
    for k, node in enumerate(map(trace.node, trace.line)):
        seen.see(k, node.action, node.world, node.events)
    return {span["goal"] for span in seen.found}


@pytest.mark.parametrize(
    ("under", "batches", "hangs"),
    [
        ("kafka-tv0", ["ABORT", ""], True),
        ("kafka-tv1", ["ABORT"], False),
        ("kafka", [], False),
    ],
)
def test_a_late_batch_hangs_only_where_nobody_is_asked(under, batches, hangs):
    trace = play_story("kip-890-hanging", under)
    log = output(trace)
    assert [batch.control for batch in log.batches] == batches
    assert (log.last_stable_offset < log.high_watermark) is hangs
    goals = ("hangs", "late one refused")
    assert list_reached(trace, *goals) == {goals[0] if hangs else goals[1]}


def verdicts(trace):
    return [o.finding(s).status for o, s in zip(trace.observers, trace.observations, strict=True)]


def entries(trace):
    """Epoch and marker of every batch of the output; "" is data."""
    return [(batch.producer_epoch, batch.control) for batch in output(trace).batches]


def coordinator(trace):
    return [
        transaction
        for key, role in trace.world.roles.items()
        if key[1] == "transaction_coordinator"
        for transaction in role.transactions.values()
    ]


@pytest.mark.parametrize(
    ("under", "twice"), [("kafka-tv0", True), ("kafka-tv1", False), ("kafka", False)]
)
def test_a_late_record_is_committed_with_the_next_transaction_where_nobody_is_asked(under, twice):
    trace = play_story("kip-890-late-record", under)
    assert ("output twice" in list_reached(trace, "output twice")) is twice
    assert verdicts(trace)[0] == ("broken" if twice else "holds")


@pytest.mark.parametrize(("under", "wrong"), [("kafka-tv1", True), ("kafka", False)])
def test_a_late_commit_ends_the_next_transaction_only_where_both_have_one_epoch(under, wrong):
    trace = play_story("kip-890-late-commit", under)
    goals = ("ended by a late one", "output twice")
    assert list_reached(trace, *goals) == (set(goals) if wrong else set())
    assert verdicts(trace)[0] == ("broken" if wrong else "holds")


@pytest.mark.parametrize(
    ("under", "error"), [("kafka", "INVALID_TXN_STATE"), ("kafka-tv1", "PRODUCER_FENCED")]
)
def test_a_commit_after_the_time_out_is_never_a_success(under, error):
    trace = play_story("kip-890-too-late", under)
    ended = [
        node.world.applications["app-1"].ended
        for node in map(trace.node, trace.line)
        if node.world.applications["app-1"].ended
    ]
    assert set(ended) == {f"commitTransaction() threw EndTxn: {error}"}
    assert verdicts(trace) == ["holds", "holds"]
    assert "producer ended" in list_reached(trace, "producer ended")


@pytest.mark.parametrize("under", ["kafka", "kafka-tv1", "kafka-tv0"])
def test_a_producer_that_wakes_up_is_fenced_and_the_work_is_done_once(under):
    trace = play_story("kip-98-zombie", under)
    assert list_reached(trace, "fenced", "producer ended") == {"fenced", "producer ended"}
    assert [epoch for epoch, _ in entries(trace)][:3] == [0, 1, 2]
    assert trace.world.applications["app-1"].producer.manager.state == "FATAL_ERROR"
    assert verdicts(trace) == ["holds", "holds"]


def test_at_the_last_epoch_the_commit_changes_the_producer_id():
    trace = play_story("kip-890-overflow", "kafka")
    assert entries(trace) == [(32766, ""), (32767, "COMMIT"), (0, ""), (1, "COMMIT")]
    assert [batch.producer_id for batch in output(trace).batches] == [5, 5, 9, 9]
    (known,) = coordinator(trace)
    assert (known.producer_id, known.previous_producer_id) == (9, 9)
    assert "rotating" in list_reached(trace, "rotating")


def test_a_client_that_is_raised_to_version_2_bumps_its_epoch_between_two_transactions():
    trace = play_story("kip-890-upgrade", "kafka-tv1")
    assert entries(trace) == [(0, ""), (0, "COMMIT"), (1, ""), (2, "COMMIT")]
    assert trace.world.applications["app-1"].producer.manager.version == 2
    goals = ("bumped by the client", "level changed")
    assert list_reached(trace, *goals) == set(goals)
