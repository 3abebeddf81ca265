"""What made the recordings: the recorder that is in this folder, and nothing that kipviz needs itself."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

from kipviz.recordings.recorded import load_recording

HERE = Path(__file__).parents[1]
RECORDER = HERE / "recorder"
NEWEST = sorted(place.parent for place in (HERE / "kafka-4.4.0").glob("*/recording.json"))
SIZE_MAX = 200_000


def digest(source: str) -> str:
    """Give the digest of what makes the recordings of one source, as the recorder does (Sources.java)."""
    files = (f for f in RECORDER.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    known = sorted((f.relative_to(RECORDER).as_posix(), f) for f in files)
    java = {f.stem: f.read_text(encoding="utf-8") for _, f in known if f.suffix == ".java"}
    del java["Scenarios"]
    named: set[str] = set()
    left = ["Recorder", source]
    while left:
        name = left.pop()
        if name in java and name not in named:
            named.add(name)
            left += re.split(r"\W+", java[name], flags=re.ASCII)
    found = hashlib.sha256()
    for name, file in known:
        if file.suffix != ".java" or file.stem in named:
            found.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()


@pytest.mark.parametrize("folder", NEWEST, ids=lambda f: f.name)
def test_a_recording_was_made_by_the_recorder_as_it_is(folder: Path) -> None:
    """After a change of what made them, recordings are made again (README.md)."""
    made = load_recording(folder)
    assert made.recorder == digest(made.source)


def test_no_recorded_file_is_large() -> None:
    sizes = {f: f.stat().st_size for f in HERE.glob("kafka-*/**/*") if f.is_file()}
    assert {f.name for f, size in sizes.items() if size > SIZE_MAX} == set()


def test_the_page_about_the_recordings_names_each_of_them() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for folder in HERE.glob("kafka-*/*"):
        assert f"| `{folder.name}` |" in text, folder.name


def test_the_older_client_says_which_librdkafka_it_is() -> None:
    for name in ("older-client", "older-client-version-0"):
        first = load_recording(HERE / "kafka-4.4.0" / name).calls[0]
        assert first.name == "version"
        assert first.result["librdkafka"] >= "2."


def test_only_the_tests_of_kipviz_need_the_older_client() -> None:
    text = (HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    tools = project["optional-dependencies"].pop("test")
    assert "confluent-kafka" in str(tools)
    assert "confluent" not in str(project)
