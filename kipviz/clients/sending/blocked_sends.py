"""A send() that does not return at once: it waits for the metadata of its topic, or for room.

WHERE IN KAFKA: KafkaProducer.doSend, waitOnMetadata; BufferPool.allocate. KIPS: KIP-98, max.block.ms.
"""

from __future__ import annotations

from kipviz.clients import kinds
from kipviz.clients.kinds import Client
from kipviz.clients.sending import awaited_topics, pipelined_producer
from kipviz.clients.sending.pipelined_producer import PipelinedProducer
from kipviz.clients.transactions import producer
from kipviz.clients.transactions.producer import Producer
from kipviz.clients.transactions.producer_errors import EXPIRED
from kipviz.clients.transactions.producer_state import TRANSITIONS, ProducerState
from kipviz.clients.transactions.transaction_manager import Failure
from kipviz.messages.producing import ProduceResponse


def waits(client: Client) -> bool:
    """Say whether send() waits for its topic, or for room in buffer.memory; else it returns at once."""
    if not isinstance(client, Producer):
        return False
    return bool(client.accumulator.blocked or client.metadata.held)


def gone_on(client: Producer) -> Producer:
    """Let a send() go on whose topic is known now: its records go where those of others go."""
    partition, records = client.metadata.held[0]
    after: Producer = kinds.send(awaited_topics.released(client), partition, records)
    return after


def why_no_error_state(client: Producer) -> str:
    """Return what send() throws if its error cannot end the transaction, or "".

    Another thread has ended the transaction meanwhile. The application's thread poisons nothing: the producer
    goes on. Source: KafkaProducer.doSend, TransactionManager.transitionTo.
    """
    state, target = client.manager.state, ProducerState.ABORTABLE_ERROR
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
    known = client.metadata
    if known.held:
        refused = ProduceResponse(EXPIRED, known.held[0][0], -1)
        given_up = producer.fail(client, Failure(refused, EXPIRED))
        why = awaited_topics.why_timed_out(known)
        return given_up.but(manager=given_up.manager.but(error=why))
    assert isinstance(client, PipelinedProducer), "no other producer waits for room"
    return pipelined_producer.send_timed_out(client)


def _released(client: Producer) -> Producer:
    """Take back what a send() holds that waits."""
    if client.accumulator.blocked:
        return client.but(
            accumulator=client.accumulator.but(blocked=()), manager=client.manager.but(done=True)
        )
    return awaited_topics.released(client)
