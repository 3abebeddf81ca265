"""Records of a send() that threw: they are in the accumulator, and a later transaction takes them along.

WHERE IN KAFKA: KafkaProducer.doSend appends first and asks the TransactionManager after it (maybeAddPartition), which throws
  where no transaction is open; RecordAccumulator.drainBatchesForOneNode skips a partition that is in no transaction
  (isSendToPartitionAllowed), Sender.maybeSendAndPollTransactionalRequest drops what is left in an abort, and sends no
  EndTxn while something is left.
A process with one thread ends at such an exception, so that nobody sees what it leaves; only the others of several do.
NOT MODELLED: a producer that is bound to a session (draft); delivery.timeout.ms of what a producer with several batches
  on the way has left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kipviz.clients.sending.outgoing import OutgoingBatch
from kipviz.clients.transactions.producer_state import ProducerState
from kipviz.messages.transactions import EndTxn
from kipviz.records.batches import DataRecord

if TYPE_CHECKING:
    from kipviz.clients.transactions.producer import Producer

P = TypeVar("P", bound="Producer")
S = ProducerState
# Where nothing is kept: the sender drops it at once, or the call threw before it came to the accumulator.
DROPPING = (S.ABORTABLE_ERROR, S.FATAL_ERROR, S.PREPARED_TRANSACTION)
Records = tuple[DataRecord, ...]


def left_behind(me: P, partition: str, records: Records) -> P:
    """Keep the records of a send() that was not legal, unless the sender drops them."""
    state = me.manager.state
    if state in DROPPING or (state is S.ABORTING_TRANSACTION and _is_ending(me)):
        return me
    stray = OutgoingBatch(partition, (*_of(me, partition), *records), -1)
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


def taken_along(me: P, partition: str, records: Records) -> tuple[P, Records]:
    """Give what goes out with a send(): what was left behind in its partition is in the same batch, in front."""
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
