"""Searches with a timed clock: what they find is what durations allow, and no order is left out."""

from __future__ import annotations

from typing import Any

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search, explore
from kipviz.checking.search.partial_order import LoneSteps
from kipviz.checking.search.search_result import Bounds, Explored
from kipviz.checking.search.symmetry import Symmetry
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.timing import deadlines
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.setting_changes import apply_changes
from tests.checking.counts import TIMED, Timed
from tests.checking.two_members import POLL, members

ONE_LOCK = "expire_lock=1"
BY_DEADLINE = ("clock=timed", "tick=next")


def model_of(name: str, faults: str, *settings: str, story: str = "kip-1289-small") -> ClusterModel:
    known, chosen = searched_scenario(story), design(name)
    spec, under = apply_changes(known.spec, chosen, settings)
    return known.but(spec=spec).model(under, budget_of(faults))


class Timeless(Search):
    """A search that keeps every state as it is to somebody without a watch."""

    def __init__(self, model: ClusterModel) -> None:
        self.seen: set[bytes] = set()
        super().__init__(model)

    def note(self, number: int, world: Any, states: tuple[Any, ...], depth: int) -> None:
        self.seen.add(self.key(world.but(deadlines=()), states))
        super().note(number, world, states, depth)


def timeless(model: ClusterModel) -> set[bytes]:
    search = Timeless(model)
    search.run(Bounds())
    return search.seen


def size(found: Explored) -> tuple[int, int, int]:
    return (found.states, found.transitions, found.depth)


@pytest.mark.parametrize("space", TIMED, ids=lambda s: f"{s.design} {' '.join(s.settings)}")
def test_a_timed_search_visits_just_so_many_states(space: Timed) -> None:
    found = explore(model_of(space.design, space.faults, *space.settings))
    assert size(found) == (space.states, space.transitions, space.depth)
    assert [c.property for c in found.counterexamples] == list(space.broken)
    assert found.complete
    assert found.clock.startswith("timed (")


def test_a_verdict_says_which_clock_it_was_searched_with() -> None:
    model = model_of("repaired", "", "clock=timed", "delay_max_ms=5000")
    found = explore(model, states_max=50)
    assert "timed (every tick, delays up to 5 s)" in found.sentence
    assert ", untimed" in explore(model_of("repaired", ""), states_max=50).sentence


def test_whatever_happens_in_time_happens_without_a_clock_as_well() -> None:
    timed = timeless(model_of("finding-D", ONE_LOCK, *BY_DEADLINE))
    assert timed <= timeless(model_of("finding-D", ONE_LOCK))


def test_a_tick_to_the_next_deadline_finds_a_part_of_what_every_tick_finds() -> None:
    every = timeless(model_of("repaired", "", "clock=timed"))
    assert timeless(model_of("repaired", "", *BY_DEADLINE)) <= every


def test_shorter_ticks_find_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ("clock=timed", "record_lock_duration_ms=60000", "transaction_scan_ms=60000")
    model = model_of("repaired", "", *settings)
    assert deadlines.unit(model.spec) == 60_000
    whole = timeless(model)
    monkeypatch.setattr(deadlines, "unit", lambda _: 20_000)
    assert timeless(model_of("repaired", "", *settings)) == whole


@pytest.mark.thorough
def test_the_order_of_lone_steps_changes_no_timed_verdict() -> None:
    for name, faults in (("repaired", ""), ("finding-D", ONE_LOCK)):
        full = explore(model_of(name, faults, *BY_DEADLINE))
        less = explore(model_of(name, faults, *BY_DEADLINE), reductions=(LoneSteps(),))
        assert less.states < full.states
        assert [c.property for c in less.counterexamples] == [
            c.property for c in full.counterexamples
        ]


def test_with_bounded_delays_there_is_no_reduction_by_order() -> None:
    with pytest.raises(ValueError, match="with bounded delays the reduction 'order' is not sound"):
        explore(
            model_of("repaired", "", "clock=timed", "delay_max_ms=0"), reductions=(LoneSteps(),)
        )


def test_with_timers_of_clients_there_is_no_reduction_by_order() -> None:
    with pytest.raises(ValueError, match="a request sent first starts its interval sooner"):
        explore(
            model_of("kip-1309", "", "clock=timed", story="kip-1309-small"),
            reductions=(LoneSteps(),),
        )


def test_the_orbits_of_timed_states_add_up() -> None:
    def model() -> ClusterModel:
        made = members(POLL, 2, "")
        spec, chosen = apply_changes(made.spec, design("repaired"), BY_DEADLINE)
        return chosen.model(spec)

    symmetry = Symmetry()
    search = Search(model(), reductions=(symmetry,))
    search.run(Bounds())
    orbits = [symmetry.orbit(*search.state(number)) for number in range(len(search.graph))]
    assert sum(orbits) == explore(model()).states
    assert max(orbits) > 1
