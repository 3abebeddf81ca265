"""A program, played at a broker: each step becomes one request, made from what the answers before it said.

The clients are as clumsy as their program says: they go on with an identity that was taken from them, repeat a sequence or
leave one out, and acknowledge what they do not hold. What they never do is to send what the protocol has no words for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from kipviz.conforming.plain_client import PlainClient
from kipviz.conforming.programs import (
    BEFORE,
    LATER,
    MEMBERS,
    PARTITIONS,
    PRODUCERS,
    SHARERS,
    Program,
    Step,
)
from kipviz.core.values import Value
from kipviz.messages.apis import (
    admin,
    coordinators,
    groups,
    list_offsets,
    membership,
    producing,
    share_admin,
    share_groups,
    topic_creation,
    transactions,
)
from kipviz.messages.wire.batches import encode_batch
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.question import Question
from kipviz.recordings.request_context.handmade_requests import Request, Sent
from kipviz.records.batches import DataRecord

CREATE = Question(topic_creation.CREATE_TOPICS_REQUEST, topic_creation.CREATE_TOPICS_RESPONSE)
WHERE = Question(list_offsets.LIST_OFFSETS_REQUEST, list_offsets.LIST_OFFSETS_RESPONSE)
FIND = Question(coordinators.FIND_COORDINATOR_REQUEST, coordinators.FIND_COORDINATOR_RESPONSE)
INIT = Question(transactions.INIT_PRODUCER_ID_REQUEST, transactions.INIT_PRODUCER_ID_RESPONSE, 5)
ADD = Question(
    transactions.ADD_PARTITIONS_TO_TXN_REQUEST, transactions.ADD_PARTITIONS_TO_TXN_RESPONSE, 3
)
ADD_OFFSETS = Question(
    transactions.ADD_OFFSETS_TO_TXN_REQUEST, transactions.ADD_OFFSETS_TO_TXN_RESPONSE
)
END = Question(transactions.END_TXN_REQUEST, transactions.END_TXN_RESPONSE)
STAGE = Question(groups.TXN_OFFSET_COMMIT_REQUEST, groups.TXN_OFFSET_COMMIT_RESPONSE, 5)
COMMIT = Question(groups.OFFSET_COMMIT_REQUEST, groups.OFFSET_COMMIT_RESPONSE, 9)
OFFSETS = Question(groups.OFFSET_FETCH_REQUEST, groups.OFFSET_FETCH_RESPONSE, 9)
PRODUCE = Question(producing.PRODUCE_REQUEST, producing.PRODUCE_RESPONSE, 12)
FETCH = Question(producing.FETCH_REQUEST, producing.FETCH_RESPONSE, 17)
BEAT = Question(
    membership.CONSUMER_GROUP_HEARTBEAT_REQUEST, membership.CONSUMER_GROUP_HEARTBEAT_RESPONSE
)
SHARE_BEAT = Question(
    membership.SHARE_GROUP_HEARTBEAT_REQUEST, membership.SHARE_GROUP_HEARTBEAT_RESPONSE
)
SHARE_FETCH = Question(share_groups.SHARE_FETCH_REQUEST, share_groups.SHARE_FETCH_RESPONSE)
ACKNOWLEDGE = Question(
    share_groups.SHARE_ACKNOWLEDGE_REQUEST, share_groups.SHARE_ACKNOWLEDGE_RESPONSE
)
DESCRIBE = Question(admin.DESCRIBE_TRANSACTIONS_REQUEST, admin.DESCRIBE_TRANSACTIONS_RESPONSE)
LIST = Question(admin.LIST_TRANSACTIONS_REQUEST, admin.LIST_TRANSACTIONS_RESPONSE)
DESCRIBE_PRODUCERS = Question(admin.DESCRIBE_PRODUCERS_REQUEST, admin.DESCRIBE_PRODUCERS_RESPONSE)
SHARE_DESCRIBE = Question(
    share_admin.SHARE_GROUP_DESCRIBE_REQUEST, share_admin.SHARE_GROUP_DESCRIBE_RESPONSE
)
SHARE_OFFSETS = Question(
    share_admin.DESCRIBE_SHARE_GROUP_OFFSETS_REQUEST,
    share_admin.DESCRIBE_SHARE_GROUP_OFFSETS_RESPONSE,
)
# The versions in which clients before transaction version 2 speak, by request.
OLD = {PRODUCE: 11, END: 4, STAGE: 4}
GROUP, TRANSACTION, SHARE = 0, 1, 2
TRANSACTION_TIMEOUT_MS = 60_000
REBALANCE_MS = 60_000
BYTES = 1_048_576
ACKNOWLEDGE_TYPES = {"accept": 1, "release": 2, "reject": 3}
NOBODY = (-1, -1)
# Who a producer says it is that was never told.
STRANGER = (4_711_000, 0)
JOINS, LEAVES, CLOSES = 0, -1, -1


class Names(Value, frozen=True):
    """What a program's resources are called: many programs run at one broker, and none may meet another."""

    prefix: str
    topic_id: str

    @property
    def topic(self) -> str:
        """The topic that everybody uses."""
        return topic_of(self.prefix)

    def of(self, what: str) -> str:
        """Return the name of a client, a group or a transactional id."""
        return f"{self.prefix}-{what}"


def topic_of(prefix: str) -> str:
    """Return the name of a program's topic."""
    return f"{prefix}-orders"


@dataclass
class _Producer:
    """What a producer knows: who it is, who it was, and its next sequences."""

    now: tuple[int, int] = NOBODY
    before: tuple[int, int] = NOBODY
    sequences: dict[int, int] = field(default_factory=dict)

    def becomes(self, who: tuple[int, int]) -> None:
        """Take another identity; sequences begin again with it."""
        if who != self.now and who[0] >= 0:
            self.before, self.now = self.now, who
            self.sequences = {}


@dataclass
class _Member:
    """What a member knows: its epoch in its group, and for a share member its session and what it holds."""

    epoch: int = 0
    session: int = 0
    held: list[tuple[int, int, int]] = field(default_factory=list)


class Playing:
    """One program at one broker.

    `sent` are the batches that it has sent, and `asked` says which step each request belongs to: by its client and number.
    """

    def __init__(self, made: Program, names: Names, connect: Callable[[str], PlainClient]) -> None:
        self._made, self._names = made, names
        self._clients: dict[str, PlainClient] = {}
        self._connect = connect
        self._producers = {who: _Producer() for who in PRODUCERS}
        self._members = {who: _Member() for who in (*MEMBERS, *SHARERS)}
        self._records = 0
        self._at = 0
        self.sent: list[Sent] = []
        self.asked: dict[Request, int] = {}

    def play(self) -> None:
        """Take every step.

        Raises:
            Lost: if the broker does not answer.
        """
        try:
            for at, step in enumerate(self._made.steps):
                self._at = at
                self._DOES[step.does](self, step)
        finally:
            for client in self._clients.values():
                client.close()

    def _ask(self, step: Step, question: Question, values: Struct) -> Struct:
        client = self._client(step.client)
        version = OLD.get(question, -1) if step.client in self._made.old else -1
        self.asked[client.client_id, client.asked + 1] = self._at
        return client.ask(question, values, version)

    def _client(self, who: str) -> PlainClient:
        if who not in self._clients:
            self._clients[who] = self._connect(self._names.of(who))
        return self._clients[who]

    # -- producers -----------------------------------------------------------------------------

    def _id(self, who: str) -> str:
        return self._names.of("x" if self._made.shared else f"x-{who}")

    def _identity(self, step: Step) -> tuple[int, int]:
        """Return the identity with which a step is made; LATER is an epoch that nobody has given."""
        producer = self._producers[step.client]
        now = producer.now if producer.now != NOBODY else STRANGER
        if step.told[0] == BEFORE and producer.before != NOBODY:
            return producer.before
        return (now[0], now[1] + 1) if step.told[0] == LATER else now

    def _init(self, step: Step) -> None:
        producer = self._producers[step.client]
        who = producer.now if step.told[0] == "again" else NOBODY
        values = {
            "TransactionalId": self._id(step.client),
            "TransactionTimeoutMs": TRANSACTION_TIMEOUT_MS,
            "ProducerId": who[0],
            "ProducerEpoch": who[1],
        }
        told = self._ask(step, INIT, values)
        if not told["ErrorCode"]:
            producer.becomes((told["ProducerId"], told["ProducerEpoch"]))

    def _add(self, step: Step) -> None:
        who = self._identity(step)
        topics = ({"Name": self._names.topic, "Partitions": (int(step.told[1]),)},)
        values = {
            "V3AndBelowTransactionalId": self._id(step.client),
            "V3AndBelowProducerId": who[0],
            "V3AndBelowProducerEpoch": who[1],
            "V3AndBelowTopics": topics,
        }
        self._ask(step, ADD, values)

    def _produce(self, step: Step) -> None:
        producer, who = self._producers[step.client], self._identity(step)
        index = int(step.told[1])
        following = producer.sequences.get(index, 0)
        last = max(following - 1, 0)
        sequence = {"next": following, "again": last, "gap": following + 1}[step.told[2]]
        told = self._append(step, self._id(step.client), who, index, sequence)
        if not told["ErrorCode"] and who == producer.now:
            producer.sequences[index] = max(following, sequence + 1)

    def _plain(self, step: Step) -> None:
        self._append(step, None, NOBODY, int(step.told[0]), -1)

    def _append(
        self, step: Step, name: str | None, who: tuple[int, int], index: int, sequence: int
    ) -> Struct:
        self._records += 1
        value = f"{self._names.prefix} {self._records}"
        batch = encode_batch(
            ((0, DataRecord(value)),),
            producer_id=who[0],
            producer_epoch=who[1],
            base_sequence=sequence,
        )
        partition = {"Index": index, "Records": batch.data}
        topics = ({"Name": self._names.topic, "PartitionData": (partition,)},)
        values = {"TransactionalId": name, "Acks": -1, "TimeoutMs": 30_000, "TopicData": topics}
        told = self._ask(step, PRODUCE, values)
        client = self._clients[step.client]
        request = (client.client_id, client.asked)
        place = f"{self._names.topic}-{index}"
        self.sent.append(Sent(request, place, *who, sequence, (value,)))
        answer: Struct = told["Responses"][0]["PartitionResponses"][0]
        return answer

    def _stage(self, step: Step) -> None:
        """Commit a group's offset in a transaction; an older client adds the group first."""
        who, group = self._identity(step), self._names.of("readers")
        identity = {
            "TransactionalId": self._id(step.client),
            "ProducerId": who[0],
            "ProducerEpoch": who[1],
            "GroupId": group,
        }
        if step.client in self._made.old:
            self._ask(step, ADD_OFFSETS, identity)
        topics = self._offset_of(int(step.told[1]))
        self._ask(step, STAGE, identity | {"MemberId": "", "Topics": topics})

    def _offset_of(self, index: int) -> tuple[Struct, ...]:
        offset = {"PartitionIndex": index, "CommittedOffset": self._records}
        return ({"Name": self._names.topic, "Partitions": (offset,)},)

    def _end(self, step: Step) -> None:
        who = self._identity(step)
        values = {
            "TransactionalId": self._id(step.client),
            "ProducerId": who[0],
            "ProducerEpoch": who[1],
            "Committed": step.told[1] == "commit",
        }
        told = self._ask(step, END, values)
        if not told["ErrorCode"] and who == self._producers[step.client].now:
            new = (told.get("ProducerId", -1), told.get("ProducerEpoch", -1))
            self._producers[step.client].becomes(new)

    # -- readers and operators -----------------------------------------------------------------

    def _read(self, step: Step) -> None:
        partition = {
            "Partition": int(step.told[1]),
            "FetchOffset": 0,
            "PartitionMaxBytes": BYTES,
        }
        values = {
            "MaxWaitMs": 0,
            "MinBytes": 0,
            "MaxBytes": BYTES,
            "IsolationLevel": int(step.told[0] == "committed"),
            "Topics": ({"TopicId": self._names.topic_id, "Partitions": (partition,)},),
        }
        self._ask(step, FETCH, values)

    def _offsets(self, step: Step) -> None:
        topics = ({"Name": self._names.topic, "PartitionIndexes": tuple(range(PARTITIONS))},)
        group = {"GroupId": self._names.of("readers"), "Topics": topics}
        self._ask(step, OFFSETS, {"Groups": (group,), "RequireStable": step.told[0] == "stable"})

    def _describe(self, step: Step) -> None:
        names = dict.fromkeys(self._id(who) for who in PRODUCERS)
        self._ask(step, DESCRIBE, {"TransactionalIds": tuple(names)})

    def _list(self, step: Step) -> None:
        self._ask(step, LIST, {"StateFilters": (), "ProducerIdFilters": ()})

    def _describe_producers(self, step: Step) -> None:
        topics = ({"Name": self._names.topic, "PartitionIndexes": (int(step.told[0]),)},)
        self._ask(step, DESCRIBE_PRODUCERS, {"Topics": topics})

    def _share_describe(self, step: Step) -> None:
        self._ask(step, SHARE_DESCRIBE, {"GroupIds": (self._names.of("workers"),)})

    def _share_offsets(self, step: Step) -> None:
        group = {"GroupId": self._names.of("workers"), "Topics": None}
        self._ask(step, SHARE_OFFSETS, {"Groups": (group,)})

    # -- members -------------------------------------------------------------------------------

    def _epoch(self, step: Step) -> int:
        epoch = self._members[step.client].epoch
        return max(epoch + {BEFORE: -1, LATER: 1}.get(step.told[0], 0), 0)

    def _member(self, step: Step, epoch: int, **more: object) -> None:
        values = {
            "GroupId": self._names.of("members"),
            "MemberId": self._names.of(step.client),
            "MemberEpoch": epoch,
            "RebalanceTimeoutMs": -1,
            **more,
        }
        told = self._ask(step, BEAT, values)
        if not told["ErrorCode"]:
            self._members[step.client].epoch = max(told["MemberEpoch"], 0)

    def _join(self, step: Step) -> None:
        self._member(
            step,
            JOINS,
            RebalanceTimeoutMs=REBALANCE_MS,
            SubscribedTopicNames=(self._names.topic,),
            TopicPartitions=(),
        )

    def _beat(self, step: Step) -> None:
        if epoch := self._epoch(step):
            self._member(step, epoch)
        else:
            self._join(step)

    def _leave(self, step: Step) -> None:
        self._member(step, LEAVES)

    def _commit(self, step: Step) -> None:
        values = {
            "GroupId": self._names.of("members"),
            "GenerationIdOrMemberEpoch": self._epoch(step),
            "MemberId": self._names.of(step.client),
            "Topics": self._offset_of(int(step.told[1])),
        }
        self._ask(step, COMMIT, values)

    # -- members of a share group --------------------------------------------------------------

    def _share_member(self, step: Step, epoch: int, **more: object) -> None:
        values = {
            "GroupId": self._names.of("workers"),
            "MemberId": self._names.of(step.client),
            "MemberEpoch": epoch,
            **more,
        }
        told = self._ask(step, SHARE_BEAT, values)
        if not told["ErrorCode"]:
            self._members[step.client].epoch = max(told["MemberEpoch"], 0)

    def _share_join(self, step: Step) -> None:
        self._share_member(step, JOINS, SubscribedTopicNames=(self._names.topic,))

    def _share_beat(self, step: Step) -> None:
        if epoch := self._epoch(step):
            self._share_member(step, epoch)
        else:
            self._share_join(step)

    def _share_leave(self, step: Step) -> None:
        self._share_member(step, LEAVES)

    def _session(self, step: Step) -> int:
        session = self._members[step.client].session
        return max(session + {BEFORE: -1, LATER: 1}.get(step.told[0], 0), 0)

    def _share_fetch(self, step: Step) -> None:
        member, session = self._members[step.client], self._session(step)
        parts = tuple(
            {"PartitionIndex": index, "AcknowledgementBatches": ()} for index in range(PARTITIONS)
        )
        topics = ({"TopicId": self._names.topic_id, "Partitions": parts},)
        values = {
            "GroupId": self._names.of("workers"),
            "MemberId": self._names.of(step.client),
            "ShareSessionEpoch": session,
            "MaxWaitMs": 100,
            "MinBytes": 1,
            "MaxBytes": BYTES,
            "MaxRecords": int(step.told[1]),
            "BatchSize": int(step.told[1]),
            "Topics": topics if session == 0 else (),
        }
        told = self._ask(step, SHARE_FETCH, values)
        if told["ErrorCode"]:
            member.session = 0
            return
        member.session = session + 1
        for topic in told["Responses"]:
            for part in topic["Partitions"]:
                member.held += [
                    (part["PartitionIndex"], run["FirstOffset"], run["LastOffset"])
                    for run in part["AcquiredRecords"]
                ]

    def _share_acknowledge(self, step: Step) -> None:
        """Acknowledge the first run that is held, or offset 0 where nothing is."""
        member, session = self._members[step.client], self._session(step)
        index, first, last = member.held.pop(0) if member.held else (0, 0, 0)
        kind = ACKNOWLEDGE_TYPES[step.told[1]]
        run = {"FirstOffset": first, "LastOffset": last, "AcknowledgeTypes": (kind,)}
        part = {"PartitionIndex": index, "AcknowledgementBatches": (run,)}
        values = {
            "GroupId": self._names.of("workers"),
            "MemberId": self._names.of(step.client),
            "ShareSessionEpoch": session,
            "Topics": ({"TopicId": self._names.topic_id, "Partitions": (part,)},),
        }
        told = self._ask(step, ACKNOWLEDGE, values)
        member.session = 0 if told["ErrorCode"] else session + 1

    _DOES: ClassVar[dict[str, Callable[[Playing, Step], None]]] = {
        "init": _init,
        "add": _add,
        "produce": _produce,
        "plain": _plain,
        "stage": _stage,
        "end": _end,
        "read": _read,
        "offsets": _offsets,
        "describe": _describe,
        "list": _list,
        "producers": _describe_producers,
        "join": _join,
        "beat": _beat,
        "commit": _commit,
        "leave": _leave,
        "share-join": _share_join,
        "share-beat": _share_beat,
        "share-fetch": _share_fetch,
        "share-acknowledge": _share_acknowledge,
        "share-leave": _share_leave,
        "share-describe": _share_describe,
        "share-offsets": _share_offsets,
    }
