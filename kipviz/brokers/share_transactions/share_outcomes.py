"""The outcome of acknowledgements that a share-partition leader holds in memory, until it is durable.

WHO: the share-partition leader, under a design whose marker waits for that write (slot outcome_write).
SOURCE: pull request 22357 (draft implementation, seen in source): a failed write leaves the records TX_PENDING and
  fails the marker. How the failure reaches the transaction coordinator is our inference: as NOT_LEADER_OR_FOLLOWER,
  after which it sends the marker again (as KafkaApis does for `__consumer_offsets`).
NOT MODELLED: two coordinators that wait for one write; the later one gets the response.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects, LocalCall
from kipviz.brokers.local_calls import ApplyMarkerToShares, MarkerApplied, OutcomeWritten
from kipviz.brokers.share_leaders import share_partition
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import (
    PendingWrite,
    ShareLeader,
    SharePartition,
    record_moved,
)
from kipviz.core.model import Event
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_state import WriteShareGroupState
from kipviz.records.share_group_state import RecordState, StateBatch

# A write that decides staged records once it is durable; its `reply_to` is the request with the marker.
DECIDE = "decide"
S = RecordState


def mark_ongoing(me: SharePartition, offsets: tuple[int, ...]) -> SharePartition:
    """Keep records TX_PENDING while the write of their outcome is in progress."""
    records = me.records
    for offset in offsets:
        records = records.set(offset, records[offset].but(ongoing=True))
    return me.but(records=records)


def report_awaited(me: ShareLeader, marker: ApplyMarkerToShares) -> Effects[ShareLeader]:
    """Report to the request with the marker the share-partitions that it waits for, if any.

    A repeated marker waits for the writes that the earlier one started.
    """
    ticket = marker.ticket
    if ticket is None:
        return Effects(me)
    shares, keys = me.shares, []
    for key, share in me.shares.items():
        mine = tuple(_decides(share, write, marker.producer_id) for write in share.writes)
        if any(mine):
            keys.append(key)
            writes = zip(share.writes, mine, strict=True)
            waiting = tuple(w.but(reply_to=ticket) if is_mine else w for w, is_mine in writes)
            shares = shares.set(key, share.but(writes=waiting))
    applied = LocalCall(Role.KAFKA_APIS, "", MarkerApplied(ticket, tuple(keys)))
    return Effects(me.but(shares=shares), local=(applied,))


def _decides(me: SharePartition, write: PendingWrite, producer_id: int) -> bool:
    held = (me.records.get(offset) for offset in write.offsets)
    return write.purpose == DECIDE and any(
        record is not None and record.staged_producer_id == producer_id for record in held
    )


def apply_outcome(
    me: SharePartition, write: PendingWrite, on: Context
) -> tuple[SharePartition, tuple[Event, ...]]:
    """Resolve the records whose outcome is durable now, and advance the SPSO."""
    assert isinstance(write.message, WriteShareGroupState)
    found = {o: b for b in write.message.only.batches for o in range(b.first, b.last + 1)}
    records, events = me.records, []
    for offset in write.offsets:
        before = records.get(offset)
        if before is None or before.state is not S.TX_PENDING:
            continue
        after = outcome_of(me, before, found[offset], on)
        records = records.set(offset, after)
        events.append(record_moved(me, offset, before, after, "the outcome is durable"))
    return share_partition.advance_start(me.but(records=records)), tuple(events)


def keep_pending(me: SharePartition, write: PendingWrite) -> SharePartition:
    """Leave the records TX_PENDING after a failed write: the next marker decides."""
    records = me.records
    for offset in write.offsets:
        before = records.get(offset)
        if before is not None and before.state is S.TX_PENDING:
            records = records.set(offset, before.but(ongoing=False))
    return me.but(records=records)


def abort_record(me: SharePartition, before: InFlight, on: Context) -> InFlight:
    """Return what a staged record becomes when its transaction aborts.

    OPEN: abort_target, abort_limit (whether the delivery limit applies, as it does when a lock expires).
    """
    after = on.rules.abort_target(before)
    if after.state is S.AVAILABLE and _at_the_limit(me, after, on):
        return share_partition.archive_record(me, after, share_partition.TOO_OFTEN, on)
    return after


def archived_at_limit(
    me: SharePartition, found: tuple[StateBatch, ...], on: Context
) -> tuple[int, ...]:
    """Return the staged offsets that are durably AVAILABLE, and that an abort archives. OPEN: abort_limit."""
    free = {o for b in found if b.state is S.AVAILABLE for o in range(b.first, b.last + 1)}
    return tuple(
        offset
        for offset, record in share_partition.pending_cells(me)
        if offset in free and offset >= me.start_offset and _at_the_limit(me, record, on)
    )


def _at_the_limit(me: SharePartition, record: InFlight, on: Context) -> bool:
    return on.rules.abort_limit(record.delivery_count, on.delivery_count_limit(me.group_id))


def outcome_of(me: SharePartition, before: InFlight, found: StateBatch, on: Context) -> InFlight:
    """Return what a staged record becomes once its durable state is known."""
    if found.state is S.AVAILABLE:
        return abort_record(me, before, on)
    cause = share_partition.REJECTED if found.state is S.ARCHIVING else ""
    return before.without_staging(found.state, cause=cause)


def report_result(me: SharePartition, write: PendingWrite, error: Errors) -> tuple[LocalCall, ...]:
    """Report the result of a write to the request with the marker, if the write is for one."""
    if write.purpose != DECIDE or write.reply_to is None:
        return ()
    return (LocalCall(Role.KAFKA_APIS, "", OutcomeWritten(write.reply_to, me.key, error)),)
