"""The APIs of a partition's log: append and read. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages import producing as model
from kipviz.messages.apis.api import Api, Case, Role, Shard
from kipviz.messages.apis.rights import READ_TOPIC, WRITE_EACH, WRITE_ID
from kipviz.messages.errors import Errors
from kipviz.messages.wire.batches import encode_batch
from kipviz.messages.wire.codec import Encoded, Struct
from kipviz.messages.wire.kind import Around, Kind
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.batches import DataRecord
from kipviz.records.placement import index_of

PRODUCE_REQUEST = Schema(
    "ProduceRequest",
    0,
    "3-13",
    "9+",
    (
        Field("TransactionalId", "string", "3+", default="null", nullable="3+"),
        Field("Acks", "int16"),
        Field("TimeoutMs", "int32"),
        Field(
            "TopicData",
            "[]TopicProduceData",
            fields=(
                Field("Name", "string", "0-12"),
                Field("TopicId", "uuid", "13+"),
                Field(
                    "PartitionData",
                    "[]PartitionProduceData",
                    fields=(
                        Field("Index", "int32"),
                        Field("Records", "records", nullable="0+"),
                    ),
                ),
            ),
        ),
    ),
)

PRODUCE_RESPONSE = Schema(
    "ProduceResponse",
    0,
    "3-13",
    "9+",
    (
        Field(
            "Responses",
            "[]TopicProduceResponse",
            fields=(
                Field("Name", "string", "0-12"),
                Field("TopicId", "uuid", "13+"),
                Field(
                    "PartitionResponses",
                    "[]PartitionProduceResponse",
                    fields=(
                        Field("Index", "int32"),
                        Field("ErrorCode", "int16"),
                        Field("BaseOffset", "int64"),
                        Field("LogAppendTimeMs", "int64", "2+", default="-1"),
                        Field("LogStartOffset", "int64", "5+", default="-1"),
                        Field(
                            "RecordErrors",
                            "[]BatchIndexAndErrorMessage",
                            "8+",
                            fields=(
                                Field("BatchIndex", "int32", "8+"),
                                Field(
                                    "BatchIndexErrorMessage",
                                    "string",
                                    "8+",
                                    default="null",
                                    nullable="8+",
                                ),
                            ),
                        ),
                        Field("ErrorMessage", "string", "8+", default="null", nullable="8+"),
                        Field(
                            "CurrentLeader",
                            "LeaderIdAndEpoch",
                            "10+",
                            tag=0,
                            tagged="10+",
                            fields=(
                                Field("LeaderId", "int32", "10+", default="-1"),
                                Field("LeaderEpoch", "int32", "10+", default="-1"),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        Field("ThrottleTimeMs", "int32", "1+", default="0"),
        Field(
            "NodeEndpoints",
            "[]NodeEndpoint",
            "10+",
            tag=0,
            tagged="10+",
            fields=(
                Field("NodeId", "int32", "10+"),
                Field("Host", "string", "10+"),
                Field("Port", "int32", "10+"),
                Field("Rack", "string", "10+", default="null", nullable="10+"),
            ),
        ),
    ),
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


def _produce(m: model.Produce, around: Around) -> Struct:
    data = []
    for part in m.parts:
        batch = encode_batch(
            tuple(enumerate(part.records)),
            producer_id=part.producer_id,
            producer_epoch=part.producer_epoch,
            base_sequence=part.base_sequence,
        )
        data.append((part.partition, {"Index": index_of(part.partition), "Records": batch}))
    return {
        "TransactionalId": m.transactional_id or None,
        "Acks": -1,
        "TopicData": around.by_topics(m.version, 13, data, "PartitionData"),
    }


def _produced(m: model.ProduceResponse, around: Around) -> Struct:
    results = []
    for part in m.parts:
        result = {
            "Index": index_of(part.partition),
            "ErrorCode": part.error,
            "BaseOffset": part.base_offset,
        }
        results.append((part.partition, result))
    found = around.by_topics(around.version_of(m), 13, results, "PartitionResponses")
    return {"Responses": found}


def _fetch(m: model.Fetch, around: Around) -> Struct:
    partition = {"Partition": index_of(m.partition), "FetchOffset": m.offset}
    return {
        "IsolationLevel": int(m.read_committed),
        "Topics": around.by_topic_id(m.partition, "Partitions", **partition),
    }


def _fetched(m: model.FetchResponse, around: Around) -> Struct:
    result = {
        "PartitionIndex": index_of(m.partition),
        "ErrorCode": m.error,
        "Records": batch_of(m.records),
    }
    return {"Responses": around.by_topic_id(m.partition, "Partitions", **result)}


def batch_of(records: tuple[model.FetchedRecord, ...]) -> Encoded:
    """Put fetched records into one batch; a fetched record does not say who produced it."""
    if not records:
        return Encoded(b"", ())
    return encode_batch(tuple((r.offset, DataRecord(r.value)) for r in records), sender_told=False)


OF_A_PLAIN_ONE = "Produce, no transactional id"


def refused_in_each(request: model.Produce, error: Errors) -> model.ProduceResponse:
    """Return the response to a model.Produce request that has an error for each of its partitions."""
    asked = ((part.partition, part.base_sequence) for part in request.parts)
    parts = (model.ProduceResponse(error, *each, -1, request.correlation_id) for each in asked)
    return model.in_one_answer(tuple(parts))


APIS: tuple[Api, ...] = (
    Api(
        request=model.Produce,
        response=model.ProduceResponse,
        request_bytes=Kind(
            PRODUCE_REQUEST, _produce, {"ProduceRequest.TimeoutMs": (30_000, "request.timeout.ms")}
        ),
        response_bytes=Kind(PRODUCE_RESPONSE, _produced),
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITION,
        needs=(WRITE_ID, WRITE_EACH),
        cases=(Case(OF_A_PLAIN_ONE, lambda m: not m.transactional_id, (WRITE_EACH,)),),
        refusal=refused_in_each,
        clause="KIP-98 Produce; KIP-890 part 2, Produce version 12",
        kafka="ReplicaManager.handleProduceAppend",
        answer_in="Sender.handleProduceResponse",
        topic_ids_from=13,
        by_name=True,
        may_be_late=True,
        newest=(("2.4", 8), ("3.5", 9), ("3.6", 9), ("3.9", 11), ("4.1.0", 13), ("4.3", 13)),
    ),
    Api(
        request=model.Fetch,
        response=model.FetchResponse,
        # The model's max_records is the consumer's max.poll.records, of which a broker hears nothing.
        request_bytes=Kind(
            FETCH_REQUEST,
            _fetch,
            {
                "FetchRequest.MaxWaitMs": (500, "fetch.max.wait.ms"),
                "FetchRequest.MinBytes": (1, "fetch.min.bytes"),
                "FetchRequest.MaxBytes": (52_428_800, "fetch.max.bytes"),
                "FetchRequest.SessionEpoch": (0, "a first full fetch"),
                "FetchRequest.Topics[].Partitions[].PartitionMaxBytes": (
                    1_048_576,
                    "max.partition.fetch.bytes",
                ),
            },
        ),
        response_bytes=Kind(FETCH_RESPONSE, _fetched),
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITION,
        needs=(READ_TOPIC,),
        refusal=lambda m, error: model.FetchResponse(error, m.partition),
        clause="KIP-98 Read Committed",
        kafka="UnifiedLog.read",
        answer_in="AbstractFetch.handleFetchSuccess",
        topic_ids_from=13,
    ),
)
