"""Names in the labels and sentences of actions: of threads, clients, messages in flight, share-partitions."""

from __future__ import annotations

from kipviz.cluster.actions import Deliver, DeliverLate, Step, TimeOutCall
from kipviz.cluster.world import World
from kipviz.messages.message import Message


def thread_of(action: Step | TimeOutCall) -> str:
    """Name the thread that goes on or comes back: a process, or one of its further threads."""
    return f"{action.thread} of {action.application}" if action.thread else action.application


def on_wire(world: World, action: Deliver | DeliverLate) -> Message | None:
    """Give the message that a delivery would deliver."""
    connection = world.connections.get((action.source, action.broker))
    if connection is None:
        return None
    asked = isinstance(action, DeliverLate) or action.way == "request"
    queue = connection.requests if asked else connection.responses
    return queue[0].message if queue else None


def partition_of(world: World, key: str) -> str:
    """Give the source partition of a share-partition's key."""
    _, topic_id, index = key.rsplit(":", 2)
    for topic, known in world.image.topic_ids.items():
        if known == topic_id:
            return f"{topic}-{index}"
    return key


def request_name(request: Message | None) -> str:
    """Return the name of a request, "nothing" for none."""
    return type(request).__name__ if request else "nothing"


def who(source: str) -> str:
    """Say in a sentence who asks under a name: a client of a process, or a role of a broker."""
    host, _, part = source.partition("/")
    if host.startswith("B") and host[1:].isdigit():
        roles = {
            "markers": "coordinator",
            "add-partitions": "leader",
            "persister": "share-partition leader",
            "dlq": "dead-letter producer",
            "initializer": "group coordinator",
        }
        return f"the {roles.get(part, part)} on Broker {host[1:]}"
    return f"client {host}" if part.isdigit() else f"the {part} of {host}"
