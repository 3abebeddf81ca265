"""Membership of a share group: ShareGroupHeartbeat (KIP-932)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.groups.membership import Assignment
from kipviz.messages.message import Message


class ShareGroupHeartbeat(Message, frozen=True):
    """A member's heartbeat, with its subscription; the member chooses its own id.

    Epoch 0 joins, -1 leaves; `subscribed_topic_names` are None if they are unchanged.
    NOT MODELLED: racks.
    """

    API_KEY: ClassVar[int] = 76
    VERSION: ClassVar[int] = 1
    group_id: str
    member_id: str
    member_epoch: int
    subscribed_topic_names: tuple[str, ...] | None = None


class ShareGroupHeartbeatResponse(Message, frozen=True):
    """The member's epoch, and its assignment if that is new to it."""

    API_KEY: ClassVar[int] = 76
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    member_id: str
    member_epoch: int = 0
    assignment: Assignment | None = None
