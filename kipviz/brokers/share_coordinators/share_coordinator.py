"""The share coordinator: the durable state of share-partitions.

WHO: the leader of one partition of `__share_group_state`.
WHERE IN KAFKA: ShareCoordinatorService, ShareCoordinatorShard, PersisterStateBatchCombiner.
KIPS: KIP-932. The pending transactional acknowledgements are our inference: KIP-1289 says "no ShareCoordinatorShard
  changes" and defers persistence, the repaired design needs both.
DURABILITY: apply, then append; answer when committed. A crash loses what is not replicated. `share_state_maintenance`
  has deletion, repeated snapshots and pruning.
NOT MODELLED: state of deleted topics.
"""

from __future__ import annotations

from kipviz.brokers.checks import Checks, compare, error_of, one_after_another, report_value
from kipviz.brokers.context import Context, Effects, LocalCall, Reply, ReplyTo, with_effects
from kipviz.brokers.handling import takes
from kipviz.brokers.local_calls import Enlisted, MarkerWritten, WriteMarker
from kipviz.brokers.logs import add_to_transaction, partition_log
from kipviz.brokers.logs.add_to_transaction import Enlisting
from kipviz.brokers.logs.replication import (
    WaitingForReplicas,
    batch_appended,
    due,
    fail_waiting,
    marker_batch,
    marker_checks,
    moved_check,
    reject_write,
    replicas_check,
    respond_when_replicated,
)
from kipviz.brokers.rules import BrokerRules
from kipviz.brokers.share_coordinators import outcome_notices, share_pending, share_state_checks
from kipviz.brokers.share_coordinators.share_state import (
    NO_EPOCH,
    ShareCoordinator,
    ShareState,
    TransactionalAcknowledgement,
)
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.events import ShareStateReset
from kipviz.messages.message import Message
from kipviz.messages.shares.share_state import (
    InitializeShareGroupState,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    ReadStateResult,
    TxnWriteShareGroupState,
    TxnWriteShareGroupStateResponse,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
    WriteStateData,
    WriteStateResult,
)
from kipviz.records.batches import COMMIT, COORDINATOR_SEQUENCE, Batch
from kipviz.records.placement import SHARE_GROUP_STATE
from kipviz.records.share_group_state import (
    RecordState,
    ShareSnapshotRecord,
    ShareStagedRecord,
    ShareTombstone,
    ShareUpdateRecord,
    StagedBatch,
    StateBatch,
    clip,
    merge,
)


@takes(ReadShareGroupState)
def on_read(
    me: ShareCoordinator, request: ReadShareGroupState, reply_to: ReplyTo, on: Context
) -> Effects[ShareCoordinator]:
    """Return the durable state to a share-partition leader, and fence older leaders.

    DOES: appends a new leader epoch to the log. ANSWERS: when everything that it has read is replicated. Clause:
    ShareCoordinatorShard.readStateAndMaybeUpdateLeaderEpoch.
    """
    asked = request.only
    state = me.states.get(asked.key)
    checks = share_state_checks.read_checks(me, asked, on)
    if state is None or error_of(checks) is not Errors.NONE:
        refused = ReadShareGroupStateResponse((ReadStateResult(error_of(checks), asked.key),))
        return Effects(me, replies=(Reply(reply_to, refused),), checks=checks)
    pending = me.pending_acknowledgements(asked.key)
    read = ReadStateResult(
        Errors.NONE, asked.key, state.state_epoch, state.start_offset, state.batches, pending
    )
    answer = ReadShareGroupStateResponse((read,))
    if asked.leader_epoch == state.newest_leader:
        waiting, replies = respond_when_replicated(on.log(me.shard), Reply(reply_to, answer))
        return Effects(me.but(waiting=(*me.waiting, *waiting)), replies=replies, checks=checks)
    record = ShareUpdateRecord(
        asked.key,
        state.snapshot_epoch,
        asked.leader_epoch,
        state.start_offset,
        state.delivery_complete_count,
    )
    return write(me, record, reply_to, answer, on).after(checks)


@takes(InitializeShareGroupState)
def on_initialize(
    me: ShareCoordinator, request: InitializeShareGroupState, reply_to: ReplyTo, on: Context
) -> Effects[ShareCoordinator]:
    """Create the state of a share-partition, or create it again at a higher state epoch.

    WHEN: a share group gets a new partition. CHECKS: the state epoch, and that the topic exists. DOES: writes a
    snapshot without batches and with leader epoch 0. ANSWERS: when it is replicated. OPEN: reset_while_pending,
    initialize_again (a repeated request).
    Clause: KIP-932 "InitializeShareGroupState"; ShareCoordinatorShard.initializeState.
    """
    asked = request.only
    state = me.states.get(asked.key)
    there = share_state_checks.is_there_as_asked(state, asked, on)
    checks = share_state_checks.initialize_checks(me, asked, on)
    result = InitializeStateResult(error_of(checks), asked.key)
    answer = InitializeShareGroupStateResponse((result,))
    if error_of(checks) is not Errors.NONE:
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
    if there:
        waiting, replies = respond_when_replicated(on.log(me.shard), Reply(reply_to, answer))
        return Effects(me.but(waiting=(*me.waiting, *waiting)), replies=replies, checks=checks)
    epoch = state.snapshot_epoch + 1 if state else 0
    start = asked.start_offset
    complete = 0 if start >= 0 else -1  # without a start offset there is no lag (ShareGroupOffset)
    record = ShareSnapshotRecord(asked.key, epoch, asked.state_epoch, 0, start, complete)
    done = write(me, record, reply_to, answer, on).after(checks)
    if not done.appends or (state is None and asked.start_offset < 0):
        return done
    event = ShareStateReset(asked.key, asked.state_epoch, asked.start_offset)
    return done.but(events=(event, *done.events))


@takes(WriteShareGroupState)
def on_write(
    me: ShareCoordinator, request: WriteShareGroupState, reply_to: ReplyTo, on: Context
) -> Effects[ShareCoordinator]:
    """Append delivery states: as an update, or as a snapshot after many updates.

    CHECKS: known, leader epoch, state epoch, topic. DOES: the leader epoch stays the one of the last read.
    Clause: ShareCoordinatorShard.writeState, generateShareStateRecord.
    """
    asked = request.only
    checks = share_state_checks.write_checks(me, asked, on)
    if error_of(checks) is not Errors.NONE:
        refused = WriteShareGroupStateResponse((WriteStateResult(error_of(checks), asked.key),))
        return Effects(me, replies=(Reply(reply_to, refused),), checks=checks)
    state = me.states[asked.key]
    start = max(state.start_offset, asked.start_offset)
    record: ShareUpdateRecord | ShareSnapshotRecord = ShareUpdateRecord(
        asked.key,
        state.snapshot_epoch,
        state.leader_epoch,
        start,
        _complete_count(state, asked),
        merge((), asked.batches, start, on.rules.state_rank),
    )
    if state.updates >= on.settings.updates_per_snapshot:
        record = ShareSnapshotRecord(
            asked.key,
            state.snapshot_epoch + 1,
            state.state_epoch,
            state.leader_epoch,
            start,
            _complete_count(state, asked),
            merge(state.batches, asked.batches, start, on.rules.state_rank),
        )
    answer = WriteShareGroupStateResponse((WriteStateResult(Errors.NONE, asked.key),))
    return write(me, record, reply_to, answer, on).after(checks)


@takes(TxnWriteShareGroupState)
def on_txn_write(
    me: ShareCoordinator, request: TxnWriteShareGroupState, reply_to: ReplyTo, on: Context
) -> Effects[ShareCoordinator]:
    """Make a transactional acknowledgement durable: add this partition to the transaction, then append.

    Status: our inference (the repaired design).
    """
    log = on.log(me.shard)
    identity = (request.producer_id, request.producer_epoch)
    checks = one_after_another(
        lambda: share_state_checks.write_checks(me, request, on),
        lambda: (partition_log.epoch_check(log, *identity, on.rules),),
    )
    if error_of(checks) is not Errors.NONE:
        return _answer_stage(me, request, reply_to, checks)
    group_id, topic_id, index = request.key.rsplit(":", 2)
    partitions = tuple(
        on.image.home_of(SHARE_GROUP_STATE, key)
        for key in on.rules.participant(group_id, topic_id, int(index))
    )
    waiting = Enlisting(request, reply_to, *identity, partitions)
    enlisted = partitions == (me.shard,) and partition_log.has_ongoing_transaction(log, *identity)
    left = add_to_transaction.client_adds_participant(request.transactional_id, on)
    if enlisted or left or not partitions:
        return _stage(me, waiting, on)
    waiting = add_to_transaction.number_question(me.enlisting, waiting, on)
    coordinator = add_to_transaction.coordinator_of(request.transactional_id, on)
    broker = on.rules.enlistment(on.broker, coordinator)
    asked = add_to_transaction.question(
        request.transactional_id, waiting, Role.SHARE_COORDINATOR, me.shard, broker
    )
    if asked is None:
        return _answer_stage(
            me, request, reply_to, (*checks, *add_to_transaction.no_coordinator_checks())
        )
    made = (*checks, report_value("partition added", False))
    waits = Effects(
        me.but(enlisting=add_to_transaction.add_waiting(me.enlisting, waiting)), checks=made
    )
    return add_to_transaction.ask(waits, asked, on)


def on_enlisted(me: ShareCoordinator, call: Enlisted, on: Context) -> Effects[ShareCoordinator]:
    """Continue the transactional acknowledgements that waited until this partition was added to the transaction."""
    mine, rest = add_to_transaction.split_waiting(me.enlisting, call)
    return add_to_transaction.continue_each(
        me.but(enlisting=rest), mine, call.answer.error, on, _go_on
    )


def on_write_marker(
    me: ShareCoordinator, marker: WriteMarker, on: Context
) -> Effects[ShareCoordinator]:
    """End a transaction in this log; replaying the marker resolves its transactional acknowledgements.

    Status: draft (KIP-1289 has the marker appended here); resolving transactional acknowledgements is our inference.
    OPEN: outcome_news.
    """
    log = on.log(me.shard)
    checks = marker_checks(me.shard, log, marker, on, loading=me.loading)
    done = MarkerWritten(marker.ticket, me.shard, error_of(checks))
    if error_of(checks) is not Errors.NONE:
        return Effects(me, local=(LocalCall(Role.KAFKA_APIS, "", done),), checks=checks)
    batch = marker_batch(log.end_offset, marker)
    me = me.but(
        enlisting=add_to_transaction.remove_guards(
            me.enlisting, marker.producer_id, marker.producer_epoch
        )
    )
    call = LocalCall(Role.KAFKA_APIS, "", done)
    waits = on.rules.marker_answer()
    wait = (WaitingForReplicas(batch.base_offset, call=call),) if waits else ()
    before = me
    me = replay(me, batch, on.rules) if on.rules.state_marker() else me.but(behind=True)
    return Effects(
        me.but(waiting=(*me.waiting, *wait)),
        requests=outcome_notices.news(before, me, on),
        appends=((me.shard, batch),),
        local=() if waits else (call,),
        events=(batch_appended(me.shard, batch),),
        checks=checks,
    )


def on_replicated(me: ShareCoordinator, on: Context) -> Effects[ShareCoordinator]:
    """Send the responses that waited for the replicas."""
    now = due(me.waiting, on.log(me.shard).high_watermark)
    return Effects(me.but(waiting=now.waiting), replies=now.replies, local=now.local)


def on_resigned(me: ShareCoordinator, on: Context) -> Effects[ShareCoordinator | None]:
    """Respond to all waiting requests that the coordinator has moved."""
    owed = fail_waiting(me.waiting, Errors.NOT_COORDINATOR)
    moved = (moved_check(me.shard, on, Errors.NOT_COORDINATOR),)
    waited = moved if owed.replies else ()
    done = Effects(None, replies=owed.replies, local=owed.local, checks=waited)
    return with_effects(None, done, *_reject_waiting(me, me.enlisting, moved))


def replay(me: ShareCoordinator, batch: Batch, rules: BrokerRules) -> ShareCoordinator:
    """Apply one batch of the log: the only way in which this coordinator's tables change."""
    if batch.control:
        return _replay_marker(me, batch, rules)
    for record in batch.records:
        if isinstance(record, ShareSnapshotRecord):
            before = me.states.get(record.key)
            newest = before.newest_leader if before is not None else 0
            state = ShareState(
                record.snapshot_epoch,
                record.state_epoch,
                record.leader_epoch,
                record.start_offset,
                record.delivery_complete_count,
                record.batches,
                cold=record.cold,
                fenced_below=newest if newest > record.leader_epoch else 0,
            )
            me = _reset(me, record.key, record.state_epoch, rules)
            me = me.but(states=me.states.set(record.key, state))
        elif isinstance(record, ShareTombstone):
            me = _reset(me, record.key, NO_EPOCH, rules)
            me = me.but(states=me.states.without(record.key))
        elif isinstance(record, ShareUpdateRecord):
            me = _replay_update(me, record, rules)
        else:
            assert isinstance(record, ShareStagedRecord), record
            me = _replay_acknowledgement(me, record, batch)
    return me


def _reset(
    me: ShareCoordinator, key: str, state_epoch: int, rules: BrokerRules
) -> ShareCoordinator:
    """Remove the transactional acknowledgements of a state that is created again or deleted, unless they survive that."""
    known = me.states.get(key)
    if known is None or known.state_epoch == state_epoch or rules.reset_while_pending(True)[1]:
        return me
    acknowledgements = me.acknowledgements
    for producer_id, pending in me.acknowledgements.items():
        left = tuple(acknowledgement for acknowledgement in pending if acknowledgement.key != key)
        acknowledgements = (
            acknowledgements.set(producer_id, left)
            if left
            else acknowledgements.without(producer_id)
        )
    return me.but(acknowledgements=acknowledgements)


def on_loaded(me: ShareCoordinator, on: Context) -> Effects[ShareCoordinator]:
    """Load the state: read the whole log.

    A release without KIP-1289 does not know the records of transactional acknowledgements and skips them. Source:
    CoordinatorLoaderImpl, which ignores a record of an unknown type.
    """
    stages = on.image.release_of(on.broker).stages
    for batch in on.log(me.shard).batches:
        known = batch if stages else _without_acknowledgements(batch)
        me = replay(me, known, on.rules)
    return Effects(me.but(loading=False))


def _without_acknowledgements(batch: Batch) -> Batch:
    return batch.but(
        records=tuple(r for r in batch.records if not isinstance(r, ShareStagedRecord))
    )


def _replay_update(
    me: ShareCoordinator, record: ShareUpdateRecord, rules: BrokerRules
) -> ShareCoordinator:
    # In a pruned log, an update may come before the snapshot that contains it.
    fresh = ShareState(record.snapshot_epoch, NO_EPOCH, record.leader_epoch, -1, -1, ())
    state = me.states.get(record.key) or fresh
    start = max(state.start_offset, record.start_offset)
    state = state.but(
        leader_epoch=record.leader_epoch,
        start_offset=start,
        delivery_complete_count=record.delivery_complete_count,
        batches=merge(state.batches, record.batches, start, rules.state_rank),
        updates=state.updates + 1,
        cold=False,
    )
    return me.but(states=me.states.set(record.key, state))


def _replay_acknowledgement(
    me: ShareCoordinator, record: ShareStagedRecord, batch: Batch
) -> ShareCoordinator:
    """Store a transactional acknowledgement apart from the state until it is decided.

    Its start offset takes effect at once.
    """
    acknowledgements = me.acknowledgements.get(batch.producer_id, ())
    acknowledgement = TransactionalAcknowledgement(
        record.key, batch.producer_epoch, record.staged, record.archiving
    )
    state = me.states.get(record.key)
    if state is not None and record.start_offset > state.start_offset:
        start = record.start_offset
        state = state.but(start_offset=start, batches=clip(state.batches, start))
        me = me.but(states=me.states.set(record.key, state))
    return me.but(
        acknowledgements=me.acknowledgements.set(
            batch.producer_id, (*acknowledgements, acknowledgement)
        )
    )


def _replay_marker(me: ShareCoordinator, batch: Batch, rules: BrokerRules) -> ShareCoordinator:
    acknowledgements = me.acknowledgements.get(batch.producer_id, ())
    kept = tuple(
        v
        for v in acknowledgements
        if not rules.marker_epoch(v.producer_epoch, batch.producer_epoch)
    )
    for acknowledgement in acknowledgements:
        state = me.states.get(acknowledgement.key)
        if acknowledgement in kept or state is None:
            continue
        committed = batch.control == COMMIT
        decided = tuple(
            _apply_decision(s, acknowledgement, rules, committed=committed)
            for s in acknowledgement.staged
        )
        # A commit is final. An abort only restores the delivery: if the leader has dropped the acknowledgement in the
        # meantime (its response was lost), what it wrote since then stays.
        joined = rules.outcome_join(state.batches, decided, committed, state.start_offset)
        state = state.but(batches=joined, cold=False)
        me = me.but(states=me.states.set(acknowledgement.key, state))
    if acknowledgements:
        left = me.acknowledgements.without(batch.producer_id)
        me = me.but(
            acknowledgements=me.acknowledgements.set(batch.producer_id, kept) if kept else left
        )
    return share_pending.resolve_pending(me, batch, rules) if rules.pending_resolver() else me


def _apply_decision(
    staged: StagedBatch,
    acknowledgement: TransactionalAcknowledgement,
    rules: BrokerRules,
    *,
    committed: bool,
) -> StateBatch:
    """Return the outcome of a transactional acknowledgement: a commit applies it, an abort frees the records.

    With a dead-letter queue, archived becomes ARCHIVING: the leader that learns of it makes the copy.
    """
    target = rules.commit_target(staged.acknowledge_type)
    if acknowledgement.archiving and target is RecordState.ARCHIVED:
        target = RecordState.ARCHIVING
    state = target if committed else RecordState.AVAILABLE
    return StateBatch(staged.first, staged.last, state, staged.delivery_count)


def _complete_count(state: ShareState, request: WriteStateData) -> int:
    if request.start_offset == state.start_offset:
        return max(state.delivery_complete_count, request.delivery_complete_count)
    if request.start_offset < state.start_offset:
        return state.delivery_complete_count
    return request.delivery_complete_count


def write(
    me: ShareCoordinator,
    record: ShareUpdateRecord | ShareSnapshotRecord | ShareTombstone,
    reply_to: ReplyTo | None,
    answer: Message | None,
    on: Context,
) -> Effects[ShareCoordinator]:
    """Append a record, apply it, and respond when it is replicated, if there is a request to respond to."""
    end = on.log(me.shard).end_offset
    batch = Batch(end, (record,), base_sequence=COORDINATOR_SEQUENCE)
    reply = Reply(reply_to, answer) if reply_to is not None and answer is not None else None
    if not on.image.has_enough_replicas(me.shard):
        return reject_write(me, reply)
    if me.behind:
        return _out_of_step(me, batch, reply)
    wait = (WaitingForReplicas(batch.last_offset, reply),) if reply is not None else ()
    return Effects(
        replay(me, batch, on.rules).but(waiting=(*me.waiting, *wait)),
        appends=((me.shard, batch),),
        events=(batch_appended(me.shard, batch),),
    )


def _stage(me: ShareCoordinator, waiting: Enlisting, on: Context) -> Effects[ShareCoordinator]:
    request = waiting.request
    assert isinstance(request, TxnWriteShareGroupState)
    log = on.log(me.shard)
    batch = Batch(
        log.end_offset,
        (ShareStagedRecord(request.key, request.staged, request.start_offset, request.archiving),),
        request.producer_id,
        request.producer_epoch,
        COORDINATOR_SEQUENCE,
        transactional=True,
    )
    # Another leader may have read the state while the partition was being added to the transaction.
    checks = one_after_another(
        lambda: share_state_checks.write_checks(me, request, on),
        lambda: (replicas_check(me.shard, on),),
        lambda: partition_log.check_client_batch(
            log,
            batch,
            on.rules,
            verified=on.rules.verification_guard(waiting.guarded),
            origin_client=False,
        ),
    )
    if error_of(checks) is not Errors.NONE:
        return _answer_stage(me, request, waiting.reply_to, checks)
    acknowledgement = TransactionalAcknowledgement(
        request.key, request.producer_epoch, request.staged, request.archiving
    )
    answer = TxnWriteShareGroupStateResponse(Errors.NONE, request.key)
    if acknowledgement in me.acknowledgements.get(request.producer_id, ()):
        # The leader retries because a response was lost: the transactional acknowledgement is in the log already.
        waits, replies = respond_when_replicated(log, Reply(waiting.reply_to, answer))
        again = (*checks, report_value("acknowledgement already in the log", True))
        return Effects(me.but(waiting=(*me.waiting, *waits)), replies=replies, checks=again)
    if me.behind:
        return _out_of_step(me, batch, Reply(waiting.reply_to, answer)).after(checks)
    wait = WaitingForReplicas(batch.last_offset, Reply(waiting.reply_to, answer))
    return Effects(
        replay(me, batch, on.rules).but(waiting=(*me.waiting, wait)),
        appends=((me.shard, batch),),
        events=(batch_appended(me.shard, batch),),
        checks=checks,
    )


def _out_of_step(
    me: ShareCoordinator, batch: Batch, reply: Reply | None
) -> Effects[ShareCoordinator]:
    """Detect, with the batch already in the log, that the log has more than this coordinator wrote.

    The coordinator drops its state and reads its log again. Waiting requests get NOT_COORDINATOR, although the batch is
    in the log and counts. Clause: CoordinatorRuntime.flushCurrentBatch, "out of sync with the underlying log"; finding
    X3.
    """
    mine = WaitingForReplicas(batch.last_offset, reply)
    owed = fail_waiting((*me.waiting, mine), Errors.NOT_COORDINATOR)
    step = (compare("log in step", None, False, False, Errors.NOT_COORDINATOR),)
    refused = _reject_waiting(me, me.enlisting, step)
    done = Effects(
        ShareCoordinator(me.shard, loading=True),
        replies=owed.replies,
        appends=((me.shard, batch),),
        local=owed.local,
        events=(batch_appended(me.shard, batch),),
        checks=step,
    )
    return with_effects(done.state, done, *refused)


def _go_on(
    me: ShareCoordinator, waiting: Enlisting, error: Errors, on: Context
) -> Effects[ShareCoordinator]:
    assert isinstance(waiting.request, TxnWriteShareGroupState)
    answered = add_to_transaction.answer_checks(waiting, error)
    if error is Errors.NONE:
        return _stage(me, waiting, on).after(answered)
    refused = add_to_transaction.meaning_checks(answered)
    return _answer_stage(me, waiting.request, waiting.reply_to, refused)


def _reject_waiting(
    me: ShareCoordinator, waiting: tuple[Enlisting, ...], checks: Checks
) -> tuple[Effects[ShareCoordinator], ...]:
    requests = ((w.request, w.reply_to) for w in add_to_transaction.still_waiting(waiting))
    return tuple(
        _answer_stage(me, r, to, checks)
        for r, to in requests
        if isinstance(r, TxnWriteShareGroupState)
    )


def _answer_stage(
    me: ShareCoordinator, request: TxnWriteShareGroupState, reply_to: ReplyTo, checks: Checks
) -> Effects[ShareCoordinator]:
    answer = TxnWriteShareGroupStateResponse(error_of(checks), request.key)
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
