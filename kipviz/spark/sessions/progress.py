"""Watch a Spark job and cancel it from another thread, in the same way on every kind of session.

Two back ends share one small interface: a classic session has job groups and a status tracker; a Spark Connect session
has tags and progress handlers. Cancelling is repeated until the job has ended, because a cancel that comes before Spark
knows the job is silently lost.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kipviz.campaigns.cancellation import CancelSwitch, OnProgress
from kipviz.spark.sessions.session import is_connect

if TYPE_CHECKING:
    from typing import Self

    from pyspark.sql import SparkSession

T = TypeVar("T")

POLL_SECONDS = 0.2
# A report is a dozen calls to the JVM: on a busy machine it is made less often, so that it takes a twentieth of the time.
_REST = 19
_names = itertools.count(1)


class Watch(Protocol):
    """What either kind of session can report and do about the jobs started inside the block."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

    def tasks(self) -> tuple[int, int]:
        """Tasks done and tasks known so far, over all jobs of the block."""

    def cancel(self) -> None:
        """Stop the jobs of the block that Spark knows already."""


class ClassicWatch:
    """A job group and the status tracker of a SparkContext."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._group = f"kipviz-{next(_names)}"
        self._before: tuple[Any, ...] = ()

    def __enter__(self) -> Self:
        self._before = tuple(self._context.getLocalProperty(key) for key in _GROUP_PROPERTIES)
        self._context.setJobGroup(self._group, "kipviz", interruptOnCancel=True)
        return self

    def __exit__(self, *error: object) -> None:
        for key, value in zip(_GROUP_PROPERTIES, self._before, strict=True):
            self._context.setLocalProperty(key, value)

    def tasks(self) -> tuple[int, int]:
        """Tasks done and tasks known; one action can be several jobs, so the group is summed."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        known = [stage for stage in stages if stage]
        return sum(s.numCompletedTasks for s in known), sum(s.numTasks for s in known)

    def cancel(self) -> None:
        """Cancel the group."""
        self._context.cancelJobGroup(self._group)


_GROUP_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


class ConnectWatch:
    """A tag and a progress handler of a Spark Connect session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark: Any = spark
        self._tag = f"kipviz-{next(_names)}"
        self._tasks = (0, 0)

    def __enter__(self) -> Self:
        self._spark.addTag(self._tag)
        self._spark.registerProgressHandler(self._on_progress)
        return self

    def __exit__(self, *error: object) -> None:
        self._spark.removeProgressHandler(self._on_progress)
        self._spark.removeTag(self._tag)

    def _on_progress(self, stages: Any, inflight_tasks: int, operation_id: Any, done: bool) -> None:
        stages = stages or ()
        self._tasks = (
            sum(stage.num_completed_tasks for stage in stages),
            sum(stage.num_tasks for stage in stages),
        )

    def tasks(self) -> tuple[int, int]:
        """The last report of the server."""
        return self._tasks

    def cancel(self) -> None:
        """Interrupt the operations with the tag."""
        self._spark.interruptTag(self._tag)


def watch_action(
    spark: SparkSession,
    action: Callable[[], T],
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
) -> T:
    """Run a Spark action in this thread while another thread reports on it and may cancel it.

    Args:
        spark: the session, classic or Connect.
        action: what starts the job and returns its result.
        on_progress: called with tasks done and known whenever they change; an error in it cancels
            the job and is raised here.
        switch: stops the job when it is turned.

    Raises:
        Cancelled: the switch was turned before the job ended.
    """
    switch = switch or CancelSwitch()
    switch.raise_if_cancelled()
    watch = ConnectWatch(spark) if is_connect(spark) else ClassicWatch(spark)
    with watch:
        poller = _Poller(watch, on_progress, switch)
        poller.start()
        try:
            result = action()
        except Exception:
            poller.end()
            poller.raise_error()
            switch.raise_if_cancelled()
            raise
        finally:
            poller.end()
        poller.report()
        poller.raise_error()
    return result


class _Poller(threading.Thread):
    """Polls a watch several times a second, until `end` is called."""

    def __init__(self, watch: Watch, on_progress: OnProgress | None, switch: CancelSwitch) -> None:
        super().__init__(name="kipviz-progress", daemon=True)
        self._watch = watch
        self._on_progress = on_progress
        self._switch = switch
        self._ended = threading.Event()
        self._told = (-1, -1)
        self._error: Exception | None = None

    def run(self) -> None:
        due = 0.0
        while not self._ended.wait(POLL_SECONDS):
            if self._switch.cancelled or self._error is not None:
                with contextlib.suppress(Exception):  # the job may be ending at this moment
                    self._watch.cancel()
            elif (begun := time.monotonic()) >= due:
                self.report()
                now = time.monotonic()
                due = now + _REST * (now - begun)

    def report(self) -> None:
        """Report to the listener if something changed."""
        if self._on_progress is None or self._error is not None:
            return
        try:
            now = self._watch.tasks()
            if now[1] and now != self._told:
                self._told = now
                self._on_progress(*now)
        except Exception as error:  # noqa: BLE001  raised again where the job was started
            self._error = error

    def end(self) -> None:
        self._ended.set()
        if self.is_alive():
            self.join()

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error
