"""The API that returns the ids of topics. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.legal_errors import Never, at
from kipviz.messages.apis.rights import Need, Operation, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster import metadata as model
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import ZERO_ID, Field, Schema

METADATA_REQUEST = Schema(
    "MetadataRequest",
    3,
    "0-13",
    "9+",
    (
        Field(
            "Topics",
            "[]MetadataRequestTopic",
            nullable="1+",
            fields=(
                Field("TopicId", "uuid", "10+"),
                Field("Name", "string", nullable="10+"),
            ),
        ),
        Field("AllowAutoTopicCreation", "bool", "4+", default="true"),
        Field("IncludeClusterAuthorizedOperations", "bool", "8-10"),
        Field("IncludeTopicAuthorizedOperations", "bool", "8+"),
    ),
)

METADATA_RESPONSE = Schema(
    "MetadataResponse",
    3,
    "0-13",
    "9+",
    (
        Field("ThrottleTimeMs", "int32", "3+"),
        Field(
            "Brokers",
            "[]MetadataResponseBroker",
            fields=(
                Field("NodeId", "int32"),
                Field("Host", "string"),
                Field("Port", "int32"),
                Field("Rack", "string", "1+", default="null", nullable="1+"),
            ),
        ),
        Field("ClusterId", "string", "2+", default="null", nullable="2+"),
        Field("ControllerId", "int32", "1+", default="-1"),
        Field(
            "Topics",
            "[]MetadataResponseTopic",
            fields=(
                Field("ErrorCode", "int16"),
                Field("Name", "string", nullable="12+"),
                Field("TopicId", "uuid", "10+"),
                Field("IsInternal", "bool", "1+", default="false"),
                Field(
                    "Partitions",
                    "[]MetadataResponsePartition",
                    fields=(
                        Field("ErrorCode", "int16"),
                        Field("PartitionIndex", "int32"),
                        Field("LeaderId", "int32"),
                        Field("LeaderEpoch", "int32", "7+", default="-1"),
                        Field("ReplicaNodes", "[]int32"),
                        Field("IsrNodes", "[]int32"),
                        Field("OfflineReplicas", "[]int32", "5+"),
                    ),
                ),
                Field("TopicAuthorizedOperations", "int32", "8+", default="-2147483648"),
            ),
        ),
        Field("ClusterAuthorizedOperations", "int32", "8-10", default="-2147483648"),
        Field("ErrorCode", "int16", "13+", default="0"),
    ),
)


def _encode_request(m: model.Metadata, around: Around) -> Struct:
    said = {} if m.allow_auto_topic_creation else {"AllowAutoTopicCreation": False}
    return {"Topics": tuple({"Name": topic} for topic in m.topics), **said}


def _decode_request(fields: Struct, incoming: Incoming) -> tuple[model.Metadata, ...]:
    """Return the request with the topics that it names; null, which means all of them, names none.

    Before version 4 it always allows to create topics. One for all topics or by ids never does.
    """
    asked = fields["Topics"] or ()
    topics = dict.fromkeys(map(incoming.topic_of, asked))
    of_all = fields["Topics"] is None or (incoming.version == 0 and not asked)
    by_name = not of_all and all(each.get("TopicId", ZERO_ID) == ZERO_ID for each in asked)
    return (
        model.Metadata(
            tuple(topic for topic in topics if topic is not None),
            by_name and fields.get("AllowAutoTopicCreation", True),
        ),
    )


def _encode_response(m: model.MetadataResponse, around: Around) -> Struct:
    topics = tuple(
        {
            "ErrorCode": t.error or _unknown(t),
            "Name": t.topic,
            "TopicId": t.topic_id or ZERO_ID,
        }
        for t in m.topics
    )
    return {"Topics": topics, "ErrorCode": m.error}


def _unknown(topic: model.TopicId) -> Errors:
    return Errors.NONE if topic.topic_id else Errors.UNKNOWN_TOPIC_OR_PARTITION


def _metadata_refused(request: model.Metadata, error: Errors) -> model.MetadataResponse:
    topics = tuple(model.TopicId(topic, "", error) for topic in request.topics)
    return model.MetadataResponse(Errors.NONE, topics)


APIS = (
    Api(
        request=model.Metadata,
        response=model.MetadataResponse,
        request_bytes=RequestKind(METADATA_REQUEST, _encode_request, decode=_decode_request),
        response_bytes=Kind(METADATA_RESPONSE, _encode_response),
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.DESCRIBE, Resource.TOPIC, each=True),),
        refusal=_metadata_refused,
        errors=(
            at(
                "Topics.ErrorCode",
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.INVALID_TOPIC_EXCEPTION,
                Never(
                    "topics are asked for by names",
                    (
                        "UNKNOWN_TOPIC_ID",
                        "INCONSISTENT_TOPIC_ID",
                    ),
                ),
                Never("a topic has its leader when it is created", ("LEADER_NOT_AVAILABLE",)),
            ),
            at(
                "Topics.Partitions.ErrorCode",
                Never(
                    "the model responds with the ids of topics, and looks leaders up at once",
                    (
                        "LEADER_NOT_AVAILABLE",
                        "LISTENER_NOT_FOUND",
                        "REPLICA_NOT_AVAILABLE",
                    ),
                ),
            ),
            at(
                "ErrorCode",
                Never("clients begin with the brokers that they know", ("REBOOTSTRAP_REQUIRED",)),
            ),
        ),
        topics=lambda m: tuple(m.topics or ()),
        clause="KIP-516 topic ids; KIP-1319 Producer-Side",
        kafka="KafkaApis.handleTopicMetadataRequest",
        answer_in="ProducerMetadata.update",
    ),
)
