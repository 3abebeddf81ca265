"""Static members of a KIP-848 group: which member has a group.instance.id, and who may take it over.

A part of the group coordinator's role (`group_membership`). WHERE IN KAFKA: GroupMetadataManager
(getOrMaybeSubscribeStaticConsumerGroupMember, consumerGroupStaticMemberGroupLeave). KIPS: KIP-345, KIP-848. Unlike in a
classic group, no member loses its instance id to a newer one. A member that joins with an id in use is rejected until
the id is released by a heartbeat of epoch -2, or the session expires.
"""

from __future__ import annotations

from kipviz.brokers.checks import Check, compare
from kipviz.brokers.membership.consumer_group import ConsumerGroup, GroupMember
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import NO_MEMBER, Leaver
from kipviz.messages.groups.membership import JOINING, LEAVING_STATIC, ConsumerGroupHeartbeat
from kipviz.records.consumer_offsets import (
    MEMBER_RECORDS,
    MemberRecord,
    MemberTombstone,
    SubscriptionRecord,
    TargetRecord,
)
from kipviz.settings.consumer_configs import GROUP_INSTANCE_ID

# The check whether a request comes from the newest member with its group.instance.id.
WHO_HAS_IT = f"who has the {GROUP_INSTANCE_ID.name}"


def holder_of(group: ConsumerGroup, instance_id: str) -> str:
    """Return the member that has a group.instance.id, even while it is away, or ""."""
    if not instance_id:
        return ""
    named = (name for name, member in group.members.items() if member.instance_id == instance_id)
    return next(named, "")


def instance_check(group: ConsumerGroup, request: ConsumerGroupHeartbeat) -> Check:
    """Check that a static member may join with its instance id, or use it.

    A joining member is rejected while the id is in use, even by itself: then only the response to its first heartbeat
    was lost.
    Source: GroupMetadataManager.throwIfInstanceIdIsUnreleased, throwIfInstanceIdIsFenced.
    """
    name, holder = request.member_id, holder_of(group, request.instance_id)
    if request.member_epoch == JOINING:
        free = not holder or group.members[holder].epoch == LEAVING_STATIC
        return compare(WHO_HAS_IT, name, holder or None, free, Errors.UNRELEASED_INSTANCE_ID)
    error = Errors.FENCED_INSTANCE_ID if holder else Errors.UNKNOWN_MEMBER_ID
    return compare(WHO_HAS_IT, name, holder or None, holder == name, error)


def takeover_records(group: ConsumerGroup, request: ConsumerGroupHeartbeat) -> tuple[Value, ...]:
    """Return the records by which a returning static member takes its own place, with its new member id.

    The subscription and the target are as before, so the group's epoch does not go up and no other member notices.
    Source: GroupMetadataManager.replaceMember.
    """
    before = holder_of(group, request.instance_id) if request.member_epoch == JOINING else ""
    if not before:
        return ()
    old, group_id, name = group.members[before], request.group_id, request.member_id
    return (
        *(MemberTombstone(group_id, before, of) for of in MEMBER_RECORDS),
        SubscriptionRecord(
            group_id, name, old.subscribed_topic_names, old.instance_id, old.regex, old.rack
        ),
        TargetRecord(group_id, name, old.target),
        MemberRecord(group_id, name, JOINING, JOINING, old.state, old.assigned, old.revoking),
    )


def away(group_id: str, name: str, member: GroupMember) -> MemberRecord:
    """Return the record of a static member that leaves for a while: it keeps its assignment, at epoch -2.

    Its session keeps running; when it expires, the member is removed. Source: consumerGroupStaticMemberGroupLeave.
    """
    held = tuple((partition, 0) for partition in member.partitions)
    return MemberRecord(group_id, name, LEAVING_STATIC, member.previous_epoch, member.state, held)


def leaver_of(group: ConsumerGroup, leaver: Leaver) -> tuple[str, Check]:
    """Return the member that an operator names, and check whether it can be removed."""
    name = leaver.member_id
    if not leaver.instance_id:
        there = name in group.members
        found = name if there else None
        return name, compare("member id", name, found, there, Errors.UNKNOWN_MEMBER_ID)
    holder = holder_of(group, leaver.instance_id)
    error = Errors.FENCED_INSTANCE_ID if holder else Errors.UNKNOWN_MEMBER_ID
    fits = bool(holder) and name in (NO_MEMBER, holder)
    return holder or name, compare(WHO_HAS_IT, name or None, holder or None, fits, error)
