"""What can happen next, and what cannot and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    CrashClient,
    Cut,
    DeleteRecords,
    Deliver,
    ExpireLock,
    GiveUp,
    Heal,
    LoseConnection,
    MoveLeader,
    Send,
    StartBroker,
    Step,
    TimeOutTransaction,
    UpgradeFeature,
)
from kipviz.cluster.behaviour.catalogue import detail_of, title_of
from kipviz.cluster.behaviour.naming import on_wire, thread_of
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.real.rebuilt_cluster import RebuiltModel
from kipviz.cluster.specs.spec import TRANSACTION_VERSION
from kipviz.cluster.world import World, host_of
from kipviz.core.written import ActionReader, action_to_json
from kipviz.messages.cluster.features import STAGING_LEVEL
from kipviz.views.explanations.sentences import summary
from kipviz.views.page_parts import ChoicePart

FAULTS = ("fault", "expiry", "repair")
# Their words depend on the action and the metadata, and on nothing else of a world.
OF_METADATA = (
    CrashBroker,
    StartBroker,
    MoveLeader,
    LoseConnection,
    GiveUp,
    Cut,
    Heal,
    DeleteRecords,
    TimeOutTransaction,
    UpgradeFeature,
)
_actions = ActionReader(ClusterAction)


def choice_id(action: ClusterAction) -> str:
    """Return the id of an action on the page, which is the action as JSON."""
    return action_to_json(action).decode()


def action_of(choice: object) -> ClusterAction:
    """Return the action of an id.

    Raises:
        ValueError: if it is not an action.
    """
    if not isinstance(choice, str):
        raise ValueError(f"{choice!r} is not an action of a cluster: an action must be a text")  # noqa: TRY004
    try:
        action: ClusterAction = _actions.read(choice)
    except msgspec.MsgspecError as wrong:
        raise ValueError(f"{choice!r} is not an action of a cluster: {wrong}") from wrong
    return action


class Choices:
    """The choices of a run's worlds, one after the other.

    Most of them are faults whose words depend on the metadata alone, and that changes seldom: those are made once.
    """

    def __init__(self, model: ClusterModel) -> None:
        """Start before the first world of a run."""
        self._model = model
        self._steady = _Steady()

    def of(self, world: World, taken: ClusterAction | None) -> list[ChoicePart]:
        """Return everything that can happen in a world, then what cannot, with the reason; on rebuilt logs only what can.

        The action that was taken is included even if it is not offered, such as a network partition between sets of
        hosts.
        """
        if not self._steady.holds_for(world):
            self._steady = _Steady(world)
        known = self._steady
        items = [
            known.items.get(action) or self._item(world, action)
            for action in self._model.enabled(world)
        ]
        if taken is not None:
            self._mark_taken(world, items, taken)
        if isinstance(self._model, RebuiltModel):
            return items  # the logs say what comes next, and no reader looks for a fault there
        if known.brokers is None or known.leaders is None:
            known.brokers = self._impossible(world, _crashes(world))
            known.leaders = self._impossible(world, _elections(world))
        items += self._impossible(world, _of_applications(world))
        items += known.brokers
        items += self._impossible(world, _of_connections(world))
        items += known.leaders
        items += self._impossible(world, _timers(world))
        return items

    def _mark_taken(self, world: World, items: list[ChoicePart], taken: ClusterAction) -> None:
        name, found = choice_id(taken), False
        for at, item in enumerate(items):
            if item["id"] == name:
                items[at], found = {**item, "taken": True}, True
        if not found:
            items.append({**self._item(world, taken), "taken": True})

    def _item(self, world: World, action: ClusterAction) -> ChoicePart:
        if not isinstance(action, OF_METADATA):
            return _item(world, action)
        known = self._steady.items
        found = known.get(action)
        if found is None:
            found = known[action] = _item(world, action)
        return found

    def _impossible(self, world: World, wanted: Iterable[ClusterAction]) -> list[ChoicePart]:
        """Return those of some actions that are not possible, each with the reason."""
        found: list[ChoicePart] = []
        for action in wanted:
            why = self._model.why_not(world, action)
            if why is not None:
                found.append({**self._item(world, action), "enabled": False, "why": why})
        return found


class _Steady:
    """What was made of the parts of a world that a step of a client or a message does not change."""

    def __init__(self, world: World | None = None) -> None:
        self._world = world
        self.items: dict[ClusterAction, ChoicePart] = {}
        # Crashes, then changes of leaders and feature levels and starts: those that are not possible.
        self.brokers: list[ChoicePart] | None = None
        self.leaders: list[ChoicePart] | None = None

    def holds_for(self, world: World) -> bool:
        """Return whether another world has the same metadata, brokers, network partitions and faults left."""
        known = self._world
        return (
            known is not None
            and known.image is world.image
            and known.up == world.up
            and known.cuts == world.cuts
            and known.budget == world.budget
        )


def choices(model: ClusterModel, world: World, taken: ClusterAction | None) -> list[ChoicePart]:
    """Return the choices of a single world."""
    return Choices(model).of(world, taken)


def _item(world: World, action: ClusterAction) -> ChoicePart:
    return {
        "id": choice_id(action),
        "text": _text(world, action),
        "sub": _detail(world, action),
        "group": "fault" if action.KIND in FAULTS else "next",
        "enabled": True,
        "why": "",
        "taken": False,
    }


# What a reader may expect to be possible; the model decides whether it is.


def _of_applications(world: World) -> Iterator[ClusterAction]:
    yield from (Step(name) for name in world.applications)
    for app in world.applications.values():
        yield from (Step(app.name, worker.name) for worker in app.workers)
    yield from (CrashClient(name) for name in world.applications)


def _crashes(world: World) -> Iterator[ClusterAction]:
    hosts = dict.fromkeys(b for held in world.image.leaders.values() for b in held.replicas)
    return (CrashBroker(broker) for broker in hosts)


def _of_connections(world: World) -> Iterator[ClusterAction]:
    for (source, broker), connection in world.connections.items():
        if connection.open and not connection.left:
            yield LoseConnection(source, broker)
            if connection.requests:
                yield Deliver(source, broker, "request")


def _elections(world: World) -> Iterator[ClusterAction]:
    for partition, held in world.image.leaders.items():
        for broker in held.replicas:
            if broker != held.leader:
                yield MoveLeader(partition, broker)
    if world.image.releases:
        # An operator who rolls out releases wants to know which broker still prevents a feature level.
        yield UpgradeFeature("transaction_version", TRANSACTION_VERSION)
        yield UpgradeFeature("share_version", STAGING_LEVEL)
        for broker, _ in world.image.releases:
            if broker not in world.up:
                yield StartBroker(broker)


def _timers(world: World) -> Iterator[ClusterAction]:
    for (broker, _, shard), role in world.roles.items():
        if isinstance(role, ShareLeader):
            yield from (ExpireLock(broker, key, lock) for key, lock in _list_locks(role))
        elif isinstance(role, TransactionCoordinator):
            yield from (TimeOutTransaction(broker, shard, name) for name in role.transactions)


def _list_locks(role: ShareLeader) -> list[tuple[str, int]]:
    """Return every acquisition lock under which a record is held, whether or not its timer runs."""
    return [
        (key, lock)
        for key, share in role.shares.items()
        for lock in sorted({r.lock for r in share.records.values() if r.lock >= 0})
    ]


def _detail(world: World, action: ClusterAction) -> str:
    """Return the line below a title; for an arrival with the message."""
    words = detail_of(world, action)
    message = on_wire(world, action) if isinstance(action, Deliver) else None
    return f"{words} · {summary(message)}" if message else words


def _text(world: World, action: ClusterAction) -> str:
    words = title_of(world, action)
    if isinstance(action, Send):
        return f"{host_of(action.source)}: {words}"
    if isinstance(action, Step):
        return f"{thread_of(action)}: {words}"
    return words[:1].upper() + words[1:] if words.startswith("the ") else words
