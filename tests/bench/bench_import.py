"""How long `import kipviz` takes, beside a Python that imports nothing: medians of eleven each."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 11


def seconds(code: str) -> float:
    """Give the wall seconds of one Python process that runs a line of code."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def main() -> None:
    """Run both in turn, so that a machine that slows down slows both."""
    lines = {"nothing": "pass", "import kipviz": "import kipviz"}
    lines["and open a story"] = "import kipviz; kipviz.open('kip-1289-share-commit')"
    times: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(RUNS):
        for name, code in lines.items():
            times[name].append(seconds(code))
    bare = statistics.median(times["nothing"])
    for name in lines:
        median = statistics.median(times[name])
        print(f"{name:18} {median:6.3f} s  ({median - bare:+.3f} s over a bare Python)")


if __name__ == "__main__":
    main()
