"""How many bytes a batch takes in Kafka's format, without encoding it: a Fetch is limited by bytes.

Source: DefaultRecordBatch.RECORD_BATCH_OVERHEAD, DefaultRecord.sizeInBytes, EndTransactionMarker.
NOT MODELLED: compression.
"""

from __future__ import annotations

from kipviz.records.batches import Batch, DataRecord

RECORD_BATCH_OVERHEAD = 61
# A control batch is its header and one record: a key of 4 bytes, a value of 6 bytes, and a byte for each of 7 others.
CONTROL_BATCH_SIZE = RECORD_BATCH_OVERHEAD + 17
# The attributes, the length of a key that is not there, and the number of headers, of which there are few.
_FIXED = 3
_ORIGIN = len("origin")


def size_in_bytes(batch: Batch) -> int:
    """Return the size of a batch of a user's topic, with the header of each record that names its origin."""
    if batch.control:
        return CONTROL_BATCH_SIZE
    size, base_ms = RECORD_BATCH_OVERHEAD, None
    for delta, record in enumerate(batch.records):
        assert isinstance(record, DataRecord)
        base_ms = record.create_time_ms if base_ms is None else base_ms
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
