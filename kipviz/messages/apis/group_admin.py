"""The APIs with which an operator manages consumer groups."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    DELETE_GROUP,
    DESCRIBE_GROUP,
    READ_TOPIC,
    Need,
    Operation,
    Resource,
)
from kipviz.messages.group_admin import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeResponse,
    DescribeGroups,
    DescribeGroupsResponse,
    ListGroups,
    ListGroupsResponse,
    OffsetDelete,
    OffsetDeleteResponse,
    OffsetFetchOfGroups,
    OffsetFetchOfGroupsResponse,
)

APIS: tuple[Api, ...] = (
    Api(
        request=ListGroups,
        response=ListGroupsResponse,
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
        refusal=lambda _, error: ListGroupsResponse(error),
        clause="KIP-518, KIP-848 ListGroups",
        kafka="GroupMetadataManager.listGroups",
        answer_in="KafkaAdminClient.listGroups",
        words=("list groups", "groups"),
        admin_retries=OF_A_COORDINATOR,
    ),
    Api(
        request=DescribeGroups,
        response=DescribeGroupsResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(DESCRIBE_GROUP,),
        refusal=lambda m, error: DescribeGroupsResponse(error, m.group_id),
        clause="KIP-62 DescribeGroups; KIP-1043",
        kafka="GroupMetadataManager.describeGroups",
        answer_in="DescribeConsumerGroupsHandler",
        words=("describe group", "group"),
        admin_retries=OF_A_COORDINATOR,
        several_groups=True,
    ),
    Api(
        request=ConsumerGroupDescribe,
        response=ConsumerGroupDescribeResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(DESCRIBE_GROUP,),
        refusal=lambda m, error: ConsumerGroupDescribeResponse(error, m.group_id),
        clause="KIP-848 ConsumerGroupDescribe",
        kafka="GroupMetadataManager.consumerGroupDescribe",
        answer_in="DescribeConsumerGroupsHandler",
        words=("describe group", "group"),
        admin_retries=OF_A_COORDINATOR,
        several_groups=True,
    ),
    Api(
        request=OffsetDelete,
        response=OffsetDeleteResponse,
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        needs=(DELETE_GROUP, READ_TOPIC),
        refusal=lambda m, error: OffsetDeleteResponse(error, m.group_id),
        clause="KIP-496 OffsetDelete",
        kafka="OffsetMetadataManager.deleteOffsets",
        answer_in="DeleteConsumerGroupOffsetsHandler",
        words=("delete offsets", "deleted"),
        admin_retries=OF_A_COORDINATOR,
    ),
    Api(
        request=OffsetFetchOfGroups,
        response=OffsetFetchOfGroupsResponse,
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
        refusal=lambda m, error: OffsetFetchOfGroupsResponse(error, m.group_id),
        clause="KIP-709",
        kafka="OffsetMetadataManager.fetchAllOffsets",
        answer_in="ListConsumerGroupOffsetsHandler",
        words=("list offsets", "offsets"),
        admin_retries=OF_A_COORDINATOR,
        several_groups=True,
        newest=(("2.4", 6), ("3.5", 8), ("3.6", 8), ("3.9", 9), ("4.1.0", 10), ("4.3", 10)),
    ),
)
