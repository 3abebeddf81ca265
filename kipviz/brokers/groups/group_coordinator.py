"""The group coordinator: the committed offsets of regular consumer groups, also inside transactions.

WHO: the leader of one partition of `__consumer_offsets`.
WHERE IN KAFKA: GroupCoordinatorService, GroupCoordinatorShard, OffsetMetadataManager.
KIPS: KIP-98, KIP-447 (pending offsets), KIP-848 (member epochs), KIP-890 (implicit addition to the transaction).
DURABILITY: apply, then append; answer when committed. A crash loses what is not replicated.
PARTS: `group_state` holds the state, `group_kinds` finds the kind of a group id, `group_membership` has the members of
  regular groups, `classic_membership` those of the classic protocol, `share_membership` those of share groups,
  `share_administration` operators' requests about share groups, `group_administration` those about other groups,
  `offset_fetches` reads committed offsets, `group_retention` has the expiry of offsets and groups.
NOT MODELLED: the expiry of offsets by a retention time in the request. Members may also exist before the run: they are in the log from the start, and their
  epoch never changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import (
    Check,
    Checks,
    add_translation,
    compare,
    error_of,
    has_loaded,
    in_order,
    one_after_another,
    report_value,
)
from kipviz.brokers.context import Context, Effects, LocalCall, Reply, ReplyTo, with_effects
from kipviz.brokers.groups import group_kinds, group_retention, offset_topics, share_administration
from kipviz.brokers.groups.group_state import GroupCoordinator, replay
from kipviz.brokers.groups.group_writes import append_records
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
    replicas_check,
)
from kipviz.brokers.membership import (
    assignment_interval,
    classic_group,
    classic_membership,
    consumer_group,
    group_membership,
    share_membership,
)
from kipviz.brokers.timers import (
    AssignmentInterval,
    GroupRetention,
    InitialRebalanceDelay,
    OffsetRetention,
    RoleDelay,
    RoleTimer,
)
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.events import OffsetCommitted, OffsetResolved, OffsetStaged
from kipviz.messages.groups.groups import (
    GroupOffset,
    OffsetCommit,
    TxnOffsetCommit,
    committed_response,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.batches import COORDINATOR_SEQUENCE, Batch
from kipviz.records.consumer_offsets import OffsetCommitRecord, OffsetTombstone
from kipviz.records.placement import topic_of


def timers(me: GroupCoordinator, on: Context) -> tuple[RoleTimer, ...]:
    """Return the session timers of the members of groups of either kind, and the rebalance timers."""
    return (
        *group_membership.timers(me, on),
        *classic_membership.timers(me, on),
        *share_membership.running(me),
        *group_retention.timers(me, on),
    )


def on_timer(me: GroupCoordinator, timer: RoleTimer, on: Context) -> Effects[GroupCoordinator]:
    """Remove the member whose timer expired, or expire unused offsets."""
    if isinstance(timer, GroupRetention | OffsetRetention):
        return group_retention.on_timer(me, timer, on)
    if timer in share_membership.running(me):
        return share_membership.on_timer(me, timer, on)
    if timer in classic_membership.timers(me, on):
        return classic_membership.on_timer(me, timer, on)
    return group_membership.on_timer(me, timer, on)


def delays(me: GroupCoordinator) -> tuple[RoleDelay, ...]:
    """Return the delays before a group's first generation, or its next target; they cost no fault budget."""
    return (*classic_membership.delays(me), *assignment_interval.delays(me))


def on_delay(me: GroupCoordinator, delay: RoleDelay, on: Context) -> Effects[GroupCoordinator]:
    """Start a generation, or compute the next target."""
    if isinstance(delay, AssignmentInterval):
        return assignment_interval.on_delay(me, delay, on)
    assert isinstance(delay, InitialRebalanceDelay), delay
    return classic_membership.on_delay(me, delay, on)


# Responses of share coordinators, for share groups with new partitions.
on_initialized = share_membership.on_initialized
on_initialize_lost = share_membership.on_initialize_lost
on_state_answered = share_administration.on_state_answered
on_state_lost = share_administration.on_state_lost


@takes(OffsetCommit)
def on_offset_commit(
    me: GroupCoordinator, request: OffsetCommit, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Commit a group's offsets at once, outside any transaction.

    WHEN: commitSync(). CHECKS: the topics exist; a named member exists, at its epoch. Only a group without members
    accepts a request without a member id.
    DOES: appends one record for each partition. An offset that is pending in a transaction for the same partition stays
    pending, and wins if it is later in the log. ANSWERS: when the records are replicated.
    Clause: KIP-848 "OffsetCommit"; OffsetMetadataManager.commitOffset.
    """
    alone = offset_topics.answer_alone(request, on.image, on.rules)
    if alone is not None:
        return Effects(me, replies=(Reply(reply_to, alone),), checks=_nothing_left(alone.error))
    lost = offset_topics.unknown_partitions(request, on.image, on.rules)
    offsets = offset_topics.without(request.offsets, lost)
    checks = one_after_another(
        lambda: (has_loaded(me.loading),),
        lambda: (group_kinds.regular_check(me, request.group_id),),
        lambda: _member_checks(me, request, offsets, transactional=False),
    )
    missing = offset_topics.missing_checks(lost)
    if error_of(checks) is not Errors.NONE:
        told = committed_response(request, error_of(checks), lost)
        return Effects(me, replies=(Reply(reply_to, told),), checks=(*missing, *checks))
    large = offset_topics.too_large(offsets)
    offsets = offset_topics.without(offsets, large)
    committed = tuple(OffsetCommitted(request.group_id, o.partition, o.offset) for o in offsets)
    answer = Reply(reply_to, committed_response(request, own=(*lost, *large)))
    done = append_records(me, _records(request.group_id, offsets, on), committed, answer, on)
    return done.after((*missing, *checks, *offset_topics.size_checks(large)))


@takes(TxnOffsetCommit)
def on_txn_offset_commit(
    me: GroupCoordinator, request: TxnOffsetCommit, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Append a group's offsets to a transaction, after adding this partition to it.

    CHECKS: whether a member may be named at all (drafts of KIP-447), then that the topics exist, by id since version 6.
    If none exists, the transaction coordinator is not asked.
    Clause: KIP-890 "TxnOffsetCommit", version 5 and later; KIP-1319 "Topic ID resolution";
    KafkaApis.handleTxnOffsetCommitRequest, GroupCoordinatorService.commitTransactionalOffsets.
    """
    if request.member_id:
        level = on.image.features.inter_broker_protocol
        refused = on.rules.group_metadata_gate(level)
        if refused is not Errors.NONE:
            gate = Check("inter.broker.protocol.version", None, level, refused)
            return _reject_offsets(me, request, reply_to, (gate,))
    alone = offset_topics.answer_alone(request, on.image, on.rules)
    if alone is not None:
        return Effects(me, replies=(Reply(reply_to, alone),), checks=_nothing_left(alone.error))
    lost = offset_topics.unknown_partitions(request, on.image, on.rules)
    log, producer = on.log(me.shard), (request.producer_id, request.producer_epoch)
    checks = one_after_another(
        lambda: (has_loaded(me.loading),),
        lambda: add_to_transaction.fence_checks(request, producer, log, on),
    )
    missing = offset_topics.missing_checks(lost)
    if error_of(checks) is not Errors.NONE:
        return _reject_offsets(me, request, reply_to, checks, lost).after(missing)
    waiting = Enlisting(request, reply_to, *producer, (me.shard,))
    if not add_to_transaction.is_new(request, producer, log, on):
        return _stage(me, waiting, on).after((*missing, *checks))
    waiting = add_to_transaction.number_question(me.enlisting, waiting, on)
    broker = add_to_transaction.coordinator_of(request.transactional_id, on)
    asked = add_to_transaction.question(
        request.transactional_id, waiting, Role.GROUP_COORDINATOR, me.shard, broker
    )
    if asked is None:
        rejected = (*checks, *add_to_transaction.no_coordinator_checks())
        return _reject_offsets(me, request, reply_to, rejected, lost).after(missing)
    enlisted = (*missing, *checks, report_value("partition added", False))
    waits = Effects(
        me.but(enlisting=add_to_transaction.add_waiting(me.enlisting, waiting)), checks=enlisted
    )
    return add_to_transaction.ask(waits, asked, on)


def on_enlisted(me: GroupCoordinator, call: Enlisted, on: Context) -> Effects[GroupCoordinator]:
    """Continue the commits that waited until this partition was added to the transaction."""
    mine, rest = add_to_transaction.split_waiting(me.enlisting, call)
    return add_to_transaction.continue_each(
        me.but(enlisting=rest), mine, call.answer.error, on, _go_on
    )


def on_write_marker(
    me: GroupCoordinator, marker: WriteMarker, on: Context
) -> Effects[GroupCoordinator]:
    """Resolve a producer's pending offsets with a control batch in this log.

    Errors that mean "not here, not now" reach the transaction coordinator as NOT_LEADER_OR_FOLLOWER, so that it
    retries. Clause: GroupCoordinatorService.completeTransaction.
    """
    log = on.log(me.shard)
    checks = marker_checks(me.shard, log, marker, on, loading=me.loading)
    error = error_of(checks)
    done = MarkerWritten(marker.ticket, me.shard, error)
    if error is not Errors.NONE:
        return Effects(me, local=(LocalCall(Role.KAFKA_APIS, "", done),), checks=checks)
    batch = marker_batch(log.end_offset, marker)
    events = tuple(
        OffsetResolved(p.group_id, p.partition, p.offset, marker.producer_id, marker.committed)
        for p in me.pending.get(marker.producer_id, ())
    )
    me = me.but(
        enlisting=add_to_transaction.remove_guards(
            me.enlisting, marker.producer_id, marker.producer_epoch
        )
    )
    wait = WaitingForReplicas(batch.base_offset, call=LocalCall(Role.KAFKA_APIS, "", done))
    return Effects(
        replay(me, batch).but(waiting=(*me.waiting, wait)),
        appends=((me.shard, batch),),
        events=(batch_appended(me.shard, batch), *events),
        checks=checks,
    )


def on_replicated(me: GroupCoordinator, on: Context) -> Effects[GroupCoordinator]:
    """Send the responses that waited for the replicas."""
    now = due(me.waiting, on.log(me.shard).high_watermark)
    return Effects(me.but(waiting=now.waiting), replies=now.replies, local=now.local)


def on_resigned(me: GroupCoordinator, on: Context) -> Effects[GroupCoordinator | None]:
    """Respond to all waiting requests that the coordinator has moved."""
    owed = fail_waiting(me.waiting, Errors.NOT_COORDINATOR)
    enlisting = add_to_transaction.still_waiting(me.enlisting)
    moved = (moved_check(me.shard, on, Errors.NOT_COORDINATOR),)
    refused = [_reject_waiting(me, w, moved, on) for w in enlisting]
    members = classic_membership.on_resigned(me)
    operators = share_administration.refused_all(me, Errors.NOT_COORDINATOR)
    replies = (*owed.replies, *members, *operators)
    done = Effects(None, replies=replies, local=owed.local, checks=moved if replies else ())
    return with_effects(None, done, *refused)


def on_loaded(me: GroupCoordinator, on: Context) -> Effects[GroupCoordinator]:
    """Load the state: read the whole log."""
    for batch in on.log(me.shard).batches:
        me = replay(me, batch)
    return Effects(me.but(loading=False))


def _stage(me: GroupCoordinator, waiting: Enlisting, on: Context) -> Effects[GroupCoordinator]:
    whole = waiting.request
    assert isinstance(whole, TxnOffsetCommit)
    log = on.log(me.shard)
    lost = offset_topics.unknown_partitions(whole, on.image, on.rules)
    request = whole.but(offsets=offset_topics.without(whole.offsets, lost))
    large = offset_topics.too_large(request.offsets)
    kept = offset_topics.without(request.offsets, large)
    batch = Batch(
        log.end_offset,
        _records(request.group_id, kept, on),
        request.producer_id,
        request.producer_epoch,
        COORDINATOR_SEQUENCE,
        transactional=True,
    )
    checks = one_after_another(
        lambda: (group_kinds.regular_check(me, request.group_id),),
        lambda: _fencing_checks(me, request, on),
        lambda: (replicas_check(me.shard, on),),
        lambda: partition_log.check_client_batch(
            log,
            batch,
            on.rules,
            verified=on.rules.verification_guard(waiting.guarded),
            origin_client=False,
            epoch_first=add_to_transaction.checks_epoch_first(on),
        ),
    )
    if error_of(checks) is not Errors.NONE:
        return _reject_offsets(me, whole, waiting.reply_to, checks, lost)
    checks = (*checks, *offset_topics.size_checks(large))
    answer = Reply(waiting.reply_to, committed_response(whole, own=(*lost, *large)))
    if not kept:
        return append_records(me, (), (), answer, on).after(checks)
    wait = WaitingForReplicas(batch.last_offset, answer)
    staged = tuple(
        OffsetStaged(
            request.group_id, o.partition, o.offset, request.producer_id, request.member_id
        )
        for o in kept
    )
    return Effects(
        replay(me, batch).but(waiting=(*me.waiting, wait)),
        appends=((me.shard, batch),),
        events=(batch_appended(me.shard, batch), *staged),
        checks=checks,
    )


def _fencing_checks(me: GroupCoordinator, request: TxnOffsetCommit, on: Context) -> Checks:
    """Check the member that a TxnOffsetCommit names, if the design fences by it.

    The error is translated for the request's version.
    """
    checks = _member_checks(me, request, request.offsets, transactional=True)
    told = error_for_version(request.version, error_of(checks))
    checks = add_translation(checks, "request version", request.version, told)
    held = on.rules.zombie_offsets(told)
    return add_translation(checks, "fencing by the group", None, held)


def _nothing_left(error: Errors) -> Checks:
    """Return the check that rejects a request because none of its topics exists."""
    return (Check("topic there", None, False, error),)


def _records(
    group_id: str, offsets: tuple[GroupOffset, ...], on: Context
) -> tuple[OffsetCommitRecord, ...]:
    """Return the records to append: with the topic's id, even if the request named it by name."""
    return tuple(
        OffsetCommitRecord(
            group_id,
            o.partition,
            o.offset,
            on.image.topic_id_of(topic_of(o.partition)),
            o.leader_epoch,
            o.metadata,
        )
        for o in offsets
    )


def _member_checks(
    me: GroupCoordinator,
    request: OffsetCommit | TxnOffsetCommit,
    offsets: tuple[GroupOffset, ...],
    *,
    transactional: bool,
) -> Checks:
    """Check a group's member as its protocol does: by the epoch (KIP-848, KIP-1319), or by the generation.

    A member that existed before the run has its partitions since its only epoch.
    """
    group_id, member_id, epoch = request.group_id, request.member_id, request.member_epoch
    classic, static = me.classic_groups.get(group_id), request.instance_id
    if classic is not None:
        return classic_group.commit_checks(
            classic, member_id, epoch, transactional=transactional, instance_id=static
        )
    group = me.groups.get(group_id)
    if group is not None:
        partitions = tuple(o.partition for o in offsets)
        return consumer_group.commit_checks(
            group,
            member_id,
            epoch,
            partitions,
            transactional=transactional,
            instance_id=static,
        )
    if not any(known == group_id for known, _ in me.members):
        return (compare("group id", group_id, None, epoch < 0, Errors.GROUP_ID_NOT_FOUND),)
    return _given_member_checks(me.members.get((group_id, member_id)), member_id, epoch)


@in_order
def _given_member_checks(known_epoch: int | None, member_id: str, epoch: int) -> Iterator[Check]:
    found = member_id if known_epoch is not None else None
    there = known_epoch is not None
    yield compare("member id", member_id, found, there, Errors.UNKNOWN_MEMBER_ID)
    same = known_epoch == epoch
    yield compare("member epoch", epoch, known_epoch, same, Errors.STALE_MEMBER_EPOCH)


def error_for_version(version: int, error: Errors) -> Errors:
    """Return an error as a version encodes it: up to version 5 there is only one for a wrong epoch.

    Clause: KIP-1319 "Error mapping".
    """
    newer = (Errors.GROUP_ID_NOT_FOUND, Errors.STALE_MEMBER_EPOCH)
    return Errors.ILLEGAL_GENERATION if version < offset_topics.BY_ID and error in newer else error


def on_topic_deleted(me: GroupCoordinator, topic: str, on: Context) -> Effects[GroupCoordinator]:
    """Delete the offsets that groups have committed, or have pending, for a deleted topic.

    WHEN: the controller has deleted the topic. DOES: writes a tombstone for each offset. Share groups forget that its
    partitions have state; the share coordinators delete that state themselves.
    Clause: GroupCoordinatorService.handleTopicsDeletion (on-topics-deleted, maybe-cleanup-share-group-state).
    """
    shared = share_membership.without_topic(me, topic)
    places = [place for place in me.offsets if topic_of(place[1]) == topic]
    places += [
        (p.group_id, p.partition)
        for staged in me.pending.values()
        for p in staged
        if topic_of(p.partition) == topic
    ]
    tombstones = tuple(OffsetTombstone(*place) for place in dict.fromkeys(places))
    first = append_records(me, tombstones, (), None, on)
    second = append_records(first.state, shared, (), None, on.after(first))
    return with_effects(second.state, first, second)


def _go_on(
    me: GroupCoordinator, waiting: Enlisting, error: Errors, on: Context
) -> Effects[GroupCoordinator]:
    answered = add_to_transaction.answer_checks(waiting, error)
    if error is Errors.NONE:
        assert isinstance(waiting.request, TxnOffsetCommit)
        lost = offset_topics.unknown_partitions(waiting.request, on.image, on.rules)
        missing = offset_topics.missing_checks(lost)
        return _stage(me, waiting, on).after((*missing, *answered))
    return _reject_waiting(me, waiting, add_to_transaction.meaning_checks(answered), on)


def _reject_waiting(
    me: GroupCoordinator, waiting: Enlisting, checks: Checks, on: Context
) -> Effects[GroupCoordinator]:
    """Reject requests that waited for the addition to the transaction; missing partitions keep their own error."""
    request = waiting.request
    assert isinstance(request, TxnOffsetCommit)
    lost = offset_topics.unknown_partitions(request, on.image, on.rules)
    rejected = _reject_offsets(me, request, waiting.reply_to, checks, lost)
    return rejected.after(offset_topics.missing_checks(lost))


def _reject_offsets(
    me: GroupCoordinator,
    request: TxnOffsetCommit,
    reply_to: ReplyTo,
    checks: Checks,
    lost: tuple[PartitionResult, ...] = (),
) -> Effects[GroupCoordinator]:
    told = committed_response(request, error_of(checks), lost)
    return Effects(me, replies=(Reply(reply_to, told),), checks=checks)
