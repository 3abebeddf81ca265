"""What the clients of a soak were told, and whether the logs agree.

Each record has a value of its own. A writer notes a transaction before its first record, and what became of it when it
was told. Later a reader reads each partition with isolation level read_committed, from where it stopped, and compares:
a committed record is there once, at its offset; an aborted one is not; the records of a transaction whose outcome its
writer was never told are all there or none is.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

OPEN, COMMITTED, ABORTED, UNKNOWN = "open", "committed", "aborted", "unknown"
Place = tuple[str, int]


@dataclass
class Written:
    """The records of a transaction, or of one plain batch: value to (partition, offset); -1 is unknown."""

    writer: str
    records: dict[str, tuple[Place, int]] = field(default_factory=dict)
    outcome: str = OPEN


class Ledger:
    """Everything that was written since the last comparison."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: list[Written] = []
        self.seen: Counter[str] = Counter()
        self.offsets: dict[str, tuple[Place, int]] = {}
        self.compared = 0

    def begin(self, writer: str) -> Written:
        """Note the beginning of a transaction, or of a plain batch."""
        written = Written(writer)
        with self._lock:
            self._written.append(written)
        return written

    def see(self, place: Place, offset: int, value: str) -> None:
        """Note a record that the reader has read."""
        self.seen[value] += 1
        self.offsets[value] = (place, offset)

    def forget(self) -> None:
        """Forget everything: the cluster went back to an earlier step."""
        with self._lock:
            self._written.clear()
        self.seen.clear()
        self.offsets.clear()

    def compare(self, read_to: dict[Place, int]) -> list[str]:
        """Return what the logs contradict; what lies behind the reader's positions remains for the next time."""
        with self._lock:
            written, self._written = self._written, []
        wrong: list[str] = []
        later = []
        for each in written:
            far = any(offset >= read_to.get(place, 0) for place, offset in each.records.values())
            if each.outcome == OPEN or far:
                later.append(each)
                continue
            wrong += self._contradictions(each)
            self.compared += 1
        with self._lock:
            self._written[:0] = later
        kept = {value for each in later for value in each.records}
        for value in tuple(self.seen):
            if value not in kept:
                del self.seen[value]
                self.offsets.pop(value, None)
        return wrong

    def _contradictions(self, each: Written) -> Iterator[str]:
        counts = {value: self.seen[value] for value in each.records}
        about = f"{each.writer}, {each.outcome}: {counts}"
        if any(count > 1 for count in counts.values()):
            yield f"a record is in the log more than once: {about}"
        if each.outcome == COMMITTED and any(count != 1 for count in counts.values()):
            yield f"a committed record is missing: {about}"
        if each.outcome == ABORTED and any(counts.values()):
            yield f"a record of an aborted transaction is visible: {about}"
        acknowledged = {counts[v] for v, (_, offset) in each.records.items() if offset >= 0}
        if each.outcome == UNKNOWN and len(acknowledged) > 1:
            yield f"a transaction is visible in part: {about}"
        for value, (place, offset) in each.records.items():
            where = self.offsets.get(value)
            if where is not None and offset >= 0 and where != (place, offset):
                yield f"{value} is at {where}, its writer was told {(place, offset)}"
