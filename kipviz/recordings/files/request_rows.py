"""A broker's request log as rows, one for each request with its answer; a large file is read in ranges of bytes.

A range has the lines that start in it. A line that is not a request in a broker's layout is a row with its `problem`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from kipviz.core.outside import untrusted_file
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.recordings.files.request_log import exchanges_of, zone_of
from kipviz.recordings.recording_error import WHOLE, RecordingError

REQUESTS = pa.schema(
    [
        ("file", pa.string()),
        ("position", pa.int64()),
        ("api", pa.string()),
        ("version", pa.int16()),
        ("client", pa.string()),
        ("connection", pa.string()),
        ("correlation", pa.int32()),
        ("received_ms", pa.int64()),
        ("answered_ms", pa.int64()),
        ("request", pa.string()),
        ("response", pa.string()),
        ("problem", pa.string()),
    ]
)
ROWS_AT_ONCE = 5_000
_PIECE = 1 << 20


class RequestPart(Value, frozen=True):
    """The lines of a file that start at one byte or later and before another."""

    path: str
    start: int
    end: int
    size: int


def request_parts(
    paths: Iterable[str | os.PathLike[str]], part_bytes: int
) -> tuple[RequestPart, ...]:
    """Cut files into parts; a folder stands for the files in it, in the order of their names.

    Raises:
        RecordingError: if a path cannot be read.
    """
    found = []
    for path in map(Path, paths):
        try:
            files = sorted(f for f in path.iterdir() if f.is_file()) if path.is_dir() else [path]
            sizes = [file.stat().st_size for file in files]
        except OSError as problem:
            why = f"the request log cannot be read ({problem.strerror})"
            raise RecordingError(str(path), WHOLE, why) from problem
        for file, size in zip(files, sizes, strict=True):
            for start in range(0, size, part_bytes):
                end = min(start + part_bytes, size)
                found.append(RequestPart(str(file.resolve()), start, end, size))
    return tuple(found)


def request_rows(part: RequestPart, utc_offset: str) -> Iterator[pa.RecordBatch]:
    """Yield the requests of a part, some thousands at a time.

    Raises:
        RecordingError: if the file cannot be read.
        ValueError: if the offset is invalid.
    """
    found: list[dict[str, Any]] = []
    zone = zone_of(utc_offset)
    at, content = _lines(part)
    for place, exchange in exchanges_of(content, zone):
        row = {
            "file": part.path,
            "position": place + at,
            "api": exchange.api,
            "version": exchange.version,
            "client": exchange.client,
            "connection": exchange.connection,
            "correlation": exchange.correlation,
            "received_ms": exchange.received_ms,
            "answered_ms": exchange.answered_ms,
            "request": _json(exchange.request),
            "response": _json(exchange.response),
            "problem": exchange.problem,
        }
        found.append(row)
        if len(found) == ROWS_AT_ONCE:
            yield pa.RecordBatch.from_pylist(found, REQUESTS)
            found = []
    if found:
        yield pa.RecordBatch.from_pylist(found, REQUESTS)


def _lines(part: RequestPart) -> tuple[int, bytes]:
    """Return the whole lines that start in a part, and the byte of the first one."""
    # One byte earlier shows whether a line starts exactly at the start.
    first = max(part.start - 1, 0)
    behind = _PIECE
    while True:
        try:
            data = untrusted_file.read_range(part.path, first, part.end - first + behind)
        except OSError as problem:
            why = f"the request log cannot be read ({problem.strerror})"
            raise RecordingError(part.path, first, why) from problem
        until = data.find(b"\n", part.end - first - 1) + 1
        if until or first + len(data) >= part.size:
            break
        behind *= 8
    begins = data.find(b"\n", 0, part.end - first) + 1 if part.start else 0
    if part.start and not begins:
        return part.end, b""
    return first + begins, data[begins : until or None]


def _json(said: object) -> str | None:
    return None if said is None else msgspec.json.encode(said, enc_hook=_table).decode()


def _table(value: object) -> object:
    if isinstance(value, Table):
        return dict(value.items())
    raise TypeError(type(value).__name__)
