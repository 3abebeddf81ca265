"""The steps that a served cluster can take by itself: deliveries, replication, loading coordinators, delays, queries.

With thousands of connections most of them are idle, so those that have a message are known by the events of each step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.brokers.share_leaders import share_timers
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.cluster.actions import ClusterAction, DelayOver, Deliver, Load, Refresh, Replicate
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.timing import role_delays
from kipviz.cluster.world import Connection, World, is_loading
from kipviz.core.model import Event
from kipviz.core.table import pairs
from kipviz.messages.apis.api import Role
from kipviz.messages.events import ConnectionLost, MessageDelivered, MessageSent, NoResponse
from kipviz.records.placement import SHARE_GROUP_STATE


class OwnSteps:
    """What a cluster can do without a fault, an expired timer or a new request of a client.

    Args:
        model: the cluster.
        stages: whether acknowledgements can be staged in transactions.
    """

    def __init__(self, model: ClusterModel, *, stages: bool) -> None:
        self._model = model
        self._stages = stages
        # The end of a share-partition's log when its leader last queried an outcome.
        self._queried: dict[str, int] = {}
        self._busy: set[tuple[str, int]] = set()

    def start_again(self, world: World) -> None:
        """Begin at another world: the cluster went back to it."""
        self._queried.clear()
        self._busy = {place for place, c in pairs(world.connections) if any(_ways(c))}

    def note(self, world: World, events: Iterable[Event]) -> None:
        """Note which connections have a message; a step tells by its events which connections it changed."""
        for event in events:
            if isinstance(event, MessageSent | MessageDelivered | NoResponse | ConnectionLost):
                place = (event.source, event.broker)
                connection = world.connections.get(place)
                if connection is not None and any(_ways(connection)):
                    self._busy.add(place)
                else:
                    self._busy.discard(place)

    def note_query(self, world: World, query: Refresh) -> None:
        """Note that a query is sent now: it is sent again only when the log has grown."""
        self._queried[query.key] = _end_of_state(world, query.key)

    def possible(self, world: World) -> Iterator[ClusterAction]:
        """Yield the steps, deliveries first."""
        for source, broker in sorted(self._busy):
            for way in _ways(world.connections[source, broker]):
                action = Deliver(source, broker, way)
                if not world.cuts or self._model.why_not(world, action) is None:
                    yield action
        if self._model.spec.replication != "instant":
            for partition, log in world.logs.items():
                replicated = Replicate(partition)
                behind = log.high_watermark < log.end_offset
                if behind and self._model.why_not(world, replicated) is None:
                    yield replicated
        for key, role in world.roles.items():
            if is_loading(role):
                yield Load(*key)
            elif key[1] == Role.GROUP_COORDINATOR:
                yield from (DelayOver(*key, delay) for delay in role_delays.delays(role))
            elif self._stages and isinstance(role, ShareLeader):
                yield from self._find_queries(world, key[0], role)

    def _find_queries(self, world: World, broker: int, leader: ShareLeader) -> Iterator[Refresh]:
        """Yield the queries for the outcome of transactional acknowledgements."""
        for key in share_timers.refreshes(leader, self._model.context(world, broker)):
            if self._queried.get(key) != _end_of_state(world, key):
                yield Refresh(broker, key)


def _end_of_state(world: World, key: str) -> int:
    log = world.logs.get(world.image.home_of(SHARE_GROUP_STATE, key))
    return -1 if log is None else log.end_offset


def _ways(connection: Connection) -> Iterator[str]:
    if not connection.open or connection.left:
        return
    if connection.responses:
        yield "response"
    if connection.requests and connection.serving is None:
        yield "request"
