"""A tone belongs to a value: other words of a verdict look the same."""

from __future__ import annotations

import pytest

from kipviz.checking.judging.verdicts import BREAKS, HOLDS, NOT_DECIDED, SO_FAR
from kipviz.checking.search.search_result import Counterexample, Explored
from kipviz.checking.timed.landscape import Spot
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.studies.kip_claims.corners import CORNERS, NO, STOPS, YES, CornerResult
from kipviz.studies.review_findings.findings import (
    BREAKS_PLAYED,
    COUNTED,
    NOT_BROKEN,
    SEEN,
    Finding,
    FindingResult,
)
from kipviz.views import tones
from kipviz.views.measures import landscape
from kipviz.views.reports.blocks import TextTable
from kipviz.views.reports.review import corners_blocks, findings_blocks

FOUND = Explored(9, 9, 9, True, (Counterexample("atomic", "why", ()),))
WHOLE, PART = Explored(9, 9, 9, True, ()), Explored(9, 9, 9, False, ())


@pytest.mark.parametrize(
    ("verdict", "tone"),
    [(HOLDS, "holds"), (SO_FAR, "open"), (NOT_DECIDED, "open"), (BREAKS, "breaks")],
)
def test_a_verdict_has_its_tone(verdict: str, tone: str) -> None:
    assert tones.TONE_OF_VERDICT[verdict] == tone


@pytest.mark.parametrize(
    ("explored", "commits", "tone"),
    [
        (FOUND, True, "breaks"),
        (WHOLE, True, "holds"),
        (WHOLE, False, "open"),
        (PART, True, "open"),
    ],
)
def test_a_cell_of_a_landscape_has_the_tone_of_its_search(
    explored: Explored, commits: bool, tone: str
) -> None:
    assert landscape._cell(Spot("d", 1, 1, explored, commits), "1").tone == tone


@pytest.mark.parametrize(
    ("verdict", "tone"),
    [
        (BREAKS, "breaks"),
        (BREAKS_PLAYED, "breaks"),
        (NOT_DECIDED, "open"),
        (NOT_BROKEN, ""),  # although its words begin with "breaks"
        (COUNTED, ""),
        (SEEN, ""),
    ],
)
def test_a_finding_has_the_tone_of_its_verdict(verdict: str, tone: str) -> None:
    found = FindingResult(Finding("A", "says", "clause", "matter"), verdict, "why")
    its = FindingResult(
        Finding("B", "says", "clause", "matter"),
        verdict,
        "why",
        with_its_lock="other words",
        its_lock_verdict=verdict,
    )
    page = findings_blocks((found, its))[0]
    assert isinstance(page, TextTable)
    at, lock = page.heads.index("verdict"), page.heads.index("with the text's own lock rule")
    assert [row[at].tone for row in page.rows] == [tone, tone]
    assert [row[lock].tone for row in page.rows] == ["", tone]


def test_a_corner_case_has_the_tone_of_its_answer() -> None:
    told = CornerResult(CORNERS[0], "d", YES, NO, "not resolved (undecided)", "breaks after all")
    stopped = CornerResult(CORNERS[0], "d", STOPS, "", "", "it stopped")
    page = corners_blocks((told, stopped))[0]
    assert isinstance(page, TextTable)
    assert [cell.tone for cell in page.rows[0]] == ["", "", "", "", "holds", "breaks", "", ""]
    assert [cell.tone for cell in page.rows[1]] == ["", "", "", "", "open", "", "", ""]


def test_every_state_that_changes_what_is_read_has_a_tone() -> None:
    assert tones.TONE_OF_RECORD[RecordState.TX_PENDING] == tones.PENDING
    assert tones.tone_of_transaction(TransactionState.COMPLETE_COMMIT) == tones.DONE
    assert tones.tone_of_transaction(TransactionState.COMPLETE_ABORT) == tones.CALM
    assert tones.TONE_OF_STATE[TransactionState.COMPLETE_ABORT] == tones.WARNING
