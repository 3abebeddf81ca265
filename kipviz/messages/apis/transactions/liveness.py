"""The API of a transaction's heartbeat: the page of KIP-1309 has no schema, so these fields are our inference."""

from __future__ import annotations

from kipviz.messages.apis.api import NO_RELEASE, Api, Role
from kipviz.messages.apis.legal_errors import COORDINATOR, READS, at
from kipviz.messages.apis.rights import (
    Need,
    Operation,
    Resource,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.transactions import liveness as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema

TXN_HEARTBEAT_REQUEST = Schema(
    "TxnHeartbeatRequest",
    -1,
    "0",
    "0+",
    (
        Field("TransactionalId", "string", status="our inference"),
        Field("ProducerId", "int64", status="our inference"),
        Field("ProducerEpoch", "int16", status="our inference"),
    ),
    "draft",
)
TXN_HEARTBEAT_RESPONSE = Schema(
    "TxnHeartbeatResponse",
    -1,
    "0",
    "0+",
    (
        Field("ThrottleTimeMs", "int32", status="our inference"),
        Field("ErrorCode", "int16", status="our inference"),
    ),
    "draft",
)


def _heartbeat(m: model.TxnHeartbeat, _: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
    }


def _decode_heartbeat(fields: Struct, _: Incoming) -> tuple[model.TxnHeartbeat, ...]:
    identity = (fields["ProducerId"], fields["ProducerEpoch"])
    return (model.TxnHeartbeat(fields["TransactionalId"], *identity),)


def _encode_response(m: model.TxnHeartbeatResponse, _: Around) -> Struct:
    return {"ErrorCode": m.error}


# Versions 0 to 3 are sent by clients, the later ones by brokers.
APIS = (
    Api(
        request=model.TxnHeartbeat,
        response=model.TxnHeartbeatResponse,
        request_bytes=RequestKind(TXN_HEARTBEAT_REQUEST, _heartbeat, decode=_decode_heartbeat),
        response_bytes=Kind(TXN_HEARTBEAT_RESPONSE, _encode_response),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(
            Need(Operation.WRITE, Resource.TRANSACTIONAL_ID, "KIP-1309 Access Control", "draft"),
        ),
        refusal=lambda _, error: model.TxnHeartbeatResponse(error),
        errors=(
            at(
                "ErrorCode",
                *COORDINATOR,
                Errors.INVALID_PRODUCER_ID_MAPPING,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.PRODUCER_FENCED,
                READS,
            ),
        ),
        clause="KIP-1309 TxnHeartbeat (draft: no fields, no errors)",
        kafka="none yet (PR none)",
        answer_in="none yet (PR none)",
        words=("heartbeat", "heard"),
        heartbeat=True,
        since=NO_RELEASE,
    ),
)
