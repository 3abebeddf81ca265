"""Heartbeats of a transaction where the writer is not the committer, and the two settings of two drafts."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Call
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.cluster.actions import RunOut, Tick
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent, TimePassed, TransactionDecided
from kipviz.messages.transactions.liveness import TxnHeartbeat, TxnHeartbeatResponse
from kipviz.messages.transactions.transactions import EndTxnResponse, InitProducerId
from kipviz.scenarios.applications import session_programs
from kipviz.scenarios.library import scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import follow
from tests.scenarios.story import committed_outputs, nodes, play_once

WRITTEN = {"src-0@100": 1, "src-0@101": 1}


def list_sent(trace, kind):
    return [
        event
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, MessageSent) and isinstance(event.message, kind)
    ]


def list_decisions(trace):
    events = [event for node in nodes(trace) for event in node.events]
    return [event.committed for event in events if isinstance(event, TransactionDecided)]


@pytest.mark.parametrize("under", ["repaired", "kip-1310"])
def test_what_a_checkpoint_counts_as_written_is_aborted_when_nobody_beats(under: str) -> None:
    trace, _ = play_once("kip-1309-nobody-beats", under)
    assert list_decisions(trace) == [False]
    assert committed_outputs(trace.world) == {}
    (told,) = [event.message.error for event in list_sent(trace, EndTxnResponse)]
    assert told is Errors.INVALID_TXN_STATE


def test_a_committer_may_beat_in_the_name_of_a_dead_writer() -> None:
    trace, _ = play_once("kip-1309-committer-beats", "repaired")
    beats = list_sent(trace, TxnHeartbeat)
    assert [event.source for event in beats] == ["app-1/producer", *["app-2/session"] * 3]
    assert len({event.message for event in beats}) == 1  # nothing of the process is in it
    assert {event.message.error for event in list_sent(trace, TxnHeartbeatResponse)} == {
        Errors.NONE
    }
    assert not trace.world.applications["app-1"].alive
    assert list_decisions(trace) == [True]
    assert committed_outputs(trace.world) == WRITTEN


def test_a_producer_that_is_set_up_by_reflection_beats_as_well() -> None:
    """Flink today, under KIP-1309 alone: no session, the fields of a producer."""
    story = scenario("kip-1309-committer-beats")
    writer, committer = story.spec.applications
    producer = committer.but(
        session=None, program=session_programs.REFLECTION, heartbeat_interval_ms=5_000
    )
    chosen = design("kip-1309")
    model = story.but(spec=story.spec.but(applications=(writer, producer))).model(chosen)
    trace = Trace.start(model, PROPERTIES)
    for beat in story.beats[:5]:
        for step in beat.steps:
            trace = follow(trace, model, step.replace("app-2/session", "app-2/producer"), "here")
    assert [e.source for e in list_sent(trace, TxnHeartbeat)][1:] == ["app-2/producer"]
    assert {e.message.error for e in list_sent(trace, TxnHeartbeatResponse)} == {Errors.NONE}


def test_a_committer_with_an_interval_of_its_own_is_given_up_while_it_lives() -> None:
    trace, _ = play_once("kip-1309-other-interval", "repaired")
    committer = trace.world.applications["app-2"]
    assert committer.alive
    assert committer.session.manager.state is ProducerState.FATAL_ERROR
    answers = [event.message.error for event in list_sent(trace, TxnHeartbeatResponse)]
    assert answers == [Errors.NONE, Errors.PRODUCER_FENCED]
    assert committer.ended == (
        f"{Call.COMMIT_TRANSACTION.value}() threw TxnHeartbeat: PRODUCER_FENCED"
    )
    assert list_decisions(trace) == [False]


SETTINGS = "kip-1309-two-settings"


@pytest.mark.parametrize(
    ("under", "told", "given_up_after"),
    [
        ("repaired", 3_000, 9_000),
        ("kip-1310", 9_000, 9_000),
        ("repaired+session_timeout=the_timeout_itself", 9_000, 27_000),
    ],
)
def test_the_two_settings_fit_together_in_two_readings_of_four(
    under: str, told: int, given_up_after: int
) -> None:
    trace, chapters = play_once(SETTINGS, under)
    (init,) = [event.message for event in list_sent(trace, InitProducerId)]
    assert init.heartbeat_interval_ms == told
    last = chapters[-1]
    passed = [
        event.ms
        for node in nodes(trace)[last.first : last.end + 1]
        for event in node.events
        if isinstance(event, TimePassed)
    ]
    assert sum(passed) == given_up_after
    assert list_decisions(trace) == [False]


def test_an_interval_that_is_taken_for_a_time_out_ends_a_healthy_transaction() -> None:
    trace, chapters = play_once(SETTINGS, "repaired+silence=one_session_timeout")
    before_the_death = nodes(trace)[: chapters[4].first]
    assert any(isinstance(node.action, RunOut) for node in before_the_death)
    assert sum(isinstance(node.action, Tick) for node in before_the_death) == 1
    assert list_decisions(trace) == [False]
