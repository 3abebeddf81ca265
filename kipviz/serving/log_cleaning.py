"""The logs of a served cluster that runs for days: what is superseded or very old is removed, so memory is bounded.

A saved run replays its kept steps, so logs are cleaned only after those, between two steps. Of an internal topic a
batch goes if each of its records has a later record with the same key (LogCleaner, cleanup.policy=compact); so do the
batches of an aborted transaction, and a marker of which no batch is left. A record of a group's membership stays. Of
`__share_group_state` what is redundant goes (ShareCoordinatorService.performRecordPruning); a share-partition
that is not used keeps its last snapshot and all that follows it, because snapshots are not repeated here. Of a user's
partition the oldest batches go, as with log.retention.bytes, if there are more than `BATCHES_MAX`.

Source: LogCleaner, Cleaner.buildOffsetMap, CleanedTransactionMetadata; UnifiedLog.deleteRetentionSizeBreachedSegments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kipviz.brokers.groups import group_state
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs.partition_log import PartitionLog, delete_records
from kipviz.brokers.share_coordinators.share_state_maintenance import (
    first_vote_needed,
    last_redundant_offset,
)
from kipviz.brokers.transactions import transaction_state_manager
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.world import World
from kipviz.core.log import Log
from kipviz.records.batches import ABORT
from kipviz.records.classic_groups import GroupMetadataRecord
from kipviz.records.consumer_offsets import OffsetCommitRecord, OffsetTombstone
from kipviz.records.placement import (
    CONSUMER_OFFSETS,
    INTERNAL_TOPICS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    topic_of,
)
from kipviz.records.transaction_state import Tombstone, TransactionRecord

CLEAN_EVERY = 1_000  # steps
BATCHES_MAX = 100_000  # of a user's partition
TAIL = 1_000  # as many of the newest batches of an internal partition are never removed
Key = tuple[str, ...]


class LogCleaning:
    """Cleans the logs of a world now and then; `say` gets a line for each user's partition that became shorter."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._sizes: dict[str, int] = {}

    def clean(self, world: World) -> World:
        """Return a world whose long logs are cleaned; a log has to double before it is cleaned again."""
        logs = world.logs
        for partition, log in logs.items():
            size = len(log.batches)
            if topic_of(partition) not in INTERNAL_TOPICS:
                if size > BATCHES_MAX:
                    logs = logs.set(partition, self._shorten(log))
            elif size >= 2 * self._sizes.get(partition, 0) + 2 * TAIL:
                pruned = topic_of(partition) == SHARE_GROUP_STATE
                cleaned = prune(log) if pruned else compact(log)
                self._sizes[partition] = len(cleaned.batches)
                logs = logs.set(partition, cleaned)
        return world if logs is world.logs else world.but(logs=logs)

    def _shorten(self, log: PartitionLog) -> PartitionLog:
        wanted = log.batches[len(log.batches) - BATCHES_MAX // 2].base_offset
        up_to = min(wanted, log.last_stable_offset)
        if up_to <= log.start_offset:
            return log  # an open transaction is in the way
        self._say(
            f"{log.name} starts at offset {up_to} now: a partition keeps {BATCHES_MAX} batches"
        )
        return delete_records(log, up_to)


def prune(log: PartitionLog) -> PartitionLog:
    """Return a log of share-partitions' states without the records before the oldest snapshot that is still needed."""
    up_to = min(last_redundant_offset(log), first_vote_needed(log))
    return delete_records(log, up_to) if up_to > log.start_offset else log


def compact(log: PartitionLog) -> PartitionLog:
    """Return an internal log without the batches that later ones supersede; its coordinator's state is the same."""
    batches, ends = log.batches, _find_ends(log)
    data = [at for at, batch in enumerate(batches) if not batch.control]
    # The records of a transaction count from its marker on.
    data.sort(key=lambda at: (ends.get(at, at), at), reverse=True)
    oldest_young = len(batches) - TAIL
    seen: set[Key] = set()
    kept: set[int] = set()
    for at in data:
        keys = _keys(log, at, ends)
        young = at >= oldest_young or batches[at].last_offset >= log.high_watermark
        if young or keys is None or not seen.issuperset(keys):
            kept.add(at)
        seen.update(keys or ())
    decided = {end for at, end in ends.items() if at in kept}
    kept |= {
        at
        for at, batch in enumerate(batches)
        if batch.control and (at >= oldest_young or at in decided)
    }
    cleaned = log.but(batches=Log.of(batches[at] for at in sorted(kept)))
    # What a new coordinator would read has to be what it would have read; otherwise the log stays as it is.
    return cleaned if _replay(cleaned) == _replay(log) else log


def _find_ends(log: PartitionLog) -> dict[int, int]:
    """Return the place of the marker that ends the transaction of each batch, as far as one is replicated."""
    ends: dict[int, int] = {}
    open_batches: dict[int, list[int]] = {}
    for at, batch in enumerate(log.batches):
        if batch.control:
            begun = open_batches.pop(batch.producer_id, ())
            if batch.last_offset < log.high_watermark:
                ends.update(dict.fromkeys(begun, at))
        elif batch.transactional:
            open_batches.setdefault(batch.producer_id, []).append(at)
    return ends


def _keys(log: PartitionLog, at: int, ends: dict[int, int]) -> tuple[Key, ...] | None:
    """Return the keys of a batch's records, () if it was aborted; None if it has to stay and supersedes nothing."""
    batch = log.batches[at]
    if batch.transactional:
        if at not in ends:
            return None
        if log.batches[ends[at]].control == ABORT:
            return ()
    elif batch.producer_id >= 0:
        return None
    keys = tuple(_key(record) for record in batch.records)
    return None if () in keys else keys


def _key(record: object) -> Key:
    """Return the key of a record that a later one with the same key replaces; otherwise ()."""
    match record:
        case TransactionRecord() | Tombstone():
            return ("transaction", record.transactional_id)
        case OffsetCommitRecord() | OffsetTombstone():
            return ("offset", record.group_id, record.partition)
        case GroupMetadataRecord():
            return ("group", record.group_id)
        case _:
            return ()


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
