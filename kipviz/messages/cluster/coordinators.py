"""The lookup of a coordinator, at any broker."""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.message import Message


class FindCoordinator(Message, frozen=True):
    """A client looks up the coordinator of a transactional id.

    It is sent only if there are ACLs, because it is the first request that needs a right. Otherwise the sender looks up
    the address at once, as does a client that looks for the coordinator of a group: the rejection of the group itself
    has the same error, and the same consequences. Any broker can answer.
    """

    API_KEY: ClassVar[int] = 10
    VERSION: ClassVar[int] = 6
    transactional_id: str


class FindCoordinatorResponse(Message, frozen=True):
    """The broker that coordinates it now, -1 for none. NOT MODELLED: host and port."""

    API_KEY: ClassVar[int] = 10
    VERSION: ClassVar[int] = 6
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    transactional_id: str
    node_id: int = -1
