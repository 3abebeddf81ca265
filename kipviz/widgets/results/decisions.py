"""Which single decision saves a run: a table, and the run under each decision in the stepper."""

from __future__ import annotations

from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.saving_decisions import SavingDecision, decisions, under
from kipviz.checking.single_run.seeded_run import Task, Verdict
from kipviz.checking.single_run.violation import Breaking, breaking
from kipviz.designs.catalogue import design as design_named
from kipviz.views.reports.blocks import Blocks
from kipviz.views.reports.review import saves_blocks
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.progress import Counted, saying
from kipviz.widgets.results.result_page import ResultPage
from kipviz.widgets.stepping.stepper import Stepper

STATES_MAX = 20_000


class Saves(ResultPage):
    """The decisions that were tried on a run that violates a property.

    Attributes:
        broken: the run up to the violation.
        decisions: every other option of every slot, with the verdict on the run.
    """

    def __init__(self, broken: Breaking, tried: tuple[SavingDecision, ...]) -> None:
        """Keep the decisions that were tried."""
        self.broken = broken
        self.decisions = tried

    def open(self, decision: str = "") -> Stepper:
        """Open the run under a decision, such as "lock_expiry=pinned_until_marker", at its end.

        Without a name it is the decision that saves the run and changes the fewest steps.

        Raises:
            LookupError: if the decision was not tried, or none saves the run.
        """
        by_change = sorted(self.decisions, key=lambda each: len(each.missing))
        for each in by_change:
            name = f"{each.slot}={each.option}"
            if decision == name or (not decision and each.saves):
                made, _ = under(self.broken, design_named(each.design))
                return stepper_of(made).last()
        savers = ", ".join(f"{d.slot}={d.option}" for d in by_change if d.saves)
        raise LookupError(f"there is no such decision; those that save it: {savers or 'none'}")

    def blocks(self) -> Blocks:
        """Return the blocks of the page."""
        return saves_blocks(self.broken, self.decisions)

    def open_run(self, run: str) -> Stepper:
        """Open the run under a decision; its key is the decision."""
        return self.open(run)


def saves_of(broken: Breaking, *, search: bool) -> Saves:
    """Try every decision on a run; a search stops after 20,000 states.

    After an interrupt every decision is still tried on this run, and the remaining ones are not searched.
    """
    bounds = Bounds(states_max=STATES_MAX) if search else None
    with saying(Counted(0, "decisions tried")) as go_on:
        return Saves(broken, decisions(broken, bounds, go_on))


def saves(run: Stepper | Task | Verdict, prop: str = "", *, search: bool = False) -> Saves:
    """Find each single decision that would have saved a run that violates a property.

    Args:
        run: a stepper (its current branch counts), or a campaign's run by its task or its verdict.
        prop: the property; by default the first broken one.
        search: also search each decision that saves the run exhaustively.

    Example:
        >>> import kipviz
        >>> broken = kipviz.explore("kip-1289-small", "finding-D", "expire_lock=1").open()
        >>> kipviz.saves(broken).open("lock_expiry=pinned_until_marker").last_step > 31
        True

    Raises:
        LookupError: if the run does not break the property.
        ValueError: if the property is unknown, or the run names an unknown scenario, design or fault profile.
    """
    if isinstance(run, Stepper):
        if run.lab is None:
            raise ValueError(
                "only a stepper with a model behind it can be asked what saves its run"
            )
        made = run.lab.run_at(run.branch, run.step)
    elif not isinstance(run, Task | Verdict):
        raise ValueError(f"a run must be a stepper, a task or a verdict, not {run!r}")  # noqa: TRY004
    else:
        made = runs.replay(run.task if isinstance(run, Verdict) else run)
    return saves_of(breaking(made, prop), search=search)
