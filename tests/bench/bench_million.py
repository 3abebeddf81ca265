"""A search past a million states, in one process and on Spark: bench_million.py [depth] [one|spark|both].

kip-1289-small-two, two members who want one record, with a lock that may run out and a transaction that
may time out: all states to a depth of 42, some 1.0 million (the whole space is larger). Both ways have to
count the same. Each prints its seconds on the wall and of the processor, in which Spark's JVM and its
workers are counted; on a busy machine believe the processor's. It takes ten minutes or more, and it
is the only bench that does. Workers import the package anew now and then: leave its files alone meanwhile.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from bench_campaign import processor_seconds

from kipviz.checking.budgets import budget_of
from kipviz.checking.explore import Search
from kipviz.checking.found import Bounds, Explored
from kipviz.cluster.model import ClusterModel
from kipviz.designs.catalogue import design
from kipviz.properties.atomic import Atomic
from kipviz.scenarios.library import scenario
from kipviz.spark.search import search
from kipviz.spark.session import session, stop

FAULTS = "expire_lock=1,time_out=1"
PROPERTIES = (Atomic(),)
ROOM = 20_000_000


def model() -> ClusterModel:
    return scenario("kip-1289-small-two").model(design("repaired"), budget_of(FAULTS))


def told(states: int, depth: int) -> bool:
    if sys.stderr.isatty():
        print(f"\r{states:,} states, depth {depth}", end="", file=sys.stderr)
    return True


def in_one(depth: int) -> Explored:
    return Search(model(), PROPERTIES).run(Bounds(states_max=ROOM, depth_max=depth), told)


def on_spark(depth: int) -> Explored:
    bounds = Bounds(states_max=ROOM, depth_max=depth)
    return search(model(), bounds, told, properties=PROPERTIES, spark=session("local[2]"))


def timed(name: str, work: Callable[[int], Explored], depth: int) -> tuple[int, int]:
    start, busy = time.perf_counter(), processor_seconds()
    found = work(depth)
    seconds, busy = time.perf_counter() - start, processor_seconds() - busy
    print(
        f"{name:<14}{found.states:>11,} states {found.transitions:>12,} transitions "
        f"{seconds:>8.0f} s {busy:>8.0f} s of processor {found.states / busy:>8,.0f} states/s of it",
        flush=True,
    )
    if found.stopped != f"the bound of depth {depth}":
        print(f"  it stopped before that: {found.stopped or 'there is no more'}")
    return found.states, found.transitions


def main(depth: int, ways: str) -> None:
    counts = set()
    if ways in ("one", "both"):
        counts.add(timed("one process", in_one, depth))
    if ways in ("spark", "both"):
        counts.add(timed("Spark", on_spark, depth))
        stop()
    if len(counts) > 1:
        raise SystemExit(f"the counts differ: {sorted(counts)}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 42, sys.argv[2] if len(sys.argv) > 2 else "both"
    )
