"""Operators' requests about regular groups (KIP-229, KIP-496, KIP-518, KIP-848)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import PartitionResult

# The kinds of groups (Group.GroupType), and their members' protocol type.
CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
GROUP_TYPES = (CLASSIC, CONSUMER, SHARE)


class ListGroups(Message, frozen=True):
    """An operator's request to each broker for the groups that it coordinates.

    Empty filters match everything (KIP-518, KIP-848).
    """

    API_KEY: ClassVar[int] = 16
    VERSION: ClassVar[int] = 5
    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


class GroupListing(Value, frozen=True):
    """One group of a list; a group of offsets alone has no protocol type."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str


class ListGroupsResponse(Message, frozen=True):
    """The groups that the broker coordinates."""

    API_KEY: ClassVar[int] = 16
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    groups: tuple[GroupListing, ...] = ()


class GroupMemberDescription(Value, frozen=True):
    """A member of a regular group as its coordinator describes it.

    `target` is its target assignment; a classic member has no epoch of its own and no target. `regex` is
    its SubscribedTopicRegex, `rack` is the rack that it names. `metadata` and `assignment` are the bytes of a
    classic member that say more than these fields.
    """

    member_id: str
    partitions: tuple[str, ...]
    instance_id: str = ""
    client_id: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    member_epoch: int = -1
    target: tuple[str, ...] = ()
    regex: str = ""
    rack: str = ""
    metadata: bytes | None = None
    assignment: bytes | None = None


class DescribeGroups(Message, frozen=True):
    """An operator's request for the members of classic groups."""

    API_KEY: ClassVar[int] = 15
    VERSION: ClassVar[int] = 6
    groups: tuple[str, ...]


class DescribedClassicGroup(Value, frozen=True):
    """A group's state and its members' assignments; the latter, and the assignor, only for a stable group."""

    error: Errors
    group_id: str
    state: str = ""
    assignor: str = ""
    members: tuple[GroupMemberDescription, ...] = ()


class DescribeGroupsResponse(Message, frozen=True):
    """The descriptions of classic groups, or an error of each."""

    API_KEY: ClassVar[int] = 15
    VERSION: ClassVar[int] = 6
    IS_RESPONSE: ClassVar[bool] = True
    groups: tuple[DescribedClassicGroup, ...]


class ConsumerGroupDescribe(Message, frozen=True):
    """An operator's request for the members of KIP-848 groups."""

    API_KEY: ClassVar[int] = 69
    VERSION: ClassVar[int] = 1
    group_ids: tuple[str, ...]


class DescribedConsumerGroup(Value, frozen=True):
    """A group's state, its epochs and its members, each with its current and target assignment."""

    error: Errors
    group_id: str
    state: str = ""
    epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[GroupMemberDescription, ...] = ()


class ConsumerGroupDescribeResponse(Message, frozen=True):
    """The descriptions of KIP-848 groups, or an error of each."""

    API_KEY: ClassVar[int] = 69
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    groups: tuple[DescribedConsumerGroup, ...]


class OffsetDelete(Message, frozen=True):
    """An operator's request to delete a group's offsets of some partitions (KIP-496)."""

    API_KEY: ClassVar[int] = 47
    VERSION: ClassVar[int] = 0
    group_id: str
    partitions: tuple[str, ...]


class OffsetDeleteResponse(Message, frozen=True):
    """The results of an OffsetDelete; a topic that a member still reads has an error of its own."""

    API_KEY: ClassVar[int] = 47
    VERSION: ClassVar[int] = 0
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    group_id: str
    results: tuple[PartitionResult, ...] = ()
