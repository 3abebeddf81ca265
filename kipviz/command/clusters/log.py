"""`kipviz log`: what the logs of a real broker contain, and which transaction blocks a reader."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kipviz.command.arguments import add_json, count, names
from kipviz.command.bad_input import RefusedInput
from kipviz.command.clusters import log_accept, log_folder
from kipviz.command.output import answer, check_place, write_whole

NOTHING = "This log is empty: nothing was ever written, everything was deleted, or the file was copied badly."
HELP = "print a partition's log as a broker wrote it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommand's arguments."""
    parser.add_argument(
        "path",
        metavar="FOLDER|FILE",
        nargs="+",
        help="a partition's folder, such as __transaction_state-45, or a broker's whole folder of logs; with --accept "
        "and --open the folders of several brokers of one cluster",
    )
    parser.add_argument("--topic", help="the topic; default: from the folder's name")
    parser.add_argument(
        "--torn-tail",
        action="store_true",
        help="the file was copied from a running broker: a truncated end is no damage",
    )
    parser.add_argument(
        "--open",
        action="store_true",
        help="report what holds back the last stable offsets, and open the logs in the stepper; "
        "FOLDER may be a broker's whole folder of logs",
    )
    parser.add_argument(
        "--topics",
        type=names,
        default=(),
        metavar="T[,T]",
        help="with --open or --requests: which user topics",
    )
    parser.add_argument(
        "--last",
        type=count,
        metavar="N",
        help="with --open: how many batches are steps (500)",
    )
    parser.add_argument(
        "--at",
        type=_place,
        metavar="PARTITION:OFFSET",
        help="with --open: only the batches around this offset; the page opens there",
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="with --open: read logs of any size from their beginning; else only the batches around the last one, if there are more than 32 MB",
    )
    parser.add_argument("--to", metavar="FILE", help="with --open: the file of the page")
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="with --open: write the page and print its path, without a browser",
    )
    log_accept.add_arguments(parser)
    add_json(parser)


def _place(text: str) -> tuple[str, int]:
    """Parse a position in a log, such as orders-0:1234."""
    partition, _, offset = text.rpartition(":")
    if not (partition and offset.isascii() and offset.isdecimal() and len(offset) < 20):
        raise argparse.ArgumentTypeError(
            f"it must be a partition and an offset, such as orders-0:1234, not {text!r}"
        )
    return partition, int(offset)


def run(arguments: argparse.Namespace) -> int:
    """Print the records of an internal topic, or the markers in a user's topic.

    Raises:
        Refused: if it is not a Kafka log, or is damaged.
    """
    from kipviz.recordings.decoded import internal_topics
    from kipviz.recordings.decoded.cluster_metadata import CLUSTER_METADATA
    from kipviz.recordings.files.segments import read_partition, read_segment
    from kipviz.recordings.recording_error import RecordingError

    paths = [Path(each) for each in arguments.path]
    path = paths[0]
    for each in paths:
        if not each.exists():
            raise RefusedInput(f"{each} does not exist; name a partition's folder or a .log file")
    if why := _why_not_together(arguments):
        raise RefusedInput(why)
    if arguments.accept:
        return log_accept.run(arguments, paths)
    if arguments.open:
        return _open(arguments, paths)
    if len(paths) > 1:
        raise RefusedInput(
            "several brokers' folders are for --accept, --open, and kipviz audit --logs"
        )
    if not arguments.topic and log_folder.holds_partitions(path):
        return log_folder.run(path, as_json=arguments.json)
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    topic = arguments.topic or folder.name.rpartition("-")[0] or path.name
    try:
        if path.is_dir():
            segments = read_partition(path, torn_tail=arguments.torn_tail)
        else:
            segments = (read_segment(path, compacted=True, torn_tail=arguments.torn_tail),)
        told: list[Any] = []
        for segment in segments:
            known = topic in (*internal_topics.DECODERS, CLUSTER_METADATA)
            told += (
                internal_topics.decode(segment, topic)
                if known
                else internal_topics.markers(segment)
            )
    except RecordingError as error:
        raise RefusedInput(str(error)) from None
    batches = [batch for segment in segments for batch in segment.batches]
    document = {
        "topic": topic,
        "batches": len(batches),
        "records": sum(len(batch.records) for batch in batches),
        "told": [{"kind": _kind(part), **_fields(part)} for part in told],
    }
    head = f"{topic}: {document['batches']} batches, {document['records']} records"
    nothing = [] if batches else [NOTHING]
    answer(document, [head, *_lines(told), *nothing], as_json=arguments.json)
    return 0


def _why_not_together(arguments: argparse.Namespace) -> str:
    """Return which option lacks the option that it belongs to, in a sentence, or ""."""
    if arguments.at is not None and arguments.whole:
        return "--at and --whole exclude each other: name one of them"
    if arguments.open and arguments.accept:
        return "--open and --accept exclude each other: name one of them"
    if arguments.requests is not None and not arguments.accept:
        return "--requests is for --accept"
    needed = {
        "--open": (arguments.open, ("last", "at", "whole", "to", "no_browser")),
        "--requests": (arguments.requests is not None, ("utc_offset", "settings")),
        "--open or --requests": (arguments.open or arguments.requests is not None, ("topics",)),
        "--accept": (arguments.accept, ("worlds_max", "spark", "master")),
        "a log that is printed, or --open": (not arguments.accept, ("topic", "torn_tail")),
    }
    for what, (there, fields) in needed.items():
        given = [f for f in fields if getattr(arguments, f) not in (None, False, ())]
        if given and not there:
            return f"--{given[0].replace('_', '-')} is for {what}"
    return "--topic is for one partition's log" if arguments.open and arguments.topic else ""


def _open(arguments: argparse.Namespace, paths: list[Path]) -> int:
    """Print which transactions block readers, and write a page that steps through the logs."""
    from kipviz.recordings.recording_error import RecordingError
    from kipviz.views.reasons.blocked_logs import find_blocked, pending_offsets
    from kipviz.views.reasons.open_transactions import lines_of_open, lines_of_pending
    from kipviz.widgets.pages.page import page
    from kipviz.widgets.rebuilt_logs import LAST, run_of_logs, step_of
    from kipviz.widgets.stepping.lines import Lab

    check_place(arguments.to)
    try:
        run = run_of_logs(
            paths,
            arguments.topics,
            arguments.last or LAST,
            torn_tail=arguments.torn_tail,
            at=arguments.at,
            whole=arguments.whole,
        )
        step = run.trace.depth if arguments.at is None else step_of(run, *arguments.at)
    except (RecordingError, ValueError) as wrong:
        raise RefusedInput(str(wrong)) from None
    not_read = run.scenario.not_read  # type: ignore[attr-defined]
    window = run.scenario.window  # type: ignore[attr-defined]
    model, world = run.model, run.trace.world
    # A window has the coordinators' last records only, and knows nothing of who is not in them.
    told = not window and log_folder.has_all_coordinators(paths, world.image.internal_partitions)
    rows = find_blocked(model, world, coordinators_complete=told)  # type: ignore[arg-type]
    pending = pending_offsets(model, world, coordinators_complete=told)  # type: ignore[arg-type]
    lab = Lab(run)
    to = arguments.to or str(Path(tempfile.mkdtemp(prefix="kipviz-"), "log.html"))
    write_whole(to, page(lab.payload, 0, step))
    document = {
        "sentence": run.scenario.sentence,
        "blocked": [_fields(row) for row in rows],
        "pending_offsets": [_fields(row) for row in pending],
        "steps": run.trace.depth,
        "step": step,
        "file": to,
        "not_read": list(not_read),
        "window": window,
    }
    lines = [run.scenario.sentence, *(f"not read: {each}" for each in not_read)]
    if window and rows:
        lines += [
            "",
            "Earlier transactions, which are not in these batches, may hold back readers as well.",
        ]
    lines += [line for row in rows for line in lines_of_open(row)]
    lines += [line for row in pending for line in lines_of_pending(row)]
    if not rows:
        lines.append(
            f"{'In these batches e' if window else 'E'}very last stable offset equals its high watermark."
        )
    if window:
        folders = " ".join(map(shlex.quote, map(str, paths)))
        lines.append(f"The logs as a whole: kipviz audit --logs {folders}")
    answer(document, [*lines, "", f"{to}: step {step}"], as_json=arguments.json)
    if not arguments.no_browser:
        import webbrowser

        webbrowser.open(Path(to).resolve().as_uri())
    return int(bool(rows or pending))


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
