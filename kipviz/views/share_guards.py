"""What the leader of share-partitions looks at when a request of a member arrives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from kipviz.brokers.in_flight import InFlight
from kipviz.brokers.share_fetching import rotated
from kipviz.brokers.share_partition import ShareLeader, SharePartition
from kipviz.brokers.share_partition_leader import ROLE
from kipviz.brokers.share_sessions import partitions_after
from kipviz.cluster.world import World
from kipviz.messages.share_groups import FetchedPartition, offsets_of, parts_of
from kipviz.views.facts import listed, span
from kipviz.views.membership import both

Guard: TypeAlias = tuple[str, str]
NOT_LOADED = "not in memory: its state is read first"


def of_request(world: World, role: ShareLeader, message: Any) -> Iterator[Guard]:
    """Give the session, and the state of what is asked for or acknowledged, each partition by itself."""
    kind = type(message).__name__
    if kind != "TxnShareAcknowledge":
        session = role.sessions.get((message.group_id, message.member_id))
        known = session.epoch if session is not None else -1
        yield "session epoch", both("request", message.session_epoch, "broker", known)
    if kind == "ShareFetch" and message.of_session is not None:
        yield from _of_session(world, role, message)
        return
    share = share_of(role, message.group_id, message.partition)
    if share is None:
        yield "share-partition", NOT_LOADED
        return
    yield "share-partition", share.status.value
    yield from states(share, offsets_of(message.acknowledgements))
    if kind == "ShareFetch":
        yield from _to_be_had(world, share)
        yield "asks for at most", str(message.max_records)
    else:
        yield "asked by", message.member_id
    for part in parts_of(message)[1:] if kind == "TxnShareAcknowledge" else ():
        yield from of_request(world, role, part)


def of_answer(each: tuple[FetchedPartition, ...]) -> Iterator[Guard]:
    """Give what an answer says of each partition: the fetch, the acknowledgements, the records."""
    for part in each:
        yield f"{part.partition}, fetch", part.error.name
        yield f"{part.partition}, acknowledgements", part.acknowledge_error.name
        yield f"{part.partition}, records", listed(tuple(r.offset for r in part.records))


def _of_session(world: World, role: ShareLeader, message: Any) -> Iterator[Guard]:
    """Give what a fetch of a session finds: its partitions in their order, what is said of them, what is free."""
    session = role.sessions.get((message.group_id, message.member_id))
    known = session.partitions if session is not None and message.session_epoch else ()
    ordered = rotated(partitions_after(message, known), message.session_epoch)
    yield "order of partitions", listed(ordered)
    for part in message.of_session.acknowledgements:
        share = share_of(role, message.group_id, part.partition)
        if share is None:
            yield f"acknowledged of {part.partition}", "not in memory: nobody knows who holds it"
        else:
            yield from states(share, offsets_of(part.acknowledgements))
    for partition in ordered:
        leader = world.image.leader_of(partition)
        share = share_of(role, message.group_id, partition)
        if leader < 0 or world.roles.get((leader, ROLE, "")) is not role:
            yield partition, f"led by Broker {leader}" if leader >= 0 else "nobody leads it"
        elif share is None:
            yield partition, NOT_LOADED
        else:
            yield partition, ", ".join(f"{n} {f}" for n, f in _to_be_had(world, share))
    yield "asks for at most", f"{message.max_records}, of all of them together"


def _to_be_had(world: World, share: SharePartition) -> tuple[Guard, ...]:
    free = tuple(o for o, r in share.records.items() if r.state.name == "AVAILABLE")
    end = world.logs[share.partition].high_watermark
    return ("free again", listed(free)), ("not delivered yet", _new(share.next_offset, end))


def share_of(role: ShareLeader, group_id: str, partition: str) -> SharePartition | None:
    """Give a leader's share-partition, None if it is not in memory."""
    every = role.shares.values()
    return next((s for s in every if (s.group_id, s.partition) == (group_id, partition)), None)


def _new(first: int, end: int) -> str:
    return span(first, end - 1) if 0 <= first < end else "nothing"


def states(share: SharePartition, offsets: Iterable[int]) -> Iterator[Guard]:
    """Give the state, owner and delivery count of records, neighbours that are alike as one."""
    runs: list[tuple[int, int, str]] = []
    for offset in offsets:
        words = _record(share.records.get(offset))
        if runs and (runs[-1][1], runs[-1][2]) == (offset - 1, words):
            runs[-1] = (runs[-1][0], offset, words)
        else:
            runs.append((offset, offset, words))
    for first, last, words in runs:
        yield f"{share.partition}@{span(first, last)}", words


def _record(record: InFlight | None) -> str:
    if record is None:
        return "not in flight"
    owner = record.member_id or record.before_member
    by = f" by {owner}" if owner else ""
    staged = (
        f", staged by {record.staged_producer_id} epoch {record.staged_producer_epoch}"
        if record.staged_producer_id >= 0
        else ""
    )
    return f"{record.state.name}{by}, delivery {record.delivery_count}{staged}"
