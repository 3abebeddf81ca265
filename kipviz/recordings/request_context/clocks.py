"""Whether the request log and the partitions' logs use one clock, and the difference if not.

The times of a request log are in the broker's time zone, which is not stated. If they are read with another offset, no
request fits its writes. A coordinator stamps what it appends while it serves a request: with the right offset its
batches lie between the arrivals and the answers of requests that write. Zones differ by whole quarter hours.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from kipviz.messages.apis.catalogue import APIS
from kipviz.recordings.files.request_log import OFFSET
from kipviz.recordings.recorded import Exchange
from kipviz.recordings.request_context.evidence import Evidence

QUARTER_MS = 900_000
# The world's time zones reach from UTC-12:00 to UTC+14:00, in minutes, and one may be taken for another.
WEST, EAST = -12 * 60, 14 * 60
QUARTERS_MAX = (EAST - WEST) // 15
# Some writes are late: a marker, a snapshot, a line of a busy broker.
AROUND_MS = 1_000
# The part of the coordinators' writes that must fit, and how much more than without another offset.
ENOUGH = 0.5
# The requests for which a leader appends something, by Kafka's names.
WRITING = frozenset(api.kafka_name for api in APIS if api.appends)


def hours_apart(evidence: Evidence) -> int:
    """Return by how many ms the request log is ahead of the logs, in whole quarter hours; 0 if they fit."""
    written = [entry.at_ms for entry in evidence.entries if entry.partition.startswith("__")]
    if not written:
        written = [entry.at_ms for entry in evidence.entries]
    spans = _spans(evidence.exchanges)
    if not written or not spans:
        return 0
    now = _fitting(written, spans, 0)
    quarters = sorted(range(-QUARTERS_MAX, QUARTERS_MAX + 1), key=abs)
    best = max(quarters, key=lambda each: _fitting(written, spans, each * QUARTER_MS))
    fits = _fitting(written, spans, best * QUARTER_MS)
    return best * QUARTER_MS if fits - now >= max(1, ENOUGH * len(written)) else 0


def shift_offset(utc_offset: str, by_ms: int) -> str:
    """Return an offset from UTC moved by some quarter hours, as +HH:MM; "" if no time zone has it."""
    found = OFFSET.match(utc_offset)
    if found is None:
        return ""
    minutes = int(found[2]) * 60 + int(found[3])
    now = (minutes if found[1] == "+" else -minutes) + by_ms // 60_000
    if not WEST <= now <= EAST:
        return ""
    hours, rest = divmod(abs(now), 60)
    return f"{'-' if now < 0 else '+'}{hours:02}:{rest:02}"


def _spans(exchanges: Iterable[Exchange]) -> list[tuple[int, int]]:
    """Return the times between which something may have been written, in order and without overlaps."""
    found: list[tuple[int, int]] = []
    times = sorted(
        (x.received_ms - AROUND_MS, x.answered_ms + AROUND_MS)
        for x in exchanges
        if x.api in WRITING and not x.problem
    )
    for begin, end in times:
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _fitting(written: list[int], spans: list[tuple[int, int]], ahead_ms: int) -> int:
    """Count the writes while a request was served, if the request log is ahead by some ms."""
    begins = [begin for begin, _ in spans]
    count = 0
    for at in written:
        place = bisect_right(begins, at + ahead_ms) - 1
        count += place >= 0 and at + ahead_ms <= spans[place][1]
    return count
