"""The retention of a log: batches older than log.retention.ms are deleted.

A part of the partition leader's role (`partition_leader`), with the same state.
WHERE IN KAFKA: LogManager.cleanupLogs, UnifiedLog.deleteOldSegments, deleteRetentionMsBreachedSegments.
KIPS: KIP-107 (log start offset), KIP-98 (producers' state that is kept).
DURABILITY: the log itself; every replica uses the timestamps in it. A segment is deleted when its newest record is too
old; here each batch is a segment of its own. The time is that of the append (message.timestamp.type is LogAppendTime),
so it goes up along the log. Nothing at or above the high watermark is deleted. The last stable offset and the positions
of readers do not matter: records of an open transaction are deleted, too, and so are records that a share group or a
consumer has not read.
NOT MODELLED: retention by size; Kafka's comparison, which is one ms longer; replicas that delete at different times.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.timers import LogRetention
from kipviz.messages.events import LogPruned


def age_of_front(log: PartitionLog, now_ms: int) -> int:
    """Return the age of a log's oldest batch, in ms."""
    return now_ms - log.batches[0].max_timestamp_ms


def retention_start(log: PartitionLog, now_ms: int, retention_ms: int) -> int:
    """Return the start offset of a log after its expired batches are deleted."""
    start = log.start_offset
    for batch in log.batches:
        young = now_ms - batch.max_timestamp_ms < retention_ms
        if young or batch.last_offset >= log.high_watermark:
            break
        start = batch.last_offset + 1
    return start


def timers(me: PartitionLeader, on: Context) -> tuple[LogRetention, ...]:
    """Return the timer of a log's oldest batch, if that batch may be deleted at all."""
    log = on.log(me.shard)
    if on.settings.log_retention_ms < 0 or not log.batches:
        return ()
    replicated = log.batches[0].last_offset < log.high_watermark
    return (LogRetention(me.shard),) if replicated else ()


def on_timer(me: PartitionLeader, timer: LogRetention, on: Context) -> Effects[PartitionLeader]:
    """Delete batches older than log.retention.ms from the front of a log.

    WHEN: the oldest batch is that old; a job checks every log.retention.check.interval.ms (5 minutes).
    CHECKS: for each batch its age, and that it is below the high watermark. DOES: advances the start of the log.
    ANSWERS: no request. A fetch from a deleted offset gets OFFSET_OUT_OF_RANGE; a share-partition's start follows with
    its next read.
    Clause: KIP-107; UnifiedLog.deleteRetentionMsBreachedSegments.
    """
    log = on.log(me.shard)
    up_to = retention_start(log, on.now_ms, on.settings.log_retention_ms)
    pruned = LogPruned(me.shard, log.start_offset, up_to)
    return Effects(me, events=(pruned,), deletes=((me.shard, up_to),))
