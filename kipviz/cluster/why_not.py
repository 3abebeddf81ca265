"""Why an action is not possible now, in one sentence: one function for each kind of action."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from kipviz.brokers import share_partition_leader, share_timers, transaction_coordinator
from kipviz.brokers.context import NOBODY, Context
from kipviz.clients.application import Application
from kipviz.clients.kinds import Client, MemberConsumer, expiring, has_room, next_request
from kipviz.clients.kinds import timers as timers_of
from kipviz.clients.producer import Producer
from kipviz.clients.thread import why_no_step, why_no_time_out
from kipviz.clients.workers import seen_by
from kipviz.cluster import deadlines, dispatch, guests, waits
from kipviz.cluster.actions import (
    ClientTimer,
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
from kipviz.cluster.coming_topics import why_no_creation, why_no_removal
from kipviz.cluster.cutting import is_cut, why_no_cut, why_no_heal
from kipviz.cluster.labels import label
from kipviz.cluster.late import can_be_given_up
from kipviz.cluster.operating import (
    why_no_acl_change,
    why_no_installation,
    why_no_upgrade,
    why_not_registered,
)
from kipviz.cluster.pausing import why_no_pause, why_no_resume
from kipviz.cluster.spec import ClusterSpec
from kipviz.cluster.world import World, host_of
from kipviz.records.placement import INTERNAL_TOPICS, topic_of


class Knows(Protocol):
    """What has to be known of a model besides its world."""

    spec: ClusterSpec

    def context(self, world: World, broker: int) -> Context:
        """Give what a role on a broker may look at."""


def _thread(world: World, name: str, thread: str) -> Application | str:
    """Give a process as one of its threads sees it, or why there is no such thread."""
    app = world.applications.get(name)
    if app is None:
        return f"there is no application {name}"
    if thread and thread not in (w.name for w in app.workers):
        return f"{name} has no thread {thread}"
    return seen_by(app, thread)


def _no_step(model: Knows, world: World, a: Step) -> str | None:
    seen = _thread(world, a.application, a.thread)
    return seen if isinstance(seen, str) else why_no_step(seen)


def _running(world: World, source: str) -> Client | str:
    """Give the client that sends under a name, or why there is none that could."""
    app = world.applications.get(host_of(source))
    client = app.client_at(source) if app is not None else None
    if app is None or client is None:
        return f"there is no client {source}"
    return client if app.alive else f"{app.name} is down"


def _no_send(model: Knows, world: World, a: Send) -> str | None:
    client = _running(world, a.source)
    if isinstance(client, str):
        return client
    request = next_request(client)
    if request is None:
        return f"{a.source} has nothing to send"
    broker = dispatch.destination(request, world.image)
    if broker == NOBODY:
        partition = dispatch.addressee(request, world.image)
        return f"nobody leads {partition}, whose leader {type(request).__name__} is for"
    if not has_room(client, broker):
        return (
            f"as many requests of {a.source} are on the wire to broker {broker} as "
            "max.in.flight.requests.per.connection allows"
        )
    return None


def _no_delivery(model: Knows, world: World, a: Deliver) -> str | None:
    if a.way not in {"request", "response"}:
        return f"a message goes as a request or a response, not as {a.way!r}"
    connection = world.connections.get((a.source, a.broker))
    if connection is None or not connection.open or connection.left:
        return f"there is no connection from {a.source} to broker {a.broker}"
    if not (connection.requests if a.way == "request" else connection.responses):
        return f"no {a.way} is on the wire between {a.source} and broker {a.broker}"
    if a.way == "request" and connection.serving is not None:
        return (
            f"broker {a.broker} still works on {type(connection.serving.message).__name__} "
            "and reads the connection only after its answer"
        )
    if is_cut(world, a.source, a.broker):
        return f"{host_of(a.source)} and B{a.broker} are cut apart"
    return None


def _no_replicate(model: Knows, world: World, a: Replicate) -> str | None:
    log = world.logs.get(a.partition)
    if log is None:
        return f"there is no partition {a.partition}"
    if log.high_watermark == log.end_offset:
        return f"every in-sync replica has {a.partition} up to its end, offset {log.end_offset}"
    if not world.image.has_enough_replicas(a.partition):
        return f"fewer than min.insync.replicas of {a.partition} are in sync: its high watermark stands"
    return None


def _no_load(model: Knows, world: World, a: Load) -> str | None:
    role = world.roles.get((a.broker, a.role, a.shard))
    if role is None:
        return f"broker {a.broker} does not coordinate {a.shard}"
    if getattr(role, "loading", False):
        return None
    return f"broker {a.broker} coordinates {a.shard} already"


def _no_expiry(model: Knows, world: World, a: ExpireLock) -> str | None:
    role = world.roles.get((a.broker, share_partition_leader.ROLE, ""))
    if role is None:
        return f"broker {a.broker} is down"
    on = model.context(world, a.broker)
    return share_timers.why_no_lock_expiry(role, a.key, a.lock, on)


def _no_timeout(model: Knows, world: World, a: TimeOutTransaction) -> str | None:
    role = world.roles.get((a.broker, transaction_coordinator.ROLE, a.shard))
    if role is None:
        return f"broker {a.broker} does not coordinate {a.transactional_id}"
    return transaction_coordinator.why_no_timeout(role, a.transactional_id)


def _no_run_out(model: Knows, world: World, a: RunOut) -> str | None:
    role = world.roles.get((a.broker, a.role, a.shard))
    if role is None:
        return f"broker {a.broker} does not have {a.shard or a.role}"
    on = model.context(world, a.broker)
    set_now = dispatch.timers(role, on)
    if a.timer in set_now:
        return None
    return f"no timer {a.timer!r} is set there; set are: {', '.join(set_now) or 'none'}"


def _no_delay_over(model: Knows, world: World, a: DelayOver) -> str | None:
    role = world.roles.get((a.broker, a.role, a.shard))
    if role is None:
        return f"broker {a.broker} does not have {a.shard or a.role}"
    kept = waits.delays(role)
    if a.delay in kept:
        return None
    return f"nothing waits for {a.delay!r} there; waited for: {', '.join(kept) or 'nothing'}"


def _no_client_timer(model: Knows, world: World, a: ClientTimer) -> str | None:
    client = _running(world, a.source)
    if isinstance(client, str):
        return client
    set_now = timers_of(client)
    if a.timer in set_now:
        return None
    return f"{a.source} has not set {a.timer!r}; set are: {', '.join(set_now) or 'none'}"


def _no_refresh(model: Knows, world: World, a: Refresh) -> str | None:
    role = world.roles.get((a.broker, share_partition_leader.ROLE, ""))
    if role is None:
        return f"broker {a.broker} is down"
    return share_timers.why_no_refresh(role, a.key, model.context(world, a.broker))


def _no_remake(model: Knows, world: World, a: RemakeTopic) -> str | None:
    fresh = next((each for each in model.spec.remade if each.topic == a.topic), None)
    if fresh is None:
        names = ", ".join(each.topic for each in model.spec.remade) or "none"
        return f"{a.topic} is not made again in this cluster; those that may be: {names}"
    now = world.image.topic_ids.get(a.topic)
    if now is None:
        return f"{a.topic} is deleted for good"
    return f"{a.topic} has been made again already" if now == fresh.topic_id else None


def deletable(world: World) -> Iterator[str]:
    """Give the partitions of users' topics that have a batch below the high watermark."""
    for partition, log in zip(world.logs.keys(), world.logs.values(), strict=True):
        if topic_of(partition) in INTERNAL_TOPICS or not log.batches:
            continue
        if log.batches[0].last_offset < log.high_watermark:
            yield partition


def _no_deletion(model: Knows, world: World, a: DeleteRecords) -> str | None:
    if a.partition in deletable(world):
        return None
    if a.partition not in world.logs or topic_of(a.partition) in INTERNAL_TOPICS:
        return f"{a.partition} is no partition of a user's topic"
    return f"{a.partition} has no batch below its high watermark"


def _no_crash(model: Knows, world: World, a: CrashBroker) -> str | None:
    return None if a.broker in world.up else f"broker {a.broker} is not running"


def _no_start(model: Knows, world: World, a: StartBroker) -> str | None:
    if a.broker not in model.spec.brokers:
        return f"there is no broker {a.broker}"
    if a.broker in world.up:
        return f"broker {a.broker} is running"
    return why_not_registered(world.image, a.broker)


def _no_move(model: Knows, world: World, a: MoveLeader) -> str | None:
    held = world.image.leaders.get(a.partition)
    if held is None:
        return f"there is no partition {a.partition}"
    if a.to == held.leader:
        return f"broker {a.to} leads {a.partition} already, in epoch {held.epoch}"
    if a.to not in held.replicas:
        return f"broker {a.to} has no replica of {a.partition}; brokers {', '.join(map(str, held.replicas))} have"
    return None if a.to in world.up else f"broker {a.to} is not running"


def _no_loss(model: Knows, world: World, a: LoseConnection) -> str | None:
    connection = world.connections.get((a.source, a.broker))
    if connection is None or not connection.open or connection.left:
        return f"there is no connection from {a.source} to broker {a.broker}"
    return None


def _no_giving_up(model: Knows, world: World, a: GiveUp) -> str | None:
    connection = world.connections.get((a.source, a.broker))
    if connection is None or not connection.open:
        return f"there is no connection from {a.source} to broker {a.broker}"
    if can_be_given_up(connection):
        return None
    return f"{a.source} waits for nothing from broker {a.broker} that matters when it is late"


def _no_late_delivery(model: Knows, world: World, a: DeliverLate) -> str | None:
    connection = world.connections.get((a.source, a.broker))
    if connection is None or not connection.left or not connection.requests:
        return f"nothing from {a.source} is left on its way to broker {a.broker}"
    if connection.serving is not None:
        return f"broker {a.broker} still works on {type(connection.serving.message).__name__}"
    if is_cut(world, a.source, a.broker):
        return f"{host_of(a.source)} and B{a.broker} are cut apart"
    return None


def _no_expired_batch(model: Knows, world: World, a: ExpireBatch) -> str | None:
    app = world.applications.get(host_of(a.source))
    client = app.client_at(a.source) if app is not None else None
    if app is None or not isinstance(client, Producer):
        return f"there is no producer {a.source}"
    if not app.alive:
        return f"{app.name} is down"
    if expiring(client) is None:
        return f"{a.source} has no batch that waits to be sent"
    return None


def _no_call_timeout(model: Knows, world: World, a: TimeOutCall) -> str | None:
    seen = _thread(world, a.application, a.thread)
    return seen if isinstance(seen, str) else why_no_time_out(seen)


def _no_missed_poll(model: Knows, world: World, a: MissPoll) -> str | None:
    client = _running(world, a.source)
    if isinstance(client, str):
        return client
    if not isinstance(client, MemberConsumer):
        return f"{a.source} is not a member that joins its group"
    if client.polling:
        return f"{a.source} is in poll()"
    return None if client.in_group else f"{a.source} is in no group: {client.state.value}"


def _no_client_crash(model: Knows, world: World, a: CrashClient) -> str | None:
    app = world.applications.get(a.application)
    if app is None:
        return f"there is no application {a.application}"
    return None if app.alive else f"{app.name} is down already"


def _no_client_start(model: Knows, world: World, a: StartClient) -> str | None:
    app = world.applications.get(a.application)
    if app is None:
        return f"there is no application {a.application}"
    return f"{app.name} is running" if app.alive else None


def _no_reading(model: Knows, world: World, a: ReadLog) -> str | None:
    return "this cluster is not rebuilt from logs: there is no log to read"


def _no_tick(model: Knows, world: World, a: Tick) -> str | None:
    if not model.spec.clock.timed:
        return "this cluster's clock is untimed: a timer may run out at any moment"
    if not deadlines.tick_of(model.spec, world):
        return "nothing is due later: there is no time to wait for"
    for deadline in world.deadlines:
        if deadline.by == 0:
            action = deadlines.action_of(world, deadline)
            possible = WHY_NOT[type(action)](model, world, action) is None
            if possible and deadlines.not_due(world, action) is None:
                return f"{label(world, action)}: that is due now, and time does not pass it by"
    return None


WHY_NOT: dict[type, Callable[[Knows, World, Any], str | None]] = {
    Step: _no_step,
    Send: _no_send,
    Receive: lambda model, world, a: guests.why_not(model.spec, world, a),
    Deliver: _no_delivery,
    Replicate: _no_replicate,
    Load: _no_load,
    ExpireLock: _no_expiry,
    TimeOutTransaction: _no_timeout,
    RunOut: _no_run_out,
    DelayOver: _no_delay_over,
    ClientTimer: _no_client_timer,
    Refresh: _no_refresh,
    RemakeTopic: _no_remake,
    DeleteTopic: lambda model, world, a: why_no_removal(model.spec, world, a),
    CreateTopic: lambda model, world, a: why_no_creation(model.spec, world, a),
    DeleteRecords: _no_deletion,
    CrashBroker: _no_crash,
    StartBroker: _no_start,
    MoveLeader: _no_move,
    LoseConnection: _no_loss,
    GiveUp: _no_giving_up,
    DeliverLate: _no_late_delivery,
    ExpireBatch: _no_expired_batch,
    TimeOutCall: _no_call_timeout,
    MissPoll: _no_missed_poll,
    UpgradeFeature: lambda model, world, a: why_no_upgrade(model.spec, world, a),
    InstallRelease: lambda model, world, a: why_no_installation(model.spec, world, a),
    CreateAcls: lambda model, world, a: why_no_acl_change(model.spec, world, a),
    DeleteAcls: lambda model, world, a: why_no_acl_change(model.spec, world, a),
    Cut: lambda model, world, a: why_no_cut(model.spec, world, a),
    Heal: lambda _, world, a: why_no_heal(world, a),
    Pause: lambda _, world, a: why_no_pause(world, a),
    Resume: lambda _, world, a: why_no_resume(world, a),
    CrashClient: _no_client_crash,
    StartClient: _no_client_start,
    Tick: _no_tick,
    ReadLog: _no_reading,
}
