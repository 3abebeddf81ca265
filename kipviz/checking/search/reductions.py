"""What a search may leave out without a change of any verdict: the interface of a reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.world import World
from kipviz.core.model import Model
from kipviz.properties.verdict import States


class Reduction(Protocol):
    """A way to visit fewer states."""

    @property
    def name(self) -> str:
        """The name in a verdict."""

    @property
    def key(self) -> Callable[[World, States], bytes] | None:
        """The key of a state, if states that differ only in names count as one."""

    @property
    def alone(self) -> Callable[[World, tuple[ClusterAction, ...]], ClusterAction | None] | None:
        """Return the one step that is enough in a world, if the reduction finds such steps."""

    def fit(self, model: Model, *, full_states: bool) -> None:
        """Prepare for the model that is to be searched.

        Raises:
            ValueError: if the reduction would not be sound for it, in one sentence.
        """
