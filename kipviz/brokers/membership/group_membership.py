"""Members of a regular group: heartbeats, leaving, and expired sessions.

A part of the group coordinator's role (`group_coordinator`), with the same state.
WHERE IN KAFKA: GroupMetadataManager. KIPS: KIP-848. Static members are in `static_members`.
NOT MODELLED: MEMBER_ID_REQUIRED, the assignor by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import (
    Check,
    Checks,
    compare,
    error_of,
    has_loaded,
    in_order,
    report_value,
)
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.groups import group_kinds
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.groups.group_writes import (
    HEARD_NO_MORE,
    append_records,
    make_member_id,
    target_waits,
)
from kipviz.brokers.handling import takes
from kipviz.brokers.membership import (
    assignment_interval,
    consumer_group,
    static_members,
    subscriptions,
)
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.brokers.timers import MemberRebalance, MemberSession, RoleTimer
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved
from kipviz.messages.groups.classic_groups import LeaveGroup, LeaveGroupResponse, Left
from kipviz.messages.groups.membership import (
    JOINING,
    LEAVING,
    LEAVING_STATIC,
    Assignment,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kipviz.records.consumer_offsets import (
    MEMBER_RECORDS,
    UNREVOKED,
    GroupEpochRecord,
    MemberRecord,
    MemberTombstone,
    TargetEpochRecord,
    TargetRecord,
)
from kipviz.records.placement import topic_of
from kipviz.settings.consumer_configs import GROUP_INSTANCE_ID

TAKEN_OUT = "an operator removed it"
# The beginning of a member id that the coordinator makes; Kafka makes a random UUID.
UNNAMED = "member"
DID_NOT_REVOKE = "it did not revoke its partitions in time"


@takes(ConsumerGroupHeartbeat)
def on_consumer_group_heartbeat(
    me: GroupCoordinator, request: ConsumerGroupHeartbeat, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Add, keep, reconcile or remove a member.

    WHEN: a member joins (epoch 0), sends a heartbeat, has revoked partitions, or leaves (epoch -1).
    CHECKS: the request has the form of its epoch (INVALID_REQUEST); the id does not belong to a share group; the group
    and the member are known unless it joins, and its epoch is the member's, or the previous one if only a response was
    lost. A full group has no room for new members. A static member joins with an instance id that is new or was
    released (UNRELEASED_INSTANCE_ID), and sends heartbeats with the member id that has the instance id now
    (FENCED_INSTANCE_ID). Its regular expression is valid (INVALID_REGULAR_EXPRESSION).
    DOES: a member that joins by version 0 without a member id gets one (KIP-1082). A new member or subscription bumps the group's epoch, a bumped epoch leads to a new target, and the member
    moves one step towards it: it keeps its epoch until it has revoked what it is to lose, then it gets the partitions
    that no other member has any longer.
    ANSWERS: the member's epoch, and its assignment if that is new to it or it sent all of its own fields.
    Clause: KIP-848 "Consumer Group Heartbeat"; GroupMetadataManager.consumerGroupHeartbeat.
    """
    checks = _heartbeat_checks(me, request, on)
    if (error := error_of(checks)) is not Errors.NONE:
        refused = ConsumerGroupHeartbeatResponse(error, request.member_id)
        return Effects(me, replies=(Reply(reply_to, refused),), checks=checks)
    if request.member_epoch in (LEAVING, LEAVING_STATIC):
        return _leave(me, request, reply_to, on).after(checks)
    joins = request.member_epoch == JOINING
    if not request.member_id:
        me, made = make_member_id(me, UNNAMED, on)
        request = request.but(member_id=made)
    group = me.groups.get(request.group_id) or ConsumerGroup()
    taken = static_members.takeover_records(group, request)
    group = _replay_records(group, taken)
    known = group.members.get(request.member_id)
    before = known or GroupMember(())
    subscribed = _make_subscription_records(me, request, group, known, on)
    after, moved = _reconcile_member(_replay_records(group, subscribed), request)
    records = (*taken, *subscribed, *moved)
    member = after.members[request.member_id]
    whole = request.subscribes and request.owned is not None
    new = joins or whole or member.assigned != before.assigned
    answer = ConsumerGroupHeartbeatResponse(
        Errors.NONE,
        request.member_id,
        member.epoch,
        Assignment(member.partitions) if new else None,
    )
    because = "it joined" if known is None else "its assignment moved towards its target"
    if taken:
        because = f"it replaces the previous member of {request.instance_id}"
    event = _make_assignment_events(request.group_id, request.member_id, before, member, because)
    done = append_records(me, records, event, Reply(reply_to, answer), on).after(checks)
    return assignment_interval.start_interval(done, records, request.group_id, on)


@in_order
def _heartbeat_checks(
    me: GroupCoordinator, request: ConsumerGroupHeartbeat, on: Context
) -> Iterator[Check]:
    """Check that a member may join, stay or leave as its heartbeat asks."""
    yield from _form_checks(request)
    yield has_loaded(me.loading)
    group_id, name = request.group_id, request.member_id
    leaves = request.member_epoch in (LEAVING, LEAVING_STATIC)
    joins = request.member_epoch == JOINING
    regular = group_kinds.why_not_regular(me, group_id) is Errors.NONE
    there = (joins or group_id in me.groups) and regular
    kind = group_kinds.kind_of(me, group_id)
    yield compare("kind of group", group_id, kind, there, Errors.GROUP_ID_NOT_FOUND)
    group = me.groups.get(group_id) or ConsumerGroup()
    if not leaves:
        most, room = on.settings.consumer_group_max_size, not _is_full(group, request, on)
        yield compare("members", most, len(group.members), room, Errors.GROUP_MAX_SIZE_REACHED)
    if request.instance_id:
        yield static_members.instance_check(group, request)
    if request.regex and not leaves:
        regex, wrong = request.regex, Errors.INVALID_REGULAR_EXPRESSION
        yield compare("regular expression", regex, None, subscriptions.is_regular(regex), wrong)
    group = _replay_records(group, static_members.takeover_records(group, request))
    known = group.members.get(name)
    if known is not None:
        yield report_value("partitions to revoke", tuple(p for p, _ in known.revoking))
        yield report_value("target", known.target)
    if known is not None and not leaves:
        yield consumer_group.heartbeat_check(known, request.member_epoch, request.owned)
    else:
        found = name if known is not None else None
        fits = joins or known is not None
        yield compare("member id", name, found, fits, Errors.UNKNOWN_MEMBER_ID)
    yield report_value("group epoch", group.epoch)


def is_malformed(request: ConsumerGroupHeartbeat) -> bool:
    """Return whether a heartbeat lacks a field that its member epoch requires, whatever group it is for."""
    return any(check.error for check in _form_checks(request))


def _form_checks(request: ConsumerGroupHeartbeat) -> Iterator[Check]:
    """Compare a heartbeat with the fields that its member epoch requires, before any state is checked.

    A member that joins names its subscription, and owns nothing. NOT MODELLED: RebalanceTimeoutMs, the assignor's name.
    Source: GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid.
    """
    error, epoch = Errors.INVALID_REQUEST, request.member_epoch
    if request.needs_member_id and not request.member_id:
        yield compare("member id", None, None, False, error)
    if not request.group_id:
        yield compare("group id", None, None, False, error)
    if epoch == JOINING:
        owns = "owned partitions of a member that joins"
        yield compare(owns, request.owned, (), request.owned == (), error)
        subscribes = request.subscribes
        yield compare("subscription of a member that joins", subscribes, None, subscribes, error)
    if epoch == LEAVING_STATIC:
        named = request.instance_id
        yield compare(GROUP_INSTANCE_ID.name, named or None, None, bool(named), error)
    if epoch < LEAVING_STATIC:
        yield compare("member epoch", epoch, LEAVING_STATIC, False, error)


def _is_full(group: ConsumerGroup, request: ConsumerGroupHeartbeat, on: Context) -> bool:
    """Return whether the group has no room for a member that is not in it, by member or instance id.

    Source: group.consumer.max.size; GroupMetadataManager.throwIfConsumerGroupIsFull.
    """
    if static_members.holder_of(group, request.instance_id) or request.member_id in group.members:
        return False
    return len(group.members) >= on.settings.consumer_group_max_size


def on_leave_group(
    me: GroupCoordinator, request: LeaveGroup, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Remove members on behalf of an operator; members of this protocol leave with a heartbeat.

    WHEN: removeMembersFromConsumerGroup(). CHECKS: each is a member.
    DOES: deletes the records of all leavers; the group's epoch goes up once. ANSWERS: a result for each, when that is
    replicated.
    Clause: KIP-345, KIP-848; GroupMetadataManager.classicGroupLeaveToConsumerGroup.
    """
    group_id, group = request.group_id, me.groups[request.group_id]
    results: list[Left] = []
    gone: list[str] = []
    checks: Checks = ()
    for leaver in request.members:
        name, check = static_members.leaver_of(group, leaver)
        error, checks = check.error, (*checks, check)
        results.append(Left(leaver.member_id, leaver.instance_id, error))
        if error is Errors.NONE and name not in gone:
            gone.append(name)
    told = LeaveGroupResponse(Errors.NONE, tuple(results))
    events: tuple[Event, ...] = ()
    for name in gone:
        events += _make_assignment_events(
            group_id, name, group.members[name], GroupMember(()), TAKEN_OUT
        )
    done = append_records(
        me, _make_leave_records(group, group_id, *gone), events, Reply(reply_to, told), on
    )
    return done.after(checks)


def timers(me: GroupCoordinator, on: Context) -> tuple[RoleTimer, ...]:
    """Return the session timer of every member, and the rebalance timer of members that have to revoke.

    Both are in memory only: a new coordinator starts them afresh, with the full time.
    """
    return tuple(_running(me))


def on_timer(me: GroupCoordinator, timer: RoleTimer, on: Context) -> Effects[GroupCoordinator]:
    """Remove a member that sent no heartbeat, or did not revoke its partitions in time.

    DOES: deletes the member's records and bumps the group's epoch; the next heartbeat of any member decides who gets
    its partitions.
    Clause: KIP-848 "Member Failures" (group.consumer.session.timeout.ms, the member's rebalance timeout);
    GroupMetadataManager.consumerGroupFenceMember.
    """
    group_id, name, because = _running(me)[timer]
    member = me.groups[group_id].members[name]
    event = _make_assignment_events(group_id, name, member, GroupMember(()), because)
    return append_records(
        me, _make_leave_records(me.groups[group_id], group_id, name), event, None, on
    )


def _running(me: GroupCoordinator) -> dict[RoleTimer, tuple[str, str, str]]:
    """Return (group, member, reason for its removal) for each timer."""
    found: dict[RoleTimer, tuple[str, str, str]] = {}
    for group_id, group in me.groups.items():
        for name, member in group.members.items():
            found[MemberSession(name, group_id)] = (group_id, name, HEARD_NO_MORE)
            if member.state == UNREVOKED:
                found[MemberRebalance(name, group_id)] = (group_id, name, DID_NOT_REVOKE)
    return found


def _leave(
    me: GroupCoordinator, request: ConsumerGroupHeartbeat, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    group = me.groups[request.group_id]
    member = group.members[request.member_id]
    if request.member_epoch == LEAVING_STATIC:
        away = static_members.away(request.group_id, request.member_id, member)
        told = ConsumerGroupHeartbeatResponse(Errors.NONE, request.member_id, LEAVING_STATIC)
        return append_records(me, (away,), (), Reply(reply_to, told), on)
    records = _make_leave_records(group, request.group_id, request.member_id)
    answer = ConsumerGroupHeartbeatResponse(Errors.NONE, request.member_id, LEAVING)
    event = _make_assignment_events(
        request.group_id, request.member_id, member, GroupMember(()), "it left"
    )
    return append_records(me, records, event, Reply(reply_to, answer), on)


def _make_subscription_records(
    me: GroupCoordinator,
    request: ConsumerGroupHeartbeat,
    group: ConsumerGroup,
    known: GroupMember | None,
    on: Context,
) -> tuple[Value, ...]:
    """Return the records of a new member or subscription, and of the resulting target."""
    records: tuple[Value, ...] = ()
    group_id = request.group_id
    if subscriptions.is_new(request, known):
        records = (
            subscriptions.record_of(request, known),
            *subscriptions.regex_records(request, group, on),
            GroupEpochRecord(group_id, group.epoch + 1),
        )
        group = _replay_records(group, records)
    else:
        assert known is not None, "who is not known brings a subscription"
        records = subscriptions.rack_records(request, known)
        found = subscriptions.changed_regex_records(group_id, group, on)
        if found or _topic_changed(group, on):
            records = (*records, *found, GroupEpochRecord(group_id, group.epoch + 1))
        group = _replay_records(group, records)
    waits = group_id in me.fresh or target_waits(group.members.values(), on)
    if group.epoch == group.target_epoch or waits:
        return records
    topics = dict.fromkeys(consumer_group.subscribed_topics(group), True)
    partitions = tuple(p for p in on.image.leaders if topic_of(p) in topics)
    target = consumer_group.target_of(group, partitions)
    changed = tuple(
        TargetRecord(group_id, name, mine)
        for name, mine in target.items()
        if mine != group.members[name].target
    )
    return (*records, *changed, TargetEpochRecord(group_id, group.epoch))


def _topic_changed(group: ConsumerGroup, on: Context) -> bool:
    """Return whether the partitions of a group's topics differ from those in its target.

    Source: the metadata hash of GroupMetadataManager.consumerGroupHeartbeat.
    """
    if group.epoch != group.target_epoch:
        return False
    topics = consumer_group.subscribed_topics(group)
    given = {p for member in group.members.values() for p in member.target}
    there = {p for p in on.image.leaders if topic_of(p) in topics}
    return given != there


def _reconcile_member(
    group: ConsumerGroup, request: ConsumerGroupHeartbeat
) -> tuple[ConsumerGroup, tuple[Value, ...]]:
    name = request.member_id
    member = consumer_group.reconcile(group, name, request.owned)
    if member == group.members[name]:
        return group, ()
    record = MemberRecord(
        request.group_id,
        name,
        member.epoch,
        member.previous_epoch,
        member.state,
        member.assigned,
        member.revoking,
    )
    return consumer_group.replay_record(group, record), (record,)


def _make_leave_records(group: ConsumerGroup, group_id: str, *names: str) -> tuple[Value, ...]:
    """Return the records of members that left; a group without members gets its empty target at once."""
    if not names:
        return ()
    tombstones = tuple(
        MemberTombstone(group_id, name, of) for name in names for of in MEMBER_RECORDS
    )
    epoch = group.epoch + 1
    last = (TargetEpochRecord(group_id, epoch),) if len(group.members) == len(names) else ()
    return (*tombstones, GroupEpochRecord(group_id, epoch), *last)


def _replay_records(group: ConsumerGroup, records: tuple[Value, ...]) -> ConsumerGroup:
    for record in records:
        assert isinstance(record, consumer_group.GroupRecord)
        group = consumer_group.replay_record(group, record)
    return group


def _make_assignment_events(
    group_id: str, name: str, before: GroupMember, after: GroupMember, because: str
) -> tuple[Event, ...]:
    if (before.epoch, before.assigned) == (after.epoch, after.assigned):
        return ()
    return (
        AssignmentMoved(
            group_id, name, before.epoch, after.epoch, before.partitions, after.partitions, because
        ),
    )
