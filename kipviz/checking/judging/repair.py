"""Find the smallest sets of another design's decisions that repair a broken design.

A set of decisions is tried by filling its slots as the other design does. Before a search, the runs that broke earlier
sets are replayed (`saves.under`). A run that also breaks a property here refutes the set and is shown. A set that no
known run refutes is searched. So every set that breaks has its own run, and every set that holds was searched
completely. All sets of one size are tried before larger ones, so the answer is minimal; sets above the requested size
are not tried. The options are those of one other design, of several, or all options ("any").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations

import msgspec

from kipviz.checking.judging.budgets import budget_words
from kipviz.checking.judging.verdicts import (
    BREAKS,
    EVERY_PROPERTY,
    HOLDS,
    NOT_DECIDED,
    DesignVerdicts,
    judge,
    property_named,
)
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.runs import Judgement, Run, follow_found
from kipviz.checking.single_run.runs import judge as judge_run
from kipviz.checking.single_run.saving_decisions import under
from kipviz.checking.single_run.violation import Breaking, breaking
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.design import Design, slot_named
from kipviz.designs.options.options import SLOTS
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.library import searched_scenario

STATES_MAX = 30_000
DECISIONS_MAX = 3
ANY, IS = "any", "="

# Called with (design, states, depth) of a search; if it returns False, everything stops.
Told = Callable[[str, int, int], bool]


class RepairQuestion(Value, frozen=True):
    """The question: with which decisions of `other` does `design` keep its properties?

    `other` is a design's name, several with commas between them, or "any" for every option of every slot. The name of a
    decision is its slot if there is one other design, else SLOT=OPTION. `properties` are names of properties; if empty,
    all properties are judged. `faults` is the fault budget of the search. No set has more than `decisions_max`
    decisions, and no search visits more than `states_max` states.
    """

    scenario: str
    design: str
    other: str = "repaired"
    faults: FaultBudget = FaultBudget()
    properties: tuple[str, ...] = ()
    decisions_max: int = DECISIONS_MAX
    states_max: int = STATES_MAX

    @property
    def others(self) -> tuple[str, ...]:
        """The designs that lend decisions; empty for every known option."""
        return () if self.other == ANY else tuple(name.strip() for name in self.other.split(","))

    @property
    def words(self) -> str:
        """The designs whose decisions are tried, in words."""
        return "all options" if not self.others else " and ".join(self.others)

    def slots(self) -> tuple[str, ...]:
        """Return the names of the decisions that differ in the other designs and matter in this cluster.

        Raises:
            ValueError: if the scenario or a design is unknown.
        """
        spec = searched_scenario(self.scenario).spec
        design, others = design_named(self.design), tuple(map(design_named, self.others))
        found: list[str] = []
        for slot in SLOTS:
            if not slot.arises_in(spec):
                continue
            own = design.option(slot.name).name
            options = [other.option(slot.name) for other in others] or design.options(slot)
            names = dict.fromkeys(option.name for option in options if option.name != own)
            found += [slot.name if len(others) == 1 else f"{slot.name}{IS}{name}" for name in names]
        return tuple(found)

    def fill(self, decisions: Sequence[str]) -> Design:
        """Return the design with the given decisions of the other designs."""
        return design_named(self.design).but(**dict(map(self._option, decisions)))

    def sentence_of(self, decision: str) -> str:
        """Return the sentence of a decision's option."""
        slot, option = self._option(decision)
        of = (design_named(self.design), *map(design_named, self.others))
        options = (each for design in of for each in design.options(slot_named(slot)))
        return next(each.sentence for each in options if each.name == option)

    def _option(self, decision: str) -> tuple[str, str]:
        slot, _, option = decision.partition(IS)
        return slot, option or design_named(self.others[0]).option(slot).name


class Attempt(msgspec.Struct, frozen=True, eq=False):
    """One set of decisions, and its verdict.

    `verdict` is "holds", "breaks" or "not decided". `states` is the number of states searched, 0 if a known run
    decided. `why` is the reason why a search ended early. If a property breaks, `property_name` names it, `run` is a run that
    breaks it, and `step` is the step at which it breaks.
    """

    slots: tuple[str, ...]
    design: str
    verdict: str
    states: int = 0
    why: str = ""
    property_name: str = ""
    step: int = 0
    run: Run | None = None

    def find_break(self) -> Breaking:
        """Return the violating run, cut at the step where the property breaks.

        Raises:
            LookupError: if nothing breaks.
        """
        if self.run is None:
            raise LookupError(f"nothing breaks under {self.design}")
        return breaking(self.run, self.property_name)

    @property
    def words(self) -> str:
        """The verdict and the way it was found, in words."""
        if self.run is not None:
            made = f"{self.states:,} states" if self.states else "a known run, replayed"
            return f"breaks after {self.step}: {self.property_name} ({made})"
        return f"{self.verdict} ({self.states:,} states{self.why})"


class Repair(msgspec.Struct, frozen=True, eq=False):
    """The sets that were tried; `whole` is False if the work was cancelled."""

    question: RepairQuestion
    slots: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    whole: bool = True

    @property
    def repairs(self) -> tuple[Attempt, ...]:
        """The sets that keep the properties; all have the same size."""
        return tuple(each for each in self.attempts if each.slots and each.verdict == HOLDS)

    @property
    def undecided(self) -> tuple[Attempt, ...]:
        """The sets that could not be decided within the limit of states."""
        return tuple(each for each in self.attempts if each.verdict == NOT_DECIDED)

    @property
    def sentence(self) -> str:
        """The answer in words: which sets repair the design, and exactly what was tried."""
        asked = self.question
        where = f"{asked.scenario}, {budget_words(asked.faults) or 'no fault'}"
        if not self.attempts:
            return f"{where}: no search was completed."
        if self.attempts[0].verdict == HOLDS:
            return f"{where}: {asked.design} keeps every property that was judged; there is nothing to repair."
        size = len(self.attempts[-1].slots)
        if self.repairs:
            one = " + ".join(self.repairs[0].slots)
            others = len(self.repairs) - 1
            also = f", and so do {others} other sets of that size" if others else ""
            as_in = f", filled as in {asked.other}," if len(asked.others) == 1 else ""
            found = f"{one}{as_in} repairs {asked.design}{also}"
            rest = _rest(size - 1, self.undecided)
        else:
            differ = f"{asked.words} {'differs' if len(asked.others) == 1 else 'differ'}"
            found = f"no set of up to {size} of the {len(self.slots)} decisions in which {differ} repairs {asked.design}"
            rest = _rest(0, self.undecided)
        stopped = "" if self.whole else " Stopped: the sets after the last attempt were not tried."
        return f"{where}: {found}.{rest}{stopped}"


def _rest(size: int, undecided: Sequence[Attempt]) -> str:
    smaller = " Every smaller set was tried, and none holds." if size else ""
    if undecided:
        smaller += (
            f" {len(undecided)} of the sets tried are not decided within the limit of states."
        )
    return smaller


def repair(question: RepairQuestion, progress: Told | None = None) -> Repair:
    """Try sets of decisions, smallest first, and stop after the first size that contains a repair.

    Raises:
        ValueError: for an unknown name, or an invalid number.
    """
    going = True

    def report_states(design: str, states: int, depth: int) -> bool:
        nonlocal going
        going = progress is None or progress(design, states, depth)
        return going

    slots = question.slots()
    attempts = tuple(_attempts(question, slots, report_states))
    return Repair(question, slots, attempts, whole=going)


def _attempts(question: RepairQuestion, slots: tuple[str, ...], told: Told) -> Iterator[Attempt]:
    if type(question.decisions_max) is not int or question.decisions_max < 1:
        raise ValueError(
            f"decisions_max must be a whole number of at least 1, not {question.decisions_max!r}"
        )
    asked = tuple(map(property_named, question.properties)) or EVERY_PROPERTY
    known: list[Breaking] = []
    for size in range(min(len(slots), question.decisions_max) + 1):
        enough = False
        for chosen in combinations(slots, size):
            if len({decision.partition(IS)[0] for decision in chosen}) < size:
                continue  # a slot can have one option only
            candidate = question.fill(chosen)
            if not told(candidate.name, 0, 0):
                return
            refuted = _find_refutation(known, chosen, candidate)
            if refuted is not None:
                yield refuted
                continue
            bounds = Bounds(states_max=question.states_max, breaks_max=1)
            judged = judge(
                question.scenario,
                candidate.name,
                question.faults,
                bounds,
                partial(told, candidate.name),
                asked,
            )
            if judged.explored.cancelled:
                return
            attempt = _attempt(chosen, candidate, judged)
            if attempt.run is not None:
                known.insert(0, attempt.find_break())
            enough = enough or attempt.verdict == HOLDS
            yield attempt
        if enough:
            return


def _attempt(chosen: tuple[str, ...], candidate: Design, judged: DesignVerdicts) -> Attempt:
    explored = judged.explored
    for cell in judged.cells:
        if cell.fails:
            scenario = scenario_named(judged.scenario)
            run = follow_found(scenario, candidate, judged.budget, cell.actions)
            steps = len(cell.actions)
            return Attempt(
                chosen, candidate.name, BREAKS, explored.states, "", cell.asked, steps, run
            )
    if explored.complete and not explored.undecided:
        return Attempt(chosen, candidate.name, HOLDS, explored.states)
    why = f"; {explored.stopped}" if explored.stopped else ""
    return Attempt(chosen, candidate.name, NOT_DECIDED, explored.states, why)


def _find_refutation(
    known: list[Breaking], chosen: tuple[str, ...], candidate: Design
) -> Attempt | None:
    """Replay the known runs; the first that also breaks its property here is tried first from now on."""
    for at, made in enumerate(known):
        again = replay_under(made, candidate)
        if again is not None and not again[1].blame:
            known.insert(0, known.pop(at))
            run, judged = again
            return Attempt(chosen, candidate.name, BREAKS, 0, "", made.broken, judged.step, run)
    return None


def replay_under(made: Breaking, candidate: Design) -> tuple[Run, Judgement] | None:
    """Replay a violating run under another design, as far as its steps are possible there.

    Return the run and its verdict, or None if the property does not break.
    """
    try:
        other, _ = under(made, candidate)
        (judged,) = judge_run(other, (property_named(made.broken),))
    except Exception:  # noqa: BLE001  incompatible slots are for the search to report
        return None
    return (other, judged) if judged.status == BROKEN else None
