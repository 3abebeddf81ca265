"""The stepper beyond JupyterLab: Notebook 7, a Voila page, and a page that nbconvert made."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import expect

from tests.browser.harness import LOOPBACK, write_notebook
from tests.patience import PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    "import kipviz\nleft = kipviz.open('kip-1289-small')\nleft",
    "right = kipviz.open('kip-1289-lock-expiry')\nright",
)


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Start a Jupyter program on a folder with one notebook; gives its address."""
    with contextlib.ExitStack() as undo:

        def start(module, *words, path):
            root = tmp_path_factory.mktemp("served")
            write_notebook(root / "run.ipynb", *CELLS)
            with socket.socket() as probe:
                probe.bind((LOOPBACK, 0))
                port = probe.getsockname()[1]
            private = root / ".private"
            names = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
            process = subprocess.Popen(
                [sys.executable, "-m", module, *(word.format(port=port) for word in words)],
                cwd=root,
                env={**os.environ, **{f"JUPYTER_{n}": str(private / n) for n in names}},
                stdout=undo.enter_context((root / "server.log").open("w", encoding="utf-8")),
                stderr=subprocess.STDOUT,
            )
            undo.callback(process.wait, 20)
            undo.callback(process.terminate)
            address = f"http://{LOOPBACK}:{port}{path}"
            deadline = time.monotonic() + PATIENCE
            while True:
                with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=60):
                    return address
                log = (root / "server.log").read_text(encoding="utf-8")
                assert process.poll() is None, log[-3000:]
                assert time.monotonic() < deadline, log[-3000:]
                time.sleep(0.3)

        yield start


@pytest.fixture
def visit(lab):
    """Open an address in the tests' browser.

    What the programs around a stepper do wrong is not ours: Notebook 7 has an uncaught error when
    it starts, Voila's page asks for a font. What goes wrong in a stepper is said in the stepper.
    """
    with contextlib.ExitStack() as undo:

        def go(address, **more):
            page = lab.new_page(**more)
            undo.callback(page.close)
            page.goto(address)
            return page

        yield go
    lab.mistakes.clear()
    lab.outside.clear()


def steps_by_keys(page) -> None:
    """Step both steppers by keys and see that they keep apart."""
    steppers = page.locator(".kv")
    expect(steppers).to_have_count(2, timeout=1000 * PATIENCE)
    left, right = steppers.nth(0), steppers.nth(1)
    for stepper in (left, right):
        expect(stepper.locator(".kv-say")).not_to_be_empty(timeout=1000 * PATIENCE)
    # A cell that the notebook scrolls out of sight and in again is drawn anew: for a moment it says
    # something else. So it is asked where it stands, and only then what it says.
    stands, other = left.locator(".kv-where-big"), right.locator(".kv-where-big")
    for step in (1, 2):
        left.press("ArrowRight")
        expect(stands).to_have_text(re.compile(f"^{step} of "))
    expect(other).to_have_text(re.compile("^0 of "))
    right.press("End")
    expect(other).to_have_text(re.compile(r"^(\d+) of \1$"))
    expect(stands).to_have_text(re.compile("^2 of "))
    expect(left.locator(".kv-say")).not_to_have_text(right.locator(".kv-say").text_content())
    left.press("s")
    page.wait_for_function("() => document.querySelector('.kv-link-text').value.startsWith('kv2.')")
    with page.expect_download(timeout=1000 * PATIENCE) as coming:
        left.get_by_role("button", name="pytest", exact=True).click()
    assert coming.value.suggested_filename.startswith("test_kip_1289_small_step_")
    assert left.locator(".kv-error").is_hidden()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_two_steppers_step_apart_in_notebook_7(serve, visit, scheme):
    token = secrets.token_hex(16)
    root = ["--allow-root"] if os.getuid() == 0 else []
    address = serve(
        "notebook",
        "--no-browser",
        *root,
        "--ServerApp.port={port}",
        f"--ServerApp.ip={LOOPBACK}",
        f"--IdentityProvider.token={token}",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        path=f"/notebooks/run.ipynb?token={token}",
    )
    page = visit(address)
    page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext")
    page.evaluate(
        """async (theme) => {
          const notebook = window.jupyterapp.shell.currentWidget;
          await notebook.context.ready;
          await notebook.sessionContext.ready;
          await window.jupyterapp.commands.execute('apputils:change-theme', { theme });
          await window.jupyterapp.commands.execute('notebook:run-all-cells');
        }""",
        f"JupyterLab {scheme.title()}",
    )
    steps_by_keys(page)
    assert page.locator(".kv").first.get_attribute("data-theme") == scheme
    assert page.locator(".jp-RenderedHTML, .jp-OutputArea-output img").count() == 0


@pytest.mark.thorough
def test_two_steppers_step_apart_in_a_voila_page(serve, visit):
    address = serve(
        "voila",
        "run.ipynb",
        "--no-browser",
        "--port={port}",
        f"--Voila.ip={LOOPBACK}",
        "--theme=dark",
        path="/",
    )
    page = visit(address)
    steps_by_keys(page)
    assert page.locator(".kv").first.get_attribute("data-theme") == "dark"


@pytest.mark.thorough
def test_a_page_of_nbconvert_shows_the_still_picture(tmp_path, visit):
    path = tmp_path / "run.ipynb"
    write_notebook(path, *CELLS)
    notebook = nbformat.read(path, 4)
    NotebookClient(notebook, timeout=PATIENCE, store_widget_state=False).execute()
    html, _ = HTMLExporter().from_notebook_node(notebook)
    file = tmp_path / "run.html"
    file.write_text(html, encoding="utf-8")
    shown = visit(file.as_uri())
    pictures = shown.locator(".jp-RenderedHTML img[alt^='step 0 of ']")
    assert pictures.count() == 2
    for picture in pictures.all():
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("image => image.naturalWidth") > 500
