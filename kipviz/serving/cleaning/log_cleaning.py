"""The state of a served cluster that runs for days: what is superseded, unused or very old is removed.

A saved run replays its kept steps, so cleaning begins after those, and happens between two steps.
`__transaction_state` and `__consumer_offsets` are compacted (`compaction`). In `__share_group_state` each snapshot is
repeated, and what is redundant then goes (ShareCoordinatorService.performRecordPruning). Users' partitions lose their
oldest batches (`retention`), and a partition of a deleted topic is forgotten. Producer ids, transactional ids and groups that were used longest ago expire (`expiry`).
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.brokers.logs.partition_log import PartitionLog, delete_records
from kipviz.brokers.share_coordinators.share_state_maintenance import (
    first_acknowledgement_needed,
    last_redundant_offset,
)
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World
from kipviz.core.table import Table, pairs
from kipviz.records.placement import INTERNAL_TOPICS, SHARE_GROUP_STATE, topic_of
from kipviz.serving.cleaning.compaction import TAIL, compact
from kipviz.serving.cleaning.expiry import expire_unused, forget_producers, repeat_snapshots
from kipviz.serving.cleaning.retention import Retention
from kipviz.serving.translating.batch_bytes import KeptBatches

CLEAN_EVERY = 1_000  # steps


class LogCleaning:
    """Cleans the world of a cluster now and then; `say` gets a line for each user's partition that became shorter."""

    def __init__(self, model: ClusterModel, say: Callable[[str], None], sent: KeptBatches) -> None:
        self._model = model
        self._retention = Retention(say, sent)
        self._sizes: dict[str, int] = {}

    def forget(self) -> None:
        """Measure everything again: the cluster went back to an earlier step."""
        self._sizes.clear()

    def clean(self, world: World) -> World:
        """Return a cleaned world; a log of an internal topic has to double before it is cleaned again."""
        world = self._forget_deleted(expire_unused(self._model, world))
        for partition in world.logs:
            size = len(world.logs[partition].batches)
            long = size >= 2 * self._sizes.get(partition, 0) + 2 * TAIL
            if long and topic_of(partition) in INTERNAL_TOPICS:
                world = self._clean_internal(world, partition)
        logs = self._retention.apply(world.logs)
        for partition, log in pairs(logs):
            known = forget_producers(log)
            if known is not log:
                logs = logs.set(partition, known)
        return world if logs is world.logs else world.but(logs=logs)

    def _forget_deleted(self, world: World) -> World:
        """Return a world without the empty logs of deleted topics; the spec's own topics have theirs at any time."""
        own = {placement.partition for placement in self._model.spec.placements}
        gone = {p for p in world.logs if p not in own and p not in world.image.leaders}
        if not gone:
            return world
        return world.but(logs=Table.of(each for each in pairs(world.logs) if each[0] not in gone))

    def _clean_internal(self, world: World, partition: str) -> World:
        if topic_of(partition) == SHARE_GROUP_STATE:
            world = repeat_snapshots(self._model, world, partition)
            cleaned = prune(world.logs[partition])
        else:
            cleaned = compact(world.logs[partition])
        self._sizes[partition] = len(cleaned.batches)
        return world.but(logs=world.logs.set(partition, cleaned))


def prune(log: PartitionLog) -> PartitionLog:
    """Return a log of share-partitions' states without the records before the oldest snapshot that is still needed."""
    up_to = min(last_redundant_offset(log), first_acknowledgement_needed(log))
    return delete_records(log, up_to) if up_to > log.start_offset else log
