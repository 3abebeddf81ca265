"""The API that finds a coordinator. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Case, Role
from kipviz.messages.apis.client_errors import ClientErrors
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import Never, at
from kipviz.messages.apis.rights import (
    DESCRIBE_GROUP,
    INTER_BROKER,
    Need,
    Operation,
    Resource,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster import coordinators as model
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema

# The cases of a request, by the type of its keys.
OF_GROUPS = "FindCoordinator, groups"
OF_SHARE_PARTITIONS = "FindCoordinator, share-partitions"

FIND_COORDINATOR_REQUEST = Schema(
    "FindCoordinatorRequest",
    10,
    "0-6",
    "3+",
    (
        Field("Key", "string", "0-3"),
        Field("KeyType", "int8", "1+", default="0"),
        Field("CoordinatorKeys", "[]string", "4+"),
    ),
)

FIND_COORDINATOR_RESPONSE = Schema(
    "FindCoordinatorResponse",
    10,
    "0-6",
    "3+",
    (
        Field("ThrottleTimeMs", "int32", "1+"),
        Field("ErrorCode", "int16", "0-3"),
        Field("ErrorMessage", "string", "1-3", nullable="1-3"),
        Field("NodeId", "int32", "0-3"),
        Field("Host", "string", "0-3"),
        Field("Port", "int32", "0-3"),
        Field(
            "Coordinators",
            "[]Coordinator",
            "4+",
            fields=(
                Field("Key", "string", "4+"),
                Field("NodeId", "int32", "4+"),
                Field("Host", "string", "4+"),
                Field("Port", "int32", "4+"),
                Field("ErrorCode", "int16", "4+"),
                Field("ErrorMessage", "string", "4+", nullable="4+"),
            ),
        ),
    ),
)


def _encode_request(m: model.FindCoordinator, _: Around) -> Struct:
    if m.spoken < model.OF_SEVERAL_KEYS:
        return {"Key": m.coordinator_keys[0], "KeyType": m.key_type}
    return {"KeyType": m.key_type, "CoordinatorKeys": m.coordinator_keys}


def _decode_request(fields: Struct, incoming: Incoming) -> tuple[model.FindCoordinator, ...]:
    """Return the request, and none without a key."""
    kind = fields.get("KeyType", model.GROUP)
    several = incoming.version >= model.OF_SEVERAL_KEYS
    keys = tuple(fields["CoordinatorKeys"]) if several else (fields["Key"],)
    return (model.FindCoordinator(kind, keys, incoming.version),) if keys else ()


def _encode_response(m: model.FindCoordinatorResponse, around: Around) -> Struct:
    found = tuple(
        {"Key": each.key, "NodeId": each.node_id, "ErrorCode": each.error}
        for each in m.coordinators
    )
    if around.version_of(m) < model.OF_SEVERAL_KEYS:
        return {name: found[0][name] for name in ("NodeId", "ErrorCode")}
    return {"Coordinators": found}


def _reject_keys(request: model.FindCoordinator, error: Errors) -> model.FindCoordinatorResponse:
    found = (model.Coordinator(key, error) for key in request.coordinator_keys)
    return model.FindCoordinatorResponse(tuple(found))


def _is_of_shares(request: model.FindCoordinator) -> bool:
    """Return whether a request is for share-partitions, in a version that has them."""
    return request.key_type == model.SHARE and request.spoken >= model.OF_SHARES


APIS = (
    Api(
        request=model.FindCoordinator,
        response=model.FindCoordinatorResponse,
        request_bytes=RequestKind(
            FIND_COORDINATOR_REQUEST, _encode_request, decode=_decode_request
        ),
        response_bytes=Kind(FIND_COORDINATOR_RESPONSE, _encode_response),
        role=Role.KAFKA_APIS,
        shard=Shard.ANY,
        needs=(Need(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, "KafkaApis.getCoordinator"),),
        cases=(
            Case(OF_GROUPS, lambda m: m.key_type == model.GROUP, (DESCRIBE_GROUP,)),
            Case(OF_SHARE_PARTITIONS, _is_of_shares, INTER_BROKER),
        ),
        refusal=_reject_keys,
        error_place=ErrorPlace(
            first=lambda m: m.coordinators[0].error,
            put=lambda m, error: m.but(coordinators=with_errors(m.coordinators, error)),
        ),
        errors=(
            at(
                "ErrorCode",
                Never(
                    "clients of the model speak version 6, which has an error for each key",
                    (
                        "COORDINATOR_NOT_AVAILABLE",
                        "GROUP_AUTHORIZATION_FAILED",
                        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
                        "INVALID_REQUEST",
                    ),
                ),
            ),
            at(
                "Coordinators.ErrorCode",
                Errors.COORDINATOR_NOT_AVAILABLE,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.INVALID_REQUEST,
                Never("the topics of coordinators are there", ("TOPIC_AUTHORIZATION_FAILED",)),
            ),
        ),
        client_errors=ClientErrors(
            abortable=(Errors.TRANSACTION_ABORTABLE,),
            own_class=(
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.TRANSACTION_ABORTABLE,
            ),
        ),
        clause="KIP-98 Data Flow, step 1",
        kafka="KafkaApis.getCoordinator",
        answer_in="TransactionManager.FindCoordinatorHandler",
        words=("find coordinator", "coordinator"),
    ),
)
