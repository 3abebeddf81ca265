"""The ledger of the draft implementation: rows are made again, a run is kept, and DRAFTS.md is what the model gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipviz.checking.judging.verdicts import HOLDS
from kipviz.checking.single_run.permalink import open_link
from kipviz.designs.catalogue import design
from kipviz.studies.draft_implementation import saved_ledger
from kipviz.studies.draft_implementation.draft_ledger import (
    LedgerEntry,
    every_case,
    ledger,
    name_of,
)
from kipviz.studies.draft_implementation.implementation import (
    APART,
    LATE,
    PROPERTY_NAMES,
    STAGES_LATE,
    TOGETHER,
    Case,
    repair,
)
from kipviz.studies.draft_implementation.saved_ledger import KeptLedger, LedgerFileError
from kipviz.views.exports.markdown import plain
from kipviz.views.reports.draft_ledger import BOUNDS, draft_ledger_page, words_of

PAPER = Path(__file__).parents[2] / "docs/DRAFTS.md"
QUICK = tuple(
    (label, case)
    for label, case in every_case()
    if (case.scenario, case.design, case.faults)
    in (
        (APART, "draft-early", ""),
        (APART, "draft-early", "time_out=1"),
        (APART, LATE, ""),
        (TOGETHER, "draft-middle", ""),
        (STAGES_LATE, "repaired", ""),
    )
)


@pytest.fixture(scope="module")
def quick() -> tuple[LedgerEntry, ...]:
    """Return the rows of a few small cases."""
    assert len(QUICK) == 5
    return tuple(row for rows in ledger(wanted=QUICK) for row in rows)


def rows_of(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("| ") and " states |" in line]


def test_every_case_has_a_name_of_its_own_and_the_one_without_an_accident_comes_first() -> None:
    found = [name_of(case) for _, case in every_case()]
    assert len(set(found)) == len(found)
    seen = set()
    for _, case in every_case():
        assert not case.faults or (case.scenario, case.design) in seen
        seen.add((case.scenario, case.design))


def test_the_paper_has_two_rows_for_every_case() -> None:
    stored = rows_of(PAPER.read_text(encoding="utf-8"))
    assert len(stored) == len(PROPERTY_NAMES) * len(every_case())


def test_a_sample_of_the_paper_is_what_the_model_gives(quick: tuple[LedgerEntry, ...]) -> None:
    stored = rows_of(PAPER.read_text(encoding="utf-8"))
    made = rows_of(draft_ledger_page(quick))
    assert len(made) == len(quick)
    for row in made:
        assert row in stored, "run `kipviz ledger --drafts --into docs/DRAFTS.md`"


@pytest.mark.thorough
def test_the_whole_paper_is_what_the_model_gives() -> None:
    made = draft_ledger_page([row for rows in ledger() for row in rows])
    assert PAPER.read_text(encoding="utf-8").endswith(made)


def test_a_break_has_a_run_that_opens_where_it_breaks_and_a_smallest_repair(
    quick: tuple[LedgerEntry, ...],
) -> None:
    (row,) = (each for each in quick if each.design == "draft-middle" and each.breaks)
    opened = open_link(row.link)
    assert (opened.design.name, opened.trace.depth) == ("draft-middle", row.steps)
    assert row.repair.slots == ("marker_epoch",)
    assert row.repair.decided
    assert row.repair.searched == "no break in any interleaving, 240 states"
    assert f"| {plain(row.repair.words)} |" in rows_of(draft_ledger_page([row]))[0]


def test_what_the_program_breaks_is_said_to_be_its_own_and_has_no_repair(
    quick: tuple[LedgerEntry, ...],
) -> None:
    (row,) = (each for each in quick if each.scenario == STAGES_LATE and each.breaks)
    assert row.repair.slots == ()
    assert "| none |" in rows_of(draft_ledger_page([row]))[0]


def test_what_breaks_without_an_accident_is_not_searched_with_one(
    quick: tuple[LedgerEntry, ...],
) -> None:
    bare = tuple(each for each in quick if each.design == "draft-middle")
    case = Case(TOGETHER, "draft-middle", "time_out=1")
    told: list[str] = []

    def noted(name: str, _done: int, _there_are: int, words: str) -> bool:
        told.append(words)
        return True

    bare_case = Case(TOGETHER, "draft-middle", "")
    both = (("middle", bare_case), ("middle", case))
    _, (atomic, pending) = ledger(noted, {name_of(bare_case): bare}, wanted=both)
    (broken,) = (each for each in bare if each.breaks)
    assert atomic.verdict == HOLDS
    assert not atomic.bare
    assert pending == broken.but(faults="time_out=1", bare=True)
    assert words_of(pending) == f"breaks after {broken.steps} without a fault"
    assert told


def test_a_known_repair_that_mends_the_case_is_the_answer() -> None:
    case = Case(TOGETHER, "draft-middle", "")
    assert repair(case, known=("marker_epoch",)).slots == ("marker_epoch",)
    # One that does not mend it is no answer.
    assert repair(case, known=("acknowledgement_form",)).slots == ("marker_epoch",)


# -- stopped and taken up again --------------------------------------------------------------------


def test_a_ledger_that_is_stopped_keeps_what_it_has_and_goes_on_from_there(tmp_path: Path) -> None:
    cases = QUICK[:2]
    file = tmp_path / "kept.json"
    kept = KeptLedger(file)
    asked: list[str] = []

    def first_only(name: str, done: int, _there_are: int, _words: str) -> bool:
        asked.append(name)
        return done == 0

    first = list(ledger(first_only, kept.cases, kept.keep, cases))
    assert len(first) == 1
    again = KeptLedger(file)
    assert list(again.cases) == [name_of(cases[0][1])]
    asked.clear()

    def noted(name: str, *_: object) -> bool:
        asked.append(name)
        return True

    both = list(ledger(noted, again.cases, again.keep, cases))
    assert both[0] == first[0]
    assert set(asked) == {name_of(cases[1][1])}
    assert len(KeptLedger(file).cases) == 2


def test_rows_of_another_model_and_files_of_something_else_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept.json"
    KeptLedger(file).keep("a case", ())
    monkeypatch.setattr(saved_ledger, "digest_of_sources", lambda: "another")
    with pytest.raises(LedgerFileError, match="keeps rows of another model"):
        KeptLedger(file)
    for content in (b"", b"{}", b"\xff\xfe", b'{"cases": 3}'):
        file.write_bytes(content)
        with pytest.raises(LedgerFileError, match="keeps no rows of a ledger"):
            KeptLedger(file)


def test_the_paper_says_that_the_repaired_design_never_archives_a_poison_record() -> None:
    """The words are the design's own decision: with the other one they would have to go."""
    assert design("repaired").option("abort_limit").name == "not_asked"
    assert "(abort_limit=not_asked)" in BOUNDS
    assert plain(BOUNDS) in PAPER.read_text(encoding="utf-8")
    assert "never archived" in design("repaired").option("abort_limit").sentence
