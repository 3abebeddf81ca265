"""What a broker answers to a request that it does not serve: one not in office, a right that is missing.

WHERE IN KAFKA: KafkaApis, and the getErrorResponse of each request.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.brokers import (
    acl_administration,
    classic_membership,
    gone_topics,
    group_administration,
    share_administration,
)
from kipviz.brokers.context import Image
from kipviz.cluster.dispatch import ANSWER_OF_STATE, OF_REGULAR_GROUPS, OF_SHARE_GROUPS
from kipviz.messages.admin import (
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
)
from kipviz.messages.classic_groups import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from kipviz.messages.coordinators import FindCoordinator, FindCoordinatorResponse
from kipviz.messages.errors import Errors
from kipviz.messages.group_admin import (
    ListGroups,
    ListGroupsResponse,
)
from kipviz.messages.groups import (
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    TxnOffsetCommit,
    TxnOffsetCommitResponse,
)
from kipviz.messages.list_offsets import ListOffsets, ListOffsetsResponse
from kipviz.messages.liveness import TxnHeartbeat, TxnHeartbeatResponse
from kipviz.messages.membership import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kipviz.messages.message import Message, in_one
from kipviz.messages.metadata import Metadata, MetadataResponse, TopicId
from kipviz.messages.producing import (
    Fetch,
    FetchResponse,
    Produce,
    ProduceResponse,
    in_one_answer,
)
from kipviz.messages.share_groups import (
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.share_membership import ShareGroupHeartbeat, ShareGroupHeartbeatResponse
from kipviz.messages.topic_creation import CreateTopics, CreateTopicsResponse
from kipviz.messages.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    PartitionResult,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
    with_error,
)
from kipviz.messages.two_phase import answer_to

# Answers of coordinators that say nothing but an error when there is one.
ONLY_AN_ERROR: dict[type[Message], Callable[[Errors], Message]] = {
    AddOffsetsToTxn: AddOffsetsToTxnResponse,
    EndTxn: EndTxnResponse,
    TxnHeartbeat: TxnHeartbeatResponse,
    TxnOffsetCommit: TxnOffsetCommitResponse,
    OffsetCommit: OffsetCommitResponse,
}


def not_here(message: Message) -> Message:
    """Give the error of a broker that does not lead what the request is about."""
    match message:
        case InitProducerId():
            return answer_to(message)(Errors.NOT_COORDINATOR)
        case AddPartitionsToTxn():
            return with_error(message, Errors.NOT_COORDINATOR)
        case _ if type(message) in ONLY_AN_ERROR:
            return ONLY_AN_ERROR[type(message)](Errors.NOT_COORDINATOR)
        case Metadata():
            return MetadataResponse(Errors.NOT_LEADER_OR_FOLLOWER)
        case FindCoordinator():
            return FindCoordinatorResponse(Errors.NOT_COORDINATOR, message.transactional_id)
        case ShareGroupHeartbeat():
            return ShareGroupHeartbeatResponse(Errors.NOT_COORDINATOR, message.member_id)
        case ConsumerGroupHeartbeat():
            return ConsumerGroupHeartbeatResponse(Errors.NOT_COORDINATOR, message.member_id)
        case JoinGroup() | SyncGroup() | Heartbeat() | LeaveGroup():
            return classic_membership.refusal(message, Errors.NOT_COORDINATOR)
        case OffsetFetch():
            return OffsetFetchResponse(Errors.NOT_COORDINATOR, message.partition)
        case Produce():
            return to_each(message, Errors.NOT_LEADER_OR_FOLLOWER)
        case Fetch():
            return FetchResponse(Errors.NOT_LEADER_OR_FOLLOWER, message.partition)
        case ListOffsets():
            return ListOffsetsResponse(Errors.NOT_LEADER_OR_FOLLOWER, message.partition)
        case DescribeTransactions():
            return DescribeTransactionsResponse(Errors.NOT_COORDINATOR, message.transactional_id)
        case DescribeProducers():
            return DescribeProducersResponse(Errors.NOT_LEADER_OR_FOLLOWER, message.partition)
        case _ if type(message) in ANSWER_OF_STATE:
            return ANSWER_OF_STATE[type(message)](Errors.NOT_COORDINATOR, message.key)  # type: ignore[attr-defined]
        case _ if isinstance(message, OF_SHARE_GROUPS):
            return share_administration.refusal_of(message, Errors.NOT_COORDINATOR)
        case _ if isinstance(message, OF_REGULAR_GROUPS):
            return group_administration.refusal_of(message, Errors.NOT_COORDINATOR)
        case _:
            raise AssertionError(f"{type(message).__name__} is for every broker")


def to_each(request: Produce, error: Errors) -> ProduceResponse:
    """Give the answer to a Produce request with an error for each of its partitions."""
    asked = ((part.partition, part.base_sequence) for part in request.parts)
    parts = (ProduceResponse(error, *each, -1, request.correlation_id) for each in asked)
    return in_one_answer(tuple(parts))


def gone(message: Message, image: Image) -> Message | None:
    """Give the answer to a request about a partition that is not there, or None."""
    if isinstance(message, AddPartitionsToTxn):
        return None if message.further else gone_topics.not_added(message, image)
    error = gone_topics.error_of(message, image)
    return None if error is Errors.NONE else not_here(message).but(error=error)


def refused(message: Message, error: Errors) -> Message:
    """Give the answer of a broker that does not let whoever asks do what a request is about."""
    match message:
        case WriteTxnMarkers():
            return in_one(
                WriteTxnMarkersResponse(
                    each.producer_id, tuple(PartitionResult(p, error) for p in each.partitions)
                )
                for each in message.of_transactions
            )
        case ShareFetch():
            return ShareFetchResponse(error, message.partition)
        case ShareAcknowledge():
            return ShareAcknowledgeResponse(error, message.partition)
        case TxnShareAcknowledge():
            return TxnShareAcknowledgeResponse(error, message.partition)
        case Metadata():
            topics = tuple(TopicId(topic, "", error) for topic in message.topics)
            return MetadataResponse(Errors.NONE, topics)
        case ListGroups():
            return ListGroupsResponse(error)
        case _ if isinstance(message, acl_administration.ABOUT_ACLS):
            return acl_administration.refusal_of(message, error)
        case CreateTopics():
            return CreateTopicsResponse(error, message.topic)
        case Produce():
            return to_each(message, error)
        case AddPartitionsToTxn():
            return with_error(message, error)
        case _:
            return not_here(message).but(error=error)
