"""The kinds of clients, and what is asked of every one of them.

A client is a value with a `source`, the request that is `on_wire` (to `on_wire_broker`), and `done`, which
says that the call the application waits for has ended. Its module has the functions below under the same
names, and `connected` if it heeds feature levels. A new kind of client is a module and a line here.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar

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
from kipviz.clients.transactions import external_database
from kipviz.clients.transactions.external_database import ExternalDatabase
from kipviz.messages.features import Features
from kipviz.messages.message import Message

# A consumer that is a member of a regular group, by either protocol.
MemberConsumer: TypeAlias = GroupConsumer | ClassicConsumer
# Who holds a TransactionManager: every producer, or, as KIP-1310 (draft) has it, a session that no producer holds.
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
    """What the module of a client can do."""

    def next_request(self, me: Any) -> Message | None:
        """Give what its network thread would put on the wire next, or None."""

    def sent(self, me: Any, request: Message, broker: int) -> tuple[Any, Message]:
        """Note that a request is on the wire; give it as it goes out to that broker."""

    def on_response(self, me: Any, message: Message) -> Any:
        """Take an answer."""

    def on_disconnected(self, me: Any, broker: int) -> Any:
        """Take note that a connection broke."""

    def restarted(self, me: Any, life: int) -> Any:
        """Give the same client in the process's next life: nothing is remembered but names."""


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
    """Give what a client's network thread would put on the wire next, or None."""
    return KINDS[type(me)].next_request(me)


def has_room(me: Client, broker: int) -> bool:
    """Say whether a client may send one more request to a broker (max.in.flight.requests.per.connection)."""
    return in_flight.has_room(me, broker) if isinstance(me, Producer) else True


def sent(me: C, request: Message, broker: int) -> tuple[C, Message]:
    """Note that a client's request is on the wire; give it as it goes out to that broker."""
    return KINDS[type(me)].sent(me, request, broker)


def network_of(me: Client) -> str:
    """Give the client through whose connections a client speaks: itself, if it has its own."""
    shared: str = getattr(me, "network", "")
    return shared or me.source


def connected(me: C, features: Features) -> C:
    """Tell a client what a new connection tells it; most kinds have no use for that."""
    take = getattr(KINDS[type(me)], "connected", None)
    told: C = me if take is None else take(me, features)
    return told


def on_response(me: C, message: Message) -> C:
    """Let a client take an answer."""
    answered: C = KINDS[type(me)].on_response(me, message)
    return answered


def on_disconnected(me: C, broker: int) -> C:
    """Tell a client that a connection broke."""
    told: C = KINDS[type(me)].on_disconnected(me, broker)
    return told


def timers(me: Client) -> tuple[str, ...]:
    """Give the timers of a client that are set.

    A module that has some says so with `timers(client)` and `on_timer(client, timer)`.
    """
    ask = getattr(KINDS[type(me)], "timers", None)
    return ask(me) if ask is not None else ()


def running(me: Client) -> tuple[str, ...]:
    """Give the timers of a client whose time passes, also those that could not run out right now.

    A module whose timers go on while they cannot run out says so with `running(client)`.
    """
    ask = getattr(KINDS[type(me)], "running", None)
    return ask(me) if ask is not None else timers(me)


def on_timer(me: Any, timer: str) -> Any:
    """Let a client's timer run out."""
    return getattr(KINDS[type(me)], "on_timer")(me, timer)  # noqa: B009  not every kind has it


def awaits_poll(me: Client) -> bool:
    """Say whether max.poll.interval.ms passes for a client: a member of a group that is not in poll()."""
    return isinstance(me, MemberConsumer) and me.in_group and not me.polling


def on_missed_poll(me: Any) -> Any:
    """Let max.poll.interval.ms be over for a member of a group."""
    return getattr(KINDS[type(me)], "on_missed_poll")(me)  # noqa: B009  not every kind has it


def end_transaction(me: Holder, *, committed: bool) -> Holder:
    """Commit or abort the transaction of whoever holds its manager."""
    if isinstance(me, TransactionSession):
        return transaction_session.end_transaction(me, committed=committed)
    return producer.end_transaction(me, committed=committed)


def expiring(me: Client | None) -> OutgoingBatch | None:
    """Give the batch of a producer for which delivery.timeout.ms may be over, if there is one."""
    return sender.expiring(me) if isinstance(me, Producer) else None


def restarted(me: C, life: int) -> C:
    """Give a client in its process's next life."""
    fresh: C = KINDS[type(me)].restarted(me, life)
    return fresh
