"""Fixtures of the browser tests: `lab`, `open_notebook`, `open_file`."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.bare_page import wait_painted, write_page
from tests.browser.harness import Lab, Notebook, write_notebook

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def lab(tmp_path_factory, browser) -> Iterator[Lab]:
    """One JupyterLab for the whole run, with the project's notebooks in `notebooks/`."""
    root = tmp_path_factory.mktemp("lab")
    if (ROOT / "notebooks").is_dir():
        shutil.copytree(
            ROOT / "notebooks",
            root / "notebooks",
            ignore=shutil.ignore_patterns(".*", "spark-warehouse"),
        )
    with Lab(root, browser) as running:
        yield running


@pytest.fixture
def stays_here(lab) -> Iterator[None]:
    """Fail a test whose page asked for anything beyond this machine or broke."""
    lab.outside.clear()
    lab.mistakes.clear()
    yield
    assert lab.outside == [], "the page asked for something beyond this machine"
    assert lab.mistakes == [], "the page's JavaScript failed"


@pytest.fixture
def open_notebook(lab, stays_here, request) -> Iterator[Callable[..., Notebook]]:
    """Open a notebook: `open_notebook("import kipviz", "...")` or `open_notebook(name="notebooks/x.ipynb")`.

    Keywords `width`, `height` and `scheme` ("light" or "dark") set up the page. All is closed at the end.
    """
    opened: list[Notebook] = []

    def open_one(*cells: str, name: str | None = None, **page: int | str) -> Notebook:
        if name is None:
            name = f"{request.node.name.partition('[')[0][:60]}-{len(opened)}.ipynb"
            write_notebook(lab.root / name, *cells)
        opened.append(lab.open(name, **page))
        return opened[-1]

    yield open_one
    for notebook in opened:
        notebook.close()


@pytest.fixture
def open_file(lab, stays_here):
    """Open an HTML file as a reader without a server would; gives Playwright's page."""
    opened = []

    def open_one(path: Path, **page: int | str):
        opened.append(lab.new_page(**page))
        opened[-1].goto(Path(path).resolve().as_uri())
        return opened[-1]

    yield open_one
    for page in opened:
        page.close()


@pytest.fixture
def show(open_file, tmp_path) -> Callable[..., Any]:
    """Show a payload on a page of its own: `show(payload, width=800, scheme="dark", step=7)`.

    Gives the page, with the focus on the stepper; other keywords are the stepper's traits.
    """

    def show_one(
        payload: dict[str, Any],
        *,
        width: int = 1280,
        height: int = 1000,
        scheme: str = "light",
        **more: Any,
    ):
        file = write_page(tmp_path / "stepper.html", payload, **more)
        page = open_file(file, width=width, height=height, scheme=scheme)
        wait_painted(page)
        page.locator(".kv").focus()
        return page

    return show_one
