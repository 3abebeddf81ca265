"""The smallest set of decisions that repairs a design: what is tried, and what is said of it."""

from __future__ import annotations

from itertools import combinations

import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.repair import Repair, RepairQuestion, repair
from kipviz.checking.judging.verdicts import BREAKS, HOLDS, NOT_DECIDED, judge

SMALL = "kip-1289-small"


@pytest.fixture(scope="module")
def expiring() -> Repair:
    """As written, where a lock may run out early: two decisions are needed."""
    return repair(RepairQuestion(SMALL, "as-written", faults=budget_of("expire_lock=1")))


def test_the_smallest_set_that_repairs_the_text_is_found(expiring: Repair) -> None:
    assert [each.slots for each in expiring.repairs] == [("lock_expiry", "marker_epoch")]
    assert expiring.sentence == (
        "kip-1289-small, expire_lock=1: lock_expiry + marker_epoch, filled as in repaired, repairs as-written. "
        "Every smaller set was tried, and none holds."
    )


def test_every_set_of_a_size_is_tried_before_the_next_and_none_behind_a_repair(
    expiring: Repair,
) -> None:
    tried = [each.slots for each in expiring.attempts]
    sets = [chosen for size in range(3) for chosen in combinations(expiring.slots, size)]
    assert tried == sets


def test_a_repair_was_searched_to_its_end_and_what_breaks_has_a_run_of_its_own(
    expiring: Repair,
) -> None:
    (found,) = expiring.repairs
    assert found.states == judge(SMALL, found.design, budget_of("expire_lock=1")).explored.states
    broken = [each for each in expiring.attempts if each.verdict == BREAKS]
    assert len(broken) == len(expiring.attempts) - 1
    assert sum(1 for each in broken if each.states) == 2
    for attempt in (*broken[:3], *broken[-3:]):
        made = attempt.find_break()
        assert made.run.design.name == attempt.design
        assert made.broken == attempt.property_name
        assert made.step == attempt.step


def test_a_design_that_keeps_its_properties_has_nothing_to_repair() -> None:
    found = repair(RepairQuestion(SMALL, "finding-D", properties=("one owner",)))
    assert [each.verdict for each in found.attempts] == [HOLDS]
    assert found.repairs == ()
    assert found.sentence.endswith("there is nothing to repair.")


def test_what_only_larger_sets_repair_is_said_with_how_far_was_tried() -> None:
    asked = RepairQuestion(SMALL, "as-written", faults=budget_of("expire_lock=1"), decisions_max=1)
    found = repair(asked)
    assert found.repairs == ()
    assert found.sentence == (
        "kip-1289-small, expire_lock=1: no set of up to 1 of the 17 decisions in which repaired differs repairs as-written."
    )


def test_a_search_that_came_to_its_limit_repairs_nothing() -> None:
    found = repair(RepairQuestion(SMALL, "finding-A", decisions_max=1, states_max=100))
    assert found.repairs == ()
    assert found.undecided
    assert found.undecided[0].verdict == NOT_DECIDED
    assert "not decided within the limit of states" in found.sentence


def test_who_stops_it_keeps_what_was_tried() -> None:
    asked = RepairQuestion(SMALL, "as-written", faults=budget_of("expire_lock=1"))
    told = []

    def three(design: str, states: int, depth: int) -> bool:
        told.append(design)
        return len(set(told)) <= 3

    found = repair(asked, three)
    assert not found.whole
    assert 1 <= len(found.attempts) <= 3
    assert found.sentence.endswith("the sets after the last attempt were not tried.")
    assert repair(asked, lambda *_: False).attempts == ()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (RepairQuestion("none", "as-written"), "there is no scenario 'none'"),
        (RepairQuestion(SMALL, "none"), "there is no design 'none'"),
        (RepairQuestion(SMALL, "as-written", "none"), "there is no design 'none'"),
        (RepairQuestion(SMALL, "as-written", properties=("none",)), "none"),
        (
            RepairQuestion(SMALL, "as-written", decisions_max=0),
            "decisions_max must be a whole number of at least 1",
        ),
    ],
)
def test_a_word_that_names_nothing_is_one_sentence(question: RepairQuestion, words: str) -> None:
    with pytest.raises(ValueError, match=words) as wrong:
        repair(question)
    assert "\n" not in str(wrong.value)


def test_decisions_of_several_designs_and_all_options_are_tried_and_named_with_their_option():
    lock = budget_of("expire_lock=1")
    several = RepairQuestion(SMALL, "finding-D", "repaired, finding-I", lock, decisions_max=1)
    assert set(several.slots()) == {"lock_expiry=pinned_until_marker", "marker_epoch=equal"}
    found = repair(several)
    assert [each.slots for each in found.repairs] == [("lock_expiry=pinned_until_marker",)]
    assert "lock_expiry=pinned_until_marker repairs finding-D" in found.sentence
    whole = RepairQuestion(SMALL, "finding-D", "any", lock)
    assert "lock_expiry=back_to_acquired" in whole.slots()
    assert "lock_expiry=back_to_available" not in whole.slots()
    assert whole.fill(("lock_expiry=noticed_by_nobody",)).option("lock_expiry").name == (
        "noticed_by_nobody"
    )
    assert whole.sentence_of("lock_expiry=pinned_until_marker").startswith("The timer does not run")


@pytest.mark.thorough
def test_every_single_option_that_repairs_is_found_when_all_are_tried():
    asked = RepairQuestion(SMALL, "finding-D", "any", budget_of("expire_lock=1"), decisions_max=1)
    found = repair(asked)
    assert found.whole
    assert ("lock_expiry=pinned_until_marker",) in [each.slots for each in found.repairs]
    assert len(found.attempts) == len(found.slots) + 1
