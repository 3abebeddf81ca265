"""The sessions, rebalances and locks of groups end by the clock, and not in the model's time."""

import socket
import threading
import time

import pytest

import kipviz
from kipviz.messages.apis.groups.consumer_protocol import SUBSCRIPTION
from kipviz.messages.wire.codec import encode
from kipviz.serving.served_spec import cluster_of
from kipviz.serving.timing import group_times
from kipviz.serving.translating import translate_groups
from tests.patience import PATIENCE, until
from tests.soaking import raw_client as raw
from tests.soaking.raw_client import Client, Tally

REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID = 27, 79, 25


@pytest.fixture(autouse=True)
def _short_sessions(monkeypatch):
    monkeypatch.setattr(translate_groups, "LEAST_MS", 100)


@pytest.fixture
def server():
    with kipviz.serve(cluster_of(["orders"], brokers=1)) as served:
        yield served


class Member:
    """A member of the classic group g."""

    def __init__(self, server, name, session_ms=10_000, rebalance_ms=10_000):
        self.client = Client(server.cluster.desk.ports, name, Tally())
        self.times = {"SessionTimeoutMs": session_ms, "RebalanceTimeoutMs": rebalance_ms}
        self.member, self.generation = "", -1

    def join(self):
        metadata = b"\0\1" + encode(SUBSCRIPTION, 1, {"Topics": ("orders",)}).data
        while True:
            told = self.client.ask(
                1,
                raw.JOIN_GROUP,
                GroupId="g",
                MemberId=self.member,
                ProtocolType="consumer",
                Protocols=({"Name": "range", "Metadata": metadata},),
                **self.times,
            )
            self.member = told["MemberId"]
            if told["ErrorCode"] != MEMBER_ID_REQUIRED:
                self.generation = told["GenerationId"]
                return told

    def sync(self):
        return self.client.ask(
            1,
            raw.SYNC_GROUP,
            GroupId="g",
            MemberId=self.member,
            GenerationId=self.generation,
            ProtocolType="consumer",
            ProtocolName="range",
            Assignments=(),
        )

    def beat(self):
        who = {"MemberId": self.member, "GenerationId": self.generation}
        return self.client.ask(1, raw.HEARTBEAT, GroupId="g", **who)["ErrorCode"]


def test_a_classic_member_that_sends_no_heartbeat_is_removed_after_the_session_it_asked_for(server):
    silent, alive = Member(server, "silent", session_ms=1_500), Member(server, "alive")
    silent.join()
    silent.sync()
    joins = threading.Thread(target=alive.join)  # waits for the other member, or for its session
    begun = time.monotonic()
    joins.start()
    joins.join(PATIENCE)
    assert time.monotonic() - begun > 1.0
    assert silent.beat() == UNKNOWN_MEMBER_ID
    alive.client.forget()
    silent.client.forget()


def test_a_heartbeat_restarts_a_session(server):
    member = Member(server, "m", session_ms=2_000)
    member.join()
    member.sync()
    for _ in range(8):
        time.sleep(0.4)
        assert member.beat() == 0
    until(lambda: member.client.ask(1, raw.HEARTBEAT, GroupId="g", MemberId="x", GenerationId=1))
    member.client.forget()


def test_a_rebalance_ends_without_a_member_that_goes_on_beating_and_does_not_join(server):
    slow = Member(server, "slow", rebalance_ms=1_500)
    slow.join()
    slow.sync()
    fast = Member(server, "fast", rebalance_ms=1_500)
    joins = threading.Thread(target=fast.join)
    joins.start()
    until(lambda: slow.beat() == REBALANCE_IN_PROGRESS)
    while joins.is_alive():
        slow.beat()
        time.sleep(0.1)
    assert slow.beat() == UNKNOWN_MEMBER_ID
    slow.client.forget()
    fast.client.forget()


@pytest.mark.parametrize(("named", "version"), [("keeps", -1), ("", 0)])
def test_a_member_of_the_consumer_protocol_revokes_within_the_time_that_it_asked_for(
    server, named, version
):
    client = Client(server.cluster.desk.ports, "c", Tally())

    def beat(member, epoch, **said):
        asked = {"GroupId": "k", "MemberId": member, "MemberEpoch": epoch}
        return client.ask(1, raw.CONSUMER_HEARTBEAT, version, **asked, **said)

    def join(member):
        return beat(
            member,
            0,
            RebalanceTimeoutMs=1_500,
            SubscribedTopicNames=("orders",),
            TopicPartitions=(),
        )

    told = join(named)
    member, epoch = told["MemberId"], told["MemberEpoch"]
    join("comes")
    begun = time.monotonic()
    until(lambda: beat(member, epoch)["ErrorCode"] == UNKNOWN_MEMBER_ID)
    # The brokers' own time is five minutes; this member asks for less.
    assert time.monotonic() - begun < 200
    client.forget()


def test_in_the_models_time_nothing_of_a_group_ends_by_itself():
    with kipviz.serve(cluster_of(["orders"], brokers=1), time="model") as server:
        member = Member(server, "m", session_ms=100)
        member.join()
        member.sync()
        time.sleep(2.2)
        assert member.beat() == 0
        member.client.forget()


def test_the_times_of_a_bounded_number_of_members_are_kept(monkeypatch):
    monkeypatch.setattr(group_times, "MEMBERS_MAX", 2)
    times = group_times.GroupTimes()
    for name in "abca":
        times.ask("g", name, 10, -1)
    assert times._asked == {("g", "c"): (10, 10), ("g", "a"): (10, 10)}


def test_a_lock_of_a_share_group_expires_by_the_clock(monkeypatch):
    spec = cluster_of(["orders"], brokers=1)
    spec = spec.but(settings=spec.settings.but(record_lock_duration_ms=1_000))
    with kipviz.serve(spec) as server:
        client = Client(server.cluster.desk.ports, "c", Tally())
        client.find_leader("orders", 0)
        topic_id = client.topic_ids["orders"]
        who = {"GroupId": "s", "MemberId": "m"}
        client.ask(1, raw.SHARE_HEARTBEAT, **who, MemberEpoch=0, SubscribedTopicNames=("orders",))
        _produce(client, topic_id)

        def fetch(epoch):
            told = client.ask(
                1,
                raw.SHARE_FETCH,
                **who,
                ShareSessionEpoch=epoch,
                MaxWaitMs=0,
                MinBytes=0,
                MaxRecords=10,
                BatchSize=10,
                Topics=({"TopicId": topic_id, "Partitions": ({"PartitionIndex": 0},)},),
            )
            parts = [part for topic in told["Responses"] for part in topic["Partitions"]]
            return [run["DeliveryCount"] for part in parts for run in part["AcquiredRecords"]]

        assert fetch(0) == [1]
        epoch = iter(range(1, 10_000))
        until(lambda: fetch(next(epoch)) == [2])
        client.forget()


def _produce(client, topic_id):
    from tests.recordings import made_logs

    data = ({"Index": 0, "Records": made_logs.batch(0, ((None, b"v"),))},)
    topics = ({"TopicId": topic_id, "PartitionData": data},)
    told = client.ask(1, raw.PRODUCE, TransactionalId=None, Acks=-1, TimeoutMs=1, TopicData=topics)
    assert told["Responses"][0]["PartitionResponses"][0]["ErrorCode"] == 0


def test_a_client_that_is_gone_without_a_word_frees_its_group(server):
    gone = Member(server, "gone", session_ms=1_500)
    gone.join()
    gone.client.forget()
    other = Member(server, "other")
    assert other.join()["ErrorCode"] == 0
    other.client.forget()
    assert socket.create_connection(("127.0.0.1", server.cluster.desk.ports[1])).close() is None
