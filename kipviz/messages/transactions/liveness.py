"""The heartbeat of a transaction (KIP-1309).

STATUS: draft. Its page names the request and its ACL and no fields, no key and no errors: the
fields and errors here are our inference, after those of EndTxn.
"""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.message import Message


class TxnHeartbeat(Message, frozen=True):
    """A producer's heartbeat for its open transaction."""

    API_KEY: ClassVar[int] = -1
    VERSION: ClassVar[int] = 0
    STATUS: ClassVar[str] = "draft"
    transactional_id: str
    producer_id: int
    producer_epoch: int


class TxnHeartbeatResponse(Message, frozen=True):
    """The coordinator's response: NONE, or that the transactional id belongs to another producer."""

    API_KEY: ClassVar[int] = -1
    VERSION: ClassVar[int] = 0
    STATUS: ClassVar[str] = "draft"
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
