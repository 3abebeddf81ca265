"""A record as a share group has it: properties keep their facts by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from kipviz.core.table import Table
from kipviz.messages.events import RecordsMoved, SharePartitionLoaded

V = TypeVar("V")


class ShareRecord(NamedTuple):
    """A record in a share group: several groups may read one partition, each with its own state of the record."""

    group_id: str
    partition: str
    offset: int

    def __str__(self) -> str:
        return f"{self.group_id} {self.partition}@{self.offset}"


def moved_records(event: RecordsMoved) -> Iterator[ShareRecord]:
    """Yield the records of an event."""
    for offset in range(event.first, event.last + 1):
        yield ShareRecord(event.group_id, event.partition, offset)


def of_partition(
    known: Iterable[ShareRecord], group_id: str, partition: str
) -> Iterator[ShareRecord]:
    """Yield the known records of a share-partition."""
    for record in known:
        if record.partition == partition and record.group_id == group_id:
            yield record


def list_forgotten(
    known: Iterable[ShareRecord], event: SharePartitionLoaded
) -> Iterator[ShareRecord]:
    """Yield the known records of a share-partition that its new leader neither holds nor has below its start offset."""
    for record in of_partition(known, event.group_id, event.partition):
        if record.offset >= event.start_offset and record.offset not in event.held:
            yield record


def without_partition(
    known: Table[ShareRecord, V], group_id: str, partition: str
) -> Table[ShareRecord, V]:
    """Remove what is known of the records of a share-partition."""
    for record in of_partition(known, group_id, partition):
        known = known.without(record)
    return known
