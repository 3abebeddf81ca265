"""Brokers' folders, cut into parts that can be read in parallel: a segment, or a range of bytes of a large one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from kipviz.core.outside import untrusted_file
from kipviz.core.values import Value
from kipviz.recordings.decoded.cluster_metadata import ClusterMetadata, compacted_topics
from kipviz.recordings.files.batch_headers import Headers, first_batch_in, headers_in
from kipviz.recordings.files.broker_folder import (
    ABOUT_BROKER,
    PARTITION,
    BrokerFolder,
    SetAside,
    broker_folder,
    metadata_of,
)
from kipviz.recordings.files.checksums import Numbers
from kipviz.recordings.files.segments import COMPACTED_TOPICS
from kipviz.recordings.recording_error import WHOLE, RecordingError
from kipviz.records.placement import topic_of
from kipviz.settings.topic_configs import REMOTE_STORAGE_ENABLE

# Spark cuts its own files at 128 MB; a part and its columns must fit beside others into a worker's memory.
PART_BYTES = 64 << 20
# max.message.bytes limits a batch (1 MB by default); a part with a larger last batch is read again, with more bytes
# after it.
_BEHIND = 1 << 20
# Halving a segment ends where so much is left, and looks at so much each time, and then at so much.
_NEAR, _LOOKS_AT = 256 << 10, (16 << 10, 256 << 10)
# Entries of index files: a relative offset and its place, a time and its relative offset.
_PLACES = np.dtype([("key", ">i4"), ("at", ">i4")])
_TIMES = np.dtype([("key", ">i8"), ("at", ">i4")])


class LogPart(Value, frozen=True):
    """A stretch of a segment file: the batches that begin at byte `start` or later and before byte `end`.

    `broker` is -1 if no file names it, `folder` is its folder as the caller names it. `last` says that the segment is
    its partition's last one, which a running broker may have left incomplete; `compacted` that offsets may be missing,
    `tiered` that older segments may be in remote storage.
    """

    broker: int
    partition: str
    segment: str
    path: str
    start: int
    end: int
    size: int
    last: bool
    compacted: bool = False
    tiered: bool = False
    folder: str = ""

    @property
    def topic(self) -> str:
        """The topic, from the name of the partition's folder."""
        return topic_of(self.partition)

    @property
    def index(self) -> int:
        """The number of the partition."""
        return int(self.partition.rpartition("-")[2])


class LogFolders(Value, frozen=True):
    """The contents of some brokers' folders: parts of partitions, the cluster's metadata, and what is not read."""

    parts: tuple[LogPart, ...]
    known: ClusterMetadata
    set_aside: tuple[SetAside, ...] = ()


def log_folders(
    paths: Iterable[str | os.PathLike[str]],
    topics: Sequence[str] = (),
    part_bytes: int = PART_BYTES,
    always: Sequence[str] = (),
) -> LogFolders:
    """Find the parts of all partitions in one or several brokers' folders, or in a folder that holds brokers' folders.

    Args:
        paths: the folders.
        topics: only these topics; default: all.
        part_bytes: a segment that is larger is cut into ranges of this size.
        always: topics that are taken even if `topics` does not name them, where they have a log.

    Raises:
        RecordingError: if a path is not a folder, cannot be read or holds no log, or one of `topics` has no log.
        ValueError: if `part_bytes` is less than 1.
    """
    if part_bytes < 1:
        raise ValueError(f"a part must have at least 1 byte, not {part_bytes}")
    brokers = [broker_folder(place) for path in paths for place in _brokers_at(Path(path))]
    told = [metadata_of(each) for each in brokers]
    # The log with the most decisions was copied last.
    known = max(
        (m for m, _ in told if m), key=lambda m: len(m.decisions), default=ClusterMetadata()
    )
    found = parts_of(brokers, known, (*topics, *always) if topics else (), part_bytes)
    there = sorted({part.topic for part in found})
    for lost in (topic for topic in topics if topic not in there):
        places = ", ".join(str(each.place) for each in brokers)
        raise RecordingError(places, WHOLE, f"there is no log of a topic {lost!r} here")
    aside = tuple(a for b in brokers for a in b.set_aside if not _is_metadata(a.name))
    return LogFolders(tuple(found), known, (*aside, *(a for _, more in told for a in more)))


def _brokers_at(path: Path) -> list[Path]:
    """Return a broker's folder, or the brokers' folders inside one."""
    if path.is_dir() and not (path / ABOUT_BROKER).exists():
        inside = sorted(each.parent for each in path.glob(f"*/{ABOUT_BROKER}"))
        if inside:
            return inside
    return [path]


def _is_metadata(name: str) -> bool:
    return name.startswith("__cluster_metadata-")


def parts_of(
    brokers: Iterable[BrokerFolder],
    known: ClusterMetadata,
    topics: Sequence[str] = (),
    part_bytes: int = PART_BYTES,
) -> list[LogPart]:
    """Return the parts of all partitions of some brokers; `known` says which topics are compacted or tiered.

    Raises:
        RecordingError: a partition's folder has another name.
    """
    return [part for each in brokers for part in _parts_of(each, known, topics, part_bytes)]


def _parts_of(
    folder: BrokerFolder, known: ClusterMetadata, topics: Sequence[str], part_bytes: int
) -> list[LogPart]:
    compacted = (*COMPACTED_TOPICS, "__share_group_state", *compacted_topics(known))
    places = [*folder.partitions, *([folder.metadata] if folder.metadata else [])]
    parts: list[LogPart] = []
    for place in places:
        if not PARTITION.fullmatch(place.name):
            why = "a partition's folder is named topic-number, such as __transaction_state-45"
            raise RecordingError(str(place), WHOLE, why)
        topic = topic_of(place.name)
        if topics and topic not in topics:
            continue
        tiered = (REMOTE_STORAGE_ENABLE.name, "true") in known.settings_of("topic", topic)
        files = sorted(each for each in place.iterdir() if each.suffix == ".log")
        for file in files:
            size = file.stat().st_size
            parts += [
                LogPart(
                    folder.broker,
                    place.name,
                    file.name,
                    str(file.resolve()),
                    start,
                    min(start + part_bytes, size),
                    size,
                    file == files[-1],
                    topic in compacted,
                    tiered,
                    str(folder.place),
                )
                for start in range(0, size, part_bytes)
            ]
    return parts


class PartContent(Value, frozen=True):
    """The bytes of a part, with those after it that its last batch needs, and the headers of its batches.

    Positions in `headers` count from the beginning of `data`, which is byte `part.start` of the file.
    """

    part: LogPart
    data: bytes
    headers: Headers


def read_part(part: LogPart, *, check_crc: bool = True) -> PartContent:
    """Read a part's bytes and the headers of the batches that begin in it.

    Raises:
        RecordingError: if the file cannot be read.
    """
    behind = _BEHIND
    while True:
        wanted = part.end - part.start + behind
        data = _read(part, part.start, wanted)
        headers = headers_in(
            data,
            begins=-1 if part.start else 0,
            ends=part.end - part.start,
            least_offset=first_offset_of(part.segment),
            check_crc=check_crc,
            torn_tail=part.last,
        )
        # A batch that seems cut off at the end of the bytes may only need more of them.
        if part.start + len(data) >= part.size or not headers.ran_out:
            return PartContent(part, data, headers)
        behind *= 8


def first_offset_of(segment: str) -> int:
    """Return the offset that a segment's file is named after, 0 if it has another name."""
    name = segment.removesuffix(".log")
    return int(name) if name.isdecimal() and len(name) == 20 else 0


def narrow_parts(
    parts: Iterable[LogPart], field: str, low: int, high: int, around: int
) -> Iterator[LogPart]:
    """Return the parts without what is far from some values; a segment that is not much larger is left whole.

    Where a value stands is found by Kafka's index files, and where these are not there by halving: a few reads, whatever the size
    of the segment. Times that go back may be missed; offsets never go back.

    Args:
        parts: parts of whole segments, in the order of the log.
        field: `base_offset`, or `max_timestamp`.
        low: the least value that is looked for.
        high: the greatest one.
        around: so many bytes before the least value and behind the greatest one are kept.

    Raises:
        RecordingError: a file cannot be read.
    """
    for _, each in groupby(parts, key=lambda part: part.path):
        segment = tuple(each)
        if segment[-1].end <= 2 * around + _NEAR:
            yield from segment
            continue
        begins = _find_between(segment[0], field, low)[0] - around
        ends = _find_between(segment[0], field, high + 1)[1] + around
        for part in segment:
            start, end = max(part.start, begins), min(part.end, ends)
            if start < end:
                yield part.but(start=start, end=end)


def _find_between(part: LogPart, field: str, value: int) -> tuple[int, int]:
    """Return two places of a segment: before the first one batches are less than a value, from the second one on they are not."""
    found = _between_by_index(part, field, value)
    if found is not None:
        return found
    left, right = 0, part.size
    while right - left > _NEAR:
        middle = (left + right) // 2
        first = _first_from(part, field, middle, right)
        if first is not None and first[1] < value:
            left = first[0]
        else:
            right = middle
    return left, right


def _between_by_index(part: LogPart, field: str, value: int) -> tuple[int, int] | None:
    """Look into a segment's index files; None where one is not there or not in order.

    Source: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex.
    """
    places = _index_of(part, ".index", _PLACES)
    if places is None or places["at"][-1] >= part.size:
        return None
    offset = value - first_offset_of(part.segment)
    if field != "base_offset":
        times = _index_of(part, ".timeindex", _TIMES)
        if times is None:
            return None
        # Of what stands before an entry's offset no time is later than the entry's.
        before = int(np.searchsorted(times["key"], value))
        least = int(times["at"][before - 1]) if before else -1
        most = int(times["at"][before]) if before < len(times) else 1 << 31
    else:
        least, most = offset - 1, offset
    first = int(np.searchsorted(places["key"], least, side="right"))
    # An entry has the last offset of what was appended at its place, so that begins there at the latest.
    last = int(np.searchsorted(places["key"], most, side="right")) + 1
    begins = int(places["at"][first - 1]) if first else 0
    return begins, int(places["at"][last]) if last < len(places) else part.size


def _index_of(part: LogPart, suffix: str, entry: np.dtype[Any]) -> Numbers | None:
    """Read an index file; what a running broker allocated in advance is left out."""
    try:
        data = untrusted_file.read(Path(part.path).with_suffix(suffix))
    except OSError:
        return None
    rows = np.frombuffer(data[: len(data) // entry.itemsize * entry.itemsize], entry)
    used = np.flatnonzero(rows["at"])
    rows = rows[: int(used[-1]) + 1 if len(used) else 0].astype(entry.newbyteorder("="))
    in_order = len(rows) and all((np.diff(rows[each]) >= 0).all() for each in ("key", "at"))
    return rows if in_order else None


def _first_from(part: LogPart, field: str, place: int, limit: int) -> tuple[int, int] | None:
    """Return where the first right batch from a place on begins and what its field says, None if there is none before a limit."""
    # Most batches are small, and reading a whole part of a log for each look took half of the time of a window.
    for looked_at in _LOOKS_AT:
        found = first_batch_in(_read(part, place, looked_at), first_offset_of(part.segment))
        if found is not None:
            at, fields = place + found[0], found[1]
            return (at, int(fields[field])) if at < limit else None
    size = _LOOKS_AT[-1]
    while place < limit:
        end = min(place + size, limit)
        headers = read_part(part.but(start=place, end=end)).headers
        if len(headers.positions):
            return place + int(headers.positions[0]), int(headers.fields[field][0])
        place, size = end, 8 * size
    return None


def _read(part: LogPart, start: int, size: int) -> bytes:
    try:
        return untrusted_file.read_range(part.path, start, size)
    except OSError as problem:
        why = f"the file cannot be read ({problem.strerror})"
        raise RecordingError(part.path, start, why) from problem
