"""Who is in a regular group by the classic protocol: join, sync, beat, leave."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.records.classic_groups import NO_GENERATION, RANGE, Subscription

# Who has no id yet (JoinGroupRequest.UNKNOWN_MEMBER_ID).
NO_MEMBER = ""


class Subscribed(Value, frozen=True):
    """A member as the leader of its group is told of it."""

    member_id: str
    subscription: Subscription
    instance_id: str = ""


class Assigned(Value, frozen=True):
    """What the leader gives to a member (ConsumerProtocolAssignment)."""

    member_id: str
    partitions: tuple[str, ...]


class JoinGroup(Message, frozen=True):
    """A consumer wants to be in the next generation of its group.

    `client_id` is its client.id, which is in the header of the request: a new member's id is made of
    it. `instance_id` is its group.instance.id, "" for none. `protocols` are the assignors that it knows,
    the one that it likes best first.
    """

    API_KEY: ClassVar[int] = 11
    VERSION: ClassVar[int] = 9
    group_id: str
    member_id: str
    client_id: str
    subscription: Subscription
    instance_id: str = ""
    protocols: tuple[str, ...] = (RANGE,)


class JoinGroupResponse(Message, frozen=True):
    """The generation that the member is in, and who leads it; the leader is told who else is in it.

    `skip_assignment` says to a leader that the assignment stays as it is (static members).
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
    """A member asks for its assignment; its leader brings everybody's."""

    API_KEY: ClassVar[int] = 14
    VERSION: ClassVar[int] = 5
    group_id: str
    generation: int
    member_id: str
    assignments: tuple[Assigned, ...] = ()
    instance_id: str = ""
    protocol: str = RANGE


class SyncGroupResponse(Message, frozen=True):
    """What the leader has given to the member."""

    API_KEY: ClassVar[int] = 14
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    partitions: tuple[str, ...] = ()
    protocol: str = RANGE


class Heartbeat(Message, frozen=True):
    """A member of a generation says that it lives."""

    API_KEY: ClassVar[int] = 12
    VERSION: ClassVar[int] = 4
    group_id: str
    generation: int
    member_id: str
    instance_id: str = ""


class HeartbeatResponse(Message, frozen=True):
    """All is well, or the group rebalances, or the member is none."""

    API_KEY: ClassVar[int] = 12
    VERSION: ClassVar[int] = 4
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors


class Leaver(Value, frozen=True):
    """A member of whom a LeaveGroup says that it goes: by its id, by its group.instance.id, or by both."""

    member_id: str
    instance_id: str = ""


class Left(Value, frozen=True):
    """What became of one of several members that were to go."""

    member_id: str
    instance_id: str
    error: Errors


class LeaveGroup(Message, frozen=True):
    """A member goes, or an operator takes members out: the first one and `further` ones (KIP-345)."""

    API_KEY: ClassVar[int] = 13
    VERSION: ClassVar[int] = 5
    group_id: str
    member_id: str
    instance_id: str = ""
    further: tuple[Leaver, ...] = ()

    @property
    def leavers(self) -> tuple[Leaver, ...]:
        """All that are to go."""
        return (Leaver(self.member_id, self.instance_id), *self.further)


class LeaveGroupResponse(Message, frozen=True):
    """They are out; `error` is that of the whole request, `member_error` that of the first member."""

    API_KEY: ClassVar[int] = 13
    VERSION: ClassVar[int] = 5
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    member_id: str = ""
    member_error: Errors = Errors.NONE
    further: tuple[Left, ...] = ()
