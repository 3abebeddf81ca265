"""Seeded runs over scenarios x designs x fault profiles, on Spark, in a loop or in processes.

The three ways execute the same functions (``shipped``) and give equal tables, whatever the number of
partitions or processes: a run depends on nothing but its task. On one machine Spark is not faster than
processes; it is here for campaigns that outgrow the machine, and for what it can do with the rows.
"""

from __future__ import annotations

import itertools
import multiprocessing
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kipviz.spark.failures import CampaignFailed, explained
from kipviz.spark.plan import TASK_MODULE, Plan, make_plan
from kipviz.spark.progress import CancelSwitch, OnProgress, watched
from kipviz.spark.session import cores, session
from kipviz.spark.shipped import VERDICT_SCHEMA, as_batch, verdict_batches, verdict_row
from kipviz.spark.shipping import ship
from kipviz.spark.summary import SummaryRow, summarised, summary_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

WAYS = ("spark", "loop", "processes")
_TASKS_LEAST = 40
_RUNS_PER_TASK = 1_000
_TASKS_MAX = 2_000
_CHUNKS_LEAST = 40


class Campaign:
    """A campaign that can be run, watched and cancelled; a panel or a command drives it.

    Args:
        scenarios: one name or several.
        designs: one name or several.
        faults: fault profiles, one name or several.
        runs: seeds per combination.
        seed: the first seed; the others follow it.
        steps_max: where a run is cut.
        way: "spark", "loop" or "processes".
        spark: the session to use; None takes ``session()`` when the campaign runs.
        partitions: Spark tasks; None chooses, so that a progress bar moves smoothly.
        task_module: the module with ``Task`` and ``run``, imported by name where the work is done.

    Raises:
        ValueError: for a word that names nothing or a number that is none, in one sentence.
    """

    def __init__(
        self,
        scenarios: str | Iterable[str],
        designs: str | Iterable[str],
        faults: str | Iterable[str] = "calm",
        runs: int = 100,
        seed: int = 0,
        steps_max: int = 600,
        *,
        way: str = "spark",
        spark: SparkSession | None = None,
        partitions: int | None = None,
        task_module: str = TASK_MODULE,
    ) -> None:
        if way not in WAYS:
            raise ValueError(f"A campaign cannot run {way!r}: choose from {', '.join(WAYS)}.")
        self.plan = make_plan(scenarios, designs, faults, runs, seed, steps_max, task_module)
        self.way = way
        self.result: CampaignResult | None = None
        self._spark = spark
        self._partitions = partitions
        self._switch = CancelSwitch()

    def run(self, on_progress: OnProgress | None = None) -> CampaignResult:
        """Run all jobs and keep the result; ``on_progress`` gets runs done and runs there are.

        Raises:
            Cancelled: ``cancel`` was called meanwhile.
            CampaignFailed: a worker died or Spark failed; in one sentence.
            SparkUnavailable: there is no Spark to run on.
        """
        self._switch = switch = CancelSwitch()
        if self.way == "loop":
            table = in_a_loop(self.plan, on_progress, switch)
        elif self.way == "processes":
            table = in_processes(self.plan, 2, on_progress, switch)
        else:
            spark = self._spark or session()
            table = on_spark(spark, self.plan, self._partitions, on_progress, switch)
        self.result = CampaignResult(self.plan, table)
        return self.result

    def cancel(self) -> None:
        """Stop the run that is under way; any thread may call it, and it returns at once."""
        self._switch.cancel()

    def __repr__(self) -> str:
        return f"Campaign of {self.plan}"


@dataclass(frozen=True)
class CampaignResult:
    """One verdict per run, in the order of scenarios, designs, faults and seeds.

    ``table`` holds them as Arrow (``VERDICT_SCHEMA``); ``table.to_pandas()`` gives a data frame.
    """

    plan: Plan
    table: pa.Table

    @cached_property
    def verdicts(self) -> tuple[Any, ...]:
        """The rows as ``Verdict`` values, each with the task that opens it again."""
        verdict = import_module(self.plan.task_module).Verdict
        return tuple(
            verdict(task=self.plan.task(row.pop("job")), **_without_identity(row))
            for row in self.table.to_pylist()
        )

    def summary(self, by: str = "design") -> tuple[SummaryRow, ...]:
        """How many runs of each design (scenario, fault profile) hold, break what, or failed."""
        return summarised(self.table, by, self.plan)

    def jobs_with(self, *statuses: str) -> tuple[int, ...]:
        """The job numbers of the runs with one of these statuses, for ``write_events``."""
        rows = zip(self.table["job"].to_pylist(), self.table["status"].to_pylist(), strict=True)
        return tuple(job for job, status in rows if status in statuses)

    def first(self, design: str, broken: str = "") -> Any:
        """The first verdict of a design that broke a property (any, if none is named), to be opened.

        Raises:
            LookupError: no run of the design did.
        """
        for verdict in self.verdicts:
            breaks = verdict.status == "breaks" and broken in {"", verdict.broken}
            if breaks and verdict.task.design == design:
                return verdict
        raise LookupError(f"No run of {design} breaks {broken or 'a property'} in this campaign.")

    def __repr__(self) -> str:
        return f"Campaign of {self.plan}\n{summary_text(self.summary())}"


def verdict_frame(spark: SparkSession, plan: Plan, partitions: int | None = None) -> DataFrame:
    """The verdicts as a lazy DataFrame, to be written, joined or counted by Spark itself."""
    ship(spark)
    tasks = partitions or task_count(plan.jobs, cores(spark))
    places = spark.range(0, plan.jobs, 1, tasks)
    return places.mapInArrow(partial(verdict_batches, plan=plan), spark_schema(VERDICT_SCHEMA))


def on_spark(
    spark: SparkSession,
    plan: Plan,
    partitions: int | None = None,
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
) -> pa.Table:
    """Run the plan on Spark and bring the verdicts back as one table in job order."""
    check_partitions(partitions)
    try:
        frame = verdict_frame(spark, plan, partitions)
        table = watched(spark, frame.toArrow, in_runs(on_progress, plan.jobs), switch)
    except Exception as error:
        raise explained(error) from error
    if on_progress is not None:
        on_progress(plan.jobs, plan.jobs)  # a Connect server does not tell of the last tasks
    return _in_job_order(table)


def in_a_loop(
    plan: Plan, on_progress: OnProgress | None = None, switch: CancelSwitch | None = None
) -> pa.Table:
    """Run the plan here, one job after the other."""
    switch = switch or CancelSwitch()
    every = max(1, plan.jobs // 100)
    rows = []
    for job in range(plan.jobs):
        switch.raise_if_cancelled()
        rows.append(verdict_row(plan, job))
        if on_progress is not None and ((job + 1) % every == 0 or job + 1 == plan.jobs):
            on_progress(job + 1, plan.jobs)
    return pa.Table.from_batches([as_batch(rows, VERDICT_SCHEMA)])


def in_processes(
    plan: Plan,
    processes: int = 2,
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
) -> pa.Table:
    """Run the plan in fresh Python processes of this machine, without Spark."""
    switch = switch or CancelSwitch()
    chunks = _chunks(plan.jobs, max(_CHUNKS_LEAST, plan.jobs // _RUNS_PER_TASK))
    batches: list[pa.RecordBatch] = []
    context = multiprocessing.get_context("spawn")  # a fork would copy Spark's sockets and threads
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        waiting = {pool.submit(run_places, plan, first, last) for first, last in chunks}
        done_runs = 0
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                switch.raise_if_cancelled()
                for future in done:
                    batches += future.result()
                done_runs = sum(batch.num_rows for batch in batches)
                if done and on_progress is not None:
                    on_progress(done_runs, plan.jobs)
        except BrokenProcessPool as error:
            raise CampaignFailed(
                f"A worker process died after {done_runs} of {plan.jobs} runs: run the campaign in "
                "a loop to see which seed does it, or give the machine more memory."
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return _in_job_order(pa.Table.from_batches(batches, VERDICT_SCHEMA))


def run_places(plan: Plan, first: int, last: int) -> list[pa.RecordBatch]:
    """The verdicts of the places from ``first`` to before ``last``; runs in a worker process."""
    places = pa.record_batch([pa.array(range(first, last), pa.int64())], names=["id"])
    return list(verdict_batches([places], plan))


def task_count(jobs: int, cores_there: int) -> int:
    """How many Spark tasks: 40 or more, so a bar moves; about a thousand runs each beyond that."""
    wanted = max(_TASKS_LEAST, 4 * cores_there, -(-jobs // _RUNS_PER_TASK))
    return min(jobs, wanted, _TASKS_MAX)


def in_runs(on_progress: OnProgress | None, runs: int) -> OnProgress | None:
    """A listener for Spark's tasks that tells another one about runs."""
    if on_progress is None:
        return None

    def listener(done: int, known: int) -> None:
        on_progress(runs * done // known, runs)

    return listener


def spark_schema(schema: pa.Schema) -> str:
    """An Arrow schema in the words of Spark."""
    words = {
        pa.int64(): "bigint",
        pa.string(): "string",
        pa.binary(): "binary",
        pa.bool_(): "boolean",
        pa.list_(pa.binary()): "array<binary>",
    }
    return ", ".join(f"`{field.name}` {words[field.type]}" for field in schema)


def check_partitions(partitions: object) -> None:
    """Refuse a number of partitions that is none."""
    if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
        raise ValueError(f"partitions must be a whole number of at least 1, not {partitions!r}.")


def _chunks(jobs: int, wanted: int) -> list[tuple[int, int]]:
    count = min(jobs, wanted)
    edges = [jobs * k // count for k in range(count + 1)]
    return list(itertools.pairwise(edges))


def _in_job_order(table: pa.Table) -> pa.Table:
    """One chunk, sorted: equal whatever the number of partitions and the order they ended in."""
    return table.sort_by("job").combine_chunks().cast(VERDICT_SCHEMA)


def _without_identity(row: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k not in {"scenario", "design", "faults", "seed"}}
