"""The second half of send(), once the topic is known: it appends the records, and may wait for room.

WHERE IN KAFKA: KafkaProducer.doSend, RecordAccumulator.append, BufferPool.allocate.
KafkaProducer.doSend appends first and calls the TransactionManager afterwards (maybeAddPartition), which throws if no
transaction is open. So the records of a send() that threw are in the accumulator, and a later transaction sends them:
RecordAccumulator.drainBatchesForOneNode skips a partition that is in no transaction (isSendToPartitionAllowed),
Sender.maybeSendAndPollTransactionalRequest drops them in an abort, and sends no EndTxn while some are left. A process
with one thread ends at such an exception, so these records matter only with several threads.
NOT MODELLED: such records of a producer that is bound to a session (draft).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kipviz.clients.sending.outgoing import OutgoingBatch
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.transactions.transactions import EndTxn
from kipviz.records.batches import DataRecord

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

P = TypeVar("P", bound="Producer")
S = ProducerState
# States in which nothing is kept: the sender drops it at once, or the call threw before it appended.
DROPPING = (S.ABORTABLE_ERROR, S.FATAL_ERROR, S.PREPARED_TRANSACTION)
Records = tuple[DataRecord, ...]
# The serial number of a batch that is in no transaction.
NO_SERIAL = -1


def append_records(me: P, partition: str, records: Records) -> P:
    """Append records to the accumulator; without room, send() waits until a batch completes.

    Records that an earlier send() left in the partition are in the same batch, in front.
    """
    me, records = _add_stray_records(me, partition, records)
    kept = me.accumulator
    if kept.is_full:
        blocked = kept.but(blocked=((partition, records),))
        return me.but(accumulator=blocked, manager=me.manager.but(done=False))
    batch = OutgoingBatch(partition, records, serial=kept.next_serial if me.numbers_batches else 0)
    manager = managing.enlisting(me.manager, partition) if me.is_transactional else me.manager
    return me.but(accumulator=kept.but(batches=(*kept.batches, batch)), manager=manager)


def with_room(me: P) -> P:
    """Continue a send() for which there is room now; after an error it throws that error and sends nothing."""
    kept = me.accumulator
    if not kept.blocked or kept.is_full:
        return me
    (partition, records), *_ = kept.blocked
    me = me.but(accumulator=kept.but(blocked=()), manager=me.manager.but(done=True))
    if me.manager.state is S.IN_TRANSACTION or goes_along(me, partition):
        return append_records(me, partition, records)
    return keep_unsent(me, partition, records)


def keep_unsent(me: P, partition: str, records: Records) -> P:
    """Keep the records of an illegal send(), unless the sender drops them."""
    state = me.manager.state
    if state in DROPPING or (state is S.ABORTING_TRANSACTION and _is_ending(me)):
        return me
    stray = OutgoingBatch(partition, (*_stray_records(me, partition), *records), serial=NO_SERIAL)
    return _with_stray(me, (*_of_others(me, partition), stray))


def goes_along(me: Producer, partition: str) -> bool:
    """Return whether a record of a send() that threw is still sent with the transaction that ends.

    Its partition is in that transaction, and EndTxn waits for it.
    """
    manager = me.manager
    known = (
        *me.partition_map.sequences.keys(),
        *(b.partition for b in me.accumulator.batches),
    )
    listed = partition in (known if manager.implicit else manager.partitions)
    return manager.state is S.COMMITTING_TRANSACTION and _is_ending(me) and listed


def _add_stray_records(me: P, partition: str, records: Records) -> tuple[P, Records]:
    """Return the records to send, including those that an earlier send() left in the partition."""
    if not me.accumulator.stray:
        return me, records
    return _with_stray(me, _of_others(me, partition)), (*_stray_records(me, partition), *records)


def _is_ending(me: Producer) -> bool:
    return any(isinstance(m, EndTxn) for m in me.manager.queue)


def _with_stray(me: P, stray: tuple[OutgoingBatch, ...]) -> P:
    return me.but(accumulator=me.accumulator.but(stray=stray))


def _of_others(me: Producer, partition: str) -> tuple[OutgoingBatch, ...]:
    return tuple(b for b in me.accumulator.stray if b.partition != partition)


def _stray_records(me: Producer, partition: str) -> Records:
    return tuple(r for b in me.accumulator.stray if b.partition == partition for r in b.records)
