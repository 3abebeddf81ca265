"""The compaction of the internal topics with cleanup.policy=compact: of each key the newest record stays.

A record goes if a later one has the same key; so does a tombstone behind the newest batches, because what it deletes
is gone with it. The records of an aborted transaction go, and then its marker and its entry in the index of aborted
transactions. Of a batch a part may stay: it keeps its offsets, as in Kafka, in smaller batches here.

Source: LogCleaner, Cleaner.buildOffsetMap, Cleaner.shouldRetainRecord, CleanedTransactionMetadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.brokers.groups import group_state
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.transactions import transaction_state_manager
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.core.log import Log
from kipviz.records import consumer_offsets as offsets
from kipviz.records import share_group_members as shares
from kipviz.records.batches import ABORT, Batch
from kipviz.records.classic_groups import GroupMetadataRecord
from kipviz.records.placement import CONSUMER_OFFSETS, TRANSACTION_STATE, topic_of
from kipviz.records.transaction_state import Tombstone, TransactionRecord

TAIL = 1_000  # as many of the newest batches are never removed
Key = tuple[str, ...]
NO_KEY: Key = ()
TOMBSTONES = (
    Tombstone,
    offsets.OffsetTombstone,
    offsets.MemberTombstone,
    offsets.GroupTombstone,
    shares.ShareGroupTombstone,
    shares.ShareGroupDeleted,
)


def compact(log: PartitionLog) -> PartitionLog:
    """Return an internal log without the records that later ones supersede; its coordinator's state is the same."""
    batches, ends = log.batches, _find_ends(log)
    undecided = {
        key
        for at, batch in enumerate(batches)
        if _is_undecided(batch, at, ends)
        for key in map(key_of, batch.records)
    }
    oldest_young = len(batches) - TAIL
    seen: set[Key] = set()
    kept: dict[int, tuple[Batch, ...]] = {}
    for at in reversed(range(len(batches))):
        batch = batches[at]
        if batch.control:
            continue
        if _is_undecided(batch, at, ends):
            kept[at] = (batch,)
            continue
        aborted = batch.transactional and batches[ends[at]].control == ABORT
        stay = [not aborted] * len(batch.records)
        for place in () if aborted else reversed(range(len(stay))):
            record = batch.records[place]
            key, whole = key_of(record), _group_of(record)
            gone = isinstance(record, TOMBSTONES) and key not in undecided
            stay[place] = key == NO_KEY or not (gone or key in seen or whole in seen)
            seen.update(_superseded_by(record))
        kept[at] = (batch,) if at >= oldest_young or all(stay) else tuple(_runs(batch, stay))
    decided = {end for at, end in ends.items() if kept[at]}
    for at, batch in enumerate(batches):
        young = at >= oldest_young or batch.last_offset >= log.high_watermark
        if batch.control and (young or at in decided):
            kept[at] = (batch,)
    left = Log.of(batch for at in sorted(kept) for batch in kept[at])
    markers = {batch.base_offset for batch in left if batch.control}
    aborted_left = Log.of(entry for entry in log.aborted if entry.last_offset in markers)
    cleaned = log.but(batches=left, aborted=aborted_left)
    # What a new coordinator would read has to be what it would have read; otherwise the log stays as it is.
    return cleaned if _replay(cleaned) == _replay(log) else log


def _find_ends(log: PartitionLog) -> dict[int, int]:
    """Return the place of the marker that ends the transaction of each batch, as far as one is replicated."""
    ends: dict[int, int] = {}
    open_batches: dict[int, list[int]] = {}
    for at, batch in enumerate(log.batches):
        if batch.last_offset >= log.high_watermark:
            break
        if batch.control:
            ends.update(dict.fromkeys(open_batches.pop(batch.producer_id, ()), at))
        else:
            open_batches.setdefault(batch.producer_id if batch.transactional else -1, []).append(at)
    ends.update({at: at for at in open_batches.pop(-1, ())})
    return ends


def _is_undecided(batch: Batch, at: int, ends: dict[int, int]) -> bool:
    """Return whether a batch has to stay and supersedes nothing: it is not replicated, or its transaction is open."""
    return not batch.control and at not in ends


def _runs(batch: Batch, stay: list[bool]) -> Iterator[Batch]:
    """Yield the records of a batch that stay, as batches with the same offsets."""
    begun = 0
    for place in range(len(stay) + 1):
        if place == len(stay) or not stay[place]:
            if place > begun:
                yield batch.but(
                    base_offset=batch.base_offset + begun, records=batch.records[begun:place]
                )
            begun = place + 1


def _superseded_by(record: object) -> tuple[Key, ...]:
    """Return the keys whose earlier records a record supersedes: the end of a group supersedes all of the group's."""
    match record:
        case offsets.GroupTombstone():
            ends = record.of == offsets.GROUP_EPOCH
        case shares.ShareGroupDeleted():
            ends = record.of == shares.OF_A_GROUP[-1]
        case _:
            ends = False
    return (key_of(record), _group_of(record)) if ends else (key_of(record),)


def _group_of(record: object) -> Key:
    """Return the group of a record that goes with its group, as a key; the records of other kinds of groups stay."""
    match record:
        case (
            offsets.GroupEpochRecord()
            | offsets.TargetEpochRecord()
            | offsets.RegexRecord()
            | offsets.SubscriptionRecord()
            | offsets.TargetRecord()
            | offsets.MemberRecord()
            | offsets.MemberTombstone()
            | offsets.GroupTombstone(of=offsets.TARGET_EPOCH | offsets.GROUP_EPOCH)
        ):
            return ("consumer group", record.group_id)
        case _ if isinstance(record, shares.ShareGroupRecord | shares.ShareGroupDeleted):
            return ("share group", record.group_id)
        case _:
            return NO_KEY


def key_of(record: object) -> Key:
    """Return the key of a record, which a later record with the same key supersedes; otherwise NO_KEY."""
    match record:
        case TransactionRecord() | Tombstone():
            return ("transaction", record.transactional_id)
        case offsets.OffsetCommitRecord() | offsets.OffsetTombstone():
            return ("offset", record.group_id, record.partition)
        case GroupMetadataRecord():
            return (offsets.GROUP_METADATA, record.group_id)
        case offsets.GroupEpochRecord():
            return (offsets.GROUP_EPOCH, record.group_id)
        case offsets.TargetEpochRecord():
            return (offsets.TARGET_EPOCH, record.group_id)
        case offsets.GroupTombstone():
            return (record.of, record.group_id)
        case offsets.RegexRecord():
            return ("regex", record.group_id, record.regex)
        case offsets.MemberRecord():
            return (offsets.MEMBER_RECORDS[0], record.group_id, record.member_id)
        case offsets.TargetRecord():
            return (offsets.MEMBER_RECORDS[1], record.group_id, record.member_id)
        case offsets.SubscriptionRecord():
            return (offsets.MEMBER_RECORDS[2], record.group_id, record.member_id)
        case offsets.MemberTombstone():
            return (record.of, record.group_id, record.member_id)
        case _:
            return _key_of_share_group(record)


def _key_of_share_group(record: object) -> Key:
    match record:
        case shares.ShareGroupTargetEpochRecord():
            return ("share", shares.OF_A_GROUP[0], record.group_id)
        case shares.ShareGroupStatePartitionsRecord():
            return ("share", shares.OF_A_GROUP[1], record.group_id)
        case shares.ShareGroupEpochRecord():
            return ("share", shares.OF_A_GROUP[2], record.group_id)
        case shares.ShareGroupDeleted():
            return ("share", record.of, record.group_id)
        case shares.ShareGroupAssignmentRecord():
            return ("share", shares.OF_A_MEMBER[0], record.group_id, record.member_id)
        case shares.ShareGroupTargetRecord():
            return ("share", shares.OF_A_MEMBER[1], record.group_id, record.member_id)
        case shares.ShareGroupMemberRecord():
            return ("share", shares.OF_A_MEMBER[2], record.group_id, record.member_id)
        case shares.ShareGroupTombstone():
            return ("share", record.of, record.group_id, record.member_id)
        case _:
            return NO_KEY


def _replay(log: PartitionLog) -> Any:
    """Return the state of a coordinator that reads a log."""
    topic = topic_of(log.name)
    if topic == TRANSACTION_STATE:
        coordinator = TransactionCoordinator(log.name, 0)
        for record in _records(log):
            coordinator = transaction_state_manager.replay(coordinator, record)
        return coordinator
    if topic == CONSUMER_OFFSETS:
        groups = GroupCoordinator(log.name)
        for batch in log.batches:
            groups = group_state.replay(groups, batch)
        return groups
    return log.batches


def _records(log: PartitionLog) -> Iterator[Any]:
    for batch in log.batches:
        yield from batch.records
