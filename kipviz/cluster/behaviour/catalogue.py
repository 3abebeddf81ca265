"""All behaviours, and their answers for an action."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from kipviz.clauses import Clause
from kipviz.cluster.actions import ClusterAction
from kipviz.cluster.behaviour import (
    applications,
    brokers,
    clients,
    network,
    operators,
    passing_time,
    roles,
)
from kipviz.cluster.behaviour.action_name import ActionName, Verb
from kipviz.cluster.behaviour.behaviour import AnyBehaviour, Behaviour, Guard
from kipviz.cluster.network.paused_hosts import list_paused
from kipviz.cluster.specs.spec import ClusterSpec, FaultBudget
from kipviz.cluster.world import World
from kipviz.core.model import Action

BEHAVIOURS: tuple[AnyBehaviour, ...] = (
    *applications.BEHAVIOURS,
    *clients.BEHAVIOURS,
    *network.BEHAVIOURS,
    *roles.BEHAVIOURS,
    *brokers.BEHAVIOURS,
    *operators.BEHAVIOURS,
    *passing_time.BEHAVIOURS,
)
BEHAVIOUR_OF: dict[type[Action], AnyBehaviour] = {each.action: each for each in BEHAVIOURS}

SPENT_AS: dict[str, str] = {each.spends: each.spent_as for each in BEHAVIOURS if each.spends}
"""What each field of a fault budget allows, in words."""

# All verbs, once each: a crash is a broker's or a client's.
VERBS: tuple[Verb, ...] = tuple(dict.fromkeys(verb for each in BEHAVIOURS for verb in each.verbs))

Offer: TypeAlias = Callable[[ClusterSpec, World], Iterable[ClusterAction]]

# The behaviours with actions of processes, clients, connections and roles.
OF_PROCESSES = tuple(
    each for each in BEHAVIOURS if type(each).of_process is not Behaviour.of_process
)
OF_CLIENTS = tuple(each for each in BEHAVIOURS if type(each).of_client is not Behaviour.of_client)
OF_CONNECTIONS = tuple(
    each for each in BEHAVIOURS if type(each).of_connection is not Behaviour.of_connection
)
OF_NEW_ROLES = tuple(
    each for each in BEHAVIOURS if type(each).of_new_role is not Behaviour.of_new_role
)
OF_ROLES = tuple(each for each in BEHAVIOURS if type(each).of_role is not Behaviour.of_role)

# The behaviours that offer faults, repairs and an operator's actions, in the order of the list.
_OFFERING = tuple(sorted((each for each in BEHAVIOURS if each.place), key=lambda each: each.place))


def offers_of(spec: ClusterSpec, budget: FaultBudget) -> tuple[Offer, ...]:
    """Return the behaviours with something to offer under a budget: free actions, and those with budget left."""
    left = (each for each in _OFFERING if not each.spends or getattr(budget, each.spends))
    return tuple(each.possible_actions for each in left if each.comes_up(spec))


def name_action(world: World, action: ClusterAction) -> ActionName:
    """Return the name of an action in a world."""
    return BEHAVIOUR_OF[type(action)].name(world, action)


def label(world: World, action: ClusterAction) -> str:
    """Return an action's words on the screen: "EndTxn arrives at B1", "the lock of src-0@100 runs out"."""
    return name_action(world, action).on_screen


def script_name(world: World, action: ClusterAction) -> str:
    """Return an action's text in stories and programs; patterns are matched against nothing else."""
    return name_action(world, action).in_scripts


def title_of(world: World, action: ClusterAction) -> str:
    """Return a few words for an action, short enough for a lane and a button."""
    return BEHAVIOUR_OF[type(action)].title(world, action)


def detail_of(world: World, action: ClusterAction) -> str:
    """Return the line below an action's title in the list of what can happen."""
    return BEHAVIOUR_OF[type(action)].detail(world, action)


def sentence_of(world: World, action: ClusterAction) -> str:
    """Return one sentence that says what happens."""
    return BEHAVIOUR_OF[type(action)].sentence(world, action)


def read_guards(world: World, action: ClusterAction) -> Iterable[Guard]:
    """Return the values that an action depends on, if it is not a call, a message or the time."""
    return BEHAVIOUR_OF[type(action)].looks_at(world, action)


def clause_of(action: ClusterAction) -> Clause:
    """Return the clause of an action that has a rule of its own."""
    clause = BEHAVIOUR_OF[type(action)].clause
    assert clause is not None, f"{type(action).__name__} follows a call, a message or a timer"
    return clause


def runs_on(world: World, action: ClusterAction) -> str:
    """Return the host whose threads an action needs, "" for actions on hosts."""
    return BEHAVIOUR_OF[type(action)].host(world, action)


def actor_of(action: ClusterAction) -> str:
    """Return who acts, without a world: a process, a broker that receives, or else the broker that is named."""
    return BEHAVIOUR_OF[type(action)].actor(action)


def lane_of(world: World, action: ClusterAction) -> str:
    """Return the host in whose lane an action is shown, "" if it belongs to no single host."""
    return BEHAVIOUR_OF[type(action)].lane(world, action)


def why_paused(world: World, action: ClusterAction) -> str | None:
    """Return why an action has to wait, if the host that would act is paused."""
    host = runs_on(world, action)
    return f"{host} is paused" if host in list_paused(world) else None
