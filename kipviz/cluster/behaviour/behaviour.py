"""What the class of an action's behaviour says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Generic, Protocol, TypeAlias, TypeVar

from kipviz.brokers.context import Context, Image
from kipviz.clauses import Clause
from kipviz.clients.application import Application
from kipviz.clients.kinds import Client
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import BrokerRole, Connection, RoleKey, World
from kipviz.core.model import Action

A = TypeVar("A", bound=Action)
# A name and a value of the world before a step.
Guard: TypeAlias = tuple[str, str]


class Model(Protocol):
    """What a behaviour asks of the model besides its world."""

    spec: ClusterSpec

    def context(self, world: World, broker: int) -> Context:
        """Return what a role on a broker may look at."""

    def obstacle(self, world: World, action: ClusterAction) -> str | None:
        """Return why an action is not possible, whatever the budget and the clock say."""

    def label(self, world: World, action: ClusterAction) -> str:
        """Name an action in a world."""


class Behaviour(ABC, Generic[A]):
    """When an action is possible, what it does, what it spends, what it is called and where that is written.

    `verbs` are the texts that name it in scripts. `place` is where an accident, a repair or an operator's action stands
    among those that are offered; 0 for an action that is found in another way. Choices of a run are numbers in what is
    offered: a new one gets a place behind the others.

    `spends` is the field of the fault budget that one such action takes one of, "" for what is free, and `spent_as`
    what a number of them is called. `clause` is None where the rule is another thing's: a call's, a message's, a
    timer's. `repairs`: it is listed behind the accidents, whatever offers it. `shows_time_left`: at a timed clock what
    it looks at ends with the time until it is due.
    """

    action: ClassVar[type[Action]]
    verbs: ClassVar[tuple[Verb, ...]]
    place: ClassVar[int] = 0
    spends: ClassVar[str] = ""
    spent_as: ClassVar[str] = ""
    clause: ClassVar[Clause | None] = None
    repairs: ClassVar[bool] = False
    shows_time_left: ClassVar[bool] = False

    @abstractmethod
    def why_not(self, model: Model, world: World, action: A) -> str | None:
        """Say in one sentence why the action is not possible, None if it is; budget, pauses and clock are asked elsewhere."""

    def comes_up(self, spec: ClusterSpec) -> bool:
        """Return whether the action can be offered in a cluster at all, whatever has happened."""
        return True

    def offered(self, spec: ClusterSpec, world: World) -> Iterable[ClusterAction]:
        """Return the accidents, repairs or doings of an operator that are possible, in the world's order.

        Budget, pauses and clock are asked elsewhere. What a process, a client, a connection or a role does by itself is
        given by `of_process` to `of_role`: it depends on that one thing, and is remembered as long as it is the same.
        """
        return ()

    def of_process(self, app: Application) -> Iterable[ClusterAction]:
        """Return the actions that a process can do now, or that can be done to it."""
        return ()

    def of_client(self, client: Client, image: Image) -> Iterable[ClusterAction]:
        """Return the actions that a client of a process that runs can do now."""
        return ()

    def of_connection(
        self, place: tuple[str, int], connection: Connection
    ) -> Iterable[ClusterAction]:
        """Return the actions that are possible on an open connection now."""
        return ()

    def of_new_role(self, key: RoleKey, role: BrokerRole) -> Iterable[ClusterAction]:
        """Return the actions of a role that has not read its log yet."""
        return ()

    def of_role(self, key: RoleKey, role: BrokerRole, on: Context) -> Iterable[ClusterAction]:
        """Return the actions of a role that it can do now; of a log it asks only where the log counts as a part of it."""
        return ()

    @abstractmethod
    def apply(self, turn: Turn, action: A) -> None:
        """Do it; it is possible."""

    @abstractmethod
    def name(self, world: World, action: A) -> ActionName:
        """Return the action's name, a value; `action_name` has its words in scripts and on the screen."""

    def sentence(self, world: World, action: A) -> str:
        """Tell in one sentence what happens; of what arrives the message says it (`views.explanations.sentences`)."""
        raise NotImplementedError(f"{type(action).__name__} has no sentence of its own")

    def looks_at(self, world: World, action: A) -> Iterable[Guard]:
        """Return the names and values of the world that it looks at, and of an accident what it takes away.

        A message, a call and the time say themselves what they look at (`views.explanations.guards`).
        """
        raise NotImplementedError(f"{type(action).__name__} says nothing of what it looks at")

    def host(self, world: World, action: A) -> str:
        """Return the host whose threads the action needs, "" for what happens to hosts."""
        return ""

    def lane(self, world: World, action: A) -> str:
        """Return the host on whose lane the action is shown, "" where it is no single host's."""
        return ""
