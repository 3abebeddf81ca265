"""A window of a large log: the batches around one place, in all partitions, and what was open when it begins.

Only headers are read to find them, in other partitions of the window's time, and of large segments only what is near (`NEAR_BYTES`).
What stands there before the window and still counts is put in front of it: the first batch of each transaction that is open then, and
the last batches of internal topics. What else was written before is not there, so an old transaction, transactional id, offset or
share-partition may be missing from the cards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kipviz.core.outside import untrusted_file
from kipviz.recordings.decoded.cluster_metadata import CLUSTER_METADATA, ClusterMetadata
from kipviz.recordings.files.batch_headers import CHECKED_FROM, CONTROL, HEADER
from kipviz.recordings.files.checksums import Numbers, checksums
from kipviz.recordings.files.cluster_folders import ClusterFolders, require_topics
from kipviz.recordings.files.log_parts import LogPart, narrow_parts, parts_of, read_part
from kipviz.recordings.files.segments import HEADER_SIZE, LoggedBatch, Segment, batches
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.placement import INTERNAL_TOPICS, topic_of

# How many batches of an internal topic before the window are read.
SAID_BEFORE = 200
# So many bytes on either side of the window are read for what was open: of its own partition, and of all others together.
NEAR_BYTES = 16 << 20
_OTHERS_BYTES = 64 << 20
# So much is read of the end of a log, to find its last batch.
_TAIL_BYTES = 1 << 20
_BEYOND = (1 << 63) - 2
_TRANSACTIONAL = 0x10


class Window(NamedTuple):
    """Batches by partition, in order; `begins_ms` is the time from which on they are steps.

    `damages` are the bytes near the window that are no whole batch.
    """

    partitions: tuple[tuple[str, tuple[Segment, ...]], ...]
    begins_ms: int
    damages: tuple[RecordingError, ...] = ()


class _Headers(NamedTuple):
    """Batches of several parts: their parts' numbers, places in the files, fields, and what is no batch."""

    parts: tuple[LogPart, ...]
    part: Numbers
    position: Numbers
    fields: Numbers
    damages: tuple[RecordingError, ...]


def window_at(
    folders: ClusterFolders, partition: str, offset: int, most: int, topics: Sequence[str] = ()
) -> Window:
    """Return at most `most` batches around an offset of a partition, with the earlier batches that they need.

    An offset that no batch has (it was removed, or is damaged) stands for the next batch. `topics` are the user topics
    to read besides Kafka's internal ones; default: all.

    Raises:
        RecordingError: if there is no such partition or topic, or its log ends before the offset.
    """
    by_name = _by_name(folders, topics)
    path = ", ".join(str(each.place) for each in folders.brokers)
    if partition not in by_name:
        names = ", ".join(sorted(by_name))
        raise RecordingError(path, 0, f"there is no log of {partition} here; there are {names}")
    near = _find_parts(by_name[partition], offset)
    own = _headers_of(narrow_parts(near, "base_offset", offset, offset, NEAR_BYTES))
    last = own.fields["base_offset"] + own.fields["last_delta"]
    if not len(last) or not own.fields["base_offset"][0] <= offset <= last[-1]:
        # Nothing is there, or an index file is wrong.
        own = _headers_of(near)
        last = own.fields["base_offset"] + own.fields["last_delta"]
    place = int(np.searchsorted(last, offset))
    if len(last) and offset == int(last[-1]) + 1:
        place -= 1  # after the last batch there may be damage, or more to come
    if place == len(last):
        ends = f"they end at {int(last[-1])}" if len(last) else "none is left"
        raise RecordingError(path, 0, f"{partition} has no batch with offset {offset}; {ends}")
    shares = most // 2 if len(by_name) > 1 else most
    first = max(0, min(place - shares // 2, len(last) - shares))
    window = np.arange(first, min(len(last), first + shares))
    times = own.fields["max_timestamp"][window]
    begins, ends_ms = int(times.min()), int(times.max())
    chosen = {partition: (own, _with_before(own, window))}
    others = sorted(name for name in by_name if name != partition)
    each = min(NEAR_BYTES, _OTHERS_BYTES // max(1, len(others)))
    for name in others:
        near = _at_times(by_name[name], begins, ends_ms)
        found = _headers_of(narrow_parts(near, "max_timestamp", begins, ends_ms, each))
        stamps = found.fields["max_timestamp"]
        within = np.flatnonzero((stamps >= begins) & (stamps <= ends_ms))
        if len(within) > max(1, most // 2 // len(others)):
            middle = int(own.fields["max_timestamp"][place])
            nearest = np.argsort(np.abs(stamps[within] - middle), kind="stable")
            within = np.sort(within[nearest[: max(1, most // 2 // len(others))]])
        begun = int(np.searchsorted(np.maximum.accumulate(stamps), begins)) if len(stamps) else 0
        chosen[name] = (found, _with_before(found, within, begun))
    damages = [each for name in sorted(chosen) for each in chosen[name][0].damages]
    logs = tuple((name, tuple(_segments(*chosen[name], damages))) for name in sorted(chosen))
    found_in = tuple((name, found) for name, found in logs if found)
    return Window(found_in, begins, tuple(damages))


def end_of(folders: ClusterFolders, topics: Sequence[str] = ()) -> tuple[str, int]:
    """Return the partition of the user topics (default: all) that was written last, and the offset of its last batch.

    Where no user topic has a batch, it is one of an internal topic.

    Raises:
        RecordingError: if there is no batch, a topic has no log here, or a file cannot be read.
    """
    by_name = _by_name(folders, topics)
    latest: tuple[bool, int, str, int] | None = None
    for name, parts in sorted(by_name.items()):
        newest = [part for part in parts if part.segment == parts[-1].segment]
        tail = _headers_of(
            narrow_parts(newest, "base_offset", _BEYOND, _BEYOND, _TAIL_BYTES)
        ).fields
        # Its end may be damaged, or a new segment may be empty.
        tail = tail if len(tail) else _headers_of(parts).fields
        if len(tail):
            written = parts[0].topic not in INTERNAL_TOPICS, int(tail["max_timestamp"][-1])
            here = (*written, name, int(tail["base_offset"][-1]))
            latest = here if latest is None else max(latest, here)
    if latest is None:
        path = ", ".join(str(each.place) for each in folders.brokers)
        raise RecordingError(path, 0, "no batch can be read in these logs")
    return latest[2:]


def _by_name(folders: ClusterFolders, topics: Sequence[str]) -> dict[str, list[LogPart]]:
    """Return the parts of the chosen copy of each partition, in the order of its log."""
    by_name: dict[str, list[LogPart]] = {}
    chosen = [each.resolve() for each in folders.partitions]
    path = ", ".join(str(each.place) for each in folders.brokers)
    require_topics(topics, (topic_of(each.name) for each in folders.partitions), path)
    wanted = (*topics, *INTERNAL_TOPICS) if topics else ()
    for part in parts_of(folders.brokers, folders.metadata or ClusterMetadata(), wanted):
        if part.topic != CLUSTER_METADATA and Path(part.path).parent in chosen:
            by_name.setdefault(part.partition, []).append(part)
    return by_name


def _find_parts(parts: list[LogPart], offset: int) -> list[LogPart]:
    """Return the parts of the segment that has an offset, and of the previous segment."""
    names = sorted({part.segment for part in parts})
    before = [name for name in names if int(name.removesuffix(".log") or 0) <= offset] or names[:1]
    wanted = before[-2:]
    return [part for part in parts if part.segment in wanted]


def _at_times(parts: list[LogPart], begins: int, ends: int) -> list[LogPart]:
    """Return the parts of the segments that may have batches of a time.

    They start before its end; the first of them is the last one that starts before its beginning.
    """
    names = sorted({part.segment for part in parts})
    firsts = {part.segment: _first_time(part) for part in parts if part.start == 0}
    from_here = [k for k, name in enumerate(names) if firsts.get(name, 0) <= begins]
    wanted = [n for n in names[from_here[-1] if from_here else 0 :] if firsts.get(n, 0) <= ends]
    return [part for part in parts if part.segment in wanted]


def _first_time(part: LogPart) -> int:
    data = untrusted_file.read_range(part.path, 0, HEADER_SIZE)
    return int(np.frombuffer(data, HEADER)["max_timestamp"][0]) if len(data) == HEADER_SIZE else 0


def _headers_of(parts: Iterable[LogPart]) -> _Headers:
    read = tuple(parts)
    found = [read_part(part, check_crc=False).headers for part in read]
    counts = [len(each.positions) for each in found]
    starts = np.repeat([part.start for part in read], counts) if read else np.zeros(0, np.int64)
    empty = np.zeros(0, np.int64)
    positions = np.concatenate([each.positions for each in found]) if found else empty
    fields = np.concatenate([each.fields for each in found]) if found else np.zeros(0, HEADER)
    damages = tuple(
        RecordingError(part.path, part.start + damage.start, f"{damage.why}")
        for part, each in zip(read, found, strict=True)
        for damage in each.damages
    )
    numbers = np.repeat(np.arange(len(read)), counts)
    return _Headers(read, numbers, positions + starts, fields, damages)


def _with_before(found: _Headers, window: Numbers, begins: int = -1) -> Numbers:
    """Return the batches to read, in order: first ones of open transactions or last internal ones, then the window's."""
    start = int(window[0]) if len(window) else begins
    start = start if start >= 0 else len(found.position)
    first = max(0, start - SAID_BEFORE)
    if found.parts and found.parts[0].topic in INTERNAL_TOPICS:
        return np.concatenate((np.arange(first, start), window)).astype(np.int64)
    bits, pids = found.fields["attributes"][:start], found.fields["producer_id"][:start]
    marks = np.flatnonzero(bits & CONTROL)
    data = np.flatnonzero((bits & (_TRANSACTIONAL | CONTROL)) == _TRANSACTIONAL)
    data = data[data > _last_of(pids[marks], marks, pids[data])]
    # Each producer's first batch after its last marker.
    opened: dict[int, int] = {}
    for pid, at in zip(pids[data].tolist(), data.tolist(), strict=True):
        opened.setdefault(pid, at)
    return np.concatenate((np.array(list(opened.values()), np.int64), window)).astype(np.int64)


def _last_of(keys: Numbers, places: Numbers, wanted: Numbers) -> Numbers:
    """Return the last place of each wanted key, -1 where it has none; the places rise."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(keys, kind="stable")
    by_key = keys[order]
    last = np.maximum(np.searchsorted(by_key, wanted, side="right") - 1, 0)
    found: Numbers = np.where(by_key[last] == wanted, places[order][last], -1)
    return found


def _segments(found: _Headers, chosen: Numbers, damages: list[RecordingError]) -> Iterator[Segment]:
    """Read some batches whole; one that is damaged is noted and left out."""
    places = [
        (
            found.parts[int(found.part[k])].path,
            int(found.position[k]),
            int(found.fields["length"][k]) + 12,
        )
        for k in chosen.tolist()
    ]
    read = [untrusted_file.read_range(*place) for place in places]
    # All checksums at once: one by one, in Python, they took longer than the reading.
    ends = np.cumsum([len(data) for data in read], dtype=np.int64)
    starts = ends - [len(data) for data in read] if read else ends
    bodies = np.minimum(starts + CHECKED_FROM, ends)
    computed = checksums(np.frombuffer(b"".join(read), np.uint8), bodies, ends)
    right = (computed == found.fields["crc"][chosen]).tolist()
    by_path: dict[str, list[LoggedBatch]] = {}
    for (path, at, _), data, is_right in zip(places, read, right, strict=True):
        if not is_right:
            damages.append(RecordingError(path, at, "the batch's checksum is wrong"))
            continue
        inside: list[RecordingError] = []
        whole = tuple(batches(data, path, compacted=True, check_crc=False, damages=inside))
        damages += [RecordingError(path, at + each.at, each.why) for each in inside]
        by_path.setdefault(path, []).extend(each.but(position=at) for each in whole)
    for path, batches_read in by_path.items():
        yield Segment(path, tuple(batches_read))
