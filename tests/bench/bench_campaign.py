"""A campaign on Spark against a pool of two processes: python tests/bench/bench_campaign.py [runs].

Prints the cold time from nothing to the table, and the same tasks a second, warm, in both ways, taken
in turns because other work on the machine comes and goes. The ratio that counts is pool over Spark:
1.0 means Spark costs nothing, the target is 0.9.
"""

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pyarrow as pa

from kipviz.spark.campaign import in_a_loop, on_spark, run_places
from kipviz.spark.plan import Plan, make_plan
from kipviz.spark.session import session, stop

ROUNDS = 3
CHUNKS = 40
TARGET = 0.9


def the_plan(runs: int) -> Plan:
    """Share groups under three designs, calm and rough."""
    designs = ("repaired", "finding-I", "as-written")
    return make_plan("kip-1289-share-commit", designs, ("calm", "rough"), runs, steps_max=200)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_pool(pool: ProcessPoolExecutor, plan: Plan) -> pa.Table:
    """The same places in the same chunks, in processes that run already."""
    edges = [plan.jobs * k // CHUNKS for k in range(CHUNKS + 1)]
    parts = pool.map(run_places, [plan] * CHUNKS, edges[:-1], edges[1:])
    return pa.Table.from_batches([batch for part in parts for batch in part]).sort_by("job")


def main(runs: int) -> None:
    plan = the_plan(runs)
    print(plan)
    few = the_plan(10)
    cold = seconds(lambda: on_spark(session("local[2]"), few))
    plain = seconds(lambda: in_a_loop(few))
    print(
        f"cold: {cold:.1f} s from no session to the table of {few.jobs} runs, {plain:.1f} s in a loop"
    )
    spark = session()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert in_pool(pool, few).equals(in_a_loop(few))
        ratios = []
        for number in range(1, ROUNDS + 1):
            on_pool = seconds(lambda: in_pool(pool, plan))
            on_sparks = seconds(lambda: on_spark(spark, plan))
            ratios.append(on_pool / on_sparks)
            print(
                f"round {number}: pool {plan.jobs / on_pool:,.0f} runs/s, Spark "
                f"{plan.jobs / on_sparks:,.0f} runs/s, ratio {ratios[-1]:.2f}"
            )
    print(f"cold start: {cold / plain:.1f} times the loop over the same {few.jobs} runs")
    print(f"Spark over pool of two: {statistics.median(ratios):.2f} (median; target {TARGET})")
    stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
