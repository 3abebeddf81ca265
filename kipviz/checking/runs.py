"""A run and what it was made from: a story, a seed, a search, or a file of one of these.

A trace alone does not know its scenario or its dice. What shows, saves or judges a whole run takes
it from here, so the command line and the notebook open the same thing.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import msgspec

from kipviz.checking.budgets import counts_of
from kipviz.checking.liveness import settle
from kipviz.checking.task import Task, model_of, moments
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.labels import label
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.spec import BadSpec, FaultBudget
from kipviz.core import tracefile
from kipviz.core.trace import Trace
from kipviz.core.tracefile import TraceFileError
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.design import Design
from kipviz.designs.options import UnknownDesign
from kipviz.properties.verdict import BROKEN, HOLDS, PENDING, Property
from kipviz.scenarios.library import UnknownScenario
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import PROPERTIES, Scenario, Unplayable
from kipviz.scenarios.script import Chapter


class Run(msgspec.Struct, frozen=True, eq=False):
    """A trace with its scenario, its design and, where dice made it, its task.

    `chapters` are the big steps of the main run, the trace's first branch. `error` says why the
    model gave up, where a run did not come to its end; `changes` say how a run from a file came
    out differently. A fresh run stands at its start.
    """

    scenario: Scenario
    design: Design
    model: ClusterModel
    trace: Trace
    chapters: tuple[Chapter, ...] = ()
    task: Task | None = None
    error: str = ""
    changes: tuple[str, ...] = ()

    @property
    def budget(self) -> FaultBudget:
        """What may go wrong in this run, from its start."""
        budget: FaultBudget = self.trace.node(0).world.budget
        return budget

    @property
    def told(self) -> tuple[Chapter, ...]:
        """The big steps as far as the line of the trace goes along with the main run."""
        main = self.trace.path(self.trace.branches()[0].tip)
        pairs = zip(main, self.trace.line, strict=False)
        together = sum(one == other for one, other in pairs) - 1
        return tuple(
            c.but(first=min(c.first, together), end=min(c.end, together)) for c in self.chapters
        )

    def at(self, trace: Trace) -> Run:
        """Give the run with its trace grown, or standing elsewhere."""
        return msgspec.structs.replace(self, trace=trace)


class Judgement(Value, frozen=True):
    """What a property says of a whole run: "holds", "pending" (undecided) or "broken".

    `step` is where it broke, -1 where it did not; `reason` says what broke it or is still due.
    """

    property: str
    sentence: str
    status: str
    reason: str
    step: int


class _Origin(msgspec.Struct, frozen=True):
    """What a trace file's header says of the model."""

    scenario: str
    design: str
    budget: dict[str, int]
    kafka_version: str


# --- where runs come from ------------------------------------------------------------------------


def play(scenario: str, design: str | None = None) -> Run:
    """Play a scenario's story under its own design or another one.

    Raises:
        UnknownScenario: if there is no such scenario.
        UnknownDesign: if there is no such design.
        Unplayable: if the design lacks what the story is about.
        ScriptError: if the design makes a part of the story impossible.
    """
    story = scenario_named(scenario)
    chosen = design_named(design or story.designs[0])
    trace, chapters = story.play(chosen)
    return Run(story, chosen, story.model(chosen), trace.first(), chapters)


def replay(task: Task) -> Run:
    """Make a campaign's run again, as a trace; one that crashes is kept as far as it came.

    Raises:
        ValueError: if the task names something that there is not, or its seed is no whole number.
    """
    model = model_of(task)
    trace, error = Trace.start(model, PROPERTIES), ""
    try:
        for moment in moments(task):
            trace = trace.take(moment.action)
    except Exception as wrong:
        if isinstance(wrong, ValueError) and not trace.depth:
            raise  # the task is no task; later on it is the model that broke
        error = f"{type(wrong).__name__} at step {trace.depth + 1}: {wrong}".splitlines()[0]
    scenario, design = scenario_named(task.scenario), design_named(task.design)
    return Run(scenario, design, model, trace.first(), (), task, error)


def follow(
    scenario: Scenario, design: Design, budget: FaultBudget, actions: tuple[ClusterAction, ...]
) -> Run:
    """Take given actions from the start, as a search found them.

    Raises:
        NotEnabled: if one of them is not possible where it stands.
    """
    model = scenario.model(design, budget)
    trace = Trace.start(model, PROPERTIES)
    for action in actions:
        trace = trace.take(action)
    return Run(scenario, design, model, trace.first())


# --- files ---------------------------------------------------------------------------------------


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run to a trace file, whole or not at all.

    Raises:
        TraceFileError: if the file cannot be written.
    """
    header: dict[str, Any] = {
        "model": {
            "scenario": run.scenario.name,
            "design": run.design.name,
            "budget": counts_of(run.budget),
            "kafka_version": run.model.spec.kafka_version,
        },
        "title": run.scenario.title,
        "chapters": msgspec.to_builtins(run.chapters),
    }
    if run.task is not None:
        header["task"] = msgspec.to_builtins(run.task)
    tracefile.save(run.trace, path, header)


def load(path: str | os.PathLike[str]) -> Run:
    """Read a trace file and replay it; `changes` of the run say where it came out differently.

    Raises:
        TraceFileError: if the file cannot be read, is no whole trace file of this format, or is
            about a scenario or design that there is not.
    """
    opened: list[tuple[Scenario, Design, ClusterModel, _Origin]] = []

    def open_model(said: dict[str, Any]) -> ClusterModel:
        opened.append(_opened(path, said))
        return opened[0][2]

    loaded = tracefile.load(path, open_model, PROPERTIES)
    scenario, design, model, origin = opened[0]
    changes = [change.sentence for change in loaded.changes]
    if origin.kafka_version != model.spec.kafka_version:
        changes.insert(
            0,
            f"the trace was saved with a model of Kafka {origin.kafka_version}, and this is one of "
            f"Kafka {model.spec.kafka_version}",
        )
    try:
        chapters = msgspec.convert(loaded.header.get("chapters", []), tuple[Chapter, ...])
        task = msgspec.convert(loaded.header.get("task"), Task | None)
    except msgspec.ValidationError as wrong:
        raise TraceFileError(f"{path}: the header is not one of kipviz: {wrong}") from None
    return Run(scenario, design, model, loaded.trace, chapters, task, changes=tuple(changes))


def _opened(
    path: str | os.PathLike[str], said: dict[str, Any]
) -> tuple[Scenario, Design, ClusterModel, _Origin]:
    try:
        origin = msgspec.convert(said, _Origin)
        scenario, design = scenario_named(origin.scenario), design_named(origin.design)
        model = scenario.model(design, FaultBudget(**origin.budget))
    except msgspec.ValidationError as wrong:
        raise TraceFileError(f"{path}: the header is not one of kipviz: {wrong}") from None
    except TypeError:
        faults = ", ".join(origin.budget)
        raise TraceFileError(f"{path} allows faults that there are not, among {faults}") from None
    except (UnknownScenario, UnknownDesign, Unplayable, BadSpec) as wrong:
        raise TraceFileError(f"{path} cannot be replayed: {wrong}") from None
    return scenario, design, model, origin


# --- in words, and what it comes to ----------------------------------------------------------------------------


def labels(run: Run) -> tuple[str, ...]:
    """Give the name of every step along the line of a run."""
    nodes = [run.trace.node(node) for node in run.trace.line]
    return tuple(label(before.world, node.action) for before, node in pairwise(nodes))


def judge(run: Run) -> tuple[Judgement, ...]:
    """Say of each property whether it holds over the whole line of a run.

    What is still pending at the end is broken only if no continuation without a new fault
    resolves it.
    """
    trace = run.trace.last()
    found = []
    properties: tuple[Property, ...] = PROPERTIES
    for number, prop in enumerate(properties):
        at = -1
        finding = prop.finding(trace.observations[number])
        status, reason = finding.status, finding.reason
        if status == BROKEN:
            states = (trace.node(node).observations[number] for node in trace.line)
            at = next(k for k, state in enumerate(states) if prop.finding(state).status == BROKEN)
        elif status == PENDING and not run.error:
            settled = settle(run.model, trace.world, trace.observations[number])
            status = {"resolved": HOLDS, "for ever": BROKEN, "undecided": PENDING}[settled.answer]
            if status == HOLDS:
                reason = f"{reason} at the end, and can still be resolved"
            elif status == BROKEN:
                at = trace.depth
                reason = f"{settled.what}, and no continuation without a new fault resolves it"
        found.append(Judgement(prop.name, prop.sentence, status, reason, at))
    return tuple(found)
