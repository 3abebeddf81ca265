"""The landscape in a notebook: a map whose marks differ in shape, and cells that open."""

from __future__ import annotations

import pytest

import kipviz
from kipviz.widgets.landscape import Landscape


@pytest.fixture(scope="module")
def found() -> Landscape:
    return kipviz.landscape(["repaired", "finding-D"], [10_000], [5_000, 60_000])


def test_the_map_has_a_mark_for_each_cell_and_a_shape_for_each_verdict(found: Landscape) -> None:
    marks = {trace.name: trace for trace in found.map().data}
    assert {name: len(trace.x) for name, trace in marks.items()} == {
        "never commits": 2,
        "holds": 1,
        "atomic breaks": 1,
    }
    assert len({trace.marker.symbol for trace in marks.values()}) == 3
    assert marks["atomic breaks"].y == ("finding-D, lock 10 s",)


def test_a_cell_opens_in_the_stepper_where_the_promise_breaks(found: Landscape) -> None:
    assert "atomic" in repr(found.open("finding-D", 10_000, 60_000))
    with pytest.raises(LookupError, match="nothing breaks there"):
        found.open("repaired", 10_000, 60_000)


def test_an_interrupted_cell_keeps_what_was_searched() -> None:
    def interrupting(name: str, states: int, depth: int) -> bool:
        if "timeout 60 s" in name:
            raise KeyboardInterrupt
        return True

    found = kipviz.landscape(["repaired"], [10_000], [5_000, 60_000], progress=interrupting)
    assert len(found.found.spots) == 1
    assert "not searched" in repr(found)
