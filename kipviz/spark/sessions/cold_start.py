"""A campaign's first verdicts while Spark starts: a JVM takes some seconds, in which this process makes runs itself.

A run has the same verdict wherever it is made, so the table is the same as that of Spark alone. A small campaign ends
before Spark has started; Spark then continues to start, for the next one.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from kipviz.campaigns.cancellation import CancelSwitch, OnProgress
from kipviz.campaigns.verdict_rows import verdict_row
from kipviz.spark.sessions.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kipviz.campaigns.plan import Plan

# An existing session is found within this time.
_THERE_SECONDS = 0.2
_REPORT_SECONDS = 0.2


class StartingSession:
    """A session that a separate thread starts."""

    def __init__(self, master: str | None = None) -> None:
        """Begin to start it; an existing session is used as it is."""
        self._session: SparkSession | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._start, args=(master,), daemon=True)
        self._thread.start()
        self._thread.join(_THERE_SECONDS)

    def _start(self, master: str | None) -> None:
        try:
            self._session = session(master)
        except BaseException as error:  # noqa: BLE001 - raised again where the session is wanted
            self._error = error

    @property
    def ready(self) -> bool:
        """Whether the session has started, or failed to start."""
        return not self._thread.is_alive()

    def result(self) -> SparkSession:
        """Wait for the session.

        Raises:
            ValueError: see `session`.
            SparkUnavailable: see `session`.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._session is not None
        return self._session


def runs_while_starting(
    plan: Plan,
    starting: StartingSession,
    on_progress: OnProgress | None = None,
    switch: CancelSwitch | None = None,
) -> list[tuple[Any, ...]]:
    """Make the first runs in this process until Spark has started or all are made; return their verdicts in order.

    Raises:
        Cancelled: the switch was turned meanwhile.
    """
    switch = switch or CancelSwitch()
    rows: list[tuple[Any, ...]] = []
    told = 0.0
    while len(rows) < plan.jobs and not starting.ready:
        switch.raise_if_cancelled()
        rows.append(verdict_row(plan, plan.job_at(len(rows))))
        now = time.monotonic()
        if on_progress is not None and now - told >= _REPORT_SECONDS:
            on_progress(len(rows), plan.jobs)
            told = now
    return rows
