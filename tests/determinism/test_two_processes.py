"""The same story is the same bytes, in this process and in another with another hash seed.

One group of stories, every twelfth of them, is among the tests; the others are among the thorough ones.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kipviz.checking.single_run import runs
from tests.determinism.run_text import GROUPS, group, write

ROOT = Path(__file__).parents[2]
HASH_SEEDS = ("4242", "0", "1", "random")


class Told(NamedTuple):
    """A group of stories that this process has written into a folder."""

    number: int
    folder: Path
    names: list[str]


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
        for path in sorted(folder.iterdir())
    }


@pytest.fixture(
    scope="module",
    params=[0, *(pytest.param(n, marks=pytest.mark.thorough) for n in range(1, GROUPS))],
)
def here(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A group of stories, written by this process."""
    folder = tmp_path_factory.mktemp("here")
    return Told(request.param, folder, write(folder, group(request.param)))


def test_another_process_with_another_hash_seed_writes_the_same_bytes(
    here: Told, tmp_path: Path
) -> None:
    program = ROOT / "tests/determinism/run_text.py"
    seed = HASH_SEEDS[here.number % len(HASH_SEEDS)]
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path), str(here.number)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.split() == here.names
    assert digests(tmp_path) == digests(here.folder)


def test_every_story_has_a_trace_file_and_a_payload_of_its_own(here: Told) -> None:
    found = digests(here.folder)
    assert len(here.names) > 20
    assert set(found) == {f"{name}.{kind}" for name in here.names for kind in ("trace", "json")}
    assert len(set(found.values())) == len(found)


def test_trace_files_are_replayed_without_a_change_and_saved_as_the_same_bytes(
    here: Told, tmp_path: Path
) -> None:
    for name in here.names:
        run = runs.load(here.folder / f"{name}.trace")
        assert run.changes == (), name
        runs.save(run, tmp_path / "again.trace")
        again = (tmp_path / "again.trace").read_bytes()
        assert again == (here.folder / f"{name}.trace").read_bytes(), name
