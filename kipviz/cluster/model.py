"""The model: what can happen in a cluster, and what it does.

`initial`, `enabled` and `step` are the whole contract; `why_not` explains why something is not possible, for `step`,
for scripts and for the greyed entries on screen. Everything about one action is in its class in `behaviour`.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from kipviz.brokers.context import Context, Image
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.rules import BrokerRules
from kipviz.clients.application import Application
from kipviz.clients.rules import ClientRules
from kipviz.cluster import dispatch
from kipviz.cluster.actions import (
    ClusterAction,
    Deliver,
    DeliverLate,
    Replicate,
    Tick,
)
from kipviz.cluster.behaviour import due_actions
from kipviz.cluster.behaviour.behaviour import AnyBehaviour
from kipviz.cluster.behaviour.catalogue import (
    BEHAVIOUR_OF,
    OF_CLIENTS,
    OF_CONNECTIONS,
    OF_NEW_ROLES,
    OF_PROCESSES,
    OF_ROLES,
    Offer,
    label,
    offers_of,
    why_paused,
)
from kipviz.cluster.network.network_partition import is_cut
from kipviz.cluster.network.paused_hosts import list_paused
from kipviz.cluster.replication_control import controller_of
from kipviz.cluster.search_key import SearchKeys
from kipviz.cluster.spec_checks.spec_check import check
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.cluster.start.first_world import first_world
from kipviz.cluster.step_memory import StepMemory
from kipviz.cluster.timing.durations import forgets, retains
from kipviz.cluster.timing.record_timestamps import horizon_of, set_back
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import Connection, RoleKey, World, is_loading
from kipviz.core.kept_answers import TABLES_MAX, KeptAnswers
from kipviz.core.model import NotEnabled, Outcome
from kipviz.core.watched import Notes
from kipviz.messages.apis.api import Role

_Actions: TypeAlias = tuple[ClusterAction, ...]

# The actions of a client's process and its possible restart; what a role has to load and its timers.
_Two: TypeAlias = tuple[_Actions, _Actions]

# The roles that have to load, or have timers.
TIMED_ROLES = frozenset(
    {
        Role.TRANSACTION_COORDINATOR,
        Role.GROUP_COORDINATOR,
        Role.SHARE_COORDINATOR,
        Role.SHARE_PARTITION_LEADER,
    }
)

TICK = Tick()

# The number of cluster images with a cache of clients' actions: one for each leader that moved.
IMAGES_MAX = 16
# The number of fault budgets with a cache of roles' actions: those that the steps of a run leave.
BUDGETS_MAX = 64


class _Allowed(NamedTuple):
    """What a fault budget allows: behaviours that offer faults and repairs, behaviours of roles, and a cache of these."""

    offers: tuple[Offer, ...]
    behaviours: tuple[AnyBehaviour, ...]
    of_roles: KeptAnswers[_Two, _Two]


class ClusterModel:
    """A cluster of a spec under the rules of a design, as a model with steps."""

    action_type = ClusterAction

    def __init__(self, spec: ClusterSpec, brokers: BrokerRules, clients: ClientRules) -> None:
        """Check the spec and keep the rules.

        Raises:
            BadSpec: if such a cluster is not possible.
        """
        check(spec)
        self.spec = spec
        self._brokers = brokers
        self._clients = clients
        self._simplified = spec.simplified
        self._instant = spec.replication == "instant"
        self._timed = spec.clock.timed
        self._horizon_ms = horizon_of(spec)
        # Some timers depend on a log, which grows while the role stays the same.
        of_logs = forgets(spec) or retains(spec)
        self._asks_logs = spec.settings.state_upkeep or of_logs
        self._timed_roles = TIMED_ROLES
        if of_logs:
            self._timed_roles |= {Role.PARTITION_LEADER}
        self._keys = SearchKeys()
        self._start_caches(0)
        # The results of steps, for callers that take many steps of one cluster.
        self._memory: StepMemory | None = None
        self._first: World | None = None
        # A page asks about one world several times in a row.
        self._last: tuple[World | None, tuple[ClusterAction, ...]] = (None, ())

    def _start_caches(self, tables_max: int) -> None:
        """Start without any possible action known; answers for `tables_max` whole tables are kept."""
        self._tables_max = tables_max
        # The actions of clients, connections and roles, by the object itself; only a cache.
        self._clients_kept: dict[int, tuple[Image, KeptAnswers[_Two, _Two]]] = {}
        self._wires_kept: KeptAnswers[_Actions, _Actions] = KeptAnswers(
            _arrivals, _join, tables_max
        )
        self._logs_kept: KeptAnswers[Replicate, tuple[Replicate, ...]] = KeptAnswers(
            _lag, tuple, tables_max
        )
        self._roles_kept: dict[tuple[AnyBehaviour, ...], KeptAnswers[_Two, _Two]] = {}
        # What fault budgets allow, and what the most recent one does.
        self._allowed: dict[FaultBudget, _Allowed] = {}
        budget = self.spec.budget
        self._last_allowed = (budget, self._allow(budget))

    def __reduce__(self) -> tuple[Any, ...]:
        # Its caches are not a part of it: equal models pickle to equal bytes.
        return type(self), (self.spec, self._brokers, self._clients)

    def remembering(self) -> ClusterModel:
        """Return the same cluster with a cache of steps: for many runs, or a search, of one cluster.

        It returns the same outcomes, with shared objects where they are equal. A cluster with a cache is returned
        itself; one with a timed clock, or whose records carry timestamps, caches no steps.
        """
        if self._memory is not None:
            return self
        model = ClusterModel(self.spec, self._brokers, self._clients)
        if not self._timed and not self.spec.clock.stamps:
            model._memory = StepMemory()
            model._start_caches(TABLES_MAX)
        return model

    def initial(self) -> World:
        """Return the first world: every coordinator is active, no message is in flight."""
        if self._memory is None:
            return self._begin_run()
        # Runs that start with the same objects meet the same objects later.
        if self._first is None:
            self._first = self._begin_run()
        return self._first

    def _begin_run(self) -> World:
        turn = self.turn(first_world(self.spec))
        for key, role in turn.roles.items():
            if is_loading(role):
                turn.carry_out(key, dispatch.load_role(role, turn.context(key[0])))
        return turn.world()

    def kind(self, action: ClusterAction) -> str:
        """Return the kind of an action, by which dice are weighed."""
        return action.KIND

    def search_key(self, world: World) -> bytes:
        """Return sixteen bytes that are equal for equal worlds."""
        return self._keys.of(set_back(world, self._horizon_ms))

    def share_tables(self, world: World) -> World:
        """Return an equal world that shares its tables with equal ones met before.

        If records carry timestamps, its clock is set back.
        """
        return self._keys.share_tables(set_back(world, self._horizon_ms))

    # -- what can happen -----------------------------------------------------------------------

    def enabled(self, world: World) -> tuple[ClusterAction, ...]:
        """Return what can happen now: applications first, then messages, timers, faults and repairs.

        A step changes few parts of a world, so the actions of clients, roles and connections are cached.
        """
        asked, found = self._last
        if asked is not world:
            found = self._find_enabled(world)
            self._last = (world, found)
        return found

    def _find_enabled(self, world: World) -> tuple[ClusterAction, ...]:
        going_on, starting = self._find_cache(world.image).of(world.applications, world.image)
        arriving = self._wires_kept.of(world.connections, None)
        if world.cuts:
            arriving = tuple(
                action
                for action in arriving
                if not isinstance(action, Deliver | DeliverLate)
                or not is_cut(world, action.source, action.broker)
            )
        lagging = () if self._instant else self._logs_kept.of(world.logs, None)
        if world.image.min_insync_replicas:
            enough = world.image.has_enough_replicas
            lagging = tuple(each for each in lagging if enough(each.partition))
        budget, allowed = self._last_allowed
        if budget is not world.budget:
            allowed = self._allow(world.budget)
            self._last_allowed = (world.budget, allowed)
        loading, timers = self._of_roles(world, allowed)
        found = (*going_on, *arriving, *lagging, *loading, *timers)
        accidents = self._accidents(world, allowed.offers)
        if world.cuts and list_paused(world):
            found = tuple(action for action in found if why_paused(world, action) is None)
        if not self._timed:
            return (*found, *accidents, *starting)
        tick = () if self.why_not(world, TICK) is not None else (TICK,)
        due = [
            [action for action in actions if due_actions.not_due(world, action) is None]
            for actions in (found, (*accidents, *starting))
        ]
        return (*due[0], *tick, *due[1])

    def why_not(self, world: World, action: ClusterAction) -> str | None:
        """Return in one sentence why an action is not possible now, or None if it is."""
        behaviour = BEHAVIOUR_OF[type(action)]
        field = behaviour.spends
        if field and getattr(world.budget, field) == 0:
            most = getattr(self.spec.budget, field)
            return f"{behaviour.spent_as}: this run allows {most}, and they are used up (setting {field})"
        still = why_paused(world, action) if world.cuts else None
        if still is not None:
            return still
        why = behaviour.why_not(self, world, action)
        return due_actions.not_due(world, action) if why is None and self._timed else why

    def obstacle(self, world: World, action: ClusterAction) -> str | None:
        """Return why an action is not possible, whatever the budget and the clock."""
        return BEHAVIOUR_OF[type(action)].why_not(self, world, action)

    def overdue(self, world: World) -> str:
        """Return the label of a possible action that is due now at the latest, "" if there is none."""
        for deadline in world.deadlines:
            if deadline.by == 0:
                action = due_actions.action_of(world, deadline)
                possible = self.obstacle(world, action) is None
                if possible and due_actions.not_due(world, action) is None:
                    return self.label(world, action)
        return ""

    def label(self, world: World, action: ClusterAction) -> str:
        """Return an action's label in a world."""
        return label(world, action)

    # -- what it does --------------------------------------------------------------------------

    def step(self, world: World, action: ClusterAction) -> Outcome:
        """Return the next world and what happened.

        Raises:
            NotEnabled: if the action is not possible now.
        """
        asked, found = self._last
        # What `enabled` has just found is possible; it need not be checked again.
        if asked is not world or action not in found:
            why = self.why_not(world, action)
            if why is not None:
                raise NotEnabled(action, why)
        field = BEHAVIOUR_OF[type(action)].spends
        budget = world.budget
        if field:
            budget = budget.but(**{field: getattr(budget, field) - 1})
        memory = self._memory
        if memory is None:
            return self._apply_action(world, action, budget)
        if field:  # a fault reads half of the world, and seldom happens twice in the same one
            return memory.alike(world, self._apply_action(world, action, budget))
        known = memory.find_outcome(world, action, budget)
        if known is not None:
            return known
        notes = Notes()
        outcome = self._apply_action(memory.watch_reads(world, notes), action, budget)
        return memory.keep(world, action, notes, outcome, budget)

    # -- pieces --------------------------------------------------------------------------------

    def _apply_action(self, world: World, action: ClusterAction, budget: FaultBudget) -> Outcome:
        """Apply a possible action; `budget` is what it leaves."""
        turn = self.turn(world)
        turn.budget = budget
        BEHAVIOUR_OF[type(action)].apply(turn, action)
        return Outcome(turn.world(), tuple(turn.events), tuple(turn.checks))

    def turn(self, world: World) -> Turn:
        """Start a step from a world."""
        return Turn(world, self.spec, self._brokers, self._clients, self._simplified)

    def context(self, world: World, broker: int) -> Context:
        """Return what a role on a broker may read."""
        return Context(
            broker,
            world.image,
            world.logs,
            self._brokers,
            world.next_producer_id,
            self.spec.settings,
            now_ms=world.now_ms,
            simplified=self._simplified,
            controller=controller_of(self.spec, world.up),
        )

    def _find_cache(self, image: Image) -> KeptAnswers[_Two, _Two]:
        """Return the cache of clients' actions for these leaders."""
        known = self._clients_kept.get(id(image))
        if known is None:
            if len(self._clients_kept) >= IMAGES_MAX:
                self._clients_kept.clear()
            known = self._clients_kept[id(image)] = (
                image,
                KeptAnswers(self._of_client, _join_two, self._tables_max),
            )
        return known[1]

    def _of_client(self, name: str, app: Application, image: Image) -> _Two:
        """Return the actions of one application: statements, requests, timers; and its repairs."""
        found: list[ClusterAction] = []
        repairs: list[ClusterAction] = []
        for each in OF_PROCESSES:
            (repairs if each.repairs else found).extend(each.of_process(app))
        for client in app.clients if app.alive else ():
            for each in OF_CLIENTS:
                found += each.of_client(client, image)
        return tuple(found), tuple(repairs)

    def _allow(self, budget: FaultBudget) -> _Allowed:
        """Return what a budget allows."""
        known = self._allowed.get(budget)
        if known is None:
            if len(self._allowed) >= BUDGETS_MAX:
                self._allowed.clear()
            left = tuple(e for e in OF_ROLES if not e.spends or getattr(budget, e.spends))
            kept = self._roles_kept.get(left)
            if kept is None:
                ask = partial(self._of_role, left)
                kept = self._roles_kept[left] = KeptAnswers(ask, _join_two, self._tables_max)
            known = self._allowed[budget] = _Allowed(offers_of(self.spec, budget), left, kept)
        return known

    def _of_roles(self, world: World, allowed: _Allowed) -> _Two:
        """Return what roles have to load, and their running timers that a budget allows."""
        kept = allowed.of_roles
        if self._asks_logs:
            # If a timer depends on a log, the same role may have other actions.
            kept = KeptAnswers(partial(self._of_role, allowed.behaviours), _join_two)
        return kept.of(world.roles, world)

    def _of_role(
        self, behaviours: tuple[AnyBehaviour, ...], key: RoleKey, role: Any, world: World
    ) -> _Two | None:
        """Return what a role has to load, or its running timers under some behaviours."""
        if key[1] not in self._timed_roles:
            return None
        if is_loading(role):
            return tuple(a for each in OF_NEW_ROLES for a in each.of_new_role(key, role)), ()
        on = self.context(world, key[0])
        timers = tuple(chain.from_iterable(each.of_role(key, role, on) for each in behaviours))
        return ((), timers) if timers else None

    def _accidents(self, world: World, offers: tuple[Offer, ...]) -> list[ClusterAction]:
        """Return the faults, repairs and operator's actions that are offered, on hosts that are not paused."""
        found: list[ClusterAction] = []
        for offered in offers:
            found += offered(self.spec, world)
        if world.cuts and list_paused(world):
            return [action for action in found if why_paused(world, action) is None]
        return found


def _arrivals(place: tuple[str, int], connection: Connection, _: object) -> _Actions | None:
    """Return what can arrive on a connection."""
    if not connection.open or not (connection.requests or connection.responses):
        return None
    found: list[ClusterAction] = []
    for each in OF_CONNECTIONS:
        found += each.of_connection(place, connection)
    return tuple(found)


def _lag(partition: str, log: PartitionLog, _: object) -> Replicate | None:
    """Return the replication of a log whose high watermark is not at its end."""
    return Replicate(partition) if log.high_watermark < log.end_offset else None


def _join(answers: list[_Actions]) -> _Actions:
    return tuple(chain.from_iterable(answers))


def _join_two(answers: list[_Two]) -> _Two:
    if len(answers) == 1:
        return answers[0]
    return _join([first for first, _ in answers]), _join([second for _, second in answers])
