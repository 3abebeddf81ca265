"""Write the steps of a campaign's runs as an event log in Parquet, completely or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kipviz.campaigns.cancellation import CancelSwitch, OnProgress
from kipviz.spark.campaign import in_runs, spark_schema, task_count
from kipviz.spark.saved.log_digests import write_digests
from kipviz.spark.sessions.failures import explain_error
from kipviz.spark.sessions.progress import watch_action
from kipviz.spark.sessions.session import cores, is_local
from kipviz.spark.workers.package_archive import ship
from kipviz.spark.workers.worker_runs import EVENT_SCHEMA, event_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kipviz.campaigns.plan import Plan


def event_frame(
    spark: SparkSession,
    plan: Plan,
    jobs: Sequence[int] | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """The events of all runs, or of some jobs, as a lazy DataFrame.

    Each run is executed again for it: until then its seed stands for its log.
    """
    ship(spark)
    chosen = None if jobs is None else _checked_jobs(plan, jobs)
    count = plan.jobs if chosen is None else len(chosen)
    places = spark.range(0, count, 1, partitions or max(1, task_count(count, cores(spark))))
    body = partial(event_batches, plan=plan, jobs=chosen)
    return places.mapInArrow(body, spark_schema(EVENT_SCHEMA))


def write_events(
    spark: SparkSession,
    plan: Plan,
    path: str | Path,
    jobs: Sequence[int] | None = None,
    partitions: int | None = None,
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
) -> None:
    """Write the events of a campaign to a new Parquet folder.

    On this machine Spark writes to a hidden folder beside the target, which is renamed to the target when everything is
    there. Elsewhere the path belongs to the cluster and Spark's own committer makes the files appear together, with
    ``_SUCCESS`` last.

    Args:
        spark: the session.
        plan: the campaign.
        path: the new folder of the log; it must not exist.
        jobs: only these job numbers, for instance ``result.jobs_with("breaks", "error")``.
        partitions: how many files.
        on_progress: gets the runs done and the total.
        switch: cancels the writing when it is turned.

    Raises:
        FileExistsError: there is something at the path.
        Cancelled: the switch was turned; nothing is left at the path.
        CampaignFailed: a worker died or Spark failed; nothing is left at the path.
    """
    frame = event_frame(spark, plan, jobs, partitions)
    runs = plan.jobs if jobs is None else len(jobs)
    here = is_local(spark) and "://" not in str(path)
    with _appearing_whole(Path(path)) if here else contextlib.nullcontext(path) as target:
        try:
            write = partial(frame.write.mode("error").parquet, str(target))
            watch_action(spark, write, in_runs(on_progress, runs), switch)
        except Exception as error:
            raise explain_error(error) from error
        if here:
            write_digests(Path(target))


@contextlib.contextmanager
def _appearing_whole(path: Path) -> Iterator[Path]:
    if path.exists():
        raise FileExistsError(f"there is something at {path} already: choose another path")
    hidden = path.parent / f".{path.name}.{os.getpid()}.unfinished"
    try:
        yield hidden
        hidden.rename(path)
    finally:
        _remove(hidden)


def _remove(folder: Path) -> None:
    """Delete a folder that tasks cancelled a moment ago may still be writing to."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def _checked_jobs(plan: Plan, jobs: Sequence[int]) -> tuple[int, ...]:
    wrong = [job for job in jobs if not 0 <= job < plan.jobs]
    if wrong:
        raise ValueError(f"there is no job {wrong[0]}: this campaign has 0 to {plan.jobs - 1}")
    return tuple(jobs)
