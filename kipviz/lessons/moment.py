"""Where a learner stands, which is what every goal is asked of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.world import World
from kipviz.core.model import Event


class Moment(msgspec.Struct, frozen=True):
    """Where a learner stands: the world, what just happened, and the actions that led here."""

    world: World
    events: Sequence[Event]
    actions: Sequence[ClusterAction]


# A goal is reached, or it is not.
Goal: TypeAlias = Callable[[Moment], bool]
