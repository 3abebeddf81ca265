"""The headers of a log's batches as columns: millions of batches without an object for each.

A chain of batches can only be walked one by one, because each says where the next begins; everything else is done for
all of them at once. Where the chain breaks, the reader searches for the next batch: a place with a plausible header and
a correct checksum. The same search finds the first batch of a range of bytes in the middle of a large segment, so that
several tasks can share a segment. There a record that contains a whole batch with its header (a copy of a segment, say)
would be taken for a batch, unless its offset is impossible; so only a segment larger than a range is cut into ranges.

Source: org.apache.kafka.common.record.DefaultRecordBatch.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from kipviz.recordings.files import compression
from kipviz.recordings.files.checksums import Numbers, checksums
from kipviz.recordings.files.segments import HEADER_SIZE, MAGIC

HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
NATIVE = HEADER.newbyteorder("=")
# What stands behind the magic byte, and the length, which does not count itself and what is before it.
CHECKED_FROM = 21
_LENGTH_AT = 8
_BEFORE_LENGTH_ENDS = 12
_LENGTH = struct.Struct(">i")
CONTROL = 0x20
_COMPRESSION, _TRANSACTIONAL, _KNOWN = 0x07, 0x10, 0x7F
_MAGIC_AT = 16
# The number of candidates for the next batch that are checked together.
_CANDIDATES = 64


class Damage(NamedTuple):
    """Bytes of a log that are not a whole batch: where they start and end, and what is wrong."""

    start: int
    end: int
    why: str


class Headers(NamedTuple):
    """The batches that begin in a range of bytes: their places, their fields (dtype NATIVE), and the damages.

    `ran_out` says that the bytes ended before the next batch was found.
    """

    positions: Numbers
    fields: Numbers
    damages: tuple[Damage, ...]
    ran_out: bool


def headers_in(
    data: bytes,
    *,
    begins: int = 0,
    ends: int | None = None,
    least_offset: int = 0,
    check_crc: bool = True,
    torn_tail: bool = False,
) -> Headers:
    """Return the headers of the batches that begin between two places in some data.

    Args:
        data: the bytes from `begins` on, and after `ends` as many as the last batch needs.
        begins: the place of the first batch; a negative number means that it is unknown, and the first batch from byte
            0 on is searched for.
        ends: batches that begin here or later are left out; the end of the data if it is None.
        least_offset: no batch of this log has a smaller offset.
        check_crc: compare every batch's checksum.
        torn_tail: a batch that is cut off at the end, or zeros there, are not damage.
    """
    ends = len(data) if ends is None else ends
    view = np.frombuffer(data, np.uint8)
    damages: list[Damage] = []
    stretches: list[Numbers] = []
    at = begins
    if begins < 0:
        at = _next_batch(data, view, 0, least_offset)
    while True:
        while at < ends:
            places, at, why = _chain(data, view, at, ends, least_offset)
            if check_crc:
                places, wrong, resumed = _right(data, view, places, at, least_offset)
                damages += wrong
                if resumed >= 0:
                    at, why = resumed, ""
            stretches.append(places)
            if why:
                following = _next_batch(data, view, at + 1, least_offset)
                if not (torn_tail and following >= len(data) and _is_tail(view, at)):
                    damages.append(Damage(at, following, why))
                at = following
        # A reader from `ends` on starts at the first correct batch, so what is before it belongs here.
        good = _next_batch(data, view, at, least_offset)
        if good <= at:
            break
        ends = good
    positions = np.concatenate(stretches) if stretches else np.zeros(0, np.int64)
    fields = _fields(view, positions)
    return Headers(positions, fields, tuple(sorted(damages)), at >= len(data))


def first_batch_in(data: bytes, least_offset: int) -> tuple[int, Numbers] | None:
    """Return the place of the first whole batch with a correct checksum, and its fields; None if there is none.

    `data` may begin anywhere in a segment.
    """
    view = np.frombuffer(data, np.uint8)
    place = _next_batch(data, view, 0, least_offset)
    if place == len(data):
        return None
    fields: Numbers = _fields(view, np.array([place], np.int64))[0]
    return place, fields


def _right(
    data: bytes, view: Numbers, places: Numbers, end: int, least_offset: int
) -> tuple[Numbers, list[Damage], int]:
    """Compare the checksums of a chain of batches that ends before `end`.

    A batch with a wrong checksum may have a wrong length. So the next correct batch is searched for from its second
    byte on, whatever the chain says: then it does not matter where a range of bytes begins.

    Returns:
        The correct batches; the others; where to read on if that is not the end of the chain, else -1.
    """
    fields = _fields(view, places)
    sizes = fields["length"].astype(np.int64) + _BEFORE_LENGTH_ENDS
    if not len(places):
        return places, [], -1
    computed = checksums(view, places + CHECKED_FROM, places + sizes)
    wrong = np.flatnonzero(computed != fields["crc"])
    kept = np.ones(len(places), bool)
    damages: list[Damage] = []
    done = 0
    for k in wrong.tolist():
        if k < done:
            continue
        following = _next_batch(data, view, int(places[k]) + 1, least_offset)
        done = int(np.searchsorted(places, following))
        for j in range(k, done):
            stored, found = int(fields["crc"][j]), int(computed[j])
            ends = int(places[j] + sizes[j]) if j + 1 < done else min(following, end)
            why = f"its checksum is {stored:08x}, its bytes give {found:08x}"
            damages.append(Damage(int(places[j]), ends, why))
        kept[k:done] = False
        if done < len(places) and places[done] != following:
            return places[:done][kept[:done]], damages, following
        if done == len(places) and following < end:
            return places[kept], damages, following
    return places[kept], damages, -1


def _chain(
    data: bytes, view: Numbers, at: int, ends: int, least_offset: int
) -> tuple[Numbers, int, str]:
    """Walk from batch to batch; return their places, where it stopped, and why if that is before the end."""
    found: list[int] = []
    keep = found.append
    length_at, whole, why = _LENGTH.unpack_from, len(data), ""
    stop = min(ends, whole - HEADER_SIZE + 1)
    # This loop is the time of every reader: what is wrong is asked only once it has ended.
    while at < stop:
        following = at + length_at(data, at + _LENGTH_AT)[0] + _BEFORE_LENGTH_ENDS
        if following < at + HEADER_SIZE or following > whole:
            break
        keep(at)
        at = following
    if at < ends:
        why = _why_it_ends(data, at)
    places = np.array(found, np.int64)
    strange = np.flatnonzero(~_plausible(_fields(view, places), least_offset))
    if len(strange):
        first = int(strange[0])
        return (
            places[:first],
            int(places[first]),
            _strangeness(_fields(view, places[first:][:1])[0]),
        )
    return places, at, why


def _why_it_ends(data: bytes, at: int) -> str:
    left = len(data) - at
    if left < HEADER_SIZE:
        return f"the batch is cut off: the file has {left} more bytes"
    size = _LENGTH.unpack_from(data, at + _LENGTH_AT)[0] + _BEFORE_LENGTH_ENDS
    if size < HEADER_SIZE:
        return "no record batch begins here"
    return f"the batch is cut off: it needs {size} bytes, the file has {left} more"


def _fields(view: Numbers, positions: Numbers) -> Numbers:
    if not len(positions):
        return np.zeros(0, NATIVE)
    windows = np.lib.stride_tricks.sliding_window_view(view, HEADER_SIZE)
    return windows[positions].view(HEADER)[:, 0].astype(NATIVE)


def _plausible(fields: Numbers, least_offset: int) -> Numbers:
    bits, span = fields["attributes"], fields["last_delta"].astype(np.int64) + 1
    found: Numbers = (
        (fields["magic"] == MAGIC)
        & (fields["base_offset"] >= least_offset)
        & (fields["length"] >= HEADER_SIZE - _BEFORE_LENGTH_ENDS)
        & (bits & ~_KNOWN == 0)
        & (bits & _COMPRESSION < len(compression.NAMES))
        & (span >= 1)
        & (fields["count"] >= 0)
        & (fields["count"] <= span)
        & ~((bits & CONTROL != 0) & (fields["count"] > 1) & (fields["producer_id"] >= 0))
        & ~((bits & _TRANSACTIONAL != 0) & (fields["producer_id"] < 0))
    )
    return found


def _strangeness(fields: Numbers) -> str:
    magic = int(fields["magic"])
    if magic in {0, 1}:
        return f"no batch of format {MAGIC} begins here (format {magic} is Kafka before 0.11, or these are zeros)"
    return (
        "no record batch begins here" if magic != MAGIC else "the batch's header contradicts itself"
    )


def _is_tail(view: Numbers, at: int) -> bool:
    """Return whether the rest is what a running broker leaves: the beginning of a batch, or zeros only."""
    left = view[at:]
    if len(left) <= _MAGIC_AT or not left.any():
        return True
    return bool(left[_MAGIC_AT] == MAGIC)


def _next_batch(data: bytes, view: Numbers, at: int, least_offset: int) -> int:
    """Return the place of the next whole batch with a correct checksum, or the end of the data."""
    last = len(data) - HEADER_SIZE
    piece = 1 << 12  # it is usually near
    while at <= last:
        until = min(at + piece, last + 1)
        piece = min(4 * piece, 1 << 20)
        places = (
            np.flatnonzero(view[at + _MAGIC_AT : until + _MAGIC_AT] == MAGIC).astype(np.int64) + at
        )
        fields = _fields(view, places)
        sizes = fields["length"].astype(np.int64) + _BEFORE_LENGTH_ENDS
        likely = _plausible(fields, least_offset) & (places + sizes <= len(data))
        places, sizes, stored = places[likely], sizes[likely], fields["crc"][likely]
        for k in range(0, len(places), _CANDIDATES):
            some = slice(k, k + _CANDIDATES)
            right = checksums(view, places[some] + CHECKED_FROM, places[some] + sizes[some])
            hits = np.flatnonzero(right == stored[some])
            if len(hits):
                return int(places[some][hits[0]])
        at = until
    return len(data)
