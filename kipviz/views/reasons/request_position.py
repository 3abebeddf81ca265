"""The position of a request: in flight, held up by a network partition, behind another one, at a broker, answered.

The lower half of `blockers`: what a message and a broker wait for, for any sender.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kipviz.brokers import kafka_apis
from kipviz.brokers.context import NOBODY
from kipviz.brokers.kafka_apis import AskedOfNode, KafkaApis
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.cluster import dispatch
from kipviz.cluster.network.network_partition import are_apart
from kipviz.cluster.world import World, broker_host, host_of, role_as
from kipviz.core.values import Value
from kipviz.messages.message import Message
from kipviz.messages.producing import Produce
from kipviz.messages.transactions import AddPartitionsToTxn, WriteTxnMarkers

SOON, SOMEONE, NEVER, IDLE = "soon", "someone", "never", "idle"
See = tuple[tuple[str, str], ...]


class Reason(Value, frozen=True):
    """Why something waits, what would free it, and what that takes."""

    text: str
    free: str
    how: str
    see: See = ()


AT_WORK = Reason("It is handling the request.", "it answers.", SOON)


def locate_on_connection(
    world: World, source: str, broker: int, what: str, ours: Callable[[Message], bool]
) -> Reason:
    """Return where a message of a connection is; `what` is its name, `ours` recognises it."""
    connection = world.connections.get((source, broker))
    if connection is None or not connection.open:
        return Reason(f"{what} is no longer in flight.", "it is sent again.", SOON)
    cut = _cut(world, source, broker)
    for place, envelope in enumerate(connection.requests):
        if not ours(envelope.message):
            continue
        if cut:
            return Reason(
                f"{what} does not arrive: {cut} are partitioned.",
                "the network partition heals.",
                SOMEONE,
            )
        if connection.serving is not None:
            before = type(connection.serving.message).__name__
            reason = why_broker_waits(world, broker, connection.serving.message)
            text = f"{what} waits behind {before}, to which Broker {broker} has not responded. {reason.text}"
            return reason.but(text=text)
        behind = f", behind {place} others" if place else ""
        return Reason(f"{what} is in flight to Broker {broker}{behind}.", "it arrives.", SOON)
    if connection.serving is not None and ours(connection.serving.message):
        reason = why_broker_waits(world, broker, connection.serving.message)
        return reason.but(
            text=f"{what} is at Broker {broker}, which has not responded. {reason.text}"
        )
    if any(ours(envelope.message) for envelope in connection.responses):
        if cut:
            text = f"The response of Broker {broker} does not arrive: {cut} are partitioned."
            return Reason(text, "the network partition heals.", SOMEONE)
        return Reason(
            f"{what} is answered; the response of Broker {broker} is in flight.",
            "it arrives.",
            SOON,
        )
    return Reason(f"{what} is no longer in flight.", "it is sent again.", SOON)


def why_broker_waits(world: World, broker: int, message: Message) -> Reason:
    """Return what a broker waits for before it responds to a request."""
    role = world.roles.get(dispatch.role_for(message, broker, world.image))
    if isinstance(role, KafkaApis) and isinstance(message, Produce):
        return _in_parts(world, broker, message.parts)
    if isinstance(role, KafkaApis) and isinstance(message, AddPartitionsToTxn):
        return _in_parts(world, broker, message.of_transactions)
    if role is None:
        return AT_WORK
    for waiting in dispatch.delayed_requests(role):
        if waiting.request == message and not waiting.settled:
            return _enlistment(world, broker, message)
    markers = message.of_transactions if isinstance(message, WriteTxnMarkers) else ()
    for pending in role.pending.values() if markers and isinstance(role, KafkaApis) else ():
        if pending.request in markers:
            left = " and ".join(pending.left)
            return Reason(
                f"The marker in {left} has to reach every in-sync replica.",
                f"{left} is replicated.",
                SOON,
            )
    if not isinstance(role, KafkaApis) and role.waiting:
        shard = "" if isinstance(role, ShareLeader) else role.shard
        return Reason(
            f"What it wrote to {shard} has to reach every in-sync replica.",
            f"{shard} is replicated.",
            SOON,
        )
    return AT_WORK


def _in_parts(world: World, broker: int, parts: tuple[Message, ...]) -> Reason:
    """Return what the first waiting part of a request waits for: the response needs every part."""
    reasons = (why_broker_waits(world, broker, part) for part in parts)
    return next((r for r in reasons if r.text != AT_WORK.text), AT_WORK)


def _enlistment(world: World, broker: int, message: Any) -> Reason:
    home = world.image.home_of_transactions(message.transactional_id)
    to = world.image.leader_of(home)
    name, what = message.transactional_id, "The request to the transaction coordinator"
    behind = _find_ahead(world, broker, name)
    if behind is not None:
        what = (
            f"{what} waits until Broker {behind.broker} has responded to an earlier one. That one"
        )
        to, name = behind.broker, behind.on_the_way[0].message.transactional_id  # type: ignore[attr-defined]
    reason = locate_on_connection(
        world,
        f"{broker_host(broker)}/{dispatch.ADD_PARTITIONS}",
        to,
        what,
        lambda m: any(each.transactional_id == name for each in m.of_transactions),  # type: ignore[attr-defined]
    )
    return reason.but(text=f"It first adds its partition to the transaction. {reason.text}")


def _find_ahead(world: World, broker: int, name: str) -> AskedOfNode | None:
    """Return the request in flight to a broker behind which one about a transactional id waits, or None."""
    desk = role_as(world.roles[broker, kafka_apis.ROLE, ""], KafkaApis)
    behind = ((node, q.message) for node in desk.nodes for q in node.waiting)
    return next((node for node, m in behind if getattr(m, "transactional_id", "") == name), None)


def start_of(world: World, partition: str) -> str:
    """Return what gives a partition a leader again."""
    held = world.image.leaders[partition]
    if held.leader != NOBODY:
        return f"Broker {held.leader} finishes loading"
    return f"{' or '.join(f'Broker {b}' for b in held.replicas)} restarts"


def _cut(world: World, source: str, broker: int) -> str:
    one, other = host_of(source), broker_host(broker)
    return f"{one} and {other}" if are_apart(world, one, other) else ""
