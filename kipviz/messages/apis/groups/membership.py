"""The heartbeats of the members of consumer groups (KIP-848) and of share groups. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.legal_errors import OF_A_GROUP_ALONE, Never, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import DESCRIBE_TOPIC, READ_GROUP
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.groups import membership as model
from kipviz.messages.shares.share_membership import (
    ShareGroupHeartbeat,
    ShareGroupHeartbeatResponse,
)
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes
from kipviz.messages.wire.schema import Field, Schema
from kipviz.settings.broker_configs import (
    GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_HEARTBEAT_INTERVAL_MS,
)

OWNED = (Field("TopicId", "uuid"), Field("Partitions", "[]int32"))

CONSUMER_GROUP_HEARTBEAT_REQUEST = Schema(
    "ConsumerGroupHeartbeatRequest",
    68,
    "0-1",
    "0+",
    (
        Field("GroupId", "string"),
        Field("MemberId", "string"),
        Field("MemberEpoch", "int32"),
        Field("InstanceId", "string", default="null", nullable="0+"),
        Field("RackId", "string", default="null", nullable="0+"),
        Field("RebalanceTimeoutMs", "int32", default="-1"),
        Field("SubscribedTopicNames", "[]string", default="null", nullable="0+"),
        Field("SubscribedTopicRegex", "string", "1+", default="null", nullable="1+"),
        Field("ServerAssignor", "string", default="null", nullable="0+"),
        Field("TopicPartitions", "[]TopicPartitions", default="null", nullable="0+", fields=OWNED),
    ),
)

CONSUMER_GROUP_HEARTBEAT_RESPONSE = Schema(
    "ConsumerGroupHeartbeatResponse",
    68,
    "0-1",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        Field("ErrorMessage", "string", default="null", nullable="0+"),
        Field("MemberId", "string", default="null", nullable="0+"),
        Field("MemberEpoch", "int32"),
        Field("HeartbeatIntervalMs", "int32"),
        Field(
            "Assignment",
            "Assignment",
            default="null",
            nullable="0+",
            fields=(Field("TopicPartitions", "[]TopicPartitions", fields=OWNED),),
        ),
    ),
)


SHARE_GROUP_HEARTBEAT_REQUEST = Schema(
    "ShareGroupHeartbeatRequest",
    76,
    "1",
    "0+",
    (
        Field("GroupId", "string"),
        Field("MemberId", "string"),
        Field("MemberEpoch", "int32"),
        Field("RackId", "string", default="null", nullable="0+"),
        Field("SubscribedTopicNames", "[]string", default="null", nullable="0+"),
    ),
)

SHARE_GROUP_HEARTBEAT_RESPONSE = Schema(
    "ShareGroupHeartbeatResponse",
    76,
    "1",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        Field("ErrorMessage", "string", default="null", nullable="0+"),
        Field("MemberId", "string", default="null", nullable="0+"),
        Field("MemberEpoch", "int32"),
        Field("HeartbeatIntervalMs", "int32"),
        Field(
            "Assignment",
            "Assignment",
            default="null",
            nullable="0+",
            fields=(Field("TopicPartitions", "[]TopicPartitions", fields=OWNED),),
        ),
    ),
)


def _by_id(partitions: tuple[str, ...], around: Around) -> tuple[Struct, ...]:
    return indexes(
        partitions, lambda topic, at: {"TopicId": around.topic_id(topic), "Partitions": at}
    )


def _heartbeat(m: model.ConsumerGroupHeartbeat, around: Around) -> Struct:
    return {
        "GroupId": m.group_id,
        "MemberId": m.member_id,
        "MemberEpoch": m.member_epoch,
        "SubscribedTopicNames": m.subscribed_topic_names,
        **({} if m.regex is None else {"SubscribedTopicRegex": m.regex}),
        "TopicPartitions": None if m.owned is None else _by_id(m.owned, around),
        **({"InstanceId": m.instance_id} if m.instance_id else {}),
        **({"RackId": m.rack} if m.rack else {}),
    }


def _decode_heartbeat(
    fields: Struct, incoming: Incoming
) -> tuple[model.ConsumerGroupHeartbeat, ...]:
    """Return the request; a partition of a topic with an unknown id has the id in its name."""
    owned = fields["TopicPartitions"]
    regex = fields["SubscribedTopicRegex"] if incoming.version >= model.HAS_REGEX else None
    held = (
        f"{incoming.topic_of(each) or each['TopicId']}-{index}"
        for each in owned or ()
        for index in each["Partitions"]
    )
    message = model.ConsumerGroupHeartbeat(
        fields["GroupId"],
        fields["MemberId"],
        fields["MemberEpoch"],
        fields["SubscribedTopicNames"],
        None if owned is None else tuple(sorted(held)),
        fields["InstanceId"] or "",
        regex,
        fields["RackId"] or "",
        incoming.version,
    )
    return (message,)


def _share_heartbeat(m: ShareGroupHeartbeat, around: Around) -> Struct:
    return {
        "GroupId": m.group_id,
        "MemberId": m.member_id,
        "MemberEpoch": m.member_epoch,
        "SubscribedTopicNames": m.subscribed_topic_names,
    }


def _decode_share_heartbeat(fields: Struct, _: Incoming) -> tuple[ShareGroupHeartbeat, ...]:
    identity = (fields["GroupId"], fields["MemberId"], fields["MemberEpoch"])
    return (ShareGroupHeartbeat(*identity, fields["SubscribedTopicNames"]),)


def _heartbeat_answer(
    m: model.ConsumerGroupHeartbeatResponse | ShareGroupHeartbeatResponse, around: Around
) -> Struct:
    told = m.assignment
    return {
        "ErrorCode": m.error,
        # An error names no member (GroupCoordinatorService.handleOperationException).
        "MemberId": None if m.error else m.member_id,
        "MemberEpoch": m.member_epoch,
        "Assignment": None
        if told is None
        else {"TopicPartitions": _by_id(told.partitions, around)},
    }


APIS = (
    Api(
        request=model.ConsumerGroupHeartbeat,
        response=model.ConsumerGroupHeartbeatResponse,
        request_bytes=RequestKind(
            CONSUMER_GROUP_HEARTBEAT_REQUEST, _heartbeat, decode=_decode_heartbeat
        ),
        response_bytes=Kind(
            CONSUMER_GROUP_HEARTBEAT_RESPONSE,
            _heartbeat_answer,
            {
                "ConsumerGroupHeartbeatResponse.HeartbeatIntervalMs": GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS.fixed
            },
        ),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(READ_GROUP, DESCRIBE_TOPIC),
        refusal=lambda m, error: model.ConsumerGroupHeartbeatResponse(error, m.member_id),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.FENCED_MEMBER_EPOCH,
                Errors.FENCED_INSTANCE_ID,
                Errors.UNRELEASED_INSTANCE_ID,
                Errors.INVALID_REQUEST,
                Errors.INVALID_REGULAR_EXPRESSION,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.GROUP_MAX_SIZE_REACHED,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                Never("members leave the assignor to the coordinator", ("UNSUPPORTED_ASSIGNOR",)),
                OF_A_GROUP_ALONE,
            ),
        ),
        topics=lambda m: m.subscribed_topic_names or (),
        clause="KIP-848 Consumer Group Heartbeat",
        kafka="GroupMetadataManager.consumerGroupHeartbeat",
        answer_in="ConsumerHeartbeatRequestManager",
        words=("heartbeat", "heartbeat ok"),
        heartbeat=True,
        since="4.1.0",
    ),
    Api(
        request=ShareGroupHeartbeat,
        response=ShareGroupHeartbeatResponse,
        request_bytes=RequestKind(
            SHARE_GROUP_HEARTBEAT_REQUEST, _share_heartbeat, decode=_decode_share_heartbeat
        ),
        response_bytes=Kind(
            SHARE_GROUP_HEARTBEAT_RESPONSE,
            _heartbeat_answer,
            {
                "ShareGroupHeartbeatResponse.HeartbeatIntervalMs": GROUP_SHARE_HEARTBEAT_INTERVAL_MS.fixed
            },
        ),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(READ_GROUP, DESCRIBE_TOPIC),
        refusal=lambda m, error: ShareGroupHeartbeatResponse(error, m.member_id),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.FENCED_MEMBER_EPOCH,
                Errors.INVALID_REQUEST,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.GROUP_MAX_SIZE_REACHED,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                OF_A_GROUP_ALONE,
            ),
        ),
        topics=lambda m: m.subscribed_topic_names or (),
        clause="KIP-932 ShareGroupHeartbeat",
        kafka="GroupMetadataManager.shareGroupHeartbeat",
        answer_in="ShareHeartbeatRequestManager",
        words=("heartbeat", "heartbeat ok"),
        only_with_shares=True,
        heartbeat=True,
        since="4.1.0",
    ),
)
