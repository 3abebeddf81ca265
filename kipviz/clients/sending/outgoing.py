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
    """One batch on its way to a partition leader; it gets its sequence when it is first sent, -1 before.

    `broker` is -1 while it is not on the wire. `sent` says that it was on the wire once, so that a leader may have
    it: an abort must not drop it. `serial` tells it from the other batches of a producer that may have several in
    flight, and `request` is the correlation id of the request that it is in. `retried` says that it had to be sent again, `attempts` how often
    it was refused, `rests` that it backs off, `reset` that its sequence was given anew. `identity` is that with
    which it counts where a producer changes its epoch by itself; else it is the producer's.
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
    """Give the same producer with other batches."""
    return me.but(accumulator=me.accumulator.but(batches=batches))


def without(me: P, *dropped: OutgoingBatch) -> P:
    """Take batches out of the accumulator: they are through, or have failed."""
    left = tuple(b for b in me.accumulator.batches if not any(b is each for each in dropped))
    return with_batches(me, left)


def without_unsent(me: P) -> P:
    """Drop a producer's batches that no broker can have, as an abort does."""
    if all(b.sent for b in me.accumulator.batches):
        return me
    return with_batches(me, tuple(b for b in me.accumulator.batches if b.sent))
