"""Switch off Kafka's own rules, alone and in pairs, and show what breaks first.

Every design keeps these rules (`designs.options.options`, "what Kafka checks already"). Switching one off shows its purpose.
Small fault budgets are searched first, so that the answer names the smallest set of faults that is needed. "Nothing up
to this bound" is an answer, too, and states how far the search went.

If a search stopped at its bound, seeded runs of the same scenario can follow it. They cannot prove that a property
holds, but a property that they break is broken.

A property that the design itself breaks under a budget is not judged there, because the rule is not the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from kipviz.checking.judging.budgets import budget_of, budget_words
from kipviz.checking.judging.faults import faults as faults_named
from kipviz.checking.judging.verdicts import (
    BREAKS,
    EVERY_PROPERTY,
    DesignVerdicts,
    PropertyVerdict,
    cells_of,
)
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.seeded_run import Task, Verdict, run
from kipviz.checking.single_run.timers_ran import TimersRan
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.design import Design, slot_named
from kipviz.designs.options.options import KAFKAS_OWN, SLOTS
from kipviz.properties.verdict import Property
from kipviz.scenarios.library import searched_scenario

RULES: tuple[str, ...] = tuple(slot.name for slot in SLOTS if slot.finding == KAFKAS_OWN)
BUDGETS = ("", "expire_lock=1", "time_out=1", "lose_connection=1")
STATES_MAX = 15_000

Told = Callable[[str, int, int], bool]


class UnknownRule(ValueError):
    """No rule of Kafka's has this name."""


class Tried(Value, frozen=True):
    """One fault budget that was searched and breaks nothing, in words."""

    faults: str
    states: int
    complete: bool
    timers: TimersRan = TimersRan()

    @property
    def words(self) -> str:
        """The faults and how far they were searched, in words."""
        how = "all" if self.complete else "the first"
        return f"{self.faults or 'no fault'}: {how} {self.states:,} states"


class Sampled(Value, frozen=True):
    """Seeded runs after a search that was too large; `broken` is the first run that breaks a property."""

    profile: str
    runs: int
    broken: Verdict | None = None

    @property
    def words(self) -> str:
        """The result of the runs, in words."""
        if self.broken is None:
            return f"{self.runs:,} seeded runs, {self.profile}: nothing breaks"
        where = f"seed {self.broken.task.seed} of {self.profile}, step {self.broken.step}"
        return f"{self.broken.broken}, in a seeded run ({where}): {self.broken.reason}"


class Ablated(Value, frozen=True):
    """The rules that were switched off, and what broke first; `first` is None if nothing broke.

    `held` are the smaller budgets, each with the extent of its search. `sampled` are the seeded runs that followed an
    incomplete search.
    """

    rules: tuple[str, ...]
    design: str
    first: DesignVerdicts | None
    held: tuple[Tried, ...]
    sampled: Sampled | None = None

    @property
    def timers(self) -> tuple[TimersRan, ...]:
        """The timers that expired in each of its searches."""
        first = () if self.first is None else (self.first.explored.timers,)
        return (*first, *(each.timers for each in self.held))

    @property
    def cell(self) -> PropertyVerdict | None:
        """The property that breaks after the fewest steps."""
        if self.first is None:
            return None
        broken = [cell for cell in self.first.cells if cell.verdict == BREAKS]
        return min(broken, key=lambda cell: len(cell.actions))


def ablate(
    scenario: str,
    design: str = "repaired",
    rules: tuple[str, ...] = RULES,
    budgets: tuple[str, ...] = BUDGETS,
    bounds: Bounds = Bounds(states_max=STATES_MAX),  # noqa: B008  a value never changes
    progress: Told | None = None,
    *,
    pairs: bool = True,
    runs: int = 0,
    profile: str = "hostile",
) -> Iterator[Ablated]:
    """Switch off each rule alone and then each pair of rules, and yield what breaks first.

    The first row has nothing switched off. `progress` is called with (design, states, depth), or (design, seeded runs,
    0). If it returns False, the result so far is yielded and the generator ends. If nothing broke and a search was not
    complete, `runs` seeded runs under a fault profile follow.

    Raises:
        UnknownRule: if a rule is none of Kafka's; the message lists the known rules.
        ValueError: if scenario, design, a budget or the profile is unknown, or runs is not a number.
    """
    for rule in rules:
        if rule not in RULES:
            raise UnknownRule(f"there is no rule {rule!r}; the rules are {', '.join(RULES)}")
    chosen = design_named(design)
    asked = tuple((budget_of(faults), EVERY_PROPERTY) for faults in budgets)
    faults_named(profile)
    if type(runs) is not int or runs < 0:
        raise ValueError(f"runs must be a whole number of at least 0, not {runs!r}")
    work = _Work(scenario, bounds, progress, runs, profile)
    base, cells = work.base(chosen, asked)
    yield base
    asked = tuple(
        (budget, tuple(p for p in EVERY_PROPERTY if p.name not in broken))
        for (budget, _), broken in zip(asked, cells, strict=False)
    )
    sets = [*((rule,) for rule in rules), *(combinations(rules, 2) if pairs else ())]
    for off in sets:
        if work.stopped:
            return
        yield work.first(chosen, off, asked)


class _Work:
    """The searches of one ablation; a cancellation ends all of them."""

    def __init__(
        self, scenario: str, bounds: Bounds, progress: Told | None, runs: int, profile: str
    ) -> None:
        self._scenario = searched_scenario(scenario)
        self._bounds = bounds
        self._progress = progress
        self._runs = runs
        self._profile = profile
        self._not_to_blame: set[str] | None = None
        self.stopped = False

    def base(
        self, design: Design, asked: tuple[tuple[FaultBudget, tuple[Property, ...]], ...]
    ) -> tuple[Ablated, list[set[str]]]:
        """Search the unchanged design under every budget; also return what breaks under each."""
        held: list[Tried] = []
        broken: list[set[str]] = []
        first = None
        for budget, properties in asked:
            judged = self._search_design(design, budget, properties, to_the_first=False)
            broken.append({c.asked for c in judged.cells if c.verdict == BREAKS})
            if broken[-1]:
                first = first or judged
            else:
                held.append(_summarize_search(judged))
            if self.stopped:
                break
        return Ablated((), design.name, first, tuple(held)), broken

    def first(
        self,
        design: Design,
        off: tuple[str, ...],
        asked: tuple[tuple[FaultBudget, tuple[Property, ...]], ...],
    ) -> Ablated:
        """Search with some rules switched off, smaller budgets first, until something breaks."""
        without = design.but(**{rule: _off_option(rule) for rule in off})
        held: list[Tried] = []
        for budget, properties in asked:
            judged = self._search_design(without, budget, properties, to_the_first=True)
            if judged.explored.counterexamples:
                return Ablated(off, without.name, judged, tuple(held))
            held.append(_summarize_search(judged))
            if self.stopped:
                break
        sampled = None
        if self._runs and not self.stopped and not all(each.complete for each in held):
            sampled = self._sample_runs(design, without)
        return Ablated(off, without.name, None, tuple(held), sampled)

    def _sample_runs(self, design: Design, without: Design) -> Sampled:
        """Make seeded runs until one breaks a property that the design itself keeps in all of them."""
        if self._not_to_blame is None:
            self._not_to_blame = {v.broken for v in self._run_seeds(design) if v.status == BREAKS}
        made = 0
        for verdict in self._run_seeds(without):
            made += 1
            if verdict.status == BREAKS and verdict.broken not in self._not_to_blame:
                return Sampled(self._profile, made, verdict)
        return Sampled(self._profile, made)

    def _run_seeds(self, design: Design) -> Iterator[Verdict]:
        for seed in range(self._runs):
            if self._progress is not None and not self._progress(design.name, seed, 0):
                self.stopped = True
                return
            yield run(Task(self._scenario.name, design.name, self._profile, seed))

    def _search_design(
        self,
        design: Design,
        budget: FaultBudget,
        properties: tuple[Property, ...],
        *,
        to_the_first: bool,
    ) -> DesignVerdicts:
        model = self._scenario.model(design, budget)
        search = Search(model, properties)

        def report_progress(states: int, depth: int) -> bool:
            if self._progress is not None and not self._progress(design.name, states, depth):
                self.stopped = True
            return not self.stopped

        bounds = self._bounds.but(breaks_max=1) if to_the_first else self._bounds
        explored = search.run(bounds, report_progress)
        cells = cells_of(explored, properties, model.spec)
        return DesignVerdicts(
            self._scenario.name, design.name, design.status, budget, explored, cells
        )


def _off_option(rule: str) -> str:
    return slot_named(rule).options[1].name


def _summarize_search(judged: DesignVerdicts) -> Tried:
    explored = judged.explored
    sure = explored.complete and not explored.undecided
    return Tried(budget_words(judged.budget), explored.states, sure, explored.timers)
