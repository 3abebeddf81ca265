"""From a scenario's name to a stepper on the page."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from kipviz.checking import runs
from kipviz.checking.permalink import head_of, is_link, open_link
from kipviz.checking.runs import Run
from kipviz.checking.task import Task, Verdict
from kipviz.cluster.actions import ClusterAction
from kipviz.core.model import NotEnabled
from kipviz.core.trace import Trace
from kipviz.scenarios.script import next_by_itself
from kipviz.views.choices import action_of
from kipviz.views.lesson import goals_of
from kipviz.views.lifetimes import Lifetimes
from kipviz.views.payload import branch as tell_branch
from kipviz.views.payload import payload as tell
from kipviz.widgets.stepper import Stepper

# How far a branch goes by itself after the reader's choice, at most.
GO_ON_MAX = 200


class TraceChanged(UserWarning):
    """A trace file or permalink came out differently, because the model has moved on since it was saved."""


class Lab:
    """A run and its model behind one stepper: answers the page's wishes with branches.

    It keeps exactly one thing that changes: the trace.
    """

    def __init__(self, run: Run) -> None:
        """Tell the main line, and the branches that the run has already."""
        self._run = run
        self.model = run.model
        main, *others = run.trace.branches()
        self.trace = run.trace.jump(main.tip)
        told = run.at(self.trace).told
        head = head_of(run)
        self.payload, lives = tell(run.scenario, run.design, self.model, self.trace, told, head)
        self._lines: dict[int, tuple[tuple[int, ...], Lifetimes]] = {0: (self.trace.line, lives)}
        for other in others:
            assert other.parent is not None  # only the main run has none
            line = run.trace.path(other.tip)
            self.payload["branches"].append(self._tell(other.parent, other.at, line))

    def run_at(self, branch: int, step: int) -> Run:
        """Give the run as it is by now, standing at a step of a line."""
        path = self._lines[branch][0]
        # By way of the tip, so that the trace stands on this very line.
        return self._run.at(self.trace.jump(path[-1]).jump(path[min(step, len(path) - 1)]))

    def place_of(self, node: int, line: tuple[int, ...] = ()) -> tuple[int, int]:
        """Give the line and the step at which a node of the trace is shown, on `line` if it is."""
        step = self.trace.node(node).depth
        for number, (path, _) in sorted(self._lines.items(), key=lambda one: one[1][0] != line):
            if step < len(path) and path[step] == node:
                return number, step
        return 0, 0

    def respond(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Take a choice at a step of a line and let the cluster come to rest after it.

        Raises:
            ValueError: if there is no such line or step, or the action is not possible there.
        """
        parent, at = command["branch"], command["step"]
        if parent not in self._lines:
            known = ", ".join(map(str, self._lines))
            raise ValueError(f"there is no line {parent!r}; there are {known}")
        path, _ = self._lines[parent]
        if type(at) is not int or not 0 <= at < len(path):
            raise ValueError(f"there is no step {at!r} on this line; it has 0 to {len(path) - 1}")
        action = action_of(command["choice"])
        trace = self.trace.jump(path[at])
        try:
            trace = self._go_on(trace.take(action))
        except NotEnabled as wrong:
            raise ValueError(f"That is not possible here: {wrong.why}.") from wrong
        self.trace = trace
        return self._tell(parent, at, trace.path(trace.cursor))

    def _tell(self, parent: int, at: int, line: tuple[int, ...]) -> dict[str, Any]:
        """Tell the line that leaves another one after a step."""
        number = max(self._lines) + 1
        goals = goals_of(self._run.scenario)
        told, lives = tell_branch(self.model, self.trace, line, at, self._lines[parent][1], goals)
        self._lines[number] = (line, lives)
        name = told["steps"][0]["title"]
        return {"id": number, "name": name, "parent": parent, "at": at, **told}

    def _go_on(self, trace: Trace) -> Trace:
        """Let messages arrive until the next word is a person's."""
        for _ in range(GO_ON_MAX):
            action: ClusterAction | None = next_by_itself(self.model, trace.world)
            if action is None:
                return trace
            trace = trace.take(action)
        return trace


def open_run(scenario: str, design: str | None = None) -> Stepper:
    """Open a scenario in the stepper, under its own design or another one; or a permalink.

    A permalink opens at the very step it was made at, with the branch it was made on. Where the
    model has moved on since, a warning says what differs.

    Raises:
        ValueError: if there is no such scenario or design, the design makes a part of the
            scenario's story impossible, or the permalink is no whole one.
    """
    if not is_link(scenario):
        return stepper_of(runs.play(scenario, design))
    if design is not None:
        raise ValueError("a permalink brings its own design: leave the other one out")
    return _left(open_link(scenario))


def open_seeded(
    run: str | Task | Verdict,
    design: str = "",
    faults: str = "calm",
    seed: int = 0,
    steps_max: int = 600,
) -> Stepper:
    """Open a campaign's run in the stepper: by its names and seed, its task, or its verdict.

    Raises:
        ValueError: if the run names something that there is not, or its seed is no whole number.
    """
    if isinstance(run, str):
        run = Task(run, design, faults, seed, steps_max)
    made = runs.replay(run.task if isinstance(run, Verdict) else run)
    if made.error:
        warnings.warn(f"The model failed: {made.error}", RuntimeWarning, stacklevel=2)
    return stepper_of(made)


def open_trace(path: str | os.PathLike[str]) -> Stepper:
    """Open a trace file in the stepper, where it was left, with all its branches.

    Where the model has moved on since it was saved, a warning says what differs.

    Raises:
        TraceFileError: if the file cannot be read or is no whole trace file, in one sentence.
    """
    return _left(runs.load(path))


def _left(run: Run) -> Stepper:
    """Open a run where it was left, and warn of what came out differently."""
    for change in run.changes:
        warnings.warn(change, TraceChanged, stacklevel=3)
    stepper = stepper_of(run)
    stepper.branch, stepper.step = stepper.lab.place_of(run.trace.cursor, run.trace.line)
    return stepper


def permalink(stepper: Stepper) -> str:
    """Give the line of text that opens a stepper's run at this very step: kipviz.open("kv1.…").

    Raises:
        ValueError: if its run is of no scenario of the library, or the link would be too long.
    """
    return stepper.permalink()


def save(stepper: Stepper, path: str | os.PathLike[str]) -> None:
    """Write a stepper's run to a trace file: every branch, and where the reader stands.

    Raises:
        ValueError: if there is no model behind the stepper.
        TraceFileError: if the file cannot be written.
    """
    lab: Lab | None = stepper.lab
    if lab is None:
        raise ValueError(
            "Only a stepper with a model behind it can be saved: one that kipviz.open, open_seeded, "
            "open_trace or explore gave."
        )
    runs.save(lab.run_at(stepper.branch, stepper.step), path)


def stepper_of(run: Run) -> Stepper:
    """Open any run in the stepper; `lab` of the stepper is what answers for it."""
    lab = Lab(run)
    stepper = Stepper(lab.payload, lab.respond)
    stepper.lab = lab
    return stepper
