"""The base class of actions' behaviour."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

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
    """What a behaviour needs from the model besides its world."""

    spec: ClusterSpec

    def context(self, world: World, broker: int) -> Context:
        """Return what a role on a broker may read."""

    def obstacle(self, world: World, action: ClusterAction) -> str | None:
        """Return why an action is not possible, whatever the budget and the clock say."""

    def label(self, world: World, action: ClusterAction) -> str:
        """Name an action in a world."""


class Behaviour(ABC, Generic[A]):
    """When an action is possible, what it does, what it spends, its name, and the text of its rule.

    `verbs` are the texts that name it in scripts. `place` is the rank of a fault, a repair or an operator's action
    among those that are offered; 0 for an action that is found in another way. A run's choices are numbers in that
    list, so a new action gets a place behind the others.

    `spends` is the field of the fault budget from which one such action takes one, "" for a free action, and `spent_as`
    is the name of several. `clause` is None if the rule belongs to something else: a call, a message, a timer.
    `repairs`: it is listed behind the faults, whatever offers it. `shows_time_left`: with a timed clock the time until
    it is due is shown, too.
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
        """Return in one sentence why the action is not possible, or None if it is.

        Budget, pauses and clock are checked elsewhere.
        """

    def comes_up(self, spec: ClusterSpec) -> bool:
        """Return whether the action can be offered in a cluster at all, whatever has happened."""
        return True

    def possible_actions(self, spec: ClusterSpec, world: World) -> Iterable[ClusterAction]:
        """Return the faults, repairs or operator's actions that are possible, in the world's order.

        Budget, pauses and clock are checked elsewhere. The actions of a process, a client, a connection or a role come
        from `of_process` to `of_role`: they depend on that one object only, and are cached as long as it is the same.
        """
        return ()

    def of_process(self, app: Application) -> Iterable[ClusterAction]:
        """Return the actions of a process, or on it, that are possible now."""
        return ()

    def of_client(self, client: Client, image: Image) -> Iterable[ClusterAction]:
        """Return the actions of a running process's client that are possible now."""
        return ()

    def of_connection(
        self, place: tuple[str, int], connection: Connection
    ) -> Iterable[ClusterAction]:
        """Return the actions that are possible on an open connection now."""
        return ()

    def of_new_role(self, key: RoleKey, role: BrokerRole) -> Iterable[ClusterAction]:
        """Return the actions of a role that has not loaded its log yet."""
        return ()

    def of_role(self, key: RoleKey, role: BrokerRole, on: Context) -> Iterable[ClusterAction]:
        """Return the actions of a role that are possible now.

        It reads a log only if the log counts as a part of the role.
        """
        return ()

    @abstractmethod
    def apply(self, turn: Turn, action: A) -> None:
        """Apply the action, which is possible."""

    @abstractmethod
    def name(self, world: World, action: A) -> ActionName:
        """Return the action's name, a value; `action_name` has its words in scripts and on the screen."""

    def sentence(self, world: World, action: A) -> str:
        """Return one sentence that says what happens; for an arriving message see `views.explanations.sentences`."""
        raise NotImplementedError(f"{type(action).__name__} has no sentence of its own")

    def looks_at(self, world: World, action: A) -> Iterable[Guard]:
        """Return the names and values of the world that decide about it; for a fault, what it destroys.

        For a message, a call and the time see `views.explanations.guards`.
        """
        raise NotImplementedError(f"{type(action).__name__} says nothing of what it looks at")

    def host(self, world: World, action: A) -> str:
        """Return the host whose threads the action needs, "" for actions on hosts."""
        return ""

    def lane(self, world: World, action: A) -> str:
        """Return the host in whose lane the action is shown, "" if it belongs to no single host."""
        return ""


# A behaviour of whichever action. Each is asked about its own actions alone: `catalogue` finds it by the action's class.
AnyBehaviour: TypeAlias = Behaviour[Any]
