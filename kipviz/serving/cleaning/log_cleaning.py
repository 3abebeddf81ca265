"""The logs of a served cluster that runs for days: what is superseded or very old is removed, so memory is bounded.

A saved run replays its kept steps, so logs are cleaned only after those, between two steps. `__transaction_state` and
`__consumer_offsets` are compacted (`compaction`). Of `__share_group_state` what is redundant goes
(ShareCoordinatorService.performRecordPruning); a share-partition that is not used keeps its last snapshot and all that
follows it, because snapshots are not repeated here. Of a user's partition the oldest batches go, as with
log.retention.bytes, if there are more than `BATCHES_MAX`.

Source: UnifiedLog.deleteRetentionSizeBreachedSegments.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.brokers.logs.partition_log import PartitionLog, delete_records
from kipviz.brokers.share_coordinators.share_state_maintenance import (
    first_vote_needed,
    last_redundant_offset,
)
from kipviz.cluster.world import World
from kipviz.records.placement import INTERNAL_TOPICS, SHARE_GROUP_STATE, topic_of
from kipviz.serving.cleaning.compaction import TAIL, compact

CLEAN_EVERY = 1_000  # steps
BATCHES_MAX = 100_000  # of a user's partition


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
