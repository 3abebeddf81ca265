"""What a log keeps: batches that are not older than log.retention.ms.

A part of the partition leader's role (`partition_leader`), with the same state.
WHERE IN KAFKA: LogManager.cleanupLogs, UnifiedLog.deleteOldSegments, deleteRetentionMsBreachedSegments.
KIPS: KIP-107 (a log begins somewhere), KIP-98 (what stays known of producers).
DURABILITY: the log itself; every replica counts by the times in it.
A segment is deleted when its newest record is too old; here each batch is a segment of its own. The time is that of
the append (message.timestamp.type is LogAppendTime), so it goes up along the log. Nothing at or above the high watermark
goes; the last stable offset and the positions of readers are not asked: records of a transaction that is open go,
too, and so do those that a share group or a consumer has not read.
NOT MODELLED: retention by size, that Kafka wants one ms more, replicas that delete at different moments.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.timers import LogRetention
from kipviz.messages.events import LogPruned


def age_of_front(log: PartitionLog, now_ms: int) -> int:
    """Return how many ms ago the oldest batch of a log was written."""
    return now_ms - log.batches[0].max_timestamp_ms


def kept_from(log: PartitionLog, now_ms: int, retention_ms: int) -> int:
    """Return the offset at which a log begins when what is too old is gone."""
    start = log.start_offset
    for batch in log.batches:
        young = now_ms - batch.max_timestamp_ms < retention_ms
        if young or batch.last_offset >= log.high_watermark:
            break
        start = batch.last_offset + 1
    return start


def timers(me: PartitionLeader, on: Context) -> tuple[LogRetention, ...]:
    """Return the timer of a log's oldest batch, if that may be deleted at all."""
    log = on.log(me.shard)
    if on.settings.log_retention_ms < 0 or not log.batches:
        return ()
    replicated = log.batches[0].last_offset < log.high_watermark
    return (LogRetention(me.shard),) if replicated else ()


def on_timer(me: PartitionLeader, timer: LogRetention, on: Context) -> Effects:
    """Delete what is older than log.retention.ms from the front of a log.

    WHEN: the oldest batch is that old; a job looks every log.retention.check.interval.ms (5 minutes).
    CHECKS: batch by batch, how old it is, and that it is below the high watermark. DOES: moves the start of the log.
    ANSWERS: nobody; who asks for an offset that is gone hears OFFSET_OUT_OF_RANGE, and a share-partition's start
      follows when it reads next.
    Clause: KIP-107; UnifiedLog.deleteRetentionMsBreachedSegments.
    """
    log = on.log(me.shard)
    up_to = kept_from(log, on.now_ms, on.settings.log_retention_ms)
    pruned = LogPruned(me.shard, log.start_offset, up_to)
    return Effects(me, events=(pruned,), deletes=((me.shard, up_to),))
