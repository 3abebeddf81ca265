"""Who is in a share group: ShareGroupHeartbeat (KIP-932)."""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.membership import Assignment
from kipviz.messages.message import Message


class ShareGroupHeartbeat(Message, frozen=True):
    """A member says that it lives and what it subscribes to; its id is its own choice.

    Epoch 0 joins, -1 leaves; `topic` is "" where it is as before. NOT MODELLED: several topics,
    racks.
    """

    API_KEY: ClassVar[int] = 76
    VERSION: ClassVar[int] = 1
    group_id: str
    member_id: str
    member_epoch: int
    topic: str = ""


class ShareGroupHeartbeatResponse(Message, frozen=True):
    """The member's epoch, and its assignment where that is new to it."""

    API_KEY: ClassVar[int] = 76
    VERSION: ClassVar[int] = 1
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    member_id: str
    member_epoch: int = 0
    assignment: Assignment | None = None
