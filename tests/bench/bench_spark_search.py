"""The search on Spark against one sharded over two processes: bench_spark_search.py [most states].

The same spaces at growing sizes in one process, in two that each own half of the keys and hand each
other the states of the other half level by level, and on a warm Spark of two cores. Properties about
"for ever" are left out, so it is the search alone that is measured. Ends with the size at which
Spark is first ahead of the two processes, or says that there is none up to the largest one. On a
busy machine believe the processor seconds (on Linux), in which Spark's JVM is counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from bench_campaign import processor_seconds

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.cluster.model import ClusterModel
from kipviz.designs.catalogue import design
from kipviz.properties.atomic import Atomic
from kipviz.scenarios.library import searched_scenario
from kipviz.spark.search import search
from kipviz.spark.sessions.session import session, stop
from kipviz.spark.workers.state_bytes import Packing

# How many states there are is told by tests/checking/counts.py; roughly these.
SPACES = (
    (3_046, "expire_lock=1"),
    (8_622, "time_out=1"),
    (38_421, "crash_client=1"),
    (78_123, "move_leader=1"),
    (222_164, "crash_broker=1"),
    (1_000_000, "crash_broker=1,crash_client=1"),
)
ROOM = Bounds(states_max=20_000_000)
PROPERTIES = (Atomic(),)
Counts = tuple[int, int]


def model_of(faults: str) -> ClusterModel:
    return searched_scenario("kip-1289-small").model(design("repaired"), budget_of(faults))


def in_one(faults: str) -> Counts:
    found = Search(model_of(faults), PROPERTIES).run(ROOM)
    return found.states, found.transitions


def in_two(model: ClusterModel, bounds: Bounds) -> Counts:
    """Two processes, each of which owns the keys of one parity."""
    context = get_context("spawn")
    one, other = context.Pipe()
    answers = [context.Pipe(duplex=False) for _ in range(2)]
    workers = [
        context.Process(target=half, args=(model, bounds.depth_max, me, wire, answers[me][1]))
        for me, wire in enumerate((one, other))
    ]
    for worker in workers:
        worker.start()
    for end in (one, other, answers[0][1], answers[1][1]):
        end.close()  # so that a process that dies is noticed
    counts = [answer.recv() for answer, _ in answers]
    for worker in workers:
        worker.join()
    return sum(c[0] for c in counts), sum(c[1] for c in counts)


def half(
    model: ClusterModel, depth_max: int, me: int, wire: Connection, answer: Connection
) -> None:
    """The part of one process: expand what is mine, hand over what is not, level by level."""
    mine = Search(model, PROPERTIES)
    _, world, states, _ = mine.queue[0]
    first = mine.key(world, states)
    seen: set[bytes] = set()
    level: dict[bytes, tuple[Any, Any]] = {}
    if first[0] % 2 == me:
        seen.add(first)
        level[first] = (world, states)
    parts: dict[bytes, bytes] = {}
    transitions, depth, going = 0, 0, True
    while going and depth < depth_max:
        packing = Packing(parts)
        following: dict[bytes, tuple[Any, Any]] = {}
        others: dict[bytes, tuple[Any, Any]] = {}
        for world, states in level.values():
            for _, _, after, observed in mine.successors(world, states):
                transitions += 1
                key = mine.key(after, observed)
                if key[0] % 2 != me:
                    others[key] = (after, observed)
                elif key not in seen:
                    seen.add(key)
                    following[key] = (after, observed)
        sent = [(key, packing.pack(*state)) for key, state in others.items()]
        theirs, received = exchange(wire, me, (packing.fresh, sent))
        parts |= packing.fresh | theirs
        for key, data in received:
            if key not in seen:
                seen.add(key)
                following[key] = packing.unpack(data)
        level, depth = following, depth + 1
        going = any((bool(level), exchange(wire, me, bool(level))))
    answer.send((len(seen), transitions))


def exchange(wire: Connection, me: int, mine: Any) -> Any:
    """Give and take; the first one speaks first, because a pipe holds little."""
    if me == 0:
        wire.send(mine)
        return wire.recv()
    theirs = wire.recv()
    wire.send(mine)
    return theirs


def on_spark(faults: str) -> Counts:
    found = search(model_of(faults), ROOM, properties=PROPERTIES, spark=session("local[2]"))
    return found.states, found.transitions


def time_work(name: str, work: Callable[[str], Counts], faults: str) -> tuple[Counts, float]:
    """The counts and the seconds on the wall, printed with the processor's."""
    start, busy = time.perf_counter(), processor_seconds()
    counts = work(faults)
    seconds, busy = time.perf_counter() - start, processor_seconds() - busy
    rate = counts[0] / seconds
    print(f"  {name:<14}{seconds:>9.1f} s {busy:>9.1f} s of processor {rate:>9,.0f} states/s")
    return counts, seconds


def main(most: int) -> None:
    on_spark("")
    crossover, largest = 0, 0
    for size, faults in SPACES:
        if size > most:
            break
        print(f"kip-1289-small, repaired, {faults}")
        ways = (
            ("one process", in_one),
            ("two processes", lambda faults: in_two(model_of(faults), ROOM)),
            ("Spark", on_spark),
        )
        results = [time_work(name, work, faults) for name, work in ways]
        if len({counts for counts, _ in results}) > 1:
            raise SystemExit(f"the counts differ: {[counts for counts, _ in results]}")
        largest, transitions = results[0][0]
        print(f"  equal counts: {largest:,} states, {transitions:,} transitions")
        if not crossover and results[2][1] < results[1][1]:
            crossover = largest
    stop()
    if crossover:
        print(f"crossover: Spark is ahead of two processes from {crossover:,} states on")
    else:
        print(f"crossover: none up to {largest:,} states; two processes are ahead throughout")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30_000)
