"""A folder of logs that was handed over as a zip file is read as the folder would be."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import kipviz
from kipviz.recordings.files.zipped import folder_at
from kipviz.recordings.recording_error import RecordingError

FOLDER = Path(__file__).parent / "kafka-4.4.0" / "share-acknowledge"
WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = sys.modules["pyarrow"] = None
import kipviz
assert kipviz.rebuild(sys.argv[1]).last_step > 0
assert kipviz.accept(sys.argv[1]).accepted
"""


def packed(into: Path) -> Path:
    with zipfile.ZipFile(into / f"{FOLDER.name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(each for each in FOLDER.rglob("*") if each.is_file()):
            archive.write(file, file.relative_to(FOLDER))
    return into / FOLDER.name


def test_a_folder_that_is_there_is_read_where_it_is():
    assert folder_at(FOLDER) == FOLDER


def test_what_is_in_a_zip_file_gives_the_answers_and_the_run_of_the_folder(tmp_path):
    found = folder_at(packed(tmp_path))
    assert found.name == FOLDER.name
    assert str(kipviz.accept(found)) == str(kipviz.accept(FOLDER))
    assert kipviz.rebuild(found).text() == kipviz.rebuild(FOLDER).text()


def test_logs_are_read_and_answers_compared_without_numpy():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMPY, str(FOLDER)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def test_neither_a_folder_nor_a_zip_file_is_one_sentence(tmp_path):
    with pytest.raises(
        RecordingError, match=r"lost, byte 0: There is no such folder, and no lost\.zip\.$"
    ):
        folder_at(tmp_path / "lost")


def test_a_file_that_is_no_zip_file_is_one_sentence(tmp_path):
    (tmp_path / "logs.zip").write_bytes(b"not a zip file")
    with pytest.raises(
        RecordingError, match=r"logs\.zip, byte 0: It cannot be unpacked: File is not a zip file\.$"
    ):
        folder_at(tmp_path / "logs")


def test_more_than_may_be_read_is_not_unpacked(tmp_path, monkeypatch):
    place = packed(tmp_path)
    monkeypatch.setenv("KIPVIZ_FILE_BYTES_MAX", "1000")
    with pytest.raises(RecordingError, match=r"\.zip, byte 0: It unpacks to [\d,]+ bytes, and at"):
        folder_at(place)
