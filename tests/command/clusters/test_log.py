"""`kipviz log`: the logs of a real broker, told; damage refused with one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kipviz.command.main import main
from kipviz.recordings.files.segments import read_partition

RECORDED = Path(__file__).parents[2] / "recordings" / "kafka-4.4.0" / "commit-and-abort"


def test_the_states_of_a_recorded_transaction_are_told_in_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["log", str(RECORDED / "__transaction_state-45"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["topic"] == "__transaction_state"
    states = [part["state"] for part in told["told"] if part["kind"] == "Transaction"]
    assert states[:2] == ["EMPTY", "ONGOING"]
    assert [s for s in states if s.startswith(("PREPARE", "COMPLETE"))] == [
        "PREPARE_COMMIT",
        "COMPLETE_COMMIT",
        "PREPARE_ABORT",
        "COMPLETE_ABORT",
        "PREPARE_COMMIT",
        "COMPLETE_COMMIT",
    ]


def test_a_users_topic_tells_its_markers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", str(RECORDED / "output-A-0")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("output-A: ")
    markers = [line for line in lines if "Marker: committed" in line]
    assert ["committed True" in line for line in markers] == [True, False, True]


def test_what_is_no_kafka_log_is_refused_with_file_and_byte(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "00000000000000000000.log").write_text("not a log, only words " * 9)
    assert main(["log", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "00000000000000000000.log" in said.err
    assert "byte 0" in said.err


def test_a_torn_log_is_refused_unless_it_was_copied_from_a_running_broker(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole = next((RECORDED / "output-A-0").glob("*.log")).read_bytes()
    (tmp_path / "00000000000000000000.log").write_bytes(whole[:-5])
    assert main(["log", str(tmp_path)]) == 2
    assert capsys.readouterr().out == ""
    assert main(["log", str(tmp_path), "--torn-tail"]) == 0


def test_nothing_at_a_path_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["log", str(tmp_path / "gone")]) == 2
    assert capsys.readouterr().err.endswith("name a partition's folder or a .log file\n")


def test_a_log_in_which_nothing_is_written_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "00000000000000000000.log").touch()
    assert main(["log", str(tmp_path), "--topic", "orders"]) == 0
    head, said = capsys.readouterr().out.splitlines()
    assert head == "orders: 0 batches, 0 records"
    assert said.startswith("This log is empty: ")
    assert main(["log", str(tmp_path), "--topic", "orders", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["batches"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--open", "--accept"), "--open and --accept exclude each other"),
        (("--requests", "requests.log"), "--requests is for --accept"),
        (("--utc-offset", "+02:00"), "--utc-offset is for --requests"),
        (("--accept", "--settings", "group.share.max.size=3"), "--settings is for --requests"),
        (("--to", "x.html"), "--to is for --open"),
        (("--no-browser",), "--no-browser is for --open"),
        (("--whole",), "--whole is for --open"),
        (("--open", "--whole", "--at", "src-0:1"), "--at and --whole exclude each other"),
        (("--last", "3"), "--last is for --open"),
        (("--topics", "src"), "--topics is for --open or --requests"),
        (("--accept", "--torn-tail"), "--torn-tail is for a log that is printed, or --open"),
        (("--open", "--topic", "src"), "--topic is for one partition's log"),
        (("--open", "--no-browser", "--topics", "src,nope"), "no log of a topic 'nope' here"),
        (("--accept", "--requests", "x"), "is a recording: it brings its own requests"),
    ],
)
def test_options_that_say_nothing_here_are_refused_in_one_sentence(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", str(RECORDED), *words]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_open_transactions_are_told_with_what_ends_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The logs end within the first transaction: its batch and its offset are there, and no marker."""
    for name in ("output-A-0", "__transaction_state-45", "src-0"):
        shutil.copytree(RECORDED / name, tmp_path / "logs" / name)
    for name, batches in (("output-A-0", 1), ("__transaction_state-45", 2)):
        log = tmp_path / "logs" / name / "00000000000000000000.log"
        log.write_bytes(
            log.read_bytes()[: read_partition(RECORDED / name)[0].batches[batches].position]
        )
    words = [
        "log",
        str(tmp_path / "logs"),
        "--open",
        "--no-browser",
        "--to",
        str(tmp_path / "x.html"),
    ]
    assert main(words) == 1
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("output-A-0: open transaction from offset 0")
    assert lines[at + 1 : at + 3] == [
        "  the last stable offset stays at 0, the high watermark is 1",
        "  transactional.id my-txn, producer id 0, epoch 0",
    ]
    ways = [line for line in lines if line.startswith("  what ends it: ")]
    assert len(ways) == 4
    assert ways[-1].endswith(" forceTerminateTransaction --transactionalId my-txn")
    assert not any("which is not here" in line for line in lines)
