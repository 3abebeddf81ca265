"""Clusters whose applications differ in nothing but their names, small enough to search."""

from __future__ import annotations

from kipviz.checking.judging.budgets import budget_of
from kipviz.clients.application import Call, Line
from kipviz.cluster.model import ClusterModel
from kipviz.scenarios.applications.programs import INIT, SHARE_POLL
from tests.cluster.small_clusters import model_of, small_spec

# One internal partition per topic: all transactional ids have the same home.
INIT_AGAIN = (INIT.but(then=0),)
BEGIN_AND_ABORT = (
    INIT,
    Line("producer.beginTransaction();", Call.BEGIN_TRANSACTION),
    Line("producer.abortTransaction();", Call.ABORT_TRANSACTION, then=1),
)
POLL = (INIT, Line(SHARE_POLL, Call.POLL, then=1))


def members(
    program: tuple[Line, ...], applications: int, faults: str = "", design: str = "repaired"
) -> ClusterModel:
    """A cluster of so many members that all run the same program over one record."""
    spec = small_spec(
        budget=budget_of(faults),
        applications=applications,
        records=1,
        max_records=1,
        program=program,
    )
    return model_of(spec.but(internal_partitions=1), design)
