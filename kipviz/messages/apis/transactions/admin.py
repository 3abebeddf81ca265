"""The APIs with which an operator queries transactions and their producers. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import COORDINATOR, READS, Never, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR, OF_A_LEADER
from kipviz.messages.apis.rights import (
    DESCRIBE_ID,
    READ_EACH,
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
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes, topics
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.placement import index_of

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
    return {"TransactionalIds": m.transactional_ids}


def _decode_describe(fields: Struct, _: Incoming) -> tuple[model.DescribeTransactions, ...]:
    """Return the request, and none without a transactional id."""
    names = tuple(fields["TransactionalIds"])
    return (model.DescribeTransactions(names),) if names else ()


def _encode_description(m: model.DescribeTransactionsResponse, _: Around) -> Struct:
    return {"TransactionStates": tuple(map(_encode_state, m.transaction_states))}


def _encode_state(told: model.TransactionDescription) -> Struct:
    state = told.transaction_state
    return {
        "ErrorCode": told.error,
        "TransactionalId": told.transactional_id,
        "TransactionState": model.STATE_NAMES[state] if state is not None else "",
        "TransactionTimeoutMs": told.transaction_timeout_ms,
        "ProducerId": told.producer_id,
        "ProducerEpoch": told.producer_epoch,
        "Topics": indexes(told.partitions, lambda t, found: {"Topic": t, "Partitions": found}),
        **_time("TransactionStartTimeMs", told.transaction_start_time_ms),
    }


def _reject_ids(
    request: model.DescribeTransactions, error: Errors
) -> model.DescribeTransactionsResponse:
    states = (model.TransactionDescription(name, error) for name in request.transactional_ids)
    return model.DescribeTransactionsResponse(tuple(states))


def _describe_producers(m: model.DescribeProducers, _: Around) -> Struct:
    return {"Topics": indexes(m.partitions, lambda t, i: {"Name": t, "PartitionIndexes": i})}


def _decode_describe_producers(
    fields: Struct, incoming: Incoming
) -> tuple[model.DescribeProducers, ...]:
    """Return the request, and none without a partition."""
    partitions = incoming.partitions_of(fields["Topics"], "PartitionIndexes")
    return (model.DescribeProducers(partitions),) if partitions else ()


def _described_producers(m: model.DescribeProducersResponse, _: Around) -> Struct:
    found = ((each.partition, _encode_partition(each)) for each in m.responses)
    return {"Topics": topics(found, lambda t, parts: {"Name": t, "Partitions": parts})}


def _encode_partition(told: model.PartitionProducers) -> Struct:
    active = tuple(
        {
            "ProducerId": p.producer_id,
            "ProducerEpoch": p.producer_epoch,
            "LastSequence": p.last_sequence,
            "CoordinatorEpoch": p.coordinator_epoch,
            "CurrentTxnStartOffset": p.current_txn_start_offset,
            **_time("LastTimestamp", p.last_timestamp),
        }
        for p in told.active_producers
    )
    return {
        "PartitionIndex": index_of(told.partition),
        "ErrorCode": told.error,
        "ActiveProducers": active,
    }


def _reject_partitions(
    request: model.DescribeProducers, error: Errors
) -> model.DescribeProducersResponse:
    results = (model.PartitionProducers(partition, error) for partition in request.partitions)
    return model.DescribeProducersResponse(tuple(results))


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
        shard=Shard.TRANSACTIONAL_IDS,
        needs=(DESCRIBE_ID,),
        refusal=_reject_ids,
        error_place=ErrorPlace(
            first=lambda m: m.transaction_states[0].error,
            put=lambda m, error: m.but(transaction_states=with_errors(m.transaction_states, error)),
        ),
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
        shard=Shard.PARTITIONS,
        needs=(READ_EACH,),
        refusal=_reject_partitions,
        error_place=ErrorPlace(
            first=lambda m: m.responses[0].error,
            put=lambda m, error: m.but(responses=with_errors(m.responses, error)),
        ),
        errors=(
            at(
                "Topics.Partitions.ErrorCode",
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.NOT_LEADER_OR_FOLLOWER,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Never("topics have names that are allowed", ("INVALID_TOPIC_EXCEPTION",)),
            ),
        ),
        topics=lambda m: topics_of(m.partitions),
        clause="KIP-664 DescribeProducers",
        kafka="ReplicaManager.activeProducerState",
        answer_in="DescribeProducersHandler",
        words=("describe producers", "producers"),
        admin_retries=OF_A_LEADER,
        by_name=True,
    ),
)
