"""Several groups in one call of an operator: one request for each coordinator, and each group can fail alone.

WHERE IN KAFKA: AdminApiDriver, AdminApiHandler.Batched, DescribeConsumerGroupsHandler, DeleteConsumerGroupsHandler.
KIPS: KIP-229, KIP-848, KIP-932.
"""

from __future__ import annotations

from kipviz.clients.throwing.client_errors import Raised, RequestError, request_error
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups.group_admin import ConsumerGroupDescribe, DescribeGroups
from kipviz.messages.groups.several_groups import (
    GroupResult,
    GroupsResponse,
    OfGroups,
    groups_of,
    narrow_to_groups,
    results_of,
)
from kipviz.messages.message import Message


class GroupAnswers(Value, frozen=True):
    """What follows from a response: the next requests, the new descriptions, and the first error of a group."""

    asks: tuple[Message, ...]
    told: tuple[GroupResult, ...]
    error: Raised


def parse_groups(target: str) -> tuple[str, ...]:
    """Return the groups that a call names, each of them once: "g1 g2".

    Raises:
        ValueError: if it names no group.
    """
    groups = tuple(dict.fromkeys(target.split()))
    if not groups:
        raise ValueError(f"{target!r} names no group: write 'g1', or 'g1 g2' for two")
    return groups


def remaining_groups(asked: Message | None, sent: Message) -> tuple[Message, ...]:
    """Return what is left of a request about several groups after one broker's groups were sent."""
    if not isinstance(asked, OfGroups) or not isinstance(sent, OfGroups):
        return ()
    rest = tuple(group for group in groups_of(asked) if group not in groups_of(sent))
    return (narrow_to_groups(asked, rest),) if rest else ()


def sort_results(
    request: OfGroups, answer: GroupsResponse, again: tuple[Errors, ...]
) -> GroupAnswers:
    """Sort the results for each group: retry, ask as a classic group, keep, or error.

    Source: DescribeConsumerGroupsHandler.handledConsumerGroupResponse, DeleteConsumerGroupsHandler.
    """
    later: list[str] = []
    classic: list[str] = []
    told: list[GroupResult] = []
    failed: list[RequestError] = []
    for each in results_of(answer):
        if each.error in again:
            later.append(each.group_id)
        elif each.error is Errors.NONE:
            told.append(each)
        elif isinstance(request, ConsumerGroupDescribe) and each.error is Errors.GROUP_ID_NOT_FOUND:
            classic.append(each.group_id)
        else:
            failed.append(request_error(type(request), each.error))
    asks: tuple[Message, ...] = (narrow_to_groups(request, tuple(later)),) if later else ()
    if classic:
        asks = (*asks, DescribeGroups(tuple(classic)))
    return GroupAnswers(asks, tuple(told), next(iter(failed), ""))
