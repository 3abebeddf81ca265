"""A campaign in a plain loop: no Spark, no Arrow, no threads and no processes, so that a browser can run it, too.

`kipviz.spark.campaign` makes the same runs with the same functions for larger campaigns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kipviz.campaigns.cancellation import CancelSwitch, OnProgress
from kipviz.campaigns.plan import TASK_MODULE, Plan, make_plan
from kipviz.campaigns.result import CampaignResult
from kipviz.campaigns.verdict_rows import COLUMNS, verdict_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class LoopResult(CampaignResult):
    """The verdicts of a loop, as plain tuples in the order of `verdict_rows.COLUMNS`."""

    def __init__(self, plan: Plan, made: tuple[tuple[Any, ...], ...]) -> None:
        self.plan = plan
        self._made = made

    def rows(self, *columns: str) -> list[dict[str, Any]]:
        """The verdicts as flat rows with these columns, or with all."""
        wanted = columns or COLUMNS
        places = [COLUMNS.index(name) for name in wanted]
        return [
            dict(zip(wanted, (row[place] for place in places), strict=True)) for row in self._made
        ]


class LoopCampaign:
    """A campaign that runs in this process, one job after the other; it can be watched and cancelled.

    Args:
        scenarios: one name or several.
        designs: one name or several.
        faults: fault profiles, one name or several.
        runs: seeds per combination.
        seed: the first seed; the others follow it.
        steps_max: the maximum number of steps of a run.
        task_module: the module with ``Task`` and ``run``, imported by name.

    Raises:
        ValueError: for an unknown name or an invalid number, in one sentence.
    """

    way = "loop"
    # A loop without a folder keeps no parts, so none of them can be damaged.
    damaged: tuple[str, ...] = ()

    def __init__(
        self,
        scenarios: str | Iterable[str],
        designs: str | Iterable[str],
        faults: str | Iterable[str] = "calm",
        runs: int = 100,
        seed: int = 0,
        steps_max: int = 600,
        *,
        task_module: str = TASK_MODULE,
    ) -> None:
        self.plan = make_plan(scenarios, designs, faults, runs, seed, steps_max, task_module)
        self.result: LoopResult | None = None
        self._switch = CancelSwitch()

    def run(self, on_progress: OnProgress | None = None) -> LoopResult:
        """Run all jobs and keep the result; ``on_progress`` gets the runs done and the total.

        Raises:
            Cancelled: ``cancel`` was called meanwhile; ``result`` has the finished runs.
        """
        self._switch = switch = CancelSwitch()
        made: list[tuple[Any, ...]] = []
        try:
            made.extend(_each(self.plan, on_progress, switch))
        finally:
            self.result = LoopResult(self.plan, tuple(made))
        return self.result

    def cancel(self) -> None:
        """Stop the current run; any thread may call it, and it returns at once."""
        self._switch.cancel()

    def __repr__(self) -> str:
        return f"Campaign of {self.plan}"


def made_in_a_loop(
    plan: Plan, on_progress: OnProgress | None = None, switch: CancelSwitch | None = None
) -> list[tuple[Any, ...]]:
    """Run the plan in this process, one job after the other, and return the verdict rows in job order.

    Raises:
        Cancelled: the switch was turned meanwhile.
    """
    return list(_each(plan, on_progress, switch or CancelSwitch()))


def _each(
    plan: Plan, on_progress: OnProgress | None, switch: CancelSwitch
) -> Iterator[tuple[Any, ...]]:
    every = max(1, plan.jobs // 100)
    for job in range(plan.jobs):
        switch.raise_if_cancelled()
        yield verdict_row(plan, job)
        if on_progress is not None and ((job + 1) % every == 0 or job + 1 == plan.jobs):
            on_progress(job + 1, plan.jobs)
