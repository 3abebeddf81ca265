"""A v2 record batch as bytes, with the place of every field.

Fields that the model's batches lack are filled in and marked as not given: a record has no key, and its timestamp is 0
if no real client sent one. The origin of a record (`DataRecord.origin`) is in a header of that name, as a real
application might keep it. Batches are not compressed.

Source: org.apache.kafka.common.record.DefaultRecordBatch, DefaultRecord.
"""

from __future__ import annotations

from kipviz.messages.wire.codec import Encoded, Writer, unsigned_varint
from kipviz.records.batches import DataRecord
from kipviz.records.crc32c import crc32c

MAGIC = 2
TRANSACTIONAL = 0x10
_LENGTH_AT = 8
_CRC_AT = 17
_CHECKED_FROM = 21


def encode_batch(
    records: tuple[tuple[int, DataRecord], ...],
    *,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    sender_told: bool = True,
) -> Encoded:
    """Encode one batch of records with their offsets; there is at least one record.

    `sender_told` says whether producer id, epoch and sequence are known, or only filled in.
    """
    base, last = records[0][0], records[-1][0]
    times = [record.create_time_ms for _, record in records]
    is_timed = any(times)
    attributes = TRANSACTIONAL if producer_id >= 0 else 0
    out = Writer()
    out.heading("RecordBatch")
    _put_number(out, "baseOffset", 8, base)
    _put_number(out, "batchLength", 4, 0)  # known at the end
    _put_number(out, "partitionLeaderEpoch", 4, -1, told=False)
    _put_number(out, "magic", 1, MAGIC)
    out.put("RecordBatch.crc", "uint32", bytes(4))  # known at the end
    _put_number(out, "attributes", 2, attributes, told=sender_told)
    _put_number(out, "lastOffsetDelta", 4, last - base)
    _put_number(out, "baseTimestamp", 8, times[0], told=is_timed)
    _put_number(out, "maxTimestamp", 8, max(times), told=is_timed)
    _put_number(out, "producerId", 8, producer_id, told=sender_told)
    _put_number(out, "producerEpoch", 2, producer_epoch, told=sender_told)
    _put_number(out, "baseSequence", 4, base_sequence, told=sender_told)
    _put_number(out, "recordsCount", 4, len(records))
    for offset, record in records:
        _put_record(out, offset - base, record, times[0], is_timed=is_timed)
    data = out.data
    data[_LENGTH_AT : _LENGTH_AT + 4] = (len(data) - _LENGTH_AT - 4).to_bytes(4, "big")
    data[_CRC_AT:_CHECKED_FROM] = crc32c(bytes(data[_CHECKED_FROM:])).to_bytes(4, "big")
    return Encoded(bytes(data), tuple(out.spans))


def _put_number(out: Writer, name: str, size: int, value: int, *, told: bool = True) -> None:
    raw = value.to_bytes(size, "big", signed=True)
    out.put(f"RecordBatch.{name}", f"int{8 * size}", raw, told=told)


def _put_record(
    out: Writer, delta: int, record: DataRecord, base_ms: int, *, is_timed: bool
) -> None:
    path = "RecordBatch.Record[]"
    inner = Writer()
    inner.put(f"{path}.attributes", "int8", bytes(1))
    inner.put(
        f"{path}.timestampDelta", "varlong", varint(record.create_time_ms - base_ms), told=is_timed
    )
    inner.put(f"{path}.offsetDelta", "varint", varint(delta))
    inner.put(f"{path}.key", "varint string", varint(-1), told=False)
    inner.put(f"{path}.value", "varint string", _encode_sized(record.value))
    headers = [("origin", record.origin)] if record.origin else []
    inner.put(f"{path}.headersCount", "varint", varint(len(headers)))
    for key, value in headers:
        inner.heading(f"{path}.Header[]")
        inner.put(f"{path}.Header[].key", "varint string", _encode_sized(key))
        inner.put(f"{path}.Header[].value", "varint string", _encode_sized(value))
    out.heading(path)
    out.put(f"{path}.length", "varint", varint(len(inner.data)))
    out.append(inner.finish())


def varint(value: int) -> bytes:
    """Encode a signed number in zigzag order: 0, -1, 1, -2, 2, …."""
    return unsigned_varint(value * 2 if value >= 0 else -value * 2 - 1)


def _encode_sized(text: str) -> bytes:
    raw = text.encode("utf-8", "replace")  # as in Java's getBytes
    return varint(len(raw)) + raw
