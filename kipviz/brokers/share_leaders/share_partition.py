"""One share-partition in its leader's memory: which offsets are free, held, staged or done.

The part of the share-partition leader that needs no other role: staging, the start offset (SPSO), and the end of an
acquisition. Which records a fetch gets is in `share_acquiring`, what involves the share coordinator in `share_writes`,
the dead-letter queue in `share_dead_letters`. Source: SharePartition.java.
"""

from __future__ import annotations

from enum import StrEnum

from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.logs.add_to_transaction import Enlisting
from kipviz.brokers.share_leaders.in_flight import NO_MEMBER, InFlight, staged_batches
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    NOT_IN_LOG,
    RecordsMoved,
    SharePartitionDropped,
    ShareStartFollowed,
)
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import (
    FetchedPartition,
    ShareAcknowledge,
    ShareFetch,
    ShareFetchResponse,
    TxnShareAcknowledge,
    offsets_of,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.share_group_state import RecordState

S = RecordState
READS = ("load", "refresh")

# Why a record is archived, as Kafka 4.4.0 puts it into the header __dlq.errors.message; the last one is from a draft
# and has no such text.
REJECTED = "Offset rejected by client."
TOO_OFTEN = "Offset delivery count exceeded the threshold."
ANOTHER_REFUSED = "another partition of the same request was refused"


class Status(StrEnum):
    """Whether the durable state is loaded, and whether the object is still valid (SharePartitionState)."""

    EMPTY = "EMPTY"
    INITIALIZING = "INITIALIZING"
    ACTIVE = "ACTIVE"
    FAILED = "FAILED"
    FENCED = "FENCED"


# status -> statuses that follow. EMPTY ends in the step that creates the object, since its state is requested at once,
# and FAILED in the step that reaches it, since an object that cannot be loaded is dropped: FENCED. A response that
# arrives after that moves the object on, as Kafka's does, without any effect: that transition is not in the table.
STATUSES: dict[Status, tuple[Status, ...]] = {
    Status.EMPTY: (Status.INITIALIZING,),
    Status.INITIALIZING: (Status.ACTIVE, Status.FAILED, Status.FENCED),
    Status.ACTIVE: (Status.FENCED,),
    Status.FAILED: (Status.FENCED,),
    Status.FENCED: (Status.ACTIVE, Status.FAILED),
}


class Session(Value, frozen=True):
    """A member's share session on this broker, tied to its connection.

    `partitions` are what a fetch of the session asks for, in the order of their turn; they are empty for a client that
    names its partitions in every request.
    """

    epoch: int
    source: str
    partitions: tuple[str, ...] = ()


class ParkedFetch(Value, frozen=True):
    """A fetch that waits for records, or for the acknowledgements that came with it."""

    request: ShareFetch
    reply_to: ReplyTo
    acknowledging: bool = False
    acknowledge_error: Errors = Errors.NONE


class PendingWrite(Value, frozen=True):
    """A request to the share coordinator, and what to do with the response.

    `purpose` is "load", "refresh", "acknowledge", "release", "stage", "note", "outcome" or "decide". `reply_to` and
    `answer` are for the client that waits for it, or without an `answer` for the request with a marker
    (`share_outcomes`); `fetch` is the parked fetch that brought the acknowledgements. `enlists` is a staging whose
    participant is added after it (slot participant_order).
    """

    purpose: str
    message: Message
    offsets: tuple[int, ...] = ()
    reply_to: ReplyTo | None = None
    answer: Message | None = None
    fetch: ReplyTo | None = None
    attempts: int = 1
    enlists: TxnShareAcknowledge | None = None


class DeadLetter(Value, frozen=True):
    """Records that are archived and copied to the dead-letter queue, and why (KIP-1191).

    `creations` counts the requests for its topic since the last success; above 0 such a request is in flight.
    """

    first: int
    last: int
    delivery_count: int
    cause: str
    attempts: int = 1
    creations: int = 0


class SharePartition(Part, frozen=True):
    """The leader's state of one (group, topic id, partition).

    `records` has every offset in [start_offset, next_offset); `next_offset` is the first one that was never acquired.
    `incarnation` distinguishes a response for this object from one for an earlier, dropped object of the same key. The
    first of `writes` is the one that is in flight, if `on_wire` says so; the others wait behind it. The first of
    `dead_letters` is being copied to the dead-letter queue. Below the SPSO there may be records that a member still
    holds, after the log's start moved past them; their entries stay until the SPSO moves on.
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
    dead_letters: tuple[DeadLetter, ...] = ()


class Closing(Value, frozen=True):
    """A session that ends once the acknowledgements of its last request are durable."""

    group_id: str
    member_id: str
    reply_to: ReplyTo


class Refused(Value, frozen=True):
    """A fetch without room for another session; it gets its error when it has waited long enough."""

    member_id: str
    reply_to: ReplyTo


class StagingCall(Value, frozen=True):
    """A staging of several partitions whose answer waits until each of them has its result."""

    reply_to: ReplyTo
    request: TxnShareAcknowledge
    results: tuple[PartitionResult, ...] = ()


class SessionCall(Value, frozen=True):
    """A request of a share session that is not answered yet.

    `partitions` are what it asks for, in the order in which records are acquired; `refused` are partitions with the
    error of their fetch. `owed` are partitions whose acknowledgements are not durable yet, `acknowledged` are the
    results of the others. `fetched` is set once records are acquired.
    """

    reply_to: ReplyTo
    request: ShareFetch | ShareAcknowledge
    partitions: tuple[str, ...] = ()
    refused: tuple[tuple[str, Errors], ...] = ()
    owed: tuple[str, ...] = ()
    acknowledged: tuple[tuple[str, Errors], ...] = ()
    fetched: tuple[FetchedPartition, ...] | None = None


class ShareLeader(Part, frozen=True, cache_hash=True):
    """All share-partitions and share sessions of one broker.

    `leaving` are share-partitions that were dropped from memory while a response of the share coordinator was
    outstanding: their writes continue, and waiting clients get a response. `closed` has the group of each open
    connection whose session was closed. `closing` are sessions that end once the acknowledgements of their last request
    are durable. `calls` are stagings of several partitions that are not answered yet, `refused` fetches for which there
    is no room, `waiting` fetches of a session's partitions.
    """

    sessions: Table[tuple[str, str], Session] = Table.of()
    shares: Table[str, SharePartition] = Table.of()
    leaving: Table[tuple[str, int], SharePartition] = Table.of()
    staging: tuple[Enlisting, ...] = ()
    closed: Table[str, str] = Table.of()
    closing: tuple[Closing, ...] = ()
    calls: tuple[StagingCall, ...] = ()
    refused: tuple[Refused, ...] = ()
    waiting: tuple[SessionCall, ...] = ()


def keep(me: ShareLeader, done: Effects[SharePartition]) -> Effects[ShareLeader]:
    """Store a share-partition's new state among the others."""
    share = done.state
    return done.with_state(me.but(shares=me.shares.set(share.key, share)))


# -- staging -----------------------------------------------------------------------------------


def stage(
    me: SharePartition, request: TxnShareAcknowledge
) -> tuple[SharePartition, tuple[Event, ...]]:
    """Move records from ACQUIRED to TX_PENDING, before the producer gets a response."""
    records, events = me.records, []
    for batch in request.only.acknowledgements:
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
            events.append(record_moved(me, offset, before, after, "staged in a transaction"))
    return me.but(records=records), tuple(events)


def unstage(
    me: SharePartition, request: TxnShareAcknowledge
) -> tuple[SharePartition, tuple[Event, ...]]:
    """Release staged records to the member that holds them, if they are still staged by this producer.

    Clause: KIP-1289 corner case 11, 'already-staged records on A are reverted to ACQUIRED' (draft).
    """
    records, events = me.records, []
    producer = (request.producer_id, request.producer_epoch)
    for offset in offsets_of(request.only.acknowledgements):
        before = records.get(offset)
        if before is None or before.state is not S.TX_PENDING or before.ongoing:
            continue
        if (before.staged_producer_id, before.staged_producer_epoch) == producer:
            after = before.without_staging(S.ACQUIRED, member_id=before.member_id, lock=before.lock)
            records = records.set(offset, after)
            events.append(record_moved(me, offset, before, after, ANOTHER_REFUSED))
    return me.but(records=records), tuple(events)


def cells_of(me: SharePartition, request: TxnShareAcknowledge) -> tuple[tuple[int, InFlight], ...]:
    """Return the named records with their offsets."""
    return tuple((o, me.records[o]) for o in offsets_of(request.only.acknowledgements))


def pending_cells(me: SharePartition) -> tuple[tuple[int, InFlight], ...]:
    """Return the records whose transactional acknowledgement the producer has a response for, and that are undecided."""
    return tuple((o, r) for o, r in me.records.items() if r.state is S.TX_PENDING and not r.ongoing)


def delivery_complete_count(me: SharePartition) -> int:
    """Return how many records from the SPSO on are done, durable or not (KIP-1226).

    The lag of a group is the end offset of the partition, less the SPSO, less this count.
    """
    done = (S.ACKNOWLEDGED, S.ARCHIVED)
    return sum(r.state in done for o, r in me.records.items() if o >= me.start_offset)


def locks(me: SharePartition, on: Context) -> tuple[int, ...]:
    """Return the acquisition locks that can expire now, in order."""
    held = {
        r.lock for o, r in me.records.items() if r.lock >= 0 and expire_lock(me, o, on) is not None
    }
    return tuple(sorted(held))


def can_refresh(me: SharePartition, on: Context) -> bool:
    """Return whether there are transactional acknowledgements whose outcome may be queried."""
    if me.writes or me.status is not Status.ACTIVE:
        return False
    pending = pending_cells(me)
    if not pending or not on.rules.staged_acks(staged_batches(pending)):
        return False
    return is_resolved_elsewhere(on)


def is_resolved_elsewhere(on: Context) -> bool:
    """Return whether the share coordinator resolves transactional acknowledgements, so that their leader has to ask.

    It does so for acknowledgements that are batches of a transaction. OPEN: acknowledgement_form, pending_resolver.
    """
    return not on.rules.acknowledgement_form() or on.rules.pending_resolver()


def settle(me: SharePartition, offsets: tuple[int, ...]) -> SharePartition:
    """End the ongoing transition of some records in their current state."""
    records = me.records
    for offset in offsets:
        record = records.get(offset)
        if record is None or not record.ongoing:
            continue
        if record.state is S.TX_PENDING:
            settled = record.but(ongoing=False, before_member=NO_MEMBER)
        else:
            settled = record.without_staging(record.state)
        records = records.set(offset, settled)
    return advance_start(me.but(records=records))


def roll_back(
    me: SharePartition, offsets: tuple[int, ...], because: str, on: Context
) -> tuple[SharePartition, tuple[Event, ...]]:
    """Return records to the member that held them, after a failed write.

    If the lock expired in the meantime the record is free, or archived at the limit, even one before the SPSO. Source:
    InFlightState.completeStateTransition.
    """
    records, events = me.records, []
    for offset in offsets:
        before = records.get(offset)
        if before is None or not before.ongoing:
            continue
        if not before.before_member:
            after = before.without_staging(before.state)  # archived for good while it waited
        elif before.lock_ran_out:
            # In this case there is no copy in the dead-letter queue, and the SPSO does not matter.
            at_limit = before.delivery_count >= on.delivery_count_limit(me.group_id)
            after = before.without_staging(S.ARCHIVED if at_limit else S.AVAILABLE)
        else:
            staged = before.state is S.TX_PENDING
            lock = on.rules.rollback_lock(before.lock) if staged else before.lock
            after = before.without_staging(S.ACQUIRED, member_id=before.before_member, lock=lock)
        records = records.set(offset, after)
        events.append(record_moved(me, offset, before, after, because))
    return me.but(records=records), tuple(events)


# -- the start offset, and the end of an acquisition ------------------------------------------


def release_record(me: SharePartition, offset: int, on: Context) -> InFlight:
    """Release a record, or archive it after too many deliveries, or if the log starts after it."""
    record = me.records[offset]
    if offset < me.start_offset:
        return record.without_staging(S.ARCHIVED)
    if record.delivery_count < on.delivery_count_limit(me.group_id):
        return record.without_staging(S.AVAILABLE)
    return archive_record(me, record, TOO_OFTEN, on)


def archive_record(me: SharePartition, record: InFlight, cause: str, on: Context) -> InFlight:
    """Archive a record; with a dead-letter queue, only after the attempt to copy it (ARCHIVING)."""
    if not on.image.dead_letter_queue(me.group_id):
        return record.without_staging(S.ARCHIVED)
    return record.without_staging(S.ARCHIVING, cause=cause)


def expire_lock(me: SharePartition, offset: int, on: Context) -> InFlight | None:
    """Return what a record becomes when its lock expires, or None if it does not change.

    While a write is not answered the record only stores that its lock expired.
    """
    record = me.records[offset]
    if record.state is S.TX_PENDING:
        return None if record.ongoing else on.rules.lock_expiry(record)
    if record.ongoing:
        return record.but(lock=-1, lock_ran_out=True)
    if record.state is not S.ACQUIRED or not on.rules.lock_timeout():
        return None
    return release_record(me, offset, on)


def advance_start(me: SharePartition) -> SharePartition:
    """Move the SPSO over the records at the front that are done for good, and over log gaps.

    It starts at the first record in memory: a record that a member holds before the SPSO, because the log was deleted
    up to there, keeps the SPSO where it is. Source: SharePartition.canMoveStartOffset,
    findLastOffsetAcknowledgedAndMetadata.
    """
    at_start = me.records.get(me.start_offset)
    if at_start is None:  # the log has no such record, or nothing from there on is in memory
        behind = tuple(record for o, record in me.records.items() if o < me.start_offset)
        at_start = behind[-1] if behind else None
    if at_start is None or not at_start.is_terminal:
        return me
    records, start = me.records, me.next_offset
    for offset, record in me.records.items():
        if not record.is_terminal:
            if offset <= me.start_offset:
                return me
            start = offset
            break
        records = records.without(offset)
    return me.but(start_offset=start, records=records)


def log_start_moved(me: SharePartition, log_start: int) -> tuple[SharePartition, tuple[Event, ...]]:
    """Move the SPSO to the log's start, after records before it were deleted.

    Free records between the two are archived for good, even those whose release is not durable yet; a record that a
    member holds stays so until its lock ends. Nothing is written now. Source: SharePartition.updateCacheAndOffsets.
    """
    if log_start <= me.start_offset:
        return me, ()
    records: Table[int, InFlight] = me.records
    events: list[Event] = [
        ShareStartFollowed(me.partition, me.group_id, me.start_offset, log_start)
    ]
    for offset, before in me.records.items():
        if offset >= log_start:
            break
        if before.state is S.AVAILABLE and offset >= me.start_offset:
            after = before.but(state=S.ARCHIVED, lock=-1, before_member=NO_MEMBER)
            records = records.set(offset, after)
            events.append(record_moved(me, offset, before, after, NOT_IN_LOG))
    ahead = max(me.next_offset, log_start)
    left = me.but(records=records, start_offset=log_start, next_offset=ahead)
    return left, tuple(events)


def drop_state(me: SharePartition, because: str, error: Errors) -> Effects[SharePartition]:
    """Drop the state in memory and respond to the waiting fetches; writes in flight continue.

    A queued write without a waiting client is dropped, too.
    """
    answer = ShareFetchResponse(Errors.NONE, (FetchedPartition(me.partition, error),))
    replies = tuple(Reply(parked.reply_to, answer) for parked in me.parked)
    gone = SharePartitionDropped(me.partition, me.group_id, because)
    writes = tuple(
        w for i, w in enumerate(me.writes) if w.purpose not in READS or (i == 0 and me.on_wire)
    )
    left = me.but(records=Table.of(), parked=(), writes=writes, dead_letters=())
    return Effects(left.but(status=Status.FENCED), replies=replies, events=(gone,))


def not_loaded(me: ShareLeader, share: SharePartition, error: Errors) -> ShareLeader:
    """Store at the fetches of several partitions that one could not be loaded; the others continue.

    Source: SharePartitionManager.handleInitializationException.
    """
    return me.but(
        waiting=tuple(
            call.but(refused=(*call.refused, (share.partition, error)))
            if call.request.group_id == share.group_id and share.partition in call.partitions
            else call
            for call in me.waiting
        )
    )


def record_moved(
    me: SharePartition, offset: int, before: InFlight, after: InFlight, because: str
) -> RecordsMoved:
    """Return the event that one record changed its state."""
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
