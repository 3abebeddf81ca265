"""What a step costs in a large cluster: run `python tests/bench/bench_scale.py [--short]`.

Six brokers, 50 partitions of each internal topic, 20 producers and 20 share consumers in 20
applications on four source partitions, 100,000 source records; beside it the small cluster of
bench_model.py, run by the same dice. Every step is an action drawn from all that is enabled, and
every world is kept in a trace. It prints the cost of a delivered message and the bytes of a step in
each, and the ratio; the aim is at most 1.5 and 2 kB. A cluster keeps the internal partitions that something
hashes to; the last column has a leader for each of the 150. Processor time is taken, so that other work
on the machine counts little.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial

from kipviz.checking.faults import CALM
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.core.scheduler import Scheduler
from kipviz.core.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import MessageDelivered
from kipviz.records.placement import INTERNAL_TOPICS
from kipviz.scenarios.programs import SHARE_LOOP

SHORT = "--short" in sys.argv
RECORDS = 100_000
STEPS = 3_000 if SHORT else 20_000
WARM = 500 if SHORT else 2_000
BROKERS = (1, 2, 3, 4, 5, 6)
IDS = (("src", "AAAAAAAAAAAAAAAAAAAAAg"), ("output-A", "AAAAAAAAAAAAAAAAAAAAAw"))


def model_of(
    applications: int,
    partitions: int,
    brokers: tuple[int, ...],
    records: int,
    *,
    every: bool = False,
) -> ClusterModel:
    """Applications that share partitions of one topic and write to as many of another."""
    placements = [
        Placement(f"{topic}-{p}", brokers[p % len(brokers)], (brokers[(p + 1) % len(brokers)],))
        for topic in ("src", "output-A")
        for p in range(partitions)
    ]
    placements += [
        Placement(f"{topic}-{p}", brokers[p % len(brokers)], (brokers[(p + 1) % len(brokers)],))
        for topic in INTERNAL_TOPICS
        for p in range(50 if every else 0)
    ]
    apps = tuple(
        ApplicationSpec(
            f"app-{n}",
            f"txn-{n}",
            SHARE_LOOP,
            "g1",
            f"M{n}",
            True,
            f"src-{n % partitions}",
            f"output-A-{n % partitions}",
            2,
        )
        for n in range(1, applications + 1)
    )
    each = tuple(f"r{i}" for i in range(records // partitions))
    source = tuple((f"src-{p}", 0, each) for p in range(partitions))
    spec = ClusterSpec(brokers, tuple(placements), apps, source, IDS)
    repaired = design("repaired")
    return ClusterModel(spec, repaired.broker_rules(), repaired.client_rules())


def walked(trace: Trace, dice: Scheduler, steps: int, first: int) -> tuple[Trace, float]:
    """Take steps; give the seconds of the model and the trace, without those of the dice."""
    model, seconds = trace.model, 0.0
    for step in range(first, first + steps):
        begun = time.process_time()
        enabled = model.enabled(trace.world)
        seconds += time.process_time() - begun
        chosen = dice.choose(step, enabled, model.kind)
        begun = time.process_time()
        trace = trace.take(chosen)
        seconds += time.process_time() - begun
    return trace, seconds


def cost(model: ClusterModel) -> tuple[float, float, float]:
    """Microseconds of a step and of a delivered message, and bytes of a step."""
    dice = Scheduler(7, CALM.profile)
    trace, _ = walked(Trace.start(model), dice, WARM, 1)
    trace, seconds = walked(trace, dice, STEPS, WARM + 1)
    messages = sum(
        isinstance(event, MessageDelivered)
        for node in trace.line[WARM + 1 :]
        for event in trace.node(node).events
    )
    tracemalloc.start()
    kept, _ = walked(trace, dice, STEPS // 4, WARM + STEPS + 1)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(kept) > len(trace)
    return seconds / STEPS * 1e6, seconds / messages * 1e6, used / (STEPS // 4)


def best(work: Callable[[], tuple[float, float, float]]) -> tuple[float, float, float]:
    """The cheapest of two runs."""
    return min(work() for _ in range(2))


def main() -> None:
    gc.disable()
    models = {
        "small": model_of(1, 1, (1, 2, 3, 4), 5_000),
        "large": model_of(20, 4, BROKERS, RECORDS),
        "all 150": model_of(20, 4, BROKERS, RECORDS, every=True),
    }
    costs = {name: best(partial(cost, model)) for name, model in models.items()}
    print(f"{'':<40}" + "".join(f"{name:>12}{'':>8}" for name in costs))
    words = ("microseconds of a step", "microseconds of a delivered message", "bytes of a step")
    for at, name in enumerate(words):
        cells = (f"{c[at]:>12,.1f}{c[at] / costs['small'][at]:>7.2f}x" for c in costs.values())
        print(f"{name:<40}" + "".join(cells))


if __name__ == "__main__":
    main()
