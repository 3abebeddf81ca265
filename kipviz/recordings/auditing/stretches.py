"""Partitions cut into stretches of about the same size, so that one large partition is read by many tasks."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.core.values import Value
from kipviz.recordings.auditing.audit_evidence import Evidence, PartitionEnd
from kipviz.recordings.auditing.log_audit import AuditPlan
from kipviz.recordings.auditing.partition_fold import Ends, PartitionFold
from kipviz.recordings.files.log_parts import LogPart


class Stretch(Value, frozen=True):
    """Consecutive parts of one partition; `number` is their place among its stretches, `only` means it has no others."""

    number: int
    only: bool
    parts: tuple[LogPart, ...]

    @property
    def bytes(self) -> int:
        """The number of bytes of the log in it."""
        return sum(part.end - part.start for part in self.parts)


class OpenIn(Value, frozen=True):
    """Open ends of a stretch that fall into one bucket of producer ids, or of names."""

    bucket: int
    ends: Ends


class ExtentIn(Value, frozen=True):
    """The extent of one stretch."""

    number: int
    extent: PartitionEnd


def stretches_of(plan: AuditPlan, bytes_each: int) -> list[Stretch]:
    """Cut the partitions of a plan into stretches of about `bytes_each` at most; a smaller partition is one stretch.

    Raises:
        ValueError: if `bytes_each` is less than 1.
    """
    if bytes_each < 1:
        raise ValueError(f"a stretch must have at least 1 byte, not {bytes_each}")
    found: list[Stretch] = []
    for parts in plan.partitions:
        groups: list[list[LogPart]] = [[]]
        filled = 0
        for piece in (piece for part in parts for piece in _cut(part, bytes_each)):
            size = piece.end - piece.start
            if groups[-1] and filled + size > bytes_each:
                groups.append([])
                filled = 0
            groups[-1].append(piece)
            filled += size
        found += [Stretch(k, len(groups) == 1, tuple(each)) for k, each in enumerate(groups)]
    return found


def _cut(part: LogPart, bytes_each: int) -> Iterator[LogPart]:
    size = part.end - part.start
    pieces = max(1, -(-size // bytes_each))
    edges = [part.start + size * k // pieces for k in range(pieces + 1)]
    for k in range(pieces):
        yield part.but(start=edges[k], end=edges[k + 1])


def read_stretch(
    stretch: Stretch, buckets: int, *, check_crc: bool = True
) -> Iterator[Evidence | OpenIn | ExtentIn]:
    """Read a stretch, and yield its certain evidence, its open ends and its extent.

    Args:
        stretch: the stretch to read.
        buckets: the number of buckets for open ends.
        check_crc: compare every batch's checksum.

    Raises:
        RecordingError: if a file cannot be read.
    """
    fold = PartitionFold(stretch.parts[0], begins=stretch.number == 0)
    for part in stretch.parts:
        yield from fold.read(part, check_crc=check_crc)
    if stretch.only:
        yield from fold.end()
    else:
        for bucket, ends in fold.open_ends(stretch.number, buckets):
            yield OpenIn(bucket, ends)
    yield ExtentIn(stretch.number, fold.extent)
