"""A campaign on Spark against a pool of two processes: python tests/bench/bench_campaign.py [runs].

Prints the cold time from nothing to the first verdict and to the table, and the same tasks a second, warm, in both ways, taken
in turns because other work on the machine comes and goes. The ratio that counts is pool over Spark:
1.0 means Spark costs nothing, the target is 0.95. On a busy machine believe the ratio of processor
seconds (on Linux), which counts this program and its children alone, the JVM among them.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from kipviz.campaigns.plan import Plan, make_plan
from kipviz.spark.campaign import Campaign, in_a_loop, on_spark, run_places
from kipviz.spark.session import session, stop

ROUNDS = 3
CHUNKS = 40
TARGET = 0.95


def the_plan(runs: int) -> Plan:
    """Share groups under three designs, calm and rough."""
    designs = ("repaired", "finding-I", "as-written")
    return make_plan("kip-1289-share-commit", designs, ("calm", "rough"), runs, steps_max=200)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall, and of the processors for this program and its children."""
    start, busy = time.perf_counter(), processor_seconds()
    work()
    return time.perf_counter() - start, processor_seconds() - busy


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


def main(runs: int) -> None:
    """Print the cold time, a few rounds and their median ratios."""
    plan = the_plan(runs)
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
    on_spark(spark, few)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert in_pool(pool, few).equals(in_a_loop(few))
        rounds = [one_round(plan, pool, spark) for _ in range(ROUNDS)]
    wall, busy = (statistics.median(ratios) for ratios in zip(*rounds, strict=True))
    print(f"cold start: {cold / plain:.1f} times the loop over the same {few.jobs} runs")
    print(f"Spark over pool of two: {wall:.2f}, by processor {busy:.2f} (median; target {TARGET})")
    stop()


def one_round(plan: Plan, pool: ProcessPoolExecutor, spark: SparkSession) -> tuple[float, float]:
    """The plan once in the pool and once on Spark: the ratios of wall and processor seconds."""
    on_pool = seconds(lambda: in_pool(pool, plan))
    on_sparks = seconds(lambda: on_spark(spark, plan))
    ratios = (on_pool[0] / on_sparks[0], on_pool[1] / max(on_sparks[1], 0.01))
    print(
        f"pool {plan.jobs / on_pool[0]:,.0f} runs/s ({on_pool[1]:.1f} s of processor), Spark "
        f"{plan.jobs / on_sparks[0]:,.0f} runs/s ({on_sparks[1]:.1f} s): ratio {ratios[0]:.2f}, "
        f"by processor {ratios[1]:.2f}"
    )
    return ratios


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
