"""The fold of a partition's batches with producer ids: transactions, and the order of every producer's batches.

A stretch of a log is added part by part. The fold keeps a few rows for each producer id: its last batches, its open
transaction and, if the stretch starts in the middle of a log, its first batches. Two stretches that follow each other
are joined by these rows alone, and the evidence is that of one stretch: what ends in the second one began in the first.

NOT JUDGED: order of sequences in compacted topics, whose batches are removed, and in coordinators' own batches, which
all start at 0. Source: UnifiedLog.analyzeAndValidateProducerState, ProducerAppendInfo.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kipviz.recordings.auditing.audit_evidence import Irregular, PartitionTransaction, ProducerEnds
from kipviz.recordings.files.checksums import Numbers
from kipviz.recordings.files.log_rows import COMMITS

_SEQUENCES = 1 << 31

# A row for a producer's batch, or the summary of several.
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


class ProducerFold:
    """The state of the fold for the producers of one partition.

    `begins` says that the stretch is the beginning of the log, so that nothing before it is open.
    """

    def __init__(self, partition: str, *, in_sequence: bool, begins: bool) -> None:
        """Start an empty fold."""
        self.partition, self.in_sequence, self.begins = partition, in_sequence, begins
        self.heads = self.tails = self.ended = self.open = np.zeros(0, ROW)
        self.groups: dict[int, list[tuple[int, tuple[str, ...]]]] = {}

    def note_groups(self, producer_id: int, offset: int, names: tuple[str, ...]) -> None:
        """Note the groups whose offsets a batch of a transaction has, before its row is added."""
        self.groups.setdefault(producer_id, []).append((offset, names))

    def take(self, rows: Numbers) -> Iterator[PartitionTransaction | Irregular]:
        """Add the next batches of the log (dtype ROW), and yield the evidence that is certain after them."""
        everything = np.concatenate((self.tails, rows))
        order = np.argsort(everything["pid"], kind="stable")
        everything, new = everything[order], order >= len(self.tails)
        yield from self._irregular(everything, new, new)
        if not self.begins:
            self.heads = _first_of_each(np.concatenate((self.heads, rows)))
        self.tails = _last_of_each(everything)
        yield from self._transactions(np.concatenate((self.open, rows[rows["transactional"]])))

    def join(self, ends: ProducerEnds) -> Iterator[PartitionTransaction | Irregular]:
        """Join the next stretch, and yield the evidence that is certain for both together."""
        heads, tails, ended, still_open = (
            np.frombuffer(each, ROW) for each in (ends.heads, ends.tails, ends.ended, ends.open)
        )
        everything = np.concatenate((self.tails, heads))
        order = np.argsort(everything["pid"], kind="stable")
        everything, new = everything[order], order >= len(self.tails)
        # Of a producer's two heads only the first follows earlier batches; its stretch has compared the other.
        foremost = new.copy()
        foremost[1:] &= ~(new[:-1] & (everything["pid"][1:] == everything["pid"][:-1]))
        yield from self._irregular(everything, new, foremost)
        if not self.begins:
            self.heads = _first_of_each(np.concatenate((self.heads, heads)))
        self.tails = _last_of_each(_by_producer(np.concatenate((self.tails, tails))))
        for producer_id, offset, names in ends.groups:
            self.note_groups(producer_id, offset, names)
        yield from self._transactions(np.concatenate((self.open, ended, still_open)))

    def end(self) -> Iterator[PartitionTransaction]:
        """Yield the transactions that are open at the end of the log."""
        for row in self.open:
            pid, first, last = (int(row[name]) for name in ("pid", "first_offset", "last_offset"))
            span = (first, int(row["first_ms"]), last, int(row["batches"]))
            names = self._groups_of(pid, first, last)
            yield PartitionTransaction(self.partition, pid, int(row["epoch"]), *span, groups=names)

    def open_ends(self, number: int, buckets: int) -> Iterator[tuple[int, ProducerEnds]]:
        """Yield the open ends of both sides, by buckets of producer ids (producer id modulo `buckets`)."""
        heads, tails = _in_buckets(self.heads, buckets), _in_buckets(self.tails, buckets)
        ended, still_open = _in_buckets(self.ended, buckets), _in_buckets(self.open, buckets)
        groups: dict[int, list[tuple[int, int, tuple[str, ...]]]] = {}
        for pid, noted in sorted(self.groups.items()):
            groups.setdefault(pid % buckets, []).extend((pid, at, names) for at, names in noted)
        for bucket in sorted({*heads, *tails, *ended, *still_open}):
            ends = ProducerEnds(
                self.partition,
                number,
                self.in_sequence,
                heads.get(bucket, b""),
                tails.get(bucket, b""),
                ended.get(bucket, b""),
                still_open.get(bucket, b""),
                tuple(groups.get(bucket, ())),
            )
            yield bucket, ends

    def _irregular(self, rows: Numbers, new: Numbers, follows: Numbers) -> Iterator[Irregular]:
        """Compare batches with their producer's previous batch.

        Args:
            rows: sorted by producer id, each producer's in the order of the log.
            new: which have not been compared with earlier data.
            follows: which have not been compared with any earlier batch.
        """
        now, then = rows[1:], rows[:-1]
        same = (now["pid"] == then["pid"]) & follows[1:]
        for k in np.flatnonzero(same & (now["epoch"] < then["epoch"])):
            yield self._irregularity("epoch", now[k], then[k], then["epoch"][k], now["epoch"][k])
        if not self.in_sequence:
            return
        is_data = rows["marker"] == 0
        data, new = rows[is_data], new[is_data]
        now, then = data[1:], data[:-1]
        same = (now["pid"] == then["pid"]) & (now["sequence"] >= 0) & new[1:]
        expected = np.where(
            now["epoch"] == then["epoch"], (then["sequence"] + then["count"]) % _SEQUENCES, 0
        )
        same &= (now["epoch"] >= then["epoch"]) & (now["sequence"] != expected)
        for k in np.flatnonzero(same):
            # A repeated sequence lies less than half the circle back.
            behind = int(expected[k] - now["sequence"][k]) % _SEQUENCES
            what = "duplicate" if behind < _SEQUENCES // 2 else "gap"
            found = (expected[k], now["sequence"][k])
            yield self._irregularity(what, now[k], then[k], *found)

    def _irregularity(
        self, what: str, now: Numbers, then: Numbers, expected: int, found: int
    ) -> Irregular:
        place = (int(now["pid"]), int(now["epoch"]), int(now["first_offset"]), int(now["last_ms"]))
        before = (int(then["last_offset"]), int(then["last_ms"]))
        return Irregular(self.partition, what, *place, *before, int(expected), int(found))

    def _transactions(self, rows: Numbers) -> Iterator[PartitionTransaction]:
        """Split transactional rows at their markers; yield the transactions that ended, and keep the others."""
        if not len(rows):
            return
        rows = _by_producer(rows)
        ends = rows["marker"] > 0
        begins = np.ones(len(rows), bool)
        begins[1:] = (rows["pid"][1:] != rows["pid"][:-1]) | ends[:-1]
        starts = np.flatnonzero(begins)
        stops = np.append(starts[1:], len(rows)) - 1
        whole = rows[starts]
        whole["batches"] = np.add.reduceat(rows["batches"], starts)
        closed = ends[stops]
        last = np.where(closed, np.maximum(starts, stops - 1), stops)
        whole["last_offset"], whole["last_ms"] = rows["last_offset"][last], rows["last_ms"][last]
        early = self._find_possible_begins(whole["pid"], closed)
        if early.any():
            with_data = whole[early & (starts < stops)]
            pairs = np.concatenate((self.ended, with_data, rows[stops[early]]))
            self.ended = _by_producer(pairs)
        done = closed & ~early
        yield from self._list_held(whole[done], rows[stops[done]])
        self.open = whole[~closed]
        if self.groups:
            self._forget_groups()

    def _find_possible_begins(self, pids: Numbers, closed: Numbers) -> Numbers:
        """Return which transactions may have begun before this stretch: each producer's first one that ended."""
        early = np.zeros(len(pids), bool)
        if not self.begins:
            places = np.flatnonzero(closed)
            first = np.ones(len(places), bool)
            first[1:] = pids[places][1:] != pids[places][:-1]
            early[places] = first & ~np.isin(pids[places], self.ended["pid"])
        return early

    def _list_held(self, whole: Numbers, markers: Numbers) -> Iterator[PartitionTransaction]:
        columns = (
            *(whole[name] for name in ("pid", "epoch", "first_offset", "first_ms")),
            *(whole[name] for name in ("last_offset", "batches")),
            *(markers[name] for name in ("first_offset", "last_ms", "epoch")),
            markers["marker"] == COMMITS,
        )
        listed = zip(*(column.tolist() for column in columns), strict=True)
        for pid, epoch, offset, ms, last_offset, count, at, at_ms, at_epoch, commits in listed:
            names = self._groups_of(pid, offset, last_offset) if self.groups else ()
            span = (offset, ms, last_offset, count)
            yield PartitionTransaction(
                self.partition,
                pid,
                epoch,
                *span,
                at,
                at_ms,
                at_epoch,
                committed=commits,
                groups=names,
            )

    def _groups_of(self, producer_id: int, first: int, last: int) -> tuple[str, ...]:
        """Return the groups whose offsets a producer's transaction has, in the order of the log."""
        noted = self.groups.get(producer_id, ())
        return tuple(dict.fromkeys(n for at, names in noted if first <= at <= last for n in names))

    def _forget_groups(self) -> None:
        """Keep only the groups of transactions that are still needed, one row for each."""
        is_open = _first_offsets(self.open)
        last = _first_offsets(self.ended[self.ended["marker"] > 0])
        kept: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
        for pid, noted in self.groups.items():
            before = [each for each in noted if each[0] < last.get(pid, -1)]
            now = [each for each in noted if pid in is_open and each[0] >= is_open[pid]]
            together = [_together(each) for each in (before, now) if each]
            if together:
                kept[pid] = together
        self.groups = kept


def _first_offsets(rows: Numbers) -> dict[int, int]:
    return dict(zip(rows["pid"].tolist(), rows["first_offset"].tolist(), strict=True))


def _together(noted: list[tuple[int, tuple[str, ...]]]) -> tuple[int, tuple[str, ...]]:
    return noted[0][0], tuple(dict.fromkeys(name for _, names in noted for name in names))


def _by_producer(rows: Numbers) -> Numbers:
    """Sort by producer id; each producer's rows keep their order."""
    found: Numbers = rows[np.argsort(rows["pid"], kind="stable")]
    return found


def _last_of_each(rows: Numbers) -> Numbers:
    """Return each producer's last batch of data, then its last marker if that came later; `rows` are sorted.

    Both are needed: the marker has the newest epoch, the batch has the sequence.
    """
    kept = np.zeros(len(rows), bool)
    _keep_edges(rows, kept, np.arange(len(rows)), last=True)
    _keep_edges(rows, kept, np.flatnonzero(rows["marker"] == 0), last=True)
    found: Numbers = rows[kept]
    return found


def _first_of_each(rows: Numbers) -> Numbers:
    """Return each producer's first batch, and its first batch of data."""
    rows = _by_producer(rows)
    kept = np.zeros(len(rows), bool)
    _keep_edges(rows, kept, np.arange(len(rows)), last=False)
    _keep_edges(rows, kept, np.flatnonzero(rows["marker"] == 0), last=False)
    found: Numbers = rows[kept]
    return found


def _keep_edges(rows: Numbers, kept: Numbers, places: Numbers, *, last: bool) -> None:
    """Mark each producer's first or last one of some places."""
    pids = rows["pid"][places]
    differs = pids[1:] != pids[:-1]
    edge = np.ones(len(places), bool)
    if last:
        edge[:-1] = differs
    else:
        edge[1:] = differs
    kept[places[edge]] = True


def _in_buckets(rows: Numbers, buckets: int) -> dict[int, bytes]:
    """Return rows as bytes, by their producer ids modulo `buckets`."""
    if not len(rows):
        return {}
    keys = rows["pid"] % buckets
    order = np.argsort(keys, kind="stable")
    rows, keys = rows[order], keys[order]
    cuts = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    names = keys[np.concatenate(([0], cuts))].tolist()
    return {name: each.tobytes() for name, each in zip(names, np.split(rows, cuts), strict=True)}
