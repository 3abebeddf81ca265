"""A file that somebody else may have put there is read within a bound."""

import os

import pytest

from kipviz.core.outside import untrusted_file


def why(path):
    with pytest.raises(OSError, match=r".+") as refused:
        untrusted_file.read(path)
    return refused.value.strerror


def test_what_never_ends_or_never_begins_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in ("/dev/zero", "/dev/null", tmp_path / "pipe"):
        assert why(place) == "it is not an ordinary file"
    assert why(tmp_path) == "Is a directory"


def test_a_file_that_is_too_large_is_refused_and_a_setting_allows_more(tmp_path, monkeypatch):
    file = tmp_path / "a.log"
    file.write_bytes(b"x" * 20)
    monkeypatch.setenv(untrusted_file.SETTING, "19")
    assert why(file) == "it has more than 19 bytes; KIPVIZ_FILE_BYTES_MAX allows more"
    monkeypatch.setenv(untrusted_file.SETTING, "20")
    assert untrusted_file.read(file) == b"x" * 20
    with file.open("ab") as grown:
        grown.truncate(1 << 40)  # a hole: it takes no room, and no reader could hold it
    monkeypatch.delenv(untrusted_file.SETTING)
    assert why(file).startswith("it has more than 2,147,483,647 bytes")


@pytest.mark.parametrize("words", ["0", "many", "-1", "9" * 5_000])
def test_a_setting_that_is_no_number_is_refused_in_a_sentence(tmp_path, monkeypatch, words):
    (tmp_path / "a.log").touch()
    monkeypatch.setenv(untrusted_file.SETTING, words)
    said = f"KIPVIZ_FILE_BYTES_MAX must be a number of bytes of at least 1, not {words[:40]!r}"
    assert why(tmp_path / "a.log") == said
