"""All states that finished searches reached, as values of named variables, and their steps with their questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import msgspec

from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds, Explored
from kipviz.checking.tla.rule_recorder import Listener, RuleAnswer
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.core.table import Table
from kipviz.designs.design import Design
from kipviz.properties.verdict import Property, States
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.setting_changes import change_story

# The position of a value in a world: the field, and its key if the field is a table. A property is ("property", its
# name).
Place: TypeAlias = tuple[str, *tuple[Any, ...]]

PROPERTY = "property"
ABSENT = "absent"
STATES_MAX = 20_000


class SearchStep(msgspec.Struct, frozen=True, eq=False):
    """One step of the search: the numbers of its two states."""

    before: int
    after: int
    asked: tuple[RuleAnswer, ...]


class Variable(msgspec.Struct, frozen=True, eq=False):
    """A part of the state that changes in the search.

    `values` are its values in the order in which they were met; `at` is for each state the index of its value among
    them.
    """

    place: Place
    values: tuple[Any, ...]
    at: tuple[int, ...]


class Searched(msgspec.Struct, frozen=True, eq=False):
    """A design, the result of its search, and the numbers of its states: `count` of them from `first`."""

    design: Design
    explored: Explored
    first: int
    count: int


class Reached(msgspec.Struct, frozen=True, eq=False):
    """What searches of one cluster reached, each under its own design.

    `broken` are the states that break a property: a search does not go beyond them. `steady` are the positions whose
    value is the same in all states. `labels` are the names that an action had where it was possible.
    """

    searches: tuple[Searched, ...]
    properties: tuple[Property, ...]
    variables: tuple[Variable, ...]
    steady: tuple[Place, ...]
    steps: dict[ClusterAction, tuple[SearchStep, ...]]
    labels: dict[ClusterAction, tuple[str, ...]]
    broken: frozenset[int]

    @property
    def questions(self) -> dict[str, tuple[tuple[object, ...], ...]]:
        """The questions to the rules of each slot, in the order in which they came up."""
        found: dict[str, dict[tuple[object, ...], None]] = {}
        for steps in self.steps.values():
            for step in steps:
                for each in step.asked:
                    found.setdefault(each.slot, {})[each.arguments] = None
        return {slot: tuple(arguments) for slot, arguments in found.items()}

    def of(self, state: int) -> int:
        """Return the index of the search that has a state."""
        return next(n for n, each in enumerate(self.searches) if state < each.first + each.count)


class NotWhole(ValueError):
    """The search cannot be written as a module; the message states the reason."""


def search_designs(
    scenario: Scenario,
    designs: Sequence[Design],
    budget: FaultBudget,
    settings: Sequence[str] = (),
    states_max: int = STATES_MAX,
    go_on: Callable[[int, int], bool] | None = None,
) -> Reached:
    """Search a scenario's cluster completely under each design, and return everything that was reached.

    Raises:
        NotWhole: if a search does not end within the bound, or was stopped.
        BadChange: if a setting is unknown.
    """
    gathered = _Gathered()
    for design in designs:
        story, under = change_story(scenario.searched, design, tuple(settings))
        model = story.model(under, budget)
        listener = Listener()
        search = Search(listener.model(model, under), remembers=False)
        found = search.run(Bounds(states_max=states_max), go_on)
        if found.cancelled:
            raise NotWhole("a module needs a complete search, and this one was stopped")
        if not found.complete:
            raise NotWhole(
                f"a module is written of a whole search, and the one under {design.name} stopped at {found.stopped}: "
                "allow fewer faults, or take a smaller scenario"
            )
        gathered.add(under, search, listener, found)
    return gathered.all()


class _Gathered:
    """Rebuilds every state of finished searches, and takes every step from it."""

    def __init__(self) -> None:
        self._searches: list[Searched] = []
        self._properties: tuple[Property, ...] = ()
        self._values: dict[Place, dict[Any, int]] = {}
        self._at: dict[Place, list[int]] = {}
        self._steps: dict[ClusterAction, list[SearchStep]] = {}
        self._labels: dict[ClusterAction, dict[str, None]] = {}
        self._broken: set[int] = set()
        self._count = 0

    def add(self, design: Design, search: Search, listener: Listener, found: Explored) -> None:
        """Add a search."""
        model, graph, first = search.model, search.graph, self._count
        self._properties = search.properties
        worlds: list[tuple[World, States]] = []
        for number in range(len(graph)):
            world, states = _state(search, worlds, number)
            worlds.append((world, states))
            self._note(search, world, states)
            if graph.calm[number] == 2:
                self._broken.add(first + number)
                continue
            for action in model.enabled(world):
                with listener.listening() as heard:
                    after, observed = search.take(world, states, action)
                to = graph.numbers[search.key(after, observed)]
                step = SearchStep(first + number, first + to, tuple(heard))
                self._steps.setdefault(action, []).append(step)
                self._labels.setdefault(action, {})[label(world, action)] = None
        self._searches.append(Searched(design, found, first, len(graph)))

    def all(self) -> Reached:
        """Return everything that was gathered."""
        variables, steady = [], []
        for place, values in self._values.items():
            at = self._at[place]
            if len(at) < self._count:
                at += [values.setdefault(ABSENT, len(values))] * (self._count - len(at))
            if len(values) == 1:
                steady.append(place)
            else:
                variables.append(Variable(place, tuple(values), tuple(at)))
        return Reached(
            tuple(self._searches),
            self._properties,
            tuple(variables),
            tuple(steady),
            {action: tuple(each) for action, each in self._steps.items()},
            {action: tuple(each) for action, each in self._labels.items()},
            frozenset(self._broken),
        )

    def _note(self, search: Search, world: World, states: States) -> None:
        number = self._count
        properties = zip(search.properties, states, strict=True)
        remembered = (((PROPERTY, prop.name), state) for prop, state in properties)
        for place, value in chain(list_places(world), remembered):
            values, at = self._values.setdefault(place, {}), self._at.setdefault(place, [])
            if len(at) < number:
                at += [values.setdefault(ABSENT, len(values))] * (number - len(at))
            at.append(values.setdefault(value, len(values)))
        self._count += 1


def _state(search: Search, worlds: list[tuple[World, States]], number: int) -> tuple[World, States]:
    """Rebuild a state of a search from the state that it was first reached from."""
    graph, model = search.graph, search.model
    if not number:
        world = model.initial()
        return world, tuple(p.initial(world) for p in search.properties)
    world, states = worlds[graph.came_from[number]]
    after, observed = search.take(world, states, model.enabled(world)[graph.by[number]])
    # As in the search's queue, where a clock of records is reset.
    return model.share_tables(after), observed


def list_places(world: World) -> Iterator[tuple[Place, Any]]:
    """Yield the positions of a world with their values; a table has one position for each key."""
    for name in world.__struct_fields__:
        value = getattr(world, name)
        if isinstance(value, Table):
            for key, each in value.items():
                yield (name, *key) if isinstance(key, tuple) else (name, key), each
        else:
            yield (name,), value
