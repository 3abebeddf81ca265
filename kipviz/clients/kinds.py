"""The kinds of clients, and the functions that each of them has.

A client is a value with a `source`, the request in flight `on_wire` (to `on_wire_broker`), and `done`, which says that
the call the application waits for has ended. Its module has the functions below under the same names, and `connected`
if it heeds feature levels. A new kind of client is a module and a row here.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar

from kipviz.clauses import Clause
from kipviz.clients.groups import classic_consumer, consumer, group_consumer
from kipviz.clients.groups.classic_consumer import ClassicConsumer
from kipviz.clients.groups.consumer import Consumer
from kipviz.clients.groups.group_consumer import GroupConsumer
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
from kipviz.messages.features import Features
from kipviz.messages.message import Message

# A consumer that is a member of a regular group, by either protocol.
MemberConsumer: TypeAlias = GroupConsumer | ClassicConsumer
# The holder of a TransactionManager: a producer or, in KIP-1310 (draft), a session outside every producer.
Holder: TypeAlias = Producer | TransactionSession
Client: TypeAlias = (
    Producer
    | Consumer
    | GroupConsumer
    | ClassicConsumer
    | ShareConsumer
    | TransactionSession
    | Admin
    | ExternalDatabase
    | ShareMember
)
C = TypeVar("C", bound=Any)


class Kind(Protocol):
    """The functions that the module of a client has."""

    def next_request(self, me: Any) -> Message | None:
        """Return the request that its network thread would send next, or None."""

    def sent(self, me: Any, request: Message, broker: int) -> tuple[Any, Message]:
        """Note that a request is in flight, and return it as it is sent to that broker."""

    def on_response(self, me: Any, message: Message) -> Any:
        """Handle a response."""

    def on_disconnected(self, me: Any, broker: int) -> Any:
        """Handle a broken connection."""

    def restarted(self, me: Any, life: int) -> Any:
        """Return the same client in the process's next life: it remembers nothing but names."""


KINDS: dict[type, Kind] = {
    Producer: producer,
    Consumer: consumer,
    GroupConsumer: group_consumer,
    ClassicConsumer: classic_consumer,
    ShareConsumer: share_consumer,
    TransactionSession: transaction_session,
    ShareMember: share_member,
    Admin: admin,
    ExternalDatabase: external_database,
}


def next_request(me: Client) -> Message | None:
    """Return the request that a client's network thread would send next, or None."""
    return KINDS[type(me)].next_request(me)


def has_room(me: Client, broker: int) -> bool:
    """Return whether a client may send one more request to a broker (max.in.flight.requests.per.connection)."""
    return in_flight.has_room(me, broker) if isinstance(me, Producer) else True


def sent(me: C, request: Message, broker: int) -> tuple[C, Message]:
    """Note that a client's request is in flight, and return it as it is sent to that broker."""
    return KINDS[type(me)].sent(me, request, broker)


def network_of(me: Client) -> str:
    """Return the client whose connections a client uses: its own, or those that it shares."""
    shared: str = getattr(me, "network", "")
    return shared or me.source


def connected(me: C, features: Features) -> C:
    """Pass the features of a new connection to a client; most kinds ignore them."""
    take = getattr(KINDS[type(me)], "connected", None)
    told: C = me if take is None else take(me, features)
    return told


def on_response(me: C, message: Message) -> C:
    """Let a client handle a response."""
    answered: C = KINDS[type(me)].on_response(me, message)
    return answered


def on_disconnected(me: C, broker: int) -> C:
    """Let a client handle a broken connection."""
    told: C = KINDS[type(me)].on_disconnected(me, broker)
    return told


def timers(me: Client) -> tuple[TimerOfClient, ...]:
    """Return the timers of a client that are set.

    A module with timers has the functions `timers(client)` and `on_timer(client, timer)`.
    """
    ask = getattr(KINDS[type(me)], "timers", None)
    return ask(me) if ask is not None else ()


def running(me: Client) -> tuple[TimerOfClient, ...]:
    """Return the timers of a client that run, including those that cannot fire right now.

    A module whose timers run while they cannot fire has the function `running(client)`.
    """
    ask = getattr(KINDS[type(me)], "running", None)
    return ask(me) if ask is not None else timers(me)


def on_timer(me: Any, timer: TimerOfClient) -> Any:
    """Fire a timer of a client."""
    return getattr(KINDS[type(me)], "on_timer")(me, timer)  # noqa: B009  not every kind has it


def clause_of_timer(me: Client | None, timer: TimerOfClient) -> Clause:
    """Give where the rule of a client's timer is written: a heartbeat of a transaction is a draft's, one of a member is not."""
    if isinstance(timer, HeartbeatInterval) and isinstance(me, Holder):
        return timer.OF_TRANSACTIONS
    return timer.CLAUSE


def awaits_poll(me: Client) -> bool:
    """Return whether max.poll.interval.ms runs for a client: for a group member outside poll()."""
    return isinstance(me, MemberConsumer) and me.in_group and not me.polling


def on_missed_poll(me: Any) -> Any:
    """Let max.poll.interval.ms expire for a member of a group."""
    return getattr(KINDS[type(me)], "on_missed_poll")(me)  # noqa: B009  not every kind has it


def end_transaction(me: Holder, *, committed: bool) -> Holder:
    """Commit or abort the transaction of a producer or a session."""
    if isinstance(me, TransactionSession):
        return transaction_session.end_transaction(me, committed=committed)
    return producer.end_transaction(me, committed=committed)


def expiring(me: Client | None) -> OutgoingBatch | None:
    """Return the batch of a producer whose delivery.timeout.ms may have expired, or None."""
    return sender.expiring(me) if isinstance(me, Producer) else None


def restarted(me: C, life: int) -> C:
    """Return a client in its process's next life."""
    fresh: C = KINDS[type(me)].restarted(me, life)
    return fresh
