"""A short name for every action, by which scripts pick it and people read it.

The wording is part of the contract: scripts, the command line and saved traces show it.
"""

from __future__ import annotations

from typing import assert_never

from kipviz.clients.kinds import next_request
from kipviz.clients.share_memory import ShareConsumer
from kipviz.cluster import guests
from kipviz.cluster.actions import (
    ClientTimer,
    ClusterAction,
    CrashBroker,
    CrashClient,
    CreateAcls,
    CreateTopic,
    Cut,
    DelayOver,
    DeleteAcls,
    DeleteRecords,
    DeleteTopic,
    Deliver,
    DeliverLate,
    ExpireBatch,
    ExpireLock,
    GiveUp,
    Heal,
    InstallRelease,
    Load,
    LoseConnection,
    MissPoll,
    MoveLeader,
    Operated,
    Pause,
    ReadLog,
    Receive,
    Refresh,
    RemakeTopic,
    Replicate,
    Resume,
    RunOut,
    Send,
    StartBroker,
    StartClient,
    Step,
    Tick,
    TimeOutCall,
    TimeOutTransaction,
    UpgradeFeature,
)
from kipviz.cluster.sides import both
from kipviz.cluster.world import World, broker_host, host_of
from kipviz.messages.message import Message


def label(world: World, action: ClusterAction) -> str:
    """Name an action in a world: "EndTxn arrives at B1", "the lock of src-0@100 runs out"."""
    match action:
        case Step():
            return f"{thread_of(action)} goes on"
        case Send(source=source) | Receive(source=source):
            request = (
                _to_send(world, source) if isinstance(action, Send) else guests.request_of(action)
            )
            return f"{source} sends {type(request).__name__ if request else 'nothing'}"
        case Deliver(source=source, broker=broker, way=way):
            message = on_wire(world, action)
            target = broker_host(broker) if way == "request" else source
            name = type(message).__name__ if message else f"nothing ({way})"
            if way == "response" and source not in _clients(world):
                # One of a broker's channels may wait for answers from several brokers.
                return f"{name} from {broker_host(broker)} arrives at {source}"
            return f"{name} arrives at {target}"
        case Replicate(partition=partition):
            return f"{partition} is replicated"
        case Load(broker=broker, shard=shard):
            return f"{shard} takes office on {broker_host(broker)}"
        case ExpireLock(key=key, lock=lock):
            return f"the lock of {partition_of(world, key)}@{lock}{_of_group(world, key)} runs out"
        case TimeOutTransaction(transactional_id=name):
            return f"{name} times out"
        case TimeOutCall():
            return f"a call of {thread_of(action)} times out"
        case RunOut() | DelayOver() | ClientTimer():
            return _timer(action)
        case Refresh(broker=broker, key=key):
            return f"{broker_host(broker)} refreshes {partition_of(world, key)}"
        case CrashBroker(broker=broker):
            return f"{broker_host(broker)} crashes"
        case StartBroker(broker=broker):
            return f"{broker_host(broker)} starts"
        case MoveLeader(partition=partition, to=to):
            return f"{partition} moves to {broker_host(to)}"
        case LoseConnection(source=source, broker=broker):
            return f"{source} loses {broker_host(broker)}"
        case GiveUp() | DeliverLate() | ExpireBatch() | MissPoll() | Tick() | ReadLog():
            return _limit(world, action)
        case (
            RemakeTopic()
            | DeleteTopic()
            | CreateTopic()
            | DeleteRecords()
            | UpgradeFeature()
            | InstallRelease()
            | CreateAcls()
            | DeleteAcls()
        ):
            return _operated(action)
        case Cut() | Heal() | Pause() | Resume():
            return _of_hosts(action)
        case CrashClient(application=name) | StartClient(application=name):
            return f"{name} {'crashes' if isinstance(action, CrashClient) else 'starts'}"
        case _:
            assert_never(action)


def thread_of(action: Step | TimeOutCall) -> str:
    """Name the thread that goes on or comes back: a process, or one of its further threads."""
    return f"{action.thread} of {action.application}" if action.thread else action.application


def _operated(action: Operated) -> str:
    """Name what an operator does."""
    match action:
        case DeleteRecords(partition=partition):
            return f"the oldest batch of {partition} is deleted"
        case RemakeTopic(topic=topic):
            return f"{topic} is deleted and made again"
        case DeleteTopic(topic=topic):
            return f"{topic} is deleted for good"
        case CreateTopic(topic=topic):
            return f"{topic} is made"
        case UpgradeFeature(feature=feature, level=level):
            return f"{feature.replace('_', '.')} {level} is finalized"
        case InstallRelease(broker=broker, release=release):
            return f"{broker_host(broker)} is stopped for {release}"
        case CreateAcls(acl=acl):
            return f"the ACL '{acl.words}' is created"
        case DeleteAcls(acl=acl):
            return f"the ACL '{acl.words}' is deleted"
        case _:
            assert_never(action)


def _limit(
    world: World, action: GiveUp | DeliverLate | ExpireBatch | MissPoll | Tick | ReadLog
) -> str:
    match action:
        case MissPoll(source=source):
            return f"{source} polls too late"
        case Tick():
            return "time passes"
        case ReadLog(partition=partition, offset=offset, at=at):
            return f"{at} {partition}@{offset} is read"
        case GiveUp(source=source, broker=broker):
            return f"{source} gives up on {broker_host(broker)}"
        case DeliverLate(broker=broker):
            message = on_wire(world, action)
            name = type(message).__name__ if message else "nothing"
            return f"late {name} arrives at {broker_host(broker)}"
        case ExpireBatch(source=source):
            return f"a batch of {source} expires"
        case _:
            assert_never(action)


def _of_hosts(action: Cut | Heal | Pause | Resume) -> str:
    match action:
        case Pause(host=host):
            return f"{host} stands still"
        case Resume(host=host):
            return f"{host} wakes up"
        case Cut(one=one, other=other):
            return f"{both(one, other)} are cut apart"
        case Heal(one=one, other=other):
            return f"{both(one, other)} are joined"
        case _:
            assert_never(action)


def on_wire(world: World, action: Deliver | DeliverLate) -> Message | None:
    """Give the message that a delivery would deliver."""
    connection = world.connections.get((action.source, action.broker))
    if connection is None:
        return None
    asked = isinstance(action, DeliverLate) or action.way == "request"
    queue = connection.requests if asked else connection.responses
    return queue[0].message if queue else None


def partition_of(world: World, key: str) -> str:
    """Give the source partition of a share-partition's key."""
    _, topic_id, index = key.rsplit(":", 2)
    for topic, known in world.image.topic_ids.items():
        if known == topic_id:
            return f"{topic}-{index}"
    return key


def _of_group(world: World, key: str) -> str:
    """Name the group of a share-partition, where there is more than one that shares anything."""
    consumers = [app.consumer for app in world.applications.values()]
    groups = {c.group_id: True for c in consumers if isinstance(c, ShareConsumer)}
    return f" in {key.partition(':')[0]}" if len(groups) > 1 else ""


def _clients(world: World) -> tuple[str, ...]:
    return tuple(client.source for app in world.applications.values() for client in app.clients)


def _to_send(world: World, source: str) -> Message | None:
    app = world.applications.get(host_of(source))
    client = app.client_at(source) if app else None
    return next_request(client) if client else None


def _timer(action: RunOut | DelayOver | ClientTimer) -> str:
    match action:
        case RunOut(broker=broker, timer=timer):
            return f"{timer} runs out at {broker_host(broker)}"
        case DelayOver(broker=broker, delay=delay):
            return f"{delay} is over at {broker_host(broker)}"
        case ClientTimer(source=source, timer=timer):
            return f"{timer} of {source} is over"
        case _:
            assert_never(action)
