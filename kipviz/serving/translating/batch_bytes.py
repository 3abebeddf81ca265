"""The bytes of record batches: a client reads the bytes that a client has produced.

The model's batches hold what the protocol's decisions need, and of each value its first `TEXT_MAX` characters. The
bytes that a client sent are kept beside the log, as long as their batch can be read, and sent again with their offset.
Batches of the model's own clients, and markers, are encoded when they are read.

Source: org.apache.kafka.common.record.DefaultRecordBatch, EndTransactionMarker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from struct import Struct as Layout

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.messages.wire.batches import encode_batch
from kipviz.messages.wire.codec import unsigned_varint
from kipviz.messages.wire.decoding import ProducedBatch
from kipviz.recordings.files.segments import LoggedBatch, batches
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.batches import COMMIT, Batch, DataRecord
from kipviz.records.crc32c import crc32c

_HEAD = Layout(">qii")  # base offset, length after it, leader epoch
_BODY = Layout(">hiqqqhii")  # after the checksum: attributes up to the number of records
_MAGIC = b"\x02"
_TRANSACTIONAL, _CONTROL = 0x10, 0x20
TEXT_MAX = 1_000  # bytes of a value that the model keeps
# What Python needs to keep the bytes of one batch, besides the bytes: small batches cost more than they contain.
OVERHEAD = 600
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
    """Return a batch's records as the model keeps them: values as text, a long one by its start and checksum."""
    return tuple(
        DataRecord(_text(each.value), create_time_ms=each.timestamp) for each in batch.records
    )


class ReadBatches:
    """The batches of one Produce request, each decoded once."""

    def __init__(self) -> None:
        self._found: dict[bytes, LoggedBatch | None] = {}

    def decode_batch(self, data: bytes) -> LoggedBatch | None:
        """Return the one batch of a partition, None for anything else."""
        if data not in self._found:
            try:
                self._found[data] = batch_in(data)
            except (RecordingError, ValueError):
                self._found[data] = None
        return self._found[data]

    def read(self, data: bytes) -> ProducedBatch | None:
        """Return what the model has of the one batch of a partition, None for anything else."""
        found = self.decode_batch(data)
        if found is None:
            return None
        producer = (found.producer_id, found.producer_epoch, found.base_sequence)
        return ProducedBatch(*producer, found.transactional, records_of(found))


def _text(value: bytes | None) -> str:
    if value is None:
        return ""
    if len(value) <= TEXT_MAX:
        return value.decode("utf-8", "replace")
    start = value[:TEXT_MAX].decode("utf-8", "replace")
    return f"{start}… ({len(value):,} bytes, CRC-32C {crc32c(value):08x})"


class KeptBatches:
    """The bytes of batches as clients sent them, kept until their batch is deleted.

    A batch is found by its offset. Before a request is answered, or if its response is lost, its batch may be in the log
    already: such bytes are found by content, the oldest first.
    """

    def __init__(self) -> None:
        self._kept: dict[str, dict[int, tuple[Batch, bytes]]] = {}
        # Each with the lowest offset that its batch can have.
        self._arrived: dict[tuple[str, Batch], deque[tuple[int, bytes]]] = {}
        self._before_last: set[tuple[str, Batch]] = set()
        self.size = 0  # bytes of memory

    def arrive(self, partition: str, batch: Batch, data: bytes) -> None:
        """Remember the bytes of a batch that a client has sent; its offset is not below that of `batch`."""
        key = (partition, _without_place(batch))
        self._arrived.setdefault(key, deque()).append((batch.base_offset, data))
        self.size += _size(data)

    def keep(self, partition: str, batch: Batch, data: bytes) -> None:
        """Remember the bytes of a batch that has been appended; those of a duplicate are kept already."""
        key = (partition, _without_place(batch))
        for each in self._arrived.get(key, ()):
            if each[1] == data:
                self._arrived[key].remove(each)
                self._drop_if_empty(key)
                self.size -= _size(data)
                break
        if self._find_kept(partition, batch) is None:
            self._put(partition, batch, data)

    def find(self, partition: str, batch: Batch) -> bytes | None:
        """Return the bytes of a batch in the log, None if no client sent it."""
        data = self._find_kept(partition, batch)
        key = (partition, _without_place(batch))
        if data is None and key in self._arrived:
            _, data = self._arrived[key].popleft()
            self._drop_if_empty(key)
            self.size -= _size(data)
            self._put(partition, batch, data)
        return data

    def _find_kept(self, partition: str, batch: Batch) -> bytes | None:
        found = self._kept.get(partition, {}).get(batch.base_offset)
        return found[1] if found is not None and found[0] == _plain(batch) else None

    def _put(self, partition: str, batch: Batch, data: bytes) -> None:
        kept = self._kept.setdefault(partition, {})
        if batch.base_offset in kept:  # that batch was truncated
            self.size -= _size(kept[batch.base_offset][1])
        kept[batch.base_offset] = (_plain(batch), data)
        self.size += _size(data)

    def size_of(self, partition: str, batch: Batch) -> int:
        """Return what the bytes of a batch take in memory, 0 if no client sent it."""
        data = self.find(partition, batch)
        return 0 if data is None else _size(data)

    def bytes_of(self, partition: str, batch: Batch, leader_epoch: int) -> bytes:
        """Return a batch as its leader sends it."""
        if batch.control:
            return _marker(batch, leader_epoch)
        data = self.find(partition, batch)
        if data is None:
            data = _encode_new(batch)
        return _HEAD.pack(batch.base_offset, len(data) - 12, leader_epoch) + data[_FRONT:]

    def retain(self, logs: Iterable[PartitionLog]) -> None:
        """Forget the bytes of each batch that is in none of these logs, and of requests that arrived long ago.

        A request has arrived long ago if it was there the last time already, and no batch of it is in these logs.
        """
        found: dict[str, list[PartitionLog]] = {}
        for log in logs:
            found.setdefault(log.name, []).append(log)
        for partition, kept in self._kept.items():
            # A batch stays whole if records are deleted up to its middle.
            spans = [
                range(log.batches[0].base_offset, log.end_offset)
                for log in found.get(partition, ())
                if log.batches
            ]
            for offset in [each for each in kept if not any(each in span for span in spans)]:
                self.size -= _size(kept.pop(offset)[1])
        stale = [key for key in self._arrived if key in self._before_last]
        for partition, low in self._lowest_of(stale).items():
            for log in found.get(partition, ()):
                for batch in reversed(log.batches):
                    if batch.base_offset < low:
                        break
                    self.find(partition, batch)
        for key in stale:
            self.size -= sum(_size(data) for _, data in self._arrived.pop(key, ()))
        self._before_last = set(self._arrived)

    def _lowest_of(self, keys: Iterable[tuple[str, Batch]]) -> dict[str, int]:
        """Return by partition the lowest offset that a batch of these requests can have."""
        lowest: dict[str, int] = {}
        for key in keys:
            for offset, _ in self._arrived[key]:
                lowest[key[0]] = min(offset, lowest.get(key[0], offset))
        return lowest

    def _drop_if_empty(self, key: tuple[str, Batch]) -> None:
        if not self._arrived[key]:
            del self._arrived[key]


def _size(data: bytes) -> int:
    return len(data) + OVERHEAD


def _without_place(batch: Batch) -> Batch:
    return batch.but(base_offset=0, max_timestamp_ms=-1)


def _plain(batch: Batch) -> Batch:
    return batch.but(max_timestamp_ms=-1)


def _encode_new(batch: Batch) -> bytes:
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
    end = log.readable_up_to(committed=committed)
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
