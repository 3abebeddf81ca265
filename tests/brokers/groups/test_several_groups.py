"""Several groups in one request: handed to their coordinators, answered as one, and asked for by an operator."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.brokers import kafka_apis as apis
from kipviz.brokers.authorizer import Acl
from kipviz.brokers.context import Reply, ReplyTo
from kipviz.brokers.groups import several_groups as several
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.clients.operators import admin
from kipviz.clients.operators.admin import Admin
from kipviz.clients.operators.group_calls import groups_of
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import BadSpec
from kipviz.driving.desk import Desk
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageDelivered, OffsetsExpired
from kipviz.messages.groups.group_admin import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeResponse,
    DescribedClassicGroup,
    DescribedConsumerGroup,
    DescribeGroups,
    DescribeGroupsResponse,
)
from kipviz.messages.groups.several_groups import group_errors, narrow_to_groups, results_of
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_admin import (
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsResponse,
    DescribedShareGroup,
    DescribedShareOffsets,
    DescribeShareGroupOffsets,
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribe,
    ShareGroupDescribeResponse,
    ShareOffsetsGroup,
)
from kipviz.messages.wire.codec import decode, encode
from kipviz.messages.wire.frame import KINDS
from kipviz.messages.wire.kind import Around
from kipviz.records.placement import CONSUMER_OFFSETS, partition_for
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting import GROUP
from kipviz.views.explanations.operators import list_learned
from tests.scenarios.story import nodes, play_once

BILLING, MISSPELT = "billing", "my-gruop-4"
ALL = (GROUP, BILLING, MISSPELT)

E = Errors
HOME = {name: f"{CONSUMER_OFFSETS}-{partition_for(name, 50)}" for name in ALL}
TO = ReplyTo("op/admin", 1, 0)


@pytest.fixture
def desk() -> Desk:
    """The front desk of a broker that coordinates two of three groups."""
    return Desk(apis, KafkaApis(), leaders={HOME[GROUP]: 1, HOME[BILLING]: 1, HOME[MISSPELT]: 3})


def describe_offsets(groups: tuple[str, ...]) -> DescribeShareGroupOffsets:
    return DescribeShareGroupOffsets(tuple(map(ShareOffsetsGroup, groups)))


def ask(desk: Desk, request: Any) -> None:
    desk.do(several.on_several_groups(desk.role, request, TO, desk.on))


def answer_part(desk: Desk, answer: Any) -> None:
    assert several.waits_for(desk.role, TO)
    desk.do(several.on_answered(desk.role, Reply(TO, answer)))


def errors(answer: Any) -> list[tuple[str, Errors]]:
    return [(each.group_id, each.error) for each in results_of(answer)]


@pytest.mark.parametrize(
    ("kind", "response", "result"),
    [
        (DeleteGroups, DeleteGroupsResponse, DeletedGroup),
        (DescribeGroups, DescribeGroupsResponse, DescribedClassicGroup),
        (ConsumerGroupDescribe, ConsumerGroupDescribeResponse, DescribedConsumerGroup),
        (ShareGroupDescribe, ShareGroupDescribeResponse, DescribedShareGroup),
        (describe_offsets, DescribeShareGroupOffsetsResponse, DescribedShareOffsets),
    ],
)
def test_each_group_is_asked_of_its_own_coordinator_and_the_answer_waits_for_the_last(
    desk: Desk, kind: Any, response: Any, result: Any
) -> None:
    ask(desk, kind((GROUP, MISSPELT, BILLING)))
    assert [(call.role, call.shard, call.message) for call in desk.local] == [
        ("group_coordinator", HOME[name], AskedOfOne(TO, kind((name,))))
        for name in (GROUP, BILLING)
    ]
    answer_part(desk, response((result(E.GROUP_ID_NOT_FOUND, BILLING),)))
    assert not desk.replies
    answer_part(desk, response((result(E.NONE, GROUP),)))
    ((to, answer),) = desk.replies
    assert (to, errors(answer)) == (
        TO,
        [(GROUP, E.NONE), (MISSPELT, E.NOT_COORDINATOR), (BILLING, E.GROUP_ID_NOT_FOUND)],
    )
    assert not several.waits_for(desk.role, TO)
    assert [(check.asked, check.error) for check in desk.checks] == [
        (MISSPELT, E.NOT_COORDINATOR),
        (BILLING, E.GROUP_ID_NOT_FOUND),
    ]


def test_the_checks_of_a_request_about_several_groups_say_of_which_group_they_are(
    desk: Desk,
) -> None:
    desk.image = {"acls": (Acl("op", Operation.DESCRIBE, Resource.GROUP, MISSPELT),)}
    ask(desk, DescribeGroups((GROUP, MISSPELT)))
    assert [(check.name, check.asked, check.found, check.error) for check in desk.checks] == [
        ("group", None, GROUP, E.NONE),
        ("rights", "op/admin", False, E.GROUP_AUTHORIZATION_FAILED),
        ("group", None, MISSPELT, E.NONE),
        ("rights", "op/admin", True, E.NONE),
        ("leader", 1, 3, E.NOT_COORDINATOR),
    ]


def test_a_cluster_without_acls_compares_no_rights(desk: Desk) -> None:
    ask(desk, DescribeGroups((GROUP,)))
    assert [check.name for check in desk.checks] == ["group", "leader"]


@pytest.mark.parametrize("kind", [DescribeGroups, ConsumerGroupDescribe, ShareGroupDescribe])
def test_what_nobody_here_coordinates_is_answered_at_once(desk: Desk, kind: Any) -> None:
    desk.broker = 5
    ask(desk, kind((GROUP, BILLING)))
    assert errors(desk.last) == [(GROUP, E.NOT_COORDINATOR), (BILLING, E.NOT_COORDINATOR)]
    assert not desk.local


def test_a_right_is_asked_for_group_by_group(desk: Desk) -> None:
    right = Acl("op", Operation.DESCRIBE, Resource.GROUP, BILLING)
    desk.image = {"acls": (right,)}
    ask(desk, DescribeGroups((GROUP, BILLING)))
    answer_part(desk, DescribeGroupsResponse((DescribedClassicGroup(E.NONE, BILLING, "Stable"),)))
    assert errors(desk.last) == [(GROUP, E.GROUP_AUTHORIZATION_FAILED), (BILLING, E.NONE)]


def test_an_answer_to_another_life_of_a_connection_is_no_part_of_it(desk: Desk) -> None:
    assert not several.waits_for(desk.role, TO)
    ask(desk, DeleteGroups((GROUP, BILLING)))
    assert not several.waits_for(desk.role, ReplyTo("op/admin", 1, 1))
    assert not several.waits_for(desk.role, ReplyTo("app-1/consumer", 1, 0))


# -- on the wire ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "array", "said"),
    [
        (DescribeGroups(("g", "h")), "Groups", ["g", "h"]),
        (ConsumerGroupDescribe(("g", "h")), "GroupIds", ["g", "h"]),
        (ShareGroupDescribe(("g", "h")), "GroupIds", ["g", "h"]),
        (DeleteGroups(("g", "h")), "GroupsNames", ["g", "h"]),
        (
            DeleteGroupsResponse((DeletedGroup(E.NONE, "g"), DeletedGroup(E.NON_EMPTY_GROUP, "h"))),
            "Results",
            [("g", 0), ("h", 68)],
        ),
        (
            DescribeGroupsResponse(
                (
                    DescribedClassicGroup(E.NONE, "g", "Empty"),
                    DescribedClassicGroup(E.GROUP_ID_NOT_FOUND, "h", "Dead"),
                )
            ),
            "Groups",
            [("g", 0), ("h", 69)],
        ),
        (
            ShareGroupDescribeResponse(
                (
                    DescribedShareGroup(E.NONE, "g", "Empty"),
                    DescribedShareGroup(E.NONE, "h", "Stable"),
                )
            ),
            "Groups",
            [("g", 0), ("h", 0)],
        ),
    ],
)
def test_the_bytes_have_an_array_of_groups(message: Any, array: str, said: list[Any]) -> None:
    kind = KINDS[type(message)]
    values, _ = decode(kind.schema, message.VERSION, encode_message(message))
    found = [
        each if isinstance(each, str) else (each["GroupId"], each["ErrorCode"])
        for each in values[array]
    ]
    assert found == said


def encode_message(message: Any) -> bytes:
    kind = KINDS[type(message)]
    filled = kind.fill(message, Around((), None, "op/admin"))
    return encode(kind.schema, message.VERSION, filled, {}).data


# -- the admin client -----------------------------------------------------------------------------------


def begins(target: str) -> Admin:
    return admin.describe_consumer_group(Admin("op/admin", (1, 3)), target)


def send_next(me: Admin, *groups: str) -> tuple[Admin, Any]:
    """Send what is next, about these groups of it if not all of them have one coordinator."""
    request: Any = admin.next_request(me)
    if groups:
        request = narrow_to_groups(request, groups)
    return admin.note_sent(me, request, 1)


def hear_results(me: Admin, *results: Any) -> Admin:
    responses: dict[type[Any], Any] = {
        DescribedConsumerGroup: ConsumerGroupDescribeResponse,
        DescribedClassicGroup: DescribeGroupsResponse,
        DeletedGroup: DeleteGroupsResponse,
    }
    return admin.on_response(me, responses[type(results[0])](results))


def test_each_coordinator_is_asked_once_and_a_classic_group_once_more() -> None:
    told = DescribedConsumerGroup
    me, request = send_next(begins("g h k g"), "g", "k")
    assert request == ConsumerGroupDescribe(("g", "k"))
    me = hear_results(me, told(E.NONE, "g", "Stable"), told(E.GROUP_ID_NOT_FOUND, "k"))
    me, request = send_next(me)
    assert request == DescribeGroups(("k",))
    me = hear_results(me, DescribedClassicGroup(E.NONE, "k", "Empty"))
    me, request = send_next(me)
    assert request == ConsumerGroupDescribe(("h",))
    me = hear_results(me, told(E.NONE, "h", "Empty"))
    assert (me.done, me.error) == (True, "")
    assert [(each.group_id, each.state) for each in me.described] == [
        ("g", "Stable"),
        ("k", "Empty"),
        ("h", "Empty"),
    ]


def test_one_group_fails_alone_and_one_that_says_to_come_back_is_asked_again() -> None:
    told = DeletedGroup
    me, request = send_next(admin.delete_consumer_group(Admin("op/admin", (1, 3)), "g h k"))
    assert request == DeleteGroups(("g", "h", "k"))
    wrong, later = told(E.NON_EMPTY_GROUP, "g"), told(E.NOT_COORDINATOR, "k")
    me, request = send_next(hear_results(me, wrong, told(E.NONE, "h"), later))
    assert (request, me.done) == (DeleteGroups(("k",)), False)
    me = hear_results(me, told(E.GROUP_ID_NOT_FOUND, "k"))
    assert (me.done, str(me.error), me.described) == (True, "DeleteGroups: NON_EMPTY_GROUP", ())


def test_the_next_call_is_about_one_group_again() -> None:
    me, _ = send_next(begins("g h"))
    me, _ = send_next(admin.describe_consumer_group(me.but(on_wire=None), "g"))
    me = hear_results(me, DescribedConsumerGroup(E.NONE, "g", "Stable"))
    assert (me.several, me.described, me.group is not None) == (False, (), True)


def test_a_target_of_blanks_names_no_group() -> None:
    spec = searched_scenario("kip-229-several").spec
    operator = spec.applications[-1]
    lines = (operator.program[0].but(target=" "), *operator.program[1:])
    with pytest.raises(BadSpec, match="' ' names no group"):
        check(spec.but(applications=(*spec.applications[:-1], operator.but(program=lines))))
    assert groups_of(operator.program[0]) == ALL
    assert groups_of(spec.applications[0].program[0]) == ()


def test_a_command_that_fails_has_deleted_the_group_that_could_be() -> None:
    """The story: two brokers are asked, one of them about two groups, and each group has its own end."""
    trace, _ = play_once("kip-229-several", "kafka")
    events = [event for node in nodes(trace) for event in node.events]
    answers = {
        event.message: event.broker
        for event in events
        if isinstance(event, MessageDelivered) and isinstance(event.message, DeleteGroupsResponse)
    }
    first, last = answers
    assert (group_errors(first), group_errors(last)) == (((BILLING, E.NON_EMPTY_GROUP),), ())
    assert (answers[first], answers[last], error_in(last)) == (4, 3, E.GROUP_ID_NOT_FOUND)
    assert [e.group_id for e in events if isinstance(e, OffsetsExpired)] == [GROUP]
    told = dict(list_learned(first))
    assert told == {GROUP: "deleted", BILLING: "NON_EMPTY_GROUP"}
