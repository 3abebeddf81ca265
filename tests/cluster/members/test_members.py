"""Members that come and go in runs full of accidents: what has to hold of every group at every step."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups.group_state import GroupCoordinator, replay
from kipviz.checking.single_run.seeded_run import Task, model_of, moments
from kipviz.cluster.world import World
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.scenario import PROPERTIES

STORIES = ("kip-848-rebalance", "kip-447-race", "kip-447-zombie")
SEEDS = range(12)


def coordinators(world: World) -> list[GroupCoordinator]:
    roles = world.roles.values()
    return [r for r in roles if isinstance(r, GroupCoordinator) and not r.loading]


def wrong_in(world: World) -> str:
    for role in coordinators(world):
        for group in role.groups.values():
            held = [p for m in group.members.values() for p, _ in (*m.assigned, *m.revoking)]
            if len(held) != len(set(held)):
                return f"a partition has two owners: {held}"
            if group.target_epoch > group.epoch:
                return "the target is newer than the group"
            for name, member in group.members.items():
                if member.epoch > group.target_epoch:
                    return f"{name} is ahead of the target"
                if any(epoch > member.epoch for _, epoch in member.assigned):
                    return f"{name} got a partition in an epoch that it has not reached"
    return ""


def read_again(world: World, role: GroupCoordinator) -> GroupCoordinator:
    """What a new coordinator would find in the log."""
    fresh = GroupCoordinator(role.shard)
    for batch in world.logs[role.shard].batches:
        fresh = replay(fresh, batch)
    return fresh


@pytest.mark.parametrize("story", STORIES)
def test_no_accident_gives_a_partition_to_two_members_or_a_group_another_memory(story: str) -> None:
    moved = 0
    for seed in SEEDS:
        task = Task(story, "kafka", "hostile", seed)
        model_of(task)
        for moment in moments(task):
            world = moment.outcome.world
            assert not wrong_in(world), (seed, moment.step)
            moved += sum(len(g.members) for r in coordinators(world) for g in r.groups.values())
        for role in coordinators(world):
            again = read_again(world, role)
            kept = (role.groups, role.offsets, role.pending)
            assert (again.groups, again.offsets, again.pending) == kept, seed
        atomic = PROPERTIES[0].finding(moment.observations[0])
        assert atomic.status != BROKEN, (seed, atomic.reason)
    assert moved
