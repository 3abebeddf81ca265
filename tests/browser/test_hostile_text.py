"""Text from payloads, files, links and recordings is shown as text, wherever it is shown."""

from __future__ import annotations

import warnings
from xml.etree import ElementTree as ET

import mistune
import pytest

from kipviz.checking.single_run import runs
from kipviz.views.exports.markdown import markdown
from kipviz.views.exports.mermaid import mermaid
from kipviz.views.exports.svg import svg
from kipviz.widgets.lab import open_trace, stepper_of
from kipviz.widgets.pages.page import page as page_of
from tests.browser.bare_page import wait_painted, write_page
from tests.views.hostile import HOSTILE, SEEN, poison

pytestmark = pytest.mark.browser
STORY = "kip-1289-lock-expiry"
# Every tool of the page, with a step between them.
KEYS = ("w", "ArrowRight", "e", "m", "x", "t", "/", "v", "g", "s", "f", "q", "d", "c", "o", "?")


@pytest.fixture(scope="module")
def payload():
    stepper = stepper_of(runs.play(STORY))
    stepper.step = 30
    free = [c for c in stepper._line.choices_at(30) if c["enabled"] and not c["taken"]]
    stepper.take(free[-1]["id"])
    bad = poison({**stepper.payload, "branches": list(stepper.branches)})
    bad["title"] = HOSTILE
    for branch in bad["branches"]:
        branch["name"] = HOSTILE
    return bad


def nothing_ran(shown) -> None:
    shown.wait_for_timeout(50)
    assert shown.evaluate("() => window.caught") is None
    assert shown.locator("img, a[href^=javascript]").count() == 0
    assert shown.locator(".kv script").count() == 0


def walk(shown) -> None:
    """Open every tool at a step with much to see, and on a branch."""
    shown.locator(".kv").focus()
    for key in KEYS:
        shown.keyboard.press("Escape")
        shown.locator(".kv").focus()
        shown.keyboard.press(key)
    shown.keyboard.press("Escape")
    shown.locator(".kv").focus()
    shown.keyboard.press("]")
    nothing_ran(shown)
    assert SEEN in shown.locator("h2").first.inner_text()
    assert SEEN in shown.locator(".kv").inner_text()


def test_a_stepper_shows_markup_as_text(open_file, tmp_path, payload):
    shown = open_file(write_page(tmp_path / "stepper.html", payload, step=38))
    wait_painted(shown)
    assert SEEN in shown.locator(".kv-say").inner_text()
    walk(shown)


def test_an_exported_page_shows_markup_as_text(open_file, tmp_path, payload):
    file = tmp_path / "run.html"
    file.write_text(page_of(payload, 0, 38), encoding="utf-8")
    shown = open_file(file)
    shown.wait_for_selector(".kv-say:not(:empty)")
    assert SEEN in shown.title()
    walk(shown)


def test_a_still_picture_shows_markup_as_text(open_file, tmp_path, payload):
    picture = svg(payload, cursor=38)
    ET.fromstring(picture)
    file = tmp_path / "run.svg"
    file.write_text(picture, encoding="utf-8")
    alone = open_file(file)
    nothing_ran(alone)
    assert "</script></svg>" in alone.evaluate("() => document.documentElement.textContent")
    inside = tmp_path / "inside.html"
    inside.write_text(f"<!doctype html><meta charset=utf-8>{picture}", encoding="utf-8")
    shown = open_file(inside)
    nothing_ran(shown)
    assert shown.locator("script").count() == 0


def test_a_saved_picture_of_the_screen_shows_markup_as_text(open_file, tmp_path, payload):
    shown = open_file(write_page(tmp_path / "stepper.html", payload, step=38))
    wait_painted(shown)
    shown.locator(".kv").focus()
    shown.keyboard.press("s")
    for name in ("SVG", "Mermaid"):
        with shown.expect_download() as coming:
            shown.get_by_role("button", name=name, exact=True).click()
        coming.value.save_as(tmp_path / f"saved-{name}")
    assert (tmp_path / "saved-Mermaid").read_text(encoding="utf-8") == mermaid(payload)
    picture = (tmp_path / "saved-SVG").read_text(encoding="utf-8")
    ET.fromstring(picture)
    file = tmp_path / "saved.svg"
    file.write_text(picture, encoding="utf-8")
    nothing_ran(open_file(file))


def test_a_markdown_table_shows_markup_as_text(open_file, tmp_path, payload):
    judged = runs.judge(runs.play(STORY))
    bad = [j.but(property=HOSTILE, reason=HOSTILE) for j in judged]
    text = markdown(payload, bad)
    html = mistune.create_markdown(escape=False, plugins=["table"])(text)
    file = tmp_path / "run.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
    shown = open_file(file)
    nothing_ran(shown)
    assert shown.locator("script").count() == 0
    assert SEEN in shown.locator("h1").inner_text()


def test_a_trace_file_with_markup_in_it_opens_as_text(open_file, tmp_path):
    run = runs.play(STORY)
    bad = tuple(
        c.but(title=HOSTILE.replace("\ud800", ""), say=HOSTILE.replace("\ud800", ""))
        for c in run.chapters
    )
    bad_run = runs.Run(run.scenario, run.design, run.model, run.trace, bad)
    stepper = stepper_of(bad_run)
    stepper.step = 30
    stepper.take(stepper.possible()[-1])
    path = tmp_path / "run.trace"
    runs.save(stepper.lab.run_with_branches(stepper.branch, stepper.step), path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = open_trace(path)
    assert SEEN in again.payload["bigs"][0]["title"]
    file = tmp_path / "run.html"
    file.write_text(page_of(again.payload, 0, 3), encoding="utf-8")
    shown = open_file(file)
    shown.wait_for_selector(".kv-say:not(:empty)")
    shown.keyboard.press("ArrowRight")
    assert SEEN in shown.locator(".kv").inner_text()
    nothing_ran(shown)
