"""Still pictures in a real browser: their letters are as wide as the table says, and none is cut."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from playwright.sync_api import Page

import kipviz
from kipviz.views.exports.image import image
from kipviz.views.exports.svg import SANS, _wide, svg
from kipviz.widgets.comparing.compare import Compare
from kipviz.widgets.lab import open_run
from tests.browser.letter_widths import FACE, TABLE, measure, module

pytestmark = pytest.mark.browser

# What of a text, or of the box around it, is beyond the picture or the box; half a pixel is rounding.
CUT = """() => {
  const out = [];
  for (const text of document.querySelectorAll("svg text")) {
    const { left, right } = text.getBoundingClientRect();
    const frame = text.closest("svg").getBoundingClientRect();
    const box = text.previousElementSibling?.matches("rect[rx='7']") ? text.previousElementSibling.getBoundingClientRect() : frame;
    if (left < box.left - .5 || right > box.right + .5 || parseFloat(getComputedStyle(text).fontSize) < 12) out.push(text.textContent);
  }
  return out;
}"""


@pytest.fixture
def sheet(lab) -> Page:
    page = lab.new_page(width=833, height=800)
    yield page
    page.close()


def has_face() -> bool:
    listed = shutil.which("fc-list")
    return bool(
        listed
        and FACE in subprocess.run([listed], check=True, capture_output=True, text=True).stdout
    )


@pytest.mark.skipif(not has_face(), reason=f"{FACE} is not on this machine")
def test_the_table_of_letters_is_what_the_browser_measures(sheet) -> None:
    assert TABLE.read_text(encoding="utf-8") == module(sheet)


@pytest.mark.parametrize("weight", [500, 600, 650, 700])
def test_no_sentence_is_drawn_wider_than_it_is_counted(sheet, weight: int) -> None:
    payload = open_run("kip-1289-lock-expiry", "repaired").payload
    words = sorted({step["sentence"] for step in payload["steps"]} | {"WAWA _M_ COMMIT @ 100"})
    drawn = measure(sheet, words, weight, 12, SANS)
    for text, wide in zip(words, drawn, strict=True):
        assert wide <= _wide(text, 12, weight) * 1.005, text


def test_no_text_of_a_still_picture_is_cut(sheet) -> None:
    payload = open_run("kip-1289-lock-expiry", "finding-D").payload
    long = {**payload, "title": "Two transactions are decided, MMMM WWWW is gone: how many? " * 2}
    both = Compare(payload, open_run("kip-1289-lock-expiry", "repaired").payload)
    columns = kipviz.compare("kip-1289-lock-expiry", "repaired", "as-written", "finding-D")
    owners = kipviz.costs("kip-1310-share-producer", "kip-1310-share-session", "kip-98-zombie")
    pictures = (both.still(), columns.still(), owners.svg)
    for picture in (svg(payload, cursor=33), svg(long, cursor=5, all_lanes=False), *pictures):
        sheet.set_content(f"<body style='margin:0'>{picture}")
        assert sheet.evaluate(CUT) == []


def test_a_comparison_that_nobody_ran_is_read_at_full_size_beside_the_file_browser(sheet) -> None:
    one = open_run("kip-1289-lock-expiry", "finding-D").payload
    picture = Compare(one, open_run("kip-1289-lock-expiry", "repaired").payload).still()
    sheet.set_content(
        f"<style>body {{ margin: 0 }} img {{ max-width: 100% }}</style>{image(picture, '')}"
    )
    shown = sheet.locator("img")
    sheet.wait_for_function("() => document.querySelector('img').naturalWidth > 0")
    scale = shown.evaluate("image => image.clientWidth / image.naturalWidth")
    assert scale == pytest.approx(1)
