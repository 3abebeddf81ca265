"""What a history of a large cluster keeps of a step; times are for the bench, they vary."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from pathlib import Path

from kipviz.checking.judging.faults import CALM
from kipviz.cluster.actions import Deliver, Step
from kipviz.core.scheduler import Scheduler
from kipviz.core.traces.trace import Trace
from tests.bench.bench_scale import BROKERS, RECORDS, model_of, walk

ROOT = Path(__file__).parents[2]
MOST = 2_000
STEPS = 1_500


def what_is_kept() -> float:
    """Return how many bytes a step adds to a history that is already long."""
    model, dice = model_of(20, 4, BROKERS, RECORDS), Scheduler(7, CALM.profile)
    trace, _ = walk(Trace.start(model), dice, 1_000, 1)
    gc.collect()  # also empties the interpreter's lists of free objects, which would hide what is kept
    tracemalloc.start()
    kept, _ = walk(trace, dice, STEPS, trace.depth + 1)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept.depth == 1_000 + STEPS
    return used / STEPS


def test_a_step_of_twenty_producers_and_twenty_share_consumers_keeps_at_most_2_kb() -> None:
    # In an interpreter of its own: what other tests have left in caches would be counted, or replaced, here.
    words = [sys.executable, "-c", f"from {__name__} import what_is_kept; print(what_is_kept())"]
    run = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert 0 < float(run.stdout) <= MOST


def test_what_happens_again_and_again_is_one_object() -> None:
    """A run keeps every action; arrivals and lines of a program are most of them."""
    model, dice = model_of(1, 1, BROKERS, 100), Scheduler(7, CALM.profile)
    trace, _ = walk(Trace.start(model), dice, 300, 1)
    taken = [trace.node(node).action for node in trace.line[1:]]
    often = [action for action in taken if isinstance(action, Deliver | Step)]
    assert len({id(action) for action in often}) == len(set(often)) < len(often) / 4
    idle = [c for c in trace.world.connections.values() if c == type(c)()]
    assert len({id(connection) for connection in idle}) == 1 < len(idle)
