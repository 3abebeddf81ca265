"""The API that deletes the oldest records of partitions. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.cluster.topic_creation import TIMEOUT_MS
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import DISK, Never, at
from kipviz.messages.apis.rights import Need, Operation, Resource
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.logs import deleted_records as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, topics
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of, topic_of

DELETE_RECORDS_REQUEST = Schema(
    "DeleteRecordsRequest",
    21,
    "0-2",
    "2+",
    (
        Field(
            "Topics",
            "[]DeleteRecordsTopic",
            fields=(
                Field("Name", "string"),
                Field(
                    "Partitions",
                    "[]DeleteRecordsPartition",
                    fields=(Field("PartitionIndex", "int32"), Field("Offset", "int64")),
                ),
            ),
        ),
        Field("TimeoutMs", "int32"),
    ),
)

DELETE_RECORDS_RESPONSE = Schema(
    "DeleteRecordsResponse",
    21,
    "0-2",
    "2+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Topics",
            "[]DeleteRecordsTopicResult",
            fields=(
                Field("Name", "string"),
                Field(
                    "Partitions",
                    "[]DeleteRecordsPartitionResult",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("LowWatermark", "int64"),
                        Field("ErrorCode", "int16"),
                    ),
                ),
            ),
        ),
    ),
)


def _delete(m: model.DeleteRecords, _: Around) -> Struct:
    parts = (
        (each.partition, {"PartitionIndex": index_of(each.partition), "Offset": each.offset})
        for each in m.partitions
    )
    named = topics(parts, lambda topic, items: {"Name": topic, "Partitions": items})
    return {"Topics": named, "TimeoutMs": TIMEOUT_MS}


def _decode_delete(fields: Struct, incoming: Incoming) -> tuple[model.DeleteRecords, ...]:
    parts = incoming.parts_of(fields["Topics"])
    named = (model.DeleteRecordsPartition(partition, part["Offset"]) for partition, part in parts)
    return (model.DeleteRecords(tuple(named)),)


def _encode_deleted(m: model.DeleteRecordsResponse, _: Around) -> Struct:
    parts = (
        (
            each.partition,
            {
                "PartitionIndex": index_of(each.partition),
                "LowWatermark": each.low_watermark,
                "ErrorCode": each.error,
            },
        )
        for each in m.results
    )
    return {"Topics": topics(parts, lambda topic, items: {"Name": topic, "Partitions": items})}


def _refuse(m: model.DeleteRecords, error: Errors) -> model.DeleteRecordsResponse:
    return model.DeleteRecordsResponse(
        tuple(model.DeleteRecordsPartitionResult(each.partition, error) for each in m.partitions)
    )


APIS = (
    Api(
        request=model.DeleteRecords,
        response=model.DeleteRecordsResponse,
        request_bytes=RequestKind(DELETE_RECORDS_REQUEST, _delete, decode=_decode_delete),
        response_bytes=Kind(DELETE_RECORDS_RESPONSE, _encode_deleted),
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=(Need(Operation.DELETE, Resource.TOPIC, each=True),),
        refusal=_refuse,
        topics=lambda m: tuple(dict.fromkeys(topic_of(each.partition) for each in m.partitions)),
        error_place=ErrorPlace(
            first=lambda m: m.results[0].error if m.results else Errors.NONE,
            put=lambda m, error: m.but(results=with_errors(m.results, error)),
        ),
        errors=(
            at(
                "Topics.Partitions.ErrorCode",
                Errors.OFFSET_OUT_OF_RANGE,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.NOT_LEADER_OR_FOLLOWER,
                Errors.INVALID_TOPIC_EXCEPTION,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.POLICY_VIOLATION,
                DISK,
                Never("the response waits for no replica", ("REQUEST_TIMED_OUT",)),
            ),
        ),
        clause="KIP-107",
        kafka="KafkaApis.handleDeleteRecordsRequest",
        answer_in="DeleteRecordsHandler.handleResponse",
        words=("delete records", "deleted"),
    ),
)
