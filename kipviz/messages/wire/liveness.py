"""TxnHeartbeat on the wire: the page of KIP-1309 has no schema, these fields are our inference."""

from __future__ import annotations

from kipviz.messages import liveness as model
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.kind import Around, Kind
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


def _heard(m: model.TxnHeartbeatResponse, _: Around) -> Struct:
    return {"ErrorCode": m.error}


KINDS: dict[type[Message], Kind] = {
    model.TxnHeartbeat: Kind(TXN_HEARTBEAT_REQUEST, _heartbeat),
    model.TxnHeartbeatResponse: Kind(TXN_HEARTBEAT_RESPONSE, _heard),
}
