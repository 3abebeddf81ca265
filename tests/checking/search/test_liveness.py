"""For ever: proved, or resolved, or said to be open."""

from __future__ import annotations

import pytest

from kipviz.checking.search import liveness
from kipviz.checking.search.liveness import Futures, Settled, settle
from kipviz.cluster.actions import CrashBroker
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.properties.harm import Harm
from kipviz.properties.pending import Staged
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import follow, play

SMALL = searched_scenario("kip-1289-small")


def standing(under: str, until: str) -> Trace:
    """The small story, played up to the end of the beat of this title."""
    model = SMALL.model(design(under))
    titles = [beat.title for beat in SMALL.beats]
    beats = SMALL.beats[: titles.index(until) + 1]
    return play(Trace.start(model, PROPERTIES), model, beats)[0]


def settle_trace(trace: Trace) -> tuple[str, str]:
    found = settle(trace.model, trace.world, trace.observations[1])
    return (found.answer, found.what)


TITLES = [beat.title for beat in SMALL.beats]


@pytest.mark.parametrize("title", TITLES)
def test_under_the_repaired_design_everything_can_still_be_resolved(title: str) -> None:
    assert settle_trace(standing("repaired", title)) == ("resolved", "")


@pytest.mark.parametrize(("things", "them"), [(1, "it"), (2, "them")])
def test_what_is_pending_for_ever_is_told_in_its_number(things: int, them: str) -> None:
    found = Settled("for ever", "what is due", 9, things)
    assert found.for_ever == (
        f"what is due, and no continuation without a new fault resolves {them}"
    )
    assert found.harm is Harm.STUCK


def test_every_thing_that_is_pending_for_ever_is_counted() -> None:
    trace = standing("finding-I", "COMPLETE_COMMIT")
    found = settle(trace.model, trace.world, trace.observations[1])
    assert (found.answer, found.things) == ("for ever", len(found.what.split(", ")))
    pending = trace.observations[1]
    both = pending.but(offsets=pending.offsets.set(Staged("g", "src-0", 9), True))
    more = settle(trace.model, trace.world, both)
    assert (more.answer, more.things) == ("for ever", found.things + 1)


def test_nothing_pending_is_resolved_at_once() -> None:
    trace = Trace.start(SMALL.model(design("repaired")), PROPERTIES)
    assert settle(trace.model, trace.world, trace.observations[1]).steps == 0


def test_under_finding_i_the_record_is_pending_for_ever_and_that_is_proved() -> None:
    trace = standing("finding-I", "COMPLETE_COMMIT")
    assert settle_trace(trace) == ("for ever", "record src-0@100 is TX_PENDING")


def test_what_is_pending_for_ever_is_so_already_when_the_decision_is_not_made_yet() -> None:
    assert settle_trace(standing("finding-I", "producer.commitTransaction(): PREPARE_COMMIT")) == (
        "for ever",
        "record src-0@100 is TX_PENDING",
    )


def test_a_timer_may_resolve_what_nothing_else_does() -> None:
    trace = standing("finding-I+lock_expiry=back_to_available", "COMPLETE_COMMIT")
    assert settle_trace(trace) == ("resolved", "")


def test_a_repair_may_resolve_what_a_fault_holds_up() -> None:
    trace = standing("repaired", "commitTransaction() returns")
    for broker in (1, 7):  # the coordinator and the only other replica of its log
        trace = trace.take(CrashBroker(broker))
    assert settle_trace(trace) == ("resolved", "")


def test_a_fault_that_is_not_repaired_holds_it_up_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "ORDER", tuple(k for k in liveness.ORDER if k != "repair"))
    trace = standing("repaired", "commitTransaction() returns")
    for broker in (1, 7):
        trace = trace.take(CrashBroker(broker))
    assert settle_trace(trace)[0] == "for ever"


def test_new_faults_resolve_nothing() -> None:
    """Only a crash of the leader would forget the transactional acknowledgement; a future without one is asked for."""
    trace = standing("as-written+lock_expiry=pinned_until_marker", "COMPLETE_COMMIT")
    assert settle_trace(trace)[0] == "for ever"
    assert settle_trace(trace.take(CrashBroker(5)))[0] == "resolved"


def test_a_search_that_comes_to_its_bound_says_that_it_is_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(liveness, "SEARCH_MAX", 3)
    trace = standing("finding-I", "COMPLETE_COMMIT")
    assert settle_trace(trace) == ("undecided", "record src-0@100 is TX_PENDING")


def test_dead_ends_are_remembered_and_give_the_same_answer() -> None:
    trace = standing("finding-I", "COMPLETE_COMMIT")
    futures = Futures()
    first = settle(trace.model, trace.world, trace.observations[1], futures)
    assert len(futures.dead_ends) == first.steps > 1
    again = settle(trace.model, trace.world, trace.observations[1], futures)
    assert (again.answer, again.what) == (first.answer, first.what)
    assert again.steps < first.steps


def test_what_was_resolved_once_is_known_at_each_step_of_its_way() -> None:
    trace = standing("repaired", "COMPLETE_COMMIT")
    futures = Futures()
    first = settle(trace.model, trace.world, trace.observations[1], futures)
    assert first.answer == "resolved"
    assert first.steps + 1 == len(futures.resolved) > 2
    again = settle(trace.model, trace.world, trace.observations[1], futures)
    assert (again.answer, again.steps) == ("resolved", 0)


@pytest.mark.parametrize(
    "under", ["finding-I", "as-written", "finding-I+lock_expiry=back_to_available"]
)
def test_every_state_of_a_story_has_the_same_future_with_and_without_a_memory(under: str) -> None:
    model = SMALL.model(design(under))
    trace = play(Trace.start(model, PROPERTIES), model, SMALL.beats)[0]
    futures, answers = Futures(), []
    for node in reversed(trace.line):
        here = trace.jump(node)
        alone = settle(model, here.world, here.observations[1])
        remembering = settle(model, here.world, here.observations[1], futures)
        assert remembering.answer == alone.answer
        answers.append(alone.answer)
    assert "resolved" in answers


def test_asking_changes_nothing() -> None:
    trace = standing("finding-I", "COMPLETE_COMMIT")
    before = trace.world.digest
    settle_trace(trace)
    assert trace.world.digest == before
    assert follow(trace, trace.model, "quiet", "here").world.digest == before
