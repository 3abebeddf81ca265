"""Designs against properties: the verdict of an exhaustive search for each pair, as a table.

A cell states the extent of its search. A property that no visited state breaks "holds" only if every state of that
cluster and fault budget was visited; otherwise it "holds so far".
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.checking.judging.budgets import budget_words
from kipviz.checking.search.explore import ProgressTold, Search
from kipviz.checking.search.search_result import Bounds, Explored, Stop
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.properties.agreement import Agreement, OneOutcome
from kipviz.properties.commit_requested import CommitsAsAsked
from kipviz.properties.expectations import EXPECTATIONS
from kipviz.properties.invariants import INVARIANTS
from kipviz.properties.verdict import FORMER_NAMES, Property
from kipviz.scenarios.applications.program_faults import THE_PROGRAM, blame_for_harm
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES

HOLDS = "holds"
SO_FAR = "holds so far"
BREAKS = "breaks"
NOT_DECIDED = "not decided"

EVERY_PROPERTY: tuple[Property, ...] = (*PROPERTIES, *INVARIANTS, Agreement(), OneOutcome())
# Judged only if named, because a search does not look below a state that breaks one of these.
ASKED_BY_NAME: tuple[Property, ...] = (*EXPECTATIONS, CommitsAsAsked())


class UnknownProperty(ValueError):
    """No property has this name."""


def property_named(name: str) -> Property:
    """Find a property by its name, or by a name that it had before.

    Raises:
        UnknownProperty: if there is none; the message lists the known properties.
    """
    now = FORMER_NAMES.get(name, name)
    for known in (*EVERY_PROPERTY, *ASKED_BY_NAME):
        if known.name == now:
            return known
    allowed = ", ".join(prop.name for prop in (*EVERY_PROPERTY, *ASKED_BY_NAME))
    raise UnknownProperty(f"there is no property {name!r}; the properties are {allowed}")


class PropertyVerdict(Value, frozen=True):
    """The verdict on one property under one design.

    `asked` is the property, `verdict` is "holds", "holds so far" or "breaks"; `actions` is a shortest run that breaks
    it. `blame` names the program of the scenario that breaks it under every design, "" if the design is at fault.
    """

    asked: str
    verdict: str
    reason: str = ""
    actions: tuple[ClusterAction, ...] = ()
    blame: str = ""

    @property
    def words(self) -> str:
        """The cell in words: "holds", or after how many steps it breaks and whether only a program breaks it."""
        if self.verdict != BREAKS:
            return self.verdict
        whose = f" ({THE_PROGRAM})" if self.blame else ""
        return f"breaks after {len(self.actions)}{whose}"

    @property
    def fails(self) -> bool:
        """Whether the design breaks the property; a break that only the program causes does not count."""
        return self.verdict == BREAKS and not self.blame


class DesignVerdicts(Value, frozen=True):
    """One design in one scenario under one fault budget, searched."""

    scenario: str
    design: str
    status: str
    budget: FaultBudget
    explored: Explored
    cells: tuple[PropertyVerdict, ...]

    def cell(self, name: str) -> PropertyVerdict:
        """Find the cell of a property.

        Raises:
            ValueError: if the property was not judged.
        """
        for cell in self.cells:
            if cell.asked == name:
                return cell
        asked = ", ".join(cell.asked for cell in self.cells)
        raise ValueError(f"property {name!r} was not judged; judged are {asked}")

    @property
    def cut_short(self) -> str:
        """The reason why a search ended early that was no bound, such as an interrupt or an error, or ""."""
        return "" if self.explored.stop is Stop.BOUND else self.explored.stopped

    @property
    def where(self) -> str:
        """The extent of the verdict: scenario, faults and how much of it was searched."""
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
) -> DesignVerdicts:
    """Search one design exhaustively and return a verdict on each property.

    The search does not go beyond a state that breaks a property. So if several properties break one after the other, it
    finds the first one.

    Raises:
        ValueError: if scenario or design is unknown, or the design lacks what the scenario needs.
    """
    chosen = design_named(design)
    model = searched_scenario(scenario).model(chosen, budget)
    explored = Search(model, properties).run(bounds, progress)
    return DesignVerdicts(
        scenario,
        design,
        chosen.status,
        budget,
        explored,
        cells_of(explored, properties, model.spec),
    )


def cells_of(
    explored: Explored, properties: tuple[Property, ...], spec: ClusterSpec
) -> tuple[PropertyVerdict, ...]:
    """Return for each property what a search of a cluster found."""
    found = {c.property: c for c in explored.counterexamples}
    sure = explored.complete and not explored.undecided
    cells = []
    for prop in properties:
        story = found.get(prop.name)
        if story is None:
            cells.append(PropertyVerdict(prop.name, HOLDS if sure else SO_FAR))
        else:
            blame = blame_for_harm(spec, story.harm)
            cells.append(PropertyVerdict(prop.name, BREAKS, story.reason, story.actions, blame))
    return tuple(cells)


def verdict_table(
    scenario: str,
    designs: tuple[str, ...],
    budget: FaultBudget = FaultBudget(),  # noqa: B008  a value never changes
    bounds: Bounds = Bounds(),  # noqa: B008  the same
    progress: Callable[[str, int, int], bool] | None = None,
) -> tuple[DesignVerdicts, ...]:
    """Judge several designs; `progress` gets (design, states, depth) and stops them by returning False.

    The verdicts before a stop are kept.

    Raises:
        ValueError: as `judge` does.
    """
    rows: list[DesignVerdicts] = []
    stopped = False
    for name in designs:
        if stopped:
            break

        def report_states(states: int, depth: int, name: str = name) -> bool:
            nonlocal stopped
            stopped = progress is not None and not progress(name, states, depth)
            return not stopped

        rows.append(judge(scenario, name, budget, bounds, report_states))
    return tuple(rows)
