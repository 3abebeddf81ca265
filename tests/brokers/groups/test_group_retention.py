"""What is forgotten of a group that nobody uses, and what is not."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_retention import is_counted_together, is_given
from kipviz.brokers.groups.group_state import CommittedOffset, GroupCoordinator, PendingOffset
from kipviz.brokers.membership import classic_membership
from kipviz.brokers.membership.classic_group import ClassicGroup, ClassicMember, GroupState
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.brokers.timers import GroupRetention, OffsetRetention
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.events import OffsetsExpired
from kipviz.messages.groups.classic_groups import JoinGroup
from kipviz.records.classic_groups import Subscription
from kipviz.records.consumer_offsets import GroupTombstone, OffsetTombstone
from tests.messages.offset_fetches import fetch_offset_of

HERE = "__consumer_offsets-0"
TIMER = GroupRetention("g")
KEPT = Table.of({("g", "src-0"): CommittedOffset(5, 0), ("g", "src-1"): CommittedOffset(7, 1)})
EMPTY = Table.of({"g": ClassicGroup(generation=4)})
MEMBER = ClassicMember("C", Subscription(("src",)))
USED = Table.of({"g": ClassicGroup(GroupState.STABLE, members=Table.of({"C.1": MEMBER}))})

READ = Table.of({"g": ConsumerGroup(5, 5, Table.of({"C": GroupMember(("src",))}))})


def desk_of(*, offsets_expire=True, **state):
    role = GroupCoordinator(HERE, **{"offsets": KEPT, **state})
    return Desk(gc, role, leaders={HERE: 1}, offsets_expire=offsets_expire)


def test_of_an_empty_classic_group_everything_is_forgotten_at_once():
    desk = desk_of(classic_groups=EMPTY)
    assert gc.timers(desk.role, desk.on) == (TIMER,)
    desk.do(gc.on_timer(desk.role, TIMER, desk.on))
    tombstones = [OffsetTombstone("g", "src-0"), OffsetTombstone("g", "src-1")]
    assert desk.written(HERE) == [*tombstones, GroupTombstone("g", "group metadata")]
    assert desk.events[-1] == OffsetsExpired("g", ("src-0", "src-1"), True)
    assert not len(desk.role.offsets)
    assert "g" not in desk.role.classic_groups
    assert fetch_offset_of(desk).offset == -1
    assert gc.timers(desk.role, desk.on) == ()


@pytest.mark.parametrize(
    ("state", "of"),
    [
        ({"groups": Table.of({"g": ConsumerGroup(5, 5)})}, ("target assignment", "group epoch")),
        ({}, ()),
    ],
)
def test_of_a_group_of_kip_848_and_of_offsets_alone_each_offset_is_forgotten_by_itself(state, of):
    desk = desk_of(**state)
    first, second = OffsetRetention("src-0", "g"), OffsetRetention("src-1", "g")
    assert gc.timers(desk.role, desk.on) == (first, second)
    desk.do(gc.on_timer(desk.role, first, desk.on))
    assert desk.written(HERE) == [OffsetTombstone("g", "src-0")]
    assert desk.events[-1] == OffsetsExpired("g", ("src-0",), False)
    assert gc.timers(desk.role, desk.on) == (second,)
    desk.do(gc.on_timer(desk.role, second, desk.on))
    last = [OffsetTombstone("g", "src-1"), *(GroupTombstone("g", each) for each in of)]
    assert desk.written(HERE)[1:] == last
    assert desk.events[-1] == OffsetsExpired("g", ("src-1",), bool(of))
    assert "g" not in desk.role.groups
    assert gc.timers(desk.role, desk.on) == ()


@pytest.mark.parametrize("state", [{"classic_groups": USED}, {"groups": READ}])
def test_of_a_topic_that_nobody_subscribes_to_offsets_are_forgotten_and_the_group_stays(state):
    desk = desk_of(offsets=KEPT.set(("g", "old-0"), CommittedOffset(3, 2)), **state)
    timer = OffsetRetention("old-0", "g")
    assert [each for each in gc.timers(desk.role, desk.on) if "retention" in each.text] == [timer]
    desk.do(gc.on_timer(desk.role, timer, desk.on))
    assert desk.written(HERE) == [OffsetTombstone("g", "old-0")]
    assert list(desk.role.offsets) == [("g", "src-0"), ("g", "src-1")]
    assert "g" in (*desk.role.classic_groups, *desk.role.groups)


def test_between_two_generations_nothing_is_forgotten():
    group = ClassicGroup(GroupState.PREPARING_REBALANCE, members=Table.of({"C.1": MEMBER}))
    old = KEPT.set(("g", "old-0"), CommittedOffset(3, 2))
    desk = desk_of(offsets=old, classic_groups=Table.of({"g": group}))
    assert not [each for each in gc.timers(desk.role, desk.on) if "retention" in each.text]


def test_an_offset_that_another_one_is_pending_for_stays_and_with_it_an_empty_group():
    pending = Table.of({9: (PendingOffset("g", "src-0", 6, 4),)})
    desk = desk_of(groups=Table.of({"g": ConsumerGroup(5, 5)}), pending=pending)
    timer = OffsetRetention("src-1", "g")
    assert gc.timers(desk.role, desk.on) == (timer,)
    desk.do(gc.on_timer(desk.role, timer, desk.on))
    assert "g" in desk.role.groups


def test_an_empty_group_of_kip_848_without_offsets_goes_at_the_next_check():
    desk = desk_of(groups=Table.of({"g": ConsumerGroup(5, 5)}), offsets=Table.of())
    assert gc.timers(desk.role, desk.on) == (TIMER,)
    desk.do(gc.on_timer(desk.role, TIMER, desk.on))
    assert "g" not in desk.role.groups


@pytest.mark.parametrize(
    "state",
    [
        {"classic_groups": USED},
        {"groups": READ},
        {"members": Table.of({("g", "C1"): 2})},
        {"offsets_expire": False},
    ],
)
def test_a_group_with_members_keeps_its_offsets_and_so_does_one_that_nothing_expires_of(state):
    desk = desk_of(**state)
    assert not [each for each in gc.timers(desk.role, desk.on) if "retention" in each.text]


def test_what_is_pending_stays_and_with_it_the_group():
    pending = Table.of({9: (PendingOffset("g", "src-0", 6, 4),)})
    desk = desk_of(classic_groups=EMPTY, pending=pending)
    desk.do(gc.on_timer(desk.role, TIMER, desk.on))
    assert desk.written(HERE) == [OffsetTombstone("g", "src-1")]
    assert "g" in desk.role.classic_groups
    assert gc.timers(desk.role, desk.on) == ()


def test_a_new_coordinator_does_not_find_what_was_forgotten():
    desk = desk_of(classic_groups=EMPTY)
    desk.do(gc.on_timer(desk.role, TIMER, desk.on))
    desk.role = gc.on_loaded(GroupCoordinator(HERE, loading=True), desk.on).state
    assert not len(desk.role.offsets)
    assert not len(desk.role.classic_groups)


def test_the_members_of_a_group_that_is_made_again_have_names_that_nobody_had():
    desk = desk_of(classic_groups=Table.of(), offsets=Table.of())

    def asks():
        request = JoinGroup("g", "", Subscription(("src",)))
        on = desk.on.but(client_id="C1")
        made = classic_membership.on_join_group(desk.role, request, ReplyTo("x", 1, 0), on)
        desk.do(made)
        return made.replies[0].message.member_id

    assert asks() == "C1.1"
    desk.do(gc.on_timer(desk.role, TIMER, desk.on))
    assert "g" not in desk.role.classic_groups
    assert asks() == "C1.2"


def test_a_group_with_members_is_never_counted_together_whether_it_has_offsets_or_not():
    """ConsumerGroup.offsetExpirationCondition looks at each offset; ClassicGroup's at the whole while it is Empty."""
    none = Table.of({})
    assert not is_counted_together(GroupCoordinator(HERE, groups=READ, offsets=none), "g")
    assert is_counted_together(GroupCoordinator(HERE, offsets=none), "g")
    assert not is_counted_together(GroupCoordinator(HERE, classic_groups=USED), "g")


def test_each_offset_is_forgotten_as_its_own_group_s():
    of_h = {("h", "src-2"): CommittedOffset(3, 0)}
    desk = desk_of(offsets=Table.of({**dict(KEPT.items()), **of_h}))
    timers = [OffsetRetention("src-0", "g"), OffsetRetention("src-1", "g")]
    assert list(gc.timers(desk.role, desk.on)) == [*timers, OffsetRetention("src-2", "h")]


def test_what_is_forgotten_of_a_group_is_its_own():
    of_h = {("h", "src-0"): CommittedOffset(3, 0)}
    desk = desk_of(classic_groups=EMPTY, offsets=Table.of({**dict(KEPT.items()), **of_h}))
    desk.do(gc.on_timer(desk.role, TIMER, desk.on))
    assert {r.group_id for r in desk.written(HERE)} == {"g"}
    assert list(desk.role.offsets) == [("h", "src-0")]


def test_the_last_offset_of_a_group_takes_the_group_along_whatever_other_groups_have():
    kept = Table.of({("g", "src-0"): CommittedOffset(5, 0), ("h", "src-1"): CommittedOffset(3, 0)})
    desk = desk_of(offsets=kept, groups=Table.of({"g": ConsumerGroup(5, 5)}))
    desk.do(gc.on_timer(desk.role, OffsetRetention("src-0", "g"), desk.on))
    assert "g" not in desk.role.groups
    assert desk.events[-1] == OffsetsExpired("g", ("src-0",), True)


@pytest.mark.parametrize(
    "state",
    [
        {"groups": READ},
        {
            "groups": Table.of({"g": ConsumerGroup(5, 5)}),
            "pending": Table.of({9: (PendingOffset("g", "src-1", 6, 4),)}),
        },
    ],
    ids=["of a group that has a member", "of a group whose next offset is pending"],
)
def test_the_last_offset_goes_and_its_group_stays_with_who_or_what_is_still_there(state):
    kept = Table.of({("g", "old-0"): CommittedOffset(5, 0)})
    desk = desk_of(offsets=kept, **state)
    desk.do(gc.on_timer(desk.role, OffsetRetention("old-0", "g"), desk.on))
    assert desk.written(HERE) == [OffsetTombstone("g", "old-0")]
    assert "g" in desk.role.groups


def test_an_empty_group_stays_for_an_offset_that_is_pending_where_none_was_before():
    pending = Table.of({9: (PendingOffset("g", "src-2", 6, 4),)})
    desk = desk_of(classic_groups=EMPTY, pending=pending)
    desk.do(gc.on_timer(desk.role, TIMER, desk.on))
    assert desk.written(HERE) == [OffsetTombstone("g", "src-0"), OffsetTombstone("g", "src-1")]
    assert "g" in desk.role.classic_groups


def test_an_offset_that_another_group_has_pending_is_forgotten_all_the_same():
    pending = Table.of({9: (PendingOffset("h", "src-0", 6, 4),)})
    desk = desk_of(classic_groups=EMPTY, pending=pending)
    desk.do(gc.on_timer(desk.role, TIMER, desk.on))
    assert "g" not in desk.role.classic_groups


def test_a_group_is_given_no_longer_once_a_member_has_joined_it_in_the_run():
    given = Table.of({("g", "C0"): 2})
    assert is_given(GroupCoordinator(HERE, members=given), "g")
    assert not is_given(GroupCoordinator(HERE, members=given), "h")
    assert not is_given(GroupCoordinator(HERE, members=given, groups=READ), "g")
