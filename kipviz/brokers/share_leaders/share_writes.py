"""The writes of a share-partition to its share coordinator, and their results.

One request per share-partition is in flight, others wait behind it. Source: the persister (DefaultStatePersister,
PersisterStateManager) and the write paths of SharePartition.java.
NOT MODELLED: that the persister batches writes of several share-partitions into one request, and that a read and a
write of one share-partition may be in flight at once; that a read is abandoned after five attempts, and the
share-partition with it (here it is retried without a limit).
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import (
    Check,
    Checks,
    add_translation,
    compare,
    error_of,
    in_order,
    report_value,
)
from kipviz.brokers.context import (
    NOBODY,
    Channel,
    Context,
    Effects,
    Reply,
    ReplyTo,
    Request,
    with_effects,
)
from kipviz.brokers.local_calls import ApplyMarkerToShares
from kipviz.brokers.share_leaders import (
    acknowledgement_checks,
    share_acquiring,
    share_dead_letters,
    share_loading,
    share_partition,
)
from kipviz.brokers.share_leaders.in_flight import InFlight, state_batches
from kipviz.brokers.share_leaders.share_partition import PendingWrite, SharePartition, record_moved
from kipviz.brokers.share_transactions import share_outcomes
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.messages.apis.api import Role
from kipviz.messages.cluster.topic_creation import CreateTopicsResponse
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    LOCK_RAN_OUT,
    SESSION_CLOSED,
    WRITE_FAILED,
    LockRenewed,
)
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response, with_error
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    ShareAcknowledgeResponse,
    TxnShareAcknowledge,
    batches_of,
    offsets_of,
    staging_result,
)
from kipviz.messages.shares.share_state import (
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    ReadStateData,
    ReadStateResult,
    TxnWriteShareGroupState,
    WriteShareGroupState,
    WriteStateData,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.placement import SHARE_GROUP_STATE
from kipviz.records.share_group_state import RecordState, StagedBatch, StateBatch

S = RecordState
ATTEMPTS_MAX = 5

# Errors after which the persister looks up the coordinator again and repeats the request.
RETRY = (
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.NETWORK_EXCEPTION,
)
# The error of a client by the share coordinator's error; any other is UNKNOWN_SERVER_ERROR. Source:
# SharePartition.fetchPersisterError.
TOLD = {
    Errors.NOT_COORDINATOR: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.COORDINATOR_NOT_AVAILABLE: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.COORDINATOR_LOAD_IN_PROGRESS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.GROUP_ID_NOT_FOUND: Errors.GROUP_ID_NOT_FOUND,
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.FENCED_LEADER_EPOCH: Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.FENCED_STATE_EPOCH: Errors.NOT_LEADER_OR_FOLLOWER,
}
# Writes that report to the coordinator what is already so in memory. A failed note (a lock expired, a copy was tried)
# is only logged: releaseAcquisitionLockOnTimeout, initiateDLQAndArchive. A failed write of a transaction's outcome, for
# a transactional acknowledgement in memory, drops the share-partition like a failed acknowledgement does; KIP-1289 does
# not mention it.
NOTE, OUTCOME = "note", "outcome"
# Errors of a write after which the share-partition is dropped from memory. Source:
# SharePartitionManager.fencedSharePartitionHandler, of acknowledge and releaseSession.
REMOVES = (
    Errors.FENCED_LEADER_EPOCH,
    Errors.FENCED_STATE_EPOCH,
    Errors.GROUP_ID_NOT_FOUND,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
)
# Why a share-partition is dropped after it queried the outcome of its transactional acknowledgements, by the error (our
# inference).
LOOKED = {
    Errors.NONE: "its state was created again meanwhile",
    Errors.INVALID_REQUEST: "its state was deleted meanwhile",
}


def acknowledge(
    me: SharePartition,
    member_id: str,
    batches: tuple[AcknowledgementBatch, ...],
    reply_to: ReplyTo,
    on: Context,
    *,
    with_fetch: bool,
) -> tuple[Effects[SharePartition], Errors]:
    """Apply a member's acknowledgements of one partition, all or none of them.

    They are validated (`share_validation`). Offsets below the SPSO are skipped. If nothing has to be made durable the
    response is sent at once, or left to the fetch that brought the acknowledgements.
    Source: SharePartition.acknowledge.
    """
    records, offsets = me.records, []
    renewed: list[int] = []
    events: list[Event] = []
    checks: Checks = ()
    for batch in batches:
        if batch.last < me.start_offset:
            continue
        checks += acknowledgement_checks.batch_checks(me, batch, on)
        error = error_of(checks)
        if error is not Errors.NONE:
            return _reject_all(me, renewed, member_id, checks), error
        offsets_in = range(max(batch.first, me.start_offset), batch.last + 1)
        checks += acknowledgement_checks.held_checks(records, offsets_in, member_id)
        error = error_of(checks)
        for offset in offsets_in:
            before = records.get(offset)
            if before is None:
                continue  # a gap of the log between two fetches
            if not acknowledgement_checks.is_held_by(before, member_id):
                return _reject_all(me, renewed, member_id, checks), error
            if batch.type == AcknowledgeType.RENEW:
                renewed.append(offset)
                continue
            after = _begin_transition(before, _apply_acknowledgement(me, offset, batch.type, on))
            records = records.set(offset, after)
            offsets.append(offset)
            events.append(record_moved(me, offset, before, after, "acknowledged by the member"))
    answer = ShareAcknowledgeResponse(Errors.NONE, (PartitionResult(me.partition, Errors.NONE),))
    if renewed:
        records, again = _renew_locks(me, records, tuple(renewed), member_id)
        events += again
    if not offsets:
        replies = () if with_fetch else (Reply(reply_to, answer),)
        done = Effects(me.but(records=records), replies=replies, events=tuple(events))
        return done.after(checks), Errors.NONE
    write = PendingWrite("acknowledge", _NOTHING, tuple(offsets))
    waits = {"fetch": reply_to} if with_fetch else {"reply_to": reply_to, "answer": answer}
    write = write.but(**waits)
    done = _write(me.but(records=records), write, on)
    return done.but(events=tuple(events)).after(checks), Errors.NONE


def _reject_all(
    me: SharePartition, renewed: list[int], member_id: str, checks: Checks
) -> Effects[SharePartition]:
    """Leave everything unchanged, except for locks that were renewed before the rejection."""
    if not renewed:
        return Effects(me, checks=checks)
    records, events = _renew_locks(me, me.records, tuple(renewed), member_id)
    return Effects(me.but(records=records), events=events, checks=checks)


def _renew_locks(
    me: SharePartition, records: Table[int, InFlight], offsets: tuple[int, ...], member_id: str
) -> tuple[Table[int, InFlight], tuple[Event, ...]]:
    """Restart the acquisition locks of some records; nothing becomes durable (KIP-1222).

    The old timer is cancelled: the records are held under a new lock.
    """
    lock = share_acquiring.free_lock(me, offsets[0])
    for offset in offsets:
        records = records.set(offset, records[offset].but(lock=lock))
    runs = batches_of(offsets, AcknowledgeType.RENEW)
    return records, tuple(
        LockRenewed(me.partition, me.group_id, b.first, b.last, member_id, lock) for b in runs
    )


def _apply_acknowledgement(
    me: SharePartition, offset: int, kind: AcknowledgeType, on: Context
) -> InFlight:
    record = me.records[offset]
    match kind:
        case AcknowledgeType.ACCEPT:
            return record.without_staging(S.ACKNOWLEDGED)
        case AcknowledgeType.RELEASE:
            return share_partition.release_record(me, offset, on)
        case AcknowledgeType.REJECT:
            return share_partition.archive_record(me, record, share_partition.REJECTED, on)
        case AcknowledgeType.GAP:
            return record.without_staging(S.ARCHIVED)
        case _:
            raise AssertionError(f"a type that was not validated: {kind!r}")


def _begin_transition(before: InFlight, after: InFlight) -> InFlight:
    """Start a transition: the record has the new state, and the lock runs until that is durable."""
    return after.but(ongoing=True, before_member=before.member_id, lock=before.lock)


def stage(
    me: SharePartition,
    request: TxnShareAcknowledge,
    acknowledgements: tuple[StagedBatch, ...],
    reply_to: ReplyTo,
    events: tuple[Event, ...],
    on: Context,
) -> Effects[SharePartition]:
    """Make a transactional acknowledgement durable. Status: our inference (the repaired design)."""
    message = TxnWriteShareGroupState(
        me.key,
        me.state_epoch,
        me.leader_epoch,
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        acknowledgements,
        me.start_offset,
        bool(on.image.dead_letter_queue(me.group_id)),
    )
    offsets = offsets_of(request.only.acknowledgements)
    answer = staging_result(me.partition, Errors.NONE)
    write = PendingWrite("stage", message, offsets, reply_to, answer)
    return _enqueue(me, write, on).but(events=events)


def stage_as_state(
    me: SharePartition,
    request: TxnShareAcknowledge,
    reply_to: ReplyTo | None,
    events: tuple[Event, ...],
    on: Context,
    *,
    enlists: bool = False,
) -> Effects[SharePartition]:
    """Make a transactional acknowledgement durable as delivery state 5, by an ordinary write of the state.

    The response waits for it; a failed write returns the records. With a dead-letter queue the batch says that a commit
    of a REJECT makes the record ARCHIVING. Status: draft (pull request 22357, seen in source).
    """
    offsets = offsets_of(request.only.acknowledgements)
    message = _state_write(me, offsets)
    if on.image.dead_letter_queue(me.group_id):
        state = message.only
        state = state.but(batches=tuple(_with_target(b) for b in state.batches))
        message = WriteShareGroupState((state,))
    answer = staging_result(me.partition, Errors.NONE)
    after = request if enlists else None
    write = PendingWrite("stage", message, offsets, reply_to, answer, enlists=after)
    return _enqueue(me, write, on).but(events=events)


def _with_target(batch: StateBatch) -> StateBatch:
    rejected = batch.staged_type == AcknowledgeType.REJECT
    return batch.but(staged_state=int(S.ARCHIVING)) if rejected else batch


def stage_again(
    me: SharePartition, request: TxnShareAcknowledge, reply_to: ReplyTo
) -> SharePartition:
    """Let a repeated staging wait for the acknowledgement that is being made durable, if it still is."""
    offsets = offsets_of(request.only.acknowledgements)
    return me.but(
        writes=tuple(
            w.but(reply_to=reply_to) if (w.purpose, w.offsets) == ("stage", offsets) else w
            for w in me.writes
        )
    )


def read(me: SharePartition, purpose: str, on: Context) -> Effects[SharePartition]:
    """Read the durable state, to load the share-partition or to learn an outcome."""
    message = ReadShareGroupState((ReadStateData(me.key, me.leader_epoch),))
    return _enqueue(me, PendingWrite(purpose, message), on)


def expire(me: SharePartition, lock: int, on: Context) -> Effects[SharePartition]:
    """Release what is held under a lock; memory first, then a write whose failure is ignored."""
    changes, records = [], me.records
    for offset, before in me.records.items():
        after = share_partition.expire_lock(me, offset, on) if before.lock == lock else None
        if after is not None and (after.ongoing or after.state is S.TX_PENDING):
            records = records.set(offset, after)
        elif after is not None:
            changes.append((offset, before, after))
    held = (offset for offset, before in me.records.items() if before.lock == lock)
    limit = on.delivery_count_limit(me.group_id)
    looked = (
        *acknowledgement_checks.states(me.records, held),
        report_value("delivery count limit", limit),
    )
    return _change(me.but(records=records), changes, LOCK_RAN_OUT, NOTE, on).after(looked)


def release(me: SharePartition, member_id: str, on: Context) -> Effects[SharePartition]:
    """Release what a departed member holds; transactional acknowledgements stay.

    It is a RELEASE by the broker: if the write fails the member has the records again, until their lock expires.
    Source: SharePartition.releaseAcquiredRecords.
    """
    records, events, offsets = me.records, [], []
    for offset, before in me.records.items():
        if before.state is S.ACQUIRED and not before.ongoing and before.member_id == member_id:
            after = _begin_transition(before, share_partition.release_record(me, offset, on))
            records = records.set(offset, after)
            offsets.append(offset)
            events.append(record_moved(me, offset, before, after, SESSION_CLOSED))
    if not offsets:
        return Effects(me)
    write = PendingWrite("release", _NOTHING, tuple(offsets))
    return _write(me.but(records=records), write, on).but(events=tuple(events))


def apply_marker(
    me: SharePartition, marker: ApplyMarkerToShares, on: Context
) -> Effects[SharePartition]:
    """Resolve the transactional acknowledgements that belong to a marker (the hook of KIP-1289, draft)."""
    changes = []
    checks: Checks = ()
    for offset, before in share_partition.pending_cells(me):
        if before.staged_producer_id != marker.producer_id:
            continue
        epoch = before.staged_producer_epoch
        checks += (Check("epoch of the acknowledgement", marker.producer_epoch, epoch),)
        if not on.rules.marker_epoch(epoch, marker.producer_epoch):
            continue
        done = on.rules.commit_target(before.staged_type) is S.ACKNOWLEDGED
        kind = AcknowledgeType.ACCEPT if done else AcknowledgeType.REJECT
        after = (
            _apply_acknowledgement(me, offset, kind, on)
            if marker.committed
            else share_outcomes.abort_record(me, before, on)
        )
        changes.append((offset, before, after))
    word = "COMMIT" if marker.committed else "ABORT"
    waits = tuple(o for o, _, after in changes if after.state is not S.ACQUIRED)
    if marker.ticket is None or not waits:
        resolved = _change(me, changes, f"the {word} marker arrived", OUTCOME, on)
        return resolved.but(state=share_partition.advance_start(resolved.state)).after(checks)
    told = me
    for offset, _, after in changes:
        told = told.but(records=told.records.set(offset, after))
    message = _state_write(told, waits)
    write = PendingWrite(share_outcomes.DECIDE, message, waits, marker.ticket)
    return _enqueue(share_outcomes.mark_ongoing(me, waits), write, on).after(checks)


def _change(
    me: SharePartition,
    changes: list[tuple[int, InFlight, InFlight]],
    because: str,
    purpose: str,
    on: Context,
) -> Effects[SharePartition]:
    """Change records in memory at once, then write that to the share coordinator."""
    if not changes:
        return Effects(me)
    records = me.records
    for offset, _, after in changes:
        records = records.set(offset, after)
    events = tuple(record_moved(me, o, before, after, because) for o, before, after in changes)
    durable = tuple(o for o, _, after in changes if after.state is not S.ACQUIRED)
    me = me.but(records=records)
    done = _write(me, PendingWrite(purpose, _NOTHING, durable), on) if durable else Effects(me)
    return done.but(events=events)


# -- requests in flight -------------------------------------------------------------------------

# A placeholder that `_write` replaces with the request.
_NOTHING = Message()


def _write(me: SharePartition, write: PendingWrite, on: Context) -> Effects[SharePartition]:
    """Write the state of some records, and with it the current start offset."""
    return _enqueue(me, write.but(message=_state_write(me, write.offsets)), on)


def _state_write(me: SharePartition, offsets: tuple[int, ...]) -> WriteShareGroupState:
    cells = tuple((o, me.records[o]) for o in offsets)
    complete = share_partition.delivery_complete_count(me)
    state = WriteStateData(
        me.key, me.state_epoch, me.leader_epoch, me.start_offset, complete, state_batches(cells)
    )
    return WriteShareGroupState((state,))


def _enqueue(me: SharePartition, write: PendingWrite, on: Context) -> Effects[SharePartition]:
    me = me.but(writes=(*me.writes, write))
    return Effects(me) if me.on_wire else send(me, on)


def send(me: SharePartition, on: Context) -> Effects[SharePartition]:
    """Send the first waiting request; without a leader it keeps waiting."""
    if not me.writes or me.on_wire:
        return Effects(me)
    broker = on.image.leader_of(on.image.home_of(SHARE_GROUP_STATE, me.key))
    if broker == NOBODY:
        return Effects(me)
    message, tag = me.writes[0].message, str(me.incarnation)
    return Effects(
        me.but(on_wire=True),
        requests=(
            Request(Channel.PERSISTER, broker, message, Role.SHARE_PARTITION_LEADER, me.key, tag),
        ),
    )


def resend(
    me: SharePartition, on: Context, error: Errors = Errors.NETWORK_EXCEPTION
) -> Effects[SharePartition]:
    """Repeat the request that was in flight, up to the persister's limit, then fail it with an error."""
    write, me = me.writes[0], me.but(on_wire=False)
    if _tried_enough(write):
        return _fail_write(me.but(writes=me.writes[1:]), write, error, on)
    again = write.but(attempts=min(write.attempts + 1, ATTEMPTS_MAX))
    repeated = (
        Check("answer of the coordinator", write.purpose, error),
        Check("attempts", ATTEMPTS_MAX, write.attempts),
    )
    return send(me.but(writes=(again, *me.writes[1:])), on).after(repeated)


def _tried_enough(write: PendingWrite) -> bool:
    return write.attempts >= ATTEMPTS_MAX and write.purpose not in share_partition.READS


def on_answer(
    me: SharePartition, answer: Message, on: Context
) -> tuple[Effects[SharePartition], Errors]:
    """Complete the work that waited for the share coordinator.

    An error beside the effects means that this object is no longer valid: another leader or another state epoch fenced
    it, its group or topic was deleted, or there is nothing to load.
    """
    write = me.writes[0]
    error = error_of_response(answer)
    if error in RETRY and not _tried_enough(write):
        return resend(me, on, error), Errors.NONE
    me = me.but(writes=me.writes[1:], on_wire=False)
    if error is not Errors.NONE:
        return _fail_write(me, write, error, on), _drop_error(write, error)
    checks = _check_answer(me, write, error)
    if isinstance(answer, ReadShareGroupStateResponse):
        refreshes, state = write.purpose == "refresh", answer.only
        if not refreshes and share_loading.is_malformed(state):
            error = Errors.UNKNOWN_SERVER_ERROR
            sound = compare("state well-formed", None, False, False, error)
            return _fail_write(me, write, error, on, (*checks, sound)), error
        read = (
            share_loading.refresh_state(me, state, on)
            if refreshes
            else share_loading.load_state(me, state, on)
        )
        if read is None and refreshes:
            error = Errors.FENCED_STATE_EPOCH
            failed = _fail_write(me, write, error, on, (*checks, *_check_recreation(me, state)))
            return failed, Errors.NOT_LEADER_OR_FOLLOWER
        if read is None:
            return Effects(me, checks=checks), Errors.OFFSET_NOT_AVAILABLE
        done = read.after((*checks, report_value("start offset", state.start_offset)))
    else:
        events: tuple[Event, ...] = ()
        if write.purpose == share_outcomes.DECIDE:
            me, events = share_outcomes.apply_outcome(me, write, on)
        elif write.purpose in (NOTE, OUTCOME):
            me = share_partition.advance_start(me)
        else:
            me = share_partition.settle(me, write.offsets)
        if write.fetch is not None:
            me = _acknowledged_fetch(me, write.fetch, Errors.NONE)
        said = write.answer if write.enlists is None else None
        replies = (Reply(write.reply_to, said),) if write.reply_to and said else ()
        local = share_outcomes.report_result(me, write, Errors.NONE)
        done = Effects(me, replies=replies, local=local, events=events, checks=checks)
    if isinstance(answer, ReadShareGroupStateResponse) and write.purpose == "refresh":
        given_up = share_outcomes.archived_at_limit(me, answer.only.batches, on)
        if given_up:  # the SPSO may have moved over them: then it says so alone
            known = tuple(o for o in given_up if o in done.state.records)
            noted = _write(done.state, PendingWrite(NOTE, _NOTHING, known), on)
            done = with_effects(noted.state, done, noted)
    asked = write.offsets or tuple(done.state.records.keys())
    copied = _write_copied(share_dead_letters.enqueue(done.state, asked, on), on)
    sent = send(copied.state, on)
    return with_effects(sent.state, done, copied, sent), Errors.NONE


def _check_answer(me: SharePartition, write: PendingWrite, error: Errors) -> Checks:
    """Return the share coordinator's error and the records of the write, as checks."""
    told = Check("answer of the coordinator", write.purpose, error, error)
    return (*acknowledgement_checks.states(me.records, write.offsets), told)


@in_order
def _check_recreation(me: SharePartition, answer: ReadStateResult) -> Iterator[Check]:
    """Return the checks whether a state was created again since it was loaded (`share_loading.refresh_state`)."""
    epoch, known, error = answer.state_epoch, me.state_epoch, Errors.FENCED_STATE_EPOCH
    yield compare("state epoch of the answer", epoch, known, epoch <= known, error)
    yield compare("acknowledgements pending or decided", None, False, False, error)


def _drop_error(write: PendingWrite, error: Errors) -> Errors:
    """Return the error with which a share-partition is dropped after a failed request, NONE if it is kept.

    A query that finds no state at all, because it was deleted, will find no outcome later either (our inference).
    Source: SharePartitionManager.fencedSharePartitionHandler, handleInitializationException.
    """
    if write.purpose == "refresh" and error is Errors.INVALID_REQUEST:
        return Errors.NOT_LEADER_OR_FOLLOWER
    if error in REMOVES and write.purpose != NOTE:
        return TOLD[error]
    return Errors.UNKNOWN_SERVER_ERROR if write.purpose == "load" else Errors.NONE


def on_dead_letter(
    me: SharePartition, answer: ProduceResponse | CreateTopicsResponse | None, on: Context
) -> Effects[SharePartition]:
    """Continue after an attempt to copy records to the dead-letter queue; None: its response is lost."""
    return (
        _write_copied(share_dead_letters.continue_copy(me, answer, on), on)
        if me.dead_letters
        else Effects(me)
    )


def _write_copied(copying: share_dead_letters.Copying, on: Context) -> Effects[SharePartition]:
    """Write to the share coordinator which records are archived now, whatever the result."""
    done = copying.effects
    if not copying.finished:
        return done
    told = _write(done.state, PendingWrite(NOTE, _NOTHING, copying.finished), on)
    return with_effects(told.state, done, told)


def _fail_write(
    me: SharePartition, write: PendingWrite, error: Errors, on: Context, because: Checks = ()
) -> Effects[SharePartition]:
    """Complete the work that waited for a failed write; a staging gets another error (our inference)."""
    checks = because or _check_answer(me, write, error)
    if write.purpose == "stage":
        error = Errors.COORDINATOR_NOT_AVAILABLE if error in RETRY else TOLD.get(error, error)
    else:
        error = TOLD.get(error, Errors.UNKNOWN_SERVER_ERROR)
    events: tuple[Event, ...] = ()
    if write.purpose == share_outcomes.DECIDE:
        me = share_outcomes.keep_pending(me, write)
    elif write.purpose in (NOTE, OUTCOME):
        me = share_partition.advance_start(me)
    else:
        me, events = share_partition.roll_back(me, write.offsets, WRITE_FAILED, on)
    replies: tuple[Reply, ...] = ()
    if write.reply_to is not None or write.fetch is not None:
        checks = add_translation(checks, "error to a client", None, error)
    if write.reply_to is not None and write.answer is not None:
        replies = (Reply(write.reply_to, with_error(write.answer, error)),)
    if write.fetch is not None:
        me = _acknowledged_fetch(me, write.fetch, error)
    # The write only reported an expired lock: its records are copied whether it succeeded or not.
    copied = _write_copied(share_dead_letters.enqueue(me, write.offsets, on), on)
    sent = send(copied.state, on)
    local = share_outcomes.report_result(me, write, error)
    done = Effects(me, replies=replies, local=local, events=events, checks=checks)
    return with_effects(sent.state, done, copied, sent)


def _acknowledged_fetch(me: SharePartition, fetch: ReplyTo, error: Errors) -> SharePartition:
    """Let the fetch continue that brought the acknowledgements along."""
    return me.but(
        parked=tuple(
            p.but(acknowledging=False, acknowledge_error=error) if p.reply_to == fetch else p
            for p in me.parked
        )
    )
