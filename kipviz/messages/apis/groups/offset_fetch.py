"""The API that reads committed offsets. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Case, Role
from kipviz.messages.apis.error_places import ErrorPlace
from kipviz.messages.apis.legal_errors import (
    COORDINATOR,
    READS,
    Never,
    at,
)
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    Need,
    Operation,
    Resource,
    topics_of,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.groups import groups as model
from kipviz.messages.groups.groups import ASKS_STABLE, NAMES_TOPICS, OF_SEVERAL_GROUPS
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of

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
# The topics of a response that names all of them: those that the sender may not see are left out.
DESCRIBED_TOPICS = Need(
    Operation.DESCRIBE, Resource.TOPIC, "KafkaApis, single topics of the answer", hides=True
)


def _encode_request(m: model.OffsetFetch, around: Around) -> Struct:
    """Return the fields of a request; before version 8 it has one group, in no array."""
    stable = {"RequireStable": m.require_stable} if m.version >= ASKS_STABLE else {}
    if m.version < OF_SEVERAL_GROUPS:
        (group,) = m.groups
        return {"GroupId": group.group_id, "Topics": _topics_of(group, m.version, around), **stable}
    groups = tuple(_encode_group(each, m.version, around) for each in m.groups)
    return {"Groups": groups, **stable}


def _encode_group(group: model.OffsetFetchGroup, version: int, around: Around) -> Struct:
    fields: Struct = {
        "GroupId": group.group_id,
        "Topics": _topics_of(group, version, around),
    }
    if group.member_epoch >= 0:
        fields |= {"MemberId": group.member_id, "MemberEpoch": group.member_epoch}
    return fields


def _topics_of(
    group: model.OffsetFetchGroup, version: int, around: Around
) -> tuple[Struct, ...] | None:
    """Return the named partitions by topic; null means all of them."""
    if group.partitions is None:
        return None

    def encode_topic(topic: str, found: tuple[int, ...]) -> Struct:
        by_name = version <= NAMES_TOPICS
        name = {"Name": topic} if by_name else {"TopicId": around.topic_id(topic)}
        return {**name, "PartitionIndexes": found}

    return indexes(group.partitions, encode_topic)


def _decode_request(fields: Struct, incoming: Incoming) -> tuple[model.OffsetFetch, ...]:
    groups = fields["Groups"] if incoming.version >= OF_SEVERAL_GROUPS else (fields,)
    each = tuple(_decode_group(group, incoming) for group in groups)
    stable = bool(fields.get("RequireStable", False))
    return (model.OffsetFetch(each, stable, incoming.version),)


def _decode_group(fields: Struct, incoming: Incoming) -> model.OffsetFetchGroup:
    named = fields["Topics"]
    partitions = None if named is None else incoming.partitions_of(named, "PartitionIndexes")
    member = (fields.get("MemberId") or "", fields.get("MemberEpoch", -1))
    return model.OffsetFetchGroup(fields["GroupId"], partitions, *member)


def _encode_response(m: model.OffsetFetchResponse, around: Around) -> Struct:
    """Return the fields of a response; before version 8 it is of one group, in no array."""
    version = around.version_of(m)
    if version < OF_SEVERAL_GROUPS:
        (group,) = m.groups
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


def encode_fetched(index: int, found: model.FetchedOffset) -> Struct:
    """Return the fields of one partition's committed offset."""
    epoch = -1 if found.leader_epoch is None else found.leader_epoch
    return {
        "PartitionIndex": index,
        "CommittedOffset": found.offset,
        "CommittedLeaderEpoch": epoch,
        "Metadata": found.metadata,
        "ErrorCode": found.error,
    }


def _offsets_of(group: model.FetchedGroup, version: int, around: Around) -> tuple[Struct, ...]:
    partitions = ((o.partition, encode_fetched(index_of(o.partition), o)) for o in group.offsets)
    return around.by_topics(version, NAMES_TOPICS + 1, partitions, "Partitions")


def _reject(m: model.OffsetFetch, error: Errors) -> model.OffsetFetchResponse:
    """Return the response with one error: of each named partition, or of each group."""

    def reject_group(group: model.OffsetFetchGroup) -> model.FetchedGroup:
        if error not in OF_AN_OFFSET or group.partitions is None:
            return model.FetchedGroup(error, group.group_id)
        offsets = tuple(model.FetchedOffset(each, error=error) for each in group.partitions)
        return model.FetchedGroup(Errors.NONE, group.group_id, offsets)

    return model.OffsetFetchResponse(tuple(map(reject_group, m.groups)))


def _fetches_all(m: model.OffsetFetch) -> bool:
    return any(group.partitions is None for group in m.groups)


def _first_error(m: model.OffsetFetchResponse) -> Errors:
    """Return the error of the first group, else that of its first offset."""
    group = m.groups[0]
    return group.error or (group.offsets[0].error if group.offsets else Errors.NONE)


OF_ALL_TOPICS = "OffsetFetch, all topics"

APIS = (
    Api(
        request=model.OffsetFetch,
        response=model.OffsetFetchResponse,
        request_bytes=RequestKind(OFFSET_FETCH_REQUEST, _encode_request, decode=_decode_request),
        response_bytes=Kind(OFFSET_FETCH_RESPONSE, _encode_response),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUPS,
        needs=(DESCRIBE_GROUP, DESCRIBE_TOPIC),
        cases=(Case(OF_ALL_TOPICS, _fetches_all, (DESCRIBE_GROUP, DESCRIBED_TOPICS)),),
        refusal=_reject,
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
        topics=lambda m: topics_of(p for each in m.groups for p in each.partitions or ()),
        error_place=ErrorPlace(
            first=_first_error,
            put=lambda m, error: m.but(
                groups=tuple(model.FetchedGroup(error, each.group_id) for each in m.groups)
            ),
        ),
        clause="KIP-447 OffsetFetch version 7; KIP-709",
        kafka="OffsetMetadataManager.fetchOffsets, fetchAllOffsets",
        answer_in="CommitRequestManager, ListConsumerGroupOffsetsHandler",
        admin_retries=OF_A_COORDINATOR,
        newest=(("2.4", 6), ("3.5", 8), ("3.6", 8), ("3.9", 9), ("4.1.0", 10), ("4.3", 10)),
    ),
)
