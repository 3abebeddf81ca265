"""Operators' requests about share groups (KIP-932 and KIP-1226; DeleteGroups is KIP-229)."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import PartitionResult

# The names of a share group's states in responses to operators (GroupState.java).
EMPTY, STABLE = "Empty", "Stable"


class ShareGroupDescribe(Message, frozen=True):
    """An operator's request for the members of share groups."""

    API_KEY: ClassVar[int] = 77
    VERSION: ClassVar[int] = 1
    group_ids: tuple[str, ...]


class DescribedMember(Value, frozen=True):
    """A member as its coordinator describes it."""

    member_id: str
    member_epoch: int
    subscribed_topic_names: tuple[str, ...]
    partitions: tuple[str, ...]


class DescribedShareGroup(Value, frozen=True):
    """A share group's state, its epochs and its members."""

    error: Errors
    group_id: str
    state: str = ""
    epoch: int = 0
    assignment_epoch: int = 0
    members: tuple[DescribedMember, ...] = ()


class ShareGroupDescribeResponse(Message, frozen=True):
    """The descriptions of share groups, or an error of each."""

    API_KEY: ClassVar[int] = 77
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    groups: tuple[DescribedShareGroup, ...]


class ShareOffsetsGroup(Value, frozen=True):
    """A share group and the partitions whose offsets are described; None stands for all that have a state."""

    group_id: str
    partitions: tuple[str, ...] | None = None


class DescribeShareGroupOffsets(Message, frozen=True):
    """An operator's request for the offsets of share groups."""

    API_KEY: ClassVar[int] = 90
    VERSION: ClassVar[int] = 1
    groups: tuple[ShareOffsetsGroup, ...]


class ShareOffset(Value, frozen=True):
    """The start offset and the lag of a group in one partition; -1 for unknown values.

    The lag is the end of the partition, less the start offset, less the completed records after it.
    """

    partition: str
    start_offset: int = -1
    leader_epoch: int = 0
    lag: int = -1
    error: Errors = Errors.NONE


class DescribedShareOffsets(Value, frozen=True):
    """Start offset and lag of each partition of a share group."""

    error: Errors
    group_id: str
    offsets: tuple[ShareOffset, ...] = ()


class DescribeShareGroupOffsetsResponse(Message, frozen=True):
    """The offsets of share groups, or an error of each."""

    API_KEY: ClassVar[int] = 90
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    groups: tuple[DescribedShareOffsets, ...]


class AlterShareGroupOffsets(Message, frozen=True):
    """An operator changes the start offsets of a share group: (partition, start offset)."""

    API_KEY: ClassVar[int] = 91
    VERSION: ClassVar[int] = 0
    group_id: str
    starts: tuple[tuple[str, int], ...]


class AlterShareGroupOffsetsResponse(Message, frozen=True):
    """The result of AlterShareGroupOffsets, for the request and for each partition."""

    API_KEY: ClassVar[int] = 91
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    group_id: str
    results: tuple[PartitionResult, ...] = ()


class DeleteShareGroupOffsets(Message, frozen=True):
    """An operator deletes the offsets of a share group in all partitions of topics."""

    API_KEY: ClassVar[int] = 92
    VERSION: ClassVar[int] = 0
    group_id: str
    topics: tuple[str, ...]


class TopicResult(Value, frozen=True):
    """The result for one topic of a request."""

    topic: str
    error: Errors


class DeleteShareGroupOffsetsResponse(Message, frozen=True):
    """The result of DeleteShareGroupOffsets, for the request and for each topic; none with an error of the request."""

    API_KEY: ClassVar[int] = 92
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    group_id: str
    responses: tuple[TopicResult, ...] = ()


class DeleteGroups(Message, frozen=True):
    """An operator deletes groups."""

    API_KEY: ClassVar[int] = 42
    VERSION: ClassVar[int] = 3
    groups_names: tuple[str, ...]


class DeletedGroup(Value, frozen=True):
    """The result of deleting one group."""

    error: Errors
    group_id: str


class DeleteGroupsResponse(Message, frozen=True):
    """The result of deleting each group."""

    API_KEY: ClassVar[int] = 42
    VERSION: ClassVar[int] = 3
    IS_RESPONSE: ClassVar[bool] = True
    results: tuple[DeletedGroup, ...]


# An operator's requests that wait for share coordinators.
WaitsForStates: TypeAlias = (
    DescribeShareGroupOffsets | AlterShareGroupOffsets | DeleteShareGroupOffsets | DeleteGroups
)
