"""An operator's calls about groups: whom they ask, what is kept of the answers, and which errors they end with."""

from __future__ import annotations

import pytest

from kipviz.clients.application import Call, Line
from kipviz.clients.operators import admin, group_calls
from kipviz.clients.operators.admin import Admin
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import LeaveGroup, LeaveGroupResponse, Leaver, Left
from kipviz.messages.groups.group_admin import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeResponse,
    DescribedClassicGroup,
    DescribedConsumerGroup,
    DescribeGroups,
    DescribeGroupsResponse,
    GroupListing,
    GroupMemberDescription,
    ListGroups,
    ListGroupsResponse,
    OffsetDelete,
    OffsetDeleteResponse,
)
from kipviz.messages.shares.share_admin import (
    AlterShareGroupOffsets,
    AlterShareGroupOffsetsResponse,
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsResponse,
    DescribedShareGroup,
    DescribedShareOffsets,
    DescribeShareGroupOffsets,
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribe,
    ShareGroupDescribeResponse,
    ShareOffset,
    ShareOffsetsGroup,
)
from kipviz.messages.transactions.transactions import PartitionResult

E = Errors
ME = Admin("operator/admin", (1, 3))
SHARE, CLASSIC = GroupListing("g1", "share", "Empty", "share"), GroupListing("g", "", "Empty", "")


def answer_next(me, answer, broker=1):
    """Let it send its next request and have this answer; give both."""
    me, request = admin.note_sent(me, admin.next_request(me), broker)
    return request, admin.on_response(me, answer)


def results(*errors):
    return tuple(PartitionResult(f"src-{n}", error) for n, error in enumerate(errors))


# -- what is kept -------------------------------------------------------------------------------------


def test_every_broker_is_asked_for_its_groups_and_all_that_they_say_is_one_list():
    me = admin.list_groups(ME.but(groups=(CLASSIC,)), "state=Empty type=share")
    first, me = answer_next(me, ListGroupsResponse(E.NONE, (SHARE,)))
    assert first == ListGroups(("Empty",), ("share",))
    assert (me.done, me.groups) == (False, (SHARE,))
    assert admin.next_broker(me) == 3
    second, me = answer_next(me, ListGroupsResponse(E.NONE, (CLASSIC,)), 3)
    assert (second, me.done, me.groups) == (first, True, (SHARE, CLASSIC))
    assert admin.next_broker(me) == -1


def test_a_broker_that_loads_its_groups_is_asked_once_more_and_no_other_one():
    _, me = answer_next(
        admin.list_groups(ME, ""), ListGroupsResponse(E.COORDINATOR_LOAD_IN_PROGRESS)
    )
    assert (admin.next_broker(me), len(me.queue)) == (1, 2)


def test_a_broker_that_is_gone_is_not_asked_for_its_groups_again():
    me, _ = admin.note_sent(admin.list_groups(ME, ""), ListGroups(), 1)
    me = admin.on_disconnected(me, 1)
    assert (admin.next_request(me), admin.next_broker(me)) == (ListGroups(), 3)
    assert (me.on_wire, me.on_wire_broker) == (None, -1)
    me, _ = admin.note_sent(me, ListGroups(), 3)
    assert admin.on_disconnected(me, 3).done


def test_where_a_share_group_stands_is_kept_until_it_is_asked_for_again():
    stands = DescribedShareOffsets(E.NONE, "g1", (ShareOffset("src-0", 100),))
    request, me = answer_next(
        admin.list_share_group_offsets(ME, "g1"), DescribeShareGroupOffsetsResponse((stands,))
    )
    assert request == DescribeShareGroupOffsets((ShareOffsetsGroup("g1"),))
    assert (me.done, me.error, me.share_offsets) == (True, "", stands.offsets)
    assert admin.list_share_group_offsets(me, "g2").share_offsets == ()


def test_who_is_in_a_share_group_is_kept_until_it_is_asked_for_again():
    described = DescribedShareGroup(E.NONE, "g1", "Stable", 3)
    answer = ShareGroupDescribeResponse((described,))
    request, me = answer_next(admin.describe_share_group(ME, "g1"), answer)
    assert request == ShareGroupDescribe(("g1",))
    assert (me.done, me.share_group) == (True, described)
    assert admin.describe_share_group(me, "g1").share_group is None


def test_a_group_that_is_none_of_kip_848_is_asked_for_as_a_classic_one():
    """DescribeConsumerGroupsHandler: GROUP_ID_NOT_FOUND falls back to DescribeGroups."""
    none = ConsumerGroupDescribeResponse((DescribedConsumerGroup(E.GROUP_ID_NOT_FOUND, "g"),))
    request, me = answer_next(admin.describe_consumer_group(ME, "g"), none)
    assert (request, me.done) == (ConsumerGroupDescribe(("g",)), False)
    classic = DescribedClassicGroup(E.NONE, "g", "Empty")
    request, me = answer_next(me, DescribeGroupsResponse((classic,)))
    assert request == DescribeGroups(("g",))
    assert (me.done, me.group, me.error) == (True, classic, "")
    assert admin.describe_consumer_group(me, "g").group is None


def test_a_new_call_begins_without_the_error_and_the_answers_of_the_one_before():
    me = ME.but(error="x", done=True, finding=True, removing=True, several=True, described=(SHARE,))
    me = admin.delete_share_group_offsets(me, "g1 src")
    assert (me.error, me.done, me.finding, me.removing) == ("", False, False, False)
    assert (me.several, me.described) == (False, ())


# -- which error a call ends with ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "answer", "raised"),
    [
        (
            admin.alter_share_group_offsets(ME, "g1 src-0=1 src-1=2"),
            AlterShareGroupOffsetsResponse(E.NONE, "g1", results(E.NONE, E.NON_EMPTY_GROUP)),
            "AlterShareGroupOffsets: NON_EMPTY_GROUP",
        ),
        (
            admin.alter_share_group_offsets(ME, "g1 src-0=1"),
            AlterShareGroupOffsetsResponse(E.NONE, "g1", results(E.NONE)),
            "",
        ),
        (
            admin.alter_share_group_offsets(ME, "g1 src-0=1"),
            AlterShareGroupOffsetsResponse(E.GROUP_ID_NOT_FOUND, "g1", results(E.NONE)),
            "AlterShareGroupOffsets: GROUP_ID_NOT_FOUND",
        ),
        (
            admin.delete_consumer_group_offsets(ME, "g src-0 src-1"),
            OffsetDeleteResponse(E.NONE, "g", results(E.NONE, E.GROUP_SUBSCRIBED_TO_TOPIC)),
            "OffsetDelete: GROUP_SUBSCRIBED_TO_TOPIC",
        ),
        (
            admin.remove_members(ME, "g C1.1"),
            LeaveGroupResponse(E.NONE, (Left("C1.1", "", E.UNKNOWN_MEMBER_ID),)),
            "LeaveGroup: UNKNOWN_MEMBER_ID",
        ),
        (
            admin.remove_members(ME, "g C1.1 instance=i2"),
            LeaveGroupResponse(E.NONE, (Left("C1.1", "", E.NONE), Left("", "i2", E(25)))),
            "LeaveGroup: UNKNOWN_MEMBER_ID",
        ),
        (
            admin.remove_members(ME, "g C1.1 instance=i2"),
            LeaveGroupResponse(E.NONE, (Left("C1.1", "", E.NONE), Left("", "i2", E.NONE))),
            "",
        ),
        (
            admin.delete_share_group(ME, "g1"),
            DeleteGroupsResponse((DeletedGroup(E.NON_EMPTY_GROUP, "g1"),)),
            "DeleteGroups: NON_EMPTY_GROUP",
        ),
        (
            admin.delete_consumer_group(ME, "g"),
            DeleteGroupsResponse((DeletedGroup(E.NONE, "g"),)),
            "",
        ),
    ],
)
def test_what_is_wrong_with_one_part_of_an_answer_fails_the_call(call, answer, raised):
    _, me = answer_next(call, answer)
    assert (me.done, str(me.error), me.queue) == (True, raised, ())


def test_a_partition_that_the_target_names_is_asked_for():
    assert admin.next_request(
        admin.alter_share_group_offsets(ME, "g1 src-0=1 src-1=2")
    ) == AlterShareGroupOffsets("g1", (("src-0", 1), ("src-1", 2)))
    assert admin.next_request(admin.delete_consumer_group_offsets(ME, "g src-0")) == OffsetDelete(
        "g", ("src-0",)
    )


def test_of_several_groups_each_fails_alone_and_the_first_error_is_the_call_s():
    """AdminApiDriver: every key has a future of its own."""
    call = admin.delete_share_group(ME, "g1 g2 g3")
    assert admin.next_request(call) == DeleteGroups(("g1", "g2", "g3"))
    deleted = (
        DeletedGroup(E.NONE, "g1"),
        DeletedGroup(E.GROUP_ID_NOT_FOUND, "g2"),
        DeletedGroup(E.COORDINATOR_LOAD_IN_PROGRESS, "g3"),
    )
    _, me = answer_next(call, DeleteGroupsResponse(deleted))
    assert (me.done, me.described) == (False, ())
    assert admin.next_request(me) == DeleteGroups(("g3",))
    _, me = answer_next(me, DeleteGroupsResponse((DeletedGroup(E.NON_EMPTY_GROUP, "g3"),)))
    assert (me.done, str(me.error)) == (True, "DeleteGroups: GROUP_ID_NOT_FOUND")


def test_of_several_groups_those_of_another_broker_are_asked_for_behind_those_of_this_one():
    call = admin.describe_share_group(ME, "g1 g2")
    me, _ = admin.note_sent(call, ShareGroupDescribe(("g1",)), 1)
    assert me.queue == (ShareGroupDescribe(("g2",)),)
    group = DescribedShareGroup(E.NONE, "g1", "Stable")
    me = admin.on_response(me, ShareGroupDescribeResponse((group,)))
    assert (me.done, me.described) == (False, (group,))


# -- members are taken out ------------------------------------------------------------------------------


def test_all_members_are_looked_for_first_and_static_ones_leave_by_their_names():
    """KafkaAdminClient.getMembersFromGroup: a static member is removed by group.instance.id."""
    members = (GroupMemberDescription("C1.1", ()), GroupMemberDescription("C2.2", (), "i2"))
    described = DescribedConsumerGroup(E.NONE, "g", members=members)
    answer = ConsumerGroupDescribeResponse((described,))
    request, me = answer_next(admin.remove_members(ME, "g"), answer)
    assert (request, me.done) == (ConsumerGroupDescribe(("g",)), False)
    left = (Left("C1.1", "", E.NONE), Left("", "i2", E.NONE))
    request, me = answer_next(me, LeaveGroupResponse(E.NONE, left))
    assert request == LeaveGroup("g", (Leaver("C1.1"), Leaver("", "i2")))
    assert (me.done, me.removing) == (True, False)


def test_of_a_group_without_members_nobody_is_taken_out():
    answer = ConsumerGroupDescribeResponse((DescribedConsumerGroup(E.NONE, "g"),))
    _, me = answer_next(admin.remove_members(ME, "g"), answer)
    assert (me.done, me.removing, me.queue) == (True, False, ())


def test_who_only_describes_a_group_takes_nobody_out():
    members = (GroupMemberDescription("C1.1", ()),)
    answer = ConsumerGroupDescribeResponse((DescribedConsumerGroup(E.NONE, "g", members=members),))
    _, me = answer_next(admin.describe_consumer_group(ME, "g"), answer)
    assert (me.done, me.queue) == (True, ())


# -- which groups a line is about -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "target", "groups"),
    [
        (Call.DESCRIBE_SHARE_GROUPS, "g1 g2", ("g1", "g2")),
        (Call.DELETE_SHARE_GROUPS, "g1 g2", ("g1", "g2")),
        (Call.DESCRIBE_CONSUMER_GROUPS, "g1 g2 g1", ("g1", "g2")),
        (Call.DELETE_CONSUMER_GROUPS, "g1 g2", ("g1", "g2")),
        (Call.LIST_CONSUMER_GROUP_OFFSETS, "g1 g2 requireStable=true", ("g1", "g2")),
        (Call.LIST_SHARE_GROUP_OFFSETS, "g1", ("g1",)),
        (Call.ALTER_SHARE_GROUP_OFFSETS, "g1 src-0=100", ("g1",)),
        (Call.DELETE_SHARE_GROUP_OFFSETS, "g1 src", ("g1",)),
        (Call.DELETE_CONSUMER_GROUP_OFFSETS, "g1 src-0", ("g1",)),
        (Call.REMOVE_MEMBERS, "g1 C1.1", ("g1",)),
        (Call.LIST_TRANSACTIONS, "state=Ongoing", ()),
        (Call.POLL, "", ()),
    ],
)
def test_a_line_is_about_the_groups_that_its_target_names(call, target, groups):
    assert group_calls.groups_of(Line("x", call, target=target)) == groups


def test_the_calls_that_change_where_a_share_group_stands_leave_out_those_that_look():
    looks = (Call.DESCRIBE_SHARE_GROUPS, Call.LIST_SHARE_GROUP_OFFSETS)
    assert set(group_calls.OF_SHARE_GROUPS) - set(group_calls.RESETTING) == set(looks)
