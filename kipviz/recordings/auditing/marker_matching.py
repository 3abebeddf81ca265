"""Which marker of a partition belongs to which decision of an epoch.

A transaction's markers carry the epoch of the coordinator's PREPARE record: the producer's own before transaction
version 2 and the next one since (KIP-890). So decisions and markers of one epoch are matched. If an epoch has several
of them, they are matched from the last one backwards, because retention and compaction remove the front.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kipviz.recordings.auditing.audit_evidence import (
    AuditedDecision,
    PartitionTransaction,
)
from kipviz.recordings.auditing.gathered_evidence import EpochEvidence


class MarkerMatching:
    """How many decisions and markers of one epoch each partition has, and which marker belongs to which decision.

    Markers are matched from the last one back, because retention and compaction take away the front.
    """

    def __init__(self, epoch: EpochEvidence) -> None:
        """Count all of them."""
        self.epoch = epoch
        self.own: dict[str, int] = {}
        self.first: dict[str, AuditedDecision] = {}
        for decision in epoch.decisions():
            for partition in decision.participants:
                self.own[partition] = self.own.get(partition, 0) + 1
                self.first.setdefault(partition, decision)
        self.marks: dict[str, int] = {}
        self.with_data: dict[str, int] = {}
        for partition in epoch.partitions():
            for mark in epoch.marks(partition):
                self.marks[partition] = self.marks.get(partition, 0) + 1
                self.with_data[partition] = self.with_data.get(partition, 0) + bool(mark.batches)
        # Which decision of a partition comes next, and its markers that are not matched yet.
        self._turn: dict[str, int] = {}
        self._left: dict[str, Iterator[PartitionTransaction]] = {}

    def pairs(self) -> Iterator[tuple[AuditedDecision, dict[str, PartitionTransaction | None]]]:
        """Return each decision with the markers of its participants, None where there is none."""
        for decision in self.epoch.decisions():
            yield decision, {each: self._marker(each) for each in decision.participants}

    def count(self, decision: AuditedDecision) -> None:
        """Note that a decision is judged."""
        for partition in decision.participants:
            self._turn[partition] = self._turn.get(partition, 0) + 1

    def _marker(self, partition: str) -> PartitionTransaction | None:
        own, marks = self.own[partition], self._count_matched(partition)
        if self._turn.get(partition, 0) < own - marks:
            return None
        if partition not in self._left:
            # An operator's abort of what is not open leaves a marker that ends nothing.
            only_data = self.with_data.get(partition, 0) > 0 and self.marks[partition] > own
            there = (m for m in self.epoch.marks(partition) if m.batches or not only_data)
            self._left[partition] = islice(there, max(0, marks - own), None)
        return next(self._left[partition])

    def _count_matched(self, partition: str) -> int:
        own, marks = self.own[partition], self.marks.get(partition, 0)
        return marks if marks <= own else self.with_data[partition] or own

    def is_whole(self, partition: str) -> bool:
        """Return whether a partition has as many markers as decisions."""
        return self.own.get(partition, 0) == self.marks.get(partition, 0)

    def is_ended(self, partition: str, *, is_open: bool) -> bool:
        """Return whether a participant has the marker of the current decision."""
        own = self.own[partition]
        missing = own - self.marks.get(partition, 0)
        if missing <= 0:
            return True
        # The missing one is the last where the log still has the transaction open, else the front was taken away.
        place = self._turn.get(partition, 0)
        return place < own - missing if is_open else place >= missing
