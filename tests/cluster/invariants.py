"""What is true of every world, and of every step from one world to the next.

Each function gives sentences about what is wrong; nothing to say is good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kipviz.brokers.context import ReplyTo
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.share_leaders.share_partition import SharePartition, Status
from kipviz.cluster.world import World
from kipviz.core.table import Table
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState

S = RecordState
WAITING = ("verifying", "enlisting", "staging", "waiting", "acknowledgements", "pending", "leaving")
UNDECIDED = (
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
)


def wrong_in(world: World) -> list[str]:
    """What must never be, in any world."""
    return [
        *_requests_that_nobody_will_answer(world),
        *(wrong for log in world.logs.values() for wrong in _of_log(log)),
        *(wrong for share in shares_of(world) for wrong in _of_share(share)),
    ]


def wrong_between(before: World, after: World) -> list[str]:
    """What must never happen in one step."""
    wrong = []
    for name, log in after.logs.items():
        wrong += _of_log_step(before.logs[name], log)
    old = {(s.key, s.incarnation, s.leader_epoch): s for s in shares_of(before)}
    for share in shares_of(after):
        known = old.get((share.key, share.incarnation, share.leader_epoch))
        if known is not None and known.status is Status.ACTIVE and share.status is Status.ACTIVE:
            wrong += _of_share_step(known, share)
    return wrong


def shares_of(world: World) -> list[SharePartition]:
    """All share-partitions in the memory of some broker."""
    return [
        share
        for role in world.roles.values()
        for share in getattr(role, "shares", Table.of()).values()
    ]


def unresolved_in(world: World) -> list[str]:
    """What waits for something although nothing more will happen by itself."""
    wrong = []
    for (broker, role, shard), state in world.roles.items():
        where = f"{role} of {shard or 'B' + str(broker)}"
        wrong += [
            f"{where}: {field} is {getattr(state, field)}"
            for field in WAITING
            if len(getattr(state, field, ()))
        ]
        wrong += [
            f"{where}: {known}"
            for known in getattr(state, "transactions", Table.of()).values()
            if known.pending_state or known.state in UNDECIDED
        ]
    for share in shares_of(world):
        wrong += [
            f"{share.partition}@{offset} is {record}"
            for offset, record in share.records.items()
            if record.ongoing or record.state is S.TX_PENDING
        ]
        if share.status is not Status.ACTIVE or share.writes:
            wrong.append(f"{share.partition} is {share.status}, its writes are {share.writes}")
        free = any(r.state is S.AVAILABLE for r in share.records.values())
        more = share.next_offset < world.logs[share.partition].high_watermark
        if share.parked and (free or more):
            wrong.append(f"{share.partition}: a fetch waits although there are records")
    for name, log in world.logs.items():
        if log.open or log.unreplicated or log.high_watermark < log.end_offset:
            wrong.append(f"{name}: open {log.open}, HW {log.high_watermark} of {log.end_offset}")
    for place, connection in world.connections.items():
        if connection.open and (connection.requests or connection.responses):
            wrong.append(f"{place}: {connection}")
    return wrong


def _requests_that_nobody_will_answer(world: World) -> Iterator[str]:
    """A broker that took a request must hold it somewhere, or the connection hangs for ever."""
    held: set[tuple[str, int, int]] = set()
    for role in world.roles.values():
        _collect(role, held)
    for (source, broker), connection in world.connections.items():
        if not connection.open or connection.serving is None:
            continue
        if (source, broker, connection.incarnation) not in held:
            yield f"nobody on B{broker} will answer {source}: {connection.serving.message}"


def _collect(value: Any, held: set[tuple[str, int, int]]) -> None:
    if isinstance(value, ReplyTo):
        held.add((value.source, value.broker, value.incarnation))
    elif isinstance(value, Table):
        for row in value.values():
            _collect(row, held)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, held)
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            _collect(getattr(value, field), held)


def _of_log(log: PartitionLog) -> Iterator[str]:
    if not log.last_stable_offset <= log.high_watermark <= log.end_offset:
        yield (
            f"{log.name}: LSO {log.last_stable_offset}, HW {log.high_watermark}, "
            f"end {log.end_offset} are not in order"
        )
    if len(log.batches) and log.batches[-1].last_offset + 1 != log.end_offset:
        yield f"{log.name} ends at {log.end_offset}, behind {log.batches[-1]}"
    if len({producer_id for _, producer_id in log.open}) != len(log.open):
        yield f"{log.name} has two open transactions of one producer: {log.open}"
    for first, producer_id in log.open:
        if log.producers[producer_id].transaction_first_offset != first:
            yield f"{log.name} is not of one mind about the transaction of {producer_id}"


def _of_log_step(before: PartitionLog, after: PartitionLog) -> Iterator[str]:
    if after is before:
        return
    if not after.batches and not after.end_offset:
        return  # its topic was deleted
    if after.high_watermark < before.high_watermark:
        yield f"{after.name}: the high watermark went down to {after.high_watermark}"
    old = before.batches[-2:]
    for batch in after.batches[max(len(before.batches) - 1, 1) :]:
        previous = next(
            (b for b in (*old, *after.batches[-4:]) if b.last_offset + 1 == batch.base_offset), None
        )
        if previous is None:
            yield f"{after.name}: nothing ends before offset {batch.base_offset}"
    if after.end_offset < before.end_offset:
        return  # cut at the high watermark by a new leader: producers are what the rest says
    for producer_id, entry in after.producers.items():
        known = before.producers.get(producer_id)
        if known is not None and entry.epoch < known.epoch:
            yield f"{after.name}: the epoch of {producer_id} went down to {entry.epoch}"


def _of_share(share: SharePartition) -> Iterator[str]:
    for fetch in share.parked:
        if fetch.acknowledging and not any(w.fetch == fetch.reply_to for w in share.writes):
            yield f"{share.partition}: {fetch.reply_to} waits for acknowledgements nobody writes"
    if share.status is not Status.ACTIVE:
        return
    # Below it is only what was held when its records were deleted from the front of the log.
    ahead = tuple(offset for offset in share.records if offset >= share.start_offset)
    if ahead != tuple(range(share.start_offset, share.next_offset)):
        yield f"{share.partition} holds {list(share.records)}, not all from its SPSO on"
    if share.start_offset > share.next_offset:
        yield f"{share.partition} begins at {share.start_offset}, behind {share.next_offset}"
    for offset, record in share.records.items():
        owned = record.member_id != ""
        if record.state is S.ACQUIRED and not owned:
            yield f"{share.partition}@{offset} is ACQUIRED by nobody"
        if record.state not in (S.ACQUIRED, S.TX_PENDING) and owned:
            yield f"{share.partition}@{offset} is {record.state.name} and has an owner"
        if record.state is S.AVAILABLE and not record.ongoing and record.lock >= 0:
            yield f"{share.partition}@{offset} is AVAILABLE under a lock"


def _of_share_step(before: SharePartition, after: SharePartition) -> Iterator[str]:
    if after.start_offset < before.start_offset:
        yield f"{after.partition}: the SPSO went back to {after.start_offset}"
    for offset, record in before.records.items():
        now = after.records.get(offset)
        if record.is_terminal and now is not None and now.state is not record.state:
            yield f"{after.partition}@{offset} left {record.state.name} for {now.state.name}"
        if now is None and not record.is_terminal and not record.ongoing:
            # A record that was given up is archived and left behind in one step.
            settled = (S.TX_PENDING, S.ACQUIRED, S.AVAILABLE, S.ARCHIVING)
            if record.state not in settled:
                yield f"{after.partition}@{offset} was {record.state.name} and is gone"
        handed_over = (
            now is not None
            and record.state is S.ACQUIRED
            and now.state is S.ACQUIRED
            and now.member_id != record.member_id
        )
        # A lock may run out and a waiting fetch take the record in one step: a new delivery.
        if handed_over and now.delivery_count == record.delivery_count:
            yield f"{after.partition}@{offset} went from {record.member_id} to {now.member_id}"
