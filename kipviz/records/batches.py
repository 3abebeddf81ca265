"""Record batches as a partition's log holds them."""

from __future__ import annotations

from kipviz.core.values import Value

# Group and share coordinator write every batch with base sequence 0, so a transaction may have several batches with the
# same one; sequences are checked for clients only. Markers and the transaction coordinator's own records have -1.
# Recorded from Kafka 4.4.0.
COORDINATOR_SEQUENCE = 0

# The placeholder of a missing timestamp (RecordBatch.NO_TIMESTAMP).
NO_TIMESTAMP = -1

# The bytes of a batch without its records.
RECORD_BATCH_OVERHEAD = 61
# A control batch is its header and one record: a key of 4 bytes, a value of 6 bytes, and a byte for each of 7 others.
CONTROL_BATCH_SIZE = RECORD_BATCH_OVERHEAD + 17
# The attributes, the length of a key that is not there, and the number of headers, of which there are few.
_FIXED = 3
_ORIGIN = len("origin")

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


def size_in_bytes(batch: Batch) -> int:
    """Return how many bytes a batch of a user's topic takes, without encoding it: a Fetch is limited by bytes.

    A record that names its origin has a header for it. NOT MODELLED: compression, the headers of a record in a
    dead-letter queue, and what a real client sent besides a value. Source: DefaultRecordBatch.RECORD_BATCH_OVERHEAD,
    DefaultRecord.sizeInBytes, EndTransactionMarker.
    """
    if batch.control:
        return CONTROL_BATCH_SIZE
    size, base_ms = RECORD_BATCH_OVERHEAD, 0
    for delta, record in enumerate(batch.records):
        assert isinstance(record, DataRecord)
        if not delta:
            base_ms = record.create_time_ms
        inner = _FIXED + _size_of_text(record.value)
        inner += _size_of_varint(record.create_time_ms - base_ms) + _size_of_varint(delta)
        if record.origin:
            inner += 1 + _ORIGIN + _size_of_text(record.origin)
        size += inner + _size_of_varint(inner)
    return size


def _size_of_varint(value: int) -> int:
    """Return how many bytes a signed number takes: 7 bits each, in zigzag order. Source: ByteUtils.sizeOfVarint."""
    zigzag = value * 2 if value >= 0 else -value * 2 - 1
    return max(1, -(-zigzag.bit_length() // 7))


def _size_of_text(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size + _size_of_varint(size)
