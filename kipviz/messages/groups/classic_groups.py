"""Membership of a regular group by the classic protocol: join, sync, heartbeat, leave."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.classic_groups import NO_GENERATION, RANGE, Subscription

# The member id of a consumer without one (JoinGroupRequest.UNKNOWN_MEMBER_ID).
NO_MEMBER = ""
# The first version of JoinGroup in which a new member has to join again with the id that it got (KIP-394), and the
# first one whose response can tell a leader to leave the assignment as it is (KIP-814).
KNOWS_MEMBER_ID, SKIPS_ASSIGNMENT = 4, 9


class Subscribed(Value, frozen=True):
    """A member in the list that the leader of its group receives."""

    member_id: str
    subscription: Subscription
    instance_id: str = ""


class Assigned(Value, frozen=True):
    """The assignment of one member, from the leader (ConsumerProtocolAssignment).

    `assignment` are the bytes that the leader sent, None if they are those of `partitions` and nothing else.
    """

    member_id: str
    partitions: tuple[str, ...]
    assignment: bytes | None = None


class JoinGroup(Message, frozen=True):
    """A consumer's request to be in the next generation of its group.

    `instance_id` is its group.instance.id, "" for none. `protocols` are the assignors that it supports, the preferred
    one first. `version` is the one that the client speaks. A new member's id is made from the client.id in the header.
    """

    API_KEY: ClassVar[int] = 11
    VERSION: ClassVar[int] = 9
    group_id: str
    member_id: str
    subscription: Subscription
    instance_id: str = ""
    protocols: tuple[str, ...] = (RANGE,)
    version: int = 9

    @property
    def needs_member_id(self) -> bool:
        """Whether its member has to join again with a member id; a static member is known by its group.instance.id.

        Source: JoinGroupRequest.requiresKnownMemberId.
        """
        first = self.member_id == NO_MEMBER and not self.instance_id
        return first and self.version >= KNOWS_MEMBER_ID


class JoinGroupResponse(Message, frozen=True):
    """The member's generation and its leader; the leader also gets the other members.

    `skip_assignment` tells a leader that the assignment stays as it is (static members).
    """

    API_KEY: ClassVar[int] = 11
    VERSION: ClassVar[int] = 9
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    member_id: str
    generation: int = NO_GENERATION
    leader: str = ""
    members: tuple[Subscribed, ...] = ()
    skip_assignment: bool = False
    protocol: str = RANGE


class SyncGroup(Message, frozen=True):
    """A member's request for its assignment; the leader's also has the assignments of all members."""

    API_KEY: ClassVar[int] = 14
    VERSION: ClassVar[int] = 5
    group_id: str
    generation: int
    member_id: str
    assignments: tuple[Assigned, ...] = ()
    instance_id: str = ""
    protocol: str = RANGE


class SyncGroupResponse(Message, frozen=True):
    """The member's assignment from the leader; `assignment` are the leader's bytes, as in `Assigned`."""

    API_KEY: ClassVar[int] = 14
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    IF_USED: ClassVar[tuple[str, ...]] = ("assignment",)
    error: Errors
    partitions: tuple[str, ...] = ()
    protocol: str = RANGE
    assignment: bytes | None = None


class Heartbeat(Message, frozen=True):
    """The heartbeat of a member of a generation."""

    API_KEY: ClassVar[int] = 12
    VERSION: ClassVar[int] = 4
    group_id: str
    generation: int
    member_id: str
    instance_id: str = ""


class HeartbeatResponse(Message, frozen=True):
    """NONE, or an error: the group rebalances, or the member is unknown."""

    API_KEY: ClassVar[int] = 12
    VERSION: ClassVar[int] = 4
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors


class Leaver(Value, frozen=True):
    """A member that leaves with a LeaveGroup: by its id, by its group.instance.id, or by both."""

    member_id: str
    instance_id: str = ""


class Left(Value, frozen=True):
    """The result for one leaver."""

    member_id: str
    instance_id: str
    error: Errors


class LeaveGroup(Message, frozen=True):
    """A member leaves, or an operator removes members (KIP-345)."""

    API_KEY: ClassVar[int] = 13
    VERSION: ClassVar[int] = 5
    group_id: str
    members: tuple[Leaver, ...]


class LeaveGroupResponse(Message, frozen=True):
    """The result for each leaver; with an `error` of the whole request there are none."""

    API_KEY: ClassVar[int] = 13
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    members: tuple[Left, ...] = ()
