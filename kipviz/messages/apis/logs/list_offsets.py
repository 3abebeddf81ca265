"""The API that looks up an offset. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import DISK, FORMAT, NO_EPOCHS, UNEXPECTED, Never, at
from kipviz.messages.apis.rights import DESCRIBE_EACH, topics_of
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.logs import list_offsets as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, topics
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of
from kipviz.settings.client_configs import REQUEST_TIMEOUT_MS

LIST_OFFSETS_REQUEST = Schema(
    "ListOffsetsRequest",
    2,
    "1-11",
    "6+",
    (
        Field("ReplicaId", "int32"),
        Field("IsolationLevel", "int8", "2+"),
        Field(
            "Topics",
            "[]ListOffsetsTopic",
            fields=(
                Field("Name", "string"),
                Field(
                    "Partitions",
                    "[]ListOffsetsPartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("CurrentLeaderEpoch", "int32", "4+", default="-1"),
                        Field("Timestamp", "int64"),
                    ),
                ),
            ),
        ),
        Field("TimeoutMs", "int32", "10+"),
    ),
)

LIST_OFFSETS_RESPONSE = Schema(
    "ListOffsetsResponse",
    2,
    "1-11",
    "6+",
    (
        Field("ThrottleTimeMs", "int32", "2+"),
        Field(
            "Topics",
            "[]ListOffsetsTopicResponse",
            fields=(
                Field("Name", "string"),
                Field(
                    "Partitions",
                    "[]ListOffsetsPartitionResponse",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                        Field("Timestamp", "int64", "1+", default="-1"),
                        Field("Offset", "int64", "1+", default="-1"),
                        Field("LeaderEpoch", "int32", "4+", default="-1"),
                    ),
                ),
            ),
        ),
    ),
)


def _encode_request(m: model.ListOffsets, _: Around) -> Struct:
    asked = (
        (
            each.partition,
            {"PartitionIndex": index_of(each.partition), "Timestamp": each.timestamp},
        )
        for each in m.partitions
    )
    return {"IsolationLevel": int(m.read_committed), "Topics": topics(asked, _encode_topic)}


def _encode_topic(topic: str, partitions: tuple[Struct, ...]) -> Struct:
    return {"Name": topic, "Partitions": partitions}


def _decode_request(fields: Struct, incoming: Incoming) -> tuple[model.ListOffsets, ...]:
    """Return the request with the partitions that are not rejected before their leader is asked."""
    committed = bool(fields.get("IsolationLevel", 0))
    rejected = reject_parts(fields, incoming)
    asked = tuple(
        model.ListOffsetsPartition(partition, part["Timestamp"])
        for partition, part in incoming.parts_of(fields["Topics"])
        if partition not in rejected
    )
    return (model.ListOffsets(asked, committed),) if asked else ()


def reject_parts(fields: Struct, incoming: Incoming) -> dict[str, Errors]:
    """Return the error of each partition whose leader is not asked: it is named twice, or has an unknown timestamp.

    Source: ReplicaManager.fetchOffset.
    """
    rejected: dict[str, Errors] = {}
    seen: set[str] = set()
    for partition, part in incoming.parts_of(fields["Topics"]):
        if partition in seen:
            rejected[partition] = Errors.INVALID_REQUEST
        elif not model.is_supported(part["Timestamp"], incoming.version):
            rejected[partition] = Errors.UNSUPPORTED_VERSION
        seen.add(partition)
    return rejected


def _encode_response(m: model.ListOffsetsResponse, _: Around) -> Struct:
    found = ((each.partition, _encode_part(each)) for each in m.responses)
    return {"Topics": topics(found, _encode_topic)}


def _encode_part(part: model.ListOffsetsPartitionResponse) -> Struct:
    return {
        "PartitionIndex": index_of(part.partition),
        "ErrorCode": part.error,
        "Timestamp": part.timestamp_ms,
        "Offset": part.offset,
        "LeaderEpoch": part.leader_epoch,
    }


def _reject_each(request: model.ListOffsets, error: Errors) -> model.ListOffsetsResponse:
    results = (
        model.ListOffsetsPartitionResponse(each.partition, error) for each in request.partitions
    )
    return model.ListOffsetsResponse(tuple(results))


APIS = (
    Api(
        request=model.ListOffsets,
        response=model.ListOffsetsResponse,
        request_bytes=RequestKind(
            LIST_OFFSETS_REQUEST,
            _encode_request,
            {
                "ListOffsetsRequest.ReplicaId": (-1, "a consumer"),
                "ListOffsetsRequest.TimeoutMs": REQUEST_TIMEOUT_MS.fixed,
            },
            decode=_decode_request,
        ),
        response_bytes=Kind(LIST_OFFSETS_RESPONSE, _encode_response),
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITIONS,
        needs=(DESCRIBE_EACH,),
        refusal=_reject_each,
        errors=(
            at(
                "Topics.Partitions.ErrorCode",
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.NOT_LEADER_OR_FOLLOWER,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                NO_EPOCHS,
                FORMAT,
                DISK,
                UNEXPECTED,
                Never(
                    "consumers ask leaders",
                    (
                        "REPLICA_NOT_AVAILABLE",
                        "LEADER_NOT_AVAILABLE",
                    ),
                ),
                Never(
                    "a new leader of the model knows its high watermark at once",
                    ("OFFSET_NOT_AVAILABLE",),
                ),
            ),
        ),
        topics=lambda m: topics_of(each.partition for each in m.partitions),
        error_place=ErrorPlace(
            first=lambda m: m.responses[0].error,
            put=lambda m, error: m.but(responses=with_errors(m.responses, error)),
        ),
        clause="KIP-98 ListOffsets version 2",
        kafka="Partition.fetchOffsetForTimestamp",
        answer_in="OffsetsRequestManager.resetPositionsIfNeeded",
        words=("list offsets", "offset"),
        by_name=True,
    ),
)
