"""A repair in a notebook: which decisions make a broken design keep its properties, and runs of those that do not."""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.judging.repair import (
    DECISIONS_MAX,
    STATES_MAX,
    Attempt,
    Repair,
    RepairQuestion,
)
from kipviz.checking.judging.repair import repair as searched
from kipviz.core.outside.validation import several
from kipviz.views.reports.blocks import Blocks
from kipviz.views.reports.repair_page import repair_blocks
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.progress import Counted, saying
from kipviz.widgets.results.result_page import ResultPage
from kipviz.widgets.stepping.stepper import Stepper


class Repaired(ResultPage):
    """The sets of decisions that repair a design; a run of a set that does not opens in the stepper.

    Attributes:
        found: every set that was tried, and the answer.
    """

    def __init__(self, found: Repair) -> None:
        """Keep the sets that were tried."""
        self.found = found

    @property
    def decisions(self) -> tuple[tuple[str, ...], ...]:
        """The smallest sets of decisions that repair the design; empty if none was found."""
        return tuple(each.slots for each in self.found.repairs)

    def open(self, *decisions: str) -> Stepper:
        """Open the violation with these decisions alone; without any, that of the design itself.

        Raises:
            LookupError: if they were not tried, or nothing breaks with them.
        """
        for attempt in self.found.attempts:
            if set(attempt.slots) == set(decisions):
                return _open_attempt(attempt)
        tried = ", ".join(self.found.slots) or "none"
        raise LookupError(
            f"{' and '.join(decisions) or 'The design itself'} was not tried; decisions are {tried}"
        )

    def blocks(self) -> Blocks:
        """Return the blocks of the page; the key of a run is the attempt, counted from 0."""
        return repair_blocks(self.found)

    def open_run(self, run: str) -> Stepper:
        """Open the violation of an attempt.

        Raises:
            LookupError: if nothing breaks in it.
        """
        return _open_attempt(self.found.attempts[int(run)])


def _open_attempt(attempt: Attempt) -> Stepper:
    return stepper_of(attempt.find_break().run).last()


def repair(
    scenario: str,
    design: str = "as-written",
    other: str = "repaired",
    faults: str = "",
    properties: Sequence[str] = (),
    decisions_max: int = DECISIONS_MAX,
    states_max: int = STATES_MAX,
) -> Repaired:
    """Find the smallest sets of other decisions with which a broken design violates no property.

    Small sets are tried before large ones, so the result is minimal. After an interrupt it has the sets that were tried
    so far.

    Args:
        scenario: a small story's name, such as "kip-1289-small".
        design: the broken design.
        other: the design whose decisions are tried; several with commas between them, or "any" for every option of
            every slot. With several designs a decision is called SLOT=OPTION.
        faults: the faults that may happen, such as "expire_lock=1".
        properties: names of the properties to keep; by default all.
        decisions_max: the maximum number of decisions that are tried together.
        states_max: the number of states at which a search stops; its set is then "not decided".

    Example:
        >>> import kipviz
        >>> kipviz.repair("kip-1289-small", "finding-D", faults="expire_lock=1").decisions
        (('lock_expiry',),)

    Raises:
        ValueError: for an unknown name or an invalid number, in one sentence.
    """
    question = RepairQuestion(
        scenario,
        design,
        other,
        budget_of(faults),
        several("properties", properties, "atomic") if properties else (),
        decisions_max,
        states_max,
    )
    with saying(Counted(0, "designs tried")) as go_on:
        return Repaired(searched(question, go_on))
