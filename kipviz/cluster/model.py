"""The model: what can happen in a cluster, and what it does.

`initial`, `enabled` and `step` are the whole contract; `why_not` says why something is not possible, for `step`, for
scripts and for the greyed entries on screen. What is to be known of one action is in its class in `behaviour`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from kipviz.brokers.context import NOBODY, Context, Image
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.share_leaders import share_timers
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions import transaction_coordinator
from kipviz.brokers.transactions.transaction_coordinator import TransactionCoordinator
from kipviz.clients.application import Application
from kipviz.clients.kinds import has_room, next_request
from kipviz.clients.kinds import timers as timers_of
from kipviz.clients.rules import ClientRules
from kipviz.clients.thread import why_no_step
from kipviz.clients.workers import seen_by
from kipviz.cluster import dispatch
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    DelayOver,
    Deliver,
    DeliverLate,
    ExpireLock,
    Load,
    Refresh,
    Replicate,
    RunOut,
    Send,
    StartClient,
    Step,
    Tick,
    TimeOutTransaction,
)
from kipviz.cluster.behaviour.catalogue import BEHAVIOUR_OF, Offer, label, offers_of, why_still
from kipviz.cluster.network.network_partition import is_cut
from kipviz.cluster.network.paused_hosts import paused
from kipviz.cluster.search_key import SearchKeys
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget, check
from kipviz.cluster.timing import deadlines, role_delays
from kipviz.cluster.timing.durations import forgets, retains
from kipviz.cluster.timing.record_timestamps import horizon_of, set_back
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import (
    Connection,
    RoleKey,
    World,
    first_world,
)
from kipviz.core.model import NotEnabled, Outcome
from kipviz.core.table import Table, pairs

K = TypeVar("K")
V = TypeVar("V")

# What all clients can do with these applications and leaders, and which can be started again.
_OfClients: TypeAlias = tuple[
    Table[str, Application], Image, list[ClusterAction], list[StartClient]
]

# What some roles have to load, and their timers by the field of the budget that they spend.
_OfRoles: TypeAlias = tuple[list[ClusterAction], list[tuple[str, tuple[ClusterAction, ...]]]]

# What of a role can run out, by the field of the budget that it spends; "" for what is free.
Timers: TypeAlias = dict[str, tuple[ClusterAction, ...]]

# The roles that have to load, or have timers.
TIMED_ROLES = frozenset(
    {"transaction_coordinator", "group_coordinator", "share_coordinator", "share_partition_leader"}
)

TICK = Tick()

# So much of what clients, roles and wires allow is remembered: a search meets eight in ten again (measured),
# a run has little use for more than the last ones.
SEEN_MAX = 128


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
        self._timed = spec.clock.timed
        self._horizon_ms = horizon_of(spec)
        # Some timers are a question to a log, which grows while the role stays the same.
        of_logs = forgets(spec) or retains(spec)
        self._asks_logs = spec.settings.state_upkeep or of_logs
        self._timed_roles = TIMED_ROLES
        if of_logs:
            self._timed_roles |= {"partition_leader"}
        self._keys = SearchKeys()
        # What was found for the client or role seen last in its place; nothing but a memory.
        self._clients_seen: dict[str, tuple[Application, Image, tuple[ClusterAction, ...]]] = {}
        self._roles_seen: dict[RoleKey, tuple[Any, Timers]] = {}
        # The same for all clients, and for blocks of roles and wires, by the very object, which is kept here, too.
        self._all_clients_seen: dict[int, _OfClients] = {}
        self._blocks_seen: dict[int, tuple[tuple[Any, ...], _OfRoles]] = {}
        self._wires_seen: dict[int, tuple[tuple[Any, ...], list[ClusterAction]]] = {}
        # Who offers accidents and repairs under the budget seen last.
        self._offers: tuple[FaultBudget | None, tuple[Offer, ...]] = (None, ())
        # A page asks about one world several times in a row.
        self._last: tuple[World | None, tuple[ClusterAction, ...]] = (None, ())

    def __reduce__(self) -> tuple[Any, ...]:
        # What it remembers is not a part of it: equal models travel as equal bytes.
        return type(self), (self.spec, self._brokers, self._clients)

    def initial(self) -> World:
        """Give the first world: everybody in office, nothing on the wire."""
        turn = self.turn(first_world(self.spec))
        for key, role in turn.roles.items():
            if getattr(role, "loading", False):
                turn.carry_out(key, dispatch.loaded(role, turn.context(key[0])))
        return turn.world()

    def kind(self, action: ClusterAction) -> str:
        """Give the kind of an action, which dice weigh."""
        return action.KIND

    def search_key(self, world: World) -> bytes:
        """Give sixteen bytes that are equal for equal worlds."""
        return self._keys.of(set_back(world, self._horizon_ms))

    def shared(self, world: World) -> World:
        """Give an equal world that shares its tables with the equal ones that were met before.

        Where records carry their time, its clock is set back.
        """
        return self._keys.shared(set_back(world, self._horizon_ms))

    # -- what can happen -----------------------------------------------------------------------

    def enabled(self, world: World) -> tuple[ClusterAction, ...]:
        """Give what can happen now: people first, then the wire, timers, faults and repairs.

        A step changes few parts of a world, so what clients, roles and wires allow is remembered.
        """
        asked, found = self._last
        if asked is not world:
            found = self._found(world)
            self._last = (world, found)
        return found

    def _found(self, world: World) -> tuple[ClusterAction, ...]:
        found: list[ClusterAction] = []
        of_clients = self._of_clients(world)
        found += of_clients[2]
        seen = self._wires_seen
        for places, connections in world.connections.blocks():
            known = seen.get(id(connections))
            if known is None:
                known = (connections, _arrivals(places, connections))
                _note(seen, connections, known)
            found += known[1]
        if world.cuts:
            found = [
                action
                for action in found
                if not isinstance(action, Deliver | DeliverLate)
                or not is_cut(world, action.source, action.broker)
            ]
        if not self._instant:
            found += [
                Replicate(p)
                for p, log in pairs(world.logs)
                if log.high_watermark < log.end_offset and world.image.has_enough_replicas(p)
            ]
        self._of_roles(world, found)
        if world.cuts and paused(world):
            found = [action for action in found if why_still(world, action) is None]
        accidents = [*self._accidents(world), *of_clients[3]]
        if not self._timed:
            return (*found, *accidents)
        tick = () if self.why_not(world, TICK) is not None else (TICK,)
        due = [
            [action for action in actions if deadlines.not_due(world, action) is None]
            for actions in (found, accidents)
        ]
        return (*due[0], *tick, *due[1])

    def why_not(self, world: World, action: ClusterAction) -> str | None:
        """Say in one sentence why an action is not possible now, or None when it is."""
        behaviour = BEHAVIOUR_OF[type(action)]
        field = behaviour.spends
        if field and getattr(world.budget, field) == 0:
            most = getattr(self.spec.budget, field)
            return (
                f"{behaviour.spent_as}: this run allows {most}, and none is left (setting {field})"
            )
        still = why_still(world, action) if world.cuts else None
        if still is not None:
            return still
        why = behaviour.why_not(self, world, action)
        return deadlines.not_due(world, action) if why is None and self._timed else why

    def obstacle(self, world: World, action: ClusterAction) -> str | None:
        """Say why an action is not possible, whatever the budget and the clock say."""
        return BEHAVIOUR_OF[type(action)].why_not(self, world, action)

    def label(self, world: World, action: ClusterAction) -> str:
        """Name an action in a world."""
        return label(world, action)

    # -- what it does --------------------------------------------------------------------------

    def step(self, world: World, action: ClusterAction) -> Outcome:
        """Give the next world and what happened.

        Raises:
            NotEnabled: if the action is not possible now.
        """
        why = self.why_not(world, action)
        if why is not None:
            raise NotEnabled(action, why)
        turn = self.turn(world)
        behaviour = BEHAVIOUR_OF[type(action)]
        field = behaviour.spends
        if field:
            left = getattr(world.budget, field) - 1
            turn.budget = world.budget.but(**{field: left})
        behaviour.apply(turn, action)
        return Outcome(turn.world(), tuple(turn.events), tuple(turn.checks))

    # -- pieces --------------------------------------------------------------------------------

    def turn(self, world: World) -> Turn:
        """Begin a step from a world."""
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
            now_ms=world.now_ms,
        )

    def _of_clients(self, world: World) -> _OfClients:
        """Give what the clients can do, as long as neither they nor the leaders change."""
        applications, image = world.applications, world.image
        known = self._all_clients_seen.get(id(applications))
        if known is None or known[1] is not image:
            found: list[ClusterAction] = []
            seen = self._clients_seen
            for name, app in pairs(applications):
                same = seen.get(name)
                if same is None or same[0] is not app or same[1] is not image:
                    same = seen[name] = (app, image, self._of_client(image, app))
                found += same[2]
            dead = [StartClient(name) for name, app in pairs(applications) if not app.alive]
            known = (applications, image, found, dead)
            _note(self._all_clients_seen, applications, known)
        return known

    def _of_client(self, image: Image, app: Application) -> tuple[ClusterAction, ...]:
        """Give what one application can do: a line of its program, its requests, its timers."""
        found: list[ClusterAction] = []
        if why_no_step(app) is None:
            found.append(_next_line(app.name))
        found += [
            Step(app.name, worker.name)
            for worker in app.workers
            if why_no_step(seen_by(app, worker.name)) is None
        ]
        for client in app.clients if app.alive else ():
            request = next_request(client)
            broker = NOBODY if request is None else dispatch.destination(request, image)
            if broker != NOBODY and has_room(client, broker):
                found.append(Send(client.source))
            found += [ClientTimer(client.source, timer) for timer in timers_of(client)]
        return tuple(found)

    def _of_roles(self, world: World, found: list[ClusterAction]) -> None:
        budget = world.budget
        timers: list[ClusterAction] = []

        seen = self._blocks_seen
        for keys, roles in world.roles.blocks():
            known = None if self._asks_logs else seen.get(id(roles))
            if known is None:
                known = (roles, self._of_block(world, keys, roles))
                _note(seen, roles, known)
            loading, due = known[1]
            found += loading
            for field, actions in due:
                if not field or getattr(budget, field):
                    timers += actions
        found += timers

    def _of_block(
        self, world: World, keys: tuple[RoleKey, ...], roles: tuple[Any, ...]
    ) -> _OfRoles:
        """Give what some roles have to load, and their timers that are set."""
        loading: list[ClusterAction] = []
        due: list[tuple[str, tuple[ClusterAction, ...]]] = []
        for key, role in zip(keys, roles, strict=True):
            if key[1] not in self._timed_roles:
                continue
            if getattr(role, "loading", False):
                loading.append(Load(*key))
                continue
            known = self._roles_seen.get(key)
            if known is None or known[0] is not role or self._asks_logs:
                known = (role, self._timers(world, key, role))
                self._roles_seen[key] = known
            due += [(field, actions) for field, actions in known[1].items() if actions]
        return loading, due

    def _timers(self, world: World, key: RoleKey, role: Any) -> Timers:
        """Give the locks, look-ups, transactions and other timers of a role that are due."""
        broker, _, shard = key
        on = self.context(world, broker)
        found: Timers = {}
        if isinstance(role, ShareLeader):
            locks = share_timers.locks(role, on)
            refreshes = share_timers.refreshes(role, on)
            found["expire_lock"] = tuple(ExpireLock(broker, key, lock) for key, lock in locks)
            found[""] = tuple(Refresh(broker, key) for key in refreshes)
        if isinstance(role, TransactionCoordinator):
            found["time_out"] = tuple(
                TimeOutTransaction(broker, shard, name)
                for name in role.transactions
                if transaction_coordinator.why_no_timeout(role, name) is None
            )
        others = dispatch.timers(role, on)
        delays = role_delays.delays(role)
        if delays:
            timed = tuple(DelayOver(*key, delay) for delay in delays)
            found[""] = (*found.get("", ()), *timed)
        if others:
            found["run_out"] = tuple(RunOut(*key, timer) for timer in others)
        return found

    def _accidents(self, world: World) -> list[ClusterAction]:
        """Give the accidents, repairs and operator's doings for which there is a budget, on a host that does not stand still."""
        budget, offers = self._offers
        if budget is not world.budget:
            offers = offers_of(world.budget)
            self._offers = (world.budget, offers)
        found: list[ClusterAction] = []
        for offered in offers:
            found += offered(self.spec, world)
        if world.cuts and paused(world):
            return [action for action in found if why_still(world, action) is None]
        return found


def _arrivals(
    places: tuple[tuple[str, int], ...], connections: tuple[Connection, ...]
) -> list[ClusterAction]:
    """Give what can arrive on some connections."""
    found: list[ClusterAction] = []
    for place, connection in zip(places, connections, strict=True):
        if not connection.open:
            continue
        if connection.requests and connection.serving is None:
            late = connection.left
            found.append(DeliverLate(*place) if late else _arrival(*place, "request"))
        if connection.responses:
            found.append(_arrival(*place, "response"))
    return found


# One object for each: most steps of a run are arrivals and calls, and every one of them is kept.
_arrival = lru_cache(maxsize=4096)(Deliver)
_next_line = lru_cache(maxsize=4096)(Step)


def _note(seen: dict[int, V], of: object, known: V) -> None:
    """Remember what was found for this very object; `known` has to keep it."""
    if len(seen) >= SEEN_MAX:
        seen.clear()
    seen[id(of)] = known
