"""The share drawer on a page without a kernel: links, pictures and what cannot be had there."""

from __future__ import annotations

import pytest

from kipviz.checking import runs
from kipviz.checking.permalink import open_link
from kipviz.checking.task import Task
from kipviz.widgets.lab import stepper_of
from tests.browser.bare_page import wait_painted, write_page

pytestmark = pytest.mark.browser
TWO = "kip-1289-two-members"


@pytest.fixture
def show(open_file, tmp_path):
    """Show a stepper's payload, with its drawer open."""

    def show_one(stepper, **more):
        state = {"branches": stepper.branches, "step": stepper.step, "branch": stepper.branch}
        size = {name: more.pop(name) for name in ("width", "scheme") if name in more}
        shown = open_file(
            write_page(tmp_path / "stepper.html", stepper.payload, **state, **more), **size
        )
        wait_painted(shown)
        shown.locator(".kv").focus()
        shown.keyboard.press("s")
        return shown

    return show_one


def link_on(shown) -> str:
    shown.wait_for_function("() => document.querySelector('.kv-link-text').value")
    return shown.locator(".kv-link-text").input_value()


def go_to(shown, branch: int, step: int) -> None:
    shown.evaluate(
        "([branch, step]) => { model.set('branch', branch); model.set('step', step); }",
        [branch, step],
    )


def branched():
    """A story with a branch, a branch of that one, and one that goes on at the end."""
    stepper = stepper_of(runs.play("kip-1289-lock-expiry"))
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


@pytest.mark.parametrize("seed", [1, 2])
def test_the_page_and_python_make_the_same_link_at_every_place_of_a_run(show, seed):
    stepper = stepper_of(runs.replay(Task(TWO, "finding-D", "hostile", seed)))
    shown = show(stepper)
    for step in range(0, len(stepper.payload["steps"]), 37):
        stepper.step = step
        go_to(shown, 0, step)
        assert link_on(shown) == stepper.permalink()
        assert open_link(stepper.permalink()).trace.depth == step


def test_the_page_and_python_make_the_same_link_on_every_branch(show):
    stepper = branched()
    shown = show(stepper)
    for branch in range(len(stepper.branches) + 1):
        stepper.branch = branch
        for step in range(0, stepper._line.last + 1, 7):
            stepper.step = step
            go_to(shown, branch, step)
            assert link_on(shown) == stepper.permalink(), (branch, step)
            again = open_link(stepper.permalink())
            assert again.changes == ()
            assert again.trace.depth == step
