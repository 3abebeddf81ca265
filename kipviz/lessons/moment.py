"""The learner's current moment, on which every goal is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.world import World
from kipviz.core.model import Event


class Moment(msgspec.Struct, frozen=True):
    """The learner's current moment: the world, what just happened, and the actions that led here."""

    world: World
    events: Sequence[Event]
    actions: Sequence[ClusterAction]


# Returns whether a goal is reached.
Goal: TypeAlias = Callable[[Moment], bool]
