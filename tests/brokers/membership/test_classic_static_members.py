"""Static members of a classic group (KIP-345): they keep their place and fence their older processes."""

from __future__ import annotations

import pytest

from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.membership import classic_membership as classic
from kipviz.brokers.timers import GroupRebalance, GroupSync, MemberSession
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import Heartbeat, JoinGroup, LeaveGroup, Leaver
from kipviz.messages.groups.groups import GroupOffset, OffsetCommit
from tests.brokers.groups.classic_desk import (
    FRESH,
    HERE,
    S,
    answer_of,
    carry,
    group,
    make_desk,
    over,
    run_out,
    second,
    sync,
)


@pytest.fixture
def desk():
    return make_desk()


def join_as(desk, instance_id, name="", source="", subscription=FRESH):
    request = JoinGroup("g", name, subscription, instance_id)
    return desk.ask(classic.on_join_group, request, source or f"{instance_id}/join")


def node_alone(desk):
    """node.1 is the only member of generation 1."""
    join_as(desk, "node")
    over(desk)
    sync(desk, "node.1", 1, ("node.1", ("src-0", "src-1")))
    carry(desk)


def test_a_static_member_has_its_name_at_once_and_takes_its_place_without_a_rebalance(desk):
    node_alone(desk)
    written = len(desk.written(HERE))
    back = join_as(desk, "node", source="restarted")
    assert (back.member_id, back.generation, back.leader) == ("node.2", 1, "node.2")
    assert back.skip_assignment
    assert group(desk).state is S.STABLE
    assert [m.member_id for m in desk.written(HERE)[-1].members] == ["node.2"]
    assert len(desk.written(HERE)) == written + 1
    assert sync(desk, "node.2").partitions == ("src-0", "src-1")


def test_who_speaks_in_a_static_member_s_older_id_is_fenced(desk):
    node_alone(desk)
    join_as(desk, "node", source="restarted")
    fenced = Errors.FENCED_INSTANCE_ID
    heard = desk.ask(classic.on_heartbeat, Heartbeat("g", 1, "node.1", "node"))
    assert heard.error is fenced
    assert join_as(desk, "node", "node.1", "again").error is fenced
    left = desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("node.1", "node"),)))
    assert left.members[0].error is fenced
    offsets = OffsetCommit("g", "node.1", 1, (GroupOffset("src-0", 5),), "node")
    assert desk.ask(gc.on_offset_commit, offsets).error is fenced


def test_the_older_process_that_waits_is_told_when_its_name_is_taken(desk):
    node_alone(desk)
    second(desk)
    join_as(desk, "node", source="restarted")
    assert answer_of(desk, "C2.2/join").generation == 2
    assert sync(desk, "node.3", 2) is None
    other = join_as(desk, "node", source="third")
    assert answer_of(desk, "node.3/sync").error is Errors.FENCED_INSTANCE_ID
    assert other is None
    assert group(desk).state is S.PREPARING_REBALANCE
    join_as(desk, "node", source="fourth")
    assert answer_of(desk, "third").error is Errors.FENCED_INSTANCE_ID


def test_a_static_member_that_does_not_join_in_time_is_kept_and_counts_for_the_old_generation(desk):
    node_alone(desk)
    second(desk)
    run_out(desk, GroupRebalance("g"))
    assert (group(desk).generation, group(desk).leader) == (2, "C2.2")
    assert tuple(group(desk).members) == ("C2.2", "node.1")
    heard = desk.ask(classic.on_heartbeat, Heartbeat("g", 1, "node.1", "node"))
    assert heard.error is Errors.ILLEGAL_GENERATION


def test_with_static_members_alone_a_rebalance_waits_for_one_of_them(desk):
    node_alone(desk)
    join_as(desk, "other")
    run_out(desk, MemberSession("other.2", "g"))
    assert group(desk).state is S.PREPARING_REBALANCE
    run_out(desk, GroupRebalance("g"))
    assert (group(desk).state, group(desk).generation) == (S.PREPARING_REBALANCE, 1)


def test_an_operator_takes_a_static_member_out_by_its_name(desk):
    node_alone(desk)
    left = desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("", "node"),)))
    assert left.members[0].error is Errors.NONE
    assert group(desk).state is S.EMPTY
    nobody = desk.ask(classic.on_leave_group, LeaveGroup("g", (Leaver("", "node"),)))
    assert nobody.members[0].error is Errors.UNKNOWN_MEMBER_ID


def test_who_has_a_group_instance_id_is_shown_to_who_joins_with_it(desk):
    def list_checks():
        return [(c.found, c.error) for c in desk.checks if c.name == IN_USE]

    join_as(desk, "node")
    assert list_checks() == [(None, Errors.NONE)]
    assert Errors.MEMBER_ID_REQUIRED not in [c.error for c in desk.checks]
    over(desk)
    sync(desk, "node.1", 1, ("node.1", ("src-0", "src-1")))
    carry(desk)
    join_as(desk, "node", source="restarted")
    assert list_checks() == [("node.1", Errors.NONE)]
    assert all(to is not None for to, _ in desk.replies)


IN_USE = "who has the group.instance.id"


def test_the_older_process_that_waits_is_told_by_whom_its_place_was_taken(desk):
    node_alone(desk)
    second(desk)
    join_as(desk, "node", "node.1")
    sync(desk, "node.1", 2)
    join_as(desk, "node", source="restarted")
    told = [(c.asked, c.found) for c in desk.checks if c.error is Errors.FENCED_INSTANCE_ID]
    assert told == [("node.1", "node.3")]


def pair(desk):
    """node.1 leads generation 1, other.2 follows it; other.2 has not sent SyncGroup yet."""
    join_as(desk, "node")
    join_as(desk, "other")
    over(desk)
    over(desk)
    sync(desk, "node.1", 1, ("node.1", ("src-0",)), ("other.2", ("src-1",)))
    carry(desk)
    assert (group(desk).state, group(desk).leader) == (S.STABLE, "node.1")


def test_a_follower_that_is_started_again_does_not_lead(desk):
    """ClassicGroup.replaceStaticMember: leaderId follows the leader only."""
    pair(desk)
    assert join_as(desk, "other", source="restarted").leader == "node.1"
    assert group(desk).leader == "node.1"


def test_the_older_id_is_awaited_until_its_time_is_over_and_then_the_group_rebalances(desk):
    """ClassicGroup.replaceStaticMember leaves pendingSyncMembers as they are; expirePendingSync finds the older id."""
    pair(desk)
    join_as(desk, "other", source="restarted")
    assert sync(desk, "other.3").partitions == ("src-1",)
    assert GroupSync("g") in gc.timers(desk.role, desk.on)
    run_out(desk, GroupSync("g"))
    assert group(desk).state is S.PREPARING_REBALANCE
    assert tuple(group(desk).members) == ("node.1", "other.3")


def test_a_static_member_that_has_not_joined_is_sent_no_answer(desk):
    node_alone(desk)
    second(desk)
    run_out(desk, GroupRebalance("g"))
    assert all(to is not None for to, _ in desk.replies)
