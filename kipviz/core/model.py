"""The contract: everything that can happen is an action, and a step is a pure function.

    initial() -> world
    enabled(world) -> the actions that are possible now, in one canonical order
    step(world, action) -> Outcome(world, events)

Because of these three lines, stepping, time travel, branching, random runs, exhaustive search and the replay of
recordings all use the same mechanism. Nothing here knows Kafka; a two-phase commit of forty lines (see `tests/core`) is
as good a model as the whole cluster.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from kipviz.core.values import TextValue, Value


class Action(Value, frozen=True, tag=True, tag_field="class"):
    """One thing that can happen: a call, a delivery, a timer, a crash, a tick.

    An action is plain data: it is equal by content, and in a file it is a JSON object whose member `class` names the
    kind of action. `WRITTEN` has the fields that are stored as text there, each with the function that reads it. `KIND`
    is what `Model.kind` returns, in a model whose actions have it.
    """

    KIND: ClassVar[str]
    WRITTEN: ClassVar[Mapping[str, Callable[[str], TextValue]]] = {}


class Event(Value, frozen=True, tag=True, tag_field="class"):
    """One thing that happened in a step; its name is in the past tense."""


class Outcome(Value, frozen=True):
    """The result of a step: the new world, and what happened on the way, in order.

    `checks` are the comparisons by which a model decided the step, for explanations. No property may read them: a trace
    does not keep them.
    """

    world: Any
    events: tuple[Event, ...] = ()
    checks: tuple[Value, ...] = ()


class NotEnabled(Exception):
    """An action was requested that is not possible in this world.

    Attributes:
        action: the requested action.
        why: one sentence that says what is missing.
    """

    def __init__(self, action: Any, why: str) -> None:
        super().__init__(action, why)
        self.action = action
        self.why = why

    def __str__(self) -> str:
        return f"{self.action!r} is not possible here: {self.why}"


class Model(Protocol):
    """A world that can be stepped.

    `world` and `action` are defined by the model: worlds are immutable and have fingerprints, actions are subclasses of
    `Action`.
    """

    @property
    def action_type(self) -> Any:
        """The union of all action classes of this model; a trace file is decoded with it."""

    def initial(self) -> Any:
        """Return the first world; always the same one."""

    def enabled(self, world: Any, /) -> tuple[Any, ...]:
        """Return every action that is possible now, in one canonical order, never from a set."""

    def step(self, world: Any, action: Any, /) -> Outcome:
        """Return the outcome of an action; the world given stays as it is.

        Raises:
            NotEnabled: if the action is not possible in this world.
        """

    def why_not(self, world: Any, action: Any, /) -> str | None:
        """Return in one sentence why an action is not possible, or None if it is."""

    def search_key(self, world: Any, /) -> bytes:
        """Return bytes that are equal for worlds that a search need not distinguish."""

    def share_tables(self, world: Any, /) -> Any:
        """Return an equal world that shares its parts with earlier ones, so that a search keeps them once; or the world."""

    def kind(self, action: Any, /) -> str:
        """Return the kind of an action ("deliver", "timer", "fault"...), by which dice are weighed."""
