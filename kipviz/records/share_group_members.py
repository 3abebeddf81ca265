"""The records of `__consumer_offsets` about share groups: who is in one, and what is initialised."""

from __future__ import annotations

from kipviz.core.values import Value


class ShareGroupEpochRecord(Value, frozen=True):
    """The epoch of a share group (ShareGroupMetadata, key 11)."""

    group_id: str
    epoch: int


class ShareGroupMemberRecord(Value, frozen=True):
    """What a member subscribes to (ShareGroupMemberMetadata, key 10)."""

    group_id: str
    member_id: str
    topic: str


class ShareGroupTargetEpochRecord(Value, frozen=True):
    """The epoch that the target assignment is for (ShareGroupTargetAssignmentMetadata, key 12)."""

    group_id: str
    epoch: int


class ShareGroupTargetRecord(Value, frozen=True):
    """What a member is to have (ShareGroupTargetAssignmentMember, key 13)."""

    group_id: str
    member_id: str
    partitions: tuple[str, ...]


class ShareGroupAssignmentRecord(Value, frozen=True):
    """What a member has, and its epochs (ShareGroupCurrentMemberAssignment, key 14)."""

    group_id: str
    member_id: str
    member_epoch: int
    previous_epoch: int
    partitions: tuple[str, ...]


class ShareGroupStatePartitionsRecord(Value, frozen=True):
    """Whose state is asked for and whose is there (ShareGroupStatePartitionMetadata, key 15).

    `deleting` are the topics whose state an operator has deleted, until that is done.
    """

    group_id: str
    initializing: tuple[str, ...]
    initialized: tuple[str, ...]
    deleting: tuple[str, ...] = ()


class ShareGroupTombstone(Value, frozen=True):
    """A member is gone: one for each of its three records, in Kafka's order (14, 13, 10)."""

    group_id: str
    member_id: str
    of: str


class ShareGroupDeleted(Value, frozen=True):
    """A group is gone: one for each record that is the group's own, in Kafka's order (12, 15, 11)."""

    group_id: str
    of: str


# What is deleted of a group that an operator deletes; with the last one it is gone.
OF_A_GROUP = ("target epoch", "state partitions", "epoch")
# What is deleted of a member that leaves.
OF_A_MEMBER = ("current assignment", "target assignment", "subscription")

ShareGroupRecord = (
    ShareGroupEpochRecord
    | ShareGroupMemberRecord
    | ShareGroupTargetEpochRecord
    | ShareGroupTargetRecord
    | ShareGroupAssignmentRecord
    | ShareGroupStatePartitionsRecord
    | ShareGroupTombstone
)
