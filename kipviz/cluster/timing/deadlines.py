"""The deadlines of a world, folded step by step.

A deadline starts and ends with its object; if that ends and starts over within one step, the step's events say so.
Where it is kept:

- a lock ends with the broker's memory, as its timer does there;
- a transaction's deadline continues while its coordinator moves or loads, because the log has the time at which the
  transaction began (TransactionLogValue.TransactionStartTimestampMs). That holds whether or not the records carry it
  here (`record_timestamps`): the time left decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kipviz.brokers.context import NOBODY
from kipviz.brokers.share_leaders.share_partition import ShareLeader, pending_cells
from kipviz.brokers.transactions.transaction_coordinator import why_no_timeout
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.application import Call
from kipviz.clients.kinds import has_room, next_request
from kipviz.clients.thread import why_no_step
from kipviz.clients.workers import every_thread
from kipviz.cluster.actions import (
    TimeOutTransaction,
)
from kipviz.cluster.dispatch import destination
from kipviz.cluster.specs.spec import ClusterSpec
from kipviz.cluster.timing import timers
from kipviz.cluster.timing.clock import NEVER, TICKS, Deadline, Due, Place, next_tick, unit_of
from kipviz.cluster.timing.durations import occurring
from kipviz.cluster.world import World, is_loading, role_key
from kipviz.core.model import Event
from kipviz.messages.events import (
    DELIVERED,
    ConnectionLost,
    MessageDelivered,
    MessageSent,
    RecordsMoved,
)
from kipviz.messages.transactions.transactions import NO_TIME_LIMIT
from kipviz.records.placement import TRANSACTION_STATE
from kipviz.records.transaction_state import TransactionState


def unit(spec: ClusterSpec) -> int:
    """Return the tick of a cluster's durations, in ms."""
    durations = [value for _, values in occurring(spec) for value in values]
    durations += [app.work_ms for app in spec.applications]
    durations += timers.asked_ages(spec)
    return unit_of(
        [*durations, spec.clock.delay_max_ms, spec.clock.pause_max_ms, spec.clock.refresh_ms]
    )


def tick_of(spec: ClusterSpec, world: World) -> int:
    """Return how much time the next tick takes, 0 if nothing is due."""
    exact = spec.clock.tick == TICKS[0]
    return next_tick(world.deadlines, unit(spec) if exact else 1, spec.clock.tick)


def find(world: World, place: Place | None) -> Deadline | None:
    """Return a deadline by its kind and place, if one is running."""
    return next((d for d in world.deadlines if (d.kind, d.place) == place), None)


def after_step(
    spec: ClusterSpec,
    before: World,
    after: World,
    events: Sequence[Event],
    context: timers.Contexts,
) -> tuple[Deadline, ...]:
    """Return the deadlines of a world after a step, including those that continue.

    `context` returns what a role on a broker may read.
    """
    bounded = spec.clock.delay_max_ms >= 0
    named = timers.of_roles(spec) or timers.of_clients(spec) or bool(timers.asked_ages(spec))
    if (
        not bounded
        and not clients_are_timed(spec)
        and not named
        and after.roles is before.roles
        and after.image is before.image
    ):
        return after.deadlines
    known = {(d.kind, d.place): d for d in after.deadlines}
    for place in restarted_places(before, after, events):
        known.pop(place, None)
    fresh = [*_locks(spec, after), *_transactions(spec, after, known)]
    if bounded:
        fresh += _on_the_way(spec, after)
    if spec.clock.refresh_ms >= 0:
        fresh += _look_ups(spec, after)
    if named:
        for place in timers.restarted_timers(before, after, events):
            known.pop(place, None)
        fresh += timers.deadlines(spec, after, known, context)
    if clients_are_timed(spec):
        fresh += _of_clients(spec, after)
    # In a fixed order, so that equal situations are equal worlds.
    fresh.sort(key=lambda d: (d.kind, d.place))
    return tuple(known.get((d.kind, d.place), d) for d in fresh)


def scan_overdue(world: World, action: TimeOutTransaction) -> tuple[str, ...]:
    """Return the transactions that one scan finds: the given one, and all other overdue ones.

    A broker scans everything that it coordinates; untimed nothing is overdue, and each is found by itself. Source:
    TransactionStateManager.timedOutTransactions.
    """
    names = [action.transactional_id]
    due = (d for d in world.deadlines if d.kind == Due.TRANSACTION and not d.after)
    for name in (str(each.place[0]) for each in due):
        role = world.roles.get(role_key(action.broker, world.image.home_of_transactions(name)))
        if isinstance(role, TransactionCoordinator) and why_no_timeout(role, name) is None:
            names.append(name)
    return tuple(sorted(set(names)))


def _locks(spec: ClusterSpec, world: World) -> Iterator[Deadline]:
    """Return every acquisition lock, even if its record is staged: its timer was started."""
    left = spec.settings.record_lock_duration_ms
    for (broker, _, _), role in world.roles.items():
        if not isinstance(role, ShareLeader):
            continue
        for key, share in role.shares.items():
            for lock in sorted({r.lock for r in share.records.values() if r.lock >= 0}):
                yield Deadline(Due.LOCK, (broker, key, lock), left, left)


def _transactions(
    spec: ClusterSpec, world: World, known: dict[Place, Deadline]
) -> Iterator[Deadline]:
    """Return every open transaction, and those whose coordinator has not loaded."""
    for partition, held in world.image.leaders.items():
        if not partition.startswith(TRANSACTION_STATE):
            continue
        role = None if held.leader == NOBODY else world.roles.get(role_key(held.leader, partition))
        if not isinstance(role, TransactionCoordinator) or role.loading:
            for (kind, place), deadline in known.items():
                home = world.image.home_of_transactions(str(place[0]))
                if kind == Due.TRANSACTION and home == partition:
                    yield deadline
            continue
        for name, transaction in role.transactions.items():
            states = (transaction.state, transaction.pending_state)
            if TransactionState.ONGOING in states and transaction.timeout_ms < NO_TIME_LIMIT:
                left = transaction.timeout_ms
                latest = left + spec.settings.transaction_scan_ms
                yield Deadline(Due.TRANSACTION, (name,), left, latest)


def _on_the_way(spec: ClusterSpec, world: World) -> Iterator[Deadline]:
    """Return everything with a bounded delay: the heads of connections, replication, loading."""
    most = spec.clock.delay_max_ms
    for (source, broker), connection in world.connections.items():
        if connection.open and connection.requests and connection.serving is None:
            yield Deadline(Due.DELIVERY, (source, broker, "request"), 0, most)
        if connection.open and connection.responses:
            yield Deadline(Due.DELIVERY, (source, broker, "response"), 0, most)
    for partition, log in world.logs.items():
        if log.high_watermark < log.end_offset:
            yield Deadline(Due.REPLICATION, (partition,), 0, most)
    for key, role in world.roles.items():
        if is_loading(role):
            yield Deadline(Due.LOADING, key, 0, most)


def _look_ups(spec: ClusterSpec, world: World) -> Iterator[Deadline]:
    """Return every leader with transactional acknowledgements that is not querying their outcome."""
    for (broker, _, _), role in world.roles.items():
        if not isinstance(role, ShareLeader):
            continue
        for key, share in role.shares.items():
            if pending_cells(share) and not share.writes:
                yield Deadline(
                    Due.LOOK_UP, (broker, key), spec.clock.refresh_ms, spec.clock.refresh_ms
                )


def clients_are_timed(spec: ClusterSpec) -> bool:
    """Return whether any part of an application has a deadline."""
    return spec.clock.pause_max_ms >= 0 or any(app.work_ms for app in spec.applications)


def _of_clients(spec: ClusterSpec, world: World) -> Iterator[Deadline]:
    """Return when each thread of an application continues: after its work, and after the longest pause."""
    pause = spec.clock.pause_max_ms
    for made_from in spec.applications:
        app = world.applications[made_from.name]
        for name, seen in every_thread(app):
            if why_no_step(seen) is None:
                # A thread that waits for a lock, or is between two checks, has done its work before.
                begins = not seen.waiting and not seen.gate
                commits = seen.program[seen.line].call is Call.COMMIT_TRANSACTION and begins
                work = made_from.work_ms if commits else 0
                place = timers.thread_place(app.name, name)
                yield Deadline(Due.STEP, place, work, work + pause if pause >= 0 else NEVER)
        if app.alive and pause >= 0:
            for client in app.clients:
                request = next_request(client)
                broker = NOBODY if request is None else destination(client, request, world.image)
                if broker != NOBODY and has_room(client, broker):
                    yield Deadline(Due.SENDING, (client.source,), 0, pause)


def restarted_places(before: World, world: World, events: Iterable[Event]) -> Iterator[Place]:
    """Return the deadlines that ended in a step and may have started again under the same name."""
    for app in world.applications.values():
        was = before.applications[app.name]
        if was is app:
            continue
        for (name, then), (_, now) in zip(every_thread(was), every_thread(app), strict=True):
            if (then.line, then.waiting, then.alive) != (now.line, now.waiting, now.alive):
                yield Due.STEP, timers.thread_place(app.name, name)
    for event in events:
        match event:
            case MessageSent(source, _, "request"):
                yield Due.SENDING, (source,)
            case MessageDelivered(source, broker, way):
                yield Due.DELIVERY, (source, broker, way)
            case ConnectionLost(source, broker):
                yield Due.DELIVERY, (source, broker, "request")
                yield Due.DELIVERY, (source, broker, "response")
            case RecordsMoved(because=because) if because == DELIVERED:
                yield from _lock_of(world, event)
            case _:
                pass


def _lock_of(world: World, event: RecordsMoved) -> Iterator[Place]:
    """Return the lock under which a record was just delivered, if its leader still holds it.

    A lock that a failed write returns to its member keeps its timer.
    """
    for (broker, _, _), role in world.roles.items():
        if not isinstance(role, ShareLeader):
            continue
        for key, share in role.shares.items():
            if (share.partition, share.group_id) != (event.partition, event.group_id):
                continue
            for offset in range(event.first, event.last + 1):
                record = share.records.get(offset)
                if record is not None and record.lock >= 0:
                    yield Due.LOCK, (broker, key, record.lock)
