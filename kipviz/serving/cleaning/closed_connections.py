"""Closed connections of clients are forgotten once no connection of the same client to the same broker is open.

A response to a connection that was forgotten goes nowhere, as long as no later one has its name. So the connections that
a client opens afterwards have higher numbers.
"""

from __future__ import annotations

from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import Connection, World, broker_host, host_of
from kipviz.core.table import Table, pairs
from kipviz.serving.callers import Callers

CLOSED_MAX = 1_000


def forget_closed(model: ClusterModel, world: World, callers: Callers) -> World:
    """Return a world without the closed connections of clients, if there are many."""
    inside = {broker_host(broker) for broker in model.spec.brokers} | set(world.applications.keys())
    gone = [
        (source, broker)
        for (source, broker), connection in pairs(world.connections)
        if _is_over(connection)
        and host_of(source) not in inside
        and not callers.has_open(host_of(source), broker)
    ]
    if len(gone) <= CLOSED_MAX:
        return world
    callers.number_from(1 + max(int(source.rpartition("/")[2]) for source, _ in gone))
    left = set(gone)
    kept = Table.of(each for each in pairs(world.connections) if each[0] not in left)
    return world.but(connections=kept)


def _is_over(connection: Connection) -> bool:
    return connection == Connection(incarnation=connection.incarnation, open=False)
