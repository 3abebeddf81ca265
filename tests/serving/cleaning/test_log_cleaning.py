"""A server that runs for days: superseded records of internal topics and very old records are removed."""

import pytest

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.cluster.actions import CrashBroker, MoveLeader
from kipviz.core.table import pairs
from kipviz.designs.catalogue import design
from kipviz.messages.wire.codec import decode, decode_head
from kipviz.messages.wire.frame import RESPONSE_HEADER, header_version
from kipviz.serving import served_cluster
from kipviz.serving.cleaning import compaction, log_cleaning, retention
from kipviz.serving.cleaning.compaction import compact
from kipviz.serving.served_cluster import ServedCluster
from kipviz.serving.served_spec import cluster_of, to_serve
from kipviz.serving.translating.apis import APIS
from kipviz.serving.translating.batch_bytes import KeptBatches
from tests.recordings import made_logs
from tests.soaking import raw_client as raw
from tests.soaking.raw_client import encode_frame

KAFKA = design("kafka")
SPEC = to_serve(cluster_of(["orders"]))
MODEL = KAFKA.model(SPEC)
TOPIC_ID = dict(SPEC.topic_ids)["orders"]
TXN_OFFSET_COMMIT, SHARE_HEARTBEAT, SHARE_FETCH = 28, 76, 78


class Producer:
    """A producer with transactions, and commits of offsets, by frames."""

    def __init__(self, model=MODEL):
        self.cluster = ServedCluster(model, {1: 9001, 2: 9002, 3: 9003})
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

    def commit_in_transaction(self, offset, *, commit=True):
        pid, epoch = self.producer
        who = {"ProducerId": pid, "ProducerEpoch": epoch, "TransactionalId": "t"}
        home = self.cluster.world.image.home_of("__consumer_offsets", "g")
        part = {"PartitionIndex": 0, "CommittedOffset": offset, "CommittedMetadata": None}
        told = self.ask(
            self.cluster.world.image.leader_of(home),
            TXN_OFFSET_COMMIT,
            **who,
            GroupId="g",
            GenerationIdOrMemberEpoch=-1,
            MemberId="",
            Topics=({"TopicId": TOPIC_ID, "Partitions": (part,)},),
        )
        assert told["Topics"][0]["Partitions"][0]["ErrorCode"] == 0
        told = self.ask(self.coordinator(), raw.END_TXN, **who, Committed=commit)
        assert told["ErrorCode"] == 0
        self.producer = (told["ProducerId"], told["ProducerEpoch"])

    def fetch_committed(self):
        home = self.cluster.world.image.home_of("__consumer_offsets", "g")
        fetched = self.ask(
            self.cluster.world.image.leader_of(home),
            raw.OFFSET_FETCH,
            Groups=({"GroupId": "g", "Topics": None},),
            RequireStable=True,
        )
        (topic,) = fetched["Groups"][0]["Topics"]
        return [part["CommittedOffset"] for part in topic["Partitions"]]

    def share(self, epoch, *acknowledged):
        """Fetch for a member of a share group, acknowledge, and return the first and last acquired offset."""
        partition = {"PartitionIndex": 0, "AcknowledgementBatches": acknowledged}
        told = self.ask(
            self.cluster.world.image.leader_of("orders-0"),
            SHARE_FETCH,
            GroupId="s",
            MemberId="m",
            ShareSessionEpoch=epoch,
            MaxWaitMs=0,
            MinBytes=1,
            MaxRecords=500,
            BatchSize=500,
            Topics=({"TopicId": TOPIC_ID, "Partitions": (partition,)},),
        )
        assert told["ErrorCode"] == 0
        runs = [r for t in told["Responses"] for p in t["Partitions"] for r in p["AcquiredRecords"]]
        return (runs[0]["FirstOffset"], runs[-1]["LastOffset"]) if runs else None

    def beat(self, key, group, member, epoch):
        """Send a heartbeat of a member that joins (0) or leaves (-1)."""
        home = self.cluster.world.image.home_of("__consumer_offsets", group)
        told = self.ask(
            self.cluster.world.image.leader_of(home),
            key,
            GroupId=group,
            MemberId=member,
            MemberEpoch=epoch,
            RebalanceTimeoutMs=60_000,
            TopicPartitions=(),
            SubscribedTopicNames=("orders",) if epoch == 0 else None,
        )
        assert told["ErrorCode"] == 0

    def groups(self):
        """Return the groups of all coordinators."""
        found = {}
        for role in self.cluster.world.roles.values():
            if isinstance(role, GroupCoordinator):
                found |= dict(pairs(role.groups)) | dict(pairs(role.share_groups))
        return found

    def sizes(self):
        logs = self.cluster.world.logs
        return {partition: len(log.batches) for partition, log in logs.items() if log.batches}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(served_cluster, "STEPS_MAX", 20)
    monkeypatch.setattr(served_cluster, "CLEAN_EVERY", 10)
    monkeypatch.setattr(log_cleaning, "TAIL", 4)
    monkeypatch.setattr(compaction, "TAIL", 4)
    monkeypatch.setattr(retention, "BATCHES_MAX", 20)


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
    assert run.fetch_committed() == [59]
    assert not any(served_cluster.MISTAKE in line for line in run.cluster.lines)


def test_offsets_committed_in_transactions_are_superseded_and_those_of_aborted_ones_go(small):
    run = Producer()
    run.start()
    groups = run.cluster.world.image.home_of("__consumer_offsets", "g")
    for number in range(60):
        run.commit_in_transaction(number, commit=number % 3 > 0)
    assert run.fetch_committed() == [59]
    assert run.sizes()[groups] <= 40, run.sizes()
    run.commit(7)  # a plain commit after the transactions counts
    for number in range(60, 90):
        run.commit_in_transaction(number, commit=False)
    assert run.fetch_committed() == [7]
    assert run.sizes()[groups] <= 40, run.sizes()
    leader = run.cluster.world.image.leader_of(groups)
    run.cluster.take(MoveLeader(groups, leader % 3 + 1))
    run.cluster.run()
    assert run.fetch_committed() == [7]
    run.commit_in_transaction(90)
    assert run.fetch_committed() == [90]


def test_a_transaction_that_is_open_keeps_its_offsets_and_its_marker_decides_them(
    small, monkeypatch
):
    run = Producer()
    run.start()
    groups = run.cluster.world.image.home_of("__consumer_offsets", "g")
    for number in range(10):
        run.commit_in_transaction(number)
    log = run.cluster.world.logs[groups]
    without_the_last_marker = log.but(batches=log.batches.truncate(len(log.batches) - 1))
    monkeypatch.setattr(compaction, "TAIL", 0)
    cleaned = compact(without_the_last_marker)
    assert [batch.control for batch in cleaned.batches] == ["", "COMMIT", ""]
    assert [batch.control for batch in compact(log).batches] == ["", "COMMIT"]


def test_the_state_of_share_groups_is_pruned_and_a_new_leader_knows_what_is_acknowledged(small):
    often = SPEC.but(settings=SPEC.settings.but(updates_per_snapshot=5))
    run = Producer(KAFKA.model(often))
    run.start()
    run.transact("first")
    told = run.ask(
        run.cluster.world.image.leader_of(
            run.cluster.world.image.home_of("__consumer_offsets", "s")
        ),
        SHARE_HEARTBEAT,
        GroupId="s",
        MemberId="m",
        MemberEpoch=0,
        SubscribedTopicNames=("orders",),
    )
    assert told["ErrorCode"] == 0
    acquired = run.share(0)
    for epoch in range(1, 61):
        assert acquired is not None, epoch
        first, last = acquired
        run.transact(f"v{epoch}")
        accept = {"FirstOffset": first, "LastOffset": last, "AcknowledgeTypes": (1,)}
        acquired = run.share(epoch, accept)
    states = {p: size for p, size in run.sizes().items() if p.startswith("__share_group_state")}
    assert states
    assert all(size <= 30 for size in states.values()), states
    leader = run.cluster.world.image.leader_of("orders-0")
    run.cluster.take(MoveLeader("orders-0", leader % 3 + 1))
    run.cluster.run()
    again = run.share(0)
    assert again is not None
    assert again[0] == acquired[0]
    assert not any(served_cluster.MISTAKE in line for line in run.cluster.lines)


@pytest.mark.parametrize("key", [raw.CONSUMER_HEARTBEAT, raw.SHARE_HEARTBEAT])
def test_members_that_left_take_their_records_with_them_and_a_new_coordinator_knows_the_others(
    small, key
):
    run = Producer()
    run.beat(key, "g", "stays", 0)
    for number in range(60):
        run.beat(key, "g", f"m{number}", 0)
        run.beat(key, "g", f"m{number}", -1)
    home = run.cluster.world.image.home_of("__consumer_offsets", "g")
    assert run.sizes()[home] <= 40, run.sizes()
    (group,) = run.groups().values()
    assert list(group.members) == ["stays"]
    leader = run.cluster.world.image.leader_of(home)
    run.cluster.take(MoveLeader(home, leader % 3 + 1))
    run.cluster.run()
    assert list(run.groups().values()) == [group]
    assert not any(served_cluster.MISTAKE in line for line in run.cluster.lines)


def test_kept_steps_have_all_their_records(monkeypatch):
    monkeypatch.setattr(served_cluster, "CLEAN_EVERY", 10)
    monkeypatch.setattr(log_cleaning, "TAIL", 4)
    monkeypatch.setattr(compaction, "TAIL", 4)
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
    assert retention.Retention(print, KeptBatches())._shorten(opened, 10, "") is opened


def test_a_log_whose_state_would_change_stays_as_it_is(small, monkeypatch):
    run = Producer()
    run.start()
    for number in range(5):
        run.transact(f"v{number}")
    log = run.cluster.world.logs[run.cluster.world.image.home_of_transactions("t")]
    assert len(compact(log).batches) < len(log.batches)
    states = iter((1, 2))
    monkeypatch.setattr(compaction, "_replay", lambda _: next(states))
    assert compact(log) is log
