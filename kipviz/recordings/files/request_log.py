"""A broker's own request log, read as requests with their answers.

With the logger kafka.request.logger at DEBUG a broker writes one line for every request that it has answered: the time,
and the request with its answer as JSON. Other lines are skipped, and so are requests of APIs that are not compared. The
times are in the broker's own time zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec

from kipviz.core.outside import untrusted_file
from kipviz.recordings.recorded import Exchange, plain
from kipviz.recordings.recording_error import WHOLE, RecordingError

# The layout of a line in Kafka's own log4j2.yaml: [2026-11-21 22:43:59,123] DEBUG … (logger)
LINE = re.compile(
    rb"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] \w+ Completed request:(\{.*\})"
    rb" \(kafka\.request\.logger\)\s*$"
)
# How such a line begins, whatever became of its rest.
BEGINS = re.compile(rb"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] \w+ Completed request:")
UTC = "+00:00"
# The exceptions while reading a line that is not a request.
DAMAGE = (msgspec.MsgspecError, KeyError, TypeError, ValueError, OverflowError)
OFFSET = re.compile(r"^([+-])(\d\d):(\d\d)$")
# The widest offset that a time zone has (UTC+14:00; java.time.ZoneOffset allows 18 hours, no zone uses them).
FURTHEST = timedelta(hours=14)
# What is known of a line that cannot be read.
UNKNOWN = Exchange("UNKNOWN", 0, "", 0, 0, None, None)
LAYOUT = "[2026-11-21 22:43:59,123] DEBUG Completed request:{…} (kafka.request.logger)"


class _Header(msgspec.Struct, rename="camel"):
    """The fields of a request's header that are read."""

    request_api_key_name: str
    request_api_version: int
    client_id: str | None
    correlation_id: int = -1


def exchanges_in(path: Path, utc_offset: str = UTC) -> tuple[Exchange, ...]:
    """Read a request log, in the order of the answers.

    A line that is not a request in a broker's layout is an exchange with a `problem`, unless all lines are.

    Raises:
        RecordingError: if the file cannot be read, or has no line with a request.
        ValueError: if the offset is invalid.
    """
    zone = zone_of(utc_offset)
    try:
        content = untrusted_file.read(path)
    except OSError as problem:
        why = f"the request log cannot be read ({problem.strerror})"
        raise RecordingError(str(path), WHOLE, why) from problem
    read = tuple(exchanges_of(content, zone))
    found = [exchange for _, exchange in read]
    damaged = [(at, exchange.problem) for at, exchange in read if exchange.problem]
    if not found:
        why = f"there is no line of a request here, such as {LAYOUT}"
        raise RecordingError(str(path), 0, why)
    if len(damaged) == len(found):
        at, why = damaged[0]
        why = why.removeprefix(f"The line at byte {at} ")
        raise RecordingError(str(path), at, f"this line {why}")
    return tuple(found)


def exchanges_of(content: bytes, zone: timezone) -> Iterator[tuple[int, Exchange]]:
    """Yield the requests in some lines of a log, each with the byte of its line; an invalid line has a `problem`."""
    for at, line in _lines(content):
        if line is None:
            why = f"is cut off, or not in Kafka's layout {LAYOUT}"
            yield at, UNKNOWN.but(problem=f"The line at byte {at} {why}")
            continue
        try:
            yield at, _exchange(line, zone)
        except DAMAGE as problem:
            why = f"is not a request as a broker logs it ({type(problem).__name__}: {problem})"
            yield at, UNKNOWN.but(problem=f"The line at byte {at} {why}")


def in_order(exchanges: Iterable[Exchange]) -> tuple[Exchange, ...]:
    """Return the exchanges of several request logs in the order of their answers, each of them once."""
    return tuple(sorted(dict.fromkeys(exchanges), key=lambda each: each.answered_ms))


def zone_of(utc_offset: str) -> timezone:
    """Return the time zone of an offset such as +02:00.

    Raises:
        ValueError: if it is not such an offset, or further from UTC than any time zone.
    """
    found = OFFSET.match(utc_offset)
    if found is None or int(found[3]) > 59:
        raise ValueError(f"an offset from UTC must be like +02:00 or -05:30, not {utc_offset!r}")
    ahead = timedelta(hours=int(found[2]), minutes=int(found[3]))
    if ahead > FURTHEST:
        raise ValueError(
            f"an offset from UTC must be at most 14:00 hours, as +14:00, not {utc_offset!r}"
        )
    return timezone(ahead if found[1] == "+" else -ahead)


def _lines(content: bytes) -> Iterator[tuple[int, re.Match[bytes] | None]]:
    """Yield the lines of requests, each with its byte; None for one that only begins as such a line does."""
    at = 0
    for line in content.splitlines(keepends=True):
        found = LINE.match(line)
        if found is not None or BEGINS.match(line) is not None:
            yield at, found
        at += len(line)


def _exchange(found: re.Match[bytes], zone: timezone) -> Exchange:
    when = datetime.strptime(found[1].decode(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=zone)
    answered = int(when.timestamp()) * 1_000 + int(found[2])
    said: dict[str, Any] = msgspec.json.decode(found[3])
    header = msgspec.convert(said["requestHeader"], _Header)
    return Exchange(
        api=header.request_api_key_name,
        version=header.request_api_version,
        client=header.client_id or "",
        received_ms=answered - round(said["totalTimeMs"]),
        answered_ms=answered,
        request=plain(msgspec.convert(said["request"], dict)),
        response=plain(msgspec.convert(said["response"], dict)),
        correlation=header.correlation_id,
        connection=str(said.get("connection", "")),
    )
