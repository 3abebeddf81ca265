"""The records of `__share_group_state` and the rule that merges them."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TypeAlias

from kipviz.core.values import Value


class RecordState(IntEnum):
    """A record's delivery state and Kafka's id of it (RecordState.java).

    TX_PENDING has no id in KIP-1289; its draft code uses 5.
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4
    TX_PENDING = 5


# Delivery count, state and staged fields: of two batches the one with the higher rank stays.
Rank: TypeAlias = tuple[int, int, tuple[int, int, int, int]]
TERMINAL = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class StateBatch(Value, frozen=True):
    """A run of offsets with one delivery state and one delivery count.

    The `staged` fields belong to TX_PENDING and are -1 otherwise: which producer staged the offsets, with
    which acknowledge type, and which state a commit gives them. Status: draft (pull request 22357, seen in
    source); Kafka's batch ends with the delivery count.
    """

    first: int
    last: int
    state: RecordState
    delivery_count: int
    staged_producer_id: int = -1
    staged_producer_epoch: int = -1
    staged_type: int = -1
    staged_state: int = -1

    @property
    def staged(self) -> tuple[int, int, int, int]:
        """Producer id, epoch, acknowledge type and state after a commit, each -1 where nothing is staged."""
        return (
            self.staged_producer_id,
            self.staged_producer_epoch,
            self.staged_type,
            self.staged_state,
        )


class StagedBatch(Value, frozen=True):
    """A run of offsets acknowledged inside a transaction that is not decided yet.

    Status: our inference. KIP-1289 keeps the transactional acknowledgement in memory; the repaired design logs it.
    """

    first: int
    last: int
    acknowledge_type: int
    delivery_count: int


class ShareSnapshotRecord(Value, frozen=True):
    """The whole state of one share-partition (ShareSnapshotKey and ShareSnapshotValue).

    With a start offset of -1 share.auto.offset.reset decides where the group starts. `cold` means that nothing had
    changed: the record repeats the state, so that earlier records can be deleted.
    """

    key: str
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = -1
    batches: tuple[StateBatch, ...] = ()
    cold: bool = False


class ShareTombstone(Value, frozen=True):
    """The deletion of a share-partition's state (a ShareSnapshotKey without a value)."""

    key: str


class ShareUpdateRecord(Value, frozen=True):
    """A change of one share-partition since its snapshot (ShareUpdateKey and ShareUpdateValue)."""

    key: str
    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = 0
    batches: tuple[StateBatch, ...] = ()


class ShareStagedRecord(Value, frozen=True):
    """A durable transactional acknowledgement, which takes effect when its transaction commits.

    Status: our inference (the repaired design); it is written in a transactional batch whose header has producer id and
    epoch. The start offset is valid whatever the outcome. With `archiving` a commit makes a rejected record ARCHIVING,
    for the dead-letter queue (KIP-1191).
    """

    key: str
    staged: tuple[StagedBatch, ...]
    start_offset: int = -1
    archiving: bool = False


def rank_by_number(batch: StateBatch) -> Rank:
    """Rank a batch by its delivery count, then by its state's number, then by its staged fields.

    TX_PENDING has the highest number, so it ranks above every outcome of the same delivery.
    Source: PersisterStateBatchCombiner; for the staged fields pull request 22357 (draft, seen in source).
    """
    return (batch.delivery_count, batch.state, batch.staged)


def rank_with_pending_last(batch: StateBatch) -> Rank:
    """Rank TX_PENDING below every other state of the same delivery. Status: our inference."""
    pending = batch.state is RecordState.TX_PENDING
    return (batch.delivery_count, -1 if pending else int(batch.state), batch.staged)


def merge(
    stored: tuple[StateBatch, ...],
    new: tuple[StateBatch, ...],
    start_offset: int,
    rank: Callable[[StateBatch], Rank] = rank_by_number,
) -> tuple[StateBatch, ...]:
    """Merge two lists of batches: per offset the higher rank wins, by default (delivery count, state id).

    It is not last-writer-wins: a stale write cannot undo newer state. Batches below the start offset are dropped or
    clipped; gaps between batches are kept.
    Source: PersisterStateBatchCombiner.
    """
    out = clip(stored, start_offset)
    for batch in clip(new, start_offset):
        out = _lay_over(out, batch, rank)
    return _coalesce(out)


def replace(
    stored: tuple[StateBatch, ...], new: tuple[StateBatch, ...], start_offset: int
) -> tuple[StateBatch, ...]:
    """Overwrite: a new batch wins at every offset that it covers.

    A transaction's outcome does not compete with the state but decides it, so it must not lose the merge. Status: our
    inference (finding X15).
    """
    out = clip(stored, start_offset)
    for batch in clip(new, start_offset):
        out = _lay_over(out, batch, None)
    return _coalesce(out)


def clip(batches: tuple[StateBatch, ...], start_offset: int) -> tuple[StateBatch, ...]:
    """Drop what is below the start offset; -1 keeps everything."""
    return tuple(
        b if b.first >= start_offset else b.but(first=start_offset)
        for b in batches
        if b.last >= start_offset
    )


def _lay_over(
    under: tuple[StateBatch, ...], over: StateBatch, rank: Callable[[StateBatch], Rank] | None
) -> tuple[StateBatch, ...]:
    """Lay one batch over others that are in order and disjoint; without a rank it wins everywhere."""
    out: list[StateBatch] = []
    first = over.first  # the rest of `over` begins here
    for batch in under:
        if batch.last < first:
            out.append(batch)
            continue
        if batch.first > over.last:
            if first <= over.last:
                out.append(over.but(first=first))
                first = over.last + 1
            out.append(batch)
            continue
        stays = rank is not None and rank(over) <= rank(batch)
        if first < batch.first:
            out.append(over.but(first=first, last=batch.first - 1))
            first = batch.first
        if stays:
            out.append(batch)
            first = batch.last + 1
            continue
        if batch.first < first:
            out.append(batch.but(last=first - 1))
        end = min(batch.last, over.last)
        out.append(over.but(first=first, last=end))
        first = end + 1
        if batch.last > end:
            out.append(batch.but(first=end + 1))
    if first <= over.last:
        out.append(over.but(first=first))
    return tuple(out)


def _coalesce(batches: tuple[StateBatch, ...]) -> tuple[StateBatch, ...]:
    out: list[StateBatch] = []
    for batch in batches:
        alike = bool(out) and rank_by_number(out[-1]) == rank_by_number(batch)
        if alike and out[-1].last == batch.first - 1:
            out[-1] = out[-1].but(last=batch.last)
        else:
            out.append(batch)
    return tuple(out)
