"""What a client learns from a response."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.cluster.behaviour.naming import number, render_list, short_name
from kipviz.cluster.timing.clock import ms
from kipviz.messages.cluster.acls import (
    DeleteAclsResponse,
    DescribeAclsResponse,
)
from kipviz.messages.groups.group_admin import (
    ConsumerGroupDescribeResponse,
    DescribeGroupsResponse,
    ListGroupsResponse,
)
from kipviz.messages.groups.groups import FetchedGroup, FetchedOffset, OffsetFetchResponse
from kipviz.messages.groups.several_groups import GroupResult, GroupsResponse, results_of
from kipviz.messages.message import Message
from kipviz.messages.shares.share_admin import (
    DeletedGroup,
    DescribedShareOffsets,
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribeResponse,
)
from kipviz.messages.transactions.admin import (
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListTransactionsResponse,
)
from kipviz.records.batches import NO_TIMESTAMP


def list_learned(message: Message) -> Iterator[tuple[str, str]]:
    """Yield what an operator, or a consumer, learns from a response, which may cover several groups."""
    if isinstance(message, OffsetFetchResponse):
        yield from _list_committed(message)
        return
    results = results_of(message) if isinstance(message, GroupsResponse) else ()
    if len(results) < 2:
        yield from _list_facts(message)
        return
    for each in results:
        yield each.group_id, each.error.name if each.error else _render_state(each)


def _render_state(group: GroupResult) -> str:
    if isinstance(group, DescribedShareOffsets):
        return f"{len(group.offsets)} offsets"
    return "deleted" if isinstance(group, DeletedGroup | FetchedGroup) else group.state


def _list_committed(message: OffsetFetchResponse) -> Iterator[tuple[str, str]]:
    for each in message.groups:
        if each.error or not each.offsets:
            yield each.group_id, each.error.name if each.error else "no offset"
        for fetched in each.offsets:
            yield f"{each.group_id} {fetched.partition}", _tell_offset(fetched)


def _tell_offset(fetched: FetchedOffset) -> str:
    if fetched.error:
        return fetched.error.name
    return number(fetched.offset) if fetched.offset >= 0 else "no offset"


def _list_facts(message: Message) -> Iterator[tuple[str, str]]:
    match message:
        case ListTransactionsResponse(transactions=found):
            for one in found:
                yield one.transactional_id, f"producer id {one.producer_id}, {one.state.value}"
        case DescribeTransactionsResponse(state=state) if state is not None:
            yield "state", state.value
            if message.began_ms >= 0:
                yield "began", f"{ms(message.began_ms)} ago"
            yield "markers missing", render_list(tuple(map(short_name, message.partitions)))
        case DescribeProducersResponse(producers=found):
            for p in found:
                since = f"open since offset {p.start_offset}" if p.start_offset >= 0 else "not open"
                last = p.last_timestamp_ms
                heard = "" if last == NO_TIMESTAMP else f", last batch at {ms(last)}"
                yield f"producer id {p.producer_id}", f"epoch {p.producer_epoch}, {since}{heard}"
        case ShareGroupDescribeResponse(groups=(share_group,)) if share_group.state:
            yield "state", f"{share_group.state}, group epoch {share_group.epoch}"
            for member in share_group.members:
                yield (
                    member.member_id,
                    f"epoch {member.member_epoch}, {render_list(member.partitions)}",
                )
        case ListGroupsResponse(groups=groups):
            for group in groups:
                yield group.group_id, f"{group.group_type}, {group.state}"
        case DescribeGroupsResponse() | ConsumerGroupDescribeResponse() if message.groups[0].state:
            yield "state", message.groups[0].state
            for described in message.groups[0].members:
                yield described.member_id, render_list(described.partitions)
        case DescribeAclsResponse(acls=acls):
            for acl in acls:
                yield (
                    f"{acl.resource} {acl.name}",
                    f"{acl.principal}, {acl.operation}, {acl.pattern}",
                )
        case DeleteAclsResponse(deleted=deleted):
            for at, result in enumerate(deleted, 1):
                yield f"filter {at}", f"{len(result.acls)} deleted"
        case DescribeShareGroupOffsetsResponse(groups=(of_group,)):
            for offset in of_group.offsets:
                lag = "not known" if offset.lag < 0 else str(offset.lag)
                yield offset.partition, f"start offset {number(offset.start_offset)}, lag {lag}"
        case _:
            return
