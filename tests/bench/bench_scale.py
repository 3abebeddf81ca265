"""What a step costs in a large cluster: run `python tests/bench/bench_scale.py [--short]`.

Six brokers, 50 partitions of each internal topic, 20 producers and 20 share consumers in 20
applications on four source partitions, 100,000 source records; beside it the small cluster of
bench_model.py, run by the same dice. Every step is an action drawn from all that is enabled, and
every world is kept in a trace. It prints the cost of a delivered message and the bytes of a step in
each, and the ratio; the aim is at most 1.5 and 2 kB. A cluster keeps the internal partitions that something
hashes to; the last column has a leader for each of the 150. Processor time is taken, the clusters take turns
within one process, and the median of the turns counts, so that other work on the machine changes little.
Beside each figure stands what it was before parts lost their dict and tall tables shared their keys.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from statistics import median

from kipviz.checking.judging.faults import CALM
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.abstraction import SMALL
from kipviz.cluster.specs.spec import ApplicationSpec, ClusterSpec, Placement
from kipviz.core.scheduler import Scheduler
from kipviz.core.traces.trace import Trace
from kipviz.designs.catalogue import design
from kipviz.messages.events import MessageDelivered
from kipviz.records.placement import INTERNAL_TOPICS
from kipviz.scenarios.applications.programs import SHARE_LOOP

SHORT = "--short" in sys.argv
RECORDS = 100_000
WARM = 500 if SHORT else 2_000
TURNS = 7
STEPS = 500 if SHORT else 3_000
KEPT = 1_000 if SHORT else 5_000
WORDS = ("microseconds of a step", "microseconds of a delivered message", "bytes of a step")
# Small, large and all 150, on the machine on which they were taken: ratios and bytes carry over, times do not.
EARLIER = {
    "microseconds of a step": (62.8, 83.3, 88.0),
    "microseconds of a delivered message": (100.4, 135.0, 141.7),
    "bytes of a step": (1_599, 1_980, 2_043),
}
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
        SMALL.of_application(
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
        )
        for n in range(1, applications + 1)
    )
    each = tuple(f"r{i}" for i in range(records // partitions))
    source = tuple((f"src-{p}", 0, each) for p in range(partitions))
    spec = SMALL.of_brokers(ClusterSpec(brokers, tuple(placements), apps, source, IDS))
    repaired = design("repaired")
    return repaired.model(spec)


def walk(trace: Trace, dice: Scheduler, steps: int, first: int) -> tuple[Trace, float]:
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


class Course:
    """One cluster on its way, with its dice."""

    def __init__(self, model: ClusterModel) -> None:
        self.dice = Scheduler(7, CALM.profile)
        self.trace, _ = walk(Trace.start(model), self.dice, WARM, 1)

    def turn(self) -> tuple[float, float]:
        """Go on for a while; give the microseconds of a step and of a delivered message."""
        first = self.trace.depth + 1
        self.trace, seconds = walk(self.trace, self.dice, STEPS, first)
        messages = sum(
            isinstance(event, MessageDelivered)
            for node in self.trace.line[first:]
            for event in self.trace.node(node).events
        )
        return seconds / STEPS * 1e6, seconds / messages * 1e6

    def measure_kept(self) -> float:
        """Go on, and give the bytes that are kept of a step."""
        gc.collect()  # also empties the interpreter's lists of free objects, which would hide what is kept
        tracemalloc.start()
        kept, _ = walk(self.trace, self.dice, KEPT, self.trace.depth + 1)
        gc.collect()
        used = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(kept) > len(self.trace)
        return used / KEPT


def main() -> None:
    gc.disable()
    models = {
        "small": model_of(1, 1, (1, 2, 3, 4), 5_000),
        "large": model_of(20, 4, BROKERS, RECORDS),
        "all 150": model_of(20, 4, BROKERS, RECORDS, every=True),
    }
    courses = {name: Course(model) for name, model in models.items()}
    turns = [[course.turn() for course in courses.values()] for _ in range(TURNS)]
    figures = [[median(turn[c][f] for turn in turns) for c in range(len(courses))] for f in (0, 1)]
    figures.append([course.measure_kept() for course in courses.values()])
    print(f"{'':<40}" + "".join(f"{name:>12}{'':>8}" for name in courses))
    for word, found in zip(WORDS, figures, strict=True):
        for told, row in ((word, found), ("  before", EARLIER[word])):
            cells = (f"{cell:>12,.1f}{cell / row[0]:>7.2f}x" for cell in row)
            print(f"{told:<40}" + "".join(cells))


if __name__ == "__main__":
    main()
