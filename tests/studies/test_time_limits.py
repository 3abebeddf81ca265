"""The shortest lock that keeps every property, by searching: as long as the rule says, and no longer."""

from __future__ import annotations

import pytest

from kipviz.studies.library import study
from kipviz.studies.study import answer
from kipviz.studies.timed.time_limits import (
    BURNS,
    PINNED,
    STEP_MS,
    TAKES_BACK,
    outlives,
    predict_lock,
    shortest,
    verdict,
)


def test_a_transactional_acknowledgement_that_can_be_taken_back_asks_for_a_lock_that_outlasts_work_and_look_up() -> (
    None
):
    found = shortest(TAKES_BACK, 60_000, 5_000)
    assert found.lock == predict_lock(TAKES_BACK, 60_000, 5_000) == 15_000
    assert found.commits
    assert verdict(TAKES_BACK, found.lock - STEP_MS, 60_000, 5_000) == (False, True)


def test_a_pinned_transactional_acknowledgement_asks_for_nothing() -> None:
    found = shortest(PINNED, 60_000, 20_000)
    assert (found.lock, found.commits) == (predict_lock(PINNED, 60_000, 20_000), True)


def test_what_never_commits_breaks_nothing() -> None:
    found = shortest(TAKES_BACK, 10_000, 40_000)
    assert (found.lock, found.commits) == (STEP_MS, False)


def test_an_abort_uses_up_the_last_delivery_as_the_text_has_it() -> None:
    assert outlives(BURNS, 1, 2)
    assert not outlives(BURNS, 2, 2)


@pytest.mark.thorough
def test_the_rule_of_deliveries_agrees_with_every_cell() -> None:
    assert {row[4] for row in answer(study("deliveries")).rows} == {"as the rule says"}


@pytest.mark.thorough
def test_the_rule_agrees_with_every_cell() -> None:
    rows = answer(study("timeouts")).rows
    assert len(rows) == 12
    assert {row[5] for row in rows} == {"as the rule says"}
