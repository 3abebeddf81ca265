"""What if, on the page: its wishes are answered by a real model beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

import kipviz
from kipviz.widgets.lab import open_run
from tests.browser.bare_page import step_named, wait_painted, write_page

pytestmark = pytest.mark.browser

PREPARED = "EndTxn arrives at B1"


class Beside:
    """A page, and the stepper that answers what the page asks."""

    def __init__(self, page: Any, stepper: Any, prepared: int = 0) -> None:
        self.page = page
        self.stepper = stepper
        self.prepared = prepared

    def answer(self) -> None:
        self.stepper.command = self.page.evaluate("() => window.model.get('command')")
        for name in ("tree", "answer"):
            value = json.loads(json.dumps(getattr(self.stepper, name)))
            self.page.evaluate("([name, value]) => window.model.set(name, value)", [name, value])

    def place(self) -> list[int]:
        return self.page.evaluate("() => [window.model.get('branch'), window.model.get('step')]")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()
        self.answer()


@pytest.fixture
def show(open_file, tmp_path) -> Callable[..., Beside]:
    def show_one(
        scenario: str = "kip-1289-group-commit", *, width: int = 1280, asks: bool = True
    ) -> Beside:
        stepper = open_run(scenario)
        payload = stepper.payload if asks else {**stepper.payload, "questions": []}
        prepared = step_named(payload, PREPARED)
        page = open_file(write_page(tmp_path / "what-if.html", payload, step=prepared), width=width)
        wait_painted(page)
        page.locator(".kv").focus()
        return Beside(page, stepper, prepared)

    return show_one


def test_where_a_branch_ends_the_page_says_that_a_step_can_be_chosen(open_file, tmp_path):
    stepper = kipviz.lab("survive-the-crash").open()  # a run without a step
    page = open_file(write_page(tmp_path / "lab.html", stepper.payload), width=1280)
    wait_painted(page)
    end = page.locator(".kv-choices > .kv-quiet").first
    expect(end).to_have_text("This branch ends here: choose a step.")
    beside = Beside(page, stepper)
    page.locator(".kv").focus()
    page.keyboard.press("1")
    beside.answer()
    # The choice goes on as far as one thing follows from another; there the next one is chosen.
    page.wait_for_function("() => window.model.get('step') > 0")
    last = page.evaluate("() => window.model.get('branches').at(-1).last")
    for _ in range(last or 20):
        page.keyboard.press("ArrowRight")
    expect(end).to_have_text("This branch ends here: choose a step.")
    page.keyboard.press("Shift+ArrowLeft")
    expect(end).to_be_hidden()


def test_a_message_is_held_back_by_keyboard_and_let_go_by_its_choice(show):
    both = show()
    both.page.keyboard.press("o")
    both.press("hold it back")
    assert both.place() == [1, both.prepared + 3]
    assert "2 things could no longer happen" in both.page.locator(".kv-story").inner_text()
    assert both.page.locator(".kv-flying .kv-key").all_text_contents().count("‖") == 1
    both.page.get_by_text("held back: choose it to release it").click()
    both.answer()
    assert both.place()[0] == 2
    assert "‖" not in both.page.locator(".kv-flying .kv-key").all_text_contents()


def test_words_find_a_fault_at_a_moment_of_the_protocol(show):
    both = show(width=800, asks=False)  # an open question hides the moments that follow it
    both.page.keyboard.press("Home")
    both.page.keyboard.press("f")
    both.page.keyboard.type(
        "transaction coordinator crashes after PREPARE_COMMIT, before the COMMIT marker"
    )
    found = both.page.locator(".kv-fault-list button")
    assert found.count() == 1
    assert "B1 crashes after PREPARE_COMMIT of my-txn is durable" in found.inner_text()
    found.click()
    both.answer()
    assert both.place() == [1, both.prepared + 1]


def test_a_setting_is_changed_and_the_line_says_under_which_design_it_is(show):
    both = show("kip-1289-share-commit")
    both.page.keyboard.press("o")
    both.page.get_by_label("the setting").select_option("marker_epoch")
    both.page.get_by_label("its value").first.select_option("equal")
    both.press("run again")
    assert both.page.locator(".kv-design b").inner_text() == "repaired+marker_epoch=equal"
    both.page.keyboard.press("Home")
    both.page.locator(".kv-branch").select_option("0")
    assert both.page.locator(".kv-design b").inner_text() == "repaired"


def test_what_makes_no_sense_is_answered_on_the_page(show):
    both = show()
    both.page.keyboard.press("o")
    both.press("skip it")
    assert "nothing else can happen" in both.page.locator(".kv-error").inner_text()
    assert both.place() == [0, both.prepared]


def test_dice_go_on_and_the_branch_can_be_pruned_in_the_tree(show):
    both = show()
    both.page.keyboard.press("o")
    both.page.get_by_label("seed", exact=True).fill("7")
    both.press("continue")
    assert both.place()[0] == 1
    assert "seed 7" in both.page.locator(".kv-story").inner_text()
    both.page.locator(".kv").focus()
    both.page.keyboard.press("t")
    both.page.get_by_role("button", name="prune", exact=True).click()
    both.press("really?")
    assert both.place()[0] == 0
    assert both.page.locator(".kv-branch option").count() == 1


@pytest.mark.parametrize("width", [1280, 800])
def test_two_sets_of_hosts_are_chosen_by_keyboard_and_cut_apart(show, width):
    both = show(width=width)
    page = both.page
    page.keyboard.press("f")
    page.get_by_text("Partition the network").focus()
    page.keyboard.press("Enter")
    page.get_by_label("app-1", exact=True).focus()
    page.keyboard.type("one")
    page.keyboard.press("Tab")
    page.keyboard.type("one")
    page.get_by_role("button", name="all other hosts there").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".kv-cut [role=status]")).to_have_text(
        "app-1 B1 | B3 B4 B5 are partitioned"
    )
    both.press("partition")
    expect(page.locator(".kv-note", has_text="partitioned from").first).to_be_visible()
    assert both.place() == [1, both.prepared + 1]


def test_a_cut_without_hosts_on_a_side_is_answered_on_the_page(show):
    both = show()
    both.page.keyboard.press("f")
    both.page.get_by_text("Partition the network").click()
    both.page.get_by_label("B1", exact=True).select_option("one side")
    both.press("partition")
    expect(both.page.locator(".kv-error")).to_contain_text("at least one host on each side")
