"""Ten thousand events: folds, search, filters, chapters, the table, and how quickly one gets there."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import pytest

from kipviz.widgets.pages import payload as payloads
from tests.browser.bare_page import no_error, step_named, step_of
from tests.widgets import flow, polls

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
LONG = 10_000


@functools.cache
def long_run() -> dict[str, Any]:
    payload = polls.payload(LONG)
    payloads.read(payload)
    return payload


def count_found(page) -> str:
    return page.locator(".kv-find-count").inner_text()


def test_polls_that_come_back_empty_are_one_row_until_somebody_asks(show):
    page = show(polls.payload(200), step=100)
    folds = page.locator(".kv-fold text").all_text_contents()
    assert "▸ ×7 ShareFetch, nothing changed" in folds
    arrows = page.locator(".kv-message:not(.kv-flying)").count()
    page.keyboard.press("Enter")
    assert page.locator(".kv-message:not(.kv-flying)").count() > arrows
    assert any(
        words.startswith("▾ ×7 ShareFetch")
        for words in page.locator(".kv-fold text").all_text_contents()
    )
    page.keyboard.press("Enter")
    assert page.locator(".kv-message:not(.kv-flying)").count() == arrows
    page.keyboard.press("z")
    assert page.locator(".kv-message:not(.kv-flying)").count() > arrows
    assert no_error(page)


def test_a_step_inside_a_fold_counts_and_nothing_jumps(show):
    page = show(polls.payload(200), step=1)
    under = "() => document.querySelector('.kv-cursor').style.transform"
    place = page.evaluate(under)
    counted = []
    for _ in range(polls.POLLS * 3 - 1):
        counted += page.locator(".kv-fold text").all_text_contents()
        assert page.evaluate(under) == place
        page.keyboard.press("Shift+ArrowRight")
    assert counted[0] == "▸ ShareFetch, 1 of 7"
    assert counted[9] == "▸ ShareFetch, 4 of 7"
    assert page.locator(".kv-fold text").all_text_contents() == ["▸ ×7 ShareFetch, nothing changed"]


def test_what_changes_a_value_in_the_end_does_not_say_that_nothing_changed(show):
    payload = polls.payload(200)
    cells = {"label": "polls", "value": "7"}
    payload["rows"].append(
        {"card": "client", "id": "polls", "from": 12, "to": None, "cells": cells}
    )
    page = show(payload, step=30)
    assert "▸ ×7 ShareFetch, 1 value changed" in page.locator(".kv-fold text").all_text_contents()


def test_search_counts_its_hits_and_goes_around_them(show):
    payload = long_run()
    crashes = [k for k, step in enumerate(payload["steps"]) if step["kind"] == "fault"]
    page = show(payload)
    page.keyboard.press("/")
    page.keyboard.type("broker 5 crashes")
    assert count_found(page) == f"{len(crashes)} found"
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert step_of(page) == crashes[1]
    assert count_found(page) == f"2 of {len(crashes)} found"
    page.keyboard.press("Shift+Enter")
    assert step_of(page) == crashes[0]
    marks = page.locator(".kv-hits").get_attribute("d")
    assert marks.count("M") == len(crashes), "every hit is marked in the strip"
    page.get_by_role("button", name="clear").click()
    assert page.locator(".kv-hits").get_attribute("d") == ""
    assert no_error(page)


def test_filters_take_a_lane_a_message_a_state_or_faults(show):
    payload = polls.payload(1200)
    faults = sum(step["kind"] == "fault" for step in payload["steps"])
    reached = sum(note["text"] == "PREPARE_COMMIT" for note in payload["notes"])
    ended = sum(message["label"].startswith("EndTxn") for message in payload["messages"])
    page = show(payload)
    page.keyboard.press("/")
    page.get_by_label("faults only").check()
    assert count_found(page) == f"{faults} found"
    page.get_by_label("faults only").uncheck()
    page.get_by_label("state or property").select_option("state PREPARE_COMMIT")
    assert count_found(page) == f"{reached} found"
    page.get_by_label("state or property").select_option("any state")
    page.get_by_label("kind of message").select_option("EndTxn")
    assert count_found(page) == f"{ended} found"
    page.get_by_label("lane", exact=True).select_option("src")
    assert count_found(page) == "0 found"


def test_show_only_these_folds_everything_else_in_the_diagram_and_the_table(show):
    page = show(polls.payload(600), step=200)
    page.keyboard.press("/")
    page.get_by_label("kind of message").select_option("EndTxn")
    page.get_by_label("show only these").check()
    labels = page.locator(".kv-message:not(.kv-flying) > text").all_text_contents()
    assert labels
    assert all(label.startswith("EndTxn") for label in labels)
    assert any(
        re.search(r"\d+ other steps", words)
        for words in page.locator(".kv-fold text").all_text_contents()
    )
    page.locator(".kv").focus()
    page.keyboard.press("ArrowRight")
    assert "EndTxn" in page.locator(".kv-say").inner_text(), "a step goes to the next one shown"
    page.keyboard.press("m")
    assert page.locator(".kv-steps-fold").count() > 2


def test_run_until_plays_to_the_next_hit_and_stops_there(show):
    payload = polls.payload(200)
    target = next(k for k, note in enumerate(payload["steps"]) if "EndTxn" in note["title"])
    page = show(payload, step=target - 4)
    for _ in range(2):
        page.keyboard.press("+")
    page.keyboard.press("/")
    page.keyboard.type("endtxn 1")
    page.get_by_role("button", name="run until", exact=True).click()
    page.wait_for_function(
        "() => document.querySelector('.kv-play').getAttribute('aria-pressed') === 'false'"
    )
    assert step_of(page) == target


def test_where_nothing_is_left_to_find_the_model_may_be_asked_to_go_on(show):
    payload = polls.payload(200)
    page = show(payload)
    page.keyboard.press("End")
    page.keyboard.press("/")
    page.keyboard.type("abort")
    assert count_found(page) == "0 found"
    page.get_by_role("button", name="run until it happens").click()
    asked = page.evaluate("() => window.model.get('command')")
    assert {name: asked[name] for name in ("do", "kind", "wanted", "step")} == {
        "do": "until",
        "kind": "text",
        "wanted": "abort",
        "step": len(payload["steps"]) - 1,
    }
    words = "This stepper shows a recorded run: there is no model behind it to ask."
    answer = {"id": asked["id"], "error": words}
    page.evaluate("answer => window.model.set('answer', answer)", answer)
    assert page.get_by_role("alert").inner_text().strip().endswith(words)


def test_chapters_are_faults_states_and_big_steps(show):
    payload = {**flow.share_payload(), "questions": []}  # an open one hides what follows it
    page = show(payload)
    page.keyboard.press("/")
    chapters = page.get_by_role("list", name="chapters").get_by_role("button")
    words = chapters.all_inner_texts()
    assert sum(word.startswith("§") for word in words) == len(payload["bigs"])
    assert any(word.startswith("▽") for word in words)
    assert any(word.startswith("◆") and "PREPARE_COMMIT" in word for word in words)
    chapters.filter(has_text="PREPARE_COMMIT").first.click()
    assert "PREPARE_COMMIT" in payload["steps"][step_of(page)]["title"]


def test_the_table_says_the_same_steps_with_headers_and_a_current_row(show):
    payload = flow.share_payload()
    page = show(payload, step=3)
    page.keyboard.press("m")
    table = page.get_by_role("table")
    assert table.locator("thead th[scope=col]").count() == 5
    row = table.locator("[aria-current=step]")
    assert payload["steps"][3]["sentence"] in row.inner_text()
    table.get_by_role("button", name="go to message 5", exact=True).click()
    assert step_of(page) == 5
    assert payload["steps"][5]["sentence"] in row.inner_text()
    assert no_error(page)


def test_the_table_of_a_long_run_is_drawn_a_page_at_a_time(show):
    page = show(long_run(), step=5000)
    page.keyboard.press("m")
    rows = page.locator(".kv-steps tbody tr")
    assert rows.count() == 50
    assert int(page.get_by_role("table").get_attribute("aria-rowcount")) > 1000
    assert page.locator(".kv-steps [aria-current=step]").count() == 1
    page.get_by_role("button", name="later").click()
    assert page.locator(".kv-steps [aria-current=step]").count() == 0


def test_ten_thousand_events_take_few_nodes(show):
    page = show(long_run(), all_lanes=True)
    page.keyboard.press("End")
    assert step_of(page) == len(long_run()["steps"]) - 1
    assert page.locator(".kv-overview *").count() < 400
    assert page.locator(".kv-paper *").count() < 600
    assert no_error(page)


def test_a_held_message_has_a_sign_of_its_own(show):
    payload = flow.share_payload()
    told = step_named(payload, "commit returns")
    wire = [
        m["id"] for m in payload["messages"] if m["sent"] <= told and (m["arrived"] or 999) > told
    ]
    branch = {
        "id": 1,
        "name": "held",
        "parent": 0,
        "at": told,
        "steps": [{**payload["steps"][told], "title": "nothing", "sentence": "All else is quiet."}],
        "held": [{"id": "h", "text": "", "message": wire[0], "from": told, "to": None}],
    }
    page = show(payload, branches=[branch], branch=1, step=told + 1)
    assert page.locator(".kv-held").count() == 1
    assert page.locator(".kv-held .kv-key").text_content() == "‖"
    assert "held back" in page.locator(".kv-paper > title").text_content()
