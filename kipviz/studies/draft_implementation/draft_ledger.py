"""The ledger of KIP-1289's draft implementation: design x property x arrangement, judged by search.

An arrangement is a small cluster with one transaction of the draft's own API, or a Flink job. Each property is searched
separately up to its first violation, so that its shortest counterexample is found, whatever else breaks before. Every
search for a verdict has one limit of states; a property that is not decided by then is called "not decided". A repair
states the extent of its search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kipviz.checking.judging.verdicts import BREAKS, HOLDS, DesignVerdicts
from kipviz.checking.single_run.permalink import TooLong, permalink
from kipviz.checking.single_run.runs import follow_found
from kipviz.checking.single_run.timers_ran import TimersRan
from kipviz.core.values import Value
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.studies.draft_implementation.implementation import (
    ARRANGEMENTS,
    CLUSTERS,
    OF_A_JOB,
    OF_JOBS,
    PROPERTY_NAMES,
    Case,
    FoundRepair,
    Tried,
    cases,
    repair,
)
from kipviz.studies.study import StoppedEarly

# Called with (the case, cases done, all cases, progress of the search); if it returns False, the ledger ends.
LedgerProgress = Callable[[str, int, int, str], bool]


class LedgerEntry(Value, frozen=True):
    """One property of a design in an arrangement with some faults.

    `verdict` is "holds", "breaks" or that it was not decided within a number of states. For a violation `steps`,
    `reason`, `blame` and `link` describe the shortest run, and `bare` is True if that run has no fault: then none is
    searched. `repair` is a smallest set of slots with which the whole case no longer breaks, to the stated extent, or
    only this property if the other one breaks with every slot. It has no slots if all of them break the property or it
    does not break. `states` is the number of visited states, `timers` are the timers that expired there.
    """

    label: str
    design: str
    scenario: str
    faults: str
    property_name: str
    verdict: str
    states: int
    steps: int = 0
    reason: str = ""
    blame: str = ""
    link: str = ""
    bare: bool = False
    repair: FoundRepair = FoundRepair()
    timers: TimersRan = TimersRan()

    @property
    def arrangement(self) -> str:
        """The cluster of one transaction, or the arrangement of the job."""
        found = {name: f"one transaction, {words}" for name, words in CLUSTERS.items()}
        return (found | ARRANGEMENTS)[self.scenario]

    @property
    def breaks(self) -> bool:
        """Whether a run breaks the property."""
        return self.verdict == BREAKS


Entries = tuple[LedgerEntry, ...]


def every_case() -> tuple[tuple[str, Case], ...]:
    """Return each design in each arrangement with each fault; a case without a fault comes before its others."""
    jobs = tuple(
        (label, Case(where, name, faults))
        for where in ARRANGEMENTS
        for label, name in OF_JOBS.items()
        for faults in OF_A_JOB
    )
    return (*cases(), *jobs)


def name_of(case: Case) -> str:
    """Return the name under which the rows of a case are stored."""
    return f"{case.scenario} {case.design} {case.faults}".rstrip()


def ledger(
    progress: LedgerProgress = lambda *_: True,
    kept: Mapping[str, Entries] | None = None,
    keep: Callable[[str, Entries], None] = lambda _name, _rows: None,
    wanted: tuple[tuple[str, Case], ...] = (),
) -> Iterator[Entries]:
    """Yield the rows of each case.

    Args:
        progress: called with the progress; if it returns False, the current case is left out and nothing follows.
        kept: the rows of known cases, by name.
        keep: called with the rows of a case that was searched.
        wanted: the cases to judge; by default all.
    """
    asked = wanted or every_case()
    tried: Tried = {}
    bare: dict[tuple[str, str], Entries] = {}
    for done, (label, case) in enumerate(asked):
        name = name_of(case)
        rows = (kept or {}).get(name)
        if rows is None:

            def tell(words: str, name: str = name, done: int = done) -> bool:
                return progress(name, done, len(asked), words)

            try:
                rows = _judge_case(
                    label, case, bare.get((case.scenario, case.design), ()), tell, tried
                )
            except StoppedEarly:
                return
            keep(name, rows)
        if not case.faults:
            bare[case.scenario, case.design] = rows
        yield rows


def _judge_case(
    label: str, case: Case, bare: Entries, tell: Callable[[str], bool], tried: Tried
) -> Entries:
    """Judge each property of a case, and find a repair if one breaks."""
    rows = []
    for property_name in PROPERTY_NAMES:
        without = next(
            (each for each in bare if each.property_name == property_name and each.breaks), None
        )
        if without is not None:
            rows.append(without.but(faults=case.faults, bare=True))
        else:
            found = case.judge(case.design, tell, (property_name,))
            rows.append(_entry(label, case, property_name, found))
    if not any(row.breaks and not row.bare for row in rows):
        return tuple(rows)
    before = next((each.repair.slots for each in bare if each.repair.slots), ())
    whole = repair(case, tell, before, tried=tried)
    return tuple(
        row.but(
            repair=whole
            if whole.slots
            else repair(case, tell, (), (row.property_name,), tried=tried)
        )
        if row.breaks and not row.bare
        else row
        for row in rows
    )


def _entry(label: str, case: Case, property_name: str, found: DesignVerdicts) -> LedgerEntry:
    cell, states = found.cell(property_name), found.explored.states
    place = (label, case.design, case.scenario, case.faults)
    row = LedgerEntry(*place, property_name, case.not_decided, states, timers=found.explored.timers)
    if cell.verdict == HOLDS:
        return row.but(verdict=HOLDS)
    if cell.verdict != BREAKS:
        return row
    run = follow_found(scenario(case.scenario), design(case.design), found.budget, cell.actions)
    try:
        link = permalink(run.at(run.trace.last()))
    except TooLong:
        link = ""
    return row.but(
        verdict=BREAKS, steps=len(cell.actions), reason=cell.reason, blame=cell.blame, link=link
    )
