"""A copy of a stepper is independent: two cells on one run each show what their text says."""

from __future__ import annotations

import pytest

from kipviz.widgets import Stepper
from kipviz.widgets.lab import open_run
from tests.widgets import flow


@pytest.fixture(scope="module")
def whole() -> Stepper:
    stepper = open_run("pain-vanished")
    stepper.step = 5
    return stepper.run_on(seed=1, steps=3)


def test_a_copy_stands_where_it_was_asked_to_and_moves_alone(whole):
    branch, step = whole.branch, whole.step
    one, other = whole.copy(2), whole.copy(4)
    assert (one.branch, one.step, other.step) == (branch, 2, 4)
    other.step = 0
    assert (whole.branch, whole.step, one.step) == (branch, step, 2)
    assert whole.copy().step == step


def test_a_copy_has_the_same_steps_on_the_same_branches(whole):
    made = whole.copy(3)
    assert [b["name"] for b in made.known_branches] == [b["name"] for b in whole.known_branches]
    assert made.steps() == whole.steps()
    assert made.permalink() == made.copy().permalink()


def test_what_is_made_in_a_copy_is_not_in_the_original_and_the_other_way_round(whole):
    made = whole.copy()
    known = len(whole.known_branches)
    made.run_on(seed=2, steps=2)
    assert len(made.known_branches) == known + 1
    assert len(whole.known_branches) == known
    made.answers = {"q": 1}
    assert "q" not in whole.answers


def test_a_copy_of_a_recorded_run_needs_no_model():
    recorded = Stepper(flow.share_payload())
    made = recorded.copy(7)
    assert (made.step, recorded.step) == (7, 0)
    assert made.steps() == recorded.steps()


def test_a_copy_at_a_step_that_is_not_there_is_refused_with_those_that_are(whole):
    with pytest.raises(ValueError, match=r"there is no step 999 on this line: it has 0 to \d+"):
        whole.copy(999)
