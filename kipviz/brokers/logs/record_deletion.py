"""An operator's request that deletes the oldest records of partitions.

WHO: every broker (KafkaApis), for the partitions that it leads.
WHERE IN KAFKA: KafkaApis.handleDeleteRecordsRequest, Partition.deleteRecordsOnLeader, UnifiedLog.
KIPS: KIP-107.
DURABILITY: the log's start offset, on all replicas.
NOT MODELLED: that the response waits until every replica has the new start offset.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers import deleted_topics
from kipviz.brokers.checks import Check, Checks, compare, error_of, in_order
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.handling import takes
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.core.model import Event
from kipviz.messages.cluster.topic_configs import is_only_compacted
from kipviz.messages.errors import Errors
from kipviz.messages.events import LogPruned
from kipviz.messages.logs.deleted_records import (
    TO_HIGH_WATERMARK,
    DeleteRecords,
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
)
from kipviz.records.placement import INTERNAL_TOPICS, topic_of


@takes(DeleteRecords)
def on_delete_records(
    me: KafkaApis, request: DeleteRecords, reply_to: ReplyTo, on: Context
) -> Effects[KafkaApis]:
    """Delete the records before an offset, in each partition.

    WHEN: an operator deletes records. CHECKS: that the topic is a user's, that this broker leads the partition, and that
    the offset is not above the high watermark; DELETE on the topic was checked before. DOES: moves the log's start
    offset, unless it is there already. ANSWERS: at once, with a result for each partition.
    Clause: KIP-107 "DeleteRecordsRequest"; Partition.deleteRecordsOnLeader.
    """
    starts: dict[str, int] = {}
    events: list[Event] = []
    results: list[DeleteRecordsPartitionResult] = []
    checks: Checks = ()
    for each in request.partitions:
        of_partition = _checks(each, on)
        checks += of_partition
        error, partition = error_of(of_partition), each.partition
        if error is not Errors.NONE:
            results.append(DeleteRecordsPartitionResult(partition, error))
            continue
        start = starts.get(partition, on.log(partition).start_offset)
        up_to = _offset(each, on)
        if up_to > start:
            starts[partition] = up_to
            events.append(LogPruned(partition, start, up_to))
        low = max(start, up_to)
        results.append(DeleteRecordsPartitionResult(partition, Errors.NONE, low))
    answer = Reply(reply_to, DeleteRecordsResponse(tuple(results)))
    deletes = tuple(starts.items())
    return Effects(me, replies=(answer,), deletes=deletes, events=tuple(events), checks=checks)


def _offset(each: DeleteRecordsPartition, on: Context) -> int:
    high = on.log(each.partition).high_watermark
    return high if each.offset == TO_HIGH_WATERMARK else each.offset


@in_order
def _checks(each: DeleteRecordsPartition, on: Context) -> Iterator[Check]:
    """Check one partition, in Kafka's order."""
    partition, topic = each.partition, topic_of(each.partition)
    there = partition in on.image.leaders
    yield Check(
        "topic there", None, there, Errors.NONE if there else Errors.UNKNOWN_TOPIC_OR_PARTITION
    )
    users = topic not in INTERNAL_TOPICS
    yield compare("topic of a user", topic, users, users, Errors.INVALID_TOPIC_EXCEPTION)
    yield deleted_topics.leader_check(partition, on)
    compacted = is_only_compacted(dict(on.image.topic_configs).get(topic, ()))
    yield compare(
        "records may be deleted", None, not compacted, not compacted, Errors.POLICY_VIOLATION
    )
    high = on.log(partition).high_watermark
    valid = each.offset == TO_HIGH_WATERMARK or 0 <= each.offset <= high
    yield compare("offset", each.offset, high, valid, Errors.OFFSET_OUT_OF_RANGE)
