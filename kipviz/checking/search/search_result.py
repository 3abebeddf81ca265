"""The limits of a search, and its result."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from kipviz.checking.search import memory
from kipviz.checking.single_run.timers_ran import TimersRan
from kipviz.core.values import Value
from kipviz.properties.harm import Harm

DEPTH_MAX = 1_000_000


class Stop(StrEnum):
    """What stopped a search before it was complete.

    A bound that was asked for (`BOUND`), the memory of the machine, its caller, or an error of the model, of a property
    or of a worker.
    """

    BOUND = "bound"
    MEMORY = "memory"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Stopped(Value, frozen=True):
    """What stopped a search, and the words for it."""

    by: Stop
    words: str


CANCELLED = Stopped(Stop.CANCELLED, "cancelled")


class Bounds(Value, frozen=True):
    """The limits at which a search stops before it is complete.

    `memory_max` is the memory of the whole process in bytes; 0 reads the limits of the machine and its control groups.
    `breaks_max` is the number of broken properties at which it stops; 0 means no limit.

    Raises:
        ValueError: if a limit is not an integer or is below its minimum.
    """

    states_max: int = 200_000
    depth_max: int = DEPTH_MAX
    memory_max: int = 0
    breaks_max: int = 0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value, least = getattr(self, name), 1 if name == "states_max" else 0
            if type(value) is not int or value < least:
                raise ValueError(
                    f"{name} must be a whole number of at least {least}, not {value!r}"
                )

    def find_limit(self, states: int, depth: int, broken: int) -> Stopped | None:
        """Return which limit a search has reached, or None."""
        if states >= self.states_max:
            return Stopped(Stop.BOUND, f"the bound of {self.states_max:,} states")
        if depth >= self.depth_max:
            return Stopped(Stop.BOUND, f"the bound of depth {self.depth_max:,}")
        if 0 < self.breaks_max <= broken:
            return Stopped(Stop.BOUND, f"the bound of broken properties: {self.breaks_max:,}")
        return None

    def memory(self) -> int | None:
        """Return the bytes that the process may grow to, or None if unknown."""
        return self.memory_max or memory.bound()


class Counterexample(Value, frozen=True):
    """A shortest run that breaks a property, as actions from the start; `harm` is what the violation costs."""

    property: str
    reason: str
    actions: tuple[Any, ...]
    harm: Harm | None = None


class Explored(Value, frozen=True):
    """The result of a search.

    `complete` is True if every reachable state was visited and judged. Only then does the absence of a counterexample
    mean that the properties hold, for this cluster and this fault budget. Otherwise `stop` is what stopped it, and
    `stopped` the words for it.
    `undecided` counts the states for which it is open whether something is pending forever. `reductions` are the names
    of the reductions used; with one, a counterexample is not necessarily a shortest one. `timers` are those that
    expired. `abstraction` are the words of `kipviz.cluster.specs.abstraction.profile_of`: what the cluster leaves out
    of Kafka.
    """

    states: int
    transitions: int
    depth: int
    complete: bool
    counterexamples: tuple[Counterexample, ...]
    undecided: int = 0
    stopped: str = ""
    reductions: tuple[str, ...] = ()
    clock: str = "untimed"
    timers: TimersRan = TimersRan()
    abstraction: str = ""
    stop: Stop | None = None

    @property
    def cancelled(self) -> bool:
        """Whether its caller stopped it."""
        return self.stop is Stop.CANCELLED

    @property
    def under(self) -> str:
        """The line below the verdict: the abstraction profile and what it leaves out of Kafka; "" for another model."""
        return f"Searched under the abstraction {self.abstraction}." if self.abstraction else ""

    @property
    def sentence(self) -> str:
        """The result in words."""
        size = f"{self.states:,} states, {self.transitions:,} transitions"
        if self.complete:
            size = f"{size}, depth {self.depth}"
        else:
            size = f"{size} to depth {self.depth}, not complete ({self.stopped})"
        size = ", ".join((size, self.clock, *(f"reduced by {name}" for name in self.reductions)))
        if self.undecided:
            size = f"{size}, {self.undecided:,} of them undecided"
        if not self.counterexamples:
            sure = self.complete and not self.undecided
            word = "no property is broken" if sure else "no property is broken so far"
            return f"{size}: {word}"
        broken = "; ".join(
            f"{c.property} breaks after {len(c.actions)} steps: {c.reason}"
            for c in self.counterexamples
        )
        return f"{size}: {broken}"
