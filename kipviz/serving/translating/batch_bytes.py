"""The bytes of record batches: a client reads the bytes that a client has produced.

The model's batches hold what the protocol's decisions need. The bytes that a client sent are kept beside the log and
sent again with their offset. Batches of the model's own clients, and markers, are encoded when they are read.

Source: org.apache.kafka.common.record.DefaultRecordBatch, EndTransactionMarker.
"""

from __future__ import annotations

from collections import OrderedDict
from struct import Struct as Layout

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.messages.wire.batches import encode_batch
from kipviz.messages.wire.codec import unsigned_varint
from kipviz.recordings.files.segments import LoggedBatch, batches
from kipviz.records.batches import COMMIT, Batch, DataRecord
from kipviz.records.crc32c import crc32c

_HEAD = Layout(">qii")  # base offset, length after it, leader epoch
_BODY = Layout(">hiqqqhii")  # after the checksum: attributes up to the number of records
_MAGIC = b"\x02"
_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_FRONT = 16  # base offset, length and leader epoch: no checksum covers them


def batch_in(data: bytes) -> LoggedBatch:
    """Read the one batch of a Produce request's partition.

    Raises:
        ValueError: if it is not exactly one whole batch of magic 2.
    """
    found = list(batches(data, "the batch of a Produce request"))
    if len(found) != 1 or found[0].control:
        raise ValueError(f"a partition of a Produce request must have one batch, not {len(found)}")
    return found[0]


def records_of(batch: LoggedBatch) -> tuple[DataRecord, ...]:
    """Return a batch's records as the model keeps them: their values as text."""
    return tuple(DataRecord(_text(each.value)) for each in batch.records)


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


# What Python needs to keep the bytes of one batch, besides the bytes: small batches cost more than they contain.
OVERHEAD = 600


class KeptBatches:
    """The bytes of batches as clients sent them, up to a total size in memory; the oldest are dropped first."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._size = 0
        self._kept: OrderedDict[tuple[str, Batch], bytes] = OrderedDict()

    def keep(self, partition: str, batch: Batch, data: bytes) -> None:
        """Remember the bytes of a batch that has been appended."""
        key = (partition, _plain(batch))
        before = self._kept.pop(key, None)
        self._size += len(data) + OVERHEAD - (0 if before is None else len(before) + OVERHEAD)
        self._kept[key] = data
        while self._size > self._bytes_max and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1]) + OVERHEAD

    def bytes_of(self, partition: str, batch: Batch, leader_epoch: int) -> bytes:
        """Return a batch as its leader sends it."""
        if batch.control:
            return _marker(batch, leader_epoch)
        data = self._kept.get((partition, _plain(batch)))
        if data is None:
            data = _encoded(batch)
        return _HEAD.pack(batch.base_offset, len(data) - 12, leader_epoch) + data[_FRONT:]


def _plain(batch: Batch) -> Batch:
    return batch.but(max_timestamp_ms=-1)


def _encoded(batch: Batch) -> bytes:
    records = tuple(
        (offset, record if isinstance(record, DataRecord) else DataRecord(str(record)))
        for offset, record in enumerate(batch.records, batch.base_offset)
    )
    data = encode_batch(
        records,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
    ).data
    attributes = _TRANSACTIONAL if batch.transactional else 0
    return _encode_checked(data[:16], attributes.to_bytes(2, "big") + data[23:])


def _marker(batch: Batch, leader_epoch: int) -> bytes:
    commits = batch.control == COMMIT
    key = bytes(2) + int(commits).to_bytes(2, "big")
    value = bytes(2) + batch.coordinator_epoch.to_bytes(4, "big", signed=True)
    # attributes, time and offset deltas of 0; key and value with their sizes; no headers
    record = bytes(3) + _encode_sized(key) + _encode_sized(value) + bytes(1)
    producer = (batch.producer_id, batch.producer_epoch, -1)
    body = _BODY.pack(_TRANSACTIONAL | _CONTROL, 0, 0, 0, *producer, 1) + _encode_sized(record)
    return _encode_checked(_HEAD.pack(batch.base_offset, len(body) + 9, leader_epoch), body)


def _encode_checked(head: bytes, body: bytes) -> bytes:
    return head + _MAGIC + crc32c(body).to_bytes(4, "big") + body


def _encode_sized(data: bytes) -> bytes:
    return unsigned_varint(2 * len(data)) + data


def readable(
    log: PartitionLog,
    offset: int,
    bytes_max: int,
    kept: KeptBatches,
    epoch: int,
    *,
    committed: bool,
    last: int | None = None,
) -> bytes:
    """Return the batches from an offset on that a consumer may read, at least one if there is one.

    Args:
        log: the partition.
        offset: the position of the reader.
        bytes_max: the maximum number of bytes.
        kept: the bytes of the batches that clients have produced.
        epoch: the leader epoch.
        committed: whether it reads below the last stable offset only.
        last: the last offset to return; up to the end if left out.
    """
    end = log.last_stable_offset if committed else log.high_watermark
    if last is not None:
        end = min(end, last + 1)
    found: list[bytes] = []
    size = 0
    for batch in _batches_from(log, offset):
        if batch.base_offset >= end or (found and size >= bytes_max):
            break
        data = kept.bytes_of(log.name, batch, epoch)
        found.append(data)
        size += len(data)
    return b"".join(found)


def _batches_from(log: PartitionLog, offset: int) -> list[Batch]:
    """Return the batches from an offset on. Readers are near the end, so the search starts there."""
    at = len(log.batches)
    while at > 0 and log.batches[at - 1].last_offset >= offset:
        at -= 1
    return [log.batches[i] for i in range(at, len(log.batches))]


def fates(log: PartitionLog) -> tuple[tuple[int, str, str], ...]:
    """Return (offset, value, fate) of every record: "committed", "aborted", or "open" in a transaction."""
    found: list[tuple[int, str, str]] = []
    gone = [(a.producer_id, a.first_offset, a.last_offset) for a in log.aborted]
    open_now = {producer_id: first for first, producer_id in log.open}
    for batch in log.batches:
        fate = "committed"
        if batch.transactional:
            at, producer_id = batch.base_offset, batch.producer_id
            if any(p == producer_id and first <= at <= last for p, first, last in gone):
                fate = "aborted"
            elif at >= open_now.get(producer_id, log.end_offset):
                fate = "open"
        for offset, record in enumerate(() if batch.control else batch.records, batch.base_offset):
            found.append((offset, getattr(record, "value", str(record)), fate))
    return tuple(found)
