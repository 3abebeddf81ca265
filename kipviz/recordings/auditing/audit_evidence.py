"""What an audit of a cluster's logs goes by: what the batches of its partitions leave behind, each a small value.

A row stands for each transaction in each partition (`Held`), for each decision of a coordinator (`Decision`), for
what a coordinator said last (`Latest`), for each batch out of order (`Irregular`), for how share groups stand (`ShareState`)
and for bytes that are no batch (`Damaged`). What is still open where a stretch of a log begins or ends is carried as
`OpenEnds`, so that a partition may be read in stretches by several tasks and joined in its order afterwards.

Source: UnifiedLog.analyzeAndValidateProducerState, ProducerAppendInfo, TransactionMetadata.
"""

from __future__ import annotations

from typing import TypeAlias

from kipviz.core.values import Value
from kipviz.records.share_group_state import StateBatch


class Held(Value, frozen=True, tag=True, array_like=True):
    """One transaction of a producer in one partition, from its first batch to its marker.

    `marker_offset` is -1 while it is open; `batches` is 0 for a marker without data. `groups` have offsets in it.
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
    """A batch that does not follow its producer's one before: `what` is duplicate, gap or epoch.

    `expected` and `found` are sequences, or epochs; `since_ms` is when the batch before was written.
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


class Decision(Value, frozen=True, tag=True, array_like=True):
    """What a coordinator decided about one transaction; `complete_ms` is -1 while it is not told complete."""

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
    """What a coordinator said last of a transactional id; `gone` says that it was forgotten after that."""

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
    """How the records of a share-partition stand at the end of its log, from its start offset on."""

    group: str
    topic_id: str
    partition: int
    start_offset: int
    batches: tuple[StateBatch, ...]
    at_ms: int
    log: str
    offset: int


class Damaged(Value, frozen=True, tag=True, array_like=True):
    """Bytes that are no whole batch, or a batch that cannot be read."""

    partition: str
    segment: str
    position: int
    size: int
    why: str
    offset: int


class PartitionEnd(Value, frozen=True, tag=True, array_like=True):
    """From where to where a partition's log goes, and when it was last written to."""

    partition: str
    broker: int
    first_offset: int
    end_offset: int
    last_ms: int
    marker_ms: int
    batches: int
    bytes: int


Evidence: TypeAlias = Held | Irregular | Decision | Latest | ShareState | Damaged | PartitionEnd


class OpenEnds(Value, frozen=True):
    """What one stretch of a partition's log leaves open at either end; `number` is its place among the stretches, from 0."""

    partition: str
    number: int


class ProducerEnds(OpenEnds, frozen=True, tag=True, array_like=True):
    """What is open of some producers: rows of `producer_fold.ROW`, as bytes.

    `heads` are a producer's first batch and its first one with data, `tails` its last ones; `ended` is its transaction that was
    open when the stretch began, with its marker, `open` the one that is open at the end. `groups` are (producer id, offset, groups).
    """

    in_sequence: bool
    heads: bytes
    tails: bytes
    ended: bytes
    open: bytes
    groups: tuple[tuple[int, int, tuple[str, ...]], ...] = ()


class TransactionEnds(OpenEnds, frozen=True, tag=True, array_like=True):
    """What is open of some transactional ids.

    `first` says for each when its first state completed a decision (-1: it did not), `forgotten` names those whose last record is a tombstone.
    """

    first: tuple[tuple[str, int], ...]
    prepared: tuple[Decision, ...]
    latest: tuple[Latest, ...]
    forgotten: tuple[str, ...]


class ShareChange(Value, frozen=True, array_like=True):
    """An update of a share-partition whose snapshot stands in an earlier stretch; a start offset of -1 means "as before"."""

    group: str
    topic_id: str
    partition: int
    start_offset: int
    batches: tuple[StateBatch, ...]
    at_ms: int
    offset: int


class ShareEnds(OpenEnds, frozen=True, tag=True, array_like=True):
    """How some share-partitions stand, by their names in keys of the log.

    `states` have their snapshot (or their tombstone: None) in the stretch, `changes` belong to an earlier one.
    """

    states: tuple[tuple[str, ShareState | None], ...]
    changes: tuple[tuple[str, tuple[ShareChange, ...]], ...]
