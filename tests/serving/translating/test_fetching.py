"""A client's Fetch: how long it waits, the leader epoch that it has, and sessions."""

import pytest

from kipviz.cluster.actions import MoveLeader
from kipviz.serving.delivery_rules import rule
from kipviz.serving.translating.apis import APIS
from tests.recordings import made_logs
from tests.serving.frames import answer, frame, make_cluster

PRODUCE, FETCH, LIST_OFFSETS = 0, 1, 2
VERSION = 12  # topics have names
NOT_LEADER, FENCED, UNKNOWN_EPOCH, NO_SESSION = 6, 74, 75, 70


@pytest.fixture
def cluster():
    return make_cluster()


def leader_of(cluster):
    return cluster.world.image.leader_of("orders-0")


def epoch_of(cluster):
    return cluster.world.image.leaders["orders-0"].epoch


def move(cluster):
    cluster.take(MoveLeader("orders-0", 3 - leader_of(cluster)))
    cluster.run()


def produce(cluster, size=100):
    data = ({"Index": 0, "Records": made_logs.batch(0, ((None, b"x" * size),))},)
    caller = cluster.connect(leader_of(cluster))
    topics = ({"Name": "orders", "PartitionData": data},)
    cluster.feed(caller, frame(PRODUCE, 9, Acks=-1, TopicData=topics))
    (topic,) = answer(caller, APIS[PRODUCE].response, 9)["Responses"]
    assert topic["PartitionResponses"][0]["ErrorCode"] == 0


def fetch(cluster, *, broker=0, offset=0, epoch=-1, topics=("orders",), **said):
    caller = cluster.connect(broker or leader_of(cluster))
    part = {
        "Partition": 0,
        "FetchOffset": offset,
        "CurrentLeaderEpoch": epoch,
        "PartitionMaxBytes": 1_000_000,
    }
    named = tuple({"Topic": name, "Partitions": (part,)} for name in topics)
    waits = {"MaxWaitMs": 60_000, "MinBytes": 1, "MaxBytes": 1_000_000}
    cluster.feed(caller, frame(FETCH, VERSION, **{**waits, "Topics": named, **said}))
    assert not cluster.lines
    return caller


def told(caller):
    """The error and the number of bytes of each partition; nothing while the request waits."""
    if not caller.out:
        return None
    found = answer(caller, APIS[FETCH].response, VERSION)["Responses"]
    return [(p["ErrorCode"], len(p["Records"] or b"")) for t in found for p in t["Partitions"]]


def test_a_fetch_waits_for_min_bytes_and_gets_all_of_them_then(cluster):
    """DelayedFetch.tryComplete."""
    produce(cluster)
    caller = fetch(cluster, MinBytes=400)
    assert told(caller) is None
    produce(cluster)
    assert told(caller) is None
    produce(cluster)
    ((error, size),) = told(caller)
    assert (error, size >= 400) == (0, True)


def test_a_fetch_whose_time_is_over_gets_what_there_is(cluster):
    produce(cluster)
    caller = fetch(cluster, MinBytes=400)
    cluster.time_over(caller)
    ((error, size),) = told(caller)
    assert (error, 100 < size < 400) == (0, True)


def test_more_min_bytes_than_max_bytes_are_waited_for_no_longer_than_max_bytes(cluster):
    """KafkaApis.handleFetchRequest."""
    produce(cluster)
    assert told(fetch(cluster, MinBytes=400, MaxBytes=100)) is not None


@pytest.mark.parametrize("said", [{"MinBytes": 0}, {"MaxWaitMs": 0}])
def test_a_fetch_that_needs_nothing_or_may_not_wait_is_answered_at_once(cluster, said):
    assert told(fetch(cluster, **said)) == [(0, 0)]


def test_an_error_of_reading_is_answered_at_once_and_a_topic_that_is_missing_ends_no_wait(cluster):
    """ReplicaManager.fetchMessages; KafkaApis.handleFetchRequest, erroneous."""
    assert told(fetch(cluster, offset=7)) == [(1, 0)]
    assert told(fetch(cluster, topics=("missing",))) == [(3, 0)]
    caller = fetch(cluster, topics=("missing", "orders"))
    assert told(caller) is None
    produce(cluster)
    assert [error for error, _ in told(caller)] == [3, 0]


def test_a_fetch_that_waits_is_answered_when_the_leader_moves(cluster):
    caller = fetch(cluster)
    assert told(caller) is None
    move(cluster)
    assert told(caller) == [(NOT_LEADER, 0)]


def list_offsets(cluster, broker, epoch):
    part = {"PartitionIndex": 0, "CurrentLeaderEpoch": epoch, "Timestamp": -1}
    caller = cluster.connect(broker)
    topics = ({"Name": "orders", "Partitions": (part,)},)
    cluster.feed(caller, frame(LIST_OFFSETS, 11, ReplicaId=-1, Topics=topics))
    (topic,) = answer(caller, APIS[LIST_OFFSETS].response, 11)["Topics"]
    return topic["Partitions"][0]["ErrorCode"]


def test_another_leader_epoch_than_the_brokers_is_an_error_before_it_looks_who_leads(cluster):
    """Partition.checkCurrentLeaderEpoch."""
    move(cluster)
    produce(cluster)
    leader, epoch = leader_of(cluster), epoch_of(cluster)
    errors = {-1: 0, epoch: 0, epoch - 1: FENCED, epoch + 1: UNKNOWN_EPOCH}
    for asked, error in errors.items():
        ((found, size),) = told(fetch(cluster, epoch=asked))
        assert (found, size > 0) == (error, not error)
        assert list_offsets(cluster, leader, asked) == error
        at_follower = error or NOT_LEADER
        assert told(fetch(cluster, broker=3 - leader, epoch=asked)) == [(at_follower, 0)]
        assert list_offsets(cluster, 3 - leader, asked) == at_follower


def test_a_request_that_is_held_while_the_leader_moves_is_fenced(cluster):
    epoch = epoch_of(cluster)
    cluster.rules.append(rule("hold Fetch"))
    produce(cluster)
    caller = fetch(cluster, epoch=epoch)
    assert told(caller) is None
    move(cluster)
    cluster.rules.clear()
    cluster.forget_judgements()
    cluster.run()
    assert told(caller) == [(FENCED, 0)]


def test_a_fetch_of_a_session_is_told_that_there_is_none(cluster):
    """FetchManager.newContext: the answer to a first request has session 0, as that of a full cache has."""
    produce(cluster)
    first = fetch(cluster, SessionId=0, SessionEpoch=0)
    found = answer(first, APIS[FETCH].response, VERSION)
    assert (found["ErrorCode"], found["SessionId"]) == (0, 0)
    later = answer(fetch(cluster, SessionId=7, SessionEpoch=1), APIS[FETCH].response, VERSION)
    assert (later["ErrorCode"], later["Responses"]) == (NO_SESSION, ())
