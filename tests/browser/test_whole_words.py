"""No word is broken in the middle and no sentence is cut, at the sizes of a laptop, a beamer and 200 % zoom."""

from __future__ import annotations

from typing import Any

import pytest

import kipviz
from kipviz.widgets.comparing.compare import Compare
from kipviz.widgets.lab import open_run

pytestmark = pytest.mark.browser

STORY = "kip-1289-lock-expiry"
SIZES = [(833, 800), (800, 800), (592, 768), (1256, 800), (640, 400)]
# Words of letters whose ends stand in two lines. Java's names are words in a row, and may go on after one of them.
BROKEN = """() => {
  const out = [];
  const walk = document.createTreeWalker(document.querySelector('.kv, .kv-columns'), NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!node.parentElement.checkVisibility() || node.parentElement.closest('style, svg')) continue;
    for (const found of node.textContent.matchAll(/[A-Z]?[a-z]{3,}|[A-Z]{4,}/g)) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      const lines = new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top)));
      if (lines.size > 1) out.push(`${found[0]} in ${node.parentElement.className}: ${node.textContent}`);
    }
  }
  return out;
}"""
# What of the sentence, and of what breaks, is below the edge of its box; half a line is an underline's room.
BELOW = """() => {
  const spoken = document.querySelector('.kv-spoken');
  const { bottom } = spoken.getBoundingClientRect();
  return [...spoken.children].filter((node) => node.checkVisibility() && node.getBoundingClientRect().bottom > bottom + 3).map((node) => node.textContent);
}"""
CUT = """selector => [...document.querySelectorAll(selector)].filter((node) => node.scrollWidth > node.clientWidth + 1 || (node.tagName === 'H2' && node.scrollHeight > node.clientHeight + 3)).map((node) => node.textContent)"""
GO = "step => window.model.set('step', step)"
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"


def boxes_of(page, selector: str) -> list[dict[str, float]]:
    return [node.bounding_box() for node in page.locator(selector).all()]


@pytest.fixture(scope="module")
def broken() -> dict[str, Any]:
    return open_run(STORY, "finding-D").payload


@pytest.fixture(scope="module")
def both(broken: dict[str, Any]) -> dict[str, Any]:
    return Compare(open_run(STORY, "repaired").payload, broken).payload


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_no_step_breaks_a_word_or_cuts_its_sentence_or_what_can_happen_next(
    show, broken, width, height
) -> None:
    page = show(broken, width=width, height=height, theme="light")
    for step in range(0, len(broken["steps"]), 3):
        page.evaluate(GO, step)
        page.evaluate(DRAWN)
        assert page.evaluate(BROKEN) == [], step
        assert page.evaluate(BELOW) == [], step
        assert page.evaluate(CUT, ".kv-next-list .kv-what") == [], step


@pytest.mark.parametrize(("width", "height"), SIZES[:4])
def test_the_title_and_the_names_of_the_design_and_of_its_properties_are_whole(
    show, broken, width, height
) -> None:
    page = show(broken, width=width, height=height, theme="light")
    for step in (0, 22, 33, len(broken["steps"]) - 1):
        page.evaluate(GO, step)
        page.evaluate(DRAWN)
        assert page.evaluate(CUT, ".kv-header h2, .kv-header .kv-chip b") == [], step


@pytest.mark.parametrize("drawer", ["find", "views", "share"])
def test_a_drawer_of_a_narrow_stepper_says_each_name_whole(show, broken, drawer) -> None:
    # As wide as beside the file browser in a window of 800 px.
    page = show(broken, width=368, height=1000, theme="light", tool=drawer, step=30)
    box = page.locator(".kv-drawer:visible")
    box.wait_for()
    assert box.evaluate("node => node.scrollWidth - node.clientWidth") <= 1
    assert page.evaluate(CUT, ".kv-drawer .kv-view-name") == []
    captions = boxes_of(page, ".kv-share-row .kv-caption:visible")
    assert all(box["height"] < 25 for box in captions)
    assert len(captions) >= 2 or drawer != "share"


@pytest.mark.parametrize("width", [592, 833, 1473])
def test_no_word_is_broken_where_the_reason_of_a_step_is_told(show, width) -> None:
    told = open_run("kip-1289-share-commit", "repaired").payload
    step = next(k for k, s in enumerate(told["steps"]) if "share-partition leader" in s["sentence"])
    page = show(told, width=width, height=900, step=step, theme="light")
    page.keyboard.press("w")
    page.locator(".kv-why dt", has_text="share-partition leader").wait_for()
    assert page.evaluate(BROKEN) == []


def test_a_line_that_is_held_has_the_width_of_the_card(show) -> None:
    stuck = open_run("kip-98-stuck-lso", "kafka").payload
    page = show(stuck, width=833, height=800, step=len(stuck["steps"]) - 1, theme="light")
    line = page.locator(".kv-code [data-held]")
    assert line.inner_text().startswith("records = consumer.")
    assert line.locator("em").inner_text() == "waiting"
    code, whole = line.locator("code").bounding_box(), line.bounding_box()
    assert code["width"] > whole["width"] - 50
    assert line.locator("em").bounding_box()["y"] >= code["y"] + code["height"] - 1


def test_a_name_that_begins_with_underscores_keeps_them_with_its_first_word(show) -> None:
    split = open_run("kip-98-split-network", "kafka").payload
    page = show(split, width=833, height=800, step=split["downs"][0]["from"])
    pieces = page.locator(".kv-say").evaluate("node => node.innerHTML.split('<wbr>')")
    assert any(piece.endswith("leads __transaction_") for piece in pieces), pieces


@pytest.mark.parametrize(("width", "height"), SIZES[:4])
def test_a_comparison_says_whole_what_differs(show, both, width, height) -> None:
    page = show(both, width=width, height=height, theme="light")
    for step in [0, *(each["at"] for each in both["differences"])]:
        page.evaluate(GO, step)
        page.evaluate(DRAWN)
        assert page.evaluate(BROKEN) == [], step
        assert page.evaluate(BELOW) == [], step
        assert page.evaluate(CUT, ".kv-side .kv-chip b") == [], step
        assert page.evaluate(CUT, ".kv-header .kv-chip, .kv-header h2") == [], step


@pytest.mark.parametrize("width", [833, 592])
def test_designs_in_columns_have_a_picture_and_break_no_word(open_file, tmp_path, width) -> None:
    file = tmp_path / "columns.html"
    columns = kipviz.compare(STORY, "repaired", "as-written", "finding-D")
    file.write_text(f"<!doctype html><body style='font: 13px sans-serif'>{columns.html()}")
    page = open_file(file, width=width, height=800)
    page.evaluate(
        "() => { for (const one of document.querySelectorAll('details')) one.open = true; }"
    )
    assert page.evaluate(BROKEN) == []
    page.wait_for_function("() => document.querySelector('.kv-columns img').naturalWidth > 700")
    shown = page.locator(".kv-columns img").bounding_box()
    assert shown["width"] <= width
    assert shown["y"] < 800, "the picture begins on the first screen"


@pytest.mark.parametrize("ground", ["#fff;color:#111", "#111;color:#eee"])
def test_the_first_column_is_read_on_any_ground(open_file, tmp_path, ground) -> None:
    file = tmp_path / "columns.html"
    columns = kipviz.compare(STORY, "repaired", "as-written", "finding-D")
    file.write_text(f"<!doctype html><body style='background:{ground}'>{columns.html()}")
    page = open_file(file, width=833, height=800)
    cells = page.evaluate(
        """() => [...document.querySelectorAll('.kv-columns tr>:first-child')].map((node) => {
          const { color, backgroundColor } = getComputedStyle(node);
          return [color, backgroundColor].map((rgb) => rgb.match(/\\d+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0) / 3);
        })"""
    )
    assert cells
    assert min(abs(ink - behind) for ink, behind in cells) > 200


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1280, 800)])
def test_a_class_reads_each_sentence_whole(show, broken, width, height) -> None:
    page = show(broken, width=width, height=height, theme="light", presenter=True)
    for step in range(len(broken["steps"])):
        page.evaluate(GO, step)
        page.evaluate(DRAWN)
        assert page.evaluate(BELOW) == [], step
