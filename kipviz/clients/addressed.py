"""A request that is for a certain broker, where its contents do not say which one.

WHERE IN KAFKA: NodeProvider of KafkaAdminClient, the nodes of ShareConsumeRequestManager. Most requests are for the
leader of a partition that they name, or of the one for their group or transactional id (`cluster.dispatch`).
"""

from __future__ import annotations

from typing import TypeAlias

from kipviz.core.values import Value
from kipviz.messages.message import Message


class Addressed(Value, frozen=True):
    """A request and the broker that it is for, whichever partitions that broker leads."""

    broker: int
    message: Message


# A request that a client keeps until it is sent.
Outgoing: TypeAlias = Message | Addressed


def message_of(outgoing: Outgoing | None) -> Message | None:
    """Return the request as it is sent, without its address."""
    return outgoing.message if isinstance(outgoing, Addressed) else outgoing


def broker_of(outgoing: Outgoing | None) -> int:
    """Return the broker that a request is addressed to, -1 if its contents say it."""
    return outgoing.broker if isinstance(outgoing, Addressed) else -1
