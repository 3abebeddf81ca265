"""What an operator may do with a share group, and what each share coordinator is asked for it."""

from __future__ import annotations

import pytest

from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import ReplyTo
from kipviz.brokers.groups import group_coordinator as gc
from kipviz.brokers.groups import share_administration as asked
from kipviz.brokers.membership.share_group import ShareGroup
from kipviz.core.table import Table
from kipviz.driving.desk import source_log
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_admin import (
    EMPTY,
    STABLE,
    AlterShareGroupOffsets,
    DeleteGroups,
    DeleteShareGroupOffsets,
    DescribeShareGroupOffsets,
    ShareGroupDescribe,
    ShareOffsetsGroup,
    TopicResult,
)
from kipviz.messages.shares.share_state import (
    DeleteShareGroupState,
    DeleteShareGroupStateResponse,
    DeleteStateData,
    DeleteStateResult,
    InitializeShareGroupState,
    InitializeShareGroupStateResponse,
    InitializeStateData,
    InitializeStateResult,
    ReadShareGroupStateSummary,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.share_group_members import OF_A_GROUP, ShareGroupDeleted
from tests.brokers.membership.test_share_membership import HERE, KEYS, Group, running

ANSWERS = {
    InitializeShareGroupState: (InitializeShareGroupStateResponse, InitializeStateResult),
    DeleteShareGroupState: (DeleteShareGroupStateResponse, DeleteStateResult),
    ReadShareGroupStateSummary: (ReadShareGroupStateSummaryResponse, ReadStateSummaryResult),
}


def empty_group(partitions=2):
    """A group whose only member has left; it has state of its partitions."""
    group = running(("M1",), partitions)
    group.requests = []
    group.beats("M1", -1)
    return group


def alters(group, *starts):
    group.ask(asked.on_alter_share_group_offsets, AlterShareGroupOffsets("g1", starts))
    return group


def deletes(group):
    return error_in(group.ask(asked.on_delete_groups, DeleteGroups(("g1",))))


def answer_all(group, **fields):
    """Let every share coordinator answer what it was asked, and give the operator's answer."""
    requests, group.requests = group.requests, []
    for request in requests:
        answer, result = ANSWERS[type(request.message)]
        told = result(Errors.NONE, request.message.key).but(**fields)
        answer = answer((told,))
        group.do(gc.on_state_answered(group.role, request.tag, answer, group.on))
    return group.replies[-1][1]


def test_a_reset_makes_the_state_anew_under_the_groups_epoch_and_answers_at_the_end():
    group = empty_group()
    epoch = group.group.epoch
    waiting = len(group.replies)
    alters(group, ("src-0", 105))
    assert len(group.replies) == waiting
    (request,) = group.requests
    assert request.message == InitializeShareGroupState((InitializeStateData(KEYS[0], epoch, 105),))
    assert group.group.initializing == ("src-0",)
    answer = answer_all(group)
    assert (answer.error, answer.results) == (Errors.NONE, (PartitionResult("src-0", Errors.NONE),))
    assert (group.group.initializing, group.group.initialized) == ((), ("src-0", "src-1"))
    assert group.group.epoch == epoch  # the release; later ones bump it
    assert group.role.operating == ()


def test_with_the_later_rule_every_reset_has_an_epoch_of_its_own():
    group = empty_group()
    group.rules = group.rules.but(reset_epoch=lambda epoch: epoch + 1)
    epoch = group.group.epoch
    alters(group, ("src-0", 105))
    assert group.requests[0].message.only.state_epoch == epoch + 1 == group.group.epoch


def test_a_reset_of_a_partition_that_is_not_there_is_refused_and_the_others_go_on():
    group = empty_group()
    alters(group, ("src-0", 105), ("src-9", 0))
    assert len(group.requests) == 1
    assert answer_all(group).results == (
        PartitionResult("src-0", Errors.NONE),
        PartitionResult("src-9", Errors.UNKNOWN_TOPIC_OR_PARTITION),
    )
    alters(group, ("src-9", 0))
    assert group.requests == []
    assert group.replies[-1][1].results[0].error is Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_a_share_coordinators_refusal_is_the_partitions_error():
    group = empty_group()
    alters(group, ("src-0", 105))
    answer = answer_all(group, error=Errors.FENCED_STATE_EPOCH)
    assert answer.results == (PartitionResult("src-0", Errors.FENCED_STATE_EPOCH),)
    assert group.group.initialized == ("src-0", "src-1")


def test_a_group_that_nobody_knows_begins_where_the_operator_says():
    group = Group()
    alters(group, ("src-1", 7))
    assert group.requests[0].message == InitializeShareGroupState(
        (InitializeStateData(KEYS[1], 1, 7),)
    )
    assert answer_all(group).error is Errors.NONE
    assert group.group.initialized == ("src-1",)


@pytest.mark.parametrize(
    ("handler", "request_"),
    [
        (asked.on_alter_share_group_offsets, AlterShareGroupOffsets("g1", (("src-0", 1),))),
        (asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",))),
        (asked.on_delete_groups, DeleteGroups(("g1",))),
    ],
)
def test_nobody_may_be_in_a_group_that_is_changed(handler, request_):
    group = running(("M1",))
    before = group.role
    assert error_in(group.ask(handler, request_)) is Errors.NON_EMPTY_GROUP
    assert group.role is before


@pytest.mark.parametrize(
    ("handler", "request_"),
    [
        (asked.on_share_group_describe, ShareGroupDescribe(("g9",))),
        (asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g9", ("src",))),
        (asked.on_delete_groups, DeleteGroups(("g9",))),
    ],
)
def test_a_group_that_is_not_there_is_not_found(handler, request_):
    assert error_in(empty_group().ask(handler, request_)) is Errors.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("handler", "request_"),
    [
        (asked.on_share_group_describe, ShareGroupDescribe(("g1",))),
        (
            asked.on_describe_share_group_offsets,
            DescribeShareGroupOffsets((ShareOffsetsGroup("g1"),)),
        ),
        (asked.on_alter_share_group_offsets, AlterShareGroupOffsets("g1", (("src-0", 1),))),
        (asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",))),
        (asked.on_delete_groups, DeleteGroups(("g1",))),
    ],
)
def test_a_coordinator_that_still_reads_its_log_asks_for_patience(handler, request_):
    group = empty_group()
    group.role = group.role.but(loading=True)
    assert error_in(group.ask(handler, request_)) is Errors.COORDINATOR_LOAD_IN_PROGRESS


def test_a_regular_groups_id_is_not_made_a_share_group():
    group = Group()
    group.role = group.role.but(members=group.role.members.set(("g1", "C1"), 2))
    answer = group.ask(
        asked.on_alter_share_group_offsets, AlterShareGroupOffsets("g1", (("src-0", 1),))
    )
    assert answer.error is Errors.GROUP_ID_NOT_FOUND


def test_a_group_is_described_with_its_members():
    group = running(("M1", "M2"))
    answer = group.ask(asked.on_share_group_describe, ShareGroupDescribe(("g1",)))
    (told,) = answer.groups
    assert (told.state, told.epoch) == (STABLE, group.group.epoch)
    assert [(m.member_id, m.partitions) for m in told.members] == [
        ("M1", ("src-0",)),
        ("M2", ("src-1",)),
    ]
    answer = empty_group().ask(asked.on_share_group_describe, ShareGroupDescribe(("g1",)))
    (told,) = answer.groups
    assert (told.state, told.members) == (EMPTY, ())


def test_the_lag_is_the_end_less_the_start_less_what_is_done_behind_it():
    group = empty_group()
    group.logs["src-0"] = source_log(0, 9)
    group.ask(
        asked.on_describe_share_group_offsets,
        DescribeShareGroupOffsets((ShareOffsetsGroup("g1", ("src-0",)),)),
    )
    answer = answer_all(group, start_offset=3, delivery_complete_count=2, leader_epoch=4)
    (offset,) = answer.groups[0].offsets
    assert (offset.start_offset, offset.leader_epoch, offset.lag) == (3, 4, 5)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"start_offset": 3},
        {"delivery_complete_count": 0},
        {"error": Errors.UNKNOWN_SERVER_ERROR, "start_offset": 3, "delivery_complete_count": 0},
    ],
)
def test_what_is_not_known_has_no_lag_and_is_no_error(fields):
    group = empty_group()
    group.ask(
        asked.on_describe_share_group_offsets,
        DescribeShareGroupOffsets((ShareOffsetsGroup("g1", ("src-0",)),)),
    )
    (offset,) = answer_all(group, **fields).groups[0].offsets
    assert (offset.lag, offset.error) == (-1, Errors.NONE)


def test_without_partitions_all_that_the_group_has_are_described():
    group = empty_group()
    group.ask(
        asked.on_describe_share_group_offsets, DescribeShareGroupOffsets((ShareOffsetsGroup("g1"),))
    )
    assert [r.message.key for r in group.requests] == KEYS
    assert [o.partition for o in answer_all(group).groups[0].offsets] == ["src-0", "src-1"]
    nobody = Group()
    answer = nobody.ask(
        asked.on_describe_share_group_offsets, DescribeShareGroupOffsets((ShareOffsetsGroup("g1"),))
    )
    assert (answer.groups[0].error, answer.groups[0].offsets) == (Errors.NONE, ())


def test_topics_that_the_operator_may_not_see_are_left_out():
    group = empty_group()
    group.image["acls"] = (Acl("nobody", Operation.DESCRIBE, Resource.TOPIC, "src"),)
    group.ask(
        asked.on_describe_share_group_offsets, DescribeShareGroupOffsets((ShareOffsetsGroup("g1"),))
    )
    assert answer_all(group).groups[0].offsets == ()


def test_deleting_a_topics_offsets_is_noted_first_and_done_when_every_state_is_gone():
    group = empty_group()
    group.ask(asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",)))
    assert (group.group.initialized, group.group.deleting) == ((), ("src",))
    assert [r.message for r in group.requests] == [
        DeleteShareGroupState((DeleteStateData(key),)) for key in KEYS
    ]
    answer = answer_all(group)
    assert (answer.error, answer.responses[0].error) == (Errors.NONE, Errors.NONE)
    assert group.group.deleting == ()
    again = group.ask(asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",)))
    assert again.responses[0].error is Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_each_topic_whose_offsets_are_deleted_has_a_result_of_its_own():
    group = empty_group()
    wanted = DeleteShareGroupOffsets("g1", ("gone", "src"))
    group.ask(asked.on_delete_share_group_offsets, wanted)
    assert group.group.deleting == ("src",)
    assert answer_all(group).responses == (
        TopicResult("gone", Errors.UNKNOWN_TOPIC_OR_PARTITION),
        TopicResult("src", Errors.NONE),
    )
    assert group.group.deleting == ()


def test_a_group_that_is_named_twice_waits_twice():
    group = empty_group()
    request, to = DescribeShareGroupOffsets((ShareOffsetsGroup("g1"),)), ReplyTo("op/admin", 1, 0)
    for _ in range(2):
        group.do(asked.on_describe_share_group_offsets(group.role, request, to, group.on))
    assert len({waiting.tag for waiting in group.role.operating}) == 2


def test_a_deletion_that_failed_is_tried_again_by_the_next_one():
    group = empty_group()
    group.ask(asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",)))
    assert answer_all(group, error=Errors.UNKNOWN_SERVER_ERROR).responses[0].error is (
        Errors.UNKNOWN_SERVER_ERROR
    )
    assert group.group.deleting == ("src",)
    group.ask(asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",)))
    assert [r.message.key for r in group.requests] == KEYS
    answer_all(group)
    assert group.group.deleting == ()


def test_whoever_joins_in_between_has_the_state_made_again():
    group = empty_group()
    group.ask(asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",)))
    group.joins("M2")
    assert group.group.initializing == ("src-0", "src-1")
    assert group.group.deleting == ()


def test_a_group_is_deleted_after_its_states():
    group = empty_group()
    deletes(group)
    assert group.group.deleting == ("src",)
    assert error_in(answer_all(group)) is Errors.NONE
    assert "g1" not in group.role.share_groups
    assert group.joins("M1").member_epoch == 2  # a new group begins at epoch 1, as ever


def test_a_group_stays_if_a_state_could_not_be_deleted():
    group = empty_group()
    deletes(group)
    busy = Errors.CONCURRENT_TRANSACTIONS
    assert error_in(answer_all(group, error=busy)) is busy
    assert group.group.deleting == ("src",)
    deletes(group)
    assert len(group.requests) == len(KEYS)
    assert error_in(answer_all(group)) is Errors.NONE


def test_a_member_that_joins_in_between_keeps_the_group():
    group = empty_group()
    deletes(group)
    requests, group.requests = group.requests, []
    group.joins("M2")
    group.requests = requests
    assert error_in(answer_all(group)) is Errors.NON_EMPTY_GROUP
    assert group.group.members.keys() == ("M2",)


def test_an_answer_of_a_broker_that_is_no_coordinator_any_more_is_asked_for_again():
    group = empty_group()
    alters(group, ("src-0", 105))
    (request,) = group.requests
    group.requests = []
    refused = InitializeShareGroupStateResponse(
        (InitializeStateResult(Errors.NOT_COORDINATOR, KEYS[0]),)
    )
    group.do(gc.on_state_answered(group.role, request.tag, refused, group.on))
    assert group.requests == [request]
    group.requests = []
    group.do(gc.on_state_lost(group.role, request.tag, request.message, group.on))
    assert group.requests == [request]
    group.do(gc.on_state_lost(group.role, "nobody", request.message, group.on))
    group.do(gc.on_state_answered(group.role, "nobody", refused, group.on))
    assert group.requests == [request]


def test_a_state_partition_without_a_leader_is_the_answer():
    group = empty_group(1)
    group.leaders = {n: -1 if n.startswith("__share") else b for n, b in group.leaders.items()}
    alters(group, ("src-0", 105))
    assert group.replies[-1][1].results == (
        PartitionResult("src-0", Errors.COORDINATOR_NOT_AVAILABLE),
    )


def test_a_coordinator_that_loses_its_office_owes_the_operator_an_answer():
    group = empty_group()
    alters(group, ("src-0", 105))
    done = gc.on_resigned(group.role, group.on)
    assert [reply.message.error for reply in done.replies] == [Errors.NOT_COORDINATOR]
    group.ask(asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",)))
    assert gc.on_resigned(group.role, group.on).replies[-1].message.group_id == "g1"


def test_a_group_without_a_name_is_none():
    group = empty_group()
    answer = group.ask(asked.on_delete_groups, DeleteGroups(("",)))
    assert error_in(answer) is Errors.INVALID_GROUP_ID


def test_an_answer_for_a_group_that_is_gone_by_then_reaches_the_operator_and_writes_nothing():
    group = empty_group()
    alters(group, ("src-0", 105))
    group.role = group.role.but(share_groups=group.role.share_groups.without("g1"))
    written = len(group.written(HERE))
    answer = answer_all(group)
    assert (answer.error, answer.results) == (Errors.NONE, (PartitionResult("src-0", Errors.NONE),))
    assert len(group.written(HERE)) == written


def test_a_reset_that_leaves_the_epoch_as_it_is_logs_none():
    group = empty_group()
    written = len(group.written(HERE))
    alters(group, ("src-0", 105))
    made = group.written(HERE)[written:]
    assert [type(record).__name__ for record in made] == ["ShareGroupStatePartitionsRecord"]


def test_a_description_names_rights_only_where_there_are_acls():
    group = empty_group()
    group.ask(asked.on_share_group_describe, ShareGroupDescribe(("g1",)))
    assert "rights" not in [check.name for check in group.checks]
    group = running(("M1",))
    group.image["acls"] = ()
    refused = group.ask(asked.on_share_group_describe, ShareGroupDescribe(("g1",)), "op/admin")
    assert error_in(refused) is Errors.TOPIC_AUTHORIZATION_FAILED
    assert group.checks[-1].name == "rights"
    group.image["acls"] = (Acl("op", Operation.DESCRIBE, Resource.TOPIC, "src"),)
    answer = group.ask(asked.on_share_group_describe, ShareGroupDescribe(("g1",)), "op/admin")
    (told,) = answer.groups
    assert (told.error, [m.member_id for m in told.members]) == (Errors.NONE, ["M1"])


def test_of_a_topic_that_is_not_there_nobody_is_asked_and_nothing_is_known():
    group = empty_group()
    wanted = DescribeShareGroupOffsets((ShareOffsetsGroup("g1", ("gone-0", "src-0")),))
    group.ask(asked.on_describe_share_group_offsets, wanted)
    assert [request.message.key for request in group.requests] == [KEYS[0]]
    offsets = answer_all(group, start_offset=3, delivery_complete_count=0).groups[0].offsets
    assert [(o.partition, o.start_offset) for o in offsets] == [("gone-0", -1), ("src-0", 3)]


def test_a_partition_that_its_topic_has_no_longer_has_a_start_and_no_lag():
    group = empty_group()
    del group.leaders["src-1"]
    group.ask(
        asked.on_describe_share_group_offsets,
        DescribeShareGroupOffsets((ShareOffsetsGroup("g1", ("src-1",)),)),
    )
    (offset,) = answer_all(group, start_offset=3, delivery_complete_count=0).groups[0].offsets
    assert (offset.start_offset, offset.lag) == (3, -1)


def test_a_reset_of_nothing_that_is_there_writes_nothing():
    group = empty_group()
    written = len(group.written(HERE))
    alters(group, ("src-9", 0))
    assert len(group.written(HERE)) == written


def test_a_reset_ends_the_deletion_of_its_own_topics_alone():
    group = Group()
    stored = ShareGroup(deleting=("other", "src"))
    group.role = group.role.but(share_groups=group.role.share_groups.set("g1", stored))
    alters(group, ("src-0", 105))
    assert group.group.deleting == ("other",)


def test_a_topics_offsets_are_deleted_without_those_of_other_topics():
    group = Group()
    stored = ShareGroup(initialized=("other-0", "src-0"))
    group.role = group.role.but(share_groups=group.role.share_groups.set("g1", stored))
    group.ask(asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",)))
    assert [request.message for request in group.requests] == [
        DeleteShareGroupState((DeleteStateData(KEYS[0]),))
    ]
    assert (group.group.initialized, group.group.deleting) == (("other-0",), ("src",))


def test_offsets_of_a_topic_that_the_cluster_no_longer_has_cannot_be_deleted_by_name():
    group = Group()
    stored = ShareGroup(initialized=("gone-0",))
    group.role = group.role.but(share_groups=group.role.share_groups.set("g1", stored))
    wanted = DeleteShareGroupOffsets("g1", ("gone",))
    answer = group.ask(asked.on_delete_share_group_offsets, wanted)
    assert answer.responses[0].error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert group.requests == []


def test_a_group_without_any_state_is_deleted_by_its_own_records_alone():
    group = Group()
    group.role = group.role.but(share_groups=group.role.share_groups.set("g1", ShareGroup()))
    assert deletes(group) is Errors.NONE
    assert group.written(HERE) == [ShareGroupDeleted("g1", of) for of in OF_A_GROUP]
    assert "g1" not in group.role.share_groups


def test_two_operators_at_a_time_each_have_the_answers_to_what_they_asked():
    group = empty_group()
    group.ask(asked.on_alter_share_group_offsets, AlterShareGroupOffsets("g1", (("src-0", 1),)))
    group.ask(asked.on_alter_share_group_offsets, AlterShareGroupOffsets("g1", (("src-1", 2),)))
    first, second = group.requests
    assert [o.tag for o in group.role.operating] == [first.tag, second.tag]
    assert (first.message.key, second.message.key) == tuple(KEYS)
    assert group.group.initializing == ("src-0", "src-1")
    for request, partition, left in ((second, "src-1", ("src-0",)), (first, "src-0", ())):
        answer = InitializeShareGroupStateResponse(
            (InitializeStateResult(Errors.NONE, request.message.key),)
        )
        group.do(gc.on_state_answered(group.role, request.tag, answer, group.on))
        assert [result.partition for result in group.replies[-1][1].results] == [partition]
        assert group.group.initializing == left
    assert group.role.operating == ()


def test_a_second_operator_is_told_at_once_that_nobody_leads_the_state_and_the_first_waits_on():
    group = empty_group()
    alters(group, ("src-0", 1))
    group.leaders = {n: -1 if n.startswith("__share") else b for n, b in group.leaders.items()}
    alters(group, ("src-1", 2))
    unavailable = PartitionResult("src-1", Errors.COORDINATOR_NOT_AVAILABLE)
    assert group.replies[-1][1].results == (unavailable,)
    assert [o.request.starts for o in group.role.operating] == [(("src-0", 1),)]


def test_the_partition_whose_coordinator_has_moved_is_the_one_that_is_asked_for_again():
    group = empty_group()
    alters(group, ("src-0", 1), ("src-1", 2))
    first, second = group.requests
    group.requests = []
    moved = InitializeShareGroupStateResponse(
        (InitializeStateResult(Errors.NOT_COORDINATOR, KEYS[1]),)
    )
    group.do(gc.on_state_answered(group.role, second.tag, moved, group.on))
    group.do(gc.on_state_lost(group.role, second.tag, second.message, group.on))
    assert group.requests == [second, second]
    foreign = InitializeShareGroupStateResponse(
        (InitializeStateResult(Errors.NONE, "g1:another:0"),)
    )
    before = group.role
    group.do(gc.on_state_answered(group.role, first.tag, foreign, group.on))
    assert group.role == before


def test_a_state_that_a_share_coordinator_refused_to_make_is_not_there():
    group = Group()
    alters(group, ("src-0", 1), ("src-1", 2))
    first, second = group.requests
    for request, error in ((first, Errors.NONE), (second, Errors.FENCED_STATE_EPOCH)):
        answer = InitializeShareGroupStateResponse(
            (InitializeStateResult(error, request.message.key),)
        )
        group.do(gc.on_state_answered(group.role, request.tag, answer, group.on))
    assert group.group.initialized == ("src-0",)
    results = [(c.asked, c.error) for c in group.checks if c.name == "result"]
    assert results == [("src-1", Errors.FENCED_STATE_EPOCH)]


def test_a_deletion_of_offsets_leaves_what_other_topics_are_deleted_for():
    group = Group()
    stored = ShareGroup(initialized=("src-0",), deleting=("other",))
    group.role = group.role.but(share_groups=group.role.share_groups.set("g1", stored))
    group.ask(asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",)))
    assert group.group.deleting == ("other", "src")
    assert answer_all(group).responses[0].error is Errors.NONE
    assert group.group.deleting == ("other",)


@pytest.mark.parametrize(
    ("handler", "request_"),
    [
        (asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",))),
        (asked.on_delete_groups, DeleteGroups(("g1",))),
    ],
)
def test_a_deletion_of_a_group_that_is_gone_by_then_is_answered_and_writes_nothing(
    handler, request_
):
    group = empty_group()
    group.ask(handler, request_)
    group.role = group.role.but(share_groups=group.role.share_groups.without("g1"))
    written = len(group.written(HERE))
    assert error_in(answer_all(group)) is Errors.NONE
    assert len(group.written(HERE)) == written
    assert group.role.operating == ()


def test_a_deletion_of_a_topic_that_is_being_deleted_asks_for_what_was_made_since_then():
    group = Group()
    stored = ShareGroup(initialized=("src-0",), deleting=("src",))
    group.role = group.role.but(share_groups=group.role.share_groups.set("g1", stored))
    group.ask(asked.on_delete_share_group_offsets, DeleteShareGroupOffsets("g1", ("src",)))
    assert [request.message.key for request in group.requests] == [KEYS[0]]


def test_an_operator_who_only_asks_for_offsets_has_the_coordinator_s_log_left_alone():
    """What a step reads is among its causes on the page."""
    group = empty_group()
    elsewhere = group.on.but(logs=Table.of())
    request, to = DescribeShareGroupOffsets((ShareOffsetsGroup("g1"),)), ReplyTo("op/admin", 1, 0)
    done = asked.on_describe_share_group_offsets(group.role, request, to, elsewhere)
    assert [each.message.key for each in done.requests] == KEYS
