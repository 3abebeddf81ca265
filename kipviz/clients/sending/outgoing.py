"""Batches on their way to partition leaders.

WHERE IN KAFKA: ProducerBatch, in the RecordAccumulator and in TxnPartitionEntry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kipviz.core.values import Value
from kipviz.records.batches import DataRecord

if TYPE_CHECKING:
    from kipviz.clients.sending.producer import Producer

P = TypeVar("P", bound="Producer")
Identity = tuple[int, int]


class OutgoingBatch(Value, frozen=True):
    """One batch for a partition leader. Its sequence is -1 until it is first sent.

    `broker` is -1 while it is not in flight. `sent` says that it was in flight once, so that a leader may have it: an
    abort must not drop it. `serial` distinguishes it from the other batches of a producer that may have several in
    flight, and `request` is the correlation id of its request. `retried` says that it had to be sent again, `attempts`
    how often it was rejected, `rests` that it backs off, `reset` that its sequence was assigned again. `identity` is
    the one that its sequence belongs to, if a producer changes its epoch by itself; otherwise the producer's applies.
    """

    partition: str
    records: tuple[DataRecord, ...]
    base_sequence: int = -1
    broker: int = -1
    sent: bool = False
    serial: int = 0
    request: int = 0
    retried: bool = False
    reset: bool = False
    identity: Identity = (-1, -1)
    attempts: int = 0
    rests: bool = False


def with_batches(me: P, batches: tuple[OutgoingBatch, ...]) -> P:
    """Return the producer with other batches."""
    return me.but(accumulator=me.accumulator.but(batches=batches))


def without(me: P, *dropped: OutgoingBatch) -> P:
    """Remove batches from the accumulator: they are complete, or have failed."""
    left = tuple(b for b in me.accumulator.batches if not any(b is each for each in dropped))
    return with_batches(me, left)


def without_unsent(me: P) -> P:
    """Drop a producer's batches that no broker can have, as an abort does."""
    if all(b.sent for b in me.accumulator.batches):
        return me
    return with_batches(me, tuple(b for b in me.accumulator.batches if b.sent))
