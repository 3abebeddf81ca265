"""A broker's own request log, read as what it was asked and what it answered.

With the logger kafka.request.logger at DEBUG a broker writes one line for every request it has answered:
the time, and the request with its answer as JSON. Lines about anything else are passed over, and so are
requests of APIs that are not asked about. The times are in the broker's own zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec

from kipviz.recordings.recorded import Exchange, plain
from kipviz.recordings.recording_error import RecordingError

# The layout that Kafka's own log4j2.yaml gives a line: [2026-11-21 22:43:59,123] DEBUG … (logger)
LINE = re.compile(
    rb"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] \w+ Completed request:(\{.*\})"
    rb" \(kafka\.request\.logger\)\s*$"
)
UTC = "+00:00"
OFFSET = re.compile(r"^([+-])(\d\d):(\d\d)$")
LAYOUT = "[2026-11-21 22:43:59,123] DEBUG Completed request:{…} (kafka.request.logger)"


def exchanges_in(path: Path, utc_offset: str = UTC) -> tuple[Exchange, ...]:
    """Read a request log, in the order of the answers.

    Raises:
        RecordingError: if it cannot be read, or has no line of a request.
        ValueError: if the offset is none.
    """
    zone = zone_of(utc_offset)
    try:
        content = path.read_bytes()
    except OSError as problem:
        why = f"The request log cannot be read ({problem.strerror})."
        raise RecordingError(str(path), 0, why) from problem
    found = tuple(_exchanges(path, content, zone))
    if not found:
        why = f"There is no line of a request here, such as {LAYOUT}."
        raise RecordingError(str(path), 0, why)
    return found


def in_order(exchanges: Iterable[Exchange]) -> tuple[Exchange, ...]:
    """Return the exchanges of several request logs in the order of their answers, each of them once."""
    return tuple(sorted(dict.fromkeys(exchanges), key=lambda each: each.answered_ms))


def zone_of(utc_offset: str) -> timezone:
    """Give the zone of an offset such as +02:00.

    Raises:
        ValueError: if it is none.
    """
    found = OFFSET.match(utc_offset)
    if found is None or int(found[2]) > 14 or int(found[3]) > 59:
        raise ValueError(f"an offset from UTC is written as +02:00 or -05:30, not {utc_offset!r}")
    ahead = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(ahead if found[1] == "+" else -ahead)


def _exchanges(path: Path, content: bytes, zone: timezone) -> Iterator[Exchange]:
    at = 0
    for line in content.splitlines(keepends=True):
        found = LINE.match(line)
        if found is not None:
            yield _exchange(str(path), at, found, zone)
        at += len(line)


def _exchange(file: str, at: int, found: re.Match[bytes], zone: timezone) -> Exchange:
    try:
        when = datetime.strptime(found[1].decode(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=zone)
        answered = int(when.timestamp()) * 1_000 + int(found[2])
        said: dict[str, Any] = msgspec.json.decode(found[3])
        header = said["requestHeader"]
        return Exchange(
            api=header["requestApiKeyName"],
            version=header["requestApiVersion"],
            client=header["clientId"] or "",
            received_ms=answered - round(said["totalTimeMs"]),
            answered_ms=answered,
            request=plain(said["request"]),
            response=plain(said["response"]),
            correlation=header.get("correlationId", -1),
            connection=str(said.get("connection", "")),
        )
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, OverflowError) as problem:
        why = f"This line is no request as a broker logs it ({type(problem).__name__}: {problem})."
        raise RecordingError(file, at, why) from problem
