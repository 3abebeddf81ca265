"""Requests that may still arrive after their sender abandoned them.

The response to a late fetch goes nowhere, and of a broker's own requests only markers have an effect of their own.
"""

from __future__ import annotations

from kipviz.cluster.world import Connection
from kipviz.messages.apis.catalogue import api_of


def can_be_given_up(connection: Connection) -> bool:
    """Return whether a sender waits on a connection with a request that may arrive late."""
    if not connection.open or connection.left:
        return False
    if not (connection.requests or connection.responses or connection.serving):
        return False  # most connections are idle, and each is checked at every step
    under_way = [*connection.requests, *connection.responses]
    if connection.serving is not None:
        under_way.append(connection.serving)
    asked = [e.message for e in under_way if not e.message.IS_RESPONSE]
    return all(api_of(message).may_be_late for message in asked)
