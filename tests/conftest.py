"""What all tests share: how thoroughly to search, in which order to run, when Chromium is needed."""

import gc
import os
import re
import signal
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.browser.harness import CHROMIUM_ARGUMENTS, find_chromium
from tests.patience import PATIENCE

# CI searches with the profile that a developer has: a run that is green at home is green there. Both profiles are
# derandomized: a red run is red again for whoever runs the same command.
for name, examples in (("quick", 50), ("long", 1_000)):
    settings.register_profile(
        name,
        max_examples=examples,
        derandomize=True,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no error of the project
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "quick")
# The thousands of tests and the runs they share are alive to the end, and have few circles: looking through them as
# often as Python does by itself is a tenth of the suite's processor time.
gc.set_threshold(20_000, 20, 20)


# What takes seconds of processor to start, with the folder of the files that ask for it and how they do.
SHARED = {
    "Spark": ("tests/", r"pytest\.mark\.spark"),
    "JupyterLab": ("tests/browser/", r"\bopen_notebook\b|\blab\.address\b"),
    "the site": ("tests/site/", r"\((opened, )?(served|site)\b"),
}
ROOT = Path(__file__).parents[1]


@cache
def unit_of(file: str) -> str:
    """What a file of tests is run with, in one process: the file alone, or all that share a thing that is dear to start."""
    path = ROOT / file
    text = path.read_text(encoding="utf-8") if path.suffix == ".py" and path.is_file() else ""
    for thing, (folder, asking) in SHARED.items():
        if file.startswith(folder) and re.search(asking, text):
            return thing
    return file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """With --dist=loadfile, start Spark, JupyterLab and the site's server in one of the processes only."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Units(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(super()._split_scope(nodeid))

    return Units(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Let ^C reach the processes that tests start, however this run was started.

    A shell that starts a run in the background has it ignore SIGINT, and children inherit what is ignored: a test
    that stops a child by ^C would wait for ever.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def spark():
    """One Spark for the whole run: small, on this machine, without its web page."""
    from kipviz.spark.sessions import session

    made = session.session("local[2]")
    # A few rows each: to compile code for a stage takes longer than its rows do.
    made.conf.set("spark.sql.codegen.wholeStage", "false")
    made.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield made
    session.stop()


@pytest.fixture(scope="module")
def kafka_python_is_swept():
    """Collect here what kafka-python leaves open where it cannot connect: no test of another module is warned of it."""
    gc.freeze()  # what was there before is not looked at again: that would take seconds
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    gc.unfreeze()


@pytest.fixture(scope="session")
def browser():
    """One Chromium for the whole run: Playwright's synchronous interface can be open once in a process."""
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = find_chromium()
    if chromium is None:
        raise RuntimeError("the browser tests need Chromium: install Debian's chromium")
    # A page answers at once or never; what differs between machines is how busy they are.
    sync_api.expect.set_options(timeout=1000 * PATIENCE)
    with sync_api.sync_playwright() as play:
        made = play.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        yield made
        made.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run what is quick first, so that a plain mistake is told before a server starts.

    What is thorough runs only when it is asked for by its marker (`make thorough`). What shares a thing that is
    dear to start comes together. The browser comes last of all: while Playwright's synchronous interface is open,
    an event loop runs in this process, and other tests could not start theirs. Of what opens pages the longest
    goes first, so that neither process waits at the end for the other.
    """
    if "thorough" not in config.option.markexpr:
        kept, left_out = [], []
        for item in items:
            (left_out if item.get_closest_marker("thorough") else kept).append(item)
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
    units = {item.path: unit_of(item.nodeid.partition("::")[0]) for item in items}
    stages: dict[str, int] = {}
    for item in items:
        unit = units[item.path]
        if unit in SHARED:
            stages[unit] = max(_stage(item), stages.get(unit, 0))
    pages = Counter(units[item.path] for item in items if item.get_closest_marker("browser"))
    items.sort(
        key=lambda item: (
            stages.get(units[item.path], _stage(item)),
            -pages[units[item.path]],
            units[item.path],
        )
    )
    chromium = find_chromium()
    if chromium is None and not os.environ.get("CI"):
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(
                    pytest.mark.skip(reason="no Chromium here: install Debian's chromium")
                )


def _stage(item: pytest.Item) -> int:
    for stage, marker in ((4, "browser"), (2, "spark"), (1, "slow")):
        if item.get_closest_marker(marker):
            return stage
    return 3 if item.path.suffix == ".ipynb" else 0
