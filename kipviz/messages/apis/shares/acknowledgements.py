"""The APIs that acknowledge records: ShareAcknowledge (Kafka 4.4.0), and TxnShareAcknowledge (KIP-1289, a draft)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.client_errors import ClientErrors
from kipviz.messages.apis.error_places import ErrorPlace, with_errors
from kipviz.messages.apis.legal_errors import DISK, UNEXPECTED, WELL_FORMED, at
from kipviz.messages.apis.retries import OF_A_COORDINATOR
from kipviz.messages.apis.rights import READ_GROUP, READ_TOPIC, Need, Operation, Resource, topics_of
from kipviz.messages.apis.shards import Shard
from kipviz.messages.errors import Errors
from kipviz.messages.shares import share_groups as model
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming
from kipviz.messages.wire.kind import Around, Kind, RequestKind
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of
from kipviz.settings.broker_configs import GROUP_SHARE_RECORD_LOCK_DURATION_MS

NODE_ENDPOINT = (
    Field("NodeId", "int32"),
    Field("Host", "string"),
    Field("Port", "int32"),
    Field("Rack", "string", default="null", nullable="0+"),
)

SHARE_ACKNOWLEDGE_REQUEST = Schema(
    "ShareAcknowledgeRequest",
    79,
    "1-2",
    "0+",
    (
        Field("GroupId", "string", default="null", nullable="0+"),
        Field("MemberId", "string", nullable="0+"),
        Field("ShareSessionEpoch", "int32"),
        Field("IsRenewAck", "bool", "2+"),
        Field(
            "Topics",
            "[]AcknowledgeTopic",
            fields=(
                Field("TopicId", "uuid"),
                Field(
                    "Partitions",
                    "[]AcknowledgePartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field(
                            "AcknowledgementBatches",
                            "[]AcknowledgementBatch",
                            fields=(
                                Field("FirstOffset", "int64"),
                                Field("LastOffset", "int64"),
                                Field("AcknowledgeTypes", "[]int8"),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
)

SHARE_ACKNOWLEDGE_RESPONSE = Schema(
    "ShareAcknowledgeResponse",
    79,
    "1-2",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        Field("ErrorMessage", "string", default="null", nullable="0+"),
        Field("AcquisitionLockTimeoutMs", "int32", "2+"),
        Field(
            "Responses",
            "[]ShareAcknowledgeTopicResponse",
            fields=(
                Field("TopicId", "uuid"),
                Field(
                    "Partitions",
                    "[]PartitionData",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                        Field("ErrorMessage", "string", default="null", nullable="0+"),
                        Field(
                            "CurrentLeader",
                            "LeaderIdAndEpoch",
                            fields=(
                                Field("LeaderId", "int32"),
                                Field("LeaderEpoch", "int32"),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        Field("NodeEndpoints", "[]NodeEndpoint", fields=NODE_ENDPOINT),
    ),
)


# The fields are the KIP's table; it has key 93 for the request and 94 for the response, which is impossible.
TXN_BATCHES = Field(
    "AcknowledgementBatches",
    "[]TxnShareAcknowledgeBatch",
    fields=(
        Field("FirstOffset", "int64"),
        Field("LastOffset", "int64"),
        Field("AcknowledgeTypes", "[]int8"),
    ),
)
# A repair of ours (slot staged_deliveries): which delivery of a record is staged. It is in no draft.
DELIVERIES = Field(
    "Deliveries",
    "[]TxnShareAcknowledgeDelivery",
    tag=0,
    tagged="0+",
    status="our inference",
    fields=(Field("Offset", "int64"), Field("DeliveryCount", "int16")),
)
TXN_SHARE_ACKNOWLEDGE_REQUEST = Schema(
    "TxnShareAcknowledgeRequest",
    93,
    "0",
    "0+",
    (
        Field("TransactionalId", "string", nullable="0+"),
        Field("GroupId", "string"),
        Field("ProducerId", "int64"),
        Field("ProducerEpoch", "int16"),
        Field("MemberId", "string"),
        Field("MemberEpoch", "int32"),
        Field(
            "Topics",
            "[]TxnShareAcknowledgeTopic",
            fields=(
                Field("TopicId", "uuid"),
                Field(
                    "Partitions",
                    "[]TxnShareAcknowledgePartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        TXN_BATCHES,
                        DELIVERIES,
                    ),
                ),
            ),
        ),
    ),
    status="draft",
)

# The KIP has no tag numbers; 0 is the first.
TXN_SHARE_ACKNOWLEDGE_RESPONSE = Schema(
    "TxnShareAcknowledgeResponse",
    93,
    "0",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        Field(
            "Responses",
            "[]TxnShareAcknowledgeTopicResponse",
            fields=(
                Field("TopicId", "uuid"),
                Field(
                    "Partitions",
                    "[]TxnShareAcknowledgePartitionResponse",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                        Field("ErrorMessage", "string", default="null", nullable="0+"),
                        Field(
                            "CurrentLeader",
                            "LeaderIdAndEpoch",
                            tag=0,
                            tagged="0+",
                            fields=(
                                Field("LeaderId", "int32", default="-1"),
                                Field("LeaderEpoch", "int32", default="-1"),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        Field("NodeEndpoints", "[]NodeEndpoint", tag=0, tagged="0+", fields=NODE_ENDPOINT),
    ),
    status="draft",
)

OF_A_SESSION = (
    Errors.SHARE_SESSION_NOT_FOUND,
    Errors.INVALID_SHARE_SESSION_EPOCH,
    Errors.GROUP_AUTHORIZATION_FAILED,
    Errors.UNSUPPORTED_VERSION,
)
"""Errors of a whole share request; any other is one partition's."""
OF_AN_ACKNOWLEDGEMENT = (
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.TOPIC_AUTHORIZATION_FAILED,
    Errors.UNKNOWN_TOPIC_ID,
    Errors.INVALID_RECORD_STATE,
    Errors.INVALID_REQUEST,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.GROUP_ID_NOT_FOUND,
    Errors.UNKNOWN_SERVER_ERROR,
)
"""Errors of the acknowledgements of one partition. The last three are the share coordinator's, as clients receive them.
"""
OF_A_PARTITION = (
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.INVALID_RECORD_STATE,
    Errors.INVALID_REQUEST,
    Errors.UNKNOWN_TOPIC_ID,
)
"""Errors that KIP-1289 lists for one partition; any other is the whole request's."""
LOCK = GROUP_SHARE_RECORD_LOCK_DURATION_MS.fixed


# Partitions, each with its acknowledgements.
Acknowledged: TypeAlias = Iterable[tuple[str, tuple[model.AcknowledgementBatch, ...]]]


def acknowledged_topics(every: Acknowledged, around: Around) -> tuple[Struct, ...]:
    """Return the topics of a request, with the acknowledgement batches of each partition."""
    partitions = ((name, _acknowledged_partition(name, batches)) for name, batches in every)
    return around.by_topic_ids(partitions, "Partitions")


def _acknowledged_partition(
    partition: str, batches: tuple[model.AcknowledgementBatch, ...]
) -> Struct:
    return {
        "PartitionIndex": index_of(partition),
        "AcknowledgementBatches": tuple(
            {"FirstOffset": b.first, "LastOffset": b.last, "AcknowledgeTypes": (b.type,)}
            for b in batches
        ),
    }


def decode_acknowledged(
    fields: Struct, incoming: Incoming
) -> tuple[model.PartitionAcknowledgements, ...]:
    """Return the partitions of a request, with the acknowledgements of each."""
    renewing = bool(fields.get("IsRenewAck", False))
    return tuple(
        model.PartitionAcknowledgements(
            partition, decode_batches(part["AcknowledgementBatches"], renewing=renewing)
        )
        for partition, part in incoming.parts_of(fields["Topics"])
    )


def decode_batches(
    batches: Iterable[Struct], *, renewing: bool
) -> tuple[model.AcknowledgementBatch, ...]:
    """Return acknowledgement batches; one type for all of a batch, or one for each of its offsets.

    An invalid type is UNKNOWN, and so is RENEW in a request that does not renew (IsRenewAck, since version 2). A batch
    whose types do not fit its offsets has the one type UNKNOWN: it is rejected in the same way. Source:
    KafkaApis.validateAcknowledgementBatches.
    """
    found: list[model.AcknowledgementBatch] = []
    for batch in batches:
        first, last, types = batch["FirstOffset"], batch["LastOffset"], batch["AcknowledgeTypes"]
        kinds = tuple(_decode_type(number, renewing=renewing) for number in types)
        if len(kinds) > 1 and len(kinds) == last - first + 1:
            found += model.batches_of_each(zip(range(first, last + 1), kinds, strict=True))
        else:
            kind = kinds[0] if len(kinds) == 1 else model.AcknowledgeType.UNKNOWN
            found.append(model.AcknowledgementBatch(first, last, kind))
    return tuple(found)


def _decode_type(number: int, *, renewing: bool) -> model.AcknowledgeType:
    kinds = model.AcknowledgeType
    highest = kinds.RENEW if renewing else kinds.REJECT
    return kinds(number) if 0 <= number <= highest else kinds.UNKNOWN


def _results(every: Iterable[tuple[str, Errors]], around: Around) -> tuple[Struct, ...]:
    """Return the topics of a response, with the error of each partition."""
    partitions = (
        (partition, {"PartitionIndex": index_of(partition), "ErrorCode": error})
        for partition, error in every
    )
    return around.by_topic_ids(partitions, "Partitions")


def renews(every: Acknowledged) -> bool:
    """Return whether a request renews an acquisition lock (KIP-1222)."""
    return any(b.type is model.AcknowledgeType.RENEW for _, batches in every for b in batches)


def _acknowledge(m: model.ShareAcknowledge, around: Around) -> Struct:
    every = tuple((part.partition, part.acknowledgements) for part in m.partitions)
    return {
        "GroupId": m.group_id,
        "MemberId": m.member_id,
        "ShareSessionEpoch": m.session_epoch,
        "IsRenewAck": renews(every),
        "Topics": acknowledged_topics(every, around),
    }


def _decode_acknowledge(fields: Struct, incoming: Incoming) -> tuple[model.ShareAcknowledge, ...]:
    message = model.ShareAcknowledge(
        fields["GroupId"] or "",
        fields["MemberId"] or "",
        fields["ShareSessionEpoch"],
        decode_acknowledged(fields, incoming),
    )
    return (message,)


def _share_acknowledged(m: model.ShareAcknowledgeResponse, around: Around) -> Struct:
    each = ((result.partition, result.error) for result in m.responses)
    return {"ErrorCode": m.error, "Responses": _results(each, around)}


def reject_acknowledgements(
    request: model.ShareAcknowledge, error: Errors
) -> model.ShareAcknowledgeResponse:
    """Return the response to a request that is rejected: with one error, or with that of each partition."""
    if error in OF_A_SESSION:
        return model.ShareAcknowledgeResponse(error)
    each = (PartitionResult(part.partition, error) for part in request.partitions)
    return model.ShareAcknowledgeResponse(Errors.NONE, tuple(each))


def _txn_acknowledge(m: model.TxnShareAcknowledge, around: Around) -> Struct:
    return {
        "TransactionalId": m.transactional_id,
        "GroupId": m.group_id,
        "ProducerId": m.producer_id,
        "ProducerEpoch": m.producer_epoch,
        "MemberId": m.member_id,
        "MemberEpoch": m.member_epoch,
        "Topics": around.by_topic_ids(map(_staged_partition, m.partitions), "Partitions"),
    }


def _staged_partition(part: model.TxnPartitionAcknowledgements) -> tuple[str, Struct]:
    """Return a partition with its acknowledgements, and its deliveries if a design names them."""
    row = _acknowledged_partition(part.partition, part.acknowledgements)
    told = tuple({"Offset": offset, "DeliveryCount": count} for offset, count in part.deliveries)
    return part.partition, row | {"Deliveries": told} if told else row


def _decode_txn_acknowledge(
    fields: Struct, incoming: Incoming
) -> tuple[model.TxnShareAcknowledge, ...]:
    parts = tuple(
        model.TxnPartitionAcknowledgements(
            partition,
            # The draft has no flag for RENEW, so the leader rejects the type itself.
            decode_batches(part["AcknowledgementBatches"], renewing=True),
            tuple((each["Offset"], each["DeliveryCount"]) for each in part.get("Deliveries", ())),
        )
        for partition, part in incoming.parts_of(fields["Topics"])
    )
    message = model.TxnShareAcknowledge(
        fields["TransactionalId"] or "",
        fields["GroupId"],
        fields["ProducerId"],
        fields["ProducerEpoch"],
        fields["MemberId"],
        fields["MemberEpoch"],
        parts,
    )
    return (message,)


def reject_staging(
    request: model.TxnShareAcknowledge, error: Errors
) -> model.TxnShareAcknowledgeResponse:
    """Return the response to a staging that is rejected with all of its partitions."""
    each = (PartitionResult(part.partition, error) for part in request.partitions)
    return model.TxnShareAcknowledgeResponse(tuple(each))


def _txn_acknowledged(m: model.TxnShareAcknowledgeResponse, around: Around) -> Struct:
    """Return the errors at the places that the draft lists: some are for the whole response, even with one partition."""
    # The draft lists KAFKA_STORAGE_ERROR there, too; `DISK` says why no broker of the model returns it.
    own = (Errors.NONE, *OF_A_PARTITION, Errors.KAFKA_STORAGE_ERROR)
    whole = next((each.error for each in m.responses if each.error not in own), Errors.NONE)
    each = ((result.partition, result.error) for result in m.responses if result.error in own)
    return {"ErrorCode": whole, "Responses": _results(each, around)}


def first_error(m: model.ShareAcknowledgeResponse | model.ShareFetchResponse) -> Errors:
    """Return the error of the whole response, else that of its first partition."""
    return m.error or next((each.error for each in m.responses[:1]), m.error)


APIS = (
    Api(
        request=model.ShareAcknowledge,
        response=model.ShareAcknowledgeResponse,
        request_bytes=RequestKind(
            SHARE_ACKNOWLEDGE_REQUEST, _acknowledge, decode=_decode_acknowledge
        ),
        response_bytes=Kind(
            SHARE_ACKNOWLEDGE_RESPONSE,
            _share_acknowledged,
            {"ShareAcknowledgeResponse.AcquisitionLockTimeoutMs": LOCK},
        ),
        role=Role.SHARE_PARTITION_LEADER,
        shard=Shard.BROKER,
        needs=(READ_GROUP, READ_TOPIC),
        refusal=reject_acknowledgements,
        errors=(
            at(
                "ErrorCode",
                *OF_A_SESSION,
                WELL_FORMED,
                UNEXPECTED,
            ),
            at("Responses.Partitions.ErrorCode", *OF_AN_ACKNOWLEDGEMENT, DISK),
        ),
        # The leader checks each of several partitions by itself.
        topics=lambda m: topics_of(
            each.partition for each in m.partitions if len(m.partitions) == 1
        ),
        error_place=ErrorPlace(
            first=first_error,
            put=lambda m, error: m.but(responses=with_errors(m.responses, error)),
        ),
        clause="KIP-932 ShareAcknowledge",
        kafka="SharePartition.acknowledge",
        answer_in="ShareConsumeRequestManager.handleShareAcknowledgeSuccess",
        only_with_shares=True,
        topic_ids_from=0,
        since="4.1.0",
    ),
    Api(
        request=model.TxnShareAcknowledge,
        response=model.TxnShareAcknowledgeResponse,
        request_bytes=RequestKind(
            TXN_SHARE_ACKNOWLEDGE_REQUEST,
            _txn_acknowledge,
            notes={
                "RequestHeader.RequestApiKey": "the draft's; Kafka has given 93 to another request since"
            },
            decode=_decode_txn_acknowledge,
        ),
        response_bytes=Kind(TXN_SHARE_ACKNOWLEDGE_RESPONSE, _txn_acknowledged),
        role=Role.SHARE_PARTITION_LEADER,
        shard=Shard.ONE_LEADER,
        # KIP-1289 requires WRITE on the group, which no ACL can grant, and names no operation for the topic. The rights
        # of TxnOffsetCommit and ShareAcknowledge are used instead.
        needs=(
            Need(Operation.WRITE, Resource.TRANSACTIONAL_ID, "KIP-1289; KIP-1310 6.1", "draft"),
            Need(Operation.READ, Resource.GROUP, "as ShareAcknowledge", "our inference"),
            Need(Operation.READ, Resource.TOPIC, "as ShareAcknowledge", "our inference"),
        ),
        refusal=reject_staging,
        errors=(
            at(
                "ErrorCode",
                *OF_A_COORDINATOR,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.STALE_MEMBER_EPOCH,
                Errors.INVALID_PRODUCER_EPOCH,
                Errors.INVALID_TXN_STATE,
                Errors.CONCURRENT_TRANSACTIONS,
                Errors.TRANSACTION_ABORTABLE,
                Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.UNSUPPORTED_VERSION,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_SERVER_ERROR,
            ),
            at("Responses.Partitions.ErrorCode", *OF_A_PARTITION, DISK),
        ),
        topics=lambda m: topics_of(each.partition for each in m.partitions),
        error_place=ErrorPlace(
            first=lambda m: m.responses[0].error,
            put=lambda m, error: m.but(responses=with_errors(m.responses, error)),
        ),
        # KIP-1289: "KafkaException for other non-fatal errors that may be retried by aborting". A new leader does not
        # have the acquisition lock, so a change of leader fails the transaction too (X10).
        client_errors=ClientErrors(
            abortable=(
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.NOT_LEADER_OR_FOLLOWER,
                Errors.INVALID_RECORD_STATE,
                Errors.INVALID_REQUEST,
                Errors.NOT_COORDINATOR,
                Errors.COORDINATOR_NOT_AVAILABLE,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.STALE_MEMBER_EPOCH,
                Errors.FENCED_LEADER_EPOCH,
                Errors.FENCED_STATE_EPOCH,
                Errors.GROUP_AUTHORIZATION_FAILED,
                Errors.TRANSACTION_ABORTABLE,
            )
        ),
        decisive=True,
        clause="KIP-1289 Flow - Share Group",
        kafka="none yet (PR 22357)",
        answer_in="none yet (PR 22357)",
        since="kip-1289",
    ),
)
