"""A producer without a transactional id: idempotent, which is the default, or not.

WHO: the sender thread of a producer. WHERE IN KAFKA: Sender, TransactionManager (isTransactional() is false).
KIPS: KIP-98 (idempotence), KIP-360 (the client bumps its own epoch), KIP-185, KIP-679 (on by default).
DURABILITY: none; the next process gets another producer id, and no broker recognises it.
NOT MODELLED: here the sender asks for the identity with the first batch, in Kafka when it starts.

A failed batch fails only its Future, and the producer continues. If a leader may lack records that the producer has
numbered, the producer bumps its epoch by itself, and each partition starts again at sequence 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kipviz.clients.sending import in_flight
from kipviz.clients.sending.in_flight import replace_batches, tracked_batches
from kipviz.clients.sending.outgoing import OutgoingBatch, without
from kipviz.clients.throwing.client_errors import request_error
from kipviz.clients.transactions.producer_errors import is_fatal_for_batch
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.apis.client_errors import NOT_ALLOWED
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import (
    NO_TIME_LIMIT,
    InitProducerId,
    InitProducerIdResponse,
)
from kipviz.records.transaction_state import EPOCH_MAX

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

P = TypeVar("P", bound="Producer")
S = ProducerState
# Its request for an identity.
ASKING = InitProducerId(None, NO_TIME_LIMIT)


def lacks_identity(me: Producer) -> bool:
    """Return whether a producer needs an identity that only its sender asks for."""
    return not me.is_transactional and me.idempotence and me.manager.producer_id < 0


def note_sent(me: P, request: Message, broker: int) -> P:
    """Note that the request for an identity is in flight."""
    return _change_manager(me, on_wire=request, on_wire_broker=broker, state=S.INITIALIZING)


def on_identity(me: P, message: Message) -> P:
    """Handle an identity: use it, retry, or fail the batches that wait for it.

    Clause: KIP-98 "Idempotent producer", KIP-360; TransactionManager.InitProducerIdHandler.
    """
    assert isinstance(message, InitProducerIdResponse), message
    me = _change_manager(me, on_wire=None, on_wire_broker=-1)
    batches = me.accumulator.batches
    if message.error is Errors.NONE:
        identity = (message.producer_id, message.producer_epoch)
        anew = [(b, b.but(identity=identity)) for b in batches if b.reset and b.identity[0] < 0]
        me = _change_manager(
            replace_batches(me, anew),
            producer_id=identity[0],
            producer_epoch=identity[1],
            state=S.READY,
        )
        of = me.partition_map.of
        for partition in dict.fromkeys(b.partition for b, _ in anew):
            of = of.set(partition, identity)
        return me.but(partition_map=me.partition_map.but(of=of))
    if message.error in RETRIABLE:
        return _change_manager(me, state=S.UNINITIALIZED)
    refused = message.error in NOT_ALLOWED
    me = _change_manager(
        me,
        state=S.UNINITIALIZED if refused else S.FATAL_ERROR,
        error=request_error(InitProducerId, message.error),
    )
    return _fail_batches(me, batches)


def on_disconnected(me: P, broker: int) -> P:
    """Ask again for an identity whose request was on a broken connection."""
    if me.on_wire is None or me.on_wire_broker != broker:
        return me
    return _change_manager(me, on_wire=None, on_wire_broker=-1, state=S.UNINITIALIZED)


def on_refused(me: P, batch: OutgoingBatch, error: Errors) -> P:
    """Retry a rejected batch, bump the epoch, or fail the batch.

    Source: TransactionManager.canRetry, handleFailedBatch.
    """
    again, bumps = _may_be_sent_again(me, batch, error)
    if again:
        me = in_flight.put_back(me, (batch,))
        return _bump_epoch(me, batch.partition) if bumps else me
    me = fail_batches(me, (batch,), error)
    if is_fatal_for_batch(error):
        return _fail_batches(_change_manager(me, state=S.FATAL_ERROR), me.accumulator.batches)
    return _bump_epoch(me, batch.partition) if me.idempotence else me


def fail_batches(me: P, batches: tuple[OutgoingBatch, ...], error: Errors) -> P:
    """Fail batches: their Futures get the error, and the producer continues."""
    return _change_manager(_fail_batches(me, batches), error=request_error(Produce, error))


def resolve_sequences(me: P) -> P:
    """Resolve sequences once no batch of a partition is in flight; flush() may end."""
    for partition in me.partition_map.unresolved:
        if tracked_batches(me, partition):
            continue
        if in_flight.is_resolved(me, partition):
            known = me.partition_map
            unresolved = known.unresolved.without(partition)
            me = me.but(partition_map=known.but(unresolved=unresolved))
        else:
            me = _bump_epoch(me, partition)
    return me if me.accumulator.batches else _change_manager(me, done=True)


def _fail_batches(me: P, gone: tuple[OutgoingBatch, ...]) -> P:
    lost = tuple(r.value for b in gone for r in b.records)
    return without(me, *gone).but(failed=(*me.failed, *lost))


def _may_be_sent_again(me: Producer, batch: OutgoingBatch, error: Errors) -> tuple[bool, bool]:
    """Return whether a rejected batch is sent again, and whether the epoch is bumped before that.

    If the batch did not merely arrive early, the leader has lost records: the batch would never fit, and gets a new
    epoch and sequence 0.
    """
    if error is not Errors.OUT_OF_ORDER_SEQUENCE_NUMBER or not me.idempotence:
        return error in RETRIABLE, False
    if in_flight.comes_early(me, batch, error):
        return True, False
    unresolved = me.partition_map.unresolved
    return True, unresolved.get(batch.partition, batch.base_sequence) == batch.base_sequence


def _bump_epoch(me: P, partition: str) -> P:
    """Bump the epoch without a request, and restart a partition's sequences at 0.

    Other partitions follow when none of their batches is in flight. After the last epoch the producer asks for another
    id. Source: TransactionManager.bumpIdempotentProducerEpoch.
    """
    manager = me.manager
    if manager.producer_epoch == EPOCH_MAX:
        me = _change_manager(me, producer_id=-1, producer_epoch=-1, state=S.UNINITIALIZED)
    else:
        me = _change_manager(me, producer_epoch=manager.producer_epoch + 1)
    identity = me.manager.identity
    changes, at = [], 0
    for batch in tracked_batches(me, partition):
        anew = batch.but(base_sequence=at, identity=identity, reset=True)
        changes.append((batch, anew))
        at += len(batch.records)
    me = replace_batches(me, changes)
    known = me.partition_map
    return me.but(
        partition_map=known.but(
            of=known.of.set(partition, identity),
            sequences=known.sequences.set(partition, at),
            acked=known.acked.without(partition),
            unresolved=known.unresolved.without(partition),
        )
    )


def _change_manager(me: P, **changes: object) -> P:
    return me.but(manager=me.manager.but(**changes))
