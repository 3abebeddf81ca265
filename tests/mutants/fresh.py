"""Run tests in a new Python in which one module is another: `python -m tests.mutants.fresh SOURCE FILE ORDER SECONDS`.

For a change that shows only when its module is imported: a constant, a table, a field's default. SOURCE holds
the changed text of FILE, and ORDER the tests, one in each line; after so many SECONDS of CPU time no test is begun.
"""

from __future__ import annotations

import sys
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.tidy.source import ROOT


class Order:
    """The tests that are wanted, in their order."""

    def __init__(self, wanted: list[str]) -> None:
        """Take the names of the tests."""
        self._place = {name: place for place, name in enumerate(wanted)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the others out."""
        known = [item for item in items if item.nodeid in self._place]
        items[:] = sorted(known, key=lambda item: self._place[item.nodeid])


class Budget:
    """The CPU time that the tests may take."""

    def __init__(self, seconds: float) -> None:
        """Take it; it begins when the tests are read."""
        self._seconds = seconds
        self.spent = False

    def pytest_runtest_logfinish(self) -> None:
        """Begin no further test when it is spent."""
        self.spent = time.process_time() > self._seconds
        if self.spent:
            self.session.shouldstop = "the CPU time is spent"

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take what to stop, and leave out the time of reading the tests."""
        self.session = session
        self._seconds += time.process_time()


def main(source: str, file: str, order: str, seconds: str) -> int:
    """Run the tests until one is red, and give pytest's exit status; 0 if the time is over before."""
    text, path = Path(source).read_text(encoding="utf-8"), str(ROOT / file)
    known = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        if self.path == path:
            return compile(text, path, "exec")
        return known(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    wanted = Path(order).read_text(encoding="utf-8").splitlines()
    files = list(dict.fromkeys(name.partition("::")[0] for name in wanted))
    options: list[Any] = ["-x", "-q", "-p", "no:cacheprovider", "--no-header"]
    options += ["--tb=no", "--assert=plain"]  # nobody reads why a test is red
    budget = Budget(float(seconds))
    status = int(pytest.main([*options, *files], plugins=[Order(wanted), budget]))
    return 0 if status == pytest.ExitCode.INTERRUPTED and budget.spent else status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
