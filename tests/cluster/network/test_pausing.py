"""A host that stands still: what waits, what goes on without it, and what it finds afterwards."""

from __future__ import annotations

import pytest

from kipviz.cluster.actions import Deliver, Heal, Pause, Resume, Send, Step
from kipviz.cluster.behaviour.catalogue import runs_on, script_name
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.cluster.timing.clock import clock_named
from kipviz.core.model import NotEnabled
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import CallReturned
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import follow

STORY = searched_scenario("pain-two-instances")


@pytest.fixture
def model():
    budget = STORY.spec.budget.but(pause=2)
    return STORY.model(design("kafka"), budget)


def play(model, *instructions):
    trace = Trace.start(model)
    for instruction in instructions:
        trace = follow(trace, model, instruction, "here")
    return trace


def labels(model, trace):
    return [script_name(trace.world, a) for a in model.enabled(trace.world)]


def test_nothing_runs_on_a_host_that_stands_still_and_nothing_breaks(model):
    trace = play(model, "quiet", "app-1 goes on", "app-1/producer sends InitProducerId")
    connections = trace.world.connections
    trace = trace.take(Pause("B1"))
    assert trace.world.connections is connections
    arrives = Deliver("app-1/producer", 1, "request")
    assert arrives not in model.enabled(trace.world)
    with pytest.raises(NotEnabled, match="B1 is paused"):
        trace.take(arrives)
    assert arrives in model.enabled(trace.take(Resume("B1")).world)


def test_an_application_that_stands_still_neither_calls_nor_sends_nor_reads(model):
    trace = play(model, "quiet", "app-1 goes on").take(Pause("app-1"))
    for action in (Step("app-1"), Send("app-1/producer")):
        assert model.why_not(trace.world, action) == "app-1 is paused"
    assert Step("app-2") in model.enabled(trace.world)


def test_every_action_that_is_possible_runs_on_a_host_that_does_not_stand_still(model):
    for host in ("app-1", "B1", "B3"):
        trace = play(model, "quiet", "app-1 goes on", "quiet", "app-1 goes on").take(Pause(host))
        found = model.enabled(trace.world)
        assert all(runs_on(trace.world, a) != host for a in found)
        assert all(model.why_not(trace.world, a) is None for a in found)


def test_pauses_come_out_of_the_budget_and_waking_up_is_free(model):
    trace = play(model, "B1 stands still", "B3 stands still")
    assert "this run allows 2, and they are used up" in model.why_not(trace.world, Pause("B4"))
    assert not [text for text in labels(model, trace) if text.endswith("stands still")]
    trace = play(model, "B1 stands still", "B1 wakes up")
    assert trace.world.cuts == ()


def test_what_cannot_stand_still_or_wake_up_says_why(model):
    world = play(model, "B1 stands still").world
    assert model.why_not(world, Pause("B1")) == "B1 is already paused"
    assert model.why_not(world, Pause("B9")).startswith(
        "'B9' is not running; running hosts are B3, B4"
    )
    assert model.why_not(world, Resume("B3")) == "B3 is not paused"
    assert model.why_not(world, Heal("B1", "B1")) == "B1 and B1 are not partitioned"


def test_a_zombie_wakes_up_and_is_fenced(model):
    """KIP-98, zombie fencing: the old instance sleeps while the new one takes over."""
    begins = ("app-1 goes on", "quiet", "app-1 goes on", "app-1 goes on", "quiet")
    trace = play(model, *begins, *("app-1 goes on",) * 3, "quiet", "app-1 stands still")
    for instruction in ("app-2 goes on", "quiet", "app-2 goes on", "app-1 wakes up"):
        trace = follow(trace, model, instruction, "here")
    raised = []
    for _ in range(4):
        trace = follow(follow(trace, model, "app-1 goes on", "here"), model, "quiet", "here")
        raised += [str(e.raised) for e in trace.events if isinstance(e, CallReturned) and e.raised]
        if trace.world.applications["app-1"].ended:
            break
    assert "PRODUCER_FENCED" in trace.world.applications["app-1"].ended


def test_a_timed_clock_has_pauses_of_its_own():
    spec = STORY.spec.but(budget=STORY.spec.budget.but(pause=1), clock=clock_named("timed"))
    with pytest.raises(BadSpec, match="a timed clock has pauses of its own"):
        check(spec)
