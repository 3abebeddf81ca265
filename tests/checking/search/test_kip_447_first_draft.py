"""KIP-447's first draft, searched to its end on one member and one record: the counts are pinned.

Two members do not come to an end within 80,000 states even without a fault.
"""

from __future__ import annotations

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES


@pytest.mark.parametrize(
    ("faults", "states", "transitions", "depth"),
    [
        ("", 435, 1_135, 55),
        # A member that died and is not started again is taken out when its session runs out, at rest.
        pytest.param("crash_client=1", 53_478, 142_699, 102, marks=pytest.mark.thorough),
        ("run_out=1", 4_558, 12_442, 79),
    ],
)
def test_a_member_of_the_first_draft_loses_and_doubles_nothing_wherever_it_dies(
    faults, states, transitions, depth
) -> None:
    model = searched_scenario("kip-447-small-first-draft").model(
        design("kip-447-first-draft"), budget_of(faults)
    )
    found = Search(model, PROPERTIES).run(Bounds())
    assert found.complete
    assert found.counterexamples == ()
    assert (found.states, found.transitions, found.depth) == (states, transitions, depth)
