"""The APIs of the members of classic groups. Fields and versions: Kafka 4.4.0.

Members' metadata and assignments are bytes to the broker (`consumer_protocol`).
"""

from __future__ import annotations

from typing import Protocol

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace
from kipviz.messages.apis.groups.consumer_protocol import (
    assigned_bytes,
    assignment_bytes,
    metadata_bytes,
    read_assignment,
    read_subscription,
    subscription_bytes,
)
from kipviz.messages.apis.legal_errors import COORDINATOR, OF_A_GROUP_ALONE, READS, Never, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import READ_GROUP
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.groups import classic_groups as model
from kipviz.messages.wire.codec import Encoded, Struct, WireError
from kipviz.messages.wire.decoding import Incoming, NotModelledError
from kipviz.messages.wire.fitting import fit_fields
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.classic_groups import NO_GENERATION, RANGE, Subscription
from kipviz.settings.consumer_configs import MAX_POLL_INTERVAL_MS, SESSION_TIMEOUT_MS

PROTOCOL_TYPE = "consumer"
# From this version on a LeaveGroup has a list of members (KIP-345).
LEAVES_TOGETHER = 3

JOIN_GROUP_REQUEST = Schema(
    "JoinGroupRequest",
    11,
    "0-9",
    "6+",
    (
        Field("GroupId", "string"),
        Field("SessionTimeoutMs", "int32"),
        Field("RebalanceTimeoutMs", "int32", "1+", default="-1"),
        Field("MemberId", "string"),
        Field("GroupInstanceId", "string", "5+", default="null", nullable="5+"),
        Field("ProtocolType", "string"),
        Field(
            "Protocols",
            "[]JoinGroupRequestProtocol",
            fields=(Field("Name", "string"), Field("Metadata", "bytes")),
        ),
        Field("Reason", "string", "8+", default="null", nullable="8+"),
    ),
)

JOIN_GROUP_RESPONSE = Schema(
    "JoinGroupResponse",
    11,
    "0-9",
    "6+",
    (
        Field("ThrottleTimeMs", "int32", "2+"),
        Field("ErrorCode", "int16"),
        Field("GenerationId", "int32", default="-1"),
        Field("ProtocolType", "string", "7+", default="null", nullable="7+"),
        Field("ProtocolName", "string", nullable="7+"),
        Field("Leader", "string"),
        Field("SkipAssignment", "bool", "9+", default="false"),
        Field("MemberId", "string"),
        Field(
            "Members",
            "[]JoinGroupResponseMember",
            fields=(
                Field("MemberId", "string"),
                Field("GroupInstanceId", "string", "5+", default="null", nullable="5+"),
                Field("Metadata", "bytes"),
            ),
        ),
    ),
)

SYNC_GROUP_REQUEST = Schema(
    "SyncGroupRequest",
    14,
    "0-5",
    "4+",
    (
        Field("GroupId", "string"),
        Field("GenerationId", "int32"),
        Field("MemberId", "string"),
        Field("GroupInstanceId", "string", "3+", default="null", nullable="3+"),
        Field("ProtocolType", "string", "5+", default="null", nullable="5+"),
        Field("ProtocolName", "string", "5+", default="null", nullable="5+"),
        Field(
            "Assignments",
            "[]SyncGroupRequestAssignment",
            fields=(Field("MemberId", "string"), Field("Assignment", "bytes")),
        ),
    ),
)

SYNC_GROUP_RESPONSE = Schema(
    "SyncGroupResponse",
    14,
    "0-5",
    "4+",
    (
        Field("ThrottleTimeMs", "int32", "1+"),
        Field("ErrorCode", "int16"),
        Field("ProtocolType", "string", "5+", default="null", nullable="5+"),
        Field("ProtocolName", "string", "5+", default="null", nullable="5+"),
        Field("Assignment", "bytes"),
    ),
)

HEARTBEAT_REQUEST = Schema(
    "HeartbeatRequest",
    12,
    "0-4",
    "4+",
    (
        Field("GroupId", "string"),
        Field("GenerationId", "int32"),
        Field("MemberId", "string"),
        Field("GroupInstanceId", "string", "3+", default="null", nullable="3+"),
    ),
)

HEARTBEAT_RESPONSE = Schema(
    "HeartbeatResponse",
    12,
    "0-4",
    "4+",
    (Field("ThrottleTimeMs", "int32", "1+"), Field("ErrorCode", "int16")),
)

LEAVE_GROUP_REQUEST = Schema(
    "LeaveGroupRequest",
    13,
    "0-5",
    "4+",
    (
        Field("GroupId", "string"),
        Field("MemberId", "string", "0-2"),
        Field(
            "Members",
            "[]MemberIdentity",
            "3+",
            fields=(
                Field("MemberId", "string", "3+"),
                Field("GroupInstanceId", "string", "3+", default="null", nullable="3+"),
                Field("Reason", "string", "5+", default="null", nullable="5+"),
            ),
        ),
    ),
)

LEAVE_GROUP_RESPONSE = Schema(
    "LeaveGroupResponse",
    13,
    "0-5",
    "4+",
    (
        Field("ThrottleTimeMs", "int32", "1+"),
        Field("ErrorCode", "int16"),
        Field(
            "Members",
            "[]MemberResponse",
            "3+",
            fields=(
                Field("MemberId", "string", "3+"),
                Field("GroupInstanceId", "string", "3+", nullable="3+"),
                Field("ErrorCode", "int16", "3+"),
            ),
        ),
    ),
)

# -- from the model to fields ---------------------------------------------------------------------


class _NamesInstance(Protocol):
    @property
    def instance_id(self) -> str: ...


def _instance(m: _NamesInstance) -> Struct:
    return {"GroupInstanceId": m.instance_id} if m.instance_id else {}


def _join(m: model.JoinGroup, around: Around) -> Struct:
    values = {
        "GroupId": m.group_id,
        "MemberId": m.member_id,
        "Protocols": tuple(
            {"Name": name, "Metadata": metadata}
            for name, metadata in zip(m.protocols, _metadata_of(m), strict=True)
        ),
        **_instance(m),
    }
    return fit_fields(JOIN_GROUP_REQUEST.fields, around.version_of(m), values)


def _metadata_of(m: model.JoinGroup) -> tuple[Encoded | bytes, ...]:
    """Return the bytes for each assignor of a member."""
    return m.subscription.metadata or (subscription_bytes(m.subscription),) * len(m.protocols)


def _decode_join(fields: Struct, incoming: Incoming) -> tuple[model.JoinGroup, ...]:
    """Return the request with the subscription for the member's first assignor, and any bytes that say more."""
    protocols = fields["Protocols"]
    if fields["ProtocolType"] != PROTOCOL_TYPE or not protocols:
        kind = fields["ProtocolType"]
        raise NotModelledError(f"the model's classic groups are of consumers, not of {kind!r}")
    metadata = tuple(each["Metadata"] for each in protocols)
    try:
        subscription = read_subscription(metadata[0])
    except WireError:
        subscription = Subscription(())
    if any(data != subscription_bytes(subscription).data for data in metadata):
        subscription = subscription.but(metadata=metadata)
    message = model.JoinGroup(
        fields["GroupId"],
        fields["MemberId"],
        subscription,
        _decode_instance(fields),
        tuple(each["Name"] for each in protocols),
        incoming.version,
    )
    return (message,)


def _decode_instance(fields: Struct) -> str:
    return fields.get("GroupInstanceId") or ""


def _encode_join_response(m: model.JoinGroupResponse, around: Around) -> Struct:
    there = m.generation != NO_GENERATION
    protocol = {"ProtocolType": PROTOCOL_TYPE, "ProtocolName": m.protocol} if there else {}
    values = {
        "ErrorCode": m.error,
        "GenerationId": m.generation,
        **protocol,
        "Leader": m.leader,
        "SkipAssignment": m.skip_assignment,
        "MemberId": m.member_id,
        "Members": tuple(
            {
                "MemberId": each.member_id,
                "Metadata": metadata_bytes(each.subscription),
                **_instance(each),
            }
            for each in m.members
        ),
    }
    # In the version of the client that joins.
    return fit_fields(JOIN_GROUP_RESPONSE.fields, around.version_of(m), values)


def _sync(m: model.SyncGroup, around: Around) -> Struct:
    return {
        "GroupId": m.group_id,
        "GenerationId": m.generation,
        "MemberId": m.member_id,
        "ProtocolName": m.protocol,
        "Assignments": tuple(
            {
                "MemberId": each.member_id,
                "Assignment": assigned_bytes(each.partitions, each.assignment),
            }
            for each in m.assignments
        ),
        **_instance(m),
    }


def _decode_identity(fields: Struct) -> tuple[str, int, str]:
    return fields["GroupId"], fields["GenerationId"], fields["MemberId"]


def _decode_assigned(fields: Struct) -> model.Assigned:
    """Return the assignment of one member; bytes that say more than its partitions are kept beside them."""
    data = fields["Assignment"]
    try:
        partitions = read_assignment(data)
    except WireError:
        partitions = ()
    same = data == assignment_bytes(partitions).data
    return model.Assigned(fields["MemberId"], partitions, None if same else data)


def _decode_sync(fields: Struct, _: Incoming) -> tuple[model.SyncGroup, ...]:
    message = model.SyncGroup(
        *_decode_identity(fields),
        tuple(_decode_assigned(each) for each in fields["Assignments"]),
        _decode_instance(fields),
        fields.get("ProtocolName") or RANGE,
    )
    return (message,)


def _encode_sync_response(m: model.SyncGroupResponse, around: Around) -> Struct:
    if m.error:
        return {"ErrorCode": m.error, "Assignment": b""}
    return {
        "ErrorCode": m.error,
        "ProtocolType": PROTOCOL_TYPE,
        "ProtocolName": m.protocol,
        "Assignment": assigned_bytes(m.partitions, m.assignment),
    }


def _beat(m: model.Heartbeat, around: Around) -> Struct:
    return {
        "GroupId": m.group_id,
        "GenerationId": m.generation,
        "MemberId": m.member_id,
        **_instance(m),
    }


def _decode_beat(fields: Struct, _: Incoming) -> tuple[model.Heartbeat, ...]:
    return (model.Heartbeat(*_decode_identity(fields), _decode_instance(fields)),)


def _leave(m: model.LeaveGroup, around: Around) -> Struct:
    leavers = tuple({"MemberId": each.member_id, **_instance(each)} for each in m.members)
    return {"GroupId": m.group_id, "Members": leavers}


def _decode_leave(fields: Struct, incoming: Incoming) -> tuple[model.LeaveGroup, ...]:
    together = incoming.version >= LEAVES_TOGETHER
    members = fields["Members"] if together else (fields,)
    leavers = tuple(model.Leaver(m["MemberId"], _decode_instance(m)) for m in members)
    return (model.LeaveGroup(fields["GroupId"], leavers),)


def _encode_leave_response(m: model.LeaveGroupResponse, around: Around) -> Struct:
    if m.error:
        return {"ErrorCode": m.error}
    members = tuple(
        {
            "MemberId": each.member_id,
            "GroupInstanceId": each.instance_id or None,
            "ErrorCode": each.error,
        }
        for each in m.members
    )
    return {"ErrorCode": m.error, "Members": members}


EXAMPLE = ("src-0",)
_SUBSCRIBED = {"Metadata": subscription_bytes(Subscription(("src",), EXAMPLE))}
_ASSIGNED = {"Assignment": assignment_bytes(EXAMPLE)}

APIS = (
    Api(
        request=model.JoinGroup,
        response=model.JoinGroupResponse,
        request_bytes=RequestKind(
            JOIN_GROUP_REQUEST,
            _join,
            {
                "JoinGroupRequest.SessionTimeoutMs": SESSION_TIMEOUT_MS.fixed,
                "JoinGroupRequest.RebalanceTimeoutMs": MAX_POLL_INTERVAL_MS.fixed,
                "JoinGroupRequest.ProtocolType": (PROTOCOL_TYPE, "every consumer"),
            },
            _SUBSCRIBED,
            decode=_decode_join,
        ),
        response_bytes=Kind(JOIN_GROUP_RESPONSE, _encode_join_response, inside=_SUBSCRIBED),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(READ_GROUP,),
        refusal=lambda m, error: model.JoinGroupResponse(error, m.member_id),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.MEMBER_ID_REQUIRED,
                Errors.FENCED_INSTANCE_ID,
                Errors.INCONSISTENT_GROUP_PROTOCOL,
                Errors.GROUP_MAX_SIZE_REACHED,
                Errors.GROUP_AUTHORIZATION_FAILED,
                OF_A_GROUP_ALONE,
                Never(
                    "a session is within the limits of the brokers", ("INVALID_SESSION_TIMEOUT",)
                ),
            ),
        ),
        clause="KIP-62; KIP-394 MEMBER_ID_REQUIRED; KIP-345 static members",
        kafka="GroupMetadataManager.classicGroupJoin",
        answer_in="AbstractCoordinator.JoinGroupResponseHandler",
        words=("join", "joined"),
    ),
    Api(
        request=model.SyncGroup,
        response=model.SyncGroupResponse,
        request_bytes=RequestKind(
            SYNC_GROUP_REQUEST,
            _sync,
            {
                "SyncGroupRequest.ProtocolType": (PROTOCOL_TYPE, "every consumer"),
            },
            _ASSIGNED,
            decode=_decode_sync,
        ),
        response_bytes=Kind(SYNC_GROUP_RESPONSE, _encode_sync_response, inside=_ASSIGNED),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(READ_GROUP,),
        refusal=lambda _, error: model.SyncGroupResponse(error),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.ILLEGAL_GENERATION,
                Errors.FENCED_INSTANCE_ID,
                Errors.REBALANCE_IN_PROGRESS,
                Errors.GROUP_AUTHORIZATION_FAILED,
                OF_A_GROUP_ALONE,
                Never("a group speaks one protocol for good", ("INCONSISTENT_GROUP_PROTOCOL",)),
            ),
        ),
        clause="KIP-62 rebalance",
        kafka="GroupMetadataManager.classicGroupSync",
        answer_in="AbstractCoordinator.SyncGroupResponseHandler",
        words=("sync", "assigned"),
    ),
    Api(
        request=model.Heartbeat,
        response=model.HeartbeatResponse,
        request_bytes=RequestKind(HEARTBEAT_REQUEST, _beat, decode=_decode_beat),
        response_bytes=Kind(HEARTBEAT_RESPONSE, lambda m, _: {"ErrorCode": m.error}),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(READ_GROUP,),
        refusal=lambda _, error: model.HeartbeatResponse(error),
        errors=(
            at(
                "ErrorCode",
                Errors.NOT_COORDINATOR,
                Never(
                    "a coordinator that reads its log lets members beat",
                    ("COORDINATOR_LOAD_IN_PROGRESS",),
                ),
                READS,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.ILLEGAL_GENERATION,
                Errors.FENCED_INSTANCE_ID,
                Errors.REBALANCE_IN_PROGRESS,
                Errors.GROUP_AUTHORIZATION_FAILED,
                OF_A_GROUP_ALONE,
            ),
        ),
        clause="KIP-62 background heartbeats",
        kafka="GroupMetadataManager.classicGroupHeartbeat",
        answer_in="AbstractCoordinator.HeartbeatResponseHandler",
        words=("heartbeat", "heartbeat ok"),
        heartbeat=True,
    ),
    Api(
        request=model.LeaveGroup,
        response=model.LeaveGroupResponse,
        request_bytes=RequestKind(LEAVE_GROUP_REQUEST, _leave, decode=_decode_leave),
        response_bytes=Kind(LEAVE_GROUP_RESPONSE, _encode_leave_response),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(READ_GROUP,),
        refusal=lambda _, error: model.LeaveGroupResponse(error),
        errors=(
            at(
                "ErrorCode",
                *COORDINATOR,
                READS,
                Errors.GROUP_AUTHORIZATION_FAILED,
                OF_A_GROUP_ALONE,
            ),
            at("Members.ErrorCode", Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_INSTANCE_ID),
        ),
        error_place=ErrorPlace(others=lambda m: tuple(each.error for each in m.members)),
        clause="KIP-62; KIP-345 LeaveGroup version 3",
        kafka="GroupMetadataManager.classicGroupLeave",
        answer_in="AbstractCoordinator.LeaveGroupResponseHandler",
        words=("leave", "left"),
        admin_retries=OF_A_COORDINATOR,
    ),
)
