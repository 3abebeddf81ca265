"""The API that reads the log of a partition. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import DAMAGE, DISK, UNEXPECTED, Never, OnlyRecorded, at
from kipviz.messages.apis.rights import READ_EACH, topics_of
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.logs import producing as model
from kipviz.messages.wire.batches import encode_batch
from kipviz.messages.wire.codec import Encoded, Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.batches import DataRecord
from kipviz.records.placement import index_of
from kipviz.settings.consumer_configs import (
    FETCH_MAX_BYTES,
    FETCH_MIN_BYTES,
)

FETCH_REQUEST = Schema(
    "FetchRequest",
    1,
    "4-18",
    "12+",
    (
        Field("ClusterId", "string", "12+", default="null", nullable="12+", tag=0, tagged="12+"),
        Field("ReplicaId", "int32", "0-14", default="-1"),
        Field(
            "ReplicaState",
            "ReplicaState",
            "15+",
            tag=1,
            tagged="15+",
            fields=(
                Field("ReplicaId", "int32", "15+", default="-1"),
                Field("ReplicaEpoch", "int64", "15+", default="-1"),
            ),
        ),
        Field("MaxWaitMs", "int32"),
        Field("MinBytes", "int32"),
        Field("MaxBytes", "int32", "3+", default="0x7fffffff"),
        Field("IsolationLevel", "int8", "4+", default="0"),
        Field("SessionId", "int32", "7+", default="0"),
        Field("SessionEpoch", "int32", "7+", default="-1"),
        Field(
            "Topics",
            "[]FetchTopic",
            fields=(
                Field("Topic", "string", "0-12"),
                Field("TopicId", "uuid", "13+"),
                Field(
                    "Partitions",
                    "[]FetchPartition",
                    fields=(
                        Field("Partition", "int32"),
                        Field("CurrentLeaderEpoch", "int32", "9+", default="-1"),
                        Field("FetchOffset", "int64"),
                        Field("LastFetchedEpoch", "int32", "12+", default="-1"),
                        Field("LogStartOffset", "int64", "5+", default="-1"),
                        Field("PartitionMaxBytes", "int32"),
                        Field("ReplicaDirectoryId", "uuid", "17+", tag=0, tagged="17+"),
                        Field(
                            "HighWatermark",
                            "int64",
                            "18+",
                            default="9223372036854775807",
                            tag=1,
                            tagged="18+",
                        ),
                    ),
                ),
            ),
        ),
        Field(
            "ForgottenTopicsData",
            "[]ForgottenTopic",
            "7+",
            fields=(
                Field("Topic", "string", "7-12"),
                Field("TopicId", "uuid", "13+"),
                Field("Partitions", "[]int32", "7+"),
            ),
        ),
        Field("RackId", "string", "11+"),
    ),
)

FETCH_RESPONSE = Schema(
    "FetchResponse",
    1,
    "4-18",
    "12+",
    (
        Field("ThrottleTimeMs", "int32", "1+"),
        Field("ErrorCode", "int16", "7+"),
        Field("SessionId", "int32", "7+", default="0"),
        Field(
            "Responses",
            "[]FetchableTopicResponse",
            fields=(
                Field("Topic", "string", "0-12"),
                Field("TopicId", "uuid", "13+"),
                Field(
                    "Partitions",
                    "[]PartitionData",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                        Field("HighWatermark", "int64"),
                        Field("LastStableOffset", "int64", "4+", default="-1"),
                        Field("LogStartOffset", "int64", "5+", default="-1"),
                        Field(
                            "DivergingEpoch",
                            "EpochEndOffset",
                            "12+",
                            tag=0,
                            tagged="12+",
                            fields=(
                                Field("Epoch", "int32", "12+", default="-1"),
                                Field("EndOffset", "int64", "12+", default="-1"),
                            ),
                        ),
                        Field(
                            "CurrentLeader",
                            "LeaderIdAndEpoch",
                            "12+",
                            tag=1,
                            tagged="12+",
                            fields=(
                                Field("LeaderId", "int32", "12+", default="-1"),
                                Field("LeaderEpoch", "int32", "12+", default="-1"),
                            ),
                        ),
                        Field(
                            "SnapshotId",
                            "SnapshotId",
                            "12+",
                            tag=2,
                            tagged="12+",
                            fields=(
                                Field("EndOffset", "int64", default="-1"),
                                Field("Epoch", "int32", default="-1"),
                            ),
                        ),
                        Field(
                            "AbortedTransactions",
                            "[]AbortedTransaction",
                            "4+",
                            nullable="4+",
                            fields=(
                                Field("ProducerId", "int64", "4+"),
                                Field("FirstOffset", "int64", "4+"),
                            ),
                        ),
                        Field("PreferredReadReplica", "int32", "11+", default="-1"),
                        Field("Records", "records", nullable="0+"),
                    ),
                ),
            ),
        ),
        Field(
            "NodeEndpoints",
            "[]NodeEndpoint",
            "16+",
            tag=0,
            tagged="16+",
            fields=(
                Field("NodeId", "int32", "16+"),
                Field("Host", "string", "16+"),
                Field("Port", "int32", "16+"),
                Field("Rack", "string", "16+", default="null", nullable="16+"),
            ),
        ),
    ),
)


def _fetch(m: model.Fetch, around: Around) -> Struct:
    wanted = (
        (
            each.partition,
            {
                "Partition": index_of(each.partition),
                "FetchOffset": each.fetch_offset,
                "PartitionMaxBytes": each.partition_max_bytes,
            },
        )
        for each in m.partitions
    )
    return {
        "MaxWaitMs": m.max_wait_ms,
        "IsolationLevel": int(m.read_committed),
        "Topics": around.by_topic_ids(wanted, "Partitions"),
    }


def _decode_fetch(fields: Struct, incoming: Incoming) -> tuple[model.Fetch, ...]:
    parts = incoming.parts_of(fields["Topics"], index="Partition")
    message = model.Fetch(
        tuple(
            model.FetchPartition(partition, part["FetchOffset"], part["PartitionMaxBytes"])
            for partition, part in parts
        ),
        bool(fields.get("IsolationLevel", 0)),
        # With MinBytes 0 there is nothing to wait for.
        max(fields["MaxWaitMs"], 0) if fields["MinBytes"] > 0 else 0,
    )
    return (message,)


def _encode_response(m: model.FetchResponse, around: Around) -> Struct:
    found = ((part.partition, _encode_part(part)) for part in m.responses)
    return {"Responses": around.by_topic_ids(found, "Partitions")}


def _encode_part(part: model.PartitionData) -> Struct:
    return {
        "PartitionIndex": index_of(part.partition),
        "ErrorCode": part.error,
        "Records": batch_of(part.records),
    }


def refused_in_each(request: model.Fetch, error: Errors) -> model.FetchResponse:
    """Return the response to a Fetch request that has an error for each of its partitions."""
    results = (model.PartitionData(each.partition, error) for each in request.partitions)
    return model.FetchResponse(tuple(results))


def batch_of(records: tuple[model.FetchedRecord, ...]) -> Encoded:
    """Encode fetched records as one batch; a fetched record does not name its producer."""
    if not records:
        return Encoded(b"", ())
    return encode_batch(tuple((r.offset, DataRecord(r.value)) for r in records), sender_told=False)


APIS = (
    Api(
        request=model.Fetch,
        response=model.FetchResponse,
        request_bytes=RequestKind(
            FETCH_REQUEST,
            _fetch,
            {
                "FetchRequest.MinBytes": FETCH_MIN_BYTES.fixed,
                "FetchRequest.MaxBytes": FETCH_MAX_BYTES.fixed,
                "FetchRequest.SessionEpoch": (0, "a first full fetch"),
            },
            decode=_decode_fetch,
        ),
        response_bytes=Kind(FETCH_RESPONSE, _encode_response),
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITIONS,
        needs=(READ_EACH,),
        refusal=refused_in_each,
        errors=(
            at(
                "ErrorCode",
                OnlyRecorded(
                    "a regular fetch of the model has no session", ("FETCH_SESSION_ID_NOT_FOUND",)
                ),
                Never(
                    "a regular fetch of the model has no session",
                    (
                        "INVALID_FETCH_SESSION_EPOCH",
                        "FETCH_SESSION_TOPIC_ID_ERROR",
                        "UNKNOWN_SERVER_ERROR",
                    ),
                ),
            ),
            at(
                "Responses.Partitions.ErrorCode",
                Errors.OFFSET_OUT_OF_RANGE,
                Errors.NOT_LEADER_OR_FOLLOWER,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_ID,
                OnlyRecorded(
                    "a client's request carries no leader epoch here",
                    ("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH"),
                ),
                DAMAGE,
                DISK,
                UNEXPECTED,
                Never(
                    "topics are named by id, so a missing one is UNKNOWN_TOPIC_ID",
                    ("UNKNOWN_TOPIC_OR_PARTITION",),
                ),
                Never("consumers read from leaders", ("REPLICA_NOT_AVAILABLE",)),
                Never("a partition's log has the id of its topic", ("INCONSISTENT_TOPIC_ID",)),
                Never("batches are not compressed", ("UNSUPPORTED_COMPRESSION_TYPE",)),
            ),
        ),
        topics=lambda m: topics_of(each.partition for each in m.partitions),
        error_place=ErrorPlace(
            first=lambda m: m.responses[0].error,
            put=lambda m, error: m.but(responses=with_errors(m.responses, error)),
        ),
        clause="KIP-98 Read Committed",
        kafka="UnifiedLog.read",
        answer_in="AbstractFetch.handleFetchSuccess",
        topic_ids_from=13,
    ),
)
