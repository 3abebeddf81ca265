"""A broker's logs, as the batches of a rebuilt cluster in the order in which they were written.

Batches of one partition keep their order; between partitions the time in the batch decides. User topics may have the
producers' timestamps, so the order lets no time go back within a partition. Batches of one millisecond are ordered by
their dependencies: a transaction is ONGOING before its data, PREPARE_* before its markers, COMPLETE_* after them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from types import MappingProxyType

from kipviz.cluster.real.rebuilt_cluster import GONE, PassedOver, RebuiltBatch
from kipviz.core.outside.validation import several
from kipviz.core.values import Value
from kipviz.recordings.decoded.group_records import OF_GROUPS, name_topics, topics_told
from kipviz.recordings.decoded.internal_topics import (
    DECODERS,
    GROUP_KINDS,
    Logged,
    LoggedGroupRecord,
    LoggedMarker,
    LoggedOffset,
    LoggedShareSnapshot,
    LoggedShareUpdate,
    LoggedTombstone,
    LoggedTransaction,
    decode,
    markers,
)
from kipviz.recordings.files.broker_folder import topic_ids_in
from kipviz.recordings.files.cluster_folders import require_topics
from kipviz.recordings.files.segments import LoggedBatch, LoggedRecord, Segment, read_partition
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.batches import ABORT, COMMIT, Batch, DataRecord
from kipviz.records.consumer_offsets import OffsetCommitRecord
from kipviz.records.placement import TRANSACTION_STATE, partition_for, topic_of
from kipviz.records.sequences import sequence_after
from kipviz.records.share_group_state import ShareSnapshotRecord, ShareUpdateRecord
from kipviz.records.transaction_state import TransactionRecord, TransactionState

TEXT_MAX = 60
STOPPED = "stopped before this log was read"
OF_DEAD_LETTERS = "__dlq.errors."
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PARTITIONS_MAX = 1_000
PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
# A tombstone of one of these means that a group is deleted.
GROUPS_THEMSELVES = tuple(GROUP_KINDS[kind] for kind in OF_GROUPS)
COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
# The order within one millisecond.
BEGINS, DATA, DECIDES, MARKS, ENDS = range(5)


def entries_of(
    folders: Iterable[Path],
    topics: Sequence[str] = (),
    *,
    torn_tail: bool = False,
    topic_ids: Mapping[str, str] = MappingProxyType({}),
    elected: Mapping[tuple[str, int], int] = MappingProxyType({}),
    compacted: Collection[str] = (),
    damages: list[RecordingError] | None = None,
    go_on: Callable[[int, int], bool] | None = None,
) -> tuple[RebuiltBatch, ...]:
    """Read partitions, and return their batches in the order in which they were written.

    `topics` are the user topics to read besides the internal ones; all of them if it is empty. `topic_ids` are topic
    names by their ids, if the folders do not have them; `elected` has the start of each leader epoch of a partition,
    before which its leader has written nothing. `compacted` are the compacted user topics. If `damages` is given, a
    damaged batch is noted there and skipped. `go_on` gets the number of logs read so far and the total before each log;
    once it returns false, the others are noted as damages.

    Raises:
        RecordingError: if a log is damaged, has an unknown layout, a folder is not a partition's, a topic has no log
            here, or reading was stopped without `damages`.
        ValueError: if the topics are one text instead of several.
    """
    topics = several("topics", topics, "orders")
    read: list[tuple[str, tuple[Segment, ...]]] = []
    folders = tuple(folders)
    known = {**topic_ids, **topic_ids_in(folders)}
    there: list[str] = []
    stopped = False
    for number, folder in enumerate(folders):
        topic, dash, index = folder.name.rpartition("-")
        if not dash or not index.isdecimal():
            why = "a partition's folder is named topic-number, such as __transaction_state-45"
            raise RecordingError(str(folder), 0, why)
        there.append(topic)
        if topics and topic not in topics and topic not in DECODERS:
            continue
        stopped = stopped or (go_on is not None and not go_on(number, len(folders)))
        if stopped:
            unread = RecordingError(str(folder), 0, STOPPED)
            if damages is None:
                raise unread
            damages.append(unread)
            continue
        segments = read_partition(
            folder,
            compacted=True if topic in compacted else None,
            torn_tail=torn_tail,
            damages=damages,
        )
        read.append((folder.name, segments))
    require_topics(topics, there, str(folders[0].parent) if folders else "")
    return entries_among(read, known, elected=elected, damages=damages)


def entries_among(
    partitions: Iterable[tuple[str, tuple[Segment, ...]]],
    topic_ids: Mapping[str, str],
    *,
    elected: Mapping[tuple[str, int], int] = MappingProxyType({}),
    damages: list[RecordingError] | None = None,
) -> tuple[RebuiltBatch, ...]:
    """Return the batches of some named partitions in the order in which they were written.

    Raises:
        RecordingError: if a record has an unknown layout and there is no `damages`.
    """
    heads = []
    for name, segments in partitions:
        topic = topic_of(name)
        found = [
            part
            for segment in segments
            for part in _of_segment(*_readable(segment, topic, damages), name, topic_ids)
        ]
        heads.append((name, found))
    since = _find_additions(entry for _, found in heads for entry, _ in found)
    ready = [
        _never_back(found, since, elected) for _, found in sorted(heads, key=lambda head: head[0])
    ]
    return tuple(_merge_entries([found for found in ready if found]))


def internal_partitions_of(entries: Iterable[RebuiltBatch]) -> int:
    """Return the number of __transaction_state partitions that fits the places of the ids; 50 if any fits."""
    homes: dict[str, int] = {}
    for entry in entries:
        if entry.partition.startswith(TRANSACTION_STATE):
            index = int(entry.partition.rpartition("-")[2])
            for record in entry.batch.records:
                if isinstance(record, TransactionRecord):
                    homes[record.transactional_id] = index
    for count in (50, *range(1, PARTITIONS_MAX + 1)):
        if all(partition_for(name, count) == index for name, index in homes.items()):
            return int(count)
    return 50


# -- one partition -----------------------------------------------------------------------------


def _readable(
    segment: Segment, topic: str, damages: list[RecordingError] | None
) -> tuple[Segment, tuple[Logged, ...]]:
    """Return a segment and its decoded records, without the batches whose records cannot be read; note those."""
    try:
        return segment, _decode_segment(segment, topic)
    except RecordingError:
        if damages is None:
            raise
    found: list[LoggedBatch] = []
    told: list[Logged] = []
    for batch in segment.batches:
        try:
            told += _decode_segment(segment.but(batches=(batch,)), topic)
        except RecordingError as problem:
            damages.append(problem)
        else:
            found.append(batch)
    return segment.but(batches=tuple(found)), tuple(told)


def _decode_segment(segment: Segment, topic: str) -> tuple[Logged, ...]:
    return decode(segment, topic) if topic in DECODERS else markers(segment)


def _of_segment(
    segment: Segment, told: tuple[Logged, ...], partition: str, topic_ids: Mapping[str, str]
) -> Iterator[tuple[RebuiltBatch, int]]:
    topics = {**topic_ids, **_topics_of(told)}
    said = {each.offset: each for each in told}
    for batch in segment.batches:
        if batch.control:
            marker = said[batch.base_offset]
            assert isinstance(marker, LoggedMarker)
            yield _entry(partition, batch, _marker(batch, marker)), MARKS
            continue
        for run in _runs(batch.records):
            records = tuple(_record(r, said.get(r.offset), topics) for r in run)
            gone = tuple(r.key for r in records if isinstance(r, PassedOver) and r.kind == GONE)
            made = Batch(
                run[0].offset,
                records,
                batch.producer_id,
                batch.producer_epoch,
                _sequence(batch, run[0].offset),
                transactional=batch.transactional,
            )
            yield _entry(partition, batch, made, gone), _rank(records)


def _topics_of(told: Iterable[Logged]) -> dict[str, str]:
    """Return the topic names by their ids that a log of groups itself contains."""
    known: dict[str, str] = {}
    for each in told:
        if isinstance(each, LoggedOffset) and each.topic_id:
            known[each.topic_id] = each.topic
        elif isinstance(each, LoggedGroupRecord) and each.said is not None:
            known |= dict(topics_told(each.said))
    return known


def _entry(
    partition: str, batch: LoggedBatch, made: Batch, gone: tuple[str, ...] = ()
) -> RebuiltBatch:
    at = batch.max_timestamp
    return RebuiltBatch(partition, made, at, _words(at), gone, batch.leader_epoch)


def _words(at_ms: int) -> str:
    """Return when something was written, in UTC, or the number if no calendar has that time."""
    try:
        at = EPOCH + timedelta(milliseconds=max(at_ms, 0))
    except OverflowError:  # microseconds that were taken for milliseconds, for example
        return f"{at_ms} ms after 1970, which is past the year 9999"
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1_000:03}"


def _runs(records: tuple[LoggedRecord, ...]) -> Iterator[tuple[LoggedRecord, ...]]:
    """Split a batch where compaction has removed records, so that offsets within a part are consecutive."""
    run: list[LoggedRecord] = []
    for record in records:
        if run and record.offset != run[-1].offset + 1:
            yield tuple(run)
            run = []
        run.append(record)
    if run:
        yield tuple(run)


def _sequence(batch: LoggedBatch, offset: int) -> int:
    if batch.base_sequence < 0:
        return -1
    return sequence_after(batch.base_sequence, offset - batch.base_offset)


def _rank(records: tuple[Value, ...]) -> int:
    states = [record.state for record in records if isinstance(record, TransactionRecord)]
    if not states:
        return DATA
    if states[0] in PREPARED:
        return DECIDES
    return ENDS if states[0] in COMPLETE else BEGINS


def _marker(batch: LoggedBatch, marker: LoggedMarker) -> Batch:
    return Batch(
        batch.base_offset,
        (),
        marker.producer_id,
        marker.producer_epoch,
        transactional=True,
        control=COMMIT if marker.committed else ABORT,
        coordinator_epoch=marker.coordinator_epoch,
    )


def _record(record: LoggedRecord, said: Logged | None, topics: dict[str, str]) -> Value:
    """Return a record as the model's roles write it; a record that they do not use keeps its place."""
    match said:
        case LoggedTransaction():
            return _transaction(said)
        case LoggedOffset():
            partition = f"{said.topic}-{said.partition}"
            return OffsetCommitRecord(said.group, partition, said.committed_offset)
        case LoggedShareSnapshot():
            return ShareSnapshotRecord(
                f"{said.group}:{said.topic_id}:{said.partition}",
                said.snapshot_epoch,
                said.state_epoch,
                said.leader_epoch,
                said.start_offset,
                said.delivery_complete_count,
                said.batches,
            )
        case LoggedShareUpdate():
            return ShareUpdateRecord(
                f"{said.group}:{said.topic_id}:{said.partition}",
                said.snapshot_epoch,
                said.leader_epoch,
                said.start_offset,
                said.delivery_complete_count,
                said.batches,
            )
        case LoggedGroupRecord(said=Value() as told):
            return name_topics(told, topics)
        case LoggedGroupRecord(tombstone=True, kind=kind) if kind in GROUPS_THEMSELVES:
            return PassedOver(GONE, said.group)
        case LoggedGroupRecord():
            return PassedOver(said.kind, said.group)
        case LoggedTombstone():
            return PassedOver(GONE, said.key)
        case _:
            return DataRecord(_text(record.value), headers=_of_dead_letter(record))


def _transaction(said: LoggedTransaction) -> TransactionRecord:
    partitions = tuple(f"{t}-{p}" for t, indexes in said.partitions or () for p in indexes)
    return TransactionRecord(
        said.transactional_id,
        said.producer_id,
        said.producer_epoch,
        said.state,
        partitions,
        said.previous_producer_id,
        said.next_producer_id,
        said.timeout_ms,
        said.client_transaction_version,
        said.next_producer_epoch,
        said.version,
    )


def _of_dead_letter(record: LoggedRecord) -> tuple[tuple[str, str], ...]:
    """Return the headers of a record that a broker copied to a dead-letter queue."""
    return tuple(
        (name, _text(value)) for name, value in record.headers if name.startswith(OF_DEAD_LETTERS)
    )


def _text(value: bytes | None) -> str:
    """Return the beginning of a record's value as text, or as hex digits if it is not text."""
    if value is None:
        return "(null)"
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = f"0x{value[: TEXT_MAX // 2].hex()}"
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


# -- the order ---------------------------------------------------------------------------------


def _find_additions(entries: Iterable[RebuiltBatch]) -> dict[tuple[int, int, str], int]:
    """Return since when a partition has been in a transaction of a producer id and epoch, at first."""
    since: dict[tuple[int, int, str], int] = {}
    for entry in entries:
        for record in entry.batch.records:
            if isinstance(record, TransactionRecord) and record.state is TransactionState.ONGOING:
                for partition in record.partitions:
                    place = (record.producer_id, record.producer_epoch, partition)
                    since.setdefault(place, entry.at_ms)
    return since


def _never_back(
    found: list[tuple[RebuiltBatch, int]],
    since: Mapping[tuple[int, int, str], int],
    elected: Mapping[tuple[str, int], int],
) -> list[tuple[RebuiltBatch, int]]:
    """Make the times of a partition increase: a batch is not older than the previous one.

    A producer's data has the time of its creation. It is in the log only once its partition is in the transaction,
    which the coordinator may have logged a moment later.
    """
    latest, out = 0, []
    for entry, rank in found:
        batch = entry.batch
        place = (batch.producer_id, batch.producer_epoch, entry.partition)
        began = elected.get((entry.partition, entry.leader_epoch), 0)
        enlisted = since.get(place, 0) if rank == DATA else 0
        latest = max(latest, entry.at_ms, began, enlisted)
        out.append((entry.but(at_ms=latest), rank))
    return out


def _merge_entries(partitions: list[list[tuple[RebuiltBatch, int]]]) -> Iterator[RebuiltBatch]:
    """Yield the earliest of all heads, and within one millisecond the one that the others depend on."""
    heads = [(*_when(found[0]), number, 0) for number, found in enumerate(partitions)]
    heapify(heads)
    while heads:
        *_, number, at = heads[0]
        found = partitions[number]
        yield found[at][0]
        if at + 1 < len(found):
            heapreplace(heads, (*_when(found[at + 1]), number, at + 1))
        else:
            heappop(heads)


def _when(head: tuple[RebuiltBatch, int]) -> tuple[int, int]:
    entry, rank = head
    return entry.at_ms, rank
