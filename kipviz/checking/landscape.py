"""The timeout landscape: how long a lock lasts against how long a transaction may take.

For each pair of durations a design is searched exhaustively with the timed clock. The application is
prompt and works for a fixed time on every batch before it commits, and messages arrive at once, so that
only the two durations and the faults decide. A cell says which promise breaks, and where none does,
whether any run commits at all: a transaction that always times out breaks nothing and gets nothing done.

A leader that holds votes looks up their outcome every 5 s (our inference). NOT MODELLED: a lock that is
renewed while the work goes on (KIP-1222).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kipviz.checking import runs
from kipviz.checking.breaking import Breaking, breaking
from kipviz.checking.budgets import budget_of
from kipviz.checking.explore import CANCELLED, Search
from kipviz.checking.found import Bounds, Explored
from kipviz.cluster.clock import ms
from kipviz.cluster.spec import FaultBudget
from kipviz.core.model import Outcome
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.events import TransactionDecided
from kipviz.properties.verdict import HOLDS, Finding
from kipviz.scenarios.changes import changed
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import PROPERTIES

SCENARIO = "kip-1289-small"
DESIGNS = ("repaired", "finding-D", "as-written")
LOCKS = (10_000, 30_000, 60_000)
TIMEOUTS = (5_000, 15_000, 30_000, 60_000)
WORK = 20_000
LOOK_UP = 5_000
FAULTS = "expire_lock=1,time_out=1"

Told = Callable[[str, int, int], bool]


class BadLandscape(ValueError):
    """Durations that no landscape can be made of, in one sentence."""


class Question(Value, frozen=True):
    """What a landscape is asked of: a scenario, its durations in ms, and what may go wrong."""

    scenario: str = SCENARIO
    designs: tuple[str, ...] = DESIGNS
    locks: tuple[int, ...] = LOCKS
    timeouts: tuple[int, ...] = TIMEOUTS
    work: int = WORK
    faults: str = FAULTS

    def settings(self, lock: int, timeout: int) -> tuple[str, ...]:
        """Give what is changed in the scenario's cluster for one cell."""
        apps = scenario_named(self.scenario).spec.applications
        per_app = [
            change
            for app in apps
            for change in (
                f"{app.name}.transaction_timeout_ms={timeout}",
                f"{app.name}.work_ms={self.work}",
            )
        ]
        return (
            "clock=timed",
            "delay_max_ms=0",
            "pause_max_ms=0",
            f"refresh_ms={LOOK_UP}",
            f"record_lock_duration_ms={lock}",
            *per_app,
        )


class Spot(Value, frozen=True):
    """One cell: a design with one lock duration and one transaction timeout, searched.

    `commits` says whether some run of it commits a transaction.
    """

    design: str
    lock: int
    timeout: int
    explored: Explored
    commits: bool

    @property
    def verdict(self) -> str:
        """Which promise breaks first, or whether the work gets done."""
        broken = self.explored.counterexamples
        if broken:
            return min(broken, key=lambda c: len(c.actions)).property
        if not self.explored.complete:
            return "nothing so far"
        return "holds" if self.commits else "never commits"

    @property
    def words(self) -> str:
        """The verdict as a cell of a table says it."""
        broken = self.explored.counterexamples
        if not broken:
            return self.verdict
        steps = min(len(c.actions) for c in broken)
        return f"{self.verdict} breaks after {steps}"


class Landscape(Value, frozen=True):
    """The cells of a question, design by design, lock by lock; all of them unless it was stopped."""

    question: Question
    spots: tuple[Spot, ...]

    def spot(self, design: str, lock: int, timeout: int) -> Spot:
        """Give a cell.

        Raises:
            LookupError: if it was not searched.
        """
        for spot in self.spots:
            if (spot.design, spot.lock, spot.timeout) == (design, lock, timeout):
                return spot
        where = f"{design} with a lock of {ms(lock)} and a timeout of {ms(timeout)}"
        raise LookupError(f"{where} was not searched")

    def broken(self, design: str, lock: int, timeout: int) -> Breaking:
        """Give the shortest run that breaks a promise in a cell, to be opened where it breaks.

        Raises:
            LookupError: if nothing breaks there, or it was not searched.
        """
        spot = self.spot(design, lock, timeout)
        if not spot.explored.counterexamples:
            raise LookupError(f"nothing breaks there: {spot.words}")
        example = min(spot.explored.counterexamples, key=lambda c: len(c.actions))
        asked = self.question
        run = runs.follow(
            scenario_named(asked.scenario),
            design_named(design),
            budget_of(asked.faults),
            example.actions,
            asked.settings(lock, timeout),
        )
        return breaking(run, example.property)


class _Commits:
    """No promise: it watches whether a transaction is ever decided to commit.

    What it remembers is nothing, so that it tells no two states apart; `seen` is kept beside the
    search, which takes every step that there is.
    """

    name = "some run commits"
    sentence = "Some run commits a transaction."

    def __init__(self) -> None:
        self.seen = False

    def initial(self, world: Any) -> _Nothing:
        """Start with nothing."""
        return _NOTHING

    def observe(self, state: _Nothing, action: Any, outcome: Outcome) -> _Nothing:
        """Look at what a step decided."""
        decided = [e for e in outcome.events if isinstance(e, TransactionDecided)]
        self.seen = self.seen or any(event.committed for event in decided)
        return state

    def finding(self, state: _Nothing) -> Finding:
        """Say nothing against it."""
        return Finding(HOLDS)


class _Nothing(Value, frozen=True):
    """What `_Commits` remembers."""

    @property
    def digest(self) -> bytes:
        """The same sixteen bytes always."""
        return bytes(16)


_NOTHING = _Nothing()


def landscape(
    question: Question = Question(),  # noqa: B008  a value never changes
    bounds: Bounds = Bounds(),  # noqa: B008  the same
    progress: Told | None = None,
) -> Iterator[Spot]:
    """Search every cell, one after the other.

    `progress` gets (design and durations, states, depth); when it gives False, the cell that is being
    searched is given as far as it came and nothing follows.

    Raises:
        BadLandscape: if a duration is none, in one sentence.
        ValueError: if scenario, design or faults are unknown.
    """
    _check(question)
    budget = budget_of(question.faults)
    chosen = [design_named(name) for name in question.designs]
    for design in chosen:
        for lock in question.locks:
            for timeout in question.timeouts:
                model = _model(question, design, budget, lock, timeout)
                watch = _Commits()
                name = f"{design.name}, lock {ms(lock)}, timeout {ms(timeout)}"

                def told(states: int, depth: int, name: str = name) -> bool:
                    return progress is None or progress(name, states, depth)

                explored = Search(model, (*PROPERTIES, watch)).run(bounds, told)
                yield Spot(design.name, lock, timeout, explored, watch.seen)
                if explored.stopped == CANCELLED:
                    return


def _model(question: Question, design: Any, budget: FaultBudget, lock: int, timeout: int) -> Any:
    story = scenario_named(question.scenario)
    spec, under = changed(story.spec, design, question.settings(lock, timeout))
    return story.but(spec=spec).model(under, budget)


def _check(question: Question) -> None:
    """Refuse what is no grid.

    Raises:
        BadLandscape: what is wrong and what is allowed.
    """
    _rising("lock durations", question.locks)
    _rising("transaction timeouts", question.timeouts)
    if type(question.work) is not int or question.work < 1:
        raise BadLandscape(f"the work takes a whole number of ms from 1, not {question.work!r}")
    if not question.designs:
        raise BadLandscape("name at least one design")


def _rising(what: str, durations: Sequence[int]) -> None:
    fits = all(type(d) is int and d > 0 for d in durations)
    if not durations or not fits or list(durations) != sorted(set(durations)):
        said = ", ".join(map(str, durations)) or "none"
        raise BadLandscape(
            f"{what} are whole numbers of ms, each greater than the last, not {said}"
        )
