"""Requests that a broker rejects, or that it takes although they look wrong: as Kafka's classes do."""

import pytest

from kipviz.messages.apis.groups.consumer_protocol import SUBSCRIPTION
from kipviz.messages.wire.codec import encode
from kipviz.messages.wire.frame import REQUEST_HEADER, header_version
from kipviz.serving.translating.apis import APIS
from kipviz.serving.translating.translate_cluster import (
    API_VERSIONS,
    API_VERSIONS_REQUEST,
    API_VERSIONS_RESPONSE,
)
from tests.recordings import made_logs
from tests.serving.frames import answer, frame, lives, make_cluster

PRODUCE, FETCH, METADATA, JOIN_GROUP = 0, 1, 3, 11
NOT_LEADER_OR_FOLLOWER, MESSAGE_TOO_LARGE = 6, 10
INVALID_REQUIRED_ACKS, UNSUPPORTED_VERSION, INVALID_REQUEST = 21, 35, 42


def produce(acks, topic="orders"):
    data = ({"Index": 0, "Records": made_logs.batch(0)},)
    return frame(PRODUCE, 9, Acks=acks, TopicData=({"Name": topic, "PartitionData": data},))


@pytest.mark.parametrize("acks", [2, -2, 32_767])
def test_acks_that_no_request_may_have_are_an_error_of_each_partition(acks):
    """ReplicaManager.isValidRequiredAcks."""
    cluster = make_cluster()
    caller = cluster.connect(1)
    cluster.feed(caller, produce(acks))
    (topic,) = answer(caller, APIS[PRODUCE].response, 9)["Responses"]
    (part,) = topic["PartitionResponses"]
    assert (part["ErrorCode"], part["BaseOffset"]) == (INVALID_REQUIRED_ACKS, -1)
    assert not cluster.world.logs["orders-0"].batches
    assert not cluster.lines


def test_with_acks_0_an_error_closes_the_connection_because_there_is_no_response():
    """KafkaApis.handleProduceRequest: the producer notices, and asks for the metadata again."""
    cluster = make_cluster()
    follower = 3 - cluster.world.image.leader_of("orders-0")
    caller = cluster.connect(follower)
    cluster.feed(caller, produce(0))
    assert caller.broken
    assert not caller.out
    (line,) = cluster.lines
    assert line.endswith("closed: a batch with acks=0 is rejected with error code 6")
    good = cluster.connect(3 - follower)
    cluster.feed(good, produce(0))
    assert not good.broken
    assert not good.out
    assert len(cluster.world.logs["orders-0"].batches) == 1


def test_bytes_after_a_request_are_ignored():
    """AbstractRequest.parseRequest reads what the schema has, and no further."""
    cluster = make_cluster()
    caller = cluster.connect(1)
    cluster.feed(caller, frame(METADATA, 12) + b"more")
    assert answer(caller, APIS[METADATA].response, 12)["Brokers"]
    assert not cluster.lines


def ask_versions(cluster, caller, version, **said):
    head = {"RequestApiKey": API_VERSIONS, "RequestApiVersion": version, "CorrelationId": 7}
    header = encode(REQUEST_HEADER, header_version(API_VERSIONS_REQUEST, version), head).data
    cluster.feed(caller, header + encode(API_VERSIONS_REQUEST, version, said).data)
    return answer(caller, API_VERSIONS_RESPONSE, version, old_header=True)


@pytest.mark.parametrize("name", ["", "-x", "x y", "ä"])
def test_a_clients_software_without_a_proper_name_is_an_error_and_the_connection_stays(name):
    """ApiVersionsRequest.isValid."""
    cluster = make_cluster()
    caller = cluster.connect(1)
    said = {"ClientSoftwareName": name, "ClientSoftwareVersion": "1.0"}
    told = ask_versions(cluster, caller, 3, **said)
    assert (told["ErrorCode"], told["ApiKeys"]) == (INVALID_REQUEST, ())
    assert ask_versions(cluster, caller, 3, **(said | {"ClientSoftwareName": "x-y.z"}))["ApiKeys"]
    assert caller.software == "x-y.z 1.0"


def test_versions_that_are_too_new_are_answered_with_those_of_api_versions_alone():
    """KIP-511; ApiVersionsRequest.getErrorResponse."""
    cluster = make_cluster()
    caller = cluster.connect(1)
    cluster.feed(caller, b"\x00\x12\x00\x63" + b"\x00\x00\x00\x07")
    told = answer(caller, API_VERSIONS_RESPONSE, 0, old_header=True)
    assert told["ErrorCode"] == UNSUPPORTED_VERSION
    assert [key["ApiKey"] for key in told["ApiKeys"]] == [API_VERSIONS]
    assert lives(cluster)


def test_no_client_writes_to_an_internal_topic_and_the_other_partitions_are_written():
    """ReplicaManager.appendRecordsToLeader."""
    cluster = make_cluster()
    caller = cluster.connect(cluster.world.image.leader_of("orders-0"))
    batch = {"Index": 0, "Records": made_logs.batch(0)}
    topics = (
        {"Name": name, "PartitionData": (batch,)} for name in ("__consumer_offsets", "orders")
    )
    cluster.feed(caller, frame(PRODUCE, 9, Acks=-1, TopicData=tuple(topics)))
    told = answer(caller, APIS[PRODUCE].response, 9)["Responses"]
    assert [each["PartitionResponses"][0]["ErrorCode"] for each in told] == [17, 0]
    assert len(cluster.world.logs["orders-0"].batches) == 1
    assert not cluster.world.logs["__consumer_offsets-0"].batches


def test_a_partition_of_an_internal_topic_is_not_read_and_the_others_are():
    cluster = make_cluster()
    leader = cluster.world.image.leader_of("orders-0")
    cluster.feed(cluster.connect(leader), produce(-1))
    caller = cluster.connect(leader)
    part = {"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1_000}
    for names in (("__consumer_offsets",), ("__consumer_offsets", "orders")):
        topics = tuple({"Topic": name, "Partitions": (part,)} for name in names)
        asked = frame(FETCH, 12, MaxWaitMs=60_000, MinBytes=1, MaxBytes=9_000, Topics=topics)
        cluster.feed(caller, asked)
        told = answer(caller, APIS[FETCH].response, 12)["Responses"]
        found = [(p["ErrorCode"], bool(p["Records"])) for t in told for p in t["Partitions"]]
        assert found == [(29, False), (0, True)][: len(names)]


def test_a_batch_of_a_transaction_needs_a_transactional_id_and_no_partition_is_written_without():
    """KafkaApis.handleProduceRequest."""
    cluster = make_cluster()
    caller = cluster.connect(cluster.world.image.leader_of("orders-0"))
    plain = {"Index": 0, "Records": made_logs.batch(0)}
    of_transaction = {"Index": 0, "Records": made_logs.batch(0, pid=7, epoch=0, sequence=0)}
    for given in ((of_transaction,), (of_transaction, plain)):
        data = ({"Name": "orders", "PartitionData": given},)
        cluster.feed(caller, frame(PRODUCE, 9, TransactionalId=None, Acks=-1, TopicData=data))
        (topic,) = answer(caller, APIS[PRODUCE].response, 9)["Responses"]
        assert {each["ErrorCode"] for each in topic["PartitionResponses"]} == {53}
    assert not cluster.world.logs["orders-0"].batches


@pytest.mark.parametrize("version", [4, 6, 7, 9])
def test_a_group_without_a_name_cannot_be_joined(version):
    """GroupCoordinatorService.joinGroup."""
    cluster = make_cluster()
    caller = cluster.connect(1)
    said = {
        "GroupId": "",
        "SessionTimeoutMs": 10_000,
        "RebalanceTimeoutMs": 10_000,
        "MemberId": "m",
        "ProtocolType": "consumer",
        "Protocols": (
            {"Name": "range", "Metadata": b"\0\0" + encode(SUBSCRIPTION, 0, {"Topics": ()}).data},
        ),
    }
    cluster.feed(caller, frame(JOIN_GROUP, version, **said))
    told = answer(caller, APIS[JOIN_GROUP].response, version)
    assert (told["ErrorCode"], told["MemberId"], told["GenerationId"]) == (24, "m", -1)
    assert not cluster.lines


LARGEST = 1_048_588  # max.message.bytes


def of_size(size):
    """A batch of one record with so many bytes in all."""
    almost = size - 100
    missing = size - len(made_logs.batch(0, ((None, b"x" * almost),)))
    return made_logs.batch(0, ((None, b"x" * (almost + missing)),))


@pytest.mark.parametrize(("size", "error"), [(LARGEST, 0), (LARGEST + 1, MESSAGE_TOO_LARGE)])
def test_the_leader_rejects_a_batch_above_max_message_bytes(size, error):
    """UnifiedLog.analyzeAndValidateRecords."""
    cluster = make_cluster()
    leader = cluster.world.image.leader_of("orders-0")
    data = of_size(size)
    assert len(data) == size
    topics = ({"Name": "orders", "PartitionData": ({"Index": 0, "Records": data},)},)
    caller = cluster.connect(leader)
    cluster.feed(caller, frame(PRODUCE, 9, Acks=-1, TopicData=topics))
    (topic,) = answer(caller, APIS[PRODUCE].response, 9)["Responses"]
    assert topic["PartitionResponses"][0]["ErrorCode"] == error
    assert len(cluster.world.logs["orders-0"].batches) == (0 if error else 1)
    # A broker that does not lead the partition does not look at the size.
    caller = cluster.connect(3 - leader)
    cluster.feed(caller, frame(PRODUCE, 9, Acks=-1, TopicData=topics))
    (topic,) = answer(caller, APIS[PRODUCE].response, 9)["Responses"]
    assert topic["PartitionResponses"][0]["ErrorCode"] == NOT_LEADER_OR_FOLLOWER
    assert not cluster.lines


@pytest.mark.parametrize(("sizes", "error"), [((LARGEST + 1, 200), 0), ((200, LARGEST + 1), 10)])
def test_of_a_partition_that_is_named_twice_the_last_batch_counts(sizes, error):
    """KafkaApis.handleProduceRequest puts the batches into a map by partition."""
    cluster = make_cluster()
    leader = cluster.world.image.leader_of("orders-0")
    parts = tuple({"Index": 0, "Records": of_size(size)} for size in sizes)
    caller = cluster.connect(leader)
    topics = ({"Name": "orders", "PartitionData": parts},)
    cluster.feed(caller, frame(PRODUCE, 9, Acks=-1, TopicData=topics))
    (topic,) = answer(caller, APIS[PRODUCE].response, 9)["Responses"]
    assert [each["ErrorCode"] for each in topic["PartitionResponses"]] == [error]
    assert len(cluster.world.logs["orders-0"].batches) == (0 if error else 1)
    assert not cluster.lines
