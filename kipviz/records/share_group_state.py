"""The records of `__share_group_state` and the rule that merges them."""

from __future__ import annotations

from enum import IntEnum

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


TERMINAL = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class StateBatch(Value, frozen=True):
    """A run of offsets with one delivery state and one delivery count."""

    first: int
    last: int
    state: RecordState
    delivery_count: int


class StagedBatch(Value, frozen=True):
    """A run of offsets acknowledged inside a transaction that is not decided yet.

    Status: our inference. KIP-1289 keeps the vote in memory; the repaired design logs it.
    """

    first: int
    last: int
    acknowledge_type: int
    delivery_count: int


class ShareSnapshotRecord(Value, frozen=True):
    """The whole state of one share-partition (ShareSnapshotKey and ShareSnapshotValue)."""

    key: str
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = 0
    batches: tuple[StateBatch, ...] = ()


class ShareUpdateRecord(Value, frozen=True):
    """A change of one share-partition since its snapshot (ShareUpdateKey and ShareUpdateValue)."""

    key: str
    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = 0
    batches: tuple[StateBatch, ...] = ()


class ShareStagedRecord(Value, frozen=True):
    """A durable vote: acknowledgements that take effect when their transaction commits.

    Status: our inference (the repaired design); it is written in a transactional batch whose
    header carries producer id and epoch.
    """

    key: str
    staged: tuple[StagedBatch, ...]


def merge(
    stored: tuple[StateBatch, ...], new: tuple[StateBatch, ...], start_offset: int
) -> tuple[StateBatch, ...]:
    """Join two lists of batches: per offset the higher (delivery count, state id) wins.

    It is a join, not last-writer-wins: a stale write cannot undo newer state. Batches below the
    start offset are dropped or clipped; gaps between batches are kept.
    Source: PersisterStateBatchCombiner.
    """
    best: dict[int, tuple[int, RecordState]] = {}
    for batch in stored + new:
        rank = (batch.delivery_count, batch.state)
        for offset in range(max(batch.first, start_offset), batch.last + 1):
            if offset not in best or best[offset] < rank:
                best[offset] = rank
    return _runs(sorted(best.items()))


def replace(
    stored: tuple[StateBatch, ...], new: tuple[StateBatch, ...], start_offset: int
) -> tuple[StateBatch, ...]:
    """Overwrite: where a new batch covers an offset it wins whatever it says.

    A transaction's outcome is not a competing opinion but the decision, so it must not lose the
    join against the state it decides. Status: our inference (finding X15).
    """
    chosen: dict[int, tuple[int, RecordState]] = {}
    for batch in stored + new:
        for offset in range(max(batch.first, start_offset), batch.last + 1):
            chosen[offset] = (batch.delivery_count, batch.state)
    return _runs(sorted(chosen.items()))


def _runs(cells: list[tuple[int, tuple[int, RecordState]]]) -> tuple[StateBatch, ...]:
    out: list[StateBatch] = []
    for offset, (count, state) in cells:
        if (
            out
            and out[-1].last == offset - 1
            and (out[-1].delivery_count, out[-1].state) == (count, state)
        ):
            out[-1] = out[-1].but(last=offset)
        else:
            out.append(StateBatch(offset, offset, state, count))
    return tuple(out)
