"""The deadlines of timers with a name: those of roles, of clients, of requests and of batches.

When each starts again is Kafka's rule: a member's session with every heartbeat that its coordinator accepts, a
heartbeat interval when the last heartbeat was sent, a transactional id's with every change of its transaction (the log
has that time, so a new coordinator continues counting), a producer's in a log with each batch and marker (the same), a
batch's when it was created. Timers that a coordinator has in memory only, sessions and rebalance timeouts, start again
at a new coordinator.

A broker's timer expires when its time is over. A client's may be late, because its thread may be paused: by as much as
the clock's `pause_max_ms` allows. For an operator's query, the age of each transaction is counted, up to an hour: an
age is not a timer, it is among the deadlines because it passes as they do.
NOT MODELLED: of several requests on one connection the time of the second one counts from the response to the first;
only back-offs of batches grow; all clients have the same durations. max.poll.interval.ms counts from the return of
poll(), not from its call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, assert_never

from kipviz.brokers.context import Context
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs.log_retention import age_of_front
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.timers import (
    AppendTimeout,
    AssignmentInterval,
    Cleanup,
    GroupRebalance,
    GroupSync,
    InitialRebalanceDelay,
    MemberRebalance,
    MemberSession,
    RoleTimer,
    TransactionalIdExpiry,
    TransactionLiveness,
)
from kipviz.brokers.transactions.transaction_append import append_of
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.application import Call
from kipviz.clients.groups.consumer import is_classic
from kipviz.clients.kinds import Client, Holder, awaits_poll, running
from kipviz.clients.operators.admin import filters_of
from kipviz.clients.sending.in_flight import number_of
from kipviz.clients.sending.producer import Producer, back_off
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.thread import why_no_time_out
from kipviz.clients.timers import (
    BatchBackOff,
    FetchWait,
    HeartbeatInterval,
    MaxBlock,
    MaxIdle,
    ResetWait,
    RetryBackOff,
    SenderBackOff,
    ShortSenderBackOff,
    TimerOfClient,
    rest_ms,
)
from kipviz.clients.workers import every_thread
from kipviz.cluster import dispatch
from kipviz.cluster.network.abandoned_requests import can_be_given_up
from kipviz.cluster.specs.spec import OLDEST_MS, ClusterSpec
from kipviz.cluster.timing import retention, role_delays
from kipviz.cluster.timing.changed_roles import changed_roles
from kipviz.cluster.timing.clock import NEVER, Deadline, Due, Place
from kipviz.cluster.timing.durations import (
    backs_off,
    beats,
    expires,
    expires_batches,
    forgets,
    forgets_offsets,
    gives_up,
    joins,
    joins_shares,
    limits_sessions,
    looks_up,
    misses_polls,
    rests,
    retains,
    times_calls_out,
)
from kipviz.cluster.world import BrokerRole, World, has_active_coordinator, host_of, role_as
from kipviz.core.model import Event
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.errors import Errors
from kipviz.messages.events import MessageDelivered, MessageSent
from kipviz.messages.groups.classic_groups import Heartbeat
from kipviz.messages.groups.membership import ConsumerGroupHeartbeat
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat
from kipviz.messages.transactions.liveness import TxnHeartbeat
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.records.transaction_state import TransactionState

# Ages pass and are never due: that of a transaction, and that of a committed offset.
AGES = (Due.TRANSACTION_AGE, Due.OFFSET_AGE)
Contexts = Callable[[int], Context]
# Responses after which a member counts as heard.
HEARD = (Errors.NONE, Errors.REBALANCE_IN_PROGRESS)


def thread_place(application: str, thread: str) -> tuple[str, ...]:
    """Return the place of a thread's work or wait; the first thread needs no name."""
    return (application, thread) if thread else (application,)


def of_roles(spec: ClusterSpec) -> bool:
    """Return whether a role of a cluster has a timer with a name."""
    appends = bool(spec.min_insync_replicas)
    return (
        joins(spec)
        or joins_shares(spec)
        or beats(spec)
        or expires(spec)
        or forgets(spec)
        or retains(spec)
        or forgets_offsets(spec)
        or limits_sessions(spec)
        or appends
    )


def asked_ages(spec: ClusterSpec) -> tuple[int, ...]:
    """Return the durations that operators query, and the longest one that is counted; otherwise nothing."""
    lines = [line for a in spec.applications if a.admin for line in a.program]
    lists = [filters_of(line.target) for line in lines if line.call is Call.LIST_TRANSACTIONS]
    if not lists:
        return ()
    return tuple(sorted({OLDEST_MS, *(f.duration_ms for f in lists if f.duration_ms > 0)}))


def ages(world: World) -> tuple[tuple[str, int], ...]:
    """Return how many ms ago each transaction began, as far as that is counted."""
    return tuple(
        (str(d.place[0]), OLDEST_MS - d.after)
        for d in world.deadlines
        if d.kind == Due.TRANSACTION_AGE and d.place[1] == OLDEST_MS
    )


def of_clients(spec: ClusterSpec) -> bool:
    """Return whether a client of a cluster has a timer, or may time out."""
    told = joins(spec) or joins_shares(spec) or beats(spec) or looks_up(spec) or rests(spec)
    late = times_calls_out(spec) or misses_polls(spec) or backs_off(spec)
    return told or gives_up(spec) or expires_batches(spec) or late


def deadlines(
    spec: ClusterSpec, world: World, known: dict[Place, Deadline], context: Contexts
) -> Iterator[Deadline]:
    """Return every named timer whose time passes in a world, with all of its time left."""
    if of_roles(spec):
        yield from _of_roles(spec, world, known, context)
    if of_clients(spec):
        yield from _of_clients(spec, world)
    asked = asked_ages(spec)
    if asked:
        yield from _ages(world, known, asked)


def restarted_timers(before: World, world: World, events: Iterable[Event]) -> Iterator[Place]:
    """Return the timers that restarted in a step, by their earlier names."""
    for event in events:
        match event:
            case MessageSent(source, _, "request", message) if api_of(message).heartbeat:
                yield Due.CLIENT_TIMER, (source, HeartbeatInterval())
            case MessageDelivered(source, broker, "request", message):
                if not _is_refused(source, broker, events):
                    yield from _restarted_timers(world, broker, message)
            case MessageDelivered(source, broker, "response"):
                yield Due.REQUEST, (source, broker)
            case _:
                pass
    yield from _changed_transactions(before, world)
    yield from _heard_of_producers(before, world)
    yield from _of_classic_groups(before, world)
    yield from retention.recommitted_places(before, world)


def _is_refused(source: str, broker: int, events: Iterable[Event]) -> bool:
    """Return whether a request was answered with an error in the step in which it was handled."""
    return any(
        isinstance(event, MessageSent)
        and (event.source, event.broker, event.way) == (source, broker, "response")
        and (error_in(event.message) or Errors.NONE) not in HEARD
        for event in events
    )


# The heartbeats of members of groups; the other ones are of transactions.
OfMember: TypeAlias = Heartbeat | ConsumerGroupHeartbeat | ShareGroupHeartbeat


def _restarted_timers(world: World, broker: int, message: Message) -> Iterator[Place]:
    """Return the timers that an accepted heartbeat restarts at its coordinator."""
    if not api_of(message).heartbeat:
        return
    key = dispatch.role_for(message, broker, world.image)
    if isinstance(message, TxnHeartbeat):
        timer: RoleTimer = TransactionLiveness(message.transactional_id)
    else:
        assert isinstance(message, OfMember), message
        timer = MemberSession(message.member_id, message.group_id)
    yield Due.ROLE_TIMER, (*key, timer)


def _changed_transactions(before: World, world: World) -> Iterator[Place]:
    """Return the timers that a change of a transaction, or its start, restarts."""
    for _, was, role in changed_roles(before, world, TransactionCoordinator):
        for name, transaction in role.transactions.items():
            earlier = was.transactions.get(name)
            if earlier is not transaction:
                yield Due.TRANSACTIONAL_ID, (name,)
                if earlier is None or _is_ongoing(transaction) > _is_ongoing(earlier):
                    for place in [
                        d.place for d in before.deadlines if d.kind == Due.TRANSACTION_AGE
                    ]:
                        if place[0] == name:
                            yield Due.TRANSACTION_AGE, place


def _heard_of_producers(before: World, world: World) -> Iterator[Place]:
    """Return the producers with a new batch or marker in a log."""
    for deadline in before.deadlines:
        if deadline.kind == Due.PRODUCER_ID:
            partition, producer_id = deadline.place
            assert isinstance(producer_id, int)
            was, log = before.logs[str(partition)], world.logs[str(partition)]
            if was is not log and was.producers.get(producer_id) != log.producers.get(producer_id):
                yield Due.PRODUCER_ID, deadline.place


def _of_classic_groups(before: World, world: World) -> Iterator[Place]:
    """Return delays that start once more, and the sessions of members whose responses were sent."""
    for key, was, role in changed_roles(before, world, GroupCoordinator):
        for name, group in role.classic_groups.items():
            known = was.classic_groups.get(name)
            if known is None or known is group:
                continue
            if known.growing and not group.growing:
                yield Due.ROLE_DELAY, (*key, InitialRebalanceDelay(name))
            for member, now in group.members.items():
                earlier = known.members.get(member)
                if earlier is not None and earlier.waits and not now.waits:
                    yield Due.ROLE_TIMER, (*key, MemberSession(member, name))


# -- brokers -------------------------------------------------------------------------------------


def _of_roles(
    spec: ClusterSpec, world: World, known: dict[Place, Deadline], context: Contexts
) -> Iterator[Deadline]:
    for key, role in world.roles.items():
        if isinstance(role, ShareLeader):
            wait = spec.durations.fetch_max_wait_ms
            for delay in role_delays.delays(role):
                yield Deadline(Due.ROLE_DELAY, (*key, delay), wait, wait)
        if isinstance(role, GroupCoordinator | TransactionCoordinator):
            for timer in dispatch.timers(role, context(key[0])):
                if isinstance(timer, TransactionalIdExpiry):
                    left = spec.durations.transactional_id_expiration_ms
                    latest = left + spec.durations.transactional_id_scan_ms
                    yield Deadline(Due.TRANSACTIONAL_ID, (timer.transactional_id,), left, latest)
                else:
                    takes = _duration_of(spec, role, timer, context(key[0]))
                    if takes is not None:
                        yield Deadline(Due.ROLE_TIMER, (*key, timer), takes, takes)
            for delay in role_delays.delays(role):
                takes = spec.settings.initial_rebalance_delay_ms
                if isinstance(delay, AssignmentInterval):
                    takes = spec.settings.consumer_assignment_interval_ms
                yield Deadline(Due.ROLE_DELAY, (*key, delay), takes, takes)
    if forgets(spec):
        yield from _of_producers(spec, world)
    if retains(spec):
        yield from _of_logs(spec, world)
    if forgets_offsets(spec):
        yield from retention.deadlines(spec, world, known, context)
    for (kind, place), deadline in known.items():
        if kind == Due.TRANSACTIONAL_ID and not has_active_coordinator(
            world, world.image.home_of_transactions(str(place[0]))
        ):
            yield deadline


def _of_producers(spec: ClusterSpec, world: World) -> Iterator[Deadline]:
    """Return when logs forget producers: counted from the last batch, whichever broker leads the partition."""
    left = spec.durations.producer_id_expiration_ms
    for partition, log in world.logs.items():
        if topic_of(partition) in INTERNAL_TOPICS:
            continue
        for producer_id, entry in log.producers.items():
            if entry.transaction_first_offset < 0:
                latest = left + spec.durations.producer_id_scan_ms
                yield Deadline(Due.PRODUCER_ID, (partition, producer_id), left, latest)


def front_of(world: World, partition: str) -> Place:
    """Return the deadline of a log's oldest batch; after its deletion the next one has its own."""
    batches = world.logs[partition].batches
    return Due.LOG_FRONT, (partition, batches[0].base_offset if batches else -1)


def _of_logs(spec: ClusterSpec, world: World) -> Iterator[Deadline]:
    """Return when the oldest batch of each log expires; its time is in the log, so it passes under any leader."""
    keeps, check = spec.settings.log_retention_ms, spec.durations.log_retention_check_ms
    for partition, log in world.logs.items():
        led = world.image.leader_of(partition) >= 0 and topic_of(partition) not in INTERNAL_TOPICS
        if led and log.batches and log.batches[0].last_offset < log.high_watermark:
            left = max(keeps - age_of_front(log, world.now_ms), 0)
            yield Deadline(*front_of(world, partition), left, left + check)


def _ages(world: World, known: dict[Place, Deadline], asked: tuple[int, ...]) -> Iterator[Deadline]:
    """Return the age of each producer's last transaction; it has no end of its own."""
    for role in world.roles.values():
        if isinstance(role, TransactionCoordinator) and not role.loading:
            for name, transaction in role.transactions.items():
                if _is_ongoing(transaction) or transaction.state is not TransactionState.EMPTY:
                    for duration in asked:
                        yield Deadline(Due.TRANSACTION_AGE, (name, duration), duration, NEVER)
    for (kind, place), deadline in known.items():
        if kind == Due.TRANSACTION_AGE and not has_active_coordinator(
            world, world.image.home_of_transactions(str(place[0]))
        ):
            yield deadline


def _is_ongoing(transaction: TransactionMetadata) -> bool:
    return TransactionState.ONGOING in (transaction.state, transaction.pending_state)


def _duration_of(spec: ClusterSpec, role: BrokerRole, timer: RoleTimer, on: Context) -> int | None:
    """Return the duration of a role's timer that starts now; None for one without a duration."""
    durations = spec.durations
    match timer:
        case TransactionLiveness(name):
            known = role_as(role, TransactionCoordinator).transactions[name]
            return on.rules.silence(known.heartbeat_interval_ms)
        case AppendTimeout():
            waiting = role_as(role, TransactionCoordinator).waiting
            return append_of(timer, waiting).record.timeout_ms
        case MemberRebalance() | GroupRebalance() | GroupSync():
            return durations.max_poll_interval_ms
        case MemberSession(_, group_id):
            coordinator = role_as(role, GroupCoordinator)
            if group_id in coordinator.classic_groups:
                return durations.session_timeout_ms
            shares = group_id in coordinator.share_groups
            return (
                durations.share_session_timeout_ms
                if shares
                else durations.consumer_session_timeout_ms
            )
        case _:
            if isinstance(timer, Cleanup):
                return None
            assert_never(timer)


# -- clients -------------------------------------------------------------------------------------


def _of_clients(spec: ClusterSpec, world: World) -> Iterator[Deadline]:
    pause = spec.clock.pause_max_ms
    for app in world.applications.values():
        for name, seen in every_thread(app) if times_calls_out(spec) else ():
            if why_no_time_out(seen) is None:
                left = spec.durations.max_block_ms
                yield Deadline(Due.CALL, thread_place(app.name, name), left, _late(left, pause))
        for client in app.clients if app.alive else ():
            for timer in running(client):
                takes = _of_client(spec, client, timer)
                yield Deadline(Due.CLIENT_TIMER, (client.source, timer), takes, _late(takes, pause))
            if misses_polls(spec) and awaits_poll(client):
                left = spec.durations.max_poll_interval_ms
                yield Deadline(Due.POLL, (client.source,), left, _late(left, pause))
            if isinstance(client, Producer) and expires_batches(spec):
                left = spec.durations.delivery_timeout_ms
                for batch in (*client.accumulator.batches, *client.accumulator.stray):
                    place = (client.source, batch.partition, number_of(client, batch))
                    yield Deadline(Due.BATCH, place, left, _late(left, pause))
    if gives_up(spec):
        left = spec.durations.request_timeout_ms
        for (source, broker), connection in world.connections.items():
            if can_be_given_up(connection):
                latest = _late(left, pause) if host_of(source) in world.applications else left
                yield Deadline(Due.REQUEST, (source, broker), left, latest)


def _late(left: int, pause: int) -> int:
    return left + pause if pause >= 0 else NEVER


def _of_client(spec: ClusterSpec, client: Client, timer: TimerOfClient) -> int:
    """Return the duration of a client's timer that starts now."""
    durations = spec.durations
    match timer:
        case HeartbeatInterval():
            return _heartbeat_interval_ms(spec, client)
        case BatchBackOff():
            assert isinstance(client, Producer), client
            first, most = durations.retry_backoff_ms, durations.retry_backoff_max_ms
            return back_off(client, timer, first, most)
        case SenderBackOff() | ShortSenderBackOff():
            return rest_ms(timer, durations.retry_backoff_ms)
        case RetryBackOff():
            return durations.retry_backoff_ms
        case FetchWait():
            return durations.fetch_max_wait_ms
        case ResetWait():
            return durations.request_timeout_ms
        case MaxBlock():
            return durations.max_block_ms
        case MaxIdle():
            return durations.metadata_max_idle_ms
        case _:
            assert_never(timer)


def _heartbeat_interval_ms(spec: ClusterSpec, client: Client) -> int:
    """Return the heartbeat interval of a client, which depends on its group protocol."""
    if isinstance(client, Holder):
        return client.manager.heartbeat_interval_ms
    if is_classic(client):
        return spec.durations.heartbeat_interval_ms
    if isinstance(client, ShareMember):
        return spec.durations.share_heartbeat_interval_ms
    return spec.durations.consumer_heartbeat_interval_ms
