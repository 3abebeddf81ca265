"""Which single decision saves this run?

Every slot of the design is filled with every other option, one at a time, and the same run is made
again as far as it goes (`checking.single_run.alternative_run`): what a person or an accident did keeps its place, what
the cluster does by itself may come earlier or later. Then it comes to rest and is judged.

A decision that saves this course need not save others. So where the space is small, each one that
does is searched as well, and both answers stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.checking.judging.verdicts import BREAKS, cells_of, property_named
from kipviz.checking.search.explore import Search
from kipviz.checking.search.search_result import Bounds
from kipviz.checking.single_run.alternative_run import Course, Missing, rest_of
from kipviz.checking.single_run.runs import Run, judge
from kipviz.checking.single_run.violation import Breaking
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.core.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.design import Design, comes_up
from kipviz.designs.options import KAFKAS_OWN, SLOTS, Option, Slot
from kipviz.properties.verdict import BROKEN, HOLDS, PENDING
from kipviz.scenarios.scenario import PROPERTIES

NOT_SEARCHED = "not searched"
FAILS = "the model failed"
_WORDS = {HOLDS: "holds", BROKEN: BREAKS, PENDING: "not decided"}

Told = Callable[[str, int, int], bool]


class Decision(Value, frozen=True):
    """One slot filled otherwise, and what becomes of the run then.

    `verdict` is "holds", "breaks" or "not decided" on this course, or "the model failed";
    `missing` are the old steps that are not possible any more. `searched` is what an exhaustive
    search says of the same cluster, the same faults and this design, in words.
    """

    slot: str
    option: str
    sentence: str
    design: str
    verdict: str
    reason: str = ""
    missing: tuple[Missing, ...] = ()
    searched: str = NOT_SEARCHED

    @property
    def saves(self) -> bool:
        """Whether the promise holds on this course."""
        return self.verdict == _WORDS[HOLDS]


def decisions(
    made: Breaking,
    bounds: Bounds | None = None,
    progress: Told | None = None,
) -> tuple[Decision, ...]:
    """Try every other option of every slot alone; with `bounds`, search those that save the run, until one breaks.

    `progress` gets (design, states, depth) of each search; when it gives False, the decisions
    behind it are not searched any more.
    """
    going = True
    found = []
    for slot, option in _others(made.run.design, made.run.scenario.spec):
        decision = _tried(made, slot, option)
        if decision.saves and bounds is not None and going:

            def told(states: int, depth: int, name: str = decision.design) -> bool:
                nonlocal going
                going = progress is None or progress(name, states, depth)
                return going

            model = made.run.scenario.model(
                made.run.design.but(**{slot.name: option.name}), made.run.budget
            )
            asked = (property_named(made.broken),)
            explored = Search(model, asked).run(bounds.but(breaks_max=1), told)
            (cell,) = cells_of(explored, asked, model.spec)
            decision = decision.but(searched=f"{cell.words}, {explored.states:,} states")
        found.append(decision)
    return tuple(found)


def under(made: Breaking, design: Design) -> tuple[Run, tuple[Missing, ...]]:
    """Make the run again under another design; give what is not possible any more, too."""
    run = made.run
    model = run.scenario.model(design, run.budget)
    course = Course(model, Trace.start(model, PROPERTIES))
    missing = course.follow(rest_of(run.trace, run.trace.line, 0))
    return Run(run.scenario, design, model, course.trace, settings=run.settings), missing


def _others(design: Design, spec: ClusterSpec) -> list[tuple[Slot, Option]]:
    """Give what could be decided otherwise; a design without staging has only Kafka's own rules."""
    return [
        (slot, option)
        for slot, chosen in zip(SLOTS, design.chosen, strict=True)
        if design.stages_shares or slot.finding == KAFKAS_OWN
        if comes_up(slot, spec)
        for option in slot.options
        if option.name != chosen
    ]


def _tried(made: Breaking, slot: Slot, option: Option) -> Decision:
    design = made.run.design.but(**{slot.name: option.name})
    decision = Decision(slot.name, option.name, option.sentence, design.name, FAILS)
    try:
        other, missing = under(made, design)
        (judged,) = judge(other, (property_named(made.broken),))
    except Exception as error:  # noqa: BLE001  slots that do not go together are an answer
        return decision.but(reason=f"{type(error).__name__}: {error}".splitlines()[0])
    return decision.but(verdict=_WORDS[judged.status], reason=judged.reason, missing=missing)
