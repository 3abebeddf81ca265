"""All evidence that has a producer id, brought together: in memory up to a number of pieces, the rest in a temporary file.

A producer id may live for years and have most of a log's transactions. What is judged at once is therefore not a producer id but one of its
epochs: a transaction's decision and its markers have the same epoch. Since transaction version 2 each transaction has an
epoch of its own; before, an epoch may have any number of them, and then its evidence is read from the file in the order of
the logs, as often as the rules need it. Of each producer id only what is open and its coordinator's last words are held.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, Self, assert_never

import msgspec

from kipviz.recordings.auditing.audit_evidence import (
    AuditedDecision,
    Damaged,
    Evidence,
    Irregular,
    Latest,
    PartitionEnd,
    PartitionTransaction,
    ShareState,
)

# So many pieces are held in memory, about 350 bytes each.
PIECES_MOST = 250_000
_WRITTEN_AT_ONCE = 10_000
_HELD, _DECISION = (
    msgspec.msgpack.Decoder(PartitionTransaction),
    msgspec.msgpack.Decoder(AuditedDecision),
)
_LATEST, _IRREGULAR = msgspec.msgpack.Decoder(Latest), msgspec.msgpack.Decoder(Irregular)
_OF_EPOCH = msgspec.msgpack.Decoder(AuditedDecision | PartitionTransaction)
_encode = msgspec.msgpack.encode
# Open transactions, what coordinators said last, and batches out of order belong to no epoch.
NO_EPOCH = -2
_CREATE = "CREATE TABLE piece (producer INTEGER, epoch INTEGER, kind TEXT, log TEXT, at INTEGER, said BLOB)"
_INDEX = "CREATE INDEX place ON piece (producer, epoch, kind, log, at)"
_SAID = "SELECT said FROM piece WHERE producer = ? AND epoch = ?"
_IN_ORDER = " ORDER BY log, at"


class EpochEvidence(Protocol):
    """The decisions of one epoch of a producer id, and what ended with its markers."""

    def decisions(self) -> Iterable[AuditedDecision]:
        """Return the decisions in their order."""

    def partitions(self) -> Iterable[str]:
        """Return the partitions that have markers, sorted."""

    def marks(self, partition: str) -> Iterable[PartitionTransaction]:
        """Return what ended in a partition, in the order of its log."""


class ProducerEvidence(NamedTuple):
    """The evidence of one producer id: what is open by partition, what coordinators said last, and its epochs."""

    open: dict[str, PartitionTransaction]
    latest: tuple[Latest, ...]
    irregular: Iterable[Irregular]
    epochs: Iterable[EpochEvidence]


class _InMemory:
    """An epoch of which there is not much."""

    def __init__(self) -> None:
        self._decisions: list[AuditedDecision] = []
        self._marks: dict[str, list[PartitionTransaction]] = {}

    def add(self, each: AuditedDecision | PartitionTransaction) -> None:
        if isinstance(each, AuditedDecision):
            self._decisions.append(each)
        else:
            self._marks.setdefault(each.partition, []).append(each)

    def decisions(self) -> Iterable[AuditedDecision]:
        return self._decisions

    def partitions(self) -> Iterable[str]:
        return sorted(self._marks)

    def marks(self, partition: str) -> Iterable[PartitionTransaction]:
        return self._marks.get(partition, ())


class _OnDisk:
    """An epoch with more pieces than are held, read from the file each time."""

    def __init__(self, file: sqlite3.Connection, producer_id: int, epoch: int) -> None:
        self._file, self._place = file, (producer_id, epoch)

    def decisions(self) -> Iterator[AuditedDecision]:
        asked = f"{_SAID} AND kind = ?{_IN_ORDER}"
        for (said,) in self._file.execute(asked, (*self._place, AuditedDecision.__name__)):
            yield _DECISION.decode(said)

    def partitions(self) -> Iterable[str]:
        asked = "SELECT DISTINCT log FROM piece WHERE producer = ? AND epoch = ? AND kind = ?"
        rows = self._file.execute(
            f"{asked} ORDER BY log", (*self._place, PartitionTransaction.__name__)
        )
        return [log for (log,) in rows.fetchall()]

    def marks(self, partition: str) -> Iterator[PartitionTransaction]:
        asked = f"{_SAID} AND kind = ? AND log = ?{_IN_ORDER}"
        for (said,) in self._file.execute(
            asked, (*self._place, PartitionTransaction.__name__, partition)
        ):
            yield _HELD.decode(said)


class GatheredEvidence:
    """Takes in evidence in any order, and returns it by producer id.

    Args:
        bucket: only producer ids that fall into this one are kept (producer id modulo `buckets`).
        buckets: how many buckets there are.
        pieces_most: so many pieces are held in memory; with more, all go to a file.
    """

    def __init__(
        self, bucket: int = 0, buckets: int = 1, *, pieces_most: int = PIECES_MOST
    ) -> None:
        """Begin with nothing."""
        self._bucket, self._buckets, self._most = bucket, buckets, pieces_most
        self._held: dict[int, list[Evidence]] = {}
        self._count = 0
        self._cleanup = contextlib.ExitStack()
        self._file: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def add(self, each: Evidence) -> None:
        """Add one piece of evidence; evidence without a producer id is left out."""
        for producer_id in keys_of(each):
            if producer_id % self._buckets == self._bucket:
                self._held.setdefault(producer_id, []).append(each)
                self._count += 1
        if self._count >= (self._most if self._file is None else min(self._most, _WRITTEN_AT_ONCE)):
            self._write()

    def producers(self) -> Iterator[ProducerEvidence]:
        """Return the evidence of each producer id, in their order; after that nothing is added any more."""
        if self._file is None:
            for _, found in sorted(self._held.items()):
                yield evidence_in_memory(found)
            return
        self._write()
        self._file.execute(_INDEX)
        for (producer_id,) in self._file.execute("SELECT DISTINCT producer FROM piece"):
            yield self._of_producer(self._file, producer_id)

    def _of_producer(self, file: sqlite3.Connection, producer_id: int) -> ProducerEvidence:
        """Put together what a file has of one producer id."""

        def of_kind(kind: type[Evidence]) -> Iterator[bytes]:
            asked = (producer_id, NO_EPOCH, kind.__name__)
            rows = file.execute(f"{_SAID} AND kind = ?{_IN_ORDER}", asked)
            return (said for (said,) in rows)

        asked = "SELECT epoch, COUNT(*) FROM piece WHERE producer = ? AND epoch > ? GROUP BY epoch"
        epochs = file.execute(asked, (producer_id, NO_EPOCH))
        still_open = map(_HELD.decode, of_kind(PartitionTransaction))
        return ProducerEvidence(
            {each.partition: each for each in still_open},
            tuple(map(_LATEST.decode, of_kind(Latest))),
            map(_IRREGULAR.decode, of_kind(Irregular)),
            (self._epoch(file, producer_id, *each) for each in epochs),
        )

    def _epoch(
        self, file: sqlite3.Connection, producer_id: int, epoch: int, count: int
    ) -> EpochEvidence:
        if count > self._most:
            return _OnDisk(file, producer_id, epoch)
        found = _InMemory()
        for (said,) in file.execute(f"{_SAID} ORDER BY kind, log, at", (producer_id, epoch)):
            found.add(_OF_EPOCH.decode(said))
        return found

    def _write(self) -> None:
        """Write to the file what is held."""
        if self._file is None:
            folder = self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="kipviz-"))
            self._file = sqlite3.connect(Path(folder, "evidence"), isolation_level=None)
            self._cleanup.callback(self._file.close)
            # It is gone with this process: nothing of it need survive a crash.
            self._file.execute("PRAGMA journal_mode = OFF")
            self._file.execute("PRAGMA synchronous = OFF")
            self._file.execute(_CREATE)
        self._file.execute("BEGIN")
        self._file.executemany(
            "INSERT INTO piece VALUES (?, ?, ?, ?, ?, ?)",
            (
                (producer_id, epoch_of(each), type(each).__name__, *place_of(each), _encode(each))
                for producer_id, found in self._held.items()
                for each in found
            ),
        )
        self._file.execute("COMMIT")
        self._held.clear()
        self._count = 0


def evidence_in_memory(pieces: Iterable[Evidence]) -> ProducerEvidence:
    """Put together the evidence of one producer id, which comes in any order."""
    found = sorted(pieces, key=lambda each: (type(each).__name__, *place_of(each)))
    epochs: dict[int, _InMemory] = {}
    for each in found:
        if (
            isinstance(each, PartitionTransaction | AuditedDecision)
            and (epoch := epoch_of(each)) != NO_EPOCH
        ):
            epochs.setdefault(epoch, _InMemory()).add(each)
    return ProducerEvidence(
        {
            each.partition: each
            for each in found
            if isinstance(each, PartitionTransaction) and each.marker_offset < 0
        },
        tuple(each for each in found if isinstance(each, Latest)),
        tuple(each for each in found if isinstance(each, Irregular)),
        tuple(epochs[epoch] for epoch in sorted(epochs)),
    )


def keys_of(evidence: Evidence) -> tuple[int, ...]:
    """Return the producer ids with whose evidence this belongs; none if it stands alone."""
    match evidence:
        case PartitionTransaction() | Irregular() | AuditedDecision():
            return (evidence.producer_id,)
        case Latest():
            ids = (evidence.producer_id, evidence.previous_producer_id)
            return tuple(dict.fromkeys(each for each in ids if each >= 0))
        case ShareState() | Damaged() | PartitionEnd():
            return ()
        case _:
            assert_never(evidence)


def epoch_of(each: Evidence) -> int:
    """Return the epoch with whose evidence a piece is judged; a transaction's markers have that of its decision."""
    if isinstance(each, AuditedDecision):
        return each.epoch
    if isinstance(each, PartitionTransaction) and each.marker_offset >= 0:
        return each.marker_epoch
    return NO_EPOCH


def place_of(each: Evidence) -> tuple[str, int]:
    """Return where a piece stands: the order of the log that it is from."""
    match each:
        case PartitionTransaction():
            return each.partition, each.first_offset
        case Irregular():
            return each.partition, each.offset
        case AuditedDecision() | Latest():
            return each.log, each.offset
        case ShareState() | Damaged() | PartitionEnd():
            return "", -1
        case _:
            assert_never(each)
