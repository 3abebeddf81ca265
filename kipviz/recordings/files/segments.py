"""Log segments of a real broker: files of v2 record batches, read into plain values.

Theory of operation. A segment is a sequence of batches. A batch has a header of 61 bytes and then its records, which
may be compressed together. The checksum covers everything after itself: neither the base offset nor the leader epoch
nor the length, because a broker sets those after the producer has computed the checksum. So those are compared with
their neighbours: offsets must be consecutive (without a gap, unless the topic is compacted), leader epochs must not
decrease, and the length must lead to the next batch. Only a leader epoch that is too high at the end of a file stays
undetected; the recordings of the tests have a SHA-256 of every file for that reason.

This reader is our own although kafka-python has one (`kafka.record`), for three reasons: kipviz opens a reader's own
logs without any extra package, errors have to name the byte, and a batch's place in the file is shown on screen. The
tests read every recording with both and compare.

Source: org.apache.kafka.common.record.DefaultRecordBatch, DefaultRecord, AbortedTxn.
"""

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kipviz.core.outside import untrusted_file
from kipviz.core.values import Value
from kipviz.recordings.files import compression
from kipviz.recordings.recording_error import WHOLE, RecordingError
from kipviz.records.crc32c import crc32c
from kipviz.records.fields import Fields, FieldsError

MAGIC = 2
HEADER_SIZE = 61
COMPACTED_TOPICS = ("__consumer_offsets", "__transaction_state")

_FRAME = struct.Struct(">qiib")  # base offset, length after it, leader epoch, magic
_CRC = struct.Struct(">I")
_HEADER = struct.Struct(">hiqqqhii")  # after the checksum
_LENGTH_STARTS_AT = 12
_SMALLEST_OLD_BATCH = 14
_CRC_AT = 17
_CHECKED_FROM = 21
_ABORTED = struct.Struct(">hqqqq")
_NAME = re.compile(r"\d{20}")

_COMPRESSION_BITS = 0x07
_APPEND_TIME_BIT = 0x08
_TRANSACTIONAL_BIT = 0x10
_CONTROL_BIT = 0x20
_DELETE_HORIZON_BIT = 0x40
_KNOWN_BITS = 0x7F


class LoggedRecord(Value, frozen=True):
    """One record of a log; `position` is its first byte in the file.

    The records of a compressed batch have no place of their own: all have their batch's position.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    position: int


class LoggedBatch(Value, frozen=True):
    """One batch of a log: every header field, and its records.

    `producer_id`, `producer_epoch` and `base_sequence` are -1 without a producer id. A control batch holds one marker,
    which `internal_topics.marker` reads.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    transactional: bool
    control: bool
    compression: str
    append_time: bool
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: tuple[LoggedRecord, ...]


class Segment(Value, frozen=True):
    """The batches of one segment file."""

    file: str
    batches: tuple[LoggedBatch, ...]


class AbortedTransaction(Value, frozen=True):
    """One entry of the index of aborted transactions that lies beside a segment."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def read_segment(
    path: Path,
    *,
    compacted: bool = False,
    torn_tail: bool = False,
    check_crc: bool = True,
    damages: list[RecordingError] | None = None,
) -> Segment:
    """Read a segment file.

    Args:
        path: a file named after its first offset, as brokers name them, or anything else.
        compacted: the topic is compacted, so offsets may be missing.
        torn_tail: the file was copied from a running broker: a batch that is cut off at the end, or zeros there, end
            the reading and are no error.
        check_crc: compare every batch's checksum; a large file is read faster without it.
        damages: if given, a damaged batch is skipped and noted there.

    Raises:
        RecordingError: if the file is not a Kafka log or is damaged; the error names file and byte.
    """
    data = _content(path)
    first = int(path.stem) if _NAME.fullmatch(path.stem) else None
    found = batches(
        data,
        str(path),
        first_offset=first,
        compacted=compacted,
        torn_tail=torn_tail,
        check_crc=check_crc,
        damages=damages,
    )
    return Segment(str(path), tuple(found))


def read_partition(
    folder: Path,
    *,
    compacted: bool | None = None,
    torn_tail: bool = False,
    check_crc: bool = True,
    damages: list[RecordingError] | None = None,
) -> tuple[Segment, ...]:
    """Read all segments of one partition's folder, in the order of their offsets.

    Kafka's internal topics are known to be compacted or not; other topics count as not compacted by default. If
    `damages` is given, damaged batches are skipped and noted there.

    Raises:
        RecordingError: if there is no segment, a segment is damaged, or two overlap.
    """
    if compacted is None:
        compacted = folder.name.rpartition("-")[0] in COMPACTED_TOPICS
    files = sorted(f for f in _list_folder(folder) if f.suffix == ".log")
    if not files:
        raise RecordingError(str(folder), WHOLE, "the folder holds no segment (a file named *.log)")
    segments: list[Segment] = []
    for file in files:
        segment = read_segment(
            file,
            compacted=compacted,
            torn_tail=torn_tail and file == files[-1],
            check_crc=check_crc,
            damages=damages,
        )
        if segments and segments[-1].batches and segment.batches:
            with _noting(damages):
                _follows(
                    segment.batches[0], segments[-1].batches[-1], str(file), compacted=compacted
                )
        segments.append(segment)
    return tuple(segments)


def _content(path: Path) -> bytes:
    try:
        return untrusted_file.read(path)
    except OSError as problem:
        raise RecordingError(
            str(path), 0, f"the file cannot be read ({problem.strerror})"
        ) from problem


def _list_folder(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(folder.iterdir())
    except OSError as problem:
        raise RecordingError(
            str(folder), 0, f"the folder cannot be read ({problem.strerror})"
        ) from problem


def batches(
    data: bytes,
    file: str,
    *,
    first_offset: int | None = None,
    compacted: bool = False,
    torn_tail: bool = False,
    check_crc: bool = True,
    damages: list[RecordingError] | None = None,
) -> Iterator[LoggedBatch]:
    """Read the batches of a segment's bytes, one after the other.

    If `damages` is given, a batch that does not fit is noted there and skipped, and so is the rest of the bytes if the
    next batch cannot be found.

    Raises:
        RecordingError: at the first byte that does not fit; earlier batches were yielded.
    """
    at = 0
    previous: LoggedBatch | None = None
    while at < len(data):
        found: list[int] = []
        with _noting(damages, " The rest of the file is not read."):
            size = _size(data, at, file)
            if size is not None and at + size <= len(data):
                found.append(size)
            elif not torn_tail:
                raise RecordingError(file, at, _render_cut_off(data, at, size))
        if not found:
            return
        read: list[LoggedBatch] = []
        with _noting(damages):
            batch = _batch(data, at, found[0], file, check_crc=check_crc)
            if previous is not None:
                _follows(batch, previous, file, compacted=compacted)
            elif first_offset is not None:
                _begins(batch, first_offset, file, compacted=compacted)
            read.append(batch)
        yield from read
        if read:
            previous = read[0]
        else:
            # Offsets are missing from here on.
            compacted = True
        at += found[0]


@contextmanager
def _noting(damages: list[RecordingError] | None, more: str = "") -> Iterator[None]:
    """Note damage instead of raising it, if there is a list for it."""
    try:
        yield
    except RecordingError as problem:
        if damages is None:
            raise
        damages.append(RecordingError(problem.file, problem.at, f"{problem.why}{more}"))


def _size(data: bytes, at: int, file: str) -> int | None:
    """Return the size of the batch at this place, None if not even that can be read."""
    if at + _FRAME.size > len(data) or not any(data[at : at + HEADER_SIZE]):
        return None
    base, length, _, magic = _FRAME.unpack_from(data, at)
    if magic in {0, 1} and base >= 0 and length >= _SMALLEST_OLD_BATCH:
        raise RecordingError(
            file,
            at,
            f"the batch has the old format {magic}; only format 2 (Kafka 0.11 or later) is read",
        )
    if magic != MAGIC or base < 0 or length < HEADER_SIZE - _LENGTH_STARTS_AT:
        raise RecordingError(file, at, "this is not a Kafka log: no record batch begins here")
    return int(length) + _LENGTH_STARTS_AT


def _render_cut_off(data: bytes, at: int, size: int | None) -> str:
    left = len(data) - at
    if size is None and left >= _FRAME.size:
        return "the batches end here, only zeros follow; a segment of a running broker looks so"
    wanted = f"{size} bytes" if size is not None else f"at least {HEADER_SIZE} bytes"
    return f"the last batch is cut off: it needs {wanted}, the file has {left} more"


def _batch(data: bytes, at: int, size: int, file: str, *, check_crc: bool) -> LoggedBatch:
    base, _, leader_epoch, _ = _FRAME.unpack_from(data, at)
    if check_crc:
        (stored,) = _CRC.unpack_from(data, at + _CRC_AT)
        computed = crc32c(memoryview(data)[at + _CHECKED_FROM : at + size])
        if stored != computed:
            raise RecordingError(
                file,
                at,
                f"the batch is damaged: its checksum is {stored:08x}, its bytes give {computed:08x}",
            )
    bits, delta, base_time, max_time, pid, epoch, sequence, count = _HEADER.unpack_from(
        data, at + _CHECKED_FROM
    )
    kind = bits & _COMPRESSION_BITS
    if kind >= len(compression.NAMES):
        raise RecordingError(file, at, f"the batch has the unknown compression {kind}")
    if bits & ~_KNOWN_BITS:
        raise RecordingError(file, at, f"the batch has the unknown attributes {bits & 0xFFFF:#06x}")
    batch = LoggedBatch(
        position=at,
        size=size,
        base_offset=base,
        last_offset=base + delta,
        leader_epoch=leader_epoch,
        transactional=bool(bits & _TRANSACTIONAL_BIT),
        control=bool(bits & _CONTROL_BIT),
        compression=compression.NAMES[kind],
        append_time=bool(bits & _APPEND_TIME_BIT),
        # After compaction the field holds the delete horizon of tombstones; the first timestamp is then unknown.
        base_timestamp=-1 if bits & _DELETE_HORIZON_BIT else base_time,
        max_timestamp=max_time,
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        records=(),
    )
    _sane(batch, count, file)
    return batch.but(records=_records(data, batch, base_time, count, file))


def _sane(batch: LoggedBatch, count: int, file: str) -> None:
    span = batch.last_offset - batch.base_offset + 1
    if not 0 <= count <= span:
        why = f"the batch has a count of {count} records in {span} offsets"
    elif batch.control and count > 1:
        why = f"a control batch holds one marker, this one has a count of {count}"
    elif batch.transactional and batch.producer_id < 0:
        why = "the batch is transactional but has no producer id"
    else:
        return
    raise RecordingError(file, batch.position, why)


def _records(
    data: bytes, batch: LoggedBatch, base_time: int, count: int, file: str
) -> tuple[LoggedRecord, ...]:
    start = batch.position + HEADER_SIZE
    section = data[start : batch.position + batch.size]
    plain = batch.compression == "none"
    if not plain:
        try:
            section = compression.decompress(batch.compression, section)
        except ValueError as problem:
            raise RecordingError(file, start, f"in this batch {problem}") from problem
    fields = Fields(section)
    found: list[LoggedRecord] = []
    last = batch.base_offset - 1
    try:
        for _ in range(count):
            position = start + fields.at if plain else batch.position
            record = _record(fields, batch, base_time, position)
            if not last < record.offset <= batch.last_offset:
                raise FieldsError(
                    fields.at, f"the record's offset {record.offset} is out of its place"
                )
            last = record.offset
            found.append(record)
        fields.end("the last record")
    except FieldsError as problem:
        at = start + problem.at if plain else batch.position
        raise RecordingError(file, at, f"the records are damaged: {problem.why}") from problem
    return tuple(found)


def _record(fields: Fields, batch: LoggedBatch, base_time: int, position: int) -> LoggedRecord:
    size = fields.varint("a record's length")
    end = fields.at + size
    fields.take(1, "a record's attributes")
    time_delta = fields.varint("a record's timestamp", bits=64)
    offset_delta = fields.varint("a record's offset")
    key = _nullable_bytes(fields, "a record's key")
    value = _nullable_bytes(fields, "a record's value")
    number = fields.varint("the number of headers")
    if not 0 <= number <= len(fields.data) - fields.at:
        raise FieldsError(fields.at, f"a record cannot have {number} headers")
    headers = tuple(_header(fields) for _ in range(number))
    if fields.at != end:
        raise FieldsError(fields.at, f"a record says that it ends at byte {end} of the records")
    return LoggedRecord(
        offset=batch.base_offset + offset_delta,
        timestamp=batch.max_timestamp if batch.append_time else base_time + time_delta,
        key=key,
        value=value,
        headers=headers,
        position=position,
    )


def _header(fields: Fields) -> tuple[str, bytes | None]:
    start = fields.at
    key = fields.take(fields.varint("a header's key"), "a header's key")
    try:
        return key.decode(), _nullable_bytes(fields, "a header's value")
    except UnicodeDecodeError as problem:
        raise FieldsError(start, "a header's key is not UTF-8 text") from problem


def _nullable_bytes(fields: Fields, what: str) -> bytes | None:
    size = fields.varint(what)
    return None if size == -1 else fields.take(size, what)


def _begins(batch: LoggedBatch, first: int, file: str, *, compacted: bool) -> None:
    if batch.base_offset < first or (batch.base_offset > first and not compacted):
        raise RecordingError(
            file,
            batch.position,
            f"the first batch begins at offset {batch.base_offset}, the file is named after {first}",
        )


def _follows(batch: LoggedBatch, previous: LoggedBatch, file: str, *, compacted: bool) -> None:
    expected = previous.last_offset + 1
    if batch.base_offset < expected or (batch.base_offset > expected and not compacted):
        hint = (
            "" if batch.base_offset < expected else ", and the topic is not read as a compacted one"
        )
        why = f"the batch begins at offset {batch.base_offset}, the one before ends at {previous.last_offset}{hint}"
    elif batch.leader_epoch < previous.leader_epoch:
        why = (
            f"the batch has the leader epoch {batch.leader_epoch}, "
            f"the one before has {previous.leader_epoch}"
        )
    else:
        return
    raise RecordingError(file, batch.position, why)


def read_aborted(path: Path) -> tuple[AbortedTransaction, ...]:
    """Read an index of aborted transactions (`*.txnindex`).

    Raises:
        RecordingError: if the file cannot be read, is cut off or has an unknown version.
    """
    data = _content(path)
    found = []
    for at in range(0, len(data), _ABORTED.size):
        if at + _ABORTED.size > len(data):
            raise RecordingError(str(path), at, "the last entry is cut off")
        version, pid, first, last, stable = _ABORTED.unpack_from(data, at)
        if version != 0:
            raise RecordingError(str(path), at, f"the entry has the unknown version {version}")
        if not 0 <= first <= last:
            raise RecordingError(str(path), at, f"the entry runs from offset {first} to {last}")
        found.append(AbortedTransaction(pid, first, last, stable))
    return tuple(found)
