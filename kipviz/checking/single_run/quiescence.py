"""Timers that expire because nothing else can happen: what a design does without any fault.

The acquisition lock, transaction.timeout.ms and session timeouts are parts of a design. An untimed clock does not
determine when one of them expires, so a search has a budget for timers that expire *early*, in a race with other steps.
In addition, time passes in a cluster where nothing else happens, and every timer that is set expires in the end. A
property that breaks then is broken by the design alone, without any fault.

`TimersAtRest` is the cluster with these steps. A world is quiescent if no process, message, replica or coordinator can
take a step, and every repeated request (a lookup, a poll, a heartbeat) finds the same as before. Only there does a
timer expire without spending the budget.

This is sound: each such step happens in a real cluster, because nothing else can come first. It adds behaviour and
removes none, so a property that broke before still breaks. It adds no races: those still need the budget.

Not among these timers: the session of a running member that can reach its coordinator, because it sends heartbeats; and
timers of days (transactional.id.expiration.ms, producer.id.expiration.ms, retention of offsets and logs).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, assert_never

from kipviz.brokers.timers import (
    AppendTimeout,
    Cleanup,
    GroupRebalance,
    GroupSync,
    MemberRebalance,
    MemberSession,
    TransactionLiveness,
)
from kipviz.checking.single_run.timers_ran import AT_REST, DUE, EARLY
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.kinds import Client, Holder
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.cluster.actions import (
    ClusterAction,
    RunOut,
    Tick,
)
from kipviz.cluster.behaviour.catalogue import BEHAVIOURS
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.network.network_partition import is_cut
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.cluster.world import World
from kipviz.core.model import Action, Model, Outcome
from kipviz.messages.events import (
    CallReturned,
    CallStarted,
    MessageDelivered,
    MessageSent,
    TimePassed,
)

# The kinds of actions that happen by themselves or by a program. A repair waits for a person, so a cluster with a
# crashed broker can be quiescent.
WORK = ("load", "deliver", "replicate", "sender", "application")
AGAIN = "refresh"
# The events of a repeated request that are nothing new.
MESSAGES = (MessageSent, MessageDelivered, CallStarted, CallReturned, TimePassed)
# The maximum number of steps in a round of requests, and of rounds that are examined.
STEPS_MAX = 400
RESTS_MAX = 24

# The timers that expire in a quiescent cluster, with the field of the budget that a race with them spends.
TIMERS: dict[type[Action], str] = {
    each.action: each.spends for each in BEHAVIOURS if each.expires_at_rest
}


_Actions: TypeAlias = tuple[ClusterAction, ...]


class TimersAtRest:
    """A cluster in which timers expire when nothing else can happen; a model like any other.

    `enabled` lists these steps after all others, so the indexes of the others do not change.
    """

    action_type = ClusterAction

    def __init__(self, cluster: ClusterModel) -> None:
        """Wrap a cluster; its own budget still applies to timers that expire early."""
        self.cluster = cluster
        self.spec: ClusterSpec = cluster.spec
        self._known: tuple[World | None, _Actions, _Actions] = (None, (), ())
        # A caller asks first whether the world is quiescent, then for its timers: the answer is kept.
        self._asked: tuple[World | None, bool] = (None, False)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.cluster,)

    def initial(self) -> World:
        """Return the initial world of the cluster."""
        return self.cluster.initial()

    def kind(self, action: ClusterAction) -> str:
        """Return the kind of an action."""
        return self.cluster.kind(action)

    def search_key(self, world: World) -> bytes:
        """Return sixteen bytes that are equal for equal worlds."""
        return self.cluster.search_key(world)

    def share_tables(self, world: World) -> World:
        """Return an equal world that shares its tables with earlier worlds."""
        return self.cluster.share_tables(world)

    def enabled(self, world: World) -> tuple[ClusterAction, ...]:
        """Return what can happen now, followed by the timers that expire in a quiescent world."""
        return self._find_enabled(world)[0]

    def at_rest(self, world: World) -> tuple[ClusterAction, ...]:
        """Return only the timers that expire because nothing else can happen; none if something can."""
        return self._find_enabled(world)[1]

    def when(self, world: World, action: ClusterAction) -> str:
        """Return when a possible timer expires in a world: quiescent, due, or early."""
        if action in self.at_rest(world):
            return AT_REST
        return DUE if self.spec.clock.timed else EARLY

    def rests(self, world: World) -> bool:
        """Return whether nothing new can happen before a timer expires."""
        own = self.cluster.enabled(world)
        return not any(action.KIND in WORK for action in own) and self._is_settled(world, own)

    def why_not(self, world: World, action: ClusterAction) -> str | None:
        """Return the reason why an action is not possible, or None if it is."""
        why = self.cluster.why_not(world, action)
        return None if why is None or action in self.at_rest(world) else why

    def step(self, world: World, action: ClusterAction) -> Outcome:
        """Return the next world and its events; a timer in a quiescent world spends no budget.

        Raises:
            NotEnabled: if the action is not possible now.
        """
        timed = type(action) in TIMERS or type(action) is Tick
        if not timed or action not in self.at_rest(world):
            return self.cluster.step(world, action)
        outcome = self.cluster.step(_lend_timers(world), action)
        return outcome.but(world=outcome.world.but(budget=world.budget))

    # -- rest ------------------------------------------------------------------------------------

    def _find_enabled(self, world: World) -> tuple[_Actions, _Actions]:
        asked, *found = self._known
        if asked is not world:
            own = self.cluster.enabled(world)
            rest = self._at_rest(world, own)
            found = [(*own, *(timer for timer in rest if timer not in own)), rest]
            self._known = (world, found[0], found[1])
        return found[0], found[1]

    def _at_rest(self, world: World, own: _Actions) -> _Actions:
        if any(action.KIND in WORK for action in own):
            return ()
        lent = self.cluster.enabled(_lend_timers(world))
        timers = [a for a in lent if type(a) in TIMERS or (type(a) is Tick and a not in own)]
        found = tuple(a for a in timers if not isinstance(a, RunOut) or _runs_out(world, a))
        return found if found and self._is_settled(world, own) else ()

    def _is_settled(self, world: World, own: _Actions) -> bool:
        asked, settled = self._asked
        if asked is not world:
            settled = self._brings_nothing(world, own)
            self._asked = (world, settled)
        return settled

    def _brings_nothing(self, world: World, own: _Actions) -> bool:
        """Return whether no repeated request finds anything new, in any order.

        Sessions count their requests, so the worlds after such rounds can differ. After many rounds with nothing but
        messages the next ones are assumed to bring nothing new either.
        """
        seen: set[bytes] = set()
        queue = deque([(world, own)])
        while queue and len(seen) < RESTS_MAX:
            here, enabled = queue.popleft()
            key = self.cluster.search_key(here)
            if key in seen:
                continue
            seen.add(key)
            for action in enabled:
                if action.KIND == AGAIN:
                    after = self._repeat_requests(here, action)
                    if after is None:
                        return False
                    queue.append(after)
        return True

    def _repeat_requests(
        self, world: World, action: ClusterAction
    ) -> tuple[World, _Actions] | None:
        """Return the world after one round of requests and its enabled actions; None if it brings anything new."""
        for _ in range(STEPS_MAX):
            outcome = self.cluster.step(world, action)
            if not all(isinstance(event, MESSAGES) for event in outcome.events):
                return None
            world = outcome.world
            enabled = self.cluster.enabled(world)
            work = [each for each in enabled if each.KIND in WORK]
            if not work:
                return world, enabled
            action = min(work, key=lambda each: WORK.index(each.KIND))
        return None


def with_timers_at_rest(model: Model) -> Model:
    """Return a cluster with timers that expire when it is quiescent; return any other model unchanged."""
    return TimersAtRest(model) if type(model) is ClusterModel else model


def raise_budget(budget: FaultBudget, actions: tuple[ClusterAction, ...]) -> FaultBudget:
    """Return a budget that also allows the timers that expired in quiescent worlds of a run.

    A run that a search found is opened, shared and saved as a run of the cluster itself. There each timer that expires
    spends the budget, so it has to allow as many as the run has.
    """
    for kind, field in TIMERS.items():
        times = sum(type(action) is kind for action in actions)
        budget = budget.but(**{field: max(getattr(budget, field), times)})
    return budget


def places_at_rest(
    model: ClusterModel, worlds: Sequence[World], actions: Sequence[ClusterAction]
) -> frozenset[int]:
    """Return the indexes of a run's steps at which a timer expired because nothing else could happen.

    `worlds` has for each action the world before it.
    """
    resting = with_timers_at_rest(model)
    if not isinstance(resting, TimersAtRest):
        return frozenset()
    return frozenset(
        at
        for at, (world, action) in enumerate(zip(worlds, actions, strict=True))
        if type(action) in TIMERS and action in resting.at_rest(world)
    )


# -- pieces ------------------------------------------------------------------------------------------


def _lend_timers(world: World) -> World:
    """Return the world with one more of each timer in its budget."""
    budget = world.budget
    more = {field: getattr(budget, field) + 1 for field in TIMERS.values()}
    return world.but(budget=budget.but(**more))


def _runs_out(world: World, action: RunOut) -> bool:
    """Return whether a role's timer expires in a quiescent cluster, and no client resets it."""
    match action.timer:
        case MemberSession(member_id):
            return member_id not in _list_members(world, action.broker)
        case TransactionLiveness(transactional_id):
            return transactional_id not in _list_beating(world, action.broker)
        case MemberRebalance() | GroupRebalance() | GroupSync() | AppendTimeout():
            return True
        case _:
            if isinstance(action.timer, Cleanup):
                return False
            assert_never(action.timer)


def _list_members(world: World, broker: int) -> Iterator[str]:
    """Yield the member ids whose running clients can reach their coordinator."""
    for client in _reachable_clients(world, broker):
        if isinstance(client, Consumer | ShareConsumer | ShareMember):
            yield client.member_id


def _list_beating(world: World, broker: int) -> Iterator[str]:
    """Yield the transactional ids whose running clients send heartbeats and can reach their coordinator."""
    for client in _reachable_clients(world, broker):
        if isinstance(client, Holder) and client.manager.heartbeat_interval_ms:
            yield client.manager.transactional_id


def _reachable_clients(world: World, broker: int) -> Iterator[Client]:
    for app in world.applications.values():
        for client in app.clients if app.alive else ():
            if not is_cut(world, client.source, broker):
                yield client
