"""A share group, an output and an external database in one transaction, with a crash at every point.

The draft defers databases to a follow-up KIP; the program is KIP-939's dual write with a staging in it: our inference.
It is run to its end twice: once so that every message is received before the application's next statement, once so that
the application runs on whenever it can, with its messages still in flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    CrashClient,
    Send,
    StartBroker,
    StartClient,
    Step,
)
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.model import ClusterModel
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Value
from kipviz.designs.catalogue import design as design_named
from kipviz.scenarios.library import searched_scenario
from kipviz.scenarios.scenario import PROPERTIES
from kipviz.scenarios.script import next_by_itself
from kipviz.studies.study import Part, Parts, Row, StoppedEarly, Tell
from kipviz.studies.test_plan.chaos import BROKEN_WORD, KEPT, STUCK, go_on, judge_run

APART, TOGETHER = "kip-1289-small-database", "kip-1289-small-database-together"
PROMPT, HASTY = "messages first", "the application first"
# More steps than any of these programs takes until nothing is left to do.
LONGEST = 200
# the difference, the design, the story.
RIVALS = (
    ("waits for the staging, which is in the log (repaired)", "repaired", APART),
    (
        "a prepareTransaction() that flushes alone",
        "repaired+prepare_waits=for_batches_alone",
        APART,
    ),
    ("a staging in memory (findings E and X5)", "finding-X5", TOGETHER),
)


class Death(Value, frozen=True):
    """One crash: before which step, of which host, and the outcome."""

    step: int
    before: str
    who: str
    outcome: str
    reason: str


def run(model: ClusterModel, schedule: str) -> Trace:
    """Run a program until nothing is left to do; the schedule decides which action comes first."""
    trace = Trace.start(model, PROPERTIES)
    for _ in range(LONGEST):
        enabled = model.enabled(trace.world)
        steps: list[ClusterAction] = [a for a in enabled if isinstance(a, Step)]
        # Requests that are not sent yet follow a staging: Kafka's sender has an order.
        hasty = [a for a in enabled if isinstance(a, Send)] + steps
        if schedule == HASTY and hasty:
            trace = trace.take(hasty[0])
            continue
        by_itself = next_by_itself(model, trace.world)
        if by_itself is None and not steps:
            break
        trace = trace.take(by_itself if by_itself is not None else steps[0])
    return trace


def sweep(design: str, story: str, schedule: str) -> Iterator[Death]:
    """Crash the application, and every broker, at every step of a run, each in its own run."""
    scenario, chosen = searched_scenario(story), design_named(design)
    model = scenario.model(chosen)
    trace = run(model, schedule)
    (name,) = trace.world.applications.keys()
    line = trace.line
    for step, number in enumerate(line[:-1]):
        at = trace.jump(number)
        before = label(at.world, trace.node(line[step + 1]).action)
        for who, crash, start in (
            (name, CrashClient(name), StartClient(name)),
            *((f"B{b}", CrashBroker(b), StartBroker(b)) for b in scenario.spec.brokers),
        ):
            ended = go_on(at.take(crash).take(start), model)
            yield Death(step, before, who, *judge_run(ended, model))


HEADS = ("rival", "schedule", "crashes", "all three agree", BROKEN_WORD, STUCK, "the first")


def _count_crashes(
    words: str, design: str, story: str, schedule: str, tell: Tell
) -> tuple[Row, ...]:
    """Count the outcomes of a rival's runs, and return the first run that breaks a property."""
    deaths = []
    for death in sweep(design, story, schedule):
        deaths.append(death)
        if not tell(f"{len(deaths)} crashes"):
            raise StoppedEarly
    bad = [death for death in deaths if death.outcome != KEPT]
    first = f"{bad[0].who} before “{bad[0].before}”: {bad[0].reason}" if bad else ""
    counts = [sum(d.outcome == o for d in deaths) for o in (KEPT, BROKEN_WORD, STUCK)]
    return ((words, schedule, str(len(deaths)), *map(str, counts), first),)


PARTS = Parts(
    HEADS,
    tuple(
        Part(f"{words}, {schedule}", partial(_count_crashes, words, design, story, schedule))
        for words, design, story in RIVALS
        for schedule in (PROMPT, HASTY)
    ),
)
