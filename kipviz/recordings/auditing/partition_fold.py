"""The fold of one partition's log, read in stretches: each yields evidence, and open ends that join it with the next.

One process reads a partition as one stretch. Several tasks read one stretch each, of any length; their open ends are
joined in the order of the log (`join_stretches`). The evidence is the same however the log is cut, because what a stretch
cannot know yet (its first batch of a producer, the transaction that was open before it) is kept and not judged. Memory
grows with what is open (producers, transactional ids, share-partitions) and with the size of a part, not with the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TypeAlias

import numpy as np

from kipviz.recordings.auditing.audit_evidence import (
    Damaged,
    Evidence,
    OpenEnds,
    PartitionEnd,
    ProducerEnds,
    ShareEnds,
    TransactionEnds,
)
from kipviz.recordings.auditing.producer_fold import ROW, ProducerFold
from kipviz.recordings.auditing.record_folds import ShareFold, TransactionFold
from kipviz.recordings.decoded.internal_topics import LoggedOffset, decode
from kipviz.recordings.files.batch_headers import CONTROL, Damage
from kipviz.recordings.files.checksums import Numbers
from kipviz.recordings.files.log_parts import LogPart, PartContent, first_offset_of, read_part
from kipviz.recordings.files.log_rows import (
    ABORTS,
    COMMITS,
    end_markers,
    logged_batches,
    whole_batch,
)
from kipviz.recordings.files.segments import LoggedBatch, Segment
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.placement import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

_TRANSACTIONAL = 0x10
# Topics whose open ends are keyed by names, not by producer ids.
NAMED_TOPICS = (TRANSACTION_STATE, SHARE_GROUP_STATE)
Ends: TypeAlias = ProducerEnds | TransactionEnds | ShareEnds


def evidence_of(parts: Iterable[LogPart], *, check_crc: bool = True) -> Iterator[Evidence]:
    """Read the parts of one partition, in order, and yield its evidence.

    Raises:
        RecordingError: if a file cannot be read.
    """
    fold: PartitionFold | None = None
    for part in parts:
        if fold is None:
            fold = PartitionFold(part, begins=True)
        yield from fold.read(part, check_crc=check_crc)
    if fold is not None:
        yield from fold.end()
        yield fold.extent


def join_stretches(stretches: Iterable[OpenEnds]) -> Iterator[Evidence]:
    """Join the open ends of all stretches of some partitions, and yield the evidence at the ends of the logs."""
    in_order = sorted(stretches, key=lambda each: (each.partition, each.number))
    for partition, each in groupby(in_order, key=lambda ends: ends.partition):
        ends = tuple(each)
        match ends[0]:
            case ProducerEnds(in_sequence=in_sequence):
                producers = ProducerFold(partition, in_sequence=in_sequence, begins=True)
                for some in ends:
                    if isinstance(some, ProducerEnds):
                        yield from producers.join(some)
                yield from producers.end()
            case TransactionEnds():
                transactions = TransactionFold(partition, begins=True)
                for some in ends:
                    if isinstance(some, TransactionEnds):
                        yield from transactions.join(some)
                yield from transactions.end()
            case _:
                shares = ShareFold(partition, begins=True)
                for some in ends:
                    if isinstance(some, ShareEnds):
                        yield from shares.join(some)
                yield from shares.end()


def joined_extent(extents: Iterable[PartitionEnd]) -> PartitionEnd:
    """Join the extents of the stretches of a partition, in their order."""
    first, *rest = extents
    for each in rest:
        first = first.but(
            first_offset=first.first_offset if first.first_offset >= 0 else each.first_offset,
            end_offset=each.end_offset if each.end_offset >= 0 else first.end_offset,
            last_ms=max(first.last_ms, each.last_ms),
            marker_ms=max(first.marker_ms, each.marker_ms),
            batches=first.batches + each.batches,
            bytes=first.bytes + each.bytes,
        )
    return first


class PartitionFold:
    """The fold of one stretch of a partition: its extent, and its open ends.

    `begins` says that the stretch is the beginning of the log.
    """

    def __init__(self, part: LogPart, *, begins: bool) -> None:
        """Start an empty fold."""
        self.partition, self.topic = part.partition, part.topic
        self.extent = PartitionEnd(part.partition, part.broker, -1, -1, -1, -1, 0, 0)
        self.open: ProducerFold | TransactionFold | ShareFold
        if part.topic == TRANSACTION_STATE:
            self.open = TransactionFold(part.partition, begins=begins)
        elif part.topic == SHARE_GROUP_STATE:
            self.open = ShareFold(part.partition, begins=begins)
        else:
            ordered = not part.compacted and part.topic != CONSUMER_OFFSETS
            self.open = ProducerFold(part.partition, in_sequence=ordered, begins=begins)

    def read(self, part: LogPart, *, check_crc: bool = True) -> Iterator[Evidence]:
        """Add the next part, and yield the evidence that is certain after it.

        Raises:
            RecordingError: if the file cannot be read.
        """
        content = read_part(part, check_crc=check_crc)
        yield from self._damages(content)
        fields = content.headers.fields
        if not len(fields):
            return
        here = self.extent.but(
            first_offset=int(fields["base_offset"][0]),
            end_offset=int(fields["base_offset"][-1] + fields["last_delta"][-1]) + 1,
            last_ms=int(fields["max_timestamp"].max()),
            marker_ms=-1,
            batches=len(fields),
            bytes=int(fields["length"].sum()) + 12 * len(fields),
        )
        if isinstance(self.open, ProducerFold):
            chosen = np.flatnonzero(fields["producer_id"] >= 0)
            rows = _rows_of(content, chosen)
            marks = rows["last_ms"][rows["marker"] > 0]
            here = here.but(marker_ms=int(marks.max()) if len(marks) else -1)
            if self.topic == CONSUMER_OFFSETS:
                yield from self._offsets(content, self.open)
            if len(rows):
                yield from self.open.take(rows)
        else:
            yield from self._records(content, self.open)
        self.extent = joined_extent((self.extent, here))

    def end(self) -> Iterator[Evidence]:
        """Yield what is left at the end of the log, for a stretch that started at its beginning."""
        yield from self.open.end()

    def open_ends(self, number: int, buckets: int) -> Iterator[tuple[int, Ends]]:
        """Yield the open ends of the stretch with this number, by buckets."""
        yield from self.open.open_ends(number, buckets)

    def _damages(self, content: PartContent) -> Iterator[Damaged]:
        """Yield the bytes that are not a batch, each placed after the previous batch of its segment."""
        positions, fields, damages, _ = content.headers
        for each in damages:
            before = int(np.searchsorted(positions, each.start)) - 1
            behind = first_offset_of(content.part.segment)
            if before >= 0:
                behind = int(fields["base_offset"][before] + fields["last_delta"][before]) + 1
            yield self._note_damage(content.part, each, behind)

    def _note_damage(self, part: LogPart, damage: Damage, offset: int) -> Damaged:
        place = (part.segment, damage.start + part.start, damage.end - damage.start)
        return Damaged(self.partition, *place, damage.why, offset)

    def _offsets(self, content: PartContent, producers: ProducerFold) -> Iterator[Damaged]:
        """Note the groups whose offsets are in transactions; a batch that cannot be read is damage."""
        positions, fields, _, _ = content.headers
        data = (fields["attributes"] & (_TRANSACTIONAL | CONTROL)) == _TRANSACTIONAL
        for k in np.flatnonzero(data):
            batch = whole_batch(content, int(positions[k]), int(fields["length"][k]) + 12)
            if isinstance(batch, Damage):
                yield self._note_damage(content.part, batch, int(fields["base_offset"][k]))
                continue
            try:
                said = decode(Segment("", (batch,)), CONSUMER_OFFSETS)
            except RecordingError as problem:
                yield self._unreadable(content.part, int(positions[k]), batch, problem)
                continue
            names = dict.fromkeys(each.group for each in said if isinstance(each, LoggedOffset))
            producers.note_groups(batch.producer_id, batch.base_offset, tuple(names))

    def _records(
        self, content: PartContent, states: TransactionFold | ShareFold
    ) -> Iterator[Evidence]:
        """Add every record; a batch that cannot be read is damage."""
        positions, fields = content.headers.positions, content.headers.fields
        for at, batch in logged_batches(content):
            if isinstance(batch, Damage):
                place = int(np.searchsorted(positions, at))
                if place < len(positions) and positions[place] == at:
                    yield self._note_damage(content.part, batch, int(fields["base_offset"][place]))
                continue
            try:
                said = decode(Segment("", (batch,)), self.topic)
            except RecordingError as problem:
                yield self._unreadable(content.part, at, batch, problem)
                continue
            for each, record in zip(said, batch.records, strict=True):
                yield from states.take(each, record.timestamp)

    def _unreadable(
        self, part: LogPart, at: int, batch: LoggedBatch, problem: RecordingError
    ) -> Damaged:
        return self._note_damage(part, Damage(at, at + batch.size, problem.why), batch.base_offset)


def _rows_of(content: PartContent, chosen: Numbers) -> Numbers:
    positions, fields = content.headers.positions[chosen], content.headers.fields[chosen]
    kinds, _ = end_markers(content, positions, fields)
    rows = np.zeros(len(chosen), ROW)
    rows["pid"], rows["epoch"] = fields["producer_id"], fields["producer_epoch"]
    rows["sequence"] = fields["base_sequence"]
    rows["count"] = fields["last_delta"].astype(np.int64) + 1
    rows["first_offset"] = fields["base_offset"]
    rows["last_offset"] = fields["base_offset"] + fields["last_delta"]
    rows["first_ms"] = rows["last_ms"] = fields["max_timestamp"]
    rows["marker"] = kinds
    rows["batches"] = kinds == 0
    marks = (kinds == ABORTS) | (kinds == COMMITS)
    data = (fields["attributes"] & (_TRANSACTIONAL | CONTROL)) == _TRANSACTIONAL
    rows["transactional"] = data | marks
    return rows
