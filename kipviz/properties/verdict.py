"""The verdict of a property at a step."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from kipviz.core.traces.trace import Observer
from kipviz.core.values import Value
from kipviz.properties.harm import Harm

# What each of some properties remembers of a run, in their order. Only a property knows what its own memory is.
States: TypeAlias = tuple[Any, ...]

HOLDS = "holds"
PENDING = "pending"
BROKEN = "broken"


TITLES: dict[str, str] = {
    "poll() goes on": "poll() does not throw",
}
"""Other words on the screen, by a property's name; a property without an entry is shown by its name."""


FORMER_NAMES: dict[str, str] = {"vote survives": "transactional acknowledgements survive"}
"""The names that properties have now, by names that they had in commands and files."""


def title_of(name: str) -> str:
    """Return a property's words on the screen; its name stands in stored verdicts."""
    return TITLES.get(name, name)


class Finding(Value, frozen=True):
    """A property's verdict so far: it holds, something is still pending, or it is broken.

    A broken property stays broken; `reason` says what broke it, or what is still pending. `harm` is what a violation
    costs, if it costs a record or an outcome.
    """

    status: str
    reason: str = ""
    harm: Harm | None = None


class Property(Observer, Protocol):
    """A property: a fold over the events of a run, with a verdict on the run so far."""

    @property
    def name(self) -> str:
        """Its name in stored verdicts, in commands and in studies, which stay valid; see `FORMER_NAMES` and `TITLES`."""
        ...

    @property
    def sentence(self) -> str:
        """What must hold, in one sentence."""
        ...

    def finding(self, state: Any) -> Finding:
        """Return the verdict after the steps that were observed."""
        ...
