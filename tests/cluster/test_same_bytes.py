"""The same seed gives the same bytes in every process, whatever Python's hash seed is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RUN = """
import sys
import msgspec
from tests.cluster.small_clusters import EVERYTHING, model_of, small_spec, steps_of

name, flow = sys.argv[1:]
spec = small_spec(flow, replication="stepwise", budget=EVERYTHING, applications=2)
model = model_of(spec, name)
encode = msgspec.json.Encoder().encode
for seed in range(2):
    for world, action, outcome in steps_of(model, seed, 150):
        for part in (model.enabled(world), action, outcome.events):
            sys.stdout.buffer.write(encode(part) + b"\\n")
        sys.stdout.buffer.write(model.search_key(outcome.world).hex().encode() + b"\\n")
"""


def write_run(hash_seed: str, name: str, flow: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", RUN, name, flow],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize(
    ("name", "flow"), [("repaired", "share"), ("as-written", "share-abort"), ("repaired", "group")]
)
def test_a_hostile_run_is_byte_for_byte_the_same_under_two_hash_seeds(name, flow):
    one, other = write_run("1", name, flow), write_run("20261121", name, flow)
    assert one == other
    assert one.count(b"\n") > 800
