"""A run that is continued in another way than before.

A message is held back, an event is skipped or comes later, the remaining steps are replayed as far as possible, or dice
choose the next steps. The model knows nothing of it: the caller that steps the model does the holding back, so it is
recorded beside the trace and never in a world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from kipviz.checking.judging.faults import Faults
from kipviz.checking.single_run.seeded_run import BUSY
from kipviz.clients.workers import swap_thread
from kipviz.cluster.actions import ClusterAction, Deliver, DeliverLate, Step
from kipviz.cluster.behaviour.catalogue import script_name
from kipviz.cluster.behaviour.naming import thread_of
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.core.scheduler import Scheduler
from kipviz.core.traces.trace import Node, Trace
from kipviz.core.values import Value
from kipviz.messages.events import ConnectionLost, LeftOnItsWay, MessageDelivered, MessageSent
from kipviz.scenarios.script import ORDER, next_by_itself

# The maximum number of steps that a cluster takes by itself before a person chooses again.
GO_ON_MAX = 200
# The maximum number of steps that it takes by itself while the remaining steps are replayed.
FOLLOW_MAX = 5_000

HELD_BACK = "you hold it back"


class HeldAction(Value, frozen=True):
    """An action that does not happen until it is released.

    `number` identifies the message, counted in the order of sending from 1; it is 0 if the action delivers none. `name`
    is the action's name (`name_of`) when it was held back. It is held back from step `since` until before step `until`
    (-1: to the end).
    """

    action: ClusterAction
    name: str
    number: int
    since: int
    until: int = -1

    def at(self, step: int) -> bool:
        """Return whether it is held back at a step."""
        return self.since <= step and (self.until < 0 or step < self.until)


class Again(Value, frozen=True):
    """An action that happened and is to be replayed under the same name.

    `lets` releases it first if it was held back: "now", or "quiet" for when nothing else happens by itself.
    """

    name: str
    action: ClusterAction
    lets: str = ""


class Missing(Value, frozen=True):
    """An action that happened before and does not happen again, and the reason."""

    name: str
    why: str


class MessagesInFlight:
    """The messages in flight, by their numbers; a fold over events."""

    def __init__(self) -> None:
        """Start without messages."""
        self.sent = 0
        self._places: dict[tuple[str, int, str], list[int]] = {}

    def see(self, events: Iterable[Event]) -> None:
        """Record the events of a step."""
        for event in events:
            if isinstance(event, MessageSent):
                self.sent += 1
                place = (event.source, event.broker, event.way)
                self._places.setdefault(place, []).append(self.sent)
            elif isinstance(event, MessageDelivered):
                self._places[event.source, event.broker, event.way].pop(0)
            elif isinstance(event, LeftOnItsWay):
                left = self._places.pop((event.source, event.broker, "request"), [])
                self._places[event.late, event.broker, "request"] = left
            elif isinstance(event, ConnectionLost):
                for way in ("request", "response"):
                    self._places.pop((event.source, event.broker, way), None)

    def next_on(self, action: ClusterAction) -> int:
        """Return the number of the message that an action would deliver, 0 for none."""
        if not isinstance(action, Deliver | DeliverLate):
            return 0
        way = "request" if isinstance(action, DeliverLate) else action.way
        waiting = self._places.get((action.source, action.broker, way))
        return waiting[0] if waiting else 0

    def place_of(self, number: int) -> Deliver | None:
        """Return the delivery that a message in flight waits for."""
        for place, waiting in self._places.items():
            if number in waiting:
                return Deliver(*place)
        return None

    def ahead_of(self, number: int) -> int:
        """Return how many messages precede one on its connection."""
        return next(w.index(number) for w in self._places.values() if number in w)


def name_of(world: World, action: ClusterAction) -> str:
    """Return a name of an action that means the same in another continuation of the run.

    Saved runs contain the names of held-back actions, so a name is made of texts that are never reworded. The action's
    text in scripts is not enough: "app-1 goes on" does not contain the program's position.
    """
    if isinstance(action, Step) and action.application in world.applications:
        app = swap_thread(world.applications[action.application], action.thread)
        call = app.program[app.line].call.value
        return f"{thread_of(action)}: {call}() {'returns' if app.waiting else 'is called'}"
    return script_name(world, action)


class Course:
    """A run that is being continued: its trace, the messages in flight, and what is held back."""

    def __init__(
        self, model: ClusterModel, trace: Trace, held: tuple[HeldAction, ...] = ()
    ) -> None:
        """Start where the trace stands."""
        self.model = model
        self.trace = trace
        self.held = tuple(h.but(until=-1) for h in held if h.at(trace.depth))
        self.wire = MessagesInFlight()
        for node in trace.path(trace.cursor):
            self.wire.see(trace.node(node).events)

    @property
    def world(self) -> World:
        """The world where the run stands."""
        world: World = self.trace.world
        return world

    def take(self, action: ClusterAction) -> None:
        """Take a step; an action that happens now is no longer held back.

        Raises:
            NotEnabled: if it is not possible here.
        """
        name, number = name_of(self.world, action), self.wire.next_on(action)
        self.trace = self.trace.take(action)
        self.wire.see(self.trace.events)
        self.held = tuple(
            h.but(until=self.trace.depth) if _is(h, action, name, number) else h for h in self.held
        )

    def holds(self, action: ClusterAction) -> bool:
        """Return whether an action is held back here."""
        if not any(h.action == action for h in self.held):
            return False
        name, number = name_of(self.world, action), self.wire.next_on(action)
        return any(_is(h, action, name, number) for h in self.held)

    def hold(self, action: ClusterAction, name: str, number: int = 0) -> None:
        """Hold back from here on the action with this name, or the delivery of the message with this number."""
        self.held = (*self.held, HeldAction(action, name, number, self.trace.depth))

    def why_not(self, action: ClusterAction, name: str) -> str | None:
        """Return why the action with this name cannot happen here, or None if it can."""
        why = self.model.why_not(self.world, action)
        if why is not None:
            return why
        if self.holds(action):
            return HELD_BACK
        now = name_of(self.world, action)
        return None if now == name else f"it would be “{now}” here"

    def next_by_itself(self) -> ClusterAction | None:
        """Return the next step that happens by itself, or None."""
        return next_by_itself(self.model, self.world, self.holds if self.held else None)

    def go_on(self) -> Counter[str]:
        """Let the cluster run by itself until a person has to choose; count what happened, by name."""
        names = Counter[str]()
        for name in self._by_itself(GO_ON_MAX):
            names[name] += 1
        return names

    def _by_itself(self, steps_max: int) -> Iterator[str]:
        """Take the steps that happen by themselves; yield the name of each.

        It ends when nothing happens by itself, after `steps_max` steps, or when a state repeats. What happens by itself
        depends only on the world and on what is held back, so the same steps would repeat without end. A client that
        retries at once is such a cycle while the message that would help it is held back.
        """
        stood = {self._standing()}
        for _ in range(steps_max):
            action = self.next_by_itself()
            if action is None:
                return
            name = name_of(self.world, action)
            self.take(action)
            yield name
            standing = self._standing()
            if standing in stood:
                return
            stood.add(standing)

    def _standing(self) -> tuple[bytes, tuple[HeldAction, ...]]:
        """Return what decides the next step that happens by itself."""
        return self.model.search_key(self.world), self.held

    # -- following what happened before --------------------------------------------------------

    def follow(self, rest: Iterable[Again]) -> tuple[Missing, ...]:
        """Replay the remaining steps of a run as far as possible; return those that do not happen again.

        Steps that the cluster takes by itself may come earlier or later than before. Steps of a person and faults keep
        their place; they wait at most until the cluster has nothing left to do or repeats itself. After `FOLLOW_MAX`
        steps by itself nothing waits any longer.
        """
        early = Counter[str]()
        absent: list[tuple[Again, str]] = []
        left = FOLLOW_MAX
        for each in rest:
            if each.lets:
                self._let(each, early)
            by_itself = each.action.KIND in ORDER and not each.lets
            if by_itself and early[each.name] > 0:
                early[each.name] -= 1
                continue
            why = self.why_not(each.action, each.name)
            if why is not None and not by_itself:
                for name in self._by_itself(left):
                    left -= 1
                    early[name] += 1
                    why = self.why_not(each.action, each.name)
                    if why is None:
                        break
            if why is None:
                self.take(each.action)
            else:
                absent.append((each, why))
        late = early + self.go_on()
        missing = []
        for each, why in absent:
            if late[each.name] > 0:
                late[each.name] -= 1
            else:
                missing.append(Missing(each.name, self.why_not(each.action, each.name) or why))
        return tuple(missing)

    def _let(self, each: Again, early: Counter[str]) -> None:
        if each.lets == "quiet":
            early.update(self.go_on())
        self.held = tuple(
            h.but(until=self.trace.depth)
            if h.until < 0 and (h.action, h.name) == (each.action, each.name)
            else h
            for h in self.held
        )

    # -- dice -------------------------------------------------------------------------------------

    def run_on(
        self, seed: int, faults: Faults, steps_max: int, until: Callable[[Node], bool]
    ) -> Iterator[int]:
        """Let dice choose the steps until a condition holds, at most `steps_max` of them.

        Yields the number of steps so far. It ends earlier if only timers and faults are possible.

        Raises:
            ValueError: if the seed is not an integer.
        """
        dice = Scheduler(seed, faults.profile)
        idle: set[bytes] = set()
        for count in range(1, steps_max + 1):
            enabled = tuple(a for a in self.model.enabled(self.world) if not self.holds(a))
            if not any(a.KIND in BUSY for a in enabled):
                if not any(a.KIND == "refresh" for a in enabled) or self.world.digest in idle:
                    return
                idle.add(self.world.digest)
            action = dice.choose(self.trace.depth + 1, enabled, self.model.kind)
            if action is None:
                return
            self.take(action)
            yield count
            if until(self.trace.here):
                return


def rest_of(trace: Trace, path: tuple[int, ...], after: int) -> list[Again]:
    """Return the actions on a path of nodes after a step."""
    nodes = [trace.node(node) for node in path[after:]]
    return [Again(name_of(a.world, b.action), b.action) for a, b in pairwise(nodes)]


def _is(held: HeldAction, action: ClusterAction, name: str, number: int) -> bool:
    if held.action != action or held.until >= 0:
        return False
    return held.number == number if held.number else held.name == name
