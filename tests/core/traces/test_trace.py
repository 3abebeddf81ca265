"""The tree of runs."""

import tracemalloc

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kipviz.core.model import Action, Event, NotEnabled, Outcome
from kipviz.core.traces.trace import Branch, Trace
from kipviz.core.values import Value, fingerprint


class Add(Action, frozen=True):
    by: int


class Added(Event, frozen=True):
    by: int


class World(Value, frozen=True):
    total: int


class Counter:
    """A model that counts, from 0 and never below."""

    action_type = Add

    def __init__(self):
        self.steps = 0

    def initial(self):
        return World(0)

    def enabled(self, world):
        return tuple(Add(by) for by in (1, 2, 3, -1) if self.why_not(world, Add(by)) is None)

    def why_not(self, world, action):
        return "the count would be negative" if world.total + action.by < 0 else None

    def step(self, world, action):
        self.steps += 1
        if why := self.why_not(world, action):
            raise NotEnabled(action, why)
        return Outcome(World(world.total + action.by), (Added(action.by),))

    def share_tables(self, world):
        return world

    def search_key(self, world):
        return fingerprint(world)

    def kind(self, action):
        return "deliver"


class Largest:
    """An observer: the largest total so far."""

    def initial(self, world):
        return world.total

    def observe(self, state, action, outcome):
        return max(state, outcome.world.total)


class Steps:
    """An observer: all steps so far, in words."""

    def initial(self, world):
        return ""

    def observe(self, state, action, outcome):
        return f"{state} {action.by:+}={outcome.world.total}"


def run(trace, *steps):
    for by in steps:
        trace = trace.take(Add(by))
    return trace


@pytest.fixture
def start():
    return Trace.start(Counter(), (Largest(), Steps()))


def test_a_trace_starts_at_the_initial_world(start):
    assert (start.cursor, start.depth, start.world) == (0, 0, World(0))
    assert (start.action, start.events, start.observations) == (None, (), (0, ""))
    assert start.line == (0,)
    assert len(start) == 1
    assert start.node(0).parent is None
    assert start.back().cursor == start.forward().cursor == start.last().cursor == 0
    assert start.branches() == (Branch(0, None, 0, 0, 0),)


def test_a_step_leads_to_a_new_world_with_its_events_and_observations(start):
    trace = run(start, 1, 3, -1)
    assert (trace.cursor, trace.depth, trace.world) == (3, 3, World(3))
    assert (trace.action, trace.events) == (Add(-1), (Added(-1),))
    assert trace.observations == (4, " +1=1 +3=4 -1=3")
    assert trace.line == (0, 1, 2, 3)
    assert start.line == (0,), "the trace before the steps has not changed"
    assert repr(trace) == "Trace(step 3 of 3, node 3 of 4 nodes)"


def test_back_and_forward_undo_each_other(start):
    trace = run(start, 1, 2, 3)
    assert trace.back().back().world == World(1)
    assert trace.back().back().forward().forward().cursor == 3
    assert trace.forward().cursor == 3
    assert trace.first().cursor == 0
    assert trace.first().last().cursor == 3
    assert trace.first().line == trace.line


def test_a_jump_to_any_step_is_a_lookup(start):
    trace = run(start, 1, 2, 3)
    steps = trace.model.steps
    assert [trace.jump(node).world.total for node in (2, 0, 3, 1)] == [3, 0, 6, 1]
    assert trace.model.steps == steps, "nothing was simulated again"
    assert trace.jump(1).world is trace.node(1).world


def test_another_action_in_the_middle_forks_and_keeps_the_old_run(start):
    main = run(start, 1, 2, 3)
    fork = run(main.jump(1), 3, 3)
    assert fork.world == World(7)
    assert fork.line == (0, 1, 4, 5)
    assert fork.observations == (7, " +1=1 +3=4 +3=7")
    assert fork.children(1) == (2, 4)
    assert fork.path(3) == (0, 1, 2, 3)
    assert fork.path(5) == (0, 1, 4, 5)
    assert fork.jump(3).line == (0, 1, 2, 3)
    assert fork.jump(3).world is main.world, "branches share their worlds"
    assert main.line == (0, 1, 2, 3), "the trace before the fork has not changed"


def test_the_same_action_follows_the_step_taken_before_and_simulates_nothing(start):
    trace = run(start, 1, 2, 3)
    steps = trace.model.steps
    again = run(trace.first(), 1, 2)
    assert (again.cursor, again.line, len(again)) == (2, (0, 1, 2, 3), 4)
    assert trace.model.steps == steps


def test_following_a_step_of_another_branch_moves_the_line_there(start):
    fork = run(run(start, 1, 2, 3).jump(1), 3, 3)
    moved = fork.jump(1).take(Add(2))
    assert (moved.cursor, moved.line) == (2, (0, 1, 2, 3))
    assert moved.back().forward().cursor == 2


def test_forward_goes_to_the_child_last_visited(start):
    trace = run(run(start, 1, 2).jump(1), 3, 3)
    assert trace.jump(1).forward().cursor == 3
    assert trace.jump(2).jump(1).forward().cursor == 2
    assert trace.jump(2).jump(4).jump(0).forward().forward().cursor == 3
    assert trace.jump(2).first().last().cursor == 2


def test_a_jump_lands_on_a_line_that_goes_on_where_that_branch_was_left(start):
    trace = run(start, 1, 1, 1)  # 1 2 3
    trace = run(trace.jump(1), 2, 1)  # 4 5
    trace = run(trace.jump(4), 2, 1)  # 6 7, a branch of the branch
    trace = trace.jump(3)
    assert trace.line == (0, 1, 2, 3)
    assert trace.jump(4).line == (0, 1, 4, 6, 7)
    assert trace.jump(5).line == (0, 1, 4, 5)
    assert trace.jump(5).jump(3).jump(4).line == (0, 1, 4, 5)


def test_a_run_can_go_on_at_an_old_tip(start):
    trace = run(run(start, 1, 2).jump(1), 3)
    longer = run(trace.jump(2), 1, 1)
    assert longer.line == (0, 1, 2, 4, 5)
    assert longer.children(2) == (4,)
    assert longer.path(5) == (0, 1, 2, 4, 5)
    assert longer.jump(0).forward().forward().forward().cursor == 4


def test_branches_say_where_they_leave_and_where_they_end(start):
    trace = run(start, 1, 1, 1)  # 1 2 3
    trace = run(trace.jump(1), 2, 1)  # 4 5
    trace = run(trace.jump(4), 2)  # 6
    trace = run(trace.jump(3), 1)  # 7, on the main run again
    trace = run(trace.jump(0), 3)  # 8
    assert trace.branches() == (
        Branch(id=0, parent=None, at=0, first=0, tip=7),
        Branch(id=1, parent=0, at=1, first=4, tip=5),
        Branch(id=2, parent=1, at=2, first=6, tip=6),
        Branch(id=3, parent=0, at=0, first=8, tip=8),
    )


def test_an_action_that_is_not_enabled_is_refused_and_leaves_the_trace_as_it_is(start):
    with pytest.raises(NotEnabled, match="the count would be negative"):
        start.take(Add(-1))
    assert len(start) == 1


@pytest.mark.parametrize("node", [-1, 4, 1000])
def test_a_node_that_is_not_there_is_refused(start, node):
    trace = run(start, 1, 1, 1)
    for ask in (trace.jump, trace.node, trace.path, trace.children):
        with pytest.raises(IndexError, match=f"no node {node}; its nodes are 0 to 3"):
            ask(node)


def test_observations_that_do_not_change_are_shared(start):
    trace = run(Trace.start(Counter(), (Largest(),)), 3, -1, -1)
    assert trace.observations is trace.back().observations is trace.back().back().observations


class TraceIsATree(RuleBasedStateMachine):
    """Whatever is done to a trace, it is what a plain tree of nodes would be."""

    def __init__(self):
        super().__init__()
        self.trace = Trace.start(Counter(), (Steps(),))
        self.steps = [()]  # of each node, the steps that lead to it
        self.last = {}  # of each node, the child visited last
        self.cursor = 0

    def visit(self, node):
        self.cursor = node
        for at in range(1, len(self.steps[node]) + 1):
            above = self.steps.index(self.steps[node][: at - 1])
            self.last[above] = self.steps.index(self.steps[node][:at])

    @rule(by=st.integers(1, 3))
    def take(self, by):
        self.trace = self.trace.take(Add(by))
        steps = (*self.steps[self.cursor], by)
        if steps not in self.steps:
            self.steps.append(steps)
        self.visit(self.steps.index(steps))

    @rule(data=st.data())
    def jump(self, data):
        node = data.draw(st.integers(0, len(self.steps) - 1))
        self.trace = self.trace.jump(node)
        self.visit(node)

    @rule()
    def back(self):
        self.trace = self.trace.back()
        steps = self.steps[self.cursor]
        self.cursor = self.steps.index(steps[:-1])

    @rule()
    def forward(self):
        self.trace = self.trace.forward()
        self.cursor = self.last.get(self.cursor, self.cursor)

    @rule()
    def first(self):
        self.trace = self.trace.first()
        self.cursor = 0

    @rule()
    def last_of_line(self):
        self.trace = self.trace.last()
        while self.cursor in self.last:
            self.cursor = self.last[self.cursor]

    @invariant()
    def it_is_the_same_tree(self):
        trace = self.trace
        assert len(trace) == len(self.steps)
        assert trace.cursor == self.cursor
        line, node = [0], 0
        while node in self.last:
            node = self.last[node]
            line.append(node)
        assert list(trace.line) == line
        for id_, steps in enumerate(self.steps):
            node = trace.node(id_)
            assert node.world.total == sum(steps)
            assert node.depth == len(steps)
            assert trace.path(id_) == tuple(
                self.steps.index(steps[:at]) for at in range(len(steps) + 1)
            )
            assert trace.children(id_) == tuple(
                other for other, longer in enumerate(self.steps) if longer and longer[:-1] == steps
            )


TestTraceIsATree = TraceIsATree.TestCase
TestTraceIsATree.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_node_costs_at_most_400_bytes_beyond_its_world():
    class Still(Counter):
        def step(self, world, action):
            return Outcome(world, EVENTS)

    EVENTS = (Added(1),)  # noqa: N806
    trace, action = Trace.start(Still(), (Largest(),)), Add(1)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5000):
            trace = trace.take(action)
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert used / 5000 <= 400
