"""The base class of actions' behaviour."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from kipviz.brokers.context import Context, Image
from kipviz.clauses import Clause
from kipviz.clients.application import Application
from kipviz.clients.kinds import Client
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing.clock import Deadline, Due, Place
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import BrokerRole, Connection, RoleKey, World
from kipviz.core.model import Action
from kipviz.core.watched import Cell

A = TypeVar("A", bound=Action)
# A name and a value of the world before a step.
Guard: TypeAlias = tuple[str, str]


class Model(Protocol):
    """What a behaviour needs from the model besides its world."""

    spec: ClusterSpec

    def context(self, world: World, broker: int) -> Context:
        """Return what a role on a broker may read."""

    def overdue(self, world: World) -> str:
        """Return the label of a possible action that is due now at the latest, "" if there is none."""


class Behaviour(ABC, Generic[A]):
    """When an action is possible, what it does, what it spends, its name, and the text of its rule.

    `verbs` are the texts that name it in scripts. `place` is the rank of a fault, a repair or an operator's action
    among those that are offered; 0 for an action that is found in another way. A run's choices are numbers in that
    list, so a new action gets a place behind the others.

    `spends` is the field of the fault budget from which one such action takes one, "" for a free action, and `spent_as`
    is the name of several. `clause` is None if the rule belongs to something else: a call, a message, a timer.
    `repairs`: it is listed behind the faults, whatever offers it. `shows_time_left`: with a timed clock the time until
    it is due is shown, too.

    `dues` are the kinds of deadline that the action may have on a timed clock. `timer` is the name of the timer that
    expires, as a line below a verdict lists it. `expires_at_rest`: the timer expires in the end where nothing else can
    happen, without spending the budget. `delivers`: a message arrives, and its sender is the cause. `parts_read` are the
    parts of the world that it reads and that are no tables, in the order of `world.PARTS`.
    """

    action: ClassVar[type[ClusterAction]]
    verbs: ClassVar[tuple[Verb, ...]]
    place: ClassVar[int] = 0
    spends: ClassVar[str] = ""
    spent_as: ClassVar[str] = ""
    clause: ClassVar[Clause | None] = None
    repairs: ClassVar[bool] = False
    shows_time_left: ClassVar[bool] = False
    dues: ClassVar[tuple[Due, ...]] = ()
    timer: ClassVar[str] = ""
    expires_at_rest: ClassVar[bool] = False
    delivers: ClassVar[bool] = False
    parts_read: ClassVar[tuple[str, ...]] = ()

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

    def title(self, world: World, action: A) -> str:
        """Return a few words for the action, short enough for a lane and a button."""
        return self.name(world, action).on_screen

    def detail(self, world: World, action: A) -> str:
        """Return the line below its title in the list of what can happen: the role, the connection, the statement."""
        return ""

    def deadline_place(self, world: World, action: A) -> Place | None:
        """Return the kind and place of the action's deadline on a timed clock, or None if it comes at any time."""
        return (self.dues[0], msgspec.structs.astuple(action)) if self.dues else None

    def at_deadline(self, world: World, deadline: Deadline) -> ClusterAction:
        """Return the action of a deadline whose kind is one of `dues`."""
        made: Callable[..., ClusterAction] = self.action
        return made(*deadline.place)

    def main_cause(self, action: A) -> Cell | None:
        """Return the cell of the world that mainly made the action possible; None for a fault, and for a message."""
        return None

    def deadline_cause(self, action: A) -> Cell | None:
        """Return the cell of the world whose value set the action's deadline."""
        return self.main_cause(action)

    def expiring_timer(self, action: A) -> str:
        """Return the name of the timer that expires with the action, "" if none does."""
        return self.timer

    def actor(self, action: A) -> str:
        """Return who acts, without a world: a process, a broker that receives, or else the broker that is named.

        The steps of one actor are moved together when a run is shortened.
        """
        return f"{action.KIND} {getattr(action, 'broker', '')}"

    def host(self, world: World, action: A) -> str:
        """Return the host whose threads the action needs, "" for actions on hosts."""
        return ""

    def lane(self, world: World, action: A) -> str:
        """Return the host in whose lane the action is shown, "" if it belongs to no single host."""
        return ""


# A behaviour of whichever action. Each is asked about its own actions alone: `catalogue` finds it by the action's class.
AnyBehaviour: TypeAlias = Behaviour[Any]
