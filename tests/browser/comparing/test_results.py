"""Tables in a notebook: filtered, sorted, and opened by keyboard alone; verdicts differ in shape, not in colour alone."""

from __future__ import annotations

import os

import nbformat
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from nbformat import v4
from playwright.sync_api import expect

import kipviz
from tests.browser.test_accessible import AXE
from tests.notebooks import canonical

pytestmark = pytest.mark.browser

PICTURES = os.environ.get("KIPVIZ_PICTURES")
CELLS = (
    'import kipviz\nkipviz.verdicts("kip-1289-small", ["finding-I"])',
    "kipviz.list_designs()",
)
STICKS_OUT = """() => [...document.querySelectorAll('.jp-OutputArea-output')]
  .filter(e => e.scrollWidth > e.clientWidth + 1).length"""


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_verdicts_are_shapes_and_one_opens_its_run_below_by_keyboard_alone(
    open_notebook, scheme: str
) -> None:
    notebook = open_notebook(*CELLS, width=1280, height=800, scheme=scheme)
    notebook.run_all()
    assert notebook.errors() == []
    page = notebook.page
    results = page.locator(".kr")
    verdicts, designs = results.nth(0), results.nth(1)
    designs.locator("tbody tr").first.wait_for()
    expect(verdicts.locator("[data-shape=breaks]")).to_have_count(1)
    assert verdicts.locator("[data-shape=holds]").count() > 2
    assert verdicts.locator("img").evaluate("image => image.naturalWidth > 300")
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(AXE.replace("'.kv'", "'.kr'")) == []
    assert page.evaluate(STICKS_OUT) == 0
    sentences = designs.locator("td.kr-long")
    assert sentences.evaluate_all("cells => Math.min(...cells.map(c => c.clientWidth))") > 180
    if PICTURES:
        verdicts.scroll_into_view_if_needed()
        page.screenshot(path=f"{PICTURES}/verdicts-{scheme}.png")
        designs.scroll_into_view_if_needed()
        page.screenshot(path=f"{PICTURES}/designs-{scheme}.png")

    designs.get_by_role("searchbox").focus()
    page.keyboard.type("KIP-447 draft")
    count = designs.locator(".kr-count")
    expect(count).to_contain_text(" of ")
    shown = designs.locator("tbody tr")
    assert 0 < shown.count() < 10
    page.keyboard.press("Escape")
    expect(count).not_to_contain_text(" of ")
    head = designs.get_by_role("columnheader").first
    names = designs.locator("tbody th")
    told = {}
    for order in ("ascending", "descending"):
        head.get_by_role("button").press("Enter")
        expect(head).to_have_attribute("aria-sort", order)
        told[order] = names.all_inner_texts()
    assert told["descending"] == told["ascending"][::-1]
    # Numbers count as numbers.
    at = [told["ascending"].index(name) for name in ("as-written", "kip-939", "kip-1310")]
    assert at == sorted(at)

    verdicts.locator("tbody button").focus()
    page.keyboard.press("Enter")
    page.locator(".kv").wait_for()
    expect(verdicts.get_by_role("status").last).to_have_text(
        "The run is open below, at message 20."
    )
    expect(page.locator(".kv-where-small")).to_have_text("message 20 of 20")
    expect(page.locator(".kv")).to_be_focused()
    expect(page.locator(".kv .kv-transport")).to_be_in_viewport(ratio=1)
    expect(page.locator(".kv .kv-say")).to_be_in_viewport(ratio=1)
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/verdicts-open-{scheme}.png")


def test_the_arrow_keys_go_from_story_to_story_and_no_key_reaches_the_notebook(
    open_notebook,
) -> None:
    notebook = open_notebook("import kipviz\nkipviz.list_scenarios()", width=1280, height=800)
    notebook.run_all()
    page = notebook.page
    page.get_by_role("searchbox").focus()
    page.keyboard.type("zombie")
    rows = page.locator(".kr tbody tr")
    expect(page.locator(".kr-count")).to_contain_text(f"{rows.count()} of ")
    assert rows.count() > 2
    page.keyboard.press("ArrowDown")
    runs = page.locator(".kr tbody button")
    expect(runs.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(runs.nth(1)).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("x")  # JupyterLab would cut the cell
    page.keyboard.press("ArrowUp")
    expect(runs.nth(0)).to_be_focused()
    expect(page.locator(".kr tbody button[tabindex='0']")).to_have_count(1)
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/stories-light.png")


def store_notebook(path, *shown) -> None:
    """Write a notebook that stores what each of these shows, as it is in a fresh clone."""
    cells = []
    for number, each in enumerate(shown, 1):
        bundle = each._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        output = v4.new_output("execute_result", data, execution_count=number)
        cells.append(
            v4.new_code_cell("shown", execution_count=number, outputs=[output], id=f"cell-{number}")
        )
    nbformat.write(v4.new_notebook(cells=cells, metadata=canonical.METADATA), path)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_a_run_and_a_comparison_that_nobody_ran_are_pictures_and_their_words_are_folded(
    lab, open_notebook, scheme: str
) -> None:
    run = kipviz.open("kip-1289-group-commit")
    both = kipviz.compare("kip-1289-lock-expiry", "finding-D", "repaired")
    store_notebook(lab.root / "pictures.ipynb", run, both)
    page = open_notebook(name="pictures.ipynb", width=1280, height=800, scheme=scheme).page
    for shown, cell in zip((run, both), page.locator(".jp-CodeCell").all(), strict=True):
        picture = cell.locator("img")
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_attribute("alt", repr(shown))
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("image => image.naturalWidth > 500")
        words = cell.get_by_text("Predict: " if shown is run else "12. ")
        assert not words.is_visible()
        cell.get_by_text("In words").click()
        assert words.first.is_visible()
        assert page.evaluate(STICKS_OUT) == 0
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/unrun-{shown is run}-{scheme}.png")


def test_a_notebook_that_nobody_ran_shows_the_table_and_the_picture(lab, open_notebook) -> None:
    store_notebook(lab.root / "stored.ipynb", kipviz.verdicts("kip-1289-small", ["finding-I"]))
    page = open_notebook(name="stored.ipynb", width=1280, height=800).page
    table = page.locator(".jp-RenderedHTML")
    expect(table.locator("summary")).to_have_text(
        "finding-I: “no stuck transactions or records” breaks after 20 steps"
    )
    expect(table.get_by_text("✗ breaks after 20")).to_be_visible()
    image = table.locator("img")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.naturalWidth > 300")
    assert page.evaluate(STICKS_OUT) == 0
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/stored-light.png")
        image.scroll_into_view_if_needed()
        page.screenshot(path=f"{PICTURES}/stored-picture-light.png")
