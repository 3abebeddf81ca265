"""Exhaustive search: every interleaving of a small cluster, breadth first.

The first counterexample found is a shortest one. A state of the search is the world together with
what the properties remember, so that a verdict never depends on the way that led there. "For
ever" is decided on the finished graph: a state from which no path without a new fault leads to
one where nothing is pending.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from kipviz.checking.liveness import settle
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.model import ClusterModel
from kipviz.core.values import Value
from kipviz.properties.pending import Open
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.scenarios.scenario import PROPERTIES

Key = tuple[bytes, ...]
PROGRESS_EVERY = 256
FREE_KINDS = (
    "deliver",
    "load",
    "replicate",
    "sender",
    "repair",
    "application",
    "refresh",
    "expiry",
)


class Counterexample(Value, frozen=True):
    """A shortest run that breaks a property, as actions from the start."""

    property: str
    reason: str
    actions: tuple[Any, ...]


class Explored(Value, frozen=True):
    """What a search found.

    `complete` says that every reachable state was visited: only then does the absence of a
    counterexample mean that the properties hold, for this cluster and this fault budget.
    `undecided` counts the states of which it stayed open whether what is pending is so for ever.
    """

    states: int
    transitions: int
    depth: int
    complete: bool
    counterexamples: tuple[Counterexample, ...]
    undecided: int = 0

    @property
    def sentence(self) -> str:
        """The result in words."""
        size = f"{self.states:,} states, {self.transitions:,} transitions, depth {self.depth}"
        if not self.complete:
            size = f"{size}, not complete"
        if self.undecided:
            size = f"{size}, {self.undecided:,} of them undecided"
        if not self.counterexamples:
            sure = self.complete and not self.undecided
            word = "no property is broken" if sure else "no property is broken so far"
            return f"{size}: {word}"
        broken = "; ".join(
            f"{c.property} breaks after {len(c.actions)} steps: {c.reason}"
            for c in self.counterexamples
        )
        return f"{size}: {broken}"


class _Graph:
    """The part of the state space that has been seen."""

    def __init__(self) -> None:
        self.parent: dict[Key, tuple[Key, ClusterAction] | None] = {}
        self.back: dict[Key, list[Key]] = {}
        self.calm: list[Key] = []
        self.due: dict[Key, tuple[Any, Open]] = {}

    def path(self, key: Key) -> tuple[ClusterAction, ...]:
        """Give the way on which a state was first reached."""
        actions: list[ClusterAction] = []
        step = self.parent[key]
        while step is not None:
            key, action = step
            actions.append(action)
            step = self.parent[key]
        return tuple(reversed(actions))


def explore(
    model: ClusterModel,
    states_max: int = 200_000,
    progress: Callable[[int, int], bool] | None = None,
) -> Explored:
    """Visit every state that a cluster can reach.

    `progress` is called with (states, depth) before every 256th state; when it gives False the
    search stops and what was found so far is kept.

    Raises:
        ValueError: if states_max is not a whole number from 1.
    """
    if type(states_max) is not int or states_max < 1:
        raise ValueError(f"states_max is a whole number from 1, not {states_max!r}")
    graph, transitions, depth, found = _Graph(), 0, 0, dict[str, Counterexample]()
    world = model.initial()
    states = tuple(p.initial(world) for p in PROPERTIES)
    first = _key(world, states)
    graph.parent[first] = None
    _note(graph, first, world, states, found)
    queue: deque[tuple[Key, Any, tuple[Any, ...], int]] = deque([(first, world, states, 0)])
    complete = True
    for visited in count():
        if not queue:
            break
        key, world, states, depth = queue.popleft()
        if len(graph.parent) >= states_max or (
            progress is not None
            and visited % PROGRESS_EVERY == 0
            and not progress(len(graph.parent), depth)
        ):
            complete = False
            break
        for action, after, observed in _successors(model, world, states):
            transitions += 1
            next_key = _key(after, observed)
            if action.KIND in FREE_KINDS:
                graph.back.setdefault(next_key, []).append(key)
            if next_key in graph.parent:
                continue
            graph.parent[next_key] = (key, action)
            if _note(graph, next_key, after, observed, found):
                # Below a broken promise there is nothing more to learn about it.
                queue.append((next_key, after, observed, depth + 1))
    undecided = _judge_liveness(model, graph, found) if complete else 0
    order = [p.name for p in PROPERTIES if p.name in found]
    return Explored(
        len(graph.parent),
        transitions,
        depth,
        complete,
        tuple(found[name] for name in order),
        undecided,
    )


def _successors(
    model: ClusterModel, world: Any, states: tuple[Any, ...]
) -> Iterator[tuple[ClusterAction, Any, tuple[Any, ...]]]:
    for action in model.enabled(world):
        outcome = model.step(world, action)
        observed = tuple(
            p.observe(s, action, outcome) for p, s in zip(PROPERTIES, states, strict=True)
        )
        yield action, outcome.world, observed


def _key(world: Any, states: tuple[Any, ...]) -> Key:
    return (world.digest, *(s.digest for s in states))


def _note(
    graph: _Graph,
    key: Key,
    world: Any,
    states: tuple[Any, ...],
    found: dict[str, Counterexample],
) -> bool:
    """Judge a new state; say whether the search should go on from it."""
    for prop, state in zip(PROPERTIES, states, strict=True):
        finding = prop.finding(state)
        if finding.status == BROKEN:
            if prop.name not in found:
                found[prop.name] = Counterexample(prop.name, finding.reason, graph.path(key))
            return False
        if prop is PROPERTIES[1]:
            if finding.status == HOLDS:
                graph.calm.append(key)
            else:
                graph.due[key] = (world, state)
    return True


def _judge_liveness(model: ClusterModel, graph: _Graph, found: dict[str, Counterexample]) -> int:
    """Find the nearest state in which something is pending for ever; count the undecided ones.

    Most states lead back to calm within the graph. For the others the budget may be what stops
    them: timers go on in a real cluster, so `settle` tries them with timers unbounded, deepest
    first, because what leads to a state that settles settles, too.
    """
    can_settle = set(graph.calm)
    _spread(graph, can_settle, list(graph.calm))
    stuck: dict[Key, str] = {}
    dead_ends: set[tuple[bytes, bytes]] = set()
    undecided = 0
    for key, (world, pending) in reversed(graph.due.items()):
        if key in can_settle:
            continue
        settled = settle(model, world, pending, dead_ends)
        if settled.answer == "for ever":
            stuck[key] = settled.what
            continue
        undecided += settled.answer == "undecided"
        can_settle.add(key)
        _spread(graph, can_settle, [key])
    for key in graph.due:
        if key in stuck and key not in can_settle:
            name = PROPERTIES[1].name
            reason = f"{stuck[key]}, and no continuation without a new fault resolves it"
            found[name] = Counterexample(name, reason, graph.path(key))
            break
    return undecided


def _spread(graph: _Graph, can_settle: set[Key], stack: list[Key]) -> None:
    while stack:
        for before in graph.back.get(stack.pop(), ()):
            if before not in can_settle:
                can_settle.add(before)
                stack.append(before)
