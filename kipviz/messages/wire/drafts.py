"""TxnShareAcknowledge and the state batches of each iteration of KIP-1289's draft implementation.

SOURCE: pull request 22357 (draft implementation, seen in source), whose request has had three keys: 93 at first, then
94, then 95, always version 0 on the broker's listener. Its newest schema allows an acknowledge type of 0, for an
acquired offset without a data record, and its response has no current leader. Kafka 4.4.0 has given keys 93 and up to
other requests, so nothing here can be sent to a released broker.
NOT KNOWN: which key goes with which iteration of the state batch (paired in their order here); the version of Read-
and WriteShareGroupState in which a state batch has staged fields, and whether they are tagged; here they are plain
fields of one version more than Kafka 4.4.0 has (our inference). One iteration adds a staged delivery state.
"""

from __future__ import annotations

from typing import TypeVar

from kipviz.core.values import Value
from kipviz.messages.apis.shares import acknowledgements, state_batches
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.shares.share_state import (
    ReadShareGroupStateResponse,
    ReadStateResult,
    WriteShareGroupState,
    WriteStateData,
)
from kipviz.messages.wire.codec import Encoded, Struct, WireError, encode
from kipviz.messages.wire.frame import (
    KINDS,
    REQUEST_HEADER,
    encode_frame,
    header_of,
    header_version,
)
from kipviz.messages.wire.kind import Around
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.share_group_state import StateBatch

S = TypeVar("S", WriteStateData, ReadStateResult)

DRAFT = "draft"
ACCEPT, REJECT, GAP = AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.GAP


class Iteration(Value, frozen=True):
    """One iteration of the draft: its key, its acknowledge types, and the staged fields of a state batch."""

    name: str
    key: int
    types: tuple[AcknowledgeType, ...]
    staged_fields: tuple[str, ...]
    sentence: str


STAGED = ("StagedProducerId", "StagedProducerEpoch", "StagedAcknowledgeType")
STAGED_STATE = "StagedDeliveryState"
# Kafka's types of the staged fields, and their values if nothing is staged.
_TYPES = {
    "StagedProducerId": "int64",
    "StagedProducerEpoch": "int16",
    "StagedAcknowledgeType": "int8",
    STAGED_STATE: "int8",
}

ITERATIONS: tuple[Iteration, ...] = (
    Iteration(
        "early", 93, (ACCEPT, REJECT), (), "Key 93; the durable state knows no staged record."
    ),
    Iteration(
        "middle",
        94,
        (ACCEPT, REJECT),
        STAGED,
        "Key 94; a state batch says which producer staged it, at which epoch, with which type.",
    ),
    Iteration(
        "late",
        95,
        (GAP, ACCEPT, REJECT),
        (*STAGED, STAGED_STATE),
        "Key 95; a gap may be staged, and a state batch says what a commit makes of it.",
    ),
)


def iteration(name: str) -> Iteration:
    """Return an iteration by its name.

    Raises:
        ValueError: for an unknown name; the message lists the iterations.
    """
    for each in ITERATIONS:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in ITERATIONS)
    raise ValueError(f"there is no iteration {name!r}; the iterations are {known}")


def schema_of(kind: type[Message], of: Iteration) -> tuple[Schema, int]:
    """Return the schema of a kind of message in an iteration, and its version."""
    schema = KINDS[kind].schema
    if kind is TxnShareAcknowledge:
        return _with_key(
            schema, of, _drop_fields(schema.fields, acknowledgements.DELIVERIES.name)
        ), 0
    if kind is TxnShareAcknowledgeResponse:
        fields = _drop_fields(_drop_fields(schema.fields, "CurrentLeader"), "NodeEndpoints")
        return _with_key(schema, of, fields), 0
    if kind in (WriteShareGroupState, ReadShareGroupStateResponse) and of.staged_fields:
        version = kind.VERSION + 1
        fields = _drop_fields(
            _mark_staged(schema.fields, of, version), state_batches.PENDING_ACKNOWLEDGEMENTS.name
        )
        return schema.but(versions=f"0-{version}", fields=fields, status=DRAFT), version
    return schema, kind.VERSION


def bytes_in(message: Message, of: Iteration, around: Around) -> Encoded:
    """Encode a message as an iteration of the draft would, with size and header.

    Raises:
        WireError: if it stages an acknowledge type that the iteration rejects.
    """
    schema, version = schema_of(type(message), of)
    if isinstance(message, WriteShareGroupState):
        message = message.but(partitions=tuple(_with_known(p, of) for p in message.partitions))
    if isinstance(message, ReadShareGroupStateResponse):
        message = message.but(results=tuple(_with_known(r, of) for r in message.results))
    if isinstance(message, TxnShareAcknowledge):
        parts = tuple(part.but(deliveries=()) for part in message.partitions)
        message = message.but(partitions=parts)
        for batch in (batch for part in parts for batch in part.acknowledgements):
            if batch.type not in of.types:
                allowed = ", ".join(f"{kind.name} ({kind:d})" for kind in of.types)
                why = f"{batch.type.name} ({batch.type:d}); {of.name} takes {allowed}"
                raise WireError("AcknowledgeTypes", -1, why)
    body = encode(schema, version, KINDS[type(message)].fill(message, around))
    header = header_of(schema)
    values: Struct = {}
    if header is REQUEST_HEADER:
        values = {"RequestApiKey": schema.key, "RequestApiVersion": version}
    client = {"RequestHeader.ClientId": around.client_id}
    return encode_frame(encode(header, header_version(schema, version), values, client), body)


def _with_known(state: S, of: Iteration) -> S:
    return state.but(batches=tuple(_drop_unknown(batch, of) for batch in state.batches))


def _drop_unknown(batch: StateBatch, of: Iteration) -> StateBatch:
    """Return a batch without the staged fields that an iteration does not have."""
    if STAGED_STATE not in of.staged_fields:
        batch = batch.but(staged_state=-1)
    if not of.staged_fields:
        batch = batch.but(staged_producer_id=-1, staged_producer_epoch=-1, staged_type=-1)
    return batch


def _with_key(schema: Schema, of: Iteration, fields: tuple[Field, ...]) -> Schema:
    return schema.but(key=of.key, fields=fields, status=DRAFT)


def _drop_fields(fields: tuple[Field, ...], name: str) -> tuple[Field, ...]:
    """Return fields, and those inside them, without the ones of a name."""
    return tuple(
        field.but(fields=_drop_fields(field.fields, name)) for field in fields if field.name != name
    )


def _mark_staged(fields: tuple[Field, ...], of: Iteration, version: int) -> tuple[Field, ...]:
    """Return fields with the staged ones of a state batch as plain fields from a version on."""
    found = []
    for field in fields:
        inside = _mark_staged(field.fields, of, version)
        if field.name == state_batches.STATE_BATCHES.name:
            kept = tuple(f for f in inside if f.name not in _TYPES)
            added = (
                Field(name, _TYPES[name], f"{version}+", default="-1", status=DRAFT)
                for name in of.staged_fields
            )
            inside = (*kept, *added)
        found.append(field.but(fields=inside))
    return tuple(found)
