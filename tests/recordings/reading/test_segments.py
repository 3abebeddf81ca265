"""Reading log segments: exactly what a broker wrote, or one sentence that says what is wrong."""

import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatchBuilder

from kipviz.recordings.files.segments import (
    COMPACTED_TOPICS,
    batches,
    read_aborted,
    read_partition,
    read_segment,
)
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.crc32c import crc32c

HERE = Path(__file__).parents[1]
SEGMENTS = sorted(HERE.glob("kafka-*/*/*/*.log"))
SHARE_STATE = next(HERE.glob("kafka-4.4.0/share-locks/__share_group_state-*/*.log"))
TRANSACTION_STATE = next(HERE.glob("kafka-4.4.0/commit-and-abort/__transaction_state-*/*.log"))
OUTPUT = HERE / "kafka-4.4.0/commit-and-abort/output-A-0/00000000000000000000.log"
COMPRESSED = HERE / "kafka-4.4.0/compressed/src-0/00000000000000000000.log"


def compacted(path):
    return path.parent.name.rpartition("-")[0] in COMPACTED_TOPICS


def read(data, **how):
    return tuple(batches(data, "a.log", **how))


def change_header(data, at, new, *, batch=0):
    """Put other bytes into a batch's header and make its checksum right again."""
    start = read(data)[batch].position if batch else 0
    size = struct.unpack_from(">i", data, start + 8)[0] + 12
    data = bytearray(data)
    data[start + at : start + at + len(new)] = new
    struct.pack_into(">I", data, start + 17, crc32c(bytes(data[start + 21 : start + size])))
    return bytes(data)


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda p: "/".join(p.parts[-4:-1]))
def test_every_recorded_segment_reads_as_kafka_python_reads_it(path):
    ours = read_segment(path, compacted=compacted(path)).batches
    theirs = MemoryRecords(path.read_bytes())
    for mine in ours:
        other = theirs.next_batch()
        assert mine.size == other.size_in_bytes
        assert mine.base_offset == other.base_offset
        assert mine.last_offset == other.last_offset
        assert mine.leader_epoch == other.leader_epoch
        assert mine.transactional == other.is_transactional
        assert mine.control == other.is_control_batch
        assert mine.producer_id == other.producer_id
        assert mine.producer_epoch == other.producer_epoch
        assert mine.base_sequence == other.base_sequence
        assert mine.max_timestamp == other.max_timestamp
        assert mine.compression == ("none", "gzip", "snappy", "lz4", "zstd")[other.compression_type]
        if mine.compression in {"none", "gzip"}:  # it needs more packages for the others
            assert [(r.offset, r.timestamp, r.key, r.value) for r in mine.records] == [
                (r.offset, r.timestamp, r.key, r.value) for r in other
            ]
    assert not theirs.has_next()


def test_a_record_and_a_batch_know_where_they_stand_in_the_file():
    data = OUTPUT.read_bytes()
    segment = read_segment(OUTPUT)
    assert segment.batches[0].position == 0
    assert sum(b.size for b in segment.batches) == len(data)
    for before, after in zip(segment.batches, segment.batches[1:], strict=False):
        assert after.position == before.position + before.size
    first = segment.batches[0].records[0]
    assert data[first.position + 1 :].startswith(b"\0\0\0\x04k0\x0aout-0")


def test_each_compression_gives_back_what_was_sent(recorded):
    segments = recorded("compressed").segments["src-0"]
    found = segments[0].batches
    assert [b.compression for b in found] == ["none", "gzip", "snappy", "lz4", "zstd"]
    for batch in found:
        assert [r.key for r in batch.records] == [batch.compression.encode()] * 3
        assert [r.value for r in batch.records] == [letter * 200 for letter in (b"a", b"b", b"c")]
        assert [r.offset for r in batch.records] == [
            *range(batch.base_offset, batch.base_offset + 3)
        ]


@pytest.mark.parametrize("batch", range(1, 5))
def test_compressed_records_that_are_damaged_under_a_right_checksum_are_refused(batch):
    data = COMPRESSED.read_bytes()
    whole = read(data)[batch]
    middle = (61 + whole.size) // 2
    damaged = change_header(data, middle, b"\xff\xff\xff\xff\xff\xff", batch=batch)
    with pytest.raises(RecordingError) as refused:
        read(damaged)
    assert refused.value.at in {whole.position, whole.position + 61}
    # zstd frames of Kafka have no checksum, so nonsense may come out; then the records betray it.
    assert re.search(f"not what {whole.compression} writes|records are damaged", str(refused.value))


KEYS = st.one_of(st.none(), st.binary(max_size=20))
HEADERS = st.lists(st.tuples(st.text(max_size=5), KEYS), max_size=3)
ROWS = st.lists(st.tuples(st.integers(0, 2**40), KEYS, KEYS, HEADERS), min_size=1, max_size=8)


@given(
    ROWS,
    st.integers(-1, 2**62),
    st.integers(-1, 2**15 - 1),
    st.booleans(),
    st.sampled_from([0, 1]),
)
def test_whatever_kafka_python_writes_is_read_back(
    rows, producer, epoch, transactional, compression
):
    transactional = transactional and producer >= 0
    builder = DefaultRecordBatchBuilder(
        2, compression, transactional, producer, epoch, 7 if producer >= 0 else -1, 1 << 20
    )
    for i, (time, key, value, headers) in enumerate(rows):
        builder.append(i, time, key, value, headers)
    (batch,) = read(bytes(builder.build()))
    assert batch.transactional == transactional
    assert (batch.producer_id, batch.producer_epoch) == (producer, epoch)
    assert batch.compression in {"none", ("none", "gzip")[compression]}  # if that is shorter
    assert [(r.timestamp, r.key, r.value, list(r.headers)) for r in batch.records] == [
        (time, key, value, headers) for time, key, value, headers in rows
    ]


def test_a_segment_cut_off_anywhere_is_refused_and_names_the_batch():
    data = SHARE_STATE.read_bytes()
    whole = read(data)
    ends = [0, *(b.position + b.size for b in whole)]
    for cut in range(len(data) + 1):
        complete = max(i for i, end in enumerate(ends) if end <= cut)
        if cut in ends:
            assert read(data[:cut]) == whole[:complete]
            continue
        with pytest.raises(RecordingError) as refused:
            read(data[:cut])
        assert refused.value.at == ends[complete]
        assert "cut off" in str(refused.value)
        assert read(data[:cut], torn_tail=True) == whole[:complete]


def test_zeros_at_the_end_are_what_a_running_broker_leaves():
    data = SHARE_STATE.read_bytes()
    with pytest.raises(RecordingError, match="only zeros follow"):
        read(data + bytes(500))
    assert read(data + bytes(500), torn_tail=True) == read(data)


def test_every_flipped_byte_of_a_log_without_compaction_is_refused_but_in_the_leader_epoch():
    data = SHARE_STATE.read_bytes()
    whole = read(data)
    starts = [b.position for b in whole]
    for at in range(len(data)):
        for mask in (0x01, 0x80):
            flipped = bytearray(data)
            flipped[at] ^= mask
            try:
                found = read(bytes(flipped), first_offset=0)
            except RecordingError:
                continue
            start = max(s for s in starts if s <= at)
            assert 12 <= at - start < 16, f"byte {at} changed unseen"
            assert tuple(b.but(leader_epoch=0) for b in found) == whole


@given(st.data())
def test_a_flipped_byte_is_refused_or_shows_in_a_field_that_no_checksum_covers(data):
    path = data.draw(st.sampled_from(SEGMENTS))
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    whole = read_segment(path, compacted=compacted(path)).batches
    try:
        found = read(bytes(content), first_offset=0, compacted=compacted(path))
    except RecordingError:
        return
    start = max(b.position for b in whole if b.position <= at)
    assert at - start < 8 or 12 <= at - start < 16
    assert [b.records[0].value for b in found] == [b.records[0].value for b in whole]
    assert [b.producer_epoch for b in found] == [b.producer_epoch for b in whole]


@pytest.mark.parametrize(
    ("content", "at", "sentence"),
    [
        (
            b"hello, this is a text and not a Kafka log at all, not even nearly one",
            0,
            "not a Kafka log",
        ),
        (b"PK\x03\x04" + bytes(80), 0, "not a Kafka log"),
        (b"short", 0, "cut off: it needs at least 61 bytes, the file has 5 more"),
        (struct.pack(">qiib", 0, 30, -1, 0) + bytes(60), 0, "old format 0"),
        (struct.pack(">qiib", 0, 30, -1, 1) + bytes(60), 0, "old format 1"),
        (struct.pack(">qiib", 0, 60, -1, 3) + bytes(60), 0, "not a Kafka log"),
        (struct.pack(">qiib", 0, 20, 0, 2) + bytes(60), 0, "not a Kafka log"),
    ],
)
def test_a_file_that_is_no_kafka_log_is_refused_in_one_sentence(tmp_path, content, at, sentence):
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(content)
    with pytest.raises(RecordingError) as refused:
        read_segment(file)
    text = str(refused.value)
    assert text.startswith(f"{file}, byte {at}: ")
    assert sentence in text
    assert not text.endswith(".")
    assert "\n" not in text


def test_an_empty_segment_holds_nothing(tmp_path):
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(b"")
    assert read_segment(file).batches == ()


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="cannot be read"):
        read_segment(tmp_path / "00000000000000000000.log")
    with pytest.raises(RecordingError, match="cannot be read"):
        read_partition(tmp_path / "src-0")
    with pytest.raises(RecordingError, match="holds no segment"):
        read_partition(tmp_path)


def test_a_wrong_checksum_is_refused_and_may_be_ignored_on_demand():
    data = bytearray(OUTPUT.read_bytes())
    data[17] ^= 0xFF
    with pytest.raises(RecordingError, match=r"byte 0: the batch is damaged: its checksum is"):
        read(bytes(data))
    assert read(bytes(data), check_crc=False) == read(OUTPUT.read_bytes())


@pytest.mark.parametrize(
    ("at", "new", "sentence"),
    [
        (21, b"\x00\x05", "the unknown compression 5"),
        (21, b"\x00\x87", "the unknown compression 7"),
        (21, b"\x01\x10", "the unknown attributes 0x0110"),
        (23, b"\x00\x00\x00\x05", "begins at offset 1, the one before ends at 5"),
        (43, b"\xff" * 8, "transactional but has no producer id"),
        (57, b"\x00\x00\x00\x02", "a count of 2 records in 1 offsets"),
        (57, b"\x00\x00\x00\x00", "bytes follow the last record"),
        (57, b"\xff\xff\xff\xff", "a count of -1 records"),
        (61, b"\x7e", "a record says that it ends at byte 64 of the records"),
    ],
)
def test_a_header_that_contradicts_itself_is_refused_although_its_checksum_is_right(
    at, new, sentence
):
    with pytest.raises(RecordingError, match=re.escape(sentence)):
        read(change_header(OUTPUT.read_bytes(), at, new))


def test_a_gap_between_offsets_is_only_allowed_in_a_compacted_topic():
    data = TRANSACTION_STATE.read_bytes()
    third = read(data)[2].position
    fourth = read(data)[3].position
    without_third = data[:third] + data[fourth:]
    with pytest.raises(RecordingError, match="not read as a compacted one"):
        read(without_third)
    assert [b.base_offset for b in read(without_third, compacted=True)] == [0, 1, *range(3, 13)]


def test_batches_that_go_back_in_offset_or_leader_epoch_are_refused():
    data = TRANSACTION_STATE.read_bytes()
    with pytest.raises(RecordingError, match="begins at offset 0, the one before ends at 12"):
        read(data + data, compacted=True)
    later = bytearray(data)
    struct.pack_into(">i", later, 12, 4)
    with pytest.raises(RecordingError, match="leader epoch 0, the one before has 4"):
        read(bytes(later))


def test_a_segment_begins_where_its_name_says(tmp_path):
    file = tmp_path / "00000000000000000007.log"
    file.write_bytes(OUTPUT.read_bytes())
    with pytest.raises(RecordingError, match="begins at offset 0, the file is named after 7"):
        read_segment(file)
    free = tmp_path / "copy.log"
    free.write_bytes(OUTPUT.read_bytes())
    assert len(read_segment(free).batches) == 9


def test_a_partition_of_two_segments_reads_as_one(tmp_path):
    data = OUTPUT.read_bytes()
    split = read(data)[4].position
    (tmp_path / "00000000000000000000.log").write_bytes(data[:split])
    (tmp_path / "00000000000000000004.log").write_bytes(data[split:])
    (tmp_path / "00000000000000000004.index").write_bytes(bytes(8))
    first, second = read_partition(tmp_path)
    assert [b.base_offset for b in first.batches + second.batches] == list(range(9))
    (tmp_path / "00000000000000000000.log").write_bytes(data)
    with pytest.raises(RecordingError, match=r"00004.log, byte 0: the batch begins at offset 4"):
        read_partition(tmp_path)


def test_only_the_last_segment_of_a_partition_may_be_torn(tmp_path):
    data = OUTPUT.read_bytes()
    split = read(data)[4].position
    (tmp_path / "00000000000000000000.log").write_bytes(data[:split])
    (tmp_path / "00000000000000000004.log").write_bytes(data[split:-1])
    *_, last = read_partition(tmp_path, torn_tail=True)
    assert last.batches[-1].last_offset == 7
    (tmp_path / "00000000000000000000.log").write_bytes(data[: split - 1])
    with pytest.raises(RecordingError, match=r"00000.log, byte \d+: the last batch is cut off"):
        read_partition(tmp_path, torn_tail=True)


def test_an_index_of_aborted_transactions_is_read_or_refused(tmp_path):
    file = tmp_path / "00000000000000000000.txnindex"
    file.write_bytes(struct.pack(">hqqqq", 0, 9, 1, 5, 6))
    (entry,) = read_aborted(file)
    assert (entry.producer_id, entry.first_offset, entry.last_offset) == (9, 1, 5)
    assert entry.last_stable_offset == 6
    for content, sentence in (
        (bytes(33), "cut off"),
        (struct.pack(">hqqqq", 3, 9, 1, 5, 6), "unknown version 3"),
        (struct.pack(">hqqqq", 0, 9, 5, 1, 6), "runs from offset 5 to 1"),
    ):
        file.write_bytes(content)
        with pytest.raises(RecordingError, match=sentence):
            read_aborted(file)
    file.unlink()
    with pytest.raises(RecordingError, match="cannot be read"):
        read_aborted(file)
