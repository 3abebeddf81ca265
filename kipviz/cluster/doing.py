"""What each kind of action does: one function for each, on a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kipviz.brokers import share_partition_leader, transaction_coordinator
from kipviz.clients import application, binding, external_database, kinds, thread, workers
from kipviz.clients.external_database import ExternalDatabase
from kipviz.cluster import dispatch, guests, partly, waits
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
from kipviz.cluster.operating import created, deleted, installed
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import Envelope, host_of
from kipviz.messages.events import AclsChanged, FeatureFinalized, ReleaseInstalled
from kipviz.messages.list_offsets import dated
from kipviz.messages.releases import knows, spoken


def _step(turn: Turn, a: Step) -> None:
    app = workers.seen_by(turn.applications[a.application], a.thread)
    app, events = thread.step(app, turn.client_rules)
    turn.events += events
    turn.settle(workers.seen_by(app, a.thread))
    _show_others(turn, a.application)


def _show_others(turn: Turn, name: str) -> None:
    """Let the other processes at a shared database see what one has just done to it."""
    changed = turn.applications[name].others.get(external_database.NAME)
    if not isinstance(changed, ExternalDatabase) or not changed.shared:
        return
    for other, app in turn.applications.items():
        theirs = app.others.get(external_database.NAME)
        if other == name or not isinstance(theirs, ExternalDatabase):
            continue
        seen = external_database.agreed(theirs, changed)
        if theirs.shared == changed.shared and seen != theirs:
            turn.applications = turn.applications.set(other, app.with_client(seen))


def _send(turn: Turn, a: Send) -> None:
    name = host_of(a.source)
    app = turn.applications[name]
    client = app.client_at(a.source)
    assert client is not None
    request = kinds.next_request(client)
    assert request is not None
    broker = dispatch.destination(request, turn.image)
    request = partly.narrowed(request, turn.image)
    network = kinds.network_of(client)
    connection = turn.connections.get((network, broker))
    if connection is None or not connection.open:
        client = kinds.connected(client, turn.image.features)
    binary = turn.image.release_of(broker)
    known = knows(binary, request)
    request = dated(spoken(binary, request), turn.now_ms)
    sender, request = kinds.sent(client, request, broker)
    app = binding.settle(app.with_client(sender), turn.client_rules)
    turn.applications = turn.applications.set(name, app)
    if not known:
        turn.refuse_to_send(a.source, broker, request)
        return
    turn.put_request(
        network, broker, Envelope(request, tag=a.source if network != a.source else "")
    )
    if broker not in turn.up:
        turn.lose(network, broker)  # nobody listens there: the connection is refused


def _receive(turn: Turn, a: Receive) -> None:
    turn.put_request(a.source, a.broker, Envelope(guests.request_of(a)))


def _deliver(turn: Turn, a: Deliver) -> None:
    if a.way == "request":
        turn.deliver_request(a.source, a.broker)
    else:
        turn.deliver_response(a.source, a.broker)


def _replicate(turn: Turn, a: Replicate) -> None:
    turn.replicate(a.partition)


def _load(turn: Turn, a: Load) -> None:
    turn.load((a.broker, a.role, a.shard))


def _expire(turn: Turn, a: ExpireLock) -> None:
    key = (a.broker, share_partition_leader.ROLE, "")
    on = turn.context(a.broker)
    turn.carry_out(key, share_partition_leader.on_lock_expiry(turn.roles[key], a.key, a.lock, on))


def _time_out(turn: Turn, a: TimeOutTransaction) -> None:
    """Let one scan of a broker abort whatever is overdue in all that it coordinates."""
    for name in turn.scanned(a):
        key = (a.broker, transaction_coordinator.ROLE, turn.image.home_of_transactions(name))
        on = turn.context(a.broker)
        turn.carry_out(key, transaction_coordinator.on_timeout(turn.roles[key], name, on))


def _run_out(turn: Turn, a: RunOut) -> None:
    key = (a.broker, a.role, a.shard)
    role, on = turn.roles[key], turn.context(a.broker)
    effects = dispatch.timed_by(role).on_timer(role, a.timer, on)
    turn.carry_out(key, effects)
    for partition, _ in effects.deletes:
        turn.notify(partition)  # who waits there reads on behind what is gone


def _delay_over(turn: Turn, a: DelayOver) -> None:
    key = (a.broker, a.role, a.shard)
    role, on = turn.roles[key], turn.context(a.broker)
    turn.carry_out(key, waits.over(role, a.delay, on))


def _client_timer(turn: Turn, a: ClientTimer) -> None:
    name = host_of(a.source)
    app = turn.applications[name]
    client = kinds.on_timer(app.client_at(a.source), a.timer)
    app = binding.settle(app.with_client(client), turn.client_rules)
    turn.applications = turn.applications.set(name, app)


def _refresh(turn: Turn, a: Refresh) -> None:
    key = (a.broker, share_partition_leader.ROLE, "")
    on = turn.context(a.broker)
    turn.carry_out(key, share_partition_leader.on_refresh(turn.roles[key], a.key, on))


def _crash_client(turn: Turn, a: CrashClient) -> None:
    app = turn.applications[a.application]
    dead = application.crashed(app)
    turn.applications = turn.applications.set(a.application, dead)
    turn.events += application.databases_changed(app, dead)
    for source, broker in tuple(turn.connections):
        connection = turn.connections[source, broker]
        if host_of(source) == a.application and connection.open and not connection.left:
            turn.lose(source, broker)


def _start_client(turn: Turn, a: StartClient) -> None:
    fresh = application.restarted(turn.applications[a.application])
    turn.applications = turn.applications.set(a.application, fresh)


def _give_up(turn: Turn, a: GiveUp) -> None:
    turn.lose(a.source, a.broker, leaves=True)


def _deliver_late(turn: Turn, a: DeliverLate) -> None:
    turn.deliver_request(a.source, a.broker)


def _expire_batch(turn: Turn, a: ExpireBatch) -> None:
    name = host_of(a.source)
    app = turn.applications[name]
    gone = kinds.expired(app.client_at(a.source))
    after = binding.settle(app.with_client(gone), turn.client_rules)
    turn.applications = turn.applications.set(name, after)


def _time_out_call(turn: Turn, a: TimeOutCall) -> None:
    app = workers.seen_by(turn.applications[a.application], a.thread)
    app, events = thread.timed_out(app)
    app = workers.seen_by(app, a.thread)
    turn.applications = turn.applications.set(a.application, app)
    turn.events += events


def _miss_poll(turn: Turn, a: MissPoll) -> None:
    app = turn.applications[host_of(a.source)]
    gone = kinds.on_missed_poll(app.client_at(a.source))
    turn.applications = turn.applications.set(app.name, app.with_client(gone))


def _upgrade(turn: Turn, a: UpgradeFeature) -> None:
    turn.image = turn.image.but(features=turn.image.features.but(**{a.feature: a.level}))
    turn.events.append(FeatureFinalized(a.feature, a.level))


def _install(turn: Turn, a: InstallRelease) -> None:
    if a.broker in turn.up:
        turn.crash(a.broker)  # in good order: others lead before it is gone
    turn.image = turn.image.but(releases=installed(turn.image.releases, a.broker, a.release))
    turn.events.append(ReleaseInstalled(a.broker, a.release))


def _create_acls(turn: Turn, a: CreateAcls) -> None:
    turn.image = turn.image.but(acls=created(turn.spec, turn.image.acls or (), a.acl))
    turn.events.append(AclsChanged(a.acl.words, created=True))


def _delete_acls(turn: Turn, a: DeleteAcls) -> None:
    turn.image = turn.image.but(acls=deleted(turn.image.acls or (), a.acl))
    turn.events.append(AclsChanged(a.acl.words, created=False))


def _cut(turn: Turn, a: Cut) -> None:
    turn.cuts = tuple(sorted((*turn.cuts, (a.one, a.other))))


def _heal(turn: Turn, a: Heal) -> None:
    turn.cuts = tuple(c for c in turn.cuts if c != (a.one, a.other))


def _pause(turn: Turn, a: Pause) -> None:
    turn.cuts = tuple(sorted((*turn.cuts, (a.host, a.host))))


def _resume(turn: Turn, a: Resume) -> None:
    turn.cuts = tuple(c for c in turn.cuts if c != (a.host, a.host))


def _tick(turn: Turn, a: Tick) -> None:
    turn.pass_time()


DO: dict[type, Callable[[Turn, Any], None]] = {
    Step: _step,
    Send: _send,
    Receive: _receive,
    Deliver: _deliver,
    Replicate: _replicate,
    Load: _load,
    ExpireLock: _expire,
    TimeOutTransaction: _time_out,
    RunOut: _run_out,
    DelayOver: _delay_over,
    ClientTimer: _client_timer,
    Refresh: _refresh,
    RemakeTopic: lambda turn, a: turn.remake(a.topic),
    DeleteTopic: lambda turn, a: turn.delete_topic(a.topic),
    CreateTopic: lambda turn, a: turn.create_topic(a.topic),
    DeleteRecords: lambda turn, a: turn.delete_oldest(a.partition),
    CrashBroker: lambda turn, a: turn.crash(a.broker),
    StartBroker: lambda turn, a: turn.start(a.broker),
    MoveLeader: lambda turn, a: turn.elect(a.partition, a.to),
    LoseConnection: lambda turn, a: turn.lose(a.source, a.broker),
    GiveUp: _give_up,
    DeliverLate: _deliver_late,
    ExpireBatch: _expire_batch,
    TimeOutCall: _time_out_call,
    MissPoll: _miss_poll,
    UpgradeFeature: _upgrade,
    InstallRelease: _install,
    CreateAcls: _create_acls,
    DeleteAcls: _delete_acls,
    Cut: _cut,
    Heal: _heal,
    Pause: _pause,
    Resume: _resume,
    CrashClient: _crash_client,
    StartClient: _start_client,
    Tick: _tick,
}
