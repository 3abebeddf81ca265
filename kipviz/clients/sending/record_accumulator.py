"""The record accumulator: send() appends batches, and the sender drains them.

WHERE IN KAFKA: RecordAccumulator, BufferPool; the correlation ids are NetworkClient's.
NOT MODELLED: batching by size and time (each send() makes one batch), compression.
"""

from __future__ import annotations

from kipviz.clients.sending.outgoing import OutgoingBatch
from kipviz.core.values import Value
from kipviz.records.batches import DataRecord


class Unanswered(Value, frozen=True):
    """A request in flight whose batch expired: its response is ignored, but it occupies its connection."""

    broker: int
    request: int
    partition: str


class RecordAccumulator(Value, frozen=True):
    """The batches that are not complete, in the order of send(), including those in flight.

    `stray` are the records of a send() that threw (`kipviz.clients.sending.appending`), `unanswered` the requests of
    batches that expired in flight. `buffer` is the number of batches that fit into buffer.memory, 0 for no limit;
    `blocked` are the records of a send() that waits for room. With `backs_off` a rejected batch waits before it is sent
    again, longer each time.
    """

    batches: tuple[OutgoingBatch, ...] = ()
    stray: tuple[OutgoingBatch, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()
    buffer: int = 0
    blocked: tuple[tuple[str, tuple[DataRecord, ...]], ...] = ()
    backs_off: bool = False

    @property
    def has_incomplete(self) -> bool:
        """Whether a batch is not complete yet."""
        return bool(self.batches or self.stray)

    @property
    def has_flying(self) -> bool:
        """Whether a batch is in flight."""
        return any(batch.broker >= 0 for batch in self.batches)

    @property
    def is_full(self) -> bool:
        """Whether buffer.memory has no room for one more batch."""
        return bool(self.buffer) and len(self.batches) + len(self.stray) >= self.buffer

    @property
    def next_serial(self) -> int:
        """The number of the next batch: the first one above those of all batches and requests.

        Kafka counts forever. Here equal situations have equal numbers, whatever was sent before them.
        """
        taken = [n for batch in self.batches for n in (batch.serial, batch.request)]
        return 1 + max((*taken, *(each.request for each in self.unanswered)), default=0)

    @property
    def anew(self) -> RecordAccumulator:
        """The accumulator of the process's next life."""
        return RecordAccumulator(buffer=self.buffer, backs_off=self.backs_off)
