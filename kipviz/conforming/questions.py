"""The requests of programs, each with the newest version of clients, and an operator's requests to the controller."""

from __future__ import annotations

from kipviz.messages.apis.cluster import coordinators, metadata, topic_creation
from kipviz.messages.apis.groups import classic_groups, membership, offset_commit, offset_fetch
from kipviz.messages.apis.logs import fetch, list_offsets, produce
from kipviz.messages.apis.shares import (
    acknowledgements,
    share_admin,
    share_fetch,
    share_group_offsets,
)
from kipviz.messages.apis.transactions import added_partitions, admin, ends, producer_ids
from kipviz.messages.groups.groups import NAMES_TOPICS
from kipviz.messages.wire.question import RequestFormat
from kipviz.messages.wire.schema import Field, Schema

CREATE = RequestFormat(topic_creation.CREATE_TOPICS_REQUEST, topic_creation.CREATE_TOPICS_RESPONSE)
WHERE = RequestFormat(list_offsets.LIST_OFFSETS_REQUEST, list_offsets.LIST_OFFSETS_RESPONSE)
FIND = RequestFormat(coordinators.FIND_COORDINATOR_REQUEST, coordinators.FIND_COORDINATOR_RESPONSE)
METADATA = RequestFormat(metadata.METADATA_REQUEST, metadata.METADATA_RESPONSE)
INIT = RequestFormat(
    producer_ids.INIT_PRODUCER_ID_REQUEST, producer_ids.INIT_PRODUCER_ID_RESPONSE, 5
)
ADD = RequestFormat(
    added_partitions.ADD_PARTITIONS_TO_TXN_REQUEST,
    added_partitions.ADD_PARTITIONS_TO_TXN_RESPONSE,
    3,
)
ADD_OFFSETS = RequestFormat(
    added_partitions.ADD_OFFSETS_TO_TXN_REQUEST, added_partitions.ADD_OFFSETS_TO_TXN_RESPONSE
)
END = RequestFormat(ends.END_TXN_REQUEST, ends.END_TXN_RESPONSE)
STAGE = RequestFormat(
    offset_commit.TXN_OFFSET_COMMIT_REQUEST, offset_commit.TXN_OFFSET_COMMIT_RESPONSE, 5
)
COMMIT = RequestFormat(offset_commit.OFFSET_COMMIT_REQUEST, offset_commit.OFFSET_COMMIT_RESPONSE, 9)
OFFSETS = RequestFormat(
    offset_fetch.OFFSET_FETCH_REQUEST, offset_fetch.OFFSET_FETCH_RESPONSE, NAMES_TOPICS
)
PRODUCE = RequestFormat(produce.PRODUCE_REQUEST, produce.PRODUCE_RESPONSE, 12)
FETCH = RequestFormat(fetch.FETCH_REQUEST, fetch.FETCH_RESPONSE, 17)
BEAT = RequestFormat(
    membership.CONSUMER_GROUP_HEARTBEAT_REQUEST, membership.CONSUMER_GROUP_HEARTBEAT_RESPONSE
)
JOIN = RequestFormat(classic_groups.JOIN_GROUP_REQUEST, classic_groups.JOIN_GROUP_RESPONSE)
SYNC = RequestFormat(classic_groups.SYNC_GROUP_REQUEST, classic_groups.SYNC_GROUP_RESPONSE)
CLASSIC_BEAT = RequestFormat(classic_groups.HEARTBEAT_REQUEST, classic_groups.HEARTBEAT_RESPONSE)
LEAVE = RequestFormat(classic_groups.LEAVE_GROUP_REQUEST, classic_groups.LEAVE_GROUP_RESPONSE)
SHARE_BEAT = RequestFormat(
    membership.SHARE_GROUP_HEARTBEAT_REQUEST, membership.SHARE_GROUP_HEARTBEAT_RESPONSE
)
SHARE_FETCH = RequestFormat(share_fetch.SHARE_FETCH_REQUEST, share_fetch.SHARE_FETCH_RESPONSE)
ACKNOWLEDGE = RequestFormat(
    acknowledgements.SHARE_ACKNOWLEDGE_REQUEST, acknowledgements.SHARE_ACKNOWLEDGE_RESPONSE
)
DESCRIBE = RequestFormat(admin.DESCRIBE_TRANSACTIONS_REQUEST, admin.DESCRIBE_TRANSACTIONS_RESPONSE)
LIST = RequestFormat(admin.LIST_TRANSACTIONS_REQUEST, admin.LIST_TRANSACTIONS_RESPONSE)
DESCRIBE_PRODUCERS = RequestFormat(
    admin.DESCRIBE_PRODUCERS_REQUEST, admin.DESCRIBE_PRODUCERS_RESPONSE
)
SHARE_DESCRIBE = RequestFormat(
    share_admin.SHARE_GROUP_DESCRIBE_REQUEST, share_admin.SHARE_GROUP_DESCRIBE_RESPONSE
)
SHARE_OFFSETS = RequestFormat(
    share_group_offsets.DESCRIBE_SHARE_GROUP_OFFSETS_REQUEST,
    share_group_offsets.DESCRIBE_SHARE_GROUP_OFFSETS_RESPONSE,
)
# The requests that move a leader in KRaft: another order of the replicas, and then an election of the first one. The
# model decides elections itself, so it has no message for them. Source: AlterPartitionReassignmentsRequest.json,
# ElectLeadersRequest.json.
REASSIGN = RequestFormat(
    Schema(
        "AlterPartitionReassignmentsRequest",
        45,
        "0-0",
        "0+",
        (
            Field("TimeoutMs", "int32", default="60000"),
            Field(
                "Topics",
                "[]ReassignableTopic",
                fields=(
                    Field("Name", "string"),
                    Field(
                        "Partitions",
                        "[]ReassignablePartition",
                        fields=(
                            Field("PartitionIndex", "int32"),
                            Field("Replicas", "[]int32", default="null", nullable="0+"),
                        ),
                    ),
                ),
            ),
        ),
    ),
    Schema(
        "AlterPartitionReassignmentsResponse",
        45,
        "0-0",
        "0+",
        (
            Field("ThrottleTimeMs", "int32"),
            Field("ErrorCode", "int16"),
            Field("ErrorMessage", "string", nullable="0+"),
            Field(
                "Responses",
                "[]ReassignableTopicResponse",
                fields=(
                    Field("Name", "string"),
                    Field(
                        "Partitions",
                        "[]ReassignablePartitionResponse",
                        fields=(
                            Field("PartitionIndex", "int32"),
                            Field("ErrorCode", "int16"),
                            Field("ErrorMessage", "string", nullable="0+"),
                        ),
                    ),
                ),
            ),
        ),
    ),
)
ELECT = RequestFormat(
    Schema(
        "ElectLeadersRequest",
        43,
        "2-2",
        "2+",
        (
            Field("ElectionType", "int8", "1+"),
            Field(
                "TopicPartitions",
                "[]TopicPartitions",
                nullable="0+",
                fields=(Field("Topic", "string"), Field("Partitions", "[]int32")),
            ),
            Field("TimeoutMs", "int32", default="60000"),
        ),
    ),
    Schema(
        "ElectLeadersResponse",
        43,
        "2-2",
        "2+",
        (
            Field("ThrottleTimeMs", "int32"),
            Field("ErrorCode", "int16", "1+"),
            Field(
                "ReplicaElectionResults",
                "[]ReplicaElectionResult",
                fields=(
                    Field("Topic", "string"),
                    Field(
                        "PartitionResult",
                        "[]PartitionResult",
                        fields=(
                            Field("PartitionId", "int32"),
                            Field("ErrorCode", "int16"),
                            Field("ErrorMessage", "string", nullable="0+"),
                        ),
                    ),
                ),
            ),
        ),
    ),
)
# The versions of clients before transaction version 2, by request.
OLD = {PRODUCE: 11, END: 4, STAGE: 4}
GROUP, TRANSACTION, SHARE = 0, 1, 2
