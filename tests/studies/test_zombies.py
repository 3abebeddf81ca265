"""Study B28: a process stands still at every moment of its transaction in turn."""

from __future__ import annotations

import pytest

from kipviz.studies.counting.zombies import DRAFT, GROUP, SHARE, pauses, zombies

TWICE = "has 2 committed outputs: it is duplicated"


@pytest.mark.parametrize(
    ("scenario", "design", "harmful"),
    [
        (GROUP, "kafka", False),
        (GROUP, "kafka+pending_offset=the_committed_one", True),
        (GROUP, "kafka+zombie_offsets=anybody", True),
        (DRAFT, "kip-447-first-draft", False),
        (DRAFT, "kip-447-first-draft+older_transaction=it_stays_open", False),
        (DRAFT, "kip-447-first-draft+older_generation=no_generation_is_known", True),
        (SHARE, "repaired", False),
        (SHARE, "repaired+lock_expiry=back_to_available", True),
    ],
)
def test_it_takes_both_halves_of_kip_447_and_a_pinned_transactional_acknowledgement(
    scenario: str, design: str, harmful: bool
) -> None:
    found = pauses(scenario, design)
    assert len(found) > 10
    reasons = {reason for _, reason in found if reason}
    assert bool(reasons) == harmful
    assert scenario == SHARE or all(reason.endswith(TWICE) for reason in reasons)


def test_each_half_closes_a_window_of_its_own() -> None:
    members = {m for m, r in pauses(GROUP, "kafka+pending_offset=the_committed_one") if r}
    offsets = {m for m, r in pauses(GROUP, "kafka+zombie_offsets=anybody") if r}
    neither = {m for m, r in pauses(GROUP, "before-447") if r}
    # Before the offsets are sent a member check helps, between that and the marker the wait does.
    assert members
    assert offsets
    assert members <= neither
    assert offsets <= neither
    assert any(m.startswith("TxnOffsetCommitResponse") for m in members - offsets)


def test_the_table_has_a_row_for_every_rival() -> None:
    heads, rows = zombies()
    assert len(heads) == 5
    assert [row[3] == "0" for row in rows] == [True, False, False, False, True, False, True, False]
