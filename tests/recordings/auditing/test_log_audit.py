"""Each kind of finding, in a log in which exactly that is wrong, and none in logs in which nothing is."""

import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from kipviz.recordings.auditing import audit_rules
from kipviz.recordings.auditing.audit_evidence import AuditedDecision, PartitionEnd, surroundings
from kipviz.recordings.auditing.audit_findings import KINDS, WRONG
from kipviz.recordings.auditing.log_audit import audit_logs
from kipviz.recordings.files.batch_headers import HEADER
from kipviz.records.crc32c import crc32c
from tests.recordings.made_logs import START, batch, marker, transaction, write
from tests.recordings.whole_folder import unpack_folder

HERE = Path(__file__).parents[1]
RECORDED = sorted(each.parent for each in HERE.glob("kafka-*/*/recording.json"))
COORDINATOR = "__transaction_state-0"
GROUPS = "__consumer_offsets-0"
SECOND = 1_000


def find_all(folder, **how):
    return [
        (each.kind, each.partition, each.offset) for each in audit_logs([folder], **how).findings
    ]


def states(folder, *rows, name="app", pid=5):
    """Write states (epoch, state, participants, seconds after the start) of one transactional id."""
    write(
        folder,
        COORDINATOR,
        *(
            transaction(k, name, pid, epoch, state, parts, at=START + s * SECOND, start=START)
            for k, (epoch, state, parts, s) in enumerate(rows)
        ),
    )


def write_commit(folder, parts=("out-0",), pid=5):
    states(
        folder,
        (0, "ONGOING", parts, 0),
        (1, "PREPARE_COMMIT", parts, 1),
        (1, "COMPLETE_COMMIT", (), 2),
        pid=pid,
    )


def offset_commit(offset, group, *, pid, epoch, at=START):
    key = struct.pack(">hh", 1, len(group)) + group.encode()
    key += struct.pack(">h", 3) + b"src" + struct.pack(">i", 0)
    value = struct.pack(">hqih", 3, 7, 0, 0) + struct.pack(">q", at)
    return batch(offset, ((key, value),), pid=pid, epoch=epoch, sequence=0, at=at)


def data(offset, epoch=0, sequence=0, at=START, pid=5, records=1):
    return batch(offset, ((None, b"v"),) * records, pid=pid, epoch=epoch, sequence=sequence, at=at)


def test_a_transaction_that_is_whole_is_no_finding(tmp_path):
    write_commit(tmp_path, ("out-0", "out-1"))
    for index in range(2):
        write(
            tmp_path,
            f"out-{index}",
            data(0),
            data(1, sequence=1),
            marker(2, 5, 1, at=START + 1_500),
        )
    assert find_all(tmp_path) == []


@pytest.mark.parametrize("folder", RECORDED, ids=lambda f: "/".join(f.parts[-2:]))
def test_nothing_is_wrong_in_what_kafka_recorded_but_what_it_did_wrong_itself(folder):
    wrong = [(f.kind, f.partition) for f in audit_logs([folder]).findings if f.weight == WRONG]
    assert wrong == []


def test_a_record_behind_the_end_of_its_transaction_hangs(tmp_path):
    write_commit(tmp_path)
    write(
        tmp_path,
        "out-0",
        data(0),
        marker(1, 5, 1, at=START + 1_500),
        data(2, epoch=1, at=START + 9_000),
    )
    (each,) = audit_logs([tmp_path]).findings
    assert (each.kind, each.partition, each.offset, each.certainty) == (
        "hanging",
        "out-0",
        2,
        "sure",
    )
    assert each.mends == (
        "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic out --partition 0 --start-offset 2",
    )
    assert each.transactional_id == "app"
    assert "COMPLETE_COMMIT" in each.what


def test_two_hanging_transactions_of_one_log_are_two_findings(tmp_path):
    write(tmp_path, "out-0", data(0, pid=5), data(1, pid=6), marker(2, 7, 0, at=START))
    hanging = audit_logs([tmp_path]).findings
    assert [(f.kind, f.offset, f.certainty) for f in hanging] == [
        ("hanging", 0, "possible"),
        ("hanging", 1, "possible"),
    ]
    assert "find-hanging --topic out --partition 0" in hanging[0].mends[0]


def test_an_open_transaction_is_told_and_is_not_wrong_before_its_timeout(tmp_path):
    states(tmp_path, (0, "ONGOING", ("out-0",), 0))
    write(tmp_path, "out-0", data(0))
    assert find_all(tmp_path) == [("open", "out-0", 0)]
    write(tmp_path, "other-0", marker(0, 9, 0, at=START + 60_000))
    assert find_all(tmp_path) == [("open", "out-0", 0)]
    assert not audit_logs([tmp_path]).fails
    write(tmp_path, "other-0", marker(0, 9, 0, at=START + 71_000))
    assert find_all(tmp_path) == [("overdue", "out-0", 0)]
    assert audit_logs([tmp_path]).fails


def test_an_audit_of_some_topics_hears_the_coordinators(tmp_path):
    states(tmp_path, (0, "ONGOING", ("out-0", "other-0"), 0))
    for partition in ("out-0", "other-0"):
        write(tmp_path, partition, data(0))
    assert find_all(tmp_path, topics=["out"]) == [("open", "out-0", 0)]
    assert find_all(tmp_path) == [("open", "other-0", 0), ("open", "out-0", 0)]


def test_a_decision_without_its_markers_is_unfinished(tmp_path):
    states(tmp_path, (0, "ONGOING", ("out-0",), 0), (1, "PREPARE_COMMIT", ("out-0",), 1))
    write(tmp_path, "out-0", data(0))
    assert find_all(tmp_path) == [("unfinished", COORDINATOR, 1)]


@pytest.mark.parametrize("decided", ["COMMIT", "ABORT"])
def test_a_participant_without_the_marker_of_a_complete_transaction_is_named(tmp_path, decided):
    parts = ("out-0", "out-1")
    rows = (
        (0, "ONGOING", parts, 0),
        (1, f"PREPARE_{decided}", parts, 1),
        (1, f"COMPLETE_{decided}", (), 2),
    )
    states(tmp_path, *rows)
    write(tmp_path, "out-0", data(0), marker(1, 5, 1, commit=decided == "COMMIT"))
    write(tmp_path, "out-1", data(0), batch(1, at=START + 9_000))
    (each,) = audit_logs([tmp_path]).findings
    assert (each.kind, each.partition, each.offset) == ("missing-marker", "out-1", 0)
    assert each.certainty == "sure"
    # What is committed elsewhere must not be aborted here.
    assert ("abort --topic out" in each.mends[0]) == (decided == "ABORT")


def test_partitions_that_end_in_different_ways_are_told_with_the_decision_and_without(tmp_path):
    write_commit(tmp_path, ("out-0", "out-1"))
    write(tmp_path, "out-0", data(0), marker(1, 5, 1))
    write(tmp_path, "out-1", data(0), marker(1, 5, 1, commit=False))
    (each,) = audit_logs([tmp_path]).findings
    assert (each.kind, each.partition, each.offset, each.certainty) == (
        "wrong-marker",
        "out-1",
        1,
        "sure",
    )
    (tmp_path / COORDINATOR / f"{0:020}.log").unlink()
    (tmp_path / COORDINATOR).rmdir()
    write(tmp_path, "out-2", data(0), marker(1, 5, 1))
    (each,) = audit_logs([tmp_path]).findings
    assert (each.kind, each.partition, each.certainty) == ("wrong-marker", "out-1", "likely")


def test_a_marker_that_ends_nothing_is_no_wrong_marker(tmp_path):
    write_commit(tmp_path)
    write(tmp_path, "out-0", data(0), marker(1, 5, 1), marker(2, 5, 1, commit=False))
    assert find_all(tmp_path) == []


def test_a_transaction_that_held_its_readers_past_its_timeout_is_told(tmp_path):
    write_commit(tmp_path)
    write(tmp_path, "out-0", data(0), marker(1, 5, 1, at=START + 75_000))
    assert find_all(tmp_path) == [("long-hold", "out-0", 0)]
    (told,) = audit_logs([tmp_path]).findings
    assert told.certainty == "sure"


def test_without_its_timeout_in_the_logs_a_transaction_is_likely_to_have_held_its_readers(tmp_path):
    """transaction.max.timeout.ms is 15 minutes, unless a broker says otherwise."""
    write(tmp_path, "out-0", data(0), marker(1, 5, 1, at=START + 2_000_000))
    (told,) = audit_logs([tmp_path]).findings
    assert (told.kind, told.certainty) == ("long-hold", "likely")


def test_a_decision_is_complete_from_the_first_millisecond_of_a_clock_on():
    """-1 is the time of what is not complete; 1970 itself is a time (a broker whose clock is not set)."""
    end = SimpleNamespace(first_offset=0, end_offset=1, last_ms=0)
    around = SimpleNamespace(end_of=lambda _: end)
    matching = SimpleNamespace(is_ended=lambda *_, **__: False)
    for complete_ms, kind in ((-1, "unfinished"), (0, "missing-marker")):
        decision = AuditedDecision(
            "app", 5, 1, True, ("out-0",), 0, 0, complete_ms, 60_000, "t-0", 3
        )
        assert [
            each.kind for each in audit_rules._find_unfinished(decision, matching, {}, around)
        ] == [kind]


@pytest.mark.parametrize(
    ("sequences", "kind"),
    [((0, 1, 1), "duplicate"), ((0, 1, 0), "duplicate"), ((0, 1, 3), "gap"), ((2**31 - 1, 0), "")],
)
@pytest.mark.parametrize("part_bytes", [1 << 20, 80])
def test_sequences_that_do_not_follow_are_told_also_across_parts(
    tmp_path, monkeypatch, sequences, kind, part_bytes
):
    monkeypatch.setattr(
        "kipviz.recordings.files.log_parts.log_folders.__defaults__", ((), part_bytes)
    )
    rows = (
        batch(k, pid=5, epoch=0, sequence=each, transactional=False)
        for k, each in enumerate(sequences)
    )
    write(tmp_path, "out-0", *rows)
    assert find_all(tmp_path) == ([(kind, "out-0", len(sequences) - 1)] if kind else [])


def test_a_sequence_after_a_day_of_silence_may_begin_anywhere(tmp_path):
    write(
        tmp_path,
        "out-0",
        data(0),
        marker(1, 5, 0),
        data(2, sequence=9, at=START + 86_500_000),
        marker(3, 5, 0, at=START + 86_500_000),
    )
    (each,) = audit_logs([tmp_path]).findings
    assert (each.kind, each.certainty) == ("gap", "possible")


def test_an_epoch_that_goes_back_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr("kipviz.recordings.files.log_parts.log_folders.__defaults__", ((), 80))
    rows = [
        batch(k, pid=5, epoch=epoch, sequence=0, transactional=False)
        for k, epoch in enumerate((3, 2))
    ]
    write(tmp_path, "out-0", *rows, *(batch(k, at=START) for k in range(2, 9)))
    assert find_all(tmp_path) == [("epoch-back", "out-0", 1)]


def test_offsets_without_output_and_output_without_offsets(tmp_path):
    parts = ("out-0", GROUPS)
    states(
        tmp_path,
        (0, "ONGOING", parts, 0), (1, "PREPARE_COMMIT", parts, 1), (1, "COMPLETE_COMMIT", (), 2),
        (1, "ONGOING", parts, 3), (2, "PREPARE_COMMIT", parts, 4), (2, "COMPLETE_COMMIT", (), 5),
        (2, "ONGOING", ("out-0",), 6), (3, "PREPARE_COMMIT", ("out-0",), 7), (3, "COMPLETE_COMMIT", (), 8),
    )  # fmt: skip
    write(
        tmp_path,
        "out-0",
        data(0),
        marker(1, 5, 1),
        marker(2, 5, 2),
        data(3, epoch=2),
        marker(4, 5, 3),
    )
    write(
        tmp_path,
        GROUPS,
        offset_commit(0, "g", pid=5, epoch=0),
        marker(1, 5, 1),
        offset_commit(2, "g", pid=5, epoch=1),
        marker(3, 5, 2),
    )
    assert find_all(tmp_path) == [
        ("offsets-without-output", COORDINATOR, 4),
        ("output-without-offsets", COORDINATOR, 7),
    ]


def test_pending_offsets_name_their_group(tmp_path):
    write_commit(tmp_path, ("out-0", GROUPS))
    write(tmp_path, "out-0", data(0), marker(1, 5, 1))
    ended = (offset_commit(0, "g", pid=5, epoch=0), marker(1, 5, 1, at=START + 1_500))
    write(tmp_path, GROUPS, *ended, offset_commit(2, "g", pid=5, epoch=1, at=START + 9_000))
    (each,) = audit_logs([tmp_path]).findings
    assert (each.kind, each.partition, each.offset) == ("hanging", GROUPS, 2)
    assert each.affected == "group g: OffsetFetch with requireStable answers UNSTABLE_OFFSET_COMMIT"


def snapshot(*batches, start=0):
    """Write a ShareSnapshot of (first, last, state, deliveries)."""
    key = struct.pack(">h", 0) + struct.pack(">h", 1) + b"g" + bytes(16) + struct.pack(">i", 0)
    value = struct.pack(">hiiiqqq", 0, 0, 0, 0, start, START, START) + bytes([len(batches) + 1])
    for first, last, state, count in batches:
        value += struct.pack(">qqbh", first, last, state, count) + b"\0"
    return key, value + b"\0"


@pytest.mark.parametrize(
    ("states_", "kind"),
    [
        (((0, 3, 4, 5),), "share-archived"),
        (((0, 3, 5, 1),), "share-pending"),
        (((0, 0, 0, 2), (1, 4, 2, 1)), "share-stuck"),
        (((0, 0, 0, 0), (1, 4, 2, 1)), ""),
    ],
)
def test_records_of_share_groups_that_are_stuck_or_given_up(tmp_path, states_, kind):
    write(tmp_path, "__share_group_state-0", batch(0, (snapshot(*states_),)))
    assert [each[0] for each in find_all(tmp_path)] == ([kind] if kind else [])


def test_damage_is_a_finding_and_stops_nothing(tmp_path):
    whole = [data(0), marker(1, 5, 0), data(2, sequence=1), marker(3, 5, 0, commit=False)]
    file = write(tmp_path, "out-0", *whole)
    content = bytearray(file.read_bytes())
    content[len(whole[0]) + 50] ^= 1
    file.write_bytes(content)
    damaged = [each for each in audit_logs([tmp_path]).findings if each.kind == "damaged"]
    (each,) = damaged
    assert f"byte {len(whole[0])}, {len(whole[1])} bytes: its checksum" in each.what
    assert audit_logs([tmp_path]).batches == 3


def unreadable(whole):
    """Return a batch whose first record is longer than its batch; its checksum is right."""
    changed = bytearray(whole)
    changed[HEADER.itemsize] = 0x7E
    changed[17:21] = struct.pack(">I", crc32c(bytes(changed[21:])))
    return bytes(changed)


def test_a_batch_of_offsets_in_a_transaction_that_cannot_be_read_is_a_finding_with_its_place(
    tmp_path,
):
    whole = [batch(0), unreadable(data(1)), marker(2, 5, 0)]
    write(tmp_path, GROUPS, *whole)
    damaged = [each for each in audit_logs([tmp_path]).findings if each.kind == "damaged"]
    (each,) = damaged
    assert (each.partition, each.offset) == (GROUPS, 1)
    assert f"byte {len(whole[0])}, {len(whole[1])} bytes: " in each.what


def test_of_a_partition_on_several_brokers_the_longest_copy_is_audited(tmp_path):
    for number, rows in ((1, [data(0)]), (2, [data(0), marker(1, 5, 0)])):
        write(tmp_path / f"b{number}", "out-0", *rows)
        (tmp_path / f"b{number}" / "meta.properties").write_text(f"node.id={number}\n")
    audited = audit_logs([tmp_path / "b1", tmp_path / "b2"])
    assert audited.replicas == ("out-0 of broker 1",)
    assert audited.findings == ()


def test_a_whole_folder_of_a_broker_has_open_transactions_and_nothing_that_is_wrong(tmp_path):
    audited = audit_logs([unpack_folder(tmp_path)[0]])
    assert audited.coordinators_complete
    kinds = [each.kind for each in audited.findings]
    assert (kinds.count("open"), audited.fails) == (3, False)


def test_every_finding_says_what_it_means():
    assert all(meaning.endswith(".") for _, meaning in KINDS.values())


def test_a_transaction_of_an_epoch_before_the_ongoing_one_hangs(tmp_path):
    """AbortTransaction of kafka-transactions.sh: what the coordinator has open is another one."""
    states(tmp_path, (3, "ONGOING", ("out-0",), 0))
    write(tmp_path, "out-0", data(0, epoch=2))
    (each,) = audit_logs([tmp_path]).findings
    assert (each.kind, each.producer_epoch, each.transactional_id) == ("hanging", 2, "app")


def test_the_newest_time_is_that_of_brokers_and_not_what_a_producer_wrote_into_its_records():
    def end(partition, last_ms, marker_ms=-1):
        return PartitionEnd(partition, 1, 0, 5, last_ms, marker_ms, 5, 100)

    future = end("out-0", START + 10**9)
    assert surroundings([future], 0).now_ms == START + 10**9
    assert surroundings([future, end(COORDINATOR, START)], 0).now_ms == START
    marked = end("out-1", START, START + 5)
    assert surroundings([future, marked, end(GROUPS, START + 3)], 0).now_ms == START + 5
