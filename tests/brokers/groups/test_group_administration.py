"""What an operator sees of regular groups and does to them, at the coordinator and in the admin client."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers import kafka_apis
from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.groups import group_administration as asked
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups.group_state import CommittedOffset, GroupCoordinator, PendingOffset
from kipviz.brokers.groups.offset_fetches import on_offset_fetch
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import ListedHere, ListHere
from kipviz.brokers.membership import classic_membership, group_membership, static_members
from kipviz.brokers.membership.classic_group import ClassicGroup, ClassicMember, GroupState
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.brokers.membership.share_group import ShareGroup, ShareMember
from kipviz.clients.operators import admin
from kipviz.clients.operators.admin import Admin
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.apis.rights import Operation, Resource
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
from kipviz.messages.groups.groups import GroupOffset, OffsetCommit
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_admin import DeleteGroups
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.classic_groups import Subscription
from kipviz.records.consumer_offsets import UNREVOKED, GroupTombstone, OffsetTombstone
from kipviz.scenarios.library import searched_scenario
from tests.brokers.membership.test_share_membership import STATES
from tests.messages.offset_fetches import fetch_all
from tests.scenarios.story import play_once

E = Errors
HERE = "__consumer_offsets-0"
KEPT = Table.of({("g", "src-0"): CommittedOffset(5, 0), ("h", "src-1"): CommittedOffset(7, 1)})
MEMBER = ClassicMember("C", Subscription(("src",)), ("src-0",))
STATIC = ClassicMember("D", Subscription(("src",)), ("src-1",), instance_id="i1")
BOTH = Table.of({"C.1": MEMBER, "i1.2": STATIC})
USED = ClassicGroup(GroupState.STABLE, generation=3, leader="C.1", members=BOTH)
MODERN = ConsumerGroup(
    4,
    4,
    Table.of(
        {
            "C1": GroupMember(("src",), ("src-0",), 4, 3, assigned=(("src-0", 4),)),
            "C2": GroupMember(("src",), ("src-1",), 4, 3, assigned=(("src-1", 4),)),
        }
    ),
)


def desk_of(**state: Any) -> Desk:
    role = GroupCoordinator(HERE, **{"offsets": KEPT, **state})
    return Desk(gc, role, leaders={HERE: 1, "src-0": 5, "src-1": 5})


def classic(group: ClassicGroup = USED) -> Desk:
    return desk_of(classic_groups=Table.of({"g": group}))


def modern(group: ConsumerGroup = MODERN) -> Desk:
    return desk_of(groups=Table.of({"g": group}))


EVERYTHING = {
    "classic_groups": Table.of({"b": ClassicGroup(generation=2), "g": USED}),
    "groups": Table.of({"c": MODERN}),
    "share_groups": Table.of({"s": ShareGroup()}),
    "members": Table.of({("given", "C1"): 2}),
    "pending": Table.of({9: (PendingOffset("p", "src-0", 6, 4),)}),
}


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        ((), (), ("b", "c", "g", "given", "h", "p", "s")),
        (("stable",), (), ("c", "g", "given")),
        ((), ("Share",), ("s",)),
        (("Empty",), ("classic",), ("b", "h", "p")),
        (("Dead",), (), ()),
    ],
)
def test_groups_of_every_kind_are_listed_by_state_and_type(
    states: tuple[str, ...], types: tuple[str, ...], found: tuple[str, ...]
) -> None:
    desk = desk_of(**EVERYTHING)
    answer = asked.listing(desk.role, ListGroups(states, types))
    assert tuple(group.group_id for group in answer.groups) == found


def test_a_group_of_offsets_alone_has_no_protocol() -> None:
    answer = asked.listing(desk_of(**EVERYTHING).role, ListGroups(types=("classic",)))
    assert GroupListing("h", "", "Empty", "classic") in answer.groups
    assert GroupListing("g", "consumer", "Stable", "classic") in answer.groups


def test_the_front_desk_joins_what_its_coordinators_have_and_hides_what_may_not_be_seen() -> None:
    desk = Desk(kafka_apis, KafkaApis(), leaders={HERE: 1, "__consumer_offsets-1": 1, "src-0": 1})
    desk.image = {"acls": (Acl("op", Operation.DESCRIBE, Resource.GROUP, "a*"),)}
    to = ReplyTo("op/admin", 1, 0)
    desk.do(kafka_apis.on_list_groups(desk.role, ListGroups(), to, desk.on))
    asks = [call for call in desk.local if isinstance(call.message, ListHere)]
    assert [call.shard for call in asks] == [HERE, "__consumer_offsets-1"]
    for names in (("a1", "b1"), ("a2",)):
        rows = tuple(GroupListing(name, "consumer", "Stable", "classic") for name in names)
        told = ListedHere(to, ListGroupsResponse(E.NONE, rows))
        desk.do(kafka_apis.on_listed(desk.role, told, desk.on))
    answer = desk.last
    assert isinstance(answer, ListGroupsResponse)
    assert [group.group_id for group in answer.groups] == ["a1", "a2"]


def test_one_coordinator_that_loads_makes_the_list_an_error() -> None:
    loading = asked.listing(GroupCoordinator(HERE, loading=True), ListGroups())
    assert loading.error is E.COORDINATOR_LOAD_IN_PROGRESS
    desk = Desk(kafka_apis, KafkaApis(), leaders={HERE: 1, "__consumer_offsets-1": 1})
    to = ReplyTo("op/admin", 1, 0)
    desk.do(kafka_apis.on_list_groups(desk.role, ListGroups(), to, desk.on))
    for answer in (loading, ListGroupsResponse(E.NONE)):
        desk.do(kafka_apis.on_listed(desk.role, ListedHere(to, answer), desk.on))
    assert desk.last == loading


def test_a_classic_group_tells_what_its_members_have_while_it_is_stable() -> None:
    answer = classic().ask(asked.on_describe_groups, DescribeGroups(("g",)))
    assert isinstance(answer, DescribeGroupsResponse)
    (group,) = answer.groups
    assert (group.state, group.assignor) == ("Stable", "range")
    assert group.members == (
        GroupMemberDescription("C.1", ("src-0",), "", "C", ("src",)),
        GroupMemberDescription("i1.2", ("src-1",), "i1", "D", ("src",)),
    )
    moving = USED.but(state=GroupState.PREPARING_REBALANCE)
    between = classic(moving).ask(asked.on_describe_groups, DescribeGroups(("g",)))
    assert isinstance(between, DescribeGroupsResponse)
    (group,) = between.groups
    assert (group.state, group.assignor) == ("PreparingRebalance", "")
    assert [member.partitions for member in group.members] == [(), ()]


@pytest.mark.parametrize(
    ("request_", "error", "state"),
    [
        (DescribeGroups(("nobody",)), E.GROUP_ID_NOT_FOUND, "Dead"),
        (DescribeGroups(("h",)), E.NONE, "Empty"),
        (ConsumerGroupDescribe(("g",)), E.GROUP_ID_NOT_FOUND, ""),
        (ConsumerGroupDescribe(("nobody",)), E.GROUP_ID_NOT_FOUND, ""),
    ],
)
def test_a_group_is_found_by_the_request_of_its_own_protocol(
    request_: Any, error: Errors, state: str
) -> None:
    handlers = {
        DescribeGroups: asked.on_describe_groups,
        ConsumerGroupDescribe: asked.on_consumer_group_describe,
    }
    answer: Any = classic().ask(handlers[type(request_)], request_)
    (group,) = answer.groups
    assert (group.error, group.state) == (error, state)


@pytest.mark.parametrize(
    ("handler", "request_"),
    [
        (asked.on_describe_groups, DescribeGroups(("g",))),
        (asked.on_consumer_group_describe, ConsumerGroupDescribe(("g",))),
    ],
)
def test_a_coordinator_that_loads_describes_no_group(handler: Any, request_: Any) -> None:
    answer: Any = desk_of(loading=True).ask(handler, request_)
    assert error_in(answer) is E.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize(
    ("group", "state"),
    [
        (ConsumerGroup(), "Empty"),
        (MODERN.but(epoch=5), "Assigning"),
        (MODERN.but(epoch=5, target_epoch=5), "Reconciling"),
        (
            MODERN.but(members=MODERN.members.set("C2", MODERN.members["C2"].but(state=UNREVOKED))),
            "Reconciling",
        ),
        (MODERN, "Stable"),
    ],
)
def test_a_group_of_kip_848_is_stable_when_every_member_is_where_it_is_to_be(
    group: ConsumerGroup, state: str
) -> None:
    answer = modern(group).ask(asked.on_consumer_group_describe, ConsumerGroupDescribe(("g",)))
    assert isinstance(answer, ConsumerGroupDescribeResponse)
    (told,) = answer.groups
    assert (told.state, told.epoch) == (state, group.epoch)
    assert [m.target for m in told.members] == [m.target for m in group.members.values()]


def test_members_that_were_there_before_the_run_are_described_with_their_epoch() -> None:
    answer = desk_of(**EVERYTHING).ask(
        asked.on_consumer_group_describe, ConsumerGroupDescribe(("given",))
    )
    assert isinstance(answer, ConsumerGroupDescribeResponse)
    (told,) = answer.groups
    assert [(m.member_id, m.member_epoch) for m in told.members] == [("C1", 2)]


def test_a_group_is_described_with_its_own_members_and_with_the_topics_only_where_there_are_acls() -> (
    None
):
    desk = desk_of(members=Table.of({("given", "C1"): 2, ("other", "C2"): 3}))
    answer: Any = desk.ask(asked.on_consumer_group_describe, ConsumerGroupDescribe(("given",)))
    assert [m.member_id for m in answer.groups[0].members] == ["C1"]
    desk = modern()
    desk.ask(asked.on_consumer_group_describe, ConsumerGroupDescribe(("g",)))
    assert [check.name for check in desk.checks] == ["loading", "kind of group", "group epoch"]
    desk.image = {"acls": ()}
    refused: Any = desk.ask(
        asked.on_consumer_group_describe, ConsumerGroupDescribe(("g",)), "op/admin"
    )
    assert error_in(refused) is E.TOPIC_AUTHORIZATION_FAILED
    assert desk.checks[-1].name == "topics it may describe"


def test_a_share_group_and_a_group_of_kip_848_are_listed_as_empty_until_somebody_joins() -> None:
    joined = ShareGroup(members=Table.of({"C": ShareMember(("src",))}))
    desk = desk_of(
        offsets=Table.of(),
        groups=Table.of({"c": ConsumerGroup(3, 3)}),
        share_groups=Table.of({"s": ShareGroup(), "t": joined}),
    )
    answer = asked.listing(desk.role, ListGroups())
    assert [(row.group_id, row.state) for row in answer.groups] == [
        ("c", "Empty"),
        ("s", "Empty"),
        ("t", "Stable"),
    ]


def test_a_share_group_is_deleted_by_way_of_its_share_coordinator() -> None:
    stateful = ShareGroup(initialized=("src-0",))
    role = GroupCoordinator(HERE, share_groups=Table.of({"g1": stateful}))
    desk = Desk(gc, role, leaders={HERE: 1, "src-0": 5, **STATES})
    assert desk.ask(asked.on_delete_groups, DeleteGroups(("g1",))) is None
    assert [waiting.request for waiting in desk.role.operating] == [DeleteGroups(("g1",))]


def test_an_operator_who_requires_stable_offsets_waits_for_the_newest_and_another_sees_the_replicated() -> (
    None
):
    desk = Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1, "src-0": 5})
    commit = OffsetCommit("g", "", -1, (GroupOffset("src-0", 3),))
    assert desk.ask(gc.on_offset_commit, commit) is not None
    desk.instant = False
    desk.ask(gc.on_offset_commit, OffsetCommit("g", "", -1, (GroupOffset("src-0", 8),)))
    replicated: Any = desk.ask(on_offset_fetch, fetch_all("g"))
    assert [each.offset for each in replicated.groups[0].offsets] == [3]
    assert desk.ask(on_offset_fetch, fetch_all("g", require_stable=True)) is None
    desk.replicate()
    newest: Any = desk.last
    assert [each.offset for each in newest.groups[0].offsets] == [8]


def deletes(desk: Desk, group_id: str) -> Errors | None:
    return error_in(desk.ask(asked.on_delete_groups, DeleteGroups((group_id,))))


def test_a_group_goes_with_its_offsets_also_with_those_of_an_open_transaction() -> None:
    pending = Table.of({9: (PendingOffset("g", "src-1", 6, 4),)})
    desk = desk_of(classic_groups=Table.of({"g": ClassicGroup(generation=4)}), pending=pending)
    assert deletes(desk, "g") is E.NONE
    assert desk.written(HERE) == [
        OffsetTombstone("g", "src-0"),
        OffsetTombstone("g", "src-1"),
        GroupTombstone("g", "group metadata"),
    ]
    assert not len(desk.role.pending)
    assert deletes(desk, "g") is E.GROUP_ID_NOT_FOUND
    # The same of one partition: the offset that is committed, and the one that a transaction holds.
    desk = desk_of(classic_groups=Table.of({"g": ClassicGroup(generation=4)}), pending=pending)
    for partition in ("src-0", "src-1"):
        answer = desk.ask(asked.on_offset_delete, OffsetDelete("g", (partition,)))
        assert [result.error for result in answer.results] == [E.NONE]
        assert desk.written(HERE)[-1] == OffsetTombstone("g", partition)
    assert not len(desk.role.pending)


@pytest.mark.parametrize(
    ("desk", "group_id", "error"),
    [
        (classic(), "g", E.NON_EMPTY_GROUP),
        (modern(), "g", E.NON_EMPTY_GROUP),
        (desk_of(**EVERYTHING), "given", E.NON_EMPTY_GROUP),
        (classic(), "nobody", E.GROUP_ID_NOT_FOUND),
        (classic(), "", E.INVALID_GROUP_ID),
        (desk_of(loading=True), "g", E.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_a_group_in_which_somebody_is_cannot_be_deleted(
    desk: Desk, group_id: str, error: Errors
) -> None:
    assert deletes(desk, group_id) is error
    assert not desk.written(HERE)


@pytest.mark.parametrize(
    ("desk", "error"),
    [
        (classic(), E.GROUP_SUBSCRIBED_TO_TOPIC),
        (modern(), E.GROUP_SUBSCRIBED_TO_TOPIC),
        (classic(ClassicGroup(generation=4)), E.NONE),
        (modern(ConsumerGroup()), E.NONE),
        (desk_of(), E.NONE),
        (desk_of(members=Table.of({("g", "C1"): 2})), E.GROUP_SUBSCRIBED_TO_TOPIC),
    ],
)
def test_offsets_of_a_topic_that_somebody_reads_are_not_deleted(desk: Desk, error: Errors) -> None:
    answer = desk.ask(asked.on_offset_delete, OffsetDelete("g", ("src-0", "src-1", "gone-0")))
    assert isinstance(answer, OffsetDeleteResponse)
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    assert [result.error for result in answer.results] == [error, error, unknown]
    assert desk.written(HERE) == ([OffsetTombstone("g", "src-0")] if error is E.NONE else [])


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ({"loading": True}, E.COORDINATOR_LOAD_IN_PROGRESS),
        ({"offsets": Table.of()}, E.GROUP_ID_NOT_FOUND),
        ({"share_groups": Table.of({"g": ShareGroup()})}, E.GROUP_ID_NOT_FOUND),
    ],
)
def test_offsets_of_a_group_that_has_none_of_that_kind_are_not_found(
    state: dict[str, Any], error: Errors
) -> None:
    answer = desk_of(**state).ask(asked.on_offset_delete, OffsetDelete("g", ("src-0",)))
    assert answer == OffsetDeleteResponse(error, "g")


def leave(desk: Desk, *leavers: Leaver) -> Any:
    return desk.ask(classic_membership.on_leave_group, LeaveGroup("g", leavers))


def test_several_members_go_in_one_request_and_the_group_rebalances_once() -> None:
    third = ClassicMember("E", Subscription(("src",)))
    desk = classic(USED.but(members=BOTH.set("E.3", third)))
    answer = leave(desk, Leaver("C.1"), Leaver("", "i1"), Leaver("X.9"))
    assert answer == LeaveGroupResponse(
        E.NONE,
        (
            Left("C.1", "", E.NONE),
            Left("", "i1", E.NONE),
            Left("X.9", "", E.UNKNOWN_MEMBER_ID),
        ),
    )
    group = desk.role.classic_groups["g"]
    assert (tuple(group.members), group.leader) == (("E.3",), "E.3")
    assert group.state is GroupState.PREPARING_REBALANCE


def test_when_the_last_ones_go_together_the_group_is_empty() -> None:
    desk = classic()
    leave(desk, Leaver("C.1"), Leaver("i1.2", "i1"))
    group = desk.role.classic_groups["g"]
    assert (group.state, group.generation) == (GroupState.EMPTY, 4)


def test_who_is_named_by_an_older_id_than_its_instance_has_stays() -> None:
    desk = classic()
    answer = leave(desk, Leaver("i1.0", "i1"))
    assert [each.error for each in answer.members] == [E.FENCED_INSTANCE_ID]
    assert desk.role.classic_groups["g"] == USED


def test_an_operator_takes_members_of_kip_848_out_by_the_same_request() -> None:
    desk = modern()
    answer = leave(desk, Leaver("C1"), Leaver("C9"))
    assert [each.error for each in answer.members] == [E.NONE, E.UNKNOWN_MEMBER_ID]
    group = desk.role.groups["g"]
    assert (tuple(group.members), group.epoch, group.target_epoch) == (("C2",), 5, 4)
    leave(desk, Leaver("C2"))
    group = desk.role.groups["g"]
    assert (len(group.members), group.epoch, group.target_epoch) == (0, 6, 6)
    assert leave(desk, Leaver("C2")).members == (Left("C2", "", E.UNKNOWN_MEMBER_ID),)


# -- the admin client -----------------------------------------------------------------------------


def fresh() -> Admin:
    return Admin("op/admin", (1, 3))


def send_next(me: Admin) -> tuple[Admin, Any]:
    request = admin.next_request(me)
    assert request is not None
    return admin.note_sent(me, request, 1)


def test_every_broker_is_asked_for_its_groups_and_one_that_is_gone_is_left_out() -> None:
    me, first = send_next(admin.list_groups(fresh(), "state=Stable type=share"))
    assert first == ListGroups(("Stable",), ("share",))
    row = GroupListing("g", "consumer", "Stable", "classic")
    me, second = send_next(admin.on_response(me, ListGroupsResponse(E.NONE, (row,))))
    assert second == first
    me = admin.on_disconnected(me, 1)
    assert (me.done, me.groups) == (True, (row,))


def test_all_members_are_taken_out_after_a_question_who_they_are() -> None:
    me, request = send_next(admin.remove_members(fresh(), "g"))
    assert request == ConsumerGroupDescribe(("g",))
    unknown = DescribedConsumerGroup(E.GROUP_ID_NOT_FOUND, "g")
    me = admin.on_response(me, ConsumerGroupDescribeResponse((unknown,)))
    me, request = send_next(me)
    assert request == DescribeGroups(("g",))
    there = (GroupMemberDescription("C.1", ()), GroupMemberDescription("i1.2", (), "i1"))
    known = DescribedClassicGroup(E.NONE, "g", "Stable", "range", there)
    me = admin.on_response(me, DescribeGroupsResponse((known,)))
    me, request = send_next(me)
    assert request == LeaveGroup("g", (Leaver("C.1"), Leaver("", "i1")))
    left = (Left("C.1", "", E.NONE), Left("", "i1", E.UNKNOWN_MEMBER_ID))
    gone = LeaveGroupResponse(E.NONE, left)
    me = admin.on_response(me, gone)
    assert (me.done, str(me.error)) == (True, "LeaveGroup: UNKNOWN_MEMBER_ID")


def test_a_group_without_members_needs_no_second_request() -> None:
    me, _ = send_next(admin.remove_members(fresh(), "g"))
    empty = DescribedConsumerGroup(E.NONE, "g", "Empty")
    me = admin.on_response(me, ConsumerGroupDescribeResponse((empty,)))
    assert (me.done, me.error, me.queue) == (True, "", ())


def test_what_is_wrong_with_one_partition_fails_the_call() -> None:
    me, request = send_next(admin.delete_consumer_group_offsets(fresh(), "g src-0"))
    assert request == OffsetDelete("g", ("src-0",))
    wrong = (PartitionResult("src-0", E.GROUP_SUBSCRIBED_TO_TOPIC),)
    me = admin.on_response(me, OffsetDeleteResponse(E.NONE, "g", wrong))
    assert str(me.error) == "OffsetDelete: GROUP_SUBSCRIBED_TO_TOPIC"
    deleting, request = send_next(admin.delete_consumer_group(fresh(), "g"))
    assert request == DeleteGroups(("g",))
    assert not deleting.done


@pytest.mark.parametrize(
    ("line", "target", "said"),
    [
        (0, "type=queue", "'type=queue' is not a filter"),
        (1, "", r"describeConsumerGroups\(\) needs the id of a group"),
        (2, "g", "'g' is not a group and its partitions"),
        (3, "g node=1", "'node=1' is not a member"),
        (3, " ", "members are taken out of a group"),
    ],
)
def test_a_target_that_is_none_is_refused_with_one_sentence(
    line: int, target: str, said: str
) -> None:
    spec = searched_scenario("kip-345-removed").spec
    operator = spec.applications[-1]
    program = list(operator.program)
    program[line] = program[line].but(target=target)
    wrong = (*spec.applications[:-1], operator.but(program=tuple(program)))
    with pytest.raises(BadSpec, match=said):
        check(spec.but(applications=wrong))


def test_the_operator_of_the_story_knows_what_it_was_told() -> None:
    trace, _ = play_once("kip-345-removed", "kafka")
    client = trace.world.applications["operator"].client_at("operator/admin")
    assert isinstance(client, Admin)
    assert client.groups == (GroupListing("my-group-4", "consumer", "Stable", "classic"),)
    assert client.group is not None
    assert [m.instance_id for m in client.group.members] == ["node-1", "node-2"]


def test_what_is_not_replicated_yet_is_not_described_or_listed() -> None:
    desk = Desk(gc, GroupCoordinator(HERE), leaders={HERE: 1, "src-0": 5})
    joins = ConsumerGroupHeartbeat("g", "C1", 0, ("src",), ())
    assert desk.ask(group_membership.on_consumer_group_heartbeat, joins) is not None
    desk.instant = False
    desk.ask(group_membership.on_consumer_group_heartbeat, joins.but(member_id="C2"))
    answer: Any = desk.ask(asked.on_consumer_group_describe, ConsumerGroupDescribe(("g",)))
    (described,) = answer.groups
    assert (described.epoch, [m.member_id for m in described.members]) == (2, ["C1"])
    assert asked.state_of(desk.role.groups["g"]) == "Reconciling"
    desk.do(asked.on_list_here(desk.role, ListHere(ReplyTo("op", 1, 0), ListGroups()), desk.on))
    told = desk.local[-1].message
    assert isinstance(told, ListedHere)
    assert [(row.group_id, row.state) for row in told.answer.groups] == [("g", "Stable")]
    desk.replicate()
    answer = desk.ask(asked.on_consumer_group_describe, ConsumerGroupDescribe(("g",)))
    (described,) = answer.groups
    assert (described.epoch, described.state) == (3, "Reconciling")


def test_every_partition_of_a_deletion_is_looked_at_by_itself() -> None:
    desk = classic()
    desk.ask(asked.on_offset_delete, OffsetDelete("g", ("src-0", "gone-0")))
    found = [check.error for check in desk.checks if check.error is not E.NONE]
    assert found == [E.GROUP_SUBSCRIBED_TO_TOPIC, E.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_leaver_that_is_no_member_is_found_nowhere() -> None:
    group = ConsumerGroup(5, 5, Table.of({"C": GroupMember(("src",))}))
    for name, found in (("C", "C"), ("D", None)):
        who, check = static_members.leaver_of(group, Leaver(name))
        assert (who, check.name, check.asked, check.found) == (name, "member id", name, found)
        assert check.error is (E.NONE if found else E.UNKNOWN_MEMBER_ID)
