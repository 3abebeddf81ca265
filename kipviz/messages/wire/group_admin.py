"""What operators say to the coordinators of regular groups, on the wire. Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages import group_admin as model
from kipviz.messages.message import Message
from kipviz.messages.several_groups import groups_of
from kipviz.messages.wire.classic_groups import (
    EXAMPLE,
    PROTOCOL_TYPE,
    assignment_bytes,
    subscription_bytes,
)
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.described_groups import (
    GROUPS_TO_DESCRIBE,
    HELD,
    NO_OPERATIONS,
    described_groups,
    of_each,
)
from kipviz.messages.wire.kind import Around, Kind, indexes
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.classic_groups import Subscription

# What a member of KIP-848 is, and not one of the classic protocol in such a group (KIP-1099).
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


def _listed(m: model.ListGroupsResponse, _: Around) -> Struct:
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
    return Subscription(member.topic, further_topics=member.further_topics)


def _described_classic(m: model.DescribeGroupsResponse, _: Around) -> Struct:
    members = tuple(
        {
            "MemberId": member.member_id,
            "GroupInstanceId": member.instance_id or None,
            "ClientId": member.client_id,
            "MemberMetadata": subscription_bytes(_subscription(member)) if m.assignor else b"",
            "MemberAssignment": assignment_bytes(member.partitions) if m.assignor else b"",
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


def _described(m: model.ConsumerGroupDescribeResponse, around: Around) -> Struct:
    def held(partitions: tuple[str, ...]) -> Struct:
        def topic(name: str, found: tuple[int, ...]) -> Struct:
            return {"TopicId": around.topic_id(name), "TopicName": name, "Partitions": found}

        return {"TopicPartitions": indexes(partitions, topic)}

    members = tuple(
        {
            "MemberId": member.member_id,
            "InstanceId": member.instance_id or None,
            "MemberEpoch": member.member_epoch,
            "SubscribedTopicNames": tuple(
                topic for topic in (member.topic, *member.further_topics) if topic
            ),
            **({"SubscribedTopicRegex": member.regex} if member.regex else {}),
            **({"RackId": member.rack} if member.rack else {}),
            "Assignment": held(member.partitions),
            "TargetAssignment": held(member.target),
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


def _deleted(m: model.OffsetDeleteResponse, _: Around) -> Struct:
    results = {result.partition: result.error for result in m.results}

    def topic(name: str, found: tuple[int, ...]) -> Struct:
        partitions = tuple(
            {"PartitionIndex": index, "ErrorCode": results[f"{name}-{index}"]} for index in found
        )
        return {"Name": name, "Partitions": partitions}

    return {"ErrorCode": m.error, "Topics": indexes(tuple(results), topic)}


_INSIDE = {
    "MemberMetadata": subscription_bytes(Subscription("src", EXAMPLE)),
    "MemberAssignment": assignment_bytes(EXAMPLE),
}
KINDS: dict[type[Message], Kind] = {
    model.ListGroups: Kind(LIST_GROUPS_REQUEST, _list),
    model.ListGroupsResponse: Kind(LIST_GROUPS_RESPONSE, _listed),
    model.DescribeGroups: Kind(DESCRIBE_GROUPS_REQUEST, lambda m, _: {"Groups": groups_of(m)}),
    model.DescribeGroupsResponse: Kind(
        DESCRIBE_GROUPS_RESPONSE, of_each(_described_classic), inside=_INSIDE
    ),
    model.ConsumerGroupDescribe: Kind(
        CONSUMER_GROUP_DESCRIBE_REQUEST, lambda m, _: {"GroupIds": groups_of(m)}
    ),
    model.ConsumerGroupDescribeResponse: Kind(
        CONSUMER_GROUP_DESCRIBE_RESPONSE, of_each(_described)
    ),
    model.OffsetDelete: Kind(OFFSET_DELETE_REQUEST, _delete),
    model.OffsetDeleteResponse: Kind(OFFSET_DELETE_RESPONSE, _deleted),
}
