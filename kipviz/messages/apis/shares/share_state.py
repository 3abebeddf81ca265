"""The APIs of a share coordinator, which brokers call for share-partitions.

Fields and versions: Kafka 4.4.0. The response to a read has open transactional acknowledgements in a tag that Kafka's
reader would skip (our inference). `staged_state` has the requests that no draft names.
"""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import COORDINATOR, READS, UNEXPECTED, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import INTER_BROKER
from kipviz.messages.apis.shards import Shard
from kipviz.messages.apis.shares.staged_state import OF_DRAFTS
from kipviz.messages.apis.shares.state_batches import (
    GROUP_ID,
    PENDING_ACKNOWLEDGEMENTS,
    STATE_BATCHES,
    decode_keyed,
    decode_states,
    encode_keyed,
    encode_results,
    encode_state,
    encode_states,
    state_results,
    state_topics,
)
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.shares import share_state as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.kind import Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema

COMPLETE_COUNT = Field("DeliveryCompleteCount", "int32", "1+", default="-1")


INITIALIZE_SHARE_GROUP_STATE_REQUEST = Schema(
    "InitializeShareGroupStateRequest",
    83,
    "0",
    "0+",
    (
        GROUP_ID,
        state_topics(
            "InitializeStateData", Field("StateEpoch", "int32"), Field("StartOffset", "int64")
        ),
    ),
)

INITIALIZE_SHARE_GROUP_STATE_RESPONSE = Schema(
    "InitializeShareGroupStateResponse", 83, "0", "0+", state_results("InitializeStateResult")
)

DELETE_SHARE_GROUP_STATE_REQUEST = Schema(
    "DeleteShareGroupStateRequest", 86, "0", "0+", (GROUP_ID, state_topics("DeleteStateData"))
)

DELETE_SHARE_GROUP_STATE_RESPONSE = Schema(
    "DeleteShareGroupStateResponse", 86, "0", "0+", state_results("DeleteStateResult")
)

READ_SHARE_GROUP_STATE_SUMMARY_REQUEST = Schema(
    "ReadShareGroupStateSummaryRequest",
    87,
    "0-1",
    "0+",
    (GROUP_ID, state_topics("ReadStateSummaryData", Field("LeaderEpoch", "int32"))),
)

READ_SHARE_GROUP_STATE_SUMMARY_RESPONSE = Schema(
    "ReadShareGroupStateSummaryResponse",
    87,
    "0-1",
    "0+",
    state_results(
        "ReadStateSummaryResult",
        Field("StateEpoch", "int32"),
        Field("LeaderEpoch", "int32"),
        Field("StartOffset", "int64"),
        COMPLETE_COUNT,
    ),
)

READ_SHARE_GROUP_STATE_REQUEST = Schema(
    "ReadShareGroupStateRequest",
    84,
    "0",
    "0+",
    (GROUP_ID, state_topics("ReadStateData", Field("LeaderEpoch", "int32"))),
)

READ_SHARE_GROUP_STATE_RESPONSE = Schema(
    "ReadShareGroupStateResponse",
    84,
    "0",
    "0+",
    state_results(
        "ReadStateResult",
        Field("StateEpoch", "int32"),
        Field("StartOffset", "int64"),
        STATE_BATCHES,
        PENDING_ACKNOWLEDGEMENTS,
    ),
)

WRITE_SHARE_GROUP_STATE_REQUEST = Schema(
    "WriteShareGroupStateRequest",
    85,
    "0-1",
    "0+",
    (
        GROUP_ID,
        state_topics(
            "WriteStateData",
            Field("StateEpoch", "int32"),
            Field("LeaderEpoch", "int32"),
            Field("StartOffset", "int64"),
            COMPLETE_COUNT,
            STATE_BATCHES,
        ),
    ),
)

WRITE_SHARE_GROUP_STATE_RESPONSE = Schema(
    "WriteShareGroupStateResponse", 85, "0-1", "0+", state_results("WriteStateResult")
)


def _encode_read(each: model.ReadStateData) -> Struct:
    return {"LeaderEpoch": each.leader_epoch}


def _decode_read(key: str, part: Struct) -> model.ReadStateData:
    return model.ReadStateData(key, part["LeaderEpoch"])


def _encode_state(each: model.ReadStateResult) -> Struct:
    return {"ErrorCode": each.error, **encode_state(each)}


def _encode_write(each: model.WriteStateData) -> Struct:
    return {
        "StateEpoch": each.state_epoch,
        "LeaderEpoch": each.leader_epoch,
        "StartOffset": each.start_offset,
        "DeliveryCompleteCount": each.delivery_complete_count,
        "StateBatches": encode_states(each.batches),
    }


def _decode_write(key: str, part: Struct) -> model.WriteStateData:
    return model.WriteStateData(
        key,
        part["StateEpoch"],
        part["LeaderEpoch"],
        part["StartOffset"],
        part.get("DeliveryCompleteCount", -1),
        decode_states(part["StateBatches"]),
    )


def _encode_initialize(each: model.InitializeStateData) -> Struct:
    return {"StateEpoch": each.state_epoch, "StartOffset": each.start_offset}


def _decode_initialize(key: str, part: Struct) -> model.InitializeStateData:
    return model.InitializeStateData(key, part["StateEpoch"], part["StartOffset"])


def _encode_nothing(_: object) -> Struct:
    return {}


def _encode_error(
    each: model.WriteStateResult | model.InitializeStateResult | model.DeleteStateResult,
) -> Struct:
    return {"ErrorCode": each.error}


def _encode_summary(each: model.ReadStateSummaryResult) -> Struct:
    return {
        "ErrorCode": each.error,
        "StateEpoch": each.state_epoch,
        "LeaderEpoch": each.leader_epoch,
        "StartOffset": each.start_offset,
        "DeliveryCompleteCount": each.delivery_complete_count,
    }


def _put_error(m: model.StatesResponse, error: Errors) -> Message:
    return m.but(results=with_errors(m.results, error))


# The errors are those of the share-partitions.
RESULTS = ErrorPlace[model.StatesResponse](first=lambda m: m.results[0].error, put=_put_error)

APIS = (
    Api(
        request=model.ReadShareGroupState,
        response=model.ReadShareGroupStateResponse,
        request_bytes=RequestKind(
            READ_SHARE_GROUP_STATE_REQUEST,
            lambda m, _: encode_keyed(m.partitions, _encode_read),
            decode=lambda fields, _: (
                model.ReadShareGroupState(decode_keyed(fields, _decode_read)),
            ),
        ),
        response_bytes=Kind(
            READ_SHARE_GROUP_STATE_RESPONSE, lambda m, _: encode_results(m.results, _encode_state)
        ),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEYS,
        appends=True,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.ReadShareGroupStateResponse(
            tuple(model.ReadStateResult(error, each.key) for each in m.partitions)
        ),
        errors=(
            at(
                "Results.Partitions.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.FENCED_LEADER_EPOCH,
                Errors.INVALID_REQUEST,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                UNEXPECTED,
            ),
        ),
        error_place=RESULTS,
        clause="KIP-932 ReadShareGroupState",
        kafka="ShareCoordinatorShard.readStateAndMaybeUpdateLeaderEpoch",
        answer_in="PersisterStateManager.ReadStateHandler",
        words=("read share state", "share state"),
        since="4.1.0",
    ),
    Api(
        request=model.InitializeShareGroupState,
        response=model.InitializeShareGroupStateResponse,
        request_bytes=RequestKind(
            INITIALIZE_SHARE_GROUP_STATE_REQUEST,
            lambda m, _: encode_keyed(m.partitions, _encode_initialize),
            decode=lambda fields, _: (
                model.InitializeShareGroupState(decode_keyed(fields, _decode_initialize)),
            ),
        ),
        response_bytes=Kind(
            INITIALIZE_SHARE_GROUP_STATE_RESPONSE,
            lambda m, _: encode_results(m.results, _encode_error),
        ),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEYS,
        appends=True,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.InitializeShareGroupStateResponse(
            tuple(model.InitializeStateResult(error, each.key) for each in m.partitions)
        ),
        errors=(
            at(
                "Results.Partitions.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.FENCED_STATE_EPOCH,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                UNEXPECTED,
            ),
        ),
        error_place=RESULTS,
        clause="KIP-932 InitializeShareGroupState",
        kafka="ShareCoordinatorShard.initializeState",
        answer_in="PersisterStateManager.InitializeStateHandler",
        words=("initialize share state", "initialized"),
        since="4.1.0",
    ),
    Api(
        request=model.WriteShareGroupState,
        response=model.WriteShareGroupStateResponse,
        request_bytes=RequestKind(
            WRITE_SHARE_GROUP_STATE_REQUEST,
            lambda m, _: encode_keyed(m.partitions, _encode_write),
            decode=lambda fields, _: (
                model.WriteShareGroupState(decode_keyed(fields, _decode_write)),
            ),
        ),
        response_bytes=Kind(
            WRITE_SHARE_GROUP_STATE_RESPONSE, lambda m, _: encode_results(m.results, _encode_error)
        ),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEYS,
        appends=True,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.WriteShareGroupStateResponse(
            tuple(model.WriteStateResult(error, each.key) for each in m.partitions)
        ),
        errors=(
            at(
                "Results.Partitions.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.FENCED_LEADER_EPOCH,
                Errors.FENCED_STATE_EPOCH,
                Errors.INVALID_REQUEST,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                UNEXPECTED,
            ),
        ),
        error_place=RESULTS,
        clause="KIP-932 WriteShareGroupState",
        kafka="ShareCoordinatorShard.writeState",
        answer_in="PersisterStateManager.WriteStateHandler",
        words=("write share state", "written"),
        since="4.1.0",
    ),
    *OF_DRAFTS,
    Api(
        request=model.DeleteShareGroupState,
        response=model.DeleteShareGroupStateResponse,
        request_bytes=RequestKind(
            DELETE_SHARE_GROUP_STATE_REQUEST,
            lambda m, _: encode_keyed(m.partitions, _encode_nothing),
            decode=lambda fields, _: (
                model.DeleteShareGroupState(
                    decode_keyed(fields, lambda key, _: model.DeleteStateData(key))
                ),
            ),
        ),
        response_bytes=Kind(
            DELETE_SHARE_GROUP_STATE_RESPONSE, lambda m, _: encode_results(m.results, _encode_error)
        ),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEYS,
        appends=True,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.DeleteShareGroupStateResponse(
            tuple(model.DeleteStateResult(error, each.key) for each in m.partitions)
        ),
        errors=(
            at(
                "Results.Partitions.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.CONCURRENT_TRANSACTIONS,
                UNEXPECTED,
            ),
        ),
        error_place=RESULTS,
        clause="KIP-932 DeleteShareGroupState",
        kafka="ShareCoordinatorShard.deleteState",
        answer_in="PersisterStateManager.DeleteStateHandler",
        words=("delete share state", "deleted"),
    ),
    Api(
        request=model.ReadShareGroupStateSummary,
        response=model.ReadShareGroupStateSummaryResponse,
        request_bytes=RequestKind(
            READ_SHARE_GROUP_STATE_SUMMARY_REQUEST,
            lambda m, _: encode_keyed(m.partitions, _encode_nothing),
            decode=lambda fields, _: (
                model.ReadShareGroupStateSummary(
                    decode_keyed(fields, lambda key, _: model.ReadStateSummaryData(key))
                ),
            ),
        ),
        response_bytes=Kind(
            READ_SHARE_GROUP_STATE_SUMMARY_RESPONSE,
            lambda m, _: encode_results(m.results, _encode_summary),
        ),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEYS,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.ReadShareGroupStateSummaryResponse(
            tuple(model.ReadStateSummaryResult(error, each.key) for each in m.partitions)
        ),
        errors=(
            at(
                "Results.Partitions.ErrorCode",
                *COORDINATOR,
                READS,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                UNEXPECTED,
            ),
        ),
        error_place=RESULTS,
        clause="KIP-932 ReadShareGroupStateSummary; KIP-1226",
        kafka="ShareCoordinatorShard.readStateSummary",
        answer_in="PersisterStateManager.ReadStateSummaryHandler",
        words=("summarize share state", "summary"),
    ),
)
