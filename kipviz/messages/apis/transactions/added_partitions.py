"""The APIs that add to a transaction: partitions, and the offsets of a group. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Case, Role
from kipviz.messages.apis.client_errors import OF_STATE, ClientErrors
from kipviz.messages.apis.error_places import ErrorPlace
from kipviz.messages.apis.legal_errors import WELL_FORMED, Never, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    INTER_BROKER,
    READ_GROUP,
    WRITE_ADDED,
    WRITE_ID,
    topics_of,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.transactions import transactions as model
from kipviz.messages.transactions.transactions import LAST_OF_A_CLIENT
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes, topics
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of

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


def _add_partitions(m: model.AddPartitionsToTxn, _: Around) -> Struct:
    def topic(name: str, found: tuple[int, ...]) -> Struct:
        return {"Name": name, "Partitions": found}

    if m.version <= LAST_OF_A_CLIENT:
        (only,) = m.transactions
        return {
            "V3AndBelowTransactionalId": only.transactional_id,
            "V3AndBelowProducerId": only.producer_id,
            "V3AndBelowProducerEpoch": only.producer_epoch,
            "V3AndBelowTopics": indexes(only.partitions, topic),
        }
    transactions = (
        {
            "TransactionalId": each.transactional_id,
            "ProducerId": each.producer_id,
            "ProducerEpoch": each.producer_epoch,
            "VerifyOnly": each.verify_only,
            "Topics": indexes(each.partitions, topic),
        }
        for each in m.transactions
    )
    return {"Transactions": tuple(transactions)}


def _decode_add_partitions(
    fields: Struct, incoming: Incoming
) -> tuple[model.AddPartitionsToTxn, ...]:
    """Return the request with an array of transactions, as brokers read every version."""
    transactions: tuple[model.TxnPartitions, ...]
    if incoming.version <= LAST_OF_A_CLIENT:
        only = model.TxnPartitions(
            fields["V3AndBelowTransactionalId"],
            fields["V3AndBelowProducerId"],
            fields["V3AndBelowProducerEpoch"],
            incoming.partitions_of(fields["V3AndBelowTopics"]),
        )
        transactions = (only,)
    else:
        transactions = tuple(
            model.TxnPartitions(
                each["TransactionalId"],
                each["ProducerId"],
                each["ProducerEpoch"],
                incoming.partitions_of(each["Topics"]),
                each["VerifyOnly"],
            )
            for each in fields["Transactions"]
        )
    return (model.AddPartitionsToTxn(transactions, incoming.version),)


def _added_partitions(m: model.AddPartitionsToTxnResponse, around: Around) -> Struct:
    def results(each: model.TxnPartitionsResult) -> Struct | tuple[Struct, ...]:
        said = (
            (
                result.partition,
                {
                    "PartitionIndex": index_of(result.partition),
                    "PartitionErrorCode": result.error,
                },
            )
            for result in each.results
        )
        return topics(said, lambda name, found: {"Name": name, "ResultsByPartition": found})

    if around.version_of(m) <= LAST_OF_A_CLIENT:
        (only,) = m.results
        return {"ResultsByTopicV3AndBelow": results(only)}
    transactions = (
        {"TransactionalId": each.transactional_id, "TopicResults": results(each)}
        for each in m.results
    )
    return {"ErrorCode": m.error, "ResultsByTransaction": tuple(transactions)}


def _add_offsets(m: model.AddOffsetsToTxn, _: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        "GroupId": m.group_id,
    }


def _decode_add_offsets(fields: Struct, incoming: Incoming) -> tuple[model.AddOffsetsToTxn, ...]:
    message = model.AddOffsetsToTxn(
        fields["TransactionalId"],
        fields["ProducerId"],
        fields["ProducerEpoch"],
        fields["GroupId"],
        incoming.version,
    )
    return (message,)


def _added_offsets(m: model.AddOffsetsToTxnResponse, _: Around) -> Struct:
    return {"ErrorCode": m.error}


def _deciding_error(m: model.AddPartitionsToTxnResponse) -> Errors:
    """Return the error of the whole response, else that of the first transaction."""
    return m.error if m.error or not m.results else m.results[0].error


def _with_partition_errors(m: model.AddPartitionsToTxnResponse, error: Errors) -> Message:
    """Return the response with one error for each partition."""
    return m.but(results=tuple(model.refused_partitions(each, error) for each in m.results))


OF_A_CLIENT = "AddPartitionsToTxn, versions 0-3"


APIS = (
    Api(
        request=model.AddPartitionsToTxn,
        response=model.AddPartitionsToTxnResponse,
        request_bytes=RequestKind(
            ADD_PARTITIONS_TO_TXN_REQUEST, _add_partitions, decode=_decode_add_partitions
        ),
        response_bytes=Kind(ADD_PARTITIONS_TO_TXN_RESPONSE, _added_partitions),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONS,
        appends=True,
        needs=INTER_BROKER,
        cases=(
            Case(OF_A_CLIENT, lambda m: m.version <= LAST_OF_A_CLIENT, (WRITE_ID, WRITE_ADDED)),
        ),
        refusal=model.response_with_error,
        errors=(
            at("ErrorCode", Errors.CLUSTER_AUTHORIZATION_FAILED),
            at(
                "ResultsByTransaction.TopicResults.ResultsByPartition.PartitionErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.UNSUPPORTED_VERSION,
                Errors.INVALID_PRODUCER_ID_MAPPING,
                Errors.INVALID_TXN_STATE,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.PRODUCER_FENCED,
                Errors.TRANSACTION_ABORTABLE,
                Errors.INVALID_REQUEST,
                Errors.OPERATION_NOT_ATTEMPTED,
            ),
            at(
                "ResultsByTopicV3AndBelow.ResultsByPartition.PartitionErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                Errors.INVALID_PRODUCER_ID_MAPPING,
                Errors.INVALID_TXN_STATE,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.OPERATION_NOT_ATTEMPTED,
                Errors.PRODUCER_FENCED,
                Errors.INVALID_REQUEST,
                Never(
                    "clients of the model speak version 3, and brokers respond with it below version 2",
                    ("INVALID_PRODUCER_EPOCH",),
                ),
            ),
        ),
        topics=lambda m: topics_of(p for each in m.transactions for p in each.partitions),
        error_place=ErrorPlace(first=_deciding_error, put=_with_partition_errors),
        # Other errors of partitions that are not retried are collected, and fail the transaction. Source:
        # TransactionManager.AddPartitionsToTxnHandler.
        client_errors=ClientErrors(
            abortable=(
                Errors.TRANSACTION_ABORTABLE,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
            ),
            fatal=(
                Errors.INVALID_PRODUCER_EPOCH,
                Errors.INVALID_TXN_STATE,
                Errors.INVALID_PRODUCER_ID_MAPPING,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.PRODUCER_FENCED,
            ),
            own_class=(
                *OF_STATE,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.TRANSACTION_ABORTABLE,
            ),
        ),
        clause="KIP-98 AddPartitionsToTxnRequest; KIP-890, AddPartitionsToTxn version 5",
        kafka="TransactionCoordinator.handleAddPartitionsToTransaction",
        answer_in="AddPartitionsToTxnManager; TransactionManager.AddPartitionsToTxnHandler",
        words=("add partition", "partition added"),
        may_be_late=True,
        since="3.6",
    ),
    Api(
        request=model.AddOffsetsToTxn,
        response=model.AddOffsetsToTxnResponse,
        request_bytes=RequestKind(
            ADD_OFFSETS_TO_TXN_REQUEST, _add_offsets, decode=_decode_add_offsets
        ),
        response_bytes=Kind(ADD_OFFSETS_TO_TXN_RESPONSE, _added_offsets),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        appends=True,
        needs=(WRITE_ID, READ_GROUP),
        refusal=lambda _, error: model.AddOffsetsToTxnResponse(error),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.INVALID_PRODUCER_ID_MAPPING,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.PRODUCER_FENCED,
                WELL_FORMED,
                Never(
                    "a coordinator responds with CONCURRENT_TRANSACTIONS there",
                    ("INVALID_TXN_STATE",),
                ),
                Never(
                    "clients of the model speak version 4, and brokers respond with it below version 2",
                    ("INVALID_PRODUCER_EPOCH",),
                ),
            ),
        ),
        client_errors=ClientErrors(
            abortable=(
                Errors.TRANSACTION_ABORTABLE,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_PRODUCER_ID,
            ),
            own_class=(
                *OF_STATE,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.TRANSACTION_ABORTABLE,
            ),
        ),
        clause="KIP-98 AddOffsetsToTxnRequest",
        kafka="KafkaApis.handleAddOffsetsToTxnRequest",
        answer_in="TransactionManager.AddOffsetsToTxnHandler",
        words=("add offsets", "offsets added"),
        may_be_late=True,
    ),
)
