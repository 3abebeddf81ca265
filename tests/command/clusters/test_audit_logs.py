"""`kipviz audit --logs`: what is wrong in brokers' logs, in words and in JSON."""

import json
import shlex

import pytest

from kipviz.command.main import main
from tests.recordings.made_logs import START, batch, marker, write


@pytest.fixture
def hanging(tmp_path):
    """A log with a late record, and a second one with twelve duplicates."""
    late = batch(2, pid=5, epoch=0, sequence=1, at=START + 5_000)
    write(tmp_path, "out-0", batch(0, pid=5, epoch=0, sequence=0), marker(1, 5, 0), late)
    rows = (batch(k, pid=8, epoch=0, sequence=0, transactional=False) for k in range(13))
    write(tmp_path, "twice-0", *rows)
    return tmp_path


def test_each_finding_is_told_with_what_it_means_who_notices_and_what_mends_it(hanging, capsys):
    assert main(["audit", "--logs", str(hanging)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 partitions, 16 batches, ")
    assert lines[0].endswith(": 12 duplicate, 1 hanging")
    at = lines.index("hanging (wrong, possible): out-0 at offset 2")
    told = lines[at + 1 : at + 7]
    assert told[0].startswith("  No coordinator will end this transaction.")
    assert told[2] == "  affected: every reader of out-0 with isolation.level=read_committed"
    assert "find-hanging --topic out --partition 0" in told[3]
    assert "abort --topic out --partition 0 --start-offset 2, if it hangs" in told[4]
    assert told[5] == f"  open: kipviz log {hanging} --open --at out-0:2"
    assert sum(line.startswith("duplicate") for line in lines) == 10
    assert "  and 2 more of this kind (--json has all of them)" in lines


@pytest.fixture
def brokers(tmp_path):
    """Two brokers of a cluster, in a folder whose name has a space; what hangs is on the second."""
    folder = tmp_path / "copied logs"
    write(folder / "b1", "in-0", batch(0))
    late = batch(2, pid=5, epoch=0, sequence=1, at=START + 5_000)
    write(folder / "b2", "out-0", batch(0, pid=5, epoch=0, sequence=0), marker(1, 5, 0), late)
    for number in (1, 2):
        (folder / f"b{number}" / "meta.properties").write_text(f"node.id={number}\n")
    return folder


@pytest.mark.parametrize("named", [("b1", "b2"), ("b2", "b1"), ("",)])
def test_a_finding_names_the_folder_of_the_broker_that_has_its_partition(brokers, capsys, named):
    assert main(["audit", "--logs", *(str(brokers / each) for each in named), "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["window"] == f"kipviz log '{brokers}/b2' --open --at out-0:2"
    page = str(brokers / "page.html")
    opened = [*shlex.split(finding["window"])[1:], "--to", page, "--no-browser", "--json"]
    assert main(opened) == 1
    assert json.loads(capsys.readouterr().out)["file"] == page


def test_json_has_every_finding_and_every_count(hanging, capsys):
    assert main(["audit", "--logs", str(hanging), "--json", "--no-checksums"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["counts"]["duplicate"] == 12
    assert len(document["findings"]) == 13
    assert {"kind", "meaning", "weight", "certainty", "mends", "window"} <= set(
        document["findings"][0]
    )


def test_logs_without_a_finding_are_status_0(tmp_path, capsys):
    write(tmp_path, "out-0", batch(0))
    assert main(["audit", "--logs", str(tmp_path)]) == 0
    assert "nothing found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "name an event log, or brokers' folders after --logs"),
        (
            ["log", "--topics", "a"],
            "--topics, --no-checksums, --part-mb and --spark are for --logs",
        ),
        (
            ["log", "--part-mb", "2"],
            "--topics, --no-checksums, --part-mb and --spark are for --logs",
        ),
        (["--logs", "nowhere"], "this is not a folder"),
        (["--logs", "{folder}", "--topics", "b"], "there is no log of a topic 'b' here"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(tmp_path, capsys, arguments, why):
    write(tmp_path, "a-0", batch(0))
    assert main(["audit", *(each.format(folder=tmp_path) for each in arguments)]) == 2
    assert why in capsys.readouterr().err


def test_how_much_of_a_log_is_held_at_once_changes_no_finding(tmp_path, capsys):
    rows = [batch(k, ((None, bytes(700_000)),), pid=5, epoch=0, sequence=0) for k in range(4)]
    write(tmp_path, "out-0", *rows)
    words = ["audit", "--logs", str(tmp_path), "--json"]
    assert main(words) == main([*words, "--part-mb", "1"]) == 1
    whole, in_parts = capsys.readouterr().out.split("\n}\n")[:2]
    assert json.loads(whole + "}") == json.loads(in_parts + "}")
    assert json.loads(whole + "}")["counts"]["duplicate"] == 3
