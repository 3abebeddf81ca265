"""Trace: the tree of everything that was tried, with a cursor.

Theory of operation. A node is a step that was taken: its action, its parent node, and the world after it. Every world
is kept, so going to a node is a lookup and a branch costs one step; nothing is ever undone. Nodes are numbered in the
order in which they were made, 0 is the start.

A trace itself never changes: `take`, `back`, `jump` and the rest return a new trace that shares everything. Besides the
nodes it keeps

- the *line*: the node ids from the root through the cursor to a tip. After the cursor it follows the child that was
  visited last, so that `back` and `forward` undo each other;
- the *forks*: only the children that are not the plain next one. A long straight run has none;
- the *turns*: at a node with several children, the one that the line took last.

Observers are folds over events: each node keeps the state of each observer, so a property is known at every node of
every branch, and is computed once.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from kipviz.core.log import Log
from kipviz.core.model import Action, Event, Model, Outcome
from kipviz.core.table import Table
from kipviz.core.values import Value


class Observer(Protocol):
    """Something that watches a run and keeps a state: a property, a meter, a ledger.

    The state is an immutable value; `observe` returns a new one, or the same when nothing changed.
    """

    def initial(self, world: Any, /) -> Any:
        """Return the state before the first step."""

    def observe(self, state: Any, action: Any, outcome: Outcome, /) -> Any:
        """Return the state after a step."""


class Node(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One step of a trace. Two nodes are never equal, even where their worlds are.

    The start has no parent and no action. `depth` is the number of steps from the start.
    """

    parent: int | None
    depth: int
    action: Any
    world: Any
    events: tuple[Event, ...]
    observations: tuple[Any, ...]


class Branch(Value, frozen=True):
    """A run that left another one: its parent, and the nodes at its two ends.

    Branch 0 is the main run: it starts at node 0, has no parent, and `at` is 0. Any other branch leaves its parent
    after step `at`; `first` is its first own node.
    """

    id: int
    parent: int | None
    at: int
    first: int
    tip: int


class Trace(msgspec.Struct, frozen=True, eq=False):
    """A tree of runs of one model, with a cursor. Start with `Trace.start`."""

    model: Model
    observers: tuple[Observer, ...]
    _nodes: Log[Node]
    _line: Log[int]
    _forks: Table[int, tuple[int, ...]]
    _turns: Table[int, int]
    cursor: int
    """The id of the node at the cursor."""

    @staticmethod
    def start(model: Model, observers: tuple[Observer, ...] = ()) -> "Trace":
        """Return the trace with the initial world and no step."""
        world = model.initial()
        root = Node(None, 0, None, world, (), tuple(each.initial(world) for each in observers))
        return Trace(
            model, tuple(observers), Log.of((root,)), Log.of((0,)), Table.of(), Table.of(), 0
        )

    # --- where we are --------------------------------------------------------------------------

    @property
    def here(self) -> Node:
        """The node at the cursor."""
        return self._nodes[self.cursor]

    @property
    def depth(self) -> int:
        """How many steps lead from the start to the cursor."""
        return self.here.depth

    @property
    def world(self) -> Any:
        """The world at the cursor."""
        return self.here.world

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened in the step that led to the cursor."""
        return self.here.events

    @property
    def action(self) -> Any:
        """The action that led to the cursor, or None at the start."""
        return self.here.action

    @property
    def observations(self) -> tuple[Any, ...]:
        """The states of the observers at the cursor, in the order of `observers`."""
        return self.here.observations

    @property
    def line(self) -> tuple[int, ...]:
        """The node ids from the start through the cursor to the tip last visited."""
        return tuple(self._line)

    def __len__(self) -> int:
        """How many nodes the whole tree has."""
        return len(self._nodes)

    def __repr__(self) -> str:
        last = len(self._line) - 1
        return f"Trace(step {self.depth} of {last}, node {self.cursor} of {len(self)} nodes)"

    # --- stepping ------------------------------------------------------------------------------

    def take(self, action: Action) -> "Trace":
        """Take a step from the cursor and move to its end.

        If this step was taken from here before, the trace follows it; otherwise it grows, in the middle of a run by a
        branch.

        Raises:
            NotEnabled: if the action is not possible here.
        """
        cursor, nodes = self.cursor, self._nodes
        here, size = nodes[cursor], len(nodes)
        # No step was taken from the newest node.
        children = () if cursor + 1 == size else self.children(cursor)
        for child in children:
            if nodes[child].action == action:
                return self.jump(child)
        outcome = self.model.step(here.world, action)
        observations = here.observations
        if observations:
            observations = self._observe(observations, action, outcome)
        depth = here.depth + 1
        # On the first run id and depth are one number: one object for it in each step, not three.
        made = depth if depth == size else size
        node = Node(cursor, depth, action, outcome.world, outcome.events, observations)
        line, forks, turns = self._line, self._forks, self._turns
        if made != cursor + 1:
            forks = forks.set(cursor, (*forks.get(cursor, ()), made))
        if children:
            turns = turns.set(cursor, made)
        if len(line) > depth:
            line = line.truncate(depth)
        return Trace(
            self.model, self.observers, nodes.append(node), line.append(made), forks, turns, made
        )

    def back(self) -> "Trace":
        """Go one step back; at the start stay there."""
        parent = self.here.parent
        return self if parent is None else self._move_cursor(parent)

    def forward(self) -> "Trace":
        """Go one step forward, to the child visited last; at the tip stay there."""
        after = self.depth + 1
        return self if after == len(self._line) else self._move_cursor(self._line[after])

    def first(self) -> "Trace":
        """Go to the start."""
        return self._move_cursor(0)

    def last(self) -> "Trace":
        """Go to the tip of the line."""
        return self._move_cursor(self._line[-1])

    def jump(self, node: int) -> "Trace":
        """Go to any node; if it is on another branch, the line moves to that branch.

        On the line this is a lookup; to another branch it costs as much as that branch is long.

        Raises:
            IndexError: if the trace has no such node.
        """
        target = self.node(node)
        if self._on_line(node, target):
            return self._move_cursor(node)
        turns = self._turns
        own: list[int] = []
        while not self._on_line(node, target):
            own.append(node)
            assert target.parent is not None  # the root is on every line
            parent = target.parent
            if len(self.children(parent)) > 1:
                turns = turns.set(parent, node)
            node, target = parent, self._nodes[parent]
        own.reverse()
        cursor = own[-1]
        own.extend(self._onwards(cursor))
        line = self._line.truncate(target.depth + 1).extend(own)
        return msgspec.structs.replace(self, _line=line, _turns=turns, cursor=cursor)

    # --- the tree ------------------------------------------------------------------------------

    def node(self, node: int) -> Node:
        """Return a node by its id.

        Raises:
            IndexError: if the trace has no such node.
        """
        if not 0 <= node < len(self._nodes):
            raise IndexError(
                f"the trace has no node {node}; its nodes are 0 to {len(self._nodes) - 1}"
            )
        return self._nodes[node]

    def children(self, node: int) -> tuple[int, ...]:
        """Return the ids of the steps taken from a node, oldest first.

        Raises:
            IndexError: if the trace has no such node.
        """
        after, made = node + 1, len(self._nodes)
        if not 0 <= node < made:
            self.node(node)  # raises the error
        more = self._forks.get(node, ())
        if after < made and self._nodes[after].parent == node:
            return (after, *more)
        return more

    def path(self, node: int) -> tuple[int, ...]:
        """Return the node ids from the start to a node, both included.

        Raises:
            IndexError: if the trace has no such node.
        """
        target = self.node(node)
        if self._on_line(node, target):
            return self._line[: target.depth + 1]
        up: list[int] = [node]
        while target.parent is not None:
            up.append(target.parent)
            target = self._nodes[target.parent]
        return tuple(reversed(up))

    def branches(self) -> tuple[Branch, ...]:
        """Return every branch, in the order in which they were started; the main run comes first."""
        branches = [Branch(0, None, 0, 0, 0)]
        owner = [0]  # of each node, the branch it belongs to
        for id_, node in enumerate(self._nodes[1:], start=1):
            assert node.parent is not None  # only node 0 has none
            above = owner[node.parent]
            if self.children(node.parent)[0] == id_:
                branches[above] = branches[above].but(tip=id_)
                owner.append(above)
            else:
                owner.append(len(branches))
                branches.append(Branch(len(branches), above, node.depth - 1, id_, id_))
        return tuple(branches)

    def only(self, tips: Iterable[int]) -> tuple["Trace", dict[int, int]]:
        """Return the trace with only the branches that lead to one of some nodes.

        The second result has the new id of every remaining node; the cursor's path remains, too.

        Raises:
            IndexError: if the trace has no such node.
        """
        wanted = {node for tip in (self.cursor, *tips) for node in self.path(tip)}
        ids = {old: new for new, old in enumerate(sorted(wanted))}
        if len(ids) == len(self._nodes):
            return self, ids
        nodes: list[Node] = []
        forks: dict[int, tuple[int, ...]] = {}
        for old, new in ids.items():
            node = self._nodes[old]
            if node.parent is not None:
                parent = ids[node.parent]
                node = msgspec.structs.replace(node, parent=parent)
                if new != parent + 1:
                    forks[parent] = (*forks.get(parent, ()), new)
            nodes.append(node)
        turns = {
            ids[node]: ids[child]
            for node, child in self._turns.items()
            if node in ids and child in ids
        }
        line = [ids[node] for node in self.path(self.cursor)]
        made = Trace(
            self.model,
            self.observers,
            Log.of(tuple(nodes)),
            Log.of(tuple(line)),
            Table.of(forks),
            Table.of(turns),
            line[-1],
        )
        return msgspec.structs.replace(
            made, _line=made._line.extend(tuple(made._onwards(line[-1])))
        ), ids

    # --- inside --------------------------------------------------------------------------------

    def _observe(self, states: tuple[Any, ...], action: Any, outcome: Outcome) -> tuple[Any, ...]:
        after = tuple(
            each.observe(state, action, outcome)
            for each, state in zip(self.observers, states, strict=True)
        )
        # Most steps change no observation: then the nodes share one tuple.
        same = all(new is old for new, old in zip(after, states, strict=True))
        return states if same else after

    def _move_cursor(self, node: int) -> "Trace":
        return msgspec.structs.replace(self, cursor=node)

    def _on_line(self, id_: int, node: Node) -> bool:
        return node.depth < len(self._line) and self._line[node.depth] == id_

    def _onwards(self, node: int) -> Iterator[int]:
        """Yield the nodes after a node, along the children visited last."""
        while children := self.children(node):
            node = self._turns.get(node, children[0])
            yield node
