"""Runs that break a property, told in words; and the single decisions that save them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.verdicts import BREAKS, DesignVerdicts, judge, property_named
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.saving_decisions import NOT_SEARCHED, decisions, under
from kipviz.checking.single_run.seeded_run import Task, run
from kipviz.checking.single_run.violation import Breaking, breaking
from kipviz.designs.catalogue import design
from kipviz.properties.verdict import BROKEN
from kipviz.views.reports.review import render_run
from tests.checking.counts import STUCK_AFTER

SMALL = "kip-1289-small"


@pytest.fixture(scope="module")
def row() -> DesignVerdicts:
    """Every property under finding D, with a lock that runs out."""
    return judge(SMALL, "finding-D", budget_of("expire_lock=1"))


@pytest.fixture(scope="module")
def expired(row: DesignVerdicts) -> Breaking:
    """The lock of a staged record runs out after its transaction was committed."""
    return render_run(row, row.cell("atomic"))


def choose(tried: Any, name: str) -> Any:
    return next(d for d in tried if f"{d.slot}={d.option}" == name)


def test_a_broken_run_says_which_step_would_have_had_to_be_missing(expired: Breaking) -> None:
    sentence = "Without step 31 (the lock of src-0@100 expires) the property would hold."
    assert expired.sentence == sentence
    assert expired.run.scenario.title == f"“atomic” breaks at step 31 under finding-D. {sentence}"
    assert expired.run.trace.depth == expired.step == 31


def test_a_break_without_an_accident_names_an_ordinary_step_and_says_so() -> None:
    row = judge(SMALL, "finding-I")
    made = render_run(row, row.cell("no stuck transactions or records"))
    assert made.sentence.endswith("an ordinary step, so no accident is needed to break it.")
    assert made.step == STUCK_AFTER


def test_the_run_without_the_step_stands_beside_as_a_branch_that_keeps_the_property(
    row: DesignVerdicts, expired: Breaking
) -> None:
    cell = row.cell("staged waits")
    # The run goes on behind the break, so that there is something to do without the step.
    long = expired.run
    made = breaking(runs.follow(long.scenario, long.design, long.budget, cell.actions), cell.asked)
    assert made.saved is not None
    assert made.saved.at + 1 == made.step  # nothing comes after it, so there is no branch
    assert made.run.lines == ()
    seeded = next(
        v
        for v in map(
            run, (Task("kip-1289-two-members", "finding-D", "rough", n) for n in range(60))
        )
        if v.broken == "atomic"
    )
    made = breaking(runs.replay(seeded.task), "atomic")
    assert made.step == seeded.step
    if made.saved is not None and made.saved.at + 1 < made.step:
        without = made.run.lines[1]
        other = made.run.trace.jump(without.tip)
        (judged,) = runs.judge(made.run.at(other), (property_named("atomic"),))
        assert judged.status != BROKEN
        assert without.name == f"without step {made.saved.at + 1}"


def test_a_run_that_breaks_nothing_has_no_story() -> None:
    with pytest.raises(LookupError, match="does not break a property"):
        breaking(runs.play(SMALL, "repaired"))
    with pytest.raises(ValueError, match="there is no property 'fair'; the properties are atomic"):
        breaking(runs.play(SMALL, "repaired"), "fair")


def test_the_decision_that_a_finding_is_about_saves_its_run(expired: Breaking) -> None:
    tried = decisions(expired)
    assert choose(tried, "lock_expiry=pinned_until_marker").saves
    assert choose(tried, "marker_epoch=at_least").verdict == BREAKS
    assert {d.searched for d in tried} == {NOT_SEARCHED}
    # What the design says already is no other decision.
    assert "lock_expiry=back_to_available" not in {f"{d.slot}={d.option}" for d in tried}


def test_what_saves_one_course_need_not_save_all(expired: Breaking) -> None:
    tried = decisions(expired, Bounds(states_max=5_000))
    assert choose(tried, "lock_expiry=pinned_until_marker").searched == "holds, 3,046 states"
    in_memory = choose(tried, "staged_acks=memory_only")
    assert in_memory.saves
    assert in_memory.searched.startswith("breaks after 29")
    assert choose(tried, "marker_epoch=at_least").searched == NOT_SEARCHED


def test_the_same_run_under_another_decision_says_what_is_missing(expired: Breaking) -> None:
    made, missing = under(expired, design("finding-D+lock_expiry=pinned_until_marker"))
    assert [m.name for m in missing] == ["the lock of src-0@100 runs out"]
    assert made.trace.depth >= 30


def test_the_same_run_under_another_decision_keeps_its_settings(expired: Breaking) -> None:
    changed = msgspec.structs.replace(
        expired, run=msgspec.structs.replace(expired.run, settings=("delivery_count_limit=2",))
    )
    made, _ = under(changed, design("finding-D+lock_expiry=pinned_until_marker"))
    assert made.settings == ("delivery_count_limit=2",)
