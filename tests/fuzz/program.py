"""`make fuzz`: hold mutated inputs against every target for as long as one likes.

    make fuzz ARGS="--seconds 600 --target wire --seed 5"
    make fuzz ARGS="--target wire --replay .fuzz/wire-5-1234"

Each failing input is kept in a file, once for every kind of failure, with the command that replays it.
The exit status is 0 if nothing failed, 1 if something did, 2 for bad arguments and 130 after ^C.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from kipviz import __version__
from tests.fuzz.fuzzing import MEMORY_MAX, Failure, Target, bounded_memory, failures, judge
from tests.fuzz.targets import TARGETS

SAY_EVERY = 2.0


class Told:
    """What has been found so far, and the files it is kept in."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.inputs: Counter[str] = Counter()
        self.failed: Counter[tuple[str, str]] = Counter()
        self._folder, self._seed = folder, seed
        self._said_at = time.monotonic()

    def see(self, target: Target, number: int, failure: Failure | None, data: bytes) -> None:
        """Take over one input, keep it if it failed in a new way, and say now and then how far it is."""
        self.inputs[target.name] += 1
        if failure is not None:
            key = (target.name, failure.kind)
            if key not in self.failed:
                self._keep(target, number, failure, data)
            self.failed[key] += 1
        if time.monotonic() - self._said_at >= SAY_EVERY:
            self._said_at = time.monotonic()
            print(
                f"{target.name}: {self.inputs[target.name]:,} inputs", file=sys.stderr, flush=True
            )

    def _keep(self, target: Target, number: int, failure: Failure, data: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{target.name}-{self._seed}-{number}"
        path.write_bytes(data)
        told = (
            failure.told.strip().splitlines()[-1][:300].encode("ascii", "backslashreplace").decode()
        )
        print(f"{target.name}, input {number}: {failure.kind}: {told}")
        print(f'    make fuzz ARGS="--target {target.name} --replay {path}"', flush=True)

    def lines(self) -> Iterator[str]:
        """Say how many inputs there were, and how many failed in which way."""
        for name, count in self.inputs.items():
            failed = sum(n for (target, _), n in self.failed.items() if target == name)
            yield f"{name:<10} {count:>9,} inputs, {failed:,} failed"

    def document(self) -> dict[str, object]:
        """Give the record of a run, as it is kept in the repository."""
        return {
            "kipviz": __version__,
            "python": platform.python_version(),
            "seed": self._seed,
            "made": f"{datetime.now(tz=UTC):%Y-%m-%d}",
            "inputs": dict(self.inputs),
            "failed": {f"{target}: {kind}": n for (target, kind), n in self.failed.items()},
        }


def main() -> int:
    """Run the targets that were asked for."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--target", choices=tuple(TARGETS), action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="of each target; 10 if nothing else is said")
    parser.add_argument("--inputs", type=int, help="of each target, instead of a time")
    parser.add_argument("--from-input", type=int, default=0, help="the number of the first input")
    parser.add_argument(
        "--into", type=Path, default=Path(".fuzz"), help="a folder for failing inputs"
    )
    parser.add_argument("--record", type=Path, help="write the counts into this file as JSON")
    parser.add_argument("--replay", type=Path, help="read one kept input again")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [TARGETS[name] for name in arguments.target or TARGETS]
    if arguments.replay is not None:
        return _replay(parser, chosen, arguments.replay)
    told = Told(arguments.into, arguments.seed)
    try:
        for target in chosen:
            _run(target, told, arguments)
    except KeyboardInterrupt:
        print("\n".join(told.lines()))
        return 130
    print("\n".join(told.lines()))
    if arguments.record is not None:
        arguments.record.write_text(json.dumps(told.document(), indent=1) + "\n", encoding="utf-8")
    return int(bool(told.failed))


def _run(target: Target, told: Told, arguments: argparse.Namespace) -> None:
    seconds = arguments.seconds or (None if arguments.inputs else 10.0)
    until = None if seconds is None else time.monotonic() + seconds
    numbers: Iterator[int] = itertools.count(arguments.from_input)
    if arguments.inputs is not None:
        numbers = itertools.islice(numbers, arguments.inputs)
    for number, failure, data in failures(target, arguments.seed, numbers):
        told.see(target, number, failure, data)
        if until is not None and time.monotonic() >= until:
            return


def _replay(parser: argparse.ArgumentParser, chosen: list[Target], path: Path) -> int:
    if len(chosen) != 1:
        parser.error("--replay takes the --target whose input it is")
    with bounded_memory(MEMORY_MAX):
        failure = judge(chosen[0], path.read_bytes())
    print("a value, or an error of our own" if failure is None else failure.told)
    return int(failure is not None)


if __name__ == "__main__":
    sys.exit(main())
