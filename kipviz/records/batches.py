"""Record batches as a partition's log holds them."""

from __future__ import annotations

from kipviz.core.values import Value

# Group and share coordinator write every batch with base sequence 0, so in one transaction there
# may be several with the same one; sequences are checked for clients only. Markers and the
# transaction coordinator's own records have -1. Recorded of Kafka 4.4.0.
COORDINATOR_SEQUENCE = 0

# What stands for a time that nobody wrote down (RecordBatch.NO_TIMESTAMP).
NO_TIMESTAMP = -1

COMMIT = "COMMIT"
ABORT = "ABORT"


class DataRecord(Value, frozen=True):
    """One record of a user's topic.

    `origin` names the source record that this output was made from, "src-0@100", and is empty
    for a record that nobody derived. It stands for what a real application would carry in the
    key or a header, and is what the properties count. `headers` are what a dead-letter queue says
    of a record that was given up (KIP-1191).
    """

    value: str
    origin: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Batch(Value, frozen=True):
    """A v2 record batch: the header fields that the protocol decides on, and its records.

    `control` is empty for data, COMMIT or ABORT for an end-transaction marker (attributes 0x20).
    A control batch takes one offset. `max_timestamp_ms` is when it was appended, where records carry
    their time: message.timestamp.type is LogAppendTime. Source: DefaultRecordBatch, EndTransactionMarker.
    NOT MODELLED: the times that producers write themselves (CreateTime), and clocks that differ.
    """

    base_offset: int
    records: tuple[Value, ...] = ()
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    control: str = ""
    coordinator_epoch: int = -1
    max_timestamp_ms: int = NO_TIMESTAMP

    @property
    def count(self) -> int:
        """How many offsets the batch takes."""
        return 1 if self.control else len(self.records)

    @property
    def last_offset(self) -> int:
        """The offset of the batch's last record."""
        return self.base_offset + self.count - 1
