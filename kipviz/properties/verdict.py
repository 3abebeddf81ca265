"""What a property says at a step."""

from __future__ import annotations

from typing import Any, Protocol

from kipviz.core.trace import Observer
from kipviz.core.values import Value

HOLDS = "holds"
PENDING = "pending"
BROKEN = "broken"


class Finding(Value, frozen=True):
    """A property's verdict so far: it holds, something is still due, or it is broken.

    A broken property stays broken; `reason` says what broke it, or what is still due.
    """

    status: str
    reason: str = ""


class Property(Observer, Protocol):
    """A promise: a fold over the events of a run, and what it says of the run so far."""

    @property
    def name(self) -> str:
        """What verdicts call it."""
        ...

    @property
    def sentence(self) -> str:
        """What it promises, in one sentence."""
        ...

    def finding(self, state: Any) -> Finding:
        """Return the verdict after the steps that were observed."""
        ...
