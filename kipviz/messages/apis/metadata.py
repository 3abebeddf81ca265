"""The APIs about the cluster: its topics, and where a coordinator is."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.rights import Need, Operation, Resource
from kipviz.messages.coordinators import FindCoordinator, FindCoordinatorResponse
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.metadata import Metadata, MetadataResponse, TopicId
from kipviz.messages.topic_creation import CreateTopics, CreateTopicsResponse


def _metadata_refused(request: Metadata, error: Errors) -> Message:
    topics = tuple(TopicId(topic, "", error) for topic in request.topics)
    return MetadataResponse(Errors.NONE, topics)


APIS: tuple[Api, ...] = (
    Api(
        request=Metadata,
        response=MetadataResponse,
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.DESCRIBE, Resource.TOPIC, each=True),),
        refusal=_metadata_refused,
        clause="KIP-516 topic ids; KIP-1319 Producer-Side",
        kafka="KafkaApis.handleTopicMetadataRequest",
        answer_in="ProducerMetadata.update",
    ),
    Api(
        request=CreateTopics,
        response=CreateTopicsResponse,
        role=Role.KAFKA_APIS,
        shard=Shard.PARTITION,
        needs=(
            Need(
                Operation.CREATE,
                Resource.CLUSTER,
                "ControllerApis.createTopics; CREATE of the topic does as well",
            ),
        ),
        refusal=lambda m, error: CreateTopicsResponse(error, m.topic),
        clause="KIP-1191",
        kafka="ControllerApis.createTopics",
        answer_in="ShareGroupDLQStateManager.ProduceRequestHandler",
        words=("create topic", "topic"),
    ),
    Api(
        request=FindCoordinator,
        response=FindCoordinatorResponse,
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, "KafkaApis.getCoordinator"),),
        refusal=lambda m, error: FindCoordinatorResponse(error, m.transactional_id),
        clause="KIP-98 Data Flow, step 1",
        kafka="KafkaApis.getCoordinator",
        answer_in="TransactionManager.FindCoordinatorHandler",
        words=("who coordinates", "coordinator told"),
    ),
)
