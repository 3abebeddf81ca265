"""The folders of several brokers of one cluster, read as one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import kipviz
from kipviz.command.main import main
from kipviz.recordings.files.cluster_folders import cluster_folders
from kipviz.recordings.recording_error import RecordingError
from tests.recordings.whole_folder import unpack_folder

ORDERS = "orders-0"
ABOUT = "meta.properties"


def another_broker(folder: Path, number: int, *names: str) -> Path:
    """Make the folder of another broker of the same cluster, with copies of some of its partitions."""
    other = folder.parent / f"broker-{number}"
    other.mkdir()
    for name in names:
        shutil.copytree(folder / name, other / name)
    about = (folder / ABOUT).read_text()
    (other / ABOUT).write_text(about.replace("node.id=1", f"node.id={number}"))
    return other


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Give the folders of two brokers: of one partition both have a replica, and one only the second has."""
    first, _ = unpack_folder(tmp_path)
    second = another_broker(first, 2, ORDERS, "__consumer_offsets-1")
    shutil.rmtree(first / "__consumer_offsets-1")
    for segment in (second / ORDERS).glob("*.log"):
        segment.write_bytes(b"")
    return first, second


def test_of_each_partition_one_replica_is_read_that_of_who_led_it_last(
    folders: tuple[Path, Path],
) -> None:
    first, second = folders
    found = cluster_folders((second, first))
    places = {each.name: each.parent for each in found.partitions}
    assert places[ORDERS] == first
    assert places["__consumer_offsets-1"] == second
    assert [each.name for each in found.partitions] == sorted(places)
    assert found.metadata is not None


def test_the_folders_of_several_brokers_open_in_the_stepper_as_one(
    tmp_path: Path, folders: tuple[Path, Path]
) -> None:
    whole, _ = unpack_folder(tmp_path / "whole")
    together = kipviz.rebuild(list(folders))
    assert together.last_step == kipviz.rebuild(whole).last_step
    assert together.last_step > kipviz.rebuild(folders[0]).last_step
    at = kipviz.rebuild(folders, at=(ORDERS, 2))
    assert at.step > 0


def test_the_command_opens_several_brokers_folders(
    tmp_path: Path, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "log.html"
    told = ["log", *map(str, folders), "--open", "--no-browser", "--to", str(page), "--json"]
    assert main(told) == 1
    assert {row["partition"] for row in json.loads(capsys.readouterr().out)["blocked"]} == {ORDERS}
    assert page.stat().st_size > 0
    assert main(["log", *map(str, folders)]) == 2
    assert "for --accept, --open" in capsys.readouterr().err


def test_folders_that_are_not_several_brokers_of_one_cluster_are_refused(
    folders: tuple[Path, Path],
) -> None:
    first, second = folders
    with pytest.raises(RecordingError, match="two of the folders are of one broker"):
        cluster_folders((first, first))
    about = (second / ABOUT).read_text()
    (second / ABOUT).write_text(about.replace("cluster.id=", "cluster.id=other"))
    with pytest.raises(RecordingError, match="the folders are of several clusters"):
        cluster_folders(folders)
    (second / ABOUT).unlink()
    with pytest.raises(RecordingError, match=f"there is no {ABOUT}"):
        cluster_folders(folders)
    with pytest.raises(ValueError, match="name at least one broker's folder"):
        kipviz.rebuild([])
