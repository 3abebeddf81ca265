"""`kipviz log`: what stands in a partition's log of a real broker."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kipviz.command.arguments import add_json
from kipviz.command.output import answer
from kipviz.command.refused import Refused

HELP = "tell what stands in a partition's log, as a broker wrote it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument(
        "path", metavar="FOLDER|FILE", help="a partition's folder, such as __transaction_state-45"
    )
    parser.add_argument("--topic", help="the topic; taken from the folder's name if left out")
    parser.add_argument(
        "--torn-tail",
        action="store_true",
        help="the file was copied from a running broker: what is cut off at its end is no damage",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what the records of an internal topic say, or the markers in a user's topic.

    Raises:
        Refused: if it is no Kafka log, or is damaged.
    """
    from kipviz.recordings import internal_topics
    from kipviz.recordings.recording_error import RecordingError
    from kipviz.recordings.segments import read_partition, read_segment

    path = Path(arguments.path)
    if not path.exists():
        raise Refused(f"there is nothing at {path}; name a partition's folder or a .log file")
    folder = path if path.is_dir() else path.resolve().parent
    topic = arguments.topic or folder.name.rpartition("-")[0]
    try:
        if path.is_dir():
            segments = read_partition(path, torn_tail=arguments.torn_tail)
        else:
            segments = (read_segment(path, compacted=True, torn_tail=arguments.torn_tail),)
        told: list[Any] = []
        for segment in segments:
            known = topic in internal_topics.DECODERS
            told += (
                internal_topics.decode(segment, topic)
                if known
                else internal_topics.markers(segment)
            )
    except RecordingError as error:
        raise Refused(str(error)) from None
    batches = [batch for segment in segments for batch in segment.batches]
    document = {
        "topic": topic,
        "batches": len(batches),
        "records": sum(len(batch.records) for batch in batches),
        "told": [{"kind": _kind(part), **_fields(part)} for part in told],
    }
    head = f"{topic}: {document['batches']} batches, {document['records']} records"
    answer(document, [head, *_lines(told)], as_json=arguments.json)
    return 0


def _kind(part: Any) -> str:
    return type(part).__name__.removeprefix("Logged")


def _fields(part: Any) -> dict[str, Any]:
    return {name: _plain(getattr(part, name)) for name in part.__struct_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "__struct_fields__"):
        return _fields(value)
    return getattr(value, "name", value)


def _lines(told: list[Any]) -> Iterator[str]:
    for part in told:
        fields = _fields(part)
        offset = fields.pop("offset")
        words = ", ".join(f"{name} {value}" for name, value in fields.items())
        yield f"{offset:>8}  {_kind(part)}: {words}"
