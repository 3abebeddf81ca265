"""Record batches as a partition's log holds them."""

from __future__ import annotations

from kipviz.core.values import Value

# Group and share coordinator write every batch with base sequence 0, so a transaction may have several batches with the
# same one; sequences are checked for clients only. Markers and the transaction coordinator's own records have -1.
# Recorded from Kafka 4.4.0.
COORDINATOR_SEQUENCE = 0

# The placeholder of a missing timestamp (RecordBatch.NO_TIMESTAMP).
NO_TIMESTAMP = -1

COMMIT = "COMMIT"
ABORT = "ABORT"


class DataRecord(Value, frozen=True):
    """One record of a user's topic.

    `origin` names the source record that this output was made from, "src-0@100", and is empty for a record that was not
    derived from one. It stands for a key or a header of a real application; the properties count by it. `headers` are
    those of a dead-letter queue for an archived record (KIP-1191). `create_time_ms` is a real client's (CreateTime); the
    records of the model's clients have none, which is 0.
    """

    value: str
    origin: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    create_time_ms: int = 0


class Batch(Value, frozen=True):
    """A v2 record batch: the header fields that the protocol decides on, and its records.

    `control` is empty for data, COMMIT or ABORT for an end-transaction marker (attributes 0x20). A control batch takes
    one offset. `max_timestamp_ms` is when it was appended, if records carry timestamps: message.timestamp.type is
    LogAppendTime. With timestamps of real clients it is the highest of them. Source: DefaultRecordBatch,
    EndTransactionMarker.
    NOT MODELLED: timestamps of the model's own producers (CreateTime), and clocks that differ.
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
        """The number of offsets of the batch."""
        return 1 if self.control else len(self.records)

    @property
    def last_offset(self) -> int:
        """The offset of the batch's last record."""
        return self.base_offset + self.count - 1
