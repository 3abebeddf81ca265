"""How a finding of a review is demonstrated alone: by a run, by a count, or by the reason why there is none.

A finding that a design can have is searched: a design with what the text says, and the shortest run that breaks a
property. One that every design has is looked for in a story. One that is about numbers is counted. One that is about
the words alone, or needs what the model lacks, says so. Nothing here states a result: `show_finding` computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec

from kipviz.checking.judging.budgets import budget_of, budget_words
from kipviz.checking.judging.verdicts import BREAKS, NOT_DECIDED, property_named
from kipviz.checking.search.explore import ProgressTold, Search
from kipviz.checking.search.search_result import Bounds, Counterexample, Explored
from kipviz.checking.single_run import runs
from kipviz.checking.single_run.runs import Run
from kipviz.checking.single_run.timers_ran import TimersRan, all_timers_ran
from kipviz.cluster.model import ClusterModel
from kipviz.core.model import Outcome
from kipviz.core.values import Value
from kipviz.designs.catalogue import KAFKA, REPAIRED
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.design import Design
from kipviz.properties.pending import NothingPending
from kipviz.properties.verdict import BROKEN, Property, title_of
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.studies.review_findings.story_predicates import Look

# Called while findings are computed: the finding, and the progress of its search.
FindingTold = Callable[[str, int, int], bool]

SMALL = "kip-1289-small"
# The option of the slot lock_expiry that is KIP-1289's corner case 6.
ITS_LOCK = "back_to_available"
LIVE = NothingPending.name
NOT_BROKEN, BREAKS_PLAYED = "breaks nothing", "breaks in the story"
# A design with more differences than this is described by its name.
NAMED_MAX = 7
SEEN, COUNTED, TEXT, NEEDS = "seen", "counted", "text only", "not in the model"


class BySearch(Value, frozen=True):
    """A sentence with numbers that searches count; they report progress, and can be stopped."""

    count: Callable[[ProgressTold | None], str]


class Finding(Value, frozen=True):
    """One finding: what the text says, what is wrong, and how it is demonstrated.

    `property_name` is a property, searched in `scenario` under `design` with `faults`, or with `played` only along the story
    itself. `look` is a predicate on the story. `counting` returns a sentence with numbers. `against` names the texts
    that contradict each other. `because` is the reason why there is no run: the finding is about the text alone, or,
    with `needs`, about what the model lacks.
    """

    name: str
    says: str
    clause: str
    matter: str
    design: str = ""
    scenario: str = SMALL
    faults: str = ""
    property_name: str = ""
    look: Look | None = None
    counting: Callable[[], str] | BySearch | None = None
    because: str = ""
    needs: bool = False
    against: str = ""
    played: bool = False

    @property
    def slots(self) -> str:
        """The decisions in which the text differs from the repaired design, or from released Kafka, in words."""
        if not self.design:
            return ""
        chosen = design_named(self.design)
        base = REPAIRED if chosen.stages_shares else KAFKA
        differs = [f"{slot}={mine}" for slot, mine, _ in chosen.differs_from(base)]
        differs += [f"{name}={level}" for name, level in chosen.levels]
        return ", ".join(differs) if len(differs) <= NAMED_MAX else f"all of {chosen.name}"


class FindingResult(msgspec.Struct, frozen=True, eq=False):
    """The result of a finding: a word, what was found, and the run that demonstrates it, if there is one.

    `with_its_lock` is the result of the same search if an acquisition lock that expires releases a staged record, as in
    the text of KIP-1289. It shows whether the finding depends on our rule that it does not. `its_lock_verdict` is the
    verdict of that search, "" if nothing breaks in it. `timers` are those that expired in its searches.
    """

    finding: Finding
    verdict: str
    reason: str
    run: Run | None = None
    states: int = 0
    with_its_lock: str = ""
    its_lock_verdict: str = ""
    timers: TimersRan = TimersRan()

    @property
    def steps(self) -> int:
        """The number of steps of the run."""
        return self.run.trace.last().depth if self.run is not None else 0

    @property
    def words(self) -> str:
        """The verdict in words: "breaks after 21 steps"."""
        return f"{self.verdict} after {self.steps} steps" if self.run is not None else self.verdict


def show_finding(
    finding: Finding,
    bounds: Bounds = Bounds(),  # noqa: B008  a value never changes
    progress: ProgressTold | None = None,
) -> FindingResult:
    """Compute the result of a finding."""
    if finding.property_name and finding.played:
        return _play_to_break(finding)
    if finding.property_name:
        return _search_finding(finding, bounds, progress)
    if finding.look is not None:
        return _play_to_moment(finding, finding.look)
    if isinstance(finding.counting, BySearch):
        return FindingResult(finding, COUNTED, finding.counting.count(progress))
    if finding.counting is not None:
        return FindingResult(finding, COUNTED, finding.counting())
    return FindingResult(finding, NEEDS if finding.needs else TEXT, finding.because)


def demonstrate_all(
    findings: Iterable[Finding], progress: FindingTold | None = None
) -> Iterator[FindingResult]:
    """Compute findings one by one; `progress` is called for each one and its search, and can stop them."""
    for finding in findings:
        if progress is None:
            yield show_finding(finding)
        elif progress(finding.name, 0, 0):
            yield show_finding(finding, progress=partial(progress, finding.name))
        else:
            return


def first_break(
    model: ClusterModel,
    prop: Property,
    bounds: Bounds = Bounds(),  # noqa: B008  a value never changes
    progress: ProgressTold | None = None,
) -> tuple[Counterexample | None, Explored]:
    """Search breadth first until a property breaks: the first run found is a shortest one."""
    search = Search(model, (prop,))
    explored = search.run(bounds.but(breaks_max=1), progress)
    return search.found.get(prop.name), explored


def _search_finding(
    finding: Finding, bounds: Bounds, progress: ProgressTold | None
) -> FindingResult:
    story, chosen = scenario_named(finding.scenario), design_named(finding.design)
    budget = budget_of(finding.faults)
    prop = property_named(finding.property_name)
    found, explored = first_break(story.searched.model(chosen, budget), prop, bounds, progress)
    if found is not None:
        run = runs.follow_found(story, chosen, budget, found.actions)
        verdict, its, again = _with_its_lock(finding, chosen, bounds, progress)
        ran = all_timers_ran((explored.timers, again))
        return FindingResult(finding, BREAKS, found.reason, run, explored.states, its, verdict, ran)
    ran = explored.timers
    if not explored.complete or explored.undecided:
        return FindingResult(
            finding, NOT_DECIDED, explored.sentence, states=explored.states, timers=ran
        )
    where = budget_words(budget) or "no fault"
    all_of = f"every interleaving of {finding.scenario}, {where}: {explored.states:,} states"
    reason = f"{finding.because} ({all_of})" if finding.because else all_of
    return FindingResult(finding, NOT_BROKEN, reason, states=explored.states, timers=ran)


def _with_its_lock(
    finding: Finding, chosen: Design, bounds: Bounds, progress: ProgressTold | None
) -> tuple[str, str, TimersRan]:
    """Return the verdict with KIP-1289's own rule for an expired lock (corner case 6), its words and the expired timers.

    Both the property and "atomic" are judged at once: a broken state is followed no further, because a record that is
    delivered twice would be delivered again and again.
    """
    if not chosen.stages_shares or chosen.option("lock_expiry").name == ITS_LOCK:
        return "", "", TimersRan()
    scenario, budget = searched_scenario(finding.scenario), budget_of(finding.faults)
    model = scenario.model(chosen.but(lock_expiry=ITS_LOCK), budget)
    asked = dict.fromkeys((property_named(finding.property_name), PROPERTIES[0]))
    search = Search(model, tuple(asked))
    # The search ends with the first run that breaks the property; other continuations do not matter here.
    explored = search.run(bounds.but(breaks_max=1), progress)
    if search.found and finding.property_name not in search.found:
        explored = search.run(bounds.but(breaks_max=len(asked)), progress)
    return *_verdict_with_its_lock(finding, search, explored), explored.timers


def _verdict_with_its_lock(finding: Finding, search: Search, explored: Explored) -> tuple[str, str]:
    found = search.found.get(finding.property_name)
    if found is not None:
        return BREAKS, f"breaks as well, after {len(found.actions)} steps"
    if not explored.complete:
        return NOT_DECIDED, f"not decided: {explored.sentence}"
    instead = search.found.get(PROPERTIES[0].name)
    states = f"{explored.states:,} states"
    if explored.undecided:
        states = f"{states}, {explored.undecided} of them undecided"
    needs = (
        f"depends on our lock rule: “{title_of(finding.property_name)}” does not break ({states})"
    )
    if instead is None:
        return "", needs
    return (
        BREAKS,
        f"{needs}; “{title_of(instead.property)}” breaks after {len(instead.actions)} steps: {instead.reason}",
    )


def _play_to_moment(finding: Finding, look: Look) -> FindingResult:
    """Play the story up to the first moment that the predicate recognises."""
    run = runs.play_searched(finding.scenario, finding.design)
    for step, number in enumerate(run.trace.line):
        node = run.trace.node(number)
        if look(node.world, node.events):
            return FindingResult(finding, SEEN, finding.matter, _cut_run(run, step))
    return FindingResult(
        finding, NOT_BROKEN, f"the story {finding.scenario} never reaches such a moment"
    )


def _play_to_break(finding: Finding) -> FindingResult:
    """Play the story up to the first moment at which its property is broken."""
    run, prop = (
        runs.play_searched(finding.scenario, finding.design),
        property_named(finding.property_name),
    )
    state = prop.initial(run.trace.node(0).world)
    for step, number in enumerate(run.trace.line):
        node = run.trace.node(number)
        if step:
            state = prop.observe(state, node.action, Outcome(node.world, node.events))
        found = prop.finding(state)
        if found.status == BROKEN:
            return FindingResult(finding, BREAKS_PLAYED, found.reason, _cut_run(run, step))
    return FindingResult(finding, NOT_BROKEN, f"the property holds in the story {finding.scenario}")


def _cut_run(run: Run, step: int) -> Run:
    """Return the run that ends at a step of another one."""
    actions = tuple(run.trace.node(number).action for number in run.trace.line[1 : step + 1])
    return runs.follow(run.scenario, run.design, run.budget, actions, run.settings)
