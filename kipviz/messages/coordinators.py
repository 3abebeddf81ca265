"""What a client asks any broker before it asks a coordinator: who that is."""

from __future__ import annotations

from typing import ClassVar

from kipviz.messages.errors import Errors
from kipviz.messages.message import Message


class FindCoordinator(Message, frozen=True):
    """A client looks up the coordinator of a transactional id.

    Only where there are ACLs is it sent: it is the first request that needs a right. Else whoever sends
    looks the address up at once, as a client does that looks for the coordinator of a group: the
    refusal of the group itself has the same error, and the same consequences. Any broker will do.
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
