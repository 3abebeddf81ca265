"""A target for traces that another tool found: what TLC prints and dumps, what Quint and kipviz write in ITF."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

from kipviz.checking.single_run import runs
from kipviz.checking.tla.itf import itf_of
from kipviz.checking.tla.trace_replay import load
from kipviz.core.traces.tracefile import TraceFileError
from tests.fuzz.fuzzing import Target
from tests.fuzz.mutation import as_json, of_bytes, of_json

SMALL = "kip-1289-small"
NAMES = ("Step_app_1", "Send_app_1_producer", "Deliver_app_1_producer_1_request")


@cache
def _documents() -> tuple[bytes, ...]:
    """A run in ITF, the same steps as Quint and TLC name them."""
    run = runs.play(SMALL)
    short = run.at(run.trace.jump(run.trace.line[3]))
    whole = json.loads(itf_of(short))
    whole["states"] = whole["states"][:4]
    states = [{"mbt::actionTaken": "init"}, *({"mbt::actionTaken": name} for name in NAMES)]
    states[2] = {
        "mbt::actionTaken": "Send",
        "mbt::nondetPicks": {"source": {"tag": "Some", "value": "app-1/producer"}},
    }
    numbered = [[n, {"at": n}] for n in range(1, 5)]
    dumped = {
        "state": numbered,
        "action": [[numbered[n], {"name": name}, numbered[n + 1]] for n, name in enumerate(NAMES)],
    }
    return (as_json(whole), as_json({"vars": [], "states": states}), as_json(dumped))


def _text(dice: random.Random) -> bytes:
    lines = ["State 1: <Initial predicate>"]
    lines += [
        f"State {n}: <{name} line 1, col 3 to line 2, col 5 of module m>"
        for n, name in enumerate(NAMES, 2)
    ]
    return of_bytes(["\n/\\ at = 1\n".join(lines).encode()], dice)


def _trace(dice: random.Random) -> bytes:
    if not dice.randrange(3):
        return _text(dice)
    data = dice.choice(_documents())
    if not dice.randrange(4):
        return of_bytes([data], dice)
    document = json.loads(data)
    for _ in range(dice.choice((1, 1, 2))):
        document = of_json(document, dice)
    return as_json(document)


def _read(data: bytes, folder: Path) -> object:
    place = folder / "found.json"
    place.write_bytes(data)
    return load(place, scenario=SMALL)


TARGETS = (
    Target("foreign", "another tool's trace", _trace, _read, (TraceFileError, ValueError), 60),
)
