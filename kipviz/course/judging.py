"""The judge of a lab: which goals a learner's own run reaches, and which are missing.

Only the run is judged, with its scenario, design and settings. So its permalink always has the same result.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.checking.judging.budgets import budget_of
from kipviz.checking.search.explore import explore
from kipviz.checking.single_run.runs import Run, judge_to_the_end
from kipviz.cluster.behaviour.catalogue import BEHAVIOUR_OF
from kipviz.core.values import Value
from kipviz.course.lab import Goal, Lab
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.design import Design
from kipviz.designs.former_names import current_slot
from kipviz.designs.options.options import SLOTS
from kipviz.lessons.goals import goal_named
from kipviz.lessons.moment import Moment
from kipviz.lessons.own_story import story
from kipviz.properties.verdict import BROKEN
from kipviz.records.batches import COMMIT
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.scenarios.library import document_of
from kipviz.scenarios.scenario import Scenario
from kipviz.scenarios.setting_changes import SEARCHED, searched_under

# More states than the search of any right answer has; a longer search does not pass.
STATES_MAX = 12_000
# The entry of a lab which allows the program to be changed, besides settings.
PROGRAM = "program"


class JudgedGoal(Value, frozen=True):
    """A goal, whether the run reaches it, and a sentence about what was seen."""

    goal: Goal
    reached: bool
    why: str


class RunResult(Value, frozen=True):
    """The result of judging a run.

    Attributes:
        lab: the lab's name.
        refused: why the run is no answer to this lab, "" if it is one.
        judged: the goals in order.
    """

    lab: str
    refused: str
    judged: tuple[JudgedGoal, ...]

    @property
    def reached(self) -> int:
        """The number of goals that are reached; 0 for a run that is no answer to the lab."""
        return 0 if self.refused else sum(each.reached for each in self.judged)

    @property
    def solved(self) -> bool:
        """Whether every goal is reached."""
        return not self.refused and all(each.reached for each in self.judged)

    @property
    def text(self) -> str:
        """The result in lines: which goals are reached, and which are missing."""
        if self.refused:
            return f"{self.lab}: this run is no answer to the lab. {self.refused}"
        lines = [f"{self.lab}: {self.reached} of {len(self.judged)} goals"]
        for each in self.judged:
            sign = "reached" if each.reached else "MISSING"
            lines.append(f"  {sign}  {each.goal.text}: {each.why}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the lines."""
        return self.text


def judge(lab: Lab, run: Run) -> RunResult:
    """Judge a run up to the end of its current branch."""
    run = run.at(run.trace.last())
    refused = _why_no_answer(lab, run)
    if refused:
        return RunResult(
            lab.name, refused, tuple(JudgedGoal(g, False, "not judged") for g in lab.goals)
        )
    judged: list[JudgedGoal] = []
    for goal in lab.goals:
        if goal.kind == "search" and not all(each.reached for each in judged):
            judged.append(
                JudgedGoal(goal, False, "not searched before the goals above are reached")
            )
        else:
            judged.append(_judge_goal(lab, goal, run))
    return RunResult(lab.name, "", tuple(judged))


# -- is it an answer at all? -----------------------------------------------------------------------


def _why_no_answer(lab: Lab, run: Run) -> str:
    """Return why a run is no answer to the lab; "" if it is one."""
    if run.changes:
        return f"The run came out differently than when it was saved: {run.changes[0]}."
    if run.error:
        return f"The model failed on it: {run.error}."
    wrong = _why_no_scenario(lab, run)
    if wrong:
        return wrong
    design = design_named(lab.design)
    if _beside_slots(run.design) != _beside_slots(design):
        return f"It is played under {run.design.name}, and the lab under {lab.design}."
    own = [change for change in run.settings if _name(change) not in _slots()]
    given = [change for change in lab.settings if _name(change) not in _slots()]
    if [change for change in own if change in given][: len(given)] != given:
        return f"The lab is played with {', '.join(given)}."
    for name in changes(lab, run):
        if not any(fnmatchcase(name, allowed) for allowed in lab.may_change):
            allowed = ", ".join(lab.may_change) or "nothing"
            return f"The setting {name} was changed. This lab allows to change {allowed}."
    return ""


def _why_no_scenario(lab: Lab, run: Run) -> str:
    if run.scenario.name != lab.scenario:
        return f"The run is of {run.scenario.name}, and the lab is about {lab.scenario}."
    if not lab.document:
        carried = document_of(run.scenario)
        return "The run is of another story of that name." if carried else ""
    given = story(lab.document).scenario
    given = given.searched if SEARCHED in run.settings else given
    if _without_programs(run.scenario) != _without_programs(given):
        return "The cluster, its applications and the steps are not those of the lab."
    programs = [[app.program for app in one.spec.applications] for one in (given, run.scenario)]
    if PROGRAM not in lab.may_change and programs[0] != programs[1]:
        return "The program is not the one of the lab."
    return ""


def _without_programs(scenario: Scenario) -> tuple[object, ...]:
    spec = scenario.spec
    apps = tuple(app.but(program=()) for app in spec.applications)
    return (apps, spec.but(applications=()), [beat.steps for beat in scenario.beats])


def _beside_slots(design: Design) -> tuple[object, ...]:
    return (design.stages_shares, design.sessions, design.levels)


def _slots() -> tuple[str, ...]:
    return tuple(slot.name for slot in SLOTS)


def _name(change: str) -> str:
    return current_slot(change.partition("=")[0].strip())


def changes(lab: Lab, run: Run) -> tuple[str, ...]:
    """Return the names of the learner's changes: settings, and slots of the design."""
    before, after = design_named(lab.design), run.design
    slots = [slot for slot, _, _ in after.differs_from(before)]
    # A run that a search found is of the cluster on which searches run: no change of the learner.
    own = [change for change in run.settings if change != SEARCHED]
    for given in lab.settings:
        if given in own:
            own.remove(given)
    settings = [_name(change) for change in own if _name(change) not in _slots()]
    return tuple(dict.fromkeys((*slots, *settings)))


# -- the goals -------------------------------------------------------------------------------------


def _judge_goal(lab: Lab, goal: Goal, run: Run) -> JudgedGoal:
    match goal.kind:
        case "reached":
            return _judge_reached(goal, run)
        case "committed":
            return _judge_committed(goal, run)
        case "holds" | "breaks":
            return _property(goal, run)
        case "faults":
            return _faults(goal, run)
        case "changes":
            made = changes(lab, run)
            why = ", ".join(made) or "nothing was changed"
            return JudgedGoal(goal, 0 < len(made) <= int(goal.about), why)
        case _:
            return _judge_search(goal, run)


def _judge_reached(goal: Goal, run: Run) -> JudgedGoal:
    holds = goal_named(goal.about)
    nodes = [run.trace.node(node) for node in run.trace.line]
    actions = [node.action for node in nodes[1:]]
    for step, node in enumerate(nodes):
        if holds(Moment(node.world, node.events, actions[:step])):
            return JudgedGoal(goal, True, f"at step {step}")
    steps = len(nodes) - 1
    return JudgedGoal(
        goal, False, f"at none of {steps} steps" if steps else "the run has no step yet"
    )


def _judge_committed(goal: Goal, run: Run) -> JudgedGoal:
    logs: list[tuple[str, PartitionLog]] = [
        (name, log)
        for name, log in run.trace.world.logs.items()
        if topic_of(name) not in INTERNAL_TOPICS
    ]
    for name, log in logs:
        if any(batch.control == COMMIT for batch in log.batches):
            return JudgedGoal(goal, True, f"{name} has a COMMIT marker")
    return JudgedGoal(goal, False, "no output has a COMMIT marker at the end of the run")


def _property(goal: Goal, run: Run) -> JudgedGoal:
    broken = [each for each in judge_to_the_end(run) if each.status == BROKEN]
    if goal.kind == "breaks":
        why = broken[0].reason if broken else "no property is violated in this run"
        return JudgedGoal(goal, bool(broken), why)
    return JudgedGoal(goal, not broken, broken[0].reason if broken else "no property is broken")


def _faults(goal: Goal, run: Run) -> JudgedGoal:
    nodes = [run.trace.node(node) for node in run.trace.line]
    count = sum(bool(BEHAVIOUR_OF[type(node.action)].spends) for node in nodes[1:])
    return JudgedGoal(goal, count <= int(goal.about), f"the run has {count}")


def _judge_search(goal: Goal, run: Run) -> JudgedGoal:
    story = searched_under(run.scenario, run.settings)
    model = story.model(run.design, budget_of(goal.about))
    found = explore(model, states_max=STATES_MAX)
    if found.counterexamples:
        first = min(found.counterexamples, key=lambda each: len(each.actions))
        return JudgedGoal(goal, False, f"{first.reason} (after {len(first.actions)} steps)")
    why = f"{found.states:,} states were searched"
    return JudgedGoal(goal, found.complete, why if found.complete else f"{why}, which are not all")
