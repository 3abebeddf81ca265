"""A file appears whole or not at all, and takes the place of nothing but a file."""

import os

import pytest

from kipviz.core import whole_file


def test_a_link_stays_one_and_leads_to_what_was_written(tmp_path):
    (tmp_path / "runs").mkdir()
    link = tmp_path / "latest.html"
    link.symlink_to(tmp_path / "runs" / "one.html")
    for words in (b"first", b"second"):
        whole_file.write(link, words)
        assert link.is_symlink()
        assert (tmp_path / "runs" / "one.html").read_bytes() == words
    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["one.html"]


def test_a_device_a_pipe_and_a_folder_are_not_written_over(tmp_path):
    """As root the move would put a file in the place of /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    for place, why in ((tmp_path / "pipe", "no ordinary file"), (tmp_path, "a folder")):
        with pytest.raises(OSError, match=why):
            whole_file.write(place, b"x")
    assert (tmp_path / "pipe").is_fifo()
