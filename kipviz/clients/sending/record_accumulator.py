"""The record accumulator: what send() has put in and the sender takes out.

WHERE IN KAFKA: RecordAccumulator, BufferPool; the correlation ids are NetworkClient's.
NOT MODELLED: batching by size and time (what one send() brings is one batch), compression.
"""

from __future__ import annotations

from kipviz.clients.sending.outgoing import OutgoingBatch
from kipviz.core.values import Value
from kipviz.records.batches import DataRecord


class Unanswered(Value, frozen=True):
    """A request on the wire whose batch for a partition expired: its answer is nobody's, but takes its place."""

    broker: int
    request: int
    partition: str


class RecordAccumulator(Value, frozen=True):
    """The batches that are not through, in the order in which they came; those on the wire are among them.

    `stray` is what a send() that threw has left (`kipviz.clients.sending.appending`), `unanswered` what is
    left on the wire of batches that expired there. `buffer` is how many batches buffer.memory has room for, 0 for
    as many as come; `blocked` is what a send() waits with for room. With `backs_off` a batch that was refused rests
    before it is sent again, each time longer.
    """

    batches: tuple[OutgoingBatch, ...] = ()
    stray: tuple[OutgoingBatch, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()
    buffer: int = 0
    blocked: tuple[tuple[str, tuple[DataRecord, ...]], ...] = ()
    backs_off: bool = False

    @property
    def has_incomplete(self) -> bool:
        """Whether a batch is not through yet."""
        return bool(self.batches or self.stray)

    @property
    def has_flying(self) -> bool:
        """Whether a batch is on the wire."""
        return any(batch.broker >= 0 for batch in self.batches)

    @property
    def is_full(self) -> bool:
        """Whether one more batch has no room in buffer.memory."""
        return bool(self.buffer) and len(self.batches) + len(self.stray) >= self.buffer

    @property
    def next_serial(self) -> int:
        """The number of the next batch: the first that neither a batch nor a request goes by, nor a later one.

        Kafka counts on for ever. Here equal situations have equal numbers, whatever was sent before them.
        """
        taken = [n for batch in self.batches for n in (batch.serial, batch.request)]
        return 1 + max((*taken, *(each.request for each in self.unanswered)), default=0)

    @property
    def anew(self) -> RecordAccumulator:
        """The accumulator of the process's next life."""
        return RecordAccumulator(buffer=self.buffer, backs_off=self.backs_off)
