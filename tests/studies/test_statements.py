"""The claims of the five texts: every section has a row, and a row is judged, not asserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import BREAKS, property_named
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.kip_claims.statements import (
    CONTRADICTED,
    HOLDS,
    NOT_JUDGED,
    NOT_SEEN,
    Statement,
    Text,
    by_findings,
    by_look,
    by_nothing,
    by_search,
    by_story,
    judged_statement,
)
from kipviz.studies.kip_claims.statements_of_447 import MIDDLE_SECTIONS, SECOND_SECTIONS
from kipviz.studies.kip_claims.texts import TEXTS
from kipviz.studies.review_findings.findings import BREAKS_PLAYED, SEEN
from kipviz.studies.review_findings.reviews import REVIEWS, finding
from kipviz.views.reports.ledger_of_texts import ledger_of_texts

LEDGER = Path(__file__).parents[2] / "docs/LEDGER.md"
ALL = [
    # The place of a claim is its id: its sentence may be reworded.
    pytest.param(text, each, id=f"{text.name}-{number}")
    for text in TEXTS
    for number, each in enumerate(text.statements, 1)
]
CLAIMS = [(text, each) for text in TEXTS for each in text.statements]
QUICK = [
    row
    for row, (_, each) in zip(ALL, CLAIMS, strict=True)
    if (each.played or each.look is not None or each.because) and not each.findings
]


def test_every_section_of_each_text_has_a_claim_and_every_claim_a_section() -> None:
    assert len(TEXTS) == 5
    for text in TEXTS:
        assert {each.section for each in text.statements} == set(text.sections), text.name
        assert [s for s in text.sections if s not in {e.section for e in text.statements}] == []


def test_the_two_drafts_of_kip_447_are_two_texts() -> None:
    assert not set(MIDDLE_SECTIONS) & set(SECOND_SECTIONS)


@pytest.mark.parametrize(("text", "each"), ALL)
def test_a_claim_is_judged_in_one_way_by_things_that_there_are(text: Text, each: Statement) -> None:
    ways = (
        bool(each.property),
        each.look is not None,
        bool(each.findings),
        each.counting is not None,
        bool(each.because),
    )
    assert sum(ways) == 1
    assert each.claim.endswith(".")
    for name in each.findings:
        assert finding(name).name == name
    if each.property:
        property_named(each.property)
    if each.property or each.look is not None:
        searched_scenario(each.scenario).model(design(each.design), budget_of(each.faults))


def test_every_claim_of_a_text_is_said_once_in_its_section() -> None:
    said = [(text.name, each.section, each.claim) for text, each in CLAIMS]
    assert len(set(said)) == len(said)


def test_every_finding_of_a_review_is_named_by_a_claim_unless_the_text_is_silent() -> None:
    named = {name for _, each in CLAIMS for name in each.findings}
    left = {f.name for review in REVIEWS for f in review.findings} - named
    # What the text does not mention: eviction, a fenced write, a reset and deleted records.
    assert left == {"X5", "X6", "X13", "X17"}


@pytest.mark.parametrize(("text", "each"), QUICK)
def test_the_stored_verdict_of_a_story_is_what_the_story_gives(text: Text, each: Statement) -> None:
    judged = judged_statement(each)
    assert judged.verdict != NOT_SEEN, judged.reason
    rows = ledger_of_texts([(text, judged)]).splitlines()
    (row,) = (
        line
        for line in rows
        if line.startswith("| ") and "---" not in line and not line.startswith("| section |")
    )
    assert row in LEDGER.read_text(encoding="utf-8").splitlines(), (
        "run `kipviz ledger --into docs/LEDGER.md`"
    )


@pytest.mark.parametrize(
    ("statement", "verdict", "words"),
    [
        (by_search("s", "c.", "atomic", "repaired"), HOLDS, "holds"),
        (by_search("s", "c.", "atomic", "as-written"), BREAKS, "breaks after 41 steps"),
        (by_story("s", "c.", "kip-1289-share-commit", "repaired"), HOLDS, "holds"),
        (
            by_story("s", "c.", "kip-848-no-listener", "kafka"),
            BREAKS_PLAYED,
            "breaks in the story after 95 steps",
        ),
        (
            by_look("s", "c.", "kip-1289-share-commit", "repaired", lambda *_: True),
            SEEN,
            "seen after 0 steps",
        ),
        (
            by_look("s", "c.", "kip-1289-share-commit", "repaired", lambda *_: False),
            NOT_SEEN,
            "not seen",
        ),
        (
            by_story("s", "c.", "kip-447-zombie", "kafka", "no zombie offset commits"),
            HOLDS,
            "holds",
        ),
        (
            by_story("s", "c.", "kip-447-zombie", "before-447", "no zombie offset commits"),
            BREAKS_PLAYED,
            "breaks in the story after 74 steps",
        ),
        (by_findings("s", "c.", "A"), CONTRADICTED, "contradicted"),
        (by_findings("s", "c.", "J"), HOLDS, "holds"),
        (by_nothing("s", "c.", "performance"), NOT_JUDGED, "not judged by a model"),
    ],
)
def test_a_verdict_comes_from_the_run(statement: Statement, verdict: str, words: str) -> None:
    judged = judged_statement(statement)
    assert (judged.verdict, judged.words) == (verdict, words)
