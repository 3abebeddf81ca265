"""The clients of a program: they turn each step into requests, using the earlier answers.

The clients are as clumsy as their program says: they use a fenced identity, repeat or skip a sequence, and acknowledge
records that they have not acquired. They never send a request that the protocol cannot express. With several brokers
they ask the one that they believe to be right, until it answers that it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import ClassVar

from kipviz.conforming.asking import ELSEWHERE, Ask, Doing, Finding, Names, errors_in
from kipviz.conforming.client_memory import NOBODY, Member, Producer
from kipviz.conforming.programs import (
    BEFORE,
    CLASSIC,
    LATER,
    MEMBERS,
    PARTITIONS,
    PRODUCERS,
    SHARERS,
    ClientStep,
    Program,
)
from kipviz.conforming.questions import (
    ACKNOWLEDGE,
    ADD,
    ADD_OFFSETS,
    BEAT,
    CLASSIC_BEAT,
    COMMIT,
    DESCRIBE,
    DESCRIBE_PRODUCERS,
    END,
    FETCH,
    FIND,
    GROUP,
    INIT,
    JOIN,
    LEAVE,
    LIST,
    METADATA,
    OFFSETS,
    PRODUCE,
    SHARE_BEAT,
    SHARE_DESCRIBE,
    SHARE_FETCH,
    SHARE_OFFSETS,
    STAGE,
    SYNC,
    TRANSACTION,
)
from kipviz.messages.apis.groups.consumer_protocol import (
    ASSIGNMENT,
    SUBSCRIPTION,
    encode_versioned,
)
from kipviz.messages.errors import Errors
from kipviz.messages.wire.batches import encode_batch
from kipviz.messages.wire.codec import Struct
from kipviz.recordings.request_context.handmade_requests import Request, RequestBatch
from kipviz.records.batches import DataRecord
from kipviz.settings.client_configs import REQUEST_TIMEOUT_MS, TRANSACTION_TIMEOUT_MS
from kipviz.settings.consumer_configs import MAX_PARTITION_FETCH_BYTES

REBALANCE_MS = 60_000
# How long a classic member waits for the others; one that does not return in time is removed.
CLASSIC_SESSION_MS, CLASSIC_REBALANCE_MS = 10_000, 700
BYTES = MAX_PARTITION_FETCH_BYTES.default
ACKNOWLEDGE_TYPES = {"accept": 1, "release": 2, "reject": 3}
# The identity of a producer that has not been assigned one.
STRANGER = (4_711_000, 0)
JOINS, LEAVES, CLOSES = 0, -1, -1


class Clients:
    """The clients of one program, and what they know."""

    def __init__(self, made: Program, names: Names, nodes: tuple[int, ...]) -> None:
        """Start with clients that know only the brokers' numbers."""
        self._made, self._names, self._nodes = made, names, nodes
        self._producers = {who: Producer() for who in PRODUCERS}
        self._members = {who: Member() for who in (*MEMBERS, *SHARERS, *CLASSIC)}
        self._records = 0
        # The leaders of the topic's partitions and the coordinators of (kind, key), as last answered.
        self._leaders: dict[int, int] = {}
        self._coordinators: dict[tuple[int, str], int] = {}

    def begin_step(self, step: ClientStep) -> Doing:
        """Begin a step."""
        return self._DOES[step.does](self, step)

    # -- the brokers that they ask ----------------------------------------------------------------

    def note_redirect(self, answer: Struct) -> None:
        """Note an answer that says that another broker is responsible."""
        if ELSEWHERE.intersection(errors_in(answer)):
            self.forget()

    def forget(self) -> None:
        """Forget the leaders and coordinators."""
        self._leaders.clear()
        self._coordinators.clear()

    def _leader(self, index: int) -> Finding:
        if len(self._nodes) == 1:
            return self._nodes[0]
        if index not in self._leaders:
            topics = ({"TopicId": self._names.topic_id, "Name": self._names.topic},)
            told = yield Ask(self._nodes[0], METADATA, {"Topics": topics})
            for part in told["Topics"][0]["Partitions"]:
                if part["LeaderId"] >= 0:
                    self._leaders[part["PartitionIndex"]] = part["LeaderId"]
        # Without a leader, any broker may say so.
        return self._leaders.get(index, self._nodes[0])

    def _coordinator(self, kind: int, key: str) -> Finding:
        if len(self._nodes) == 1:
            return self._nodes[0]
        if (kind, key) not in self._coordinators:
            asked = {"KeyType": kind, "CoordinatorKeys": (key,)}
            told = yield Ask(self._nodes[0], FIND, asked)
            (found,) = told["Coordinators"]
            if not found["ErrorCode"]:
                self._coordinators[kind, key] = found["NodeId"]
        return self._coordinators.get((kind, key), self._nodes[0])

    def _of_transactions(self, step: ClientStep) -> Finding:
        return self._coordinator(TRANSACTION, self._id(step.client))

    def _of_group(self, group: str) -> Finding:
        return self._coordinator(GROUP, self._names.of(group))

    # -- producers -----------------------------------------------------------------------------

    def _id(self, who: str) -> str:
        return self._names.of("x" if self._made.shared else f"x-{who}")

    def _identity(self, step: ClientStep) -> tuple[int, int]:
        """Return the identity of a step; LATER is an epoch that was never assigned."""
        producer = self._producers[step.client]
        now = producer.now if producer.now != NOBODY else STRANGER
        if step.told[0] == BEFORE and producer.before != NOBODY:
            return producer.before
        return (now[0], now[1] + 1) if step.told[0] == LATER else now

    def _init(self, step: ClientStep) -> Doing:
        producer = self._producers[step.client]
        who = producer.now if step.told[0] == "again" else NOBODY
        values = {
            "TransactionalId": self._id(step.client),
            "TransactionTimeoutMs": TRANSACTION_TIMEOUT_MS.default,
            "ProducerId": who[0],
            "ProducerEpoch": who[1],
        }
        node = yield from self._of_transactions(step)
        told = yield Ask(node, INIT, values)
        if not told["ErrorCode"]:
            producer.becomes((told["ProducerId"], told["ProducerEpoch"]))

    def _add(self, step: ClientStep) -> Doing:
        who = self._identity(step)
        topics = ({"Name": self._names.topic, "Partitions": (int(step.told[1]),)},)
        values = {
            "V3AndBelowTransactionalId": self._id(step.client),
            "V3AndBelowProducerId": who[0],
            "V3AndBelowProducerEpoch": who[1],
            "V3AndBelowTopics": topics,
        }
        node = yield from self._of_transactions(step)
        yield Ask(node, ADD, values)

    def _produce(self, step: ClientStep) -> Doing:
        producer, who = self._producers[step.client], self._identity(step)
        index = int(step.told[1])
        following = producer.sequences.get(index, 0)
        last = max(following - 1, 0)
        sequence = {"next": following, "again": last, "gap": following + 1}[step.told[2]]
        mine = who == producer.now
        if mine:
            # Requests sent at once continue from here, as if this one will be accepted.
            producer.sequences[index] = max(following, sequence + 1)
        told = yield from self._append(self._id(step.client), who, index, sequence)
        if told["ErrorCode"] and mine and who == producer.now:
            producer.sequences[index] = min(producer.sequences.get(index, 0), following)

    def _plain(self, step: ClientStep) -> Doing:
        yield from self._append(None, NOBODY, int(step.told[0]), -1)

    def _append(
        self, name: str | None, who: tuple[int, int], index: int, sequence: int
    ) -> Generator[Ask, Struct, Struct]:
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
        values = {
            "TransactionalId": name,
            "Acks": -1,
            "TimeoutMs": REQUEST_TIMEOUT_MS.default,
            "TopicData": topics,
        }
        place = f"{self._names.topic}-{index}"
        node = yield from self._leader(index)

        def make_sent(request: Request) -> RequestBatch:
            return RequestBatch(request, place, *who, sequence, (value,))

        told = yield Ask(node, PRODUCE, values, batch=make_sent)
        answer: Struct = told["Responses"][0]["PartitionResponses"][0]
        return answer

    def _stage(self, step: ClientStep) -> Doing:
        """Commit a group's offset in a transaction; an older client adds the group to it first."""
        who, group = self._identity(step), self._names.of("readers")
        identity = {
            "TransactionalId": self._id(step.client),
            "ProducerId": who[0],
            "ProducerEpoch": who[1],
            "GroupId": group,
        }
        if step.client in self._made.old:
            node = yield from self._of_transactions(step)
            yield Ask(node, ADD_OFFSETS, identity)
        topics = self._offset_of(int(step.told[1]))
        node = yield from self._of_group("readers")
        yield Ask(node, STAGE, identity | {"MemberId": "", "Topics": topics})

    def _offset_of(self, index: int) -> tuple[Struct, ...]:
        offset = {"PartitionIndex": index, "CommittedOffset": self._records}
        return ({"Name": self._names.topic, "Partitions": (offset,)},)

    def _end(self, step: ClientStep) -> Doing:
        who = self._identity(step)
        values = {
            "TransactionalId": self._id(step.client),
            "ProducerId": who[0],
            "ProducerEpoch": who[1],
            "Committed": step.told[1] == "commit",
        }
        node = yield from self._of_transactions(step)
        told = yield Ask(node, END, values)
        if not told["ErrorCode"] and who == self._producers[step.client].now:
            new = (told.get("ProducerId", -1), told.get("ProducerEpoch", -1))
            self._producers[step.client].becomes(new)

    # -- readers and operators -----------------------------------------------------------------

    def _read(self, step: ClientStep) -> Doing:
        index = int(step.told[1])
        partition = {
            "Partition": index,
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
        node = yield from self._leader(index)
        yield Ask(node, FETCH, values)

    def _offsets(self, step: ClientStep) -> Doing:
        topics = ({"Name": self._names.topic, "PartitionIndexes": tuple(range(PARTITIONS))},)
        group = {"GroupId": self._names.of("readers"), "Topics": topics}
        node = yield from self._of_group("readers")
        yield Ask(node, OFFSETS, {"Groups": (group,), "RequireStable": step.told[0] == "stable"})

    def _describe(self, step: ClientStep) -> Doing:
        names = dict.fromkeys(self._id(who) for who in PRODUCERS)
        node = yield from self._coordinator(TRANSACTION, next(iter(names)))
        yield Ask(node, DESCRIBE, {"TransactionalIds": tuple(names)})

    def _list(self, step: ClientStep) -> Doing:
        node = yield from self._coordinator(TRANSACTION, self._id(PRODUCERS[0]))
        yield Ask(node, LIST, {"StateFilters": (), "ProducerIdFilters": ()})

    def _describe_producers(self, step: ClientStep) -> Doing:
        index = int(step.told[0])
        topics = ({"Name": self._names.topic, "PartitionIndexes": (index,)},)
        node = yield from self._leader(index)
        yield Ask(node, DESCRIBE_PRODUCERS, {"Topics": topics})

    def _share_describe(self, step: ClientStep) -> Doing:
        node = yield from self._of_group("workers")
        yield Ask(node, SHARE_DESCRIBE, {"GroupIds": (self._names.of("workers"),)})

    def _share_offsets(self, step: ClientStep) -> Doing:
        group = {"GroupId": self._names.of("workers"), "Topics": None}
        node = yield from self._of_group("workers")
        yield Ask(node, SHARE_OFFSETS, {"Groups": (group,)})

    # -- members -------------------------------------------------------------------------------

    def _epoch(self, step: ClientStep) -> int:
        epoch = self._members[step.client].epoch
        return max(epoch + {BEFORE: -1, LATER: 1}.get(step.told[0], 0), 0)

    def _member(self, step: ClientStep, epoch: int, **more: object) -> Doing:
        values = {
            "GroupId": self._names.of("members"),
            "MemberId": self._names.of(step.client),
            "MemberEpoch": epoch,
            "RebalanceTimeoutMs": -1,
            **more,
        }
        node = yield from self._of_group("members")
        told = yield Ask(node, BEAT, values)
        if not told["ErrorCode"]:
            self._members[step.client].epoch = max(told["MemberEpoch"], 0)

    def _join(self, step: ClientStep) -> Doing:
        return self._member(
            step,
            JOINS,
            RebalanceTimeoutMs=REBALANCE_MS,
            SubscribedTopicNames=(self._names.topic,),
            TopicPartitions=(),
        )

    def _beat(self, step: ClientStep) -> Doing:
        epoch = self._epoch(step)
        return self._member(step, epoch) if epoch else self._join(step)

    def _leave(self, step: ClientStep) -> Doing:
        return self._member(step, LEAVES)

    def _commit(self, step: ClientStep) -> Doing:
        return self._commit_offsets(step, "members", self._names.of(step.client))

    def _commit_offsets(self, step: ClientStep, group: str, member: str) -> Doing:
        values = {
            "GroupId": self._names.of(group),
            "GenerationIdOrMemberEpoch": self._epoch(step),
            "MemberId": member,
            "Topics": self._offset_of(int(step.told[1])),
        }
        node = yield from self._of_group(group)
        yield Ask(node, COMMIT, values)

    # -- members of a classic group ------------------------------------------------------------

    def _classic_join(self, step: ClientStep) -> Doing:
        """Join with the id that the coordinator assigns first; then fetch the assignment, or send it as the leader."""
        member, group = self._members[step.client], self._names.of("classics")
        subscription = encode_versioned(SUBSCRIPTION, {"Topics": (self._names.topic,)}).data
        values = {
            "GroupId": group,
            "SessionTimeoutMs": CLASSIC_SESSION_MS,
            "RebalanceTimeoutMs": CLASSIC_REBALANCE_MS,
            "MemberId": member.name,
            "ProtocolType": "consumer",
            "Protocols": ({"Name": "range", "Metadata": subscription},),
        }
        node = yield from self._of_group("classics")
        # A member without an id is assigned one at once, and one that is alone in its group waits for no other.
        told = yield Ask(node, JOIN, values, patient=bool(member.name) and self._has_others(step))
        if told["ErrorCode"] == Errors.MEMBER_ID_REQUIRED:
            member.name = told["MemberId"]
            named = values | {"MemberId": member.name}
            told = yield Ask(node, JOIN, named, patient=self._has_others(step))
        if told["ErrorCode"] == Errors.UNKNOWN_MEMBER_ID:
            member.name = ""
        if told["ErrorCode"]:
            return
        member.epoch, member.name = told["GenerationId"], told["MemberId"]
        leads = told["Leader"] == member.name
        names = [each["MemberId"] for each in told["Members"]] if leads else []
        given = tuple(
            {"MemberId": name, "Assignment": self._assignment(at, len(names))}
            for at, name in enumerate(names)
        )
        asked = {
            "GroupId": group,
            "GenerationId": member.epoch,
            "MemberId": member.name,
            "ProtocolType": "consumer",
            "ProtocolName": "range",
            "Assignments": given,
        }
        # The others wait for the leader, which waits for no other.
        yield Ask(node, SYNC, asked, patient=not leads)

    def _has_others(self, step: ClientStep) -> bool:
        """Return whether another client has a member id in the classic group."""
        return any(self._members[who].name for who in CLASSIC if who != step.client)

    def _assignment(self, at: int, members: int) -> bytes:
        mine = tuple(index for index in range(PARTITIONS) if index % members == at)
        topics = ({"Topic": self._names.topic, "Partitions": mine},) if mine else ()
        return encode_versioned(ASSIGNMENT, {"AssignedPartitions": topics}).data

    def _classic_beat(self, step: ClientStep) -> Doing:
        values = {
            "GroupId": self._names.of("classics"),
            "GenerationId": self._epoch(step),
            "MemberId": self._members[step.client].name,
        }
        node = yield from self._of_group("classics")
        yield Ask(node, CLASSIC_BEAT, values)

    def _classic_commit(self, step: ClientStep) -> Doing:
        return self._commit_offsets(step, "classics", self._members[step.client].name)

    def _classic_leave(self, step: ClientStep) -> Doing:
        member = self._members[step.client]
        values = {"GroupId": self._names.of("classics"), "Members": ({"MemberId": member.name},)}
        node = yield from self._of_group("classics")
        told = yield Ask(node, LEAVE, values)
        if not told["ErrorCode"]:
            member.name = ""

    # -- members of a share group --------------------------------------------------------------

    def _share_member(self, step: ClientStep, epoch: int, **more: object) -> Doing:
        values = {
            "GroupId": self._names.of("workers"),
            "MemberId": self._names.of(step.client),
            "MemberEpoch": epoch,
            **more,
        }
        node = yield from self._of_group("workers")
        told = yield Ask(node, SHARE_BEAT, values)
        if not told["ErrorCode"]:
            self._members[step.client].epoch = max(told["MemberEpoch"], 0)

    def _share_join(self, step: ClientStep) -> Doing:
        return self._share_member(step, JOINS, SubscribedTopicNames=(self._names.topic,))

    def _share_beat(self, step: ClientStep) -> Doing:
        epoch = self._epoch(step)
        return self._share_member(step, epoch) if epoch else self._share_join(step)

    def _share_leave(self, step: ClientStep) -> Doing:
        return self._share_member(step, LEAVES)

    def _session_epoch(self, step: ClientStep, node: int) -> int:
        session = self._members[step.client].session_at(node).epoch
        return max(session + {BEFORE: -1, LATER: 1}.get(step.told[0], 0), 0)

    def _share_fetch(self, step: ClientStep) -> Doing:
        """Fetch from every leader, from each the partitions that it leads."""
        led: dict[int, tuple[int, ...]] = {}
        for index in range(PARTITIONS):
            node = yield from self._leader(index)
            led[node] = (*led.get(node, ()), index)
        for node, indexes in led.items():
            yield from self._share_fetch_at(step, node, indexes)

    def _share_fetch_at(self, step: ClientStep, node: int, indexes: tuple[int, ...]) -> Doing:
        member = self._members[step.client]
        session, epoch = member.session_at(node), self._session_epoch(step, node)
        topic_id = self._names.topic_id
        new = indexes if epoch == 0 else tuple(i for i in indexes if i not in session.partitions)
        gone = tuple(i for i in session.partitions if i not in indexes) if epoch else ()
        parts = tuple({"PartitionIndex": index, "AcknowledgementBatches": ()} for index in new)
        values = {
            "GroupId": self._names.of("workers"),
            "MemberId": self._names.of(step.client),
            "ShareSessionEpoch": epoch,
            "MaxWaitMs": 100,
            "MinBytes": 1,
            "MaxBytes": BYTES,
            "MaxRecords": int(step.told[1]),
            "BatchSize": int(step.told[1]),
            "Topics": ({"TopicId": topic_id, "Partitions": parts},) if parts else (),
            "ForgottenTopicsData": ({"TopicId": topic_id, "Partitions": gone},) if gone else (),
        }
        told = yield Ask(node, SHARE_FETCH, values)
        if told["ErrorCode"]:
            session.epoch, session.partitions = 0, ()
            return
        session.epoch, session.partitions = epoch + 1, indexes
        for topic in told["Responses"]:
            for part in topic["Partitions"]:
                member.held += [
                    (part["PartitionIndex"], run["FirstOffset"], run["LastOffset"])
                    for run in part["AcquiredRecords"]
                ]

    def _share_acknowledge(self, step: ClientStep) -> Doing:
        """Acknowledge the first acquired run, or offset 0 if there is none."""
        member = self._members[step.client]
        index, first, last = member.held.pop(0) if member.held else (0, 0, 0)
        node = yield from self._leader(index)
        session, epoch = member.session_at(node), self._session_epoch(step, node)
        kind = ACKNOWLEDGE_TYPES[step.told[1]]
        run = {"FirstOffset": first, "LastOffset": last, "AcknowledgeTypes": (kind,)}
        part = {"PartitionIndex": index, "AcknowledgementBatches": (run,)}
        values = {
            "GroupId": self._names.of("workers"),
            "MemberId": self._names.of(step.client),
            "ShareSessionEpoch": epoch,
            "Topics": ({"TopicId": self._names.topic_id, "Partitions": (part,)},),
        }
        told = yield Ask(node, ACKNOWLEDGE, values)
        session.epoch = 0 if told["ErrorCode"] else epoch + 1

    _DOES: ClassVar[dict[str, Callable[[Clients, ClientStep], Doing]]] = {
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
        "classic-join": _classic_join,
        "classic-beat": _classic_beat,
        "classic-commit": _classic_commit,
        "classic-leave": _classic_leave,
        "share-join": _share_join,
        "share-beat": _share_beat,
        "share-fetch": _share_fetch,
        "share-acknowledge": _share_acknowledge,
        "share-leave": _share_leave,
        "share-describe": _share_describe,
        "share-offsets": _share_offsets,
    }
