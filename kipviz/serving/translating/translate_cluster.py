"""ApiVersions, Metadata and FindCoordinator: a client's first requests.

Source: KafkaApis.handleApiVersionsRequest, handleTopicMetadataRequest, handleFindCoordinatorRequest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kipviz.brokers.context import NOBODY
from kipviz.messages.cluster.coordinators import (
    OF_SEVERAL_KEYS,
    Coordinator,
    FindCoordinatorResponse,
)
from kipviz.messages.cluster.features import Features
from kipviz.messages.cluster.metadata import Metadata, MetadataResponse
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.wire.codec import Struct
from kipviz.messages.wire.schema import ZERO_ID, Field, Schema
from kipviz.records.placement import (
    INTERNAL_TOPICS,
    index_of,
    topic_of,
)
from kipviz.serving.translating.further_errors import FurtherErrors
from kipviz.serving.translating.reply_context import (
    HOST,
    ClientRequest,
    Replies,
    ServedDesk,
    TranslatedRequest,
)
from kipviz.settings.broker_configs import TRANSACTION_VERSION

API_VERSIONS = 18
CLUSTER_ID = "kipviz-simulated-cluster"

API_VERSIONS_REQUEST = Schema(
    "ApiVersionsRequest",
    API_VERSIONS,
    "0-5",
    "3+",
    (
        Field("ClientSoftwareName", "string", "3+"),
        Field("ClientSoftwareVersion", "string", "3+"),
        Field("ClusterId", "string", "5+", default="null", nullable="5+"),
        Field("NodeId", "int32", "5+", default="-1"),
    ),
)
_LEVELS = (Field("Name", "string", "3+"),)
API_VERSIONS_RESPONSE = Schema(
    "ApiVersionsResponse",
    API_VERSIONS,
    "0-5",
    "3+",
    (
        Field("ErrorCode", "int16"),
        Field(
            "ApiKeys",
            "[]ApiVersion",
            fields=(
                Field("ApiKey", "int16"),
                Field("MinVersion", "int16"),
                Field("MaxVersion", "int16"),
            ),
        ),
        Field("ThrottleTimeMs", "int32", "1+"),
        Field(
            "SupportedFeatures",
            "[]SupportedFeatureKey",
            "3+",
            tag=0,
            tagged="3+",
            fields=(
                *_LEVELS,
                Field("MinVersion", "int16", "3+"),
                Field("MaxVersion", "int16", "3+"),
            ),
        ),
        Field("FinalizedFeaturesEpoch", "int64", "3+", default="-1", tag=1, tagged="3+"),
        Field(
            "FinalizedFeatures",
            "[]FinalizedFeatureKey",
            "3+",
            tag=2,
            tagged="3+",
            fields=(
                *_LEVELS,
                Field("MaxVersionLevel", "int16", "3+"),
                Field("MinVersionLevel", "int16", "3+"),
            ),
        ),
    ),
)


# ApiVersionsRequest.SOFTWARE_NAME_VERSION_PATTERN
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def why_not_met(said: Struct, version: int, broker: int) -> int:
    """Return the error code for a client's ApiVersions request of a version that the broker knows.

    Source: ApiVersionsRequest.isValid, KafkaApis.handleApiVersionsRequest.
    """
    cluster_id, node_id = said.get("ClusterId"), said.get("NodeId", NOBODY)
    if version >= 5 and (cluster_id is None) != (node_id == NOBODY):
        return Errors.INVALID_REQUEST
    names = (said.get("ClientSoftwareName", ""), said.get("ClientSoftwareVersion", ""))
    if version >= 3 and not all(map(_SOFTWARE.fullmatch, names)):
        return Errors.INVALID_REQUEST
    if cluster_id is not None and (cluster_id, node_id) != (CLUSTER_ID, broker):
        return FurtherErrors.REBOOTSTRAP_REQUIRED
    return Errors.NONE


def refused_versions(error: int, low: int, high: int) -> Struct:
    """Return an answer to ApiVersions with an error; of a version that is too new it tells the range."""
    mine = {"ApiKey": API_VERSIONS, "MinVersion": low, "MaxVersion": high}
    return {
        "ErrorCode": error,
        "ApiKeys": (mine,) if error == Errors.UNSUPPORTED_VERSION else (),
    }


def api_versions(announced: Iterable[tuple[int, int, int]], features: Features) -> Struct:
    """Return the answer to ApiVersions: (key, lowest, highest) of each request, and the feature levels."""
    levels = {
        "group.version": 1,
        "share.version": min(features.share_version, 1),
        TRANSACTION_VERSION.name: features.transaction_version,
    }
    return {
        "ErrorCode": Errors.NONE,
        "ApiKeys": tuple(
            {"ApiKey": key, "MinVersion": low, "MaxVersion": high} for key, low, high in announced
        ),
        "SupportedFeatures": tuple(
            {"Name": name, "MinVersion": 0, "MaxVersion": max(level, 1)}
            for name, level in levels.items()
        ),
        "FinalizedFeaturesEpoch": 0,
        "FinalizedFeatures": tuple(
            {"Name": name, "MaxVersionLevel": level, "MinVersionLevel": level}
            for name, level in levels.items()
            if level
        ),
    }


def metadata(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Answer a Metadata request: the model has the topic ids, the cluster's image has the rest."""
    (message,) = messages
    assert isinstance(message, Metadata)
    topics, desk = request.said["Topics"], request.desk
    if topics is None or (request.version == 0 and not topics):
        # The model's request names its topics.
        message, topics = message.but(topics=tuple(desk.image.topic_ids.keys())), ()
    unknown = tuple(t["TopicId"] for t in topics if desk.topic_named(t) is None)

    def answer(replies: Replies) -> Struct:
        (told,) = replies
        assert isinstance(told, MetadataResponse)
        there = tuple(_topic(t.topic, t.topic_id, t.error, desk) for t in told.topics)
        no_ids = ({"ErrorCode": Errors.UNKNOWN_TOPIC_ID, "TopicId": each} for each in unknown)
        return {
            "Brokers": tuple(
                {"NodeId": b, "Host": HOST, "Port": desk.ports[b]} for b in desk.world.up
            ),
            "ClusterId": CLUSTER_ID,
            "ControllerId": min(desk.world.up, default=-1),
            "Topics": (*there, *no_ids),
            "ErrorCode": told.error,
        }

    return TranslatedRequest((message,), answer)


def _topic(name: str, topic_id: str, error: Errors, desk: ServedDesk) -> Struct:
    # A topic that this very request creates has partitions by now, and is unknown in the response.
    known = not error and (topic_id or name in INTERNAL_TOPICS)
    leaders = desk.image.leaders if known else ()
    mine = sorted((p for p in leaders if topic_of(p) == name), key=index_of)
    return {
        "ErrorCode": error if error or mine else Errors.UNKNOWN_TOPIC_OR_PARTITION,
        "Name": name,
        "TopicId": topic_id or ZERO_ID,
        "IsInternal": name in INTERNAL_TOPICS,
        "Partitions": tuple(_partition(p, desk) for p in mine),
    }


def _partition(partition: str, desk: ServedDesk) -> Struct:
    held, up = desk.image.leaders[partition], desk.world.up
    return {
        "ErrorCode": FurtherErrors.LEADER_NOT_AVAILABLE if held.leader == NOBODY else Errors.NONE,
        "PartitionIndex": index_of(partition),
        "LeaderId": held.leader,
        "LeaderEpoch": held.epoch,
        "ReplicaNodes": held.replicas,
        "IsrNodes": tuple(b for b in held.replicas if b in up),
        "OfflineReplicas": tuple(b for b in held.replicas if b not in up),
    }


def find_coordinator(request: ClientRequest, messages: tuple[Message, ...]) -> TranslatedRequest:
    """Answer FindCoordinator: the model names the brokers, and the listeners know their addresses."""
    desk, several = request.desk, request.version >= OF_SEVERAL_KEYS

    def answer(replies: Replies) -> Struct:
        told = (reply for reply in replies if isinstance(reply, FindCoordinatorResponse))
        found = tuple(_node(each, desk) for reply in told for each in reply.coordinators)
        return {"Coordinators": found} if several else found[0]

    return TranslatedRequest(messages, answer)


def _node(told: Coordinator, desk: ServedDesk) -> Struct:
    there = told.error is Errors.NONE and told.node_id in desk.ports
    return {
        "Key": told.key,
        "ErrorCode": told.error,
        "ErrorMessage": None if told.error is Errors.NONE else told.error.name,
        "NodeId": told.node_id if there else -1,
        "Host": HOST if there else "",
        "Port": desk.ports[told.node_id] if there else -1,
    }
