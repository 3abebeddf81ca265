"""The cards in a real browser: strip, logs, machines, counters, pins, and only what changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from kipviz.designs.catalogue import design
from kipviz.scenarios.library import scenario
from kipviz.views.payload import payload
from tests.scenarios.story import play_once

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
OUTPUT = "article[aria-label^='output-A-0']"
PRODUCER = "article[aria-label^='Producer states']"


@cache
def payload_of(name: str) -> dict[str, Any]:
    trace, chapters = play_once(name, "repaired")
    return payload(scenario(name), design("repaired"), trace.model, trace, chapters)[0]


def end_of(title: str, name: str = "kip-1289-share-commit") -> int:
    return next(big["to"] - 1 for big in payload_of(name)["bigs"] if big["title"] == title)


@pytest.fixture
def show(show) -> Open:
    """Show a story at the end of a big step."""

    def show_story(title: str, name: str = "kip-1289-share-commit", **more: Any):
        return show(payload_of(name), step=end_of(title, name), **more)

    return show_story


def titles(page) -> list[str]:
    return page.locator(".kv-cards article:visible h4").all_inner_texts()


def test_the_strip_has_brackets_and_says_in_words_whose_the_records_are(show):
    page = show("TX_PENDING")
    assert page.locator(".kv-bracket").all_inner_texts() == ["SPSO 100", "SPEO 101"]
    label = page.locator(".kv-record").first.get_attribute("aria-label")
    assert label.startswith(
        "100 TX_PENDING, delivered 1 times, staged by pid 9, epoch 0, held by M1"
    )
    assert page.locator(".kv-runs").inner_text().startswith("100-101: staged by pid 9, epoch 0")


def test_a_log_brackets_transactions_and_says_who_holds_the_lso(show):
    page = show("commitTransaction() returns")
    log = page.locator(OUTPUT)
    assert log.locator(".kv-span small").inner_text() == "pid 9 epoch 0 · open"
    assert "held by pid 9 epoch 0" in log.locator(".kv-holder").inner_text()
    page = show("ABORT markers", "kip-1289-share-abort")
    assert page.locator(f"{OUTPUT} .kv-fate-aborted small").inner_text().endswith("✗ aborted")


def test_a_machine_lights_one_state_and_marks_the_transition_just_taken(show):
    page = show("commitTransaction() returns")
    machine = page.locator(PRODUCER)
    assert machine.locator(".kv-on").text_content() == "READY"
    assert machine.locator(".kv-just").count() == 1
    assert "just taken: COMMITTING_TRANSACTION → READY" in machine.locator(".kv-now").inner_text()
    places = "() => [...document.querySelectorAll('.kv-machine-svg rect')].map((r) => [r.getAttribute('x'), r.getAttribute('y')]).join()"
    before = page.evaluate(places)
    page.keyboard.press("Home")
    assert page.evaluate(places) == before
    assert machine.locator(".kv-on").text_content() == "UNINITIALIZED"


def test_a_counter_says_what_it_was_what_it_is_and_what_kafka_calls_it(show):
    page = show("ACKNOWLEDGED")
    row = page.locator(".kv-metrics .kv-fact", has_text="records acknowledged")
    assert "RecordAcknowledgementsPerSec" in row.locator("dt").inner_text()
    assert row.locator("dd").inner_text().replace("\n", "") == "0 → 2 (+2)"


def test_a_pinned_card_stays_first_and_a_hidden_one_is_gone_until_it_is_shown(show):
    page = show("TX_PENDING")
    first = titles(page)
    page.keyboard.press("v")
    rows = page.locator(".kv-view-list li")
    metrics = rows.filter(has_text="Metrics", has_not_text="KIP-1289")
    metrics.get_by_label("pinned").check()
    rows.filter(has_text="output-A-0 log").get_by_label("shown").uncheck()
    assert titles(page) == [
        "Metrics",
        *(title for title in first if title not in {"Metrics", "output-A-0"}),
    ]
    assert page.evaluate("() => window.model.get('views')") == {
        "pinned": ["metrics"],
        "hidden": ["log:output-A-0"],
    }
    page.locator(".kv-views-top button").click()
    assert titles(page) == first


def test_a_pinned_row_stays_at_the_top_with_what_it_was_before(show):
    page = show("COMPLETE_COMMIT", views={"rows": [["transaction:my-txn", "state"]]})
    pin = page.locator(".kv-pins .kv-fact")
    assert pin.locator("dt").inner_text().endswith("Transaction my-txn: state")
    assert pin.locator("dd").inner_text() == "PREPARE_COMMIT → COMPLETE_COMMIT"
    page.keyboard.press("Home")
    assert pin.locator("dd").inner_text() == "unknown yet"
    pin.locator("dt").click()
    assert page.locator(".kv-pins").is_hidden()


def test_d_leaves_only_what_changed_and_says_when_that_is_nothing(show):
    page = show("ACKNOWLEDGED", width=800)
    everything = titles(page)
    page.keyboard.press("d")
    draft = "Metrics of KIP-1289 (draft)"
    assert titles(page) == ["src-0 for g1", "Record states", "Metrics", draft]
    assert page.locator(".kv-metrics").first.locator(".kv-fact:visible").count() == 2
    page.keyboard.press("Home")
    assert page.locator(".kv-nothing").is_visible()
    page.keyboard.press("d")
    page.keyboard.press("End")
    assert set(titles(page)) == set(everything)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
