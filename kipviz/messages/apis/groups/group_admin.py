"""The APIs with which an operator manages consumer groups. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.groups.classic_groups import EXAMPLE, PROTOCOL_TYPE
from kipviz.messages.apis.groups.consumer_protocol import (
    assigned_bytes,
    assignment_bytes,
    metadata_bytes,
    subscription_bytes,
)
from kipviz.messages.apis.groups.described_groups import (
    GROUPS_TO_DESCRIBE,
    HELD,
    NO_OPERATIONS,
    described_groups,
    of_each,
)
from kipviz.messages.apis.legal_errors import COORDINATOR, OF_A_GROUP_ALONE, READS, WELL_FORMED, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    DELETE_GROUP,
    DESCRIBE_GROUP,
    READ_TOPIC,
    Need,
    Operation,
    Resource,
    topics_of,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.groups import group_admin as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.classic_groups import Subscription

# The type of a KIP-848 member, as opposed to a classic member in such a group (KIP-1099).
CONSUMER_MEMBER = 1

LIST_GROUPS_REQUEST = Schema(
    "ListGroupsRequest",
    16,
    "0-5",
    "3+",
    (Field("StatesFilter", "[]string", "4+"), Field("TypesFilter", "[]string", "5+")),
)

LIST_GROUPS_RESPONSE = Schema(
    "ListGroupsResponse",
    16,
    "0-5",
    "3+",
    (
        Field("ThrottleTimeMs", "int32", "1+"),
        Field("ErrorCode", "int16"),
        Field(
            "Groups",
            "[]ListedGroup",
            fields=(
                Field("GroupId", "string"),
                Field("ProtocolType", "string"),
                Field("GroupState", "string", "4+"),
                Field("GroupType", "string", "5+"),
            ),
        ),
    ),
)

DESCRIBE_GROUPS_REQUEST = Schema(
    "DescribeGroupsRequest",
    15,
    "0-6",
    "5+",
    (Field("Groups", "[]string"), Field("IncludeAuthorizedOperations", "bool", "3+")),
)

DESCRIBE_GROUPS_RESPONSE = Schema(
    "DescribeGroupsResponse",
    15,
    "0-6",
    "5+",
    (
        Field("ThrottleTimeMs", "int32", "1+"),
        Field(
            "Groups",
            "[]DescribedGroup",
            fields=(
                Field("ErrorCode", "int16"),
                Field("ErrorMessage", "string", "6+", default="null", nullable="6+"),
                Field("GroupId", "string"),
                Field("GroupState", "string"),
                Field("ProtocolType", "string"),
                Field("ProtocolData", "string"),
                Field(
                    "Members",
                    "[]DescribedGroupMember",
                    fields=(
                        Field("MemberId", "string"),
                        Field("GroupInstanceId", "string", "4+", default="null", nullable="4+"),
                        Field("ClientId", "string"),
                        Field("ClientHost", "string"),
                        Field("MemberMetadata", "bytes"),
                        Field("MemberAssignment", "bytes"),
                    ),
                ),
                Field("AuthorizedOperations", "int32", "3+", default=NO_OPERATIONS),
            ),
        ),
    ),
)

CONSUMER_GROUP_DESCRIBE_REQUEST = Schema(
    "ConsumerGroupDescribeRequest", 69, "0-1", "0+", GROUPS_TO_DESCRIBE
)

CONSUMER_GROUP_DESCRIBE_RESPONSE = Schema(
    "ConsumerGroupDescribeResponse",
    69,
    "0-1",
    "0+",
    described_groups(
        (
            Field("MemberId", "string"),
            Field("InstanceId", "string", default="null", nullable="0+"),
            Field("RackId", "string", default="null", nullable="0+"),
            Field("MemberEpoch", "int32"),
            Field("ClientId", "string"),
            Field("ClientHost", "string"),
            Field("SubscribedTopicNames", "[]string"),
            Field("SubscribedTopicRegex", "string", default="null", nullable="0+"),
            Field("Assignment", "Assignment", fields=HELD),
            Field("TargetAssignment", "Assignment", fields=HELD),
            Field("MemberType", "int8", "1+", default="-1"),
        )
    ),
)

OFFSET_DELETE_REQUEST = Schema(
    "OffsetDeleteRequest",
    47,
    "0",
    "",
    (
        Field("GroupId", "string"),
        Field(
            "Topics",
            "[]OffsetDeleteRequestTopic",
            fields=(
                Field("Name", "string"),
                Field(
                    "Partitions",
                    "[]OffsetDeleteRequestPartition",
                    fields=(Field("PartitionIndex", "int32"),),
                ),
            ),
        ),
    ),
)

OFFSET_DELETE_RESPONSE = Schema(
    "OffsetDeleteResponse",
    47,
    "0",
    "",
    (
        Field("ErrorCode", "int16"),
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Topics",
            "[]OffsetDeleteResponseTopic",
            fields=(
                Field("Name", "string"),
                Field(
                    "Partitions",
                    "[]OffsetDeleteResponsePartition",
                    fields=(Field("PartitionIndex", "int32"), Field("ErrorCode", "int16")),
                ),
            ),
        ),
    ),
)


def _list(m: model.ListGroups, _: Around) -> Struct:
    return {"StatesFilter": m.states, "TypesFilter": m.types}


def _decode_list(fields: Struct, _: Incoming) -> tuple[model.ListGroups, ...]:
    states, types = fields.get("StatesFilter", ()), fields.get("TypesFilter", ())
    return (model.ListGroups(tuple(states), tuple(types)),)


def _encode_listing(m: model.ListGroupsResponse, _: Around) -> Struct:
    groups = tuple(
        {
            "GroupId": group.group_id,
            "ProtocolType": group.protocol_type,
            "GroupState": group.state,
            "GroupType": group.group_type,
        }
        for group in m.groups
    )
    return {"ErrorCode": m.error, "Groups": groups}


def _subscription(member: model.GroupMemberDescription) -> Subscription:
    metadata = () if member.metadata is None else (member.metadata,)
    return Subscription(member.subscribed_topic_names, metadata=metadata)


def _described_classic(m: model.DescribedClassicGroup, _: Around) -> Struct:
    members = tuple(
        {
            "MemberId": member.member_id,
            "GroupInstanceId": member.instance_id or None,
            "ClientId": member.client_id,
            "MemberMetadata": metadata_bytes(_subscription(member)) if m.assignor else b"",
            "MemberAssignment": assigned_bytes(member.partitions, member.assignment)
            if m.assignor
            else b"",
        }
        for member in m.members
    )
    return {
        "ErrorCode": m.error,
        "GroupId": m.group_id,
        "GroupState": m.state,
        "ProtocolType": "" if m.error else PROTOCOL_TYPE,
        "ProtocolData": m.assignor,
        "Members": members,
    }


def _encode_description(m: model.DescribedConsumerGroup, around: Around) -> Struct:
    def encode_held(partitions: tuple[str, ...]) -> Struct:
        def topic(name: str, found: tuple[int, ...]) -> Struct:
            return {"TopicId": around.topic_id(name), "TopicName": name, "Partitions": found}

        return {"TopicPartitions": indexes(partitions, topic)}

    members = tuple(
        {
            "MemberId": member.member_id,
            "InstanceId": member.instance_id or None,
            "MemberEpoch": member.member_epoch,
            "SubscribedTopicNames": member.subscribed_topic_names,
            **({"SubscribedTopicRegex": member.regex} if member.regex else {}),
            **({"RackId": member.rack} if member.rack else {}),
            "Assignment": encode_held(member.partitions),
            "TargetAssignment": encode_held(member.target),
            "MemberType": CONSUMER_MEMBER,
        }
        for member in m.members
    )
    return {
        "ErrorCode": m.error,
        "GroupId": m.group_id,
        "GroupState": m.state,
        "GroupEpoch": m.epoch,
        "AssignmentEpoch": m.assignment_epoch,
        "AssignorName": m.assignor,
        "Members": members,
    }


def _delete(m: model.OffsetDelete, _: Around) -> Struct:
    def topic(name: str, found: tuple[int, ...]) -> Struct:
        return {"Name": name, "Partitions": tuple({"PartitionIndex": each} for each in found)}

    return {"GroupId": m.group_id, "Topics": indexes(m.partitions, topic)}


def _decode_delete(fields: Struct, incoming: Incoming) -> tuple[model.OffsetDelete, ...]:
    partitions = tuple(partition for partition, _ in incoming.parts_of(fields["Topics"]))
    return (model.OffsetDelete(fields["GroupId"], partitions),)


def _encode_deletion(m: model.OffsetDeleteResponse, _: Around) -> Struct:
    results = {result.partition: result.error for result in m.results}

    def topic(name: str, found: tuple[int, ...]) -> Struct:
        partitions = tuple(
            {"PartitionIndex": index, "ErrorCode": results[f"{name}-{index}"]} for index in found
        )
        return {"Name": name, "Partitions": partitions}

    return {"ErrorCode": m.error, "Topics": indexes(tuple(results), topic)}


_INSIDE = {
    "MemberMetadata": subscription_bytes(Subscription(("src",), EXAMPLE)),
    "MemberAssignment": assignment_bytes(EXAMPLE),
}
APIS = (
    Api(
        request=model.ListGroups,
        response=model.ListGroupsResponse,
        request_bytes=RequestKind(LIST_GROUPS_REQUEST, _list, decode=_decode_list),
        response_bytes=Kind(LIST_GROUPS_RESPONSE, _encode_listing),
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=(
            Need(
                Operation.DESCRIBE,
                Resource.GROUP,
                "KafkaApis, single groups of the answer",
                hides=True,
            ),
        ),
        refusal=lambda _, error: model.ListGroupsResponse(error),
        errors=(at("ErrorCode", Errors.COORDINATOR_LOAD_IN_PROGRESS, READS),),
        clause="KIP-518, KIP-848 ListGroups",
        kafka="GroupMetadataManager.listGroups",
        answer_in="KafkaAdminClient.listGroups",
        words=("list groups", "groups"),
        admin_retries=OF_A_COORDINATOR,
    ),
    Api(
        request=model.DescribeGroups,
        response=model.DescribeGroupsResponse,
        request_bytes=RequestKind(
            DESCRIBE_GROUPS_REQUEST,
            lambda m, _: {"Groups": m.groups},
            decode=lambda fields, _: (model.DescribeGroups(tuple(fields["Groups"])),),
        ),
        response_bytes=Kind[model.DescribeGroupsResponse](
            DESCRIBE_GROUPS_RESPONSE, of_each(_described_classic), inside=_INSIDE
        ),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUPS,
        needs=(DESCRIBE_GROUP,),
        refusal=lambda m, error: model.DescribeGroupsResponse(
            tuple(model.DescribedClassicGroup(error, group_id) for group_id in m.groups)
        ),
        errors=(
            at(
                "Groups.ErrorCode",
                *COORDINATOR,
                READS,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.GROUP_AUTHORIZATION_FAILED,
                OF_A_GROUP_ALONE,
            ),
        ),
        error_place=ErrorPlace(
            first=lambda m: m.groups[0].error,
            put=lambda m, error: m.but(groups=with_errors(m.groups, error)),
        ),
        clause="KIP-62 DescribeGroups; KIP-1043",
        kafka="GroupMetadataManager.describeGroups",
        answer_in="DescribeConsumerGroupsHandler",
        words=("describe group", "group"),
        admin_retries=OF_A_COORDINATOR,
    ),
    Api(
        request=model.ConsumerGroupDescribe,
        response=model.ConsumerGroupDescribeResponse,
        request_bytes=RequestKind(
            CONSUMER_GROUP_DESCRIBE_REQUEST,
            lambda m, _: {"GroupIds": m.group_ids},
            decode=lambda fields, _: (model.ConsumerGroupDescribe(tuple(fields["GroupIds"])),),
        ),
        response_bytes=Kind[model.ConsumerGroupDescribeResponse](
            CONSUMER_GROUP_DESCRIBE_RESPONSE, of_each(_encode_description)
        ),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUPS,
        needs=(DESCRIBE_GROUP,),
        refusal=lambda m, error: model.ConsumerGroupDescribeResponse(
            tuple(model.DescribedConsumerGroup(error, group_id) for group_id in m.group_ids)
        ),
        errors=(
            at(
                "Groups.ErrorCode",
                *COORDINATOR,
                READS,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                OF_A_GROUP_ALONE,
                WELL_FORMED,
            ),
        ),
        error_place=ErrorPlace(
            first=lambda m: m.groups[0].error,
            put=lambda m, error: m.but(groups=with_errors(m.groups, error)),
        ),
        clause="KIP-848 ConsumerGroupDescribe",
        kafka="GroupMetadataManager.consumerGroupDescribe",
        answer_in="DescribeConsumerGroupsHandler",
        words=("describe group", "group"),
        admin_retries=OF_A_COORDINATOR,
    ),
    Api(
        request=model.OffsetDelete,
        response=model.OffsetDeleteResponse,
        request_bytes=RequestKind(OFFSET_DELETE_REQUEST, _delete, decode=_decode_delete),
        response_bytes=Kind(OFFSET_DELETE_RESPONSE, _encode_deletion),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(DELETE_GROUP, READ_TOPIC),
        refusal=lambda m, error: model.OffsetDeleteResponse(error, m.group_id),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.GROUP_AUTHORIZATION_FAILED,
                OF_A_GROUP_ALONE,
            ),
            at(
                "Topics.Partitions.ErrorCode",
                Errors.GROUP_SUBSCRIBED_TO_TOPIC,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.TOPIC_AUTHORIZATION_FAILED,
            ),
        ),
        topics=lambda m: topics_of(m.partitions),
        error_place=ErrorPlace(others=lambda m: tuple(each.error for each in m.results)),
        clause="KIP-496 OffsetDelete",
        kafka="OffsetMetadataManager.deleteOffsets",
        answer_in="DeleteConsumerGroupOffsetsHandler",
        words=("delete offsets", "deleted"),
        admin_retries=OF_A_COORDINATOR,
    ),
)
