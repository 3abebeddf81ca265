"""Several groups in one call of an operator: whose coordinator is the same is asked together, and each fails alone.

WHERE IN KAFKA: AdminApiDriver, AdminApiHandler.Batched, DescribeConsumerGroupsHandler, DeleteConsumerGroupsHandler.
KIPS: KIP-229, KIP-848, KIP-932.
"""

from __future__ import annotations

from typing import Any

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.group_admin import ConsumerGroupDescribe, DescribeGroups
from kipviz.messages.message import Message, groups_of, taken_apart
from kipviz.messages.several_groups import about, names_several


class Heard(Value, frozen=True):
    """What came of a request: what is asked next, what is known now, and the first error of a group."""

    asks: tuple[Message, ...]
    told: tuple[Any, ...]
    error: str


def named(target: str) -> tuple[str, ...]:
    """Give the groups that a call names, each of them once: "g1 g2".

    Raises:
        ValueError: there is none.
    """
    groups = tuple(dict.fromkeys(target.split()))
    if not groups:
        raise ValueError(f"{target!r} names no group: 'g1' does, and 'g1 g2' names two")
    return groups


def left_over(asked: Message, sent: Message) -> tuple[Message, ...]:
    """Give what is still to be asked if of a request about several groups only those of one broker were sent."""
    if not names_several(asked):
        return ()
    rest = tuple(group for group in groups_of(asked) if group not in groups_of(sent))
    return (about(asked, rest),) if rest else ()


def heard(request: Any, answer: Any, again: tuple[Errors, ...]) -> Heard:
    """Sort the answers for each group: to ask again, to ask as a classic group, to keep, or an error.

    Source: DescribeConsumerGroupsHandler.handledConsumerGroupResponse, DeleteConsumerGroupsHandler.
    """
    later: list[str] = []
    classic: list[str] = []
    told: list[Any] = []
    failed: list[str] = []
    for each in taken_apart(answer):
        if each.error in again:
            later.append(each.group_id)
        elif each.error is Errors.NONE:
            told.append(each)
        elif isinstance(request, ConsumerGroupDescribe) and each.error is Errors.GROUP_ID_NOT_FOUND:
            classic.append(each.group_id)
        else:
            failed.append(f"{type(request).__name__}: {each.error.name}")
    asks: tuple[Message, ...] = (about(request, tuple(later)),) if later else ()
    if classic:
        asks = (*asks, DescribeGroups(classic[0], tuple(classic[1:])))
    return Heard(asks, tuple(told), next(iter(failed), ""))
