"""`kipviz log FOLDER` for a broker's whole folder: its partitions, and what can be asked about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kipviz.command.bad_input import RefusedInput
from kipviz.command.output import answer

NEXT = (
    ("--open", "which transactions block readers, and the logs in the stepper"),
    ("--accept --requests FILE", "whether the model could have given the broker's responses"),
    ("/PARTITION", "what the log of one partition holds"),
)


def holds_partitions(path: Path) -> bool:
    """Return whether a path is a folder that holds partitions' folders instead of segments."""
    from kipviz.recordings.files.broker_folder import broker_folder
    from kipviz.recordings.recording_error import RecordingError

    try:
        return path.is_dir() and broker_folder(path).partitions != (path.resolve(),)
    except RecordingError:
        return False


def has_all_coordinators(paths: list[Path], count: int) -> bool:
    """Return whether all partitions of __transaction_state were read; a recording leaves out those without a batch."""
    from kipviz.recordings.files.broker_folder import broker_folder
    from kipviz.recordings.recorded import ABOUT
    from kipviz.records.placement import TRANSACTION_STATE

    names = {folder.name for path in paths for folder in broker_folder(path).partitions}
    whole = all(f"{TRANSACTION_STATE}-{index}" in names for index in range(count))
    return whole or (paths[0] / ABOUT).exists()


def run(path: Path, *, as_json: bool) -> int:
    """Print the partitions of a broker's folder with their sizes and leaders, and the other files in it.

    Raises:
        Refused: if the folder cannot be read.
    """
    from kipviz.recordings.decoded.cluster_metadata import ClusterMetadata
    from kipviz.recordings.files.broker_folder import broker_folder, metadata_of

    here = broker_folder(path)
    cluster, unread = metadata_of(here)
    latest = {each.partition: each for each in (cluster or ClusterMetadata()).decisions}
    rows: list[dict[str, Any]] = []
    for folder in here.partitions:
        try:
            segments = sorted(f for f in folder.iterdir() if f.suffix == ".log")
            size = sum(f.stat().st_size for f in segments)
        except OSError as problem:
            raise RefusedInput(f"{folder} cannot be read ({problem.strerror})") from None
        led = latest.get(folder.name)
        rows.append(
            {
                "partition": folder.name,
                "bytes": size,
                "segments": len(segments),
                "leader": None if led is None else led.leader,
                "leader_epoch": None if led is None else led.leader_epoch,
            }
        )
    aside = [{"name": each.name, "why": each.why} for each in (*here.set_aside, *unread)]
    document = {
        "folder": str(path),
        "broker": here.broker,
        "cluster": here.cluster,
        "partitions": rows,
        "not_partitions": aside,
    }
    answer(document, list(_lines(document)), as_json=as_json)
    return 0


def _lines(told: dict[str, Any]) -> Iterator[str]:
    rows = told["partitions"]
    written = [row for row in rows if row["bytes"]]
    of_broker = f" of broker {told['broker']}" if told["broker"] >= 0 else ""
    yield (
        f"{told['folder']}: {_render_count(len(rows), 'partition')}{of_broker}, "
        f"{len(written)} of them with batches"
    )
    width = max((len(row["partition"]) for row in written), default=0)
    for row in written:
        size = f"{row['bytes']:>12,} bytes in {_render_count(row['segments'], 'segment')}"
        led = "" if row["leader"] is None else f", {_render_leader(row)}"
        yield f"  {row['partition']:<{width}} {size}{led}"
    empty = [row["partition"] for row in rows if not row["bytes"]]
    if empty:
        yield f"  empty: {', '.join(empty)}"
    if told["not_partitions"]:
        yield from ("", "not read as partitions:")
        yield from (f"  {each['name']} {each['why']}" for each in told["not_partitions"])
    yield from ("", "next:")
    words = [(f"kipviz log {told['folder']}{_render_end(end)}", what) for end, what in NEXT]
    most = max(len(word) for word, _ in words)
    yield from (f"  {word:<{most}}  {what}" for word, what in words)


def _render_end(end: str) -> str:
    return end if end.startswith("/") else f" {end}"


def _render_leader(row: dict[str, Any]) -> str:
    if row["leader"] < 0:
        return f"no leader, leader epoch {row['leader_epoch']}"
    return f"broker {row['leader']} leads, leader epoch {row['leader_epoch']}"


def _render_count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
