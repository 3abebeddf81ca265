"""The records of `__consumer_offsets`."""

from __future__ import annotations

from kipviz.core.values import Value


class OffsetCommitRecord(Value, frozen=True):
    """A group's offset for one partition (OffsetCommitKey and OffsetCommitValue)."""

    group_id: str
    partition: str
    offset: int


class MemberRecord(Value, frozen=True):
    """A member of a consumer group and its epoch (ConsumerGroupCurrentMemberAssignment).

    NOT MODELLED: assignment, heartbeats and rebalances of regular groups.
    """

    group_id: str
    member_id: str
    member_epoch: int
