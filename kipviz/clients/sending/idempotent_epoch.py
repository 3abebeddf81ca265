"""A producer without a transactional id: idempotent, as it is by default, or not even that.

WHO: the sender thread of a producer. WHERE IN KAFKA: Sender, TransactionManager (isTransactional() is false).
KIPS: KIP-98 (idempotence), KIP-360 (the client bumps its own epoch), KIP-185, KIP-679 (on by default).
DURABILITY: none; the next process gets another producer id, and nobody knows it as the same one.
NOT MODELLED: the identity is asked for with the first batch, in Kafka when the sender starts.

A batch that fails is its Future's affair: the producer goes on. Where a leader may lack what the producer has counted,
the epoch is bumped without asking anybody, and each partition counts anew from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kipviz.clients.sending import in_flight
from kipviz.clients.sending.in_flight import replaced, tracked
from kipviz.clients.sending.outgoing import OutgoingBatch, without
from kipviz.clients.transactions.producer_errors import FATAL_OF_PRODUCE, NOT_ALLOWED
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions import InitProducerId, InitProducerIdResponse
from kipviz.messages.two_phase import NO_TIME_LIMIT
from kipviz.records.transaction_state import EPOCH_MAX

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

P = TypeVar("P", bound="Producer")
S = ProducerState
# Its request for an identity.
ASKING = InitProducerId(None, NO_TIME_LIMIT)


def lacks_identity(me: Producer) -> bool:
    """Say whether a producer needs an identity before it sends, and nobody but its sender asks for one."""
    return not me.is_transactional and me.idempotence and me.manager.producer_id < 0


def asked(me: P, request: Message, broker: int) -> P:
    """Note that the request for an identity is on the wire."""
    return _managed(me, on_wire=request, on_wire_broker=broker, state=S.INITIALIZING)


def on_identity(me: P, message: Message) -> P:
    """Take an identity, ask again, or give up what waits for one.

    Clause: KIP-98 "Idempotent producer", KIP-360; TransactionManager.InitProducerIdHandler.
    """
    assert isinstance(message, InitProducerIdResponse), message
    me = _managed(me, on_wire=None, on_wire_broker=-1)
    batches = me.accumulator.batches
    if message.error is Errors.NONE:
        identity = (message.producer_id, message.producer_epoch)
        anew = [(b, b.but(identity=identity)) for b in batches if b.reset and b.identity[0] < 0]
        me = _managed(
            replaced(me, anew), producer_id=identity[0], producer_epoch=identity[1], state=S.READY
        )
        of = me.partition_map.of
        for partition in dict.fromkeys(b.partition for b, _ in anew):
            of = of.set(partition, identity)
        return me.but(partition_map=me.partition_map.but(of=of))
    if message.error in RETRIABLE:
        return _managed(me, state=S.UNINITIALIZED)
    refused = message.error in NOT_ALLOWED
    me = _managed(
        me,
        state=S.UNINITIALIZED if refused else S.FATAL_ERROR,
        error=f"InitProducerId: {message.error.name}",
    )
    return _given_up(me, batches)


def on_disconnected(me: P, broker: int) -> P:
    """Ask again for an identity that was asked for on a broken connection."""
    if me.on_wire is None or me.on_wire_broker != broker:
        return me
    return _managed(me, on_wire=None, on_wire_broker=-1, state=S.UNINITIALIZED)


def on_refused(me: P, batch: OutgoingBatch, error: Errors) -> P:
    """Send a batch again, bump the epoch, or give it up.

    Source: TransactionManager.canRetry, handleFailedBatch.
    """
    again, bumps = _may_be_sent_again(me, batch, error)
    if again:
        me = in_flight.taken_back(me, (batch,))
        return _bumped(me, batch.partition) if bumps else me
    me = failed(me, (batch,), error)
    if error in FATAL_OF_PRODUCE:
        return _given_up(_managed(me, state=S.FATAL_ERROR), me.accumulator.batches)
    return _bumped(me, batch.partition) if me.idempotence else me


def failed(me: P, batches: tuple[OutgoingBatch, ...], error: Errors) -> P:
    """Give batches up; their Futures have the error, and the producer goes on."""
    return _managed(_given_up(me, batches), error=f"Produce: {error.name}")


def settled(me: P) -> P:
    """Resolve what was open once nothing of a partition is on the way; flush() may be over."""
    for partition in me.partition_map.unresolved:
        if tracked(me, partition):
            continue
        if in_flight.is_resolved(me, partition):
            known = me.partition_map
            unresolved = known.unresolved.without(partition)
            me = me.but(partition_map=known.but(unresolved=unresolved))
        else:
            me = _bumped(me, partition)
    return me if me.accumulator.batches else _managed(me, done=True)


def _given_up(me: P, gone: tuple[OutgoingBatch, ...]) -> P:
    lost = tuple(r.value for b in gone for r in b.records)
    return without(me, *gone).but(failed=(*me.failed, *lost))


def _may_be_sent_again(me: Producer, batch: OutgoingBatch, error: Errors) -> tuple[bool, bool]:
    """Say whether a refused batch is sent again, and whether the epoch is bumped before that.

    If it did not merely come early, the leader lacks what it once had: the batch would never fit, and
    gets a new epoch and sequence 0.
    """
    if error is not Errors.OUT_OF_ORDER_SEQUENCE_NUMBER or not me.idempotence:
        return error in RETRIABLE, False
    if in_flight.comes_early(me, batch, error):
        return True, False
    unresolved = me.partition_map.unresolved
    return True, unresolved.get(batch.partition, batch.base_sequence) == batch.base_sequence


def _bumped(me: P, partition: str) -> P:
    """Take the next epoch without asking anybody, and count a partition anew from 0 with it.

    Other partitions follow when nothing of theirs is on the way. Behind the last epoch the producer
    asks for another id. Source: TransactionManager.bumpIdempotentProducerEpoch.
    """
    manager = me.manager
    if manager.producer_epoch == EPOCH_MAX:
        me = _managed(me, producer_id=-1, producer_epoch=-1, state=S.UNINITIALIZED)
    else:
        me = _managed(me, producer_epoch=manager.producer_epoch + 1)
    identity = me.manager.identity
    changes, at = [], 0
    for batch in tracked(me, partition):
        anew = batch.but(base_sequence=at, identity=identity, reset=True)
        changes.append((batch, anew))
        at += len(batch.records)
    me = replaced(me, changes)
    known = me.partition_map
    return me.but(
        partition_map=known.but(
            of=known.of.set(partition, identity),
            sequences=known.sequences.set(partition, at),
            acked=known.acked.without(partition),
            unresolved=known.unresolved.without(partition),
        )
    )


def _managed(me: P, **changes: Any) -> P:
    return me.but(manager=me.manager.but(**changes))
