"""From a scenario's name to a stepper on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kipviz.cluster.actions import ClusterAction
from kipviz.core.model import NotEnabled
from kipviz.core.trace import Trace
from kipviz.designs.catalogue import design as design_named
from kipviz.designs.design import Design
from kipviz.scenarios.library import scenario as scenario_named
from kipviz.scenarios.scenario import PROPERTIES, Scenario
from kipviz.scenarios.script import Chapter, next_by_itself
from kipviz.views.choices import action_of
from kipviz.views.lifetimes import Lifetimes
from kipviz.views.payload import branch as tell_branch
from kipviz.views.payload import payload as tell
from kipviz.widgets.compare import Compare
from kipviz.widgets.stepper import Stepper

# How far a branch goes by itself after the reader's choice, at most.
GO_ON_MAX = 200


class Lab:
    """A trace and its model behind one stepper: answers the page's wishes with branches.

    It keeps exactly one thing that changes: the trace.
    """

    def __init__(self, scenario: Scenario, design: Design, trace: Trace, chapters: tuple[Chapter, ...]) -> None:
        """Tell the main line."""
        self.model = scenario.model(design)
        self.trace = trace
        self.payload, lives = tell(scenario, design, self.model, trace, chapters)
        self._lines: dict[int, tuple[tuple[int, ...], Lifetimes]] = {0: (trace.line, lives)}

    def respond(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Take a choice at a step of a line and let the cluster come to rest after it.

        Raises:
            ValueError: if there is no such line or step, or the action is not possible there.
        """
        path, lives = self._lines[command["branch"]]
        at = command["step"]
        if not 0 <= at < len(path):
            raise ValueError(f"there is no step {at} on this line; it has 0 to {len(path) - 1}")
        action = action_of(command["choice"])
        trace = self.trace.jump(path[at])
        try:
            trace = self._go_on(trace.take(action))
        except NotEnabled as wrong:
            raise ValueError(f"That is not possible here: {wrong.why}.") from wrong
        self.trace = trace
        line = trace.path(trace.cursor)
        number = max(self._lines) + 1
        told, its_lives = tell_branch(self.model, trace, line, at, lives)
        self._lines[number] = (line, its_lives)
        name = told["steps"][0]["title"]
        return {"id": number, "name": name, "parent": command["branch"], "at": at, **told}

    def _go_on(self, trace: Trace) -> Trace:
        """Let messages arrive until the next word is a person's."""
        for _ in range(GO_ON_MAX):
            action: ClusterAction | None = next_by_itself(self.model, trace.world)
            if action is None:
                return trace
            trace = trace.take(action)
        return trace


def open_run(scenario: str, design: str | None = None) -> Stepper:
    """Open a scenario in the stepper, under its own design or another one.

    Raises:
        ValueError: if there is no such scenario or design, or the design makes a part of the
            scenario's story impossible.
    """
    story = scenario_named(scenario)
    chosen = design_named(design or story.designs[0])
    trace, chapters = story.play(chosen)
    lab = Lab(story, chosen, trace, chapters)
    return Stepper(lab.payload, lab.respond)


def compare_runs(scenario: str, left: str, right: str) -> Compare:
    """Open one scenario under two designs, side by side, stepped together.

    Raises:
        ValueError: if there is no such scenario or design, or a design makes a part of the
            scenario's story impossible.
    """
    story = scenario_named(scenario)
    payloads = []
    for name in (left, right):
        chosen = design_named(name)
        trace, chapters = story.play(chosen)
        payloads.append(Lab(story, chosen, trace, chapters).payload)
    return Compare(*payloads)


def open_seeded(task: Any) -> Stepper:
    """Open a campaign's run in the stepper by its task: scenario, design, faults and seed.

    Raises:
        ValueError: if the task names something that there is not.
    """
    from kipviz.checking.task import moments

    story = scenario_named(task.scenario)
    chosen = design_named(task.design)
    from kipviz.checking.faults import faults

    model = story.model(chosen, faults(task.faults).budget)
    trace = Trace.start(model, PROPERTIES)
    for moment in moments(task):
        trace = trace.take(moment.action)
    lab = Lab(story, chosen, trace, ())
    return Stepper(lab.payload, lab.respond)
