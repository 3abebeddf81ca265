"""A cache of steps, so that a run or a search need not compute them again.

Random runs and searches of one cluster meet the same local situations over and over: the same request arrives at a
coordinator in the same state, whatever the other brokers and clients have done meanwhile. A step is a function of the
world that reads few places in it. So the places that it reads are noted in order (`core.watched`), and so are its
changes. If all these places hold the same objects again, the step has the same result: it reads the same first place,
finds the same object, therefore reads the same second place, and so on. That is why the cache is a tree: a node is a
place, its branches are the objects that were found there, and a leaf is the result of the step.

A step with a timed clock reads deadlines, and records that carry timestamps make each step different: such a cluster
has no cache. The fault budget is not a place: a step spends it before it does anything else.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from kipviz.brokers.context import Image
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.cluster.world import World
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.core.watched import KEYS, Notes, Watched

TABLES = ("logs", "roles", "applications", "connections")
_NUMBER = {name: number for number, name in enumerate(TABLES)}

# The number of cached steps, some 2 kB each with what only they hold; beyond that the cache starts over.
STEPS_MAX = 40_000
# The number of tables found by their predecessor and what was put into it, some 400 bytes each.
TABLES_MAX = 40_000

# What a step puts into one table: keys and values, `None` for a removed key.
_Entries: TypeAlias = tuple[tuple[Any, Any], ...]


class _Branch(msgspec.Struct, eq=False, gc=False):
    """An object that was found at a place (kept, so that its id is its own), and the next node."""

    found: Any
    then: _Node


class _Look(msgspec.Struct, eq=False, gc=False):
    """A place that a step reads: the next node after the object found first, and after others by their ids.

    Most places have one branch. `of_keys`: the place is the set of the table's keys. A node never contains itself, so
    the cycle collector, which would walk through the whole cache, need not visit it.
    """

    table: int
    key: Any
    of_keys: bool
    found: Any
    then: _Node
    others: dict[Any, _Branch] | None = None


class _Done(msgspec.Struct, eq=False, gc=False):
    """The result of a step: its entries in tables, the rest of the world, and its events and checks."""

    written: tuple[tuple[int, _Entries], ...]
    image: Image
    up: tuple[int, ...]
    cuts: tuple[tuple[str, str], ...]
    next_producer_id: int
    events: tuple[Event, ...]
    checks: tuple[Value, ...]


_Node: TypeAlias = _Look | _Done
_Table: TypeAlias = Table[Any, Any]


class StepMemory:
    """The results of one cluster's steps, by the places that they read."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._roots: dict[Any, tuple[Image, _Node]] = {}
        self._met: dict[Any, Any] = {}
        self._kept = 0
        # The next table by a table and its new entries, by both objects (kept, so that their ids are their own), and
        # the first equal one of each of these tables: few are different, whatever the worlds around them are.
        self._became: dict[tuple[int, int], tuple[_Table, _Entries, _Table]] = {}
        self._tables: dict[_Table, _Table] = {}

    def find_outcome(
        self, world: World, action: ClusterAction, budget: FaultBudget
    ) -> Outcome | None:
        """Return the result of an action in a world, if it is known; `budget` is the rest of the budget."""
        root = self._roots.get(_root(world, action))
        if root is None:
            return None
        node = root[1]
        tables = _tables(world)
        while type(node) is _Look:
            table: Any = tables[node.table]
            found = table.keys() if node.of_keys else table.get(node.key)
            if found is node.found:
                node = node.then
                continue
            branch = node.others.get(_mark(node, found)) if node.others is not None else None
            if branch is None:
                return None
            node = branch.then
        return self._again(world, node, budget)  # type: ignore[arg-type]  # what is no look is done

    def watch_reads(self, world: World, notes: Notes) -> World:
        """Return a world whose tables note what a step reads."""
        tables: dict[str, Any] = {n: Watched(n, getattr(world, n), notes) for n in TABLES}
        return world.but(**tables)

    def keep(
        self,
        world: World,
        action: ClusterAction,
        notes: Notes,
        outcome: Outcome,
        budget: FaultBudget,
    ) -> Outcome:
        """Store the result of a step in a watched world; return it without the watching."""
        after: World = outcome.world
        changed: dict[int, list[tuple[Any, Any]]] = {}
        for name, key in notes.written:
            new = getattr(after, name).table.get(key)
            if new is not getattr(world, name).get(key):
                found = new if new is None else self._met.setdefault(new, new)
                changed.setdefault(_NUMBER[name], []).append((key, found))
        written = ((number, tuple(entries)) for number, entries in changed.items())
        done = _Done(
            tuple((number, self._met.setdefault(each, each)) for number, each in written),
            self._met.setdefault(after.image, after.image),
            after.up,
            after.cuts,
            after.next_producer_id,
            outcome.events,
            outcome.checks,
        )
        if self._kept >= STEPS_MAX:
            self._roots.clear()
            self._met.clear()
            self._became.clear()
            self._tables.clear()
            self._kept = 0
        self._kept += 1
        node: _Node = done
        for name, key in reversed(notes.read):
            if name == KEYS:
                node = _Look(_NUMBER[key], None, True, getattr(world, key).keys(), node)
            else:
                node = _Look(_NUMBER[name], key, False, getattr(world, name).get(key), node)
        self._hang(world, action, node)
        return self._again(world, done, budget)

    def alike(self, before: World, outcome: Outcome) -> Outcome:
        """Return a fault's result with objects met before, so that the next steps may be known."""
        after: World = outcome.world
        tables = list(_tables(after))
        for number, (old, new) in enumerate(zip(_tables(before), _tables(after), strict=True)):
            if new is old:
                continue
            for key, value in new.items():
                if value is not old.get(key):
                    tables[number] = tables[number].set(key, self._met.setdefault(value, value))
        logs, roles, applications, connections = tables
        image = self._met.setdefault(after.image, after.image)
        world = after.but(
            image=image, logs=logs, roles=roles, applications=applications, connections=connections
        )
        return outcome.but(world=world)

    def _again(self, world: World, done: _Done, budget: FaultBudget) -> Outcome:
        """Apply a stored result to a world."""
        tables: list[Any] = list(_tables(world))
        for number, entries in done.written:
            table = tables[number]
            known = self._became.get((id(table), id(entries)))
            tables[number] = self._change(table, entries) if known is None else known[2]
        logs, roles, applications, connections = tables
        after = World(
            done.image,
            logs,
            roles,
            applications,
            connections,
            done.up,
            budget,
            done.cuts,
            done.next_producer_id,
            world.deadlines,
            world.now_ms,
        )
        return Outcome(after, done.events, done.checks)

    def _change(self, table: _Table, entries: _Entries) -> _Table:
        """Put entries into a table; equal results are one object."""
        after = table
        for key, value in entries:
            after = after.without(key) if value is None else after.set(key, value)
        if len(self._became) >= TABLES_MAX:
            self._became.clear()
            self._tables.clear()
        after = self._tables.setdefault(after, after)
        self._became[id(table), id(entries)] = table, entries, after
        return after

    def _hang(self, world: World, action: ClusterAction, way: _Node) -> None:
        """Add a path of reads below its known part."""
        key = _root(world, action)
        known = self._roots.get(key)
        if known is None:
            self._roots[key] = (world.image, way)
            return
        here = known[1]
        while type(here) is _Look and type(way) is _Look:
            if way.found is here.found:
                here, way = here.then, way.then
                continue
            if here.others is None:
                here.others = {}
            mark = _mark(here, way.found)
            there = here.others.get(mark)
            if there is None:
                here.others[mark] = _Branch(way.found, way.then)
                return
            here, way = there.then, way.then


def _root(world: World, action: ClusterAction) -> Any:
    """Return the part of a world that is in no table, with the action; an image is its own key."""
    return action, id(world.image), world.up, world.cuts, world.next_producer_id


def _tables(world: World) -> tuple[Any, ...]:
    """Return the tables of a world in the order of TABLES."""
    return world.logs, world.roles, world.applications, world.connections


def _mark(look: _Look, found: Any) -> Any:
    """Return the key of an object at a place: keys of a table stand for themselves."""
    return found if look.of_keys else id(found)
