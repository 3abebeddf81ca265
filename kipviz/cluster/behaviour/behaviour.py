"""What the class of an action's behaviour says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Generic, Protocol, TypeVar

from kipviz.brokers.context import Context
from kipviz.clauses import Clause
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.action_name import ActionName
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import World
from kipviz.core.model import Action

A = TypeVar("A", bound=Action)


class Model(Protocol):
    """What a behaviour asks of the model besides its world."""

    spec: ClusterSpec

    def context(self, world: World, broker: int) -> Context:
        """Give what a role on a broker may look at."""

    def obstacle(self, world: World, action: ClusterAction) -> str | None:
        """Say why an action is not possible, whatever the budget and the clock say."""

    def label(self, world: World, action: ClusterAction) -> str:
        """Name an action in a world."""


class Behaviour(ABC, Generic[A]):
    """When an action is possible, what it does, what it spends, what it is called and where that is written.

    `place` is where an accident, a repair or an operator's doing stands among those that are offered; 0 for an action that
    is found in another way. Choices of a run are numbers in what is offered: a new one gets a place behind the others.

    `spends` is the field of the fault budget that one such action takes one of, "" for what is free, and
    `spent_as` what a number of them is called. `clause` is None where the rule is another thing's: a call's, a
    message's, a timer's.
    """

    action: ClassVar[type[Action]]
    place: ClassVar[int] = 0
    spends: ClassVar[str] = ""
    spent_as: ClassVar[str] = ""
    clause: ClassVar[Clause | None] = None

    @abstractmethod
    def why_not(self, model: Model, world: World, action: A) -> str | None:
        """Say in one sentence why the action is not possible, None if it is; budget, pauses and clock are asked elsewhere."""

    def comes_up(self, spec: ClusterSpec) -> bool:
        """Say whether the action can be offered in a cluster at all, whatever has happened."""
        return True

    def offered(self, spec: ClusterSpec, world: World) -> Iterable[ClusterAction]:
        """Give the actions that are possible, in the world's order; budget, pauses and clock are asked elsewhere.

        What clients, wires, roles and clocks do is found by the model, which remembers most of it.
        """
        return ()

    @abstractmethod
    def apply(self, turn: Turn, action: A) -> None:
        """Do it; it is possible."""

    @abstractmethod
    def name(self, world: World, action: A) -> ActionName:
        """Return the action's name, a value; `action_name` has its words in scripts and on the screen."""

    def sentence(self, world: World, action: A) -> str:
        """Tell in one sentence what happens, for accidents, repairs and an operator's doings.

        What goes on by itself is told by what is called, on the wire or timed (`views.explanations.sentences`).
        """
        raise NotImplementedError(
            f"the sentence of {type(action).__name__} is in views/explanations/sentences.py"
        )

    def host(self, world: World, action: A) -> str:
        """Give the host whose threads the action needs, "" for what happens to hosts."""
        return ""

    def lane(self, world: World, action: A) -> str:
        """Give the host on whose lane the action is shown, "" where it is no single host's."""
        return ""
