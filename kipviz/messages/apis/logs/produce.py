"""The API that appends to the log of a partition. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Case, Role
from kipviz.messages.apis.client_errors import ClientErrors
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import ACKS, DISK, FORMAT, SIZE, WAITS, Never, at
from kipviz.messages.apis.rights import WRITE_EACH, WRITE_ID, topics_of
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.logs import producing as model
from kipviz.messages.wire.batches import encode_batch
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of
from kipviz.settings.client_configs import REQUEST_TIMEOUT_MS

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


def _produce(m: model.Produce, around: Around) -> Struct:
    data = []
    for each in m.partition_data:
        batch = encode_batch(
            tuple(enumerate(each.records)),
            producer_id=each.producer_id,
            producer_epoch=each.producer_epoch,
            base_sequence=each.base_sequence,
        )
        data.append((each.partition, {"Index": index_of(each.partition), "Records": batch}))
    return {
        "TransactionalId": m.transactional_id or None,
        "Acks": m.acks,
        "TopicData": around.by_topics(m.version, 13, data, "PartitionData"),
    }


def _decode_produce(fields: Struct, incoming: Incoming) -> tuple[model.Produce, ...]:
    """Return the request with the partitions that have a valid batch."""
    found = (
        (partition, incoming.read_batch(part["Records"] or b""))
        for partition, part in incoming.parts_of(fields["TopicData"], "PartitionData", "Index")
    )
    batches = tuple((partition, batch) for partition, batch in found if batch is not None)
    data = tuple(
        model.PartitionProduceData(
            partition, each.producer_id, each.producer_epoch, each.base_sequence, each.records
        )
        for partition, each in batches
    )
    transactional = any(batch.transactional for _, batch in batches)
    name = fields["TransactionalId"] or ""
    return (
        model.Produce(name if transactional else "", data, incoming.version, acks=fields["Acks"]),
    )


def _encode_response(m: model.ProduceResponse, around: Around) -> Struct:
    results = []
    for each in m.partition_responses:
        result = {
            "Index": index_of(each.partition),
            "ErrorCode": each.error,
            "BaseOffset": each.base_offset,
        }
        results.append((each.partition, result))
    found = around.by_topics(around.version_of(m), 13, results, "PartitionResponses")
    return {"Responses": found}


OF_A_PLAIN_ONE = "Produce, no transactional id"


def refused_in_each(request: model.Produce, error: Errors) -> model.ProduceResponse:
    """Return the response to a Produce request that has an error for each of its partitions."""
    results = (model.PartitionProduceResponse(p.partition, error) for p in request.partition_data)
    return model.ProduceResponse(tuple(results))


APIS = (
    Api(
        request=model.Produce,
        response=model.ProduceResponse,
        request_bytes=RequestKind(
            PRODUCE_REQUEST,
            _produce,
            {"ProduceRequest.TimeoutMs": REQUEST_TIMEOUT_MS.fixed},
            decode=_decode_produce,
        ),
        response_bytes=Kind(PRODUCE_RESPONSE, _encode_response),
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITIONS,
        appends=True,
        needs=(WRITE_ID, WRITE_EACH),
        cases=(Case(OF_A_PLAIN_ONE, lambda m: not m.transactional_id, (WRITE_EACH,)),),
        refusal=refused_in_each,
        errors=(
            at(
                "Responses.PartitionResponses.ErrorCode",
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.NOT_LEADER_OR_FOLLOWER,
                Errors.NOT_ENOUGH_REPLICAS,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
                Errors.INVALID_PRODUCER_EPOCH,
                Errors.INVALID_TXN_STATE,
                Errors.INVALID_PRODUCER_ID_MAPPING,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_ID,
                Errors.TRANSACTION_ABORTABLE,
                Errors.UNSUPPORTED_VERSION,
                ACKS,
                SIZE,
                WAITS,
                FORMAT,
                DISK,
                Never(
                    "no bytes are damaged in the model",
                    (
                        "CORRUPT_MESSAGE",
                        "INVALID_RECORD",
                    ),
                ),
                Never("topics have names that are allowed", ("INVALID_TOPIC_EXCEPTION",)),
                Never(
                    "no request asks for a right on the cluster since 2.8 (KIP-679)",
                    ("CLUSTER_AUTHORIZATION_FAILED",),
                ),
                Never(
                    "only an older log says so: today a batch is stored once and acknowledged again",
                    ("DUPLICATE_SEQUENCE_NUMBER",),
                ),
                Never("no broker of today says so", ("UNKNOWN_PRODUCER_ID",)),
            ),
        ),
        topics=lambda m: topics_of(batch.partition for batch in m.partition_data),
        error_place=ErrorPlace(
            first=lambda m: m.partition_responses[0].error,
            put=lambda m, error: m.but(
                partition_responses=with_errors(m.partition_responses, error)
            ),
        ),
        # Source: TransactionManager.maybeTransitionToErrorState.
        client_errors=ClientErrors(
            fatal=(
                Errors.PRODUCER_FENCED,
                Errors.INVALID_PRODUCER_ID_MAPPING,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
            )
        ),
        adds_partitions_from=12,
        clause="KIP-98 Produce; KIP-890 part 2, Produce version 12",
        kafka="ReplicaManager.handleProduceAppend",
        answer_in="Sender.handleProduceResponse",
        topic_ids_from=13,
        by_name=True,
        may_be_late=True,
        newest=(("2.4", 8), ("3.5", 9), ("3.6", 9), ("3.9", 11), ("4.1.0", 13), ("4.3", 13)),
    ),
)
