"""The timeout landscape: two settings against each other, every cell searched exhaustively.

For each pair of values a design is searched with the timed clock. The application is prompt and processes every batch
for a given time before it commits, and messages arrive at once, so that only the two settings and the faults decide. A
cell states which property breaks or, if none does, whether any run commits at all: a transaction that always times out
breaks nothing and achieves nothing.

A leader that holds transactional acknowledgements looks up their outcome every 5 s (our inference).
NOT MODELLED: a lock that is renewed during processing (KIP-1222).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds, Explored
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.violation import Breaking, breaking
from kipviz.checking.timed.axes import LOCK, TIMEOUT, Axis, BadLandscape, check_axis, settings_of
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.cluster.world import World
from kipviz.core.model import Outcome
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.design import Design
from kipviz.messages.events import TransactionDecided
from kipviz.properties.verdict import HOLDS, Finding
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.setting_changes import change_story

SCENARIO = "kip-1289-small"
SO_FAR, NEVER_COMMITS = "nothing so far", "never commits"
DESIGNS = ("repaired", "finding-D", "as-written")
LOCKS = Axis(LOCK, (10_000, 30_000, 60_000))
TIMEOUTS = Axis(TIMEOUT, (5_000, 15_000, 30_000, 60_000))
WORK_MS = 20_000
LOOK_UP_MS = 5_000
FAULTS = "expire_lock=1,time_out=1"

Told = Callable[[str, int, int], bool]


class LandscapeQuestion(Value, frozen=True):
    """The question of a landscape: a scenario, two axes, fixed settings, and the faults that may happen.

    `fixed` are further settings, each of the form name=value.
    """

    scenario: str = SCENARIO
    designs: tuple[str, ...] = DESIGNS
    down: Axis = LOCKS
    across: Axis = TIMEOUTS
    work_ms: int = WORK_MS
    faults: str = FAULTS
    fixed: tuple[str, ...] = ()

    @property
    def cells(self) -> int:
        """The number of searches that it takes."""
        return len(self.designs) * len(self.down.values) * len(self.across.values)

    def settings(self, down: int, across: int) -> tuple[str, ...]:
        """Return the changes to the scenario's cluster for one cell; those of the axes come last."""
        spec = searched_scenario(self.scenario).spec
        return (
            "clock=timed",
            "delay_max_ms=0",
            "pause_max_ms=0",
            f"refresh_ms={LOOK_UP_MS}",
            *(f"{app.name}.work_ms={self.work_ms}" for app in spec.members),
            *self.fixed,
            *self.down.changes(spec, down),
            *self.across.changes(spec, across),
        )

    def place(self, design: str, down: int, across: int) -> str:
        """Render the name of a cell."""
        one = f"{self.down.setting} {self.down.word(down)}"
        return f"{design}, {one}, {self.across.setting} {self.across.word(across)}"


class Spot(Value, frozen=True):
    """One cell: a design with one value of each axis, searched.

    `commits` is whether some run of it commits a transaction.
    """

    design: str
    down: int
    across: int
    explored: Explored
    commits: bool

    @property
    def verdict(self) -> str:
        """The property that breaks first, or whether transactions commit."""
        broken = self.explored.counterexamples
        if broken:
            return min(broken, key=lambda c: len(c.actions)).property
        if not self.explored.complete:
            return SO_FAR
        return HOLDS if self.commits else NEVER_COMMITS

    @property
    def words(self) -> str:
        """The verdict in the words of a table's cell."""
        broken = self.explored.counterexamples
        if not broken:
            return self.verdict
        steps = min(len(c.actions) for c in broken)
        return f"{self.verdict} breaks after {steps}"


class Landscape(Value, frozen=True):
    """The cells of a question, design by design, row by row; some are missing if it was stopped."""

    question: LandscapeQuestion
    spots: tuple[Spot, ...]

    def spot(self, design: str, down: int, across: int) -> Spot:
        """Find a cell.

        Raises:
            LookupError: if it was not searched.
        """
        for spot in self.spots:
            if (spot.design, spot.down, spot.across) == (design, down, across):
                return spot
        raise LookupError(f"{self.question.place(design, down, across)} was not searched")

    def find_break(self, design: str, down: int, across: int) -> Breaking:
        """Return the shortest run that violates a property in a cell, at the violation.

        Raises:
            LookupError: if nothing breaks there, or the cell was not searched.
        """
        spot = self.spot(design, down, across)
        if not spot.explored.counterexamples:
            raise LookupError(f"nothing breaks there: {spot.words}")
        example = min(spot.explored.counterexamples, key=lambda c: len(c.actions))
        asked = self.question
        run = runs.follow_found(
            scenario_named(asked.scenario),
            design_named(design),
            budget_of(asked.faults),
            example.actions,
            asked.settings(down, across),
        )
        return breaking(run, example.property)


class _Commits:
    """An observer that never breaks: it watches whether any transaction commits.

    Its memory is always the same, so that it distinguishes no states; `seen` is kept outside of it, and the search
    takes every step.
    """

    name = "some run commits"
    sentence = "Some run commits a transaction."

    def __init__(self) -> None:
        self.seen = False

    def initial(self, world: World) -> _Nothing:
        """Start with an empty memory."""
        return _NOTHING

    def observe(self, state: _Nothing, action: ClusterAction, outcome: Outcome) -> _Nothing:
        """Record whether a step decided to commit."""
        decided = [e for e in outcome.events if isinstance(e, TransactionDecided)]
        self.seen = self.seen or any(event.committed for event in decided)
        return state

    def finding(self, state: _Nothing) -> Finding:
        """Return that it holds."""
        return Finding(HOLDS)


class _Nothing(Value, frozen=True):
    """The memory of `_Commits`."""

    @property
    def digest(self) -> bytes:
        """The same sixteen bytes for every instance."""
        return bytes(16)


_NOTHING = _Nothing()


def landscape(
    question: LandscapeQuestion = LandscapeQuestion(),  # noqa: B008  a value never changes
    bounds: Bounds = Bounds(),  # noqa: B008  the same
    progress: Told | None = None,
) -> Iterator[Spot]:
    """Search the cells one after the other.

    `progress` gets (the cell's name, states, depth). If it returns False, the current cell is yielded as far as it was
    searched, and nothing follows.

    Raises:
        BadLandscape: if an axis is not valid or makes no difference, in one sentence.
        ValueError: if a scenario, design, setting or fault is unknown.
    """
    check(question)
    budget = budget_of(question.faults)
    for name in question.designs:
        design = design_named(name)
        for down in question.down.values:
            for across in question.across.values:
                model = _model(question, design, budget, down, across)
                watch = _Commits()
                place = question.place(design.name, down, across)

                def report_states(states: int, depth: int, place: str = place) -> bool:
                    return progress is None or progress(place, states, depth)

                explored = Search(model, (*PROPERTIES, watch)).run(bounds, report_states)
                yield Spot(design.name, down, across, explored, watch.seen)
                if explored.cancelled:
                    return


def _model(
    question: LandscapeQuestion, design: Design, budget: FaultBudget, down: int, across: int
) -> ClusterModel:
    story, under = change_story(
        searched_scenario(question.scenario), design, question.settings(down, across)
    )
    return story.model(under, budget)


def check(question: LandscapeQuestion) -> None:
    """Reject a question that is not valid, before the first search.

    Raises:
        BadLandscape: with the reason and what is allowed.
        ValueError: if a scenario, design, setting or fault is unknown.
    """
    check_axis(question.down)
    check_axis(question.across)
    if question.down.setting == question.across.setting:
        raise BadLandscape(
            f"the two axes must be different settings, not {question.down.setting} twice"
        )
    if type(question.work_ms) is not int or question.work_ms < 1:
        raise BadLandscape(
            f"the processing time must be a whole number of ms of at least 1, not {question.work_ms!r}"
        )
    if not question.designs:
        raise BadLandscape("name at least one design")
    designs = [design_named(name) for name in question.designs]
    first = question.down.values[0], question.across.values[0]
    story, _ = change_story(
        searched_scenario(question.scenario), designs[0], question.settings(*first)
    )
    _check_difference(question, story.spec.but(budget=budget_of(question.faults)))


def _check_difference(question: LandscapeQuestion, spec: ClusterSpec) -> None:
    allowed = settings_of(spec)
    for axis in (question.down, question.across):
        if axis.setting not in allowed:
            raise BadLandscape(
                f"{axis.setting} makes no difference in {question.scenario} with these faults; "
                f"settings that do: {', '.join(allowed)}"
            )
