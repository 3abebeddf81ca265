"""Threads of one process under a timed clock: each goes on, and waits, for itself."""

from __future__ import annotations

import pytest

from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.clients.sessions.session_threads import PARKED
from kipviz.cluster.actions import Step, Tick
from kipviz.cluster.behaviour.due_actions import deadline_of
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.timing.clock import Clock
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import next_by_itself
from kipviz.views.role_cards.remaining_time import later

STORY = searched_scenario("kip-1310-two-threads")
FIRST, SECOND = Step("app-1"), Step("app-1", "worker")
WORK_MS = 20_000


def time_story(story=STORY, work_ms=0, under="repaired", **bounds):
    """A story's cluster under a timed clock, with no faults."""
    (app,) = story.spec.applications
    spec = story.spec.but(
        clock=Clock("timed", tick="next", **bounds),
        budget=FaultBudget(),
        applications=(app.but(work_ms=work_ms),),
    )
    return story.but(spec=spec).model(design(under))


def before_the_commit(model):
    """Let the first thread come to its commit, and the worker to its first line."""
    world = model.initial()
    while world.applications["app-1"].line < len(STORY.spec.applications[0].program) - 5:
        action = FIRST if model.why_not(world, FIRST) is None else next_by_itself(model, world)
        world = model.step(world, action).world
    return world


def after(model, world, *actions):
    for action in actions:
        world = model.step(world, action).world
    return world


def test_where_nothing_may_be_late_threads_meet_in_every_way_in_which_they_do_without_a_clock():
    model = time_story(searched_scenario("kip-1310-late-thread"), delay_max_ms=0, pause_max_ms=0)
    found = Search(model, PROPERTIES).run(Bounds())
    assert (found.states, found.complete) == (601, True)


def test_the_work_of_one_thread_holds_up_no_other_one():
    model = time_story(work_ms=WORK_MS)
    world = before_the_commit(model)
    assert model.why_not(world, FIRST) == "it is due in 20 s: time has to pass first"
    assert dict(later(world))["app-1: next statement"] == "in 20 s or later"
    world = after(model, world, SECOND)
    assert deadline_of(world, FIRST).after == WORK_MS
    assert deadline_of(world, SECOND) is None


def test_a_pause_that_is_over_for_a_worker_keeps_time_from_passing():
    model = time_story(work_ms=WORK_MS, pause_max_ms=5_000, delay_max_ms=0)
    world = before_the_commit(model)
    assert (deadline_of(world, SECOND).after, deadline_of(world, SECOND).by) == (0, 5_000)
    world = after(model, world, Tick())
    assert deadline_of(world, FIRST).after == WORK_MS - 5_000
    why = "worker of app-1: next statement: that is due now, so time cannot pass it"
    assert model.why_not(world, Tick()) == why
    world = after(model, world, SECOND)
    assert deadline_of(world, SECOND) is None
    assert deadline_of(world, FIRST).after == WORK_MS - 5_000


def test_who_has_worked_and_waits_for_a_lock_does_not_work_again():
    model = time_story(work_ms=WORK_MS, under="repaired+session_threads=held_until_it_returns")
    world = before_the_commit(model)
    world = after(model, world, SECOND)
    while model.why_not(world, SECOND) is not None:
        world = after(model, world, next_by_itself(model, world))
    world = after(model, world, SECOND, SECOND, SECOND)
    assert world.applications["app-1"].workers[0].waiting
    while model.why_not(world, FIRST) is not None:
        world = after(model, world, Tick())
    world = after(model, world, FIRST)
    assert world.applications["app-1"].gate == PARKED
    while model.why_not(world, SECOND) is not None:
        world = after(model, world, next_by_itself(model, world))
    world = after(model, world, SECOND)
    assert model.why_not(world, FIRST) is None


@pytest.mark.parametrize(("pause_max_ms", "loses"), [(5_000, False), (30_000, True)])
def test_a_commit_after_its_work_meets_a_worker_only_if_that_may_stand_still_for_longer(
    pause_max_ms, loses
):
    model = time_story(work_ms=WORK_MS, pause_max_ms=pause_max_ms, delay_max_ms=0)
    world = before_the_commit(model)
    while model.why_not(world, Tick()) is None:
        world = after(model, world, Tick())
    assert (model.why_not(world, FIRST) is None) is loses
    assert model.why_not(world, SECOND) is None
