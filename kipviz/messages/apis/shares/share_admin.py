"""The APIs with which an operator manages share groups; DeleteGroups deletes groups of every kind. Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.groups.described_groups import (
    GROUPS_TO_DESCRIBE,
    HELD,
    MESSAGE,
    described_groups,
    of_each,
)
from kipviz.messages.apis.legal_errors import (
    COORDINATOR,
    DISK,
    READS,
    UNEXPECTED,
    WELL_FORMED,
    Never,
    at,
)
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    DELETE_GROUP,
    DESCRIBE_GROUP,
    READ_EACH,
    READ_GROUP,
    READ_TOPIC,
    Need,
    Operation,
    Resource,
    topics_of,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.shares import share_admin as model
from kipviz.messages.shares.share_membership import subscribed_topics
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of

SHARE_GROUP_DESCRIBE_REQUEST = Schema(
    "ShareGroupDescribeRequest", 77, "1", "0+", GROUPS_TO_DESCRIBE
)

SHARE_GROUP_DESCRIBE_RESPONSE = Schema(
    "ShareGroupDescribeResponse",
    77,
    "1",
    "0+",
    described_groups(
        (
            Field("MemberId", "string"),
            Field("RackId", "string", default="null", nullable="0+"),
            Field("MemberEpoch", "int32"),
            Field("ClientId", "string"),
            Field("ClientHost", "string"),
            Field("SubscribedTopicNames", "[]string"),
            Field("Assignment", "Assignment", fields=HELD),
        )
    ),
)

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

DELETE_GROUPS_REQUEST = Schema(
    "DeleteGroupsRequest", 42, "0-3", "2+", (Field("GroupsNames", "[]string"),)
)

DELETE_GROUPS_RESPONSE = Schema(
    "DeleteGroupsResponse",
    42,
    "0-3",
    "2+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Results",
            "[]DeletableGroupResult",
            fields=(
                Field("GroupId", "string"),
                Field("ErrorCode", "int16"),
                Field("ErrorMessage", "string", "3+", default="null", nullable="3+"),
            ),
        ),
    ),
)


def _describe(m: model.ShareGroupDescribe, _: Around) -> Struct:
    return {"GroupIds": m.group_ids}


def _decode_describe(fields: Struct, _: Incoming) -> tuple[model.ShareGroupDescribe, ...]:
    return (model.ShareGroupDescribe(tuple(fields["GroupIds"])),)


def _encode_description(m: model.DescribedShareGroup, around: Around) -> Struct:
    members = tuple(
        {
            "MemberId": member.member_id,
            "MemberEpoch": member.member_epoch,
            "SubscribedTopicNames": subscribed_topics(member.topic),
            "Assignment": {
                "TopicPartitions": indexes(
                    member.partitions,
                    lambda topic, found: {
                        "TopicId": around.topic_id(topic),
                        "TopicName": topic,
                        "Partitions": found,
                    },
                )
            },
        }
        for member in m.members
    )
    return {
        "ErrorCode": m.error,
        "GroupId": m.group_id,
        "GroupState": m.state,
        "GroupEpoch": m.epoch,
        "AssignmentEpoch": m.assignment_epoch,
        "AssignorName": "simple" if m.state else "",
        "Members": members,
    }


def _describe_offsets(m: model.DescribeShareGroupOffsets, _: Around) -> Struct:
    topics = indexes(m.partitions, lambda t, found: {"TopicName": t, "Partitions": found})
    return {"Groups": ({"GroupId": m.group_id, "Topics": topics if m.partitions else None},)}


def _decode_describe_offsets(
    fields: Struct, incoming: Incoming
) -> tuple[model.DescribeShareGroupOffsets, ...]:
    """Return a message for each group."""
    return tuple(
        model.DescribeShareGroupOffsets(
            group["GroupId"], incoming.partitions_of(group["Topics"] or ())
        )
        for group in fields["Groups"]
    )


def _described_offsets(m: model.DescribeShareGroupOffsetsResponse, around: Around) -> Struct:
    known = {offset.partition: offset for offset in m.offsets}

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
    return {"Groups": ({"GroupId": m.group_id, "Topics": topics, "ErrorCode": m.error},)}


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
    return {"GroupId": m.group_id, "Topics": ({"TopicName": m.topic},)}


def _decode_delete_offsets(
    fields: Struct, _: Incoming
) -> tuple[model.DeleteShareGroupOffsets, ...]:
    """Return a message for each topic."""
    topics = (topic["TopicName"] for topic in fields["Topics"])
    return tuple(model.DeleteShareGroupOffsets(fields["GroupId"], topic) for topic in topics)


def _deleted_offsets(m: model.DeleteShareGroupOffsetsResponse, around: Around) -> Struct:
    topic = {
        "TopicName": m.topic,
        "TopicId": around.topic_id(m.topic),
        "ErrorCode": m.topic_error,
    }
    return {"ErrorCode": m.error, "Responses": () if m.error else (topic,)}


def _delete_groups(m: model.DeleteGroups, _: Around) -> Struct:
    return {"GroupsNames": m.groups_names}


def _decode_delete_groups(fields: Struct, _: Incoming) -> tuple[model.DeleteGroups, ...]:
    return (model.DeleteGroups(tuple(fields["GroupsNames"])),)


def _deleted_groups(m: model.DeleteGroupsResponse, _: Around) -> Struct:
    results = ({"GroupId": each.group_id, "ErrorCode": each.error} for each in m.results)
    return {"Results": tuple(results)}


APIS = (
    Api(
        request=model.ShareGroupDescribe,
        response=model.ShareGroupDescribeResponse,
        request_bytes=RequestKind(SHARE_GROUP_DESCRIBE_REQUEST, _describe, decode=_decode_describe),
        response_bytes=Kind[model.ShareGroupDescribeResponse](
            SHARE_GROUP_DESCRIBE_RESPONSE, of_each(_encode_description)
        ),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUPS,
        needs=(DESCRIBE_GROUP,),
        refusal=lambda m, error: model.ShareGroupDescribeResponse(
            tuple(model.DescribedShareGroup(error, group_id) for group_id in m.group_ids)
        ),
        errors=(
            at(
                "Groups.ErrorCode",
                *COORDINATOR,
                READS,
                Errors.INVALID_GROUP_ID,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                WELL_FORMED,
            ),
        ),
        error_place=ErrorPlace(
            first=lambda m: m.groups[0].error,
            put=lambda m, error: m.but(groups=with_errors(m.groups, error)),
        ),
        clause="KIP-932 ShareGroupDescribe",
        kafka="GroupMetadataManager.shareGroupDescribe",
        answer_in="DescribeShareGroupsHandler",
        words=("describe group", "group"),
        admin_retries=OF_A_COORDINATOR,
        only_with_shares=True,
    ),
    Api(
        request=model.DescribeShareGroupOffsets,
        response=model.DescribeShareGroupOffsetsResponse,
        request_bytes=RequestKind(
            DESCRIBE_SHARE_GROUP_OFFSETS_REQUEST, _describe_offsets, decode=_decode_describe_offsets
        ),
        response_bytes=Kind(DESCRIBE_SHARE_GROUP_OFFSETS_RESPONSE, _described_offsets),
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
        refusal=lambda m, error: model.DescribeShareGroupOffsetsResponse(error, m.group_id),
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
        needs=(DELETE_GROUP, READ_TOPIC),
        refusal=lambda m, error: model.DeleteShareGroupOffsetsResponse(error, m.group_id, m.topic),
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
        topics=lambda m: tuple(filter(None, m.topic.split(","))),
        error_place=ErrorPlace(others=lambda m: (m.topic_error,)),
        clause="KIP-932 DeleteShareGroupOffsets",
        kafka="GroupCoordinatorShard.initiateDeleteShareGroupOffsets",
        answer_in="DeleteShareGroupOffsetsHandler",
        words=("delete offsets", "deleted"),
        admin_retries=OF_A_COORDINATOR,
        only_with_shares=True,
    ),
    Api(
        request=model.DeleteGroups,
        response=model.DeleteGroupsResponse,
        request_bytes=RequestKind(
            DELETE_GROUPS_REQUEST, _delete_groups, decode=_decode_delete_groups
        ),
        response_bytes=Kind(DELETE_GROUPS_RESPONSE, _deleted_groups),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUPS,
        appends=True,
        needs=(DELETE_GROUP,),
        refusal=lambda m, error: model.DeleteGroupsResponse(
            tuple(model.DeletedGroup(error, group_id) for group_id in m.groups_names)
        ),
        errors=(
            at(
                "Results.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.INVALID_GROUP_ID,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.NON_EMPTY_GROUP,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Never("every group has a state that can be deleted", ("GROUP_DELETION_FAILED",)),
            ),
        ),
        error_place=ErrorPlace(
            first=lambda m: m.results[0].error,
            put=lambda m, error: m.but(results=with_errors(m.results, error)),
        ),
        clause="KIP-229 DeleteGroups; KIP-932",
        kafka="GroupCoordinatorShard.deleteGroups, GroupCoordinatorService.deleteShareGroups",
        answer_in="DeleteConsumerGroupsHandler, DeleteShareGroupsHandler",
        words=("delete group", "deleted"),
        admin_retries=OF_A_COORDINATOR,
    ),
)
