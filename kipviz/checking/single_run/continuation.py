"""A run continued without further input: the cluster works, programs run on, and timers expire in the end.

A story stops when it has shown its point. "Holds" at that step does not cover what the design does next. For example, a
record whose transactional acknowledgement never ends is delivered again when its lock expires, without any fault. So
the end of a story is judged along one plausible continuation, and a property that breaks there is broken.
"""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.checking.single_run.quiescence import AGAIN, WORK, TimersAtRest
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.catalogue import label
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World
from kipviz.core.model import Outcome
from kipviz.core.values import Value
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import BROKEN, Property, States

# Long enough for every story of the library; a cluster that works for longer will not become idle.
STEPS_MAX = 600
_ORDER = (*WORK, AGAIN)


class Later(Value, frozen=True):
    """A property that holds at the end of a run and breaks when the run continues by itself.

    `property_name` is its name, `after` the number of steps until it breaks, `step` the name of the step that breaks it, and
    `harm` what the violation costs.
    """

    property_name: str
    reason: str
    after: int
    step: str
    harm: Harm | None = None

    @property
    def sentence(self) -> str:
        """Return what happens and when, in a sentence."""
        steps = "1 step" if self.after == 1 else f"{self.after} steps"
        return f"left alone, the run breaks it {steps} later ({self.step}): {self.reason}"


def breaks_later(
    model: ClusterModel, world: World, states: States, properties: Sequence[Property]
) -> tuple[Later, ...]:
    """Return the properties that hold in a world and break when it continues by itself.

    Args:
        model: the cluster.
        world: the world at the end of the run.
        states: the memory of each property there.
        properties: the properties to judge.
    """
    found: list[Later] = []
    asked = [
        (prop, state)
        for prop, state in zip(properties, states, strict=True)
        if prop.finding(state).status != BROKEN
    ]
    resting = TimersAtRest(model)
    seen: set[bytes] = set()
    for after in range(1, STEPS_MAX + 1):
        seen.add(model.search_key(world))
        following = _next(resting, world, seen)
        if following is None or not asked:
            break
        action, outcome = following
        asked = [(prop, prop.observe(state, action, outcome)) for prop, state in asked]
        for prop, state in asked:
            finding = prop.finding(state)
            if finding.status == BROKEN:
                name = label(world, action)
                found.append(Later(prop.name, finding.reason, after, name, finding.harm))
        broken = {later.property_name for later in found}
        asked = [(prop, state) for prop, state in asked if prop.name not in broken]
        world = outcome.world
    return tuple(found)


def _next(
    resting: TimersAtRest, world: World, seen: set[bytes]
) -> tuple[ClusterAction, Outcome] | None:
    """Return the next step by itself: work first, then a retry that finds something, then a timer."""
    timers = resting.at_rest(world)
    if timers:
        return timers[0], resting.step(world, timers[0])
    able = [a for a in resting.cluster.enabled(world) if a.KIND in _ORDER]
    for action in sorted(able, key=lambda each: _ORDER.index(each.KIND)):
        outcome = resting.step(world, action)
        if resting.search_key(outcome.world) not in seen:
            return action, outcome
    return None
