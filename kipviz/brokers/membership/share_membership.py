"""Members of a share group: heartbeats, leaving, and partitions whose state is initialized first.

A part of the group coordinator's role (`group_coordinator`), with the same state.
WHERE IN KAFKA: GroupMetadataManager, GroupCoordinatorService. KIPS: KIP-932. The share-partition leaders are not
notified: a removed member keeps its locks until they expire or its connection breaks.
NOT MODELLED: the interval at which an initialization is retried (the next heartbeat retries it).
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import Check, compare, error_of, has_loaded, in_order, report_value
from kipviz.brokers.context import NOBODY, Channel, Context, Effects, Reply, ReplyTo, Request
from kipviz.brokers.groups import group_kinds
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.groups.group_writes import HEARD_NO_MORE, append_records, target_waits
from kipviz.brokers.handling import takes
from kipviz.brokers.membership import share_group, subscriptions
from kipviz.brokers.membership.share_group import ShareGroup, ShareMember
from kipviz.brokers.timers import MemberSession, RoleTimer
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.events import AssignmentMoved
from kipviz.messages.groups.membership import JOINING, LEAVING, Assignment
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat, ShareGroupHeartbeatResponse
from kipviz.messages.shares.share_state import (
    InitializeShareGroupState,
    InitializeShareGroupStateResponse,
    InitializeStateData,
)
from kipviz.records.placement import SHARE_GROUP_STATE, topic_of
from kipviz.records.share_group_members import (
    OF_A_MEMBER,
    ShareGroupAssignmentRecord,
    ShareGroupEpochRecord,
    ShareGroupMemberRecord,
    ShareGroupRecord,
    ShareGroupStatePartitionsRecord,
    ShareGroupTargetEpochRecord,
    ShareGroupTargetRecord,
    ShareGroupTombstone,
)


@takes(ShareGroupHeartbeat)
def on_share_group_heartbeat(
    me: GroupCoordinator, request: ShareGroupHeartbeat, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Add, keep, reassign or remove a member.

    WHEN: a member joins (epoch 0), sends a heartbeat, or leaves (epoch -1).
    CHECKS: ids and epoch are valid; if it joins, the id does not belong to a regular group, and there is room
    (group.share.max.size); unless it joins, group and member are known and the epoch is the member's, or the previous
    one.
    DOES: a new member or subscription bumps the group's epoch; partitions without state are initialized at their share
    coordinators; a bumped epoch leads to a new target, and the member gets it at once: nothing has to be revoked first.
    ANSWERS: the member's epoch, and its assignment if that is new to it or it sent its topics.
    Clause: KIP-932 "ShareGroupHeartbeat"; GroupMetadataManager.shareGroupHeartbeat.
    """
    checks = _checks(me, request, on)
    if error_of(checks) is not Errors.NONE:
        answer = ShareGroupHeartbeatResponse(error_of(checks), request.member_id)
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
    group_id, name = request.group_id, request.member_id
    group = me.share_groups.get(group_id) or ShareGroup()
    known = group.members.get(name)
    if request.member_epoch == LEAVING:
        assert known is not None, "who leaves is a member"
        answer = ShareGroupHeartbeatResponse(Errors.NONE, name, LEAVING)
        event = _make_assignment_events(group_id, name, known, ShareMember(), "it left")
        left = append_records(
            me, _make_leave_records(group, group_id, name), event, Reply(reply_to, answer), on
        )
        return left.after(checks)
    records: tuple[Value, ...] = ()
    told = request.subscribed_topic_names
    names = None if told is None else subscriptions.stored_names(told)
    if names is not None and (known is None or known.subscribed_topic_names != names):
        records = (ShareGroupMemberRecord(group_id, name, names),)
    if records or share_group.unassigned(group):
        records = (*records, ShareGroupEpochRecord(group_id, group.epoch + 1))
    group = _replay_records(group, records)
    asked, more = _initializing(group, group_id, on)
    records = (*records, *more, *_target(_replay_records(group, more), group_id, on))
    group = _replay_records(group, (*more, *_target(_replay_records(group, more), group_id, on)))
    member = group.members[name]
    after = member.but(epoch=group.target_epoch, partitions=member.target)
    if after != member:
        after = after.but(previous_epoch=member.epoch)
        records = (
            *records,
            ShareGroupAssignmentRecord(
                group_id, name, after.epoch, after.previous_epoch, after.partitions
            ),
        )
    new = told is not None or after.partitions != member.partitions
    assignment = Assignment(after.partitions) if new else None
    answer = ShareGroupHeartbeatResponse(Errors.NONE, name, after.epoch, assignment)
    because = "it joined" if known is None else "it received its target assignment"
    event = _make_assignment_events(group_id, name, known or ShareMember(), after, because)
    done = append_records(me, records, event, Reply(reply_to, answer), on).after(checks)
    return done.but(requests=asked) if done.appends else done


def on_initialized(
    me: GroupCoordinator, answer: InitializeShareGroupStateResponse, on: Context
) -> Effects[GroupCoordinator]:
    """Store that the state of a share-partition exists, or that it has to be initialized again.

    WHEN: a share coordinator answers InitializeShareGroupState. DOES: the next heartbeat of any member can assign the
    partition; after an error that heartbeat initializes it again.
    Clause: KIP-932 "InitializeShareGroupState"; GroupCoordinatorService.handlePersisterInitializeResponse.
    """
    return _write_initialized(me, answer.key, on, there=answer.only.error is Errors.NONE)


def on_initialize_lost(me: GroupCoordinator, key: str, on: Context) -> Effects[GroupCoordinator]:
    """Initialize the state again later, because the connection to the share coordinator broke."""
    return _write_initialized(me, key, on, there=False)


def on_timer(me: GroupCoordinator, timer: RoleTimer, on: Context) -> Effects[GroupCoordinator]:
    """Remove a member whose session expired; the leaders of its partitions are not notified.

    Clause: KIP-932 "Member failures" (group.share.session.timeout.ms).
    """
    group_id, name = running(me)[timer]
    group = me.share_groups[group_id]
    event = _make_assignment_events(
        group_id, name, group.members[name], ShareMember(), HEARD_NO_MORE
    )
    return append_records(me, _make_leave_records(group, group_id, name), event, None, on)


def running(me: GroupCoordinator) -> dict[RoleTimer, tuple[str, str]]:
    """Return the (group, member) of every session timer."""
    return {
        MemberSession(name, group_id): (group_id, name)
        for group_id, group in me.share_groups.items()
        for name in group.members
    }


@in_order
def _checks(me: GroupCoordinator, request: ShareGroupHeartbeat, on: Context) -> Iterator[Check]:
    """Check a heartbeat: its fields are valid, and the member may join, or is known with this epoch."""
    epoch, group = request.member_epoch, me.share_groups.get(request.group_id)
    yield from _form_checks(request)
    yield has_loaded(me.loading)
    if epoch == JOINING:
        yield group_kinds.shared_check(me, request.group_id)
        members = group.members if group is not None else Table[str, ShareMember].of()
        most, there = on.settings.share_group_max_size, len(members)
        room = there < most or request.member_id in members
        yield compare("members", most, there, room, Errors.GROUP_MAX_SIZE_REACHED)
    else:
        yield group_kinds.known_share_group_check(me, request.group_id)
        assert group is not None
        member = group.members.get(request.member_id)
        found = request.member_id if member is not None else None
        there_is, unknown = member is not None, Errors.UNKNOWN_MEMBER_ID
        yield compare("member id", request.member_id, found, there_is, unknown)
        assert member is not None
        if epoch != LEAVING:
            yield share_group.epoch_check(member, epoch)
    if group is not None:
        yield report_value("group epoch", group.epoch)
        yield report_value("partitions initialized", group.initialized)


def _form_checks(request: ShareGroupHeartbeat) -> Iterator[Check]:
    """Compare a heartbeat with the fields that its member epoch requires, before any state is checked.

    Source: GroupCoordinatorService.throwIfShareGroupHeartbeatRequestIsInvalid.
    """
    epoch, invalid = request.member_epoch, Errors.INVALID_REQUEST
    named = bool(request.group_id and request.member_id) and epoch >= LEAVING
    yield compare("valid ids and epoch", None, named, named, invalid)
    if epoch == JOINING:
        names = request.subscribed_topic_names
        yield compare("subscription", None, names, bool(names), invalid)


def _initializing(
    group: ShareGroup, group_id: str, on: Context
) -> tuple[tuple[Request, ...], tuple[ShareGroupRecord, ...]]:
    """Initialize partitions that have no state yet; the state epoch is the group's epoch."""
    topics = [topic for m in group.members.values() for topic in m.subscribed_topic_names]
    known = (*group.initializing, *group.initialized)
    wanted = tuple(p for p in on.image.leaders if topic_of(p) in topics and p not in known)
    found = []
    for partition in wanted:
        key = on.image.share_key(group_id, partition)
        broker = on.image.leader_of(on.image.home_of(SHARE_GROUP_STATE, key))
        if broker != NOBODY:
            message = InitializeShareGroupState((InitializeStateData(key, group.epoch, -1),))
            home = on.image.home_of("__consumer_offsets", group_id)
            found.append(
                (
                    partition,
                    Request(Channel.INITIALIZER, broker, message, Role.GROUP_COORDINATOR, home),
                )
            )
    if not found:
        return (), ()
    initializing = tuple(sorted((*group.initializing, *(p for p, _ in found))))
    record = ShareGroupStatePartitionsRecord(
        group_id, initializing, group.initialized, _topics_in_deletion(group, initializing)
    )
    return tuple(request for _, request in found), (record,)


def without_topic(me: GroupCoordinator, topic: str) -> tuple[ShareGroupStatePartitionsRecord, ...]:
    """Return the records with which share groups forget the state of a deleted topic.

    Clause: KIP-932; GroupMetadataManager.maybeCleanupShareGroupState.
    """
    found = []
    for group_id, group in me.share_groups.items():
        initializing = tuple(p for p in group.initializing if topic_of(p) != topic)
        initialized = tuple(p for p in group.initialized if topic_of(p) != topic)
        deleting = tuple(t for t in group.deleting if t != topic)
        left = (initializing, initialized, deleting)
        if left != (group.initializing, group.initialized, group.deleting):
            found.append(ShareGroupStatePartitionsRecord(group_id, *left))
    return tuple(found)


def _topics_in_deletion(group: ShareGroup, initializing: tuple[str, ...]) -> tuple[str, ...]:
    """Return the topics that are still being deleted, without those whose state is initialized again."""
    topics = [topic_of(partition) for partition in initializing]
    return tuple(topic for topic in group.deleting if topic not in topics)


def _target(group: ShareGroup, group_id: str, on: Context) -> tuple[ShareGroupRecord, ...]:
    """Return the records of a new target, if the group's epoch is ahead of the target's."""
    if group.epoch == group.target_epoch or target_waits(group.members.values(), on):
        return ()
    target = share_group.simple(group, group.initialized)
    changed = tuple(
        ShareGroupTargetRecord(group_id, name, mine)
        for name, mine in target.items()
        if mine != group.members[name].target
    )
    return (*changed, ShareGroupTargetEpochRecord(group_id, group.epoch))


def _write_initialized(
    me: GroupCoordinator, key: str, on: Context, *, there: bool
) -> Effects[GroupCoordinator]:
    group_id, topic_id, index = key.rsplit(":", 2)
    topic = next((t for t, known in on.image.topic_ids.items() if known == topic_id), "")
    partition, group = f"{topic}-{index}", me.share_groups.get(group_id)
    if group is None or partition not in group.initializing:
        return Effects(me)
    initializing = tuple(p for p in group.initializing if p != partition)
    initialized = tuple(sorted((*group.initialized, partition))) if there else group.initialized
    record = ShareGroupStatePartitionsRecord(group_id, initializing, initialized, group.deleting)
    return append_records(me, (record,), (), None, on)


def _make_leave_records(group: ShareGroup, group_id: str, name: str) -> tuple[Value, ...]:
    """Return the records of a member that left; a group without members gets its empty target at once."""
    tombstones = tuple(ShareGroupTombstone(group_id, name, of) for of in OF_A_MEMBER)
    epoch = group.epoch + 1
    last = (ShareGroupTargetEpochRecord(group_id, epoch),) if len(group.members) == 1 else ()
    return (*tombstones, ShareGroupEpochRecord(group_id, epoch), *last)


def _replay_records(group: ShareGroup, records: tuple[Value, ...]) -> ShareGroup:
    for record in records:
        assert isinstance(record, ShareGroupRecord)
        group = share_group.replay_record(group, record)
    return group


def _make_assignment_events(
    group_id: str, name: str, before: ShareMember, after: ShareMember, because: str
) -> tuple[Event, ...]:
    if (before.epoch, before.partitions) == (after.epoch, after.partitions):
        return ()
    return (
        AssignmentMoved(
            group_id, name, before.epoch, after.epoch, before.partitions, after.partitions, because
        ),
    )
