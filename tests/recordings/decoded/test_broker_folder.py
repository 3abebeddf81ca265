"""A broker's folder as it lies on disk: the README's commands read it whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import kipviz
from kipviz.command.main import main
from kipviz.recordings.decoded import cluster_metadata
from kipviz.recordings.decoded.cluster_metadata import (
    ClusterMetadata,
    LoggedMetadata,
    compacted_topics,
    metadata_record,
    read_metadata,
)
from kipviz.recordings.decoded.group_configs import configure_group
from kipviz.recordings.files.broker_folder import broker_folder, metadata_of, partitions_in
from kipviz.recordings.files.segments import LoggedBatch, LoggedRecord, read_partition
from kipviz.recordings.recording_error import RecordingError
from kipviz.recordings.request_context import evidence
from kipviz.recordings.request_context.evidence import of_broker
from kipviz.records.fields import FieldsError
from kipviz.widgets.rebuilt_logs import DamagedLog
from tests.recordings.made_logs import batch, write
from tests.recordings.whole_folder import RECORDED, unpack_folder

METADATA = "__cluster_metadata-0"


@pytest.fixture
def whole(tmp_path: Path) -> tuple[Path, Path]:
    return unpack_folder(tmp_path)


def metadata_in(folder: Path) -> ClusterMetadata:
    """Read the metadata log of a broker's folder."""
    known, unread = metadata_of(broker_folder(folder))
    assert known is not None
    assert unread == ()
    return known


def test_the_recorded_folder_has_what_made_the_commands_fail(whole: tuple[Path, Path]) -> None:
    names = [each.name for each in whole[0].iterdir()]
    assert METADATA in names
    assert any(name.startswith("gone-0.") and name.endswith("-delete") for name in names)
    assert {"meta.properties", "recovery-point-offset-checkpoint"} < set(names)
    assert any(each.suffix == ".checkpoint" for each in (whole[0] / METADATA).iterdir())
    assert (whole[0] / METADATA / "quorum-state").exists()
    assert RECORDED.stat().st_size < 200_000


def test_open_reads_a_broker_s_folder_as_it_lies_on_disk(
    whole: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "log.html"
    words = ["log", str(whole[0]), "--open", "--no-browser", "--to", str(page), "--json"]
    assert main(words) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["not_read"] == []
    assert {row["partition"] for row in told["blocked"]} == {"orders-0"}
    assert {row["transactional_id"] for row in told["blocked"]} >= {"app-2"}
    assert "<script" in page.read_text(encoding="utf-8")


def test_accept_judges_a_broker_s_folder_as_it_lies_on_disk(
    whole: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(whole[0]), "--accept", "--requests", str(whole[1]), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["refused"] == []
    # The metadata log says who leads what, so FindCoordinator is judged, too.
    assert told["asked"]["FIND_COORDINATOR"] == 10
    assert told["asked"]["PRODUCE"] == 11
    assert told["accepted"] == told["answers"] > 70
    deleted = [each for each in told["cannot_judge"] if "deleted" in each["reason"]]
    assert [(each["api"], each["requests"]) for each in deleted] == [("PRODUCE", 1)]


def test_a_broker_s_folder_is_listed_with_what_to_do_next(
    whole: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(whole[0])]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{whole[0]}: 12 partitions of broker 1, 8 of them with batches"
    assert any(line.split()[:1] == ["orders-0"] and "leader epoch" in line for line in lines)
    assert any(METADATA in line and "cluster's metadata" in line for line in lines)
    assert any("-delete holds gone-0, which was deleted" in line for line in lines)
    assert f"  kipviz log {whole[0]} --open" in "\n".join(lines)
    assert main(["log", str(whole[0]), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["partition"] for row in told["partitions"] if row["bytes"]][-1] == "src-0"


def test_the_metadata_log_is_told_record_by_record(
    whole: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(whole[0] / METADATA), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["told"]
    kinds = {each["kind"] for each in told}
    assert {"Topic", "Leadership", "Config", "Feature", "Removal"} < kinds
    assert {"LeaderChange", "RegisterBroker", "NoOp"} < kinds


def test_the_metadata_log_says_topics_leaders_settings_and_levels(whole: tuple[Path, Path]) -> None:
    known = metadata_in(whole[0])
    assert [topic for topic, _ in known.topics][:2] == ["src", "orders"]
    assert [topic for topic, _ in known.removed] == ["gone"]
    of_orders = [d for d in known.decisions if d.partition == "orders-1"]
    # The broker led it until its orderly stop; with KIP-966 it is then an eligible leader and not in sync.
    assert [(d.leader, d.leader_epoch, d.isr) for d in of_orders] == [(1, 0, (1,)), (-1, 1, ())]
    assert known.settings_of("group", "sharers") == (("share.auto.offset.reset", "earliest"),)
    assert known.settings_of("topic", "orders") == (("retention.ms", "86400000"),)
    assert known.levels_of("transaction.version") == (2,)


def test_settings_and_levels_of_the_cluster_are_taken_from_its_metadata(
    whole: tuple[Path, Path],
) -> None:
    """Without the group's setting its first fetch would begin at the end of the topic."""
    found = of_broker(whole[0], (whole[1],))
    configs = [configure_group(each, found.config_changes) for each in found.configs]
    assert [(c.group_id, c.auto_offset_reset) for c in configs] == [("sharers", "earliest")]
    assert found.levels == (2,)
    assert found.node == 1
    assert found.internal_partitions == 3


def test_a_single_broker_s_answers_name_no_broker_and_nothing_waits_for_other_replicas(
    whole: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one broker led everything, every partition was replicated by the broker itself."""
    monkeypatch.setattr(evidence, "_more_replicas", lambda *_: (("orders", 2),))
    found = of_broker(whole[0], (whole[1],))
    assert not found.led
    assert {exchange.broker for exchange in found.exchanges} == {0}
    assert found.min_insync_replicas == ()


def test_a_metadata_log_whose_front_is_deleted_is_read_from_its_snapshot(
    whole: tuple[Path, Path],
) -> None:
    folder = whole[0] / METADATA
    before = read_metadata(folder)
    (segment,) = read_partition(folder)
    data = (folder / "00000000000000000000.log").read_bytes()
    cut = segment.batches[len(segment.batches) // 2]
    head, tail = data[: cut.position], data[cut.position :]
    (folder / "00000000000000000000.log").unlink()
    (folder / f"{cut.base_offset:020}.log").write_bytes(tail)
    assert read_metadata(folder) != before
    # A snapshot has the same layout as a log; this one has everything before its offset.
    (folder / f"{cut.base_offset:020}-0000000001.checkpoint").write_bytes(head)
    assert read_metadata(folder) == before


def test_a_damaged_metadata_log_is_set_aside_and_the_logs_are_judged_without_it(
    whole: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    log = whole[0] / METADATA / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[700] ^= 1
    log.write_bytes(data)
    assert main(["log", str(whole[0])]) == 0
    assert f"{METADATA} cannot be read: {log}, byte " in capsys.readouterr().out
    assert main(["log", str(whole[0]), "--accept", "--requests", str(whole[1]), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["asked"]["PRODUCE"] == 11
    assert "FIND_COORDINATOR" not in told["asked"]


def test_an_unknown_metadata_record_is_named_and_never_tripped_over() -> None:
    batch = LoggedBatch(0, 0, 0, 0, 0, False, False, "none", False, 0, 0, -1, -1, -1, ())

    def read(value: bytes | None) -> object:
        return metadata_record(LoggedRecord(7, 0, None, value, (), 0), batch)

    assert read(b"\x01\x63\x00anything") == LoggedMetadata(7, "type 99")
    assert read(b"\x01\x14\x00\x00") == LoggedMetadata(7, "NoOp")
    for damaged in (None, b"", b"\x02\x14\x00", b"\x01\x02\x00\x09ab"):
        with pytest.raises(FieldsError):
            read(damaged)


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        ("-delete", "was deleted"),
        ("-future", "is being copied to another log directory"),
        ("-stray", "is not placed on this broker"),
    ],
)
def test_what_is_left_over_of_a_partition_is_set_aside(
    ending: str, why: str, whole: tuple[Path, Path]
) -> None:
    other = whole[0] / f"src-0.{'0a' * 16}{ending}"
    shutil.copytree(whole[0] / "src-0", other)
    here = broker_folder(whole[0])
    assert [each.name for each in here.partitions].count("src-0") == 1
    assert other.name not in [each.name for each in here.partitions]
    (said,) = [each.why for each in here.set_aside if each.name == other.name]
    assert f"holds src-0, which {why}" in said
    with pytest.raises(RecordingError, match="holds src-0"):
        partitions_in(other)


def test_a_request_log_beside_the_partitions_makes_no_partition_of_the_folder(
    whole: tuple[Path, Path],
) -> None:
    (whole[0] / "kafka-request.log").write_bytes(whole[1].read_bytes())
    assert len(partitions_in(whole[0])) == 12


def test_the_metadata_log_alone_is_no_log_to_step_through(whole: tuple[Path, Path]) -> None:
    with pytest.raises(RecordingError, match="name the folder above it"):
        kipviz.rebuild(whole[0] / METADATA)


def test_the_files_of_a_rolled_request_log_are_read_together(
    whole: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = whole[1].read_bytes().splitlines(keepends=True)
    older, newer = tmp_path / "kafka-request.log.1", tmp_path / "newer.log"
    older.write_bytes(b"".join(lines[:60]))
    newer.write_bytes(b"".join(lines[60:]))
    words = ["log", str(whole[0]), "--accept", "--json", "--requests"]
    assert main([*words, str(whole[1])]) == 0
    at_once = json.loads(capsys.readouterr().out)
    # In any order, and with a line that stands in both.
    newer.write_bytes(b"".join(lines[59:]))
    assert main([*words, str(newer), str(older)]) == 0
    assert json.loads(capsys.readouterr().out) == at_once


@pytest.mark.parametrize(
    ("partition", "rows"), [("orders-0", 1), ("__transaction_state-1", 1), ("src-0", 1)]
)
def test_a_damaged_batch_costs_itself_and_is_named_with_its_place(
    partition: str,
    rows: int,
    whole: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = whole[0] / partition / "00000000000000000000.log"
    (segment,) = read_partition(log.parent)
    broken = segment.batches[1]
    data = bytearray(log.read_bytes())
    data[broken.position + broken.size - 2] ^= 0x40
    log.write_bytes(data)
    words = ["log", str(whole[0]), "--open", "--no-browser", "--to", str(tmp_path / "p.html")]
    assert main([*words, "--json"]) in (0, 1)
    told = json.loads(capsys.readouterr().out)
    assert len(told["not_read"]) == rows
    assert f"{log}, byte {broken.position}: the batch is damaged" in told["not_read"][0]
    whole_steps = 46
    assert told["steps"] <= whole_steps
    found = of_broker(whole[0], (whole[1],))
    assert found.damaged == (partition,)
    assert found.not_read == tuple(told["not_read"])
    assert main(["log", str(whole[0]), "--accept", "--requests", str(whole[1])]) in (0, 1)
    assert f"not read: {told['not_read'][0]}" in capsys.readouterr().out
    with pytest.warns(
        DamagedLog, match=f"Not read: .*byte {broken.position}: the batch is damaged"
    ):
        assert kipviz.rebuild(whole[0]).last_step == told["steps"]
    places = [e.batch.base_offset for e in found.entries if e.partition == partition]
    assert broken.base_offset not in places
    assert max(places) > broken.base_offset


def test_a_batch_that_is_cut_off_is_named_with_its_place(whole: tuple[Path, Path]) -> None:
    log = whole[0] / "orders-0" / "00000000000000000000.log"
    (segment,) = read_partition(log.parent)
    last = segment.batches[-1]
    log.write_bytes(log.read_bytes()[:-20])
    found = of_broker(whole[0], (whole[1],))
    assert found.damaged == ("orders-0",)
    (said,) = found.not_read
    assert f"{log}, byte {last.position}: the last batch is cut off: it needs {last.size} " in said
    assert last.base_offset not in [
        e.batch.base_offset for e in found.entries if e.partition == "orders-0"
    ]


def test_what_follows_a_broken_length_in_a_file_is_lost_and_said_so(
    whole: tuple[Path, Path],
) -> None:
    log = whole[0] / "src-0" / "00000000000000000000.log"
    (segment,) = read_partition(log.parent)
    data = bytearray(log.read_bytes())
    data[segment.batches[2].position + 16] = 9  # the format of the batch
    log.write_bytes(data)
    found = of_broker(whole[0], (whole[1],))
    (said,) = found.not_read
    assert said.startswith(f"{log}, byte {segment.batches[2].position}: this is not a Kafka log: ")
    assert said.endswith(" The rest of the file is not read.")
    assert len([e for e in found.entries if e.partition == "src-0"]) == 2


@pytest.mark.parametrize(
    ("about", "number"),
    [
        ("node.id=4\n", 4),
        ("broker.id=3\n", 3),  # meta.properties of version 0, and of every release with ZooKeeper
        ("node.id=4\nbroker.id=3\n", 4),
        ("broker.id=x\n", -1),
        ("", -1),
    ],
)
def test_a_folder_is_of_the_broker_that_its_properties_name(
    tmp_path: Path, about: str, number: int
) -> None:
    write(tmp_path, "t-0", batch(0))
    (tmp_path / "meta.properties").write_text(about + "cluster.id=c\n")
    found = broker_folder(tmp_path)
    assert (found.broker, found.cluster) == (number, "c")


@pytest.mark.parametrize(
    ("policy", "compacted"),
    [("compact", True), ("delete", False), ("compact,delete", True), ("delete,compact", True)],
)
def test_a_topic_is_compacted_if_its_cleanup_policy_says_so(
    policy: str, *, compacted: bool
) -> None:
    configs = (("topic", "t", "cleanup.policy", policy), ("topic", "u", "retention.ms", "compact"))
    known = ClusterMetadata(configs=configs)
    assert compacted_topics(known) == (("t",) if compacted else ())


def test_the_records_of_a_transaction_of_the_controller_have_kafka_s_numbers_and_names():
    """KIP-868; MetadataRecordType."""
    named = {23: "BeginTransaction", 24: "EndTransaction", 25: "AbortTransaction"}
    assert {kind: cluster_metadata.OTHER_KINDS[kind] for kind in named} == named
    assert tuple(named.values()) == (
        cluster_metadata.BEGINS,
        cluster_metadata.ENDS,
        cluster_metadata.ABORTS,
    )
