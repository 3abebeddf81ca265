"""Drained acknowledgements: an object that leaves the share consumer and that a producer stages later.

WHO: a client process; the object may travel beside the records, as in a Flink job from the source to the sink.
WHERE IN KAFKA: nowhere; acknowledgementsForTransaction() of pull request 22357, middle and late iterations (draft
  implementation, seen in source): explicit mode only; what was not drained is sent as an ordinary acknowledgement at
  the next poll(), commitSync() or close().
NOT MODELLED: an object for records of several partitions (gathers).
"""

from __future__ import annotations

from kipviz.clients.application import Application, Call, Line
from kipviz.clients.rules import ClientRules
from kipviz.clients.shares.handover import Drained
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import ImplicitMode
from kipviz.clients.transactions import stagings
from kipviz.clients.transactions.transaction_manager import TransactionManager
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    TxnPartitionAcknowledgements,
    batches_of_each,
)

# The target of a sendShareAcknowledgementsToTransaction() line: the oldest drained object, of the process's own
# consumer or of a further member ("drained M9").
DRAINED = "drained"
# The target of an acknowledgementsForTransaction() line: the object waits with its record behind earlier ones.
QUEUED = "queued"
# The types that may be in a transaction; a RELEASE stays with the consumer.
TRANSACTIONAL = (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT)


def why_no_drain(me: ShareConsumer) -> ImplicitMode | None:
    """Return why acknowledgementsForTransaction() throws: implicit mode has no decisions to drain."""
    if not me.explicit:
        return ImplicitMode()
    return None


def drain(me: Application, line: Line, rules: ClientRules) -> Application:
    """Remove the ACCEPT and REJECT decisions from the consumer. OPEN: drain (whether they leave it).

    A program has one variable for the object, which the next call overwrites, or a queue (target "queued").
    """
    consumer = consumer_of(me, line.client)
    taken = tuple((o, kind) for o, kind in consumer.current_fetch.verdicts if kind in TRANSACTIONAL)
    if not taken:
        return me
    offsets = tuple(offset for offset, _ in taken)
    named = deliveries(me.records, consumer.partition, taken)
    out = Drained(consumer.partition, *consumer.metadata, taken, named)
    before = consumer.handover.drained if line.target == QUEUED else ()
    consumer = consumer.but(handover=consumer.handover.but(drained=(*before, out)))
    if rules.drain():
        fetch = consumer.current_fetch
        left = fetch.but(
            verdicts=tuple(v for v in fetch.verdicts if v not in taken),
            batch=tuple(o for o in fetch.batch if o not in offsets),
        )
        consumer = consumer.but(current_fetch=left)
    return me.with_client(consumer)


def drained_member(line: Line) -> str:
    """Return whose object a line stages: that of a further member such as "M9", or "" for the process's own consumer."""
    drained, _, member = line.target.partition(" ")
    return member if line.call is Call.SEND_SHARE_ACKNOWLEDGEMENTS and drained == DRAINED else ""


def consumer_of(me: Application, member: str) -> ShareConsumer:
    """Return a share consumer of the process: a further member's, or the process's own for ""."""
    consumer = me.others[member] if member else me.consumer
    assert isinstance(consumer, ShareConsumer), "only a share consumer has such acknowledgements"
    return consumer


def stage(
    manager: TransactionManager, consumer: ShareConsumer, rules: ClientRules
) -> tuple[TransactionManager, ShareConsumer]:
    """Stage the oldest drained object, with its member and its deliveries.

    OPEN: staging_starts, staged_deliveries.
    """
    if not consumer.handover.drained:
        return manager, consumer
    oldest, *rest = consumer.handover.drained
    part = TxnPartitionAcknowledgements(
        oldest.partition,
        batches_of_each(oldest.verdicts),
        rules.staged_deliveries(oldest.deliveries),
    )
    staging = stagings.send_share_acknowledgements(
        manager,
        consumer.group_id,
        oldest.member_id,
        oldest.member_epoch,
        (part,),
        starts=rules.staging_starts(),
    )
    return staging, consumer.but(handover=consumer.handover.but(drained=tuple(rest)))


def deliveries(
    records: tuple[FetchedRecord, ...],
    partition: str,
    verdicts: tuple[tuple[int, AcknowledgeType], ...],
) -> tuple[tuple[int, int], ...]:
    """Return (offset, delivery count) of the acknowledged records of a partition."""
    offsets = {offset for offset, _ in verdicts}
    mine = (r for r in records if r.partition == partition and r.offset in offsets)
    return tuple((r.offset, r.delivery_count) for r in mine)
