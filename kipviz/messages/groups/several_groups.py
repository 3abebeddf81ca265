"""Requests whose array names groups, and their responses, which have a result for each group."""

from __future__ import annotations

from typing import TypeAlias, TypeGuard, assert_never, get_args

from kipviz.messages.cluster.coordinators import GROUP, FindCoordinator
from kipviz.messages.errors import Errors
from kipviz.messages.groups.group_admin import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeResponse,
    DescribedClassicGroup,
    DescribedConsumerGroup,
    DescribeGroups,
    DescribeGroupsResponse,
)
from kipviz.messages.groups.groups import FetchedGroup, OffsetFetch, OffsetFetchResponse
from kipviz.messages.message import Message
from kipviz.messages.shares.share_admin import (
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsResponse,
    DescribedShareGroup,
    DescribedShareOffsets,
    DescribeShareGroupOffsets,
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribe,
    ShareGroupDescribeResponse,
)

OfGroups: TypeAlias = (
    DescribeGroups
    | ConsumerGroupDescribe
    | ShareGroupDescribe
    | DeleteGroups
    | OffsetFetch
    | DescribeShareGroupOffsets
)
GroupsResponse: TypeAlias = (
    DescribeGroupsResponse
    | ConsumerGroupDescribeResponse
    | ShareGroupDescribeResponse
    | DeleteGroupsResponse
    | OffsetFetchResponse
    | DescribeShareGroupOffsetsResponse
)
GroupResult: TypeAlias = (
    DescribedClassicGroup
    | DescribedConsumerGroup
    | DescribedShareGroup
    | DeletedGroup
    | FetchedGroup
    | DescribedShareOffsets
)
ANSWERS: tuple[type[GroupsResponse], ...] = get_args(GroupsResponse)
_OF_GROUPS: frozenset[type[Message]] = frozenset(get_args(OfGroups))


def groups_of(request: OfGroups) -> tuple[str, ...]:
    """Return the groups that a request names."""
    match request:
        case OffsetFetch() | DescribeShareGroupOffsets():
            return tuple(group.group_id for group in request.groups)
        case DescribeGroups():
            return request.groups
        case ConsumerGroupDescribe() | ShareGroupDescribe():
            return request.group_ids
        case DeleteGroups():
            return request.groups_names
        case _:
            assert_never(request)


def named_groups(message: object) -> tuple[str, ...]:
    """Return the groups that any message names: in its array, or the one that it is about."""
    if isinstance(message, OfGroups):
        return groups_of(message)
    if isinstance(message, FindCoordinator):
        return message.coordinator_keys if message.key_type == GROUP else ()
    group_id: str | None = getattr(message, "group_id", None)
    return () if group_id is None else (group_id,)


def names_several(message: object) -> TypeGuard[OfGroups]:
    """Return whether a request is about more than one group."""
    # By its type first: every request is asked this, and few are about groups.
    if type(message) not in _OF_GROUPS:
        return False
    assert isinstance(message, OfGroups)
    return len(groups_of(message)) > 1


def narrow_to_groups(request: OfGroups, groups: tuple[str, ...]) -> OfGroups:
    """Return the same request about these groups."""
    match request:
        case OffsetFetch():
            named = {group.group_id: group for group in request.groups}
            return request.but(groups=tuple(named[group_id] for group_id in groups))
        case DescribeShareGroupOffsets():
            described = {group.group_id: group for group in request.groups}
            return request.but(groups=tuple(described[group_id] for group_id in groups))
        case DescribeGroups():
            return request.but(groups=groups)
        case ConsumerGroupDescribe() | ShareGroupDescribe():
            return request.but(group_ids=groups)
        case DeleteGroups():
            return request.but(groups_names=groups)
        case _:
            assert_never(request)


def results_of(response: GroupsResponse) -> tuple[GroupResult, ...]:
    """Return the result for each group of a response, in its order."""
    return response.results if isinstance(response, DeleteGroupsResponse) else response.groups


def with_results(response: GroupsResponse, results: tuple[GroupResult, ...]) -> GroupsResponse:
    """Return a response of the same kind with other results."""
    if isinstance(response, DeleteGroupsResponse):
        return response.but(results=results)
    return response.but(groups=results)


def group_errors(message: object) -> tuple[tuple[str, Errors], ...]:
    """Return the groups of a response about several that have an error."""
    if not isinstance(message, GroupsResponse):
        return ()
    results = results_of(message)
    return tuple((each.group_id, each.error) for each in results if each.error and len(results) > 1)
