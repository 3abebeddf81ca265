"""OffsetFetch: the committed offsets of a group, for its members and for operators.

A part of the group coordinator's role (`group_coordinator`), with the same state. A request about several groups
  arrives here group by group (`several_groups`).
WHERE IN KAFKA: OffsetMetadataManager.fetchOffsets and fetchAllOffsets, GroupCoordinatorService.
KIPS: KIP-447 (stable offsets), KIP-709 (several groups), KIP-848 (member epochs).
NOT MODELLED: a fetch of named partitions that does not require stable offsets is answered from the
  newest state, replicated or not.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.authorizer import topics_seen
from kipviz.brokers.checks import (
    Check,
    Checks,
    compare,
    error_of,
    has_loaded,
    in_order,
    report_value,
)
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.groups import group_retention
from kipviz.brokers.groups.group_state import CommittedOffset, GroupCoordinator, as_replicated
from kipviz.brokers.handling import takes
from kipviz.brokers.logs.replication import respond_when_replicated
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.apis.groups.offset_fetch import OF_AN_OFFSET
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    FetchedGroup,
    FetchedOffset,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchResponse,
)
from kipviz.messages.message import Message
from kipviz.records.placement import topic_of


@takes(OffsetFetch)
def on_offset_fetch(
    me: GroupCoordinator, request: OffsetFetch, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Return a group's committed offsets: of the partitions that the request names, or all of them.

    WHEN: poll() of a consumer without a position, or listConsumerGroupOffsets(). CHECKS: a member that names itself
    exists and has its current epoch (KIP-848). A group that does not exist has no offsets, which is no error.
    DOES: nothing, but with RequireStable it is a write without records: it sees what is not replicated yet, and is
    answered only when that is replicated.
    Clause: KIP-447 "OffsetFetch v7": UNSTABLE_OFFSET_COMMIT while an offset is pending; KIP-709 "OffsetFetch".
    """
    (group,) = request.groups
    checks = _reader_checks(me, group)
    if error_of(checks) is not Errors.NONE:
        answer = reject_request(request, error_of(checks))
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
    if group.partitions is None:
        return _fetch_all(me, request, reply_to, on).after(checks)
    return _fetch_named(me, request, reply_to, on).after(checks)


def _fetch_named(
    me: GroupCoordinator, request: OffsetFetch, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Return the offsets of named partitions, -1 where nothing is committed.

    An offset that was stored with another id of the topic does not count. Source: OffsetMetadataManager.fetchOffsets.
    """
    (group,) = request.groups
    assert group.partitions is not None
    checks: Checks = ()
    found: list[FetchedOffset] = []
    for partition in group.partitions:
        committed = me.offsets.get((group.group_id, partition))
        if committed is not None and _of_another_topic(committed, partition, on):
            committed = None
        staged = tuple(
            p.offset
            for staged in me.pending.values()
            for p in staged
            if (p.group_id, p.partition) == (group.group_id, partition)
        )
        refusal = Errors.NONE
        if staged:
            refusal = on.rules.pending_offset(request.require_stable, request.version)
        found.append(_make_fetched_offset(partition, committed, refusal))
        offset = committed.offset if committed else -1
        stable = Check("pending offsets, stable ones only", request.require_stable, staged, refusal)
        checks = (*checks, report_value("committed offset", offset), stable)
        # A draft of KIP-447 rejects the whole request of a client that cannot require stable offsets.
        if refusal not in (*OF_AN_OFFSET, Errors.NONE):
            rejected = Reply(reply_to, reject_request(request, refusal))
            return _respond_when_replicated(me, rejected, on).after(checks)
    answer: Message = OffsetFetchResponse(
        (FetchedGroup(Errors.NONE, group.group_id, tuple(found)),)
    )
    return _respond_when_replicated(me, Reply(reply_to, answer), on).after(checks)


def _fetch_all(
    me: GroupCoordinator, request: OffsetFetch, reply_to: ReplyTo, on: Context
) -> Effects[GroupCoordinator]:
    """Return every committed offset of a group.

    ANSWERS: without requireStable, what is replicated, at once. With it, what is in the log once that is replicated,
    and UNSTABLE_OFFSET_COMMIT for an offset that a transaction may change. An offset that was never committed is left
    out, pending or not; so are topics that the sender may not describe.
    Source: OffsetMetadataManager.fetchAllOffsets, KafkaApis.fetchAllOffsetsForGroup.
    """
    group_id, stable = request.groups[0].group_id, request.require_stable
    seen = me if stable else as_replicated(me, on)
    pending = group_retention.pending_of(me, group_id)
    unstable = on.rules.pending_offset(stable, request.version)
    told = tuple(
        _make_fetched_offset(
            partition, committed, unstable if partition in pending else Errors.NONE
        )
        for (known, partition), committed in seen.offsets.items()
        if known == group_id and topics_seen(on.image.acls, reply_to.source, (partition,))
    )
    checks = tuple(
        Check("pending in a transaction", each.partition, each.partition in pending, each.error)
        for each in told
    )
    answer = Reply(reply_to, OffsetFetchResponse((FetchedGroup(Errors.NONE, group_id, told),)))
    if not stable:
        return Effects(me, replies=(answer,), checks=checks)
    return _respond_when_replicated(me, answer, on).after(checks)


def _respond_when_replicated(
    me: GroupCoordinator, answer: Reply, on: Context
) -> Effects[GroupCoordinator]:
    waiting, replies = respond_when_replicated(on.log(me.shard), answer)
    return Effects(me.but(waiting=(*me.waiting, *waiting)), replies=replies)


def _make_fetched_offset(
    partition: str, committed: CommittedOffset | None, error: Errors
) -> FetchedOffset:
    if error or committed is None:
        return FetchedOffset(partition, error=error)
    offset = (committed.offset, error, committed.leader_epoch, committed.metadata)
    return FetchedOffset(partition, *offset)


def _of_another_topic(committed: CommittedOffset, partition: str, on: Context) -> bool:
    now = on.image.topic_id_of(topic_of(partition))
    return bool(committed.topic_id and now) and committed.topic_id != now


@in_order
def _reader_checks(me: GroupCoordinator, asked: OffsetFetchGroup) -> Iterator[Check]:
    """Check the sender of an OffsetFetch. A request without member id and epoch passes, as an operator's does.

    Source: ConsumerGroup.validateOffsetFetch.
    """
    yield has_loaded(me.loading)
    group, name = me.groups.get(asked.group_id), asked.member_id
    if group is None or (not name and asked.member_epoch < 0):
        return
    member = group.members.get(name)
    found = name if member is not None else None
    yield compare("member id", name, found, member is not None, Errors.UNKNOWN_MEMBER_ID)
    assert member is not None
    same = asked.member_epoch == member.epoch
    error = Errors.STALE_MEMBER_EPOCH
    yield compare("member epoch", asked.member_epoch, member.epoch, same, error)
