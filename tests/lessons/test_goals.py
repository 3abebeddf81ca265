"""Goals: every checkpoint of the library has one, and it holds where the story says."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.cluster.actions import CrashBroker, CrashClient
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.core.traces.trace import Trace
from kipviz.lessons.goals import FORMER_NAMES, GOALS, Spans, UnknownGoal, goal_named, is_goal
from kipviz.scenarios.library import LIBRARY


def spans(trace: Trace, *names: str) -> list[tuple[str, int, int | None]]:
    seen = Spans(names)
    for k, node in enumerate(map(trace.node, trace.line)):
        seen.see(k, node.action, node.world, node.events)
    return [(span["goal"], span["from"], span["to"]) for span in seen.found]


@pytest.mark.parametrize("scenario", LIBRARY, ids=lambda scenario: scenario.name)
def test_every_scenario_has_two_notes_and_two_checkpoints_with_goals_that_there_are(scenario):
    assert len(scenario.watch) >= 2
    assert len(scenario.checkpoints) >= 2
    assert {checkpoint.goal for checkpoint in scenario.checkpoints} <= set(GOALS)
    beats = max(1, len(scenario.beats))
    assert all(0 <= note.beat < beats for note in scenario.watch)


@pytest.mark.parametrize("scenario", LIBRARY, ids=lambda scenario: scenario.name)
def test_some_goal_of_a_told_story_is_reached_by_stepping_and_some_only_by_own_deeds(scenario):
    trace = runs.play(scenario.name).trace.last()
    goals = [checkpoint.goal for checkpoint in scenario.checkpoints]
    reached = {goal for goal, _, _ in spans(trace, *goals)}
    if scenario.beats:
        assert reached
    own = {"broker crashed", "crashed after the decision", "timed out", "lso set free"}
    told = {trace.node(node).action.KIND for node in trace.line[1:]}
    assert told & {"expiry", "fault"} or not reached & own


def test_the_lso_is_held_back_from_the_first_batch_to_the_marker():
    run = runs.play("kip-1289-group-commit")
    ((_, begin, end),) = spans(run.trace.last(), "lso held back")
    log = [run.trace.node(node).world.logs["output-A-0"] for node in run.trace.last().line]
    assert log[begin - 1].end_offset == 0
    assert log[begin].end_offset == 2
    assert log[end - 1].last_stable_offset == 0
    assert log[end].last_stable_offset == 3


def test_commit_is_answered_before_the_markers_are_written():
    run = runs.play("kip-1289-share-commit")
    ((_, begin, end),) = spans(run.trace.last(), "answered before markers")
    assert begin < end


def test_a_record_is_given_away_only_under_the_design_that_lets_the_lock_run_out():
    for design, found in (("finding-D", 1), ("repaired", 0)):
        trace = runs.play("kip-1289-lock-expiry", design).trace.last()
        assert len(spans(trace, "record given away")) == found


def test_a_crash_is_the_learners_own_deed_and_lasts_for_the_rest_of_the_branch():
    run = runs.play("kip-1289-share-commit")
    before = run.trace.last().jump(run.trace.last().line[31])
    trace = before.take(CrashBroker(5)).take(CrashClient("app-1"))
    found = spans(trace, "broker crashed", "crashed after the decision", "client crashed")
    assert found == [
        ("broker crashed", 32, None),
        ("crashed after the decision", 32, 33),
        ("client crashed", 33, None),
    ]


@pytest.mark.parametrize("way", ["my-txn times out", "app-1 starts"])
def test_the_lso_is_set_free_by_the_timeout_or_by_the_producer_that_starts_again(way):
    trace = runs.play("kip-98-stuck-lso").trace.last()
    assert not spans(trace, "lso set free")
    for turn in range(60):
        world = trace.node(trace.line[-1]).world
        able = trace.model.enabled(world)
        calm = [a for a in able if a.KIND not in ("fault", "expiry", "repair")]
        deed = [a for a in able if turn == 0 and script_name(world, a) == way]
        if spans(trace, "lso set free"):
            break
        trace = trace.take(deed[0] if deed else calm[turn % len(calm)])
    assert spans(trace, "lso set free")


def test_a_goal_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(UnknownGoal, match="there is no goal 'x'; the goals are lso held back"):
        Spans(["x"])


@pytest.mark.parametrize(("former", "now"), FORMER_NAMES.items())
def test_a_goal_that_was_renamed_is_found_by_its_former_name(former, now):
    assert former not in GOALS
    assert is_goal(former)
    assert goal_named(former) is GOALS[now]
