"""What an audit of a cluster's logs goes by: each partition is read once, in order, and leaves only what was of note.

A partition's batches are folded part by part. What is carried from one part to the next is a row for each producer id
(its last batch) and one for each open transaction, so memory goes with the producers and not with the log. What is
kept of it is a row for each transaction in each partition (`Held`), for each decision of a coordinator (`Decision`), for
what a coordinator said last (`Latest`), for each batch out of order (`Irregular`), and what share groups came to (`ShareState`).

NOT JUDGED: order of sequences in compacted topics, whose batches are taken away, and in coordinators' own batches, which
all begin at 0. Source: UnifiedLog.analyzeAndValidateProducerState, ProducerAppendInfo, TransactionMetadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from kipviz.core.values import Value
from kipviz.recordings.decoded.internal_topics import (
    LoggedOffset,
    LoggedShareSnapshot,
    LoggedShareUpdate,
    LoggedTombstone,
    LoggedTransaction,
    decode,
)
from kipviz.recordings.files.batch_headers import CONTROL, Damage
from kipviz.recordings.files.checksums import Numbers
from kipviz.recordings.files.log_parts import LogPart, PartContent, read_part
from kipviz.recordings.files.log_rows import (
    ABORTS,
    COMMITS,
    end_markers,
    logged_batches,
    whole_batch,
)
from kipviz.recordings.files.segments import Segment
from kipviz.recordings.recording_error import RecordingError
from kipviz.records.placement import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from kipviz.records.share_group_state import StateBatch, clip, merge, rank_by_number
from kipviz.records.transaction_state import TransactionState

_TRANSACTIONAL = 0x10
_SEQUENCES = 1 << 31
PREPARES = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
COMPLETES = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


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

# A row of a producer's batch, or of what is carried of an open transaction.
ROW = np.dtype(
    [
        ("pid", "i8"),
        ("epoch", "i8"),
        ("sequence", "i8"),
        ("count", "i8"),
        ("first_offset", "i8"),
        ("last_offset", "i8"),
        ("first_ms", "i8"),
        ("last_ms", "i8"),
        ("batches", "i8"),
        ("marker", "i1"),
        ("transactional", "?"),
    ]
)


def evidence_of(parts: Iterable[LogPart], *, check_crc: bool = True) -> Iterator[Evidence]:
    """Read the parts of one partition, in order, and return what an audit goes by.

    Raises:
        RecordingError: a file cannot be read.
    """
    fold: PartitionFold | None = None
    for part in parts:
        if fold is None:
            fold = _FOLDS.get(part.topic, PartitionFold)(part)
        yield from fold.read(read_part(part, check_crc=check_crc))
    if fold is not None:
        yield from fold.end()


class PartitionFold:
    """The fold of a user's partition: transactions, and the order of every producer's batches."""

    in_sequence = True

    def __init__(self, part: LogPart) -> None:
        """Begin with an empty log."""
        self.partition, self.broker = part.partition, part.broker
        self.in_sequence = self.in_sequence and not part.compacted
        self.first = self.next = self.last_ms = self.marker_ms = -1
        self.batches = self.bytes = 0
        self.before = np.zeros(0, ROW)
        self.open = np.zeros(0, ROW)

    def read(self, content: PartContent) -> Iterator[Evidence]:
        """Take in one part; return what is known for certain after it."""
        positions, fields, damages, _ = content.headers
        if len(positions):
            if self.first < 0:
                self.first = int(fields["base_offset"][0])
            self.next = int(fields["base_offset"][-1] + fields["last_delta"][-1]) + 1
            self.last_ms = max(self.last_ms, int(fields["max_timestamp"].max()))
            self.batches += len(positions)
            self.bytes += int(fields["length"].sum()) + 12 * len(positions)
            yield from self.producers(content)
        for each in damages:
            yield self.damaged(content.part, each, self.next)

    def damaged(self, part: LogPart, damage: Damage, offset: int) -> Damaged:
        """Return a damage with its place in the file."""
        place = (part.segment, damage.start + part.start, damage.end - damage.start)
        return Damaged(self.partition, *place, damage.why, offset)

    def producers(self, content: PartContent) -> Iterator[Evidence]:
        """Take in the batches that have a producer id."""
        chosen = np.flatnonzero(content.headers.fields["producer_id"] >= 0)
        if not len(chosen):
            return
        rows = _rows_of(content, chosen)
        marks = rows["marker"] > 0
        if marks.any():
            self.marker_ms = max(self.marker_ms, int(rows["last_ms"][marks].max()))
        yield from self._irregular(rows)
        yield from self._transactions(rows)

    def _irregular(self, rows: Numbers) -> Iterator[Irregular]:
        all_rows = np.concatenate((self.before, rows))
        order = np.argsort(all_rows["pid"], kind="stable")
        all_rows, new = all_rows[order], order >= len(self.before)
        now, then = all_rows[1:], all_rows[:-1]
        same = (now["pid"] == then["pid"]) & new[1:]
        for k in np.flatnonzero(same & (now["epoch"] < then["epoch"])):
            yield self._irregularity("epoch", now[k], then[k], then["epoch"][k], now["epoch"][k])
        if self.in_sequence:
            is_data = all_rows["marker"] == 0
            data, new = all_rows[is_data], new[is_data]
            now, then = data[1:], data[:-1]
            follows = (now["pid"] == then["pid"]) & (now["sequence"] >= 0) & new[1:]
            expected = np.where(
                now["epoch"] == then["epoch"], (then["sequence"] + then["count"]) % _SEQUENCES, 0
            )
            follows &= (now["epoch"] >= then["epoch"]) & (now["sequence"] != expected)
            for k in np.flatnonzero(follows):
                # A sequence that was there already lies less than half the circle back.
                behind = int(expected[k] - now["sequence"][k]) % _SEQUENCES
                what = "duplicate" if behind < _SEQUENCES // 2 else "gap"
                found = (expected[k], now["sequence"][k])
                yield self._irregularity(what, now[k], then[k], *found)
        self.before = _last_of_each(all_rows)

    def _irregularity(
        self, what: str, now: Numbers, then: Numbers, expected: int, found: int
    ) -> Irregular:
        place = (int(now["pid"]), int(now["epoch"]), int(now["first_offset"]), int(now["last_ms"]))
        before = (int(then["last_offset"]), int(then["last_ms"]))
        return Irregular(self.partition, what, *place, *before, int(expected), int(found))

    def _transactions(self, rows: Numbers) -> Iterator[Held]:
        rows = np.concatenate((self.open, rows[rows["transactional"]]))
        if not len(rows):
            return
        rows = rows[np.argsort(rows["pid"], kind="stable")]
        ends = rows["marker"] > 0
        begins = np.ones(len(rows), bool)
        begins[1:] = (rows["pid"][1:] != rows["pid"][:-1]) | ends[:-1]
        starts = np.flatnonzero(begins)
        stops = np.append(starts[1:], len(rows)) - 1
        closed = ends[stops]
        batches = np.add.reduceat(rows["batches"], starts)
        first, stop = rows[starts[closed]], rows[stops[closed]]
        last = rows[np.maximum(starts[closed], stops[closed] - 1)]
        columns = (
            *(first[name] for name in ("pid", "epoch", "first_offset", "first_ms")),
            *(last["last_offset"], batches[closed]),
            *(stop[name] for name in ("first_offset", "last_ms", "epoch")),
            stop["marker"] == COMMITS,
        )
        listed = zip(*(column.tolist() for column in columns), strict=True)
        for pid, epoch, offset, ms, last_offset, count, at, at_ms, at_epoch, commits in listed:
            span = (offset, ms, last_offset, count)
            end = (at, at_ms, at_epoch, commits)
            yield Held(self.partition, pid, epoch, *span, *end, self.groups_of(pid))
        self.open = rows[starts[~closed]].copy()
        self.open["batches"] = batches[~closed]
        self.open["last_offset"] = rows["last_offset"][stops[~closed]]
        self.open["last_ms"] = rows["last_ms"][stops[~closed]]

    def _held(self, first: Numbers, last: Numbers, batches: int) -> Held:
        who = (int(first["pid"]), int(first["epoch"]))
        span = (int(first["first_offset"]), int(first["first_ms"]), int(last["last_offset"]))
        return Held(self.partition, *who, *span, batches, groups=self.groups_of(int(first["pid"])))

    def groups_of(self, producer_id: int) -> tuple[str, ...]:
        """Return the groups whose offsets are in a producer's open transaction."""
        return ()

    def end(self) -> Iterator[Evidence]:
        """Return what is left at the end of the log."""
        for k, batches in enumerate(self.open["batches"].tolist()):
            yield self._held(self.open[k], self.open[k], batches)
        times = (self.last_ms, self.marker_ms)
        ends = (self.first, self.next, *times, self.batches, self.bytes)
        yield PartitionEnd(self.partition, self.broker, *ends)


def _rows_of(content: PartContent, chosen: Numbers) -> Numbers:
    positions, fields = content.headers.positions[chosen], content.headers.fields[chosen]
    kinds, _ = end_markers(content, positions, fields)
    rows = np.zeros(len(chosen), ROW)
    rows["pid"], rows["epoch"] = fields["producer_id"], fields["producer_epoch"]
    rows["sequence"] = fields["base_sequence"]
    rows["count"] = fields["last_delta"].astype(np.int64) + 1
    rows["first_offset"] = fields["base_offset"]
    rows["last_offset"] = fields["base_offset"] + fields["last_delta"]
    rows["first_ms"] = rows["last_ms"] = fields["max_timestamp"]
    rows["marker"] = kinds
    rows["batches"] = kinds == 0
    marks = (kinds == ABORTS) | (kinds == COMMITS)
    data = (fields["attributes"] & (_TRANSACTIONAL | CONTROL)) == _TRANSACTIONAL
    rows["transactional"] = data | marks
    return rows


def _last_of_each(rows: Numbers) -> Numbers:
    """Return for each producer its last batch of data, then its last marker if that came later.

    Both are needed: the marker has the newest epoch, the batch has the sequence.
    """
    kept = np.zeros(len(rows), bool)
    if len(rows):
        last = np.ones(len(rows), bool)
        last[:-1] = rows["pid"][1:] != rows["pid"][:-1]
        kept |= last
        data = np.flatnonzero(rows["marker"] == 0)
        if len(data):
            pids = rows["pid"][data]
            final = np.ones(len(data), bool)
            final[:-1] = pids[1:] != pids[:-1]
            kept[data[final]] = True
    found: Numbers = rows[kept]
    return found


class OffsetsFold(PartitionFold):
    """The fold of a partition of __consumer_offsets: the transactions that have offsets, and of which groups."""

    in_sequence = False

    def __init__(self, part: LogPart) -> None:
        """Begin with an empty log."""
        super().__init__(part)
        self.groups: dict[int, tuple[str, ...]] = {}

    def producers(self, content: PartContent) -> Iterator[Evidence]:
        """Note the groups of the offsets in transactions, then take in the batches."""
        positions, fields, _, _ = content.headers
        data = (fields["attributes"] & (_TRANSACTIONAL | CONTROL)) == _TRANSACTIONAL
        for k in np.flatnonzero(data):
            batch = whole_batch(content, int(positions[k]), int(fields["length"][k]) + 12)
            if batch is None:
                continue
            try:
                said = decode(Segment("", (batch,)), CONSUMER_OFFSETS)
            except RecordingError as problem:
                place = Damage(int(positions[k]), int(positions[k]) + batch.size, problem.why)
                yield self.damaged(content.part, place, batch.base_offset)
                continue
            names = [each.group for each in said if isinstance(each, LoggedOffset)]
            known = self.groups.get(batch.producer_id, ())
            self.groups[batch.producer_id] = tuple(dict.fromkeys((*known, *names)))
        yield from super().producers(content)

    def groups_of(self, producer_id: int) -> tuple[str, ...]:
        """Return the groups for which a producer has written offsets."""
        return self.groups.get(producer_id, ())


class _SayingFold(PartitionFold):
    """The fold of a log whose records are read one by one."""

    in_sequence = False
    topic = ""

    def producers(self, content: PartContent) -> Iterator[Evidence]:
        """Take in every record."""
        for at, batch in logged_batches(content):
            if isinstance(batch, Damage):
                if at in content.headers.positions:
                    yield self.damaged(content.part, batch, self.next)
                continue
            try:
                said = decode(Segment("", (batch,)), self.topic)
            except RecordingError as problem:
                place = Damage(at, at + batch.size, problem.why)
                yield self.damaged(content.part, place, batch.base_offset)
                continue
            for each, record in zip(said, batch.records, strict=True):
                yield from self.take(each, record.timestamp)

    def take(self, said: object, at_ms: int) -> Iterator[Evidence]:
        """Take in one record."""
        raise NotImplementedError


class TransactionsFold(_SayingFold):
    """The fold of a partition of __transaction_state: what its coordinator decided, and what it said last."""

    topic = TRANSACTION_STATE

    def __init__(self, part: LogPart) -> None:
        """Begin with an empty log."""
        super().__init__(part)
        self.latest: dict[str, Latest] = {}
        self.prepared: dict[str, Decision] = {}

    def take(self, said: object, at_ms: int) -> Iterator[Evidence]:
        """Take in one state of a transactional id."""
        if isinstance(said, LoggedTombstone):
            if said.key in self.latest:
                self.latest[said.key] = self.latest[said.key].but(gone=True)
            return
        if not isinstance(said, LoggedTransaction):
            return
        name, place = said.transactional_id, (self.partition, said.offset)
        participants = tuple(f"{t}-{p}" for t, indexes in said.partitions or () for p in indexes)
        self.latest[name] = Latest(
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
        prepared = self.prepared.pop(name, None)
        if prepared is not None:
            complete = said.state in COMPLETES
            yield prepared.but(complete_ms=at_ms if complete else -1)
        if said.state in PREPARES:
            self.prepared[name] = Decision(
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

    def end(self) -> Iterator[Evidence]:
        """Return the decisions that are not complete, and the last state of each transactional id."""
        yield from self.prepared.values()
        yield from self.latest.values()
        yield from super().end()


class ShareFold(_SayingFold):
    """The fold of a partition of __share_group_state: snapshots, and what was changed since."""

    topic = SHARE_GROUP_STATE

    def __init__(self, part: LogPart) -> None:
        """Begin with an empty log."""
        super().__init__(part)
        self.states: dict[tuple[str, str, int], ShareState] = {}

    def take(self, said: object, at_ms: int) -> Iterator[Evidence]:
        """Take in one snapshot or update."""
        match said:
            case LoggedShareSnapshot():
                key = (said.group, said.topic_id, said.partition)
                place = (at_ms, self.partition, said.offset)
                self.states[key] = ShareState(*key, said.start_offset, said.batches, *place)
            case LoggedShareUpdate():
                key = (said.group, said.topic_id, said.partition)
                known = self.states.get(key)
                before = () if known is None else known.batches
                start = (
                    said.start_offset
                    if said.start_offset >= 0 or known is None
                    else known.start_offset
                )
                batches = merge(before, said.batches, start, rank_by_number)
                place = (at_ms, self.partition, said.offset)
                self.states[key] = ShareState(*key, start, clip(batches, start), *place)
            case LoggedTombstone(kind="ShareSnapshot", key=name):
                self.states = {
                    k: v for k, v in self.states.items() if ":".join(map(str, k)) != name
                }
            case _:
                pass
        yield from ()

    def end(self) -> Iterator[Evidence]:
        """Return how each share-partition stands."""
        yield from self.states.values()
        yield from super().end()


_FOLDS: dict[str, type[PartitionFold]] = {
    TRANSACTION_STATE: TransactionsFold,
    CONSUMER_OFFSETS: OffsetsFold,
    SHARE_GROUP_STATE: ShareFold,
}
