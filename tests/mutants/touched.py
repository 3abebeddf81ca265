"""Which test would see which change, and how long it takes: recorded once, with a child for each test file.

The tests of a file share what they cache, so of two tests that look at one value only the first one is on record as
working it out; the others of its file come behind it when a change is tried. The record is kept in .mutants/ at the
top of the project, for one sample; a file's rows are made again when it does something else than it did.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants import probes
from tests.mutants.live import Functions
from tests.mutants.operators import Mutant
from tests.mutants.trial import Child
from tests.tidy.source import ROOT

# Two runs side by side need a folder each.
KEPT = Path(os.environ.get("MUTANTS_FOLDER") or ROOT / ".mutants")
CHEAP = 0.5  # seconds of CPU; tests below it come first
# "seconds": CPU time, "hits": the changes it would see, "red": whether it fails, "cut": whether it was cut off
Row = dict[str, Any]


class Cut(KeyboardInterrupt):
    """The test has taken longer than it may; as an interruption, of which pytest makes no report."""


@cache
def digest(name: str) -> str:
    """The digest of what a Python file of the project does, without its docstrings; empty if it is gone.

    A comment, a docstring and a line's place change no result of a test, and no number of a change.
    """
    path = ROOT / name
    if not path.exists():
        return ""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, _DESCRIBED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


_DESCRIBED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_file(nodeid: str) -> str:
    """The file of a test."""
    return nodeid.partition("::")[0]


class Touched:
    """The record of the tests for one sample."""

    def __init__(self, drawn: Sequence[Mutant], seconds_max: float = math.inf) -> None:
        """Read what is kept and still true; tests that take more CPU time than this are left out."""
        self._drawn = drawn
        self._max = seconds_max
        made_of = [f"{m.file} {m.number} {digest(m.file)} {seconds_max}" for m in drawn]
        name = hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:16]
        self._place = KEPT / f"touched-{name}.jsonl"
        self._rows: dict[str, Row] = {}
        self._read()

    def _read(self) -> None:
        if self._place.exists():
            for line in self._place.read_text(encoding="utf-8").splitlines():
                kept = json.loads(line)
                if kept["digest"] == digest(kept["file"]):
                    self._rows.update(kept["rows"])

    def record(
        self,
        items: Sequence[pytest.Item],
        functions: Functions,
        tell: Callable[[int, int, str], None],
    ) -> None:
        """Run each test that is not on record, and keep what it would see."""
        wanted = [item for item in items if item.nodeid not in self._rows]
        if not wanted:
            return
        KEPT.mkdir(exist_ok=True)

        def work(_: Callable[[Any], None]) -> None:
            """Watch the places in one child, which has one for each test file."""
            places = defaultdict(list)
            for mutant in self._drawn:
                places[mutant.file].append(mutant)
            for file, mutants in places.items():
                functions.watch(file, mutants)
            done = 0
            for file, group in groupby(wanted, lambda item: test_file(item.nodeid)):
                mine = list(group)
                tell(done, len(wanted), file)
                self._keep(file, self._watch_tests(mine))
                done += len(mine)

        child = Child(work, loud=True)
        try:
            ended = child.wait()
        except KeyboardInterrupt:
            child.end()
            raise
        if ended.how != "green":
            raise RuntimeError("what the tests see could not be recorded")
        self._read()

    def _keep(self, file: str, rows: dict[str, Row]) -> None:
        with self._place.open("a", encoding="utf-8") as kept:
            kept.write(json.dumps({"file": file, "digest": digest(file), "rows": rows}) + "\n")

    def _watch_tests(self, items: list[pytest.Item]) -> dict[str, Row]:
        def work(say: Callable[[Any], None]) -> None:
            signal.signal(signal.SIGPROF, _cut)
            for item, after in zip(items, [*items[1:], None], strict=True):
                say({item.nodeid: self._row(item, after)})

        ended = Child(work).wait()
        rows = {nodeid: row for each in ended.said for nodeid, row in each.items()}
        gone = Row(seconds=0.0, hits=[], red=True, cut=False)  # the child ended before it
        return {item.nodeid: rows.get(item.nodeid, gone) for item in items}

    def _row(self, item: pytest.Item, after: pytest.Item | None) -> Row:
        probes.hits.clear()
        before = time.process_time()
        if self._max < math.inf:
            signal.setitimer(signal.ITIMER_PROF, 2 * self._max, 1.0)
        try:
            reports = runtestprotocol(item, nextitem=after, log=False)
            signal.setitimer(signal.ITIMER_PROF, 0)
        except Cut:
            signal.setitimer(signal.ITIMER_PROF, 0)
            reports = []
            with suppress(Exception):  # what it leaves half done is not judged
                item.session._setupstate.teardown_exact(after)
        seconds = time.process_time() - before
        cut = not reports or seconds > 2 * self._max
        red = not cut and any(report.failed for report in reports)
        return Row(seconds=round(seconds, 3), hits=sorted(probes.hits), red=red, cut=cut)

    def left_out(self) -> int:
        """How many tests take too long for this run."""
        return sum(row["cut"] for row in self._rows.values())

    def seconds(self) -> dict[str, float]:
        """The CPU time of each test, without any change."""
        return {name: row["seconds"] for name, row in self._rows.items()}

    def is_red(self, name: str) -> bool:
        """Whether a test fails without any change: then it can judge none."""
        return bool(self._rows[name]["red"])

    def tests(self, mutant: Mutant, items: Iterable[pytest.Item]) -> list[pytest.Item]:
        """The tests that would see a change, cheap ones first, and its own module's first of these.

        Behind them come the others of their files, which may look at what those have cached.
        """
        subject = f"test_{Path(mutant.file).stem}"
        name = probes.key(mutant)

        def place(item: pytest.Item) -> tuple[bool, bool, bool, float]:
            seconds = self._rows[item.nodeid]["seconds"]
            direct = not mutant.inside and _imports(item.nodeid, mutant.file)
            return seconds > CHEAP, subject not in item.nodeid, not direct, seconds

        green = [
            i for i in items if not (self._rows[i.nodeid]["red"] or self._rows[i.nodeid]["cut"])
        ]
        seeing = [i for i in green if name in self._rows[i.nodeid]["hits"]]
        if not mutant.inside:  # a test of a table or of names looks at it and calls nothing
            seeing += [i for i in green if i not in seeing and _imports(i.nodeid, mutant.file)]
        files = {test_file(i.nodeid) for i in seeing}
        known = {i.nodeid for i in seeing}
        behind = [i for i in green if test_file(i.nodeid) in files and i.nodeid not in known]
        return [*sorted(seeing, key=place), *sorted(behind, key=place)]


def _imports(nodeid: str, file: str) -> bool:
    """Whether the file of a test imports a module by its name, in one of the two ways."""
    return file in list_imported(test_file(nodeid))


@cache
def list_imported(name: str) -> frozenset[str]:
    """The files of the modules that a file of the project imports itself."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        found |= {f"{module.replace('.', '/')}.py" for module in modules}
    return frozenset(found)


def _cut(number: int, frame: Any) -> None:
    raise Cut
