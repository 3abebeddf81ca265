"""The sender: it chooses the producer's next request, and handles the responses.

WHO: the sender thread of a producer. WHERE IN KAFKA: Sender, with the TransactionManager's handlers of batches.
KIPS: KIP-98, KIP-360, KIP-890, KIP-91 (delivery.timeout.ms), KAFKA-5494 (several requests in flight).
NOT MODELLED: see `in_flight`.

A transactional request is sent before a batch, and no batch is sent while one is in flight. EndTxn waits until no batch
is left. A batch that a leader may have is sent until it is complete or expires, even in an abort. A failed batch fails
its transaction or, without a transactional id, is handled by `idempotent_epoch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kipviz.clients.sending import appending, awaited_topics, idempotent_epoch, in_flight
from kipviz.clients.sending.outgoing import OutgoingBatch, with_batches, without, without_unsent
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.producer_errors import EXPIRED
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.clients.transactions.transaction_manager import Failure
from kipviz.core.table import Table
from kipviz.messages.cluster.features import LAST_PRODUCE
from kipviz.messages.cluster.metadata import MetadataResponse
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce, ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

P = TypeVar("P", bound="Producer")
S = ProducerState


# -- what goes out --------------------------------------------------------------------------------


def next_request(me: Producer) -> Message | None:
    """Return the request that the sender sends next, or None when it has nothing to send.

    After an error of the transaction, and in an abort, only the batches that a leader may have are left. Source:
    Sender.runOnce, RecordAccumulator.abortUndrainedBatches.
    """
    manager = me.manager
    if manager.state is S.FATAL_ERROR or manager.rests:
        return None
    request = _next_transactional(me)
    if request is not None or manager.on_wire is not None or not me.accumulator.batches:
        return request
    if idempotent_epoch.lacks_identity(me):
        return idempotent_epoch.ASKING
    return _next_produce(me)


def _next_transactional(me: Producer) -> Message | None:
    """Return the transactional request to send next, if none is in flight.

    The metadata request of a send() that waits for its topic comes first: it waits for no other request, as in Kafka.
    """
    manager, batches = me.manager, me.accumulator
    if manager.on_wire is not None or not (manager.queue or manager.to_add):
        return None
    if awaited_topics.asks(me):
        return manager.queue[0]
    return managing.next_request(
        manager, incomplete=batches.has_incomplete, flying=batches.has_flying
    )


def _next_produce(me: Producer) -> Produce | None:
    """Return the batches to send next, one for each partition, in one request.

    The first batch determines the broker; the batches for other leaders are removed once the leaders are known. Below
    transaction version 2 a batch waits until its partition is added. Source: Sender.sendProduceRequest.
    """
    manager = me.manager
    partitions = dict.fromkeys(b.partition for b in me.accumulator.batches)
    allowed = (p for p in partitions if manager.implicit or p in manager.partitions)
    found = in_flight.next_batches(me, allowed)
    if not found:
        return None
    version = 13 if manager.implicit else LAST_PRODUCE
    data = tuple(in_flight.data_of(me, batch) for batch in found)
    return Produce(manager.transactional_id, data, version)


def note_sent(me: P, request: Message, broker: int) -> tuple[P, Message]:
    """Note that a request to a broker is in flight; a new batch gets its sequence now."""
    if isinstance(request, Produce):
        return in_flight.put_on_wire(me, request, broker), request
    if not me.is_transactional:
        return idempotent_epoch.note_sent(me, request, broker), request
    return me.but(manager=managing.note_sent(me.manager, request, broker)), request


# -- what comes back ------------------------------------------------------------------------------


def on_response(me: P, message: Message, correlation_id: int = 0) -> P:
    """Handle the response to the request with a correlation id: continue, retry, or enter an error state.

    Clause: KIP-98 "Producer"; TransactionManager.handleCompletedBatch, handleFailedBatch.
    """
    if isinstance(message, ProduceResponse):
        for result in message.partition_responses:
            me = _on_produced(me, result, correlation_id)
    elif me.is_transactional:
        me = _on_answer(me, message)
    else:
        me = idempotent_epoch.on_identity(me, message)
    return resolve_sequences(me)


def _on_produced(me: P, result: PartitionProduceResponse, request: int) -> P:
    """Handle the result for a batch of a request, which its correlation id identifies; a dropped batch ignores it."""
    asked = (result.partition, request)
    flying = (b for b in me.accumulator.batches if b.broker >= 0)
    batch = next((b for b in flying if (b.partition, b.request) == asked), None)
    if batch is None:
        return in_flight.note_late_response(me, result.partition, request)
    if result.error is Errors.NONE:
        return prepared_when_flushed(in_flight.note_acknowledged(me, batch))
    if not me.is_transactional:
        return idempotent_epoch.on_refused(me, batch, result.error)
    if result.error in RETRIABLE or in_flight.comes_early(me, batch, result.error):
        return in_flight.put_back(me, (batch,))
    me = fail(without(me, batch), Failure(result, result.error))
    return me if me.manager.state is S.FATAL_ERROR else in_flight.close_gap(me, batch)


def _on_answer(me: P, message: Message) -> P:
    """Handle the response to a request of the transaction manager; a new identity restarts the sequences."""
    before = me.manager
    manager, failure = managing.on_answer(before, message, incomplete=me.accumulator.has_incomplete)
    me = me.but(manager=manager)
    if failure is not None:
        return fail(me, failure)
    if manager.identity != before.identity:
        of_group = isinstance(before.on_wire, InitProducerIdOfGroup)
        me = with_batches(me, ()) if of_group else me
        me = me.but(partition_map=me.partition_map.begun_anew)
    return _on_metadata(me, message) if isinstance(message, MetadataResponse) else me


def _on_metadata(me: P, answer: MetadataResponse) -> P:
    refused = awaited_topics.why_refused(me.metadata, answer)
    if refused is Errors.NONE:
        return awaited_topics.on_metadata(me, answer)
    partition = me.metadata.held[0][0]
    return fail(me, Failure(PartitionProduceResponse(partition, refused), refused))


def on_disconnected(me: P, broker: int) -> P:
    """Retry the requests of a broken connection; leaders recognise batches by their sequences."""
    me = in_flight.on_disconnected(me, broker)
    if not me.is_transactional:
        return idempotent_epoch.on_disconnected(me, broker)
    return resolve_sequences(me.but(manager=managing.on_disconnected(me.manager, broker)))


# -- delivery.timeout.ms --------------------------------------------------------------------------


def expiring(me: Producer) -> OutgoingBatch | None:
    """Return the oldest batch whose delivery.timeout.ms may have expired, in flight or not.

    NOT MODELLED: that a batch in flight expires if there is one request in flight at a time, as in searches. There its
    request times out first (request.timeout.ms is shorter), and then the batch waits. With it, a search whose batches
    expire has three to five times as many states.
    """
    kept = me.accumulator
    late = (b for b in (*kept.stray, *kept.batches) if b.broker < 0 or me.max_in_flight > 1)
    return next(late, None)


def fail_expired(me: P) -> P:
    """Fail a batch after delivery.timeout.ms: its transaction, if it has one, can only be aborted.

    Its sequence is not used again, because a leader may have it. If it had been sent again before, its partition sends
    nothing new until that is known; below transaction version 2 the client bumps its epoch when the transaction ends,
    so that its sequences can restart (KIP-360). Source: Sender.getExpiredInflightBatches, Sender.failExpiredBatches,
    TransactionManager.maybeResolveSequences.
    """
    batch = expiring(me)
    assert batch is not None
    if batch in me.accumulator.stray:
        me = me.but(accumulator=me.accumulator.but(stray=me.accumulator.stray[1:]))
    else:
        me = in_flight.drop_expired(me, batch)
    if me.is_transactional:
        why = PartitionProduceResponse(batch.partition, EXPIRED)
        me = fail(me, Failure(why, EXPIRED))
    else:
        me = idempotent_epoch.fail_batches(me, (batch,), EXPIRED)
    return resolve_sequences(
        in_flight.left_open(me, batch) if me.idempotence and batch.retried else me
    )


# -- what follows ---------------------------------------------------------------------------------


def fail(me: P, failure: Failure) -> P:
    """Enter an error state, and drop the batches that no broker can have."""
    manager = managing.enter_error(me.manager, failure)
    if manager is me.manager or manager.state is S.ABORTING_TRANSACTION:
        return me.but(manager=manager)
    me = awaited_topics.after_failure(without_unsent(me), failure.about, failure.error)
    return me.but(accumulator=me.accumulator.but(stray=()), manager=manager)


def prepared_when_flushed(me: P) -> P:
    """Enter PREPARED_TRANSACTION as soon as no batch is left, if the application waits for that."""
    if not me.manager.preparing:
        return me
    incomplete = me.accumulator.has_incomplete
    return me.but(manager=managing.prepared_when_flushed(me.manager, incomplete=incomplete))


def resolve_sequences(me: P) -> P:
    """Resolve sequences once no batch of a partition is in flight; a fatal error drops everything.

    If a dropped batch is in no log, the transaction can only be aborted, which is already the case; below version 2 the
    epoch is bumped afterwards. Source: TransactionManager.maybeResolveSequences, Sender.maybeAbortBatches.
    """
    if not me.is_transactional:
        return idempotent_epoch.resolve_sequences(me)
    if me.manager.state is S.FATAL_ERROR:
        known = me.partition_map.but(unresolved=Table.of())
        return appending.with_room(with_batches(me, ()).but(partition_map=known))
    for partition in me.partition_map.unresolved:
        if not in_flight.tracked_batches(me, partition):
            known, manager = me.partition_map, me.manager
            resolved = manager.implicit or in_flight.is_resolved(me, partition)
            me = me.but(
                partition_map=known.but(unresolved=known.unresolved.without(partition)),
                manager=manager.but(bump=manager.bump or not resolved),
            )
    return _ended_locally(appending.with_room(me))


def _ended_locally(me: P) -> P:
    """End a transaction that the coordinator never learned of (transaction versions 0 and 1)."""
    if not me.manager.queue:
        return me
    manager = managing.ended_locally(me.manager, incomplete=me.accumulator.has_incomplete)
    return me if manager is me.manager else me.but(manager=manager)
