"""The APIs of committed offsets. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages import group_admin
from kipviz.messages import groups as model
from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    READ_EACH,
    READ_GROUP,
    WRITE_ID,
    Need,
    Operation,
    Resource,
)
from kipviz.messages.errors import Errors
from kipviz.messages.groups import ASKS_STABLE, NAMES_MEMBER, OF_SEVERAL_GROUPS
from kipviz.messages.message import groups_of, taken_apart
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.kind import Around, Kind, topics
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of, topic_of

TXN_OFFSET_COMMIT_REQUEST = Schema(
    "TxnOffsetCommitRequest",
    28,
    "0-6",
    "3+",
    (
        Field("TransactionalId", "string"),
        Field("GroupId", "string"),
        Field("ProducerId", "int64"),
        Field("ProducerEpoch", "int16"),
        Field("GenerationIdOrMemberEpoch", "int32", "3+", default="-1"),
        Field("MemberId", "string", "3+"),
        Field("GroupInstanceId", "string", "3+", default="null", nullable="3+"),
        Field(
            "Topics",
            "[]TxnOffsetCommitRequestTopic",
            fields=(
                Field("Name", "string", "0-5"),
                Field("TopicId", "uuid", "6+"),
                Field(
                    "Partitions",
                    "[]TxnOffsetCommitRequestPartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("CommittedOffset", "int64"),
                        Field("CommittedLeaderEpoch", "int32", "2+", default="-1"),
                        Field("CommittedMetadata", "string", nullable="0+"),
                    ),
                ),
            ),
        ),
    ),
)

TXN_OFFSET_COMMIT_RESPONSE = Schema(
    "TxnOffsetCommitResponse",
    28,
    "0-6",
    "3+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Topics",
            "[]TxnOffsetCommitResponseTopic",
            fields=(
                Field("Name", "string", "0-5"),
                Field("TopicId", "uuid", "6+"),
                Field(
                    "Partitions",
                    "[]TxnOffsetCommitResponsePartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                    ),
                ),
            ),
        ),
    ),
)

OFFSET_COMMIT_REQUEST = Schema(
    "OffsetCommitRequest",
    8,
    "2-10",
    "8+",
    (
        Field("GroupId", "string"),
        Field("GenerationIdOrMemberEpoch", "int32", "1+", default="-1"),
        Field("MemberId", "string", "1+"),
        Field("GroupInstanceId", "string", "7+", default="null", nullable="7+"),
        Field("RetentionTimeMs", "int64", "2-4", default="-1"),
        Field(
            "Topics",
            "[]OffsetCommitRequestTopic",
            fields=(
                Field("Name", "string", "0-9"),
                Field("TopicId", "uuid", "10+"),
                Field(
                    "Partitions",
                    "[]OffsetCommitRequestPartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("CommittedOffset", "int64"),
                        Field("CommittedLeaderEpoch", "int32", "6+", default="-1"),
                        Field("CommittedMetadata", "string", nullable="0+"),
                    ),
                ),
            ),
        ),
    ),
)

OFFSET_COMMIT_RESPONSE = Schema(
    "OffsetCommitResponse",
    8,
    "2-10",
    "8+",
    (
        Field("ThrottleTimeMs", "int32", "3+"),
        Field(
            "Topics",
            "[]OffsetCommitResponseTopic",
            fields=(
                Field("Name", "string", "0-9"),
                Field("TopicId", "uuid", "10+"),
                Field(
                    "Partitions",
                    "[]OffsetCommitResponsePartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                    ),
                ),
            ),
        ),
    ),
)

OFFSET_FETCH_REQUEST = Schema(
    "OffsetFetchRequest",
    9,
    "1-10",
    "6+",
    (
        Field("GroupId", "string", "0-7"),
        Field(
            "Topics",
            "[]OffsetFetchRequestTopic",
            "0-7",
            nullable="2-7",
            fields=(
                Field("Name", "string", "0-7"),
                Field("PartitionIndexes", "[]int32", "0-7"),
            ),
        ),
        Field(
            "Groups",
            "[]OffsetFetchRequestGroup",
            "8+",
            fields=(
                Field("GroupId", "string", "8+"),
                Field("MemberId", "string", "9+", default="null", nullable="9+"),
                Field("MemberEpoch", "int32", "9+", default="-1"),
                Field(
                    "Topics",
                    "[]OffsetFetchRequestTopics",
                    "8+",
                    nullable="8+",
                    fields=(
                        Field("Name", "string", "8-9"),
                        Field("TopicId", "uuid", "10+"),
                        Field("PartitionIndexes", "[]int32", "8+"),
                    ),
                ),
            ),
        ),
        Field("RequireStable", "bool", "7+"),
    ),
)

OFFSET_FETCH_RESPONSE = Schema(
    "OffsetFetchResponse",
    9,
    "1-10",
    "6+",
    (
        Field("ThrottleTimeMs", "int32", "3+"),
        Field(
            "Topics",
            "[]OffsetFetchResponseTopic",
            "0-7",
            fields=(
                Field("Name", "string", "0-7"),
                Field(
                    "Partitions",
                    "[]OffsetFetchResponsePartition",
                    "0-7",
                    fields=(
                        Field("PartitionIndex", "int32", "0-7"),
                        Field("CommittedOffset", "int64", "0-7"),
                        Field("CommittedLeaderEpoch", "int32", "5-7", default="-1"),
                        Field("Metadata", "string", "0-7", nullable="0-7"),
                        Field("ErrorCode", "int16", "0-7"),
                    ),
                ),
            ),
        ),
        Field("ErrorCode", "int16", "2-7", default="0"),
        Field(
            "Groups",
            "[]OffsetFetchResponseGroup",
            "8+",
            fields=(
                Field("GroupId", "string", "8+"),
                Field(
                    "Topics",
                    "[]OffsetFetchResponseTopics",
                    "8+",
                    fields=(
                        Field("Name", "string", "8-9"),
                        Field("TopicId", "uuid", "10+"),
                        Field(
                            "Partitions",
                            "[]OffsetFetchResponsePartitions",
                            "8+",
                            fields=(
                                Field("PartitionIndex", "int32", "8+"),
                                Field("CommittedOffset", "int64", "8+"),
                                Field("CommittedLeaderEpoch", "int32", "8+", default="-1"),
                                Field("Metadata", "string", "8+", nullable="8+"),
                                Field("ErrorCode", "int16", "8+"),
                            ),
                        ),
                    ),
                ),
                Field("ErrorCode", "int16", "8+", default="0"),
            ),
        ),
    ),
)


# What OffsetFetch answers for one partition; any other error is the whole group's.
OF_A_PARTITION = (Errors.NONE, Errors.UNSTABLE_OFFSET_COMMIT, Errors.UNKNOWN_TOPIC_OR_PARTITION)


def _instance(m: model.TxnOffsetCommit | model.OffsetCommit) -> Struct:
    """Name the static member, if it is one (KIP-345)."""
    return {"GroupInstanceId": m.instance_id} if m.instance_id else {}


def _member(m: model.TxnOffsetCommit) -> Struct:
    return {"GenerationIdOrMemberEpoch": m.member_epoch, "MemberId": m.member_id, **_instance(m)}


def _commit(m: model.TxnOffsetCommit, around: Around) -> Struct:
    offsets = (
        (o.partition, {"PartitionIndex": index_of(o.partition), "CommittedOffset": o.offset})
        for o in m.offsets
    )
    return {
        "TransactionalId": m.transactional_id,
        "GroupId": m.group_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        **(_member(m) if m.version >= NAMES_MEMBER else {}),
        "Topics": topics(offsets, lambda t, each: {**_topic(m, t, around), "Partitions": each}),
    }


def _topic(m: model.TxnOffsetCommit, topic: str, around: Around) -> Struct:
    """Name a topic as its version does: by its id since version 6 (KIP-1319)."""
    if m.version < 6:
        return {"Name": topic}
    return {"TopicId": dict(m.topic_ids).get(topic) or around.topic_id(topic)}


def _committed(m: model.TxnOffsetCommitResponse, around: Around) -> Struct:
    request = around.request
    if not isinstance(request, model.TxnOffsetCommit):
        return {"Topics": ()}
    own = {r.partition: r.error for r in m.refused}
    results = (
        (
            o.partition,
            {"PartitionIndex": index_of(o.partition), "ErrorCode": own.get(o.partition, m.error)},
        )
        for o in request.offsets
    )
    return {
        "Topics": topics(
            results, lambda t, each: {**_topic(request, t, around), "Partitions": each}
        ),
    }


def _said(m: model.OffsetCommit, around: Around) -> Struct:
    offsets = (
        (o.partition, {"PartitionIndex": index_of(o.partition), "CommittedOffset": o.offset})
        for o in m.offsets
    )
    return {
        "GroupId": m.group_id,
        "GenerationIdOrMemberEpoch": m.member_epoch,
        "MemberId": m.member_id,
        **_instance(m),
        "Topics": topics(
            offsets, lambda t, each: {"TopicId": around.topic_id(t), "Partitions": each}
        ),
    }


def _heard(m: model.OffsetCommitResponse, around: Around) -> Struct:
    asked = around.request.offsets if isinstance(around.request, model.OffsetCommit) else ()
    own = {r.partition: r.error for r in m.refused}
    results = (
        (
            o.partition,
            {"PartitionIndex": index_of(o.partition), "ErrorCode": own.get(o.partition, m.error)},
        )
        for o in asked
    )
    return {
        "Topics": topics(
            results, lambda t, each: {"TopicId": around.topic_id(t), "Partitions": each}
        )
    }


def _fetch(m: model.OffsetFetch, around: Around) -> Struct:
    named: Struct = {"Name": topic_of(m.partition)}
    if m.version >= 10:
        named = {"TopicId": around.topic_id(topic_of(m.partition))}
    topic = {**named, "PartitionIndexes": (index_of(m.partition),)}
    stable = {"RequireStable": m.require_stable} if m.version >= ASKS_STABLE else {}
    if m.version < OF_SEVERAL_GROUPS:
        return {"GroupId": m.group_id, "Topics": (topic,), **stable}
    group: Struct = {"GroupId": m.group_id, "Topics": (topic,)}
    if m.member_epoch >= 0:
        group |= {"MemberId": m.member_id, "MemberEpoch": m.member_epoch}
    return {"Groups": (group,), **stable}


def _fetched(m: model.OffsetFetchResponse, around: Around) -> Struct:
    version = around.version_of(m)
    group = around.request.group_id if isinstance(around.request, model.OffsetFetch) else ""
    if m.error not in OF_A_PARTITION:
        if version < OF_SEVERAL_GROUPS:
            return {"Topics": (), "ErrorCode": m.error}
        return {"Groups": ({"GroupId": group, "Topics": (), "ErrorCode": m.error},)}
    partition = {
        "PartitionIndex": index_of(m.partition),
        "CommittedOffset": m.offset,
        "ErrorCode": m.error,
    }
    found = around.by_topic(version, 10, m.partition, "Partitions", **partition)
    if version < OF_SEVERAL_GROUPS:
        return {"Topics": found, "ErrorCode": Errors.NONE}
    return {"Groups": ({"GroupId": group, "Topics": found, "ErrorCode": Errors.NONE},)}


def _fetch_of_groups(m: group_admin.OffsetFetchOfGroups, _: Around) -> Struct:
    """Name groups and no topics: all of them are meant (null)."""
    stable = {"RequireStable": m.require_stable} if m.version >= ASKS_STABLE else {}
    if m.version < OF_SEVERAL_GROUPS:
        return {"GroupId": m.group_id, "Topics": None, **stable}
    groups = tuple({"GroupId": group, "Topics": None} for group in groups_of(m))
    return {"Groups": groups, **stable}


def _fetched_of_groups(m: group_admin.OffsetFetchOfGroupsResponse, around: Around) -> Struct:
    version = around.version_of(m)
    if version < OF_SEVERAL_GROUPS:
        return {"Topics": _offsets_of(m, version, around), "ErrorCode": m.error}
    groups = (
        {
            "GroupId": each.group_id,
            "Topics": _offsets_of(each, version, around),
            "ErrorCode": each.error,
        }
        for each in taken_apart(m)
    )
    return {"Groups": tuple(groups)}


def _offsets_of(
    m: group_admin.OffsetFetchOfGroupsResponse, version: int, around: Around
) -> tuple[Struct, ...]:
    partitions = (
        (
            o.partition,
            {
                "PartitionIndex": index_of(o.partition),
                "CommittedOffset": o.offset,
                "ErrorCode": o.error,
            },
        )
        for o in m.offsets
    )
    return around.by_topics(version, 10, partitions, "Partitions")


APIS: tuple[Api, ...] = (
    Api(
        request=model.OffsetFetch,
        response=model.OffsetFetchResponse,
        request_bytes=Kind(OFFSET_FETCH_REQUEST, _fetch),
        response_bytes=Kind(OFFSET_FETCH_RESPONSE, _fetched),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(DESCRIBE_GROUP, DESCRIBE_TOPIC),
        refusal=lambda m, error: model.OffsetFetchResponse(error, m.partition),
        clause="KIP-447 OffsetFetch version 7",
        kafka="OffsetMetadataManager.fetchOffsets",
        answer_in="CommitRequestManager",
        newest=(("2.4", 6), ("3.5", 8), ("3.6", 8), ("3.9", 9), ("4.1.0", 10), ("4.3", 10)),
    ),
    Api(
        request=model.OffsetCommit,
        response=model.OffsetCommitResponse,
        request_bytes=Kind(OFFSET_COMMIT_REQUEST, _said),
        response_bytes=Kind(OFFSET_COMMIT_RESPONSE, _heard),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(READ_GROUP, READ_EACH),
        refusal=lambda _, error: model.OffsetCommitResponse(error),
        clause="KIP-848 OffsetCommit",
        kafka="OffsetMetadataManager.commitOffset",
        answer_in="CommitRequestManager",
    ),
    Api(
        request=model.TxnOffsetCommit,
        response=model.TxnOffsetCommitResponse,
        request_bytes=Kind(TXN_OFFSET_COMMIT_REQUEST, _commit),
        response_bytes=Kind(TXN_OFFSET_COMMIT_RESPONSE, _committed),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(WRITE_ID, READ_GROUP, READ_EACH),
        refusal=lambda _, error: model.TxnOffsetCommitResponse(error),
        clause="KIP-447; KIP-890 part 2, TxnOffsetCommit version 5",
        kafka="GroupCoordinatorService.commitTransactionalOffsets",
        answer_in="TransactionManager.TxnOffsetCommitHandler",
        may_be_late=True,
        newest=(("2.4", 2), ("3.5", 3), ("3.6", 3), ("3.9", 4), ("4.1.0", 5), ("4.3", 5)),
    ),
    Api(
        request=group_admin.OffsetFetchOfGroups,
        response=group_admin.OffsetFetchOfGroupsResponse,
        request_bytes=Kind(OFFSET_FETCH_REQUEST, _fetch_of_groups),
        response_bytes=Kind(OFFSET_FETCH_RESPONSE, _fetched_of_groups),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(
            DESCRIBE_GROUP,
            Need(
                Operation.DESCRIBE,
                Resource.TOPIC,
                "KafkaApis, single topics of the answer",
                hides=True,
            ),
        ),
        refusal=lambda m, error: group_admin.OffsetFetchOfGroupsResponse(error, m.group_id),
        clause="KIP-709",
        kafka="OffsetMetadataManager.fetchAllOffsets",
        answer_in="ListConsumerGroupOffsetsHandler",
        words=("list offsets", "offsets"),
        admin_retries=OF_A_COORDINATOR,
        several_groups=True,
        newest=(("2.4", 6), ("3.5", 8), ("3.6", 8), ("3.9", 9), ("4.1.0", 10), ("4.3", 10)),
    ),
)
