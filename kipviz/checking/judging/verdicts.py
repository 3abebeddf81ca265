"""Designs against properties: what an exhaustive search says of each, cell by cell.

A cell is honest about its bound: a property that no visited state breaks "holds" only if every
state of that cluster and that fault budget was visited, and "holds so far" otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kipviz.checking.judging.budgets import budget_words
from kipviz.checking.search.explore import ProgressTold, Search
from kipviz.checking.search.search_result import Bounds, Explored
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.properties.agreement import Agreement, OneOutcome
from kipviz.properties.commit_requested import CommitsAsAsked
from kipviz.properties.expectations import EXPECTATIONS
from kipviz.properties.invariants import PROMISES
from kipviz.properties.verdict import Property
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.program_faults import THE_PROGRAM, blamed
from kipviz.scenarios.scenario import PROPERTIES

HOLDS = "holds"
SO_FAR = "holds so far"
BREAKS = "breaks"

EVERY_PROPERTY: tuple[Property, ...] = (*PROPERTIES, *PROMISES, Agreement(), OneOutcome())
# Asked by name only: below a state in which one of these is broken nothing more would be asked.
ASKED_BY_NAME: tuple[Property, ...] = (*EXPECTATIONS, CommitsAsAsked())


class UnknownProperty(ValueError):
    """A property of a name that there is not."""


def property_named(name: str) -> Property:
    """Give a property by name.

    Raises:
        UnknownProperty: if there is none; the message lists what there is.
    """
    for known in (*EVERY_PROPERTY, *ASKED_BY_NAME):
        if known.name == name:
            return known
    allowed = ", ".join(prop.name for prop in (*EVERY_PROPERTY, *ASKED_BY_NAME))
    raise UnknownProperty(f"there is no property {name!r}; the properties are {allowed}")


class Cell(Value, frozen=True):
    """What is to be said of one property under one design.

    `asked` is the property, `verdict` is "holds", "holds so far" or "breaks"; `actions` is a shortest story
    that breaks it. `blame` says which program of the scenario breaks it under every design, "" if the design
    has to answer for it.
    """

    asked: str
    verdict: str
    reason: str = ""
    actions: tuple[Any, ...] = ()
    blame: str = ""

    @property
    def words(self) -> str:
        """The cell in words: "holds", or after how many steps it breaks, and whether only a program does it."""
        if self.verdict != BREAKS:
            return self.verdict
        whose = f" ({THE_PROGRAM})" if self.blame else ""
        return f"breaks after {len(self.actions)}{whose}"

    @property
    def fails(self) -> bool:
        """Whether the design breaks the property; what only the program breaks does not count."""
        return self.verdict == BREAKS and not self.blame


class Judged(Value, frozen=True):
    """One design in one scenario under one fault budget, searched."""

    scenario: str
    design: str
    status: str
    budget: FaultBudget
    explored: Explored
    cells: tuple[Cell, ...]

    def cell(self, name: str) -> Cell:
        """Give the cell of a property.

        Raises:
            ValueError: if no such property was asked.
        """
        for cell in self.cells:
            if cell.asked == name:
                return cell
        asked = ", ".join(cell.asked for cell in self.cells)
        raise ValueError(f"no property {name!r} was asked; there are {asked}")

    @property
    def cut_short(self) -> str:
        """What else than a bound ended the search before it was through: an interrupt, an error; or nothing."""
        stopped = self.explored.stopped
        return "" if stopped.startswith("the bound") else stopped

    @property
    def where(self) -> str:
        """What the verdict is about: scenario, faults and how much of it was searched."""
        faults = budget_words(self.budget) or "no fault"
        states = f"{self.explored.states:,} states"
        if not self.explored.complete:
            states = f"{states} to depth {self.explored.depth}, not complete"
            if self.cut_short:
                states = f"{states} ({self.cut_short})"
        return f"{self.scenario}, {faults}, {states}"


def judge(
    scenario: str,
    design: str,
    budget: FaultBudget = FaultBudget(),  # noqa: B008  a value never changes
    bounds: Bounds = Bounds(),  # noqa: B008  the same
    progress: ProgressTold | None = None,
    properties: tuple[Property, ...] = EVERY_PROPERTY,
) -> Judged:
    """Search one design exhaustively and give a verdict on each property.

    Below a state in which something is broken nothing more is asked: of several promises that
    break one after the other, the first one is found.

    Raises:
        ValueError: if scenario or design are unknown, or the design lacks what the scenario is about.
    """
    chosen = design_named(design)
    model = scenario_named(scenario).model(chosen, budget)
    explored = Search(model, properties).run(bounds, progress)
    return Judged(
        scenario,
        design,
        chosen.status,
        budget,
        explored,
        cells_of(explored, properties, model.spec),
    )


def cells_of(
    explored: Explored, properties: tuple[Property, ...], spec: ClusterSpec
) -> tuple[Cell, ...]:
    """Say of each property what a search of a cluster found of it."""
    found = {c.property: c for c in explored.counterexamples}
    sure = explored.complete and not explored.undecided
    cells = []
    for prop in properties:
        story = found.get(prop.name)
        if story is None:
            cells.append(Cell(prop.name, HOLDS if sure else SO_FAR))
        else:
            blame = blamed(spec, story.reason)
            cells.append(Cell(prop.name, BREAKS, story.reason, story.actions, blame))
    return tuple(cells)


def verdict_table(
    scenario: str,
    designs: tuple[str, ...],
    budget: FaultBudget = FaultBudget(),  # noqa: B008  a value never changes
    bounds: Bounds = Bounds(),  # noqa: B008  the same
    progress: Callable[[str, int, int], bool] | None = None,
) -> tuple[Judged, ...]:
    """Judge several designs; `progress` gets (design, states, depth) and may stop it with False.

    What was judged before somebody stopped it is kept.

    Raises:
        ValueError: as `judge` does.
    """
    rows: list[Judged] = []
    stopped = False
    for name in designs:
        if stopped:
            break

        def told(states: int, depth: int, name: str = name) -> bool:
            nonlocal stopped
            stopped = progress is not None and not progress(name, states, depth)
            return not stopped

        rows.append(judge(scenario, name, budget, bounds, told))
    return tuple(rows)
