"""The cursor of a stepper stands at a step that is there, whoever sets it."""

import pytest
from traitlets import TraitError

from kipviz.widgets import Compare, Stepper
from tests.widgets import flow
from tests.widgets.branched import branch_story


@pytest.fixture(scope="module")
def payload():
    return flow.share_payload()


@pytest.mark.parametrize("step", [999, 105, -1])
def test_a_step_that_is_not_there_is_refused_in_one_sentence(payload, step):
    stepper = Stepper(payload)
    stepper.step = 7
    sentence = rf"^there is no step {step} on this line: it has 0 to 104$"
    with pytest.raises(TraitError, match=sentence):
        stepper.step = step
    assert stepper.step == 7
    with pytest.raises(TraitError, match=sentence):
        Stepper(payload, step=step)


def test_a_branch_that_is_not_there_is_refused_in_one_sentence(payload):
    stepper = Stepper(payload)
    with pytest.raises(TraitError, match=r"^there is no branch 5; there are 0$"):
        stepper.branch = 5
    assert stepper.branch == 0


def test_on_a_shorter_line_the_cursor_stands_at_its_end():
    stepper = branch_story()
    stepper.branch = 0
    stepper.last()
    end = stepper.step
    shorter = [b for b in stepper.known_branches if b["at"] + len(b["steps"]) < end]
    stepper.branch = shorter[0]["id"]
    assert stepper.step == stepper.last_step < end


def test_the_page_is_heard_as_far_as_there_are_such_places(payload):
    """The page may still have a line that Python has pruned; the kernel stays where it stands, and says so."""
    stepper = Stepper(payload)
    stepper.set_state({"step": 300, "branch": 4})
    assert (stepper.branch, stepper.step) == (0, 104)
    assert stepper.notice == "There is no branch 4 any more; the kernel stays on branch 0."
    stepper.set_state({"branch": 0, "step": -3})
    assert (stepper.branch, stepper.step) == (0, 0)


def test_two_runs_side_by_side_have_one_cursor_of_the_same_kind(payload):
    both = Compare(payload, payload)
    with pytest.raises(TraitError, match=r"^there is no step 200 on this line: it has 0 to 104$"):
        both.step = 200
    both.step = 104
    assert "step 104 of 104" in repr(both)
