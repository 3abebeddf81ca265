"""After the last fault, with everybody up, the repaired design leaves nothing pending."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Call
from kipviz.cluster.actions import TimeOutTransaction
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.scheduler import Scheduler
from tests.cluster.invariants import unresolved_in
from tests.cluster.small_clusters import (
    EVERYTHING,
    HOSTILE,
    NO_FAULTS,
    model_of,
    small_spec,
    world_after,
)

BY_ITSELF = ("deliver", "load", "replicate", "sender", "application")
STEPS_MAX = 1_500


def calm_down(model, world, seed):
    """The world after repairs and whatever happens by itself, and whether it came to rest.

    A consumer asks for its offset again and again while a
    transaction that nobody ends holds it: then only the transaction's timeout brings rest.
    """
    world, dice = world.but(budget=NO_FAULTS), Scheduler(seed, HOSTILE)
    for step in range(STEPS_MAX):
        enabled = model.enabled(world)
        actions = [a for a in enabled if model.kind(a) == "repair"]
        actions = actions or [a for a in enabled if model.kind(a) in BY_ITSELF]
        actions = actions or [a for a in enabled if model.kind(a) == "refresh"]
        if not actions:
            return world, True
        world = model.step(world, dice.choose(step, tuple(actions), model.kind)).world
    return world, False


def at_rest(model, world, seed):
    """The world at rest, after every open transaction that nobody ends has run out of time."""
    while True:
        world, rests = calm_down(model, world, seed)
        world = world.but(budget=FaultBudget(time_out=1))
        due = [a for a in model.enabled(world) if isinstance(a, TimeOutTransaction)]
        if not due:
            assert rests, f"seed {seed}: no rest within {STEPS_MAX} steps, and nothing is open"
            return world.but(budget=NO_FAULTS)
        world = model.step(world, due[0]).world


@pytest.mark.parametrize("replication", ["instant", "stepwise"])
@pytest.mark.parametrize("flow", ["share", "share-abort", "group", "group-abort"])
def test_when_the_faults_stop_everything_is_resolved(flow, replication):
    for applications in (1, 2, 3):
        spec = small_spec(
            flow, replication=replication, budget=EVERYTHING, applications=applications
        )
        model = model_of(spec)
        for seed in range(4):
            world = at_rest(model, world_after(model, seed, 150), seed)
            assert not unresolved_in(world), (applications, seed)
            for app in world.applications.values():
                line = app.program[app.line]
                assert app.ended or (app.waiting and line.call is Call.POLL), (seed, app)


@pytest.mark.parametrize("flow", ["share", "group"])
def test_an_undisturbed_loop_puts_out_every_record_once_and_waits_for_more(flow):
    model = model_of(small_spec(flow, records=5))
    world, rests = calm_down(model, model.initial(), 0)
    assert rests
    put_out = [
        record.origin for batch in world.logs["output-A-0"].batches for record in batch.records
    ]
    assert put_out == [f"src-0@{offset}" for offset in range(100, 105)]
    assert not unresolved_in(world)
