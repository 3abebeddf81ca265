"""A search in a notebook: its result in words, and each counterexample in the stepper."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import explore
from kipviz.checking.search.reduction_names import reduction
from kipviz.checking.search.search_result import Counterexample, Explored
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.violation import Breaking, breaking
from kipviz.checking.tla.files import ModuleFiles, write
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.outside.validation import path as path_given
from kipviz.core.outside.validation import text
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.design import Design
from kipviz.properties.verdict import title_of
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.setting_changes import change_story
from kipviz.views.reports.blocks import Blocks, BrokenRun, Paragraph
from kipviz.widgets.lab import stepper_of
from kipviz.widgets.progress import saying
from kipviz.widgets.results.decisions import Saves, saves_of
from kipviz.widgets.results.result_page import ResultPage
from kipviz.widgets.stepping.stepper import Stepper


class Search(ResultPage):
    """The result of an exhaustive search of one cluster under one design.

    Attributes:
        explored: the numbers and the counterexamples.
    """

    def __init__(
        self,
        scenario: Scenario,
        design: Design,
        budget: FaultBudget,
        explored: Explored,
        settings: tuple[str, ...] = (),
    ) -> None:
        """Keep what is needed to open a counterexample."""
        self._made_from = (scenario, design, budget)
        self._settings = settings
        self.explored = explored

    def open(self, prop: str = "") -> Stepper:
        """Open the shortest run that breaks a property (by default the first broken one), at the violation.

        Its title names the step whose absence would have kept the property; the run without it is a branch.

        Raises:
            LookupError: if the search found none.
        """
        return stepper_of(self._find_breaking(prop).run).last()

    def tla(self, path: str | os.PathLike[str], *others: str) -> ModuleFiles:
        """Write the search as a TLA+ module, with .cfg files, and return the counts that TLC has to find.

        Args:
            path: FILE.tla; the module has the same name.
            others: further designs of the same module; the .cfg file of each selects it for TLC.

        Raises:
            ValueError: if the search is not complete, or the file's name cannot be a module's.
            OSError: if a file cannot be written.
        """
        scenario, design, budget = self._made_from
        designs = (design, *map(design_named, others))
        place = path_given("a module", path)
        with saying(_searching(0)) as go_on:
            return write(place, scenario, designs, budget, self._settings, go_on=go_on)

    def saves(self, prop: str = "", *, search: bool = True) -> Saves:
        """Find which single decision saves the run that `open` opens.

        With `search` each decision that saves it is also searched exhaustively.

        Raises:
            LookupError: if the search found no such run.
        """
        return saves_of(self._find_breaking(prop), search=search)

    def _find_breaking(self, prop: str) -> Breaking:
        for example in self.explored.counterexamples:
            if prop in {"", example.property, title_of(example.property)}:
                run = runs.follow_found(*self._made_from, example.actions, self._settings)
                return breaking(run, example.property)
        raise LookupError(f"the search found no run that breaks {prop or 'a property'}")

    def blocks(self) -> Blocks:
        """Return the sentence, what the cluster leaves out, and the counterexamples; the key of a run is its property."""
        under = (Paragraph(self.explored.under),) if self.explored.under else ()
        return (Paragraph(self.explored.sentence), *under, *self._broken)

    def open_run(self, run: str) -> Stepper:
        """Open the shortest run that breaks a property; its key is the property."""
        return self.open(run)

    @cached_property
    def _broken(self) -> tuple[BrokenRun, ...]:
        return tuple(map(self._broken_run, self.explored.counterexamples))

    def _broken_run(self, example: Counterexample) -> BrokenRun:
        told = self._find_breaking(example.property)
        steps = self.steps(example)
        title = f"“{title_of(example.property)}” breaks after {len(steps)} steps"
        return BrokenRun(
            told.run.design.name, title, steps, told.reason, told.sentence, example.property
        )

    def __repr__(self) -> str:
        """Return the result in one sentence, then the steps of each counterexample."""
        lines = [self.explored.sentence, *filter(None, (self.explored.under,))]
        for example in self.explored.counterexamples:
            lines += [
                "",
                f"{title_of(example.property)} breaks after {len(example.actions)} steps:",
            ]
            lines += [f"{n:>4}  {text}" for n, text in enumerate(self.steps(example), 1)]
        return "\n".join(lines)

    def steps(self, example: Counterexample) -> tuple[str, ...]:
        """Return the names of a counterexample's steps."""
        return runs.labels(runs.follow_found(*self._made_from, example.actions, self._settings))


def search(
    scenario: str,
    design: str,
    faults: str | Mapping[str, int] = "",
    states_max: int = 200_000,
    reduce: str = "",
    clock: str = "",
    settings: Sequence[str] = (),
) -> Search:
    """Visit every state that a scenario's cluster can reach under a design.

    After an interrupt the result has what was found so far, and its sentence states that it is incomplete.

    Args:
        scenario: a scenario's name; `kip-1289-small` is made for this.
        design: a design's name.
        faults: the faults that may happen: "crash_broker=1,expire_lock=1", the same as a mapping, or the name of a
            fault profile; by default none.
        states_max: the number of states at which it stops.
        reduce: reductions, which change no verdict: "order" (steps that nothing can interfere with come first),
            "symmetry" (members that differ only in names), or both with a comma between them; by default none.
        clock: "untimed" (a timer may expire at any moment) or "timed" (when it is due); by default the scenario's own.
        settings: other settings to change, each of the form name=value, such as "record_lock_duration_ms=15000" or
            "app-1.transaction_timeout_ms=60000".

    Example:
        >>> import kipviz
        >>> print(kipviz.explore("kip-1289-small", "repaired").explored.sentence)
        686 states, 1,905 transitions, depth 42, untimed: no property is broken
        >>> found = kipviz.explore("kip-1289-small", "finding-D", "expire_lock=1")
        >>> found.open().step
        31

    Raises:
        ValueError: for an unknown name or an invalid number, in one sentence.
    """
    if isinstance(faults, Mapping):
        faults = ",".join(f"{kind}={count}" for kind, count in faults.items())
    story, chosen, budget = scenario_named(scenario), design_named(design), budget_of(faults)
    names = [
        name.strip() for name in text("reduce", reduce, "order,symmetry").split(",") if name.strip()
    ]
    reductions = [reduction(name) for name in names]
    changes = (*((f"clock={clock}",) if clock else ()), *settings)
    searched, under = change_story(story.searched, chosen, changes)
    model = searched.model(under, budget)
    with saying(_searching(states_max)) as go_on:
        explored = explore(model, states_max, go_on, reductions)
    return Search(story, chosen, budget, explored, changes)


def _searching(states_max: int) -> Callable[[int, int], str]:
    """Return a function that renders the progress of a search; 0 means that it has no limit of its own."""
    most = f" of at most {states_max:,}" if states_max else ""
    return lambda states, depth: f"{states:,} states{most}, depth {depth}"
