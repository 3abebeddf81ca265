"""The kinds of clients, and the functions that each of them has.

A client is a value with a `source`, the request in flight `on_wire` (to `on_wire_broker`), and `done`, which says that
the call the application waits for has ended. A new kind of client is a module and a row of `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from kipviz.clauses import Clause
from kipviz.clients.groups import kafka_consumer
from kipviz.clients.groups.consumer import Consumer, RegularConsumer, joins_group
from kipviz.clients.groups.consumer_coordinator import ConsumerCoordinator
from kipviz.clients.operators import admin
from kipviz.clients.operators.admin import Admin
from kipviz.clients.sending import in_flight, producer, sender
from kipviz.clients.sending.outgoing import OutgoingBatch
from kipviz.clients.sending.producer import Producer
from kipviz.clients.sessions import transaction_session
from kipviz.clients.sessions.transaction_session import TransactionSession
from kipviz.clients.shares import share_consumer, share_member
from kipviz.clients.shares.share_member import ShareMember
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.timers import HeartbeatInterval, TimerOfClient
from kipviz.clients.transactions import external_database
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.messages.cluster.features import Features
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.records.batches import NO_TIMESTAMP

# The holder of a TransactionManager: a producer or, in KIP-1310 (draft), a session outside every producer.
Holder: TypeAlias = Producer | TransactionSession
Client: TypeAlias = (
    Producer
    | RegularConsumer
    | ShareConsumer
    | TransactionSession
    | Admin
    | ExternalDatabase
    | ShareMember
)
C = TypeVar("C", bound=Client)


def _no_timers(me: object) -> tuple[TimerOfClient, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class ClientKind(Generic[C]):
    """The functions of one kind of client.

    `next_request` returns the request that its network thread would send next, `note_sent` notes that a request is in flight and
    returns it as it is sent to that broker. `next_broker` is there if the kind has requests that are for a certain broker,
    whatever they contain. `restart` returns the client in its process's next life: it remembers nothing
    but names. `on_response_at` is there if the kind compares times in responses with its clock, `on_response_to` if it has several
    requests in flight, which correlation ids distinguish. Only some kinds heed feature levels (`note_features`) or have timers; `running` are the timers that run, if they
    are others than those that are set.
    """

    next_request: Callable[[C], Message | None]
    sent: Callable[[C, Message, int], tuple[C, Message]]
    on_response: Callable[[C, Message], C]
    on_response_at: Callable[[C, Message, int], C] | None = None
    on_response_to: Callable[[C, Message, int], C] | None = None
    on_disconnected: Callable[[C, int], C]
    restarted: Callable[[C, int], C]
    at_clock: Callable[[C, Message, int], Message] | None = None
    connected: Callable[[C, Features], C] | None = None
    next_broker: Callable[[C], int] | None = None
    timers: Callable[[C], tuple[TimerOfClient, ...]] = _no_timers
    running: Callable[[C], tuple[TimerOfClient, ...]] | None = None
    on_timer: Callable[[C, TimerOfClient], C] | None = None


KINDS: dict[type, ClientKind[Any]] = {
    Producer: ClientKind[Producer](
        next_request=producer.next_request,
        sent=producer.note_sent,
        on_response=producer.on_response,
        on_response_to=producer.on_response,
        on_disconnected=producer.on_disconnected,
        restarted=producer.restart,
        connected=producer.note_features,
        timers=producer.timers,
        running=producer.running,
        on_timer=producer.on_timer,
    ),
    Consumer: ClientKind[RegularConsumer](
        next_request=kafka_consumer.next_request,
        sent=kafka_consumer.note_sent,
        on_response=kafka_consumer.on_response,
        on_disconnected=kafka_consumer.on_disconnected,
        restarted=kafka_consumer.restart,
        at_clock=kafka_consumer.at_clock,
        timers=kafka_consumer.timers,
        running=kafka_consumer.running,
        on_timer=kafka_consumer.on_timer,
    ),
    ShareConsumer: ClientKind[ShareConsumer](
        next_request=share_consumer.next_request,
        sent=share_consumer.note_sent,
        on_response=share_consumer.on_response,
        on_disconnected=share_consumer.on_disconnected,
        restarted=share_consumer.restart,
        connected=share_consumer.note_features,
        next_broker=share_consumer.next_broker,
        timers=share_consumer.timers,
        on_timer=share_consumer.on_timer,
    ),
    TransactionSession: ClientKind[TransactionSession](
        next_request=transaction_session.next_request,
        sent=transaction_session.note_sent,
        on_response=transaction_session.on_response,
        on_disconnected=transaction_session.on_disconnected,
        restarted=transaction_session.restart,
        connected=transaction_session.note_features,
        timers=transaction_session.timers,
        running=transaction_session.running,
        on_timer=transaction_session.on_timer,
    ),
    ShareMember: ClientKind[ShareMember](
        next_request=share_member.next_request,
        sent=share_member.note_sent,
        on_response=share_member.on_response,
        on_disconnected=share_member.on_disconnected,
        restarted=share_member.restart,
        timers=share_member.timers,
        running=share_member.running,
        on_timer=share_member.on_timer,
    ),
    Admin: ClientKind[Admin](
        next_request=admin.next_request,
        sent=admin.note_sent,
        on_response=admin.on_response,
        on_response_at=admin.on_response,
        on_disconnected=admin.on_disconnected,
        restarted=admin.restart,
        next_broker=admin.next_broker,
    ),
    ExternalDatabase: ClientKind[ExternalDatabase](
        next_request=external_database.next_request,
        sent=external_database.note_sent,
        on_response=external_database.on_response,
        on_disconnected=external_database.on_disconnected,
        restarted=external_database.restart,
    ),
}
"""The functions of each kind. A row is checked against its kind; `_kind_of` says which row belongs to which client."""


def _kind_of(me: C) -> ClientKind[C]:
    return KINDS[type(me)]


def next_request(me: Client) -> Message | None:
    """Return the request that a client's network thread would send next, or None."""
    return KINDS[type(me)].next_request(me)


def next_broker(me: Client) -> int:
    """Return the broker that a client's next request is addressed to, -1 if its contents say it."""
    named = KINDS[type(me)].next_broker
    return -1 if named is None else named(me)


def has_room(me: Client, broker: int) -> bool:
    """Return whether a client may send one more request to a broker (max.in.flight.requests.per.connection)."""
    return in_flight.has_room(me, broker) if isinstance(me, Producer) else True


def at_clock(me: Client, request: Message, now_ms: int) -> Message:
    """Return a client's request as it is at a time of its clock."""
    read = KINDS[type(me)].at_clock
    return request if read is None else read(me, request, now_ms)


def note_sent(me: C, request: Message, broker: int) -> tuple[C, Message]:
    """Note that a client's request is in flight, and return it as it is sent to that broker."""
    return _kind_of(me).sent(me, request, broker)


def network_of(me: Client) -> str:
    """Return the client whose connections a client uses: its own, or those that it shares."""
    shared = me.network if isinstance(me, Producer) else ""
    return shared or me.source


def client_id_of(me: Client) -> str | None:
    """Return the client.id that a client is configured with; None stands for the name of its host."""
    membership = me.membership if isinstance(me, Consumer) else None
    return membership.client_id if isinstance(membership, ConsumerCoordinator) else None


def correlation_id_of(me: Client, request: Message) -> int:
    """Return the correlation id of a client's next request; 0 if nothing else of it can be in flight.

    Only a producer has several requests in flight on one connection, and must match their responses.
    """
    if isinstance(me, Producer) and isinstance(request, Produce):
        return in_flight.correlation_id_of(me, request)
    return 0


def note_features(me: C, features: Features) -> C:
    """Pass the features of a new connection to a client; most kinds ignore them."""
    take = _kind_of(me).connected
    return me if take is None else take(me, features)


def on_response(me: C, message: Message, now_ms: int = NO_TIMESTAMP, correlation_id: int = 0) -> C:
    """Let a client handle the response to the request with a correlation id; `now_ms` is the time by its clock."""
    kind = _kind_of(me)
    if kind.on_response_at is not None:
        return kind.on_response_at(me, message, now_ms)
    if kind.on_response_to is not None:
        return kind.on_response_to(me, message, correlation_id)
    return kind.on_response(me, message)


def on_disconnected(me: C, broker: int) -> C:
    """Let a client handle a broken connection."""
    return _kind_of(me).on_disconnected(me, broker)


def timers(me: Client) -> tuple[TimerOfClient, ...]:
    """Return the timers of a client that are set."""
    return KINDS[type(me)].timers(me)


def running(me: Client) -> tuple[TimerOfClient, ...]:
    """Return the timers of a client that run, including those that cannot fire right now."""
    kind = KINDS[type(me)]
    return (kind.running or kind.timers)(me)


def on_timer(me: C, timer: TimerOfClient) -> C:
    """Fire a timer of a client."""
    run_out = _kind_of(me).on_timer
    assert run_out is not None, f"{type(me).__name__} sets no timer"
    return run_out(me, timer)


def clause_of_timer(me: Client | None, timer: TimerOfClient) -> Clause:
    """Return the clause of a client's timer: a heartbeat of a transaction is a draft's, one of a member is not."""
    if isinstance(timer, HeartbeatInterval) and isinstance(me, Holder):
        return timer.OF_TRANSACTIONS
    return timer.CLAUSE


def awaits_poll(me: Client) -> bool:
    """Return whether max.poll.interval.ms runs for a client: for a group member outside poll()."""
    return joins_group(me) and me.in_group and not me.polling


def end_transaction(me: Holder, *, committed: bool) -> Holder:
    """Commit or abort the transaction of a producer or a session."""
    if isinstance(me, TransactionSession):
        return transaction_session.end_transaction(me, committed=committed)
    return producer.end_transaction(me, committed=committed)


def expiring(me: Client | None) -> OutgoingBatch | None:
    """Return the batch of a producer whose delivery.timeout.ms may have expired, or None."""
    return sender.expiring(me) if isinstance(me, Producer) else None


def restart(me: C, life: int) -> C:
    """Return a client in its process's next life."""
    return _kind_of(me).restarted(me, life)
