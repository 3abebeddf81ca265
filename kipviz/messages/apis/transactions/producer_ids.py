"""The API of an identity: InitProducerId, and what proposals change in it. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import NO_RELEASE, Api, Case, Role, UnstableVersion
from kipviz.messages.apis.client_errors import NOT_ALLOWED, ClientErrors
from kipviz.messages.apis.legal_errors import Never, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    WRITE_ID,
    Need,
    Operation,
    Resource,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.transactions import group_transactions
from kipviz.messages.transactions import transactions as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes
from kipviz.messages.wire.schema import Field, Schema

# The first version in which a producer names the producer id and epoch that it had (KIP-360).
NAMES_PRODUCER = 3

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
        # KIP-1309 (draft): its place is our inference; the default 0 is not encoded.
        Field(
            "TransactionHeartbeatIntervalMs",
            "int32",
            "6+",
            tagged="6+",
            tag=0,
            status="our inference",
        ),
    ),
)

# KIP-447, first draft: above the versions of that time. The order of the last three fields is the draft's, as is the
# wider time limit; how partitions are encoded in their array is our inference.
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


def _init_producer_id(m: model.InitProducerId, _: Around) -> Struct:
    fields = {
        "TransactionalId": m.transactional_id,
        "TransactionTimeoutMs": m.transaction_timeout_ms,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
    }
    # A field that the version lacks is not encoded silently as its default: the codec rejects it, as Kafka does.
    if max(m.version, m.oldest) >= model.TWO_PHASE:
        fields |= {"Enable2Pc": m.enable_2pc, "KeepPreparedTxn": m.keep_prepared_txn}
        if m.heartbeat_interval_ms:
            fields["TransactionHeartbeatIntervalMs"] = m.heartbeat_interval_ms
    return fields


def _decode_init_producer_id(
    fields: Struct, incoming: Incoming
) -> tuple[model.InitProducerId, ...]:
    message = model.InitProducerId(
        fields["TransactionalId"], fields["TransactionTimeoutMs"], version=incoming.version
    )
    if message.version >= NAMES_PRODUCER:
        message = message.but(
            producer_id=fields["ProducerId"], producer_epoch=fields["ProducerEpoch"]
        )
    if message.version >= model.TWO_PHASE:
        message = message.but(
            enable_2pc=fields["Enable2Pc"],
            keep_prepared_txn=fields["KeepPreparedTxn"],
            heartbeat_interval_ms=fields.get("TransactionHeartbeatIntervalMs", 0),
        )
    return (message,)


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


def _decode_init_producer_id_of_group(
    fields: Struct, incoming: Incoming
) -> tuple[group_transactions.InitProducerIdOfGroup, ...]:
    message = group_transactions.InitProducerIdOfGroup(
        fields["TransactionalId"],
        fields["TransactionTimeoutMs"],
        group_id=fields["ConsumerGroupId"] or "",
        generation=fields["ConsumerGroupGeneration"],
        assigned=incoming.partitions_of(fields["AssignedPartitions"]),
    )
    return (message,)


def _identities(m: model.InitProducerIdResponse, around: Around) -> Struct:
    if max(around.version_of(m), m.oldest) < model.TWO_PHASE:
        return identity(m, around)
    ongoing = {
        "OngoingTxnProducerId": m.ongoing_txn_producer_id,
        "OngoingTxnProducerEpoch": m.ongoing_txn_producer_epoch,
    }
    return {**identity(m, around), **ongoing}


def identity(m: model.InitProducerIdResponse | model.EndTxnResponse, _: Around) -> Struct:
    """Return the fields of an error and of an identity: the producer id and epoch for the next request."""
    return {
        "ErrorCode": m.error,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
    }


NAMELESS = "InitProducerId, no transactional id"
# A producer without a transactional id; WRITE on any topic is sufficient for its identity, too.
_NAMELESS = Case[model.InitProducerId](
    NAMELESS,
    lambda m: m.transactional_id is None,
    (Need(Operation.IDEMPOTENT_WRITE, Resource.CLUSTER, "KafkaApis, KIP-679"),),
)
OF_TWO_PHASE_COMMIT = "InitProducerId, two-phase commit"
_OF_TWO_PHASE_COMMIT = Case[model.InitProducerId](
    OF_TWO_PHASE_COMMIT,
    lambda m: m.enable_2pc,
    (
        WRITE_ID,
        Need(Operation.TWO_PHASE_COMMIT, Resource.TRANSACTIONAL_ID, "KafkaApis, KIP-939"),
    ),
)


APIS = (
    Api(
        request=model.InitProducerId,
        response=model.InitProducerIdResponse,
        request_bytes=RequestKind(
            INIT_PRODUCER_ID_REQUEST, _init_producer_id, decode=_decode_init_producer_id
        ),
        response_bytes=Kind(INIT_PRODUCER_ID_RESPONSE, _identities),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        appends=True,
        needs=(WRITE_ID,),
        cases=(_NAMELESS, _OF_TWO_PHASE_COMMIT),
        refusal=lambda _, error: model.InitProducerIdResponse(error),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_SERVER_ERROR,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                Errors.INVALID_REQUEST,
                Errors.INVALID_TRANSACTION_TIMEOUT,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.PRODUCER_FENCED,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Never(
                    "clients speak version 5, and brokers respond with it below version 4",
                    ("INVALID_PRODUCER_EPOCH",),
                ),
            ),
        ),
        client_errors=ClientErrors(
            abortable=(Errors.TRANSACTION_ABORTABLE, *NOT_ALLOWED),
            # A client throws UnsupportedVersionException itself where its broker lacks version 6.
            own_class=(*NOT_ALLOWED, Errors.TRANSACTION_ABORTABLE, Errors.UNSUPPORTED_VERSION),
        ),
        decisive=True,
        clause="KIP-98 InitPidRequest; KIP-360",
        kafka="TransactionCoordinator.handleInitProducerId",
        answer_in="TransactionManager.InitProducerIdHandler",
        admin_retries=(*OF_A_COORDINATOR, Errors.CONCURRENT_TRANSACTIONS),
        may_be_late=True,
        # Kafka 4.4.0 has the fields of version 6, and marks the version unstable: no client sends it.
        unstable=UnstableVersion(
            version=model.TWO_PHASE,
            clause="KIP-939 Enable2Pc and KeepPreparedTxn (version 6, unstable; keeping is pull request 21735)",
            kafka="none yet (PR 21735)",
            words=("InitProducerId 2PC", ""),
            since="4.1.0",
        ),
    ),
    Api(
        request=group_transactions.InitProducerIdOfGroup,
        response=model.InitProducerIdResponse,
        request_bytes=RequestKind(
            INIT_PRODUCER_ID_OF_GROUP_REQUEST,
            _init_producer_id_of_group,
            decode=_decode_init_producer_id_of_group,
        ),
        response_bytes=Kind(INIT_PRODUCER_ID_RESPONSE, _identities),
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        appends=True,
        needs=(WRITE_ID,),
        cases=(_NAMELESS,),
        refusal=lambda _, error: model.InitProducerIdResponse(error),
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_SERVER_ERROR,
                Errors.CLUSTER_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                Errors.INVALID_REQUEST,
                Errors.ILLEGAL_GENERATION,
                Errors.INVALID_TRANSACTION_TIMEOUT,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.PRODUCER_FENCED,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            ),
        ),
        # A producer that comes too late joins its group again (our inference).
        client_errors=ClientErrors(abortable=(Errors.ILLEGAL_GENERATION, *NOT_ALLOWED)),
        decisive=True,
        clause="KIP-447, first draft: InitProducerId API, Fencing zombie (dropped before 2.5)",
        kafka="none yet (PR none)",
        answer_in="none yet (PR none)",
        words=("InitProducerId of group", ""),
        may_be_late=True,
        since=NO_RELEASE,
    ),
)
