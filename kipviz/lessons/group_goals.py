"""Goals about groups, mostly of the classic protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from kipviz.brokers.groups import group_retention
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.membership.classic_group import GroupState
from kipviz.brokers.timers import AssignmentInterval
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.groups.consumer import Consumer, is_classic
from kipviz.cluster.actions import DelayOver, MissPoll
from kipviz.lessons.moment import Goal, Moment
from kipviz.messages.errors import Errors
from kipviz.messages.events import GenerationSeen, MessageDelivered, MessageSent, OffsetsExpired
from kipviz.messages.groups.classic_groups import (
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
)
from kipviz.messages.groups.group_admin import ConsumerGroupDescribeResponse
from kipviz.messages.groups.groups import OffsetFetchResponse
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.groups.several_groups import ANSWERS, results_of
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.records.classic_groups import COOPERATIVE_STICKY

M = TypeVar("M", bound=Message)


def _delivered_messages(moment: Moment, *kinds: type[M]) -> Iterator[M]:
    """Yield the messages of some kinds that have just arrived, requests and responses."""
    for event in moment.events:
        if isinstance(event, MessageDelivered) and isinstance(event.message, kinds):
            yield event.message


def _group_waits(moment: Moment) -> bool:
    """A member has joined the next generation of a group, and another one has not."""
    groups = (
        group
        for role in moment.world.roles.values()
        if isinstance(role, GroupCoordinator)
        for group in role.classic_groups.values()
    )
    return any(
        group.state is GroupState.PREPARING_REBALANCE
        and {True, False} == {m.joining is not None for m in group.members.values()}
        for group in groups
    )


def _has_answer(moment: Moment, error: Errors) -> bool:
    return any(
        isinstance(event, MessageSent) and error_in(event.message) is error
        for event in moment.events
    )


def _told_to_join(moment: Moment) -> bool:
    """The response to a member's heartbeat has just announced that the group rebalances."""
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, HeartbeatResponse)
        and event.message.error is Errors.REBALANCE_IN_PROGRESS
        for event in moment.events
    )


def _generation_refused(moment: Moment) -> bool:
    """A request of an older generation has just been rejected."""
    return _has_answer(moment, Errors.ILLEGAL_GENERATION)


def _instance_fenced(moment: Moment) -> bool:
    """A client that used the name of a static member has just been fenced."""
    return _has_answer(moment, Errors.FENCED_INSTANCE_ID)


def _polled_too_late(moment: Moment) -> bool:
    """A consumer has just left its group, because its application did not poll in time."""
    return bool(moment.actions) and isinstance(moment.actions[-1], MissPoll)


def _generation_seen(moment: Moment) -> bool:
    """A transaction coordinator has just learnt of a generation (KIP-447, first draft)."""
    return any(isinstance(event, GenerationSeen) for event in moment.events)


def _older_fenced(moment: Moment) -> bool:
    """A transaction coordinator has just rejected a producer whose generation is over."""
    seen = any(
        isinstance(role, TransactionCoordinator) and len(role.assignments)
        for role in moment.world.roles.values()
    )
    return seen and _has_answer(moment, Errors.PRODUCER_FENCED)


def _has_removed_members(moment: Moment) -> bool:
    """An operator has just removed members from a group."""
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, LeaveGroupResponse)
        and event.message.error is Errors.NONE
        and "/admin" in event.source
        for event in moment.events
    )


def _name_in_use(moment: Moment) -> bool:
    """A static member has just been rejected because another one has its name (KIP-848)."""
    return _has_answer(moment, Errors.UNRELEASED_INSTANCE_ID)


def _reads_while_it_joins(moment: Moment) -> bool:
    """poll() has returned records to a consumer that waits for the response to JoinGroup or SyncGroup."""
    return any(
        is_classic(client) and client.membership.joining is not None and client.records
        for app in moment.world.applications.values()
        for client in app.clients
    )


def _assignors_refused(moment: Moment) -> bool:
    """A client without an assignor that all members of the group support has just been rejected."""
    return _has_answer(moment, Errors.INCONSISTENT_GROUP_PROTOCOL)


def _assignor_changed(moment: Moment) -> bool:
    """A group has voted for the cooperative assignor."""
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, JoinGroupResponse)
        and event.message.error is Errors.NONE
        and event.message.protocol == COOPERATIVE_STICKY
        for event in moment.events
    )


def _offsets_forgotten(moment: Moment) -> bool:
    """Offsets of a group have just expired, whether or not the group was deleted."""
    return any(isinstance(event, OffsetsExpired) and event.partitions for event in moment.events)


def _group_forgotten(moment: Moment) -> bool:
    """A group has just been deleted."""
    return any(isinstance(event, OffsetsExpired) and event.deleted for event in moment.events)


def _empty_group_keeps(moment: Moment) -> bool:
    """A group has no members, and still has its committed offsets."""
    return any(
        isinstance(role, GroupCoordinator)
        and any(group_retention.is_empty(role, group_id) for group_id, _ in role.offsets)
        for role in moment.world.roles.values()
    )


def _offset_found(moment: Moment) -> bool:
    """A member has just received the offset that its group committed."""
    members = {
        client.source
        for app in moment.world.applications.values()
        for client in app.clients
        if isinstance(client, Consumer)
    }
    return any(
        isinstance(event, MessageSent)
        and isinstance(event.message, OffsetFetchResponse)
        and event.source in members
        and any(fetched.offset > 0 for group in event.message.groups for fetched in group.offsets)
        for event in moment.events
    )


def _subscription_changed(moment: Moment) -> bool:
    """A member has just changed its subscription."""
    return any(
        beat.member_epoch > 0 and beat.subscribes
        for beat in _delivered_messages(moment, ConsumerGroupHeartbeat)
    )


def _expression_resolved(moment: Moment) -> bool:
    """A group has resolved an expression of a member to topics."""
    return any(
        bool(topics)
        for role in moment.world.roles.values()
        if isinstance(role, GroupCoordinator)
        for group in role.groups.values()
        for topics in group.regexes.values()
    )


def _expression_refused(moment: Moment) -> bool:
    """A member has just received the error that its expression is not valid."""
    return _has_answer(moment, Errors.INVALID_REGULAR_EXPRESSION)


def _group_full(moment: Moment) -> bool:
    """A client has just been rejected because the group has its maximum number of members."""
    return _has_answer(moment, Errors.GROUP_MAX_SIZE_REACHED)


def _name_taken(moment: Moment) -> bool:
    """A client has just received the error that no group of its kind has this name."""
    return _has_answer(moment, Errors.GROUP_ID_NOT_FOUND)


def _one_group_fails(moment: Moment) -> bool:
    """A response about several groups has just arrived in which one has an error and another one has none."""
    return any(
        len({result.error is Errors.NONE for result in results_of(whole)}) > 1
        for whole in _delivered_messages(moment, *ANSWERS)
    )


def _nothing_told(moment: Moment) -> bool:
    """An operator has just received, without an error, that a group has no offset."""
    return any(
        group.error is Errors.NONE and not group.offsets
        for whole in _delivered_messages(moment, OffsetFetchResponse)
        for group in whole.groups
    )


def _interval_over(moment: Moment) -> bool:
    """A group of KIP-848 may compute its next target assignment from now on."""
    last = moment.actions[-1] if moment.actions else None
    return isinstance(last, DelayOver) and isinstance(last.delay, AssignmentInterval)


def _rack_said(moment: Moment) -> bool:
    """A member's heartbeat with its rack has just arrived."""
    return any(beat.rack for beat in _delivered_messages(moment, ConsumerGroupHeartbeat))


def _rack_told(moment: Moment) -> bool:
    """An operator has just received the rack of a member."""
    described = _delivered_messages(moment, ConsumerGroupDescribeResponse)
    groups = (group for answer in described for group in answer.groups)
    return any(member.rack for group in groups for member in group.members)


GROUP_GOALS: Mapping[str, Goal] = {
    "group waits": _group_waits,
    "subscription changed": _subscription_changed,
    "expression resolved": _expression_resolved,
    "expression refused": _expression_refused,
    "group full": _group_full,
    "name taken": _name_taken,
    "one group fails": _one_group_fails,
    "no offset, no error": _nothing_told,
    "interval over": _interval_over,
    "rack said": _rack_said,
    "rack told": _rack_told,
    "offsets forgotten": _offsets_forgotten,
    "group forgotten": _group_forgotten,
    "empty group keeps offsets": _empty_group_keeps,
    "offset found again": _offset_found,
    "assignors refused": _assignors_refused,
    "assignor changed": _assignor_changed,
    "reads while it joins": _reads_while_it_joins,
    "told to join again": _told_to_join,
    "generation refused": _generation_refused,
    "instance fenced": _instance_fenced,
    "polled too late": _polled_too_late,
    "name in use": _name_in_use,
    "generation seen": _generation_seen,
    "older generation fenced": _older_fenced,
    "member taken out": _has_removed_members,
}
