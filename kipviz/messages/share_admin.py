"""What an operator asks about share groups (KIP-932 and KIP-1226; DeleteGroups is KIP-229)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions import PartitionResult

# The names of a share group's states, as an operator sees them (GroupState.java).
EMPTY, STABLE = "Empty", "Stable"


class ShareGroupDescribe(Message, frozen=True):
    """An operator asks who is in a share group, or in each of several (`further`)."""

    API_KEY: ClassVar[int] = 77
    VERSION: ClassVar[int] = 1
    group_id: str
    further: tuple[str, ...] = ()


class DescribedMember(Value, frozen=True):
    """A member as its coordinator describes it."""

    member_id: str
    member_epoch: int
    topic: str
    partitions: tuple[str, ...]


class ShareGroupDescribeResponse(Message, frozen=True):
    """The group's state, its epochs and its members; `further` are the answers for other groups."""

    API_KEY: ClassVar[int] = 77
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    group_id: str
    state: str = ""
    epoch: int = 0
    assignment_epoch: int = 0
    members: tuple[DescribedMember, ...] = ()
    further: tuple[ShareGroupDescribeResponse, ...] = ()


class DescribeShareGroupOffsets(Message, frozen=True):
    """An operator asks where a share group stands; without partitions, in all that it has."""

    API_KEY: ClassVar[int] = 90
    VERSION: ClassVar[int] = 1
    group_id: str
    partitions: tuple[str, ...] = ()


class ShareOffset(Value, frozen=True):
    """Where a group stands in one partition; -1 where nothing is known.

    The lag is the end of the partition, less the start offset, less what is done behind it.
    """

    partition: str
    start_offset: int = -1
    leader_epoch: int = 0
    lag: int = -1
    error: Errors = Errors.NONE


class DescribeShareGroupOffsetsResponse(Message, frozen=True):
    """Start offset and lag of each partition."""

    API_KEY: ClassVar[int] = 90
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    group_id: str
    offsets: tuple[ShareOffset, ...] = ()


class AlterShareGroupOffsets(Message, frozen=True):
    """An operator has a share group begin elsewhere: (partition, start offset)."""

    API_KEY: ClassVar[int] = 91
    VERSION: ClassVar[int] = 0
    group_id: str
    starts: tuple[tuple[str, int], ...]


class AlterShareGroupOffsetsResponse(Message, frozen=True):
    """Whether it does, and what was wrong with which partition."""

    API_KEY: ClassVar[int] = 91
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    group_id: str
    results: tuple[PartitionResult, ...] = ()


class DeleteShareGroupOffsets(Message, frozen=True):
    """An operator has a share group forget where it stands in all partitions of a topic.

    NOT MODELLED: several topics in one request.
    """

    API_KEY: ClassVar[int] = 92
    VERSION: ClassVar[int] = 0
    group_id: str
    topic: str


class DeleteShareGroupOffsetsResponse(Message, frozen=True):
    """Whether it has; `topic_error` is what was wrong with the topic."""

    API_KEY: ClassVar[int] = 92
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    group_id: str
    topic: str
    topic_error: Errors = Errors.NONE


class DeleteGroups(Message, frozen=True):
    """An operator deletes a group, or several (`further`)."""

    API_KEY: ClassVar[int] = 42
    VERSION: ClassVar[int] = 3
    group_id: str
    further: tuple[str, ...] = ()


class DeleteGroupsResponse(Message, frozen=True):
    """Whether the group is gone."""

    API_KEY: ClassVar[int] = 42
    VERSION: ClassVar[int] = 3
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    group_id: str
    further: tuple[DeleteGroupsResponse, ...] = ()
