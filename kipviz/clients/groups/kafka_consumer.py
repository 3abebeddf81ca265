"""The calls and the network thread of a consumer of a regular group.

What depends on the protocol of its group is a row of `DELEGATES`, by the kind of its membership; the rest is here.
WHERE IN KAFKA: KafkaConsumer, ConsumerDelegate, ConsumerDelegateCreator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kipviz.clients.groups import classic_consumer, group_consumer, group_reading, offset_reset
from kipviz.clients.groups.consumer import (
    ClassicConsumer,
    Consumer,
    GroupConsumer,
    RegularConsumer,
)
from kipviz.clients.groups.consumer_coordinator import ConsumerCoordinator
from kipviz.clients.groups.consumer_membership import ConsumerMembership
from kipviz.clients.timers import HeartbeatInterval, TimerOfClient
from kipviz.messages.logs.list_offsets import ListOffsets
from kipviz.messages.message import Message

C = TypeVar("C", bound=RegularConsumer)


@dataclass(frozen=True, kw_only=True)
class ConsumerDelegate(Generic[C]):
    """The functions of a consumer that depend on the protocol of its group.

    `poll`, `commit_sync` and `unsubscribe` are calls that block; the response to `subscribe` is none. `next_request`
    returns the request that the network thread sends next, `note_sent` notes that it is in flight. `running` are the timers
    that run, also while a request is in flight.
    """

    poll: Callable[[C], C]
    commit_sync: Callable[[C], C]
    subscribe: Callable[[C, tuple[str, ...], str], C]
    unsubscribe: Callable[[C], C]
    next_request: Callable[[C], Message | None]
    sent: Callable[[C, Message, int], tuple[C, Message]]
    on_response: Callable[[C, Message], C]
    on_disconnected: Callable[[C, int], C]
    running: Callable[[C], tuple[TimerOfClient, ...]]
    on_missed_poll: Callable[[C], C]


# By the class of the membership: mypy checks each row, and `_delegate` says which row is whose.
DELEGATES: dict[type, ConsumerDelegate[Any]] = {
    ConsumerMembership: ConsumerDelegate[GroupConsumer](
        poll=group_consumer.poll,
        commit_sync=group_consumer.commit_sync,
        subscribe=group_consumer.subscribe,
        unsubscribe=group_consumer.unsubscribe,
        next_request=group_consumer.next_request,
        sent=group_consumer.note_sent,
        on_response=group_consumer.on_response,
        on_disconnected=group_consumer.on_disconnected,
        running=group_consumer.running,
        on_missed_poll=group_consumer.on_missed_poll,
    ),
    ConsumerCoordinator: ConsumerDelegate[ClassicConsumer](
        poll=classic_consumer.poll,
        commit_sync=classic_consumer.commit_sync,
        subscribe=classic_consumer.subscribe,
        unsubscribe=classic_consumer.unsubscribe,
        next_request=classic_consumer.next_request,
        sent=classic_consumer.note_sent,
        on_response=classic_consumer.on_response,
        on_disconnected=classic_consumer.on_disconnected,
        running=classic_consumer.running,
        on_missed_poll=classic_consumer.on_missed_poll,
    ),
}


def _delegate(me: C) -> ConsumerDelegate[C]:
    return DELEGATES[type(me.membership)]


# -- calls of the application thread ----------------------------------------------------------


def poll(me: C) -> C:
    """Join if necessary, and return what is already fetched, or ask for records. Blocks."""
    return _delegate(me).poll(me)


def commit_sync(me: C) -> C:
    """Commit the positions after everything that poll() returned. Blocks."""
    return _delegate(me).commit_sync(me)


def subscribe(me: C, topics: tuple[str, ...], regex: str = "") -> C:
    """Subscribe to exactly these topics, or to those that the broker finds for a regular expression."""
    return _delegate(me).subscribe(me, topics, regex)


def unsubscribe(me: C) -> C:
    """Revoke all partitions and leave the group. Blocks."""
    return _delegate(me).unsubscribe(me)


def forget_positions(me: C) -> C:
    """Reset the positions to the committed offsets, as an application does after an abort."""
    return me.reading(me.subscription.without_positions)


def seek(me: C, partition: str, position: int) -> C:
    """Move the position in a partition."""
    return me.reading(me.subscription.at(partition, position))


# -- the network thread -------------------------------------------------------------------------


def next_request(me: RegularConsumer) -> Message | None:
    """Return the request that the network thread sends next, or None."""
    return _delegate(me).next_request(me)


def at_clock(me: RegularConsumer, request: Message, now_ms: int) -> Message:
    """Return a request with the timestamps that depend on the moment in which it is sent."""
    if not isinstance(request, ListOffsets):
        return request
    return offset_reset.at_clock(request, me.subscription.auto_offset_reset, now_ms)


def note_sent(me: C, request: Message, broker: int) -> tuple[C, Message]:
    """Note that a request is in flight."""
    return _delegate(me).sent(me, request, broker)


def on_response(me: C, answer: Message) -> C:
    """Handle a response."""
    return _delegate(me).on_response(me, answer)


def on_disconnected(me: C, broker: int) -> C:
    """Retry the request of a broken connection."""
    return _delegate(me).on_disconnected(me, broker)


def restart(me: RegularConsumer, life: int) -> RegularConsumer:
    """Return the consumer of the process's next life: it has not joined yet, and knows no position."""
    assigned = me.subscription.user_assigned
    membership = me.membership if assigned else me.membership.anew(life)
    return Consumer(
        me.source,
        me.group_id,
        me.partition,
        me.subscription.anew,
        me.fetcher.anew,
        membership,
        me.offsets.anew,
    )


# -- timers ---------------------------------------------------------------------------------------


def timers(me: RegularConsumer) -> tuple[TimerOfClient, ...]:
    """Return the timers that are set. They cost nothing; without a clock each may fire at any moment."""
    return () if me.on_wire is not None or me.membership.beat else running(me)


def running(me: RegularConsumer) -> tuple[TimerOfClient, ...]:
    """Return the timers that run, also while a request is in flight."""
    return _delegate(me).running(me)


def on_timer(me: C, timer: TimerOfClient) -> C:
    """Fire a timer: send a heartbeat, retry, or fetch new records."""
    if isinstance(timer, HeartbeatInterval):
        return me.but(membership=me.membership.but(beat=True))
    return group_reading.on_timer(me, timer)


def on_missed_poll(me: C) -> C:
    """Let max.poll.interval.ms expire: the consumer leaves its group."""
    return _delegate(me).on_missed_poll(me)
