"""The load of a share-partition from its durable state, and of outcomes.

A part of the share-partition leader's role; the requests for the state are in `share_writes`.
Source: SharePartition.maybeInitialize. Loading outcomes is our inference.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.logs import partition_log
from kipviz.brokers.share_leaders import share_acquiring, share_partition
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import (
    SharePartition,
    Status,
    pending_cells,
    record_moved,
)
from kipviz.brokers.share_transactions import share_outcomes
from kipviz.core.table import Table
from kipviz.messages.events import NOT_IN_LOG, SharePartitionLoaded
from kipviz.messages.groups.reset_policy import EARLIEST, LATEST, reset_duration_ms
from kipviz.messages.shares.share_state import ReadStateResult
from kipviz.records.share_group_state import RecordState, StateBatch

S = RecordState


def load_state(
    me: SharePartition, answer: ReadStateResult, on: Context
) -> Effects[SharePartition] | None:
    """Load the durable state, or return None if there is no start offset.

    What lies between two batches was delivered and never acknowledged, so it is free again. Without a start offset
    share.auto.offset.reset decides. Source: SharePartition.maybeInitialize.
    """
    start = answer.start_offset if answer.start_offset >= 0 else _where_to_begin(me, on)
    if start is None:
        return None
    records: Table[int, InFlight] = Table.of()
    ends = [b.last for b in answer.batches] + [p.staged.last for p in answer.pending]
    next_offset = max([start, *(e + 1 for e in ends)])
    for offset in range(start, next_offset):
        records = records.set(offset, InFlight(S.AVAILABLE))
    for batch in answer.batches:
        for offset in range(max(batch.first, start), batch.last + 1):
            records = records.set(offset, _load_record(batch, on.delivery_count_limit(me.group_id)))
    for p in answer.pending:
        for offset in range(max(p.staged.first, start), p.staged.last + 1):
            acknowledgement = InFlight(
                S.TX_PENDING,
                p.staged.delivery_count,
                staged_producer_id=p.producer_id,
                staged_producer_epoch=p.producer_epoch,
                staged_type=p.staged.acknowledge_type,
            )
            records = records.set(offset, acknowledgement)
    held = tuple(o for o, r in records.items() if r.state is not S.AVAILABLE)
    me = me.but(
        status=Status.ACTIVE,
        state_epoch=answer.state_epoch,
        start_offset=start,
        next_offset=next_offset,
        records=records,
    )
    loaded = SharePartitionLoaded(me.partition, me.group_id, start, held)
    return Effects(share_partition.advance_start(me), events=(loaded,))


def _where_to_begin(me: SharePartition, on: Context) -> int | None:
    """Return the start offset of a group that has none yet, or None if by_duration finds no record.

    Then there is no start offset until a younger record is appended; a regular consumer retries after
    request.timeout.ms (`group_reading`). Source: SharePartition.startOffsetDuringInitialization,
    PartitionMetadataProvider.offsetForTimestamp.
    """
    log, reset = on.log(me.partition), reset_of(me.group_id, on)
    if reset in (EARLIEST, LATEST):
        return log.start_offset if reset == EARLIEST else log.high_watermark
    return partition_log.offset_at(log, on.now_ms - reset_duration_ms(reset))


def reset_of(group_id: str, on: Context) -> str:
    """Return where a group without a start offset begins: its own share.auto.offset.reset, or the broker's."""
    return on.image.group_config(group_id).auto_offset_reset or on.settings.share_auto_offset_reset


def is_malformed(answer: ReadStateResult) -> bool:
    """Return whether a durable state is invalid: a batch before the start, or one that ends before it begins."""
    return any(b.first < answer.start_offset or b.last < b.first for b in answer.batches)


def _load_record(batch: StateBatch, limit: int) -> InFlight:
    """Return a record as loaded; a suspect record keeps the ends of its batch."""
    record = InFlight(
        batch.state,
        batch.delivery_count,
        staged_producer_id=batch.staged_producer_id,
        staged_producer_epoch=batch.staged_producer_epoch,
        staged_type=batch.staged_type,
    )
    suspect = batch.delivery_count >= share_acquiring.suspect_from(limit)
    if batch.state is not S.AVAILABLE or not suspect or batch.first == batch.last:
        return record
    return record.but(batch_first=batch.first, batch_last=batch.last)


def refresh_state(
    me: SharePartition, answer: ReadStateResult, on: Context
) -> Effects[SharePartition] | None:
    """Apply the outcome of transactional acknowledgements that the share coordinator no longer has as pending.

    Return None if the state is not the one that this object was loaded from: a reset of the group leaves none of its
    batches. In Kafka 4.4 it may have the state epoch of the one before, and then only a transactional acknowledgement
    that is neither pending nor decided shows the reset: no later read would have an outcome for it. An acknowledgement
    whose write still waits was staged after the read was sent. OPEN: refresh_match, unanswered_acknowledgement. Status: our
    inference.
    """
    stays = on.rules.unanswered_acknowledgement()
    if answer.state_epoch > me.state_epoch:
        return None
    undecided = {
        (o, p.producer_id) for p in answer.pending for o in range(p.staged.first, p.staged.last + 1)
    }
    durable = {
        o: b for b in answer.batches for o in range(b.first, min(b.last + 1, me.next_offset))
    }
    events, records = [], me.records
    noted = {(r.staged_producer_id, r.staged_producer_epoch) for _, r in pending_cells(me)}
    for offset, before in me.records.items():
        if before.state is not S.TX_PENDING:
            continue
        whose = (before.staged_producer_id, before.staged_producer_epoch)
        if before.ongoing and whose not in noted:
            continue
        if not on.rules.refresh_match(not before.ongoing):
            continue
        if (offset, before.staged_producer_id) in undecided:
            continue
        found = durable.get(offset)
        if stays and offset < answer.start_offset:
            after = before.without_staging(S.ARCHIVED)
            records = records.set(offset, after)
            events.append(record_moved(me, offset, before, after, NOT_IN_LOG))
            continue
        if found is None and (before.ongoing or stays):
            continue
        if found is None:
            return None
        if found.state is S.TX_PENDING:  # undecided, or the outcome lost (X15)
            continue
        freed = found.state is S.AVAILABLE
        after = share_outcomes.outcome_of(me, before, found, on)
        because = "the share coordinator knows the outcome"
        if freed and offset < me.start_offset:  # deleted while it was staged (finding X17)
            after, because = before.without_staging(S.ARCHIVED), NOT_IN_LOG
        records = records.set(offset, after)
        events.append(record_moved(me, offset, before, after, because))
    me = share_partition.advance_start(me.but(records=records))
    return Effects(me, events=tuple(events))
