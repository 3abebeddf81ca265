"""The API that reads committed offsets. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages import group_admin
from kipviz.messages import groups as model
from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.legal_errors import (
    COORDINATOR,
    READS,
    Never,
    OnlyRecorded,
    at,
)
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    Need,
    Operation,
    Resource,
)
from kipviz.messages.errors import Errors
from kipviz.messages.groups import ASKS_STABLE, OF_SEVERAL_GROUPS
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.kind import Around, Kind
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of, topic_of

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


OF_AN_OFFSET = (
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.TOPIC_AUTHORIZATION_FAILED,
    Errors.UNSTABLE_OFFSET_COMMIT,
    Errors.UNKNOWN_TOPIC_ID,
    Errors.PENDING_TRANSACTION,
)
"""Errors of one partition of an OffsetFetch; any other is the whole group's. The last one is from a draft (KIP-447)."""
OF_A_READER = (
    Errors.GROUP_AUTHORIZATION_FAILED,
    Errors.UNKNOWN_MEMBER_ID,
    Errors.STALE_MEMBER_EPOCH,
)


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


def _encode_response(m: model.OffsetFetchResponse, around: Around) -> Struct:
    version = around.version_of(m)
    group = around.request.group_id if isinstance(around.request, model.OffsetFetch) else ""
    if m.error is not Errors.NONE and m.error not in OF_AN_OFFSET:
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
    """Return the fields that name groups without topics, which means all topics (null)."""
    stable = {"RequireStable": m.require_stable} if m.version >= ASKS_STABLE else {}
    if m.version < OF_SEVERAL_GROUPS:
        return {"GroupId": m.groups[0], "Topics": None, **stable}
    groups = tuple({"GroupId": group, "Topics": None} for group in m.groups)
    return {"Groups": groups, **stable}


def _fetched_of_groups(m: group_admin.OffsetFetchOfGroupsResponse, around: Around) -> Struct:
    version = around.version_of(m)
    if version < OF_SEVERAL_GROUPS:
        group = m.groups[0]
        return {"Topics": _offsets_of(group, version, around), "ErrorCode": group.error}
    groups = (
        {
            "GroupId": each.group_id,
            "Topics": _offsets_of(each, version, around),
            "ErrorCode": each.error,
        }
        for each in m.groups
    )
    return {"Groups": tuple(groups)}


def _offsets_of(
    group: group_admin.FetchedGroup, version: int, around: Around
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
        for o in group.offsets
    )
    return around.by_topics(version, 10, partitions, "Partitions")


APIS: tuple[Api, ...] = (
    Api(
        request=model.OffsetFetch,
        response=model.OffsetFetchResponse,
        request_bytes=Kind(OFFSET_FETCH_REQUEST, _fetch),
        response_bytes=Kind(OFFSET_FETCH_RESPONSE, _encode_response),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(DESCRIBE_GROUP, DESCRIBE_TOPIC),
        refusal=lambda m, error: model.OffsetFetchResponse(error, m.partition),
        errors=(
            at("Topics.Partitions.ErrorCode", *OF_AN_OFFSET),
            at("ErrorCode", *COORDINATOR, *OF_A_READER, READS, Errors.UNSUPPORTED_VERSION),
            at("Groups.Topics.Partitions.ErrorCode", *OF_AN_OFFSET),
            at(
                "Groups.ErrorCode",
                *COORDINATOR,
                *OF_A_READER,
                READS,
                Errors.UNSUPPORTED_VERSION,
                Never(
                    "a group that is not there has no offsets, and that is no error",
                    ("GROUP_ID_NOT_FOUND",),
                ),
                Never(
                    "a consumer of the model belongs to a group of its own protocol",
                    ("FENCED_MEMBER_EPOCH",),
                ),
            ),
        ),
        clause="KIP-447 OffsetFetch version 7",
        kafka="OffsetMetadataManager.fetchOffsets",
        answer_in="CommitRequestManager",
        newest=(("2.4", 6), ("3.5", 8), ("3.6", 8), ("3.9", 9), ("4.1.0", 10), ("4.3", 10)),
    ),
    Api(
        request=group_admin.OffsetFetchOfGroups,
        response=group_admin.OffsetFetchOfGroupsResponse,
        request_bytes=Kind(OFFSET_FETCH_REQUEST, _fetch_of_groups),
        response_bytes=Kind(OFFSET_FETCH_RESPONSE, _fetched_of_groups),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUPS,
        needs=(
            DESCRIBE_GROUP,
            Need(
                Operation.DESCRIBE,
                Resource.TOPIC,
                "KafkaApis, single topics of the answer",
                hides=True,
            ),
        ),
        refusal=lambda m, error: group_admin.OffsetFetchOfGroupsResponse(
            tuple(group_admin.FetchedGroup(error, group_id) for group_id in m.groups)
        ),
        errors=(
            at("Topics.Partitions.ErrorCode", *OF_AN_OFFSET),
            at(
                "ErrorCode",
                *COORDINATOR,
                READS,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
            ),
            at("Groups.Topics.Partitions.ErrorCode", *OF_AN_OFFSET),
            at(
                "Groups.ErrorCode",
                *COORDINATOR,
                READS,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                Never(
                    "a group that is not there has no offsets, and that is no error",
                    ("GROUP_ID_NOT_FOUND",),
                ),
                OnlyRecorded(
                    "an operator names no member",
                    (
                        "UNKNOWN_MEMBER_ID",
                        "STALE_MEMBER_EPOCH",
                    ),
                ),
            ),
        ),
        clause="KIP-709",
        kafka="OffsetMetadataManager.fetchAllOffsets",
        answer_in="ListConsumerGroupOffsetsHandler",
        words=("list offsets", "offsets"),
        admin_retries=OF_A_COORDINATOR,
        newest=(("2.4", 6), ("3.5", 8), ("3.6", 8), ("3.9", 9), ("4.1.0", 10), ("4.3", 10)),
    ),
)
