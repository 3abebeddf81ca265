"""The clients of a soak that send frames of their own: producers, members of groups of each kind, an operator."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

from kipviz.messages.apis.groups.consumer_protocol import ASSIGNMENT, SUBSCRIPTION
from kipviz.messages.wire.codec import WireError, encode
from kipviz.recordings.files.segments import batches
from kipviz.serving.translating.apis import APIS
from tests.recordings import made_logs
from tests.soaking import raw_client as raw
from tests.soaking.ledger import ABORTED, COMMITTED, UNKNOWN, Ledger, Place
from tests.soaking.raw_client import GROUP, TRANSACTION, Client, Rejected, Tally, check_error

TOPICS = ("orders", "payments")
PARTITIONS = 3
TRANSACTION_TIMEOUT_MS = 5_000
BACKOFF_S = 0.02
NO_MEMBER = ""


class Worker(threading.Thread):
    """One client: it repeats its work until it is stopped, and pauses only between two pieces of work.

    After each piece of work it rests for up to `pace_s` seconds.
    """

    def __init__(self, name: str, seed: int, ports: dict[int, int], tally: Tally, ledger: Ledger):
        super().__init__(name=name, daemon=True)
        self.pace_s = 0.0
        self.dice = Random(f"{seed}/{name}")
        self.client = Client(ports, name, tally)
        self.tally, self.ledger = tally, ledger
        self._goes_on, self.paused, self._ends = threading.Event(), threading.Event(), False
        self._goes_on.set()
        self._wakes = threading.Event()
        self.rejections: Counter[str] = Counter()
        self.failure = ""
        self.pieces = 0

    def run(self) -> None:
        """Work; an error of the server or of the network is part of it, anything else is a failure."""
        while not self._ends:
            if not self._goes_on.is_set():
                self.paused.set()
                self._goes_on.wait(1.0)
                continue
            self.paused.clear()
            try:
                self.work()
                self.pieces += 1
                if self.pace_s:
                    self._wakes.wait(self.dice.random() * self.pace_s)
            except Rejected as wrong:
                self.rejections[str(wrong)] += 1
                self.client.forget()
                time.sleep(BACKOFF_S)
            except OSError:
                time.sleep(BACKOFF_S)
            except (WireError, ValueError, KeyError, AssertionError) as wrong:
                self.failure = (
                    f"{self.name} cannot read a response: {type(wrong).__name__}: {wrong}"
                )
                return
        self.client.forget()

    def pause(self) -> None:
        """Ask it to pause; `paused` is set when it has come to the end of its piece of work. It does not finish a rest."""
        self._goes_on.clear()
        self.paused.clear()
        self._wakes.set()

    def resume(self) -> None:
        """Let it work again."""
        self._wakes.clear()
        self._goes_on.set()

    def stop(self) -> None:
        """Ask it to end after its piece of work."""
        self._ends = True
        self._wakes.set()
        self._goes_on.set()

    def work(self) -> None:
        """Do one piece of work."""
        raise NotImplementedError

    def choose_place(self) -> Place:
        """Return a partition by the dice."""
        return self.dice.choice(TOPICS), self.dice.randrange(PARTITIONS)

    def produce(
        self, place: Place, batch: bytes, transactional_id: str | None, version: int = -1
    ) -> int:
        """Send a batch to its leader and return its offset."""
        topic, index = place
        leader = self.client.find_leader(topic, index)
        data = ({"Index": index, "Records": batch},)
        told = self.client.ask(
            leader,
            raw.PRODUCE,
            version,
            TransactionalId=transactional_id,
            Acks=-1,
            TimeoutMs=1_000,
            TopicData=(
                {"Name": topic, "TopicId": self.client.topic_ids[topic], "PartitionData": data},
            ),
        )
        (found,) = told["Responses"][0]["PartitionResponses"]
        check_error("Produce", found["ErrorCode"])
        return int(found["BaseOffset"])


class PlainProducer(Worker):
    """A producer without transactions and without idempotence, acks=all."""

    def work(self) -> None:
        place, value = self.choose_place(), f"{self.name}-{self.pieces}-{self.dice.random()}"
        written = self.ledger.begin(self.name)
        try:
            written.records[value] = (place, -1)
            batch = made_logs.batch(0, ((None, value.encode()),))
            low = APIS[raw.PRODUCE].lowest
            version = self.dice.choice((-1, -1, low, low + 1))
            offset = self.produce(place, batch, None, version)
            written.records[value] = (place, offset)
            written.outcome = COMMITTED
            self.tally.plain += 1
        finally:
            if written.outcome != COMMITTED:
                written.outcome = UNKNOWN
        time.sleep(self.dice.random() * 0.05)


class TransactionalProducer(Worker):
    """A producer with transactions, of transaction version 2 or of the one before, some with offsets of a group."""

    def __init__(self, *given: Any, old: bool = False) -> None:
        super().__init__(*given)
        self._old = old
        self._id, self._epoch = -1, -1
        self._sequences: Counter[Place] = Counter()

    def work(self) -> None:
        try:
            if self._id < 0:
                self._init()
            self._transact()
        except (Rejected, OSError):
            self._id = self._epoch = -1
            raise

    def _ask(self, key: int, version: int = -1, **said: Any) -> dict[str, Any]:
        coordinator = self.client.find_coordinator(TRANSACTION, self.name)
        return self.client.ask(coordinator, key, version, **said)

    def _init(self) -> None:
        told = self._ask(
            raw.INIT_PRODUCER_ID,
            TransactionalId=self.name,
            TransactionTimeoutMs=TRANSACTION_TIMEOUT_MS,
            ProducerId=-1,
            ProducerEpoch=-1,
        )
        check_error("InitProducerId", told["ErrorCode"])
        self._id, self._epoch = told["ProducerId"], told["ProducerEpoch"]
        self._sequences.clear()

    def _transact(self) -> None:
        written = self.ledger.begin(self.name)
        ending = False
        try:
            places = tuple(
                dict.fromkeys(self.choose_place() for _ in range(self.dice.randint(1, 3)))
            )
            if self._old:
                self._add_partitions(places)
            for place in places:
                value = f"{self.name}-{self.pieces}-{self.dice.random()}"
                written.records[value] = (place, -1)
                written.records[value] = (place, self._send(place, value))
            if self.dice.random() < 0.3:
                self._commit_offsets()
            if self.dice.random() < 0.02:
                time.sleep(TRANSACTION_TIMEOUT_MS / 1_000 + 1.5)
            commits, ending = self.dice.random() < 0.8, True
            self._end(commits=commits)
            written.outcome = COMMITTED if commits else ABORTED
            self.tally.committed += commits
            self.tally.aborted += not commits
        finally:
            if written.outcome not in (COMMITTED, ABORTED):
                # A transaction that was never ended is aborted by the time-out or by the next InitProducerId.
                written.outcome = UNKNOWN if ending else ABORTED

    def _send(self, place: Place, value: str) -> int:
        batch = made_logs.batch(
            0,
            ((None, value.encode()),),
            pid=self._id,
            epoch=self._epoch,
            sequence=self._sequences[place],
        )
        self._sequences[place] += 1
        return self.produce(place, batch, self.name, 11 if self._old else -1)

    def _add_partitions(self, places: Iterable[Place]) -> None:
        topics = tuple({"Name": topic, "Partitions": (index,)} for topic, index in places)
        told = self._ask(
            raw.ADD_PARTITIONS,
            3,
            V3AndBelowTransactionalId=self.name,
            V3AndBelowProducerId=self._id,
            V3AndBelowProducerEpoch=self._epoch,
            V3AndBelowTopics=topics,
        )
        for topic in told["ResultsByTopicV3AndBelow"]:
            for each in topic["ResultsByPartition"]:
                check_error("AddPartitionsToTxn", each["PartitionErrorCode"])

    def _commit_offsets(self) -> None:
        group, producer = f"of-{self.name}", (self._id, self._epoch)
        names = {"TransactionalId": self.name, "GroupId": group}
        who = {"ProducerId": producer[0], "ProducerEpoch": producer[1]}
        if self._old:
            check_error("AddOffsetsToTxn", self._ask(raw.ADD_OFFSETS, **names, **who)["ErrorCode"])
        offset = {"PartitionIndex": 0, "CommittedOffset": self.pieces, "CommittedMetadata": ""}
        told = self.client.ask(
            self.client.find_coordinator(GROUP, group),
            raw.TXN_OFFSET_COMMIT,
            3 if self._old else 5,
            **names,
            **who,
            MemberId="",
            Topics=({"Name": "orders", "Partitions": (offset,)},),
        )
        for topic in told["Topics"]:
            for each in topic["Partitions"]:
                check_error("TxnOffsetCommit", each["ErrorCode"])

    def _end(self, *, commits: bool) -> None:
        told = self._ask(
            raw.END_TXN,
            3 if self._old else -1,
            TransactionalId=self.name,
            ProducerId=self._id,
            ProducerEpoch=self._epoch,
            Committed=commits,
        )
        check_error("EndTxn", told["ErrorCode"])
        if not self._old:
            self._id, self._epoch = told["ProducerId"], told["ProducerEpoch"]
            self._sequences.clear()


class ClassicMember(Worker):
    """A member of a group of the classic protocol: it joins, syncs, beats, fetches, commits, and sometimes leaves."""

    group = "classic"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._member, self._generation = NO_MEMBER, -1

    def _ask(self, key: int, **said: Any) -> dict[str, Any]:
        return self.client.ask(
            self.client.find_coordinator(GROUP, self.group), key, GroupId=self.group, **said
        )

    def work(self) -> None:
        try:
            if self._generation < 0:
                self._join()
            self._read()
            who = {"MemberId": self._member, "GenerationId": self._generation}
            check_error("Heartbeat", self._ask(raw.HEARTBEAT, **who)["ErrorCode"])
            if self.dice.random() < 0.05:
                self._ask(
                    raw.LEAVE_GROUP,
                    MemberId=self._member,
                    Members=({"MemberId": self._member},),
                )
                self._member, self._generation = NO_MEMBER, -1
        except Rejected as wrong:
            if wrong.code in (25, 82):  # UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID
                self._member = NO_MEMBER
            self._generation = -1
            raise
        except OSError:
            self._generation = -1
            raise
        time.sleep(self.dice.random() * 0.1)

    def _join(self) -> None:
        metadata = encode(SUBSCRIPTION, 1, {"Topics": TOPICS}).data
        for _ in range(2):
            told = self._ask(
                raw.JOIN_GROUP,
                SessionTimeoutMs=10_000,
                RebalanceTimeoutMs=2_000,
                MemberId=self._member,
                ProtocolType="consumer",
                Protocols=({"Name": "range", "Metadata": b"\0\1" + metadata},),
            )
            if told["ErrorCode"] != 79:  # MEMBER_ID_REQUIRED
                break
            self._member = told["MemberId"]
        check_error("JoinGroup", told["ErrorCode"])
        self._member = told["MemberId"]
        shares = tuple(
            {"MemberId": each["MemberId"], "Assignment": _encode_assignment(number)}
            for number, each in enumerate(told["Members"])
        )
        synced = self._ask(
            raw.SYNC_GROUP,
            GenerationId=told["GenerationId"],
            MemberId=self._member,
            ProtocolType="consumer",
            ProtocolName="range",
            Assignments=shares if told["Leader"] == self._member else (),
        )
        check_error("SyncGroup", synced["ErrorCode"])
        self._generation = told["GenerationId"]

    def _read(self) -> None:
        commit_as(self, self.group, self._member, self._generation)


def commit_as(worker: Worker, group: str, member: str, epoch: int) -> None:
    """Fetch a group's offset of a partition, read from there, and commit the next one."""
    place = worker.choose_place()
    coordinator = worker.client.find_coordinator(GROUP, group)
    asked = {"Name": place[0], "PartitionIndexes": (place[1],)}
    told = worker.client.ask(
        coordinator,
        raw.OFFSET_FETCH,
        8,
        Groups=({"GroupId": group, "Topics": (asked,)},),
        RequireStable=True,
    )
    (found,) = told["Groups"]
    check_error("OffsetFetch", found["ErrorCode"])
    (part,) = found["Topics"][0]["Partitions"]
    check_error("OffsetFetch", part["ErrorCode"])
    at = fetch_once(worker, place, max(0, part["CommittedOffset"]))
    commit = {"PartitionIndex": place[1], "CommittedOffset": at, "CommittedMetadata": None}
    told = worker.client.ask(
        coordinator,
        raw.OFFSET_COMMIT,
        9,
        GroupId=group,
        GenerationIdOrMemberEpoch=epoch,
        MemberId=member,
        Topics=({"Name": place[0], "Partitions": (commit,)},),
    )
    check_error("OffsetCommit", told["Topics"][0]["Partitions"][0]["ErrorCode"])


def fetch_once(worker: Worker, place: Place, offset: int) -> int:
    """Fetch from an offset and return the next one; an offset outside the log starts at 0."""
    topic, index = place
    leader = worker.client.find_leader(topic, index)
    wanted = {"Partition": index, "FetchOffset": offset, "PartitionMaxBytes": 20_000}
    told = worker.client.ask(
        leader,
        raw.FETCH,
        worker.dice.choice((-1, 12, 11, 7)),
        MaxWaitMs=worker.dice.choice((0, 50, 500)),
        MinBytes=1,
        MaxBytes=100_000,
        IsolationLevel=worker.dice.randrange(2),
        Topics=(
            {
                "Topic": topic,
                "TopicId": worker.client.topic_ids[topic],
                "Partitions": (wanted,),
            },
        ),
    )
    if not told["Responses"]:
        return offset
    (part,) = told["Responses"][0]["Partitions"]
    if part["ErrorCode"] == 1:  # OFFSET_OUT_OF_RANGE: the cluster went back, or retention
        return max(0, part["LogStartOffset"])
    check_error("Fetch", part["ErrorCode"])
    found = list(batches(part["Records"] or b"", "a response"))
    worker.tally.read += len(found)
    return found[-1].last_offset + 1 if found else offset


def _encode_assignment(number: int) -> bytes:
    shares = tuple({"Topic": t, "Partitions": (number % PARTITIONS,)} for t in TOPICS)
    said = {"AssignedPartitions": shares, "UserData": None}
    return b"\0\1" + encode(ASSIGNMENT, 1, said).data


class ConsumerMember(Worker):
    """A member of a group of the consumer protocol (KIP-848)."""

    group = "new-consumers"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._member, self._epoch = f"{self.name}-0", 0
        self._owned: tuple[Any, ...] = ()

    def _beat(self, epoch: int, **more: Any) -> dict[str, Any]:
        coordinator = self.client.find_coordinator(GROUP, self.group)
        told = self.client.ask(
            coordinator,
            raw.CONSUMER_HEARTBEAT,
            GroupId=self.group,
            MemberId=self._member,
            MemberEpoch=epoch,
            TopicPartitions=self._owned,
            **more,
        )
        check_error("ConsumerGroupHeartbeat", told["ErrorCode"])
        return told

    def work(self) -> None:
        try:
            if self._epoch <= 0:
                self._owned = ()
                told = self._beat(
                    0, RebalanceTimeoutMs=2_000, SubscribedTopicNames=self.choose_topics()
                )
            else:
                told = self._beat(self._epoch)
            self._epoch = told["MemberEpoch"]
            if told["Assignment"] is not None:
                self._owned = told["Assignment"]["TopicPartitions"]
            commit_as(self, self.group, self._member, self._epoch)
            if self.dice.random() < 0.05:
                self._beat(-1)
                self._rename()
        except (Rejected, OSError):
            self._rename()
            raise
        time.sleep(self.dice.random() * 0.1)

    def choose_topics(self) -> tuple[str, ...]:
        """Return the topics that it subscribes to."""
        return TOPICS if self.dice.random() < 0.5 else (self.dice.choice(TOPICS),)

    def _rename(self) -> None:
        if self.dice.random() < 0.5:
            self._member = f"{self.name}-{self.dice.randrange(1_000_000)}"
        self._epoch = 0


class ShareMember(Worker):
    """A member of a share group: it fetches, accepts, releases, rejects, and leaves."""

    group = "sharers"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._member, self._epoch = f"{self.name}-0", 0
        self._session: dict[int, int] = {}

    def work(self) -> None:
        try:
            self._beat()
            self._fetch()
            if self.dice.random() < 0.05:
                self._epoch = -1
                self._beat()
                self._rename()
        except (Rejected, OSError):
            self._rename()
            raise
        time.sleep(self.dice.random() * 0.1)

    def _beat(self) -> None:
        coordinator = self.client.find_coordinator(GROUP, self.group)
        told = self.client.ask(
            coordinator,
            raw.SHARE_HEARTBEAT,
            GroupId=self.group,
            MemberId=self._member,
            MemberEpoch=self._epoch,
            SubscribedTopicNames=TOPICS[:1] if self._epoch == 0 else None,
        )
        check_error("ShareGroupHeartbeat", told["ErrorCode"])
        self._epoch = told["MemberEpoch"]

    def _fetch(self) -> None:
        topic, index = TOPICS[0], self.dice.randrange(PARTITIONS)
        leader = self.client.find_leader(topic, index)
        who = {"GroupId": self.group, "MemberId": self._member}
        topic_id = self.client.topic_ids[topic]
        told = self.client.ask(
            leader,
            raw.SHARE_FETCH,
            **who,
            ShareSessionEpoch=self._session.get(leader, 0),
            MaxWaitMs=self.dice.choice((0, 100)),
            MinBytes=1,
            MaxRecords=10,
            BatchSize=10,
            Topics=({"TopicId": topic_id, "Partitions": ({"PartitionIndex": index},)},),
        )
        check_error("ShareFetch", told["ErrorCode"])
        self._session[leader] = self._session.get(leader, 0) + 1
        topics = []
        for found in told["Responses"]:
            parts = [
                {
                    "PartitionIndex": part["PartitionIndex"],
                    "AcknowledgementBatches": tuple(
                        {
                            "FirstOffset": run["FirstOffset"],
                            "LastOffset": run["LastOffset"],
                            "AcknowledgeTypes": (self.dice.choice((1, 1, 1, 2, 3)),),
                        }
                        for run in part["AcquiredRecords"]
                    ),
                }
                for part in found["Partitions"]
                if part["AcquiredRecords"]
            ]
            if parts:
                topics.append({"TopicId": found["TopicId"], "Partitions": tuple(parts)})
        if not topics or self.dice.random() < 0.1:
            return
        told = self.client.ask(
            leader,
            raw.SHARE_ACKNOWLEDGE,
            **who,
            ShareSessionEpoch=self._session[leader],
            Topics=tuple(topics),
        )
        check_error("ShareAcknowledge", told["ErrorCode"])
        self._session[leader] += 1
        self.tally.read += 1

    def _rename(self) -> None:
        if self.dice.random() < 0.5:
            self._member = f"{self.name}-{self.dice.randrange(1_000_000)}"
        self._epoch = 0
        self._session.clear()


class Operator(Worker):
    """An operator's tool: it lists and describes what there is, in every version."""

    def work(self) -> None:
        key, said = self.dice.choice(
            (
                (raw.LIST_TRANSACTIONS, {}),
                (raw.LIST_GROUPS, {}),
                (raw.DESCRIBE_GROUPS, {"Groups": ("classic", "none")}),
                (raw.CONSUMER_DESCRIBE, {"GroupIds": ("new-consumers", "none")}),
                (raw.SHARE_DESCRIBE, {"GroupIds": ("sharers", "none")}),
                (raw.DESCRIBE_TRANSACTIONS, {"TransactionalIds": ("tx-0", "none")}),
                (
                    raw.DESCRIBE_PRODUCERS,
                    {"Topics": ({"Name": "orders", "PartitionIndexes": (0, 9)},)},
                ),
                (raw.METADATA, {"Topics": None}),
                (raw.FIND_COORDINATOR, {"KeyType": 1, "Key": "x", "CoordinatorKeys": ("x", "y")}),
                (
                    raw.LIST_OFFSETS,
                    {
                        "ReplicaId": -1,
                        "Topics": (
                            {
                                "Name": "orders",
                                "Partitions": ({"PartitionIndex": 0, "Timestamp": -1},),
                            },
                        ),
                    },
                ),
            )
        )
        api = APIS[key]
        version = self.dice.randint(min(max(api.lowest, 1), api.highest), api.highest)
        self.client.ask(self.dice.choice(tuple(self.client.ports)), key, version, **said)
        time.sleep(self.dice.random() * 0.1)
