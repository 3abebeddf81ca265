"""The messages in flight, by host."""

from __future__ import annotations

from kipviz.cluster.behaviour.naming import render_list
from kipviz.cluster.world import World, broker_host, host_of


def messages_to(world: World, host: str) -> str:
    """Return the names of the messages that a host has not read yet."""
    asked = (
        e for (_, b), c in world.connections.items() if broker_host(b) == host for e in c.requests
    )
    told = (e for (s, _), c in world.connections.items() if host_of(s) == host for e in c.responses)
    return render_list(tuple(type(e.message).__name__ for e in (*asked, *told)))


def between(world: World, pairs: tuple[tuple[str, str], ...]) -> str:
    """Return the names of the messages on the connections between the two hosts of some pairs."""
    ends = ((host_of(source), broker_host(to), c) for (source, to), c in world.connections.items())
    return render_list(
        tuple(
            type(e.message).__name__
            for source, to, c in ends
            if (source, to) in pairs or (to, source) in pairs
            for e in (*c.requests, *c.responses)
        )
    )
