"""The same search is the same bytes, in this process and in others with other hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.determinism.searching import search_all

ROOT = Path(__file__).parents[2]


def test_searches_in_processes_with_other_hash_seeds_come_to_the_same(tmp_path: Path) -> None:
    here = search_all(tmp_path)
    for hash_seed in ("0", "4242"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.determinism.searching", str(tmp_path)],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines() == here
