"""On paper a page is whole: nothing scrolls, nothing is cut at the right, and no button is left over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kipviz.views.reports.blocks import TextTable, rows_of
from kipviz.widgets.comparing.compare import Compare
from kipviz.widgets.lab import open_run
from kipviz.widgets.pages.page import page

pytestmark = pytest.mark.browser

RESULTS = Path(__file__).parents[3] / "kipviz" / "widgets" / "static" / "results.js"
# What a browser does before it lays out paper: A4 with Chromium's own margins is 717 px wide.
PAPER = {"width": 717, "height": 1040}
BEFORE = "() => dispatchEvent(new Event('beforeprint'))"
AFTER = "() => dispatchEvent(new Event('afterprint'))"
HIDDEN = """() => [...document.querySelectorAll('.kv, .kv *, .kr, .kr *')].filter(node => node.checkVisibility()
  && node.getBoundingClientRect().width > 0 && !node.closest('svg')
  && !['visible', 'clip'].includes(getComputedStyle(node).overflowY) && getComputedStyle(node).textOverflow !== 'ellipsis'
  && (node.scrollHeight > node.clientHeight + 2 || node.scrollWidth > node.clientWidth + 2))
  .map(node => node.className)"""
BEYOND = """() => [...document.querySelectorAll('.kv h2, .kv-say, .kv-alarm, .kv-card, .kv-head, .kv-note, .kv-message, .kr td')]
  .filter(node => node.checkVisibility() && node.getBoundingClientRect().width > 0 && node.getBoundingClientRect().right > innerWidth + 1)
  .map(node => node.textContent)"""
DRAWN = """() => [...document.querySelectorAll('.kv-view')].map(view => {
  const { top, bottom } = view.getBoundingClientRect();
  const rows = [...view.querySelectorAll('.kv-message, .kv-note, .kv-local, .kv-flying')].map(node => node.getBoundingClientRect());
  return { messages: view.querySelectorAll('.kv-messages .kv-message').length, out: rows.filter(row => row.top < top - 1 || row.bottom > bottom + 1).length };
})"""


@pytest.fixture(scope="module")
def broken() -> dict[str, Any]:
    return open_run("kip-1289-lock-expiry", "finding-D").payload


def test_a_printed_run_has_its_whole_diagram_its_sentence_and_every_card(
    open_file, tmp_path, broken
) -> None:
    file = tmp_path / "run.html"
    file.write_text(page(broken, step=33), encoding="utf-8")
    shown = open_file(file)
    shown.locator(".kv-alarm").get_by_text("acquisition lock expired").wait_for()
    before = shown.locator(".kv").inner_text()
    shown.set_viewport_size(PAPER)
    shown.emulate_media(media="print")
    shown.evaluate(BEFORE)
    assert shown.evaluate(HIDDEN) == []
    assert shown.evaluate(BEYOND) == []
    (drawn,) = shown.evaluate(DRAWN)
    on_screen = {lane["id"] for lane in broken["lanes"] if lane.get("first")}
    arrived = [m for m in broken["messages"] if m["arrived"] is not None and m["arrived"] <= 33]
    seen = [m for m in arrived if {m["from"], m["to"]} & on_screen]
    assert drawn == {"messages": len(seen), "out": 0}
    assert not shown.locator(".kv-transport").is_visible()
    assert not shown.locator(".kv-choices").is_visible()
    places = [
        shown.locator(part).first.bounding_box()["y"]
        for part in (
            "h2",
            ".kv-say",
            ".kv-alarm",
            ".kv-sequence",
            ".kv-cards-list .kv-card >> visible=true",
        )
    ]
    assert places == sorted(places)
    assert shown.locator(".kv").get_attribute("data-theme") == "light"
    shown.evaluate(AFTER)
    shown.emulate_media(media="screen")
    shown.set_viewport_size({"width": 1280, "height": 1000})
    shown.locator(".kv[data-size=three]").wait_for()
    assert shown.locator(".kv").inner_text() == before
    shown.keyboard.press("Home")
    assert shown.locator(".kv-say").inner_text() == broken["steps"][0]["sentence"]


def test_a_printed_comparison_has_both_diagrams_whole(open_file, tmp_path, broken) -> None:
    both = Compare(broken, open_run("kip-1289-lock-expiry", "repaired").payload).payload
    file = tmp_path / "both.html"
    file.write_text(page(both, step=34), encoding="utf-8")
    shown = open_file(file, scheme="dark")
    shown.wait_for_selector(".kv-say:not(:empty)")
    shown.set_viewport_size(PAPER)
    shown.emulate_media(media="print", color_scheme="light")
    shown.evaluate(BEFORE)
    assert shown.evaluate(HIDDEN) == []
    assert shown.evaluate(BEYOND) == []
    drawn = shown.evaluate(DRAWN)
    assert [side["out"] for side in drawn] == [0, 0]
    assert min(side["messages"] for side in drawn) > 12
    assert shown.locator(".kv").get_attribute("data-theme") == "light"


def test_a_page_of_a_run_is_printed_on_several_sheets(open_file, tmp_path, broken) -> None:
    file = tmp_path / "run.html"
    file.write_text(page(broken, step=33), encoding="utf-8")
    shown = open_file(file)
    shown.wait_for_selector(".kv-say:not(:empty)")
    paper = shown.pdf(format="A4")
    # One sheet is what a page prints that hides what it scrolls.
    assert paper.count(b"/Type /Page\n") > 2
    shown.locator(".kv-transport").wait_for()


def test_a_printed_table_has_all_its_rows_and_nothing_to_type_into(open_file, tmp_path) -> None:
    rows = rows_of((f"story-{n:02}", "a sentence that tells what happens " * 4) for n in range(60))
    table = TextTable("stories", ("story", "what happens"), rows)
    cells = [[{"text": c.text, "tone": "", "run": ""} for c in row] for row in table.rows]
    block = {"kind": "table", "caption": table.caption, "heads": table.heads, "rows": cells}
    payload = json.dumps({"blocks": [block], "pictures": {}})
    file = tmp_path / "table.html"
    file.write_text(
        "<!doctype html><meta charset='utf-8'><title>table</title><div id='here'></div>"
        f"<script id='module' type='text/plain'>{RESULTS.read_text(encoding='utf-8')}</script>"
        f"<script>const payload = {payload};"
        "const code = new Blob([document.getElementById('module').textContent], { type: 'text/javascript' });"
        "import(URL.createObjectURL(code)).then(({ default: made }) => made.render("
        "{ model: { get: () => payload, on() {}, off() {}, send() {} }, el: document.getElementById('here') }));</script>",
        encoding="utf-8",
    )
    shown = open_file(file)
    shown.locator(".kr tbody tr").last.wait_for()
    box = shown.locator(".kr-scroll")
    assert box.evaluate("node => node.scrollHeight > node.clientHeight"), "it scrolls on a screen"
    shown.set_viewport_size(PAPER)
    shown.emulate_media(media="print")
    assert shown.evaluate(HIDDEN) == []
    assert shown.evaluate(BEYOND) == []
    assert box.evaluate("node => node.scrollHeight <= node.clientHeight")
    assert shown.locator(".kr tbody tr").count() == 60
    assert not shown.get_by_role("searchbox").is_visible()
