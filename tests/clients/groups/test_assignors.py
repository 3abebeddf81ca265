"""Assignors of the classic protocol: ranges, and members that keep what they will get back (KIP-429)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership import classic_group
from kipviz.brokers.membership import classic_membership as classic
from kipviz.brokers.membership.classic_group import ClassicGroup, ClassicMember, GroupState
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.assignors import assign, cooperative, sticky
from kipviz.clients.groups.consumer import ClassicConsumer, is_classic
from kipviz.clients.groups.consumer_coordinator import MemberState
from kipviz.clients.timers import HeartbeatInterval
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent
from kipviz.messages.groups.classic_groups import (
    Assigned,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    Subscribed,
    SyncGroup,
    SyncGroupResponse,
)
from kipviz.messages.groups.groups import OffsetFetch
from kipviz.records.classic_groups import COOPERATIVE_STICKY, RANGE, Subscription
from kipviz.scenarios.library import searched_scenario
from tests.clients.groups.test_classic_consumer import BOTH, fresh, send
from tests.clients.parts import change
from tests.scenarios.story import nodes, play_once

E, S = Errors, MemberState
STICKY = (COOPERATIVE_STICKY,)
BOUNCED = (COOPERATIVE_STICKY, RANGE)
HERE = "__consumer_offsets-0"
PARTITIONS = tuple(f"p-{n}" for n in range(7))


def there(name: str, *owned: str, generation: int = 3) -> Subscribed:
    return Subscribed(name, Subscription(("p",), owned, generation))


@st.composite
def groups(draw: Any) -> tuple[Subscribed, ...]:
    """Members who own some partitions each, nobody the same as anybody else."""
    owners = draw(st.lists(st.integers(-1, 3), min_size=7, max_size=7))
    count = draw(st.integers(1, 4))
    return tuple(
        there(f"m{n}", *(p for p, owner in zip(PARTITIONS, owners, strict=True) if owner == n))
        for n in range(count)
    )


@given(groups())
def test_everybody_has_as_much_as_anybody_and_nobody_loses_what_fits(
    members: tuple[Subscribed, ...],
) -> None:
    given_ = sticky(PARTITIONS, members)
    assert sorted(p for mine in given_.values() for p in mine) == sorted(PARTITIONS)
    sizes = [len(mine) for mine in given_.values()]
    assert max(sizes) - min(sizes) <= 1
    for member in members:
        kept = [p for p in member.subscription.owned if p in given_[member.member_id]]
        assert len(kept) >= min(len(member.subscription.owned), *sizes)


@given(groups())
def test_what_moves_is_given_up_first_and_given_in_the_next_generation(
    members: tuple[Subscribed, ...],
) -> None:
    first = cooperative(PARTITIONS, members)
    owner = {p: m.member_id for m in members for p in m.subscription.owned}
    for each in first:
        assert all(owner.get(p, each.member_id) == each.member_id for p in each.partitions)
    kept = {each.member_id: each.partitions for each in first}
    for name, goal in sticky(PARTITIONS, members).items():
        assert all(p in kept[name] for p in goal if owner.get(p, name) == name)
    again = tuple(there(each.member_id, *each.partitions, generation=4) for each in first)
    second = {each.member_id: each.partitions for each in cooperative(PARTITIONS, again)}
    assert second == sticky(PARTITIONS, again)
    assert sorted(p for mine in second.values() for p in mine) == sorted(PARTITIONS)


def test_what_an_older_generation_owned_does_not_count() -> None:
    members = (there("a", "p-0", generation=2), there("b", "p-0", "p-1"))
    assert sticky(("p-0", "p-1"), members) == {"a": ("p-1",), "b": ("p-0",)}
    assert assign(RANGE, ("p-0", "p-1"), members) == (
        Assigned("a", ("p-0",)),
        Assigned("b", ("p-1",)),
    )


# -- the coordinator ------------------------------------------------------------------------------


def group_of(*protocols: tuple[str, ...]) -> ClassicGroup:
    members = {
        f"m{n}": ClassicMember("m", Subscription(("p",)), protocols=known)
        for n, known in enumerate(protocols)
    }
    return ClassicGroup(GroupState.STABLE, generation=1, leader="m0", members=Table.of(members))


@pytest.mark.parametrize(
    ("protocols", "chosen"),
    [
        (((RANGE,), (RANGE,)), RANGE),
        ((BOUNCED, (RANGE,)), RANGE),
        ((BOUNCED, BOUNCED), COOPERATIVE_STICKY),
        ((BOUNCED, STICKY), COOPERATIVE_STICKY),
        ((BOUNCED, (RANGE, COOPERATIVE_STICKY), (RANGE, COOPERATIVE_STICKY)), RANGE),
    ],
)
def test_the_members_vote_for_an_assignor_that_all_of_them_know(
    protocols: tuple[tuple[str, ...], ...], chosen: str
) -> None:
    assert classic_group.chosen_protocol(group_of(*protocols)) == chosen


@pytest.mark.parametrize(
    ("asks", "error"),
    [
        ((RANGE,), E.INCONSISTENT_GROUP_PROTOCOL),
        (BOUNCED, E.MEMBER_ID_REQUIRED),
        (STICKY, E.MEMBER_ID_REQUIRED),
    ],
)
def test_who_knows_no_assignor_that_all_know_is_not_let_in(
    asks: tuple[str, ...], error: Errors
) -> None:
    role = GroupCoordinator(HERE, classic_groups=Table.of({"g": group_of(STICKY)}))
    desk = Desk(gc, role, leaders={HERE: 1})
    request = JoinGroup("g", "", Subscription(("p",)), protocols=asks)
    assert desk.ask(classic.on_join_group, request).error is error


def test_the_assignor_of_a_generation_is_told_and_stays_in_the_log() -> None:
    desk = Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1})
    desk.settings = desk.settings.but(initial_rebalance_delay_ms=0)
    join = JoinGroup("g", "", Subscription(("p",)), protocols=STICKY)
    named: Any = desk.ask(classic.on_join_group, join)
    joined: Any = desk.ask(classic.on_join_group, join.but(member_id=named.member_id))
    assert joined.protocol == COOPERATIVE_STICKY
    sync = SyncGroup("g", 1, joined.member_id, (Assigned(joined.member_id, ("p-0",)),))
    desk.ask(classic.on_sync_group, sync)
    desk.do(classic.on_group_stored(desk.role, desk.local[-1].message, desk.on))
    synced: Any = desk.last
    assert (synced.partitions, synced.protocol) == (("p-0",), COOPERATIVE_STICKY)
    loaded = classic_group.load_group(desk.written(HERE)[-1])
    assert (loaded.protocol, loaded.members[joined.member_id].protocols) == (STICKY[0], STICKY)


# -- the consumer ---------------------------------------------------------------------------------


def holding(**changes: Any) -> ClassicConsumer:
    """A cooperative consumer of generation 1 with both partitions, in poll()."""
    me, _ = send(kafka_consumer.poll(fresh(assignors=STICKY, **changes)))
    me = kafka_consumer.on_response(
        me, JoinGroupResponse(E.NONE, "C1.1", 1, "C9", protocol=STICKY[0])
    )
    me, request = send(me)
    assert isinstance(request, SyncGroup)
    assert request.protocol == COOPERATIVE_STICKY
    me = kafka_consumer.on_response(me, SyncGroupResponse(E.NONE, BOTH, STICKY[0]))
    return change(me, positions=me.subscription.positions.set("src-0", 5).set("src-1", 7))


def rejoining() -> ClassicConsumer:
    me = kafka_consumer.on_timer(holding(), HeartbeatInterval())
    me, _ = send(me)
    return kafka_consumer.on_response(me, HeartbeatResponse(E.REBALANCE_IN_PROGRESS))


def test_a_cooperative_consumer_joins_with_its_partitions_in_its_hands() -> None:
    me, request = send(rejoining())
    assert isinstance(request, JoinGroup)
    assert (request.subscription, request.protocols) == (Subscription(("src",), BOTH, 1), STICKY)
    assert me.owned == BOTH


def test_what_it_is_not_given_again_it_gives_up_and_joins_once_more() -> None:
    me, _ = send(rejoining())
    me = kafka_consumer.on_response(
        me, JoinGroupResponse(E.NONE, "C1.1", 2, "C9", protocol=STICKY[0])
    )
    me, _ = send(me)
    me = kafka_consumer.on_response(me, SyncGroupResponse(E.NONE, ("src-0",), STICKY[0]))
    assert (me.state, me.owned) == (S.PREPARING_REBALANCE, ("src-0",))
    assert dict(me.subscription.positions.items()) == {"src-0": 5}
    _, request = send(me)
    assert isinstance(request, JoinGroup)
    assert request.subscription == Subscription(("src",), ("src-0",), 2)


def test_who_has_lost_its_name_or_its_generation_has_lost_its_partitions() -> None:
    for error in (E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION):
        me, _ = send(kafka_consumer.on_timer(holding(), HeartbeatInterval()))
        assert kafka_consumer.on_response(me, HeartbeatResponse(error)).owned == ()


def test_with_an_eager_assignor_beside_it_a_consumer_gives_everything_up() -> None:
    assert not fresh(assignors=BOUNCED).membership.cooperative
    me, _ = send(kafka_consumer.on_timer(change(holding(), assignors=BOUNCED), HeartbeatInterval()))
    assert kafka_consumer.on_response(me, HeartbeatResponse(E.REBALANCE_IN_PROGRESS)).owned == ()


def test_a_group_that_knows_no_assignor_of_it_ends_the_call() -> None:
    me, _ = send(kafka_consumer.poll(fresh()))
    me = kafka_consumer.on_response(me, JoinGroupResponse(E.INCONSISTENT_GROUP_PROTOCOL, ""))
    assert (me.done, str(me.error)) == (True, "JoinGroup: INCONSISTENT_GROUP_PROTOCOL")


def looked_up(story: str) -> list[str]:
    """The partitions of which app-1 asked for the committed offset, in the order it did."""
    trace, _ = play_once(story, "kafka")
    return [
        partition
        for node in nodes(trace)
        for event in node.events
        if isinstance(event, MessageSent)
        and event.source == "app-1/consumer"
        and isinstance(event.message, OffsetFetch)
        for partition in event.message.groups[0].partitions or ()
    ]


def test_only_what_moves_stops_and_the_rest_goes_on_where_it_was() -> None:
    """The same change of members: two generations and every partition, or three and one partition."""
    assert looked_up("kip-62-rebalance")[:3] == ["src-0", "src-1", "src-0"]
    assert looked_up("kip-429-cooperative") == ["src-0", "src-1"]
    trace, _ = play_once("kip-429-cooperative", "kafka")
    first, second = (trace.world.applications[name].consumer for name in ("app-1", "app-2"))
    assert is_classic(first)
    assert is_classic(second)
    assert (first.member_epoch, first.owned, second.owned) == (3, ("src-0",), ("src-1",))
    assert dict(first.subscription.positions.items()) == {"src-0": 104}


@pytest.mark.parametrize(("assignors", "said"), [((), "not none"), (("sticky",), "not sticky")])
def test_an_assignor_that_is_not_modelled_is_refused(assignors: tuple[str, ...], said: str) -> None:
    spec = searched_scenario("kip-429-cooperative").spec
    wrong = tuple(app.but(assignors=assignors) for app in spec.applications)
    with pytest.raises(BadSpec, match=f"one or both of range, cooperative-sticky, {said}"):
        check(spec.but(applications=wrong))
