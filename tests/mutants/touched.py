"""Which test touches which line, and how long it takes: recorded once, with a child for each test.

A child for each, because what one test has cached is not run again by the next. The record is kept in
.mutants/ at the top of the project; a row is made again when its test file, or a module that it touches, has
changed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.operators import FLOORS, Mutant
from tests.mutants.trial import Child
from tests.tidy.source import PACKAGE, ROOT, name_of

# Two runs side by side need a folder each.
KEPT = Path(os.environ.get("MUTANTS_FOLDER") or ROOT / ".mutants")
CHEAP = 0.5  # seconds of CPU; tests below it come first
WATCHED = 3  # how many times slower a test may be while its lines are counted
# "seconds": CPU time, "lines": {file: [line, ...]}, "red": whether it fails, "cut": whether it was cut off
Row = dict[str, Any]


@cache
def digest(name: str) -> str:
    """The digest of a file of the project; empty if it is gone."""
    path = ROOT / name
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""


def test_file(nodeid: str) -> str:
    """The file of a test."""
    return nodeid.partition("::")[0]


class Touched:
    """The record of the tests."""

    def __init__(self, seconds_max: float = math.inf) -> None:
        """Read what is kept and still true; tests that take more CPU time than this are left out."""
        self._max = seconds_max
        self._place = KEPT / "touched.json"
        self._rows: dict[str, Row] = {}
        if self._place.exists():
            kept = json.loads(self._place.read_text(encoding="utf-8"))
            known = {name for name, was in kept["digests"].items() if was == digest(name)}
            self._rows = {
                nodeid: row
                for nodeid, row in kept["rows"].items()
                if test_file(nodeid) in known and known.issuperset(row["lines"])
            }

    def record(self, items: Sequence[pytest.Item], tell: Callable[[int, int, str], None]) -> None:
        """Run each test that is not on record, and keep what it touched."""
        wanted = [item for item in items if self._is_missing(item.nodeid)]
        try:
            for done, item in enumerate(wanted):
                tell(done, len(wanted), item.nodeid)
                self._rows[item.nodeid] = _touching(item, WATCHED * self._max + 1)
        finally:
            if wanted:
                self._keep()

    def _is_missing(self, nodeid: str) -> bool:
        """A test that was cut off is missing where it may take longer now."""
        row = self._rows.get(nodeid)
        return row is None or (row["cut"] and row["seconds"] < WATCHED * self._max + 1)

    def left_out(self) -> int:
        """How many tests take too long for this run."""
        return sum(row["cut"] or row["seconds"] > self._max for row in self._rows.values())

    def seconds(self) -> dict[str, float]:
        """The CPU time of each test, without any change."""
        return {name: row["seconds"] for name, row in self._rows.items()}

    def red(self) -> list[str]:
        """The tests that fail without any change: they can judge none."""
        return sorted(name for name, row in self._rows.items() if row["red"])

    def tests(self, mutant: Mutant, items: Iterable[pytest.Item]) -> list[pytest.Item]:
        """The tests that touch the mutant's statement: cheap ones first, and its own module's first of these."""
        first, last = mutant.span
        return self._ordered(
            mutant,
            items,
            lambda lines: any(first <= line <= last for line in lines.get(mutant.file, ())),
        )

    def of_module(self, mutant: Mutant, items: Iterable[pytest.Item]) -> list[pytest.Item]:
        """The tests that touch anything in the mutant's file, in the same order."""
        return self._ordered(mutant, items, lambda lines: mutant.file in lines)

    def _ordered(
        self,
        mutant: Mutant,
        items: Iterable[pytest.Item],
        touches: Callable[[dict[str, list[int]]], bool],
    ) -> list[pytest.Item]:
        subject = f"test_{Path(mutant.file).stem}"

        def place(item: pytest.Item) -> tuple[bool, bool, float]:
            seconds = self._rows[item.nodeid]["seconds"]
            return seconds > CHEAP, subject not in item.nodeid, seconds

        rows = self._rows
        green = [
            item
            for item in items
            if not rows[item.nodeid]["red"] and rows[item.nodeid]["seconds"] <= self._max
        ]
        return sorted((i for i in green if touches(rows[i.nodeid]["lines"])), key=place)

    def _keep(self) -> None:
        KEPT.mkdir(exist_ok=True)
        names = {test_file(nodeid) for nodeid in self._rows}
        names.update(file for row in self._rows.values() for file in row["lines"])
        kept = {"digests": {name: digest(name) for name in sorted(names)}, "rows": self._rows}
        draft = self._place.with_suffix(".draft")
        draft.write_text(json.dumps(kept), encoding="utf-8")
        draft.replace(self._place)


def _touching(item: pytest.Item, limit: float) -> Row:
    def work(say: Callable[[Any], None]) -> None:
        if limit < math.inf:
            signal.setitimer(signal.ITIMER_PROF, limit)
        watch = coverage.Coverage(
            data_file=None, source=[str(PACKAGE / floor) for floor in FLOORS], config_file=False
        )
        watch.start()
        before = time.process_time()
        reports = runtestprotocol(item, nextitem=None, log=False)
        seconds = time.process_time() - before
        watch.stop()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a test that touches nothing of these floors
            data = watch.get_data()
        lines = {name_of(Path(f)): sorted(data.lines(f) or ()) for f in data.measured_files()}
        lines = {file: numbers for file, numbers in lines.items() if numbers}
        red = any(report.failed for report in reports)
        say({"seconds": round(seconds, 3), "lines": lines, "red": red, "cut": False})

    ended = Child(work).wait()
    rows = [each for each in ended.said if "seconds" in each]
    if rows:
        return rows[0]
    cut = ended.how == "time"
    return {"seconds": limit if cut else 0.0, "lines": {}, "red": not cut, "cut": cut}
