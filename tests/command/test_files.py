"""Trace files and exports: what comes out is what went in, whole or not at all."""

import json
import re

import msgspec
import pytest

from kipviz.core.traces import tracefile
from kipviz.core.values import digest_of
from kipviz.widgets.pages.payload import read

STORY = "kip-1289-lock-expiry"


@pytest.fixture
def saved(kipviz, tmp_path):
    """A story in a trace file."""
    file = tmp_path / "story.trace"
    assert kipviz("play", STORY, "--save", file).status == 1
    return file


def seal_again(lines):
    """The bytes of a trace file whose lines were changed by somebody who knows the format."""
    body = b"\n".join(lines[:-1]) + b"\n"
    end = json.loads(lines[-1]) | {"digest": digest_of(body).hex(), "checks": "", "seal": ""}
    return body + json.dumps(end).encode() + b"\n"


def test_a_story_from_a_file_is_told_as_it_was_played(kipviz, saved):
    assert kipviz("play", "--from-trace", saved).out == kipviz("play", STORY).out
    told = kipviz("play", "--from-trace", saved, "--json").document
    assert told["changes"] == []


def test_a_story_saved_again_is_the_same_file(kipviz, saved, tmp_path):
    again = tmp_path / "again.trace"
    kipviz("play", "--from-trace", saved, "--save", again)
    assert again.read_bytes() == saved.read_bytes()


def test_the_header_of_a_file_names_what_it_was_made_from(saved, kipviz, tmp_path):
    header = json.loads(saved.read_bytes().split(b"\n", 1)[0])
    assert header["model"]["scenario"] == STORY
    assert header["model"]["design"] == "finding-D"
    assert header["model"]["budget"]["crash_broker"] == 3
    assert re.fullmatch(r"4\.\d+\.\d+", header["model"]["kafka_version"])
    seeded = tmp_path / "seeded.trace"
    words = ("--scenario", "kip-1289-small", "--design", "repaired", "--faults", "rough")
    kipviz("replay", *words, "--seed", 5, "--save", seeded)
    header = json.loads(seeded.read_bytes().split(b"\n", 1)[0])
    assert (header["task"]["seed"], header["task"]["faults"]) == (5, "rough")
    told = kipviz("play", "--from-trace", seeded, "--json").document
    assert (told["seed"], told["faults"]) == (5, "rough")


def test_a_model_that_has_moved_on_is_told_in_words(kipviz, saved):
    lines = saved.read_bytes().removesuffix(b"\n").split(b"\n")
    header = json.loads(lines[0])
    header["model"]["design"] = "repaired"
    header["model"]["kafka_version"] = "4.2.0"
    lines[0] = json.dumps(header).encode()
    saved.write_bytes(seal_again(lines))
    done = kipviz("play", "--from-trace", saved)
    changed = [line for line in done.out.splitlines() if line.startswith("changed: ")]
    assert "a model of Kafka 4.2.0" in changed[0]
    assert "the model has changed since this trace was saved" in changed[1]
    assert kipviz("play", "--from-trace", saved, "--json").document["changes"] == [
        line.removeprefix("changed: ") for line in changed
    ]


def test_a_page_a_payload_a_table_and_a_diagram_tell_the_same_run(kipviz, tmp_path):
    told = kipviz("play", STORY, "--json").document
    for suffix in ("html", "json", "md", "mmd"):
        done = kipviz("export", STORY, "--to", tmp_path / f"run.{suffix}", "--json")
        assert done.status == 0
        assert done.document["steps"] == len(told["steps"]) - 1
        assert done.document["bytes"] == (tmp_path / f"run.{suffix}").stat().st_size
    payload = json.loads((tmp_path / "run.json").read_text())
    read(payload)
    assert [s["sentence"] for s in payload["steps"]] == [s["sentence"] for s in told["steps"]]
    table = (tmp_path / "run.md").read_text()
    rows = [line for line in table.splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(rows) == len(told["steps"])
    assert all(row.count(" | ") == 4 for row in rows)
    broken = next(v for v in told["verdicts"] if v["status"] == "broken")
    assert f"✗ {broken['property']}: broken since step {broken['step']}." in table
    diagram = (tmp_path / "run.mmd").read_text()
    assert diagram.startswith("sequenceDiagram\n")
    assert diagram.count("->>") == sum(m["arrived"] is not None for m in payload["messages"])
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_run_from_a_file_can_be_exported(kipviz, saved, tmp_path):
    page, same = tmp_path / "file.md", tmp_path / "story.md"
    assert kipviz("export", "--from-trace", saved, "--to", page).status == 0
    kipviz("export", STORY, "--to", same)
    assert page.read_text() == same.read_text()


def test_an_export_takes_the_place_of_an_older_one(kipviz, tmp_path):
    page = tmp_path / "run.md"
    page.write_text("older")
    kipviz("export", STORY, "--to", page)
    assert page.read_text().startswith("# ")
    assert list(tmp_path.iterdir()) == [page]


# --- bad files -----------------------------------------------------------------------------------


def test_a_truncated_file_is_refused(refused, saved):
    saved.write_bytes(saved.read_bytes()[:-40])
    assert "is truncated" in refused("play", "--from-trace", saved)


def test_an_edited_file_is_refused(refused, saved):
    saved.write_bytes(saved.read_bytes().replace(b'"Step"', b'"Leap"', 1))
    assert "was edited or damaged" in refused("play", "--from-trace", saved)
    assert "was edited or damaged" in refused("export", "--from-trace", saved, "--to", "x.md")


def test_a_file_of_another_version_is_refused(refused, saved):
    lines = saved.read_bytes().removesuffix(b"\n").split(b"\n")
    lines[0] = lines[0].replace(tracefile.FORMAT.encode(), b"kipviz-trace/9")
    saved.write_bytes(seal_again(lines))
    assert "is in the format 'kipviz-trace/9'" in refused("play", "--from-trace", saved)


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("scenario", "kip-0", "there is no scenario 'kip-0'"),
        ("design", "none", "there is no design 'none'"),
        ("budget", {"flood": 1}, "there is no fault flood; the faults are crash_broker, "),
        ("budget", 3, "the header is not one of kipviz"),
        ("kafka_version", None, "the header is not one of kipviz"),
    ],
)
def test_a_file_about_what_there_is_not_is_refused(refused, saved, part, value, said):
    lines = saved.read_bytes().removesuffix(b"\n").split(b"\n")
    header = msgspec.json.decode(lines[0])
    header["model"][part] = value
    lines[0] = json.dumps(header).encode()
    saved.write_bytes(seal_again(lines))
    assert said in refused("play", "--from-trace", saved)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"{}\n", b"[1]\n[2]\n", b"plain\n"])
def test_a_file_that_is_no_trace_is_refused(refused, tmp_path, content):
    file = tmp_path / "other"
    file.write_bytes(content)
    assert "a trace file" in refused("play", "--from-trace", file)


def test_a_file_that_is_not_there_is_refused(refused, tmp_path):
    assert "cannot read" in refused("play", "--from-trace", tmp_path / "none")
    assert "cannot read" in refused("play", "--from-trace", tmp_path)


def test_a_file_about_another_scenario_or_design_is_refused(refused, saved):
    said = refused("play", "kip-1289-small", "--from-trace", saved)
    assert f"is about the scenario {STORY}, not kip-1289-small" in said
    said = refused("play", "--from-trace", saved, "--design", "repaired")
    assert "is about the design finding-D, not repaired" in said


# --- bad places ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("play", STORY, "--save"),
        ("replay", "--scenario", STORY, "--design", "repaired", "--seed", "1", "--save"),
        ("explore", "kip-1289-small", "--design", "finding-I", "--save"),
        ("export", STORY, "--to"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    refused, tmp_path, words, monkeypatch
):
    from kipviz.cluster.model import ClusterModel

    monkeypatch.setattr(ClusterModel, "step", None)  # any work would fail
    assert "there is no folder" in refused(*words, tmp_path / "none" / "run.md")
    (tmp_path / "folder.md").mkdir()
    assert "it is a folder" in refused(*words, tmp_path / "folder.md")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.md"]


def test_a_disk_that_is_full_leaves_nothing_behind(refused, tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    said = refused("export", STORY, "--to", tmp_path / "run.html")
    assert said.endswith("run.html: No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_suffix_that_means_nothing_is_refused(refused, tmp_path):
    said = refused("export", STORY, "--to", tmp_path / "run.pdf")
    assert ".html, .json, .md, .mmd" in said
    assert list(tmp_path.iterdir()) == []
