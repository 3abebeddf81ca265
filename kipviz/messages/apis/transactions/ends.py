"""The APIs of the end of a transaction: EndTxn, and the markers. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.client_errors import OF_STATE, ClientErrors
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import ACKS, DAMAGE, DISK, FORMAT, SIZE, WAITS, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR, OF_A_LEADER
from kipviz.messages.apis.rights import (
    WRITE_ID,
    Need,
    Operation,
    Resource,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.apis.transactions.producer_ids import identity
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions import transactions as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes, topics
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of

END_TXN_REQUEST = Schema(
    "EndTxnRequest",
    26,
    "0-5",
    "3+",
    (
        Field("TransactionalId", "string"),
        Field("ProducerId", "int64"),
        Field("ProducerEpoch", "int16"),
        Field("Committed", "bool"),
    ),
)

END_TXN_RESPONSE = Schema(
    "EndTxnResponse",
    26,
    "0-5",
    "3+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        Field("ProducerId", "int64", "5+", default="-1"),
        Field("ProducerEpoch", "int16", "5+", default="-1"),
    ),
)

WRITE_TXN_MARKERS_REQUEST = Schema(
    "WriteTxnMarkersRequest",
    27,
    "1-2",
    "1+",
    (
        Field(
            "Markers",
            "[]WritableTxnMarker",
            fields=(
                Field("ProducerId", "int64"),
                Field("ProducerEpoch", "int16"),
                Field("TransactionResult", "bool"),
                Field(
                    "Topics",
                    "[]WritableTxnMarkerTopic",
                    fields=(
                        Field("Name", "string"),
                        Field("PartitionIndexes", "[]int32"),
                    ),
                ),
                Field("CoordinatorEpoch", "int32"),
                Field("TransactionVersion", "int8", "2+", default="0"),
            ),
        ),
    ),
)

WRITE_TXN_MARKERS_RESPONSE = Schema(
    "WriteTxnMarkersResponse",
    27,
    "1-2",
    "1+",
    (
        Field(
            "Markers",
            "[]WritableTxnMarkerResult",
            fields=(
                Field("ProducerId", "int64"),
                Field(
                    "Topics",
                    "[]WritableTxnMarkerTopicResult",
                    fields=(
                        Field("Name", "string"),
                        Field(
                            "Partitions",
                            "[]WritableTxnMarkerPartitionResult",
                            fields=(
                                Field("PartitionIndex", "int32"),
                                Field("ErrorCode", "int16"),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
)


def _end_txn(m: model.EndTxn, _: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        "Committed": m.committed,
    }


def _decode_end_txn(fields: Struct, incoming: Incoming) -> tuple[model.EndTxn, ...]:
    message = model.EndTxn(
        fields["TransactionalId"],
        fields["ProducerId"],
        fields["ProducerEpoch"],
        fields["Committed"],
        incoming.version,
    )
    return (message,)


def _encode_end_response(m: model.EndTxnResponse, around: Around) -> Struct:
    return {"ErrorCode": m.error} if around.version_of(m) < 5 else identity(m, around)


def _write_markers(m: model.WriteTxnMarkers, _: Around) -> Struct:
    def partitions(topic: str, found: tuple[int, ...]) -> Struct:
        return {"Name": topic, "PartitionIndexes": found}

    markers = (
        {
            "ProducerId": each.producer_id,
            "ProducerEpoch": each.producer_epoch,
            "TransactionResult": each.committed,
            "Topics": indexes(each.partitions, partitions),
            "CoordinatorEpoch": each.coordinator_epoch,
            "TransactionVersion": each.transaction_version,
        }
        for each in m.markers
    )
    return {"Markers": tuple(markers)}


def _decode_markers(fields: Struct, incoming: Incoming) -> tuple[model.WriteTxnMarkers, ...]:
    markers = tuple(
        model.TxnMarker(
            each["ProducerId"],
            each["ProducerEpoch"],
            each["TransactionResult"],
            incoming.partitions_of(each["Topics"], "PartitionIndexes"),
            each["CoordinatorEpoch"],
            each.get("TransactionVersion", 0),
        )
        for each in fields["Markers"]
    )
    return (model.WriteTxnMarkers(markers),)


def _wrote_markers(m: model.WriteTxnMarkersResponse, _: Around) -> Struct:
    markers = []
    for each in m.markers:
        results = (
            (r.partition, {"PartitionIndex": index_of(r.partition), "ErrorCode": r.error})
            for r in each.results
        )
        found = topics(results, lambda topic, rows: {"Name": topic, "Partitions": rows})
        markers.append({"ProducerId": each.producer_id, "Topics": found})
    return {"Markers": tuple(markers)}


def _markers_refused(
    request: model.WriteTxnMarkers, error: Errors
) -> model.WriteTxnMarkersResponse:
    results = (
        model.TxnMarkerResult(
            each.producer_id, tuple(model.PartitionResult(p, error) for p in each.partitions)
        )
        for each in request.markers
    )
    return model.WriteTxnMarkersResponse(tuple(results))


def _with_marker_errors(m: model.WriteTxnMarkersResponse, error: Errors) -> Message:
    markers = (each.but(results=with_errors(each.results, error)) for each in m.markers)
    return m.but(markers=tuple(markers))


APIS = (
    Api(
        request=model.EndTxn,
        response=model.EndTxnResponse,
        request_bytes=RequestKind(END_TXN_REQUEST, _end_txn, decode=_decode_end_txn),
        response_bytes=Kind(END_TXN_RESPONSE, _encode_end_response),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        appends=True,
        needs=(WRITE_ID,),
        refusal=lambda _, error: model.EndTxnResponse(error),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_SERVER_ERROR,
                Errors.INVALID_PRODUCER_EPOCH,
                Errors.INVALID_TXN_STATE,
                Errors.INVALID_PRODUCER_ID_MAPPING,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.PRODUCER_FENCED,
                Errors.INVALID_REQUEST,
                Errors.UNSUPPORTED_VERSION,
            ),
        ),
        # UNKNOWN_PRODUCER_ID fails only the transaction if the coordinator can bump an epoch, as all here can:
        # TransactionManager.abortableErrorIfPossible.
        client_errors=ClientErrors(
            abortable=(Errors.TRANSACTION_ABORTABLE, Errors.UNKNOWN_PRODUCER_ID),
            own_class=(
                *OF_STATE,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.TRANSACTION_ABORTABLE,
            ),
        ),
        decisive=True,
        clause="KIP-98 EndTxnRequest; KIP-890 part 2, EndTxn version 5",
        kafka="TransactionCoordinator.endTransaction",
        answer_in="TransactionManager.EndTxnHandler",
        may_be_late=True,
        newest=(("2.4", 1), ("3.5", 3), ("3.6", 3), ("3.9", 4), ("4.1.0", 5), ("4.3", 5)),
    ),
    Api(
        request=model.WriteTxnMarkers,
        response=model.WriteTxnMarkersResponse,
        request_bytes=RequestKind(
            WRITE_TXN_MARKERS_REQUEST, _write_markers, decode=_decode_markers
        ),
        response_bytes=Kind(WRITE_TXN_MARKERS_RESPONSE, _wrote_markers),
        role=Role.KAFKA_APIS,
        shard=Shard.FIRST_PARTITION,
        appends=True,
        needs=(Need(Operation.ALTER, Resource.CLUSTER, alternative=Operation.CLUSTER_ACTION),),
        refusal=_markers_refused,
        errors=(
            at(
                "Markers.Topics.Partitions.ErrorCode",
                Errors.NOT_LEADER_OR_FOLLOWER,
                Errors.NOT_ENOUGH_REPLICAS,
                Errors.INVALID_PRODUCER_EPOCH,
                Errors.TRANSACTION_COORDINATOR_FENCED,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                ACKS,
                SIZE,
                WAITS,
                DAMAGE,
                FORMAT,
                DISK,
            ),
        ),
        error_place=ErrorPlace(
            first=lambda _: None,
            others=lambda m: tuple(each.error for each in m.results),
            put=_with_marker_errors,
        ),
        clause="KIP-98 WriteTxnMarkerRequest; KIP-1228",
        kafka="KafkaApis.handleWriteTxnMarkersRequest",
        answer_in="TransactionMarkerRequestCompletionHandler",
        words=("", "marker written"),
        admin_retries=OF_A_LEADER,
        may_be_late=True,
    ),
)
