"""Who is in a regular consumer group: KIP-848's heartbeat."""

from __future__ import annotations

from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message

# Member epochs with a meaning of their own (KIP-848).
JOINING, LEAVING = 0, -1
# That of a static member which goes and will be back before its session is over.
LEAVING_STATIC = -2


class Assignment(Value, frozen=True):
    """The partitions that a member may have now."""

    partitions: tuple[str, ...]


class ConsumerGroupHeartbeat(Message, frozen=True):
    """A member says that it lives, what it subscribes to, and what it owns.

    `topic` is "" and `owned` None where they are as in the heartbeat before. `further_topics` are those
    that it subscribes to besides `topic`, `regex` is its SubscribedTopicRegex: None where that is as before, "" for
    none any more. `rack` is the client.rack of a member that joins, "" for none.
    NOT MODELLED: the assignor's name, the time-outs. `instance_id` is the group.instance.id of
    a static member, "" for none.
    """

    API_KEY: ClassVar[int] = 68
    VERSION: ClassVar[int] = 1
    group_id: str
    member_id: str
    member_epoch: int
    topic: str = ""
    owned: tuple[str, ...] | None = None
    instance_id: str = ""
    further_topics: tuple[str, ...] = ()
    regex: str | None = None
    rack: str = ""

    @property
    def topics(self) -> tuple[str, ...] | None:
        """The names that it subscribes to, None where they are as before."""
        if not self.topic and self.regex is None:
            return None
        return tuple(topic for topic in (self.topic, *self.further_topics) if topic)


class ConsumerGroupHeartbeatResponse(Message, frozen=True):
    """The member's epoch, and its assignment where that is new to it."""

    API_KEY: ClassVar[int] = 68
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    member_id: str
    member_epoch: int = 0
    assignment: Assignment | None = None
