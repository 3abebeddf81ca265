"""An audit of a log that is cut anywhere finds what an audit of the whole log finds."""

import struct
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipviz.recordings.auditing.audit_evidence import (
    PartitionEnd,
    ProducerEnds,
    TransactionEnds,
    surroundings,
)
from kipviz.recordings.auditing.audit_rules import findings_together
from kipviz.recordings.auditing.gathered_evidence import GatheredEvidence
from kipviz.recordings.auditing.log_audit import audit_logs, audit_of, audit_plan
from kipviz.recordings.auditing.partition_fold import join_stretches, joined_extent
from kipviz.recordings.auditing.producer_fold import ProducerFold
from kipviz.recordings.auditing.record_folds import ShareFold, TransactionFold
from kipviz.recordings.auditing.single_evidence import findings_alone
from kipviz.recordings.auditing.stretches import ExtentIn, OpenIn, read_stretch, stretches_of
from tests.recordings.made_logs import START, batch, marker, transaction, write
from tests.recordings.whole_folder import unpack_folder

GROUPS, COORDINATOR, SHARES = (
    "__consumer_offsets-0",
    "__transaction_state-0",
    "__share_group_state-0",
)
STATES = (
    "EMPTY",
    "ONGOING",
    "PREPARE_COMMIT",
    "PREPARE_ABORT",
    "COMPLETE_COMMIT",
    "COMPLETE_ABORT",
)

small = st.integers(0, 3)
epochs = st.integers(0, 2)
pids = st.integers(5, 7)
# What is appended next: each makes one batch at an offset.
appends = st.one_of(
    st.tuples(st.just("data"), pids, epochs, small, st.booleans()),
    st.tuples(st.just("marker"), pids, epochs, st.booleans()),
    st.tuples(st.just("plain")),
)
offsets = st.one_of(
    st.tuples(st.just("offset"), pids, epochs, st.sampled_from(["g", "h"])),
    st.tuples(st.just("marker"), pids, epochs, st.booleans()),
)
states = st.one_of(
    st.tuples(st.just("state"), st.sampled_from(["a", "b"]), pids, epochs, st.sampled_from(STATES)),
    st.tuples(st.just("expired"), st.sampled_from(["a", "b"])),
)
shares = st.one_of(
    st.tuples(st.just("snapshot"), small, st.sampled_from([0, 2, 4, 5])),
    st.tuples(st.just("update"), st.integers(-1, 3), st.sampled_from([0, 2, 4, 5])),
    st.tuples(st.just("deleted"), small),
)
logs = st.fixed_dictionaries(
    {
        "out-0": st.lists(appends, max_size=25),
        "out-1": st.lists(appends, max_size=8),
        GROUPS: st.lists(offsets, max_size=12),
        COORDINATOR: st.lists(states, max_size=14),
        SHARES: st.lists(shares, max_size=10),
    }
)
# Of a log: after how many batches a segment ends, and which bytes are spoilt, as shares of its length.
spoilt = st.lists(st.tuples(st.floats(0, 0.999), st.integers(1, 255)), max_size=3)


def batch_of(row, offset):
    at = START + offset * 7_000
    match row:
        case "data", pid, epoch, sequence, transactional:
            return batch(
                offset, pid=pid, epoch=epoch, sequence=sequence, transactional=transactional, at=at
            )
        case "marker", pid, epoch, commit:
            return marker(offset, pid, epoch, commit=commit, at=at)
        case "offset", pid, epoch, group:
            key = struct.pack(">hh", 1, len(group)) + group.encode() + struct.pack(">h", 3) + b"src"
            value = struct.pack(">hqihq", 3, 7, 0, 0, at)
            records = ((key + bytes(4), value),)
            return batch(offset, records, pid=pid, epoch=epoch, sequence=0, at=at)
        case "state", name, pid, epoch, state:
            parts = ("out-0", "out-1", GROUPS) if epoch else ("out-0",)
            return transaction(offset, name, pid, epoch, state, parts, at=at)
        case "expired", name:
            return batch(offset, ((struct.pack(">hh", 0, len(name)) + name.encode(), None),), at=at)
        case kind, start, *state:
            return batch(offset, (share_record(kind, start, *state),), at=at)
        case _:
            return batch(offset, at=at)


def share_record(kind, start, state=0):
    group = b"g" if start % 2 else b"h"
    key = struct.pack(">h", int(kind == "update")) + struct.pack(">h", 1) + group + bytes(20)
    if kind == "deleted":
        return key, None
    stamps = (
        struct.pack(">qqq", start, START, START) if kind == "snapshot" else struct.pack(">q", start)
    )
    value = struct.pack(">hii", 0, 0, 0) + (struct.pack(">i", 0) if kind == "snapshot" else b"")
    value += stamps + bytes([2]) + struct.pack(">qqbh", max(start, 0), start + 2, state, 1) + b"\0"
    return key, value + b"\0"


def write_logs(folder, rows_of, segment_of, spoilt_of):
    for partition, rows in rows_of.items():
        written = [batch_of(row, offset) for offset, row in enumerate(rows)]
        if not written:
            continue
        for first in range(0, len(written), segment_of):
            file = write(folder, partition, *written[first : first + segment_of], segment=first)
            content = bytearray(file.read_bytes())
            for where, change in spoilt_of.get(partition, ()):
                content[int(where * len(content))] ^= change
            file.write_bytes(content)


def audit_in_stretches(folder, bytes_each, buckets, part_bytes, pieces_most=1_000):
    """Audit as several tasks would: read stretches in any order, and join what they leave by buckets."""
    plan = audit_plan([folder], (), part_bytes)
    known, extents, by_name, by_producer = [], {}, {}, {}
    for stretch in reversed(stretches_of(plan, bytes_each)):
        for each in read_stretch(stretch, buckets):
            if isinstance(each, ExtentIn):
                extents.setdefault(each.extent.partition, []).append((each.number, each.extent))
            elif isinstance(each, OpenIn):
                groups = by_producer if isinstance(each.ends, ProducerEnds) else by_name
                groups.setdefault(each.bucket, []).append(each.ends)
            else:
                known.append(each)
    known += chain.from_iterable(
        join_stretches(ends) for ends in (*by_name.values(), *by_producer.values())
    )
    ends = (
        joined_extent(e for _, e in sorted(found, key=lambda x: x[0])) for found in extents.values()
    )
    around = surroundings(ends, plan.coordinators)
    found = [finding for each in known for finding in findings_alone(each)]
    with GatheredEvidence(pieces_most=pieces_most) as together:
        for each in known:
            together.add(each)
        for producer in together.producers():
            found += findings_together(producer, around)
    return audit_of(found, plan, around)


@settings(deadline=None)
@given(
    rows_of=logs,
    segment_of=st.integers(1, 30),
    spoilt_of=st.dictionaries(
        st.sampled_from(["out-0", GROUPS, COORDINATOR, SHARES]), spoilt, max_size=2
    ),
    bytes_each=st.integers(30, 2_000),
    part_bytes=st.integers(30, 2_000),
    buckets=st.integers(1, 4),
    pieces_most=st.integers(1, 12),
)
def test_wherever_a_log_is_cut_its_findings_are_those_of_the_whole(
    tmp_path_factory, rows_of, segment_of, spoilt_of, bytes_each, part_bytes, buckets, pieces_most
):
    if not any(rows_of.values()):
        return
    folder = tmp_path_factory.mktemp("cut")
    write_logs(folder, rows_of, segment_of, spoilt_of)
    whole = audit_logs([folder])
    assert audit_in_stretches(folder, bytes_each, buckets, part_bytes, pieces_most) == whole
    assert audit_logs([folder], part_bytes=part_bytes) == whole


@pytest.mark.parametrize("bytes_each", [100, 1_000, 1 << 20])
def test_what_kafka_wrote_may_be_cut_anywhere_too(tmp_path, bytes_each):
    folder = unpack_folder(tmp_path)[0]
    assert audit_in_stretches(folder, bytes_each, 5, 1 << 20) == audit_logs([folder])


def empty_fold(ends, *, begins):
    match ends:
        case ProducerEnds(partition=partition, in_sequence=in_sequence):
            return ProducerFold(partition, in_sequence=in_sequence, begins=begins)
        case TransactionEnds(partition=partition):
            return TransactionFold(partition, begins=begins)
        case _:
            return ShareFold(ends.partition, begins=begins)


@settings(deadline=None)
@given(rows_of=logs, joins=st.lists(st.integers(0, 100), min_size=30, max_size=30))
def test_neighbours_may_be_joined_in_any_order_before_the_rest(tmp_path_factory, rows_of, joins):
    folder = tmp_path_factory.mktemp("joined")
    write_logs(folder, rows_of, 30, {})
    if not any(rows_of.values()):
        return
    everything = [
        each
        for stretch in stretches_of(audit_plan([folder]), 100)
        for each in read_stretch(stretch, 1)
        if isinstance(each, OpenIn)
    ]
    for partition in rows_of:
        ends = [each.ends for each in everything if each.ends.partition == partition]
        at_once = sorted(map(repr, join_stretches(ends)))
        early = []
        for choice in joins:
            if len(ends) > 1:
                k = choice % (len(ends) - 1)
                fold = empty_fold(ends[k], begins=False)
                early += [*fold.join(ends[k]), *fold.join(ends[k + 1])]
                ends[k : k + 2] = [e for _, e in fold.open_ends(ends[k].number, 1)]
        assert sorted(map(repr, chain(early, join_stretches(ends)))) == at_once


def test_one_large_partition_is_read_by_many_and_a_small_one_by_one(tmp_path):
    write(tmp_path, "large-0", *(batch(k) for k in range(100)))
    write(tmp_path, "small-0", batch(0))
    stretches = stretches_of(audit_plan([tmp_path]), 700)
    of_large = [each for each in stretches if each.parts[0].partition == "large-0"]
    assert [each.number for each in of_large] == list(range(len(of_large)))
    assert len(of_large) == -(-100 * len(batch(0)) // 700)
    assert max(each.bytes for each in stretches) <= 700
    assert [each.only for each in stretches if each.parts[0].partition == "small-0"] == [True]
    with pytest.raises(ValueError, match="at least 1 byte"):
        stretches_of(audit_plan([tmp_path]), 0)


def test_the_groups_of_a_transaction_are_those_whose_offsets_are_in_it(tmp_path):
    rows = [("offset", 5, 0, "g"), ("marker", 5, 0, True), ("offset", 5, 0, "h")]
    write_logs(tmp_path, {GROUPS: rows}, 9, {})
    (found,) = [f for f in audit_logs([tmp_path]).findings if f.kind == "hanging"]
    assert (
        found.affected == "group h: OffsetFetch with requireStable answers UNSTABLE_OFFSET_COMMIT"
    )


def test_damage_is_told_at_the_offset_behind_the_batch_before_it(tmp_path):
    rows = [batch(k) for k in range(40, 46)]
    file = write(tmp_path, "out-0", *rows, segment=40)
    content = bytearray(file.read_bytes())
    content[2 * len(rows[0]) + 65] ^= 1
    file.write_bytes(content)
    (found,) = audit_logs([tmp_path]).findings
    assert (found.kind, found.offset) == ("damaged", 42)


def test_a_batch_that_says_a_wrong_length_costs_only_itself(tmp_path):
    rows = [batch(k) for k in range(9)]
    file = write(tmp_path, "out-0", *rows)
    size = len(rows[0])
    content = bytearray(file.read_bytes())
    content[3 * size + 11] += 2 * size + 1
    file.write_bytes(content)
    audited = audit_logs([tmp_path])
    assert (audited.batches, [each.kind for each in audited.findings]) == (8, ["damaged"])
    assert f"byte {3 * size}, {size} bytes" in audited.findings[0].what


def test_a_partition_reaches_from_its_first_stretch_with_batches_to_its_last_one() -> None:
    stretches = (
        PartitionEnd("out-0", 1, -1, -1, -1, -1, 0, 0),
        PartitionEnd("out-0", 1, 5, 9, 100, 90, 2, 200),
        PartitionEnd("out-0", 1, 9, 12, 120, -1, 1, 80),
        PartitionEnd("out-0", 1, -1, -1, -1, -1, 0, 0),
    )
    assert joined_extent(stretches) == PartitionEnd("out-0", 1, 5, 12, 120, 90, 3, 280)
