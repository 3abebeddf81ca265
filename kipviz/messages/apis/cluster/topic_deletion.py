"""The API that deletes topics. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.cluster.topic_creation import CONTROLLER, POLICIES, TIMEOUT_MS
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import Never, at
from kipviz.messages.apis.rights import DELETE_TOPIC
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster import topic_deletion as model
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import ZERO_ID, Field, Schema

# The first version that names topics by name or by id.
NAMES_IDS = 6

DELETE_TOPICS_REQUEST = Schema(
    "DeleteTopicsRequest",
    20,
    "1-6",
    "4+",
    (
        Field(
            "Topics",
            "[]DeleteTopicState",
            "6+",
            fields=(
                Field("Name", "string", "6+", default="null", nullable="6+"),
                Field("TopicId", "uuid", "6+"),
            ),
        ),
        Field("TopicNames", "[]string", "0-5"),
        Field("TimeoutMs", "int32"),
    ),
)

DELETE_TOPICS_RESPONSE = Schema(
    "DeleteTopicsResponse",
    20,
    "1-6",
    "4+",
    (
        Field("ThrottleTimeMs", "int32", "1+"),
        Field(
            "Responses",
            "[]DeletableTopicResult",
            fields=(
                Field("Name", "string", nullable="6+"),
                Field("TopicId", "uuid", "6+"),
                Field("ErrorCode", "int16"),
                Field("ErrorMessage", "string", "5+", default="null", nullable="5+"),
            ),
        ),
    ),
)


def _delete(m: model.DeleteTopics, _: Around) -> Struct:
    if m.version < NAMES_IDS:
        return {"TopicNames": tuple(each.name or "" for each in m.topics), "TimeoutMs": TIMEOUT_MS}
    topics = ({"Name": each.name, "TopicId": each.topic_id or ZERO_ID} for each in m.topics)
    return {"Topics": tuple(topics), "TimeoutMs": TIMEOUT_MS}


def _decode_delete(fields: Struct, incoming: Incoming) -> tuple[model.DeleteTopics, ...]:
    if incoming.version < NAMES_IDS:
        topics = tuple(model.DeleteTopicState(name) for name in fields["TopicNames"])
    else:
        topics = tuple(
            model.DeleteTopicState(
                each["Name"], "" if each["TopicId"] == ZERO_ID else each["TopicId"]
            )
            for each in fields["Topics"]
        )
    return (model.DeleteTopics(topics, incoming.version),)


def _encode_deleted(m: model.DeleteTopicsResponse, _: Around) -> Struct:
    results = (
        {
            "Name": result.name,
            "TopicId": result.topic_id or ZERO_ID,
            "ErrorCode": result.error,
            "ErrorMessage": result.error_message or None,
        }
        for result in m.responses
    )
    return {"Responses": tuple(results)}


def _refuse(m: model.DeleteTopics, error: Errors) -> model.DeleteTopicsResponse:
    return model.DeleteTopicsResponse(
        tuple(model.DeletableTopicResult(each.name, each.topic_id, error) for each in m.topics)
    )


def _names(m: model.DeleteTopics) -> tuple[str, ...]:
    """Return the topics that are named by name: those that are named by id have no name to check."""
    return tuple(dict.fromkeys(each.name for each in m.topics if each.name is not None))


APIS = (
    Api(
        request=model.DeleteTopics,
        response=model.DeleteTopicsResponse,
        request_bytes=RequestKind(DELETE_TOPICS_REQUEST, _delete, decode=_decode_delete),
        response_bytes=Kind(DELETE_TOPICS_RESPONSE, _encode_deleted),
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=(DELETE_TOPIC,),
        refusal=_refuse,
        topics=_names,
        error_place=ErrorPlace(
            first=lambda m: m.responses[0].error if m.responses else Errors.NONE,
            put=lambda m, error: m.but(responses=with_errors(m.responses, error)),
        ),
        errors=(
            at(
                "Responses.ErrorCode",
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.UNKNOWN_TOPIC_ID,
                Errors.INVALID_REQUEST,
                Never("delete.topic.enable is true, as by default", ("TOPIC_DELETION_DISABLED",)),
                Never("ids of topics are as old as the model's brokers", ("UNSUPPORTED_VERSION",)),
                POLICIES,
                CONTROLLER,
            ),
        ),
        clause="KIP-4",
        kafka="ControllerApis.deleteTopics",
        answer_in="KafkaAdminClient.getDeleteTopicsCall",
        words=("delete topics", "deleted"),
    ),
)
