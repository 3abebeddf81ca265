"""The API with which a member of a share group acquires records, and acknowledges others. Fields and versions: Kafka 4.4.0."""

from __future__ import annotations

from kipviz.messages.apis.api import Api, Role
from kipviz.messages.apis.error_places import ErrorPlace
from kipviz.messages.apis.legal_errors import DAMAGE, DISK, UNEXPECTED, at
from kipviz.messages.apis.logs.fetch import batch_of
from kipviz.messages.apis.rights import READ_EACH, READ_GROUP, topics_of
from kipviz.messages.apis.shards import Shard
from kipviz.messages.apis.shares.acknowledgements import (
    LOCK,
    NODE_ENDPOINT,
    OF_A_SESSION,
    OF_AN_ACKNOWLEDGEMENT,
    Acknowledged,
    acknowledged_topics,
    decode_acknowledged,
    first_error,
    renews,
)
from kipviz.messages.errors import Errors
from kipviz.messages.shares import share_groups as model
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.decoding import Incoming, NotModelledError
from kipviz.messages.wire.kind import Around, Kind, RequestKind, indexes
from kipviz.messages.wire.schema import Field, Schema
from kipviz.records.placement import index_of
from kipviz.settings.consumer_configs import FETCH_MAX_BYTES, FETCH_MAX_WAIT_MS, FETCH_MIN_BYTES

SHARE_FETCH_REQUEST = Schema(
    "ShareFetchRequest",
    78,
    "1-2",
    "0+",
    (
        Field("GroupId", "string", default="null", nullable="0+"),
        Field("MemberId", "string", nullable="0+"),
        Field("ShareSessionEpoch", "int32"),
        Field("MaxWaitMs", "int32"),
        Field("MinBytes", "int32"),
        Field("MaxBytes", "int32", default="0x7fffffff"),
        Field("MaxRecords", "int32", "1+"),
        Field("BatchSize", "int32", "1+"),
        Field("ShareAcquireMode", "int8", "2+", default="0"),
        Field("IsRenewAck", "bool", "2+"),
        Field(
            "Topics",
            "[]FetchTopic",
            fields=(
                Field("TopicId", "uuid"),
                Field(
                    "Partitions",
                    "[]FetchPartition",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("PartitionMaxBytes", "int32", "0"),
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
        Field(
            "ForgottenTopicsData",
            "[]ForgottenTopic",
            fields=(
                Field("TopicId", "uuid"),
                Field("Partitions", "[]int32"),
            ),
        ),
    ),
)

SHARE_FETCH_RESPONSE = Schema(
    "ShareFetchResponse",
    78,
    "1-2",
    "0+",
    (
        Field("ThrottleTimeMs", "int32"),
        Field("ErrorCode", "int16"),
        Field("ErrorMessage", "string", default="null", nullable="0+"),
        Field("AcquisitionLockTimeoutMs", "int32", "1+"),
        Field(
            "Responses",
            "[]ShareFetchableTopicResponse",
            fields=(
                Field("TopicId", "uuid"),
                Field(
                    "Partitions",
                    "[]PartitionData",
                    fields=(
                        Field("PartitionIndex", "int32"),
                        Field("ErrorCode", "int16"),
                        Field("ErrorMessage", "string", default="null", nullable="0+"),
                        Field("AcknowledgeErrorCode", "int16"),
                        Field("AcknowledgeErrorMessage", "string", default="null", nullable="0+"),
                        Field(
                            "CurrentLeader",
                            "LeaderIdAndEpoch",
                            fields=(
                                Field("LeaderId", "int32"),
                                Field("LeaderEpoch", "int32"),
                            ),
                        ),
                        Field("Records", "records", nullable="0"),
                        Field(
                            "AcquiredRecords",
                            "[]AcquiredRecords",
                            fields=(
                                Field("FirstOffset", "int64"),
                                Field("LastOffset", "int64"),
                                Field("DeliveryCount", "int16"),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        Field("NodeEndpoints", "[]NodeEndpoint", fields=NODE_ENDPOINT),
    ),
)
OF_THE_FETCH = (*OF_A_SESSION, Errors.SHARE_SESSION_LIMIT_REACHED)
"""Errors of a whole fetch, which are checked before its partitions."""


def _share_fetch(m: model.ShareFetch, around: Around) -> Struct:
    every: Acknowledged = tuple((part.partition, part.acknowledgements) for part in m.partitions)
    # The Java client sends max.poll.records twice.
    asked: Struct = {
        "GroupId": m.group_id,
        "MemberId": m.member_id,
        "ShareSessionEpoch": m.session_epoch,
        "IsRenewAck": renews(every),
        "Topics": acknowledged_topics(every, around),
        "MaxWaitMs": m.max_wait_ms,
        "MaxRecords": m.max_records,
        "BatchSize": m.max_records,
        "ShareAcquireMode": m.acquire_mode,
    }
    if m.forgotten:
        forgotten = indexes(
            m.forgotten,
            lambda topic, each: {"TopicId": around.topic_id(topic), "Partitions": each},
        )
        asked |= {"ForgottenTopicsData": forgotten}
    if m.max_records == 0:
        asked |= {"MaxWaitMs": 0, "MinBytes": 0, "MaxBytes": 0}
    return asked


def _decode_share_fetch(fields: Struct, incoming: Incoming) -> tuple[model.ShareFetch, ...]:
    mode, most = fields.get("ShareAcquireMode", model.BATCH_OPTIMIZED), fields["MaxRecords"]
    if mode not in (model.BATCH_OPTIMIZED, model.RECORD_LIMIT):
        raise NotModelledError(f"ShareAcquireMode must be 0 or 1, not {mode}")
    message = model.ShareFetch(
        fields["GroupId"] or "",
        fields["MemberId"] or "",
        fields["ShareSessionEpoch"],
        decode_acknowledged(fields, incoming),
        most,
        mode,
        # A request for no records does not wait, whatever it asks for.
        FETCH_MAX_WAIT_MS.default if most == 0 else max(fields["MaxWaitMs"], 0),
        incoming.partitions_of(fields.get("ForgottenTopicsData", ())),
    )
    return (message,)


def _encode_part(part: model.FetchedPartition) -> Struct:
    return {
        "PartitionIndex": index_of(part.partition),
        "ErrorCode": part.error,
        "AcknowledgeErrorCode": part.acknowledge_error,
        "Records": batch_of(part.records),
        "AcquiredRecords": tuple(
            {"FirstOffset": a.first, "LastOffset": a.last, "DeliveryCount": a.delivery_count}
            for a in part.acquired
        ),
    }


def _share_fetched(m: model.ShareFetchResponse, around: Around) -> Struct:
    found = ((part.partition, _encode_part(part)) for part in m.responses)
    return {"ErrorCode": m.error, "Responses": around.by_topic_ids(found, "Partitions")}


def reject_fetch(partition: str, error: Errors) -> model.ShareFetchResponse:
    """Return the response to a rejected fetch: with the error of the whole fetch, or with that of its partition."""
    if error in OF_THE_FETCH or not partition:
        return model.ShareFetchResponse(error)
    return model.ShareFetchResponse(Errors.NONE, (model.FetchedPartition(partition, error),))


APIS = (
    Api(
        request=model.ShareFetch,
        response=model.ShareFetchResponse,
        request_bytes=RequestKind(
            SHARE_FETCH_REQUEST,
            _share_fetch,
            {
                "ShareFetchRequest.MinBytes": FETCH_MIN_BYTES.fixed,
                "ShareFetchRequest.MaxBytes": FETCH_MAX_BYTES.fixed,
            },
            decode=_decode_share_fetch,
        ),
        response_bytes=Kind(
            SHARE_FETCH_RESPONSE,
            _share_fetched,
            {"ShareFetchResponse.AcquisitionLockTimeoutMs": LOCK},
        ),
        role=Role.SHARE_PARTITION_LEADER,
        shard=Shard.ONE_LEADER,
        needs=(READ_GROUP, READ_EACH),
        refusal=lambda m, error: reject_fetch(m.first.partition if m.partitions else "", error),
        errors=(
            at(
                "ErrorCode",
                *OF_THE_FETCH,
                Errors.INVALID_REQUEST,
                UNEXPECTED,
            ),
            at(
                "Responses.Partitions.ErrorCode",
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.NOT_LEADER_OR_FOLLOWER,
                Errors.TOPIC_AUTHORIZATION_FAILED,
                Errors.UNKNOWN_TOPIC_ID,
                Errors.UNKNOWN_SERVER_ERROR,
                Errors.COORDINATOR_NOT_AVAILABLE,
                DISK,
                DAMAGE,
            ),
            at("Responses.Partitions.AcknowledgeErrorCode", *OF_AN_ACKNOWLEDGEMENT, DISK),
        ),
        topics=lambda m: topics_of(m.names),
        error_place=ErrorPlace(first=first_error),
        clause="KIP-932 ShareFetch",
        kafka="SharePartitionManager.fetchMessages",
        answer_in="ShareConsumeRequestManager.handleShareFetchSuccess",
        only_with_shares=True,
        topic_ids_from=0,
        since="4.1.0",
    ),
)
