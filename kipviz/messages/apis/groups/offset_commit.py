"""The APIs that commit offsets: at once, and in a transaction. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.client_errors import COMMIT_FAILED, ClientErrors
from kipviz.messages.apis.error_places import ErrorPlace
from kipviz.messages.apis.legal_errors import (
    FORMAT,
    RECORD_SIZE,
    WAITS,
    Never,
    at,
)
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import (
    READ_EACH,
    READ_GROUP,
    WRITE_ID,
    topics_of,
)
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.groups import groups as model
from kipviz.messages.groups.groups import NAMES_IDS, NAMES_MEMBER
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind, topics
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of

NO_EPOCH = -1

TXN_OFFSET_COMMIT_REQUEST = Schema(
    "TxnOffsetCommitRequest",
    28,
    "0-6",
    "3+",
    (
        Field("TransactionalId", "string"),
        Field("GroupId", "string"),
        Field("ProducerId", "int64"),
        Field("ProducerEpoch", "int16"),
        Field("GenerationIdOrMemberEpoch", "int32", "3+", default="-1"),
        Field("MemberId", "string", "3+"),
        Field("GroupInstanceId", "string", "3+", default="null", nullable="3+"),
        Field(
            "Topics",
            "[]TxnOffsetCommitRequestTopic",
            fields=(
                Field("Name", "string", "0-5"),
                Field("TopicId", "uuid", "6+"),
                Field(
                    "Partitions",
                    "[]TxnOffsetCommitRequestPartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("CommittedOffset", "int64"),
                        Field("CommittedLeaderEpoch", "int32", "2+", default="-1"),
                        Field("CommittedMetadata", "string", nullable="0+"),
                    ),
                ),
            ),
        ),
    ),
)

TXN_OFFSET_COMMIT_RESPONSE = Schema(
    "TxnOffsetCommitResponse",
    28,
    "0-6",
    "3+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field(
            "Topics",
            "[]TxnOffsetCommitResponseTopic",
            fields=(
                Field("Name", "string", "0-5"),
                Field("TopicId", "uuid", "6+"),
                Field(
                    "Partitions",
                    "[]TxnOffsetCommitResponsePartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                    ),
                ),
            ),
        ),
    ),
)

OFFSET_COMMIT_REQUEST = Schema(
    "OffsetCommitRequest",
    8,
    "2-10",
    "8+",
    (
        Field("GroupId", "string"),
        Field("GenerationIdOrMemberEpoch", "int32", "1+", default="-1"),
        Field("MemberId", "string", "1+"),
        Field("GroupInstanceId", "string", "7+", default="null", nullable="7+"),
        Field("RetentionTimeMs", "int64", "2-4", default="-1"),
        Field(
            "Topics",
            "[]OffsetCommitRequestTopic",
            fields=(
                Field("Name", "string", "0-9"),
                Field("TopicId", "uuid", "10+"),
                Field(
                    "Partitions",
                    "[]OffsetCommitRequestPartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("CommittedOffset", "int64"),
                        Field("CommittedLeaderEpoch", "int32", "6+", default="-1"),
                        Field("CommittedMetadata", "string", nullable="0+"),
                    ),
                ),
            ),
        ),
    ),
)

OFFSET_COMMIT_RESPONSE = Schema(
    "OffsetCommitResponse",
    8,
    "2-10",
    "8+",
    (
        Field("ThrottleTimeMs", "int32", "3+"),
        Field(
            "Topics",
            "[]OffsetCommitResponseTopic",
            fields=(
                Field("Name", "string", "0-9"),
                Field("TopicId", "uuid", "10+"),
                Field(
                    "Partitions",
                    "[]OffsetCommitResponsePartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                    ),
                ),
            ),
        ),
    ),
)


def _instance(m: model.TxnOffsetCommit | model.OffsetCommit) -> Struct:
    """Return the field of a static member's instance id, if there is one (KIP-345)."""
    return {"GroupInstanceId": m.instance_id} if m.instance_id else {}


def _member(m: model.TxnOffsetCommit) -> Struct:
    return {"GenerationIdOrMemberEpoch": m.member_epoch, "MemberId": m.member_id, **_instance(m)}


def decode_epoch(number: int) -> int | None:
    """Return a leader epoch, None for -1. Source: OffsetAndMetadata.ofSentinel."""
    return None if number == NO_EPOCH else number


def _offsets(
    m: model.TxnOffsetCommit | model.OffsetCommit,
) -> Iterator[tuple[str, Struct]]:
    """Yield each partition with the fields of its offset; version 2 is the first with a leader epoch."""
    for each in m.offsets:
        epoch = {} if each.leader_epoch is None else {"CommittedLeaderEpoch": each.leader_epoch}
        offset = {"PartitionIndex": index_of(each.partition), "CommittedOffset": each.offset}
        yield each.partition, offset | epoch | {"CommittedMetadata": each.metadata}


def _commit(m: model.TxnOffsetCommit, around: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "GroupId": m.group_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        **(_member(m) if m.version >= NAMES_MEMBER else {}),
        "Topics": topics(_offsets(m), lambda t, each: {**_topic(m, t, around), "Partitions": each}),
    }


def _topic(m: model.TxnOffsetCommit, topic: str, around: Around) -> Struct:
    """Return the field that names a topic: its id since version 6 (KIP-1319), else its name."""
    if m.version < NAMES_IDS:
        return {"Name": topic}
    return {"TopicId": dict(m.topic_ids).get(topic) or around.topic_id(topic)}


def _decode_commit(fields: Struct, incoming: Incoming) -> tuple[model.TxnOffsetCommit, ...]:
    by_id = incoming.version >= NAMES_IDS
    message = model.TxnOffsetCommit(
        fields["TransactionalId"],
        fields["GroupId"],
        fields["ProducerId"],
        fields["ProducerEpoch"],
        *_decode_member(fields),
        _decode_offsets(fields, incoming),
        incoming.version,
        tuple(
            (name, topic["TopicId"])
            for topic in (fields["Topics"] if by_id else ())
            if (name := incoming.topic_of(topic)) is not None
        ),
        fields.get("GroupInstanceId") or "",
    )
    return (message,)


def _decode_member(fields: Struct) -> tuple[str, int]:
    return fields.get("MemberId", ""), fields.get("GenerationIdOrMemberEpoch", -1)


def _decode_offsets(fields: Struct, incoming: Incoming) -> tuple[model.GroupOffset, ...]:
    return tuple(
        model.GroupOffset(
            partition,
            part["CommittedOffset"],
            decode_epoch(part.get("CommittedLeaderEpoch", NO_EPOCH)),
            part.get("CommittedMetadata") or "",
        )
        for partition, part in incoming.parts_of(fields["Topics"])
    )


def _encode_response(m: model.TxnOffsetCommitResponse, around: Around) -> Struct:
    request = around.request
    if not isinstance(request, model.TxnOffsetCommit):
        return {"Topics": ()}
    return {
        "Topics": topics(
            _results(m), lambda t, each: {**_topic(request, t, around), "Partitions": each}
        ),
    }


def _results(
    m: model.TxnOffsetCommitResponse | model.OffsetCommitResponse,
) -> Iterator[tuple[str, Struct]]:
    """Yield each partition with the fields of its result."""
    for each in m.results:
        yield each.partition, {"PartitionIndex": index_of(each.partition), "ErrorCode": each.error}


def _encode_txn_request(m: model.OffsetCommit, around: Around) -> Struct:
    return {
        "GroupId": m.group_id,
        "GenerationIdOrMemberEpoch": m.member_epoch,
        "MemberId": m.member_id,
        **_instance(m),
        "Topics": topics(
            _offsets(m), lambda t, each: {"TopicId": around.topic_id(t), "Partitions": each}
        ),
    }


def _decode_request(fields: Struct, incoming: Incoming) -> tuple[model.OffsetCommit, ...]:
    message = model.OffsetCommit(
        fields["GroupId"],
        *_decode_member(fields),
        _decode_offsets(fields, incoming),
        fields.get("GroupInstanceId") or "",
    )
    return (message,)


def _encode_txn_response(m: model.OffsetCommitResponse, around: Around) -> Struct:
    return {
        "Topics": topics(
            _results(m), lambda t, each: {"TopicId": around.topic_id(t), "Partitions": each}
        )
    }


OF_PARTITIONS = ErrorPlace[model.OffsetCommitResponse | model.TxnOffsetCommitResponse](
    put=lambda m, error: m.but(
        results=tuple(r if r.error else r.but(error=error) for r in m.results)
    )
)
"""Each partition has an error; one that has its own keeps it."""


APIS = (
    Api(
        request=model.OffsetCommit,
        response=model.OffsetCommitResponse,
        request_bytes=RequestKind(
            OFFSET_COMMIT_REQUEST, _encode_txn_request, decode=_decode_request
        ),
        response_bytes=Kind(OFFSET_COMMIT_RESPONSE, _encode_txn_response),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(READ_GROUP, READ_EACH),
        refusal=model.committed_response,
        errors=(
            at(
                "Topics.Partitions.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.ILLEGAL_GENERATION,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.REBALANCE_IN_PROGRESS,
                Errors.FENCED_INSTANCE_ID,
                Errors.STALE_MEMBER_EPOCH,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.UNKNOWN_TOPIC_ID,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.OFFSET_METADATA_TOO_LARGE,
                RECORD_SIZE,
                WAITS,
                Never("brokers of today say STALE_MEMBER_EPOCH", ("FENCED_MEMBER_EPOCH",)),
                Never(
                    "OffsetCommit is not transactional",
                    (
                        "INVALID_PRODUCER_ID_MAPPING",
                        "INVALID_TXN_STATE",
                    ),
                ),
            ),
        ),
        topics=lambda m: topics_of(each.partition for each in m.offsets),
        client_errors=ClientErrors(commit_failed=COMMIT_FAILED),
        error_place=OF_PARTITIONS,
        clause="KIP-848 OffsetCommit",
        kafka="OffsetMetadataManager.commitOffset",
        answer_in="CommitRequestManager",
    ),
    Api(
        request=model.TxnOffsetCommit,
        response=model.TxnOffsetCommitResponse,
        request_bytes=RequestKind(TXN_OFFSET_COMMIT_REQUEST, _commit, decode=_decode_commit),
        response_bytes=Kind(TXN_OFFSET_COMMIT_RESPONSE, _encode_response),
        role=Role.GROUP_COORDINATOR,
        shard=Shard.GROUP,
        appends=True,
        needs=(WRITE_ID, READ_GROUP, READ_EACH),
        refusal=model.committed_response,
        errors=(
            at(
                "Topics.Partitions.ErrorCode",
                *OF_A_COORDINATOR,
                Errors.ILLEGAL_GENERATION,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.FENCED_INSTANCE_ID,
                Errors.STALE_MEMBER_EPOCH,
                Errors.REBALANCE_IN_PROGRESS,
                Errors.INVALID_PRODUCER_EPOCH,
                Errors.INVALID_TXN_STATE,
                Errors.INVALID_PRODUCER_ID_MAPPING,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.TRANSACTION_ABORTABLE,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.UNKNOWN_TOPIC_ID,
                Errors.GROUP_ID_NOT_FOUND,
                Errors.UNSUPPORTED_VERSION,
                FORMAT,
                Never(
                    "a broker turns it into INVALID_PRODUCER_EPOCH, which every client understands",
                    ("PRODUCER_FENCED",),
                ),
                Errors.OFFSET_METADATA_TOO_LARGE,
                RECORD_SIZE,
                WAITS,
            ),
        ),
        topics=lambda m: topics_of(each.partition for each in m.offsets),
        client_errors=ClientErrors(
            abortable=(
                *COMMIT_FAILED,
                Errors.FENCED_INSTANCE_ID,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.TRANSACTION_ABORTABLE,
            ),
            own_class=(
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.FENCED_INSTANCE_ID,
                Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                Errors.TRANSACTION_ABORTABLE,
            ),
            commit_failed=COMMIT_FAILED,
        ),
        error_place=OF_PARTITIONS,
        adds_partitions_from=5,
        decisive=True,
        clause="KIP-447; KIP-890 part 2, TxnOffsetCommit version 5",
        kafka="GroupCoordinatorService.commitTransactionalOffsets",
        answer_in="TransactionManager.TxnOffsetCommitHandler",
        may_be_late=True,
        newest=(("2.4", 2), ("3.5", 3), ("3.6", 3), ("3.9", 4), ("4.1.0", 5), ("4.3", 5)),
    ),
)
