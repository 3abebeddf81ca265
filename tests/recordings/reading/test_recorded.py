"""The recordings of real brokers: what exactly is in them, and that a changed one is refused.

The tables here are Kafka's own answers. The model is held against the recordings elsewhere; these
tests say that the recordings are read right and did not change.
"""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipviz.recordings.decoded.internal_topics import (
    LoggedGroupRecord,
    LoggedMarker,
    LoggedOffset,
    LoggedShareSnapshot,
    markers,
)
from kipviz.recordings.files.request_log import exchanges_in
from kipviz.recordings.recorded import ABOUT, CALLS, load_recording
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.placement import partition_for, share_partition_key

HERE = Path(__file__).parents[1]
SCENARIOS = (
    "commit-and-abort",
    "compressed",
    "fenced-and-timed-out",
    "restart",
    "share-acknowledge",
    "share-locks",
)
# What was recorded of the newest release only.
MORE = (
    "acls",
    "acls-clients",
    "acls-share",
    "classic-members",
    "classic-static",
    "cluster-answers",
    "coordinator-move",
    "deleted-records",
    "expired-offsets",
    "forgotten-id",
    "group-answers",
    "groups-restart",
    "idempotent",
    "last-epoch",
    "leader-move",
    "markers-across-brokers",
    "members",
    "members-static",
    "min-insync-replicas",
    "older-client",
    "older-client-members",
    "older-client-version-0",
    "operator",
    "pruned-shares",
    "reader",
    "rolling-bounce",
    "share-answers",
    "share-committed",
    "share-dead-letters",
    "share-implicit",
    "share-leader-move",
    "share-operator",
    "share-partitions",
    "share-renew",
    "share-two-members",
    "silent-producer",
    "transaction-answers",
    "transaction-answers-version-1",
    "transaction-version-0",
    "transaction-version-1",
    "transaction-version-upgrade",
    "two-phase",
    "wrong-sequences",
    "zombie",
)
OUTPUT = ("output-A", (0,))
OFFSETS = ("__consumer_offsets", (7,))


def states(recording):
    """Offset, state, epoch, partitions and the client's transaction version of each record."""
    return [
        (r.offset, r.state.value, r.producer_epoch, r.partitions, r.client_transaction_version)
        for r in recording.decode_topic("__transaction_state")
    ]


def ends_of_transactions(recording, partition):
    """Offset, outcome, epoch and coordinator epoch of each marker in a partition."""
    return [
        (m.offset, m.committed, m.producer_epoch, m.coordinator_epoch)
        for segment in recording.segments[partition]
        for m in markers(segment)
    ]


def data(recording, partition):
    """Offset, producer epoch, sequence and value of each record that is not a marker."""
    return [
        (r.offset, b.producer_epoch, b.base_sequence, r.value.decode())
        for segment in recording.segments[partition]
        for b in segment.batches
        if not b.control
        for r in b.records
    ]


def share_records(recording):
    """Kind, snapshot epoch, leader epoch, start offset, count and batches of each record."""
    return [
        (
            "snapshot" if isinstance(r, LoggedShareSnapshot) else "update",
            r.snapshot_epoch,
            r.leader_epoch,
            r.start_offset,
            r.delivery_complete_count,
            [(b.first, b.last, b.state.name, b.delivery_count) for b in r.batches],
        )
        for r in recording.decode_topic("__share_group_state")
    ]


def calls(recording, name):
    return [c for c in recording.calls if c.name == name]


def wire(recording, api):
    return [e for e in recording.wire if e.api == api]


def test_there_is_a_recording_of_every_scenario_for_every_release(release):
    there = {f.name for f in release.iterdir()}
    assert there == set(SCENARIOS) | (set(MORE) if release.name == "kafka-4.4.0" else set())


@pytest.mark.parametrize("scenario", MORE)
def test_a_recording_of_another_feature_level_says_it(scenario):
    levels = {
        "older-client-version-0": 0,
        "transaction-version-0": 0,
        "transaction-version-1": 1,
        "transaction-answers-version-1": 1,
        "transaction-version-upgrade": 1,
    }
    recording = load_recording(HERE / "kafka-4.4.0" / scenario)
    assert recording.scenario == scenario
    assert recording.kafka == "4.4.0"
    # A level of 0 is that of a feature that is not finalized.
    assert recording.features.get("transaction.version", 0) == levels.get(scenario, 2)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_recording_knows_which_kafka_it_is_of(release, recorded, scenario):
    recording = recorded(scenario)
    assert recording.scenario == scenario
    assert f"kafka-{recording.kafka}" == release.name
    assert recording.features["transaction.version"] == 2
    assert recording.features["share.version"] == (2 if release.name == "kafka-4.4.0" else 1)
    assert [c.number for c in recording.calls] == list(range(len(recording.calls)))


def test_commit_abort_commit_goes_through_these_coordinator_states(recorded):
    both = (OUTPUT, OFFSETS)
    assert states(recorded("commit-and-abort")) == [
        (0, "EMPTY", 0, None, 0),
        (1, "ONGOING", 0, (OUTPUT,), 2),
        (2, "ONGOING", 0, both, 2),
        (3, "PREPARE_COMMIT", 1, both, 2),
        (4, "COMPLETE_COMMIT", 1, (), 2),
        (5, "ONGOING", 1, (OUTPUT,), 2),
        (6, "ONGOING", 1, both, 2),
        (7, "PREPARE_ABORT", 2, both, 2),
        (8, "COMPLETE_ABORT", 2, (), 2),
        (9, "ONGOING", 2, (OUTPUT,), 2),
        (10, "ONGOING", 2, both, 2),
        (11, "PREPARE_COMMIT", 3, both, 2),
        (12, "COMPLETE_COMMIT", 3, (), 2),
    ]


def test_every_transaction_record_has_the_flexible_layout_and_the_same_producer(recorded):
    for scenario in ("commit-and-abort", "fenced-and-timed-out", "restart"):
        for record in recorded(scenario).decode_topic("__transaction_state"):
            assert record.transactional_id == "my-txn"
            assert record.version == 1
            assert record.producer_id == record.previous_producer_id == 0
            assert record.next_producer_id == record.next_producer_epoch == -1
            assert (record.start_ms == -1) == (record.state.value == "EMPTY")
            assert record.start_ms <= record.last_update_ms


def test_markers_carry_the_epoch_after_that_of_the_data(recorded):
    recording = recorded("commit-and-abort")
    assert data(recording, "output-A-0") == [
        (0, 0, 0, "out-0"),
        (1, 0, 1, "out-1"),
        (3, 1, 0, "out-2"),
        (4, 1, 1, "out-3"),
        (6, 2, 0, "out-2"),
        (7, 2, 1, "out-3"),
    ]
    assert ends_of_transactions(recording, "output-A-0") == [
        (2, True, 1, 0),
        (5, False, 2, 0),
        (8, True, 3, 0),
    ]
    assert ends_of_transactions(recording, "__consumer_offsets-7") == [
        (6, True, 1, 0),
        (8, False, 2, 0),
        (10, True, 3, 0),
    ]


def test_offsets_inside_a_transaction_stand_between_membership_and_markers(recorded):
    found = recorded("commit-and-abort").decode_topic("__consumer_offsets")
    assert [r.offset for r in found] == list(range(len(found)))
    assert [
        (r.offset, r.group, r.topic, r.partition, r.committed_offset, r.producer_epoch, r.version)
        for r in found
        if isinstance(r, LoggedOffset)
    ] == [
        (5, "my-group-4", "src", 0, 2, 0, 4),
        (7, "my-group-4", "src", 0, 4, 1, 4),
        (9, "my-group-4", "src", 0, 4, 2, 4),
    ]
    assert [r.offset for r in found if isinstance(r, LoggedMarker)] == [6, 8, 10]
    assert {r.group for r in found if isinstance(r, LoggedGroupRecord)} == {"my-group-4"}


def test_offsets_name_their_topic_by_its_id_since_kafka_4_4(release, recorded):
    recording = recorded("commit-and-abort")
    found = [r for r in recording.decode_topic("__consumer_offsets") if isinstance(r, LoggedOffset)]
    expected = recording.topic_ids["src"] if release.name == "kafka-4.4.0" else ""
    assert [r.topic_id for r in found] == [expected] * 3
    versions = [e.version for e in wire(recording, "TXN_OFFSET_COMMIT")]
    assert versions == [6 if release.name == "kafka-4.4.0" else 5] * 3  # KIP-1319


def test_the_group_coordinator_writes_sequence_0_and_the_others_as_expected(recorded):
    recording = recorded("commit-and-abort")
    sequences = {
        partition: {
            (b.transactional, b.control, b.base_sequence)
            for segment in recording.segments[partition]
            for b in segment.batches
        }
        for partition in recording.segments
    }
    assert sequences["__consumer_offsets-7"] == {
        (False, False, 0),
        (True, False, 0),
        (True, True, -1),
    }
    assert sequences["__transaction_state-45"] == {(False, False, -1)}
    assert sequences["src-0"] == {(False, False, -1)}


def test_the_aborted_transactions_are_in_the_index(recorded):
    found = recorded("commit-and-abort").aborted
    assert {
        p: [(a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset) for a in found[p]]
        for p in found
    } == {"__consumer_offsets-7": [(0, 7, 8, 9)], "output-A-0": [(0, 3, 5, 6)]}


def test_readers_see_only_what_is_committed_and_end_behind_the_marker(recorded):
    views = [
        (
            c.arguments["isolation.level"],
            [r["offset"] for r in c.result["records"]],
            c.result["position"],
        )
        for c in calls(recorded("commit-and-abort"), "readAll")
    ]
    assert views == [
        ("read_committed", [], 0),
        ("read_uncommitted", [0, 1], 2),
        ("read_committed", [0, 1], 3),
        ("read_uncommitted", [0, 1], 3),
        ("read_committed", [0, 1], 6),
        ("read_uncommitted", [0, 1, 3, 4], 6),
        ("read_committed", [0, 1, 6, 7], 9),
        ("read_uncommitted", [0, 1, 3, 4, 6, 7], 9),
    ]


def test_while_a_transaction_is_open_the_last_stable_offset_stays(recorded):
    recording = recorded("commit-and-abort")
    first = calls(recording, "sendOffsetsToTransaction")[0]
    assert first.transaction.state == "Ongoing"
    assert first.ends["output-A-0"] == (2, 0)
    assert first.ends["__consumer_offsets-7"] == (6, 5)
    settled = calls(recording, "waitForState")[0]
    assert settled.ends["output-A-0"] == (3, 3)
    assert settled.ends["__consumer_offsets-7"] == (7, 7)
    assert settled.transaction.producer_epoch == 1


def test_the_first_batch_on_a_partition_makes_the_leader_ask_the_coordinator(recorded):
    asked = [
        (
            t["producerEpoch"],
            t["verifyOnly"],
            [(x["name"], x["partitions"]) for x in t["topics"]],
        )
        for e in wire(recorded("commit-and-abort"), "ADD_PARTITIONS_TO_TXN")
        for t in e.request["transactions"]
    ]
    assert asked == [
        (epoch, False, [partition]) for epoch in (0, 1, 2) for partition in (OUTPUT, OFFSETS)
    ]


def test_the_answer_to_end_txn_is_the_next_identity(recorded):
    found = [
        (
            e.version,
            e.request["producerEpoch"],
            e.request["committed"],
            e.response["errorCode"],
            e.response["producerId"],
            e.response["producerEpoch"],
        )
        for e in wire(recorded("commit-and-abort"), "END_TXN")
    ]
    assert found == [(5, 0, True, 0, 0, 1), (5, 1, False, 0, 0, 2), (5, 2, True, 0, 0, 3)]


def test_one_request_carries_the_markers_of_all_partitions(recorded):
    found = [
        (
            m["producerEpoch"],
            m["transactionResult"],
            m["coordinatorEpoch"],
            m["transactionVersion"],
            [(t["name"], t["partitionIndexes"]) for t in m["topics"]],
        )
        for e in wire(recorded("commit-and-abort"), "WRITE_TXN_MARKERS")
        for m in e.request["markers"]
    ]
    both = [OUTPUT, OFFSETS]
    assert found == [(1, True, 0, 2, both), (2, False, 0, 2, both), (3, True, 0, 2, both)]


def test_fencing_and_timing_out_go_through_these_coordinator_states(recorded):
    assert [(o, s, e) for o, s, e, *_ in states(recorded("fenced-and-timed-out"))] == [
        (0, "EMPTY", 0),
        (1, "ONGOING", 0),
        (2, "PREPARE_ABORT", 1),
        (3, "COMPLETE_ABORT", 1),
        (4, "EMPTY", 2),
        (5, "ONGOING", 2),
        (6, "PREPARE_COMMIT", 3),
        (7, "COMPLETE_COMMIT", 3),
        (8, "EMPTY", 4),
        (9, "ONGOING", 4),
        (10, "PREPARE_ABORT", 5),
        (11, "COMPLETE_ABORT", 5),
        (12, "EMPTY", 6),
        (13, "ONGOING", 6),
        (14, "PREPARE_ABORT", 7),
        (15, "COMPLETE_ABORT", 7),
        (16, "ONGOING", 7),
        (17, "PREPARE_COMMIT", 8),
        (18, "COMPLETE_COMMIT", 8),
    ]


def test_the_log_of_fencing_and_timing_out_alternates_data_and_markers(recorded):
    recording = recorded("fenced-and-timed-out")
    assert data(recording, "output-A-0") == [
        (0, 0, 0, "one"),
        (2, 2, 0, "two"),
        (4, 4, 0, "three"),
        (6, 6, 0, "four"),
        (8, 7, 0, "five"),
    ]
    assert ends_of_transactions(recording, "output-A-0") == [
        (1, False, 1, 0),
        (3, True, 3, 0),
        (5, False, 5, 0),
        (7, False, 7, 0),
        (9, True, 8, 0),
    ]


def test_a_fenced_and_a_timed_out_producer_get_these_exceptions(recorded):
    found = [
        (c.actor, c.name, c.error.name)
        for c in recorded("fenced-and-timed-out").calls
        if c.error is not None
    ]
    assert found == [
        ("producer-1", "send", "InvalidProducerEpochException"),
        ("producer-1", "commitTransaction", "InvalidProducerEpochException"),
        ("producer-1", "abortTransaction", "ProducerFencedException"),
        ("producer-3", "commitTransaction", "InvalidTxnStateException"),
    ]


def test_end_txn_of_the_fenced_and_the_timed_out_is_answered_so(recorded):
    found = [
        (
            e.client,
            e.request["producerEpoch"],
            e.request["committed"],
            e.response["errorCode"],
            e.response["producerEpoch"],
        )
        for e in wire(recorded("fenced-and-timed-out"), "END_TXN")
    ]
    assert found == [
        ("producer-1", 0, False, 90, -1),
        ("producer-2", 2, True, 0, 3),  # its two empty transactions sent nothing
        ("producer-3", 4, True, 48, -1),
        ("producer-4", 6, False, 0, 7),
        ("producer-4", 7, True, 0, 8),
    ]


def test_acknowledging_writes_these_share_state_records(recorded):
    assert share_records(recorded("share-acknowledge")) == [
        ("snapshot", 0, 0, -1, -1, []),
        (
            "update",
            0,
            0,
            0,
            3,
            [
                (0, 0, "ACKNOWLEDGED", 1),
                (1, 1, "AVAILABLE", 1),
                (2, 2, "ARCHIVED", 1),
                (3, 3, "ACKNOWLEDGED", 1),
            ],
        ),
        ("update", 0, 0, 1, 3, [(1, 1, "ACKNOWLEDGED", 2)]),
    ]


def test_only_the_released_record_is_delivered_again(recorded):
    found = [
        [(r["offset"], r["delivery_count"]) for r in c.result]
        for c in calls(recorded("share-acknowledge"), "poll")
    ]
    assert found == [[(0, 1), (1, 1), (2, 1), (3, 1)], [(1, 2)]]


def test_locks_closing_and_the_delivery_limit_write_these_share_state_records(recorded):
    assert share_records(recorded("share-locks")) == [
        ("snapshot", 0, 0, -1, -1, []),
        ("update", 0, 0, 0, 1, [(0, 0, "ACKNOWLEDGED", 1)]),
        ("update", 0, 0, 1, 0, [(1, 3, "AVAILABLE", 1)]),
        ("update", 0, 0, 1, 0, [(1, 3, "AVAILABLE", 2)]),
        ("snapshot", 1, 0, 1, 1, [(1, 1, "ARCHIVED", 3), (2, 3, "AVAILABLE", 2)]),
        ("update", 1, 0, 2, 1, [(2, 2, "ARCHIVED", 3)]),
        ("update", 1, 0, 3, 1, [(3, 3, "ARCHIVED", 3)]),
    ]


def test_on_its_last_attempt_a_record_travels_alone(recorded):
    recording = recorded("share-locks")
    found = [
        [(r["offset"], r["delivery_count"]) for r in c.result] for c in calls(recording, "poll")
    ]
    assert found == [
        [(0, 1), (1, 1), (2, 1), (3, 1)],
        [(1, 2), (2, 2), (3, 2)],
        [(1, 3)],
        [(2, 3)],
        [(3, 3)],
        [],
    ]
    assert [c.result["src-0"] for c in calls(recording, "commitSync")] == [
        "InvalidRecordStateException",
        "NONE",
        "NONE",
        "NONE",
    ]


def test_the_state_epoch_stays_that_of_the_initialisation(recorded):
    for scenario in ("share-acknowledge", "share-locks", "restart"):
        found = recorded(scenario).decode_topic("__share_group_state")
        assert {r.state_epoch for r in found if isinstance(r, LoggedShareSnapshot)} == {2}


def test_a_restart_goes_on_where_the_logs_end(recorded):
    recording = recorded("restart")
    assert [(o, s, e) for o, s, e, *_ in states(recording)] == [
        (0, "EMPTY", 0),
        (1, "ONGOING", 0),
        (2, "PREPARE_COMMIT", 1),
        (3, "COMPLETE_COMMIT", 1),
    ]
    assert data(recording, "output-A-0") == [(0, 0, 0, "out-1"), (1, 0, 1, "out-2")]
    assert ends_of_transactions(recording, "output-A-0") == [(2, True, 1, 2)]
    assert share_records(recording) == [
        ("snapshot", 0, 0, -1, -1, []),
        (
            "update",
            0,
            0,
            0,
            1,
            [(0, 0, "AVAILABLE", 1), (1, 1, "ACKNOWLEDGED", 1), (2, 3, "AVAILABLE", 1)],
        ),
        ("update", 0, 2, 0, 1, []),
        ("update", 0, 2, 0, 4, [(0, 0, "ACKNOWLEDGED", 2), (2, 3, "ACKNOWLEDGED", 2)]),
    ]


def test_an_acquisition_that_was_lost_in_a_restart_does_not_count(recorded):
    polls = calls(recorded("restart"), "poll")
    before, after = polls[-2:]
    assert before.actor == "share-1"
    assert after.actor == "share-2"
    assert [(r["offset"], r["delivery_count"]) for r in before.result] == [(0, 2), (2, 2), (3, 2)]
    assert after.result == before.result


@pytest.mark.parametrize("scenario", ["share-acknowledge", "share-locks", "restart"])
def test_share_state_lies_in_the_partition_that_the_hash_of_its_key_names(recorded, scenario):
    recording = recorded(scenario)
    key = share_partition_key("g1", recording.topic_ids["src"], 0)
    partition = partition_for(key, recording.partition_counts["__share_group_state"])
    assert recording.partitions("__share_group_state") == (f"__share_group_state-{partition}",)


def test_groups_and_transactional_ids_lie_where_their_hash_says(recorded):
    recording = recorded("commit-and-abort")
    assert recording.partition_counts["__consumer_offsets"] == 50
    for name, topic in (("my-group-4", "__consumer_offsets"), ("my-txn", "__transaction_state")):
        expected = f"{topic}-{partition_for(name, 50)}"
        assert recording.partitions(topic) == (expected,)


# --- refusing ------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path):
    folder = tmp_path / "share-acknowledge"
    shutil.copytree(HERE / "kafka-4.4.0/share-acknowledge", folder)
    return folder


def test_a_recording_equals_itself_read_again(recorded, release):
    assert load_recording(release / "restart") == recorded("restart")


@given(st.data())
def test_a_byte_flipped_in_any_recorded_file_is_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("flip") / "r"
    shutil.copytree(HERE / "kafka-4.4.0/share-acknowledge", folder)
    about = json.loads((folder / ABOUT).read_text())
    file = folder / data.draw(st.sampled_from(sorted(about["files"])))
    content = bytearray(file.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    with pytest.raises(RecordingError, match="SHA-256 differs") as refused:
        load_recording(folder)
    assert refused.value.file == str(file)


def test_a_folder_that_is_no_recording_is_refused(tmp_path):
    with pytest.raises(RecordingError, match=r"recording.json, byte 0: this is not a recording"):
        load_recording(tmp_path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not what a recording holds"),
        ("[]", "not what a recording holds"),
        ('{"format": 2}', "has format 2; this version reads 1"),
        ('{"format": 1}', "missing required field"),
    ],
)
def test_a_description_of_another_kind_is_refused(copy, text, sentence):
    (copy / ABOUT).write_text(text)
    with pytest.raises(RecordingError, match=sentence):
        load_recording(copy)


def edit(folder, change):
    about = json.loads((folder / ABOUT).read_text())
    change(about)
    (folder / ABOUT).write_text(json.dumps(about))


def test_a_missing_file_is_refused(copy):
    (copy / CALLS).unlink()
    with pytest.raises(RecordingError, match=r"calls.jsonl, byte 0: the file cannot be read"):
        load_recording(copy)
    edit(copy, lambda about: about["files"].pop(CALLS))
    with pytest.raises(RecordingError, match=r"does not list calls.jsonl"):
        load_recording(copy)


def test_topics_that_cannot_be_are_refused_before_anything_is_counted_out(copy):
    topic = next(iter(load_recording(copy).partition_counts))
    edit(copy, lambda about: about["topics"][topic].update(partitions=10**30))
    with pytest.raises(RecordingError, match=r"recording.json, byte 0: .*partitions"):
        load_recording(copy)
    edit(copy, lambda about: about["topics"][topic].update(partitions=10_001))
    with pytest.raises(RecordingError, match=r"<= 10000"):
        load_recording(copy)


def test_a_log_of_a_topic_that_is_not_listed_is_refused(copy):
    logs = load_recording(copy).segments.keys()
    edit(copy, lambda about: about["topics"].pop(logs[0].rpartition("-")[0]))
    with pytest.raises(RecordingError, match=f"a log of {logs[0]}, and no such topic"):
        load_recording(copy)


def test_a_line_that_is_no_call_is_refused_with_its_byte(copy):
    import hashlib

    lines = (copy / CALLS).read_bytes().splitlines(keepends=True)
    lines[2] = b'{"call": "two"}\n'
    content = b"".join(lines)
    (copy / CALLS).write_bytes(content)
    edit(copy, lambda a: a["files"].update({CALLS: hashlib.sha256(content).hexdigest()}))
    at = len(lines[0]) + len(lines[1])
    with pytest.raises(RecordingError, match=rf"calls.jsonl, byte {at}: this is not what"):
        load_recording(copy)


def test_bytes_that_are_no_text_are_damage_with_a_file(tmp_path):
    damaged = tmp_path / "recording"
    shutil.copytree(HERE / "kafka-4.4.0" / "commit-and-abort", damaged)
    (damaged / ABOUT).write_bytes((damaged / ABOUT).read_bytes().replace(b"4.4.0", b"4.4.\xff", 1))
    with pytest.raises(
        RecordingError, match=rf"{ABOUT}, byte 0: this is not what a recording holds"
    ):
        load_recording(damaged)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (b"2026-13-45 22:43:59", b"{}"),  # no such day
        (b"2026-11-21 22:43:59", b'{"requestHeader": "\xff"}'),
        (
            b"2026-11-21 22:43:59",
            (
                b'{"requestHeader": {"requestApiKeyName": "FETCH", "requestApiVersion": 17, "clientId": ""},'
                b' "totalTimeMs": 1e999}'
            ),
        ),
    ],
)
def test_a_request_at_no_time_or_of_no_text_is_damage_with_a_byte(tmp_path, when, said):
    log = tmp_path / "requests.log"
    log.write_bytes(
        b"[" + when + b",123] DEBUG Completed request:" + said + b" (kafka.request.logger)\n"
    )
    with pytest.raises(
        RecordingError, match=r"byte 0: this line is not a request as a broker logs it"
    ):
        exchanges_in(log)


def test_a_line_of_a_request_log_that_is_cut_off_is_counted_with_its_place(tmp_path):
    whole = (
        b'[2026-11-21 22:43:59,123] DEBUG Completed request:{"requestHeader": {"requestApiKeyName":'
        b' "FETCH", "requestApiVersion": 17, "clientId": ""}, "request": {}, "response": {},'
        b' "totalTimeMs": 1.5} (kafka.request.logger)\n'
    )
    log = tmp_path / "requests.log"
    log.write_bytes(b"a line of another logger\n" + whole + whole[:90] + b"\n" + whole)
    first, cut, last = exchanges_in(log)
    assert first == last
    assert (first.api, first.problem) == ("FETCH", "")
    assert cut.problem.startswith(f"The line at byte {25 + len(whole)} is cut off, or not in")
    other = whole.replace(b" (kafka.request.logger)", b"")
    log.write_bytes(other * 2)
    with pytest.raises(
        RecordingError, match=r"byte 0: this line is cut off, or not in Kafka's lay"
    ):
        exchanges_in(log)


def test_a_request_log_that_is_not_there_is_named_without_a_byte(tmp_path):
    with pytest.raises(RecordingError, match=r"nowhere.log: the request log cannot be read"):
        exchanges_in(tmp_path / "nowhere.log")
