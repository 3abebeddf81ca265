"""The chaos row of KIP-1289's test plan: every broker crashes at every step around the decision.

The commit flow is played. At each of its steps from the staging to the end, each broker crashes and restarts, and the
cluster runs on by itself. The whole run is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kipviz.checking.search.liveness import FOR_EVER, settle
from kipviz.checking.single_run.continuation import breaks_later
from kipviz.cluster.actions import CrashBroker, Refresh, StartBroker, Step
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.model import ClusterModel
from kipviz.core.model import Event
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.messages.events import MessageDelivered
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.properties.verdict import BROKEN
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import next_by_itself
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Tell

STORY = "kip-1289-share-commit"
# How often actions that wait for a person are taken after the crash: three transactions and more.
STEPS_MAX = 40
KEPT, BROKEN_WORD, STUCK = "exactly once", "broken", "stuck"


class Crash(Value, frozen=True):
    """One crash: before which step of the story, of which broker, and the outcome."""

    step: int
    before: str
    broker: int
    outcome: str
    reason: str


def sweep(design: str, story: str = STORY) -> Iterator[Crash]:
    """Crash every broker at every step from the staging on, one run each."""
    scenario, chosen = searched_scenario(story), design_named(design)
    trace, _ = scenario.play(chosen)
    model = scenario.model(chosen)
    steps = trace.line
    first = next(
        step
        for step, number in enumerate(steps)
        if any(_is_staging(event) for event in trace.node(number).events)
    )
    for step in range(first, len(steps)):
        at = trace.jump(steps[step])
        before = _label(trace, steps, step + 1)
        for broker in scenario.spec.brokers:
            ended = go_on(at.take(CrashBroker(broker)).take(StartBroker(broker)), model)
            yield Crash(step, before, broker, *judge_run(ended, model))


def _is_staging(event: Event) -> bool:
    return isinstance(event, MessageDelivered) and isinstance(event.message, TxnShareAcknowledge)


def _label(trace: Trace, steps: tuple[int, ...], step: int) -> str:
    if step >= len(steps):
        return "the end"
    before, node = trace.node(steps[step - 1]), trace.node(steps[step])
    assert node.action is not None
    return label(before.world, node.action)


def go_on(trace: Trace, model: ClusterModel) -> Trace:
    """Let the cluster run by itself, and take the actions that wait for a person: lookups and applications."""
    for _ in range(STEPS_MAX):
        while (action := next_by_itself(model, trace.world)) is not None:
            trace = trace.take(action)
        waiting = [a for a in model.enabled(trace.world) if isinstance(a, Refresh | Step)]
        if not waiting:
            break
        # A lookup goes first: its result decides the response that the application receives next.
        trace = trace.take(min(waiting, key=lambda a: isinstance(a, Step)))
    return trace


def judge_run(trace: Trace, model: ClusterModel) -> tuple[str, str]:
    """Return the outcome of a run: kept, broken, or pending forever, and the reason."""
    atomic, pending = (
        prop.finding(state) for prop, state in zip(PROPERTIES, trace.observations, strict=True)
    )
    if atomic.status == BROKEN:
        return BROKEN_WORD, atomic.reason
    later = breaks_later(model, trace.world, trace.observations[:1], PROPERTIES[:1])
    if later:
        return BROKEN_WORD, later[0].sentence
    settled = settle(model, trace.world, trace.observations[1])
    if settled.answer == FOR_EVER:
        return STUCK, settled.what
    return KEPT, pending.reason


HEADS = ("design", "crashes", KEPT, BROKEN_WORD, STUCK, "the first")
DESIGNS = ("repaired", "as-written", "as-written-available", "as-written-broadcast")


def _count_crashes(name: str, tell: Tell) -> tuple[Row, ...]:
    """Count the outcomes of a design's runs, and return the first run that breaks a property."""
    crashes = []
    for crash in sweep(name):
        crashes.append(crash)
        if not tell(f"{len(crashes)} crashes"):
            raise StoppedEarly
    bad = [crash for crash in crashes if crash.outcome != KEPT]
    first = f"B{bad[0].broker} before “{bad[0].before}”: {bad[0].reason}" if bad else ""
    counts = [sum(c.outcome == o for c in crashes) for o in (KEPT, BROKEN_WORD, STUCK)]
    return ((name, str(len(crashes)), *map(str, counts), first),)


PARTS = Parts(HEADS, tuple(Part(name, partial(_count_crashes, name)) for name in DESIGNS))
