"""Fault profiles: how much may go wrong, and that dice can weigh whatever can happen."""

from __future__ import annotations

from typing import get_args

import pytest

from kipviz.checking.judging.budgets import KINDS, budget_of, budget_words, counts_of
from kipviz.checking.judging.faults import (
    CALM,
    FAULTS,
    HOSTILE,
    ROUGH,
    Faults,
    UnknownFaults,
    faults,
)
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.specs.spec import FaultBudget

AS_FAULTS = pytest.mark.parametrize("known", FAULTS, ids=lambda known: known.name)


@AS_FAULTS
def test_a_profile_says_what_it_is_and_weighs_every_kind_of_action(known: Faults) -> None:
    assert faults(known.name) is known
    assert known.sentence.endswith(".")
    kinds = {action.KIND for action in get_args(ClusterAction)}
    assert {kind for kind, _ in known.profile.weights} == kinds


def test_calm_allows_nothing_and_hostile_everything() -> None:
    assert counts_of(CALM.budget) == {}
    assert [CALM.profile.weight(kind) for kind in ("expiry", "fault")] == [0, 0]
    # What an operator wants is no accident: levels, rights, binaries, a shorter log. Nor is that
    # a caller waits no longer, or works too long: max.block.ms and max.poll.interval.ms are the
    # application's own settings.
    wanted = {"upgrade", "acls", "restart", "delete_records", "max_block", "miss_poll"}
    assert set(counts_of(HOSTILE.budget)) == set(KINDS) - wanted


def test_more_may_go_wrong_from_profile_to_profile() -> None:
    for less, more in ((CALM, ROUGH), (ROUGH, HOSTILE)):
        assert all(getattr(less.budget, k) <= getattr(more.budget, k) for k in KINDS)
        assert less.budget != more.budget


def test_an_unknown_profile_is_answered_with_the_profiles_there_are() -> None:
    with pytest.raises(UnknownFaults) as wrong:
        faults("stormy")
    assert str(wrong.value) == (
        "there is no fault profile 'stormy'; the profiles are calm, rough, hostile"
    )


@pytest.mark.parametrize(
    ("words", "budget"),
    [
        ("", FaultBudget()),
        ("  ", FaultBudget()),
        ("rough", ROUGH.budget),
        ("expire_lock=1", FaultBudget(expire_lock=1)),
        ("crash_broker=2, expire_lock = 1", FaultBudget(crash_broker=2, expire_lock=1)),
    ],
)
def test_words_ask_for_a_budget_and_a_budget_is_said_in_words(
    words: str, budget: FaultBudget
) -> None:
    assert budget_of(words) == budget
    assert budget_of(budget_words(budget)) == budget


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("stormy", "'stormy' is neither a fault profile (calm, rough, hostile) nor of the form"),
        (
            "fire=1",
            "there is no fault 'fire'; the faults are crash_broker, ",
        ),
        ("cut=-1", "cut must be a whole number of at least 0, not '-1'"),
        ("cut=1.5", "cut must be a whole number of at least 0, not '1.5'"),
        ("cut=1,cut=2", "the fault 'cut' is named twice"),
    ],
)
def test_words_that_ask_for_no_budget_are_answered_with_one_sentence(
    words: str, sentence: str
) -> None:
    with pytest.raises(UnknownFaults) as wrong:
        budget_of(words)
    assert sentence in str(wrong.value)
    assert "\n" not in str(wrong.value)
