"""The APIs with which an operator queries transactions and their producers. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.legal_errors import COORDINATOR, READS, Never, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR, OF_A_LEADER
from kipviz.messages.apis.rights import (
    DESCRIBE_ID,
    READ_TOPIC,
    Need,
    Operation,
    Resource,
    topics_of,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.transactions import admin as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.placement import index_of, topic_of

LIST_TRANSACTIONS_REQUEST = Schema(
    "ListTransactionsRequest",
    66,
    "0-2",
    "0+",
    (
        Field("StateFilters", "[]string"),
        Field("ProducerIdFilters", "[]int64"),
        Field("DurationFilter", "int64", "1+", default="-1"),
        Field("TransactionalIdPattern", "string", "2+", default="null", nullable="2+"),
    ),
)

LIST_TRANSACTIONS_RESPONSE = Schema(
    "ListTransactionsResponse",
    66,
    "0-2",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        Field("UnknownStateFilters", "[]string"),
        Field(
            "TransactionStates",
            "[]TransactionState",
            fields=(
                Field("TransactionalId", "string"),
                Field("ProducerId", "int64"),
                Field("TransactionState", "string"),
            ),
        ),
    ),
)

DESCRIBE_TRANSACTIONS_REQUEST = Schema(
    "DescribeTransactionsRequest", 65, "0", "0+", (Field("TransactionalIds", "[]string"),)
)

DESCRIBE_TRANSACTIONS_RESPONSE = Schema(
    "DescribeTransactionsResponse",
    65,
    "0",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "TransactionStates",
            "[]TransactionState",
            fields=(
                Field("ErrorCode", "int16"),
                Field("TransactionalId", "string"),
                Field("TransactionState", "string"),
                Field("TransactionTimeoutMs", "int32"),
                Field("TransactionStartTimeMs", "int64"),
                Field("ProducerId", "int64"),
                Field("ProducerEpoch", "int16"),
                Field(
                    "Topics",
                    "[]TopicData",
                    fields=(Field("Topic", "string"), Field("Partitions", "[]int32")),
                ),
            ),
        ),
    ),
)

DESCRIBE_PRODUCERS_REQUEST = Schema(
    "DescribeProducersRequest",
    61,
    "0",
    "0+",
    (
        Field(
            "Topics",
            "[]TopicRequest",
            fields=(Field("Name", "string"), Field("PartitionIndexes", "[]int32")),
        ),
    ),
)

DESCRIBE_PRODUCERS_RESPONSE = Schema(
    "DescribeProducersResponse",
    61,
    "0",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Topics",
            "[]TopicResponse",
            fields=(
                Field("Name", "string"),
                Field(
                    "Partitions",
                    "[]PartitionResponse",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                        Field("ErrorMessage", "string", default="null", nullable="0+"),
                        Field(
                            "ActiveProducers",
                            "[]ProducerState",
                            fields=(
                                Field("ProducerId", "int64"),
                                Field("ProducerEpoch", "int32"),
                                Field("LastSequence", "int32", default="-1"),
                                Field("LastTimestamp", "int64", default="-1"),
                                Field("CoordinatorEpoch", "int32"),
                                Field("CurrentTxnStartOffset", "int64", default="-1"),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
)


def _list(m: model.ListTransactions, _: Around) -> Struct:
    return {
        "StateFilters": m.states,
        "ProducerIdFilters": m.producer_ids,
        "DurationFilter": m.duration_ms,
        "TransactionalIdPattern": m.pattern or None,
    }


def _decode_list(fields: Struct, _: Incoming) -> tuple[model.ListTransactions, ...]:
    message = model.ListTransactions(
        tuple(fields["StateFilters"]),
        tuple(fields["ProducerIdFilters"]),
        fields.get("TransactionalIdPattern") or "",
        fields.get("DurationFilter", -1),
    )
    return (message,)


def _encode_listing(m: model.ListTransactionsResponse, _: Around) -> Struct:
    found = (
        {
            "TransactionalId": t.transactional_id,
            "ProducerId": t.producer_id,
            "TransactionState": model.STATE_NAMES[t.state],
        }
        for t in m.transactions
    )
    return {
        "ErrorCode": m.error,
        "UnknownStateFilters": m.unknown_states,
        "TransactionStates": tuple(found),
    }


def _describe(m: model.DescribeTransactions, _: Around) -> Struct:
    return {"TransactionalIds": (m.transactional_id,)}


def _decode_describe(fields: Struct, _: Incoming) -> tuple[model.DescribeTransactions, ...]:
    """Return a message for each transactional id."""
    return tuple(map(model.DescribeTransactions, fields["TransactionalIds"]))


def _encode_description(m: model.DescribeTransactionsResponse, _: Around) -> Struct:
    state = {
        "ErrorCode": m.error,
        "TransactionalId": m.transactional_id,
        "TransactionState": model.STATE_NAMES[m.state] if m.state is not None else "",
        "TransactionTimeoutMs": m.timeout_ms,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        "Topics": indexes(m.partitions, lambda t, found: {"Topic": t, "Partitions": found}),
        **_time("TransactionStartTimeMs", m.start_timestamp_ms),
    }
    return {"TransactionStates": (state,)}


def _describe_producers(m: model.DescribeProducers, _: Around) -> Struct:
    topic = {"Name": topic_of(m.partition), "PartitionIndexes": (index_of(m.partition),)}
    return {"Topics": (topic,)}


def _decode_describe_producers(
    fields: Struct, incoming: Incoming
) -> tuple[model.DescribeProducers, ...]:
    """Return a message for each partition."""
    partitions = incoming.partitions_of(fields["Topics"], "PartitionIndexes")
    return tuple(map(model.DescribeProducers, partitions))


def _described_producers(m: model.DescribeProducersResponse, _: Around) -> Struct:
    active = tuple(
        {
            "ProducerId": p.producer_id,
            "ProducerEpoch": p.producer_epoch,
            "LastSequence": p.last_sequence,
            "CoordinatorEpoch": p.coordinator_epoch,
            "CurrentTxnStartOffset": p.start_offset,
            **_time("LastTimestamp", p.last_timestamp_ms),
        }
        for p in m.producers
    )
    partition = {
        "PartitionIndex": index_of(m.partition),
        "ErrorCode": m.error,
        "ActiveProducers": active,
    }
    return {"Topics": ({"Name": topic_of(m.partition), "Partitions": (partition,)},)}


def _time(name: str, at_ms: int) -> Struct:
    """Return a field with a timestamp, or none if records carry no timestamps, so that the default is encoded."""
    return {} if at_ms == NO_TIMESTAMP else {name: at_ms}


APIS = (
    Api(
        request=model.ListTransactions,
        response=model.ListTransactionsResponse,
        request_bytes=RequestKind(LIST_TRANSACTIONS_REQUEST, _list, decode=_decode_list),
        response_bytes=Kind(LIST_TRANSACTIONS_RESPONSE, _encode_listing),
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=(Need(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, hides=True),),
        refusal=lambda _, error: model.ListTransactionsResponse(error),
        errors=(
            at(
                "ErrorCode",
                Errors.COORDINATOR_LOAD_IN_PROGRESS,
                Errors.INVALID_REGULAR_EXPRESSION,
                READS,
            ),
        ),
        clause="KIP-664 ListTransactions; KIP-1152",
        kafka="TransactionCoordinator.handleListTransactions",
        answer_in="ListTransactionsHandler",
        words=("list transactions", "transactions"),
        admin_retries=(Errors.COORDINATOR_LOAD_IN_PROGRESS,),
    ),
    Api(
        request=model.DescribeTransactions,
        response=model.DescribeTransactionsResponse,
        request_bytes=RequestKind(
            DESCRIBE_TRANSACTIONS_REQUEST, _describe, decode=_decode_describe
        ),
        response_bytes=Kind(
            DESCRIBE_TRANSACTIONS_RESPONSE,
            _encode_description,
            {
                "DescribeTransactionsResponse.TransactionStates[].TransactionStartTimeMs": (
                    -1,
                    "none; records carry no time here (setting stamps)",
                )
            },
        ),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(DESCRIBE_ID,),
        refusal=lambda m, error: model.DescribeTransactionsResponse(error, m.transactional_id),
        errors=(
            at(
                "TransactionStates.ErrorCode",
                *COORDINATOR,
                Errors.INVALID_REQUEST,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.TRANSACTIONAL_ID_NOT_FOUND,
                READS,
            ),
        ),
        clause="KIP-664 DescribeTransactions",
        kafka="TransactionCoordinator.handleDescribeTransactions",
        answer_in="DescribeTransactionsHandler",
        words=("describe transaction", "transaction"),
        admin_retries=OF_A_COORDINATOR,
    ),
    Api(
        request=model.DescribeProducers,
        response=model.DescribeProducersResponse,
        request_bytes=RequestKind(
            DESCRIBE_PRODUCERS_REQUEST, _describe_producers, decode=_decode_describe_producers
        ),
        response_bytes=Kind(DESCRIBE_PRODUCERS_RESPONSE, _described_producers),
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITION,
        needs=(READ_TOPIC,),
        refusal=lambda m, error: model.DescribeProducersResponse(error, m.partition),
        errors=(
            at(
                "Topics.Partitions.ErrorCode",
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.NOT_LEADER_OR_FOLLOWER,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Never("topics have names that are allowed", ("INVALID_TOPIC_EXCEPTION",)),
            ),
        ),
        topics=lambda m: topics_of((m.partition,)),
        clause="KIP-664 DescribeProducers",
        kafka="ReplicaManager.activeProducerState",
        answer_in="DescribeProducersHandler",
        words=("describe producers", "producers"),
        admin_retries=OF_A_LEADER,
        by_name=True,
    ),
)
