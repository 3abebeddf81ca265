"""Targets that read what a campaign left in a folder: the digests of an event log, and kept parts."""

from __future__ import annotations

import json
import random
from base64 import b64decode, b64encode
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from kipviz.campaigns.plan import Plan, make_plan
from kipviz.spark.campaign import run_places
from kipviz.spark.saved.log_digests import LIST, what_is_damaged, write_digests
from kipviz.spark.saved.saved_runs import KeptRuns
from kipviz.spark.sessions.failures import CampaignFailed
from tests.fuzz.fuzzing import Target
from tests.fuzz.mutation import ODD, as_json, of_bytes, of_json

PARTS = {
    "part-00000.parquet": b"PAR1" + bytes(range(256)) + b"PAR1",
    "part-00001.parquet": b"PAR1PAR1",
}
RUNS = 2


# -- an event log ------------------------------------------------------------------------------------


@cache
def _list() -> bytes:
    """Give the list of digests of a log of two files."""
    with TemporaryDirectory() as place:
        folder = _write_files(Path(place), PARTS)
        write_digests(folder)
        return (folder / LIST).read_bytes()


def _write_files(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def _event_log(dice: random.Random) -> bytes:
    """Change the list or one of the files, or take one away."""
    files = {LIST: _list(), **PARTS}
    name = dice.choice(sorted(files))
    match dice.randrange(4):
        case 0 if name == LIST:
            files[name] = as_json(of_json(json.loads(files[name]), dice))
        case 1:
            files[dice.choice(("part-9", ".hidden", "_other", "a b", *ODD_NAMES))] = files.pop(name)
        case 2 if name != LIST:
            del files[name]
        case _:
            files[name] = of_bytes([files[name]], dice)
    return as_json({each: b64encode(data).decode() for each, data in files.items()})


ODD_NAMES = tuple(
    word
    for word in ODD
    if isinstance(word, str) and word.isprintable() and "/" not in word and 0 < len(word) < 100
)


def _read_event_log(data: bytes, folder: Path) -> object:
    """Ask for damage: a log whose files are not those that were written never counts as whole."""
    files = {
        name: b64decode(text) for name, text in json.loads(data).items() if name not in (".", "..")
    }
    said = what_is_damaged(_write_files(folder, files))
    seen = {name: each for name, each in files.items() if not name.startswith(("_", "."))}
    if files.get(LIST) == _list():
        assert (said == "") == (seen == PARTS), said
    assert "\n" not in said
    return said


# -- kept parts of a campaign --------------------------------------------------------------------------


@cache
def _plan() -> Plan:
    return make_plan("kip-890-small", ("kafka",), "calm", RUNS)


@cache
def _part() -> tuple[str, bytes]:
    with TemporaryDirectory() as place:
        KeptRuns(place, _plan()).keep(0, RUNS, pa.Table.from_batches(run_places(_plan(), 0, RUNS)))
        (file,) = Path(place).glob("*.verdicts")
        return file.name, file.read_bytes()


def _kept_part(dice: random.Random) -> bytes:
    return of_bytes([_part()[1]], dice)


def _read_kept_part(data: bytes, folder: Path) -> object:
    """Read a damaged part: it is the one that was kept, or none, and then it is said to be damaged."""
    kept = KeptRuns(folder, _plan())
    name, whole = _part()
    (folder / name).write_bytes(data)
    found = kept.read(0, RUNS)
    assert (found is not None) == (data == whole)
    assert kept.damaged == (() if data == whole else (name,))
    return found


TARGETS = (
    Target("event-logs", "the folder of an event log", _event_log, _read_event_log, (), 300),
    Target(
        "kept-parts",
        "a part of a campaign that was kept",
        _kept_part,
        _read_kept_part,
        (CampaignFailed, ValueError),
        150,
    ),
)
