"""The records of `__consumer_offsets` about share groups: members, and initialized partitions."""

from __future__ import annotations

from typing import TypeAlias

from kipviz.core.values import Value


class ShareGroupEpochRecord(Value, frozen=True):
    """The epoch of a share group (ShareGroupMetadata, key 11)."""

    group_id: str
    epoch: int


class ShareGroupMemberRecord(Value, frozen=True):
    """The subscription of a member, topics in alphabetical order (ShareGroupMemberMetadata, key 10)."""

    group_id: str
    member_id: str
    subscribed_topic_names: tuple[str, ...]


class ShareGroupTargetEpochRecord(Value, frozen=True):
    """The epoch of the target assignment (ShareGroupTargetAssignmentMetadata, key 12)."""

    group_id: str
    epoch: int


class ShareGroupTargetRecord(Value, frozen=True):
    """The target assignment of a member (ShareGroupTargetAssignmentMember, key 13)."""

    group_id: str
    member_id: str
    partitions: tuple[str, ...]


class ShareGroupAssignmentRecord(Value, frozen=True):
    """The assignment of a member, and its epochs (ShareGroupCurrentMemberAssignment, key 14)."""

    group_id: str
    member_id: str
    member_epoch: int
    previous_epoch: int
    partitions: tuple[str, ...]


class ShareGroupStatePartitionsRecord(Value, frozen=True):
    """The partitions whose state is being initialized, or exists (ShareGroupStatePartitionMetadata, key 15).

    `deleting` are the topics whose state an operator has deleted, until that is done.
    """

    group_id: str
    initializing: tuple[str, ...]
    initialized: tuple[str, ...]
    deleting: tuple[str, ...] = ()


class ShareGroupTombstone(Value, frozen=True):
    """The removal of a member: one for each of its three records, in Kafka's order (14, 13, 10)."""

    group_id: str
    member_id: str
    of: str


class ShareGroupDeleted(Value, frozen=True):
    """The deletion of a group: one for each of the group's own records, in Kafka's order (12, 15, 11)."""

    group_id: str
    of: str


# The deleted records of a group that an operator deletes; the last one deletes the group.
OF_A_GROUP = ("target epoch", "state partitions", "epoch")
# The deleted records of a member that leaves.
OF_A_MEMBER = ("current assignment", "target assignment", "subscription")

ShareGroupRecord: TypeAlias = (
    ShareGroupEpochRecord
    | ShareGroupMemberRecord
    | ShareGroupTargetEpochRecord
    | ShareGroupTargetRecord
    | ShareGroupAssignmentRecord
    | ShareGroupStatePartitionsRecord
    | ShareGroupTombstone
)
