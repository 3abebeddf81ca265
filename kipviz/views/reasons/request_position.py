"""The position of a request: in flight, held up by a network partition, behind another one, at a broker, answered.

The lower half of `blockers`: what a message and a broker wait for, for any sender.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from kipviz.brokers.context import NOBODY, Channel
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.kafka_apis import AskedOfNode, KafkaApis
from kipviz.brokers.logs.add_to_transaction import Enlisting
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.share_leaders.share_partition import (
    READS,
    SessionCall,
    ShareLeader,
    SharePartition,
    Status,
)
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster import dispatch
from kipviz.cluster.behaviour.naming import short_name
from kipviz.cluster.network.network_partition import are_apart
from kipviz.cluster.world import BrokerRole, World, broker_host, host_of, role_as
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import ShareAcknowledge, ShareFetch, TxnShareAcknowledge
from kipviz.messages.shares.share_state import ShareStateMessage
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    WriteTxnMarkers,
)
from kipviz.records.placement import SHARE_GROUP_STATE

SOON, SOMEONE, NEVER, IDLE = "soon", "someone", "never", "idle"
See = tuple[tuple[str, str], ...]


class Reason(Value, frozen=True):
    """Why something waits, what would free it, and what that takes.

    `chain` has the reasons from the nearest to the last one, a sentence each: what waits for the same thing has the same
    end of the chain.
    """

    chain: tuple[str, ...]
    free: str
    how: str
    see: See = ()

    @property
    def text(self) -> str:
        """The whole chain, as a text."""
        return " ".join(self.chain)

    def after(self, *sentences: str, see: See = ()) -> Reason:
        """Return the reason behind other sentences: what they say waits for it."""
        return self.but(chain=(*sentences, *self.chain), see=(*see, *self.see))


AT_WORK = Reason(("It is handling the request.",), "it responds.", SOON)


def locate_on_connection(
    world: World, source: str, broker: int, what: str, ours: Callable[[Message], bool]
) -> Reason:
    """Return where a message of a connection is; `what` is its name, `ours` recognises it."""
    connection = world.connections.get((source, broker))
    if connection is None or not connection.open:
        return Reason((f"{what} is no longer in flight.",), "it is sent again.", SOON)
    cut = _cut(world, source, broker)
    for place, envelope in enumerate(connection.requests):
        if not ours(envelope.message):
            continue
        if cut:
            return Reason(
                (f"{what} does not arrive: {cut} are partitioned.",),
                "the network partition heals.",
                SOMEONE,
            )
        if connection.serving is not None:
            before = type(connection.serving.message).__name__
            reason = why_broker_waits(world, broker, connection.serving.message)
            return reason.after(
                f"{what} waits behind {before}, to which Broker {broker} has not responded."
            )
        behind = f", behind {place} others" if place else ""
        return Reason((f"{what} is in flight to Broker {broker}{behind}.",), "it arrives.", SOON)
    if connection.serving is not None and ours(connection.serving.message):
        reason = why_broker_waits(world, broker, connection.serving.message)
        return reason.after(f"{what} is at Broker {broker}, which has not responded.")
    if any(ours(envelope.message) for envelope in connection.responses):
        if cut:
            text = f"The response of Broker {broker} does not arrive: {cut} are partitioned."
            return Reason((text,), "the network partition heals.", SOMEONE)
        return Reason(
            (f"{what} is answered; the response of Broker {broker} is in flight.",),
            "it arrives.",
            SOON,
        )
    return Reason((f"{what} is no longer in flight.",), "it is sent again.", SOON)


def why_broker_waits(world: World, broker: int, message: Message) -> Reason:
    """Return what a broker waits for before it responds to a request."""
    role = world.roles.get(dispatch.role_for(message, broker, world.image))
    match role:
        case None:
            return AT_WORK
        case KafkaApis():
            return _apis_wait(world, broker, role, message)
        case ShareLeader():
            return _share_leader_waits(world, broker, role, message)
        case PartitionLeader() | TransactionCoordinator() | GroupCoordinator() | ShareCoordinator():
            if delayed := _find_delayed(role, message):
                return _enlistment(world, broker, delayed)
            if not role.waiting:
                return AT_WORK
            return Reason(
                (f"What it wrote to {role.shard} has to reach every in-sync replica.",),
                f"{role.shard} is replicated.",
                SOON,
            )
        case _:
            assert_never(role)


def _find_delayed(role: BrokerRole, message: Message) -> Enlisting | None:
    """Return a request as one that waits for a coordinator's answer about its transaction, or None."""
    waiting = dispatch.delayed_requests(role)
    return next((each for each in waiting if each.request == message and not each.settled), None)


def _apis_wait(world: World, broker: int, role: KafkaApis, message: Message) -> Reason:
    """Return what a request waits for that is handled part by part."""
    if isinstance(message, Produce):
        of_each = (message.but(partition_data=(batch,)) for batch in message.partition_data)
        return _in_parts(world, broker, tuple(of_each))
    if isinstance(message, AddPartitionsToTxn):
        alone = (message.but(transactions=(each,)) for each in message.transactions)
        return _in_parts(world, broker, tuple(alone))
    markers = message.markers if isinstance(message, WriteTxnMarkers) else ()
    for pending in role.pending.values():
        if pending.marker in markers:
            left = " and ".join(pending.left)
            return Reason(
                (f"The marker in {left} has to reach every in-sync replica.",),
                f"{left} is replicated.",
                SOON,
            )
    return AT_WORK


def _share_leader_waits(world: World, broker: int, role: ShareLeader, message: Message) -> Reason:
    """Return what a request to a share-partition leader waits for: a write, a state to be read, or records.

    What it writes goes to the share coordinator: it has no log of its own that could be replicated.
    """
    if not isinstance(message, ShareFetch | ShareAcknowledge | TxnShareAcknowledge):
        return AT_WORK
    if any(turned.member_id == message.member_id for turned in role.refused):
        text = (
            f"Broker {broker} had as many share sessions as it may have when the request arrived."
        )
        return Reason(
            (text,), "the wait is over; the request is refused even if there is room by then.", SOON
        )
    call = _find_session_call(role, message)
    if call is not None:
        return _session_call_waits(world, broker, role, call)
    first = message.partitions[0].partition if message.partitions else ""
    share = role.shares.get(world.image.share_key(message.group_id, first)) if first else None
    if share is not None and share.writes:
        return write_of(world, broker, share)
    if delayed := _find_delayed(role, message):
        return _enlistment(world, broker, delayed)
    if not isinstance(message, ShareFetch) or share is None:
        return AT_WORK
    states = [r.state.name for r in share.records.values()]
    counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states))
    if not states:
        text = f"Everything up to offset {share.start_offset - 1} is done, and the log ends there."
        return Reason((text,), f"a producer writes to {share.partition}.", IDLE)
    return Reason(
        (
            f"No record of {share.partition} is available from offset {share.start_offset} on: {counts}.",
        ),
        "a record is released, or a new one is written.",
        SOMEONE,
        ((f"share:{share.key}", f"offset {share.start_offset}"),),
    )


def _find_session_call(
    role: ShareLeader, message: ShareFetch | ShareAcknowledge | TxnShareAcknowledge
) -> SessionCall | None:
    """Return the waiting call of several partitions that a request is, or None."""
    who = (message.group_id, message.member_id)
    calls = (c for c in role.waiting if (c.request.group_id, c.request.member_id) == who)
    return next((c for c in calls if type(c.request) is type(message)), None)


def _session_call_waits(world: World, broker: int, role: ShareLeader, call: SessionCall) -> Reason:
    """Return what a request of several partitions waits for: a write, a state to be read, or records."""
    group_id = call.request.group_id
    for share in (s for s in role.shares.values() if s.group_id == group_id):
        reading = call.fetched is None and share.status is not Status.ACTIVE
        if share.writes and (share.partition in call.owed or reading):
            return write_of(world, broker, share)
    if call.fetched is not None:
        return AT_WORK
    names = " and ".join(call.partitions)
    text = f"{names} have no available and no new record."
    return Reason((text,), "a record of one of them is released, or a new one is written.", SOMEONE)


def write_of(world: World, broker: int, share: SharePartition) -> Reason:
    """Return where the request of a share-partition to its share coordinator is."""
    home = world.image.home_of(SHARE_GROUP_STATE, share.key)
    to = world.image.leader_of(home)
    if not share.on_wire:
        text = f"It cannot be made durable: {short_name(home)} has no leader."
        return Reason((text,), f"{start_of(world, home)}.", SOMEONE)
    name = "look-up" if share.writes[0].purpose in READS else "write"
    return locate_on_connection(
        world,
        f"{broker_host(broker)}/persister",
        to,
        f"The {name} at the share coordinator",
        lambda m: isinstance(m, ShareStateMessage) and m.key == share.key,
    )


def _in_parts(world: World, broker: int, parts: tuple[Message, ...]) -> Reason:
    """Return what the first waiting part of a request waits for: the response needs every part."""
    reasons = (why_broker_waits(world, broker, part) for part in parts)
    return next((r for r in reasons if r.text != AT_WORK.text), AT_WORK)


def _enlistment(world: World, broker: int, delayed: Enlisting) -> Reason:
    name, what = delayed.request.transactional_id, "The request to the transaction coordinator"
    assert name is not None, "only a request in a transaction asks its coordinator"
    to = world.image.leader_of(world.image.home_of_transactions(name))
    behind = _find_ahead(world, broker, name)
    if behind is not None:
        what = (
            f"{what} waits until Broker {behind.broker} has responded to an earlier one. That one"
        )
        first = behind.on_the_way[0].message
        assert isinstance(first, AddPartitionsToTxn), "questions about transactions are of one API"
        to, name = behind.broker, first.transactions[0].transactional_id
    channel = f"{broker_host(broker)}/{Channel.ADD_PARTITIONS}"
    reason = locate_on_connection(world, channel, to, what, lambda m: _is_about(m, name))
    return reason.after("It first adds its partition to the transaction.")


def _is_about(message: Message, name: str) -> bool:
    """Return whether a question to a coordinator, or its answer, is about a transactional id."""
    match message:
        case AddPartitionsToTxn():
            return any(each.transactional_id == name for each in message.transactions)
        case AddPartitionsToTxnResponse():
            return any(each.transactional_id == name for each in message.results)
        case _:
            return False


def _find_ahead(world: World, broker: int, name: str) -> AskedOfNode | None:
    """Return the request in flight to a broker behind which one about a transactional id waits, or None."""
    desk = role_as(world.roles[broker, Role.KAFKA_APIS, ""], KafkaApis)
    behind = ((node, q.message) for node in desk.nodes for q in node.waiting)
    return next((node for node, message in behind if _is_about(message, name)), None)


def start_of(world: World, partition: str) -> str:
    """Return what gives a partition a leader again."""
    held = world.image.leaders[partition]
    if held.leader != NOBODY:
        return f"Broker {held.leader} finishes loading"
    return f"{' or '.join(f'Broker {b}' for b in held.replicas)} restarts"


def _cut(world: World, source: str, broker: int) -> str:
    one, other = host_of(source), broker_host(broker)
    return f"{one} and {other}" if are_apart(world, one, other) else ""
