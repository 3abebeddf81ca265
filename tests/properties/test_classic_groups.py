"""Random runs of groups of the classic protocol: what holds whatever happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership.classic_group import ClassicGroup, GroupState
from kipviz.checking.single_run.seeded_run import Task, model_of, moments
from kipviz.clients.groups.consumer import is_classic
from kipviz.clients.groups.consumer_coordinator import MemberState
from kipviz.cluster.world import World
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.scenario import PROPERTIES

STORIES = ("kip-62-in-the-middle", "kip-345-two-of-one", "kip-447-generation")
S = GroupState


def groups(world: World) -> Iterator[ClassicGroup]:
    for role in world.roles.values():
        if isinstance(role, GroupCoordinator) and not role.loading:
            yield from role.classic_groups.values()


def check(group: ClassicGroup) -> None:
    """What a coordinator knows of a group is consistent in itself, at every step."""
    assert bool(group.leader) == bool(len(group.members))
    assert not group.leader or group.leader in group.members
    # ClassicGroup.replaceStaticMember leaves the id of the older process among those that are awaited.
    static = tuple(f"{m.instance_id}." for m in group.members.values() if m.instance_id)
    older = set(group.unsynced) - set(group.members)
    assert all(static and name.startswith(static) for name in older)
    assert not older or group.state is S.STABLE
    assert not set(group.pending) & set(group.members)
    held = Counter(p for m in group.members.values() for p in m.assigned)
    assert not held or held.most_common(1)[0][1] == 1
    joining = [m for m in group.members.values() if m.joining is not None]
    syncing = [m for m in group.members.values() if m.syncing is not None]
    assert not joining or group.state is S.PREPARING_REBALANCE
    assert not syncing or group.state is S.COMPLETING_REBALANCE
    assert (group.state is S.EMPTY) <= (not len(group.members))


@pytest.mark.parametrize("story", STORIES)
def test_in_hostile_runs_a_group_is_consistent_and_nothing_is_lost_or_done_twice(
    story: str,
) -> None:
    seen: set[GroupState] = set()
    atomic = PROPERTIES[0]
    for seed in range(10):
        task = Task(story, "kafka", "hostile", seed)
        model = model_of(task)
        facts = atomic.initial(model.initial())
        newest: dict[str, int] = {}
        for moment in moments(task, model):
            facts = atomic.observe(facts, moment.action, moment.outcome)
            world = moment.outcome.world
            for group in groups(world):
                check(group)
                seen.add(group.state)
            for name, app in world.applications.items():
                me = app.consumer
                assert is_classic(me)
                # What it has it was given in the generation that it is in, or was in last.
                assert not me.owned or me.state in (MemberState.STABLE, MemberState.UNJOINED)
                life = f"{name}/{app.life}"
                assert me.membership.metadata[1] >= newest.get(
                    f"{life} {me.membership.metadata[0]}", -1
                )
                newest[f"{life} {me.membership.metadata[0]}"] = me.membership.metadata[1]
        assert atomic.finding(facts).status != BROKEN, seed
    assert seen == set(S) - {S.DEAD}
