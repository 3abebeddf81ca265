"""The landscape on the page: run it by keyboard, open a cell in the stepper, stop it half-way."""

from __future__ import annotations

import os

import pytest

from tests.patience import PATIENCE

pytestmark = pytest.mark.browser

PICTURES = os.environ.get("KIPVIZ_PICTURES")
CELL = """
import kipviz
kipviz.landscape(
    ["repaired", "finding-D"],
    ("group.share.record.lock.duration.ms", [10_000, 30_000]),
    ("transaction.timeout.ms", [5_000, 60_000]),
)
"""


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), pytest.param(800, "dark", marks=pytest.mark.thorough)]
)
def test_a_landscape_is_searched_and_a_cell_opened_by_keyboard_alone(
    open_notebook, width: int, scheme: str
) -> None:
    notebook = open_notebook(CELL.strip(), width=width, scheme=scheme)
    notebook.run_all()
    assert notebook.errors() == []
    page = notebook.page
    page.get_by_role("button", name="Run", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_text("cells break a property").wait_for(timeout=1000 * PATIENCE)
    broken = page.get_by_role("button", name="✗ atomic after").first
    assert broken.get_attribute("title").startswith(
        "finding-D, group.share.record.lock.duration.ms"
    )
    for word in ("✓ holds", "○ never commits"):
        assert page.get_by_role("button", name=word).first.is_enabled()
    wide = page.evaluate(
        "() => [...document.querySelectorAll('.jp-OutputArea-output')]"
        ".every(e => e.scrollWidth <= e.clientWidth + 1)"
    )
    assert wide, "nothing sticks out"
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/landscape-{width}-{scheme}.png")
    broken.focus()
    page.keyboard.press("Enter")
    page.locator(".kv").first.wait_for()
    page.get_by_text("atomic", exact=False).first.wait_for()
    if PICTURES:
        page.locator(".kv").first.scroll_into_view_if_needed()
        page.screenshot(path=f"{PICTURES}/landscape-open-{width}-{scheme}.png")
