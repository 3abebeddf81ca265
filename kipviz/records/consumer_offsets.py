"""The records of `__consumer_offsets`: a group's offsets, and its members."""

from __future__ import annotations

from kipviz.core.values import Value

# The states of a member of a consumer group (MemberState).
STABLE, UNREVOKED, UNRELEASED = "STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS"


class OffsetCommitRecord(Value, frozen=True):
    """A group's offset for one partition (OffsetCommitKey and OffsetCommitValue).

    `topic_id` is the tagged field of value version 4, "" if it is not stored.
    """

    group_id: str
    partition: str
    offset: int
    topic_id: str = ""
    leader_epoch: int | None = None
    metadata: str = ""


class OffsetTombstone(Value, frozen=True):
    """The deletion of a group's offset for one partition, committed or pending."""

    group_id: str
    partition: str


class MemberRecord(Value, frozen=True):
    """A member of a consumer group and its epoch (ConsumerGroupCurrentMemberAssignment).

    `assigned` and `revoking` are (partition, the epoch at which the member got it); the second are those that it still
    has to revoke (KIP-848, KIP-1251). A member that existed before the run has neither: its assignment is given.
    """

    group_id: str
    member_id: str
    member_epoch: int
    previous_epoch: int = -1
    state: str = STABLE
    assigned: tuple[tuple[str, int], ...] = ()
    revoking: tuple[tuple[str, int], ...] = ()


class GroupEpochRecord(Value, frozen=True):
    """The epoch of a consumer group (ConsumerGroupMetadata)."""

    group_id: str
    epoch: int


class SubscriptionRecord(Value, frozen=True):
    """The subscription of a consumer group's member (ConsumerGroupMemberMetadata).

    `subscribed_topic_names` are in alphabetical order, each once. `regex` is its SubscribedTopicRegex, "" for none,
    `rack` likewise its RackId. Source: GroupCoordinatorRecordHelpers.newConsumerGroupMemberSubscriptionRecord.
    """

    group_id: str
    member_id: str
    subscribed_topic_names: tuple[str, ...]
    instance_id: str = ""
    regex: str = ""
    rack: str = ""


class RegexRecord(Value, frozen=True):
    """The topics that match a regular expression of a consumer group (ConsumerGroupRegularExpression)."""

    group_id: str
    regex: str
    topics: tuple[str, ...]


class TargetEpochRecord(Value, frozen=True):
    """The epoch of the target assignment (ConsumerGroupTargetAssignmentMetadata)."""

    group_id: str
    epoch: int


class TargetRecord(Value, frozen=True):
    """The target assignment of a member (ConsumerGroupTargetAssignmentMember)."""

    group_id: str
    member_id: str
    partitions: tuple[str, ...]


class GroupTombstone(Value, frozen=True):
    """The deletion of a group; `of` is the deleted record."""

    group_id: str
    of: str


# The deleted records of a classic group, and of a KIP-848 group without members.
GROUP_METADATA, TARGET_EPOCH, GROUP_EPOCH = "group metadata", "target assignment", "group epoch"


class MemberTombstone(Value, frozen=True):
    """The removal of a member; `of` is the deleted record: Kafka writes one tombstone for each of three."""

    group_id: str
    member_id: str
    of: str


# The tombstones of a member that leaves, in Kafka's order.
MEMBER_RECORDS = ("current assignment", "target assignment", "subscription")
