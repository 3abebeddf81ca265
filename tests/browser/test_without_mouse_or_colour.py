"""Every key does one thing and stays inside; one sentence is spoken per step; no tone is colour alone."""

from __future__ import annotations

import base64
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.browser.labs.test_stepper_lab import ACTIVE, CELLS, MODE, SHOW
from tests.widgets import flow

pytestmark = pytest.mark.browser

KEYS_JS = Path(__file__).parents[2] / "kipviz" / "widgets" / "front" / "src" / "frame" / "keys.js"
KEYS = [
    key
    for row in re.findall(r"keys: \[(.*?)\]", KEYS_JS.read_text(encoding="utf-8").replace('"["', "<").replace('"]"', ">"))
    for key in re.findall(r'"(.+?)"', row)
]  # fmt: skip
TONES = ("calm", "pending", "done", "warning", "broken", "gone")
# What is left of a drawn thing in a grey print of one grey: lines, patterns, shapes and letters.
COLOURLESS = """(selector) => [...document.querySelectorAll(selector)].map((node) => {
  const parts = [node, ...node.querySelectorAll('*')].filter((part) => !part.closest('title'));
  const drawn = parts.map((part) => {
    const style = getComputedStyle(part);
    const shape = (part.getAttribute('d') ?? '').replace(/^M[^a-z]*/, '').replace(/[\\d.]+/g, '#').slice(0, 12);
    return [style.borderStyle, style.borderWidth, style.strokeDasharray, style.strokeWidth, (part.getAttribute('fill') ?? '').slice(0, 4), shape].join();
  });
  return [node.textContent, ...drawn].join(' ');
})"""


def test_no_two_actions_share_a_key_and_the_help_lists_each_once(show):
    assert [key for key, times in Counter(KEYS).items() if times > 1] == []
    page = show(flow.share_payload())
    page.keyboard.press("?")
    listed = page.locator(".kv-keys kbd").all_inner_texts()
    assert [key for key, times in Counter(listed).items() if times > 1] == []


def test_no_key_there_is_changes_the_notebook(open_notebook):
    notebook = open_notebook(SHOW, "# the next cell", "# the last cell")
    notebook.run_all()
    page = notebook.page
    page.locator(".kv-say").first.wait_for()
    page.locator(".kv").focus()
    before = page.evaluate(CELLS), page.evaluate(ACTIVE), page.evaluate(MODE)
    names = {" ": "Space", "<": "[", ">": "]"}
    for key in [*(names.get(key, key) for key in KEYS if key != "−"), *"123456789"]:
        page.evaluate("() => document.querySelector('.kv').focus()")
        page.keyboard.press(key)
    assert (page.evaluate(CELLS), page.evaluate(ACTIVE), page.evaluate(MODE)) == before


def test_a_step_is_spoken_once(show):
    page = show(flow.share_payload(), step=40)
    page.evaluate(
        """() => {
          window.spoken = [];
          for (const node of document.querySelectorAll('[aria-live], [role=status], [role=alert]'))
            new MutationObserver(() => node.textContent && !node.hidden && window.spoken.push(node.className))
              .observe(node, { childList: true, subtree: true, characterData: true });
        }"""
    )
    for _ in range(12):
        page.keyboard.press("Shift+ArrowRight")
    page.wait_for_timeout(50)
    assert set(page.evaluate("() => window.spoken")) == {"kv-spoken"}


def test_what_differs_in_tone_differs_without_its_colour(show):
    payload = flow.share_payload()
    for n, note in enumerate(payload["notes"]):
        note |= {"tone": TONES[n % 6], "text": "STATE", "sub": ""}
    for n, step in enumerate(payload["steps"]):
        step |= {"tone": TONES[n % 6], "kind": "deliver", "interesting": False}
    states = ("holds", "pending", "broken")
    payload["verdicts"] = [
        {"property": f"P{n}", "state": state, "sentence": "", "reason": "", "from": 0, "to": None}
        for n, state in enumerate(states)
    ]
    page = show(payload, step=len(payload["steps"]) - 1)
    bars = page.evaluate(COLOURLESS, ".kv-bar")
    assert len(bars) == 6
    # A broken step has its rhombus above the bar; the shape of its bar is that of any trouble.
    assert len(set(bars)) == 5
    assert page.locator(".kv-flag-broken").count() > 0
    chips = {
        words.replace(f"P{n}", "")
        for words in page.evaluate(COLOURLESS, ".kv-verdict")
        for n in range(3)
        if f"P{n}" in words
    }
    assert len(chips) == 3
    drawn = {}
    for tone in TONES:
        for k in range(len(payload["steps"])):
            page.evaluate("step => window.model.set('step', step)", k)
            found = page.evaluate(COLOURLESS, f".kv-note.kv-tone-{tone}")
            if found:
                drawn[tone] = found[0]
                break
    assert len(set(drawn.values())) == 6, drawn


def test_a_part_that_cannot_be_drawn_says_so_and_leaves_the_rest(show):
    payload = flow.share_payload()
    for row in payload["rows"]:
        row["cells"] = None
    page = show(payload)
    assert "could not be drawn" in page.locator(".kv-error").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".kv-say").inner_text() == payload["bigs"][0]["say"]


# Two pictures as data: how much of them differs by more than an eighth of the brightness.
APART = """async ([one, other]) => {
  const pixels = async (data) => {
    const image = await createImageBitmap(await (await fetch(data)).blob());
    const canvas = new OffscreenCanvas(40, 40).getContext('2d');
    canvas.drawImage(image, 0, 0, 40, 40);
    return canvas.getImageData(0, 0, 40, 40).data;
  };
  const [a, b] = [await pixels(one), await pixels(other)];
  let apart = 0;
  for (let i = 0; i < a.length; i += 4)
    if (Math.abs(a[i] - b[i]) + Math.abs(a[i + 1] - b[i + 1]) + Math.abs(a[i + 2] - b[i + 2]) > 96) apart++;
  return apart / (a.length / 4);
}"""
STATES = ("AVAILABLE", "ACQUIRED", "TX_PENDING", "ACKNOWLEDGED", "ARCHIVED")


@pytest.mark.parametrize("sight", ["protanopia", "deuteranopia", "tritanopia", "achromatopsia"])
def test_record_states_are_told_apart_with_any_sight(show, sight):
    payload = flow.share_payload()
    card = next(card["id"] for card in payload["cards"] if card["kind"] == "records")
    row = next(row for row in payload["rows"] if row["card"] == card and "state" in row["cells"])
    payload["rows"] = [other for other in payload["rows"] if other["card"] != card] + [
        {
            **row,
            "id": f"offset {n}",
            "from": 0,
            "to": None,
            # The same letters on all of them: what is left is fill, pattern, line and sign.
            "cells": {**row["cells"], "offset": 7, "state": state, "short": "XX", "note": ""},
        }
        for n, state in enumerate(STATES)
    ]
    page = show(payload, step=len(payload["steps"]) - 1)
    page.context.new_cdp_session(page).send(
        "Emulation.setEmulatedVisionDeficiency", {"type": sight}
    )
    boxes = page.locator(".kv-record")
    assert boxes.count() == len(STATES)
    shots = [
        "data:image/png;base64," + base64.b64encode(boxes.nth(n).screenshot()).decode()
        for n in range(len(STATES))
    ]
    for one, other in itertools.combinations(range(len(STATES)), 2):
        apart = page.evaluate(APART, [shots[one], shots[other]])
        # A sign of one letter, such as ✓, covers two hundredths of a box.
        assert apart > 0.015, (STATES[one], STATES[other], apart)
