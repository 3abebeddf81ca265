"""The API that creates a topic. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.legal_errors import WELL_FORMED, Never, at
from kipviz.messages.apis.rights import Need, Operation, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster import topic_creation as model
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema

# The brokers' defaults apply (num.partitions, default.replication.factor; KIP-464).
BY_DEFAULT = -1
# No field has the request timeout of InterBrokerSendThread's client: this is the schema's default.
TIMEOUT_MS = 60_000

CREATE_TOPICS_REQUEST = Schema(
    "CreateTopicsRequest",
    19,
    "2-7",
    "5+",
    (
        Field(
            "Topics",
            "[]CreatableTopic",
            fields=(
                Field("Name", "string"),
                Field("NumPartitions", "int32"),
                Field("ReplicationFactor", "int16"),
                Field(
                    "Assignments",
                    "[]CreatableReplicaAssignment",
                    fields=(Field("PartitionIndex", "int32"), Field("BrokerIds", "[]int32")),
                ),
                Field(
                    "Configs",
                    "[]CreatableTopicConfig",
                    fields=(Field("Name", "string"), Field("Value", "string", nullable="0+")),
                ),
            ),
        ),
        Field("timeoutMs", "int32", default="60000"),
        Field("validateOnly", "bool", "1+", default="false"),
    ),
)

CREATE_TOPICS_RESPONSE = Schema(
    "CreateTopicsResponse",
    19,
    "2-7",
    "5+",
    (
        Field("ThrottleTimeMs", "int32", "2+"),
        Field(
            "Topics",
            "[]CreatableTopicResult",
            fields=(
                Field("Name", "string"),
                Field("TopicId", "uuid", "7+"),
                Field("ErrorCode", "int16"),
                Field("ErrorMessage", "string", "1+", nullable="0+"),
                Field("TopicConfigErrorCode", "int16", "5+", tagged="5+", tag=0),
                Field("NumPartitions", "int32", "5+", default="-1"),
                Field("ReplicationFactor", "int16", "5+", default="-1"),
                Field(
                    "Configs",
                    "[]CreatableTopicConfigs",
                    "5+",
                    fields=(
                        Field("Name", "string", "5+"),
                        Field("Value", "string", "5+", nullable="5+"),
                        Field("ReadOnly", "bool", "5+"),
                        Field("ConfigSource", "int8", "5+", default="-1"),
                        Field("IsSensitive", "bool", "5+"),
                    ),
                    nullable="5+",
                ),
            ),
        ),
    ),
)


def _create(m: model.CreateTopics, _: Around) -> Struct:
    configs = tuple({"Name": name, "Value": value} for name, value in m.configs)
    topic = {
        "Name": m.topic,
        "NumPartitions": BY_DEFAULT,
        "ReplicationFactor": BY_DEFAULT,
        "Configs": configs,
    }
    return {"Topics": (topic,), "timeoutMs": TIMEOUT_MS}


def _decode_create(fields: Struct, _: Incoming) -> tuple[model.CreateTopics, ...]:
    """Return a message for each topic."""
    return tuple(
        model.CreateTopics(
            each["Name"], tuple((config["Name"], config["Value"]) for config in each["Configs"])
        )
        for each in fields["Topics"]
    )


def _encode_response(m: model.CreateTopicsResponse, around: Around) -> Struct:
    topic_id = around.topic_id(m.topic)
    return {"Topics": ({"Name": m.topic, "TopicId": topic_id, "ErrorCode": m.error},)}


APIS = (
    Api(
        request=model.CreateTopics,
        response=model.CreateTopicsResponse,
        request_bytes=RequestKind(CREATE_TOPICS_REQUEST, _create, decode=_decode_create),
        response_bytes=Kind(CREATE_TOPICS_RESPONSE, _encode_response),
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=(
            Need(
                Operation.CREATE,
                Resource.CLUSTER,
                "ControllerApis.createTopics; CREATE of the topic does as well",
            ),
        ),
        refusal=lambda m, error: model.CreateTopicsResponse(error, m.topic),
        errors=(
            at(
                "Topics.ErrorCode",
                Errors.TOPIC_ALREADY_EXISTS,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                WELL_FORMED,
                Never(
                    "brokers create topics, with their right on the cluster",
                    ("TOPIC_AUTHORIZATION_FAILED",),
                ),
                Never(
                    "brokers create only topics of their own, with names and settings that are allowed",
                    (
                        "INVALID_TOPIC_EXCEPTION",
                        "INVALID_PARTITIONS",
                        "INVALID_REPLICATION_FACTOR",
                        "INVALID_REPLICA_ASSIGNMENT",
                        "INVALID_CONFIG",
                        "POLICY_VIOLATION",
                    ),
                ),
                Never(
                    "the controller is always there",
                    (
                        "NOT_CONTROLLER",
                        "REQUEST_TIMED_OUT",
                    ),
                ),
            ),
            at(
                "Topics.TopicConfigErrorCode",
                Never("configurations are not returned", ("TOPIC_AUTHORIZATION_FAILED",)),
            ),
        ),
        clause="KIP-1191",
        kafka="ControllerApis.createTopics",
        answer_in="ShareGroupDLQStateManager.ProduceRequestHandler",
        words=("create topic", "topic"),
    ),
)
