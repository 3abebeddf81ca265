"""A send() that does not return at once: it waits for the metadata of its topic, or for room.

WHERE IN KAFKA: KafkaProducer.doSend, waitOnMetadata; BufferPool.allocate. KIPS: KIP-98, max.block.ms.
"""

from __future__ import annotations

from kipviz.clients import kinds
from kipviz.clients.kinds import Client
from kipviz.clients.sending import awaited_topics, pipelined_producer
from kipviz.clients.sending.pipelined_producer import PipelinedProducer
from kipviz.clients.transactions import producer
from kipviz.clients.transactions.producer import Producer, ProducerState
from kipviz.clients.transactions.producer_errors import EXPIRED
from kipviz.clients.transactions.producer_state import TRANSITIONS
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


def why_no_error_state(client: Producer) -> str:
    """Return what send() throws if its error cannot end the transaction, or "".

    Another thread has ended the transaction meanwhile. The application's thread poisons nothing: the producer
    goes on. Source: KafkaProducer.doSend, TransactionManager.transitionTo.
    """
    state, target = client.state, ProducerState.ABORTABLE_ERROR
    if state is ProducerState.ABORTING_TRANSACTION or target in TRANSITIONS[state]:
        return ""
    return f"IllegalStateException: Invalid transition attempted from state {state.value} to state {target.value}"


def timed_out(client: Producer) -> Producer:
    """Give up a send() after max.block.ms, which waits for its topic or for room.

    It throws nothing, but its transaction is over: the exception is in its Future, and thrown by the
    next call. Source: KafkaProducer.doSend, TransactionManager.maybeTransitionToErrorState.
    """
    if why_no_error_state(client):
        return _released(client)
    if client.there.held:
        why = awaited_topics.why_timed_out(client.there)
        refused = ProduceResponse(EXPIRED, client.there.held[0][0], -1)
        return producer.fail(client, refused, EXPIRED).but(error=why)
    assert isinstance(client, PipelinedProducer), "no other producer waits for room"
    return pipelined_producer.send_timed_out(client)


def _released(client: Producer) -> Producer:
    """Take back what a send() holds that waits."""
    if isinstance(client, PipelinedProducer) and client.blocked:
        return client.but(blocked=(), done=True)
    return awaited_topics.released(client)
