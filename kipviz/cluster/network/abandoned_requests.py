"""What may still arrive when whoever sent it has given up waiting.

What a late fetch would bring goes nowhere, and of a broker's own requests only markers change anything by themselves.
"""

from __future__ import annotations

from kipviz.cluster.world import Connection
from kipviz.messages.apis.catalogue import api_of


def can_be_given_up(connection: Connection) -> bool:
    """Return whether somebody waits on a connection for what may come late."""
    if not connection.open or connection.left:
        return False
    if not (connection.requests or connection.responses or connection.serving):
        return False  # most connections are idle, and each is asked at every step
    under_way = [*connection.requests, *connection.responses]
    if connection.serving is not None:
        under_way.append(connection.serving)
    asked = [e.message for e in under_way if not e.message.IS_RESPONSE]
    return all(api_of(message).may_be_late for message in asked)
