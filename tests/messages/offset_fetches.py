"""OffsetFetch in one line, as a consumer sends it and as an operator does, and what is in its response."""

from __future__ import annotations

from typing import Any

from kipviz.brokers.groups.offset_fetches import on_offset_fetch
from kipviz.driving.desk import Desk
from kipviz.messages.apis.catalogue import reject_request
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import (
    NAMES_TOPICS,
    FetchedGroup,
    FetchedOffset,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchResponse,
    fetch_offsets,
)


def fetch_all(
    *groups: str, require_stable: bool = False, version: int = NAMES_TOPICS
) -> OffsetFetch:
    """An operator's request for all offsets of groups."""
    return OffsetFetch(tuple(map(OffsetFetchGroup, groups)), require_stable, version)


def response_of(error: Errors, partition: str, offset: int = -1) -> OffsetFetchResponse:
    """The response to a consumer's request for the offset of a partition."""
    if error is not Errors.NONE:
        answer = reject_request(fetch_offsets("g", (partition,)), error)
        assert isinstance(answer, OffsetFetchResponse)
        return answer
    return response_with(FetchedOffset(partition, offset))


def response_with(*offsets: FetchedOffset) -> OffsetFetchResponse:
    """The response to a consumer's request for the offsets of several partitions."""
    return OffsetFetchResponse((FetchedGroup(Errors.NONE, "g", offsets),))


def fetch_offset_of(
    desk: Desk, partition: str = "src-0", require_stable: bool = True, **more: Any
) -> FetchedOffset | None:
    """What a coordinator answers to a consumer that asks for an offset of g; None if there is no response yet."""
    request = fetch_offsets("g", (partition,), require_stable, **more)
    answer: Any = desk.ask(on_offset_fetch, request)
    return None if answer is None else answer.groups[0].result_of(partition)
