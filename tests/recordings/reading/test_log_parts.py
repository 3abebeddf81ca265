"""Logs as columns and rows, in ranges of bytes: the same as the reader of whole segments reads, and damage in its place."""

import json
import struct
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kipviz.recordings.files import request_rows as request_rows_module
from kipviz.recordings.files.batch_headers import HEADER_SIZE, headers_in
from kipviz.recordings.files.checksums import checksums
from kipviz.recordings.files.log_parts import log_folders, read_part
from kipviz.recordings.files.log_rows import SCHEMAS, rows_of
from kipviz.recordings.files.request_log import exchanges_in, zone_of
from kipviz.recordings.files.request_rows import request_parts, request_rows
from kipviz.recordings.files.segments import read_segment
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.crc32c import crc32c
from tests.recordings.made_logs import batch, marker, write
from tests.recordings.whole_folder import unpack_folder

HERE = Path(__file__).parents[1]
RECORDED = sorted(HERE.glob("kafka-4.4.0/*/recording.json"))
SEGMENTS = sorted(HERE.glob("kafka-*/*/*/*.log"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return unpack_folder(tmp_path_factory.mktemp("whole"))


def table(folder, rows, part_bytes=1 << 20, **how):
    found = [
        b for p in log_folders([folder], (), part_bytes).parts for b in rows_of(p, rows, **how)
    ]
    return pa.Table.from_batches(found, SCHEMAS[rows]).to_pylist()


def test_checksums_of_many_stretches_are_those_of_each():
    data = np.frombuffer(bytes(k * 7 % 256 for k in range(9_000)), np.uint8)
    sizes = np.array([4, 5, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4096, 8000])
    starts = np.arange(len(sizes)) * 11
    each = [crc32c(data[a : a + n].tobytes()) for a, n in zip(starts, sizes, strict=True)]
    assert checksums(data, starts, starts + sizes).tolist() == each


def test_every_recorded_header_is_read_as_the_reader_of_segments_reads_it():
    for file in SEGMENTS:
        found = headers_in(file.read_bytes())
        batches = read_segment(file, compacted=True).batches
        assert not found.damages
        assert found.positions.tolist() == [b.position for b in batches]
        for ours, theirs in (
            ("base_offset", "base_offset"),
            ("leader_epoch", "leader_epoch"),
            ("producer_id", "producer_id"),
            ("producer_epoch", "producer_epoch"),
            ("base_sequence", "base_sequence"),
            ("max_timestamp", "max_timestamp"),
        ):
            assert found.fields[ours].tolist() == [getattr(b, theirs) for b in batches]


@pytest.mark.parametrize("part_bytes", [61, 333, 1_000])
def test_ranges_of_a_segment_have_every_batch_once_wherever_they_are_cut(whole, part_bytes):
    folder = whole[0] / "__transaction_state-0"
    everything = table(folder, "batches")
    assert everything
    assert table(folder, "batches", part_bytes) == everything


@pytest.mark.parametrize("at", range(0, 680, 43))
@pytest.mark.parametrize("check_crc", [True, False])
def test_a_changed_byte_costs_at_most_its_batch_and_is_a_row_however_the_file_is_cut(
    tmp_path, at, check_crc
):
    file = write(tmp_path, "t-0", *(batch(k, pid=5, epoch=0, sequence=k) for k in range(10)))
    data = bytearray(file.read_bytes())
    size = len(data) // 10
    data[at] ^= 0x41
    file.write_bytes(data)
    rows = table(tmp_path, "batches", check_crc=check_crc)
    good = [row["base_offset"] for row in rows if not row["damage"]]
    hurt = [row for row in rows if row["damage"]]
    lost = [k for k in range(10) if k not in good]
    # Offset and leader epoch are outside of the checksum.
    if check_crc and at % size not in {*range(8), *range(12, 16)}:
        assert lost == [at // size]
        assert [(row["position"], row["size"]) for row in hurt] == [(at // size * size, size)]
    assert len(lost) <= 1
    in_order = sorted(rows, key=lambda row: row["position"])
    for part_bytes in (size, 3 * size - 1):
        cut = sorted(
            table(tmp_path, "batches", part_bytes, check_crc=check_crc),
            key=lambda row: row["position"],
        )
        if check_crc:
            assert cut == in_order


def test_a_batch_that_is_cut_off_is_damage_except_at_the_end_of_a_partition(tmp_path):
    whole_batches = [batch(k) for k in range(3)]
    write(tmp_path, "t-0", *whole_batches, batch(3)[:-5])
    assert [row["damage"] for row in table(tmp_path, "batches")] == [""] * 3
    write(tmp_path, "t-0", batch(9), segment=9)
    *good, torn = table(tmp_path / "t-0", "batches")[:4]
    assert [row["base_offset"] for row in good] == [0, 1, 2]
    assert torn["damage"].startswith("the batch is cut off")
    assert torn["position"] == 3 * len(whole_batches[0])


def test_zeros_at_the_end_of_a_partition_are_no_damage_and_elsewhere_they_are(tmp_path):
    file = write(tmp_path, "t-0", batch(0), bytes(500))
    assert [row["damage"] for row in table(tmp_path, "batches")] == [""]
    file.write_bytes(batch(0) + bytes(500) + batch(1))
    assert [bool(row["damage"]) for row in table(tmp_path, "batches")] == [False, False, True]


def test_records_and_what_they_say_are_those_of_the_reader_of_segments(whole):
    rows = table(whole[0], "records")
    files = sorted({Path(part.path) for part in log_folders([whole[0]]).parts})
    theirs = [
        r
        for f in files
        for b in read_segment(f, compacted=True, torn_tail=True).batches
        for r in b.records
    ]
    assert sorted((r["offset"], r["key"] or b"", r["value"] or b"") for r in rows) == sorted(
        (r.offset, r.key or b"", r.value or b"") for r in theirs
    )
    said = table(whole[0], "said")
    assert not [row for row in said if row["damage"]]
    kinds = {row["kind"] for row in said}
    assert {"Transaction", "Offset", "Marker", "Topic", "Leadership", "LeaderChange"} <= kinds
    for row in said:
        assert json.loads(row["said"])["offset"] == row["offset"]


def test_markers_stand_beside_their_batches(tmp_path):
    data = batch(0, pid=5, epoch=2, sequence=0)
    write(
        tmp_path, "t-0", data, marker(1, 5, 2, coordinator_epoch=7), marker(2, 5, 2, commit=False)
    )
    rows = table(tmp_path, "batches")
    assert [row["marker"] for row in rows] == ["", "COMMIT", "ABORT"]
    assert [row["coordinator_epoch"] for row in rows] == [-1, 7, 0]


NO_GZIP = 1  # the batch says that its records are compressed, and they are not


def with_record_attributes(data, bits=1):
    """Set the attributes of the first record, which no broker writes and every reader skips (DefaultRecord)."""
    head, checked = data[:17], bytearray(data[21:])
    checked[HEADER_SIZE + 1 - 21] = bits
    return head + struct.pack(">I", crc32c(bytes(checked))) + bytes(checked)


def test_a_marker_that_is_laid_out_as_no_broker_lays_it_out_is_read_all_the_same(tmp_path):
    """ControlRecordType.parse, EndTransactionMarker.deserialize: an unknown type is no damage."""
    unknown = (struct.pack(">hh", 0, 7), struct.pack(">hi", 0, 5))
    write(
        tmp_path,
        "t-0",
        batch(0, pid=5, epoch=2, sequence=0),
        with_record_attributes(marker(1, 5, 2, coordinator_epoch=7)),
        with_record_attributes(marker(2, 5, 2, commit=False, coordinator_epoch=3)),
        batch(3, (unknown,), pid=5, epoch=2, control=True),
        batch(4, pid=5, epoch=2, control=True, attributes=NO_GZIP),
        batch(5),
    )
    rows = table(tmp_path, "batches")
    assert [row["marker"] for row in rows] == ["", "COMMIT", "ABORT", "UNKNOWN", "UNKNOWN", ""]
    assert [row["coordinator_epoch"] for row in rows] == [-1, 7, 3, -1, -1, -1]
    assert [row["damage"] for row in rows] == [""] * 6


def test_several_brokers_are_one_call_and_each_row_names_its_broker(tmp_path):
    for number in (1, 2):
        write(tmp_path / f"b{number}", f"t-{number}", batch(0))
        (tmp_path / f"b{number}" / "meta.properties").write_text(f"node.id={number}\n")
    rows = table(tmp_path, "batches")
    assert [(row["broker"], row["topic"], row["partition"]) for row in rows] == [
        (1, "t", 1),
        (2, "t", 2),
    ]
    found = log_folders([tmp_path / "b1", tmp_path / "b2"])
    assert [part.broker for part in found.parts] == [1, 2]


def test_a_topic_without_a_log_is_refused_in_a_sentence(tmp_path):
    write(tmp_path, "t-0", batch(0))
    with pytest.raises(RecordingError, match="no log of a topic 'u' here"):
        log_folders([tmp_path], ("u",))
    with pytest.raises(ValueError, match="at least 1 byte"):
        log_folders([tmp_path], part_bytes=0)


def test_a_part_that_is_smaller_than_a_batch_reads_as_far_as_the_batch_goes(tmp_path):
    large = batch(0, ((None, bytes(3 << 20)),))
    write(tmp_path, "t-0", large, batch(1))
    parts = log_folders([tmp_path], (), 1 << 20).parts
    assert [len(read_part(part).headers.positions) for part in parts] == [1, 0, 0, 1]


def test_request_logs_in_ranges_have_every_request_once(whole):
    theirs = exchanges_in(whole[1])
    for part_bytes in (1 << 30, 50_000, 7_777):
        rows = [
            row
            for part in request_parts([whole[1]], part_bytes)
            for found in request_rows(part, "+00:00")
            for row in found.to_pylist()
        ]
        assert [(r["api"], r["answered_ms"], r["client"]) for r in rows] == [
            (x.api, x.answered_ms, x.client) for x in theirs
        ]
        assert len({row["position"] for row in rows}) == len(rows)


COLUMNS = {
    "batches": "base_offset last_offset records transactional control marker coordinator_epoch producer_id "
    "producer_epoch base_sequence compression append_time base_timestamp max_timestamp",
    "records": "offset timestamp key value headers transactional control producer_id producer_epoch",
    "said": "offset timestamp kind name tombstone producer_id producer_epoch said",
}


@pytest.mark.parametrize("rows", COLUMNS)
def test_the_columns_stay_as_they_are_documented(rows):
    place = "broker topic partition leader_epoch segment position size compacted tiered damage"
    assert SCHEMAS[rows].names == [*place.split(), *COLUMNS[rows].split()]


def test_only_the_logs_of_the_topics_that_are_asked_for_are_read(tmp_path):
    for partition in ("t-0", "t-1", "u-0", "__consumer_offsets-3"):
        write(tmp_path, partition, batch(0))
    assert {p.partition for p in log_folders([tmp_path], ("t",)).parts} == {"t-0", "t-1"}
    every = {p.partition for p in log_folders([tmp_path]).parts}
    assert every == {"t-0", "t-1", "u-0", "__consumer_offsets-3"}


def test_the_last_line_of_a_request_log_is_read_whole_where_no_line_break_ends_it(tmp_path):
    path = tmp_path / "requests.log"
    path.write_bytes(b"one\ntwo\nthree")
    part = request_rows_module.RequestPart(str(path), 5, 13, 13)
    assert request_rows_module._lines(part) == (8, b"three")


def test_a_line_that_is_no_request_is_a_row_that_says_so_and_names_no_api(whole, tmp_path):
    """RequestChannel.Response logs what it completes; whoever counts requests by API sees the rest as UNKNOWN."""
    first = exchanges_in(whole[1])[0]
    line = whole[1].read_bytes().splitlines(keepends=True)[0]
    odd = b"[2026-11-21 07:00:00,000] DEBUG Completed request:{} (kafka.request.logger)\n"
    path = tmp_path / "requests.log"
    path.write_bytes(line + odd)
    rows = [
        row
        for part in request_parts([path], 1 << 30)
        for found in request_rows(part, "+00:00")
        for row in found.to_pylist()
    ]
    assert [(row["api"], bool(row["problem"])) for row in rows] == [
        (first.api, False),
        ("UNKNOWN", True),
    ]
    assert (rows[1]["position"], rows[1]["client"], rows[1]["request"]) == (len(line), "", None)


def test_a_folder_stands_for_the_request_logs_in_it_and_not_for_its_folders(tmp_path):
    for name in ("b.log", "a.log"):
        (tmp_path / name).write_bytes(b"line\n")
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / "c.log").write_bytes(b"line\n")
    found = [Path(part.path).name for part in request_parts([tmp_path], 1 << 30)]
    assert found == ["a.log", "b.log"]


@pytest.mark.parametrize(("said", "minutes"), [("+02:00", 120), ("-05:30", -330)])
def test_an_offset_from_utc_is_before_or_behind_it(said, minutes):
    assert zone_of(said).utcoffset(None) == timedelta(minutes=minutes)
