"""`make soak`: serve a cluster to many clients while random faults happen, for as long as one likes.

    make soak ARGS="--seconds 3600 --seed 7"
    make soak ARGS="--seconds 86400 --record"

It says how far it is every minute. The exit status is 0 if nothing was wrong, 1 if something was (the seed is printed and
the run is saved in .soak), and 130 after ^C, which prints what was done until then.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from kipviz import __version__
from tests.soaking.soak import CHECK_EVERY_S, Soak, Summary

RECORD = Path(__file__).parent / "record.json"


def say(words: str) -> None:
    """Print a line now."""
    print(words, flush=True)


def record(summary: Summary, commit: str, path: Path = RECORD) -> None:
    """Append a run to the record."""
    runs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    about = {
        "kipviz": __version__,
        "commit": commit,
        "python": platform.python_version(),
        "made": f"{datetime.now(tz=UTC):%Y-%m-%d}",
    }
    runs.append(about | asdict(summary))
    path.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Soak as the arguments say."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", type=int, default=1, help="how many of each real client")
    parser.add_argument("--check-every", type=float, default=CHECK_EVERY_S, metavar="S")
    parser.add_argument(
        "--pace", type=float, default=0.0, metavar="S", help="each client rests up to S seconds"
    )
    parser.add_argument("--into", type=Path, default=Path(".soak"), help="for what is kept")
    parser.add_argument("--summary", type=Path, help="write the summary into this file as JSON")
    parser.add_argument("--record", action="store_true", help="append the run to record.json")
    parser.add_argument("--commit", default="", help="the commit that the record names")
    given = parser.parse_args()
    made = Soak(
        given.seed,
        given.into,
        say,
        real=given.real,
        check_every_s=given.check_every,
        pace_s=given.pace,
    )
    # Like ^C, so that a soak in the background ends with its summary, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    summary = made.run(given.seconds)
    say(summary.line())
    if given.summary is not None:
        given.summary.write_text(json.dumps(asdict(summary), indent=1) + "\n", encoding="utf-8")
    if given.record:
        record(summary, given.commit)
    return 1 if summary.failure else 130 if made.interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
