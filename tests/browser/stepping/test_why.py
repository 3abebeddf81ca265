"""What caused this, what holds it back, and the causal cone, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from kipviz.checking.single_run import runs
from kipviz.widgets.lab import Lab
from tests.browser.bare_page import step_named, step_of, wait_painted, write_page

pytestmark = pytest.mark.browser

Open = Callable[..., Any]


@cache
def payload(name: str, under: str) -> dict[str, Any]:
    return Lab(runs.play(name, under)).payload


@pytest.fixture
def show(show) -> Open:
    """Show a story at a step, its last one if none is said."""

    def show_story(name: str, under: str, step: int | None = None, **more: Any):
        told = payload(name, under)
        return show(told, step=len(told["steps"]) - 1 if step is None else step, **more)

    return show_story


def test_e_says_why_the_lso_is_stuck_and_what_frees_it(show):
    page = show("kip-98-stuck-lso", "kafka")
    assert page.locator(".kv-trail").is_hidden()
    page.keyboard.press("e")
    words = page.locator(".kv-trail").inner_text()
    assert "The last stable offset of output-A-0 stays at 0" in words
    assert "app-1 is down and will do neither." in words
    assert "Way out: transaction.timeout.ms (60 s) expires for my-txn" in words
    page.locator(".kv-trail").get_by_role("button", name="my-txn, state: since").first.click()
    assert page.locator(".kv-say").inner_text().startswith("The producer") is False
    assert step_of(page) < len(payload("kip-98-stuck-lso", "kafka")["steps"]) - 1
    page.keyboard.press("Escape")
    assert page.locator(".kv-trail").is_hidden()


def test_a_value_that_somebody_has_to_free_is_marked_where_it_stands(show):
    page = show("kip-98-stuck-lso", "kafka")
    assert page.locator(".kv-mark[data-held=someone]").count() == 1
    calm = show("kip-1289-group-commit", "kafka")
    assert calm.locator("[data-held]").count() == 0


def test_a_click_on_a_value_shows_who_made_it_so_and_each_link_goes_there(show):
    told = payload("kip-1289-group-commit", "kafka")
    page = show("kip-1289-group-commit", "kafka", all_lanes=True)
    page.locator(".kv-fact", has_text="state").filter(has_text="COMPLETE_COMMIT").first.click()
    chosen = page.evaluate("() => window.model.get('selection')")
    assert (chosen["kind"], chosen["card"], chosen["row"]) == (
        "value",
        "transaction:my-txn",
        "state",
    )
    assert (
        page.locator(".kv-trail h3").inner_text().lower().startswith("my-txn, state: since message")
    )
    links = page.locator(".kv-trail li")
    made = next(
        r["from"]
        for r in told["rows"]
        if (r["card"], r["id"]) == ("transaction:my-txn", "state")
        and r["cells"]["value"] == "COMPLETE_COMMIT"
    )
    assert links.first.inner_text().startswith(f"{made} ")
    assert "sent its message" in links.nth(1).inner_text()
    links.nth(1).get_by_role("button").first.click()
    assert step_of(page) == told["steps"][made]["causes"][0][0]


def test_the_keyboard_chooses_a_value_and_asks(show):
    page = show("kip-1289-group-commit", "kafka")
    page.locator(".kv-cards").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("[data-here]").count() == 1
    page.keyboard.press("Enter")
    assert page.evaluate("() => window.model.get('selection').kind") == "value"
    assert page.locator("[data-chosen]").count() == 1
    assert page.locator(".kv-trail").is_visible()


def test_c_lights_the_cone_in_the_diagram_and_in_the_overview(show):
    told = payload("kip-98-stuck-lso", "kafka")
    page = show("kip-98-stuck-lso", "kafka", step_named(told, "app-1 crashes") + 6, all_lanes=True)
    page.keyboard.press("c")
    assert page.locator(".kv-paper.kv-coned").count() == 1
    shades = page.evaluate(
        "() => [...document.querySelectorAll('.kv-paper [data-cone]')].map((node) => node.dataset.cone)"
    )
    assert {"0", "2"} <= set(shades)
    assert page.locator(".kv-ticked").get_attribute("d")
    page.keyboard.press("c")
    assert page.locator(".kv-paper.kv-coned").count() == 0
    assert not page.locator(".kv-ticked").get_attribute("d")


def test_w_shows_what_led_to_a_step_beside_its_rule(show):
    told = payload("kip-1289-group-commit", "kafka")
    page = show("kip-1289-group-commit", "kafka", step_named(told, "EndTxn arrives at B1"))
    page.keyboard.press("w")
    assert "on end txn" in page.locator(".kv-why").inner_text()
    assert "sent its message" in page.locator(".kv-trail").inner_text()
    assert page.locator(".kv-error").is_hidden()


def test_a_stepper_without_causes_and_holds_says_so_and_draws(open_file, tmp_path):
    from tests.widgets import flow

    page = open_file(write_page(tmp_path / "old.html", flow.share_payload(), step=20), width=800)
    wait_painted(page)
    page.locator(".kv").focus()
    page.keyboard.press("e")
    assert "Nothing is blocked here." in page.locator(".kv-trail").inner_text()
    page.keyboard.press("c")
    page.locator(".kv-fact").first.click()
    assert page.locator(".kv-error").is_hidden()
