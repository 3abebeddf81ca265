"""Batches on their way to partition leaders.

WHERE IN KAFKA: ProducerBatch, in the RecordAccumulator and in TxnPartitionEntry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kipviz.core.values import Value
from kipviz.records.batches import DataRecord
from kipviz.records.sequences import is_earlier

if TYPE_CHECKING:
    from kipviz.clients.transactions.producer import Producer

P = TypeVar("P", bound="Producer")
Identity = tuple[int, int]


class OutgoingBatch(Value, frozen=True):
    """One batch on its way to a partition leader; `broker` is -1 while it is not on the wire.

    `sent` says that it was on the wire before, so that nobody knows whether a broker has it: an
    abort must not drop it (transaction versions 0 and 1, where the next transaction has the same
    epoch and goes on with the sequences).
    """

    partition: str
    records: tuple[DataRecord, ...]
    base_sequence: int
    broker: int = -1
    sent: bool = False

    @property
    def waits(self) -> bool:
        """Whether it may be dropped: no broker can have it."""
        return self.broker < 0 and not self.sent

    @property
    def number(self) -> int:
        """Which batch of its partition it is; the same as long as it is on its way."""
        return self.base_sequence


class NumberedBatch(OutgoingBatch, frozen=True):
    """A batch that gets identity and sequence when it is first sent, -1 before.

    `wire` is the sequence that it was last sent with, `flight` its place among those on the wire.
    `reset` says that its sequence was given anew. `serial` is the number by which a transactional
    producer knows it whatever its sequence is, 0 for another one; `retried` says of such a one that it
    had to be sent again, `attempts` how often it was refused, `rests` that it backs off. `request` is the
    number that it has in common with the batches of the same request, 0 for one that went alone.
    """

    identity: Identity = (-1, -1)
    wire: int = -1
    flight: int = 0
    reset: bool = False
    serial: int = 0
    retried: bool = False
    attempts: int = 0
    rests: bool = False
    request: int = 0

    @property
    def number(self) -> int:
        """Which batch of its partition it is; the same as long as it is on its way."""
        return self.serial or self.base_sequence


def without_unsent(me: P) -> P:
    """Drop a producer's batches that no broker can have, as an abort does."""
    return without(me, tuple(b for b in me.accumulator.batches if b.waits))


def without(me: P, dropped: tuple[OutgoingBatch, ...]) -> P:
    """Drop batches that are in no log; below version 2 their sequences are given again."""
    if not dropped:
        return me
    sequences = me.partition_map.sequences
    for batch in () if me.manager.implicit else dropped:
        if batch.base_sequence < 0:
            continue  # it has none yet
        if is_earlier(batch.base_sequence, sequences[batch.partition]):
            sequences = sequences.set(batch.partition, batch.base_sequence)
    kept = tuple(b for b in me.accumulator.batches if b not in dropped)
    return me.but(
        accumulator=me.accumulator.but(batches=kept),
        partition_map=me.partition_map.but(sequences=sequences),
    )
