"""A search past a million states: bench_million.py [depth] [one|two|spark|all].

In one process, sharded over two (see bench_spark_search.py) and on a Spark of two cores.

kip-1289-small-two, two members who want one record, with a lock that may run out and a transaction that may
time out: all states to a depth of 43, 1,182,395 (to 42 there are 998,683; the whole space is larger). All
ways have to count the same. Each prints its seconds on the wall and of the processor, in which Spark's JVM
and its workers are counted; on a busy machine believe the processor's. Last it says who is ahead: Spark or
the two processes. It takes ten minutes or more, and it is the only bench that does. Workers import the
package anew now and then: leave its files alone meanwhile.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from bench_campaign import processor_seconds
from bench_spark_search import Counts, in_two

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds, Explored
from kipviz.cluster.model import ClusterModel
from kipviz.designs.catalogue import design
from kipviz.properties.atomic import Atomic
from kipviz.scenarios.library import searched_scenario
from kipviz.spark.search import search
from kipviz.spark.sessions.session import session, stop

FAULTS = "expire_lock=1,time_out=1"
PROPERTIES = (Atomic(),)
ROOM = 20_000_000


def model() -> ClusterModel:
    return searched_scenario("kip-1289-small-two").model(design("repaired"), budget_of(FAULTS))


def told(states: int, depth: int) -> bool:
    if sys.stderr.isatty():
        print(f"\r{states:,} states, depth {depth}", end="", file=sys.stderr)
    return True


def bounds_of(depth: int) -> Bounds:
    return Bounds(states_max=ROOM, depth_max=depth)


def in_one(depth: int) -> Counts:
    return counts_of(Search(model(), PROPERTIES).run(bounds_of(depth), told), depth)


def on_spark(depth: int) -> Counts:
    spark = session("local[2]")
    found = search(model(), bounds_of(depth), told, properties=PROPERTIES, spark=spark)
    return counts_of(found, depth)


def counts_of(found: Explored, depth: int) -> Counts:
    if found.stopped != f"the bound of depth {depth}":
        print(f"  it stopped before that: {found.stopped or 'there is no more'}")
    return found.states, found.transitions


WAYS: dict[str, tuple[str, Callable[[int], Counts]]] = {
    "one": ("one process", in_one),
    "two": ("two processes", lambda depth: in_two(model(), bounds_of(depth))),
    "spark": ("Spark", on_spark),
}


def time_work(name: str, work: Callable[[int], Counts], depth: int) -> tuple[Counts, float, float]:
    """The counts, and the seconds on the wall and of the processor, printed."""
    start, busy = time.perf_counter(), processor_seconds()
    counts = work(depth)
    seconds, busy = time.perf_counter() - start, processor_seconds() - busy
    states, transitions = counts
    print(
        f"{name:<14}{states:>11,} states {transitions:>12,} transitions "
        f"{seconds:>8.0f} s {busy:>8.0f} s of processor {states / busy:>8,.0f} states/s of it",
        flush=True,
    )
    return counts, seconds, busy


def main(depth: int, ways: str) -> None:
    chosen = WAYS if ways == "all" else {ways: WAYS[ways]}
    took = {way: time_work(*named, depth) for way, named in chosen.items()}
    stop()
    counts = {each[0] for each in took.values()}
    if len(counts) > 1:
        raise SystemExit(f"the counts differ: {sorted(counts)}")
    if ways == "all":
        for at, what in ((1, "on the wall"), (2, "of the processor")):
            first = "Spark" if took["spark"][at] < took["two"][at] else "two processes"
            print(f"less time {what}: {first} ({took['two'][at] / took['spark'][at]:.2f})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 43, sys.argv[2] if len(sys.argv) > 2 else "all")
