"""The stories in which the head names what differs from Kafka's defaults, and nothing else is left out that a setting could add."""

from __future__ import annotations

import pytest

from kipviz.checking.single_run import runs
from kipviz.cluster.specs.abstraction import KAFKA
from kipviz.cluster.world import World
from kipviz.messages.events import MessageDelivered
from kipviz.messages.logs.list_offsets import EARLIEST_TIMESTAMP, ListOffsets
from kipviz.scenarios.library import scenario

STORIES = ("kip-447-as-kafka-is", "kip-1310-as-kafka-is")
MESSAGES_MAX = 6
EACH = pytest.mark.parametrize("story", STORIES)


def end_of(story: str) -> World:
    world: World = runs.play(story).trace.last().world
    return world


@EACH
def test_members_join_and_a_record_counts_once_its_followers_have_it(story: str) -> None:
    spec = scenario(story).spec
    assert KAFKA.of_brokers(spec) == spec
    assert all(application.protocol for application in spec.applications)
    assert spec.replication == "stepwise"


@EACH
def test_a_big_step_delivers_six_messages_at_most(story: str) -> None:
    run = runs.play(story)
    nodes = [run.trace.node(id_) for id_ in run.trace.line]
    for chapter in run.told:
        events = [e for k in range(chapter.first, chapter.end) for e in nodes[k + 1].events]
        delivered = sum(isinstance(event, MessageDelivered) for event in events)
        assert 1 <= delivered <= MESSAGES_MAX, chapter.title


def test_a_member_begins_where_a_transaction_committed_and_its_reset_policy_is_not_needed() -> None:
    world = end_of(STORIES[0])
    late = world.applications["app-2"].consumer
    assert (late.owned, late.subscription.positions["src-1"]) == (("src-1",), 202)
    assert world.applications["app-1"].consumer.owned == ("src-0",)
    trace = runs.play(STORIES[0]).trace
    asked = [
        part
        for id_ in trace.line
        for event in trace.node(id_).events
        if isinstance(event, MessageDelivered) and isinstance(event.message, ListOffsets)
        for part in event.message.partitions
    ]
    assert [each.partition for each in asked] == ["src-0", "src-1"]
    assert all(each.timestamp == EARLIEST_TIMESTAMP for each in asked)


def test_a_share_group_and_a_session_share_one_transaction_that_is_committed() -> None:
    world = end_of(STORIES[1])
    member = world.applications["app-1"].consumer
    assert (member.subscription.joins, member.subscription.assigned) == (True, ("src-0",))
    assert member.current_fetch.staged == (100, 101)
    manager = world.applications["app-1"].manager
    assert manager.state.value == "READY"
