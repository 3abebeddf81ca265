"""The model's answer to one request in one world."""

from __future__ import annotations

from kipviz.cluster.real.rebuilt_cluster import BROKER, RebuiltModel
from kipviz.cluster.turn import Turn
from kipviz.cluster.world import Envelope, World
from kipviz.messages.message import Message
from kipviz.messages.transactions.admin import DescribeProducers
from kipviz.recordings.judging.questions import reply_said
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.replayed_roles import leaders
from kipviz.recordings.replayed_roles.answer_text import Said
from kipviz.recordings.request_context.admission import Acls

# The requester is a process of its own, named after its principal; without one it may do everything.
CLIENT = "/client"
ANYBODY = "recorded"


def answer(
    model: RebuiltModel,
    world: World,
    message: Message,
    broker: int = BROKER,
    who: str = ANYBODY,
) -> Message | None:
    """Return the model's answer to a request in a world, or None if there is none yet.

    All requests between brokers are answered, and appended batches are replicated at once.
    """
    turn = model.turn(world)
    source = f"{who}{CLIENT}"
    turn.put_request(source, broker, Envelope(message))
    turn.deliver_request(source, broker)
    settle(turn, source, broker)
    found = turn.connections[source, broker].responses
    return found[0].message if found else None


def settle(turn: Turn, client: str, asked: int) -> None:
    """Deliver the brokers' own messages until there is an answer, or no message is left.

    Work after an answer may never end: markers are retried as long as replicas are missing.
    """
    while not turn.connections[client, asked].responses:
        moved = False
        for source, broker in tuple(turn.connections):
            if source.endswith(CLIENT):
                continue
            connection = turn.connections[source, broker]
            if connection.responses:
                turn.deliver_response(source, broker)
                moved = True
            elif connection.requests and connection.serving is None:
                turn.deliver_request(source, broker)
                moved = True
        if not moved:
            return


def admitting(world: World, acls: Acls | None) -> World:
    """Return a world in which a broker uses some ACLs."""
    return world if acls is None else world.but(image=world.image.but(acls=acls))


def serving(world: World, message: Message, exchange: Exchange) -> int:
    """Return the broker that serves a request: any replica describes producers, but the model asks the leader."""
    broker = exchange.broker or BROKER
    if isinstance(message, DescribeProducers):
        held = world.image.leaders.get(message.partitions[0])
        if held is not None and broker in held.replicas:
            return held.leader
    return broker


def compared_part(api: str, message: Message, reply: Message) -> Said:
    """Return the part of the model's reply that is compared with the recorded answer."""
    if api == "PRODUCE":
        return leaders.produce_said(reply)
    return reply_said(api, message, reply)
