"""What bounds the memory of one process bounds no search on Spark, and is refused there."""

from __future__ import annotations

import pytest

from kipviz.checking.found import Bounds
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.spark.search import search


def test_a_memory_bound_is_refused_before_spark_is_started() -> None:
    model = scenario("kip-1289-small").model(design("repaired"))
    with pytest.raises(ValueError, match=r"spark\.driver\.memory and spark\.executor\.memory"):
        search(model, Bounds(memory_max=1_000_000))
