"""A request about several groups: each group's coordinator on this broker answers, in one response.

A part of KafkaApis (`kafka_apis`), with the same state. WHERE IN KAFKA: KafkaApis.handleDescribeGroupsRequest and
  similar methods, GroupCoordinatorService (one operation for each partition of `__consumer_offsets`).
KIPS: KIP-229 (DeleteGroups), KIP-709 (OffsetFetch), KIP-848 (ConsumerGroupDescribe), KIP-932 (ShareGroupDescribe).
DURABILITY: volatile; after a broken connection the operator retries.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.authorizer import refusal
from kipviz.brokers.checks import Check, Checks, compare, error_of, in_order, report_value
from kipviz.brokers.context import Context, Effects, LocalCall, Reply, ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis, PendingGroups
from kipviz.brokers.local_calls import AskedOfOne
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import FetchedGroup
from kipviz.messages.groups.several_groups import (
    GroupResult,
    GroupsResponse,
    OfGroups,
    groups_of,
    narrow_to_groups,
    results_of,
    with_results,
)
from kipviz.messages.message import Message
from kipviz.records.placement import CONSUMER_OFFSETS

# The role whose state holds the unanswered requests.
DESK = Role.KAFKA_APIS


def on_several_groups(
    me: KafkaApis, request: OfGroups, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Pass each group to its coordinator, and respond once for all of them.

    WHEN: an operator describes or deletes several groups that one broker coordinates, or fetches their offsets. CHECKS:
    for each group whether the sender is authorized (GROUP_AUTHORIZATION_FAILED), and whether the group is coordinated
    here (NOT_COORDINATOR); an error of one group does not affect the others. DOES: nothing else.
    ANSWERS: when every coordinator has answered, with an error per group.
    Clause: KIP-229 "DeleteGroups"; KafkaApis.handleDeleteGroupsRequest, GroupCoordinatorService.describeGroups.
    """
    refusals: list[GroupResult] = []
    calls: list[LocalCall] = []
    made: Checks = ()
    for group_id in groups_of(request):
        part = narrow_to_groups(request, (group_id,))
        home = on.image.home_of(CONSUMER_OFFSETS, group_id)
        checks = _checks(part, group_id, home, reply_to, on)
        made += checks
        if error_of(checks) is Errors.NONE:
            calls.append(LocalCall(Role.GROUP_COORDINATOR, home, AskedOfOne(reply_to, part)))
        else:
            refusals += results_of(_reject_each(part, error_of(checks)))
    pending = PendingGroups(reply_to, groups_of(request), tuple(refusals))
    if not calls:
        answer = _whole(_reject_each(request, Errors.NOT_COORDINATOR), pending)
        return Effects(me, replies=(Reply(reply_to, answer),), checks=made)
    waits = me.but(groups=me.groups.set(reply_to.source, pending))
    return Effects(waits, local=tuple(calls), checks=made)


def _reject_each(request: OfGroups, error: Errors) -> GroupsResponse:
    """Return the response with one error for every group."""
    answer = reject_request(request, error)
    assert isinstance(answer, GroupsResponse), answer
    return answer


@in_order
def _checks(
    part: Message, group_id: str, home: str, reply_to: ReplyTo, on: Context
) -> Iterator[Check]:
    """Check that the sender is authorized for a group, and that the group is coordinated here."""
    yield report_value("group", group_id)
    if on.image.acls is not None:
        error = refusal(on.image.acls, reply_to.source, part)
        yield Check("rights", reply_to.source, error is Errors.NONE, error)
    leader = on.image.leader_of(home)
    here = leader == on.broker
    yield compare("leader", on.broker, leader, here, Errors.NOT_COORDINATOR)


def waits_for(me: KafkaApis, reply_to: ReplyTo) -> bool:
    """Return whether a reply is a part of a pending response for several groups."""
    pending = me.groups.get(reply_to.source)
    return pending is not None and pending.reply_to == reply_to


def on_answered(me: KafkaApis, reply: Reply) -> Effects[KafkaApis]:
    """Store one coordinator's result for its group, and respond when it was the last one."""
    source, told = reply.to.source, reply.message
    assert isinstance(told, GroupsResponse), told
    pending = me.groups[source]
    pending = pending.but(answers=(*pending.answers, *results_of(told)))
    if len(pending.answers) < len(pending.asked):
        return Effects(me.but(groups=me.groups.set(source, pending)))
    done = me.but(groups=me.groups.without(source))
    answer = Reply(reply.to, _whole(told, pending))
    return Effects(done, replies=(answer,), checks=_results(pending))


def _results(pending: PendingGroups) -> Checks:
    """Return the errors of a response, each with its group or with the partition of its offset."""
    named = [
        named
        for each in pending.answers
        for named in (
            (each.group_id, each.error),
            *(
                (offset.partition, offset.error)
                for offset in (each.offsets if isinstance(each, FetchedGroup) else ())
            ),
        )
    ]
    return tuple(
        Check("result", name, error, error) for name, error in named if error is not Errors.NONE
    )


def _whole(told: GroupsResponse, pending: PendingGroups) -> Message:
    """Return the one response, with the groups in the order of the request."""
    results = sorted(pending.answers, key=lambda each: pending.asked.index(each.group_id))
    return with_results(told, tuple(results))
