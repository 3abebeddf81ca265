"""The transaction requests on the wire. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages import group_transactions, two_phase
from kipviz.messages import transactions as model
from kipviz.messages.message import Message
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


KINDS: dict[type[Message], Kind] = {
    model.InitProducerId: Kind(INIT_PRODUCER_ID_REQUEST, _init_producer_id),
    model.InitProducerIdResponse: Kind(INIT_PRODUCER_ID_RESPONSE, _identity),
    # Kafka 4.4.0 has the fields of version 6, and marks the version unstable: nobody sends it.
    two_phase.InitProducerId2Pc: Kind(
        INIT_PRODUCER_ID_REQUEST.but(
            status="draft", fields=(*INIT_PRODUCER_ID_REQUEST.fields, HEARTBEAT_INTERVAL)
        ),
        _init_producer_id_2pc,
    ),
    group_transactions.InitProducerIdOfGroup: Kind(
        INIT_PRODUCER_ID_OF_GROUP_REQUEST, _init_producer_id_of_group
    ),
    two_phase.InitProducerId2PcResponse: Kind(
        INIT_PRODUCER_ID_RESPONSE.but(status="draft"), _identities
    ),
    model.AddPartitionsToTxn: Kind(ADD_PARTITIONS_TO_TXN_REQUEST, _add_partitions),
    model.AddPartitionsToTxnResponse: Kind(ADD_PARTITIONS_TO_TXN_RESPONSE, _added_partitions),
    model.AddOffsetsToTxn: Kind(ADD_OFFSETS_TO_TXN_REQUEST, _add_offsets),
    model.AddOffsetsToTxnResponse: Kind(ADD_OFFSETS_TO_TXN_RESPONSE, _added_offsets),
    model.EndTxn: Kind(END_TXN_REQUEST, _end_txn),
    model.EndTxnResponse: Kind(END_TXN_RESPONSE, _identity),
    model.WriteTxnMarkers: Kind(WRITE_TXN_MARKERS_REQUEST, _write_markers),
    model.WriteTxnMarkersResponse: Kind(WRITE_TXN_MARKERS_RESPONSE, _wrote_markers),
}
