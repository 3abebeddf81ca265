"""The content of a broker's logs as a scenario: its story is what was written, and it cannot be changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kipviz.cluster.real.rebuilt_cluster import (
    Election,
    RebuiltBatch,
    RebuiltModel,
    ShownCards,
    spec_of,
)
from kipviz.cluster.specs.spec import FaultBudget, Placement
from kipviz.cluster.world import broker_host
from kipviz.core.traces.trace import Trace
from kipviz.core.values import fingerprint
from kipviz.designs.design import Design
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.script import Chapter

DESIGN = "kafka"


class LoggedScenario(Scenario, frozen=True):
    """The batches of some logs, in order; the first `skipped` of them are read before the start.

    `not_read` lists each batch and log that could not be read, with the reason and its position. `window` says which
    batches were chosen, in a sentence; it is empty if all were.
    """

    entries: tuple[RebuiltBatch, ...] = ()
    skipped: int = 0
    elections: tuple[Election, ...] = ()
    not_read: tuple[str, ...] = ()
    window: str = ""

    def model(self, design: Design, budget: FaultBudget | None = None) -> RebuiltModel:
        """Return the logs as a model; no fault can happen in it, whatever the budget."""
        rules = (design.broker_rules(), design.client_rules())
        return RebuiltModel(self.spec, *rules, self.entries, self.skipped, self.elections)

    def play(
        self, design: Design, go_on: Callable[[int, int], bool] | None = None
    ) -> tuple[Trace, tuple[Chapter, ...]]:
        """Read everything to the end, or until `go_on` returns False; it gets the numbers of batches read and in all."""
        model: Any = self.model(design)
        # No property is judged: a log does not show from which record an output was made.
        trace = Trace.start(model, ())
        there_are = len(self.entries) - self.skipped
        # The page needs the mark of every step. Computed on the way, a log's digest is incremental; later, each would
        # start from its beginning.
        fingerprint(trace.world)
        while possible := model.enabled(trace.world):
            if go_on is not None and not go_on(trace.depth, there_are):
                break
            trace = trace.take(possible[0])
            fingerprint(trace.world)
        return trace, ()


def scenario_of(
    entries: tuple[RebuiltBatch, ...],
    name: str,
    internal_partitions: int,
    last: int,
    placements: tuple[Placement, ...] = (),
    elections: tuple[Election, ...] = (),
) -> LoggedScenario:
    """Return the scenario of some logs, of which the last `last` batches are steps.

    `placements` are the first leaders if there are several brokers, and `elections` the later ones.
    """
    spec = spec_of(entries, internal_partitions, placements)
    skipped = max(0, len(entries) - last)
    shown: ShownCards = RebuiltModel.showing(entries)
    known = ", ".join(shown.transactional_ids[:5]) or "none"
    before = f" The first {skipped:,} of them are read before the first step." if skipped else ""
    writers = "a broker" if len(spec.brokers) == 1 else f"{len(spec.brokers)} brokers"
    return LoggedScenario(
        name,
        f"The log of {name}",
        f"{len(entries):,} batches as {writers} wrote them; transactional ids: {known}.{before}",
        "a recording or a copy of a broker's logs",
        spec,
        (),
        tuple(broker_host(broker) for broker in spec.brokers),
        (DESIGN,),
        entries=entries,
        skipped=skipped,
        elections=elections,
    )
