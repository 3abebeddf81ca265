"""A site of a few stories, built once, and served on this machine."""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

import pytest

from kipviz.scenarios.library import scenario
from kipviz.site.build import build
from kipviz.site.runtime import FetchError, fetch
from kipviz.site.serve import server

ROOT = Path(__file__).parents[2]
COLD_MAX = 102_400  # bytes until the stepper is drawn (100 KiB), as a host with gzip sends them
STORIES = ("kip-1289-group-commit", "kip-1289-share-commit", "pain-two-instances")


@pytest.fixture(scope="session")
def fetched() -> Path:
    """Pyodide and msgspec for a browser; npm and pip fetch them where they are not there yet."""
    beside = Path(sys.executable).parent
    if shutil.which("npm") is None and shutil.which("npm", path=str(beside)) is None:
        pytest.skip("npm fetches Pyodide, and there is none")
    try:
        return fetch(ROOT / "build" / "runtime")
    except FetchError as wrong:
        if "SHA-256" in str(wrong):
            raise
        pytest.skip(str(wrong))


@pytest.fixture(scope="session")
def site(fetched: Path, tmp_path_factory) -> Path:
    """The folder of the site."""
    into = tmp_path_factory.mktemp("site") / "site"
    assert build(ROOT, into, fetched, [scenario(name) for name in STORIES]) == len(STORIES)
    return into


@pytest.fixture
def served(site):
    """A server of the site: its address, and what it sent."""
    made = server(site, 0)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    made.address = f"http://127.0.0.1:{made.server_address[1]}/"
    yield made
    made.shutdown()
    made.server_close()
    thread.join(10)
