"""A send() that does not return at once: it waits for the metadata of its topic, or for room.

WHERE IN KAFKA: KafkaProducer.doSend, waitOnMetadata; BufferPool.allocate. KIPS: KIP-98, max.block.ms.
"""

from __future__ import annotations

from kipviz.clients import awaited_topics, kinds, pipelined_producer, producer
from kipviz.clients.kinds import Client
from kipviz.clients.pipelined_producer import PipelinedProducer
from kipviz.clients.producer import Producer
from kipviz.clients.producer_errors import EXPIRED
from kipviz.messages.producing import ProduceResponse


def waits(client: Client) -> bool:
    """Say whether send() waits for its topic, or for room in buffer.memory; else it returns at once."""
    room = isinstance(client, PipelinedProducer) and bool(client.blocked)
    return room or (isinstance(client, Producer) and bool(client.there.held))


def gone_on(client: Producer) -> Producer:
    """Let a send() go on whose topic is known now: its records go where those of others go."""
    partition, records = client.there.held[0]
    after: Producer = kinds.send(awaited_topics.released(client), partition, records)
    return after


def timed_out(client: Producer) -> Producer:
    """Give up a send() after max.block.ms, which waits for its topic or for room.

    It throws nothing, but its transaction is over: the exception is in its Future, and thrown by the
    next call. Source: KafkaProducer.doSend, TransactionManager.maybeTransitionToErrorState.
    """
    if client.there.held:
        why = awaited_topics.why_timed_out(client.there)
        refused = ProduceResponse(EXPIRED, client.there.held[0][0], -1)
        return producer.fail(client, refused, EXPIRED).but(error=why)
    assert isinstance(client, PipelinedProducer), "no other producer waits for room"
    return pipelined_producer.send_timed_out(client)
