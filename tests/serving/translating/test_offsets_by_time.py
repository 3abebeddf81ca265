"""ListOffsets of a real client: by the timestamps that clients sent, and by the numbers that stand for a place."""

import pytest

from kipviz.cluster.actions import MoveLeader
from kipviz.messages.wire.batches import encode_batch
from kipviz.records.batches import DataRecord
from kipviz.serving.served_cluster import ServedCluster
from kipviz.serving.served_spec import cluster_of, to_serve
from kipviz.serving.translating.apis import APIS
from tests.serving.frames import KAFKA, answer, frame, make_cluster

PRODUCE, LIST_OFFSETS = 0, 2
NEWEST = 11
LATEST, EARLIEST, HIGHEST, LOCAL, TIERED, PENDING = -1, -2, -3, -4, -5, -6
UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION, INVALID_REQUEST = 3, 35, 42
# The timestamps of three batches.
TIMES = ((1_000, 3_000, 2_000), (5_000, 5_000), (4_000,))


def produce(cluster, times):
    leader = cluster.world.image.leader_of("orders-0")
    records = tuple((n, DataRecord(f"v{n}", create_time_ms=at)) for n, at in enumerate(times))
    data = {"Index": 0, "Records": encode_batch(records).data}
    caller = cluster.connect(leader)
    cluster.feed(
        caller,
        frame(PRODUCE, 9, Acks=-1, TopicData=({"Name": "orders", "PartitionData": (data,)},)),
    )
    (topic,) = answer(caller, APIS[PRODUCE].response, 9)["Responses"]
    assert topic["PartitionResponses"][0]["ErrorCode"] == 0


def written():
    cluster = make_cluster()
    for times in TIMES:
        produce(cluster, times)
    return cluster


def ask(cluster, *timestamps, version=NEWEST, topic="orders", **said):
    """Return the result of each partition: (index, error, timestamp, offset, leader epoch)."""
    parts = tuple({"PartitionIndex": n, "Timestamp": at} for n, at in enumerate(timestamps))
    topics = ({"Name": topic, "Partitions": parts},)
    return send(cluster, version, Topics=topics, **said)


def send(cluster, version, **said):
    caller = cluster.connect(cluster.world.image.leader_of("orders-0"))
    cluster.feed(caller, frame(LIST_OFFSETS, version, **{"ReplicaId": -1, **said}))
    assert not cluster.lines
    (topic,) = answer(caller, APIS[LIST_OFFSETS].response, version)["Topics"]
    names = ("PartitionIndex", "ErrorCode", "Timestamp", "Offset", "LeaderEpoch")
    return [tuple(part.get(name) for name in names) for part in topic["Partitions"]]


@pytest.mark.parametrize(
    ("at", "offset", "found_at"),
    [
        (0, 0, 1_000),
        (1_000, 0, 1_000),
        (1_001, 1, 3_000),
        (3_001, 3, 5_000),
        (4_500, 3, 5_000),
        (5_000, 3, 5_000),
        (5_001, -1, -1),
    ],
)
def test_the_first_record_at_or_after_a_time_is_found_by_the_timestamps_of_its_clients(
    at, offset, found_at
):
    """UnifiedLog.fetchOffsetByTimestamp."""
    cluster = written()
    epoch = cluster.world.image.leaders["orders-0"].epoch if offset >= 0 else -1
    assert ask(cluster, at) == [(0, 0, found_at, offset, epoch)]


def test_numbers_that_stand_for_a_place_are_answered_as_by_a_broker_without_tiered_storage():
    """UnifiedLog.fetchOffsetByTimestamp: the epoch of what is not there is -1."""
    cluster = written()
    epoch = cluster.world.image.leaders["orders-0"].epoch
    assert ask(cluster, LATEST) == [(0, 0, -1, 6, epoch)]
    assert ask(cluster, EARLIEST) == ask(cluster, LOCAL) == [(0, 0, -1, 0, epoch)]
    assert ask(cluster, HIGHEST) == [(0, 0, 5_000, 3, epoch)]
    assert ask(cluster, TIERED) == ask(cluster, PENDING) == [(0, 0, -1, -1, -1)]
    empty = make_cluster()
    assert ask(empty, HIGHEST) == ask(empty, 0) == [(0, 0, -1, -1, -1)]


@pytest.mark.parametrize(
    ("number", "first"), [(EARLIEST, 1), (HIGHEST, 7), (LOCAL, 8), (TIERED, 9), (PENDING, 11)]
)
def test_a_number_that_a_version_does_not_have_is_an_error_of_its_partition(number, first):
    """ReplicaManager.isListOffsetsTimestampUnsupported."""
    cluster = written()
    for version in range(APIS[LIST_OFFSETS].lowest, NEWEST + 1):
        ((_, error, *_),) = ask(cluster, number, version=version)
        assert error == (0 if version >= first else UNSUPPORTED_VERSION)


@pytest.mark.parametrize("number", [-7, -100, -(2**63)])
def test_a_negative_number_that_stands_for_nothing_is_an_error_and_other_partitions_are_answered(
    number,
):
    cluster = written()
    epoch = cluster.world.image.leaders["orders-0"].epoch
    refused = (UNSUPPORTED_VERSION, -1, -1, -1)
    assert ask(cluster, number) == [(0, *refused)]
    assert ask(cluster, LATEST, number) == [(0, 0, -1, 6, epoch), (1, *refused)]


def test_a_partition_that_is_named_twice_has_one_result_with_an_error():
    """ReplicaManager.fetchOffset."""
    cluster = written()
    part = {"PartitionIndex": 0, "Timestamp": LATEST}
    topics = ({"Name": "orders", "Partitions": (part, part)},)
    assert send(cluster, NEWEST, Topics=topics) == [(0, INVALID_REQUEST, -1, -1, -1)]


def test_a_partition_that_does_not_exist_has_an_error_of_its_own():
    cluster = written()
    told = ask(cluster, LATEST, LATEST)
    assert [each[1] for each in told] == [0, UNKNOWN_TOPIC_OR_PARTITION]


def test_the_new_leader_finds_the_same_records_by_their_times():
    cluster = written()
    before = ask(cluster, 1_001)[0]
    leader = cluster.world.image.leader_of("orders-0")
    cluster.take(MoveLeader("orders-0", 3 - leader))
    cluster.run()
    after = ask(cluster, 1_001)[0]
    assert after[:4] == before[:4]
    assert after[4] == before[4] + 1


def test_a_request_for_several_partitions_is_one_message_and_one_response():
    spec = to_serve(cluster_of({"orders": 3, "bills": 1}, brokers=1))
    cluster = ServedCluster(KAFKA.model(spec), {1: 1})
    parts = tuple({"PartitionIndex": n, "Timestamp": at} for n, at in enumerate((-1, -2, 0, -1)))
    names = ("orders", "bills")
    topics = tuple({"Name": name, "Partitions": parts} for name in names)
    caller = cluster.connect(1)
    before = cluster.steps
    cluster.feed(caller, frame(LIST_OFFSETS, NEWEST, ReplicaId=-1, Topics=topics))
    assert cluster.steps == before + 3  # received, delivered, answered
    assert [name for _, name in cluster.asked] == ["ListOffsets"]
    told = answer(caller, APIS[LIST_OFFSETS].response, NEWEST)["Topics"]
    found = [[(p["PartitionIndex"], p["ErrorCode"]) for p in t["Partitions"]] for t in told]
    assert [t["Name"] for t in told] == list(names)
    assert found[0] == [(0, 0), (1, 0), (2, 0), (3, UNKNOWN_TOPIC_OR_PARTITION)]
    assert found[1] == [(0, 0), *((n, UNKNOWN_TOPIC_OR_PARTITION) for n in (1, 2, 3))]


@pytest.mark.parametrize("partitions", [(0,), (0, 1)])
@pytest.mark.parametrize(
    "names", [("__consumer_offsets",), ("orders", "__transaction_state", "__share_group_state")]
)
def test_the_coordinators_of_internal_topics_answer_for_their_partitions(names, partitions):
    spec = to_serve(cluster_of({"orders": 2}, brokers=1))
    cluster = ServedCluster(KAFKA.model(spec), {1: 1})
    parts = tuple({"PartitionIndex": n, "Timestamp": LATEST} for n in partitions)
    topics = tuple({"Name": name, "Partitions": parts} for name in names)
    caller = cluster.connect(1)
    cluster.feed(caller, frame(LIST_OFFSETS, NEWEST, ReplicaId=-1, Topics=topics))
    told = answer(caller, APIS[LIST_OFFSETS].response, NEWEST)["Topics"]
    assert [t["Name"] for t in told] == list(names)
    found = {(p["ErrorCode"], p["Offset"], p["LeaderEpoch"]) for t in told for p in t["Partitions"]}
    assert found == {(0, 0, 0)}
