"""A story that was not only told: a stepper with branches of several kinds."""

from kipviz.checking.single_run import runs
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.stepping.stepper import Stepper


def branch_story(scenario: str = "kip-1289-lock-expiry") -> Stepper:
    """A story with a branch, one of that branch, one further up, and one that goes on at its end."""
    stepper = stepper_of(runs.play(scenario))
    for step, turns in ((30, 2), (33, 1), (12, 1)):
        stepper.step = step
        for _ in range(turns):
            choices = stepper._line.choices_at(stepper.step)
            free = [c["id"] for c in choices if c["enabled"] and not c["taken"]]
            stepper.take(free[len(free) // 2])
    stepper.branch = 0
    stepper.last()
    if stepper.possible():
        stepper.take(stepper.possible()[0])
    return stepper
