"""The API that finds a coordinator. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.client_errors import ClientErrors
from kipviz.messages.apis.legal_errors import WELL_FORMED, Never, OnlyRecorded, at
from kipviz.messages.apis.rights import Need, Operation, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.cluster import coordinators as model
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema

# FindCoordinatorRequest.CoordinatorType
GROUP, TRANSACTION = 0, 1
# The first version with an array of keys (KIP-699).
OF_SEVERAL_KEYS = 4

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


def _encode_request(m: model.FindCoordinator, around: Around) -> Struct:
    return {"KeyType": TRANSACTION, "CoordinatorKeys": (m.transactional_id,)}


def _decode_request(fields: Struct, incoming: Incoming) -> tuple[model.FindCoordinator, ...]:
    """Return a message for each transactional id; groups are looked up without one."""
    if fields.get("KeyType", GROUP) != TRANSACTION:
        return ()
    several = incoming.version >= OF_SEVERAL_KEYS
    keys = fields["CoordinatorKeys"] if several else (fields["Key"],)
    return tuple(map(model.FindCoordinator, keys))


def _encode_response(m: model.FindCoordinatorResponse, around: Around) -> Struct:
    found = {"Key": m.transactional_id, "NodeId": m.node_id, "ErrorCode": m.error}
    return {"Coordinators": (found,)}


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
        refusal=lambda m, error: model.FindCoordinatorResponse(error, m.transactional_id),
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
                WELL_FORMED,
                OnlyRecorded(
                    "only a transactional id is looked up with a request; groups are known at once",
                    ("GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"),
                ),
                Never(
                    "only a transactional id is looked up with a request; groups are known at once",
                    ("TOPIC_AUTHORIZATION_FAILED",),
                ),
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
