"""After the last fault, with everybody up, the repaired design leaves nothing pending."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Call
from kipviz.cluster.actions import TimeOutTransaction
from kipviz.cluster.spec import FaultBudget
from tests.cluster.invariants import unresolved_in
from tests.cluster.small_clusters import EVERYTHING, NO_FAULTS, model_of, small_spec, world_after

BY_ITSELF = ("deliver", "load", "replicate", "sender", "application")
STEPS_MAX = 3_000


def calmed(model, world, seed):
    """The world after repairs and whatever happens by itself; every choice depends on the seed."""
    world = world.but(budget=NO_FAULTS)
    for step in range(STEPS_MAX):
        enabled = model.enabled(world)
        actions = [a for a in enabled if model.kind(a) == "repair"]
        actions = actions or [a for a in enabled if model.kind(a) in BY_ITSELF]
        actions = actions or [a for a in enabled if model.kind(a) == "refresh"]
        if not actions:
            return world
        world = model.step(world, actions[(31 * seed + 7 * step) % len(actions)]).world
    raise AssertionError(f"seed {seed}: the cluster does not come to rest in {STEPS_MAX} steps")


def timed_out(model, world, seed):
    """The world after every open transaction has run out of time."""
    while True:
        world = world.but(budget=FaultBudget(time_out=1))
        due = [a for a in model.enabled(world) if isinstance(a, TimeOutTransaction)]
        if not due:
            return world.but(budget=NO_FAULTS)
        world = calmed(model, model.step(world, due[0]).world, seed)


@pytest.mark.parametrize("replication", ["instant", "stepwise"])
@pytest.mark.parametrize("flow", ["share", "share-abort", "group", "group-abort"])
def test_when_the_faults_stop_everything_is_resolved(flow, replication):
    for applications in (1, 2):
        spec = small_spec(
            flow, replication=replication, budget=EVERYTHING, applications=applications
        )
        model = model_of(spec)
        for seed in range(6):
            stormy = world_after(model, seed, 150)
            world = timed_out(model, calmed(model, stormy, seed), seed)
            assert not unresolved_in(world), (applications, seed)
            for app in world.applications.values():
                line = app.program[app.line]
                assert app.ended or (app.waiting and line.call is Call.POLL), (seed, app)


@pytest.mark.parametrize("flow", ["share", "group"])
def test_an_undisturbed_loop_puts_out_every_record_once_and_waits_for_more(flow):
    model = model_of(small_spec(flow, records=5))
    world = calmed(model, model.initial(), 0)
    put_out = [
        record.origin for batch in world.logs["output-A-0"].batches for record in batch.records
    ]
    assert put_out == [f"src-0@{offset}" for offset in range(100, 105)]
    assert not unresolved_in(world)
