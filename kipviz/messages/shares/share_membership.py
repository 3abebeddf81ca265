"""Membership of a share group: ShareGroupHeartbeat (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.groups.membership import Assignment
from kipviz.messages.message import Message


def subscription_text(topics: Iterable[str]) -> str:
    """Return the subscription of a share group's member as the model stores it: one text.

    Kafka stores a set: order and repeated names make no difference. No topic name contains a comma.
    """
    return ",".join(sorted(set(topics)))


def subscribed_topics(text: str) -> tuple[str, ...]:
    """Return the topics of a subscription that is one text."""
    return tuple(filter(None, text.split(",")))


class ShareGroupHeartbeat(Message, frozen=True):
    """A member's heartbeat, with its subscription; the member chooses its own id.

    Epoch 0 joins, -1 leaves; `topic` is "" if it is unchanged, and `subscription_text` of several topics.
    NOT MODELLED: racks.
    """

    API_KEY: ClassVar[int] = 76
    VERSION: ClassVar[int] = 1
    group_id: str
    member_id: str
    member_epoch: int
    topic: str = ""


class ShareGroupHeartbeatResponse(Message, frozen=True):
    """The member's epoch, and its assignment if that is new to it."""

    API_KEY: ClassVar[int] = 76
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    member_id: str
    member_epoch: int = 0
    assignment: Assignment | None = None
