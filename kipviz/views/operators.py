"""What stands behind an operator's questions: the values that a broker looks at, and what it told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.brokers.group_kinds import kind_of
from kipviz.cluster.clock import ms
from kipviz.cluster.world import World
from kipviz.messages.acls import (
    CreateAcls,
    DeleteAcls,
    DeleteAclsResponse,
    DescribeAcls,
    DescribeAclsResponse,
)
from kipviz.messages.admin import (
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
)
from kipviz.messages.group_admin import (
    SHARE,
    ConsumerGroupDescribeResponse,
    DescribeGroupsResponse,
    ListGroups,
    ListGroupsResponse,
    OffsetFetchOfGroupsResponse,
)
from kipviz.messages.message import taken_apart
from kipviz.messages.several_groups import ANSWERS, groups_of, names_several
from kipviz.messages.share_admin import (
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribeResponse,
)
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.views.facts import listed, number, short_name

# What an operator asks the coordinator of a group: of one that may be of any kind, or of a share group.
OF_ANY_KIND = (
    "DeleteGroups",
    "DescribeGroups",
    "ConsumerGroupDescribe",
    "OffsetDelete",
    "OffsetFetchOfGroups",
)
# What an operator asks a broker besides.
OF_ADMINS = (
    "ListTransactions",
    "DescribeTransactions",
    "DescribeProducers",
    "ListGroups",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
)
OF_GROUPS = (
    "ShareGroupDescribe",
    "DescribeShareGroupOffsets",
    "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets",
    *OF_ANY_KIND,
)


def asked(world: World, role: Any, message: Any) -> Iterator[tuple[str, str]]:
    """Say what a broker looks at to answer an operator."""
    match message:
        case ListTransactions():
            long = f"for {ms(message.duration_ms)} or longer" if message.duration_ms >= 0 else ""
            wanted = (*message.states, *map(str, message.producer_ids), message.pattern, long)
            yield "filters", ", ".join(filter(None, wanted)) or "none"
        case ListGroups():
            yield "filters", ", ".join((*message.states, *message.types)) or "none"
        case DescribeAcls() | CreateAcls() | DeleteAcls():
            acls = world.image.acls
            yield "ACLs now", "none: everything is allowed" if acls is None else str(len(acls))
        case DescribeTransactions(transactional_id=name):
            known = role.transactions.get(name)
            yield name, known.state.value if known is not None else "not known"
        case DescribeProducers(partition=partition):
            log = world.logs[partition]
            still = listed(tuple(f"@{first} of producer id {pid}" for first, pid in log.open))
            yield "producers known", str(len(log.producers))
            yield "open transactions", still
        case _:
            raise AssertionError(f"no operator asks {type(message).__name__}")


def of_operator(role: Any, message: Any) -> Iterator[tuple[str, str]]:
    """Say what the coordinator of a group looks at when an operator asks for something.

    Several groups are handed out one by one by the front desk, which knows none of them.
    """
    if names_several(message):
        yield "groups", listed(groups_of(message))
        return
    group_id = message.group_id
    if type(message).__name__ not in OF_ANY_KIND:
        return
    kind = kind_of(role, group_id)
    yield group_id, f"a {kind} group" if kind else "no such group"
    if kind == SHARE:
        return
    group = role.classic_groups.get(group_id) or role.groups.get(group_id)
    if group is not None:
        yield "members", listed(group.members.keys())
    yield "committed", listed(tuple(p for known, p in role.offsets if known == group_id))
    pending = (p for staged in role.pending.values() for p in staged)
    yield "pending", listed(tuple(p.partition for p in pending if p.group_id == group_id))


def found_out(message: Any) -> Iterator[tuple[str, str]]:
    """Say what an operator learns from an answer, which may be about several groups."""
    if isinstance(message, OffsetFetchOfGroupsResponse):
        yield from _committed(message)
        return
    if not isinstance(message, ANSWERS) or not message.further:
        yield from _found_out(message)
        return
    for each in taken_apart(message):
        yield each.group_id, each.error.name if each.error else getattr(each, "state", "deleted")


def _committed(message: OffsetFetchOfGroupsResponse) -> Iterator[tuple[str, str]]:
    for each in taken_apart(message):
        if each.error or not each.offsets:
            yield each.group_id, each.error.name if each.error else "no offset"
        for fetched in each.offsets:
            told = fetched.error.name if fetched.error else number(fetched.offset)
            yield f"{each.group_id} {fetched.partition}", told


def _found_out(message: Any) -> Iterator[tuple[str, str]]:
    match message:
        case ListTransactionsResponse(transactions=found):
            for one in found:
                yield one.transactional_id, f"producer id {one.producer_id}, {one.state.value}"
        case DescribeTransactionsResponse(state=state) if state is not None:
            yield "state", state.value
            if message.began_ms >= 0:
                yield "began", f"{ms(message.began_ms)} ago"
            yield "markers missing", listed(tuple(map(short_name, message.partitions)))
        case DescribeProducersResponse(producers=found):
            for p in found:
                since = f"open since offset {p.start_offset}" if p.start_offset >= 0 else "not open"
                last = p.last_timestamp_ms
                heard = "" if last == NO_TIMESTAMP else f", last heard at {ms(last)}"
                yield f"producer id {p.producer_id}", f"epoch {p.producer_epoch}, {since}{heard}"
        case ShareGroupDescribeResponse(state=state) if state:
            yield "state", f"{message.state}, group epoch {message.epoch}"
            for member in message.members:
                yield member.member_id, f"epoch {member.member_epoch}, {listed(member.partitions)}"
        case ListGroupsResponse(groups=groups):
            for group in groups:
                yield group.group_id, f"{group.group_type}, {group.state}"
        case DescribeGroupsResponse() | ConsumerGroupDescribeResponse() if message.state:
            yield "state", message.state
            for described in message.members:
                yield described.member_id, listed(described.partitions)
        case DescribeAclsResponse(acls=acls):
            for acl in acls:
                yield (
                    f"{acl.resource} {acl.name}",
                    f"{acl.principal}, {acl.operation}, {acl.pattern}",
                )
        case DeleteAclsResponse(deleted=deleted):
            for at, result in enumerate(deleted, 1):
                yield f"filter {at}", f"{len(result.acls)} deleted"
        case DescribeShareGroupOffsetsResponse(offsets=offsets):
            for offset in offsets:
                lag = "not known" if offset.lag < 0 else str(offset.lag)
                yield offset.partition, f"start offset {number(offset.start_offset)}, lag {lag}"
        case _:
            return
