"""A share group as its coordinator sees it: members, epochs, and the simple assignment.

WHERE IN KAFKA: ShareGroup, ShareGroupMember, SimpleAssignor. KIPS: KIP-932.
DURABILITY: everything here is replayed from records; nothing else changes it.
NOT MODELLED: racks; the computation of a target in the background (KIP-1263: here in
the heartbeat that needs it, or it waits: `targets_wait`).
"""

from __future__ import annotations

from kipviz.brokers.checks import Check, compare
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.records.placement import topic_of
from kipviz.records.share_group_members import (
    ShareGroupAssignmentRecord,
    ShareGroupEpochRecord,
    ShareGroupMemberRecord,
    ShareGroupRecord,
    ShareGroupStatePartitionsRecord,
    ShareGroupTargetEpochRecord,
    ShareGroupTargetRecord,
)


class ShareMember(Value, frozen=True):
    """A member: its target, and the assignment that it was last sent."""

    subscribed_topic_names: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    epoch: int = 0
    previous_epoch: int = -1
    partitions: tuple[str, ...] = ()


class ShareGroup(Part, frozen=True):
    """A group: a new one starts at epoch 1, and its first member bumps that.

    Only partitions whose state is initialized at the share coordinator can be assigned.
    """

    epoch: int = 1
    target_epoch: int = 1
    members: Table[str, ShareMember] = Table.of()
    initializing: tuple[str, ...] = ()
    initialized: tuple[str, ...] = ()
    deleting: tuple[str, ...] = ()


def replay_record(group: ShareGroup, record: ShareGroupRecord) -> ShareGroup:
    """Apply one record of the log."""
    if isinstance(record, ShareGroupEpochRecord):
        return group.but(epoch=record.epoch)
    if isinstance(record, ShareGroupTargetEpochRecord):
        return group.but(target_epoch=record.epoch)
    if isinstance(record, ShareGroupStatePartitionsRecord):
        return group.but(
            initializing=record.initializing,
            initialized=record.initialized,
            deleting=record.deleting,
        )
    known = group.members.get(record.member_id) or ShareMember()
    if isinstance(record, ShareGroupMemberRecord):
        known = known.but(subscribed_topic_names=record.subscribed_topic_names)
    elif isinstance(record, ShareGroupTargetRecord):
        known = known.but(target=record.partitions)
    elif isinstance(record, ShareGroupAssignmentRecord):
        known = known.but(
            epoch=record.member_epoch,
            previous_epoch=record.previous_epoch,
            partitions=record.partitions,
        )
    else:
        return group.but(members=group.members.without(record.member_id))
    return group.but(members=group.members.set(record.member_id, known))


def epoch_check(member: ShareMember, epoch: int) -> Check:
    """Check that a heartbeat has the member's epoch.

    The previous epoch is accepted: then only the response with the newer one was lost.
    Source: GroupMetadataManager.throwIfShareGroupMemberEpochIsInvalid.
    """
    known = epoch in (member.epoch, member.previous_epoch)
    return compare("member epoch", epoch, member.epoch, known, Errors.FENCED_MEMBER_EPOCH)


def unassigned(group: ShareGroup) -> bool:
    """Return whether an initialized partition is in no target yet, or a targeted one was deleted with its topic.

    A partition of a topic to which no member subscribes any longer is in no target.
    """
    given = {p for member in group.members.values() for p in member.target}
    wanted = {
        p
        for member in group.members.values()
        for p in group.initialized
        if topic_of(p) in member.subscribed_topic_names
    }
    return group.epoch == group.target_epoch and given != wanted


def simple(group: ShareGroup, partitions: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return each member's partitions; with more members than partitions several share one.

    The assignment is only a hint: the leader of a partition delivers to any member that fetches. Members that do not all
    subscribe to the same topics share each topic among its subscribers. Source: SimpleAssignor.
    """
    found: dict[str, tuple[str, ...]] = dict.fromkeys(group.members.keys(), ())
    subscribers: dict[tuple[str, ...], tuple[str, ...]] = {}
    for partition in partitions:
        topic = topic_of(partition)
        names = tuple(
            name for name, member in group.members.items() if topic in member.subscribed_topic_names
        )
        subscribers[names] = (*subscribers.get(names, ()), partition)
    for names, theirs in subscribers.items():
        for at in range(max(len(names), len(theirs)) if names else 0):
            name = names[at % len(names)]
            found[name] = (*found[name], theirs[at % len(theirs)])
    return found
