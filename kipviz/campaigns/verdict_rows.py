"""The verdict of one run as a flat row, wherever it was made.

Exceptions are caught for each run, so a crash in one of a million runs is a row with its reason, not the end of the
campaign.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kipviz.campaigns.plan import Plan

# The columns of a row, in order; `kipviz.spark.workers.worker_runs` has their types in a table.
COLUMNS = (
    "job",
    "scenario",
    "design",
    "faults",
    "seed",
    "status",
    "broken",
    "step",
    "reason",
    "steps",
    "transactions",
    "fingerprint",
)
_FOUND = COLUMNS[COLUMNS.index("status") :]
_REASON_MAX = 300


def verdict_row(plan: Plan, job: int) -> tuple[Any, ...]:
    """The verdict of one job in the order of ``COLUMNS``; a crash becomes an error row."""
    task = plan.task(job)
    identity = (job, task.scenario, task.design, task.faults, task.seed)
    try:
        verdict = import_module(plan.task_module).run(task)
        found = tuple(getattr(verdict, name) for name in _FOUND)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a crash is a row, not the end
        found = ("error", "", -1, one_line(error), 0, 0, "")
    return identity + found


def one_line(error: BaseException) -> str:
    """Render an error as one line: its class, its text and where it was raised."""
    words = " ".join(str(error).split())
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = (
        f" (line {place.tb_lineno} of {place.tb_frame.f_globals.get('__name__')})" if place else ""
    )
    return f"{type(error).__name__}: {words}"[:_REASON_MAX] + where
