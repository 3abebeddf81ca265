"""The result of a campaign: one verdict for each run, to be counted and opened again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol

from kipviz.campaigns.plan import Plan, RunTask
from kipviz.campaigns.summary import SummaryRow, summarize_rows, summary_text


class RunVerdict(Protocol):
    """The verdict on a run, as the ``Verdict`` of a task module has it."""

    @property
    def task(self) -> RunTask:
        """The run, which `kipviz.open_seeded` opens."""

    @property
    def status(self) -> str:
        """One of "holds", "breaks", "program" and "error"."""

    @property
    def broken(self) -> str:
        """The property that broke, or ""."""

    @property
    def step(self) -> int:
        """The step at which it broke; -1 for none or for the end of the run."""

    @property
    def reason(self) -> str:
        """What broke it, in words."""

    @property
    def steps(self) -> int:
        """The number of steps of the run."""

    @property
    def transactions(self) -> int:
        """The number of transactions that were decided."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the run's last world."""


class CampaignResult(ABC):
    """One verdict per run, in the order of scenarios, designs, faults and seeds."""

    plan: Plan

    @abstractmethod
    def rows(self, *columns: str) -> Sequence[dict[str, Any]]:
        """The verdicts as flat rows with these columns of `verdict_rows.COLUMNS`, or with all."""

    def each_row(self, *columns: str) -> Iterator[dict[str, Any]]:
        """The same rows one after the other, so that a million of them need not be in memory at once."""
        yield from self.rows(*columns)

    def rows_except(self, *statuses: str) -> list[dict[str, Any]]:
        """The rows whose status is none of these."""
        return [row for row in self.each_row() if row["status"] not in statuses]

    @cached_property
    def verdicts(self) -> tuple[RunVerdict, ...]:
        """The rows as ``Verdict`` values, each with the task that opens it again."""
        verdict = import_module(self.plan.task_module).Verdict
        return tuple(
            verdict(task=self.plan.task(row["job"]), **_without_identity(row))
            for row in self.rows()
        )

    def summary(self, by: str = "design") -> tuple[SummaryRow, ...]:
        """Return how many runs of each design (scenario, fault profile) hold, break a property, or failed."""
        return summarize_rows(self.each_row, by, self.plan)

    def jobs_with(self, *statuses: str) -> tuple[int, ...]:
        """The job numbers of the runs with one of these statuses, for ``write_events``."""
        return tuple(r["job"] for r in self.each_row("job", "status") if r["status"] in statuses)

    def first(self, design: str, broken: str = "") -> RunVerdict:
        """Return the first verdict of a design that broke a property (any, if none is named).

        Raises:
            LookupError: no run of the design did.
        """
        for verdict in self.verdicts:
            breaks = verdict.status == "breaks" and broken in {"", verdict.broken}
            if breaks and verdict.task.design == design:
                return verdict
        raise LookupError(f"no run of {design} breaks {broken or 'a property'} in this campaign")

    def text(self, by: str = "design") -> str:
        """Return the plan and the table of verdicts as plain text, one row for each design (scenario, fault profile)."""
        return f"Campaign of {self.plan}\n{summary_text(self.summary(by))}"

    def __repr__(self) -> str:
        return self.text()


_IDENTITY = ("job", "scenario", "design", "faults", "seed")


def _without_identity(row: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k not in _IDENTITY}
