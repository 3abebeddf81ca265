"""The APIs that brokers call for a share-partition: those of a share coordinator, and its notice of an outcome.

Read- and WriteShareGroupState are Kafka 4.4.0. The requests for transactional acknowledgements are our inference,
because KIP-1289 names no request that makes them durable: TxnWriteShareGroupState mirrors WriteShareGroupState and has
no key, and the response to a read has open transactional acknowledgements in a tag that Kafka's reader would skip.
"""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.legal_errors import COORDINATOR, READS, UNEXPECTED, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import INTER_BROKER, Need, Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.shares import share_state as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.kind import Around, Kind
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.share_group_state import StagedBatch, StateBatch

INFERRED = "our inference"
DRAFT = "draft"

STAGED_BATCH = (
    Field("FirstOffset", "int64"),
    Field("LastOffset", "int64"),
    Field("AcknowledgeType", "int8"),
    Field("DeliveryCount", "int16"),
)

STATE_BATCHES = Field(
    "StateBatches",
    "[]StateBatch",
    fields=(
        Field("FirstOffset", "int64"),
        Field("LastOffset", "int64"),
        Field("DeliveryState", "int8"),
        Field("DeliveryCount", "int16"),
        # For TX_PENDING only. In tagged fields, so that a batch without them is Kafka's; the draft's own place for them
        # is in `drafts`.
        Field("StagedProducerId", "int64", tag=0, tagged="0+", default="-1", status=DRAFT),
        Field("StagedProducerEpoch", "int16", tag=1, tagged="0+", default="-1", status=DRAFT),
        Field("StagedAcknowledgeType", "int8", tag=2, tagged="0+", default="-1", status=DRAFT),
        Field("StagedDeliveryState", "int8", tag=3, tagged="0+", default="-1", status=DRAFT),
    ),
)
PENDING_VOTES = Field(
    "PendingVotes",
    "[]PendingVote",
    tag=0,
    tagged="0+",
    status=INFERRED,
    fields=(
        Field("ProducerId", "int64"),
        Field("ProducerEpoch", "int16"),
        Field("StagedBatches", "[]StagedBatch", fields=STAGED_BATCH),
    ),
)
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


def _was_read(m: model.ReadShareGroupStateResponse, _: Around) -> Struct:
    return _result(m.key, ErrorCode=m.error, **_state(m))


def _tell(m: model.TellShareGroupState, _: Around) -> Struct:
    return _request(m.key, **_state(m))


def _state(m: model.ReadShareGroupStateResponse | model.TellShareGroupState) -> Struct:
    pending = tuple(
        {
            "ProducerId": p.producer_id,
            "ProducerEpoch": p.producer_epoch,
            "StagedBatches": _encode_batches((p.staged,)),
        }
        for p in m.pending
    )
    return {
        "StateEpoch": m.state_epoch,
        "StartOffset": m.start_offset,
        "StateBatches": _states(m.batches),
        **({"PendingVotes": pending} if pending else {}),
    }


def _write(m: model.WriteShareGroupState, _: Around) -> Struct:
    return _request(
        m.key,
        StateEpoch=m.state_epoch,
        LeaderEpoch=m.leader_epoch,
        StartOffset=m.start_offset,
        DeliveryCompleteCount=m.delivery_complete_count,
        StateBatches=_states(m.batches),
    )


def _initialize(m: model.InitializeShareGroupState, _: Around) -> Struct:
    return _request(m.key, StateEpoch=m.state_epoch, StartOffset=m.start_offset)


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
            StagedBatches=_encode_batches(m.staged),
            Archiving=m.archiving,
        ),
    }


def _parts(key: str) -> tuple[str, str, int]:
    """Split a share-partition's key, group:topicId:partition."""
    group, topic_id, index = key.rsplit(":", 2)
    return group, topic_id, int(index)


def _request(key: str, **partition: object) -> Struct:
    group, topic_id, index = _parts(key)
    each = ({"Partition": index, **partition},)
    return {"GroupId": group, "Topics": ({"TopicId": topic_id, "Partitions": each},)}


def _result(key: str, **partition: object) -> Struct:
    _, topic_id, index = _parts(key)
    each = ({"Partition": index, **partition},)
    return {"Results": ({"TopicId": topic_id, "Partitions": each},)}


def _states(batches: tuple[StateBatch, ...]) -> tuple[Struct, ...]:
    return tuple(
        {
            "FirstOffset": b.first,
            "LastOffset": b.last,
            "DeliveryState": b.state,
            "DeliveryCount": b.delivery_count,
            **(_of_pending(b) if b.staged != NOTHING_STAGED else {}),
        }
        for b in batches
    )


NOTHING_STAGED = (-1, -1, -1, -1)


def _of_pending(batch: StateBatch) -> Struct:
    staged = {
        "StagedProducerId": batch.staged_producer_id,
        "StagedProducerEpoch": batch.staged_producer_epoch,
        "StagedAcknowledgeType": batch.staged_type,
    }
    return (
        staged if batch.staged_state < 0 else {**staged, "StagedDeliveryState": batch.staged_state}
    )


def _encode_batches(batches: tuple[StagedBatch, ...]) -> tuple[Struct, ...]:
    return tuple(
        {
            "FirstOffset": b.first,
            "LastOffset": b.last,
            "AcknowledgeType": b.acknowledge_type,
            "DeliveryCount": b.delivery_count,
        }
        for b in batches
    )


# The right that a request between brokers needs, if no release has that request.
AS_WRITE = (
    Need(Operation.CLUSTER_ACTION, Resource.CLUSTER, "as WriteShareGroupState", "our inference"),
)

APIS: tuple[Api, ...] = (
    Api(
        request=model.ReadShareGroupState,
        response=model.ReadShareGroupStateResponse,
        request_bytes=Kind(READ_SHARE_GROUP_STATE_REQUEST, _read),
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
        request_bytes=Kind(INITIALIZE_SHARE_GROUP_STATE_REQUEST, _initialize),
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
        words=("init share state", "initialised"),
        since="4.1.0",
    ),
    Api(
        request=model.WriteShareGroupState,
        response=model.WriteShareGroupStateResponse,
        request_bytes=Kind(WRITE_SHARE_GROUP_STATE_REQUEST, _write),
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
        request_bytes=Kind(TXN_WRITE_SHARE_GROUP_STATE_REQUEST, _write_votes),
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
        words=("write vote", "vote written"),
        since="kip-1289",
    ),
    Api(
        request=model.TellShareGroupState,
        response=model.TellShareGroupStateResponse,
        request_bytes=Kind(TELL_SHARE_GROUP_STATE_REQUEST, _tell),
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
        words=("tell share state", "heard"),
        since="kip-1289",
    ),
    Api(
        request=model.DeleteShareGroupState,
        response=model.DeleteShareGroupStateResponse,
        request_bytes=Kind(DELETE_SHARE_GROUP_STATE_REQUEST, _encode_key),
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
        request_bytes=Kind(READ_SHARE_GROUP_STATE_SUMMARY_REQUEST, _encode_key),
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
        words=("sum up share state", "summary"),
    ),
)
