"""The state that a group coordinator has for one partition of `__consumer_offsets`, and its replay.

Offsets, pending offsets and members all come from the log; only the waiting requests do not.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, ReplyTo
from kipviz.brokers.logs.add_to_transaction import Enlisting
from kipviz.brokers.logs.replication import WaitingForReplicas
from kipviz.brokers.membership import classic_group, consumer_group, share_group
from kipviz.brokers.membership.classic_group import ClassicGroup
from kipviz.brokers.membership.consumer_group import ConsumerGroup
from kipviz.brokers.membership.share_group import ShareGroup
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.shares.share_admin import WaitsForStates
from kipviz.messages.shares.share_state import OperatorsStateRequest, OperatorsStateResponse
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.batches import COMMIT, Batch
from kipviz.records.classic_groups import GroupMetadataRecord
from kipviz.records.consumer_offsets import (
    GROUP_EPOCH,
    GROUP_METADATA,
    GroupEpochRecord,
    GroupTombstone,
    MemberRecord,
    MemberTombstone,
    OffsetCommitRecord,
    OffsetTombstone,
    RegexRecord,
    SubscriptionRecord,
    TargetEpochRecord,
    TargetRecord,
)
from kipviz.records.share_group_members import OF_A_GROUP, ShareGroupDeleted, ShareGroupRecord


class PendingOffset(Value, frozen=True):
    """An offset of an undecided transaction; `at` is its place in the log."""

    group_id: str
    partition: str
    offset: int
    at: int
    topic_id: str = ""
    leader_epoch: int | None = None
    metadata: str = ""


class CommittedOffset(Value, frozen=True):
    """A committed offset and its place in the log: of two, the later one counts."""

    offset: int
    at: int
    topic_id: str = ""
    leader_epoch: int | None = None
    metadata: str = ""


class Operating(Value, frozen=True):
    """An operator's request that waits for share coordinators.

    `asked` are the requests in flight or still to send, `answers` the responses so far; `tag` identifies the request in
    flight. `results` are the errors of single partitions from the start.
    """

    request: WaitsForStates
    reply_to: ReplyTo
    tag: str
    asked: tuple[OperatorsStateRequest, ...]
    answers: tuple[OperatorsStateResponse, ...] = ()
    results: tuple[PartitionResult, ...] = ()


class GroupCoordinator(Part, frozen=True, cache_hash=True):
    """The coordinator of one partition of `__consumer_offsets`.

    `pending` is keyed by producer id only, as in Kafka. `members` are those that existed before the run, with their
    constant epochs. `groups` are the groups whose members come and go, `classic_groups` those of the classic protocol.
    Member ids of those are numbers: `named` is the last one that this coordinator assigned. `operating` are operators'
    requests that wait for share coordinators, `fresh` the groups whose target is younger than the assignment interval.
    """

    shard: str
    loading: bool = False
    members: Table[tuple[str, str], int] = Table.of()
    offsets: Table[tuple[str, str], CommittedOffset] = Table.of()
    pending: Table[int, tuple[PendingOffset, ...]] = Table.of()
    enlisting: tuple[Enlisting, ...] = ()
    waiting: tuple[WaitingForReplicas, ...] = ()
    groups: Table[str, ConsumerGroup] = Table.of()
    share_groups: Table[str, ShareGroup] = Table.of()
    classic_groups: Table[str, ClassicGroup] = Table.of()
    named: int = 0
    operating: tuple[Operating, ...] = ()
    fresh: tuple[str, ...] = ()


def replay(me: GroupCoordinator, batch: Batch) -> GroupCoordinator:
    """Apply one batch of the log: the only way in which this coordinator's tables change."""
    if batch.control:
        return _replay_marker(me, batch)
    for i, record in enumerate(batch.records):
        match record:
            case OffsetCommitRecord():
                me = _replay_offset(me, batch, record, batch.base_offset + i)
            case OffsetTombstone():
                me = _replay_deletion(me, record)
            case MemberRecord() if record.group_id not in me.groups:
                member = (record.group_id, record.member_id)
                me = me.but(members=me.members.set(member, record.member_epoch))
            case (
                GroupEpochRecord()
                | SubscriptionRecord()
                | TargetEpochRecord()
                | TargetRecord()
                | MemberRecord()
                | MemberTombstone()
                | RegexRecord()
            ):
                group = me.groups.get(record.group_id) or ConsumerGroup()
                after = consumer_group.replay_record(group, record)
                me = me.but(groups=me.groups.set(record.group_id, after))
            case GroupTombstone():
                me = _replay_end(me, record)
            case GroupMetadataRecord(group_id=group_id):
                group_now = classic_group.load_group(record)
                me = me.but(classic_groups=me.classic_groups.set(group_id, group_now))
            case ShareGroupDeleted(of=of):
                gone = of == OF_A_GROUP[-1]
                me = me.but(share_groups=me.share_groups.without(record.group_id)) if gone else me
            case _ if isinstance(record, ShareGroupRecord):
                shared = me.share_groups.get(record.group_id) or ShareGroup()
                after_it = share_group.replay_record(shared, record)
                me = me.but(share_groups=me.share_groups.set(record.group_id, after_it))
            case _:
                raise AssertionError(f"no group coordinator writes a {type(record).__name__}")
    return me


def _replay_marker(me: GroupCoordinator, batch: Batch) -> GroupCoordinator:
    staged = me.pending.get(batch.producer_id, ())
    offsets = me.offsets
    for p in staged if batch.control == COMMIT else ():
        known = offsets.get((p.group_id, p.partition))
        if known is None or known.at < p.at:
            kept = CommittedOffset(p.offset, p.at, p.topic_id, p.leader_epoch, p.metadata)
            offsets = offsets.set((p.group_id, p.partition), kept)
    return me.but(offsets=offsets, pending=me.pending.without(batch.producer_id))


def _replay_end(me: GroupCoordinator, record: GroupTombstone) -> GroupCoordinator:
    """Delete a group; for a KIP-848 group the last of its tombstones does it."""
    if record.of == GROUP_METADATA:
        return me.but(classic_groups=me.classic_groups.without(record.group_id))
    if record.of == GROUP_EPOCH:
        return me.but(groups=me.groups.without(record.group_id))
    return me


def _replay_deletion(me: GroupCoordinator, record: OffsetTombstone) -> GroupCoordinator:
    place = (record.group_id, record.partition)
    pending = me.pending
    for producer_id, staged in me.pending.items():
        left = tuple(p for p in staged if (p.group_id, p.partition) != place)
        pending = pending.set(producer_id, left) if left else pending.without(producer_id)
    return me.but(offsets=me.offsets.without(place), pending=pending)


def _replay_offset(
    me: GroupCoordinator, batch: Batch, record: OffsetCommitRecord, at: int
) -> GroupCoordinator:
    place = (record.group_id, record.partition)
    beside = (record.topic_id, record.leader_epoch, record.metadata)
    if not batch.transactional:
        kept = CommittedOffset(record.offset, at, *beside)
        return me.but(offsets=me.offsets.set(place, kept))
    others = tuple(
        p for p in me.pending.get(batch.producer_id, ()) if (p.group_id, p.partition) != place
    )
    staged = PendingOffset(record.group_id, record.partition, record.offset, at, *beside)
    return me.but(pending=me.pending.set(batch.producer_id, (*others, staged)))


def as_replicated(me: GroupCoordinator, on: Context) -> GroupCoordinator:
    """Return the replicated state, as operators see it: groups with epochs, and offsets.

    A classic group's state is in memory and has no older version. Source: CoordinatorRuntime.scheduleReadOperation.
    """
    log = on.log(me.shard)
    if log.high_watermark >= log.end_offset:
        return me
    seen = GroupCoordinator(me.shard)
    for batch in log.batches:
        seen = replay(seen, batch) if batch.last_offset < log.high_watermark else seen
    return me.but(groups=seen.groups, share_groups=seen.share_groups, offsets=seen.offsets)
