"""What a site fetches: two that fetch at once do not disturb each other."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from kipviz.site import runtime

WHEEL = b"the bytes of a wheel"


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """A list of one package."""
    file = tmp_path / "listed.json"
    digest = hashlib.sha256(WHEEL).hexdigest()
    file.write_text(json.dumps([{"package": "small==1.0", "sha256": digest}]), encoding="utf-8")
    return file


def _pip(words: list[str]) -> None:
    (folder,) = [word.removeprefix("--dest=") for word in words if word.startswith("--dest=")]
    Path(folder).mkdir(exist_ok=True)
    Path(folder, "small-1.0-py3-none-any.whl").write_bytes(WHEEL)


def test_whoever_fetches_second_takes_what_came_first(listed, tmp_path, monkeypatch) -> None:
    asked: list[Path] = []

    def fetched_twice(words: list[str]) -> None:
        _pip(words)
        if not asked:  # another process goes through the same while this one waits for pip
            asked.append(listed)
            runtime.fetch_wheels(listed, tmp_path / "runtime")

    monkeypatch.setattr(runtime, "_run", fetched_twice)
    folder = runtime.fetch_wheels(listed, tmp_path / "runtime")
    assert (folder / "small-1.0-py3-none-any.whl").read_bytes() == WHEEL
    assert [each.name for each in (tmp_path / "runtime").iterdir()] == [folder.name]


def test_a_folder_that_cannot_be_moved_to_its_place_is_not_taken_for_done(
    listed, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(runtime, "_run", _pip)

    def full(_: Path, __: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="no space left"):
        runtime.fetch_wheels(listed, tmp_path / "runtime")
