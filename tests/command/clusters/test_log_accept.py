"""`kipviz log --accept`: a recording, or a broker's own logs and request log, against the model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kipviz.command.main import main

RELEASE = Path(__file__).parents[2] / "recordings" / "kafka-4.4.0"


def same(line: dict[str, Any]) -> dict[str, Any]:
    """Leave a line of a recording as it is."""
    return line


def broker(
    name: str, folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]] = same
) -> tuple[Path, Path]:
    """Make the folder of logs and the request log that a broker would have left."""
    recording = RELEASE / name
    about = json.loads((recording / "recording.json").read_text())
    for partition in (p for p in recording.iterdir() if p.is_dir()):
        copy = folder / "logs" / partition.name
        shutil.copytree(partition, copy)
        topic_id = about["topics"][partition.name.rpartition("-")[0]]["topic_id"]
        (copy / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    for topic, told in about["topics"].items():
        for index in range(0 if topic.startswith("__") else told["partitions"]):
            # A recording leaves out what is empty, a broker does not.
            empty = folder / "logs" / f"{topic}-{index}"
            if not empty.exists():
                empty.mkdir(parents=True)
                (empty / "00000000000000000000.log").touch()
                metadata = f"version: 0\ntopic_id: {told['topic_id']}\n"
                (empty / "partition.metadata").write_text(metadata)
    lines = ["[2026-11-21 07:00:00,000] INFO Something else (kafka.server.KafkaServer)"]
    for text in (recording / "wire.jsonl").read_text().splitlines():
        line = change(json.loads(text))
        at = datetime.fromtimestamp(line["answered"] / 1_000, tz=UTC)
        header = {
            "requestApiKeyName": line["api"],
            "requestApiVersion": line["version"],
            "clientId": line["client"],
        }
        told = {
            "isForwarded": False,
            "requestHeader": header,
            "request": line["request"],
            "response": line["response"],
            "totalTimeMs": float(line["answered"] - line["received"]),
        }
        stamp = f"{at:%Y-%m-%d %H:%M:%S},{line['answered'] % 1_000:03}"
        lines.append(f"[{stamp}] DEBUG Completed request:{json.dumps(told)} (kafka.request.logger)")
    requests = folder / "kafka-request.log"
    requests.write_text("\n".join(lines) + "\n")
    return folder / "logs", requests


def test_a_recording_is_told_with_what_was_asked_and_what_was_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["log", str(RELEASE / "share-acknowledge"), "--accept"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("responses compared: 25 accepted, 0 refused, 0 that cannot be judged.")
    assert any(line.split() == ["3", "SHARE_ACKNOWLEDGE"] for line in lines)
    assert any(line.split() == ["2", "FIND_COORDINATOR"] for line in lines)
    assert main(["log", str(RELEASE / "reader"), "--accept"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[-2:] == [
        "cannot judge (no evidence, not modelled, or nothing to compare):",
        "      2  it closes its session and asks for nothing: 2 FETCH",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "classic-static",
        "commit-and-abort",
        "reader",
        "share-acknowledge",
        "share-locks",
        "share-partitions",
    ],
)
def test_a_broker_s_own_logs_and_requests_say_what_the_recording_says(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, requests = broker(name, tmp_path)
    assert main(["log", str(RELEASE / name), "--accept", "--json"]) == 0
    recorded = json.loads(capsys.readouterr().out)
    words = ["--requests", str(requests), "--json"]
    if name == "share-locks":
        limit = "group.share.delivery.count.limit=3"
        updates = "share.coordinator.snapshot.update.records.per.snapshot=3"
        words += ["--settings", f"{limit},{updates}"]
    assert main(["log", str(logs), "--accept", *words]) == 0
    own = json.loads(capsys.readouterr().out)
    assert own["refused"] == []
    asked = dict(recorded["asked"])
    looked_up = asked.pop("FIND_COORDINATOR")
    assert own["asked"] == asked
    assert {
        "api": "FIND_COORDINATOR",
        "reason": "a broker's own logs do not say who leads what",
        "requests": looked_up,
    } in own["cannot_judge"]


def test_a_setting_that_was_not_told_shows_in_the_first_answer_and_the_others_are_counted_under_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, requests = broker("share-locks", tmp_path)
    words = ["log", str(logs), "--accept", "--requests", str(requests)]
    assert main(words) == 1
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  17 answers, 1 first cause")
    assert lines[at + 2].startswith("request 26, SHARE_FETCH, g1 ")
    assert lines[at + 3] == "  the broker: NONE, acknowledged NONE, acquired ((1; 3))"
    assert lines[at + 5].startswith(
        "  16 later answers may follow from this one: requests 27, 28, "
    )
    assert len([line for line in lines if line.startswith("request ")]) == 1
    assert main([*words, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert len(told["refused"]) == 17
    ((first, follow_ups),) = ((c["request"], c["follow_ups"]) for c in told["first_causes"])
    assert [first, *follow_ups] == [each["request"] for each in told["refused"]]
    assert "ARCHIVED d3" in str(told["refused"])


def test_an_answer_that_the_model_cannot_give_is_told_beside_those_that_it_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def later(line: dict[str, Any]) -> dict[str, Any]:
        if line["api"] == "END_TXN":
            line["response"]["producerEpoch"] += 1
        return line

    logs, requests = broker("commit-and-abort", tmp_path, later)
    assert main(["log", str(logs), "--accept", "--requests", str(requests)]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if ", END_TXN, my-txn" in line)
    assert lines[at + 1] == "  the broker: NONE, producer id 0, epoch 2"
    assert "  the model:  NONE, producer id 0, epoch 1" in lines


def test_a_damaged_line_is_a_row_and_the_other_requests_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, requests = broker("commit-and-abort", tmp_path)
    words = ["log", str(logs), "--accept", "--requests", str(requests)]
    assert main(words) == 0
    before = capsys.readouterr().out.splitlines()
    whole = requests.read_text()
    odd = "[2026-11-21 07:00:00,000] DEBUG Completed request:{} (kafka.request.logger)\n"
    listed = odd.replace("{}", '{"requestHeader":{"requestApiKeyName":[]}}')
    requests.write_text(whole + odd + listed)
    assert main(words) == 0
    told = capsys.readouterr().out.splitlines()
    count, _, rest = before[0].partition(" ")
    assert told[0] == f"{int(count) + 2} {rest}"
    at = len(whole.encode())
    assert (
        f"      1  The line at byte {at} is not a request as a broker logs it (KeyError: "
        "'requestHeader'): 1 UNKNOWN"
    ) in told
    assert f"The line at byte {at + len(odd)} is not a request as a broker logs it (" in "".join(
        told
    )


def test_an_acknowledge_type_that_does_not_exist_does_not_refuse_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KafkaApis.validateAcknowledgementBatches answers INVALID_REQUEST for the partition."""

    def unknown_type(line: dict[str, Any]) -> dict[str, Any]:
        if line["api"] == "SHARE_ACKNOWLEDGE" and line["request"]["topics"]:
            for batch in line["request"]["topics"][0]["partitions"][0]["acknowledgementBatches"]:
                batch["acknowledgeTypes"] = [5]
        return line

    logs, requests = broker("share-acknowledge", tmp_path, unknown_type)
    assert main(["log", str(logs), "--accept", "--requests", str(requests), "--json"]) == 1
    said = capsys.readouterr()
    assert said.err == ""
    assert ["INVALID_REQUEST"] in [each["possible"] for each in json.loads(said.out)["refused"]]


@pytest.mark.parametrize("name", ["commit-and-abort", "share-acknowledge"])
def test_a_clock_of_another_zone_is_told_with_the_offset_that_fits(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def later(line: dict[str, Any]) -> dict[str, Any]:
        return line | {name: line[name] + 7_200_000 for name in ("received", "answered")}

    logs, requests = broker(name, tmp_path, later)
    words = ["log", str(logs), "--accept", "--requests", str(requests)]
    assert main(words) == 1
    clock = capsys.readouterr().out.splitlines()[1]
    assert clock.startswith(
        "The clocks differ: the times of the request log fit those of the partitions' logs with "
        "--utc-offset=+02:00 instead of +00:00, and then 0 answers are refused instead of "
    )
    assert main([*words, "--utc-offset=-03:30"]) == 1
    assert "--utc-offset=+02:00 instead of -03:30" in capsys.readouterr().out.splitlines()[1]
    assert main([*words, "--utc-offset", "+02:00"]) == 0
    assert "clocks" not in capsys.readouterr().out


def test_a_true_refusal_is_not_blamed_on_the_clock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, requests = broker("share-locks", tmp_path)
    assert main(["log", str(logs), "--accept", "--requests", str(requests)]) == 1
    assert "clocks" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--requests", "{none}"], "the request log cannot be read (No such file or directory)"),
        (["--requests", "{empty}"], "there is no line of a request here, such as ["),
        (["--requests", "{odd}"], "this line is not a request as a broker logs it (KeyError: "),
        (["--requests", "{log}", "--utc-offset", "CET"], "an offset from UTC must be like +02:00"),
        (
            ["--requests", "{log}", "--settings", "log.dirs=/x"],
            "a setting must be NAME=VALUE with one of",
        ),
        (
            ["--requests", "{log}", "--settings", "transaction.two.phase.commit.enable=1"],
            "transaction.two.phase.commit.enable must be true or false, not '1'",
        ),
        (
            ["--requests", "{log}", "--settings", "transaction.max.timeout.ms=long"],
            "transaction.max.timeout.ms must be a whole number, not 'long'",
        ),
        (
            [],
            "this is not a recording, so the requests are needed, too: name the broker's request log",
        ),
    ],
)
def test_bad_input_is_refused_with_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, requests = broker("share-acknowledge", tmp_path)
    empty, odd = tmp_path / "empty.log", tmp_path / "odd.log"
    empty.write_text("nothing\n")
    odd.write_text("[2026-11-21 07:00:00,000] DEBUG Completed request:{} (kafka.request.logger)\n")
    places = {"none": tmp_path / "none", "empty": empty, "odd": odd, "log": requests}
    named = [word.format(**places) for word in words]
    assert main(["log", str(logs), "--accept", *named]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert said.err.count("\n") == 1
