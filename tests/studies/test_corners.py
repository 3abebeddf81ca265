"""The corner cases of KIP-1289: what is claimed, and whether it holds in each reading."""

from __future__ import annotations

import pytest

from kipviz.brokers.checks import Checks, error_of
from kipviz.brokers.context import Context
from kipviz.brokers.share_leaders import acknowledgement_checks
from kipviz.brokers.share_leaders.share_partition import SharePartition
from kipviz.designs.catalogue import REPAIRED, design
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageSent, RecordsMoved
from kipviz.messages.shares.share_groups import TxnShareAcknowledge, offsets_of
from kipviz.messages.transactions.transactions import WriteTxnMarkers
from kipviz.scenarios.library import searched_scenario
from kipviz.studies.kip_claims.corners import (
    CORNERS,
    DESIGNS,
    NO,
    STOPS,
    YES,
    Corner,
    aborted_by_the_application,
    play_case,
    play_corners,
    refused_whole,
)
from kipviz.views.reports.review import corners_page

# case -> whether the claim holds, design by design, and whether exactly once does.
# As written no marker fits (finding I), so the lock frees every record whose output is committed (finding T): where
# a story commits, exactly once is gone in each reading of the text.
HOLDS: dict[int | str, tuple[tuple[str, str], ...]] = {
    1: (*[(YES, NO)] * 4, (YES, YES)),
    2: (*[(YES, NO)] * 4, (YES, YES)),
    3: ((YES, NO), (YES, NO), (NO, NO), (YES, NO), (YES, YES)),
    5: (*[(NO, NO)] * 3, (STOPS, ""), (YES, YES)),
    6: (*[(NO, NO)] * 3, (STOPS, ""), (YES, YES)),
    7: (*[(YES, NO)] * 4, (YES, YES)),
    8: (*[(NO, NO)] * 4, (NO, YES)),
    "snapshot": (*[(YES, NO)] * 4, (NO, YES)),
    9: ((YES, YES),) * 5,
    "the text's loop": ((NO, YES),) * 5,
    "abort": (*[(YES, NO)] * 4, (YES, YES)),
    10: (*[(YES, NO)] * 4, (YES, YES)),
    11: (*[(YES, NO)] * 3, (YES, YES), (YES, YES)),
    "one-leader": (*[(YES, NO)] * 4, (NO, YES)),
    "two-leaders": (*[(NO, NO)] * 3, (STOPS, ""), (NO, YES)),
    # The text concedes a second delivery: its claim holds where exactly once does not.
    12: (*[(YES, NO)] * 3, (NO, NO), (NO, YES)),
    13: (*[(YES, NO)] * 4, (YES, YES)),
    14: ((YES, NO), (YES, NO), (NO, NO), (YES, NO), (YES, YES)),
}
PLAYED = [corner for corner in CORNERS if corner.check is not None]


def place(corner: Corner) -> int | str:
    """Cases 8, 9 and 11 are told of several clusters, or ask for several things; each but the first one has a word of its own."""
    if corner.check is aborted_by_the_application and corner.scenario == "kip-1289-corner-9":
        return "the text's loop"  # the same story as the claim before it
    word = corner.scenario.removeprefix(f"kip-1289-corner-{corner.number}").strip("-")
    return word if corner.scenario.startswith("kip-1289-corner") and word else corner.number


def test_the_cases_are_those_of_the_text_which_has_no_fourth() -> None:
    numbers = [1, 2, 3, *range(5, 9), 8, 9, 9, *range(9, 12), 11, 11, *range(12, 15)]
    assert [corner.number for corner in CORNERS] == numbers
    assert {place(corner) for corner in PLAYED} == set(HOLDS)
    assert all(corner.claim.endswith(".") for corner in CORNERS)


@pytest.mark.parametrize("corner", PLAYED, ids=[f"case {place(c)}" for c in PLAYED])
def test_a_claim_holds_or_not_as_pinned_in_each_reading(corner: Corner) -> None:
    found = tuple((t.holds, t.once) for t in (play_case(corner, name) for name in DESIGNS))
    assert found == HOLDS[place(corner)]


def test_exactly_once_holds_in_every_case_of_the_repaired_design() -> None:
    assert {rows[-1][1] for rows in HOLDS.values()} == {YES}


def test_a_crash_after_the_staging_costs_the_text_its_exactly_once() -> None:
    written, repaired = play_case(CORNERS[0], "as-written"), play_case(CORNERS[0], "repaired")
    assert "ACQUIRED → TX_PENDING → ACQUIRED" in written.happens
    assert "finds no trace of its acknowledgement" in written.happens
    assert repaired.happens.startswith("record 100: ACQUIRED → TX_PENDING; stagings: NONE")


def test_the_share_partition_leader_cannot_answer_with_a_stale_member_epoch() -> None:
    case = next(c for c in CORNERS if c.number == 8)
    assert "stagings: INVALID_RECORD_STATE" in play_case(case, "repaired").happens


def test_what_breaks_the_case_of_the_duplicate_is_the_markers_epoch_and_not_the_duplicate() -> None:
    case = next(c for c in CORNERS if c.number == 5)
    alone, without = (play_case(case, name) for name in case.also)
    assert (alone.design, alone.holds, without.holds) == ("finding-I", NO, YES)
    assert alone.pending.endswith("(for ever)")
    assert "ACQUIRED → TX_PENDING → ACKNOWLEDGED" in without.happens
    trace, _ = searched_scenario("kip-1289-corner-5").play(design(without.design))
    sent = [
        event.message
        for number in trace.line
        for event in trace.node(number).events
        if isinstance(event, MessageSent) and isinstance(event.message, WriteTxnMarkers)
    ]
    assert max(sent.count(each) for each in sent) == 2


def test_a_call_that_is_refused_in_its_middle_was_looked_at_whole_and_nothing_of_it_was_staged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[dict[int, str], tuple[int, ...], Errors]] = []
    original = acknowledgement_checks.stage_checks

    def spy(me: SharePartition, request: TxnShareAcknowledge, on: Context) -> Checks:
        checks = original(me, request, on)
        states = {offset: record.state.name for offset, record in me.records.items()}
        asked.append((states, tuple(offsets_of(request.only.acknowledgements)), error_of(checks)))
        return checks

    monkeypatch.setattr(acknowledgement_checks, "stage_checks", spy)
    trace, _ = searched_scenario("kip-1289-corner-11").play(REPAIRED)
    held = {100: "ACQUIRED", 101: "AVAILABLE", 102: "ACQUIRED"}
    assert asked == [(held, (100, 101, 102), Errors.INVALID_RECORD_STATE)]
    states = {
        event.after.name
        for number in trace.line
        for event in trace.node(number).events
        if isinstance(event, RecordsMoved)
    }
    assert states == {"ACQUIRED", "AVAILABLE"}


@pytest.mark.parametrize(
    ("story", "refused"),
    [
        ("kip-1289-corner-11", True),
        ("kip-1289-corner-11-one-leader", False),  # the other partition is staged meanwhile
        ("kip-1289-share-commit", False),  # nothing is refused
    ],
)
def test_a_call_is_refused_whole_only_where_it_is_refused_and_nothing_of_it_is_staged(
    story: str, refused: bool
) -> None:
    trace, _ = searched_scenario(story).play(REPAIRED)
    events = tuple(event for number in trace.line for event in trace.node(number).events)
    assert refused_whole(trace, events) is refused


def test_the_page_has_a_row_for_every_case_and_reading() -> None:
    page = corners_page(play_corners(DESIGNS[:1]))
    also = sum(len(set(corner.also) - {DESIGNS[0]}) for corner in CORNERS)
    assert also
    assert page.count("\n| ") == len(CORNERS) + also + 1


def test_the_line_under_the_table_says_which_timers_ran_and_what_was_tried() -> None:
    told_one = play_case(next(corner for corner in CORNERS if corner.number == 5), "finding-I")
    page = corners_page([told_one])
    assert "(for ever)" in page
    line = page.splitlines()[-1]
    for timers in ("acquisition locks", "transaction.timeout.ms", "sessions of silent members"):
        assert timers in line
    assert "“resolved” if some continuation without a new fault closes it" in line
    assert "otherwise all of them were tried and none does, or it is “undecided”" in line


def test_a_case_that_cannot_be_played_says_what_the_model_lacks() -> None:
    lacking = CORNERS[0].but(check=None, needs="a broker that can be drowned")
    assert (
        play_case(lacking, "repaired").happens == "not in the model: a broker that can be drowned"
    )
