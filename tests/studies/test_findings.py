"""The findings of the review of KIP-1289: each is shown as pinned, and the page is what they give."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.checking.budgets import budget_of
from kipviz.checking.found import Bounds
from kipviz.checking.permalink import open_link
from kipviz.checking.verdicts import property_named
from kipviz.command.study import HEAD
from kipviz.designs.catalogue import FINDINGS as DESIGNS
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.scenarios.library import scenario
from kipviz.studies.findings import (
    BREAKS,
    NOT_BROKEN,
    NOT_DECIDED,
    SEEN,
    TEXT,
    Finding,
    first_break,
    shown,
    shown_all,
)
from kipviz.studies.kip_1289_findings import FINDINGS, finding
from kipviz.views.review import findings_page, link_of

PAGE = Path(__file__).parents[2] / "FINDINGS.md"

# finding -> steps of the shortest run that breaks its promise.
STEPS = {
    "A": 18,
    "B": 20,
    "C": 20,
    "D": 31,
    "E": 36,
    "F": 40,
    "I": 21,
    "K": 21,
    "M": 35,
    "X1": 24,
    "X4": 22,
    "X5": 44,
}
SEARCHED = [f for f in FINDINGS if f.promise]
# Whose search takes more than about a second.
LONG = ("B", "C", "E", "X4", "X5")


def test_a_finding_says_what_the_text_says_what_is_the_matter_and_how_it_is_shown() -> None:
    assert len({f.name for f in FINDINGS}) == len(FINDINGS)
    for each in FINDINGS:
        assert each.says.endswith(".")
        assert each.matter.endswith(".")
        assert each.clause
        assert sum((bool(each.promise), each.look is not None, each.counting is not None)) <= 1
        if not (each.promise or each.look or each.counting):
            assert each.because
        if each.promise:
            property_named(each.promise)
            scenario(each.scenario).model(design(each.design), budget_of(each.faults))


def test_a_design_named_for_a_finding_is_used_by_that_finding() -> None:
    used = {f.design for f in FINDINGS}
    assert {d.name for d in DESIGNS if finding_of(d.name)} <= used


def finding_of(name: str) -> bool:
    return name.removeprefix("finding-") in {f.name for f in FINDINGS}


def test_every_searched_finding_is_pinned() -> None:
    assert {f.name for f in SEARCHED} == set(STEPS)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in STEPS]
)
def test_the_shortest_run_of_a_finding_is_as_long_as_pinned(name: str) -> None:
    told = shown(finding(name))
    assert (told.verdict, told.steps) == (BREAKS, STEPS[name])
    assert told.run is not None
    opened = open_link(link_of(told.run))
    assert (opened.design.name, opened.trace.depth) == (finding(name).design, STEPS[name])
    assert opened.changes == ()


@pytest.mark.thorough
@pytest.mark.parametrize("each", SEARCHED, ids=[f.name for f in SEARCHED])
def test_the_repaired_design_keeps_what_each_finding_breaks(each: Finding) -> None:
    model = scenario(each.scenario).model(REPAIRED, budget_of(each.faults))
    found, explored = first_break(model, property_named(each.promise))
    assert found is None
    assert explored.complete


def test_what_every_design_has_is_seen_in_a_story() -> None:
    told = shown(finding("X7"))
    assert told.verdict == SEEN
    assert told.words == "seen after 32 steps"


def test_a_search_that_was_stopped_decides_nothing() -> None:
    told = shown(finding("D"), Bounds(states_max=20))
    assert told.verdict == NOT_DECIDED
    assert told.run is None


def test_a_change_that_harms_nothing_is_said_to() -> None:
    harmless = finding("A").but(design="repaired")
    told = shown(harmless)
    assert told.verdict == NOT_BROKEN
    assert "664 states" in told.reason


def test_a_finding_about_the_words_says_so() -> None:
    told = shown(finding("N"))
    assert (told.verdict, told.run) == (TEXT, None)


def test_an_unknown_finding_is_answered_with_those_there_are() -> None:
    with pytest.raises(LookupError, match="there is no finding 'Z'; the findings are A, B"):
        finding("Z")


@pytest.mark.thorough
def test_the_page_in_the_repository_is_the_one_that_the_model_gives() -> None:
    stored = PAGE.read_text(encoding="utf-8")
    again = HEAD + findings_page(shown_all(FINDINGS))
    assert stored == again, "run `kipviz study findings --into FINDINGS.md`"
