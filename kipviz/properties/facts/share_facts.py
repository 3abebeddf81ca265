"""The invariants' facts about share-partitions that depend on more than one event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from kipviz.brokers.share_leaders.share_partition import ShareLeader, SharePartition
from kipviz.cluster.world import World
from kipviz.core.table import Table
from kipviz.messages.shares.share_state import TxnWriteShareGroupState
from kipviz.properties.facts.run_facts import Facts, Identity
from kipviz.properties.facts.share_record import ShareRecord, of_partition
from kipviz.records.placement import SHARE_GROUP_STATE, topic_of
from kipviz.records.share_group_state import ShareSnapshotRecord, ShareUpdateRecord

V = TypeVar("V")


def mark_acknowledged(facts: Facts, partition: str, world: World) -> Facts:
    """Count what is staged and written in a partition as acknowledged, because the producer has the response."""
    being_written = _list_unwritten(partition, world)
    staging, acknowledgements = facts.staging, facts.acknowledgements
    for record, identity in facts.staging.items():
        if record.partition == partition and record not in being_written:
            staging, acknowledgements = (
                staging.without(record),
                acknowledgements.set(record, identity),
            )
    return facts.but(staging=staging, acknowledgements=acknowledgements)


def share_partitions(world: World) -> Iterator[SharePartition]:
    """Yield the share-partitions that the share-partition leaders have in memory."""
    for role in world.roles.values():
        if isinstance(role, ShareLeader):
            yield from role.shares.values()


def _list_unwritten(partition: str, world: World) -> set[ShareRecord]:
    """Return the records of a partition whose staging waits for its write, also at a dropped leader."""
    found: set[ShareRecord] = set()
    for role in world.roles.values():
        if not isinstance(role, ShareLeader):
            continue
        for share in (*role.shares.values(), *role.leaving.values()):
            if share.partition != partition:
                continue
            writes = (w for w in share.writes if isinstance(w.message, TxnWriteShareGroupState))
            waiting = [offset for write in writes for offset in write.offsets]
            waiting += [offset for offset, record in share.records.items() if record.ongoing]
            found |= {ShareRecord(share.group_id, partition, offset) for offset in waiting}
    return found


def forget_decided(
    facts: Facts, acknowledgements: Table[ShareRecord, Identity], group_id: str, partition: str
) -> Table[ShareRecord, Identity]:
    """Remove the decided acknowledgements of a partition: a reset delivers their records again."""
    for record in of_partition(acknowledgements, group_id, partition):
        if acknowledgements[record] in facts.decided:
            acknowledgements = acknowledgements.without(record)
    return acknowledgements


def without_topic(facts: Facts, topic: str) -> Facts:
    """Remove the records of a deleted topic: a new topic of its name has others, at the same offsets."""
    return facts.but(
        owners=_of_others(facts.owners, topic),
        staging=_of_others(facts.staging, topic),
        acknowledgements=_of_others(facts.acknowledgements, topic),
        outcomes=_of_others(facts.outcomes, topic),
        done=_of_others(facts.done, topic),
    )


def _of_others(known: Table[ShareRecord, V], topic: str) -> Table[ShareRecord, V]:
    for record in known:
        if topic_of(record.partition) == topic:
            known = known.without(record)
    return known


def reset_starts(facts: Facts, partition: str, world: World) -> Facts:
    """Reset the start offsets to those in a new leader's log: what was not replicated is lost."""
    starts = facts.starts
    for key in starts:
        if world.image.home_of(SHARE_GROUP_STATE, key) == partition:
            starts = starts.without(key)
    for batch in world.logs[partition].batches:
        starts = fold_starts(starts, batch.records)
    return facts.but(starts=starts)


def fold_starts(starts: Table[str, int], records: tuple[object, ...]) -> Table[str, int]:
    """Apply the start offsets in the records of a batch."""
    for record in records:
        if isinstance(record, ShareUpdateRecord | ShareSnapshotRecord) and record.start_offset >= 0:
            starts = starts.set(record.key, record.start_offset)
    return starts
