"""The APIs with which an operator describes, changes and deletes the start offsets of share groups. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.groups.described_groups import (
    MESSAGE,
)
from kipviz.messages.apis.legal_errors import (
    COORDINATOR,
    DISK,
    READS,
    UNEXPECTED,
    WELL_FORMED,
    at,
)
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    DELETE_GROUP,
    DESCRIBE_GROUP,
    READ_EACH,
    READ_GROUP,
    Need,
    Operation,
    Resource,
    topics_of,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.shares import share_admin as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of

DESCRIBE_SHARE_GROUP_OFFSETS_REQUEST = Schema(
    "DescribeShareGroupOffsetsRequest",
    90,
    "0-1",
    "0+",
    (
        Field(
            "Groups",
            "[]DescribeShareGroupOffsetsRequestGroup",
            fields=(
                Field("GroupId", "string"),
                Field(
                    "Topics",
                    "[]DescribeShareGroupOffsetsRequestTopic",
                    nullable="0+",
                    fields=(Field("TopicName", "string"), Field("Partitions", "[]int32")),
                ),
            ),
        ),
    ),
)

DESCRIBE_SHARE_GROUP_OFFSETS_RESPONSE = Schema(
    "DescribeShareGroupOffsetsResponse",
    90,
    "0-1",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Groups",
            "[]DescribeShareGroupOffsetsResponseGroup",
            fields=(
                Field("GroupId", "string"),
                Field(
                    "Topics",
                    "[]DescribeShareGroupOffsetsResponseTopic",
                    fields=(
                        Field("TopicName", "string"),
                        Field("TopicId", "uuid"),
                        Field(
                            "Partitions",
                            "[]DescribeShareGroupOffsetsResponsePartition",
                            fields=(
                                Field("PartitionIndex", "int32"),
                                Field("StartOffset", "int64"),
                                Field("LeaderEpoch", "int32"),
                                Field("Lag", "int64", "1+", default="-1"),
                                Field("ErrorCode", "int16"),
                                MESSAGE,
                            ),
                        ),
                    ),
                ),
                Field("ErrorCode", "int16"),
                MESSAGE,
            ),
        ),
    ),
)

ALTER_SHARE_GROUP_OFFSETS_REQUEST = Schema(
    "AlterShareGroupOffsetsRequest",
    91,
    "0",
    "0+",
    (
        Field("GroupId", "string"),
        Field(
            "Topics",
            "[]AlterShareGroupOffsetsRequestTopic",
            fields=(
                Field("TopicName", "string"),
                Field(
                    "Partitions",
                    "[]AlterShareGroupOffsetsRequestPartition",
                    fields=(Field("PartitionIndex", "int32"), Field("StartOffset", "int64")),
                ),
            ),
        ),
    ),
)

ALTER_SHARE_GROUP_OFFSETS_RESPONSE = Schema(
    "AlterShareGroupOffsetsResponse",
    91,
    "0",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        MESSAGE,
        Field(
            "Responses",
            "[]AlterShareGroupOffsetsResponseTopic",
            fields=(
                Field("TopicName", "string"),
                Field("TopicId", "uuid"),
                Field(
                    "Partitions",
                    "[]AlterShareGroupOffsetsResponsePartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                        MESSAGE,
                    ),
                ),
            ),
        ),
    ),
)

DELETE_SHARE_GROUP_OFFSETS_REQUEST = Schema(
    "DeleteShareGroupOffsetsRequest",
    92,
    "0",
    "0+",
    (
        Field("GroupId", "string"),
        Field(
            "Topics",
            "[]DeleteShareGroupOffsetsRequestTopic",
            fields=(Field("TopicName", "string"),),
        ),
    ),
)

DELETE_SHARE_GROUP_OFFSETS_RESPONSE = Schema(
    "DeleteShareGroupOffsetsResponse",
    92,
    "0",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        MESSAGE,
        Field(
            "Responses",
            "[]DeleteShareGroupOffsetsResponseTopic",
            fields=(
                Field("TopicName", "string"),
                Field("TopicId", "uuid"),
                Field("ErrorCode", "int16"),
                MESSAGE,
            ),
        ),
    ),
)


def _describe_offsets(m: model.DescribeShareGroupOffsets, _: Around) -> Struct:
    def encode_topics(partitions: tuple[str, ...]) -> tuple[Struct, ...]:
        return indexes(partitions, lambda topic, found: {"TopicName": topic, "Partitions": found})

    groups = (
        {
            "GroupId": group.group_id,
            "Topics": None if group.partitions is None else encode_topics(group.partitions),
        }
        for group in m.groups
    )
    return {"Groups": tuple(groups)}


def _decode_describe_offsets(
    fields: Struct, incoming: Incoming
) -> tuple[model.DescribeShareGroupOffsets, ...]:
    groups = (
        model.ShareOffsetsGroup(
            group["GroupId"],
            None if group["Topics"] is None else incoming.partitions_of(group["Topics"]),
        )
        for group in fields["Groups"]
    )
    return (model.DescribeShareGroupOffsets(tuple(groups)),)


def _described_offsets(m: model.DescribeShareGroupOffsetsResponse, around: Around) -> Struct:
    return {"Groups": tuple(_encode_offsets(group, around) for group in m.groups)}


def _encode_offsets(group: model.DescribedShareOffsets, around: Around) -> Struct:
    known = {offset.partition: offset for offset in group.offsets}

    def topic(name: str, found: tuple[int, ...]) -> Struct:
        each = (known[f"{name}-{index}"] for index in found)
        partitions = tuple(
            {
                "PartitionIndex": index_of(offset.partition),
                "StartOffset": offset.start_offset,
                "LeaderEpoch": offset.leader_epoch,
                "Lag": offset.lag,
                "ErrorCode": offset.error,
            }
            for offset in each
        )
        return {"TopicName": name, "TopicId": around.topic_id(name), "Partitions": partitions}

    topics = indexes(tuple(known), topic)
    return {"GroupId": group.group_id, "Topics": topics, "ErrorCode": group.error}


def _alter(m: model.AlterShareGroupOffsets, _: Around) -> Struct:
    starts = dict(m.starts)

    def topic(name: str, found: tuple[int, ...]) -> Struct:
        partitions = tuple(
            {"PartitionIndex": index, "StartOffset": starts[f"{name}-{index}"]} for index in found
        )
        return {"TopicName": name, "Partitions": partitions}

    return {"GroupId": m.group_id, "Topics": indexes(tuple(starts), topic)}


def _decode_alter(fields: Struct, incoming: Incoming) -> tuple[model.AlterShareGroupOffsets, ...]:
    parts = incoming.parts_of(fields["Topics"])
    starts = tuple((partition, part["StartOffset"]) for partition, part in parts)
    return (model.AlterShareGroupOffsets(fields["GroupId"], starts),)


def _alter_results(m: model.AlterShareGroupOffsetsResponse, around: Around) -> Struct:
    results = {result.partition: result.error for result in m.results}

    def topic(name: str, found: tuple[int, ...]) -> Struct:
        partitions = tuple(
            {"PartitionIndex": index, "ErrorCode": results[f"{name}-{index}"]} for index in found
        )
        return {"TopicName": name, "TopicId": around.topic_id(name), "Partitions": partitions}

    return {"ErrorCode": m.error, "Responses": indexes(tuple(results), topic)}


def _delete_offsets(m: model.DeleteShareGroupOffsets, _: Around) -> Struct:
    return {"GroupId": m.group_id, "Topics": tuple({"TopicName": topic} for topic in m.topics)}


def _decode_delete_offsets(
    fields: Struct, _: Incoming
) -> tuple[model.DeleteShareGroupOffsets, ...]:
    topics = tuple(topic["TopicName"] for topic in fields["Topics"])
    return (model.DeleteShareGroupOffsets(fields["GroupId"], topics),)


def _deleted_offsets(m: model.DeleteShareGroupOffsetsResponse, around: Around) -> Struct:
    topics = (
        {
            "TopicName": each.topic,
            "TopicId": around.topic_id(each.topic),
            "ErrorCode": each.error,
        }
        for each in m.responses
    )
    return {"ErrorCode": m.error, "Responses": tuple(topics)}


def _reject_deletion(
    m: model.DeleteShareGroupOffsets, error: Errors
) -> model.DeleteShareGroupOffsetsResponse:
    """Return the response with one error: of each topic if the sender may use none, else of the request."""
    if error is not Errors.TOPIC_AUTHORIZATION_FAILED:
        return model.DeleteShareGroupOffsetsResponse(error, m.group_id)
    results = tuple(model.TopicResult(topic, error) for topic in m.topics)
    return model.DeleteShareGroupOffsetsResponse(Errors.NONE, m.group_id, results)


APIS = (
    Api(
        request=model.DescribeShareGroupOffsets,
        response=model.DescribeShareGroupOffsetsResponse,
        request_bytes=RequestKind(
            DESCRIBE_SHARE_GROUP_OFFSETS_REQUEST, _describe_offsets, decode=_decode_describe_offsets
        ),
        response_bytes=Kind(DESCRIBE_SHARE_GROUP_OFFSETS_RESPONSE, _described_offsets),
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
        refusal=lambda m, error: model.DescribeShareGroupOffsetsResponse(
            tuple(model.DescribedShareOffsets(error, each.group_id) for each in m.groups)
        ),
        errors=(
            at(
                "Groups.Topics.Partitions.ErrorCode",
                *COORDINATOR,
                Errors.COORDINATOR_NOT_AVAILABLE,
                Errors.NETWORK_EXCEPTION,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                UNEXPECTED,
            ),
            at(
                "Groups.ErrorCode",
                *COORDINATOR,
                READS,
                Errors.INVALID_GROUP_ID,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                UNEXPECTED,
            ),
        ),
        error_place=ErrorPlace(
            first=lambda m: m.groups[0].error,
            put=lambda m, error: m.but(groups=with_errors(m.groups, error)),
        ),
        clause="KIP-932 DescribeShareGroupOffsets; KIP-1226",
        kafka="GroupCoordinatorService.describeShareGroupAllOffsets",
        answer_in="ListShareGroupOffsetsHandler",
        words=("describe offsets", "offsets"),
        admin_retries=OF_A_COORDINATOR,
        only_with_shares=True,
    ),
    Api(
        request=model.AlterShareGroupOffsets,
        response=model.AlterShareGroupOffsetsResponse,
        request_bytes=RequestKind(ALTER_SHARE_GROUP_OFFSETS_REQUEST, _alter, decode=_decode_alter),
        response_bytes=Kind(ALTER_SHARE_GROUP_OFFSETS_RESPONSE, _alter_results),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(READ_GROUP, READ_EACH),
        refusal=lambda m, error: model.AlterShareGroupOffsetsResponse(error, m.group_id),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.INVALID_GROUP_ID,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.NON_EMPTY_GROUP,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                DISK,
                WELL_FORMED,
                UNEXPECTED,
            ),
            at(
                "Responses.Partitions.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.NETWORK_EXCEPTION,
                Errors.FENCED_STATE_EPOCH,
                DISK,
                UNEXPECTED,
            ),
        ),
        topics=lambda m: topics_of(partition for partition, _ in m.starts),
        error_place=ErrorPlace(others=lambda m: tuple(each.error for each in m.results)),
        clause="KIP-932 AlterShareGroupOffsets",
        kafka="GroupMetadataManager.alterShareGroupOffsets",
        answer_in="AlterShareGroupOffsetsHandler",
        words=("alter offsets", "altered"),
        admin_retries=OF_A_COORDINATOR,
        only_with_shares=True,
    ),
    Api(
        request=model.DeleteShareGroupOffsets,
        response=model.DeleteShareGroupOffsetsResponse,
        request_bytes=RequestKind(
            DELETE_SHARE_GROUP_OFFSETS_REQUEST, _delete_offsets, decode=_decode_delete_offsets
        ),
        response_bytes=Kind(DELETE_SHARE_GROUP_OFFSETS_RESPONSE, _deleted_offsets),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(DELETE_GROUP, READ_EACH),
        refusal=_reject_deletion,
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.INVALID_GROUP_ID,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.NON_EMPTY_GROUP,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.NETWORK_EXCEPTION,
                DISK,
                WELL_FORMED,
                UNEXPECTED,
            ),
            at(
                "Responses.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.NETWORK_EXCEPTION,
                DISK,
                UNEXPECTED,
            ),
        ),
        topics=lambda m: m.topics,
        error_place=ErrorPlace(others=lambda m: tuple(each.error for each in m.responses)),
        clause="KIP-932 DeleteShareGroupOffsets",
        kafka="GroupCoordinatorShard.initiateDeleteShareGroupOffsets",
        answer_in="DeleteShareGroupOffsetsHandler",
        words=("delete offsets", "deleted"),
        admin_retries=OF_A_COORDINATOR,
        only_with_shares=True,
    ),
)
