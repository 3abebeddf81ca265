"""The same story is the same bytes, in this process and in another with another hash seed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kipviz.checking import runs
from kipviz.scenarios.library import LIBRARY
from tests.determinism.telling import write

ROOT = Path(__file__).parents[2]
NAMES = [f"{story.name}-{under}" for story in LIBRARY for under in story.designs[:1]]
EXPECTED = set(NAMES)


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
        for path in sorted(folder.iterdir())
    }


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stories, written by this process."""
    folder = tmp_path_factory.mktemp("here")
    assert set(write(folder)) == EXPECTED
    return folder


@pytest.mark.parametrize(("first", "hash_seed"), [(0, "0"), (1, "4242")])
def test_another_process_with_another_hash_seed_writes_the_same_bytes(
    here: Path, tmp_path: Path, first: int, hash_seed: str
) -> None:
    """Two processes tell every second story each, so that each story is told by one of them."""
    program = ROOT / "tests/determinism/telling.py"
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path), str(first)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
    )
    names = NAMES[first::2]
    assert done.stdout.split() == names
    told = {f"{name}.{kind}" for name in names for kind in ("trace", "json")}
    assert digests(tmp_path) == {file: mark for file, mark in digests(here).items() if file in told}


def test_every_story_has_a_trace_file_and_a_payload_of_its_own(here: Path) -> None:
    found = digests(here)
    assert set(found) == {f"{name}.{kind}" for name in EXPECTED for kind in ("trace", "json")}
    assert len(set(found.values())) == len(found)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_trace_file_is_replayed_without_a_change_and_saved_as_the_same_bytes(
    here: Path, tmp_path: Path, name: str
) -> None:
    run = runs.load(here / f"{name}.trace")
    assert run.changes == ()
    runs.save(run, tmp_path / "again.trace")
    assert (tmp_path / "again.trace").read_bytes() == (here / f"{name}.trace").read_bytes()
