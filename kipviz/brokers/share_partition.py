"""One share-partition in its leader's memory: which offsets are free, held, staged or done.

The part of the share-partition leader that needs nobody else: acquiring, staging, the start
offset (SPSO), and answering the fetches that wait. What involves the share coordinator is in
`share_writes`. Source: SharePartition.java.
"""

from __future__ import annotations

from enum import StrEnum

from kipviz.brokers import partition_log
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.enlistment import Enlisting
from kipviz.brokers.in_flight import NO_MEMBER, InFlight, staged_batches
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.events import RecordsMoved, SharePartitionDropped
from kipviz.messages.message import Message
from kipviz.messages.producing import FetchedRecord
from kipviz.messages.share_groups import (
    AcquiredRecords,
    ShareFetch,
    ShareFetchResponse,
    TxnShareAcknowledge,
    offsets_of,
)
from kipviz.records.batches import DataRecord
from kipviz.records.share_group_state import RecordState

S = RecordState
READS = ("load", "refresh")


class Status(StrEnum):
    """Whether the durable state has been read (SharePartitionState)."""

    INITIALIZING = "INITIALIZING"
    ACTIVE = "ACTIVE"


class Session(Value, frozen=True):
    """A member's share session on this broker, tied to its connection."""

    epoch: int
    source: str


class ParkedFetch(Value, frozen=True):
    """A fetch that waits for records, or for the acknowledgements that came with it."""

    request: ShareFetch
    reply_to: ReplyTo
    acknowledging: bool = False
    acknowledge_error: Errors = Errors.NONE


class PendingWrite(Value, frozen=True):
    """A request to the share coordinator, and what is to be done with the answer.

    `purpose` is "load", "refresh", "acknowledge", "release", "stage" or "note". `reply_to` and
    `answer` are for the client that waits for it; `fetch` is the parked fetch that brought the
    acknowledgements along.
    """

    purpose: str
    message: Message
    offsets: tuple[int, ...] = ()
    reply_to: ReplyTo | None = None
    answer: Message | None = None
    fetch: ReplyTo | None = None
    attempts: int = 1


class SharePartition(Part, frozen=True, dict=True):
    """What the leader holds of one (group, topic id, partition).

    `records` has every offset in [start_offset, next_offset); `next_offset` is the first one
    that was never acquired. `incarnation` tells an answer for this object from one for an
    object of the same key that was dropped before. The first of `writes` is the one that is on
    the wire, if `on_wire` says so; the others wait behind it.
    """

    key: str
    group_id: str
    partition: str
    leader_epoch: int
    incarnation: int = 0
    status: Status = Status.INITIALIZING
    state_epoch: int = -1
    start_offset: int = -1
    next_offset: int = -1
    records: Table[int, InFlight] = Table.of()
    parked: tuple[ParkedFetch, ...] = ()
    writes: tuple[PendingWrite, ...] = ()
    on_wire: bool = False


class ShareLeader(Part, frozen=True, dict=True):
    """All share-partitions and share sessions of one broker.

    `leaving` are share-partitions that were dropped from memory while the share coordinator owed
    them an answer: their writes go on, and who waits for them is told.
    """

    sessions: Table[tuple[str, str], Session] = Table.of()
    shares: Table[str, SharePartition] = Table.of()
    leaving: Table[tuple[str, int], SharePartition] = Table.of()
    staging: tuple[Enlisting, ...] = ()


# -- acquiring ---------------------------------------------------------------------------------


def serve(me: SharePartition, on: Context) -> Effects:
    """Answer the waiting fetches that can be answered now, first come first served."""
    if me.status is not Status.ACTIVE:
        return Effects(me)
    replies: list[Reply] = []
    events: list[Event] = []
    for parked in me.parked:
        if parked.acknowledging:
            continue
        taken = _acquirable(me, parked.request.max_records, on)
        if not taken and parked.acknowledge_error is Errors.NONE:
            continue
        me, records, acquired, moves = _acquire(me, parked.request.member_id, taken, on)
        events += moves
        answer = ShareFetchResponse(
            Errors.NONE, me.partition, parked.acknowledge_error, records, acquired
        )
        replies.append(Reply(parked.reply_to, answer))
        me = me.but(parked=tuple(p for p in me.parked if p is not parked))
    return Effects(me, replies=tuple(replies), events=tuple(events))


def _acquirable(me: SharePartition, most: int, on: Context) -> tuple[int, ...]:
    """Give the offsets to deliver next: returned ones first, then new ones from the log.

    The span from the SPSO to the last offset that was ever acquired is limited, whatever became
    of the records in it: one that stays pending at the front holds up the whole share-partition.
    """
    again = [o for o, r in me.records.items() if r.state is S.AVAILABLE and not r.ongoing]
    if len(again) >= most:
        return tuple(again[:most])
    end = min(
        on.log(me.partition).high_watermark,
        me.next_offset + most - len(again),
        me.start_offset + on.settings.record_locks_max,
    )
    return (*again, *range(me.next_offset, end))


def _acquire(
    me: SharePartition, member_id: str, taken: tuple[int, ...], on: Context
) -> tuple[SharePartition, tuple[FetchedRecord, ...], tuple[AcquiredRecords, ...], list[Event]]:
    if not taken:
        return me, (), (), []
    records, delivered = me.records, []
    events: list[Event] = []
    acquired: list[AcquiredRecords] = []
    values, lock = _values(me, taken, on), _free_lock(me, taken[0])
    for offset in taken:
        before = records.get(offset) or InFlight(S.AVAILABLE)
        count = before.delivery_count + 1
        after = InFlight(S.ACQUIRED, count, member_id, lock)
        records = records.set(offset, after)
        if offset in values:
            delivered.append(FetchedRecord(me.partition, offset, values[offset], count))
        if acquired and (acquired[-1].last, acquired[-1].delivery_count) == (offset - 1, count):
            acquired[-1] = acquired[-1].but(last=offset)
        else:
            acquired.append(AcquiredRecords(offset, offset, count))
        events.append(moved(me, offset, before, after, "delivered to the member"))
    me = me.but(records=records, next_offset=max(me.next_offset, taken[-1] + 1))
    return me, tuple(delivered), tuple(acquired), events


def _free_lock(me: SharePartition, first: int) -> int:
    """Name a lock after the first offset that it holds, or the next number that is free."""
    used = {r.lock for r in me.records.values()}
    while first in used:
        first += 1
    return first


def _values(me: SharePartition, taken: tuple[int, ...], on: Context) -> dict[int, str]:
    """Give the records at some offsets; a marker's offset has none."""
    values = {}
    for batch in partition_log.read(on.log(me.partition), min(taken), max(taken) + 1):
        for i, record in enumerate(batch.records):
            assert isinstance(record, DataRecord)
            values[batch.base_offset + i] = record.value
    return values


# -- staging -----------------------------------------------------------------------------------


def stage_error(me: SharePartition, request: TxnShareAcknowledge) -> Errors:
    """Say whether every named record may be staged by this member in this transaction.

    DUPLICATE_SEQUENCE_NUMBER stands for "all of them are staged so already", which is for the
    design to answer.
    """
    repeated = 0
    for batch in request.acknowledgements:
        for offset in range(batch.first, batch.last + 1):
            record = me.records.get(offset)
            if record is None:
                return Errors.INVALID_RECORD_STATE
            vote = (record.staged_producer_id, record.staged_producer_epoch, record.staged_type)
            if record.state is S.TX_PENDING and vote == (
                request.producer_id,
                request.producer_epoch,
                batch.type,
            ):
                repeated += 1
            elif (
                record.state is not S.ACQUIRED
                or record.ongoing
                or record.member_id != request.member_id
            ):
                return Errors.INVALID_RECORD_STATE
    if repeated == len(offsets_of(request.acknowledgements)) and repeated:
        return Errors.DUPLICATE_SEQUENCE_NUMBER
    return Errors.INVALID_RECORD_STATE if repeated else Errors.NONE


def stage(
    me: SharePartition, request: TxnShareAcknowledge
) -> tuple[SharePartition, tuple[Event, ...]]:
    """Move records from ACQUIRED to TX_PENDING, not yet promised to the producer."""
    records, events = me.records, []
    for batch in request.acknowledgements:
        for offset in range(batch.first, batch.last + 1):
            before = records[offset]
            after = before.but(
                state=S.TX_PENDING,
                ongoing=True,
                before_member=before.member_id,
                staged_producer_id=request.producer_id,
                staged_producer_epoch=request.producer_epoch,
                staged_type=int(batch.type),
            )
            records = records.set(offset, after)
            events.append(moved(me, offset, before, after, "staged in a transaction"))
    return me.but(records=records), tuple(events)


def cells_of(me: SharePartition, request: TxnShareAcknowledge) -> tuple[tuple[int, InFlight], ...]:
    """Give the named records with their offsets."""
    return tuple((o, me.records[o]) for o in offsets_of(request.acknowledgements))


def pending_cells(me: SharePartition) -> tuple[tuple[int, InFlight], ...]:
    """Give the records whose vote was promised to a producer and is not decided."""
    return tuple((o, r) for o, r in me.records.items() if r.state is S.TX_PENDING and not r.ongoing)


def locks(me: SharePartition, on: Context) -> tuple[int, ...]:
    """Give the acquisition locks that can run out now, in order."""
    held = {r.lock for r in me.records.values() if r.lock >= 0 and expired(r, on) is not None}
    return tuple(sorted(held))


def can_refresh(me: SharePartition, on: Context) -> bool:
    """Say whether there are votes whose outcome may be looked up."""
    if me.writes or me.status is not Status.ACTIVE:
        return False
    pending = pending_cells(me)
    return bool(pending) and bool(on.rules.staged_acks(staged_batches(pending)))


def settle(me: SharePartition, offsets: tuple[int, ...]) -> SharePartition:
    """End the ongoing transition of some records in the state that they are in."""
    records = me.records
    for offset in offsets:
        record = records.get(offset)
        if record is None or not record.ongoing:
            continue
        if record.state is S.TX_PENDING:
            settled = record.but(ongoing=False, before_member=NO_MEMBER)
        else:
            settled = record.unstaged(record.state)
        records = records.set(offset, settled)
    return advance_start(me.but(records=records))


def roll_back(
    me: SharePartition, offsets: tuple[int, ...], because: str, on: Context
) -> tuple[SharePartition, tuple[Event, ...]]:
    """Return records to the member that held them, after a write that failed.

    Where the lock ran out in the meantime the record is free, or archived at the limit. Source:
    InFlightState.completeStateTransition.
    """
    records, events = me.records, []
    for offset in offsets:
        before = records.get(offset)
        if before is None or not before.ongoing:
            continue
        if before.lock_ran_out:
            after = released(before, on)
        else:
            after = before.unstaged(S.ACQUIRED, member_id=before.before_member, lock=before.lock)
        records = records.set(offset, after)
        events.append(moved(me, offset, before, after, because))
    return me.but(records=records), tuple(events)


# -- the start offset, and the end of a record's hold -----------------------------------------


def released(record: InFlight, on: Context) -> InFlight:
    """Give the record back, or archive it when it was delivered too often."""
    at_limit = record.delivery_count >= on.settings.delivery_count_limit
    return record.unstaged(S.ARCHIVED if at_limit else S.AVAILABLE)


def expired(record: InFlight, on: Context) -> InFlight | None:
    """Give what a record becomes when its lock runs out, or None when it stays as it is.

    While the answer of a write is awaited the record only remembers that its lock ran out.
    """
    if record.state is S.TX_PENDING:
        return None if record.ongoing else on.rules.lock_expiry(record)
    if record.ongoing:
        return record.but(lock=-1, lock_ran_out=True)
    if record.state is not S.ACQUIRED or not on.rules.lock_timeout():
        return None
    return released(record, on)


def advance_start(me: SharePartition) -> SharePartition:
    """Move the SPSO over the records at the front that are done for good."""
    start, records = me.start_offset, me.records
    while (record := records.get(start)) is not None and record.is_terminal:
        records = records.without(start)
        start += 1
    return me if start == me.start_offset else me.but(start_offset=start, records=records)


def farewell(me: SharePartition, because: str, error: Errors) -> Effects:
    """Forget what is in memory and tell the fetches that wait; writes under way go on.

    What nobody waits for and is not on the wire yet need not be asked any more.
    """
    replies = tuple(Reply(p.reply_to, ShareFetchResponse(error, me.partition)) for p in me.parked)
    gone = SharePartitionDropped(me.partition, me.group_id, because)
    writes = tuple(
        w for i, w in enumerate(me.writes) if w.purpose not in READS or (i == 0 and me.on_wire)
    )
    left = me.but(records=Table.of(), parked=(), writes=writes)
    return Effects(left, replies=replies, events=(gone,))


def moved(
    me: SharePartition, offset: int, before: InFlight, after: InFlight, because: str
) -> RecordsMoved:
    """Give the event that one record changed its state."""
    staged = after if after.staged_producer_id >= 0 else before
    return RecordsMoved(
        me.partition,
        me.group_id,
        offset,
        offset,
        before.state,
        after.state,
        after.delivery_count,
        after.member_id or before.member_id,
        because,
        staged.staged_producer_id,
        staged.staged_producer_epoch,
    )
