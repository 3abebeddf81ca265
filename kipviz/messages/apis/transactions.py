"""The APIs of transactions: an identity, its partitions and offsets, the end, and the markers. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages import group_transactions, two_phase
from kipviz.messages import transactions as model
from kipviz.messages.apis.api import NO_RELEASE, Api, Case, Role, Shard
from kipviz.messages.apis.retries import OF_A_COORDINATOR, OF_A_LEADER
from kipviz.messages.apis.rights import (
    INTER_BROKER,
    READ_GROUP,
    WRITE_ADDED,
    WRITE_ID,
    Need,
    Operation,
    Resource,
)
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message, in_one
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.kind import Around, Kind, indexes, topics
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of

INIT_PRODUCER_ID_REQUEST = Schema(
    "InitProducerIdRequest",
    22,
    "0-6",
    "2+",
    (
        Field("TransactionalId", "string", nullable="0+"),
        Field("TransactionTimeoutMs", "int32"),
        Field("ProducerId", "int64", "3+", default="-1"),
        Field("ProducerEpoch", "int16", "3+", default="-1"),
        Field("Enable2Pc", "bool", "6+"),
        Field("KeepPreparedTxn", "bool", "6+"),
    ),
)

# KIP-1309 (draft): where it stands is our inference; 0, which is the default, is not written.
HEARTBEAT_INTERVAL = Field(
    "TransactionHeartbeatIntervalMs", "int32", "6+", tagged="6+", tag=0, status="our inference"
)

# KIP-447, first draft: above the versions that there were then. The order of the last three is the draft's,
# as is the wider time limit; how partitions stand in their array is our inference.
INIT_PRODUCER_ID_OF_GROUP_REQUEST = Schema(
    "InitProducerIdRequest",
    22,
    "2",
    "",
    (
        Field("TransactionalId", "string", nullable="0+"),
        Field("TransactionTimeoutMs", "int64"),
        Field("ConsumerGroupId", "string", nullable="0+", status="draft"),
        Field("ConsumerGroupGeneration", "int32", status="draft"),
        Field(
            "AssignedPartitions",
            "[]AssignedTopic",
            fields=(Field("Topic", "string"), Field("Partitions", "[]int32")),
            status="our inference",
        ),
    ),
    "draft",
)

INIT_PRODUCER_ID_RESPONSE = Schema(
    "InitProducerIdResponse",
    22,
    "0-6",
    "2+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        Field("ProducerId", "int64", default="-1"),
        Field("ProducerEpoch", "int16"),
        Field("OngoingTxnProducerId", "int64", "6+", default="-1"),
        Field("OngoingTxnProducerEpoch", "int16", "6+", default="-1"),
    ),
)

ADD_PARTITIONS_TO_TXN_REQUEST = Schema(
    "AddPartitionsToTxnRequest",
    24,
    "0-5",
    "3+",
    (
        Field(
            "Transactions",
            "[]AddPartitionsToTxnTransaction",
            "4+",
            fields=(
                Field("TransactionalId", "string", "4+"),
                Field("ProducerId", "int64", "4+"),
                Field("ProducerEpoch", "int16", "4+"),
                Field("VerifyOnly", "bool", "4+"),
                Field(
                    "Topics",
                    "[]AddPartitionsToTxnTopic",
                    "4+",
                    fields=(
                        Field("Name", "string"),
                        Field("Partitions", "[]int32"),
                    ),
                ),
            ),
        ),
        Field("V3AndBelowTransactionalId", "string", "0-3"),
        Field("V3AndBelowProducerId", "int64", "0-3"),
        Field("V3AndBelowProducerEpoch", "int16", "0-3"),
        Field(
            "V3AndBelowTopics",
            "[]AddPartitionsToTxnTopic",
            "0-3",
            fields=(
                Field("Name", "string"),
                Field("Partitions", "[]int32"),
            ),
        ),
    ),
)

ADD_PARTITIONS_TO_TXN_RESPONSE = Schema(
    "AddPartitionsToTxnResponse",
    24,
    "0-5",
    "3+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16", "4+"),
        Field(
            "ResultsByTransaction",
            "[]AddPartitionsToTxnResult",
            "4+",
            fields=(
                Field("TransactionalId", "string", "4+"),
                Field(
                    "TopicResults",
                    "[]AddPartitionsToTxnTopicResult",
                    "4+",
                    fields=(
                        Field("Name", "string"),
                        Field(
                            "ResultsByPartition",
                            "[]AddPartitionsToTxnPartitionResult",
                            fields=(
                                Field("PartitionIndex", "int32"),
                                Field("PartitionErrorCode", "int16"),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        Field(
            "ResultsByTopicV3AndBelow",
            "[]AddPartitionsToTxnTopicResult",
            "0-3",
            fields=(
                Field("Name", "string"),
                Field(
                    "ResultsByPartition",
                    "[]AddPartitionsToTxnPartitionResult",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("PartitionErrorCode", "int16"),
                    ),
                ),
            ),
        ),
    ),
)

ADD_OFFSETS_TO_TXN_REQUEST = Schema(
    "AddOffsetsToTxnRequest",
    25,
    "0-4",
    "3+",
    (
        Field("TransactionalId", "string"),
        Field("ProducerId", "int64"),
        Field("ProducerEpoch", "int16"),
        Field("GroupId", "string"),
    ),
)

ADD_OFFSETS_TO_TXN_RESPONSE = Schema(
    "AddOffsetsToTxnResponse",
    25,
    "0-4",
    "3+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
    ),
)

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


def _init_producer_id(m: model.InitProducerId, _: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "TransactionTimeoutMs": m.transaction_timeout_ms,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
    }


def _init_producer_id_2pc(m: two_phase.InitProducerId2Pc, around: Around) -> Struct:
    more: Struct = {"Enable2Pc": m.enable_2pc, "KeepPreparedTxn": m.keep_prepared_txn}
    if m.heartbeat_interval_ms:
        more["TransactionHeartbeatIntervalMs"] = m.heartbeat_interval_ms
    return {**_init_producer_id(m, around), **more}


def _init_producer_id_of_group(
    m: group_transactions.InitProducerIdOfGroup, around: Around
) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "TransactionTimeoutMs": m.transaction_timeout_ms,
        "ConsumerGroupId": m.group_id,
        "ConsumerGroupGeneration": m.generation,
        "AssignedPartitions": indexes(
            m.assigned, lambda topic, found: {"Topic": topic, "Partitions": found}
        ),
    }


def _identities(m: two_phase.InitProducerId2PcResponse, around: Around) -> Struct:
    ongoing = {
        "OngoingTxnProducerId": m.ongoing_txn_producer_id,
        "OngoingTxnProducerEpoch": m.ongoing_txn_producer_epoch,
    }
    return {**_identity(m, around), **ongoing}


def _identity(m: model.InitProducerIdResponse | model.EndTxnResponse, around: Around) -> Struct:
    if isinstance(m, model.EndTxnResponse) and around.version_of(m) < 5:
        return {"ErrorCode": m.error}
    return {
        "ErrorCode": m.error,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
    }


def _add_partitions(m: model.AddPartitionsToTxn, _: Around) -> Struct:
    def topic(name: str, found: tuple[int, ...]) -> Struct:
        return {"Name": name, "Partitions": found}

    if m.version < 4:
        return {
            "V3AndBelowTransactionalId": m.transactional_id,
            "V3AndBelowProducerId": m.producer_id,
            "V3AndBelowProducerEpoch": m.producer_epoch,
            "V3AndBelowTopics": indexes(m.partitions, topic),
        }
    transactions = (
        {
            "TransactionalId": each.transactional_id,
            "ProducerId": each.producer_id,
            "ProducerEpoch": each.producer_epoch,
            "VerifyOnly": each.verify_only,
            "Topics": indexes(each.partitions, topic),
        }
        for each in m.of_transactions
    )
    return {"Transactions": tuple(transactions)}


def _added_partitions(m: model.AddPartitionsToTxnResponse, around: Around) -> Struct:
    def results(each: model.AddPartitionsToTxnResponse) -> Struct | tuple[Struct, ...]:
        def result(topic: str, found: tuple[int, ...]) -> Struct:
            errors = ((i, each.error_of(f"{topic}-{i}")) for i in found)
            said = ({"PartitionIndex": i, "PartitionErrorCode": error} for i, error in errors)
            return {"Name": topic, "ResultsByPartition": tuple(said)}

        return indexes(each.partitions, result)

    if around.version_of(m) < 4:
        return {"ResultsByTopicV3AndBelow": results(m)}
    transactions = (
        {"TransactionalId": each.transactional_id, "TopicResults": results(each)}
        for each in m.of_transactions
    )
    return {"ResultsByTransaction": tuple(transactions)}


def _add_offsets(m: model.AddOffsetsToTxn, _: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        "GroupId": m.group_id,
    }


def _added_offsets(m: model.AddOffsetsToTxnResponse, _: Around) -> Struct:
    return {"ErrorCode": m.error}


def _end_txn(m: model.EndTxn, _: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        "Committed": m.committed,
    }


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
        for each in m.of_transactions
    )
    return {"Markers": tuple(markers)}


def _wrote_markers(m: model.WriteTxnMarkersResponse, _: Around) -> Struct:
    markers = []
    for each in m.of_transactions:
        results = (
            (r.partition, {"PartitionIndex": index_of(r.partition), "ErrorCode": r.error})
            for r in each.results
        )
        found = topics(results, lambda topic, rows: {"Name": topic, "Partitions": rows})
        markers.append({"ProducerId": each.producer_id, "Topics": found})
    return {"Markers": tuple(markers)}


# Versions 0 to 3 are sent by clients, the later ones by brokers.
LAST_OF_A_CLIENT = 3
OF_A_CLIENT = "AddPartitionsToTxn, versions 0-3"
NAMELESS = "InitProducerId, no transactional id"
# A producer without a transactional id; WRITE of any topic does for its identity, too.
_NAMELESS = Case(
    NAMELESS,
    lambda m: m.transactional_id is None,
    (Need(Operation.IDEMPOTENT_WRITE, Resource.CLUSTER, "KafkaApis, KIP-679"),),
)


def _markers_refused(request: model.WriteTxnMarkers, error: Errors) -> Message:
    whole: Message = in_one(
        model.WriteTxnMarkersResponse(
            each.producer_id, tuple(model.PartitionResult(p, error) for p in each.partitions)
        )
        for each in request.of_transactions
    )
    return whole


APIS: tuple[Api, ...] = (
    Api(
        request=model.InitProducerId,
        response=model.InitProducerIdResponse,
        request_bytes=Kind(INIT_PRODUCER_ID_REQUEST, _init_producer_id),
        response_bytes=Kind(INIT_PRODUCER_ID_RESPONSE, _identity),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(WRITE_ID,),
        cases=(_NAMELESS,),
        refusal=lambda _, error: model.InitProducerIdResponse(error),
        clause="KIP-98 InitPidRequest; KIP-360",
        kafka="TransactionCoordinator.handleInitProducerId",
        answer_in="TransactionManager.InitProducerIdHandler",
        admin_retries=(*OF_A_COORDINATOR, Errors.CONCURRENT_TRANSACTIONS),
        may_be_late=True,
    ),
    Api(
        request=two_phase.InitProducerId2Pc,
        response=two_phase.InitProducerId2PcResponse,
        # Kafka 4.4.0 has the fields of version 6, and marks the version unstable: nobody sends it.
        request_bytes=Kind(
            INIT_PRODUCER_ID_REQUEST.but(
                status="draft", fields=(*INIT_PRODUCER_ID_REQUEST.fields, HEARTBEAT_INTERVAL)
            ),
            _init_producer_id_2pc,
        ),
        response_bytes=Kind(INIT_PRODUCER_ID_RESPONSE.but(status="draft"), _identities),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(
            WRITE_ID,
            Need(Operation.TWO_PHASE_COMMIT, Resource.TRANSACTIONAL_ID, "KafkaApis, KIP-939"),
        ),
        cases=(Case("InitProducerId", lambda m: not m.enable_2pc, (WRITE_ID,)), _NAMELESS),
        refusal=lambda _, error: two_phase.InitProducerId2PcResponse(error),
        clause="KIP-939 Enable2Pc and KeepPreparedTxn (version 6, unstable; keeping is pull request 21735)",
        kafka="none yet (PR 21735)",
        answer_in="TransactionManager.InitProducerIdHandler",
        words=("InitProducerId 2PC", "InitProducerId 2PC ok"),
        may_be_late=True,
        since="4.1.0",
    ),
    Api(
        request=group_transactions.InitProducerIdOfGroup,
        response=model.InitProducerIdResponse,
        request_bytes=Kind(INIT_PRODUCER_ID_OF_GROUP_REQUEST, _init_producer_id_of_group),
        response_bytes=Kind(INIT_PRODUCER_ID_RESPONSE, _identity),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(WRITE_ID,),
        cases=(_NAMELESS,),
        refusal=lambda _, error: model.InitProducerIdResponse(error),
        clause="KIP-447, first draft: InitProducerId API, Fencing zombie (given up before 2.5)",
        kafka="none yet (PR none)",
        answer_in="none yet (PR none)",
        words=("InitProducerId of group", ""),
        may_be_late=True,
        since=NO_RELEASE,
    ),
    Api(
        request=model.AddPartitionsToTxn,
        response=model.AddPartitionsToTxnResponse,
        request_bytes=Kind(ADD_PARTITIONS_TO_TXN_REQUEST, _add_partitions),
        response_bytes=Kind(ADD_PARTITIONS_TO_TXN_RESPONSE, _added_partitions),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=INTER_BROKER,
        cases=(
            Case(OF_A_CLIENT, lambda m: m.version <= LAST_OF_A_CLIENT, (WRITE_ID, WRITE_ADDED)),
        ),
        refusal=model.with_error,
        clause="KIP-98 AddPartitionsToTxnRequest; KIP-890, AddPartitionsToTxn version 5",
        kafka="TransactionCoordinator.handleAddPartitionsToTransaction",
        answer_in="AddPartitionsToTxnManager; TransactionManager.AddPartitionsToTxnHandler",
        words=("enlist partition", "enlisted"),
        may_be_late=True,
        since="3.6",
    ),
    Api(
        request=model.AddOffsetsToTxn,
        response=model.AddOffsetsToTxnResponse,
        request_bytes=Kind(ADD_OFFSETS_TO_TXN_REQUEST, _add_offsets),
        response_bytes=Kind(ADD_OFFSETS_TO_TXN_RESPONSE, _added_offsets),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(WRITE_ID, READ_GROUP),
        refusal=lambda _, error: model.AddOffsetsToTxnResponse(error),
        clause="KIP-98 AddOffsetsToTxnRequest",
        kafka="KafkaApis.handleAddOffsetsToTxnRequest",
        answer_in="TransactionManager.AddOffsetsToTxnHandler",
        words=("enlist offsets", "enlisted"),
        may_be_late=True,
    ),
    Api(
        request=model.EndTxn,
        response=model.EndTxnResponse,
        request_bytes=Kind(END_TXN_REQUEST, _end_txn),
        response_bytes=Kind(END_TXN_RESPONSE, _identity),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(WRITE_ID,),
        refusal=lambda _, error: model.EndTxnResponse(error),
        clause="KIP-98 EndTxnRequest; KIP-890 part 2, EndTxn version 5",
        kafka="TransactionCoordinator.endTransaction",
        answer_in="TransactionManager.EndTxnHandler",
        may_be_late=True,
        newest=(("2.4", 1), ("3.5", 3), ("3.6", 3), ("3.9", 4), ("4.1.0", 5), ("4.3", 5)),
    ),
    Api(
        request=model.WriteTxnMarkers,
        response=model.WriteTxnMarkersResponse,
        request_bytes=Kind(WRITE_TXN_MARKERS_REQUEST, _write_markers),
        response_bytes=Kind(WRITE_TXN_MARKERS_RESPONSE, _wrote_markers),
        role=Role.KAFKA_APIS,
        shard=Shard.FIRST_PARTITION,
        needs=(Need(Operation.ALTER, Resource.CLUSTER, alternative=Operation.CLUSTER_ACTION),),
        refusal=_markers_refused,
        clause="KIP-98 WriteTxnMarkerRequest; KIP-1228",
        kafka="KafkaApis.handleWriteTxnMarkersRequest",
        answer_in="TransactionMarkerRequestCompletionHandler",
        words=("", "marker written"),
        admin_retries=OF_A_LEADER,
        may_be_late=True,
    ),
)
