"""What a search may leave out because it changes no verdict: the shape of a reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kipviz.core.model import Model


class Reduction(Protocol):
    """A way to visit fewer states."""

    @property
    def name(self) -> str:
        """What a verdict calls it."""

    @property
    def key(self) -> Callable[[Any, tuple[Any, ...]], bytes] | None:
        """How a state is known, if equal situations under other names count as one."""

    @property
    def alone(self) -> Callable[[Any, tuple[Any, ...]], Any | None] | None:
        """Give the one step that is enough in a world, if the reduction knows such steps."""

    def fit(self, model: Model, *, full_states: bool) -> None:
        """Look at the model that is to be searched.

        Raises:
            ValueError: if the reduction would not be sound for it, in one sentence.
        """
