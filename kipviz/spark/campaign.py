"""Seeded runs over scenarios x designs x fault profiles, on Spark, in a loop or in processes.

The three ways execute the same functions (``worker_runs``) and give equal tables, whatever the number of
partitions or processes: a run depends on nothing but its task. On one machine Spark is not faster than
processes; it is here for campaigns that outgrow the machine, and for what it can do with the rows.
"""

from __future__ import annotations

import itertools
import multiprocessing
import signal
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kipviz.campaigns.cancellation import CancelSwitch, OnProgress
from kipviz.campaigns.loop import made_in_a_loop
from kipviz.campaigns.plan import TASK_MODULE, Plan, make_plan
from kipviz.campaigns.result import CampaignResult
from kipviz.campaigns.verdict_rows import COLUMNS
from kipviz.spark.saved.saved_runs import KeptRuns
from kipviz.spark.sessions.cold_start import StartingSession, runs_while_starting
from kipviz.spark.sessions.failures import CampaignFailed, explain_error
from kipviz.spark.sessions.progress import watch_action
from kipviz.spark.sessions.session import cores
from kipviz.spark.workers.package_archive import ship
from kipviz.spark.workers.worker_memory import sparing
from kipviz.spark.workers.worker_runs import VERDICT_SCHEMA, as_batch, verdict_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

WAYS = ("spark", "loop", "processes")
_TASKS_LEAST = 40
_RUNS_PER_TASK = 1_000
_TASKS_MAX = 2_000
_CHUNKS_LEAST = 40
_PARTS_LEAST = 20
_ROWS_AT_ONCE = 10_000
# The number of process pools that are tried: a run that kills its worker each time fails.
WORKER_TRIES = 3


class Campaign:
    """A campaign that can be run, watched and cancelled; a panel or a command drives it.

    Args:
        scenarios: one name or several.
        designs: one name or several.
        faults: fault profiles, one name or several.
        runs: seeds per combination.
        seed: the first seed; the others follow it.
        steps_max: the maximum number of steps of a run.
        way: "spark", "loop" or "processes".
        spark: the session to use; None takes ``session(master)`` when the campaign runs, and makes runs here while it
            starts.
        master: Spark's master if no session is given; see ``session``.
        partitions: Spark tasks; None chooses, so that a progress bar moves smoothly.
        folder: the folder for finished parts; the same campaign with the same folder continues from them.
        task_module: the module with ``Task`` and ``run``, imported by name in each worker.

    Raises:
        ValueError: for an unknown name or an invalid number, in one sentence.
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
        folder: str | Path | None = None,
        task_module: str = TASK_MODULE,
        master: str | None = None,
    ) -> None:
        if way not in WAYS:
            raise ValueError(f"a campaign cannot run {way!r}: choose from {', '.join(WAYS)}")
        self.plan = make_plan(scenarios, designs, faults, runs, seed, steps_max, task_module)
        self.way = way
        self.result: ArrowResult | None = None
        self._spark = spark
        self._master = master
        self._partitions = partitions
        self._folder = folder
        self.damaged: tuple[str, ...] = ()
        self._switch = CancelSwitch()

    def run(self, on_progress: OnProgress | None = None) -> ArrowResult:
        """Run all jobs and keep the result; ``on_progress`` gets the runs done and the total.

        Raises:
            Cancelled: ``cancel`` was called meanwhile; the finished parts in a folder stay.
            OSError: the folder cannot be written.
            ValueError: the folder is that of another campaign.
            CampaignFailed: a worker died or Spark failed; in one sentence.
            SparkUnavailable: Spark is not available.
        """
        self._switch = switch = CancelSwitch()
        if self._folder is not None:
            table = self._in_parts(KeptRuns(self._folder, self.plan), on_progress, switch)
        elif self.way == "loop":
            table = in_a_loop(self.plan, on_progress, switch)
        elif self.way == "processes":
            table = in_processes(self.plan, 2, on_progress, switch)
        else:
            table = self._on_spark(on_progress, switch)
        self.result = ArrowResult(self.plan, table)
        return self.result

    def _on_spark(self, on_progress: OnProgress | None, switch: CancelSwitch) -> pa.Table:
        """Make all runs on Spark; if Spark has to start first, make the first ones in this process."""
        if self._spark is not None:
            return on_spark(self._spark, self.plan, self._partitions, on_progress, switch)
        starting = StartingSession(self._master)
        rows = runs_while_starting(self.plan, starting, on_progress, switch)
        jobs, made = self.plan.jobs, len(rows)
        here = pa.Table.from_batches([as_batch(rows, VERDICT_SCHEMA)])
        if made < jobs:
            further = _further(on_progress, made, jobs - made, jobs)
            rest = on_spark(
                starting.result(), self.plan, self._partitions, further, switch, (made, jobs)
            )
            here = pa.concat_tables([here, rest])
        elif starting.ready:
            starting.result()  # an error of Spark is reported even if Spark was not needed
        if on_progress is not None:
            on_progress(jobs, jobs)
        return _in_job_order(here)

    def _in_parts(
        self, kept: KeptRuns, on_progress: OnProgress | None, switch: CancelSwitch
    ) -> pa.Table:
        """Make the parts that the folder lacks, and keep each one as soon as it is complete."""
        parts = {place: kept.read(*place) for place in stretches(self.plan.jobs)}
        self.damaged = kept.damaged

        def keep(first: int, last: int, table: pa.Table) -> None:
            kept.keep(first, last, table)
            parts[first, last] = table
            if on_progress is not None:
                done = sum(one.num_rows for one in parts.values() if one is not None)
                on_progress(done, self.plan.jobs)

        missing = [place for place, table in parts.items() if table is None]
        if self.way == "processes":
            _in_pools(self.plan, missing, 2, keep, switch)
        elif self.way == "loop":
            for first, last in missing:
                switch.raise_if_cancelled()
                batches = run_places(self.plan, first, last)
                keep(first, last, pa.Table.from_batches(batches, VERDICT_SCHEMA))
        else:
            self._parts_on_spark(missing, keep, on_progress, switch)
        return _in_job_order(pa.concat_tables([one for one in parts.values() if one is not None]))

    def _parts_on_spark(
        self,
        missing: list[tuple[int, int]],
        keep: Callable[[int, int, pa.Table], None],
        on_progress: OnProgress | None,
        switch: CancelSwitch,
    ) -> None:
        """Make the missing parts, several of them in one Spark job: a cluster has more cores than a part has tasks."""
        if not missing:
            return
        # In a thread, because Spark handles ^C itself if the main thread starts it.
        spark = self._spark or StartingSession(self._master).result()
        made = self.plan.jobs - sum(last - first for first, last in missing)
        for several in together(missing, 2 * cores(spark)):
            switch.raise_if_cancelled()
            first, last = several[0][0], several[-1][1]
            here = _further(on_progress, made, last - first, self.plan.jobs)
            table = on_spark(spark, self.plan, self._partitions, here, switch, (first, last))
            for part in several:
                jobs = pa.array([self.plan.job_at(place) for place in range(*part)], pa.int64())
                keep(*part, table.filter(pc.is_in(table["job"], jobs)))
            made += last - first

    def cancel(self) -> None:
        """Stop the current run; any thread may call it, and it returns at once."""
        self._switch.cancel()

    def __repr__(self) -> str:
        return f"Campaign of {self.plan}"


class ArrowResult(CampaignResult):
    """The verdicts as Arrow: ``table`` (``VERDICT_SCHEMA``); ``table.to_pandas()`` gives a data frame."""

    def __init__(self, plan: Plan, table: pa.Table) -> None:
        self.plan = plan
        self.table = table

    def rows(self, *columns: str) -> list[dict[str, Any]]:
        """The verdicts as flat rows with these columns, or with all."""
        return list(self.each_row(*columns))

    def each_row(self, *columns: str) -> Iterator[dict[str, Any]]:
        """The same rows one after the other, so that a million of them need not be in memory at once."""
        for batch in self.table.select(columns or COLUMNS).to_batches(max_chunksize=_ROWS_AT_ONCE):
            yield from batch.to_pylist()

    def rows_except(self, *statuses: str) -> list[dict[str, Any]]:
        """The rows whose status is none of these."""
        named = pc.is_in(self.table["status"], pa.array(statuses, pa.string()))
        return ArrowResult(self.plan, self.table.filter(pc.invert(named))).rows()


def verdict_frame(
    spark: SparkSession,
    plan: Plan,
    partitions: int | None = None,
    places: tuple[int, int] | None = None,
) -> DataFrame:
    """The verdicts as a lazy DataFrame, to be written, joined or counted by Spark itself."""
    ship(spark)
    first, last = places or (0, plan.jobs)
    tasks = partitions or task_count(last - first, cores(spark))
    frame = spark.range(first, last, 1, tasks)
    body = partial(sparing, verdict_batches, plan=plan)
    return frame.mapInArrow(body, spark_schema(VERDICT_SCHEMA))


def on_spark(
    spark: SparkSession,
    plan: Plan,
    partitions: int | None = None,
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
    places: tuple[int, int] | None = None,
) -> pa.Table:
    """Run the plan on Spark, or the places from one to before another, and return the verdicts in job order."""
    check_partitions(partitions)
    try:
        frame = verdict_frame(spark, plan, partitions, places)
        first, last = places or (0, plan.jobs)
        table = watch_action(spark, frame.toArrow, in_runs(on_progress, last - first), switch)
    except Exception as error:
        raise explain_error(error) from error
    if on_progress is not None:
        on_progress(last - first, last - first)  # a Connect server does not report the last tasks
    return _in_job_order(table)


def in_a_loop(
    plan: Plan, on_progress: OnProgress | None = None, switch: CancelSwitch | None = None
) -> pa.Table:
    """Run the plan in this process, one job after the other."""
    rows = made_in_a_loop(plan, on_progress, switch)
    return pa.Table.from_batches([as_batch(rows, VERDICT_SCHEMA)])


def in_processes(
    plan: Plan,
    processes: int = 2,
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
) -> pa.Table:
    """Run the plan in fresh Python processes of this machine, without Spark."""
    chunks = _chunks(plan.jobs, max(_CHUNKS_LEAST, plan.jobs // _RUNS_PER_TASK))
    tables: list[pa.Table] = []

    def take(_first: int, _last: int, table: pa.Table) -> None:
        tables.append(table)
        if on_progress is not None:
            on_progress(sum(one.num_rows for one in tables), plan.jobs)

    _in_pools(plan, chunks, processes, take, switch or CancelSwitch())
    return _in_job_order(pa.concat_tables(tables))


def _in_pools(
    plan: Plan,
    chunks: list[tuple[int, int]],
    processes: int,
    take: Callable[[int, int, pa.Table], None],
    switch: CancelSwitch,
) -> None:
    """Make stretches in worker processes; if one dies, its unfinished stretches are made again."""
    missing = dict.fromkeys(chunks)
    for tries_left in range(WORKER_TRIES - 1, -1, -1):
        try:
            _in_one_pool(plan, missing, processes, take, switch)
        except BrokenProcessPool as error:
            if tries_left:
                continue
            lacking = sum(last - first for first, last in missing)
            raise CampaignFailed(
                f"a worker process died {WORKER_TRIES} times, and {lacking} of {plan.jobs} runs are not "
                "made: run the campaign in a loop to see which seed does it, or give the machine more "
                "memory"
            ) from error
        else:
            return


def _in_one_pool(
    plan: Plan,
    missing: dict[tuple[int, int], None],
    processes: int,
    take: Callable[[int, int, pa.Table], None],
    switch: CancelSwitch,
) -> None:
    """Make stretches until all are made or a process dies; a finished stretch is removed from `missing`."""
    context = multiprocessing.get_context("spawn")  # a fork would copy Spark's sockets and threads
    # ^C reaches every process of a terminal: only the one that started the campaign handles it.
    ignoring = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(processes, context, signal.signal, ignoring) as pool:
        stretch_of = {pool.submit(run_places, plan, *chunk): chunk for chunk in missing}
        waiting = set(stretch_of)
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                switch.raise_if_cancelled()
                broken: BrokenProcessPool | None = None
                for future in done:
                    try:
                        batches = future.result()
                    except BrokenProcessPool as error:
                        broken = error
                        continue
                    take(*stretch_of[future], pa.Table.from_batches(batches, VERDICT_SCHEMA))
                    del missing[stretch_of[future]]
                if broken is not None:
                    raise broken
        except BaseException:
            # A cancelled campaign does not wait for stretches that have not started.
            for worker in tuple((pool._processes or {}).values()):  # noqa: SLF001 - public from 3.14 on
                worker.terminate()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def stretches(jobs: int) -> list[tuple[int, int]]:
    """The parts in which a campaign is kept: twenty or more, and at most a thousand runs each."""
    return _chunks(jobs, max(_PARTS_LEAST, -(-jobs // _RUNS_PER_TASK)))


def together(parts: list[tuple[int, int]], most: int) -> Iterator[list[tuple[int, int]]]:
    """Yield groups of consecutive parts, at most so many in each."""
    several: list[tuple[int, int]] = []
    for part in parts:
        if several and (len(several) == most or several[-1][1] != part[0]):
            yield several
            several = []
        several.append(part)
    if several:
        yield several


def run_places(plan: Plan, first: int, last: int) -> list[pa.RecordBatch]:
    """The verdicts of the places from ``first`` to before ``last``; runs in a worker process."""
    places = pa.record_batch([pa.array(range(first, last), pa.int64())], names=["id"])
    return list(verdict_batches([places], plan))


def task_count(jobs: int, cores_there: int) -> int:
    """How many Spark tasks: 40 or more, so a bar moves; about a thousand runs each beyond that."""
    wanted = max(_TASKS_LEAST, 4 * cores_there, -(-jobs // _RUNS_PER_TASK))
    return min(jobs, wanted, _TASKS_MAX)


def in_runs(on_progress: OnProgress | None, runs: int) -> OnProgress | None:
    """A listener for Spark's tasks that reports runs to another listener."""
    if on_progress is None:
        return None

    def listener(done: int, known: int) -> None:
        on_progress(runs * done // known, runs)

    return listener


def _further(on_progress: OnProgress | None, made: int, runs: int, jobs: int) -> OnProgress | None:
    """A listener for one job of several that reports all runs to another listener."""
    if on_progress is None:
        return None

    def listener(done: int, known: int) -> None:
        if done < known == runs:
            on_progress(made + done, jobs)  # the last ones count when they are kept

    return listener


def spark_schema(schema: pa.Schema) -> str:
    """An Arrow schema as Spark writes it."""
    words = {
        pa.int16(): "smallint",
        pa.int32(): "int",
        pa.int64(): "bigint",
        pa.string(): "string",
        pa.binary(): "binary",
        pa.bool_(): "boolean",
        pa.list_(pa.binary()): "array<binary>",
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])): (
            "array<struct<key: string, value: binary>>"
        ),
    }
    return ", ".join(f"`{field.name}` {words[field.type]}" for field in schema)


def check_partitions(partitions: object) -> None:
    """Reject an invalid number of partitions."""
    if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
        raise ValueError(f"partitions must be a whole number of at least 1, not {partitions!r}")


def _chunks(jobs: int, wanted: int) -> list[tuple[int, int]]:
    count = min(jobs, wanted)
    edges = [jobs * k // count for k in range(count + 1)]
    return list(itertools.pairwise(edges))


def _in_job_order(table: pa.Table) -> pa.Table:
    """One chunk, sorted: equal for every number of partitions and every order in which they end."""
    return table.sort_by("job").combine_chunks().cast(VERDICT_SCHEMA)
