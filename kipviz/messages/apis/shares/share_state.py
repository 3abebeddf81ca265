"""The APIs that brokers call for a share-partition: those of a share coordinator, and its notice of an outcome.

Read- and WriteShareGroupState are Kafka 4.4.0. The requests for transactional acknowledgements are our inference,
because KIP-1289 names no request that makes them durable: TxnWriteShareGroupState mirrors WriteShareGroupState and has
no key, and the response to a read has open transactional acknowledgements in a tag that Kafka's reader would skip.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.legal_errors import COORDINATOR, READS, UNEXPECTED, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import INTER_BROKER, Need, Operation, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.apis.shares.state_batches import (
    INFERRED,
    PENDING_VOTES,
    STAGED_BATCH,
    STATE_BATCHES,
    decode_staged,
    decode_states,
    encode_staged,
    encode_states,
)
from kipviz.messages.errors import Errors
from kipviz.messages.shares import share_state as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import share_partition_key

COMPLETE_COUNT = Field("DeliveryCompleteCount", "int32", "1+", default="-1")


def _topics(kind: str, *more: Field) -> Field:
    """Return the fields of a request that name share-partitions, with further fields for each."""
    fields = (Field("Partition", "int32"), *more)
    partitions = Field("Partitions", "[]PartitionData", fields=fields)
    return Field("Topics", f"[]{kind}", fields=(Field("TopicId", "uuid"), partitions))


def _results(kind: str, *more: Field) -> tuple[Field, ...]:
    """Return the fields of a response: for each share-partition an error, and further fields without an error."""
    fields = (
        Field("Partition", "int32"),
        Field("ErrorCode", "int16"),
        Field("ErrorMessage", "string", default="null", nullable="0+"),
        *more,
    )
    partitions = Field("Partitions", "[]PartitionResult", fields=fields)
    return (Field("Results", f"[]{kind}", fields=(Field("TopicId", "uuid"), partitions)),)


GROUP_ID = Field("GroupId", "string")

INITIALIZE_SHARE_GROUP_STATE_REQUEST = Schema(
    "InitializeShareGroupStateRequest",
    83,
    "0",
    "0+",
    (
        GROUP_ID,
        _topics("InitializeStateData", Field("StateEpoch", "int32"), Field("StartOffset", "int64")),
    ),
)

INITIALIZE_SHARE_GROUP_STATE_RESPONSE = Schema(
    "InitializeShareGroupStateResponse", 83, "0", "0+", _results("InitializeStateResult")
)

DELETE_SHARE_GROUP_STATE_REQUEST = Schema(
    "DeleteShareGroupStateRequest", 86, "0", "0+", (GROUP_ID, _topics("DeleteStateData"))
)

DELETE_SHARE_GROUP_STATE_RESPONSE = Schema(
    "DeleteShareGroupStateResponse", 86, "0", "0+", _results("DeleteStateResult")
)

READ_SHARE_GROUP_STATE_SUMMARY_REQUEST = Schema(
    "ReadShareGroupStateSummaryRequest",
    87,
    "0-1",
    "0+",
    (GROUP_ID, _topics("ReadStateSummaryData", Field("LeaderEpoch", "int32"))),
)

READ_SHARE_GROUP_STATE_SUMMARY_RESPONSE = Schema(
    "ReadShareGroupStateSummaryResponse",
    87,
    "0-1",
    "0+",
    _results(
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
    (GROUP_ID, _topics("ReadStateData", Field("LeaderEpoch", "int32"))),
)

READ_SHARE_GROUP_STATE_RESPONSE = Schema(
    "ReadShareGroupStateResponse",
    84,
    "0",
    "0+",
    _results(
        "ReadStateResult",
        Field("StateEpoch", "int32"),
        Field("StartOffset", "int64"),
        STATE_BATCHES,
        PENDING_VOTES,
    ),
)

WRITE_SHARE_GROUP_STATE_REQUEST = Schema(
    "WriteShareGroupStateRequest",
    85,
    "0-1",
    "0+",
    (
        GROUP_ID,
        _topics(
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
    "WriteShareGroupStateResponse", 85, "0-1", "0+", _results("WriteStateResult")
)

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
        _topics(
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
    WRITE_SHARE_GROUP_STATE_RESPONSE.fields,
    status=INFERRED,
)


TELL_SHARE_GROUP_STATE_REQUEST = Schema(
    "TellShareGroupStateRequest",
    -1,
    "0",
    "0+",
    (
        GROUP_ID,
        _topics(
            "TellStateData",
            Field("StateEpoch", "int32"),
            Field("StartOffset", "int64"),
            STATE_BATCHES,
            PENDING_VOTES,
        ),
    ),
    status=INFERRED,
)

TELL_SHARE_GROUP_STATE_RESPONSE = Schema(
    "TellShareGroupStateResponse",
    -1,
    "0",
    "0+",
    WRITE_SHARE_GROUP_STATE_RESPONSE.fields,
    status=INFERRED,
)


def _read(m: model.ReadShareGroupState, _: Around) -> Struct:
    return _request(m.key, LeaderEpoch=m.leader_epoch)


def _decode_read(fields: Struct, _: Incoming) -> tuple[model.ReadShareGroupState, ...]:
    parts = _list_parts(fields)
    return tuple(model.ReadShareGroupState(key, part["LeaderEpoch"]) for key, part in parts)


def _was_read(m: model.ReadShareGroupStateResponse, _: Around) -> Struct:
    return _result(m.key, ErrorCode=m.error, **_state(m))


def _tell(m: model.TellShareGroupState, _: Around) -> Struct:
    return _request(m.key, **_state(m))


def _decode_tell(fields: Struct, _: Incoming) -> tuple[model.TellShareGroupState, ...]:
    return tuple(
        model.TellShareGroupState(
            key,
            part["StateEpoch"],
            part["StartOffset"],
            decode_states(part["StateBatches"]),
            tuple(
                model.PendingBatch(vote["ProducerId"], vote["ProducerEpoch"], staged)
                for vote in part.get("PendingVotes", ())
                for staged in decode_staged(vote["StagedBatches"])
            ),
        )
        for key, part in _list_parts(fields)
    )


def _state(m: model.ReadShareGroupStateResponse | model.TellShareGroupState) -> Struct:
    pending = tuple(
        {
            "ProducerId": p.producer_id,
            "ProducerEpoch": p.producer_epoch,
            "StagedBatches": encode_staged((p.staged,)),
        }
        for p in m.pending
    )
    return {
        "StateEpoch": m.state_epoch,
        "StartOffset": m.start_offset,
        "StateBatches": encode_states(m.batches),
        **({"PendingVotes": pending} if pending else {}),
    }


def _write(m: model.WriteShareGroupState, _: Around) -> Struct:
    return _request(
        m.key,
        StateEpoch=m.state_epoch,
        LeaderEpoch=m.leader_epoch,
        StartOffset=m.start_offset,
        DeliveryCompleteCount=m.delivery_complete_count,
        StateBatches=encode_states(m.batches),
    )


def _decode_write(fields: Struct, _: Incoming) -> tuple[model.WriteShareGroupState, ...]:
    return tuple(
        model.WriteShareGroupState(
            key,
            part["StateEpoch"],
            part["LeaderEpoch"],
            part["StartOffset"],
            part.get("DeliveryCompleteCount", -1),
            decode_states(part["StateBatches"]),
        )
        for key, part in _list_parts(fields)
    )


def _initialize(m: model.InitializeShareGroupState, _: Around) -> Struct:
    return _request(m.key, StateEpoch=m.state_epoch, StartOffset=m.start_offset)


def _decode_initialize(fields: Struct, _: Incoming) -> tuple[model.InitializeShareGroupState, ...]:
    return tuple(
        model.InitializeShareGroupState(key, part["StateEpoch"], part["StartOffset"])
        for key, part in _list_parts(fields)
    )


def _was_written(
    m: model.WriteShareGroupStateResponse
    | model.TxnWriteShareGroupStateResponse
    | model.TellShareGroupStateResponse
    | model.InitializeShareGroupStateResponse
    | model.DeleteShareGroupStateResponse,
    _: Around,
) -> Struct:
    return _result(m.key, ErrorCode=m.error)


def _encode_key(
    m: model.DeleteShareGroupState | model.ReadShareGroupStateSummary, _: Around
) -> Struct:
    return _request(m.key)


def _decode_delete(fields: Struct, _: Incoming) -> tuple[model.DeleteShareGroupState, ...]:
    return tuple(model.DeleteShareGroupState(key) for key, _ in _list_parts(fields))


def _decode_summary(fields: Struct, _: Incoming) -> tuple[model.ReadShareGroupStateSummary, ...]:
    return tuple(model.ReadShareGroupStateSummary(key) for key, _ in _list_parts(fields))


def _encode_summary(m: model.ReadShareGroupStateSummaryResponse, _: Around) -> Struct:
    return _result(
        m.key,
        ErrorCode=m.error,
        StateEpoch=m.state_epoch,
        LeaderEpoch=m.leader_epoch,
        StartOffset=m.start_offset,
        DeliveryCompleteCount=m.delivery_complete_count,
    )


def _write_votes(m: model.TxnWriteShareGroupState, _: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        **_request(
            m.key,
            StateEpoch=m.state_epoch,
            LeaderEpoch=m.leader_epoch,
            StartOffset=m.start_offset,
            StagedBatches=encode_staged(m.staged),
            Archiving=m.archiving,
        ),
    }


def _decode_write_votes(fields: Struct, _: Incoming) -> tuple[model.TxnWriteShareGroupState, ...]:
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
        for key, part in _list_parts(fields)
    )


def _parts(key: str) -> tuple[str, str, int]:
    """Split a share-partition's key, group:topicId:partition."""
    group, topic_id, index = key.rsplit(":", 2)
    return group, topic_id, int(index)


def _request(key: str, **partition: object) -> Struct:
    group, topic_id, index = _parts(key)
    each = ({"Partition": index, **partition},)
    return {"GroupId": group, "Topics": ({"TopicId": topic_id, "Partitions": each},)}


def _list_parts(fields: Struct) -> Iterator[tuple[str, Struct]]:
    """Yield (key, fields) of every share-partition of a request: the model has a message for each."""
    for topic in fields["Topics"]:
        for part in topic["Partitions"]:
            yield share_partition_key(fields["GroupId"], topic["TopicId"], part["Partition"]), part


def _result(key: str, **partition: object) -> Struct:
    _, topic_id, index = _parts(key)
    each = ({"Partition": index, **partition},)
    return {"Results": ({"TopicId": topic_id, "Partitions": each},)}


# The right that a request between brokers needs, if no release has that request.
AS_WRITE = (
    Need(Operation.CLUSTER_ACTION, Resource.CLUSTER, "as WriteShareGroupState", "our inference"),
)

APIS = (
    Api(
        request=model.ReadShareGroupState,
        response=model.ReadShareGroupStateResponse,
        request_bytes=RequestKind(READ_SHARE_GROUP_STATE_REQUEST, _read, decode=_decode_read),
        response_bytes=Kind(READ_SHARE_GROUP_STATE_RESPONSE, _was_read),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEY,
        appends=True,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.ReadShareGroupStateResponse(error, m.key),
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
            INITIALIZE_SHARE_GROUP_STATE_REQUEST, _initialize, decode=_decode_initialize
        ),
        response_bytes=Kind(INITIALIZE_SHARE_GROUP_STATE_RESPONSE, _was_written),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEY,
        appends=True,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.InitializeShareGroupStateResponse(error, m.key),
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
        clause="KIP-932 InitializeShareGroupState",
        kafka="ShareCoordinatorShard.initializeState",
        answer_in="PersisterStateManager.InitializeStateHandler",
        words=("initialize share state", "initialized"),
        since="4.1.0",
    ),
    Api(
        request=model.WriteShareGroupState,
        response=model.WriteShareGroupStateResponse,
        request_bytes=RequestKind(WRITE_SHARE_GROUP_STATE_REQUEST, _write, decode=_decode_write),
        response_bytes=Kind(WRITE_SHARE_GROUP_STATE_RESPONSE, _was_written),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEY,
        appends=True,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.WriteShareGroupStateResponse(error, m.key),
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
        clause="KIP-932 WriteShareGroupState",
        kafka="ShareCoordinatorShard.writeState",
        answer_in="PersisterStateManager.WriteStateHandler",
        words=("write share state", "written"),
        since="4.1.0",
    ),
    Api(
        request=model.TxnWriteShareGroupState,
        response=model.TxnWriteShareGroupStateResponse,
        request_bytes=RequestKind(
            TXN_WRITE_SHARE_GROUP_STATE_REQUEST, _write_votes, decode=_decode_write_votes
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
    Api(
        request=model.DeleteShareGroupState,
        response=model.DeleteShareGroupStateResponse,
        request_bytes=RequestKind(
            DELETE_SHARE_GROUP_STATE_REQUEST, _encode_key, decode=_decode_delete
        ),
        response_bytes=Kind(DELETE_SHARE_GROUP_STATE_RESPONSE, _was_written),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEY,
        appends=True,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.DeleteShareGroupStateResponse(error, m.key),
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
        clause="KIP-932 DeleteShareGroupState",
        kafka="ShareCoordinatorShard.deleteState",
        answer_in="PersisterStateManager.DeleteStateHandler",
        words=("delete share state", "deleted"),
    ),
    Api(
        request=model.ReadShareGroupStateSummary,
        response=model.ReadShareGroupStateSummaryResponse,
        request_bytes=RequestKind(
            READ_SHARE_GROUP_STATE_SUMMARY_REQUEST, _encode_key, decode=_decode_summary
        ),
        response_bytes=Kind(READ_SHARE_GROUP_STATE_SUMMARY_RESPONSE, _encode_summary),
        role=Role.SHARE_COORDINATOR,
        shard=Shard.KEY,
        needs=INTER_BROKER,
        refusal=lambda m, error: model.ReadShareGroupStateSummaryResponse(error, m.key),
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
        clause="KIP-932 ReadShareGroupStateSummary; KIP-1226",
        kafka="ShareCoordinatorShard.readStateSummary",
        answer_in="PersisterStateManager.ReadStateSummaryHandler",
        words=("summarize share state", "summary"),
    ),
)
