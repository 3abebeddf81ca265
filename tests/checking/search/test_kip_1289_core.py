"""The core of KIP-1289: as many states as TLC finds, with each reduction as many as add up."""

from __future__ import annotations

import pytest

from kipviz.checking.search.explore import Search, explore
from kipviz.checking.search.reductions import Reduction
from kipviz.checking.search.search_result import Explored
from tests.checking.counts import BY_TLC, TWO_PHASE_BY_TLC, ByTlc
from tests.checking.kip_1289_core import Atomic, Core, LoneSteps, Size, Symmetric, orbit, tlc_config
from tests.core.two_phase_commit import TwoPhaseCommit

QUICK = [each for each in BY_TLC if each.distinct < 20_000]
SLOW = [each for each in BY_TLC if each.distinct >= 20_000]


def search_core(size: Size, *reductions: Reduction) -> Explored:
    return explore(Core(size), reductions=reductions, properties=(Atomic(),))


def check_all_counts(known: ByTlc) -> None:
    size = Size(*known.size)
    full = search_core(size)
    assert (full.states, full.transitions + 1) == (known.distinct, known.generated)
    assert (full.complete, full.counterexamples) == (True, ())
    less = [
        search_core(size, *each)
        for each in ((LoneSteps(),), (Symmetric(),), (Symmetric(), LoneSteps()))
    ]
    assert tuple(f.states for f in less) == (known.by_order, known.by_symmetry, known.by_both)
    assert all(f.complete and not f.counterexamples for f in less)


@pytest.mark.parametrize("known", QUICK, ids=lambda k: str(k.distinct))
def test_there_are_as_many_states_as_tlc_finds(known: ByTlc) -> None:
    check_all_counts(known)


@pytest.mark.thorough
@pytest.mark.parametrize("known", SLOW, ids=lambda k: str(k.distinct))
def test_there_are_as_many_states_as_tlc_finds_in_large_spaces(known: ByTlc) -> None:
    check_all_counts(known)


@pytest.mark.parametrize(("rms", "distinct", "generated"), TWO_PHASE_BY_TLC)
def test_two_phase_commit_has_as_many_states_as_tlc_finds(
    rms: int, distinct: int, generated: int
) -> None:
    found = explore(TwoPhaseCommit(rms), properties=())
    assert (found.states, found.transitions + 1) == (distinct, generated)


@pytest.mark.parametrize("known", QUICK, ids=lambda k: str(k.distinct))
def test_the_orbits_add_up_to_the_states_without_symmetry(known: ByTlc) -> None:
    size = Size(*known.size)
    search = Search(Core(size), (Atomic(),), (Symmetric(),))
    search.run()
    worlds = (search.state(number)[0] for number in range(len(search.graph)))
    assert sum(orbit(world, size) for world in worlds) == known.distinct


@pytest.mark.parametrize(
    ("broken", "steps"),
    [
        (Size(locks=1, pinned=False), 6),
        (Size(crashes=1, durable=False), 6),
        (Size(members=3, epochs=2, crashes=1, durable=False), 6),
    ],
)
def test_a_design_that_breaks_breaks_with_every_reduction(broken: Size, steps: int) -> None:
    every = [
        search_core(broken, *each)
        for each in ((), (LoneSteps(),), (Symmetric(),), (Symmetric(), LoneSteps()))
    ]
    assert [[c.property for c in found.counterexamples] for found in every] == [["atomic"]] * 4
    assert len(every[0].counterexamples[0].actions) == steps


def test_the_configuration_for_tlc_names_every_size() -> None:
    text = tlc_config(Size(members=3, locks=1, pinned=False))
    assert "    Members = {m0, m1, m2}\n" in text
    assert "    Locks = 1\n" in text
    assert "    Pinned = FALSE\n" in text
