"""Kafka's logs as rows: batches, records, and decoded records of internal topics, each with its place.

These columns are stable: a test checks their names and types. Every row has its place (`PLACE`) and `damage`, which is
empty except for bytes that are not a whole batch, or a batch or record that cannot be read: such a row has its place,
the reason, and null in every other column. Offsets, times and ids are Kafka's; times are ms since 1970.

batches one row for each batch: its header, and for a control batch its `marker` (COMMIT, ABORT, or the quorum's kind)
records one row for each record: offset, time, key, value, headers; control records too, with `control` said one row for
each record of an internal topic, markers included: `kind`, the `name` it is about, and `said` in JSON
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view

from kipviz.recordings.decoded.cluster_metadata import CLUSTER_METADATA, quorum_kind
from kipviz.recordings.decoded.internal_topics import DECODERS, Logged, decode, markers
from kipviz.recordings.files import compression
from kipviz.recordings.files.batch_headers import CONTROL, Damage
from kipviz.recordings.files.checksums import Numbers
from kipviz.recordings.files.log_parts import LogPart, PartContent, read_part
from kipviz.recordings.files.segments import HEADER_SIZE, LoggedBatch, Segment, batches
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.batches import ABORT, COMMIT

PLACE = (
    ("broker", pa.int32()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("leader_epoch", pa.int32()),
    ("segment", pa.string()),
    ("position", pa.int64()),
    ("size", pa.int32()),
    ("compacted", pa.bool_()),
    ("tiered", pa.bool_()),
    ("damage", pa.string()),
)
_OF_BATCHES = (
    ("base_offset", pa.int64()),
    ("last_offset", pa.int64()),
    ("records", pa.int32()),
    ("transactional", pa.bool_()),
    ("control", pa.bool_()),
    ("marker", pa.string()),
    ("coordinator_epoch", pa.int32()),
    ("producer_id", pa.int64()),
    ("producer_epoch", pa.int16()),
    ("base_sequence", pa.int32()),
    ("compression", pa.string()),
    ("append_time", pa.bool_()),
    ("base_timestamp", pa.int64()),
    ("max_timestamp", pa.int64()),
)
_OF_RECORDS = (
    ("offset", pa.int64()),
    ("timestamp", pa.int64()),
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ("transactional", pa.bool_()),
    ("control", pa.bool_()),
    ("producer_id", pa.int64()),
    ("producer_epoch", pa.int16()),
)
_OF_SAID = (
    ("offset", pa.int64()),
    ("timestamp", pa.int64()),
    ("kind", pa.string()),
    ("name", pa.string()),
    ("tombstone", pa.bool_()),
    ("producer_id", pa.int64()),
    ("producer_epoch", pa.int16()),
    ("said", pa.string()),
)
SCHEMAS = {
    "batches": pa.schema([*PLACE, *_OF_BATCHES]),
    "records": pa.schema([*PLACE, *_OF_RECORDS]),
    "said": pa.schema([*PLACE, *_OF_SAID]),
}
ROWS_AT_ONCE = 20_000
_APPEND_TIME, _TRANSACTIONAL, _HORIZON = 0x08, 0x10, 0x40

Row: TypeAlias = dict[str, Any]


def rows_of(part: LogPart, rows: str, *, check_crc: bool = True) -> Iterator[pa.RecordBatch]:
    """Read a part of a log as rows of one of `SCHEMAS`, about 20,000 at a time; damage is a row.

    Raises:
        RecordingError: if the file cannot be read.
        KeyError: if there is no such kind of row.
    """
    if rows == "batches":
        yield from _batch_rows(read_part(part, check_crc=check_crc))
        return
    schema = SCHEMAS[rows]
    if rows == "said" and part.topic not in (*DECODERS, CLUSTER_METADATA):
        return
    make = _record_rows if rows == "records" else _said_rows
    found: list[Row] = []
    for row in _rows(read_part(part, check_crc=check_crc), make):
        found.append(row)
        if len(found) == ROWS_AT_ONCE:
            yield pa.RecordBatch.from_pylist(found, schema)
            found = []
    if found:
        yield pa.RecordBatch.from_pylist(found, schema)


# -- batches -----------------------------------------------------------------------------------


def _batch_rows(content: PartContent) -> Iterator[pa.RecordBatch]:
    positions, fields, damages, _ = content.headers
    for at in range(0, len(positions), ROWS_AT_ONCE):
        some = slice(at, at + ROWS_AT_ONCE)
        yield _of_headers(content, positions[some], fields[some])
    if damages:
        rows = [_make_damage_row(content.part, each) for each in damages]
        yield pa.RecordBatch.from_pylist(rows, SCHEMAS["batches"])


def _of_headers(content: PartContent, positions: Numbers, fields: Numbers) -> pa.RecordBatch:
    part, count, bits = content.part, len(positions), fields["attributes"]
    control = bits & CONTROL != 0
    marker, epochs = markers_of(content, positions, fields)
    one_of = {"broker": part.broker, "topic": part.topic, "partition": part.index}
    one_of |= {"segment": part.segment, "compacted": part.compacted, "tiered": part.tiered}
    columns: dict[str, Any] = {
        "leader_epoch": fields["leader_epoch"],
        "position": positions + part.start,
        "size": fields["length"] + 12,
        "base_offset": fields["base_offset"],
        "last_offset": fields["base_offset"] + fields["last_delta"],
        "records": fields["count"],
        "transactional": bits & _TRANSACTIONAL != 0,
        "control": control,
        "marker": marker,
        "coordinator_epoch": epochs,
        "producer_id": fields["producer_id"],
        "producer_epoch": fields["producer_epoch"],
        "base_sequence": fields["base_sequence"],
        "compression": pa.array(compression.NAMES).take(pa.array(bits & 7)),
        "append_time": bits & _APPEND_TIME != 0,
        # After compaction the field holds the delete horizon of tombstones; the first timestamp is then unknown.
        "base_timestamp": np.where(bits & _HORIZON != 0, -1, fields["base_timestamp"]),
        "max_timestamp": fields["max_timestamp"],
    }
    arrays = []
    for field in SCHEMAS["batches"]:
        if field.name in one_of:
            arrays.append(pa.repeat(pa.scalar(one_of[field.name], field.type), count))
        elif field.name == "damage":
            arrays.append(pa.repeat(pa.scalar("", field.type), count))
        else:
            arrays.append(pa.array(columns[field.name], field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS["batches"])


def markers_of(
    content: PartContent, positions: Numbers, fields: Numbers
) -> tuple[pa.Array, pa.Array]:
    """Return the marker of each batch ("" for data) and the marker's coordinator epoch (-1 without one)."""
    if content.part.topic != CLUSTER_METADATA:
        kinds, epochs = end_markers(content, positions, fields)
        return pa.array(_MARKERS).take(pa.array(kinds)), pa.array(epochs)
    names = [""] * len(positions)
    for k in np.flatnonzero(fields["attributes"] & CONTROL):
        found = whole_batch(content, int(positions[k]), int(fields["length"][k]) + 12)
        if not isinstance(found, Damage) and found.records:
            names[k] = quorum_kind(found.records[0])
    return pa.array(names, pa.string()), pa.array([-1] * len(positions), pa.int32())


# The results of `end_markers`, in words.
DATA_BATCH, ABORTS, COMMITS, UNKNOWN_CONTROL = range(4)
_MARKERS = ("", ABORT, COMMIT, "UNKNOWN")
# A marker's record, as every broker writes it: after its length its attributes, time and offset (all 0), the length of
# the key (4, a varint), the key's version and kind, the value's size, its version, the coordinator epoch.
_KEY_AT, _KIND_AT, _EPOCH_AT = HEADER_SIZE + 1, HEADER_SIZE + 8, HEADER_SIZE + 12
_AS_WRITTEN = bytes((0, 0, 0, 8, 0, 0, 0))
_MARKER_SIZE = _EPOCH_AT + 4


def end_markers(
    content: PartContent, positions: Numbers, fields: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the kind of each batch (DATA_BATCH, ABORTS, COMMITS, UNKNOWN_CONTROL) and its coordinator epoch."""
    kinds = np.zeros(len(positions), np.int8)
    epochs = np.full(len(positions), -1, np.int32)
    control = np.flatnonzero(fields["attributes"] & CONTROL)
    plain = control[fields["length"][control] + 12 > _MARKER_SIZE]
    if len(plain):
        view = np.frombuffer(content.data, np.uint8)
        rows = sliding_window_view(view, _MARKER_SIZE)[positions[plain]]
        usual = (rows[:, _KEY_AT:_KIND_AT] == np.frombuffer(_AS_WRITTEN, np.uint8)).all(axis=1)
        usual &= rows[:, _KIND_AT] <= 1
        kinds[plain] = np.where(usual, rows[:, _KIND_AT] + ABORTS, DATA_BATCH)
        words = np.ascontiguousarray(rows[:, _EPOCH_AT:]).view(">i4")[:, 0]
        epochs[plain] = np.where(usual, words, -1)
    for k in control[kinds[control] == DATA_BATCH]:
        kinds[k], epochs[k] = _unusual_marker(content, int(positions[k]), int(fields["length"][k]))
    return kinds, epochs


def _unusual_marker(content: PartContent, position: int, length: int) -> tuple[int, int]:
    found = whole_batch(content, position, length + 12)
    if isinstance(found, Damage):
        return UNKNOWN_CONTROL, -1
    try:
        said = markers(Segment("", (found,)))
    except RecordingError:
        said = ()
    if not said:
        return UNKNOWN_CONTROL, -1
    return COMMITS if said[0].committed else ABORTS, said[0].coordinator_epoch


def whole_batch(content: PartContent, position: int, size: int) -> LoggedBatch | Damage:
    """Return a batch with its records, or a damage if its records cannot be read."""
    data = content.data[position : position + size]
    try:
        (found,) = batches(data, "", compacted=True, check_crc=False)
    except RecordingError as problem:
        return Damage(position, position + size, problem.why)
    return found


def _make_damage_row(part: LogPart, damage: Damage) -> Row:
    return {
        **_place(part, damage.start + part.start, damage.end - damage.start, None),
        "damage": damage.why,
    }


def _place(part: LogPart, position: int, size: int, leader_epoch: int | None) -> Row:
    return {
        "broker": part.broker,
        "topic": part.topic,
        "partition": part.index,
        "leader_epoch": leader_epoch,
        "segment": part.segment,
        "position": position,
        "size": size,
        "compacted": part.compacted,
        "tiered": part.tiered,
        "damage": "",
    }


# -- records, and their decoded contents ------------------------------------------------------------

Maker: TypeAlias = Callable[[LogPart, LoggedBatch, Row], Iterator[Row]]


def logged_batches(content: PartContent) -> Iterator[tuple[int, LoggedBatch | Damage]]:
    """Yield the batches of a part with their records and places; a batch that cannot be read is a damage."""
    found: list[tuple[int, int]] = [
        (int(at), int(size) + 12)
        for at, size in zip(
            content.headers.positions, content.headers.fields["length"], strict=True
        )
    ]
    for at, size in found:
        yield at, whole_batch(content, at, size)
    yield from ((each.start, each) for each in content.headers.damages)


def _rows(content: PartContent, make: Maker) -> Iterator[Row]:
    part = content.part
    for at, batch in logged_batches(content):
        if isinstance(batch, Damage):
            yield _make_damage_row(part, batch)
            continue
        place = _place(part, at + part.start, batch.size, batch.leader_epoch)
        try:
            yield from tuple(make(part, batch, place))
        except RecordingError as problem:
            yield {**place, "damage": problem.why}


def _record_rows(part: LogPart, batch: LoggedBatch, place: Row) -> Iterator[Row]:
    of_batch = place | {
        "transactional": batch.transactional,
        "control": batch.control,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
    }
    for record in batch.records:
        yield of_batch | {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": record.key,
            "value": record.value,
            "headers": [{"key": key, "value": value} for key, value in record.headers],
        }


def _said_rows(part: LogPart, batch: LoggedBatch, place: Row) -> Iterator[Row]:
    said = decode(Segment(part.path, (batch,)), part.topic)
    for record, each in zip(batch.records, said, strict=True):
        yield place | {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "kind": getattr(each, "kind", type(each).__name__.removeprefix("Logged")),
            "name": _name(each),
            "tombstone": record.value is None,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "said": msgspec.json.encode(each).decode(),
        }


# The first of these fields that a record has is its name.
_NAMES = ("transactional_id", "group", "topic", "feature", "name", "topic_id", "key")


def _name(said: Logged) -> str:
    return next((str(getattr(said, each)) for each in _NAMES if hasattr(said, each)), "")
