"""The APIs with which an operator manages share groups; DeleteGroups deletes groups of every kind. Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.groups.described_groups import (
    GROUPS_TO_DESCRIBE,
    HELD,
    described_groups,
    of_each,
)
from kipviz.messages.apis.legal_errors import (
    COORDINATOR,
    READS,
    WELL_FORMED,
    Never,
    at,
)
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    DELETE_GROUP,
    DESCRIBE_GROUP,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.apis.shares.share_group_offsets import APIS as OFFSET_APIS
from kipviz.messages.errors import Errors
from kipviz.messages.shares import share_admin as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes
from kipviz.messages.wire.schema import Field, Schema

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
            "SubscribedTopicNames": member.subscribed_topic_names,
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
    *OFFSET_APIS,
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
