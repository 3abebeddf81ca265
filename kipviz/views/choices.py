"""What can happen next, and what cannot and why."""

from __future__ import annotations

import msgspec

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.actions import (
    ClusterAction,
    CrashBroker,
    CrashClient,
    Deliver,
    ExpireLock,
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
from kipviz.cluster.specs.spec import TRANSACTION_VERSION
from kipviz.cluster.world import World, host_of
from kipviz.core.written import ActionReader, action_to_json
from kipviz.messages.cluster.features import STAGING_LEVEL
from kipviz.views.explanations.sentences import summary
from kipviz.views.page_parts import ChoicePart

FAULTS = ("fault", "expiry", "repair")
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


def choices(model: ClusterModel, world: World, taken: ClusterAction | None) -> list[ChoicePart]:
    """Return everything that can happen in a world, then what cannot, with the reason.

    The action that was taken is included even if it is not offered, such as a network partition between sets of hosts.
    """
    items = [_item(world, action, taken=action == taken) for action in model.enabled(world)]
    if taken is not None and not any(item["taken"] for item in items):
        items.append(_item(world, taken, taken=True))
    for action in _impossible(world):
        why = model.why_not(world, action)
        if why is not None:
            items.append({**_item(world, action, taken=False), "enabled": False, "why": why})
    return items


def _item(world: World, action: ClusterAction, *, taken: bool) -> ChoicePart:
    return {
        "id": choice_id(action),
        "text": _text(world, action),
        "sub": _detail(world, action),
        "group": "fault" if action.KIND in FAULTS else "next",
        "enabled": True,
        "why": "",
        "taken": taken,
    }


def _impossible(world: World) -> list[ClusterAction]:
    """Return what a reader may expect to be possible; the model decides whether it is."""
    out: list[ClusterAction] = [Step(name) for name in world.applications]
    out += [Step(app.name, w.name) for app in world.applications.values() for w in app.workers]
    out += [CrashClient(name) for name in world.applications]
    hosts = dict.fromkeys(b for held in world.image.leaders.values() for b in held.replicas)
    out += [CrashBroker(broker) for broker in hosts]
    for (source, broker), connection in world.connections.items():
        if connection.open and not connection.left:
            out.append(LoseConnection(source, broker))
            if connection.requests:
                out.append(Deliver(source, broker, "request"))
    for partition, held in world.image.leaders.items():
        out += [MoveLeader(partition, broker) for broker in held.replicas if broker != held.leader]
    if world.image.releases:
        # An operator who rolls out releases wants to know which broker still prevents a feature level.
        levels = (("transaction_version", TRANSACTION_VERSION), ("share_version", STAGING_LEVEL))
        out += [UpgradeFeature(feature, level) for feature, level in levels]
        out += [StartBroker(b) for b, _ in world.image.releases if b not in world.up]
    for (broker, _, shard), role in world.roles.items():
        if isinstance(role, ShareLeader):
            out += [ExpireLock(broker, key, lock) for key, lock in _list_locks(role)]
        elif isinstance(role, TransactionCoordinator):
            out += [TimeOutTransaction(broker, shard, name) for name in role.transactions]
    return out


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
