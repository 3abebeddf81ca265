"""A broker's folder on disk: the folders of partitions, and what else is there.

Beside the partitions there are the metadata log, folders of partitions that were deleted, that move between disks or
that no longer belong to the broker, and files with the broker's checkpoints.
Source: LocalLog.parseTopicPartitionName, LogManager, UnifiedLog.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kipviz.core.outside import untrusted_file
from kipviz.core.values import Value
from kipviz.recordings.decoded.cluster_metadata import (
    CLUSTER_METADATA,
    ClusterMetadata,
    read_metadata,
)
from kipviz.recordings.recording_error import WHOLE, RecordingError

SEGMENT = re.compile(r"\d{20}\.log")
PARTITION = re.compile(r"(.+)-(\d+)")
LEFT_OVER = re.compile(r"(.+)\.[0-9a-f]{32}-(delete|future|stray)")
WHY_LEFT_OVER = {
    "delete": "was deleted; the broker removes the folder after file.delete.delay.ms",
    "future": "is being copied to another log directory and is not complete",
    "stray": "is not placed on this broker according to the cluster's metadata",
}
NO_PARTITION = "is not named topic-number, so it is no partition's folder"
OF_METADATA = "is the log of the cluster's metadata, which has no answers of its own to judge"
# The files with the topic id of a partition, and with the broker's own id.
METADATA = "partition.metadata"
ABOUT_BROKER = "meta.properties"


class SetAside(Value, frozen=True):
    """A folder that is not read as a partition, and the rest of a sentence that starts with its name."""

    name: str
    why: str


class BrokerFolder(Value, frozen=True):
    """The folders of partitions at a place, in the order of their names, and what is beside them.

    `metadata` is the folder of the metadata log; `broker` is the broker's number and `cluster` the cluster's id, -1 and
    "" if no file has them.
    """

    place: Path
    partitions: tuple[Path, ...]
    set_aside: tuple[SetAside, ...] = ()
    metadata: Path | None = None
    broker: int = -1
    cluster: str = ""


def broker_folder(path: Path) -> BrokerFolder:
    """Find the partitions at a place: the place itself, or the folders in it.

    Raises:
        RecordingError: if there is none, or the place cannot be read.
    """
    if not path.is_dir():
        raise RecordingError(
            str(path), WHOLE, "this is not a folder: name a partition's, or a broker's"
        )
    try:
        inside = sorted(path.iterdir())
        if any(SEGMENT.fullmatch(each.name) for each in inside):
            return _of_one(path.resolve())
        folders = [f for f in inside if f.is_dir() and any(f.glob("*.log"))]
    except OSError as problem:
        why = f"the folder cannot be read ({problem.strerror})"
        raise RecordingError(str(path), WHOLE, why) from problem
    if not folders and any(each.suffix == ".log" for each in inside):
        return _of_one(path.resolve())
    if not folders:
        why = (
            "no folder here holds a segment (a file named *.log). Name a broker's folder of logs, the one that log.dirs "
            "in its server.properties names: it has a folder for each partition, such as orders-0"
        )
        raise RecordingError(str(path), WHOLE, why)
    aside = tuple(SetAside(f.name, why) for f in folders if (why := _why_aside(f.name)))
    left = [each.name for each in aside]
    metadata = next((f for f in folders if f.name == f"{CLUSTER_METADATA}-0"), None)
    about = _properties(path / ABOUT_BROKER)
    number = about.get("node.id", about.get("broker.id", ""))
    return BrokerFolder(
        path,
        tuple(f for f in folders if f.name not in left),
        aside,
        metadata,
        int(number) if number.isdecimal() else -1,
        about.get("cluster.id", ""),
    )


def _of_one(folder: Path) -> BrokerFolder:
    """Read a place as a partition's folder.

    Raises:
        RecordingError: if it cannot be opened as one.
    """
    why = _why_aside(folder.name)
    if why and why != NO_PARTITION:
        hint = "name the folder above it" if folder.name.startswith(CLUSTER_METADATA) else ""
        sentence = f"this folder {why}{'; ' if hint else ''}{hint}"
        raise RecordingError(str(folder), 0, sentence)
    return BrokerFolder(folder, (folder,))


def _why_aside(name: str) -> str:
    """Return why a folder is not read as a partition, or ""."""
    left_over = LEFT_OVER.fullmatch(name)
    if left_over is not None:
        return f"holds {left_over[1]}, which {WHY_LEFT_OVER[left_over[2]]}"
    known = PARTITION.fullmatch(name)
    if known is None:
        return NO_PARTITION
    return OF_METADATA if known[1] == CLUSTER_METADATA else ""


def partitions_in(path: Path) -> tuple[Path, ...]:
    """Return the folders of partitions at a place.

    Raises:
        RecordingError: if there is none.
    """
    return broker_folder(path).partitions


def metadata_of(folder: BrokerFolder) -> tuple[ClusterMetadata | None, tuple[SetAside, ...]]:
    """Read the metadata log of a broker, if there is one; a damaged one is set aside with the reason."""
    if folder.metadata is None:
        return None, ()
    try:
        return read_metadata(folder.metadata), ()
    except RecordingError as problem:
        return None, (SetAside(folder.metadata.name, f"cannot be read: {problem}"),)


def topic_ids_in(folders: Iterable[Path]) -> dict[str, str]:
    """Return the topics by their ids, as far as the broker's files beside its logs have them."""
    known: dict[str, str] = {}
    for folder in folders:
        topic_id = _properties(folder / METADATA, ":").get("topic_id", "")
        if topic_id:
            known[topic_id] = folder.name.rpartition("-")[0]
    return known


def _properties(path: Path, between: str = "=") -> dict[str, str]:
    """Read lines of name and value; nothing if the file cannot be read."""
    try:
        lines = untrusted_file.read(path).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.partition(between) for line in lines if not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}
