"""Membership of a regular consumer group: KIP-848's heartbeat."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

# Member epochs with a meaning of their own (KIP-848).
JOINING, LEAVING = 0, -1
# The epoch of a static member that leaves but will return before its session expires.
LEAVING_STATIC = -2
# The first version in which a client makes its member id itself (KIP-1082), and which has SubscribedTopicRegex.
NAMES_MEMBER = HAS_REGEX = 1


class Assignment(Value, frozen=True):
    """The partitions that a member may have now."""

    partitions: tuple[str, ...]


class ConsumerGroupHeartbeat(Message, frozen=True):
    """A member's heartbeat, with its subscription and its partitions.

    `subscribed_topic_names` are all topics that it subscribes to by name, `owned` its partitions; each is None if it is
    unchanged since the previous heartbeat. `regex` is its SubscribedTopicRegex: None if that is unchanged, "" if it has
    none any longer. `rack` is the client.rack of a member that joins, "" for none. `instance_id` is the
    group.instance.id of a static member, "" for none. `version` is the one that the client speaks.
    NOT MODELLED: the assignor's name, the timeouts.
    """

    API_KEY: ClassVar[int] = 68
    VERSION: ClassVar[int] = 1
    group_id: str
    member_id: str
    member_epoch: int
    subscribed_topic_names: tuple[str, ...] | None = None
    owned: tuple[str, ...] | None = None
    instance_id: str = ""
    regex: str | None = None
    rack: str = ""
    version: int = 1

    def list_fields(self, version: int) -> tuple[str, ...]:
        """Return the names of its fields; the version only if it is not the newest."""
        found = super().list_fields(version)
        return tuple(f for f in found if f != "version" or self.version != self.VERSION)

    @property
    def needs_member_id(self) -> bool:
        """Whether it has to name its member; in version 0 the coordinator makes the id of a member that joins.

        Source: GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid.
        """
        at_all = self.member_epoch > JOINING or self.member_epoch == LEAVING
        return at_all or self.version >= NAMES_MEMBER

    @property
    def subscribes(self) -> bool:
        """Whether it carries a subscription: names, an expression, or both."""
        return self.subscribed_topic_names is not None or self.regex is not None


class ConsumerGroupHeartbeatResponse(Message, frozen=True):
    """The member's epoch, and its assignment if that is new to it."""

    API_KEY: ClassVar[int] = 68
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    member_id: str
    member_epoch: int = 0
    assignment: Assignment | None = None
