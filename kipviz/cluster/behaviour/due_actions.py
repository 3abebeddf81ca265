"""Actions and their deadlines on a timed clock; an action's class says which it has."""

from __future__ import annotations

from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.behaviour import AnyBehaviour
from kipviz.cluster.behaviour.catalogue import BEHAVIOUR_OF, BEHAVIOURS
from kipviz.cluster.timing.clock import Deadline, Due, Place, ms
from kipviz.cluster.timing.deadlines import find
from kipviz.cluster.world import World

# The behaviour of the action that waits for a kind of deadline; nothing waits for an age (`timers.AGES`).
OF_DUE: dict[Due, AnyBehaviour] = {due: each for each in BEHAVIOURS for due in each.dues}


def place_of(world: World, action: ClusterAction) -> Place | None:
    """Return the deadline of an action, or None if it has none."""
    return BEHAVIOUR_OF[type(action)].deadline_place(world, action)


def action_of(world: World, deadline: Deadline) -> ClusterAction:
    """Return the action of a deadline; an age (`timers.AGES`) has none."""
    return OF_DUE[deadline.kind].at_deadline(world, deadline)


def deadline_of(world: World, action: ClusterAction) -> Deadline | None:
    """Return the deadline of an action, if one is running."""
    return find(world, place_of(world, action))


def not_due(world: World, action: ClusterAction) -> str | None:
    """Return how long an action still has to wait, or None if it is due."""
    deadline = deadline_of(world, action)
    if deadline is None or not deadline.after:
        return None
    return f"it is due in {ms(deadline.after)}: time has to pass first"
