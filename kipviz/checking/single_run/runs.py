"""A run and what it was made from: a story, a seed, a search, or a file of one of these.

A trace alone does not contain its scenario or its seed. Code that shows, saves or judges a whole run uses this module,
so the command line and the notebook open the same run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec

from kipviz.checking.judging.budgets import counts_of
from kipviz.checking.search.liveness import FOR_EVER, SETTLES, UNDECIDED, settle
from kipviz.checking.single_run.alternative_run import HeldAction, Missing
from kipviz.checking.single_run.continuation import breaks_later
from kipviz.checking.single_run.learner_record import BY_ID, NOTHING, Learned
from kipviz.checking.single_run.quiescence import raise_budget
from kipviz.checking.single_run.seeded_run import Task, moments, replay_model
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.model import Outcome
from kipviz.core.traces import tracefile
from kipviz.core.traces.trace import Trace
from kipviz.core.traces.tracefile import Loaded, TraceFileError
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.catalogue import to_propose
from kipviz.designs.design import Design
from kipviz.designs.slot import UnknownDesign
from kipviz.properties.verdict import BROKEN, HOLDS, PENDING, Property
from kipviz.scenarios import served_scenario
from kipviz.scenarios.applications.program_faults import blame_for_harm
from kipviz.scenarios.library import carried, changed_since, document_of
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import PROPERTIES, Scenario, properties_of
from kipviz.scenarios.script import Chapter
from kipviz.scenarios.served_scenario import ServedScenario
from kipviz.scenarios.setting_changes import (
    apply_changes,
    change_story,
    settings_of_search,
    under,
)


class KeptLine(Value, frozen=True):
    """A branch that a reader made: where it ends, which branch it leaves, and what the reader changed.

    `parent` is the index of its parent among the kept branches, -1 for the main one. `tree` is the number of its run, 0
    for the first; `tip` is its last node there.
    """

    name: str
    parent: int
    tree: int
    tip: int
    said: str = ""
    held: tuple[HeldAction, ...] = ()
    missing: tuple[Missing, ...] = ()


class Run(msgspec.Struct, frozen=True, eq=False):
    """A trace with its scenario, its design and, for a seeded run, its task.

    `chapters` are the big steps of the main run, the trace's first branch. `error` is the model's error if it ended the
    run early. `changes` state how a run from a file came out differently. A new run stands at its start.

    `others` are the same run replayed with other settings; `settings` are those changes. `lines` are the reader's
    branches of all of them, the main branch first, and `line` is the one on which the reader stands; an untouched run
    has none. `learned` are the reader's answers.
    """

    scenario: Scenario
    design: Design
    model: ClusterModel
    trace: Trace
    chapters: tuple[Chapter, ...] = ()
    task: Task | None = None
    error: str = ""
    changes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    others: tuple[Run, ...] = ()
    lines: tuple[KeptLine, ...] = ()
    line: int = 0
    learned: Learned = NOTHING

    @property
    def trees(self) -> tuple[Run, ...]:
        """The run, followed by the same run replayed with other settings."""
        return (self, *self.others)

    @property
    def budget(self) -> FaultBudget:
        """The fault budget of this run at its start."""
        budget: FaultBudget = self.trace.node(0).world.budget
        return budget

    @property
    def told(self) -> tuple[Chapter, ...]:
        """The big steps, as far as the branch of the trace coincides with the main run."""
        main = self.trace.path(self.trace.branches()[0].tip)
        pairs = zip(main, self.trace.line, strict=False)
        together = sum(one == other for one, other in pairs) - 1
        return tuple(
            c.but(first=min(c.first, together), end=min(c.end, together)) for c in self.chapters
        )

    def at(self, trace: Trace) -> Run:
        """Return the run with another trace: one that has grown, or that stands at another step."""
        return msgspec.structs.replace(self, trace=trace)


class Judgement(Value, frozen=True):
    """A property's verdict on a whole run: "holds", "pending" (undecided) or "broken".

    `step` is the step at which it broke, or -1. `reason` is what broke it or is still due. `blame` names the program of
    the story that breaks it under every design, "" if the design is at fault.
    """

    property: str
    sentence: str
    status: str
    reason: str
    step: int
    blame: str = ""


class Origin(msgspec.Struct, frozen=True):
    """The model's description in the header of a trace file.

    `story` is the document of a story that is not in the library; `served` is a cluster that real clients used.
    """

    scenario: str
    design: str
    budget: dict[str, int]
    kafka_version: str
    settings: tuple[str, ...] = ()
    story: str = ""
    served: dict[str, Any] | None = None


class Packed(msgspec.Struct, frozen=True):
    """A run as its file stores it, except for the reader's position; `ids` are the new numbers of its nodes."""

    body: tracefile.Body
    ids: tuple[dict[int, int], ...]

    def write(
        self,
        path: str | os.PathLike[str],
        tree: int,
        cursor: int,
        tip: int,
        before: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write it, with the reader at a node of a branch; a previous file is kept as `before` if that is given.

        Raises:
            TraceFileError: if the file cannot be written.
        """
        ids = self.ids[tree]
        tracefile.write(self.body, path, tree, ids[cursor], ids[tip], before)


# --- where runs come from ------------------------------------------------------------------------


def play(scenario: str, design: str | None = None) -> Run:
    """Play a scenario's story under its own design or another one.

    Raises:
        UnknownScenario: if there is no such scenario.
        UnknownDesign: if there is no such design.
        Unplayable: if the design lacks what the story needs.
        ScriptError: if the design makes a part of the story impossible.
    """
    return _play_story(scenario_named(scenario), design, ())


def play_searched(scenario: str, design: str | None = None) -> Run:
    """Play a scenario's story as `play` does, but on the cluster on which searches run."""
    story = scenario_named(scenario)
    return _play_story(story.searched, design, settings_of_search(story))


def _play_story(story: Scenario, design: str | None, settings: tuple[str, ...]) -> Run:
    chosen = design_named(story.designs[0] if design is None else design)
    trace, chapters = story.play(chosen)
    return Run(story, chosen, story.model(chosen), trace.first(), chapters, settings=settings)


def replay(task: Task) -> Run:
    """Repeat a campaign's run as a trace; a run that ends in an error is kept up to there.

    Raises:
        ValueError: if the task names an unknown scenario, design or fault profile, or its seed is not an integer.
    """
    actions: list[ClusterAction] = []
    error = ""
    try:
        actions += (moment.action for moment in moments(task))
    except Exception as wrong:
        if isinstance(wrong, ValueError) and not actions:
            raise  # the task is not valid; later on it is the model that failed
        error = f"{type(wrong).__name__} at step {len(actions) + 1}: {wrong}".splitlines()[0]
    model = replay_model(task, tuple(actions))
    trace = Trace.start(model, PROPERTIES)
    for action in actions:
        trace = trace.take(action)
    scenario, design = scenario_named(task.scenario), design_named(task.design)
    settings = settings_of_search(scenario)
    first = trace.first()
    return Run(scenario.searched, design, model, first, (), task, error, settings=settings)


def follow(
    scenario: Scenario,
    design: Design,
    budget: FaultBudget,
    actions: tuple[ClusterAction, ...],
    settings: tuple[str, ...] = (),
) -> Run:
    """Take given actions from the start, such as a search found; `settings` are those of the search.

    A timer that expired in a quiescent world of the search spends the budget here, so the run's budget allows as many.

    Raises:
        NotEnabled: if one of them is not possible at its step.
        BadChange: if a setting is unknown, or cannot have that value.
    """
    scenario, design = change_story(scenario, design, settings)
    model = scenario.model(design, raise_budget(budget, actions))
    trace = Trace.start(model, PROPERTIES)
    for action in actions:
        trace = trace.take(action)
    return Run(scenario, design, model, trace.first(), settings=settings)


def follow_found(
    scenario: Scenario,
    design: Design,
    budget: FaultBudget,
    actions: tuple[ClusterAction, ...],
    settings: tuple[str, ...] = (),
) -> Run:
    """Take the actions that a search found, on the cluster on which it searched; `settings` are those of the search.

    Raises:
        NotEnabled: if one of them is not possible at its step.
        BadChange: if a setting is unknown, or cannot have that value.
    """
    return follow(scenario, design, budget, actions, (*settings_of_search(scenario), *settings))


def again(run: Run, changes: tuple[str, ...]) -> Run:
    """Return the start of a run with some settings changed.

    Raises:
        BadChange: if a setting is unknown, or cannot have that value.
        UnknownDesign: if a slot has no such option.
        Unplayable: if the scenario cannot be played with these settings.
    """
    spec, design = apply_changes(run.model.spec, run.design, changes, run.scenario.stated)
    scenario = run.scenario.but(spec=spec.but(budget=run.scenario.spec.budget))
    if isinstance(scenario, ServedScenario):
        scenario = scenario.but(lines=())  # they belong to steps of the original run
    model = scenario.model(design, spec.budget)
    trace = Trace.start(model, properties_of(model))
    return Run(scenario, design, model, trace, settings=(*run.settings, *changes))


# --- files ---------------------------------------------------------------------------------------


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run to a trace file, atomically.

    Raises:
        TraceFileError: if the file cannot be written.
    """
    if not run.lines:
        pack(run).write(path, 0, run.trace.cursor, run.trace.last().cursor)
        return
    line = run.lines[run.line]
    pack(run).write(path, line.tree, run.trees[line.tree].trace.cursor, line.tip)


def pack(run: Run) -> Packed:
    """Return the content of a run's file: the whole run, or only the kept branches.

    Raises:
        TraceFileError: if an action cannot be read back unchanged.
    """
    traces, ids = [], []
    for number, tree in enumerate(run.trees):
        trace, of_tree = tree.trace, {n: n for n in range(len(tree.trace))}
        if run.lines:
            tips = [line.tip for line in run.lines if line.tree == number]
            trace, of_tree = trace.only(tips)
        traces.append(trace)
        ids.append(of_tree)
    header: dict[str, Any] = {
        "model": origin_of(run, ids[0]),
        "title": run.scenario.title,
        "chapters": msgspec.to_builtins(run.chapters),
    }
    if run.task is not None:
        header["task"] = msgspec.to_builtins(run.task)
    if run.lines:
        header["lines"] = [
            msgspec.to_builtins(line.but(tip=ids[line.tree][line.tip])) for line in run.lines
        ]
    learned = run.learned.renumber({n: n for n in range(len(ids))}, ids)
    if learned != NOTHING:
        header["learned"] = {**msgspec.to_builtins(learned), "options": BY_ID}
    body = tracefile.body_of(traces, header, [origin_of(other) for other in run.others])
    return Packed(body, tuple(ids))


def scenario_header(
    scenario: Scenario, budget: FaultBudget, settings: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the header entries of a scenario's runs, except the design.

    Raises:
        TraceFileError: if the scenario's document cannot be written.
    """
    said: dict[str, Any] = {
        "scenario": scenario.name,
        "budget": counts_of(budget),
        "kafka_version": scenario.spec.kafka_version,
    }
    if settings:
        said["settings"] = list(settings)
    if isinstance(scenario, ServedScenario):
        return said
    try:
        text = document_of(scenario)
    except ValueError as wrong:
        raise TraceFileError(f"the run cannot be saved: {wrong}") from wrong
    if text:
        said["story"] = text
    return said


def origin_of(run: Run, nodes: dict[int, int] | None = None) -> dict[str, Any]:
    """Return the header of a run's file; `nodes` are the numbers that its nodes get in the file.

    Raises:
        TraceFileError: if its story cannot be written.
    """
    of = scenario_header(run.scenario, run.budget, run.settings)
    said = {"scenario": of.pop("scenario"), "design": run.design.name, **of}
    if isinstance(run.scenario, ServedScenario):
        said["served"] = served_scenario.encode_served(run.scenario, {} if nodes is None else nodes)
    return said


def load(path: str | os.PathLike[str], *, recover: bool = False) -> Run:
    """Read a trace file and replay it; the run's `changes` state where it came out differently.

    With `recover`, everything in a damaged file that is intact or can be repaired is read; `changes` says so first.

    Raises:
        TraceFileError: if the file cannot be read, is no complete trace file of this format, or names an unknown
            scenario or design.
    """
    opened, loaded = _load_trees(path, recover=recover)
    if loaded.changes:
        # Stories were once stepped on the cluster on which searches run: such a run opens there.
        older = _load_trees(path, recover=recover, searched=True)
        if not older[1].changes:
            opened, loaded = older
    scenario, design, model, origin = opened[0]
    since = changed_since(origin.story, lambda story: under(story, design, origin.settings))
    changes = [*since, *(change.sentence for change in loaded.changes)]
    if origin.kafka_version != model.spec.kafka_version:
        changes.insert(
            0,
            f"the trace was saved with a model of Kafka {origin.kafka_version}, and this is one of "
            f"Kafka {model.spec.kafka_version}",
        )
    if loaded.damaged:
        changes.insert(0, f"{os.fspath(path)} was damaged: {_render_loss(loaded)}")
    try:
        chapters = msgspec.convert(loaded.header.get("chapters", []), tuple[Chapter, ...])
        task = msgspec.convert(loaded.header.get("task"), Task | None)
        said = msgspec.convert(loaded.header.get("lines", []), tuple[KeptLine, ...])
        learned = msgspec.convert(loaded.header.get("learned", {}), Learned)
    except msgspec.ValidationError as wrong:
        raise TraceFileError(f"{path}: the header is not one of kipviz: {wrong}") from None
    if loaded.header.get("learned", {}).get("options") != BY_ID:
        told = learned.without_predictions()
        if told != learned:
            changes.append(
                "the answers to predictions are left out: their options were in another order"
            )
        learned = told
    lines, line = _lines(path, said, loaded)
    if isinstance(scenario, ServedScenario) and (scenario.lines or scenario.polls):
        nodes = _kept_nodes(loaded)[1][0]
        scenario = served_scenario.renumber_nodes(scenario, nodes)
        model = scenario.model(design, FaultBudget(**origin.budget))
    others = tuple(
        Run(*one[:3], trace, settings=one[3].settings)
        for one, trace in zip(opened[1:], loaded.trees[1:], strict=True)
    )
    return Run(
        scenario,
        design,
        model,
        loaded.trees[0],
        chapters,
        task,
        changes=tuple(changes),
        settings=origin.settings,
        others=others,
        lines=lines,
        line=line,
        learned=learned.renumber(*_kept_nodes(loaded)),
    )


Opened: TypeAlias = tuple[Scenario, Design, ClusterModel, Origin]


def _load_trees(
    path: str | os.PathLike[str], *, recover: bool, searched: bool = False
) -> tuple[list[Opened], Loaded]:
    """Read a file's trees and replay them, on the clusters that their headers name or on those that are searched."""
    opened: list[Opened] = []

    def open_model(said: dict[str, Any]) -> ClusterModel:
        opened.append(open_header(path, said, searched=searched))
        return opened[-1][2]

    return opened, tracefile.load(path, open_model, properties_of, recover=recover)


def _kept_nodes(loaded: Loaded) -> tuple[dict[int, int], list[dict[int, int]]]:
    """Map the trees and nodes of a file to the numbers that they have now."""
    nodes: list[dict[int, int]] = [{} for _ in loaded.trees]
    firsts: dict[int, int] = {}
    known: set[tuple[int, int]] = set()
    for place, (tree, node) in enumerate(loaded.kept):
        firsts.setdefault(tree, place)
        if (tree, node) not in known:  # a lost node is replaced by the nearest node above it
            known.add((tree, node))
            nodes[tree][place - firsts[tree]] = node
    return {n: n for n in range(len(nodes))}, nodes


def _render_loss(loaded: Loaded) -> str:
    """Return what could not be recovered from a damaged file, in words."""
    if not loaded.lost:
        return "everything was repaired"
    count, nodes = len(loaded.lost), len(loaded.kept)
    steps = "one of its steps is" if count == 1 else f"{count} of its {nodes - 1} steps are"
    return f"{steps} lost, and left out with all later steps"


def _lines(
    path: str | os.PathLike[str], said: tuple[KeptLine, ...], loaded: Loaded
) -> tuple[tuple[KeptLine, ...], int]:
    """Return the kept branches with their present nodes, and the branch on which the reader stood."""
    lines = []
    for number, line in enumerate(said):
        first = loaded.kept.index((line.tree, 0)) if 0 <= line.tree < len(loaded.trees) else -1
        place = first + line.tip
        fits = first >= 0 and line.tip >= 0 and place < len(loaded.kept)
        parent_fits = -1 <= line.parent < number and (line.parent < 0) == (number == 0)
        if not fits or loaded.kept[place][0] != line.tree or not parent_fits:
            raise TraceFileError(f"{path}: line {line.name!r} leads to steps that do not exist")
        lines.append(line.but(tip=loaded.kept[place][1]))
    here = (loaded.at, loaded.tip)
    at = next((n for n, line in enumerate(lines) if (line.tree, line.tip) == here), 0)
    return tuple(lines), at


def open_header(
    path: str | os.PathLike[str], said: dict[str, Any], *, searched: bool = False
) -> Opened:
    """Return the cluster that a file's header describes, or the same as it is searched.

    Raises:
        TraceFileError: if it describes none.
    """
    try:
        origin = msgspec.convert(said, Origin)
        if origin.served is not None:
            scenario: Scenario = served_scenario.read(origin.served, origin.design)
        else:
            scenario = carried(origin.scenario, origin.story)
            if searched:
                settings = (*settings_of_search(scenario), *origin.settings)
                origin = msgspec.structs.replace(origin, settings=settings)
        design = design_named(origin.design)
        scenario = under(scenario, design, origin.settings)
        model = scenario.model(design, FaultBudget(**origin.budget))
    except msgspec.ValidationError as wrong:
        raise TraceFileError(f"{path}: the header is not one of kipviz: {wrong}") from None
    except TypeError:
        unknown = ", ".join(sorted(set(origin.budget) - set(FaultBudget.__struct_fields__)))
        known = ", ".join(FaultBudget.__struct_fields__)
        raise TraceFileError(
            f"{path}: there is no fault {unknown}; the faults are {known}"
        ) from None
    except UnknownDesign as wrong:
        raise TraceFileError(
            f"{path} cannot be replayed: {to_propose(wrong, origin.design)}"
        ) from None
    except ValueError as wrong:
        raise TraceFileError(f"{path} cannot be replayed: {wrong}") from None
    return scenario, design, model, origin


# --- in words, and what it comes to ----------------------------------------------------------------------------


def labels(run: Run) -> tuple[str, ...]:
    """Return the name of every step along a run's branch."""
    nodes = [run.trace.node(node) for node in run.trace.line]
    return tuple(label(before.world, node.action) for before, node in pairwise(nodes))


def judge(run: Run, properties: tuple[Property, ...] | None = None) -> tuple[Judgement, ...]:
    """Judge each property over the whole branch of a run: those of its model, if none is named.

    Pending work at the end breaks a property only if no continuation without a new fault resolves it.
    """
    trace = run.trace.last()
    found = []
    for prop in properties_of(run.model) if properties is None else properties:
        states = _observe_branch(trace, prop)
        at = -1
        finding = prop.finding(states[-1])
        status, reason, harm = finding.status, finding.reason, finding.harm
        if status == BROKEN:
            at = next(k for k, state in enumerate(states) if prop.finding(state).status == BROKEN)
        elif status == PENDING and not run.error:
            settled = settle(run.model, trace.world, states[-1])
            status = {SETTLES: HOLDS, FOR_EVER: BROKEN, UNDECIDED: PENDING}[settled.answer]
            if status == HOLDS:
                reason = f"{reason} at the end, and can still be resolved"
            elif status == BROKEN:
                at = trace.depth
                reason, harm = settled.for_ever, settled.harm
        blame = blame_for_harm(run.model.spec, harm) if status == BROKEN else ""
        found.append(Judgement(prop.name, prop.sentence, status, reason, at, blame))
    return tuple(found)


def judge_to_the_end(run: Run) -> tuple[Judgement, ...]:
    """Judge each property over a run and over what the cluster does next by itself.

    A property that breaks only in this continuation counts as broken at the end of the run: the design breaks it
    without further input or fault.
    """
    judged = judge(run)
    if type(run.model) is not ClusterModel or run.error:
        return judged
    trace = run.trace.last()
    asked = properties_of(run.model)
    states = tuple(_observe_branch(trace, prop)[-1] for prop in asked)
    later = {
        each.property_name: each for each in breaks_later(run.model, trace.world, states, asked)
    }
    return tuple(
        found.but(
            status=BROKEN,
            reason=later[found.property].sentence,
            step=trace.depth,
            blame=blame_for_harm(run.model.spec, later[found.property].harm),
        )
        if found.status != BROKEN and found.property in later
        else found
        for found in judged
    )


def _observe_branch(trace: Trace, prop: Property) -> list[Any]:
    """Return a property's memory at every step of a branch: the trace's own, or computed again."""
    nodes = [trace.node(node) for node in trace.line]
    if prop in trace.observers:
        number = trace.observers.index(prop)
        return [node.observations[number] for node in nodes]
    states = [prop.initial(nodes[0].world)]
    for node in nodes[1:]:
        outcome = Outcome(node.world, node.events)
        states.append(prop.observe(states[-1], node.action, outcome))
    return states
