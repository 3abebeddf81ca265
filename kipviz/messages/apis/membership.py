"""The APIs of the members of groups, by both protocols, and of share groups."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import DESCRIBE_TOPIC, READ_GROUP
from kipviz.messages.classic_groups import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    SyncGroup,
    SyncGroupResponse,
)
from kipviz.messages.membership import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kipviz.messages.share_membership import ShareGroupHeartbeat, ShareGroupHeartbeatResponse

APIS: tuple[Api, ...] = (
    Api(
        request=ConsumerGroupHeartbeat,
        response=ConsumerGroupHeartbeatResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(READ_GROUP, DESCRIBE_TOPIC),
        refusal=lambda m, error: ConsumerGroupHeartbeatResponse(error, m.member_id),
        clause="KIP-848 Consumer Group Heartbeat",
        kafka="GroupMetadataManager.consumerGroupHeartbeat",
        answer_in="ConsumerHeartbeatRequestManager",
        words=("heartbeat", "heartbeat ok"),
        heartbeat=True,
        since="4.1.0",
    ),
    Api(
        request=JoinGroup,
        response=JoinGroupResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(READ_GROUP,),
        refusal=lambda m, error: JoinGroupResponse(error, m.member_id),
        clause="KIP-62; KIP-394 MEMBER_ID_REQUIRED; KIP-345 static members",
        kafka="GroupMetadataManager.classicGroupJoin",
        answer_in="AbstractCoordinator.JoinGroupResponseHandler",
        words=("join", "joined"),
    ),
    Api(
        request=SyncGroup,
        response=SyncGroupResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(READ_GROUP,),
        refusal=lambda _, error: SyncGroupResponse(error),
        clause="KIP-62 rebalance",
        kafka="GroupMetadataManager.classicGroupSync",
        answer_in="AbstractCoordinator.SyncGroupResponseHandler",
        words=("sync", "assigned"),
    ),
    Api(
        request=Heartbeat,
        response=HeartbeatResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(READ_GROUP,),
        refusal=lambda _, error: HeartbeatResponse(error),
        clause="KIP-62 background heartbeats",
        kafka="GroupMetadataManager.classicGroupHeartbeat",
        answer_in="AbstractCoordinator.HeartbeatResponseHandler",
        words=("heartbeat", "heartbeat ok"),
        heartbeat=True,
    ),
    Api(
        request=LeaveGroup,
        response=LeaveGroupResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(READ_GROUP,),
        refusal=lambda _, error: LeaveGroupResponse(error),
        clause="KIP-62; KIP-345 LeaveGroup version 3",
        kafka="GroupMetadataManager.classicGroupLeave",
        answer_in="AbstractCoordinator.LeaveGroupResponseHandler",
        words=("leave", "left"),
        admin_retries=OF_A_COORDINATOR,
    ),
    Api(
        request=ShareGroupHeartbeat,
        response=ShareGroupHeartbeatResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(READ_GROUP, DESCRIBE_TOPIC),
        refusal=lambda m, error: ShareGroupHeartbeatResponse(error, m.member_id),
        clause="KIP-932 ShareGroupHeartbeat",
        kafka="GroupMetadataManager.shareGroupHeartbeat",
        answer_in="ShareHeartbeatRequestManager",
        words=("heartbeat", "heartbeat ok"),
        only_with_shares=True,
        heartbeat=True,
        since="4.1.0",
    ),
)
