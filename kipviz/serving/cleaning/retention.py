"""The retention of users' partitions in a served cluster: by the number of batches, and by what all of them take.

As with log.retention.bytes the oldest batches go, and the log's start offset moves. Two bounds: a partition keeps
`BATCHES_MAX` batches, and all partitions together take `BYTES_MAX` bytes with what clients sent for them, counted by
content, so that the same run is cleaned in the same way on every machine. If they take more, the largest partition loses half of what it has.

Source: UnifiedLog.deleteRetentionSizeBreachedSegments.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.brokers.logs.partition_log import PartitionLog, delete_records
from kipviz.core.table import Table
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.serving.translating.batch_bytes import KeptBatches

BATCHES_MAX = 20_000  # of a partition
BYTES_MAX = 128 * 1024 * 1024  # of all partitions together
# What a batch and a record take in memory besides the value (measured: 330 for a batch with one short record).
BATCH_BYTES, RECORD_BYTES = 250, 100
WIDE = 4  # bytes of a character that is not ASCII


class Retention:
    """Shortens users' partitions; `say` gets a line for each one that became shorter, `sent` has clients' bytes."""

    def __init__(self, say: Callable[[str], None], sent: KeptBatches) -> None:
        self._say, self._sent = say, sent
        # The start and the end of each log when its bytes were counted last, and the bytes.
        self._counted: dict[str, tuple[int, int, int]] = {}

    def apply(self, logs: Table[str, PartitionLog]) -> Table[str, PartitionLog]:
        """Return the logs within their bounds, as far as open transactions allow."""
        sizes: dict[str, int] = {}
        for partition in logs:
            if topic_of(partition) in INTERNAL_TOPICS:
                continue
            count = len(logs[partition].batches)
            if count > BATCHES_MAX:
                why = f"a partition keeps {BATCHES_MAX} batches"
                shorter = self._shorten(logs[partition], count - BATCHES_MAX // 2, why)
                logs = logs.set(partition, shorter)
            sizes[partition] = self._count(logs[partition])
        while sum(sizes.values()) > BYTES_MAX:
            largest = max(sizes, key=lambda partition: sizes[partition])
            log, why = logs[largest], f"all partitions keep {BYTES_MAX >> 20} MB"
            shorter = self._shorten(log, self._half_of(log, sizes[largest]), why)
            sizes[largest] = self._count(shorter) if shorter is not log else 0
            logs = logs.set(largest, shorter)
        return logs

    def _count(self, log: PartitionLog) -> int:
        """Return the bytes of a log; only what is new is counted again."""
        start, end, total = self._counted.get(log.name, (-1, 0, 0))
        if start != log.start_offset or end > log.end_offset:
            end = total = 0
        for at in reversed(range(len(log.batches))):
            if log.batches[at].base_offset < end:
                break
            total += self._bytes_of(log, log.batches[at])
        self._counted[log.name] = (log.start_offset, log.end_offset, total)
        return total

    def _bytes_of(self, log: PartitionLog, batch: Batch) -> int:
        """Return what a batch takes in the log and beside it."""
        return bytes_of(batch) + self._sent.size_of(log.name, batch)

    def _half_of(self, log: PartitionLog, size: int) -> int:
        """Return how many of the oldest batches have half of a log's bytes; the newest batch stays."""
        seen = 0
        for at, batch in enumerate(log.batches):
            seen += self._bytes_of(log, batch)
            if 2 * seen >= size:
                return min(at + 1, len(log.batches) - 1)
        return 0

    def _shorten(self, log: PartitionLog, count: int, why: str) -> PartitionLog:
        """Delete the oldest batches, so many at most."""
        up_to = min(log.batches[count].base_offset, log.last_stable_offset)
        if up_to <= log.start_offset:
            return log  # an open transaction is in the way
        self._say(f"{log.name} starts at offset {up_to} now: {why}")
        return delete_records(log, up_to)


def bytes_of(batch: Batch) -> int:
    """Return about how many bytes of memory a batch takes."""
    total = BATCH_BYTES
    for record in batch.records:
        value = record.value if isinstance(record, DataRecord) else ""
        total += RECORD_BYTES + len(value) * (1 if value.isascii() else WIDE)
    return total
