"""Causes: for every step, the earlier steps that led to it.

A step is taken again in a world whose tables record every lookup. So the values that a step reads are observed rather
than declared, and a comparison of worlds shows which step wrote them last. The step that sent a message leads to the
step that delivers it. The steps of a cone alone, taken in order, produce the same values
(`tests/views/reasons/test_causes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain as joined
from typing import Any, TypeAlias

from kipviz.checking.single_run.alternative_run import MessagesInFlight
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    Deliver,
    Step,
    Tick,
)
from kipviz.cluster.behaviour.catalogue import BEHAVIOUR_OF, runs_on
from kipviz.cluster.behaviour.due_actions import action_of, deadline_of
from kipviz.cluster.behaviour.naming import on_wire
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.timing import retention
from kipviz.cluster.timing.clock import Deadline, Due
from kipviz.cluster.timing.timers import AGES, ages
from kipviz.cluster.world import (
    ACLS,
    APPLICATIONS,
    CONNECTIONS,
    CUTS,
    FEATURES,
    LEADERS,
    LOGS,
    PAUSES,
    RELEASES,
    ROLES,
    UP,
    World,
    role_key,
)
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.core.watched import KEYS, Cell, Notes, Watched
from kipviz.messages.events import MessageSent
from kipviz.messages.transactions.admin import ListTransactions
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.views.page_parts import Shown

# A step that led to another one, and what the latter used from it.
Cause: TypeAlias = list[Any]

TIME, IDS = "time", "producer ids"
TABLES = (LOGS, ROLES, APPLICATIONS, CONNECTIONS)
# The other parts of the cluster's metadata that change, in a reader's words.
METADATA = {
    FEATURES: "the finalized feature levels",
    ACLS: "the ACLs",
    RELEASES: "the release of each broker",
}
MESSAGE = "sent its message"


class WatchedBrokers(tuple[int, ...]):  # noqa: SLOT001  a tuple cannot have slots with names
    """The brokers that are offline; it records whether a step looks at them."""

    notes: Notes

    def __contains__(self, broker: object) -> bool:
        self.notes.look((UP, ""))
        return super().__contains__(broker)


class Causes:
    """The causes of the steps of one branch, followed step by step from its start."""

    def __init__(self, model: ClusterModel) -> None:
        """Start before the first step."""
        self._model = model
        self._writers: dict[Cell, int] = {}
        self._wire = MessagesInFlight()
        self._sent_in: list[int] = []

    def of(
        self, before: World, action: ClusterAction, places: Iterable[Cell] | None = None
    ) -> list[Cause]:
        """Return the causes of the next step, its main one first; the start causes nothing.

        `places` are those that the step reads, for a caller that has taken it.
        """
        if places is None:
            places = reads(self._model, before, action)
        main = [
            *self._sender(action),
            *self._last(_list_cell(BEHAVIOUR_OF[type(action)].main_cause(action))),
        ]
        others: dict[int, list[str]] = {}
        for place in places:
            for step in self._last([place]):
                changed = others.setdefault(step, [])
                words = _words(place)
                if words not in changed:
                    changed.append(words if changed else f"changed {words}")
        for step in self._sender(action):
            others[step] = [MESSAGE]
        first = [step for step in main if step in others][:1]
        rest = sorted((step for step in others if step not in first), reverse=True)
        return [[step, ", ".join(others[step])] for step in (*first, *rest)]

    def add(self, k: int, before: World, world: World, events: Iterable[Event]) -> None:
        """Record what a step wrote and sent, after its causes were determined."""
        for place in writes(before, world):
            self._writers[place] = k
        told = tuple(events)
        self._wire.see(told)
        self._sent_in += [k for event in told if isinstance(event, MessageSent)]

    def _sender(self, action: ClusterAction) -> list[int]:
        number = self._wire.next_on(action)
        return [self._sent_in[number - 1]] if number else []

    def _last(self, places: Iterable[Cell]) -> list[int]:
        found = (self._writers.get(place) for place in places)
        return [step for step in found if step is not None]


def reads(model: ClusterModel, world: World, action: ClusterAction) -> tuple[Cell, ...]:
    """Return the places that an action reads in a world, in the order in which it reads them."""
    return take_watched(model, world, action)[0]


def take_watched(
    model: ClusterModel, world: World, action: ClusterAction
) -> tuple[tuple[Cell, ...], Outcome]:
    """Take a step, and return the places that it reads, in their order, and its outcome."""
    notes = Notes()
    watched: dict[str, Any] = {name: Watched(name, getattr(world, name), notes) for name in TABLES}
    leaders: Any = Watched(LEADERS, world.image.leaders, notes)
    offline = WatchedBrokers(world.image.offline)
    offline.notes = notes
    image = world.image.but(leaders=leaders, offline=offline)
    outcome = model.step(world.but(image=image, **watched), action)
    for part in BEHAVIOUR_OF[type(action)].parts_read:
        notes.look((part, runs_on(world, action) if part == PAUSES else ""))
    if outcome.world.next_producer_id != world.next_producer_id:
        notes.look((IDS, ""))
    for place in _of_time(world, action):
        notes.look(place)
    return tuple(notes.read), outcome


def _of_time(world: World, action: ClusterAction) -> Iterator[Cell]:
    """Yield what an action reads because of the time: a timed clock's deadlines."""
    if isinstance(action, Tick):
        # It advances to the next deadline, and so depends on every timer that is set.
        yield TIME, ""
        for deadline in world.deadlines:
            yield from _list_setters(world, deadline)
    elif world.now_ms != NO_TIMESTAMP and not isinstance(action, Step | ClientTimer):
        yield TIME, ""  # records and messages contain the current time
    elif deadline_of(world, action) is not None or (
        isinstance(action, Deliver)
        and ages(world)
        and isinstance(on_wire(world, action), ListTransactions)
    ):
        yield TIME, ""


def _list_setters(world: World, deadline: Deadline) -> list[Cell]:
    """Return the place that holds the state to which a deadline belongs."""
    if deadline.kind in AGES:
        if deadline.kind == Due.OFFSET_AGE:
            home = retention.home(world, deadline.place)
        else:
            home = world.image.home_of_transactions(str(deadline.place[0]))
        return [(ROLES, role_key(world.image.leader_of(home), home))]
    action = action_of(world, deadline)
    return _list_cell(BEHAVIOUR_OF[type(action)].deadline_cause(action))


def writes(before: World, after: World) -> list[Cell]:
    """Return the places that differ between two worlds; worlds share what did not change."""
    found: list[Cell] = []
    for name in TABLES:
        found += _list_changed(name, getattr(before, name), getattr(after, name))
    found += _list_changed(LEADERS, before.image.leaders, after.image.leaders)
    if before.up != after.up:
        found.append((UP, ""))
    if before.cuts != after.cuts:
        found.append((CUTS, ""))
        changed = set(before.cuts) ^ set(after.cuts)
        found += sorted((PAUSES, one) for one, other in changed if one == other)
    if _passed(before, after):
        found.append((TIME, ""))
    found += [
        (part, "") for part in METADATA if getattr(before.image, part) != getattr(after.image, part)
    ]
    if before.next_producer_id != after.next_producer_id:
        found.append((IDS, ""))
    return found


def _passed(before: World, after: World) -> bool:
    """Return whether time passed between two worlds, which is a step of its own."""
    same = all(getattr(before, name) is getattr(after, name) for name in TABLES)
    return same and before.deadlines != after.deadlines


def cone(causes: Sequence[Sequence[Cause]], step: int) -> tuple[int, ...]:
    """Return every step that led to a step, in order, that step last; `causes` are those of the branch."""
    found = {step}
    todo = [step]
    while todo:
        for earlier, _ in causes[todo.pop()]:
            if earlier not in found:
                found.add(earlier)
                todo.append(earlier)
    return tuple(sorted(found))


def chain(steps: Sequence[Shown], step: int) -> tuple[tuple[int, str], ...]:
    """Return the main chain of causes, newest first: each step, and what was used from it.

    It ends with a fault, which has no cause, or with the first step. `steps` are the payload's.
    """
    found = [(step, "")]
    while not steps[step].get("accident") and steps[step].get("causes"):
        step, words = steps[step]["causes"][0]
        found.append((step, words))
    return tuple(found)


def _list_changed(name: str, before: Table[Any, Any], after: Table[Any, Any]) -> list[Cell]:
    if before is after:
        return []
    if before.keys() == after.keys():
        triples = zip(before.keys(), before.values(), after.values(), strict=True)
        return [(name, key) for key, old, new in triples if old is not new and old != new]
    keys = dict.fromkeys(joined(before.keys(), after.keys()))
    found = [(name, key) for key in keys if before.get(key) != after.get(key)]
    return [*found, (KEYS, name)]


def is_accident(action: ClusterAction) -> bool:
    """Return whether an action has no cause: it has effects only."""
    behaviour = BEHAVIOUR_OF[type(action)]
    return not behaviour.delivers and behaviour.main_cause(action) is None


def _list_cell(cell: Cell | None) -> list[Cell]:
    return [] if cell is None else [cell]


def _words(place: Cell) -> str:
    """Return the name of a place in a reader's words."""
    name, key = place
    match name:
        case "logs":
            return f"the log {key}"
        case "roles":
            broker, role, _ = key
            return f"the {role.replace('_', ' ')} on Broker {broker}"
        case "applications":
            return str(key)
        case "connections":
            return f"the connection {key[0]} to Broker {key[1]}"
        case "leaders":
            return f"who leads {key}"
        case "keys":
            return f"the list of {key}"
        case "up":
            return "the running brokers"
        case "time":
            return "the time"
        case "pauses":
            return f"whether {key} is paused"
        case "cuts":
            return "network partitions and paused hosts"
        case _:
            return METADATA.get(name, "the next producer id")
