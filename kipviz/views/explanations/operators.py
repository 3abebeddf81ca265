"""What a client learns from a response."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.clients.operators.admin import age_ms
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
    ActiveProducer,
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListTransactionsResponse,
    PartitionProducers,
    TransactionDescription,
)
from kipviz.records.batches import NO_TIMESTAMP


def list_learned(message: Message, now_ms: int = NO_TIMESTAMP) -> Iterator[tuple[str, str]]:
    """Yield what an operator, or a consumer, learns from a response, which may cover several groups.

    `now_ms` is the time by the operator's clock.
    """
    if isinstance(message, OffsetFetchResponse):
        yield from _list_committed(message)
        return
    results = results_of(message) if isinstance(message, GroupsResponse) else ()
    if len(results) < 2:
        yield from _list_facts(message, now_ms)
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


def _list_facts(message: Message, now_ms: int) -> Iterator[tuple[str, str]]:
    match message:
        case ListTransactionsResponse(transactions=found):
            for one in found:
                yield one.transactional_id, f"producer id {one.producer_id}, {one.state.value}"
        case DescribeTransactionsResponse(transaction_states=states):
            yield from _list_descriptions(states, now_ms)
        case DescribeProducersResponse(responses=partitions):
            yield from _list_producers(partitions)
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


def _list_descriptions(
    states: tuple[TransactionDescription, ...], now_ms: int
) -> Iterator[tuple[str, str]]:
    if len(states) > 1:
        for each in states:
            yield each.transactional_id, _render_description(each)
        return
    (told,) = states
    if told.transaction_state is None:
        return
    yield "state", told.transaction_state.value
    if (age := age_ms(told.transaction_start_time_ms, now_ms)) >= 0:
        yield "began", f"{ms(age)} ago"
    yield "markers missing", render_list(tuple(map(short_name, told.partitions)))


def _render_description(told: TransactionDescription) -> str:
    state = told.transaction_state
    return told.error.name if state is None else f"producer id {told.producer_id}, {state.value}"


def _list_producers(partitions: tuple[PartitionProducers, ...]) -> Iterator[tuple[str, str]]:
    several = len(partitions) > 1
    for each in partitions:
        if several and each.error:
            yield each.partition, each.error.name
        for p in each.active_producers:
            where = f"{each.partition}, " if several else ""
            yield f"{where}producer id {p.producer_id}", _render_producer(p)


def _render_producer(p: ActiveProducer) -> str:
    first, last = p.current_txn_start_offset, p.last_timestamp
    since = f"open since offset {first}" if first >= 0 else "not open"
    heard = "" if last == NO_TIMESTAMP else f", last batch at {ms(last)}"
    return f"epoch {p.producer_epoch}, {since}{heard}"
