"""The corner cases of KIP-1289: what is claimed, and whether it holds in each reading."""

from __future__ import annotations

import pytest

from kipviz.studies.corners import CORNERS, DESIGNS, NO, STOPS, YES, Corner, told, told_all
from kipviz.views.review import corners_page

# case -> whether the claim holds, design by design, and whether exactly once does.
HOLDS: dict[int | str, tuple[tuple[str, str], ...]] = {
    1: ((YES, NO), (YES, NO), (YES, NO), (YES, YES), (YES, YES)),
    2: ((YES, NO), (YES, NO), (YES, YES), (YES, NO), (YES, YES)),
    3: ((YES, YES), (YES, YES), (NO, YES), (YES, YES), (YES, YES)),
    5: ((NO, YES), (NO, YES), (NO, YES), (STOPS, ""), (YES, YES)),
    6: ((NO, NO), (NO, NO), (NO, NO), (STOPS, ""), (YES, YES)),
    7: ((YES, YES), (YES, YES), (YES, YES), (YES, YES), (YES, YES)),
    8: ((NO, YES), (NO, YES), (NO, YES), (NO, YES), (NO, YES)),
    "snapshot": (*[(YES, YES)] * 4, (NO, YES)),
    9: ((YES, YES),) * 5,
    10: ((YES, NO), (YES, NO), (YES, NO), (YES, NO), (YES, YES)),
    11: ((YES, NO), (YES, NO), (YES, NO), (YES, NO), (YES, YES)),
    "one-leader": (*[(YES, NO)] * 4, (NO, YES)),
    "two-leaders": (*[(NO, YES)] * 3, (STOPS, ""), (NO, YES)),
    12: ((YES, YES), (YES, YES), (YES, YES), (YES, YES), (YES, YES)),
    13: ((YES, YES), (YES, YES), (YES, YES), (YES, YES), (YES, YES)),
    14: ((YES, YES), (YES, YES), (NO, YES), (YES, YES), (YES, YES)),
}
PLAYED = [corner for corner in CORNERS if corner.check is not None]


def place(corner: Corner) -> int | str:
    """Cases 8 and 11 are told of several clusters; each but the first one has a word of its own."""
    word = corner.scenario.removeprefix(f"kip-1289-corner-{corner.number}").strip("-")
    return word if corner.scenario.startswith("kip-1289-corner") and word else corner.number


def test_the_cases_are_those_of_the_text_which_has_no_fourth() -> None:
    numbers = [1, 2, 3, *range(5, 9), 8, *range(9, 12), 11, 11, *range(12, 15)]
    assert [corner.number for corner in CORNERS] == numbers
    assert {place(corner) for corner in PLAYED} == set(HOLDS)
    assert all(corner.claim.endswith(".") for corner in CORNERS)


@pytest.mark.parametrize("corner", PLAYED, ids=[f"case {place(c)}" for c in PLAYED])
def test_a_claim_holds_or_not_as_pinned_in_each_reading(corner: Corner) -> None:
    found = tuple((t.holds, t.once) for t in (told(corner, name) for name in DESIGNS))
    assert found == HOLDS[place(corner)]


def test_exactly_once_holds_in_every_case_of_the_repaired_design() -> None:
    assert {rows[-1][1] for rows in HOLDS.values()} == {YES}


def test_a_crash_after_the_staging_costs_the_text_its_exactly_once() -> None:
    written, repaired = told(CORNERS[0], "as-written"), told(CORNERS[0], "repaired")
    assert "ACQUIRED → TX_PENDING → ACQUIRED" in written.happens
    assert "finds no trace of its acknowledgement" in written.happens
    assert repaired.happens.startswith("record 100: ACQUIRED → TX_PENDING; stagings: NONE")


def test_the_share_partition_leader_cannot_answer_with_a_stale_member_epoch() -> None:
    case = next(c for c in CORNERS if c.number == 8)
    assert "stagings: INVALID_RECORD_STATE" in told(case, "repaired").happens


def test_the_page_has_a_row_for_every_case_and_reading() -> None:
    page = corners_page(told_all(DESIGNS[:1]))
    assert page.count("\n| ") == len(CORNERS) + 1


def test_a_case_that_cannot_be_played_says_what_the_model_lacks() -> None:
    lacking = CORNERS[0].but(check=None, needs="a broker that can be drowned")
    assert told(lacking, "repaired").happens == "not in the model: a broker that can be drowned"
