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

from typing import TYPE_CHECKING, Any, TypeVar

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
    ending = any(isinstance(m, EndTxn) for m in me.queue)
    if me.state in DROPPING or (me.state is S.ABORTING_TRANSACTION and ending):
        return me
    others = tuple(b for b in me.stray if b.partition != partition)
    stray = OutgoingBatch(partition, (*_of(me, partition), *records), -1)
    return me.but(stray=(*others, stray))


def goes_along(me: Any, partition: str) -> bool:
    """Say whether a record of a send() that threw is sent all the same, with the transaction that ends.

    Its partition is in that transaction, and EndTxn waits for it.
    """
    ending = any(isinstance(m, EndTxn) for m in me.queue)
    known = (*me.sequences.keys(), *(b.partition for b in me.batches))
    listed = partition in (known if me.implicit else me.partitions)
    return me.state is S.COMMITTING_TRANSACTION and ending and listed


def taken_along(me: P, partition: str, records: Records) -> tuple[P, Records]:
    """Give what goes out with a send(): what was left behind in its partition is in the same batch, in front."""
    if not me.stray:
        return me, records
    others = tuple(b for b in me.stray if b.partition != partition)
    return me.but(stray=others), (*_of(me, partition), *records)


def _of(me: Any, partition: str) -> Records:
    return tuple(r for b in me.stray if b.partition == partition for r in b.records)
