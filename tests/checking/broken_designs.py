"""Where each broken design of the catalogue breaks first, and which designs break nothing.

Most are searched breadth first. The clusters of KIP-447 have two members and an accident between
them: there a seeded run is found sooner than a search is through.
"""

from __future__ import annotations

from typing import NamedTuple

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import EVERY_PROPERTY, property_named
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.seeded_run import Task, run
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario

RUNS = "seeded runs"
ASKED = (*EVERY_PROPERTY, property_named("commit only when requested"))
STATES_MAX, SEEDS_MAX = 100_000, 400


class Breaks(NamedTuple):
    """A design, where it breaks, and a property that is among the first to do so."""

    design: str
    scenario: str
    faults: str
    property_name: str
    way: str = "search"


class First(NamedTuple):
    """What was found first: how much was tried for it, in which unit, and in words."""

    tried: int
    unit: str
    properties: tuple[str, ...]
    what: str


SMALL = "kip-1289-small"
LIVE = "no stuck transactions or records"
BROKEN: tuple[Breaks, ...] = (
    Breaks("before-447", "kip-447-generation", "rough", "atomic", RUNS),
    Breaks("kip-1309", "kip-1309-small", "crash_client=1,run_out=1", "atomic"),
    Breaks("kip-1319-two-versions", "kip-1319-by-id", "rough", "atomic", RUNS),
    Breaks("kafka-tv1", "kip-890-small", "request_timeout=1", "commit only when requested"),
    Breaks("kafka-tv0", "kip-890-small", "request_timeout=1,delivery_timeout=1", "nothing hangs"),
    Breaks("finding-I", SMALL, "", LIVE),
    Breaks("finding-D", SMALL, "expire_lock=1", "staged waits"),
    Breaks("as-written", SMALL, "expire_lock=1", "staged waits"),
    Breaks("as-written-broadcast", SMALL, "expire_lock=1", "staged waits"),
    Breaks("as-written-available", SMALL, "expire_lock=1", "staged waits"),
    Breaks("as-written-local", SMALL, "", "atomic"),
    Breaks("draft-early", SMALL, "", "atomic"),
    Breaks("draft-middle", SMALL, "", LIVE),
    Breaks("draft-late", "kip-1289-small-explicit", "time_out=1", LIVE),
    Breaks("kip-1310", "kip-1310-unsent-batch", "", "atomic"),
    Breaks("kip-1310-unaware", "kip-1310-unsent-batch", "", "atomic"),
    Breaks("kip-1310-lazy-epoch", "kip-1310-next-epoch", "", "atomic"),
    Breaks("kip-1310-many-senders", "kip-1310-silent-loss", "", "atomic"),
    Breaks("kip-1310-look-first", "kip-1310-late-thread", "", "atomic"),
)
# Of these no break is known; what the five drafts among them cost is work, no broken property.
SOUND = (
    "kafka",
    "kip-939",
    "repaired",
    "kip-447-first-draft",
    "kip-447-group-id",
    "kip-447-init-consumer",
    "kip-1310-counting-on",
    "kip-1310-one-thread",
)


def first_broken(cell: Breaks) -> First:
    """Look for the first break of a design: by search, or by one seed after the other."""
    if cell.way == RUNS:
        return _in_runs(cell)
    model = searched_scenario(cell.scenario).model(design(cell.design), budget_of(cell.faults))
    search = Search(model, ASKED)
    found = search.run(Bounds(states_max=STATES_MAX), lambda *_: not search.found)
    if not found.counterexamples:
        return First(found.states, "states", (), "-")
    broken = tuple(c.property for c in found.counterexamples)
    what = ", ".join(f"{c.property} after {len(c.actions)}" for c in found.counterexamples)
    return First(found.states, "states", broken, what)


def _in_runs(cell: Breaks) -> First:
    for seed in range(SEEDS_MAX):
        verdict = run(Task(cell.scenario, cell.design, cell.faults, seed))
        if verdict.status == "breaks":
            what = f"{verdict.broken} after {verdict.step}"
            return First(seed + 1, "runs", (verdict.broken,), what)
    return First(SEEDS_MAX, "runs", (), "-")
