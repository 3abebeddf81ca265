"""Which records an operator may delete (KIP-107)."""

from __future__ import annotations

import pytest

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.kafka_apis import KafkaApis
from kipviz.brokers.logs import record_deletion
from kipviz.brokers.logs.partition_log import append, delete_records, replicate
from kipviz.core.table import Table
from kipviz.driving.desk import Desk
from kipviz.messages.errors import Errors
from kipviz.messages.logs.deleted_records import DeleteRecords, DeleteRecordsPartition
from kipviz.records.batches import Batch, DataRecord


def deleted(*asked, configs=()):
    desk = Desk(record_deletion, KafkaApis(), leaders={"src-0": 1, "src-1": 2})
    log = desk.logs["src-0"]
    for offset in range(4):
        log = append(log, Batch(offset, (DataRecord("x"),)))
        log = replicate(log) if offset == 2 else log
    on = desk.on.but(logs=Table.of({"src-0": delete_records(log, 1), "src-1": log}))
    if configs:
        on = on.but(image=on.image.but(topic_configs=(("src", configs),)))
    request = DeleteRecords(tuple(DeleteRecordsPartition(*each) for each in asked))
    done = record_deletion.on_delete_records(KafkaApis(), request, ReplyTo("a/1", 1, 0), on)
    results = [(r.error, r.low_watermark) for r in done.replies[0].message.results]
    return results, done


@pytest.mark.parametrize(
    ("offset", "low", "moved"),
    [(2, 2, True), (3, 3, True), (-1, 3, True), (1, 1, False), (0, 1, False)],
)
def test_a_log_begins_at_the_offset_or_stays_where_it_begins(offset, low, moved):
    results, done = deleted(("src-0", offset))
    assert results == [(Errors.NONE, low)]
    assert done.deletes == ((("src-0", low),) if moved else ())


@pytest.mark.parametrize(
    ("partition", "offset", "error"),
    [
        ("src-0", 4, Errors.OFFSET_OUT_OF_RANGE),  # not replicated yet
        ("src-0", -2, Errors.OFFSET_OUT_OF_RANGE),
        ("src-1", 1, Errors.NOT_LEADER_OR_FOLLOWER),
        ("none-0", 1, Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_other_records_stay_and_the_valid_partitions_are_served(partition, offset, error):
    results, done = deleted((partition, offset), ("src-0", 2))
    assert results == [(error, -1), (Errors.NONE, 2)]
    assert done.deletes == (("src-0", 2),)


def test_the_records_of_a_compacted_topic_are_not_deleted_unless_it_deletes_as_well():
    only, both = (("cleanup.policy", "compact"),), (("cleanup.policy", "compact,delete"),)
    assert deleted(("src-0", 2), configs=only)[0] == [(Errors.POLICY_VIOLATION, -1)]
    assert deleted(("src-0", 2), configs=both)[0] == [(Errors.NONE, 2)]


def test_the_records_of_an_internal_topic_are_not_deleted():
    desk = Desk(record_deletion, KafkaApis(), leaders={"__consumer_offsets-0": 1})
    request = DeleteRecords((DeleteRecordsPartition("__consumer_offsets-0", -1),))
    answer = desk.ask(record_deletion.on_delete_records, request)
    assert [r.error for r in answer.results] == [Errors.INVALID_TOPIC_EXCEPTION]
