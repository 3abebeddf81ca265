"""Minimal stories, and the one event whose absence would have saved a run."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import explore
from kipviz.checking.single_run.seeded_run import Task, model_of, moments, run
from kipviz.checking.single_run.shrink import NotBroken, _narrow_cuts, saving, savings, shrink
from kipviz.cluster.actions import Cut, ExpireLock, Heal
from kipviz.cluster.network.network_partition import across
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.checking.counts import BROKEN_AFTER, FINDING_D, FINDING_I, STUCK_AFTER
from tests.checking.search.test_explore import model_of as searched

ATOMIC, PROGRESS = (prop.name for prop in PROPERTIES)
LONG = Task("kip-1289-two-members", "finding-D", "rough", 0)


def failing(design_name: str, faults: str, broken: str, seeds: int = 60) -> Task:
    """The first seeded run that breaks a property."""
    for seed in range(seeds):
        task = Task("kip-1289-two-members", design_name, faults, seed)
        if run(task).broken == broken:
            return task
    raise AssertionError("no seed breaks it")


def actions_of(task: Task) -> tuple[Any, ...]:
    return tuple(moment.action for moment in moments(task))


def breaks(model: Any, actions: tuple[Any, ...]) -> bool:
    trace = Trace.start(model, PROPERTIES)
    for action in actions:
        if model.why_not(trace.world, action) is None:
            trace = trace.take(action)
    return PROPERTIES[0].finding(trace.observations[0]).status == BROKEN


def test_a_failing_run_shrinks_to_a_story_in_which_no_step_can_be_left_out() -> None:
    task = failing("finding-D", "rough", ATOMIC)
    model, actions = model_of(task), actions_of(task)
    story = shrink(model, actions, ATOMIC)
    assert len(story.actions) < len(actions) / 3
    trace = Trace.start(model, PROPERTIES)
    for action in story.actions:
        trace = trace.take(action)
    assert PROPERTIES[0].finding(trace.observations[0]).status == BROKEN
    for at in range(len(story.actions)):
        assert not breaks(model, story.actions[:at] + story.actions[at + 1 :]), at


def test_the_same_run_shrinks_to_the_same_story() -> None:
    task = failing("finding-D", "rough", ATOMIC)
    one = shrink(model_of(task), actions_of(task), ATOMIC)
    assert shrink(model_of(task), actions_of(task), ATOMIC) == one


def test_a_shortest_counterexample_cannot_be_shrunk_by_much() -> None:
    (known,) = explore(searched(FINDING_D)).counterexamples
    story = shrink(searched(FINDING_D), known.actions, ATOMIC)
    assert len(known.actions) == BROKEN_AFTER == len(story.actions)


def test_what_is_pending_for_ever_shrinks_too() -> None:
    (known,) = explore(searched(FINDING_I)).counterexamples
    story = shrink(searched(FINDING_I), known.actions, PROGRESS)
    assert len(story.actions) == STUCK_AFTER


def test_shrinking_can_be_ended_early_and_keeps_a_story_that_breaks() -> None:
    task = failing("finding-D", "rough", ATOMIC)
    left = iter(range(10))
    story = shrink(model_of(task), actions_of(task), ATOMIC, lambda: next(left, None) is not None)
    assert breaks(model_of(task), story.actions)
    assert story.tried < 15


def test_a_run_that_breaks_nothing_is_refused() -> None:
    model = searched_scenario("kip-1289-small").model(design("repaired"), budget_of(""))
    with pytest.raises(NotBroken, match="the 0 actions do not break 'atomic'"):
        shrink(model, (), ATOMIC)
    with pytest.raises(NotBroken):
        savings(model, (), ATOMIC)


def test_the_lock_that_ran_out_is_what_would_have_saved_finding_d() -> None:
    (known,) = explore(searched(FINDING_D)).counterexamples
    found = saving(searched(FINDING_D), known.actions, ATOMIC)
    assert found is not None
    assert isinstance(found.action, ExpireLock)
    assert (found.at, found.lost) == (BROKEN_AFTER - 1, 0)


def test_every_saving_step_saves() -> None:
    (known,) = explore(searched(FINDING_D)).counterexamples
    model = searched(FINDING_D)
    found = savings(model, known.actions, ATOMIC)
    assert found
    for each in found:
        assert not breaks(model, known.actions[: each.at] + known.actions[each.at + 1 :])


class BrokenWhileApart:
    """Judges a run as broken where some hosts are cut apart in it, whatever else happens."""

    def __init__(self, *pairs: tuple[str, str]) -> None:
        self._pairs = pairs

    def cut_at_break(self, actions: tuple[Any, ...]) -> tuple[Any, ...] | None:
        held = [pair for a in actions if isinstance(a, Cut) for pair in across(a.one, a.other)]
        return actions if all(pair in held for pair in self._pairs) else None


def test_a_cut_keeps_no_host_that_it_does_not_take() -> None:
    wide = (Cut("B1/B3/app-2", "B5/app-1"), ExpireLock(1, "", 0), Heal("B1/B3/app-2", "B5/app-1"))
    judge: Any = BrokenWhileApart(("B1", "app-1"), ("B3", "app-1"))
    least = (Cut("B1/B3", "app-1"), ExpireLock(1, "", 0), Heal("B1/B3", "app-1"))
    assert _narrow_cuts(judge, wide, lambda: True) == least
    assert _narrow_cuts(judge, wide, lambda: False) == wide
