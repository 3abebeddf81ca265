"""Outcomes and ablations in a notebook: tables, and rows that open in the stepper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kipviz.checking.judging import ablation
from kipviz.checking.judging import outcomes as counted
from kipviz.checking.judging.ablation import BUDGETS, RULES, STATES_MAX, Ablated
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.runs import replay
from kipviz.checking.single_run.violation import breaking
from kipviz.views.reports.blocks import Blocks, Paragraph
from kipviz.views.reports.review import ablation_blocks, outcomes_blocks, render_run
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.progress import Counted, saying
from kipviz.widgets.results.result_page import ResultPage
from kipviz.widgets.stepping.stepper import Stepper

STOPPED = "Stopped: the last row was not searched to its end, and those behind it not at all."


class Outcomes(ResultPage):
    """How the runs of a scenario end.

    Attributes:
        found: the outcomes, most frequent first, each with a shortest example.
    """

    def __init__(self, found: counted.Outcomes) -> None:
        """Keep the outcomes."""
        self.found = found

    def open(self, row: int = 1) -> Stepper:
        """Open a shortest run of a row, counted from 1, at its end.

        Raises:
            LookupError: if there is no such row.
        """
        rows = self.found.groups
        if type(row) is not int or not 1 <= row <= len(rows):
            raise LookupError(f"there are rows 1 to {len(rows)}, not {row!r}")
        return stepper_of(self.found.run(rows[row - 1])).last()

    def blocks(self) -> Blocks:
        """Return the blocks of the page."""
        return outcomes_blocks(self.found)

    def open_run(self, run: str) -> Stepper:
        """Open a shortest run of a row; its key is the row, counted from 1."""
        return self.open(int(run))


def outcomes(
    scenario: str,
    design: str,
    faults: str = "",
    seeds: int | Iterable[int] | None = None,
    states_max: int = 200_000,
) -> Outcomes:
    """Group completed runs by outcome: of every interleaving, or of a number of seeds.

    After an interrupt the result has the runs so far, and its sentence states that it is incomplete.

    Args:
        scenario: a scenario's name; without seeds a small one, such as `kip-1289-small`.
        design: a design's name.
        faults: the faults that may happen, such as "expire_lock=1"; with seeds a fault profile's name.
        seeds: the number of seeded runs, or the seeds.
        states_max: the number of states at which a search stops, undecided.

    Example:
        >>> import kipviz
        >>> found = kipviz.outcomes("kip-1289-small", "repaired")
        >>> found.open(1).last_step
        42

    Raises:
        ValueError: for an unknown name or an invalid number, in one sentence.
    """
    if isinstance(seeds, int):
        if seeds < 1:
            raise ValueError(f"seeds must be a number of runs of at least 1, not {seeds!r}")
        seeds = range(seeds)
    if seeds is None:
        bounds = Bounds(states_max=states_max)
        with saying(lambda states, depth: f"{states:,} states, depth {depth}") as go_on:
            return Outcomes(
                counted.group_interleavings(scenario, design, budget_of(faults), bounds, go_on)
            )
    asked = tuple(seeds)
    with saying(lambda done: f"{done:,} of {len(asked):,} runs") as go_on:
        return Outcomes(counted.group_seeds(scenario, design, faults or "calm", asked, go_on))


class Ablation(ResultPage):
    """Kafka's own rules switched off.

    Attributes:
        rows: what broke first without some rules; the first row has all rules.
    """

    def __init__(self, rows: tuple[Ablated, ...], *, whole: bool = True) -> None:
        """Keep the rows; `whole` is False if the work was cancelled."""
        self.rows = rows
        self._whole = whole

    def open(self, *rules: str) -> Stepper:
        """Open the first violation without these rules.

        Raises:
            LookupError: if nothing broke without them, or they were not tried.
        """
        for row in self.rows:
            if set(row.rules) == set(rules) and row.first is not None and row.cell is not None:
                return stepper_of(render_run(row.first, row.cell).run).last()
            if set(row.rules) == set(rules) and row.sampled is not None and row.sampled.broken:
                made = replay(row.sampled.broken.task)
                return stepper_of(breaking(made, row.sampled.broken.broken).run).last()
        found = (r for r in self.rows if r.first or (r.sampled and r.sampled.broken))
        broken = "; ".join(" and ".join(r.rules) for r in found if r.rules)
        raise LookupError(
            f"nothing broke without {' and '.join(rules)}; something broke without: "
            f"{broken or 'none'}"
        )

    def blocks(self) -> Blocks:
        """Return the blocks of the page."""
        return ablation_blocks(self.rows) + (() if self._whole else (Paragraph(STOPPED),))

    def open_run(self, run: str) -> Stepper:
        """Open the violation without some rules; its key are their names, separated by commas."""
        return self.open(*run.split(","))


def ablate(
    scenario: str = "kip-1289-small",
    design: str = "repaired",
    rules: Sequence[str] = RULES,
    faults: Sequence[str] = BUDGETS,
    states_max: int = STATES_MAX,
    *,
    pairs: bool = True,
    runs: int = 0,
    profile: str = "hostile",
) -> Ablation:
    """Switch off Kafka's own rules, alone and in pairs, and find what breaks first.

    After an interrupt the table has the rows so far, and the page states that it is incomplete.

    Args:
        scenario: a scenario's name.
        design: the design that has all rules.
        rules: names of slots, such as "epoch_check".
        faults: fault budgets, smallest first.
        states_max: the number of states at which a search stops, undecided.
        pairs: whether pairs are tried, too.
        runs: the number of seeded runs after a search that was too large and broke nothing.
        profile: the fault profile of those runs.

    Example:
        >>> import kipviz
        >>> table = kipviz.ablate(
        ...     "kip-1289-small", rules=["marker_fencing"], faults=[""], pairs=False
        ... )
        >>> [row.rules for row in table.rows]
        [(), ('marker_fencing',)]

    Raises:
        ValueError: for an unknown name or an invalid number, in one sentence.
    """
    bounds = Bounds(states_max=states_max)
    count = 1 + len(rules) + (len(rules) * (len(rules) - 1) // 2 if pairs else 0)
    with saying(Counted(count, "designs", at_most=True)) as go_on:
        searched = ablation.ablate(
            scenario,
            design,
            tuple(rules),
            tuple(faults),
            bounds,
            go_on,
            pairs=pairs,
            runs=runs,
            profile=profile,
        )
        return Ablation(tuple(searched), whole=go_on())
