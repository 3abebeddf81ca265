"""A folder of logs that was handed over as a zip file is read as the folder would be."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

import kipviz
from kipviz.recordings.files.zipped import folder_at
from kipviz.recordings.recording_error import RecordingError

FOLDER = Path(__file__).parents[1] / "kafka-4.4.0" / "share-acknowledge"
WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = sys.modules["pyarrow"] = None
import kipviz
assert kipviz.rebuild(sys.argv[1]).last_step > 0
assert kipviz.accept(sys.argv[1]).accepted
"""


def pack(into: Path) -> Path:
    with zipfile.ZipFile(into / f"{FOLDER.name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(each for each in FOLDER.rglob("*") if each.is_file()):
            archive.write(file, file.relative_to(FOLDER))
    return into / FOLDER.name


def test_a_folder_that_is_there_is_read_where_it_is():
    assert folder_at(FOLDER) == FOLDER


def test_what_is_in_a_zip_file_gives_the_answers_and_the_run_of_the_folder(tmp_path):
    found = folder_at(pack(tmp_path))
    assert found.name == FOLDER.name
    assert str(kipviz.accept(found)) == str(kipviz.accept(FOLDER))
    assert kipviz.rebuild(found).text() == kipviz.rebuild(FOLDER).text()


def test_logs_are_read_and_answers_compared_without_numpy():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMPY, str(FOLDER)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def test_neither_a_folder_nor_a_zip_file_is_one_sentence(tmp_path):
    with pytest.raises(RecordingError, match=r"lost: there is no such folder, and no lost\.zip$"):
        folder_at(tmp_path / "lost")


def test_a_file_that_is_no_zip_file_is_one_sentence(tmp_path):
    (tmp_path / "logs.zip").write_bytes(b"not a zip file")
    with pytest.raises(
        RecordingError, match=r"logs\.zip: it cannot be unpacked: File is not a zip file$"
    ):
        folder_at(tmp_path / "logs")


def test_more_than_may_be_read_is_not_unpacked(tmp_path, monkeypatch):
    place = pack(tmp_path)
    monkeypatch.setenv("KIPVIZ_FILE_BYTES_MAX", "1000")
    with pytest.raises(RecordingError, match=r"\.zip: it unpacks to [\d,]+ bytes, and at"):
        folder_at(place)


def read_refusal(place: Path) -> str:
    with pytest.raises(RecordingError) as found:
        folder_at(place)
    return found.value.why


def test_what_asks_for_gigabytes_before_its_first_byte_is_not_unpacked(tmp_path):
    for way, number in ((zipfile.ZIP_LZMA, 14), (zipfile.ZIP_BZIP2, 12)):
        with zipfile.ZipFile(tmp_path / "logs.zip", "w", way) as archive:
            archive.writestr("src-0/0.log", b"plain")
        assert read_refusal(tmp_path / "logs") == (
            f"src-0/0.log is packed by method {number}; only stored (0) and deflated (8) files are read."
        )


def test_a_million_empty_files_are_more_than_may_be_read(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        for number in range(300):
            archive.writestr(f"src-{number}/0.log", b"")
    monkeypatch.setenv("KIPVIZ_FILE_BYTES_MAX", "1000000")
    assert read_refusal(tmp_path / "logs") == (
        "it unpacks to 1,228,800 bytes, and at most 1,000,000 are read; KIPVIZ_FILE_BYTES_MAX allows more"
    )


def test_folders_that_are_nested_a_thousand_deep_are_one_sentence(tmp_path):
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("a/" * 1_900 + "0.log", b"")
    assert read_refusal(tmp_path / "logs") in (
        "its folders are nested too deeply",
        "it cannot be unpacked: File name too long",
    )


def test_a_file_without_a_name_is_one_sentence(tmp_path):
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("namely", b"")
    data = (tmp_path / "logs.zip").read_bytes().replace(b"namely", b"\x00amely")
    (tmp_path / "logs.zip").write_bytes(data)
    assert read_refusal(tmp_path / "logs").startswith("it cannot be unpacked: ")


def test_what_is_refused_leaves_no_folder_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with zipfile.ZipFile(tmp_path / "logs.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("src-0/0.log", b"plain")
    read_refusal(tmp_path / "logs")
    assert [each.name for each in tmp_path.iterdir()] == ["logs.zip"]


def test_a_name_in_no_alphabet_is_one_sentence(tmp_path):
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("häfen-0/0.log", b"")
    data = (tmp_path / "logs.zip").read_bytes().replace("ä".encode(), b"\xe4\xe4")
    (tmp_path / "logs.zip").write_bytes(data)
    assert read_refusal(tmp_path / "logs").startswith(
        "it cannot be unpacked: 'utf-8' codec can't decode"
    )
