"""Two runs side by side, and two views of one, in a real browser."""

from __future__ import annotations

import functools
import os

import pytest

import kipviz
from kipviz.widgets.pages.page import page as exported
from tests.browser.bare_page import step_of

pytestmark = pytest.mark.browser

PICTURES = os.environ.get("KIPVIZ_PICTURES")

TOPS = """() => [...document.querySelectorAll('.kv-side')].map((side) =>
  [...side.querySelectorAll('.kv-note')].map((note) =>
    [note.textContent, Math.round(note.getBoundingClientRect().top)]))"""


@functools.cache
def both() -> dict:
    return kipviz.compare("kip-1289-lock-expiry", "repaired", "finding-D").payload


def press(page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_keys_and_buttons_go_to_the_first_the_next_and_the_previous_difference(show):
    places = [one["at"] for one in both()["differences"]]
    page = show(both())
    press(page, "1")
    assert step_of(page) == places[0]
    press(page, "i", "i")
    assert step_of(page) == places[2]
    press(page, "I")
    assert step_of(page) == places[1]
    page.get_by_role("button", name="next difference").click()
    assert step_of(page) == places[2]
    page.get_by_role("button", name="previous difference").click()
    page.locator(".kv").focus()
    press(page, "3")
    assert step_of(page) == places[2]


def test_a_side_that_waits_shows_a_gap_and_a_word_and_the_other_a_rhombus(show):
    page = show(both())
    press(page, "1")
    left, right = page.locator(".kv-side").all()
    assert left.locator(".kv-differs").inner_text() == "◇ waits"
    assert right.locator(".kv-differs").inner_text() == "◇ only here"
    assert left.locator(".kv-row-waits .kv-row-gap").count() == 1
    assert right.locator(".kv-row-apart:not(.kv-row-waits) path").count() == 1
    assert page.locator(".kv-say").inner_text().startswith("Only right: The acquisition lock")


def test_a_comparison_scrolls_only_down_and_a_mark_covers_no_message(show):
    page = show(kipviz.compare("kip-890-hanging", "kafka-tv1", "kafka").payload, width=1473)
    press(page, "End")
    assert page.locator(".kv-sides").evaluate("node => node.scrollWidth - node.clientWidth") == 0
    assert page.locator(".kv-row-apart text").count() > 0
    page.set_viewport_size({"width": 368, "height": 1000})
    page.locator(".kv[data-size='one']").wait_for()
    assert page.locator(".kv-row-apart").count() > 0
    assert page.locator(".kv-row-apart text").count() == 0
    assert "only here" in page.locator(".kv-row-apart title").all_text_contents()


def test_what_happens_on_both_sides_stands_on_one_level(show):
    page = show(both())
    last = next(big["to"] - 1 for big in both()["bigs"] if big["title"] == "The markers arrive")
    page.evaluate("(step) => window.model.set('step', step)", last)
    page.wait_for_timeout(300)
    left, right = (dict(side) for side in page.evaluate(TOPS))
    shared = {text for text in left if text in right}
    assert shared
    for text in shared:
        assert left[text] == right[text], text


def test_verdicts_stand_side_by_side_with_reasons_and_mark_where_they_differ(show):
    page = show(both())
    press(page, "r")
    table = page.locator(".kv-verdict-table")
    assert table.locator("thead th").all_inner_texts() == ["property", "repaired", "finding-D"]
    row = table.locator("tr", has_text="A source record is acknowledged if and only if")
    assert "◇ differs" in row.inner_text()
    assert "made it AVAILABLE" in row.inner_text()
    press(page, "Escape")
    assert table.is_hidden()
    press(page, "1")
    assert page.locator(".kv-unlike-chip").count() >= 2


def test_d_shows_all_cards_or_only_those_that_differ_or_changed(show):
    page = show(both())
    press(page, "1")
    cards = page.locator(".kv-side .kv-card:visible")
    few = cards.count()
    assert cards.first.locator(".kv-unlike").is_visible()
    press(page, "d")
    assert cards.count() > few
    press(page, "d")
    assert cards.count() == few


def test_another_branch_is_asked_for_by_its_list(show):
    stepper = kipviz.open("kip-1289-small")
    stepper.step = 12
    stepper.take("B5 crashes")
    payload = kipviz.compare(stepper, 0, stepper.branch).payload
    page = show(payload, lines=payload["lines"])
    boxes = page.get_by_label("branch on the")
    assert boxes.count() == 2
    assert [box.input_value() for box in boxes.all()] == ["0", str(stepper.branch)]
    boxes.nth(1).select_option("0")
    assert page.evaluate("() => window.model.get('lines')") == [0, 0]


def test_an_exported_comparison_steps_without_a_kernel(open_file, tmp_path):
    file = tmp_path / "both.html"
    file.write_text(exported(both()), encoding="utf-8")
    page = open_file(file)
    page.locator(".kv-side").first.wait_for()
    page.locator(".kv").focus()
    press(page, "1", "i")
    assert page.locator(".kv-differs").first.is_visible()
    assert page.get_by_label("branch on the").first.is_hidden()


@pytest.mark.parametrize("width", [1400, 1280, 1000, 800])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_comparison_sticks_out_at_no_width(show, width, scheme):
    page = show(both(), width=width, scheme=scheme)
    press(page, "1", "r")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".kv-error").is_hidden()


# -- two views -----------------------------------------------------------------------------------


def test_u_puts_what_the_client_believes_beside_what_the_brokers_know(show):
    payload = kipviz.open("kip-1289-share-commit").payload
    page = show(payload, step=30)
    press(page, "u")
    row = page.locator('.kv-beliefs-table tr:has(b:text-is("transaction"))')
    assert "◇ differs" in row.inner_text()
    assert "not known: commitTransaction() has not returned" in row.inner_text()
    assert "PREPARE_COMMIT: 2 markers missing" in row.inner_text()
    press(page, "End")
    assert "= agrees" in row.inner_text()
    press(page, "u")
    assert page.locator(".kv-beliefs-table").is_hidden()


def test_python_opens_the_two_views_and_hears_that_they_were_closed(show):
    stepper = kipviz.two_views("kip-1289-share-commit")
    assert stepper.tool == "beliefs"
    page = show(stepper.payload, tool=stepper.tool)
    assert page.locator(".kv-beliefs-table").is_visible()
    press(page, "Escape")
    assert page.evaluate("() => window.model.get('tool')") == ""


def test_a_call_under_another_name_has_a_note_and_is_no_difference(show):
    pair = kipviz.compare("kip-1310-share-producer", "kip-1310-share-session").payload
    page = show(pair)
    page.evaluate("(step) => window.model.set('step', step)", 1)
    page.wait_for_timeout(300)
    assert page.locator(".kv-differs").all_inner_texts() == ["≈ other name", "≈ other name"]
    assert page.locator(".kv-row-apart").count() == 0
    assert page.locator(".kv-say").inner_text() == (
        "Left: app-1 calls initTransactions(). Right: app-1 calls initialize()."
    )
    press(page, "1")
    assert step_of(page) == pair["differences"][0]["at"]
    assert page.locator(".kv-differs").first.inner_text() == "◇ differs here"


COLUMNS = """
import kipviz
kipviz.compare("kip-1289-lock-expiry", "repaired", "as-written", "finding-D", "finding-I", "finding-X1")
"""


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_five_designs_stand_in_columns_in_a_notebook_and_scroll_inside_their_table(
    open_notebook, scheme: str
) -> None:
    notebook = open_notebook(COLUMNS.strip(), width=1280, height=800, scheme=scheme)
    notebook.run_all()
    assert notebook.errors() == []
    page = notebook.page
    columns = page.locator(".kv-columns")
    columns.wait_for()
    heads = columns.locator("details[open] table").first.locator("thead th").all_inner_texts()
    assert heads == ["", "repaired", "as-written", "finding-D", "finding-I", "finding-X1"]
    assert page.evaluate(
        "() => [...document.querySelectorAll('.jp-OutputArea-output')]"
        ".every(e => e.scrollWidth <= e.clientWidth + 1)"
    ), "only the table scrolls"
    table = columns.locator("details[open] .kv-scroll").first
    assert table.evaluate("e => e.scrollWidth > e.clientWidth")
    table.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert table.evaluate("e => e.scrollLeft") > 0
    row = columns.locator("tr", has=page.locator("th", has_text="22")).first
    assert "◇ differs" in row.inner_text()
    opened = columns.locator("details[open]").count()
    columns.locator("details:not([open]) summary").first.focus()
    page.keyboard.press("Enter")
    assert columns.locator("details[open]").count() == opened + 1
    if PICTURES:
        columns.locator("details[open]").nth(1).scroll_into_view_if_needed()
        page.screenshot(path=f"{PICTURES}/columns-{scheme}.png")


def test_a_comparison_rests_in_long_big_steps_and_comes_back_the_same_way(show):
    shown = both()
    stops = sorted({stop for big in shown["bigs"] for stop in (*big["rests"], big["to"] - 1)})
    assert len(stops) > len(shown["bigs"])
    page = show(shown)
    went = []
    while step_of(page) < stops[-1]:
        press(page, "ArrowRight")
        went.append(step_of(page))
    assert went == stops
    while step_of(page) > stops[0]:
        press(page, "ArrowLeft")
        went.append(step_of(page))
    assert went == [*stops, *stops[-2::-1]]
