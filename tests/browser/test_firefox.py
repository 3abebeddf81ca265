"""The same screens in Debian's Firefox. `make thorough` runs them; without a Firefox they are skipped and say so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kipviz
from kipviz.widgets.comparing.compare import Compare
from kipviz.widgets.lab import open_run
from kipviz.widgets.pages.page import page as page_file
from tests.browser.comparing.test_results import store_notebook
from tests.browser.firefox import Firefox, Page, find_firefox
from tests.browser.harness import (
    KERNEL_IS_IDLE,
    NOTEBOOK_IS_READY,
    NOTEBOOK_IS_THERE,
    write_notebook,
)
from tests.browser.stepping.test_one_screen import IN_SIGHT, NEEDED, TALL

pytestmark = [
    pytest.mark.browser,
    pytest.mark.thorough,
    pytest.mark.skipif(
        find_firefox() is None, reason="no Firefox here: install Debian's firefox-esr"
    ),
]

PICTURES = os.environ.get("KIPVIZ_PICTURES")
SIZES = [(833, 800), (993, 900), (592, 768), (1280, 800), (1024, 768), (640, 400)]
SAID = "() => document.querySelector('.kv-say')?.textContent"
PLACE = "() => document.querySelector('.kv-place').textContent"
# Whether a part is what is seen at its own upper left corner.
ON_TOP = """selector => {
  const node = document.querySelector(selector);
  const { left, top } = node.getBoundingClientRect();
  return node.contains(document.elementFromPoint(left + 4, top + 4));
}"""
SIDEWAYS = "() => document.documentElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module", params=["light", "dark"])
def firefox(request: pytest.FixtureRequest) -> Iterator[Firefox]:
    program = find_firefox()
    assert program is not None
    with Firefox(program, request.param) as running:
        yield running


@pytest.fixture
def opened(firefox: Firefox) -> Iterator[Callable[..., Page]]:
    """Open an address at a size; afterwards no JavaScript may have failed."""
    firefox.mistakes.clear()
    pages: list[Page] = []

    def open_one(address: str, width: int, height: int) -> Page:
        pages.append(firefox.open(address, width, height))
        return pages[-1]

    yield open_one
    for page in pages:
        page.close()
    assert firefox.mistakes == []


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Pages without a server: a run whose property breaks, a question, and a comparison."""
    folder = tmp_path_factory.mktemp("pages")
    broken = open_run("kip-1289-lock-expiry", "finding-D").payload
    both = Compare(broken, open_run("kip-1289-lock-expiry", "repaired").payload).payload
    asked = open_run("kip-1289-lock-expiry", "repaired").payload
    shown: dict[str, tuple[Any, int]] = {
        "broken": (broken, 33),
        "asked": (asked, 30),
        "both": (both, 34),
    }
    made = {}
    for name, (payload, step) in shown.items():
        file = folder / f"{name}.html"
        file.write_text(page_file(payload, step=step), encoding="utf-8")
        made[name] = file.as_uri()
    return made


def look(page: Page, name: str, request: pytest.FixtureRequest) -> None:
    if PICTURES:
        scheme = request.node.callspec.params["firefox"]
        page.picture(Path(PICTURES) / f"firefox-{name}-{scheme}.png")


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("name", ["broken", "asked", "both"])
def test_everything_that_a_step_needs_is_in_sight(opened, files, request, name, width, height):
    page = opened(files[name], width, height)
    page.wait(SAID)
    look(page, f"{name}-{width}", request)
    assert not page.evaluate(SIDEWAYS)
    scheme = request.node.callspec.params["firefox"]
    assert page.evaluate("() => document.querySelector('.kv').dataset.theme") == scheme
    assert page.evaluate(
        "() => document.querySelector('.kv').getBoundingClientRect().height"
    ) <= max(TALL, height)
    if name == "both" or height < 700:
        return
    # A right answer is called so, too.
    for part in (*NEEDED[:-1], "section.kv-right"):
        seen = page.evaluate(IN_SIGHT, part)
        assert seen["tall"] >= min(seen["whole"], 56), f"{part} is out of sight"
    assert page.evaluate(IN_SIGHT, ".kv-changed")["tall"] > 40, "what changed is out of sight"


def test_keys_and_the_mouse_do_what_they_do_in_chromium(opened, files):
    page = opened(files["asked"], 1280, 800)
    page.wait(SAID)
    page.click(".kv-say")
    page.press("Home")
    page.wait("() => document.querySelector('.kv-place').textContent.startsWith('0 of')")
    before = page.evaluate(PLACE)
    page.press("Shift+ArrowRight")
    page.wait("before => document.querySelector('.kv-place').textContent !== before", before)
    page.press("u")
    page.wait("() => document.querySelector('.kv-beliefs-table')?.checkVisibility()")
    page.press("Escape")
    page.wait("() => !document.querySelector('.kv-beliefs-table').checkVisibility()")
    page.click(".kv-head", "Broker 1")
    page.wait("() => document.querySelector('.kv-menu').checkVisibility()")
    assert "B1 crashes" in page.evaluate("() => document.querySelector('.kv-menu').textContent")
    page.press("Escape", "Escape")
    page.wait("() => !document.activeElement.closest('.kv')")


def test_a_projector_is_the_full_screen_and_a_remote_steps(opened, files, request):
    page = opened(files["asked"], 1024, 768)
    page.wait(SAID)
    page.click(".kv-say")
    page.press("P")
    page.wait("() => document.fullscreenElement?.classList.contains('kv-presenter')")
    look(page, "projector", request)
    before = page.evaluate(PLACE)
    page.press("PageDown")
    page.wait("before => document.querySelector('.kv-place').textContent !== before", before)
    page.evaluate("() => document.exitFullscreen()")
    page.wait("() => !document.querySelector('.kv').classList.contains('kv-presenter')")


def test_a_run_is_printed_on_several_sheets(opened, files):
    page = opened(files["broken"], 1280, 800)
    page.wait(SAID)
    # Firefox packs the list of its sheets: one sheet alone is less than half as large.
    whole = len(page.print_page())
    page.evaluate(
        "() => { for (const node of document.querySelectorAll('.kv-view, .kv-right')) node.remove(); }"
    )
    assert whole > 1.5 * len(page.print_page())


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1440, 900)])
def test_jupyterlab_runs_a_notebook_and_no_key_reaches_it_before_the_stepper_has_the_focus(
    lab, opened, request, width, height
):
    cells = (
        "import kipviz\nkipviz.open('kip-1289-group-commit')",
        "kipviz.verdicts('kip-1289-small', ['finding-I'])",
    )
    write_notebook(lab.root / "firefox.ipynb", *cells)
    page = opened(lab.address("firefox.ipynb"), width, height)
    page.wait(NOTEBOOK_IS_THERE)
    page.evaluate(NOTEBOOK_IS_READY)
    page.wait(KERNEL_IS_IDLE)
    page.evaluate(
        "() => window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => 1)"
    )
    page.wait(SAID)
    page.wait("() => document.querySelector('.kr [data-shape=breaks]') !== null")
    page.evaluate("() => document.querySelector('.kv').scrollIntoView({ block: 'start' })")
    page.wait(
        """() => { const { top, bottom } = document.querySelector('.kv').getBoundingClientRect();
          return top > 0 && bottom < innerHeight; }"""
    )
    look(page, f"lab-{width}", request)
    for part in (*NEEDED[:-1], "section.kv-right"):
        assert page.evaluate(ON_TOP, part), f"{part} is out of sight"
    page.click(".kv-say")
    page.press("x", "d", "d", "a", "b")
    count = "() => window.jupyterapp.shell.currentWidget.content.model.cells.length"
    assert page.evaluate(count) == len(cells)
    page.press("Escape", "Escape")
    page.wait("() => !document.activeElement.closest('.kv')")


def test_a_notebook_that_nobody_ran_shows_the_picture(lab, opened, request):
    store_notebook(lab.root / "unrun.ipynb", kipviz.open("kip-1289-group-commit"))
    page = opened(lab.address("unrun.ipynb"), 1280, 800)
    page.wait("() => document.querySelector('.jp-RenderedHTML img')?.naturalWidth > 500")
    look(page, "unrun", request)
