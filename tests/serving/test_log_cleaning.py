"""A server that runs for days: superseded records of internal topics and very old records are removed."""

import pytest

from kipviz.cluster.actions import CrashBroker, MoveLeader
from kipviz.cluster.model import ClusterModel
from kipviz.designs.catalogue import design
from kipviz.messages.wire.codec import decode, decode_head
from kipviz.messages.wire.frame import RESPONSE_HEADER, header_version
from kipviz.serving import log_cleaning, served_cluster
from kipviz.serving.log_cleaning import compact
from kipviz.serving.served_cluster import ServedCluster
from kipviz.serving.served_spec import cluster_of, to_serve
from kipviz.serving.translating.apis import APIS
from tests.recordings import made_logs
from tests.soaking import raw_client as raw
from tests.soaking.raw_client import encode_frame

KAFKA = design("kafka")
SPEC = to_serve(cluster_of(["orders"]))
MODEL = ClusterModel(SPEC, KAFKA.broker_rules(), KAFKA.client_rules())
TOPIC_ID = dict(SPEC.topic_ids)["orders"]


class Producer:
    """A producer with transactions, and commits of offsets, by frames."""

    def __init__(self):
        self.cluster = ServedCluster(MODEL, {1: 9001, 2: 9002, 3: 9003})
        self.callers = {}
        self.producer = (-1, -1)

    def ask(self, broker, key, **said):
        caller = self.callers.get(broker)
        if caller is None or caller.broken:
            caller = self.callers[broker] = self.cluster.connect(broker)
        self.cluster.feed(caller, encode_frame(key, APIS[key].highest, **said)[4:])
        data = bytes(caller.out)[4:]
        assert data, self.cluster.lines
        del caller.out[:]
        response, version = APIS[key].response, APIS[key].highest
        _, start = decode_head(RESPONSE_HEADER, header_version(response, version), data)
        return decode(response, version, data, len(start.data))[0]

    def coordinator(self):
        asked = {"KeyType": raw.TRANSACTION, "CoordinatorKeys": ("t",)}
        (up, *_) = self.cluster.world.up
        return self.ask(up, raw.FIND_COORDINATOR, **asked)["Coordinators"][0]["NodeId"]

    def start(self):
        told = self.ask(
            self.coordinator(),
            raw.INIT_PRODUCER_ID,
            TransactionalId="t",
            TransactionTimeoutMs=60_000,
            ProducerId=-1,
            ProducerEpoch=-1,
        )
        assert told["ErrorCode"] == 0
        self.producer = (told["ProducerId"], told["ProducerEpoch"])

    def transact(self, value):
        pid, epoch = self.producer
        batch = made_logs.batch(0, ((None, value.encode()),), pid=pid, epoch=epoch, sequence=0)
        leader = self.cluster.world.image.leader_of("orders-0")
        data = ({"Index": 0, "Records": batch},)
        told = self.ask(
            leader,
            raw.PRODUCE,
            TransactionalId="t",
            Acks=-1,
            TimeoutMs=1_000,
            TopicData=({"TopicId": TOPIC_ID, "PartitionData": data},),
        )
        assert told["Responses"][0]["PartitionResponses"][0]["ErrorCode"] == 0
        who = {"ProducerId": pid, "ProducerEpoch": epoch, "TransactionalId": "t"}
        told = self.ask(self.coordinator(), raw.END_TXN, **who, Committed=True)
        assert told["ErrorCode"] == 0
        self.producer = (told["ProducerId"], told["ProducerEpoch"])

    def commit(self, offset):
        home = self.cluster.world.image.home_of("__consumer_offsets", "g")
        part = {"PartitionIndex": 0, "CommittedOffset": offset, "CommittedMetadata": None}
        told = self.ask(
            self.cluster.world.image.leader_of(home),
            raw.OFFSET_COMMIT,
            GroupId="g",
            GenerationIdOrMemberEpoch=-1,
            MemberId="",
            Topics=({"TopicId": TOPIC_ID, "Partitions": (part,)},),
        )
        assert told["Topics"][0]["Partitions"][0]["ErrorCode"] == 0

    def sizes(self):
        logs = self.cluster.world.logs
        return {partition: len(log.batches) for partition, log in logs.items() if log.batches}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(served_cluster, "STEPS_MAX", 20)
    monkeypatch.setattr(served_cluster, "CLEAN_EVERY", 10)
    monkeypatch.setattr(log_cleaning, "TAIL", 4)
    monkeypatch.setattr(log_cleaning, "BATCHES_MAX", 20)


def test_the_logs_of_a_long_run_are_bounded_and_a_new_coordinator_knows_what_the_old_one_knew(
    small,
):
    run = Producer()
    run.start()
    for number in range(60):
        run.transact(f"v{number}")
        run.commit(number)
    assert all(size <= 40 for size in run.sizes().values()), run.sizes()
    (line,) = {line.partition(" at ")[0] for line in run.cluster.lines if "starts at" in line}
    assert line == "orders-0 starts"
    home = run.cluster.world.image.home_of_transactions("t")
    groups = run.cluster.world.image.home_of("__consumer_offsets", "g")
    for partition in (home, groups):
        leader = run.cluster.world.image.leader_of(partition)
        run.cluster.take(MoveLeader(partition, leader % 3 + 1))
        run.cluster.run()
    run.transact("after the move")  # under the same producer id and epoch
    run.cluster.take(CrashBroker(run.coordinator()))
    run.cluster.run()
    run.start()
    run.transact("after the crash")
    fetched = run.ask(
        run.cluster.world.image.leader_of(groups),
        raw.OFFSET_FETCH,
        Groups=({"GroupId": "g", "Topics": None},),
        RequireStable=True,
    )
    (topic,) = fetched["Groups"][0]["Topics"]
    assert [part["CommittedOffset"] for part in topic["Partitions"]] == [59]
    assert not any(served_cluster.MISTAKE in line for line in run.cluster.lines)


def test_kept_steps_have_all_their_records(monkeypatch):
    monkeypatch.setattr(served_cluster, "CLEAN_EVERY", 10)
    monkeypatch.setattr(log_cleaning, "TAIL", 4)
    run = Producer()
    run.start()
    for number in range(20):
        run.transact(f"v{number}")
    assert run.sizes()["orders-0"] == 40


def test_what_an_open_transaction_holds_stays(small):
    run = Producer()
    run.start()
    run.transact("first")
    log = run.cluster.world.logs["orders-0"]
    opened = log.but(open=((0, 9),), batches=log.batches.extend(log.batches[0:1] * 30))
    assert log_cleaning.LogCleaning(print)._shorten(opened) is opened


def test_a_log_whose_state_would_change_stays_as_it_is(small, monkeypatch):
    run = Producer()
    run.start()
    for number in range(5):
        run.transact(f"v{number}")
    log = run.cluster.world.logs[run.cluster.world.image.home_of_transactions("t")]
    assert len(compact(log).batches) < len(log.batches)
    states = iter((1, 2))
    monkeypatch.setattr(log_cleaning, "_replay", lambda _: next(states))
    assert compact(log) is log
