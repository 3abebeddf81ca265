"""Clients outside the model: real ones, whose requests come from a socket or from a saved run.

A guest has no state in the world but its connections. Its next request is unknown, so a search never meets `Receive`; a
run takes it when a request has arrived. The response to a guest ends in the event that it was delivered.
"""

from __future__ import annotations

from functools import lru_cache

from kipviz.cluster.actions import Receive
from kipviz.cluster.dispatch import HANDLERS
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.world import World, broker_host, host_of
from kipviz.core.field_types import why_not_as_declared
from kipviz.core.serialization import NotAValue, deserialize, serialize
from kipviz.messages.message import Message

SMALL = 16 * 1024  # bytes of a request that is remembered with what it means


def receive(source: str, broker: int, request: Message, client_id: str | None = None) -> Receive:
    """Return the action by which a guest's request is sent.

    Args:
        source: the connection's name, "client-1/1": a host, a slash, and a name of its own.
        broker: the broker at its other end.
        request: the client's request.
        client_id: the client.id in its header; None stands for the name of the host.
    """
    other = None if client_id == host_of(source) else client_id
    return Receive(source, broker, serialize(request), other)


def request_of(action: Receive) -> Message:
    """Return the request that an action carries.

    Raises:
        NotAValue: if its bytes are not a request.
    """
    data = action.request
    return _read_small(data) if len(data) <= SMALL else _read(data)


def _read(data: bytes) -> Message:
    found = deserialize(data)
    if not isinstance(found, Message) or type(found) not in HANDLERS:
        raise NotAValue(f"a {type(found).__name__} is not a request that a broker accepts")
    wrong = why_not_as_declared(found, type(found), "the request")
    if wrong:
        raise NotAValue(f"a field of the request has the wrong type: {wrong}")
    return found


_read_small = lru_cache(maxsize=1024)(_read)


def why_not(spec: ClusterSpec, world: World, action: Receive) -> str | None:
    """Return in one sentence why a guest's request cannot be sent, or None if it can."""
    host, slash, name = action.source.partition("/")
    if not (host and slash and name) or "#" in name:
        return f"the name of a connection must be like client-1/1, not {action.source!r}"
    if host in world.applications:
        return f"{host} is a client of the model, which sends its own requests"
    if any(host == broker_host(broker) for broker in spec.brokers):
        return f"{host} is a broker, not a client"
    if action.broker not in world.up:
        return f"broker {action.broker} is not running"
    try:
        request_of(action)
    except NotAValue as wrong:
        return str(wrong)
    return None
