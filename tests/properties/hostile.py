"""Random runs in which everything goes wrong, and which properties they break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.checking.judging.swarm import GIVES_UP
from kipviz.checking.judging.verdicts import EVERY_PROPERTY
from kipviz.checking.search.liveness import settle
from kipviz.checking.single_run.seeded_run import STUCK, Task, model_of, moments
from kipviz.clients.application import STAGING
from kipviz.cluster.specs.spec import ApplicationSpec, FaultBudget
from kipviz.designs.design import Design
from kipviz.properties.verdict import BROKEN, Finding
from kipviz.scenarios.library import LIBRARY
from kipviz.scenarios.scenario import Scenario

MISUSED = GIVES_UP


def each_once(stories: Iterable[Scenario]) -> tuple[Scenario, ...]:
    """Each cluster once: in a random run nothing of a story but its cluster is left."""
    found: dict[object, Scenario] = {}
    for story in stories:
        found.setdefault(story.spec.but(budget=FaultBudget()), story)
    return tuple(found.values())


def staging_stories() -> tuple[Scenario, ...]:
    """The stories all of whose share consumers stage what they take.

    A member that polls on in implicit mode accepts what it puts nothing out for.
    """
    return each_once(
        story
        for story in LIBRARY
        if any(app.share for app in story.spec.members)
        and all(_stages(app) for app in story.spec.members if app.share)
    )


def _stages(app: ApplicationSpec) -> bool:
    return any(line.call in STAGING for line in app.program)


def playable(stories: tuple[Scenario, ...], chosen: Design) -> Iterator[Scenario]:
    """Those of the stories that a design has the means for."""
    for story in stories:
        try:
            model_of(Task(story.name, chosen.name, "hostile", 0))
        except ValueError:
            continue
        yield story


def broken_in(task: Task) -> dict[str, Finding]:
    """Which properties a run breaks, why, and at what cost; what stays pending for ever is asked at its end."""
    model = model_of(task)
    world = model.initial()
    states = [p.initial(world) for p in EVERY_PROPERTY]
    broken: dict[str, Finding] = {}
    for moment in moments(task, model):
        world = moment.outcome.world
        for at, prop in enumerate(EVERY_PROPERTY):
            if prop.name in broken:
                continue
            states[at] = prop.observe(states[at], moment.action, moment.outcome)
            finding = prop.finding(states[at])
            if finding.status == BROKEN:
                broken[prop.name] = finding
    pending = states[[p.name for p in EVERY_PROPERTY].index(STUCK)]
    settled = settle(model, world, pending)
    if settled.answer == "for ever":
        broken[STUCK] = Finding(BROKEN, settled.what, settled.harm)
    return broken
