"""The evidence of an audit of a cluster's logs: small values that summarise the batches of its partitions.

A row stands for each transaction in each partition (`PartitionTransaction`), for each decision of a coordinator (`AuditedDecision`), for a
coordinator's last record (`Latest`), for each batch out of order (`Irregular`), for the state of share groups
(`ShareState`) and for bytes that are not a batch (`Damaged`). What is still open at the beginning or end of a stretch
of a log is kept as `OpenEnds`, so that several tasks can read a partition in stretches and join them in order
afterwards. `Surroundings` are the facts about all logs together.

Source: UnifiedLog.analyzeAndValidateProducerState, ProducerAppendInfo, TransactionMetadata.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TypeAlias

from kipviz.core.values import Value
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.records.share_group_state import StateBatch


class PartitionTransaction(Value, frozen=True, tag=True, array_like=True):
    """One transaction of a producer in one partition, from its first batch to its marker.

    `marker_offset` is -1 while it is open; `batches` is 0 for a marker without data. `groups` are the groups with
    offsets in it.
    """

    partition: str
    producer_id: int
    epoch: int
    first_offset: int
    first_ms: int
    last_offset: int
    batches: int
    marker_offset: int = -1
    marker_ms: int = -1
    marker_epoch: int = -1
    committed: bool = False
    groups: tuple[str, ...] = ()


class Irregular(Value, frozen=True, tag=True, array_like=True):
    """A batch that does not follow its producer's previous batch: `what` is duplicate, gap or epoch.

    `expected` and `found` are sequences, or epochs; `since_ms` is when the previous batch was written.
    """

    partition: str
    what: str
    producer_id: int
    epoch: int
    offset: int
    at_ms: int
    before: int
    since_ms: int
    expected: int
    found: int


class AuditedDecision(Value, frozen=True, tag=True, array_like=True):
    """A coordinator's decision about one transaction; `complete_ms` is -1 until it is recorded as complete."""

    transactional_id: str
    producer_id: int
    epoch: int
    committed: bool
    participants: tuple[str, ...]
    start_ms: int
    prepare_ms: int
    complete_ms: int
    timeout_ms: int
    log: str
    offset: int


class Latest(Value, frozen=True, tag=True, array_like=True):
    """A coordinator's last record about a transactional id; `gone` says that a tombstone followed."""

    transactional_id: str
    producer_id: int
    previous_producer_id: int
    epoch: int
    state: str
    participants: tuple[str, ...]
    start_ms: int
    at_ms: int
    timeout_ms: int
    log: str
    offset: int
    gone: bool = False


class ShareState(Value, frozen=True, tag=True, array_like=True):
    """The states of a share-partition's records at the end of its log, from its start offset on."""

    group: str
    topic_id: str
    partition: int
    start_offset: int
    batches: tuple[StateBatch, ...]
    at_ms: int
    log: str
    offset: int


class Damaged(Value, frozen=True, tag=True, array_like=True):
    """Bytes that are not a whole batch, or a batch that cannot be read."""

    partition: str
    segment: str
    position: int
    size: int
    why: str
    offset: int


class PartitionEnd(Value, frozen=True, tag=True, array_like=True):
    """The range of offsets of a partition's log, and when it was last written to."""

    partition: str
    broker: int
    first_offset: int
    end_offset: int
    last_ms: int
    marker_ms: int
    batches: int
    bytes: int


Evidence: TypeAlias = (
    PartitionTransaction
    | Irregular
    | AuditedDecision
    | Latest
    | ShareState
    | Damaged
    | PartitionEnd
)


class OpenEnds(Value, frozen=True):
    """What is open at both ends of one stretch of a partition's log; `number` is its place among the stretches, from 0."""

    partition: str
    number: int


class ProducerEnds(OpenEnds, frozen=True, tag=True, array_like=True):
    """The open ends of some producers: rows of `producer_fold.ROW`, as bytes.

    `heads` are a producer's first batch and its first one with data, `tails` its last ones; `ended` is the transaction
    that was open when the stretch began, with its marker, `open` the one that is open at its end. `groups` are
    (producer id, offset, groups).
    """

    in_sequence: bool
    heads: bytes
    tails: bytes
    ended: bytes
    open: bytes
    groups: tuple[tuple[int, int, tuple[str, ...]], ...] = ()


class TransactionEnds(OpenEnds, frozen=True, tag=True, array_like=True):
    """The open ends of some transactional ids.

    `first` says when the first state of each id completed a decision (-1: it did not), `forgotten` names those whose
    last record is a tombstone.
    """

    first: tuple[tuple[str, int], ...]
    prepared: tuple[AuditedDecision, ...]
    latest: tuple[Latest, ...]
    forgotten: tuple[str, ...]


class ShareChange(Value, frozen=True, array_like=True):
    """An update of a share-partition whose snapshot is in an earlier stretch; a start offset of -1 means "as before"."""

    group: str
    topic_id: str
    partition: int
    start_offset: int
    batches: tuple[StateBatch, ...]
    at_ms: int
    offset: int


class ShareEnds(OpenEnds, frozen=True, tag=True, array_like=True):
    """The states of some share-partitions, by their names in the keys of the log.

    `states` have their snapshot (or their tombstone: None) in the stretch, `changes` belong to an earlier one.
    """

    states: tuple[tuple[str, ShareState | None], ...]
    changes: tuple[tuple[str, tuple[ShareChange, ...]], ...]


class Surroundings(Value, frozen=True):
    """The facts about all logs; `ends` is sorted by partition, `now_ms` is the latest time that a broker wrote."""

    ends: tuple[PartitionEnd, ...]
    coordinators_complete: bool
    now_ms: int

    def end_of(self, partition: str) -> PartitionEnd | None:
        """Return the end of a partition's log, or None if the log is not here."""
        place = bisect_left(self.ends, partition, key=lambda end: end.partition)
        found = self.ends[place : place + 1]
        return found[0] if found and found[0].partition == partition else None


def surroundings(ends: Iterable[PartitionEnd], coordinators: int) -> Surroundings:
    """Collect the facts about all logs; `coordinators` is the number of __transaction_state partitions, 0 if unknown."""
    found = tuple(sorted(ends, key=lambda end: end.partition))
    names = [end.partition for end in found]
    complete = coordinators > 0 and all(
        f"__transaction_state-{k}" in names for k in range(coordinators)
    )
    # Producers may set their own timestamps in data; markers and internal topics have the brokers'.
    told = [e.last_ms for e in found if topic_of(e.partition) in INTERNAL_TOPICS]
    told += [end.marker_ms for end in found]
    now = max(told, default=-1)
    return Surroundings(
        found, complete, now if now >= 0 else max((e.last_ms for e in found), default=-1)
    )
