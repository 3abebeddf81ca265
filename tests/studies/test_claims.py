"""The ledger: every claim can be judged, and LEDGER.md is what judging them gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import EVERY_PROPERTY
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.permalink import open_link
from kipviz.designs.catalogue import design
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.kip_claims.claims import CLAIMS, judge_claims
from kipviz.studies.kip_claims.texts import judged_texts
from kipviz.views.reports.ledger_of_texts import ledger_of_texts
from kipviz.views.reports.review import ledger

LEDGER = Path(__file__).parents[2] / "docs/LEDGER.md"


def test_every_claim_names_a_property_a_clause_and_designs_that_can_be_searched() -> None:
    names = {prop.name for prop in EVERY_PROPERTY}
    for claim in CLAIMS:
        assert claim.property in names
        assert claim.clause.startswith("KIP-")
        for name in claim.under:
            searched_scenario(claim.scenario).model(design(name), budget_of(claim.faults))


def test_a_claim_that_was_searched_only_in_part_does_not_hold() -> None:
    (entry, *_) = judge_claims(CLAIMS[:1], Bounds(states_max=50))
    assert entry.cell.verdict == "holds so far"
    assert "not complete" in ledger([entry])


def test_a_claim_that_breaks_has_a_permalink_that_opens_where_it_breaks() -> None:
    (stuck,) = judge_claims((CLAIMS[1].but(under=("finding-I",)),))
    link = next(cell for cell in ledger([stuck]).split("`") if cell.startswith("kv2."))
    opened = open_link(link)
    assert (opened.design.name, opened.trace.depth) == ("finding-I", len(stuck.cell.actions))
    assert opened.changes == ()


# Claims whose searches take ten seconds and more.
LARGE = ("move_leader=1", "crash_client=1")


@pytest.mark.slow
def test_every_third_row_of_the_ledger_is_what_the_model_gives() -> None:
    stored = LEDGER.read_text(encoding="utf-8").splitlines()
    small = [c for c in CLAIMS if c.faults not in LARGE or "small-first-draft" not in c.scenario]
    small = [c for c in small if c.faults != "move_leader=1"]
    assert len(small) >= len(CLAIMS) - 2
    for entry in judge_claims(tuple(small[::3])):
        (row,) = (
            line
            for line in ledger([entry]).splitlines()
            if line.startswith("| ") and "---" not in line and not line.startswith("| claim |")
        )
        assert row in stored, "run `kipviz ledger --into docs/LEDGER.md`"


@pytest.mark.thorough
def test_the_ledger_in_the_repository_is_the_one_that_the_model_gives() -> None:
    stored = LEDGER.read_text(encoding="utf-8")
    made = f"{ledger(judge_claims())}\n{ledger_of_texts(judged_texts())}"
    assert stored.endswith(made), "run `kipviz ledger --into docs/LEDGER.md`"
