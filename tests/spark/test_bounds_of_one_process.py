"""What bounds a search in one process bounds none on Spark, and is refused there."""

from __future__ import annotations

import pytest

from kipviz.checking.search.search_result import Bounds
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.spark.search import search


@pytest.mark.parametrize(
    ("bounds", "advice"),
    [
        (Bounds(memory_max=1_000_000), r"set spark\.driver\.memory and spark\.executor\.memory"),
        (Bounds(breaks_max=1), "set depth_max or states_max"),
    ],
    ids=["memory", "breaks"],
)
def test_a_bound_of_one_process_is_refused_before_spark_is_started(
    bounds: Bounds, advice: str
) -> None:
    model = searched_scenario("kip-1289-small").model(design("repaired"))
    with pytest.raises(ValueError, match=advice):
        search(model, bounds)
