"""`make mutants`: change one small thing in the program at a time, and see whether a test turns red.

    make mutants ARGS='--seed 1 --count 500'
    make mutants ARGS='--floor properties --count all'
    make mutants ARGS='--file share_coordinator.py --count all'
    make mutants ARGS='--file brokers/groups/ --kind guard --count all'
    make mutants ARGS='--line kipviz/properties/atomic.py:96'

What a change is put to are the quick tests of its own floor and those of conformance, only those in which its
place gives something else, the cheapest first. A test that takes many times its CPU time counts as red.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import json
import math
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.live import Functions, NotLive, parse_file
from tests.mutants.operators import FLOORS, Mutant, change_tree, modules, mutants
from tests.mutants.touched import KEPT, Touched, digest, test_file
from tests.mutants.trial import RATIO, Child, Ended, run
from tests.tidy.source import ROOT

HERE = Path(__file__).parent
EQUIVALENT = HERE / "equivalent.json"
RECORD = HERE / "record.json"
QUICK = "not slow and not thorough and not spark and not browser"
START = 30.0  # seconds of CPU that a new Python may need to read the tests
FEW = 4  # files of tests that a change that needs a new Python is put to first
LONG = 120  # characters of a run's name
SURVIVED, EXPECTED = "survived", "equivalent"


def main(words: Sequence[str] | None = None) -> int:
    """Draw, try, tell."""
    arguments = _arguments(words)
    drawn = _draw_mutants(arguments)
    if not drawn:
        print("mutants: nothing can be changed there", file=sys.stderr)
        return 2
    floors = sorted({_floor(mutant) for mutant in drawn})
    if arguments.part:
        floors = [floor for floor in floors if floor in arguments.part.split(",")]
    session = Trials(drawn, arguments)
    folders = arguments.tests or [*(f"tests/{floor}" for floor in floors), "tests/conformance"]
    options = ["-q", "-s", "-p", "no:cacheprovider", "--no-header", "--no-summary", "-m", QUICK]
    # The reason for a red test is not used, and wording it took most of a trial.
    options += ["--tb=no", "--assert=plain"]
    try:
        if pytest.main([*options, *folders], plugins=[session]) == pytest.ExitCode.INTERNAL_ERROR:
            session.refused = session.refused or "an error of its own, above, ended it"
    except KeyboardInterrupt:
        session.stopped = True
    if session.stopped:
        print("\nmutants: stopped; --resume goes on from here", file=sys.stderr)
        return 130
    if session.refused:
        print(f"mutants: {session.refused}: no result is told", file=sys.stderr)
        return 2
    return session.report()


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="which sample is drawn (1)")
    parser.add_argument("--count", default="100", help="how many, or `all` (100)")
    parser.add_argument("--floor", choices=FLOORS, help="draw from this floor only")
    parser.add_argument(
        "--part",
        default="",
        help="try what is drawn from these floors now: clients,cluster,…; several may run side by side",
    )
    parser.add_argument(
        "--file",
        help="draw from the files whose path ends so, or of the folders: a.py,brokers/groups/,…",
    )
    parser.add_argument("--kind", help="draw changes of these kinds only: guard,operator,…")
    parser.add_argument("--line", metavar="FILE:LINE", help="every change of this line")
    parser.add_argument(
        "--resume", action="store_true", help="go on with a sample that was stopped"
    )
    parser.add_argument("--again", action="store_true", help="try its survivors again, too")
    parser.add_argument("--record", action="store_true", help=f"note the result in {RECORD.name}")
    parser.add_argument(
        "--seconds",
        type=float,
        default=math.inf,
        help="leave out tests that take more CPU time: what dies then dies all the more with them",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=math.inf,
        help="how much CPU time the tests of one change may take: what lives longer counts as survived",
    )
    parser.add_argument(
        "--tests",
        type=lambda text: text.split(","),
        metavar="FILE,…",
        help="put the changes to these test files only; that is a lower bound, too",
    )
    parser.add_argument("--processes", type=int, default=1, help="trials side by side (1)")
    found = parser.parse_args(words)
    if found.count != "all" and not found.count.isdigit():
        parser.error(f"--count {found.count}: a number or `all`")
    if found.line and not found.line.rpartition(":")[2].isdigit():
        parser.error(f"--line {found.line}: FILE:LINE, such as kipviz/properties/atomic.py:96")
    return found


def _draw_mutants(arguments: argparse.Namespace) -> list[Mutant]:
    floors = (arguments.floor,) if arguments.floor else FLOORS
    paths = [path for floor in floors for path in modules(floor)]
    if arguments.line:
        file, _, line = arguments.line.rpartition(":")
        there = [path for path in paths if path.as_posix().endswith(file)]
        return [m for path in there for m in mutants(path) if m.line == int(line)]
    if arguments.file:
        paths = [path for path in paths if _is_wished(path, arguments.file.split(","))]
    every = [mutant for path in paths for mutant in mutants(path)]
    if arguments.kind:
        every = [mutant for mutant in every if mutant.kind in arguments.kind.split(",")]
    if arguments.count == "all" or int(arguments.count) >= len(every):
        return every
    return random.Random(arguments.seed).sample(every, int(arguments.count))


def _is_wished(path: Path, wished: Sequence[str]) -> bool:
    """Tell whether a file ends in one of the names, or is in a folder, whose name has a slash behind it."""
    return any(
        f"/{name}" in path.as_posix() if name.endswith("/") else path.as_posix().endswith(name)
        for name in wished
    )


class Trials:
    """A plugin of pytest: the tests are collected once, and every trial is a forked child of that process."""

    def __init__(self, drawn: list[Mutant], arguments: argparse.Namespace) -> None:
        """Take the sample."""
        self._drawn = drawn
        self._arguments = arguments
        self.stopped = False
        self.refused = ""
        name = f"{arguments.floor or 'all'}-{(arguments.file or '').replace('/', '.')}"
        name += f"-{arguments.kind}" if arguments.kind else ""
        if len(name) > LONG:  # many files: a folder takes no name of any length
            name = f"{name[:LONG]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        self._kept = KEPT / f"run-{name}-{arguments.seed}-{arguments.count}.jsonl"
        if arguments.line:
            self._kept = KEPT / "run-line.jsonl"
        self._ended: dict[tuple[str, int], dict[str, Any]] = {}
        self._first: dict[tuple[str, int], str] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests, run the trials."""
        if session.testsfailed:
            self.refused = "the tests cannot be collected"
            raise session.Failed(self.refused)
        from hypothesis import Phase, settings  # not before pytest has seen to its assertions

        found = settings.get_profile("quick")
        settings.register_profile("mutants", found, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutants")  # a failing example is not made smaller
        functions = Functions()
        gc.collect()
        gc.freeze()  # a child that looks through what it has from its parent copies all of it
        touched = Touched(self._drawn, self._arguments.seconds)
        KEPT.mkdir(exist_ok=True)
        if not (self._arguments.resume or self._arguments.again or self._arguments.part):
            self._kept.unlink(missing_ok=True)
        self._read()
        try:
            for floor in FLOORS:
                if self._arguments.part and floor not in self._arguments.part.split(","):
                    continue
                self._try_floor(floor, session, touched, functions)
        except KeyboardInterrupt:
            self.stopped = True
        self._read()
        return True

    def _try_floor(
        self, floor: str, session: pytest.Session, touched: Touched, functions: Functions
    ) -> None:
        """Try what is left of a floor, after its tests and those of conformance have told what they see."""
        left = [m for m in self._drawn if (m.file, m.number) not in self._ended]
        left = [m for m in left if _floor(m) == floor]
        mine = [i for i in session.items if i.nodeid.split("/")[1] in (floor, "conformance")]
        if not left or not mine:
            return
        touched.record(
            mine, functions, _make_progress_line(f"recording what each test of {floor} sees")
        )
        red = [item.nodeid for item in mine if touched.is_red(item.nodeid)]
        if len(red) > len(mine) // 10:
            self.refused = f"{len(red)} of {len(mine)} tests of {floor} are red without any change"
            raise session.Failed(self.refused)
        out = touched.left_out()
        print(f"mutants: {out} tests are left out as too long", file=sys.stderr, flush=True)
        for name in red:
            print(f"mutants: red without any change, so left out: {name}", file=sys.stderr)
        count, most = max(1, self._arguments.processes), self._arguments.budget
        workers = [
            Worker(left[n::count], mine, touched, functions, self._kept, most) for n in range(count)
        ]
        workers[0].work_beside(workers[1:])

    def _read(self) -> None:
        """Read what is on file of this sample, as far as its files are as they were."""
        if not self._kept.exists():
            return
        drawn = {(m.file, m.number): asdict(m) for m in self._drawn}
        for line in self._kept.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            key = (row["file"], row["number"])
            if key not in drawn or _signature(drawn[key]) != _signature(row):
                continue
            self._first.setdefault(key, row["how"])
            again = self._arguments.again and row["how"] == SURVIVED
            if row["digest"] == digest(row["file"]) and not again:
                self._ended[key] = row | drawn[key]  # its line may be another one by now
        if self._arguments.again:
            self._arguments.again = False  # what survives from here on has been tried again

    def report(self) -> int:
        """Print the result, note it where that is wished, and say by the exit status whether all died."""
        rows = [
            self._ended[m.file, m.number] for m in self._drawn if (m.file, m.number) in self._ended
        ]
        known = _reasons()
        for row in rows:
            if row["how"] == SURVIVED and (reason := known.get(_signature(row))):
                row |= {"how": EXPECTED, "reason": reason}
        survivors = sorted(
            (row for row in rows if row["how"] in (SURVIVED, EXPECTED)),
            key=lambda row: (row["file"], row["line"], row["number"]),
        )
        print()
        for row in survivors:
            print(f"{row['how']}: {_words(row)}" + (f"  ({row['tests']} tests)"))
        print(_line(rows))
        for floor in sorted({row["file"].split("/")[1] for row in rows}):
            print(_line([r for r in rows if r["file"].split("/")[1] == floor], floor))
        if seconds := _seconds_of_a_trial(rows):
            print(f"{seconds} s of CPU time for a trial")
        if self._arguments.record:
            lived = sum(how == SURVIVED for how in self._first.values())
            _note(self._arguments, len(self._drawn), lived, rows, survivors)
        return int(any(row["how"] == SURVIVED for row in rows))


class Worker:
    """Tries one change after another and appends each result to the file."""

    def __init__(
        self,
        left: list[Mutant],
        items: list[pytest.Item],
        touched: Touched,
        functions: Functions,
        kept: Path,
        budget: float,
    ) -> None:
        """Take a share of the sample."""
        self._left = left
        self._items = items
        self._touched = touched
        self._functions = functions
        self._kept = kept
        self._budget = budget

    def work_beside(self, others: list[Worker]) -> None:
        """Work, while the others work in processes of their own."""
        started: list[int] = []
        for other in others:
            process = os.fork()
            if not process:
                try:
                    other.work()
                finally:
                    os._exit(0)
            started.append(process)
        try:
            self.work()
        finally:
            for process in started:
                os.waitpid(process, 0)  # ^C reaches them, too

    def work(self) -> None:
        """Try every change of this share."""
        for done, mutant in enumerate(self._left):
            began = _cpu_of_children()
            ended, tests, way = self._try_mutant(mutant)
            how = ended.how if ended.how != "green" else SURVIVED
            row = asdict(mutant) | {"digest": digest(mutant.file), "how": how}
            row |= {"killer": ended.killer, "tests": tests, "way": way}
            row |= {"seconds": round(_cpu_of_children() - began, 3)}
            with self._kept.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(row) + "\n")
            mark = "SURVIVED" if how == SURVIVED else how
            print(f"{done + 1}/{len(self._left)} {mark} {mutant} [{way}, {tests}]", flush=True)

    def _try_mutant(self, mutant: Mutant) -> tuple[Ended, int, str]:
        """Give how the trial ended, by how many tests at most, and which way was taken."""
        tests = self._touched.tests(mutant, self._items)
        seconds = self._touched.seconds()
        if not tests:
            return Ended("", "green"), 0, "unseen"
        if mutant.inside:
            parse_file(mutant.file)

        def work(say: Callable[[Any], None]) -> None:
            try:
                self._functions.put(mutant)
            except NotLive:
                say({"fresh": True})
                return
            run(tests, seconds, say, self._budget)

        child = Child(work)
        try:
            ended = child.wait()
        except KeyboardInterrupt:
            child.end()
            raise
        if not any("fresh" in each for each in ended.said):
            return ended, len(tests), "live"
        return _fresh(mutant, [i.nodeid for i in tests], seconds, self._budget), len(tests), "fresh"


def _floor(mutant: Mutant) -> str:
    return mutant.file.split("/")[1]


def _fresh(mutant: Mutant, tests: list[str], seconds: dict[str, float], budget: float) -> Ended:
    """Try a change in a new Python: the tests of the best few files first, since all of a file has to be read."""
    ranked = list(dict.fromkeys(test_file(name) for name in tests))
    ended, began = Ended("", "green"), _cpu_of_children()
    for first, last in ((0, FEW), (FEW, len(ranked))):
        files = set(ranked[first:last])
        mine = [name for name in tests if test_file(name) in files]
        left = budget - (_cpu_of_children() - began if first else 0.0)
        if not mine or left + START < 0:
            break
        ended = _in_new_python(mutant, mine, seconds, max(left, 1.0))
        if ended.how != "green":
            break
    return ended


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _in_new_python(
    mutant: Mutant, tests: list[str], seconds: dict[str, float], budget: float
) -> Ended:
    limit = int(60 + RATIO * sum(seconds[name] for name in tests))
    with tempfile.TemporaryDirectory() as folder:
        source, order = Path(folder) / "source.py", Path(folder) / "order"
        source.write_text(ast.unparse(change_tree(mutant)), encoding="utf-8")
        order.write_text("\n".join(tests), encoding="utf-8")
        words = [sys.executable, "-m", "tests.mutants.fresh", str(source), mutant.file, str(order)]
        words.append(str(budget))
        ended = subprocess.run(
            words,
            cwd=ROOT,
            check=False,
            capture_output=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        )
    if ended.returncode == 0:
        return Ended("", "green")
    if ended.returncode < 0:
        return Ended("?", "time")
    return Ended("?", "red")


def _make_progress_line(what: str) -> Callable[[int, int, str], None]:
    def tell(done: int, of: int, name: str) -> None:
        print(f"mutants: {what}: {done}/{of} {name}", file=sys.stderr, flush=True)

    return tell


def _signature(row: dict[str, Any]) -> tuple[str, ...]:
    """What names a change when lines have moved."""
    return tuple(str(row[name]) for name in ("file", "function", "kind", "before", "after"))


def _reasons() -> dict[tuple[str, ...], str]:
    rows = json.loads(EQUIVALENT.read_text(encoding="utf-8")) if EQUIVALENT.exists() else []
    return {_signature(row): row["reason"] for row in rows}


def _words(row: dict[str, Any]) -> str:
    return f"{row['file']}:{row['line']} {row['kind']}: {row['before']}  ->  {row['after']}"


def _line(rows: Iterable[dict[str, Any]], name: str = "all") -> str:
    count = Counter(row["how"] for row in rows)
    survived, equivalent = count.pop(SURVIVED, 0), count.pop(EXPECTED, 0)
    killed = sum(count.values())
    rate = 100 * killed / max(1, killed + survived)
    return (
        f"{name}: {killed + survived + equivalent} drawn, {killed} died, {survived} survived, "
        f"{equivalent} equivalent: {rate:.1f} %"
    )


def _seconds_of_a_trial(rows: Sequence[dict[str, Any]]) -> float | None:
    """Return the mean CPU time of the trials of which it is known, None where it is of none."""
    known = [row["seconds"] for row in rows if "seconds" in row]
    return round(sum(known) / len(known), 2) if known else None


def _note(
    arguments: argparse.Namespace,
    drawn: int,
    lived_at_first: int,
    rows: list[dict[str, Any]],
    survivors: list[dict[str, Any]],
) -> None:
    """Put the result in the place of the one that has the same settings.

    What survived at first says how good the tests were that knew nothing of this sample; tests that were written for its
    survivors are of the others.
    """
    settings_of: dict[str, Any] = {"floor": arguments.floor, "file": arguments.file}
    settings_of |= {"kind": arguments.kind, "seed": arguments.seed, "count": arguments.count}
    settings_of |= {"tests of at most, in seconds": _bound(arguments.seconds)}
    settings_of |= {"a change at most, in seconds": _bound(arguments.budget)}
    settings_of["test files"] = arguments.tests
    runs = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    runs = [r for r in runs if {name: r.get(name) for name in settings_of} != settings_of]
    died = [row for row in rows if row not in survivors]
    names = ("file", "line", "function", "kind", "before", "after", "reason")
    runs.append(
        {"commit": _commit(), "python": platform.python_version()}
        | settings_of
        | {
            "drawn": drawn,
            "tried": len(rows),
            "survived when first tried": lived_at_first,
            "died": len(died),
            "died by time": sum(row["how"] == "time" for row in died),
            "equivalent": sum(row["how"] == EXPECTED for row in survivors),
            "survived": sum(row["how"] == SURVIVED for row in survivors),
            "CPU time of a trial, in seconds": _seconds_of_a_trial(rows),
            "survivors": [{n: row[n] for n in names if n in row} for row in survivors],
        }
    )
    RECORD.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _bound(seconds: float) -> float | None:
    return seconds if seconds < math.inf else None


def _commit() -> str | None:
    """Give the commit that is checked out, None where there is no repository."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    asked = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    return asked.stdout.strip() or None


if __name__ == "__main__":
    sys.exit(main())
