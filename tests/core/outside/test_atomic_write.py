"""A file appears whole or not at all, and takes the place of nothing but a file."""

import os
import subprocess
import sys

import pytest

from kipviz.core.outside import atomic_write


def test_a_link_stays_one_and_leads_to_what_was_written(tmp_path):
    (tmp_path / "runs").mkdir()
    link = tmp_path / "latest.html"
    link.symlink_to(tmp_path / "runs" / "one.html")
    for words in (b"first", b"second"):
        atomic_write.write(link, words)
        assert link.is_symlink()
        assert (tmp_path / "runs" / "one.html").read_bytes() == words
    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["one.html"]


def test_a_device_a_pipe_and_a_folder_are_not_written_over(tmp_path):
    """As root the move would put a file in the place of /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    for place, why in ((tmp_path / "pipe", "not an ordinary file"), (tmp_path, "a folder")):
        with pytest.raises(OSError, match=why):
            atomic_write.write(place, b"x")
    assert (tmp_path / "pipe").is_fifo()


def test_the_draft_of_a_process_that_is_no_more_goes_and_that_of_a_living_one_stays(tmp_path):
    place = tmp_path / "run.trace"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    here = os.uname().nodename
    names = [
        f".run.trace.{here}.{gone.pid}.draft",
        f".run.trace.{here}.{os.getppid()}.draft",
        f".run.trace.elsewhere.{gone.pid}.draft",
        f".other.trace.{here}.{gone.pid}.draft",
        f".run.trace.{here}.many.draft",
    ]
    for name in names:
        (tmp_path / name).touch()
    atomic_write.write(place, b"x")
    left = sorted(each.name for each in tmp_path.iterdir())
    assert left == sorted(["run.trace", *names[1:]])


def test_a_file_may_have_as_long_a_name_as_any_and_no_longer_one(tmp_path):
    atomic_write.write(tmp_path / ("a" * 255), b"x")
    assert [each.name for each in tmp_path.iterdir()] == ["a" * 255]
    with pytest.raises(OSError, match="File name too long"):
        atomic_write.write(tmp_path / ("a" * 256), b"x")


def test_the_file_that_was_there_is_kept_where_that_is_asked_for(tmp_path):
    place, before = tmp_path / "run.trace", tmp_path / ".run.trace.before"
    for words in (b"first", b"second", b"third"):
        atomic_write.write(place, words, before)
    assert (place.read_bytes(), before.read_bytes()) == (b"third", b"second")
    assert len(list(tmp_path.iterdir())) == 2
