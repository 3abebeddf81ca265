"""Steps that have nothing to do with each other meet in one world, whichever comes first."""

from __future__ import annotations

from itertools import combinations

import pytest

from kipviz.cluster.actions import Deliver
from kipviz.cluster.behaviour.naming import on_wire
from kipviz.cluster.world import broker_host, host_of
from kipviz.messages.transactions.transactions import InitProducerId
from tests.cluster.small_clusters import EVERYTHING, model_of, small_spec, steps_of


def arrives_at(action: Deliver) -> str:
    return broker_host(action.broker) if action.way == "request" else host_of(action.source)


def is_init(world, action: Deliver) -> bool:
    return isinstance(on_wire(world, action), InitProducerId)


@pytest.mark.parametrize("replication", ["instant", "stepwise"])
@pytest.mark.parametrize(
    ("name", "flow"), [("repaired", "share"), ("as-written", "share"), ("repaired", "group")]
)
def test_two_deliveries_at_different_hosts_meet(name, flow, replication):
    spec = small_spec(flow, replication=replication, budget=EVERYTHING, applications=2)
    model = model_of(spec, name)
    met = 0
    for seed in range(4):
        for world, _, _ in steps_of(model, seed, 150):
            deliveries = [a for a in model.enabled(world) if isinstance(a, Deliver)]
            for one, other in combinations(deliveries, 2):
                if arrives_at(one) == arrives_at(other):
                    continue
                if is_init(world, one) and is_init(world, other):
                    continue  # who comes first gets the smaller producer id
                first = model.step(model.step(world, one).world, other).world
                second = model.step(model.step(world, other).world, one).world
                assert model.search_key(first) == model.search_key(second), (seed, one, other)
                assert first == second
                met += 1
    assert met > 50
