"""Exhaustive search: exact sizes, shortest counterexamples, and honest ends."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search import explore as searching
from kipviz.checking.search import unresolved
from kipviz.checking.search.explore import explore
from kipviz.checking.search.liveness import Settled, settle
from kipviz.checking.search.search_result import Counterexample, Explored
from kipviz.cluster.actions import ExpireLock
from kipviz.cluster.model import ClusterModel
from kipviz.core.model import Outcome
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.properties.verdict import BROKEN, HOLDS, PENDING, Finding
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.checking.counts import (
    BROKEN_AFTER,
    CALM,
    FINDING_D,
    FINDING_I,
    LARGE,
    ONE_LOCK,
    REPAIRED,
    STUCK_AFTER,
    Space,
)

ATOMIC, PROGRESS = (prop.name for prop in PROPERTIES)


def model_of(space: Space) -> ClusterModel:
    return searched_scenario("kip-1289-small").model(design(space.design), budget_of(space.faults))


def size(found: Explored) -> tuple[int, int, int]:
    return (found.states, found.transitions, found.depth)


def replay_actions(space: Space, counterexample: Counterexample) -> Trace:
    """A counterexample, taken step by step on a fresh model."""
    model = model_of(space)
    trace = Trace.start(model, PROPERTIES)
    for action in counterexample.actions:
        trace = trace.take(action)
    return trace


# -- exact sizes -------------------------------------------------------------------------------


def check_that_it_holds(space: Space) -> None:
    found = explore(model_of(space))
    assert size(found) == (space.states, space.transitions, space.depth)
    assert (found.complete, found.undecided, found.counterexamples) == (True, 0, ())
    assert found.sentence == (
        f"{space.states:,} states, {space.transitions:,} transitions, depth {space.depth}, "
        "untimed: no property is broken"
    )


@pytest.mark.parametrize("space", REPAIRED, ids=lambda s: s.faults or "calm")
def test_the_repaired_design_holds_in_every_state_and_there_are_just_so_many(space: Space) -> None:
    check_that_it_holds(space)


def _by_size(space: Space) -> object:
    """Leave the largest ones to `make thorough`."""
    mark = pytest.mark.thorough if space.states > 20_000 else pytest.mark.slow
    return pytest.param(space, id=space.faults, marks=mark)


@pytest.mark.parametrize("space", [_by_size(space) for space in LARGE])
def test_the_repaired_design_holds_in_the_large_spaces_too(space: Space) -> None:
    check_that_it_holds(space)


@pytest.mark.thorough
def test_a_search_finds_the_same_again() -> None:
    assert explore(model_of(FINDING_I)) == explore(model_of(FINDING_I))


def test_the_world_of_the_search_is_that_of_the_story() -> None:
    seen = set()
    model = model_of(CALM)

    def note(states: int, depth: int) -> bool:
        seen.add((states, depth))
        return True

    found = explore(model, progress=note)
    assert size(found) == size(explore(model))
    assert len(seen) >= found.states // searching.PROGRESS_EVERY


# -- counterexamples ---------------------------------------------------------------------------


def test_finding_i_leaves_a_record_pending_for_ever_after_so_many_steps() -> None:
    found = explore(model_of(FINDING_I))
    assert size(found) == (FINDING_I.states, FINDING_I.transitions, FINDING_I.depth)
    (counterexample,) = found.counterexamples
    assert counterexample.property == PROGRESS
    assert counterexample.reason == (
        "record src-0@100 is TX_PENDING, and no continuation without a new fault resolves it"
    )
    assert len(counterexample.actions) == STUCK_AFTER
    trace = replay_actions(FINDING_I, counterexample)
    state = trace.observations[1]
    assert PROPERTIES[1].finding(state).status == PENDING
    assert settle(model_of(FINDING_I), trace.world, state).answer == "for ever"
    before = trace.back()
    earlier = settle(model_of(FINDING_I), before.world, before.observations[1])
    assert earlier.answer == "resolved" or not before.observations[1].count


def test_finding_d_delivers_a_committed_record_again_after_so_many_steps() -> None:
    found = explore(model_of(FINDING_D))
    assert size(found) == (FINDING_D.states, FINDING_D.transitions, FINDING_D.depth)
    (counterexample,) = found.counterexamples
    assert counterexample.property == ATOMIC
    assert len(counterexample.actions) == BROKEN_AFTER
    assert isinstance(counterexample.actions[-1], ExpireLock)
    trace = replay_actions(FINDING_D, counterexample)
    assert PROPERTIES[0].finding(trace.observations[0]).reason == counterexample.reason
    assert PROPERTIES[0].finding(trace.back().observations[0]).status != BROKEN
    assert found.sentence.endswith(
        f"atomic breaks after {BROKEN_AFTER} steps: {counterexample.reason}"
    )


def test_finding_d_holds_as_long_as_no_lock_runs_out() -> None:
    found = explore(model_of(FINDING_D._replace(faults="")))
    assert size(found) == (CALM.states, CALM.transitions, CALM.depth)
    assert found.counterexamples == ()


# -- for ever means without a new fault --------------------------------------------------------


class Way(NamedTuple):
    """An action of a model that is nothing but a graph: from one place to another."""

    KIND: str
    to: str


class Place(NamedTuple):
    """A world that is nothing but a place, and whether something is pending there."""

    name: str

    @property
    def digest(self) -> bytes:
        return self.name.encode()


class Ways:
    """A model that is nothing but a graph."""

    def __init__(self, **ways: tuple[Way, ...]) -> None:
        self.ways = ways

    def initial(self) -> Place:
        return Place("start")

    def enabled(self, world: Place) -> tuple[Way, ...]:
        return self.ways.get(world.name, ())

    def step(self, world: Place, action: Way) -> Outcome:
        return Outcome(Place(action.to), ())

    def kind(self, action: Way) -> str:
        return action.KIND

    def share_tables(self, world: Place) -> Place:
        return world

    def search_key(self, world: Place) -> bytes:
        return world.digest


class Due:
    """A property of places: what is called "due" is pending there."""

    name = PROGRESS

    def initial(self, world: Place) -> Place:
        return world

    def observe(self, state: Place, action: Way, outcome: Outcome) -> Place:
        return outcome.world

    def finding(self, state: Place) -> Finding:
        return Finding(PENDING if state.name.startswith("due") else HOLDS)


def lengths_of(monkeypatch: pytest.MonkeyPatch, **ways: tuple[Way, ...]) -> list[int]:
    """How long the counterexamples are, where whatever is asked for the future is "for ever"."""
    monkeypatch.setattr(unresolved, "settle", lambda *_: Settled("for ever", "it", 1))
    found = explore(Ways(**ways), properties=(Due(),))  # type: ignore[arg-type]
    return [len(c.actions) for c in found.counterexamples]


def test_what_only_a_new_fault_would_resolve_is_pending_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = lengths_of(monkeypatch, start=(Way("sender", "due"),), due=(Way("fault", "done"),))
    assert set(found) == {1}


@pytest.mark.parametrize("kind", searching.FREE_KINDS)
def test_what_anything_else_resolves_is_only_late(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = {"start": (Way("fault", "due1"),), "due1": (Way(kind, "due2"),)}
    assert lengths_of(monkeypatch, **ways, due2=(Way("deliver", "done"),)) == []


def test_the_nearest_state_in_which_it_is_for_ever_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lengths_of(
        monkeypatch,
        start=(Way("sender", "due1"), Way("fault", "far")),
        due1=(Way("sender", "due2"), Way("sender", "done")),
        due2=(Way("sender", "due2"),),
        far=(Way("sender", "further"),),
        further=(Way("sender", "due3"),),
    )
    assert set(found) == {2}


# -- searches that stop ------------------------------------------------------------------------


@pytest.mark.parametrize("states_max", [1, 50, 663])
def test_a_search_that_is_cut_off_says_that_it_is_not_complete(states_max: int) -> None:
    found = explore(model_of(CALM), states_max)
    assert not found.complete
    assert states_max <= found.states < states_max + 10
    assert found.sentence.endswith(
        f"not complete (the bound of {states_max:,} states), untimed: no property is broken so far"
    )


def test_a_search_with_room_for_every_state_is_complete() -> None:
    assert explore(model_of(CALM), CALM.states + 1).complete


def test_a_search_that_is_cancelled_keeps_what_it_has_found() -> None:
    calls = []

    def stop_when_broken(states: int, depth: int) -> bool:
        calls.append((states, depth))
        return depth <= BROKEN_AFTER

    found = explore(model_of(FINDING_D), progress=stop_when_broken)
    assert not found.complete
    assert found.states < FINDING_D.states
    assert [c.property for c in found.counterexamples] == [ATOMIC]
    assert "not complete (cancelled), untimed: atomic breaks after" in found.sentence
    assert calls[0] == (1, 0)
    assert calls == sorted(calls)


def test_a_search_that_is_cancelled_at_once_has_seen_the_start() -> None:
    found = explore(model_of(CALM), progress=lambda *_: False)
    assert size(found) == (1, 0, 0)
    assert not found.complete


def test_a_state_whose_future_is_undecided_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    def settle_nothing(*given: object) -> Settled:
        return Settled("undecided", "something", 3_000)

    monkeypatch.setattr(unresolved, "settle", settle_nothing)
    found = explore(model_of(FINDING_I))
    assert found.counterexamples == ()
    assert found.undecided > 0
    assert found.sentence.endswith(
        f"{found.undecided:,} of them undecided: no property is broken so far"
    )


@pytest.mark.parametrize("states_max", [0, -1, 1.5, "many", None, True])
def test_a_search_of_no_number_of_states_is_answered_with_one_sentence(states_max: object) -> None:
    with pytest.raises(ValueError, match=r"^states_max must be a whole number of at least 1, not "):
        explore(model_of(ONE_LOCK), states_max)  # type: ignore[arg-type]
