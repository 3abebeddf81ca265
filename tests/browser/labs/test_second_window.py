"""A second window for the class: the same run at the same step, large, while the speaker keeps notes."""

from __future__ import annotations

import os

import pytest

from kipviz.widgets.lab import open_run
from tests.browser.bare_page import no_error, step_of
from tests.widgets import flow

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PICTURES = os.environ.get("KIPVIZ_PICTURES")


def opened_by(page):
    """Press W and give the window that opens."""
    with page.context.expect_page() as window:
        page.keyboard.press("W")
    audience = window.value
    audience.set_viewport_size({"width": 1280, "height": 800})
    audience.wait_for_selector(".kv-presenter .kv-say")
    return audience


def where(page) -> str:
    return page.locator(".kv-where-big").inner_text()


def test_the_window_shows_the_speakers_step_and_a_remote_there_moves_both(show):
    page = show(open_run("kip-98-zombie", "kafka").payload, width=1280, height=800, step=0)
    audience = opened_by(page)
    page.bring_to_front()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert where(audience) == where(page)
    assert audience.locator(".kv-say").inner_text() == page.locator(".kv-say").inner_text()
    assert not page.locator(".kv").get_attribute("class").count("kv-presenter")
    audience.bring_to_front()
    audience.locator(".kv").focus()
    before = step_of(page)
    audience.keyboard.press("PageDown")
    assert step_of(page) > before
    assert where(audience) == where(page)
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/speaker.png")
        audience.screenshot(path=f"{PICTURES}/audience.png")
    assert audience.evaluate("() => document.documentElement.scrollHeight - innerHeight") <= 2
    assert no_error(page)
    assert no_error(audience)


def test_the_answer_and_the_next_step_are_on_the_speakers_notes_alone(show):
    payload = open_run("kip-98-zombie", "kafka").payload
    question = payload["questions"][0]
    right = next(option["text"] for option in question["options"] if option["right"])
    page = show(payload, width=1280, height=800, step=max(question.get("ask", 0), 0))
    assert page.locator(".kv-speaker").is_hidden()
    audience = opened_by(page)
    notes = page.locator(".kv-speaker").inner_text()
    assert f"Answer: {right}" in notes
    assert "Next: " in notes
    assert audience.locator(".kv-speaker").count() == 0
    assert "Answer: " not in audience.locator("body").inner_text()


def test_b_blanks_the_class_and_not_the_speaker_and_w_closes_the_window(show):
    page = show(flow.share_payload(), width=1280, height=800)
    audience = opened_by(page)
    page.bring_to_front()
    page.keyboard.press("b")
    assert audience.locator(".kv-cover").is_visible()
    assert page.locator(".kv-cover").is_hidden()
    page.keyboard.press("b")
    assert audience.locator(".kv-cover").is_hidden()
    with audience.expect_event("close"):
        page.keyboard.press("W")
    assert page.locator(".kv-speaker").is_hidden()
    again = opened_by(page)
    again.close()
    page.wait_for_function("() => document.querySelector('.kv-speaker').hidden")
    assert no_error(page)


def test_a_window_that_goes_does_not_take_the_next_one_with_it(show):
    page = show(flow.share_payload(), width=1280, height=800)
    first = opened_by(page)
    button = (
        "[...document.querySelectorAll('button')].find((b) => b.title.includes('second window'))"
    )
    with page.context.expect_page() as window, first.expect_event("close"):
        page.evaluate(f"() => {{ const b = {button}; b.click(); b.click(); }}")
    window.value.wait_for_selector(".kv-presenter .kv-say")
    page.bring_to_front()
    page.keyboard.press("ArrowRight")
    assert where(window.value) == where(page)
    assert page.locator(".kv-speaker").is_visible()


def test_the_window_is_as_tall_as_the_class_sees_it(show):
    page = show(flow.share_payload(), width=1280, height=800)
    audience = opened_by(page)
    tall = "() => document.querySelector('.kv').getBoundingClientRect().height"
    for height in (900, 640):
        audience.set_viewport_size({"width": 1280, "height": height})
        audience.wait_for_function(f"h => Math.abs(({tall})() + 18 - h) < 8", arg=height)
    assert no_error(audience)


def test_in_a_low_window_a_question_with_three_options_leaves_the_diagram_its_room(show):
    page = show(open_run("kip-98-zombie", "kafka").payload, width=1280, height=800, step=20)
    audience = opened_by(page)
    seen = "() => document.querySelector('.kv-view').getBoundingClientRect().height"
    audience.set_viewport_size({"width": 1024, "height": 600})
    audience.wait_for_function(f"() => ({seen})() >= 90")
    assert audience.locator(".kv-options button").count() == 3
    audience.set_viewport_size({"width": 1024, "height": 768})
    audience.wait_for_function("() => getComputedStyle(document.querySelector('.kv')).zoom > 1.2")
    assert no_error(audience)


def test_a_browser_that_opens_no_window_is_told_about(show):
    page = show(flow.share_payload(), width=1280, height=800)
    page.evaluate("() => { window.open = () => null; }")
    page.keyboard.press("W")
    assert "allow this page to open windows" in page.locator(".kv-error").inner_text()
