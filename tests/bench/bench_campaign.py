"""A campaign on Spark against a pool of two processes: python tests/bench/bench_campaign.py [seeds] [rounds].

Prints the cold time from nothing to the first verdict and to the table, and then the same runs a second in both ways. A plan
has six runs for each seed. Both ways get new worker processes for each round, in which the same few runs are made
first; then the same plan is timed, in turns, because other work on the machine comes and goes. What is timed on Spark is
what a reader calls, with a listener for its progress. The ratio that counts is pool over Spark: 1.0 means Spark costs
nothing, the target is 0.95. On a busy machine believe the ratio of processor seconds (on Linux), which counts this
program and its children alone, the JVM among them.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from kipviz.campaigns.plan import Plan, make_plan
from kipviz.spark.campaign import Campaign, in_a_loop, on_spark, run_places
from kipviz.spark.sessions.session import session, stop

ROUNDS = 3
CHUNKS = 40
TARGET = 0.95


def the_plan(runs: int) -> Plan:
    """Share groups under three designs, calm and rough."""
    designs = ("repaired", "finding-I", "as-written")
    return make_plan("kip-1289-share-commit", designs, ("calm", "rough"), runs, steps_max=200)


class Busy(NamedTuple):
    """Processor seconds of this process, of Spark's JVM and of the Python workers."""

    driver: float
    jvm: float
    workers: float

    @property
    def all(self) -> float:
        """All of it."""
        return sum(self)

    def __str__(self) -> str:
        """Render it as a line of the bench has it."""
        return f"{self.all:.1f} s of processor, {self.workers:.1f} of them workers', {self.jvm:.1f} the JVM's"


def seconds(work: Callable[[], object]) -> tuple[float, Busy]:
    """Seconds on the wall, and of the processors for this program and its descendants that are there at the end."""
    start, before = time.perf_counter(), family()
    work()
    took, after = time.perf_counter() - start, family()
    # By process: what an idle worker has used that ends meanwhile must not be subtracted.
    busy = {who: used - before.get(who, 0.0) for who, used in after.items()}
    jvm = sum(used for (_, _, name), used in busy.items() if name == "java")
    here = sum(used for (pid, _, _), used in busy.items() if pid == os.getpid())
    return took, Busy(here, jvm, sum(busy.values()) - here - jvm)


def family() -> dict[tuple[int, int, str], float]:
    """Processor seconds of this process and of each that descends from it, by id, start and name; none where there is no /proc."""
    used, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            before, _, after = stat.read_text().rpartition(")")
        except OSError:
            continue  # it has just ended
        fields = after.split()
        who = int(stat.parent.name), int(fields[19]), before.partition("(")[2]
        parents[who] = int(fields[1])
        used[who] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    found = {who for who in used if who[0] == os.getpid()}
    while more := {who for who, pid in parents.items() if pid in {f[0] for f in found}} - found:
        found |= more
    return {who: used[who] for who in sorted(found)}


def processor_seconds() -> float:
    """What this process and all that descend from it have used; 0 where there is no /proc."""
    used, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        pid = int(stat.parent.name)
        parents[pid] = int(fields[1])
        used[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    family = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        if not more:
            return sum(used.get(pid, 0.0) for pid in family)
        family |= more


def in_pool(pool: ProcessPoolExecutor, plan: Plan) -> pa.Table:
    """The same places in the same chunks, in processes that run already."""
    edges = [plan.jobs * k // CHUNKS for k in range(CHUNKS + 1)]
    parts = pool.map(run_places, [plan] * CHUNKS, edges[:-1], edges[1:])
    return pa.Table.from_batches([batch for part in parts for batch in part]).sort_by("job")


def main(seeds: int, rounds: int) -> None:
    """Print the cold time, a few rounds and their median ratios."""
    plan = the_plan(seeds)
    print(plan)
    few = the_plan(10)
    first: list[float] = []
    begun = time.perf_counter()
    words = (few.scenarios, few.designs, few.faults, few.runs, few.seed, few.steps_max)
    cold, _ = seconds(
        lambda: Campaign(*words).run(lambda *_: first.append(time.perf_counter() - begun))
    )
    print(
        f"cold: {first[0]:.1f} s to the first verdict, {cold:.1f} s to the table of {few.jobs} runs"
    )
    spark = session()
    print(f"Spark is there after {time.perf_counter() - begun:.1f} s")
    plain, _ = seconds(lambda: in_a_loop(few))
    print(f"cold start: {cold / plain:.1f} times the loop over the same {few.jobs} runs")
    expected = in_a_loop(few)
    ratios = [one_round(at, plan, few, expected, spark) for at in range(rounds)]
    wall, busy = (statistics.median(each) for each in zip(*ratios, strict=True))
    print(f"Spark over pool of two: {wall:.2f}, by processor {busy:.2f} (median; target {TARGET})")
    stop()


def one_round(
    at: int, plan: Plan, few: Plan, expected: pa.Table, spark: SparkSession
) -> tuple[float, float]:
    """The plan once in a pool and once on Spark, each in new processes that have made a few runs: the ratios of wall and processor."""
    ways = [
        lambda: pool_round(plan, few, expected),
        lambda: spark_round(at, plan, few, expected, spark),
    ]
    # The second one may find a quieter machine, so they change places.
    took = [way() for way in (ways if at % 2 == 0 else ways[::-1])]
    on_pool, on_sparks = took if at % 2 == 0 else took[::-1]
    ratios = (on_pool[0] / on_sparks[0], on_pool[1].all / max(on_sparks[1].all, 0.01))
    print(
        f"pool {plan.jobs / on_pool[0]:,.0f} runs/s ({on_pool[1]}), Spark {plan.jobs / on_sparks[0]:,.0f} runs/s "
        f"({on_sparks[1]}): ratio {ratios[0]:.2f}, by processor {ratios[1]:.2f}",
        flush=True,
    )
    return ratios


def pool_round(plan: Plan, few: Plan, expected: pa.Table) -> tuple[float, Busy]:
    """Seconds for the plan in a new pool that has made a few runs."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert in_pool(pool, few).equals(expected)
        return seconds(lambda: in_pool(pool, plan))


def spark_round(
    at: int, plan: Plan, few: Plan, expected: pa.Table, spark: SparkSession
) -> tuple[float, Busy]:
    """Seconds for the plan in new workers of Spark that have made a few runs."""
    # Workers belong to an environment: with another one Spark starts others.
    spark.sparkContext.environment["KIPVIZ_BENCH_ROUND"] = str(at)
    assert on_spark(spark, few).equals(expected)
    return seconds(lambda: on_spark(spark, plan, on_progress=lambda *_: None))


if __name__ == "__main__":
    asked = [int(word) for word in sys.argv[1:3]]
    main(asked[0] if asked else 334, asked[1] if len(asked) > 1 else ROUNDS)
