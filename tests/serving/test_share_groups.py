"""Share groups by frames, without a client: join, fetch, acknowledge, release, describe, close."""

import pytest

from kipviz.cluster.actions import ExpireLock, MoveLeader
from kipviz.designs.catalogue import design
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import decode, decode_head, encode
from kipviz.messages.wire.frame import REQUEST_HEADER, RESPONSE_HEADER, header_version
from kipviz.scenarios.served_scenario import served_scenario
from kipviz.serving.served_cluster import ServedCluster
from kipviz.serving.served_spec import cluster_of, to_serve
from kipviz.serving.translating.apis import APIS
from tests.recordings import made_logs
from tests.serving.frames import answer, frame

HEARTBEAT, DESCRIBE, FETCH, ACKNOWLEDGE, PRODUCE = 76, 77, 78, 79, 0
SPEC = to_serve(cluster_of(["orders"], brokers=1))
TOPIC_ID = dict(SPEC.topic_ids)["orders"]
NO_TOPIC = "AAAAAAAAAAAAAAAAAAAAAg"
WHO = {"GroupId": "g", "MemberId": "m"}


class Wire:
    """A cluster, and one connection that asks by frames."""

    def __init__(self):
        kafka = design("kafka")
        self.cluster = ServedCluster(served_scenario(SPEC, "kafka").model(kafka), {1: 9001})
        self.caller = self.cluster.connect(1)

    def ask(self, key, **told):
        self.send(key, **told)
        return self.answer(key)

    def send(self, key, **told):
        api = APIS[key]
        version = header_version(api.request, api.highest)
        head = {"RequestApiKey": key, "RequestApiVersion": api.highest, "CorrelationId": 1}
        header = encode(REQUEST_HEADER, version, {**head, "ClientId": "c"})
        self.cluster.feed(self.caller, header.data + encode(api.request, api.highest, told).data)

    def answer(self, key):
        api = APIS[key]
        data = bytes(self.caller.out)[4:]
        assert data, self.cluster.lines
        del self.caller.out[:]
        head = header_version(api.response, api.highest)
        _, start = decode_head(RESPONSE_HEADER, head, data)
        told, _ = decode(api.response, api.highest, data, len(start.data))
        return told

    def produce(self, *values):
        data = made_logs.batch(0, tuple((None, value.encode()) for value in values))
        told = self.ask(
            PRODUCE,
            Acks=-1,
            TimeoutMs=1_000,
            TopicData=(
                {
                    "TopicId": TOPIC_ID,
                    "PartitionData": ({"Index": 0, "Records": data},),
                },
            ),
        )
        assert told["Responses"][0]["PartitionResponses"][0]["ErrorCode"] == 0
        return data

    def join(self):
        return self.ask(HEARTBEAT, **WHO, MemberEpoch=0, SubscribedTopicNames=("orders",))

    def fetch(self, epoch, *acknowledged, topic_id=TOPIC_ID, **more):
        """Ask for records; return what is said of the partition, or None where nothing is."""
        partition = {"PartitionIndex": 0, "AcknowledgementBatches": acknowledged}
        topics = ({"TopicId": topic_id, "Partitions": (partition,)},)
        asked = {"MaxWaitMs": 0, "MinBytes": 1, "MaxRecords": 500, "BatchSize": 500}
        told = self.ask(FETCH, **WHO, ShareSessionEpoch=epoch, Topics=topics, **(asked | more))
        assert told["ErrorCode"] == 0, told
        return told["Responses"][0]["Partitions"][0] if told["Responses"] else None

    def acknowledge(self, epoch, *batches):
        partition = {"PartitionIndex": 0, "AcknowledgementBatches": batches}
        topics = ({"TopicId": TOPIC_ID, "Partitions": (partition,)},) if batches else ()
        return self.ask(ACKNOWLEDGE, **WHO, ShareSessionEpoch=epoch, Topics=topics)


def batch(first, last, *types):
    return {"FirstOffset": first, "LastOffset": last, "AcknowledgeTypes": types}


def list_acquired(part):
    """Return (first, last, delivery count) of what was acquired."""
    runs = part["AcquiredRecords"] if part is not None else ()
    return [(run["FirstOffset"], run["LastOffset"], run["DeliveryCount"]) for run in runs]


ACCEPT, RELEASE = 1, 2


@pytest.fixture
def wire():
    made = Wire()
    made.produce("a", "b", "c")
    joined = made.join()
    assert (joined["ErrorCode"], joined["MemberEpoch"]) == (0, 2)
    return made


@pytest.fixture
def holding(wire):
    """A member whose session has delivered three records; its next epoch is 1."""
    assert list_acquired(wire.fetch(0)) == [(0, 2, 1)]
    return wire


def test_a_member_is_told_its_partitions(wire):
    told = wire.ask(HEARTBEAT, **WHO, MemberEpoch=2)
    again = wire.join()
    assert told["HeartbeatIntervalMs"] == 5_000
    ((topic),) = again["Assignment"]["TopicPartitions"]
    assert (topic["TopicId"], tuple(topic["Partitions"])) == (TOPIC_ID, (0,))


def test_records_are_acquired_with_the_bytes_that_were_produced():
    wire = Wire()
    data = wire.produce("a", "b", "c")
    wire.join()
    part = wire.fetch(0)
    assert list_acquired(part) == [(0, 2, 1)]
    # From the magic byte on: base offset and leader epoch are the broker's.
    assert part["Records"][16:] == data[16:]


def test_each_offset_may_have_a_type_of_its_own_and_a_released_record_comes_again(holding):
    told = holding.acknowledge(1, batch(0, 2, ACCEPT, RELEASE, ACCEPT))
    assert told["ErrorCode"] == 0
    assert told["Responses"][0]["Partitions"][0]["ErrorCode"] == 0
    assert list_acquired(holding.fetch(2)) == [(1, 1, 2)]


def test_acknowledgements_come_along_with_a_fetch(holding):
    part = holding.fetch(1, batch(0, 1, ACCEPT), batch(2, 2, RELEASE))
    assert part["AcknowledgeErrorCode"] == 0
    again = list_acquired(part) or list_acquired(holding.fetch(2))
    assert again == [(2, 2, 2)]


def test_a_lock_that_runs_out_gives_the_record_to_the_next_fetch(holding):
    world = holding.cluster.world
    (lock, *_) = [a for a in holding.cluster.model.enabled(world) if isinstance(a, ExpireLock)]
    holding.cluster.take(lock)
    holding.cluster.run()
    assert list_acquired(holding.fetch(1)) == [(0, 2, 2)]


def test_what_is_not_held_cannot_be_acknowledged(holding):
    holding.acknowledge(1, batch(1, 1, ACCEPT))
    told = holding.acknowledge(2, batch(1, 1, ACCEPT))
    error = told["Responses"][0]["Partitions"][0]["ErrorCode"]
    assert error == Errors.INVALID_RECORD_STATE


def test_a_wrong_session_epoch_is_an_error_of_the_whole_answer(holding):
    told = holding.acknowledge(9, batch(0, 0, ACCEPT))
    assert told["ErrorCode"] == Errors.INVALID_SHARE_SESSION_EPOCH
    assert told["Responses"] == ()


def test_a_session_is_closed_without_naming_a_partition_and_its_records_come_again(holding):
    told = holding.acknowledge(-1)
    assert (told["ErrorCode"], told["Responses"]) == (0, ())
    assert list_acquired(holding.fetch(0)) == [(0, 2, 2)]


def test_closing_a_session_that_is_not_there_is_an_error(wire):
    assert wire.acknowledge(-1)["ErrorCode"] == Errors.SHARE_SESSION_NOT_FOUND


def test_an_unknown_topic_id_is_answered_for_its_partition(wire):
    assert wire.fetch(0, topic_id=NO_TOPIC)["ErrorCode"] == Errors.UNKNOWN_TOPIC_ID


def test_a_fetch_waits_until_a_record_comes_and_is_answered_when_its_time_is_over(holding):
    holding.acknowledge(1, batch(0, 2, ACCEPT))
    topics = ({"TopicId": TOPIC_ID, "Partitions": ({"PartitionIndex": 0},)},)
    asked = {"MaxWaitMs": 700, "MinBytes": 1, "MaxRecords": 500, "BatchSize": 500}
    holding.send(FETCH, **WHO, ShareSessionEpoch=2, Topics=topics, **asked)
    assert not holding.caller.out
    assert holding.caller.wait_ms == 700
    other, holding.caller = holding.caller, holding.cluster.connect(1)
    holding.produce("d")
    holding.caller = other
    (topic,) = holding.answer(FETCH)["Responses"]
    assert list_acquired(topic["Partitions"][0]) == [(3, 3, 1)]
    holding.acknowledge(3, batch(3, 3, ACCEPT))
    holding.send(FETCH, **WHO, ShareSessionEpoch=4, Topics=(), **asked)
    assert not holding.caller.out
    holding.cluster.time_over(holding.caller)
    assert holding.answer(FETCH)["Responses"] == ()


def test_a_share_group_is_described_with_its_members(wire):
    (group,) = wire.ask(DESCRIBE, GroupIds=("g",))["Groups"]
    assert (group["ErrorCode"], group["GroupState"]) == (0, "Stable")
    assert [member["MemberId"] for member in group["Members"]] == ["m"]


def test_a_session_without_a_partition_is_answered_at_once(holding):
    holding.acknowledge(1, batch(0, 2, ACCEPT))
    forgotten = ({"TopicId": TOPIC_ID, "Partitions": (0,)},)
    asked = {"MaxWaitMs": 700, "MinBytes": 1, "MaxRecords": 500, "BatchSize": 500}
    holding.send(FETCH, **WHO, ShareSessionEpoch=2, ForgottenTopicsData=forgotten, **asked)
    told = holding.answer(FETCH)
    assert (told["ErrorCode"], told["Responses"]) == (0, ())


def test_a_leader_that_has_moved_is_named_with_its_address():
    spec = to_serve(cluster_of(["orders"], brokers=2))
    kafka = design("kafka")
    wire = Wire()
    wire.cluster = ServedCluster(served_scenario(spec, "kafka").model(kafka), {1: 9001, 2: 9002})
    wire.caller = wire.cluster.connect(1)
    wire.cluster.take(MoveLeader("orders-0", 2))
    topics = ({"TopicId": TOPIC_ID, "Partitions": ({"PartitionIndex": 0},)},)
    asked = {"MinBytes": 1, "MaxRecords": 500, "BatchSize": 500}
    told = wire.ask(FETCH, **WHO, ShareSessionEpoch=0, Topics=topics, **asked)
    (part,) = told["Responses"][0]["Partitions"]
    assert part["ErrorCode"] == Errors.NOT_LEADER_OR_FOLLOWER
    assert part["CurrentLeader"] == {"LeaderId": 2, "LeaderEpoch": 1}
    (node,) = told["NodeEndpoints"]
    assert (node["NodeId"], node["Port"]) == (2, 9002)


@pytest.mark.parametrize(
    ("key", "told", "why"),
    [
        (FETCH, {**WHO, "ShareAcquireMode": 7}, "0 or 1"),
    ],
)
def test_what_the_model_has_no_room_for_closes_the_connection_with_its_reason(wire, key, told, why):
    wire.send(key, **told)
    assert wire.caller.broken
    assert why in wire.cluster.lines[-1]


def test_an_acknowledgement_of_an_unknown_type_closes_the_connection(holding):
    partition = {"PartitionIndex": 0, "AcknowledgementBatches": (batch(0, 0, 99),)}
    topics = ({"TopicId": TOPIC_ID, "Partitions": (partition,)},)
    holding.send(ACKNOWLEDGE, **WHO, ShareSessionEpoch=1, Topics=topics)
    assert holding.caller.broken
    assert "99" in holding.cluster.lines[-1]


class Member:
    """A member of share group s in a cluster with two topics, which it reads in one session."""

    def __init__(self, cluster, name):
        self.cluster, self.name, self.epoch = cluster, name, 0
        self.caller = cluster.connect(1)

    def ask(self, key, **said):
        api = APIS[key]
        self.cluster.feed(self.caller, frame(key, api.highest, **said))
        assert not self.cluster.lines
        return answer(self.caller, api.response, api.highest)

    def beat(self, *topics):
        """Send a heartbeat; return the assigned partitions, or None if they are as before."""
        who = {"GroupId": "s", "MemberId": self.name, "MemberEpoch": self.epoch}
        told = self.ask(HEARTBEAT, **who, SubscribedTopicNames=topics or None)
        assert told["ErrorCode"] == 0
        self.epoch = told["MemberEpoch"]
        held = told["Assignment"]
        names = {known: topic for topic, known in self.cluster.world.image.topic_ids.items()}
        return held and {
            f"{names[t['TopicId']]}-{i}" for t in held["TopicPartitions"] for i in t["Partitions"]
        }


def test_a_member_of_a_share_group_reads_all_topics_to_which_it_subscribes():
    spec = to_serve(cluster_of({"one": 1, "two": 2}, brokers=1))
    cluster = ServedCluster(served_scenario(spec, "kafka").model(design("kafka")), {1: 9001})
    ids = cluster.world.image.topic_ids
    both, second = Member(cluster, "both"), Member(cluster, "second")
    both.beat("two", "one")
    assert both.beat() == {"one-0", "two-0", "two-1"}
    for topic in ("one", "two"):
        data = ({"Index": 0, "Records": made_logs.batch(0, ((None, topic.encode()),))},)
        topics = ({"TopicId": ids[topic], "PartitionData": data},)
        both.ask(PRODUCE, Acks=-1, TimeoutMs=1_000, TopicData=topics)
    asked = {"MaxWaitMs": 0, "MinBytes": 1, "MaxRecords": 500, "BatchSize": 500}
    topics = tuple({"TopicId": i, "Partitions": ({"PartitionIndex": 0},)} for i in ids.values())
    found = {}
    for epoch in range(3):  # a response has what is there, of one topic or of both
        who = {"GroupId": "s", "MemberId": "both", "ShareSessionEpoch": epoch}
        told = both.ask(FETCH, **who, Topics=() if epoch else topics, **asked)
        found |= {t["TopicId"]: list_acquired(t["Partitions"][0]) for t in told["Responses"]}
    assert found == {ids["one"]: [(0, 0, 1)], ids["two"]: [(0, 0, 1)]}
    (group,) = both.ask(DESCRIBE, GroupIds=("s",))["Groups"]
    (described,) = group["Members"]
    assert described["SubscribedTopicNames"] == ("one", "two")
    # Members with other subscriptions share a topic, and get nothing else (SimpleAssignor).
    theirs = second.beat("two")
    assert theirs < {"two-0", "two-1"}
    assert both.beat() == {"one-0", "two-0", "two-1"} - theirs
    assert both.beat() is None
    both.beat("one")
    assert second.beat() == {"two-0", "two-1"}
    epoch = second.epoch
    assert second.beat() is None
    assert second.epoch == epoch
