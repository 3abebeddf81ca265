"""A share-partition and its share coordinator: what is made durable, and what comes of it.

One request per share-partition is on the wire, others wait behind it. Source: the persister
(DefaultStatePersister, PersisterStateManager) and the write paths of SharePartition.java.
"""

from __future__ import annotations

from kipviz.brokers import share_partition
from kipviz.brokers.context import NOBODY, Context, Effects, Reply, ReplyTo, Request, with_effects
from kipviz.brokers.in_flight import InFlight, state_batches
from kipviz.brokers.local import ApplyMarkerToShares
from kipviz.brokers.share_partition import PendingWrite, SharePartition, Status, moved
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.messages.errors import Errors
from kipviz.messages.events import SharePartitionLoaded
from kipviz.messages.message import Message
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    ShareAcknowledgeResponse,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
    offsets_of,
)
from kipviz.messages.share_state import (
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    TxnWriteShareGroupState,
    WriteShareGroupState,
)
from kipviz.records.placement import SHARE_GROUP_STATE
from kipviz.records.share_group_state import RecordState, StagedBatch

ROLE = "share_partition_leader"
S = RecordState
ATTEMPTS_MAX = 5

# Answers after which the persister looks the coordinator up again and repeats the request.
RETRY = (
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.NETWORK_EXCEPTION,
)
# A write that tells the coordinator what is so already: its answer changes nothing here.
NOTE = "note"
FENCED = (Errors.FENCED_LEADER_EPOCH, Errors.FENCED_STATE_EPOCH)


def acknowledge(
    me: SharePartition,
    member_id: str,
    batches: tuple[AcknowledgementBatch, ...],
    reply_to: ReplyTo | None,
    on: Context,
) -> tuple[Effects, Errors]:
    """Take a member's acknowledgements of one partition, all or none of them.

    Offsets below the SPSO are skipped. Source: SharePartition.acknowledge.
    """
    records, events, offsets = me.records, [], []
    for batch in batches:
        for offset in range(batch.first, batch.last + 1):
            if offset < me.start_offset:
                continue
            before = records.get(offset)
            if (
                before is None
                or before.state is not S.ACQUIRED
                or before.ongoing
                or before.member_id != member_id
            ):
                return Effects(me), Errors.INVALID_RECORD_STATE
            after = _acknowledged(before, batch.type).but(
                ongoing=True, before_member=member_id, lock=before.lock
            )
            records = records.set(offset, after)
            offsets.append(offset)
            events.append(moved(me, offset, before, after, "acknowledged by the member"))
    answer = ShareAcknowledgeResponse(Errors.NONE, me.partition)
    if not offsets:
        replies = (Reply(reply_to, answer),) if reply_to else ()
        return Effects(me, replies=replies), Errors.NONE
    me = me.but(records=records)
    done = _write(me, "acknowledge", tuple(offsets), on, reply_to, answer)
    return done.but(events=tuple(events)), Errors.NONE


def _acknowledged(record: InFlight, kind: AcknowledgeType) -> InFlight:
    if kind is AcknowledgeType.ACCEPT:
        return record.unstaged(S.ACKNOWLEDGED)
    if kind is AcknowledgeType.RELEASE:
        return share_partition.released(record)
    return record.unstaged(S.ARCHIVED)


def stage(
    me: SharePartition,
    request: TxnShareAcknowledge,
    votes: tuple[StagedBatch, ...],
    reply_to: ReplyTo,
    events: tuple[Event, ...],
    on: Context,
) -> Effects:
    """Make a vote durable. Status: our inference (the repaired design)."""
    message = TxnWriteShareGroupState(
        me.key,
        me.state_epoch,
        me.leader_epoch,
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        votes,
    )
    offsets = offsets_of(request.acknowledgements)
    answer = TxnShareAcknowledgeResponse(Errors.NONE, me.partition)
    write = PendingWrite("stage", message, offsets, reply_to, answer)
    return _enqueue(me, write, on).but(events=events)


def read(me: SharePartition, purpose: str, on: Context) -> Effects:
    """Ask for the durable state, to load the share-partition or to learn of an outcome."""
    message = ReadShareGroupState(me.key, me.leader_epoch)
    return _enqueue(me, PendingWrite(purpose, message), on)


def expire(me: SharePartition, lock: int, on: Context) -> Effects:
    """Take back what is held under a lock; memory first, then a write whose failure is ignored."""
    changes = []
    for offset, before in me.records.items():
        if before.lock == lock and (after := share_partition.expired(before, on)) is not None:
            changes.append((offset, before, after))
    return _change(me, changes, "the acquisition lock ran out", on)


def release(me: SharePartition, member_id: str, on: Context) -> Effects:
    """Take back what a departed member holds; votes are not the member's to give back."""
    changes = [
        (offset, before, share_partition.released(before))
        for offset, before in me.records.items()
        if before.state is S.ACQUIRED and not before.ongoing and before.member_id == member_id
    ]
    return _change(me, changes, "the member's session closed", on)


def apply_marker(me: SharePartition, marker: ApplyMarkerToShares, on: Context) -> Effects:
    """Resolve the votes that a marker fits (the hook of KIP-1289, draft)."""
    changes = []
    for offset, before in share_partition.pending_cells(me):
        if before.staged_producer_id != marker.producer_id or not on.rules.marker_epoch(
            before.staged_producer_epoch, marker.producer_epoch
        ):
            continue
        after = (
            _acknowledged(before, AcknowledgeType(before.staged_type))
            if marker.committed
            else on.rules.abort_target(before)
        )
        changes.append((offset, before, after))
    word = "COMMIT" if marker.committed else "ABORT"
    return _change(me, changes, f"the {word} marker arrived", on)


def _change(
    me: SharePartition, changes: list[tuple[int, InFlight, InFlight]], because: str, on: Context
) -> Effects:
    if not changes:
        return Effects(me)
    records = me.records
    for offset, _, after in changes:
        records = records.set(offset, after)
    events = tuple(moved(me, o, before, after, because) for o, before, after in changes)
    durable = tuple(o for o, _, after in changes if after.state is not S.ACQUIRED)
    me = me.but(records=records)
    done = _write(me, NOTE, durable, on) if durable else Effects(me)
    return done.but(state=share_partition.advance_start(done.state), events=events)


# -- the wire ----------------------------------------------------------------------------------


def _write(
    me: SharePartition,
    purpose: str,
    offsets: tuple[int, ...],
    on: Context,
    reply_to: ReplyTo | None = None,
    answer: Message | None = None,
) -> Effects:
    cells = tuple((o, me.records[o]) for o in offsets)
    complete = sum(1 for r in me.records.values() if r.state in (S.ACKNOWLEDGED, S.ARCHIVED))
    message = WriteShareGroupState(
        me.key, me.state_epoch, me.leader_epoch, me.start_offset, complete, state_batches(cells)
    )
    return _enqueue(me, PendingWrite(purpose, message, offsets, reply_to, answer), on)


def _enqueue(me: SharePartition, write: PendingWrite, on: Context) -> Effects:
    me = me.but(writes=(*me.writes, write))
    return _send(me, on) if len(me.writes) == 1 else Effects(me)


def _send(me: SharePartition, on: Context) -> Effects:
    """Put the first waiting request on the wire; nobody to send it to counts as an answer."""
    if not me.writes:
        return Effects(me)
    broker = on.image.leader_of(on.image.home_of(SHARE_GROUP_STATE, me.key))
    if broker == NOBODY:
        return Effects(me)
    return Effects(
        me, requests=(Request("persister", broker, me.writes[0].message, ROLE, me.key, str(me.incarnation)),)
    )


def resend(me: SharePartition, on: Context) -> Effects:
    """Repeat the request on the wire, up to the persister's limit, then let it fail."""
    if not me.writes:
        return Effects(me)
    write = me.writes[0]
    if write.attempts >= ATTEMPTS_MAX and write.purpose not in ("load", "refresh"):
        return _failed(me.but(writes=me.writes[1:]), write, Errors.COORDINATOR_NOT_AVAILABLE, on)
    again = write.but(attempts=min(write.attempts + 1, ATTEMPTS_MAX))
    return _send(me.but(writes=(again, *me.writes[1:])), on)


def on_answer(me: SharePartition, answer: Message, on: Context) -> Effects:
    """Finish what waited for the share coordinator; a state of None means: drop it."""
    if not me.writes:
        return Effects(me)
    write = me.writes[0]
    error: Errors = getattr(answer, "error")  # noqa: B009  every answer of the coordinator has one
    if error in RETRY:
        return resend(me, on)
    if error in FENCED:
        return Effects(None)
    me = me.but(writes=me.writes[1:])
    if error is not Errors.NONE:
        return _failed(me, write, error, on)
    if isinstance(answer, ReadShareGroupStateResponse):
        done = _loaded(me, answer) if write.purpose == "load" else _refreshed(me, answer, on)
    else:
        if write.purpose != NOTE:
            me = share_partition.settle(me, write.offsets)
        if write.purpose == "acknowledge" and write.reply_to is None:
            me = _acknowledged_fetch(me, Errors.NONE)
        replies = (Reply(write.reply_to, write.answer),) if write.reply_to and write.answer else ()
        done = Effects(me, replies=replies)
    sent = _send(done.state, on)
    return with_effects(sent.state, done, sent)


def _failed(me: SharePartition, write: PendingWrite, error: Errors, on: Context) -> Effects:
    events: tuple[Event, ...] = ()
    if write.purpose != NOTE:
        me, events = share_partition.roll_back(me, write.offsets, "the durable write failed")
    replies: tuple[Reply, ...] = ()
    if write.reply_to is not None and write.answer is not None:
        replies = (Reply(write.reply_to, write.answer.but(error=error)),)
    elif write.purpose == "acknowledge":
        me = _acknowledged_fetch(me, error)
    sent = _send(me, on)
    return with_effects(sent.state, Effects(me, replies=replies, events=events), sent)


def _acknowledged_fetch(me: SharePartition, error: Errors) -> SharePartition:
    """Let the fetch go on that brought the acknowledgements along."""
    parked = list(me.parked)
    for i, fetch in enumerate(parked):
        if fetch.acknowledging:
            parked[i] = fetch.but(acknowledging=False, acknowledge_error=error)
            break
    return me.but(parked=tuple(parked))


def _loaded(me: SharePartition, answer: ReadShareGroupStateResponse) -> Effects:
    """Take over the durable state; what lies between two batches was delivered and never
    acknowledged, so it is free again. Source: SharePartition.maybeInitialize.
    """
    records: Table[int, InFlight] = Table.of()
    ends = [b.last for b in answer.batches] + [p.staged.last for p in answer.pending]
    next_offset = max([answer.start_offset, *(e + 1 for e in ends)])
    for offset in range(answer.start_offset, next_offset):
        records = records.set(offset, InFlight(S.AVAILABLE))
    for batch in answer.batches:
        for offset in range(max(batch.first, answer.start_offset), batch.last + 1):
            records = records.set(offset, InFlight(batch.state, batch.delivery_count))
    for p in answer.pending:
        for offset in range(max(p.staged.first, answer.start_offset), p.staged.last + 1):
            vote = InFlight(
                S.TX_PENDING,
                p.staged.delivery_count,
                staged_producer_id=p.producer_id,
                staged_producer_epoch=p.producer_epoch,
                staged_type=p.staged.acknowledge_type,
            )
            records = records.set(offset, vote)
    held = tuple(o for o, r in records.items() if r.state is not S.AVAILABLE)
    me = me.but(
        status=Status.ACTIVE,
        state_epoch=answer.state_epoch,
        start_offset=answer.start_offset,
        next_offset=next_offset,
        records=records,
    )
    loaded = SharePartitionLoaded(me.partition, me.group_id, answer.start_offset, held)
    return Effects(share_partition.advance_start(me), events=(loaded,))


def _refreshed(me: SharePartition, answer: ReadShareGroupStateResponse, on: Context) -> Effects:
    """Take over the outcome of votes that the share coordinator no longer holds as pending."""
    undecided = {
        (o, p.producer_id) for p in answer.pending for o in range(p.staged.first, p.staged.last + 1)
    }
    durable = {o: b for b in answer.batches for o in range(b.first, b.last + 1)}
    events, records = [], me.records
    for offset, before in share_partition.pending_cells(me):
        found = durable.get(offset)
        if (offset, before.staged_producer_id) in undecided or found is None:
            continue
        freed = found.state is S.AVAILABLE
        after = on.rules.abort_target(before) if freed else before.unstaged(found.state)
        records = records.set(offset, after)
        events.append(moved(me, offset, before, after, "the share coordinator knows the outcome"))
    me = share_partition.advance_start(me.but(records=records))
    return Effects(me, events=tuple(events))
