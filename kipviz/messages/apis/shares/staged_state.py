"""The requests of share-partitions that no draft names: to make an acknowledgement durable, and to tell an outcome.

Status: our inference. KIP-1289 names no request that makes transactional acknowledgements durable: TxnWriteShareGroupState
mirrors WriteShareGroupState and has no key.
"""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.legal_errors import UNEXPECTED, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import Need, Operation, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.apis.shares.state_batches import (
    GROUP_ID,
    INFERRED,
    PENDING_ACKNOWLEDGEMENTS,
    STAGED_BATCH,
    STATE_BATCHES,
    decode_staged,
    decode_states,
    encode_one,
    encode_result,
    encode_staged,
    encode_state,
    list_parts,
    state_results,
    state_topics,
)
from kipviz.messages.errors import Errors
from kipviz.messages.shares import share_state as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema

TXN_WRITE_SHARE_GROUP_STATE_REQUEST = Schema(
    "TxnWriteShareGroupStateRequest",
    -1,
    "0",
    "0+",
    (
        GROUP_ID,
        Field("TransactionalId", "string"),
        Field("ProducerId", "int64"),
        Field("ProducerEpoch", "int16"),
        state_topics(
            "WriteStateData",
            Field("StateEpoch", "int32"),
            Field("LeaderEpoch", "int32"),
            Field("StartOffset", "int64"),
            Field("StagedBatches", "[]StagedBatch", fields=STAGED_BATCH),
            Field("Archiving", "bool", tag=0, tagged="0+"),
        ),
    ),
    status=INFERRED,
)

TXN_WRITE_SHARE_GROUP_STATE_RESPONSE = Schema(
    "TxnWriteShareGroupStateResponse",
    -1,
    "0",
    "0+",
    state_results("WriteStateResult"),
    status=INFERRED,
)


TELL_SHARE_GROUP_STATE_REQUEST = Schema(
    "TellShareGroupStateRequest",
    -1,
    "0",
    "0+",
    (
        GROUP_ID,
        state_topics(
            "TellStateData",
            Field("StateEpoch", "int32"),
            Field("StartOffset", "int64"),
            STATE_BATCHES,
            PENDING_ACKNOWLEDGEMENTS,
        ),
    ),
    status=INFERRED,
)

TELL_SHARE_GROUP_STATE_RESPONSE = Schema(
    "TellShareGroupStateResponse",
    -1,
    "0",
    "0+",
    state_results("WriteStateResult"),
    status=INFERRED,
)


def _tell(m: model.TellShareGroupState, _: Around) -> Struct:
    return encode_one(m.key, **encode_state(m))


def _decode_tell(fields: Struct, _: Incoming) -> tuple[model.TellShareGroupState, ...]:
    return tuple(
        model.TellShareGroupState(
            key,
            part["StateEpoch"],
            part["StartOffset"],
            decode_states(part["StateBatches"]),
            tuple(
                model.PendingBatch(
                    acknowledgement["ProducerId"], acknowledgement["ProducerEpoch"], staged
                )
                for acknowledgement in part.get("PendingAcknowledgements", ())
                for staged in decode_staged(acknowledgement["StagedBatches"])
            ),
        )
        for key, part in list_parts(fields)
    )


def _write_acknowledgements(m: model.TxnWriteShareGroupState, _: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        **encode_one(
            m.key,
            StateEpoch=m.state_epoch,
            LeaderEpoch=m.leader_epoch,
            StartOffset=m.start_offset,
            StagedBatches=encode_staged(m.staged),
            Archiving=m.archiving,
        ),
    }


def _decode_write_acknowledgements(
    fields: Struct, _: Incoming
) -> tuple[model.TxnWriteShareGroupState, ...]:
    return tuple(
        model.TxnWriteShareGroupState(
            key,
            part["StateEpoch"],
            part["LeaderEpoch"],
            fields["TransactionalId"],
            fields["ProducerId"],
            fields["ProducerEpoch"],
            decode_staged(part["StagedBatches"]),
            part["StartOffset"],
            part.get("Archiving", False),
        )
        for key, part in list_parts(fields)
    )


def _was_written(
    m: model.TxnWriteShareGroupStateResponse | model.TellShareGroupStateResponse, _: Around
) -> Struct:
    return encode_result(m.key, ErrorCode=m.error)


# The right that a request between brokers needs, if no release has that request.
AS_WRITE = (
    Need(Operation.CLUSTER_ACTION, Resource.CLUSTER, "as WriteShareGroupState", "our inference"),
)

OF_DRAFTS = (
    Api(
        request=model.TxnWriteShareGroupState,
        response=model.TxnWriteShareGroupStateResponse,
        request_bytes=RequestKind(
            TXN_WRITE_SHARE_GROUP_STATE_REQUEST,
            _write_acknowledgements,
            decode=_decode_write_acknowledgements,
        ),
        response_bytes=Kind(TXN_WRITE_SHARE_GROUP_STATE_RESPONSE, _was_written),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEY,
        appends=True,
        needs=AS_WRITE,
        refusal=lambda m, error: model.TxnWriteShareGroupStateResponse(error, m.key),
        errors=(
            at(
                "Results.Partitions.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.FENCED_LEADER_EPOCH,
                Errors.FENCED_STATE_EPOCH,
                Errors.INVALID_REQUEST,
                Errors.INVALID_PRODUCER_EPOCH,
                Errors.INVALID_TXN_STATE,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                UNEXPECTED,
            ),
        ),
        clause="none: KIP-1289 defers persistence to a follow-up KIP",
        kafka="none: our inference",
        answer_in="none: our inference",
        words=("write TX_PENDING", "TX_PENDING written"),
        since="kip-1289",
    ),
    Api(
        request=model.TellShareGroupState,
        response=model.TellShareGroupStateResponse,
        request_bytes=RequestKind(TELL_SHARE_GROUP_STATE_REQUEST, _tell, decode=_decode_tell),
        response_bytes=Kind(TELL_SHARE_GROUP_STATE_RESPONSE, _was_written),
        role=Role.SHARE_PARTITION_LEADER,
        shard=Shard.ANY,
        needs=AS_WRITE,
        refusal=lambda m, error: model.TellShareGroupStateResponse(error, m.key),
        errors=(
            at(
                "Results.Partitions.ErrorCode",
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
            ),
        ),
        clause="none: no draft has such a request (study B2)",
        kafka="none: our inference",
        answer_in="none: our inference",
        words=("notify leader", "notified"),
        since="kip-1289",
    ),
)
