"""Which single decision would have prevented the violation in a run?

Every slot of the design is filled with every other option, one at a time, and the same run is replayed as far as
possible (`checking.single_run.alternative_run`). Steps of a person and faults keep their place; steps of the cluster
itself may come earlier or later. Then the run continues until nothing is left to do, and is judged.

A decision that saves this run may not save others. So if the state space is small, each such decision is also searched,
and both answers are shown side by side.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.checking.judging.verdicts import BREAKS, NOT_DECIDED, cells_of, property_named
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.alternative_run import Course, Missing, rest_of
from kipviz.checking.single_run.runs import Run, judge
from kipviz.checking.single_run.violation import Breaking
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.design import Design
from kipviz.designs.options.options import KAFKAS_OWN, SLOTS, Option, Slot
from kipviz.properties.verdict import BROKEN, HOLDS, PENDING
from kipviz.scenarios.scenario import PROPERTIES

NOT_SEARCHED = "not searched"
FAILS = "the model failed"
_WORDS = {HOLDS: "holds", BROKEN: BREAKS, PENDING: NOT_DECIDED}

Told = Callable[[str, int, int], bool]


class SavingDecision(Value, frozen=True):
    """One slot with another option, and the verdict on the run under it.

    `verdict` is "holds", "breaks" or "not decided" for this run, or "the model failed". `missing` are the old steps
    that are no longer possible. `searched` is the result of an exhaustive search of the same cluster, faults and this
    design, in words, and `searched_verdict` its verdict.
    """

    slot: str
    option: str
    sentence: str
    design: str
    verdict: str
    reason: str = ""
    missing: tuple[Missing, ...] = ()
    searched: str = NOT_SEARCHED
    searched_verdict: str = NOT_SEARCHED

    @property
    def saves(self) -> bool:
        """Whether the property holds in this run."""
        return self.verdict == _WORDS[HOLDS]


def decisions(
    made: Breaking,
    bounds: Bounds | None = None,
    progress: Told | None = None,
) -> tuple[SavingDecision, ...]:
    """Try every other option of every slot alone; with `bounds`, search those that save the run, until one breaks.

    `progress` gets (design, states, depth) of each search; if it returns False, the remaining decisions are not
    searched.
    """
    going = True
    found = []
    for slot, option in _others(made.run.design, made.run.scenario.spec):
        decision = _judge_decision(made, slot, option)
        if decision.saves and bounds is not None and going:

            def report_states(states: int, depth: int, name: str = decision.design) -> bool:
                nonlocal going
                going = progress is None or progress(name, states, depth)
                return going

            model = made.run.scenario.model(
                made.run.design.but(**{slot.name: option.name}), made.run.budget
            )
            asked = (property_named(made.broken),)
            explored = Search(model, asked).run(bounds.but(breaks_max=1), report_states)
            (cell,) = cells_of(explored, asked, model.spec)
            decision = decision.but(
                searched=f"{cell.words}, {explored.states:,} states", searched_verdict=cell.verdict
            )
        found.append(decision)
    return tuple(found)


def under(made: Breaking, design: Design) -> tuple[Run, tuple[Missing, ...]]:
    """Replay the run under another design; also return the steps that are no longer possible."""
    run = made.run
    model = run.scenario.model(design, run.budget)
    course = Course(model, Trace.start(model, PROPERTIES))
    missing = course.follow(rest_of(run.trace, run.trace.line, 0))
    return Run(run.scenario, design, model, course.trace, settings=run.settings), missing


def _others(design: Design, spec: ClusterSpec) -> list[tuple[Slot, Option]]:
    """Return the other options of each slot; for a design without staging only those of Kafka's own rules."""
    return [
        (slot, option)
        for slot in SLOTS
        if design.stages_shares or slot.finding == KAFKAS_OWN
        if slot.arises_in(spec)
        for option in slot.options
        if option.name != design.choices[slot.name]
    ]


def _judge_decision(made: Breaking, slot: Slot, option: Option) -> SavingDecision:
    design = made.run.design.but(**{slot.name: option.name})
    decision = SavingDecision(slot.name, option.name, option.sentence, design.name, FAILS)
    try:
        other, missing = under(made, design)
        (judged,) = judge(other, (property_named(made.broken),))
    except Exception as error:  # noqa: BLE001  incompatible slots are an answer
        return decision.but(reason=f"{type(error).__name__}: {error}".splitlines()[0])
    return decision.but(verdict=_WORDS[judged.status], reason=judged.reason, missing=missing)
