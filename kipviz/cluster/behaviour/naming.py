"""Names in the labels and sentences of actions: threads, clients, messages in flight, partitions, lists of values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.brokers.context import Channel
from kipviz.clients.kinds import Holder
from kipviz.cluster.actions import Deliver, DeliverLate, Step, TimeOutCall
from kipviz.cluster.world import Connection, World, host_of
from kipviz.messages.apis.api import leading_role
from kipviz.messages.message import Message
from kipviz.records.placement import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

CLIENTS = frozenset({"producer", "consumer", "member", "session", "admin"})
"""The clients that are called after their kind; a process names its further ones as it likes."""


def thread_of(action: Step | TimeOutCall) -> str:
    """Return the name of the thread that continues or returns: a process, or one of its further threads."""
    return f"{action.thread} of {action.application}" if action.thread else action.application


def on_wire(world: World, action: Deliver | DeliverLate) -> Message | None:
    """Return the message that a delivery would deliver."""
    connection = world.connections.get((action.source, action.broker))
    if connection is None:
        return None
    asked = isinstance(action, DeliverLate) or action.way == "request"
    queue = connection.requests if asked else connection.responses
    return queue[0].message if queue else None


def answered_request(world: World, source: str, response: Message) -> Message | None:
    """Return the request of a transaction manager that a response answers, None if another part of a client asked."""
    app = world.applications.get(host_of(source))
    client = app.client_at(source) if app is not None else None
    asked = client.manager.on_wire if isinstance(client, Holder) else None
    return asked if asked is not None and asked.API_KEY == response.API_KEY else None


def partition_of(world: World, key: str) -> str:
    """Return the source partition of a share-partition's key."""
    _, topic_id, index = key.rsplit(":", 2)
    for topic, known in world.image.topic_ids.items():
        if known == topic_id:
            return f"{topic}-{index}"
    return key


def request_name(request: Message | None) -> str:
    """Return the name of a request, "nothing" for none."""
    return type(request).__name__ if request else "nothing"


def who(source: str) -> str:
    """Return the sender of a connection for a sentence: a client of a process, or a role of a broker."""
    host, _, part = source.partition("/")
    if host.startswith("B") and host[1:].isdigit():
        return f"the {Channel(part).sender} on Broker {host[1:]}"
    if part.isdigit():
        return f"client {host}"
    kind = part.partition("-")[0]
    return f"the {part} of {host}" if kind in CLIENTS else f"the client {part} of {host}"


def begin_sentence(words: str) -> str:
    """Return words with a capital, but for a setting's name, such as max.block.ms."""
    first = words.partition(" ")[0]
    return words if "." in first else words[0].upper() + words[1:]


def short_name(partition: str) -> str:
    """Return a partition's short name, for narrow places."""
    return (
        partition.replace(TRANSACTION_STATE, "transactions")
        .replace(SHARE_GROUP_STATE, "share state")
        .replace(CONSUMER_OFFSETS, "offsets")
    )


def leadership(partition: str) -> str:
    """Return the name of the role that the leader of a partition has."""
    role = leading_role(partition).replace("_", " ")
    return f"leader of {partition}" if role == "partition leader" else f"{role} {partition}"


def number(value: int) -> str:
    """Return a number, or "none" for -1."""
    return "none" if value < 0 else str(value)


def render_list(values: tuple[object, ...]) -> str:
    """Return values as a list in words, or "nothing"."""
    return ", ".join(map(str, values)) or "nothing"


def losses_of(connections: Iterable[Connection]) -> Iterator[tuple[str, str]]:
    """Return what is lost with some connections, as names and values."""
    found = [c for c in connections if c.open]
    names = tuple(type(e.message).__name__ for c in found for e in (*c.requests, *c.responses))
    waiting = tuple(type(c.serving.message).__name__ for c in found if c.serving is not None)
    yield "connections that break", str(len(found))
    yield "messages lost", render_list(names)
    yield "requests not answered", render_list(waiting)
