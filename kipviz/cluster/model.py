"""The model: what can happen in a cluster, and what it does.

`initial`, `enabled` and `step` are the whole contract; `why_not` is the one place that says why
something is not possible, for `step`, for scripts and for the greyed entries on screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

from kipviz.brokers import share_partition_leader, transaction_coordinator
from kipviz.brokers.context import NOBODY, Context, Image
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.share_partition import ShareLeader
from kipviz.brokers.transaction_coordinator import TransactionCoordinator
from kipviz.clients import application, consumer, producer, share_consumer
from kipviz.clients.application import Application
from kipviz.clients.producer import Address
from kipviz.clients.rules import ClientRules
from kipviz.clients.share_consumer import ShareConsumer
from kipviz.cluster import dispatch
from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    CrashClient,
    Cut,
    Deliver,
    ExpireLock,
    Heal,
    Load,
    LoseConnection,
    MoveLeader,
    Refresh,
    Replicate,
    Send,
    StartBroker,
    StartClient,
    Step,
    TimeOutTransaction,
)
from kipviz.cluster.search_key import SearchKeys
from kipviz.cluster.spec import ClusterSpec, check
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import (
    Envelope,
    RoleKey,
    World,
    broker_host,
    first_world,
    host_of,
)
from kipviz.core.model import NotEnabled, Outcome
from kipviz.core.table import Table
from kipviz.messages.groups import OffsetFetch
from kipviz.messages.message import Message
from kipviz.messages.producing import Fetch
from kipviz.records.placement import CONSUMER_OFFSETS

K = TypeVar("K")
V = TypeVar("V")

# Locks that can run out, look-ups, transactions that can time out.
Timers: TypeAlias = tuple[
    tuple[ClusterAction, ...], tuple[ClusterAction, ...], tuple[ClusterAction, ...]
]

# The roles that have to load, or have timers.
TIMED_ROLES = frozenset(
    {"transaction_coordinator", "group_coordinator", "share_coordinator", "share_partition_leader"}
)

# Which field of the fault budget an action spends; below, what that many of it are called.
SPENDS: dict[type, str] = {
    CrashBroker: "crash_broker",
    MoveLeader: "move_leader",
    LoseConnection: "lose_connection",
    Cut: "cut",
    CrashClient: "crash_client",
    ExpireLock: "expire_lock",
    TimeOutTransaction: "time_out",
}
SPENT = {
    "crash_broker": "crashes of brokers",
    "move_leader": "moves of leaders",
    "lose_connection": "lost connections",
    "cut": "cuts",
    "crash_client": "crashes of applications",
    "expire_lock": "locks that run out",
    "time_out": "transactions that time out",
}


class ClusterModel:
    """A cluster of a spec under the rules of a design, as a model that can be stepped."""

    action_type = ClusterAction

    def __init__(self, spec: ClusterSpec, brokers: BrokerRules, clients: ClientRules) -> None:
        """Check the spec and keep the rules.

        Raises:
            BadSpec: if the cluster cannot be.
        """
        check(spec)
        self.spec = spec
        self._brokers = brokers
        self._clients = clients
        self._instant = spec.replication == "instant"
        self._keys = SearchKeys()
        # What was found for the client or role seen last in its place; nothing but a memory.
        self._clients_seen: dict[str, tuple[Application, Image, tuple[ClusterAction, ...]]] = {}
        self._roles_seen: dict[RoleKey, tuple[Any, Timers]] = {}

    def initial(self) -> World:
        """Give the first world: everybody in office, nothing on the wire."""
        turn = self._turn(first_world(self.spec))
        for key, role in turn.roles.items():
            if getattr(role, "loading", False):
                turn.carry_out(key, dispatch.loaded(role, turn.context(key[0])))
        return turn.world()

    def kind(self, action: ClusterAction) -> str:
        """Give the kind of an action, which dice weigh."""
        return action.KIND

    def search_key(self, world: World) -> bytes:
        """Give sixteen bytes that are equal for equal worlds."""
        return self._keys.of(world)

    # -- what can happen -----------------------------------------------------------------------

    def enabled(self, world: World) -> tuple[ClusterAction, ...]:
        """Give what can happen now: people first, then the wire, timers, faults and repairs.

        A step changes few parts of a world, so what the clients and roles seen last allow is
        remembered.
        """
        found: list[ClusterAction] = []
        for name, app in _pairs(world.applications):
            found += self._of_client(world.image, name, app)
        cuts = world.cuts
        for place, connection in _pairs(world.connections):
            if not connection.open or (cuts and _is_cut(world, *place)):
                continue
            if connection.requests and connection.serving is None:
                found.append(Deliver(*place, "request"))
            if connection.responses:
                found.append(Deliver(*place, "response"))
        if not self._instant:
            found += [
                Replicate(p) for p, log in _pairs(world.logs) if log.high_watermark < log.end_offset
            ]
        self._of_roles(world, found)
        self._faults(world, found)
        return tuple(found)

    def why_not(self, world: World, action: ClusterAction) -> str | None:
        """Say in one sentence why an action is not possible now, or None when it is."""
        field = SPENDS.get(type(action))
        if field is not None and getattr(world.budget, field) == 0:
            most = getattr(self.spec.budget, field)
            return f"{SPENT[field]}: this run allows {most}, and none is left (setting {field})"
        return _WHY_NOT[type(action)](self, world, action)

    # -- what it does --------------------------------------------------------------------------

    def step(self, world: World, action: ClusterAction) -> Outcome:
        """Give the next world and what happened.

        Raises:
            NotEnabled: if the action is not possible now.
        """
        why = self.why_not(world, action)
        if why is not None:
            raise NotEnabled(action, why)
        turn = self._turn(world)
        field = SPENDS.get(type(action))
        if field is not None:
            left = getattr(world.budget, field) - 1
            turn.budget = world.budget.but(**{field: left})
        _DO[type(action)](turn, action)
        return Outcome(turn.world(), tuple(turn.events))

    # -- pieces --------------------------------------------------------------------------------

    def _turn(self, world: World) -> Turn:
        return Turn(world, self.spec, self._brokers, self._clients)

    def context(self, world: World, broker: int) -> Context:
        """Give what a role on a broker may look at."""
        return Context(
            broker,
            world.image,
            world.logs,
            self._brokers,
            world.next_producer_id,
            self.spec.settings,
        )

    def _of_client(self, image: Image, name: str, app: Application) -> tuple[ClusterAction, ...]:
        known = self._clients_seen.get(name)
        if known is not None and known[0] is app and known[1] is image:
            return known[2]
        found: list[ClusterAction] = []
        if application.why_no_step(app) is None:
            found.append(Step(name))
        for source in (app.consumer.source, app.producer.source):
            request = next_request(app, source) if app.alive else None
            if request is not None and destination(image, request) != NOBODY:
                found.append(Send(source))
        actions = tuple(found)
        self._clients_seen[name] = (app, image, actions)
        return actions

    def _of_roles(self, world: World, found: list[ClusterAction]) -> None:
        expire_lock, time_out = world.budget.expire_lock, world.budget.time_out
        timers: list[ClusterAction] = []
        for key, role in _pairs(world.roles):
            if key[1] not in TIMED_ROLES:
                continue
            if getattr(role, "loading", False):
                found.append(Load(*key))
                continue
            known = self._roles_seen.get(key)
            if known is None or known[0] is not role:
                known = (role, self._timers(world, key[0], key[2], role))
                self._roles_seen[key] = known
            locks, refreshes, timeouts = known[1]
            if expire_lock:
                timers += locks
            timers += refreshes
            if time_out:
                timers += timeouts
        found += timers

    def _timers(self, world: World, broker: int, shard: str, role: Any) -> Timers:
        """Give the locks, look-ups and transactions of a role that are due."""
        if isinstance(role, ShareLeader):
            on = self.context(world, broker)
            locks = share_partition_leader.locks(role, on)
            refreshes = share_partition_leader.refreshes(role, on)
            return (
                tuple(ExpireLock(broker, key, lock) for key, lock in locks),
                tuple(Refresh(broker, key) for key in refreshes),
                (),
            )
        if isinstance(role, TransactionCoordinator):
            due = (
                name
                for name in role.transactions
                if transaction_coordinator.why_no_timeout(role, name) is None
            )
            return (), (), tuple(TimeOutTransaction(broker, shard, name) for name in due)
        return (), (), ()

    def _faults(self, world: World, found: list[ClusterAction]) -> None:
        budget, up = world.budget, world.up
        if budget.crash_broker:
            found += [CrashBroker(b) for b in up]
        if budget.move_leader:
            for partition, held in _pairs(world.image.leaders):
                for broker in held.replicas:
                    if broker != held.leader and broker in up:
                        found.append(MoveLeader(partition, broker))
        if budget.lose_connection:
            for (source, broker), connection in _pairs(world.connections):
                if connection.open:
                    found.append(LoseConnection(source, broker))
        if budget.cut:
            found += [Cut(one, other) for one, other in _cuttable(world)]
        if budget.crash_client:
            found += [CrashClient(n) for n, a in _pairs(world.applications) if a.alive]
        if len(up) < len(self.spec.brokers):
            found += [StartBroker(b) for b in self.spec.brokers if b not in up]
        found += [Heal(one, other) for one, other in world.cuts]
        found += [StartClient(n) for n, a in _pairs(world.applications) if not a.alive]


def _pairs(table: Table[K, V]) -> Iterator[tuple[K, V]]:
    return zip(table.keys(), table.values(), strict=True)


def _cuttable(world: World) -> Iterator[tuple[str, str]]:
    """Give the pairs of hosts that can be cut apart, each in one order: brokers, then clients."""
    hosts = [*map(broker_host, world.up), *world.applications]
    for i, one in enumerate(hosts):
        for other in hosts[i + 1 :]:
            if (one, other) not in world.cuts and one not in world.applications:
                yield one, other


def next_request(app: Application, source: str) -> Message | None:
    """Give what a client's network thread would send next."""
    if source == app.producer.source:
        return producer.next_request(app.producer)
    return app.consumer.to_send


def destination(image: Image, request: Message) -> int:
    """Give the broker that a client's request is for, or -1 when nobody leads what it needs."""
    return image.leader_of(_addressee(image, request))


def _addressee(image: Image, request: Message) -> str:
    """Give the partition whose leader a client's request is for."""
    if isinstance(request, Fetch):
        return request.partition
    if isinstance(request, OffsetFetch):
        return image.home_of(CONSUMER_OFFSETS, request.group_id)
    partition = getattr(request, "partition", "")
    address = Address(partition=partition) if partition else producer.address_of(request)
    return address.partition or image.home_of(address.topic, address.key)


def _is_cut(world: World, source: str, broker: int) -> bool:
    one, other = host_of(source), broker_host(broker)
    return (one, other) in world.cuts or (other, one) in world.cuts


# -- why not -----------------------------------------------------------------------------------


def _no_step(model: ClusterModel, world: World, a: Step) -> str | None:
    app = world.applications.get(a.application)
    return (
        f"there is no application {a.application}" if app is None else application.why_no_step(app)
    )


def _no_send(model: ClusterModel, world: World, a: Send) -> str | None:
    app = world.applications.get(host_of(a.source))
    if app is None or a.source not in (app.producer.source, app.consumer.source):
        return f"there is no client {a.source}"
    if not app.alive:
        return f"{app.name} is down"
    request = next_request(app, a.source)
    if request is None:
        return f"{a.source} has nothing to send"
    partition = _addressee(world.image, request)
    if world.image.leader_of(partition) == NOBODY:
        return f"nobody leads {partition}, whose leader {type(request).__name__} is for"
    return None


def _no_delivery(model: ClusterModel, world: World, a: Deliver) -> str | None:
    if a.way not in {"request", "response"}:
        return f"a message goes as a request or a response, not as {a.way!r}"
    connection = world.connections.get((a.source, a.broker))
    if connection is None or not connection.open:
        return f"there is no connection from {a.source} to broker {a.broker}"
    if not (connection.requests if a.way == "request" else connection.responses):
        return f"no {a.way} is on the wire between {a.source} and broker {a.broker}"
    if a.way == "request" and connection.serving is not None:
        return (
            f"broker {a.broker} still works on {type(connection.serving.message).__name__} "
            "and reads the connection only after its answer"
        )
    if _is_cut(world, a.source, a.broker):
        return f"{host_of(a.source)} and B{a.broker} are cut apart"
    return None


def _no_replicate(model: ClusterModel, world: World, a: Replicate) -> str | None:
    log = world.logs.get(a.partition)
    if log is None:
        return f"there is no partition {a.partition}"
    if log.high_watermark == log.end_offset:
        return f"every in-sync replica has {a.partition} up to its end, offset {log.end_offset}"
    return None


def _no_load(model: ClusterModel, world: World, a: Load) -> str | None:
    role = world.roles.get((a.broker, a.role, a.shard))
    if role is None:
        return f"broker {a.broker} does not coordinate {a.shard}"
    if getattr(role, "loading", False):
        return None
    return f"broker {a.broker} coordinates {a.shard} already"


def _no_expiry(model: ClusterModel, world: World, a: ExpireLock) -> str | None:
    role = world.roles.get((a.broker, share_partition_leader.ROLE, ""))
    if role is None:
        return f"broker {a.broker} is down"
    on = model.context(world, a.broker)
    return share_partition_leader.why_no_lock_expiry(role, a.key, a.lock, on)


def _no_timeout(model: ClusterModel, world: World, a: TimeOutTransaction) -> str | None:
    role = world.roles.get((a.broker, transaction_coordinator.ROLE, a.shard))
    if role is None:
        return f"broker {a.broker} does not coordinate {a.transactional_id}"
    return transaction_coordinator.why_no_timeout(role, a.transactional_id)


def _no_refresh(model: ClusterModel, world: World, a: Refresh) -> str | None:
    role = world.roles.get((a.broker, share_partition_leader.ROLE, ""))
    if role is None:
        return f"broker {a.broker} is down"
    return share_partition_leader.why_no_refresh(role, a.key, model.context(world, a.broker))


def _no_crash(model: ClusterModel, world: World, a: CrashBroker) -> str | None:
    return None if a.broker in world.up else f"broker {a.broker} is not running"


def _no_start(model: ClusterModel, world: World, a: StartBroker) -> str | None:
    if a.broker not in model.spec.brokers:
        return f"there is no broker {a.broker}"
    return f"broker {a.broker} is running" if a.broker in world.up else None


def _no_move(model: ClusterModel, world: World, a: MoveLeader) -> str | None:
    held = world.image.leaders.get(a.partition)
    if held is None:
        return f"there is no partition {a.partition}"
    if a.to == held.leader:
        return f"broker {a.to} leads {a.partition} already, in epoch {held.epoch}"
    if a.to not in held.replicas:
        return f"broker {a.to} has no replica of {a.partition}; brokers {', '.join(map(str, held.replicas))} have"
    return None if a.to in world.up else f"broker {a.to} is not running"


def _no_loss(model: ClusterModel, world: World, a: LoseConnection) -> str | None:
    connection = world.connections.get((a.source, a.broker))
    if connection is None or not connection.open:
        return f"there is no connection from {a.source} to broker {a.broker}"
    return None


def _no_cut(model: ClusterModel, world: World, a: Cut) -> str | None:
    if (a.one, a.other) in world.cuts:
        return f"{a.one} and {a.other} are cut apart already"
    if (a.one, a.other) in _cuttable(world):
        return None
    hosts = [*map(broker_host, world.up), *world.applications]
    return f"it takes a broker and a host behind it in {', '.join(hosts)}, two that talk"


def _no_heal(model: ClusterModel, world: World, a: Heal) -> str | None:
    return None if (a.one, a.other) in world.cuts else f"{a.one} and {a.other} are not cut apart"


def _no_client_crash(model: ClusterModel, world: World, a: CrashClient) -> str | None:
    app = world.applications.get(a.application)
    if app is None:
        return f"there is no application {a.application}"
    return None if app.alive else f"{app.name} is down already"


def _no_client_start(model: ClusterModel, world: World, a: StartClient) -> str | None:
    app = world.applications.get(a.application)
    if app is None:
        return f"there is no application {a.application}"
    return f"{app.name} is running" if app.alive else None


_WHY_NOT: dict[type, Callable[[ClusterModel, World, Any], str | None]] = {
    Step: _no_step,
    Send: _no_send,
    Deliver: _no_delivery,
    Replicate: _no_replicate,
    Load: _no_load,
    ExpireLock: _no_expiry,
    TimeOutTransaction: _no_timeout,
    Refresh: _no_refresh,
    CrashBroker: _no_crash,
    StartBroker: _no_start,
    MoveLeader: _no_move,
    LoseConnection: _no_loss,
    Cut: _no_cut,
    Heal: _no_heal,
    CrashClient: _no_client_crash,
    StartClient: _no_client_start,
}


# -- what it does ------------------------------------------------------------------------------


def _step(turn: Turn, a: Step) -> None:
    app, events = application.step(turn.applications[a.application], turn.client_rules)
    turn.applications = turn.applications.set(a.application, app)
    turn.events += events


def _send(turn: Turn, a: Send) -> None:
    name = host_of(a.source)
    app = turn.applications[name]
    request = next_request(app, a.source)
    assert request is not None
    broker = destination(turn.image, request)
    if a.source == app.producer.source:
        app = app.but(producer=producer.sent(app.producer, request, broker))
    elif isinstance(app.consumer, ShareConsumer):
        request = share_consumer.addressed(app.consumer, request, broker)
        app = app.but(consumer=share_consumer.sent(app.consumer, request, broker))
    else:
        app = app.but(consumer=consumer.sent(app.consumer, broker))
    turn.applications = turn.applications.set(name, app)
    turn.put_request(a.source, broker, Envelope(request))


def _deliver(turn: Turn, a: Deliver) -> None:
    if a.way == "request":
        turn.deliver_request(a.source, a.broker)
    else:
        turn.deliver_response(a.source, a.broker)


def _replicate(turn: Turn, a: Replicate) -> None:
    turn.replicate(a.partition)


def _load(turn: Turn, a: Load) -> None:
    key = (a.broker, a.role, a.shard)
    turn.carry_out(key, dispatch.loaded(turn.roles[key], turn.context(a.broker)))


def _expire(turn: Turn, a: ExpireLock) -> None:
    key = (a.broker, share_partition_leader.ROLE, "")
    on = turn.context(a.broker)
    turn.carry_out(key, share_partition_leader.on_lock_expiry(turn.roles[key], a.key, a.lock, on))


def _time_out(turn: Turn, a: TimeOutTransaction) -> None:
    key = (a.broker, transaction_coordinator.ROLE, a.shard)
    on = turn.context(a.broker)
    turn.carry_out(key, transaction_coordinator.on_timeout(turn.roles[key], a.transactional_id, on))


def _refresh(turn: Turn, a: Refresh) -> None:
    key = (a.broker, share_partition_leader.ROLE, "")
    on = turn.context(a.broker)
    turn.carry_out(key, share_partition_leader.on_refresh(turn.roles[key], a.key, on))


def _crash_client(turn: Turn, a: CrashClient) -> None:
    app = turn.applications[a.application]
    turn.applications = turn.applications.set(a.application, app.but(alive=False))
    for source, broker in tuple(turn.connections):
        if host_of(source) == a.application and turn.connections[source, broker].open:
            turn.lose(source, broker)


def _start_client(turn: Turn, a: StartClient) -> None:
    app = turn.applications[a.application]
    stem = app.consumer.member_id.partition("#")[0]
    fresh = application.restarted(app, f"{stem}#{app.life + 1}")
    turn.applications = turn.applications.set(a.application, fresh)


def _cut(turn: Turn, a: Cut) -> None:
    turn.cuts = tuple(sorted((*turn.cuts, (a.one, a.other))))


def _heal(turn: Turn, a: Heal) -> None:
    turn.cuts = tuple(c for c in turn.cuts if c != (a.one, a.other))


_DO: dict[type, Callable[[Turn, Any], None]] = {
    Step: _step,
    Send: _send,
    Deliver: _deliver,
    Replicate: _replicate,
    Load: _load,
    ExpireLock: _expire,
    TimeOutTransaction: _time_out,
    Refresh: _refresh,
    CrashBroker: lambda turn, a: turn.crash(a.broker),
    StartBroker: lambda turn, a: turn.start(a.broker),
    MoveLeader: lambda turn, a: turn.elect(a.partition, a.to),
    LoseConnection: lambda turn, a: turn.lose(a.source, a.broker),
    Cut: _cut,
    Heal: _heal,
    CrashClient: _crash_client,
    StartClient: _start_client,
}
