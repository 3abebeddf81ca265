"""Silent producers that a log has forgotten: the log does not show when `producer.id.expiration.ms` expires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.brokers.logs.partition_log import forget
from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.cluster.world import World


def forgetting(
    world: World, partition: str, entries: Iterable[RebuiltBatch], before_ms: int
) -> Iterator[World]:
    """Yield the worlds in which a log still knows the silent producers, and in which it has forgotten them.

    Args:
        world: the rebuilt cluster.
        partition: the partition of the log.
        entries: the earlier entries of all logs.
        before_ms: a producer whose last batch is not younger may be forgotten, unless it has an open transaction.
    """
    yield world
    heard: dict[int, int] = {}
    for entry in entries:
        if entry.partition == partition:
            heard[entry.batch.producer_id] = entry.at_ms
    log = world.logs[partition]
    for producer_id, last_ms in heard.items():
        known = log.producers.get(producer_id)
        if last_ms <= before_ms and known is not None and known.transaction_first_offset < 0:
            log = forget(log, producer_id)
            yield world.but(logs=world.logs.set(partition, log))
