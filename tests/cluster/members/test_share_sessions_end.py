"""How a share session ends, and how it does not: closed, its connection broken, its member cut off (KIP-932)."""

from __future__ import annotations

import pytest

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.cluster.actions import ClusterAction, Cut, LoseConnection, Step
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.designs.catalogue import design
from kipviz.messages.events import RecordsMoved
from kipviz.records.share_group_state import RecordState
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.script import next_by_itself

STORY = searched_scenario("kip-932-close")


def and_quiet(
    model: ClusterModel, world: World, action: ClusterAction
) -> tuple[World, list[RecordsMoved]]:
    """Take an action and what happens by itself behind it; give how records moved meanwhile."""
    moved: list[RecordsMoved] = []
    following: ClusterAction | None = action
    while following is not None:
        outcome = model.step(world, following)
        world = outcome.world
        moved += [event for event in outcome.events if isinstance(event, RecordsMoved)]
        following = next_by_itself(model, world)
    return world, moved


def sessions(world: World) -> list[str]:
    roles = (role for role in world.roles.values() if isinstance(role, ShareLeader))
    return [member for role in roles for _, member in role.sessions]


@pytest.mark.parametrize(
    ("end", "released"),
    [
        (Step("app-1"), True),  # its next call is close()
        (LoseConnection("app-1/consumer", 5), True),
        (Cut("B5", "app-1"), False),
    ],
    ids=["closed", "its connection breaks", "cut off"],
)
def test_a_member_keeps_its_records_unless_its_session_is_closed(
    end: ClusterAction, released: bool
) -> None:
    model = STORY.model(design("kafka"), FaultBudget(cut=1, lose_connection=1))
    world, _ = and_quiet(model, model.initial(), Step("app-1"))
    world = model.step(world, Step("app-1")).world
    assert sessions(world) == ["M1"]
    world, moved = and_quiet(model, world, end)
    found = [(event.first, event.last, event.before, event.after) for event in moved]
    back = (RecordState.ACQUIRED, RecordState.AVAILABLE)
    assert found == ([(100, 100, *back), (101, 101, *back)] if released else [])
    assert sessions(world) == ([] if released else ["M1"])
