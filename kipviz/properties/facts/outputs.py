"""The outputs of source records, and the decisions about them: a fold over events.

"atomic" and the outcomes of runs both count committed outputs; what counts is defined here once. An output is a source
record's name and the partition that the output is in.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipviz.cluster.world import World
from kipviz.core.table import Table
from kipviz.messages.events import BatchAppended, TransactionDecided
from kipviz.records.batches import ABORT, Batch, DataRecord

Identity = tuple[int, int]
Output = tuple[str, str]
# The outputs of undecided transactions by (producer id, epoch), in the order of their names, so that the order of
# appends does not matter.
Open = Table[Identity, tuple[Output, ...]]


def fold_batch(open_: Open, event: BatchAppended) -> Open:
    """Fold a batch: outputs of a transaction, or an ABORT marker that an operator wrote.

    A coordinator decides before it sends markers, so a marker for something undecided comes from elsewhere, and ends it
    in one partition.
    """
    place = (event.producer_id, event.producer_epoch)
    outputs = open_.get(place, ())
    if event.control:
        left = tuple(output for output in outputs if output[1] != event.partition)
        return (
            _keep_outputs(open_, place, left)
            if event.control == ABORT and left != outputs
            else open_
        )
    found = outputs_in(event)
    if not found or event.producer_id < 0 or event.plain:
        return open_
    return open_.set(place, tuple(sorted(outputs + found)))


def outputs_in(event: BatchAppended) -> tuple[Output, ...]:
    """Return the outputs in a batch."""
    records = (r for r in event.records if isinstance(r, DataRecord) and r.origin)
    return tuple((record.origin, event.partition) for record in records)


def end_late_batches(open_: Open, event: BatchAppended) -> tuple[Open, tuple[Output, ...]]:
    """End late batches of a marker's partition; return the outputs that it commits.

    Below transaction version 2 a log may have appended a batch of an older epoch after the marker of its transaction.
    It stays open until another marker of the producer arrives, and then has that marker's outcome.
    """
    committed: tuple[Output, ...] = ()
    for place, outputs in open_.items():
        if place[0] != event.producer_id or place[1] >= event.producer_epoch:
            continue
        left = tuple(output for output in outputs if output[1] != event.partition)
        open_ = _keep_outputs(open_, place, left)
        if event.control != ABORT:
            committed += tuple(output for output in outputs if output[1] == event.partition)
    return open_, committed


def end_transaction(open_: Open, event: TransactionDecided) -> tuple[Open, tuple[Output, ...]]:
    """End a transaction; return the outputs that it commits."""
    place = (event.producer_id, event.producer_epoch)
    outputs = open_.get(place, ())
    return open_.without(place), outputs if event.committed else ()


def forget_truncated(open_: Open, partition: str, world: World) -> Open:
    """Forget the outputs that only the old leader of a partition had: they are in no log now.

    Batches before the producer's last marker belong to an earlier transaction, which below transaction version 2 had
    the same epoch.
    """
    for place, outputs in open_.items():
        others = tuple(output for output in outputs if output[1] != partition)
        if others == outputs:
            continue
        there = tuple(
            (record.origin, partition)
            for batch in _after_last_marker(world.logs[partition].batches, place[0])
            if (batch.producer_id, batch.producer_epoch) == place
            for record in batch.records
            if isinstance(record, DataRecord) and record.origin
        )
        left = tuple(sorted(others + there))
        open_ = open_.set(place, left) if left != outputs else open_
    return open_


def without(open_: Open, event: BatchAppended) -> Open:
    """Remove those outputs that a batch of their transaction contains."""
    place = (event.producer_id, event.producer_epoch)
    outputs = open_.get(place, ())
    found = outputs_in(event)
    return _keep_outputs(open_, place, tuple(output for output in outputs if output not in found))


def add_lost(cut: Open, before: Open, after: Open) -> Open:
    """Add the outputs that were open before and no longer are to those that were lost."""
    for place, outputs in before.items():
        here = after.get(place, ())
        lost = {output for output in outputs if output not in here}
        if lost:
            cut = cut.set(place, tuple(sorted({*cut.get(place, ()), *lost})))
    return cut


def _after_last_marker(batches: Iterable[Batch], producer_id: int) -> list[Batch]:
    found: list[Batch] = []
    for batch in batches:
        if batch.producer_id == producer_id:
            found = [] if batch.control else [*found, batch]
    return found


def _keep_outputs(open_: Open, place: Identity, left: tuple[Output, ...]) -> Open:
    return open_.set(place, left) if left else open_.without(place)
