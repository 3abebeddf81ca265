"""What the reductions leave out changes no verdict, and what they count adds up."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import property_named
from kipviz.checking.search.explore import Search, explore
from kipviz.checking.search.partial_order import LoneSteps
from kipviz.checking.search.reductions import Reduction
from kipviz.checking.search.search_result import Bounds, Explored
from kipviz.checking.search.symmetry import Renaming, Symmetry, interchangeable, rename_value
from kipviz.checking.single_run.runs import follow, judge
from kipviz.cluster.start.first_world import first_world
from kipviz.designs.catalogue import CATALOGUE, design
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import LIBRARY, searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from tests.checking.counts import (
    REDUCED,
    SMALL_TWO_BY_BOTH,
    SMALL_TWO_FULL_AND_BY_ORDER,
    Members,
)
from tests.checking.two_members import BEGIN_AND_ABORT, INIT_AGAIN, POLL, members
from tests.cluster.small_clusters import steps_of
from tests.core.two_phase_commit import TwoPhaseCommit

PROGRAMS = {"init": INIT_AGAIN, "begin": BEGIN_AND_ABORT, "poll": POLL}
BY_NAME = pytest.mark.parametrize(
    "space", REDUCED, ids=lambda s: f"{s.program}-{s.members}-{s.faults}"
)


def build_space(space: Members) -> Any:
    return members(PROGRAMS[space.program], space.members, space.faults)


def verdict(found: Explored) -> tuple[object, ...]:
    """What a search says of the design, whatever it had to visit for it."""
    return (
        found.complete,
        found.undecided > 0,
        tuple(c.property for c in found.counterexamples),
    )


def explore_reduced(model: Any, *reductions: Reduction) -> Explored:
    return explore(model, reductions=reductions)


# -- exact sizes, and the same verdicts ----------------------------------------------------------


@BY_NAME
def test_each_reduction_visits_just_so_many_states_and_says_the_same(space: Members) -> None:
    every = [
        explore(build_space(space)),
        explore_reduced(build_space(space), LoneSteps()),
        explore_reduced(build_space(space), Symmetry()),
        explore_reduced(build_space(space), Symmetry(), LoneSteps()),
    ]
    assert tuple(found.states for found in every) == (
        space.states,
        space.by_order,
        space.by_symmetry,
        space.by_both,
    )
    assert [verdict(found) for found in every] == [verdict(every[0])] * 4


@BY_NAME
def test_the_orbits_of_the_states_add_up_to_the_states_without_symmetry(space: Members) -> None:
    symmetry = Symmetry()
    search = Search(build_space(space), reductions=(symmetry,))
    search.run(Bounds())
    orbits = [symmetry.orbit(*search.state(number)) for number in range(len(search.graph))]
    assert sum(orbits) == space.states
    assert max(orbits) > 1


SMALL = searched_scenario("kip-1289-small")
QUICK = (
    ("repaired", ""),
    ("repaired", "expire_lock=1"),
    ("finding-D", "expire_lock=1"),
    ("as-written", "time_out=1"),
)
ALL = tuple(
    (known.name, faults)
    for known in CATALOGUE
    if known.stages_shares
    for faults in ("", "expire_lock=1", "time_out=1", "crash_client=1")
)


def check_that_the_order_does_not_matter(name: str, faults: str) -> None:
    def model() -> Any:
        return SMALL.model(design(name), budget_of(faults))

    full, less = explore(model()), explore_reduced(model(), LoneSteps())
    assert verdict(less) == verdict(full)
    assert less.states < full.states
    for mine, its in zip(full.counterexamples, less.counterexamples, strict=True):
        assert len(its.actions) >= len(mine.actions)
        # Left alone, timers expire that the budget does not count: the run gets as many.
        run = follow(SMALL, design(name), budget_of(faults), its.actions)
        (judged,) = judge(run, (property_named(its.property),))
        assert judged.status == BROKEN


@pytest.mark.parametrize(("name", "faults"), QUICK)
def test_the_order_of_lone_steps_changes_no_verdict(name: str, faults: str) -> None:
    check_that_the_order_does_not_matter(name, faults)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "faults"), ALL)
def test_the_order_of_lone_steps_changes_no_verdict_of_any_design(name: str, faults: str) -> None:
    check_that_the_order_does_not_matter(name, faults)


def test_a_reduced_search_goes_on_like_any_other() -> None:
    search = Search(members(POLL, 2), reductions=(Symmetry(), LoneSteps()))
    assert not search.run(Bounds(states_max=40)).complete
    assert search.run() == explore_reduced(members(POLL, 2), Symmetry(), LoneSteps())


def test_a_verdict_says_what_it_was_reduced_by() -> None:
    found = explore_reduced(members(INIT_AGAIN, 2), Symmetry(), LoneSteps())
    assert found.sentence == (
        f"21 states, {found.transitions} transitions, depth {found.depth}, untimed, "
        "reduced by symmetry, reduced by order: no property is broken"
    )


def test_two_members_who_want_one_record_keep_the_properties_with_both_reductions() -> None:
    model = searched_scenario("kip-1289-small-two").model(design("repaired"), budget_of(""))
    found = explore_reduced(model, Symmetry(), LoneSteps())
    assert (found.complete, found.undecided, found.counterexamples) == (True, 0, ())
    assert (found.states, found.transitions, found.depth) == SMALL_TWO_BY_BOTH


@pytest.mark.thorough
def test_two_members_who_want_one_record_without_any_reduction() -> None:
    model = searched_scenario("kip-1289-small-two").model(design("repaired"), budget_of(""))
    full, less = explore(model), explore_reduced(model, LoneSteps())
    assert (full.states, less.states) == SMALL_TWO_FULL_AND_BY_ORDER
    assert verdict(full) == verdict(less)


# -- why it is sound ---------------------------------------------------------------------------


@pytest.mark.parametrize("faults", ["", "expire_lock=2,lose_connection=1", "crash_client=2,cut=1"])
def test_a_lone_step_meets_whatever_happens_meanwhile(faults: str) -> None:
    from kipviz.scenarios.applications.programs import SHARE_LOOP

    model = members(SHARE_LOOP, 2, faults)
    lone = LoneSteps()
    lone.fit(model, full_states=False)
    met = 0
    for seed in range(6):
        for world, _, _ in steps_of(model, seed, 250):
            enabled = model.enabled(world)
            first = lone.alone(world, enabled)
            if first is None:
                continue
            after = model.step(world, first).world
            for other in enabled:
                if other == first:
                    continue
                elsewhere = model.step(world, other).world
                assert model.why_not(elsewhere, first) is None, (seed, first, other)
                assert model.why_not(after, other) is None, (seed, first, other)
                one = model.step(after, other).world
                assert one == model.step(elsewhere, first).world, (seed, first, other)
                met += 1
    assert met > 20


def swapping(model: Any) -> Renaming:
    one, other = interchangeable(model.spec)[0][:2]
    return Renaming(dict(zip(one + other, other + one, strict=True)))


@pytest.mark.parametrize(
    "faults", ["", "expire_lock=2,lose_connection=2", "crash_client=2,cut=2,time_out=2"]
)
def test_a_step_under_other_names_is_the_same_step(faults: str) -> None:
    from kipviz.scenarios.applications.programs import SHARE_LOOP

    model = members(SHARE_LOOP, 2, faults)
    swap = swapping(model)
    for seed in range(4):
        for world, action, outcome in steps_of(model, seed, 200):
            mirrored = rename_value(world, swap)
            assert set(model.enabled(mirrored)) == {
                rename_value(a, swap) for a in model.enabled(world)
            }, seed
            after = model.step(mirrored, rename_value(action, swap)).world
            assert after == rename_value(outcome.world, swap), (seed, action)
            assert swap.world(world) == Renaming({}).world(mirrored)


def test_a_world_and_its_mirror_image_have_one_key() -> None:
    model = members(POLL, 3)
    symmetry = Symmetry()
    symmetry.fit(model, full_states=False)
    (names,) = symmetry.classes
    states = tuple(p.initial(model.initial()) for p in PROPERTIES)
    for world, _, _ in steps_of(model, 3, 60):
        keys = set()
        for order in permutations(names):
            flat = [n for each in names for n in each], [n for each in order for n in each]
            mirror = rename_value(world, Renaming(dict(zip(*flat, strict=True))))
            keys.add(symmetry.key(mirror, states))
        assert len(keys) == 1


# -- what does not fit -------------------------------------------------------------------------


@pytest.mark.parametrize("faults", ["crash_broker=1", "move_leader=1"])
def test_symmetry_refuses_faults_that_go_by_the_order_of_names(faults: str) -> None:
    with pytest.raises(ValueError, match=r"^with \w+ there is no symmetry: "):
        explore_reduced(members(POLL, 2, faults), Symmetry())


def test_symmetry_refuses_a_cluster_in_which_nobody_is_interchangeable() -> None:
    with pytest.raises(ValueError, match="no two applications of this cluster are"):
        explore_reduced(SMALL.model(design("repaired"), budget_of("")), Symmetry())


def test_members_that_join_are_told_apart_by_their_assignor() -> None:
    """It goes by the order of their names, so two worlds that differ in names have other futures."""
    spec = members(POLL, 2).spec
    assert interchangeable(spec)
    joining = tuple(app.but(protocol="share") for app in spec.applications)
    assert interchangeable(spec.but(applications=joining)) == ()


def test_symmetry_refuses_to_compare_full_states() -> None:
    with pytest.raises(
        ValueError, match="full states are compared without the reduction 'symmetry'"
    ):
        Search(members(POLL, 2), reductions=(Symmetry(),), full_states=True)


@pytest.mark.parametrize("reduction", [Symmetry, LoneSteps])
def test_a_reduction_for_clusters_takes_no_other_model(reduction: type) -> None:
    with pytest.raises(TypeError, match="works for clusters only"):
        explore(TwoPhaseCommit(3), reductions=(reduction(),), properties=())


def test_two_phase_commit_has_the_sizes_that_the_literature_gives() -> None:
    sizes = {rms: explore(TwoPhaseCommit(rms), properties=()).states for rms in (1, 2, 3, 4)}
    assert sizes == {1: 12, 2: 56, 3: 288, 4: 1_568}


@pytest.mark.slow
def test_two_phase_commit_with_five_resource_managers_too() -> None:
    assert explore(TwoPhaseCommit(5), properties=()).states == 8_832


def test_no_story_has_two_brokers_that_could_be_exchanged() -> None:
    """Why there is no symmetry of brokers (DECISIONS 22): whoever has a copy has a place in an order."""
    for story in LIBRARY:
        leaders = first_world(story.spec).image.leaders
        places: dict[int, set[tuple[str, int]]] = {broker: set() for broker in story.spec.brokers}
        for partition, held in leaders.items():
            for place, broker in enumerate(held.replicas):
                places[broker].add((partition, place))
        spares = [
            places[broker]
            for broker in story.spec.brokers
            if broker not in {held.leader for held in leaders.values()}
        ]
        assert all(one != other for one, other in combinations(spares, 2)), story.name
