"""The notebooks as a reader opens them: every cell runs, the stepper steps, a fault branches."""

from __future__ import annotations

import os
import re
import time

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

PICTURES = os.environ.get("KIPVIZ_PICTURES")


@pytest.mark.parametrize(
    "name",
    [
        "00-start-here",
        pytest.param("40-share-groups-in-a-transaction-kip-1289", marks=pytest.mark.thorough),
    ],
)
def test_a_notebook_runs_and_its_first_stepper_steps_wide_and_light_narrow_and_dark(
    open_notebook, name: str
) -> None:
    notebook = open_notebook(name=f"notebooks/{name}.ipynb")
    notebook.run_all()
    assert notebook.errors() == []
    page = notebook.page
    # JupyterLab draws the cells in sight: after a run those at the end, where a long notebook has a comparison.
    page.evaluate("() => window.jupyterapp.shell.currentWidget.content.scrollToItem(0)")
    first = page.locator(".kv:has(.kv-where-big:not(:empty))").first
    # A busy page may draw another stepper of the notebook before the first one, which stands at its start.
    expect(first.locator(".kv-where-big")).to_have_text(re.compile("^0 of "))
    for width, scheme, bigs in ((1280, "light", (1, 2)), (800, "dark", (3, 4))):
        page.set_viewport_size({"width": width, "height": 1000})
        notebook.dress(scheme)
        first.scroll_into_view_if_needed()
        first.locator(
            "h2"
        ).click()  # its title answers no click; a place would, when the page moves
        for big in bigs:
            # A long big step rests on its way: one press more for each of its parts.
            begins = first.locator(".kv-where-big")
            while not (begins.text_content() or "").startswith(f"{big} of "):
                # As `expect` reads it: `inner_text` depends on the layout, and would differ before the step is drawn.
                place = first.locator(".kv-place").text_content() or ""
                page.keyboard.press("ArrowRight")
                expect(first.locator(".kv-place")).not_to_have_text(place)
            expect(begins).to_have_text(re.compile(f"^{big} of "))
        expect(first).to_have_attribute("data-theme", scheme)
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/{name}-{width}-{scheme}.png")


PLACES_SEEN = """place => {
  window.seen = [];
  const note = () => {
    const said = Number(place.textContent.match(/message (\\d+)/)[1]);
    if (window.seen.at(-1) !== said) window.seen.push(said);
  };
  new MutationObserver(note).observe(place, { subtree: true, childList: true, characterData: true });
}"""


def test_no_press_of_a_key_is_undone_by_what_the_kernel_says_of_an_earlier_step(
    open_notebook,
) -> None:
    notebook = open_notebook('import kipviz\nkipviz.open("kip-1289-group-commit")')
    notebook.run_all()
    page = notebook.page
    stepper = page.locator(".kv").first
    stepper.locator("h2").click()
    stepper.locator(".kv-place").evaluate(PLACES_SEEN)
    for key in ("Shift+ArrowRight", "Shift+ArrowLeft"):
        for _ in range(30):
            page.keyboard.press(key)
    notebook.wait_idle()
    assert page.evaluate("window.seen") == [*range(1, 31), *range(29, -1, -1)]


def test_a_fault_taken_on_the_page_is_answered_by_the_model(open_notebook) -> None:
    notebook = open_notebook('import kipviz\nkipviz.open("kip-1289-share-commit")')
    notebook.run_all()
    assert notebook.errors() == []
    page = notebook.page
    page.locator(".kv").first.locator(
        "h2"
    ).click()  # its title answers no click; a place would, when the page moves
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("f")
    began = time.monotonic()
    page.get_by_role("button", name="B5 crashes").first.click()
    page.get_by_text("Broker 5 crashes. Its memory and its connections are gone.").first.wait_for()
    # Not a timed assertion: it is printed for whoever runs this with -s.
    print(f"fault to picture: {time.monotonic() - began:.3f} s")
    assert "main" in page.locator(".kv select").first.inner_text()
