"""The folds of logs whose records are read one by one: the last records of coordinators and share coordinators.

Like `producer_fold`, each reads a stretch of a partition and can be joined with the next one. It keeps a row for each
transactional id, or for each share-partition. Source: TransactionMetadata, ShareCoordinatorShard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar
from zlib import crc32

from kipviz.recordings.auditing.audit_evidence import (
    AuditedDecision,
    Evidence,
    Latest,
    ShareChange,
    ShareEnds,
    ShareState,
    TransactionEnds,
)
from kipviz.recordings.decoded.internal_topics import (
    LoggedShareSnapshot,
    LoggedShareUpdate,
    LoggedTombstone,
    LoggedTransaction,
)
from kipviz.records.share_group_state import clip, merge, rank_by_number
from kipviz.records.transaction_state import TransactionState

PREPARES = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
COMPLETES = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
T = TypeVar("T")


class TransactionFold:
    """The state of the fold for the transactional ids of one partition of __transaction_state.

    `begins` says that the stretch is the beginning of the log.
    """

    def __init__(self, partition: str, *, begins: bool) -> None:
        """Start an empty fold."""
        self.partition, self.begins = partition, begins
        self.first: dict[str, int] = {}
        self.prepared: dict[str, AuditedDecision] = {}
        self.latest: dict[str, Latest] = {}
        self.forgotten: dict[str, None] = {}

    def take(self, said: object, at_ms: int) -> Iterator[Evidence]:
        """Add one record of the log."""
        if isinstance(said, LoggedTombstone):
            self._forget(said.key)
        if not isinstance(said, LoggedTransaction):
            return
        name, place = said.transactional_id, (self.partition, said.offset)
        participants = tuple(f"{t}-{p}" for t, indexes in said.partitions or () for p in indexes)
        latest = Latest(
            name,
            said.producer_id,
            said.previous_producer_id,
            said.producer_epoch,
            said.state.value,
            participants,
            said.start_ms,
            at_ms,
            said.timeout_ms,
            *place,
        )
        yield from self._follow(name, at_ms if said.state in COMPLETES else -1)
        self._say(latest)
        if said.state in PREPARES:
            self.prepared[name] = AuditedDecision(
                name,
                said.producer_id,
                said.producer_epoch,
                said.state is TransactionState.PREPARE_COMMIT,
                participants,
                said.start_ms,
                at_ms,
                -1,
                said.timeout_ms,
                *place,
            )

    def join(self, ends: TransactionEnds) -> Iterator[AuditedDecision]:
        """Join the next stretch, and yield the evidence that is certain for both together."""
        for name, complete_ms in ends.first:
            yield from self._follow(name, complete_ms)
        self.prepared |= {each.transactional_id: each for each in ends.prepared}
        for latest in ends.latest:
            self._say(latest)
        for name in ends.forgotten:
            self._forget(name)

    def end(self) -> Iterator[Evidence]:
        """Yield the decisions that are not complete, and the last state of each transactional id."""
        yield from self.prepared.values()
        yield from self.latest.values()

    def open_ends(self, number: int, buckets: int) -> Iterator[tuple[int, TransactionEnds]]:
        """Yield the open ends of both sides, by buckets of transactional ids."""
        first = _group_by_bucket(self.first, buckets)
        prepared, latest = (
            _group_by_bucket(self.prepared, buckets),
            _group_by_bucket(self.latest, buckets),
        )
        forgotten = _group_by_bucket(self.forgotten, buckets)
        for bucket in sorted({*first, *prepared, *latest, *forgotten}):
            yield (
                bucket,
                TransactionEnds(
                    self.partition,
                    number,
                    tuple(first.get(bucket, {}).items()),
                    tuple(prepared.get(bucket, {}).values()),
                    tuple(latest.get(bucket, {}).values()),
                    tuple(forgotten.get(bucket, ())),
                ),
            )

    def _follow(self, name: str, complete_ms: int) -> Iterator[AuditedDecision]:
        """End the open decision with the state that follows it."""
        prepared = self.prepared.pop(name, None)
        if prepared is not None:
            yield prepared.but(complete_ms=complete_ms)
        if not self.begins:
            self.first.setdefault(name, complete_ms)

    def _say(self, latest: Latest) -> None:
        self.latest[latest.transactional_id] = latest
        self.forgotten.pop(latest.transactional_id, None)

    def _forget(self, name: str) -> None:
        if name in self.latest:
            self.latest[name] = self.latest[name].but(gone=True)
        elif not self.begins:
            self.forgotten[name] = None


class ShareFold:
    """The state of the fold for the share-partitions of one partition of __share_group_state.

    A share-partition's key is its name in the log: group, topic id and number. `begins` says that the stretch is the
    beginning of the log.
    """

    def __init__(self, partition: str, *, begins: bool) -> None:
        """Start an empty fold."""
        self.partition, self.begins = partition, begins
        self.states: dict[str, ShareState | None] = {}
        self.changes: dict[str, list[ShareChange]] = {}

    def take(self, said: object, at_ms: int) -> Iterator[Evidence]:
        """Add one record of the log; nothing is certain before its end."""
        match said:
            case LoggedShareSnapshot():
                key = (said.group, said.topic_id, said.partition)
                place = (at_ms, self.partition, said.offset)
                state = ShareState(*key, said.start_offset, said.batches, *place)
                self.states[_name(*key)] = state
            case LoggedShareUpdate():
                key = (said.group, said.topic_id, said.partition)
                change = ShareChange(*key, said.start_offset, said.batches, at_ms, said.offset)
                self._change(_name(*key), change)
            case LoggedTombstone(kind="ShareSnapshot", key=name):
                self.states[name] = None
            case _:
                pass
        yield from ()

    def join(self, ends: ShareEnds) -> Iterator[Evidence]:
        """Join the next stretch."""
        for name, changes in ends.changes:
            for change in changes:
                self._change(name, change)
        self.states |= dict(ends.states)
        yield from ()

    def end(self) -> Iterator[ShareState]:
        """Yield the state of each share-partition."""
        yield from (state for state in self.states.values() if state is not None)

    def open_ends(self, number: int, buckets: int) -> Iterator[tuple[int, ShareEnds]]:
        """Yield the states of the share-partitions, by buckets of their names."""
        states, changes = (
            _group_by_bucket(self.states, buckets),
            _group_by_bucket(self.changes, buckets),
        )
        for bucket in sorted({*states, *changes}):
            waiting = ((name, tuple(each)) for name, each in changes.get(bucket, {}).items())
            known = tuple(states.get(bucket, {}).items())
            yield bucket, ShareEnds(self.partition, number, known, tuple(waiting))

    def _change(self, name: str, change: ShareChange) -> None:
        if name not in self.states and not self.begins:
            self.changes.setdefault(name, []).append(change)
            return
        known = self.states.get(name)
        start, before = change.start_offset, () if known is None else known.batches
        if start < 0 and known is not None:
            start = known.start_offset
        batches = clip(merge(before, change.batches, start, rank_by_number), start)
        key = (change.group, change.topic_id, change.partition)
        place = (change.at_ms, self.partition, change.offset)
        self.states[name] = ShareState(*key, start, batches, *place)


def _name(group: str, topic_id: str, partition: int) -> str:
    return f"{group}:{topic_id}:{partition}"


def _group_by_bucket(values: dict[str, T], buckets: int) -> dict[int, dict[str, T]]:
    found: dict[int, dict[str, T]] = {}
    for name, value in values.items():
        found.setdefault(crc32(name.encode()) % buckets, {})[name] = value
    return found
