"""Designs against properties: what a cell says, and that it says no more than was searched."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.verdicts import (
    BREAKS,
    EVERY_PROPERTY,
    HOLDS,
    SO_FAR,
    judge,
    verdict_table,
)
from kipviz.checking.search.search_result import Bounds
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario

SMALL = "kip-1289-small"


def test_the_repaired_design_keeps_every_property_in_every_interleaving_without_a_fault() -> None:
    row = judge(SMALL, "repaired")
    assert row.explored.complete
    assert {cell.verdict for cell in row.cells} == {HOLDS}
    assert [cell.asked for cell in row.cells] == [prop.name for prop in EVERY_PROPERTY]
    assert row.where == "kip-1289-small, no fault, 686 states"


def test_asking_more_properties_reaches_no_other_states() -> None:
    assert (
        judge(SMALL, "repaired").explored.states
        == judge(SMALL, "repaired", properties=EVERY_PROPERTY[:2]).explored.states
    )


def test_a_cell_that_breaks_has_a_story_that_the_model_can_play() -> None:
    row = judge(SMALL, "finding-D", FaultBudget(expire_lock=1))
    broken = {cell.asked: len(cell.actions) for cell in row.cells if cell.verdict == BREAKS}
    assert broken == {"atomic": 31, "committed stays": 31, "staged waits": 22}
    model = searched_scenario(SMALL).model(design("finding-D"), FaultBudget(expire_lock=1))
    world = model.initial()
    for action in row.cell("staged waits").actions:
        world = model.step(world, action).world


def test_a_search_that_stops_at_a_bound_says_so_in_every_cell() -> None:
    row = judge(SMALL, "repaired", bounds=Bounds(states_max=100))
    assert {cell.verdict for cell in row.cells} == {SO_FAR}
    assert row.where.endswith("not complete")


def test_a_table_that_is_stopped_keeps_what_was_judged() -> None:
    asked: list[str] = []

    def told(name: str, states: int, depth: int) -> bool:
        asked.append(name)
        return name != "finding-I"

    rows = verdict_table(SMALL, ("repaired", "finding-I", "finding-D"), progress=told)
    assert [row.design for row in rows] == ["repaired", "finding-I"]
    assert rows[0].explored.complete
    assert not rows[1].explored.complete


def test_a_property_that_was_not_asked_is_refused_with_those_that_were() -> None:
    row = judge(SMALL, "repaired", properties=EVERY_PROPERTY[:1])
    with pytest.raises(ValueError, match="property 'one owner' was not judged; judged are atomic"):
        row.cell("one owner")
