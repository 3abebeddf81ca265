"""Open transactions as rows and as lines of text, the same for logs and for a running cluster."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.core.values import Value
from kipviz.settings.client_configs import TRANSACTIONAL_ID


class Blocked(Value, frozen=True):
    """An open transaction in the log of a partition.

    `first_offset` is the offset of its first record. `since` is when that was written or, if a coordinator states it,
    when the transaction began; `last_written` is when its producer last wrote to the log; "" if unknown. `blocks` is
    True if it is the oldest of its log, at which the last stable offset stays; the offsets are -1 if unknown. `hanging`
    is "hanging", "perhaps hanging" or "". `transactional_id` is "" if no coordinator that was asked knows the producer
    id; otherwise `state` is the coordinator's. `frees` are the ways to end it, each with its arguments.
    """

    partition: str
    last_stable_offset: int
    high_watermark: int
    first_offset: int
    blocks: bool
    hanging: str
    producer_id: int
    producer_epoch: int
    since: str
    transactional_id: str
    state: str
    why: str
    frees: tuple[str, ...]
    last_written: str = ""


class PendingOffsets(Value, frozen=True):
    """The undecided offsets of a transaction for a group, in one partition of __consumer_offsets.

    OffsetFetch with requireStable returns UNSTABLE_OFFSET_COMMIT for them until the transaction's marker is written.
    `offsets` are (partition, offset), with -1 if only the partition is known. `one_of` is the number of open
    transactions in the log: above 1 it is unknown which of them has the group's offsets.
    """

    group_id: str
    log: str
    producer_id: int
    transactional_id: str
    hanging: str
    since: str
    offsets: tuple[tuple[str, int], ...]
    frees: tuple[str, ...]
    last_written: str = ""
    one_of: int = 1


def lines_of_open(row: Blocked) -> Iterator[str]:
    """Yield the lines about one open transaction of a partition."""
    mark = f" ({row.hanging})" if row.hanging else ""
    yield from ("", f"{row.partition}: open transaction from offset {row.first_offset}{mark}")
    if row.blocks:
        yield f"  the last stable offset stays at {row.last_stable_offset}, the high watermark is {row.high_watermark}"
    name = f"{TRANSACTIONAL_ID.name} {row.transactional_id}, " if row.transactional_id else ""
    yield f"  {name}producer id {row.producer_id}, epoch {row.producer_epoch}"
    yield f"  {row.why}"
    yield from _times(row, "open")
    yield from _ways_out(row)


def lines_of_pending(row: PendingOffsets) -> Iterator[str]:
    """Yield the lines about the pending offsets of one group."""
    mark = f" ({row.hanging})" if row.hanging else ""
    yield from ("", f"group {row.group_id}: pending offsets in {row.log}{mark}")
    offsets = ", ".join(p if offset < 0 else f"{p} {offset}" for p, offset in row.offsets)
    name = f"{TRANSACTIONAL_ID.name} {row.transactional_id}, " if row.transactional_id else ""
    yield f"  {name}producer id {row.producer_id}: {offsets}"
    if row.one_of > 1:
        yield f"  {row.one_of} transactions are open in {row.log}; nothing shows which one has these offsets"
    yield "  OffsetFetch with requireStable returns UNSTABLE_OFFSET_COMMIT until the transaction ends"
    yield from _times(row, "pending")
    yield from _ways_out(row)


def _times(row: Blocked | PendingOffsets, what: str) -> Iterator[str]:
    if row.since:
        yield f"  {what} since {row.since} UTC"
    if row.last_written:
        yield f"  its producer last wrote here at {row.last_written} UTC"


def _ways_out(row: Blocked | PendingOffsets) -> Iterator[str]:
    yield from (f"  what ends it: {way}" for way in row.frees)
