"""A coordinator knows what is in its log, no more and no less: a new one would read the same.

Not compared is what no log has: enlistments and answers that wait, and members' sessions. A new
transaction coordinator may know more (a decision that its predecessor gave up), so it is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kipviz.brokers.groups import group_coordinator
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.settings import BrokerSettings
from kipviz.brokers.share_coordinators import share_coordinator
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from tests.cluster.small_clusters import model_of, small_spec, steps_of

UPKEEP = BrokerSettings(state_upkeep=True, updates_per_snapshot=2)
OFTEN = FaultBudget(move_leader=2, run_out=30)


def unlike(model: ClusterModel, world: World) -> Iterator[str]:
    """Say where a coordinator in office differs from one that would read its log now."""
    turn = model.turn(world)
    for (broker, _, shard), role in world.roles.items():
        if broker not in world.up or getattr(role, "loading", True):
            continue
        opened = {producer_id for _, producer_id in world.logs[shard].open}
        if isinstance(role, ShareCoordinator):
            fresh = ShareCoordinator(shard, loading=True)
            read = share_coordinator.on_loaded(fresh, turn.context(broker)).state
            if (role.states, role.acknowledgements) != (read.states, read.acknowledgements):
                yield f"{shard}: {role.states}, {role.acknowledgements}; read {read.states}, {read.acknowledgements}"
            if set(role.acknowledgements.keys()) != opened:
                yield f"{shard}: transactional acknowledgements {role.acknowledgements}, open transactions of {opened}"
        elif isinstance(role, GroupCoordinator):
            own = GroupCoordinator(shard, loading=True)
            again = group_coordinator.on_loaded(own, turn.context(broker)).state
            if (role.offsets, role.pending) != (again.offsets, again.pending):
                yield f"{shard}: {role.offsets}, {role.pending}; read {again}"
            if not set(role.pending.keys()) <= opened:
                yield f"{shard}: pending {role.pending}, open transactions of {opened}"


@pytest.mark.parametrize("replication", ["instant", "stepwise"])
@pytest.mark.parametrize("flow", ["share", "share-abort", "group", "group-abort"])
def test_a_coordinator_knows_what_a_new_one_would_read_of_its_log(
    flow: str, replication: str
) -> None:
    """The share coordinator's log is pruned all the while."""
    spec = small_spec(flow, replication=replication, budget=OFTEN, applications=2)
    model = model_of(spec.but(settings=UPKEEP))
    for seed in range(6):
        for step, (_, action, outcome) in enumerate(steps_of(model, seed, 160)):
            if step % 4 == 0:
                wrong = list(unlike(model, outcome.world))
                assert not wrong, (seed, step, action, wrong)
