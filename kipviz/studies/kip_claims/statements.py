"""Every claim of the five texts, section by section, and how it is judged.

A claim is a sentence of a text that promises behaviour, in our words. It is judged by a search, along a story, by a
count, or by a finding of a review that contradicts it. A claim that no model of the protocol can judge states why.
Nothing here states a verdict: `judged_statements` computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import BREAKS, judge, property_named
from kipviz.checking.search.explore import ProgressTold
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import Run, judge_to_the_end
from kipviz.checking.single_run.timers_ran import TimersRan, all_timers_ran
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.studies.review_findings.findings import (
    BREAKS_PLAYED,
    COUNTED,
    NOT_BROKEN,
    SEEN,
    SMALL,
    Finding,
    FindingResult,
    show_finding,
)
from kipviz.studies.review_findings.reviews import finding
from kipviz.studies.review_findings.story_predicates import Look

HOLDS, NOT_JUDGED, NOT_SEEN = "holds", "not judged by a model", "not seen"
SO_FAR = "holds so far"
CONTRADICTED = "contradicted"


class Statement(Value, frozen=True):
    """One claim of a text and one way to judge it.

    `property` is searched in `scenario` with `faults`, or, with `played`, judged along the story and what the cluster
    does next by itself. `look` recognises the promised behaviour in the story. `findings` name the findings that
    contradict the claim. `counting` returns a sentence with numbers. `because` is the reason why no model of the
    protocol can judge the claim.
    """

    section: str
    claim: str
    design: str = ""
    scenario: str = SMALL
    faults: str = ""
    property: str = ""
    played: bool = False
    look: Look | None = None
    findings: tuple[str, ...] = ()
    counting: Callable[[], str] | None = None
    because: str = ""


class Text(Value, frozen=True):
    """One of the five texts: its name, its status, its sections with claims, and its claims."""

    name: str
    state: str
    sections: tuple[str, ...]
    statements: tuple[Statement, ...]


class JudgedStatement(Value, frozen=True):
    """A claim with its verdict: a word, where it was judged, why, and its run, if there is one.

    `timers` are those that expired in its search.
    """

    statement: Statement
    verdict: str
    where: str
    reason: str
    run: Run | None = None
    timers: TimersRan = TimersRan()

    @property
    def words(self) -> str:
        """Return the verdict in words, such as "breaks after 21 steps"."""
        if self.run is None or self.verdict not in (BREAKS, BREAKS_PLAYED, SEEN):
            return self.verdict
        return f"{self.verdict} after {self.run.trace.last().depth} steps"


def by_search(
    section: str,
    claim: str,
    property_name: str,
    design: str,
    scenario: str = SMALL,
    faults: str = "",
) -> Statement:
    """Return a claim that a search judges: no interleaving breaks the property."""
    return Statement(section, claim, design, scenario, faults, property_name)


def by_story(
    section: str, claim: str, scenario: str, design: str, property_name: str = "atomic"
) -> Statement:
    """Return a claim that a story judges, with what the cluster does next by itself."""
    return Statement(section, claim, design, scenario, property=property_name, played=True)


def by_look(section: str, claim: str, scenario: str, design: str, look: Look) -> Statement:
    """Return a claim whose behaviour is recognised in a story."""
    return Statement(section, claim, design, scenario, look=look)


def by_findings(section: str, claim: str, *findings: str) -> Statement:
    """Return a claim that findings of a review contradict."""
    return Statement(section, claim, findings=findings)


def by_counting(section: str, claim: str, counting: Callable[[], str]) -> Statement:
    """Return a claim about numbers."""
    return Statement(section, claim, counting=counting)


def by_nothing(section: str, claim: str, because: str) -> Statement:
    """Return a claim that no model of the protocol can judge."""
    return Statement(section, claim, because=because)


def judged_statements(
    text: Text, known: dict[str, FindingResult] | None = None, progress: ProgressTold | None = None
) -> Iterator[JudgedStatement]:
    """Judge the claims of a text one by one; a caller may stop between two of them.

    `known` keeps the demonstrated findings, because one of them may contradict several claims.
    """
    known = {} if known is None else known
    for statement in text.statements:
        yield judged_statement(statement, known, progress)


def judged_statement(
    statement: Statement,
    known: dict[str, FindingResult] | None = None,
    progress: ProgressTold | None = None,
) -> JudgedStatement:
    """Judge one claim; `known` are the findings that were already demonstrated."""
    if statement.because:
        return JudgedStatement(statement, NOT_JUDGED, "", statement.because)
    if statement.findings:
        return _demonstrate_findings(statement, {} if known is None else known, progress)
    if statement.counting is not None:
        return JudgedStatement(statement, COUNTED, "", statement.counting())
    if statement.look is not None:
        return _look_in_story(statement, statement.look)
    return (
        _play_statement(statement) if statement.played else _search_statement(statement, progress)
    )


def _demonstrate_findings(
    statement: Statement, known: dict[str, FindingResult], progress: ProgressTold | None
) -> JudgedStatement:
    """Demonstrate every finding against a claim, and return the run of the first one that has a run."""
    for name in statement.findings:
        if name not in known:
            known[name] = show_finding(finding(name), progress=progress)
    all_shown = [known[name] for name in statement.findings]
    ran = all_timers_ran(s.timers for s in all_shown)
    reasons = "; ".join(f"{s.finding.name} ({s.words}): {s.finding.matter}" for s in all_shown)
    run = next((s.run for s in all_shown if s.run is not None), None)
    stands = all(s.verdict == NOT_BROKEN for s in all_shown)
    return JudgedStatement(
        statement,
        HOLDS if stands else CONTRADICTED,
        f"finding {', '.join(statement.findings)}",
        reasons,
        run,
        ran,
    )


def _look_in_story(statement: Statement, look: Look) -> JudgedStatement:
    found = show_finding(
        Finding(
            "",
            statement.claim,
            "",
            "",
            design=statement.design,
            scenario=statement.scenario,
            look=look,
        )
    )
    where = f"story {statement.scenario}"
    if found.verdict != SEEN:
        return JudgedStatement(statement, NOT_SEEN, where, found.reason)
    return JudgedStatement(statement, SEEN, where, "", found.run)


def _play_statement(statement: Statement) -> JudgedStatement:
    where = f"story {statement.scenario}"
    if statement.property not in {prop.name for prop in PROPERTIES}:
        return _judge_along_story(statement, where)
    run = runs.play_searched(statement.scenario, statement.design)
    found = next(f for f in judge_to_the_end(run) if f.property == statement.property)
    if found.status != BROKEN:
        return JudgedStatement(statement, HOLDS, where, found.reason)
    return JudgedStatement(statement, BREAKS_PLAYED, where, found.reason, run)


def _judge_along_story(statement: Statement, where: str) -> JudgedStatement:
    """Judge one of the single properties along the story itself."""
    found = show_finding(
        Finding(
            "",
            statement.claim,
            "",
            "",
            design=statement.design,
            scenario=statement.scenario,
            property_name=statement.property,
            played=True,
        )
    )
    if found.verdict == NOT_BROKEN:
        return JudgedStatement(statement, HOLDS, where, "")
    return JudgedStatement(statement, found.verdict, where, found.reason, found.run)


def _search_statement(statement: Statement, progress: ProgressTold | None) -> JudgedStatement:
    budget, prop = budget_of(statement.faults), property_named(statement.property)
    judged = judge(
        statement.scenario, statement.design, budget, Bounds(breaks_max=1), progress, (prop,)
    )
    cell = judged.cell(prop.name)
    if cell.actions:
        run = runs.follow_found(
            scenario_named(statement.scenario), design_named(statement.design), budget, cell.actions
        )
        ran = judged.explored.timers
        return JudgedStatement(statement, BREAKS, judged.where, cell.reason, run, ran)
    sure = judged.explored.complete and not judged.explored.cancelled
    verdict = HOLDS if sure else SO_FAR
    return JudgedStatement(statement, verdict, judged.where, "", timers=judged.explored.timers)
