"""Static members of a group of KIP-848: who has a group.instance.id, who released it, who may take it.

A part of the group coordinator's role (`group_membership`). WHERE IN KAFKA: GroupMetadataManager
  (getOrMaybeSubscribeStaticConsumerGroupMember, consumerGroupStaticMemberGroupLeave). KIPS: KIP-345, KIP-848.
Unlike in a classic group nobody is pushed out of its name: who comes while it is in use is refused, until
the name was released by a heartbeat of epoch -2, or its session is over.
"""

from __future__ import annotations

from kipviz.brokers.checks import Check, compare
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.core.values import Value
from kipviz.messages.classic_groups import NO_MEMBER, Leaver
from kipviz.messages.errors import Errors
from kipviz.messages.membership import JOINING, LEAVING_STATIC, ConsumerGroupHeartbeat
from kipviz.records.consumer_offsets import (
    MEMBER_RECORDS,
    MemberRecord,
    MemberTombstone,
    SubscriptionRecord,
    TargetRecord,
)

# What says whether whoever speaks in a static member's name is the newest one with it.
WHO_HAS_IT = "who has the group.instance.id"


def holder_of(group: ConsumerGroup, instance_id: str) -> str:
    """Return the member that has a group.instance.id, also while it is away; "" for none."""
    if not instance_id:
        return ""
    named = (name for name, member in group.members.items() if member.instance_id == instance_id)
    return next(named, "")


def instance_check(group: ConsumerGroup, request: ConsumerGroupHeartbeat) -> Check:
    """Check that a static member may join under its name, or speak in it.

    Whoever joins finds a name that is in use, be it its own: then only the answer to its first
    heartbeat was lost, and it is refused all the same.
    Source: GroupMetadataManager.throwIfInstanceIdIsUnreleased, throwIfInstanceIdIsFenced.
    """
    name, holder = request.member_id, holder_of(group, request.instance_id)
    if request.member_epoch == JOINING:
        free = not holder or group.members[holder].epoch == LEAVING_STATIC
        return compare(WHO_HAS_IT, name, holder or None, free, Errors.UNRELEASED_INSTANCE_ID)
    error = Errors.FENCED_INSTANCE_ID if holder else Errors.UNKNOWN_MEMBER_ID
    return compare(WHO_HAS_IT, name, holder or None, holder == name, error)


def taken_over(group: ConsumerGroup, request: ConsumerGroupHeartbeat) -> tuple[Value, ...]:
    """Return the records by which a static member that is back takes its own place, under its new id.

    The subscription and the target are as before, so the group's epoch does not go up and nobody else hears of it.
    Source: GroupMetadataManager.replaceMember.
    """
    before = holder_of(group, request.instance_id) if request.member_epoch == JOINING else ""
    if not before:
        return ()
    old, group_id, name = group.members[before], request.group_id, request.member_id
    return (
        *(MemberTombstone(group_id, before, of) for of in MEMBER_RECORDS),
        SubscriptionRecord(
            group_id, name, old.topic, old.instance_id, old.further_topics, old.regex, old.rack
        ),
        TargetRecord(group_id, name, old.target),
        MemberRecord(group_id, name, JOINING, JOINING, old.state, old.assigned, old.revoking),
    )


def away(group_id: str, name: str, member: GroupMember) -> MemberRecord:
    """Return the record of a static member that goes for a while: it keeps what it has, at epoch -2.

    Its session continues; when that is over, its place is gone. Source: consumerGroupStaticMemberGroupLeave.
    """
    held = tuple((partition, 0) for partition in member.partitions)
    return MemberRecord(group_id, name, LEAVING_STATIC, member.previous_epoch, member.state, held)


def leaver_of(group: ConsumerGroup, leaver: Leaver) -> tuple[str, Check]:
    """Return the member that an operator means, and check whether it can be taken out."""
    name = leaver.member_id
    if not leaver.instance_id:
        there = name in group.members
        found = name if there else None
        return name, compare("member id", name, found, there, Errors.UNKNOWN_MEMBER_ID)
    holder = holder_of(group, leaver.instance_id)
    error = Errors.FENCED_INSTANCE_ID if holder else Errors.UNKNOWN_MEMBER_ID
    fits = bool(holder) and name in (NO_MEMBER, holder)
    return holder or name, compare(WHO_HAS_IT, name or None, holder or None, fits, error)
