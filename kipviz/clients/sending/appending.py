"""What send() does once the topic is known: it appends the records to the accumulator, and may wait for room there.

WHERE IN KAFKA: KafkaProducer.doSend, RecordAccumulator.append, BufferPool.allocate.
KafkaProducer.doSend appends first and asks the TransactionManager after it (maybeAddPartition), which throws where no
transaction is open. So records of a send() that threw are in the accumulator, and a later transaction takes them along:
RecordAccumulator.drainBatchesForOneNode skips a partition that is in no transaction (isSendToPartitionAllowed),
Sender.maybeSendAndPollTransactionalRequest drops what is left in an abort, and sends no EndTxn while something is left.
A process with one thread ends at such an exception, so that nobody sees what it leaves; only the others of several do.
NOT MODELLED: such records of a producer that is bound to a session (draft).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kipviz.clients.sending.outgoing import OutgoingBatch
from kipviz.clients.transactions import transaction_manager as managing
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.transactions import EndTxn
from kipviz.records.batches import DataRecord

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

P = TypeVar("P", bound="Producer")
S = ProducerState
# Where nothing is kept: the sender drops it at once, or the call threw before it came to the accumulator.
DROPPING = (S.ABORTABLE_ERROR, S.FATAL_ERROR, S.PREPARED_TRANSACTION)
Records = tuple[DataRecord, ...]
# What stands for the number of a batch that is in no transaction.
NO_SERIAL = -1


def appended(me: P, partition: str, records: Records) -> P:
    """Put records into the accumulator; without room send() waits until a batch is through.

    What was left behind in the partition is in the same batch, in front.
    """
    me, records = _taken_along(me, partition, records)
    kept = me.accumulator
    if kept.is_full:
        blocked = kept.but(blocked=((partition, records),))
        return me.but(accumulator=blocked, manager=me.manager.but(done=False))
    batch = OutgoingBatch(partition, records, serial=kept.next_serial if me.numbers_batches else 0)
    manager = managing.enlisting(me.manager, partition) if me.is_transactional else me.manager
    return me.but(accumulator=kept.but(batches=(*kept.batches, batch)), manager=manager)


def with_room(me: P) -> P:
    """Let a send() go on for which there is room now; after an error it throws that, with nothing sent."""
    kept = me.accumulator
    if not kept.blocked or kept.is_full:
        return me
    (partition, records), *_ = kept.blocked
    me = me.but(accumulator=kept.but(blocked=()), manager=me.manager.but(done=True))
    if me.manager.state is S.IN_TRANSACTION or goes_along(me, partition):
        return appended(me, partition, records)
    return left_behind(me, partition, records)


def left_behind(me: P, partition: str, records: Records) -> P:
    """Keep the records of a send() that was not legal, unless the sender drops them."""
    state = me.manager.state
    if state in DROPPING or (state is S.ABORTING_TRANSACTION and _is_ending(me)):
        return me
    stray = OutgoingBatch(partition, (*_of(me, partition), *records), serial=NO_SERIAL)
    return _with_stray(me, (*_of_others(me, partition), stray))


def goes_along(me: Producer, partition: str) -> bool:
    """Say whether a record of a send() that threw is sent all the same, with the transaction that ends.

    Its partition is in that transaction, and EndTxn waits for it.
    """
    manager = me.manager
    known = (
        *me.partition_map.sequences.keys(),
        *(b.partition for b in me.accumulator.batches),
    )
    listed = partition in (known if manager.implicit else manager.partitions)
    return manager.state is S.COMMITTING_TRANSACTION and _is_ending(me) and listed


def _taken_along(me: P, partition: str, records: Records) -> tuple[P, Records]:
    """Give what goes out with a send(), with what was left behind in its partition."""
    if not me.accumulator.stray:
        return me, records
    return _with_stray(me, _of_others(me, partition)), (*_of(me, partition), *records)


def _is_ending(me: Producer) -> bool:
    return any(isinstance(m, EndTxn) for m in me.manager.queue)


def _with_stray(me: P, stray: tuple[OutgoingBatch, ...]) -> P:
    return me.but(accumulator=me.accumulator.but(stray=stray))


def _of_others(me: Producer, partition: str) -> tuple[OutgoingBatch, ...]:
    return tuple(b for b in me.accumulator.stray if b.partition != partition)


def _of(me: Producer, partition: str) -> Records:
    return tuple(r for b in me.accumulator.stray if b.partition == partition for r in b.records)
