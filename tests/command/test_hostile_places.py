"""Files that are none, disks that are full and names that are commands for a terminal: one sentence each."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from kipviz.core.outside import untrusted_file
from tests.command.conftest import ROOT, sentence
from tests.fuzz.of_runs import seal


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/dev/zero", "it is not an ordinary file"),
        ("/", "Is a directory"),
        ("a" * 256, "name too long"),
    ],
)
def test_a_trace_that_is_no_file_is_refused_at_once(refused, place, why):
    assert why in refused("play", "--from-trace", place)


def test_a_pipe_is_no_trace_file(refused, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "it is not an ordinary file" in refused("play", "--from-trace", tmp_path / "pipe")


def test_a_trace_file_that_is_too_large_is_refused_and_a_setting_allows_more(
    kipviz, tmp_path, monkeypatch
):
    path = tmp_path / "run.trace"
    assert kipviz("replay", *REPLAYED, "--save", path).status == 0
    monkeypatch.setenv(untrusted_file.SETTING, "100")
    said = sentence(kipviz("play", "--from-trace", path))
    assert said.endswith("it has more than 100 bytes; KIPVIZ_FILE_BYTES_MAX allows more")
    monkeypatch.setenv(untrusted_file.SETTING, "1000000")
    assert kipviz("play", "--from-trace", path).status == 0


REPLAYED = ("--scenario", "kip-1289-small", "--design", "repaired", "--seed", "3")


def test_what_a_terminal_would_take_for_a_command_does_not_come_to_it_from_a_file(
    kipviz, tmp_path, refused
):
    path = tmp_path / "run.trace"
    kipviz("replay", *REPLAYED, "--save", path)
    lines = path.read_bytes().splitlines()
    for place, name in ((1, "\x1b[2J\x07"), (0, "\u202e")):
        hostile = json.loads(lines[place])
        (hostile if place else hostile["model"])[name] = {"design": name}
        if not place:
            hostile["model"]["scenario"] = "\x1b]0;title\x07"
        path.write_bytes(seal([*lines[:place], json.dumps(hostile).encode(), *lines[place + 1 :]]))
        said = refused("play", "--from-trace", path)
        assert said.isprintable()
        assert "\\x1b" in said


@pytest.mark.parametrize(
    "words", [("list",), ("play", "pain-vanished"), ("play", "pain-vanished", "--json")]
)
def test_a_full_disk_behind_stdout_ends_in_one_sentence(words):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = run(words, stdout=full)
    assert done.returncode == 2
    assert done.stderr == "kipviz: the output cannot be written: No space left on device\n"


def test_a_full_disk_behind_both_streams_ends_with_its_status():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        assert run(("list",), stdout=full, stderr=full).returncode == 2


def test_a_shell_that_gives_no_stdout_is_no_error():
    command = f"{sys.executable} -m kipviz list >&-"
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, check=False, env=environment()
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_log_of_a_name_that_no_file_can_have_is_refused_in_one_sentence(refused):
    assert "File name too long" in refused("log", "a" * 256)


def test_a_request_log_of_a_name_that_no_file_can_have_is_refused_in_one_sentence(
    refused, tmp_path
):
    segment = tmp_path / "orders-0" / "00000000000000000000.log"
    segment.parent.mkdir()
    segment.touch()
    words = ("log", str(tmp_path), "--accept", "--requests")
    assert "File name too long" in refused(*words, "a" * 256)


@pytest.mark.parametrize("name", ["{}.json", "{}/run.json"])
def test_a_name_of_256_letters_is_refused_in_one_sentence(refused, name):
    to = name.format("a" * 256)
    assert refused("export", "pain-vanished", "--to", to).startswith(f"cannot write {to}: ")


def run(words, stdout, stderr=subprocess.PIPE):
    return subprocess.run(
        [sys.executable, "-m", "kipviz", *words],
        stdout=stdout,
        stderr=stderr,
        text=True,
        check=False,
        env=environment(),
    )


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}
