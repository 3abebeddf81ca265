"""ApiVersions, a client's first request: which requests the broker takes, and who the client is.

Source: KafkaApis.handleApiVersionsRequest; KIP-511.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.wire.codec import decode_head
from kipviz.messages.wire.frame import REQUEST_HEADER, header_version
from kipviz.serving.translating.apis import (
    API_VERSIONS_RANGE,
    ServedApi,
    announced_versions,
    answer_frame,
)
from kipviz.serving.translating.translate_cluster import (
    API_VERSIONS_REQUEST,
    API_VERSIONS_RESPONSE,
    api_versions,
    refused_versions,
    why_not_met,
)


@dataclass(frozen=True)
class Met:
    """The answer to ApiVersions, and the client as far as its request could be read."""

    answer: bytes
    is_read: bool = False
    client_id: str = ""
    software: str = ""


def answer_versions(
    frame: bytes, version: int, broker: int, apis: Mapping[int, ServedApi], features: Features
) -> Met:
    """Answer ApiVersions; a version that is too new gets an answer of version 0 with an error (KIP-511).

    Raises:
        WireError: if the bytes are not such a request.
    """
    correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
    low, high = API_VERSIONS_RANGE
    if not low <= version <= high:
        told = refused_versions(Errors.UNSUPPORTED_VERSION, low, high)
        return Met(answer_frame(API_VERSIONS_RESPONSE, 0, correlation_id, told))
    head, start = decode_head(REQUEST_HEADER, header_version(API_VERSIONS_REQUEST, version), frame)
    said, _ = decode_head(API_VERSIONS_REQUEST, version, frame, len(start.data))
    names = (said.get("ClientSoftwareName", ""), said.get("ClientSoftwareVersion", ""))
    error = why_not_met(said, version, broker)
    told = (
        refused_versions(error, low, high)
        if error
        else api_versions(announced_versions(apis), features)
    )
    answer = answer_frame(API_VERSIONS_RESPONSE, version, correlation_id, told)
    return Met(answer, True, head["ClientId"] or "", " ".join(filter(None, names)))
