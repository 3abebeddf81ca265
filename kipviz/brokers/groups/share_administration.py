"""Operators' requests about share groups: describe them, read and alter their offsets, delete them.

A part of the group coordinator's role (`group_coordinator`), with the same state.
WHERE IN KAFKA: GroupCoordinatorService, GroupCoordinatorShard, GroupMetadataManager, and the persister inside the group
coordinator's broker.
KIPS: KIP-932, KIP-1226 (lag).

The durable state of a share-partition is at its share coordinator. So a request waits here until every share
coordinator that it concerns has answered. No share-partition leader is notified: one that has the old state in memory
finds out when one of its writes is rejected.

NOT MODELLED: several topics to delete in one request, or several groups in a request about offsets; the persister's
limit of five attempts (here it retries until it is answered); that a share coordinator is asked only once the group's
own record is replicated; ListOffsets, with which the end of a partition is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from kipviz.brokers.authorizer import seen, topics_seen
from kipviz.brokers.checks import (
    Check,
    Checks,
    compare,
    error_of,
    has_loaded,
    in_order,
    one_after_another,
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
from kipviz.brokers.groups import group_kinds
from kipviz.brokers.groups.group_state import GroupCoordinator, Operating, as_replicated
from kipviz.brokers.groups.group_writes import append_records
from kipviz.brokers.handling import takes
from kipviz.brokers.membership.share_group import ShareGroup
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.apis.rights import Resource
from kipviz.messages.errors import Errors
from kipviz.messages.groups.several_groups import named_groups
from kipviz.messages.message import Message
from kipviz.messages.shares.share_admin import (
    EMPTY,
    STABLE,
    AlterShareGroupOffsets,
    AlterShareGroupOffsetsResponse,
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsResponse,
    DeleteShareGroupOffsets,
    DeleteShareGroupOffsetsResponse,
    DescribedMember,
    DescribedShareGroup,
    DescribedShareOffsets,
    DescribeShareGroupOffsets,
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribe,
    ShareGroupDescribeResponse,
    ShareOffset,
    TopicResult,
    WaitsForStates,
)
from kipviz.messages.shares.share_state import (
    DeleteShareGroupState,
    DeleteStateData,
    InitializeShareGroupState,
    InitializeShareGroupStateResponse,
    InitializeStateData,
    OperatorsStateRequest,
    OperatorsStateResponse,
    ReadShareGroupStateSummary,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryData,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.placement import SHARE_GROUP_STATE, topic_of
from kipviz.records.share_group_members import (
    OF_A_GROUP,
    ShareGroupDeleted,
    ShareGroupEpochRecord,
    ShareGroupRecord,
    ShareGroupStatePartitionsRecord,
)

# After these errors the persister looks up the share coordinator again and repeats the request.
AGAIN = (
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
)


# -- handlers ----------------------------------------------------------------------------------


@takes(ShareGroupDescribe)
def on_share_group_describe(
    me: GroupCoordinator, request: ShareGroupDescribe, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Return the members of a share group and their epochs.

    WHEN: describeShareGroups(). CHECKS: that there is such a share group, and that the sender may describe every topic
    that its members have. ANSWERS: what is replicated.
    Clause: KIP-932 "ShareGroupDescribe"; GroupMetadataManager. shareGroupDescribe.
    """
    (group_id,), seen_now = request.group_ids, as_replicated(me, on)
    checks = one_after_another(
        lambda: _available_checks(me, group_id),
        lambda: (group_kinds.known_share_group_check(seen_now, group_id),),
    )
    if error_of(checks) is not Errors.NONE:
        return _reject(me, request, reply_to, checks)
    group = seen_now.share_groups[group_id]
    members = tuple(
        DescribedMember(name, m.epoch, m.subscribed_topic_names, m.partitions)
        for name, m in group.members.items()
    )
    held = tuple(p for m in members for p in m.partitions)
    if on.image.acls is not None:
        source, allowed = reply_to.source, topics_seen(on.image.acls, reply_to.source, held)
        denied = Errors.TOPIC_AUTHORIZATION_FAILED
        checks = (*checks, compare("rights", source, allowed, allowed, denied))
        if not allowed:
            return _reject(me, request, reply_to, checks)
    described = DescribedShareGroup(
        Errors.NONE,
        group_id,
        STABLE if members else EMPTY,
        group.epoch,
        group.target_epoch,
        members,
    )
    answer = ShareGroupDescribeResponse((described,))
    checks = (*checks, *_standing(group))
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)


@takes(DescribeShareGroupOffsets)
def on_describe_share_group_offsets(
    me: GroupCoordinator, request: DescribeShareGroupOffsets, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Return a share group's start offsets and its lag.

    WHEN: listShareGroupOffsets(). CHECKS: nothing: an unknown group has no offsets. DOES: asks the share coordinator of
    each partition for a summary, which fences no leader. ANSWERS: when all of them have answered.
    Clause: KIP-932 "DescribeShareGroupOffsets"; KIP-1226.
    """
    (wanted,) = request.groups
    checks = _available_checks(me, wanted.group_id)
    if error_of(checks) is not Errors.NONE:
        return _reject(me, request, reply_to, checks)
    group = me.share_groups.get(wanted.group_id) or ShareGroup()
    partitions = group.initialized if wanted.partitions is None else wanted.partitions
    known = tuple(p for p in partitions if topic_of(p) in on.image.topic_ids)
    results = tuple(PartitionResult(p, Errors.NONE) for p in partitions if p not in known)
    asked = tuple(
        ReadShareGroupStateSummary((ReadStateSummaryData(on.image.share_key(wanted.group_id, p)),))
        for p in known
    )
    done = _operate(me, request, reply_to, asked, (), on, results)
    return done.after((*checks, *_standing(group)))


@takes(AlterShareGroupOffsets)
def on_alter_share_group_offsets(
    me: GroupCoordinator, request: AlterShareGroupOffsets, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Change the start offsets of a share group.

    WHEN: alterShareGroupOffsets(). CHECKS: the group is a share group, or does not exist yet, and it is empty; the
    partitions exist. DOES: initializes the state of each partition again, with the start offset, and with the group's
    epoch as state epoch. ANSWERS: when every share coordinator has answered. OPEN: reset_epoch.
    Clause: KIP-932 "AlterShareGroupOffsets"; GroupMetadataManager.alterShareGroupOffsets.
    """
    group_id = request.group_id
    group = me.share_groups.get(group_id) or ShareGroup()
    checks = one_after_another(
        lambda: _available_checks(me, group_id),
        lambda: (group_kinds.shared_check(me, group_id),),
        lambda: (_empty_check(group),),
    )
    if error_of(checks) is not Errors.NONE:
        return _reject(me, request, reply_to, checks)
    epoch = on.rules.reset_epoch(group.epoch)
    known = tuple((p, start) for p, start in request.starts if p in on.image.leaders)
    unknown = tuple(p for p, _ in request.starts if p not in on.image.leaders)
    records: tuple[ShareGroupRecord, ...] = ()
    if epoch != group.epoch:
        records = (ShareGroupEpochRecord(group_id, epoch),)
    if known:
        wanted = (p for p, _ in known)
        initializing = tuple(sorted(dict.fromkeys((*group.initializing, *wanted))))
        topics = [topic_of(p) for p in initializing]
        deleting = tuple(t for t in group.deleting if t not in topics)
        records = (*records, _partitions(group_id, initializing, group.initialized, deleting))
    asked = tuple(
        InitializeShareGroupState(
            (InitializeStateData(on.image.share_key(group_id, p), epoch, start),)
        )
        for p, start in known
    )
    gone = Errors.UNKNOWN_TOPIC_OR_PARTITION
    results = tuple(PartitionResult(p, gone) for p in unknown)
    there = (
        compare("partition there", p, p in on.image.leaders, p in on.image.leaders, gone)
        for p, _ in request.starts
    )
    made = (*checks, Check("epoch of the reset", epoch, group.epoch), *there)
    return _operate(me, request, reply_to, asked, records, on, results).after(made)


@takes(DeleteShareGroupOffsets)
def on_delete_share_group_offsets(
    me: GroupCoordinator, request: DeleteShareGroupOffsets, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Delete the offsets of a share group for topics.

    WHEN: deleteShareGroupOffsets(). CHECKS: the group exists and is empty; each topic exists, and has state to delete.
    DOES: marks the topics as being deleted, and deletes the state of their partitions. ANSWERS: when every share
    coordinator has answered, with an error per topic.
    Clause: KIP-932 "DeleteShareGroupOffsets"; GroupCoordinatorShard.initiateDeleteShareGroupOffsets.
    """
    group_id = request.group_id
    checks = _deletable_checks(me, group_id)
    if error_of(checks) is not Errors.NONE:
        return _reject(me, request, reply_to, checks)
    group = me.share_groups[group_id]
    image, missing = on.image, Errors.UNKNOWN_TOPIC_OR_PARTITION
    found = {topic: _stored_partitions(group, topic, on) for topic in request.topics}
    stored = {t: here for t, here in found.items() if here and t in image.topic_ids}
    there = (
        compare("state of the topic", topic, here, topic in stored, missing)
        for topic, here in found.items()
    )
    checks = (*checks, *there)
    deleted = tuple(p for here in stored.values() for p in here)
    if not deleted:
        results = tuple(TopicResult(topic, missing) for topic in request.topics)
        answer = DeleteShareGroupOffsetsResponse(Errors.NONE, group_id, results)
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
    kept = tuple(p for p in group.initialized if p not in deleted)
    deleting = tuple(sorted(dict.fromkeys((*group.deleting, *stored))))
    record = _partitions(group_id, group.initializing, kept, deleting)
    asked = tuple(
        DeleteShareGroupState((DeleteStateData(on.image.share_key(group_id, p)),)) for p in deleted
    )
    return _operate(me, request, reply_to, asked, (record,), on).after(checks)


def _stored_partitions(group: ShareGroup, topic: str, on: Context) -> tuple[str, ...]:
    """Return the partitions of a topic that have a state to delete, also one whose deletion was not completed."""
    here = tuple(p for p in group.initialized if topic_of(p) == topic)
    if here or topic not in group.deleting:
        return here
    return tuple(p for p in on.image.leaders if topic_of(p) == topic)


def on_delete_groups(
    me: GroupCoordinator, request: DeleteGroups, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Delete a share group: first the durable state of its share-partitions, then the group.

    WHEN: deleteShareGroups(). CHECKS: the group exists and is empty. ANSWERS: with the first error of a share
    coordinator, in which case the group stays; otherwise when its own records are deleted.
    Clause: KIP-229 "DeleteGroups"; KIP-932; GroupCoordinatorService.deleteShareGroups.
    """
    (group_id,) = request.groups_names
    checks = _deletable_checks(me, group_id)
    if error_of(checks) is not Errors.NONE:
        return _reject(me, request, reply_to, checks)
    group = me.share_groups[group_id]
    again = (p for p in on.image.leaders if topic_of(p) in group.deleting)
    partitions = tuple(dict.fromkeys((*group.initialized, *group.initializing, *again)))
    topics = tuple(sorted(dict.fromkeys(topic_of(p) for p in partitions)))
    asked = tuple(
        DeleteShareGroupState((DeleteStateData(on.image.share_key(group_id, p)),))
        for p in partitions
    )
    record = (_partitions(group_id, (), (), topics),) if partitions else ()
    done = _operate(me, request, reply_to, asked, record, on)
    return done.after((*checks, *_standing(group)))


def on_state_answered(
    me: GroupCoordinator, tag: str, answer: OperatorsStateResponse, on: Context
) -> Effects[GroupCoordinator]:
    """Continue an operator's request when a share coordinator has answered.

    DOES: retries with the share-partition's current coordinator, stores the answer, or completes the request with the
    last one.
    """
    found = _waiting_for(me, tag, answer)
    if found is None:
        return Effects(me)
    waiting, asked = found
    error = answer.only.error
    if error in AGAIN:
        again = Check("answer of the coordinator", _find_partition(asked, on), error)
        return _ask(me, waiting, asked, on).after((again,))
    told = Check("answer of the coordinator", _find_partition(asked, on), error, error)
    return _note_answer(me, waiting, asked, answer, on).after((told,))


def on_state_lost(
    me: GroupCoordinator,
    tag: str,
    message: OperatorsStateRequest | OperatorsStateResponse,
    on: Context,
) -> Effects[GroupCoordinator]:
    """Retry at the current share coordinator, because the connection to it broke."""
    found = _waiting_for(me, tag, message)
    if found is None:
        return Effects(me)
    waiting, asked = found
    lost = Check("answer of the coordinator", _find_partition(asked, on), Errors.NETWORK_EXCEPTION)
    return _ask(me, waiting, asked, on).after((lost,))


def refused_all(me: GroupCoordinator, error: Errors) -> tuple[Reply, ...]:
    """Return the responses to all waiting operators when the coordinator loses its partition."""
    return tuple(Reply(o.reply_to, reject_request(o.request, error)) for o in me.operating)


# -- pieces ------------------------------------------------------------------------------------


@in_order
def _available_checks(me: GroupCoordinator, group_id: str) -> Iterator[Check]:
    """Check that the coordinator has loaded its log, and that the request names a group."""
    yield has_loaded(me.loading)
    yield compare("group id", None, group_id, bool(group_id), Errors.INVALID_GROUP_ID)


@in_order
def _deletable_checks(me: GroupCoordinator, group_id: str) -> Iterator[Check]:
    """Check that a group's data can be deleted: the group exists and is empty."""
    yield from _available_checks(me, group_id)
    yield group_kinds.known_share_group_check(me, group_id)
    yield _empty_check(me.share_groups[group_id])


def _empty_check(group: ShareGroup) -> Check:
    members = group.members.keys()
    return compare("members of the group", None, members, not members, Errors.NON_EMPTY_GROUP)


def _standing(group: ShareGroup) -> Checks:
    """Return checks that report a group's epoch and the partitions that have a state."""
    return (
        report_value("group epoch", group.epoch),
        report_value("partitions initialized", group.initialized),
        report_value("topics being deleted", group.deleting),
    )


def _find_partition(asked: OperatorsStateRequest | OperatorsStateResponse, on: Context) -> str:
    """Return the name of the partition that a request to a share coordinator is about."""
    return _partition(asked.key, on)


def _reject(
    me: GroupCoordinator, request: Message, reply_to: ReplyTo, checks: Checks
) -> Effects[GroupCoordinator]:
    refusal = Reply(reply_to, reject_request(request, error_of(checks)))
    return Effects(me, replies=(refusal,), checks=checks)


def _partition(key: str, on: Context) -> str:
    _, topic_id, index = key.rsplit(":", 2)
    topic = next((t for t, known in on.image.topic_ids.items() if known == topic_id), topic_id)
    return f"{topic}-{index}"


def _partitions(
    group_id: str,
    initializing: tuple[str, ...],
    initialized: tuple[str, ...],
    deleting: tuple[str, ...],
) -> ShareGroupStatePartitionsRecord:
    return ShareGroupStatePartitionsRecord(group_id, initializing, initialized, deleting)


def _operate(
    me: GroupCoordinator,
    request: WaitsForStates,
    reply_to: ReplyTo,
    asked: tuple[OperatorsStateRequest, ...],
    records: tuple[Value, ...],
    on: Context,
    results: tuple[PartitionResult, ...] = (),
) -> Effects[GroupCoordinator]:
    """Append the records, and send requests to the share coordinators; without requests, complete at once."""
    # Of several groups in one request each waits by itself, perhaps at one coordinator, and perhaps named twice.
    again = sum((o.reply_to, o.request) == (reply_to, request) for o in me.operating)
    tag = f"{reply_to.source} {reply_to.incarnation} {named_groups(request)[0]} {again}"
    waiting = Operating(request, reply_to, tag, asked, (), results)
    noted = append_records(me, records, (), None, on) if records else Effects(me)
    if not asked:
        done = _finish(noted.state, waiting, on.after(noted))
        return with_effects(done.state, noted, done)
    parts = [
        noted.but(state=noted.state.but(operating=_replace_operating(noted.state, tag, waiting)))
    ]
    for message in asked:
        now = next(o for o in parts[-1].state.operating if o.tag == tag)
        parts.append(_ask(parts[-1].state, now, message, on.after(*parts)))
    return with_effects(parts[-1].state, *parts)


def _ask(
    me: GroupCoordinator, waiting: Operating, message: OperatorsStateRequest, on: Context
) -> Effects[GroupCoordinator]:
    """Send a request to a share coordinator. Without a leader, the result is an error at once."""
    broker = on.image.leader_of(on.image.home_of(SHARE_GROUP_STATE, message.key))
    if broker != NOBODY:
        asked = Request(
            Channel.INITIALIZER, broker, message, Role.GROUP_COORDINATOR, me.shard, waiting.tag
        )
        return Effects(me, requests=(asked,))
    error = Errors.COORDINATOR_NOT_AVAILABLE
    unreachable = Check("share coordinator", _find_partition(message, on), broker, error)
    unavailable = reject_request(message, error)
    assert isinstance(unavailable, OperatorsStateResponse), "it is the response of the same API"
    return _note_answer(me, waiting, message, unavailable, on).after((unreachable,))


def _note_answer(
    me: GroupCoordinator,
    waiting: Operating,
    asked: OperatorsStateRequest,
    answer: OperatorsStateResponse,
    on: Context,
) -> Effects[GroupCoordinator]:
    left = tuple(m for m in waiting.asked if m != asked)
    waiting = waiting.but(asked=left, answers=(*waiting.answers, answer))
    if left:
        return Effects(me.but(operating=_replace_operating(me, waiting.tag, waiting)))
    return _finish(me.but(operating=_replace_operating(me, waiting.tag)), waiting, on)


def _waiting_for(
    me: GroupCoordinator, tag: str, message: OperatorsStateRequest | OperatorsStateResponse
) -> tuple[Operating, OperatorsStateRequest] | None:
    """Return the operator's request and its part that equals a message, or that a message answers."""
    asked = ((o, m) for o in me.operating if o.tag == tag for m in o.asked)
    return next((each for each in asked if each[1].key == message.key), None)


def _replace_operating(me: GroupCoordinator, tag: str, *now: Operating) -> tuple[Operating, ...]:
    return (*(o for o in me.operating if o.tag != tag), *now)


def _finish(me: GroupCoordinator, done: Operating, on: Context) -> Effects[GroupCoordinator]:
    match done.request:
        case DescribeShareGroupOffsets():
            return _respond_with_offsets(me, done, on)
        case AlterShareGroupOffsets():
            return _store_states(me, done, on)
        case DeleteShareGroupOffsets():
            return _offsets_deleted(me, done, on)
        case DeleteGroups():
            return _group_deleted(me, done, on)
        case _:
            assert_never(done.request)


def _respond_with_offsets(
    me: GroupCoordinator, done: Operating, on: Context
) -> Effects[GroupCoordinator]:
    found = [ShareOffset(result.partition) for result in done.results]
    for answer in done.answers:
        assert isinstance(answer, ReadShareGroupStateSummaryResponse)
        summary = answer.only
        partition = _partition(summary.key, on)
        if summary.error is not Errors.NONE:
            found.append(ShareOffset(partition))  # no data, which is no error
            continue
        start, complete, lag = summary.start_offset, summary.delivery_complete_count, -1
        if start >= 0 and complete >= 0 and partition in on.image.leaders:
            lag = on.logs[partition].high_watermark - start - complete
        found.append(ShareOffset(partition, start, summary.leader_epoch, lag))
    acls, who = on.image.acls, done.reply_to.source
    shown = (o for o in found if seen(acls, who, Resource.TOPIC, topic_of(o.partition)))
    offsets = tuple(sorted(shown, key=lambda offset: offset.partition))
    request = done.request
    assert isinstance(request, DescribeShareGroupOffsets)
    described = DescribedShareOffsets(Errors.NONE, request.groups[0].group_id, offsets)
    answered = DescribeShareGroupOffsetsResponse((described,))
    return Effects(me, replies=(Reply(done.reply_to, answered),))


def _store_states(me: GroupCoordinator, done: Operating, on: Context) -> Effects[GroupCoordinator]:
    """Store which states exist now; a state that a share coordinator rejected is unchanged."""
    request = done.request
    assert isinstance(request, AlterShareGroupOffsets)
    results = list(done.results)
    made: list[str] = []
    for answer in done.answers:
        assert isinstance(answer, InitializeShareGroupStateResponse)
        error, partition = answer.only.error, _partition(answer.key, on)
        results.append(PartitionResult(partition, error))
        made += [partition] if error is Errors.NONE else []
    asked = [result.partition for result in results[len(done.results) :]]
    each = tuple(sorted(results, key=lambda result: result.partition))
    answered = AlterShareGroupOffsetsResponse(Errors.NONE, request.group_id, each)
    reply = Reply(done.reply_to, answered)
    checks = tuple(Check("result", r.partition, r.error, r.error) for r in each if r.error)
    group = me.share_groups.get(request.group_id)
    if group is None or not asked:
        return append_records(me, (), (), reply, on).after(checks)
    initializing = tuple(p for p in group.initializing if p not in asked)
    initialized = tuple(sorted(dict.fromkeys((*group.initialized, *made))))
    record = _partitions(request.group_id, initializing, initialized, group.deleting)
    return append_records(me, (record,), (), reply, on).after(checks)


def _offsets_deleted(
    me: GroupCoordinator, done: Operating, on: Context
) -> Effects[GroupCoordinator]:
    request = done.request
    assert isinstance(request, DeleteShareGroupOffsets)
    checks: Checks = ()
    results: list[TopicResult] = []
    for topic in request.topics:
        of_topic = _result_checks(done, on, topic)
        checks += of_topic
        error = error_of(of_topic) if of_topic else Errors.UNKNOWN_TOPIC_OR_PARTITION
        results.append(TopicResult(topic, error))
    answer = DeleteShareGroupOffsetsResponse(Errors.NONE, request.group_id, tuple(results))
    group = me.share_groups.get(request.group_id)
    gone = [result.topic for result in results if result.error is Errors.NONE]
    records: tuple[Value, ...] = ()
    if gone and group is not None:
        left = tuple(t for t in group.deleting if t not in gone)
        records = (_partitions(request.group_id, group.initializing, group.initialized, left),)
    return append_records(me, records, (), Reply(done.reply_to, answer), on).after(checks)


def _group_deleted(me: GroupCoordinator, done: Operating, on: Context) -> Effects[GroupCoordinator]:
    """Delete the group's own records, unless a member has joined in the meantime."""
    request = done.request
    assert isinstance(request, DeleteGroups)
    (group_id,) = request.groups_names
    group = me.share_groups.get(group_id)
    checks = one_after_another(
        lambda: _result_checks(done, on),
        lambda: (_empty_check(group),) if group is not None else (),
    )
    error = error_of(checks)
    answer = Reply(done.reply_to, DeleteGroupsResponse((DeletedGroup(error, group_id),)))
    if error is not Errors.NONE or group is None:
        return append_records(me, (), (), answer, on).after(checks)
    records = tuple(ShareGroupDeleted(group_id, of) for of in OF_A_GROUP)
    return append_records(me, records, (), answer, on).after(checks)


@in_order
def _result_checks(done: Operating, on: Context, topic: str = "") -> Iterator[Check]:
    """Return the results of every share coordinator, perhaps of one topic alone, up to the first error."""
    for answer in done.answers:
        partition = _find_partition(answer, on)
        if not topic or topic_of(partition) == topic:
            yield Check("result", partition, answer.only.error, answer.only.error)
