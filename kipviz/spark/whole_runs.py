"""Audit the runs whose events are together in a file: one pass, column by column, without Spark.

One task executes a run, so its events are consecutive in one of the files that Spark writes. A worker reads such a file
with pyarrow, 250,000 events at a time, cuts them where a run ends, and judges all runs between two cuts at once with
numpy. The rules are those of ``audit.audit``, which accepts events in any order and takes ten times as long: here no
event passes from Spark's JVM to Python, and nothing is joined. A worker needs about 200 MB, however long the log is.

A run that is in two places, or that is longer than ``RUN_EVENTS_MAX``, yields two rows without a finding. The driver
counts those rows and audits the log by joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from kipviz.properties.harm import Harm

if TYPE_CHECKING:
    from collections.abc import Sequence

Numbers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

STATES = ("AVAILABLE", "ACQUIRED", "TX_PENDING", "ACKNOWLEDGED", "ARCHIVING", "ARCHIVED")
"""A record's states in the order of its life: if it has two in one step, the later one is the outcome."""
DELIVERIES_MAX = 2**20
ORDER_BASE = 8
STEP_SHIFT = 23  # 20 bits of deliveries and 3 of the state

RUN = ("scenario", "design", "faults", "seed")
A_RUN, UNREAD = "", "unread"
ROWS = pa.schema(
    [
        *((name, pa.string()) for name in RUN[:3]),
        ("seed", pa.int64()),
        ("source", pa.string()),
        ("offset", pa.int64()),
        ("finding", pa.string()),
        ("step", pa.int64()),
        ("outputs", pa.int64()),
        ("deliveries", pa.int64()),
        ("ended", pa.bool_()),
    ]
)
"""A finding; or one run and whether it ended (``finding`` is ``A_RUN``); or a file that only Spark can read (``UNREAD``)."""

EVENTS_AT_ONCE = 250_000
RUN_EVENTS_MAX = 1_000_000
_SETTING = RUN[:3]
_WORDS = (*_SETTING, "kind", "source", "state")
_COUNTS = ("seed", "step", "offset", "delivery_count", "producer_id", "producer_epoch", "committed")
_STEP_MAX = 2**39
_NEVER = np.iinfo(np.int64).max


class UnknownLayout(ValueError):
    """The events cannot be judged run by run: a value is missing, or a step is beyond all bounds."""


def audit_files(
    batches: Iterable[pa.RecordBatch], shares: Sequence[Sequence[str]]
) -> Iterator[pa.RecordBatch]:
    """Audit the files of some shares; the batches hold the numbers of the shares.

    Args:
        batches: one column of whole numbers.
        shares: for each task the addresses of its files, as Spark gives them.
    """
    for batch in batches:
        for share in batch.column(0).to_pylist():
            for address in shares[share]:
                yield from _audit_file(address)


def _audit_file(address: str) -> Iterator[pa.RecordBatch]:
    try:
        system, path = fs.FileSystem.from_uri(address)
        with (
            system.open_input_file(path) as data,
            pq.ParquetFile(data, read_dictionary=list(_WORDS), buffer_size=1 << 20) as file,
        ):
            events = file.iter_batches(
                EVENTS_AT_ONCE, columns=[*_WORDS, *_COUNTS], use_threads=False
            )
            for runs in whole_runs(events):
                yield from rows_of(runs).to_batches()
    except (OSError, KeyError, UnknownLayout, pa.ArrowException):
        # The columns may be in the names of folders, or only Spark knows the address. If the file is damaged, Spark reports it.
        row = {field.name: None for field in ROWS} | {"finding": UNREAD}
        yield pa.RecordBatch.from_pylist([row], schema=ROWS)


def whole_runs(
    events: Iterable[pa.RecordBatch], run_events_max: int = RUN_EVENTS_MAX
) -> Iterator[pa.Table]:
    """Cut a file's events between two runs; a run longer than the bound is cut, too."""
    rest: pa.Table | None = None
    for batch in events:
        table = pa.Table.from_batches([batch])
        if rest is not None:
            table = pa.concat_tables([rest, table])
        starts = _starts(_columns(table, RUN))
        cut = int(starts[-1]) if len(starts) else 0
        if not cut and table.num_rows >= run_events_max:
            cut = table.num_rows
        if cut:
            yield table.slice(0, cut)
        rest = table.slice(cut)
    if rest is not None and rest.num_rows:
        yield rest


def rows_of(events: pa.Table) -> pa.Table:
    """Return the findings in some whole runs, and a row for each run.

    Args:
        events: the columns of an event log, the events of a run one after the other.

    Raises:
        UnknownLayout: a value is missing, or a step is not between 0 and 2^39.
    """
    judged = _Runs(events)
    return pa.concat_tables([judged.runs(), judged.findings()])


class _Runs:
    """The events of whole runs as columns of numbers; a name is its place in the list of its column's names."""

    def __init__(self, events: pa.Table) -> None:
        self.events = events
        self.names = {name: _names(events[name]) for name in ("kind", "source", "state")}
        self.columns = _columns(events, (*_WORDS, *_COUNTS), self.names)
        self.first = np.concatenate([[0], _starts(self.columns)])[: len(events)]
        at = np.zeros(len(events), np.int64)
        at[self.first[1:]] = 1
        self.run = np.cumsum(at)
        steps = self.columns["step"]
        if len(steps) and not 0 <= steps.min() <= steps.max() < _STEP_MAX:
            msg = "a step is beyond all bounds"
            raise UnknownLayout(msg)

    def runs(self) -> pa.Table:
        """Return one row for each run."""
        ended = np.zeros(len(self.first), np.bool_)
        ended[self.run[self._kind("run_ended")]] = True
        return self._table(self.first, {"finding": [A_RUN] * len(ended), "ended": ended})

    def findings(self) -> pa.Table:
        """Return one row for each thing that is wrong with a record."""
        states = np.flatnonzero(self._kind("record_state"))
        outputs, committed_at = self._find_committed()
        events = np.concatenate([states, outputs])
        order, first = _group_keys(self._record(events))
        of_state = np.concatenate(
            [np.ones(len(states), np.bool_), np.zeros(len(outputs), np.bool_)]
        )
        count = np.add.reduceat((~of_state[order]).astype(np.int64), first) if len(first) else first
        last = self._greatest(states, self._order(states), order, first, len(events))
        deliveries = self._greatest(
            states, self.columns["delivery_count"][states], order, first, len(events)
        )
        a_record = events[order[first]] if len(first) else first
        second = self._second(committed_at, len(states), order, first, count)
        state = np.where(last == -_NEVER, -1, last % ORDER_BASE)
        step = np.where(last == -_NEVER, -1, last >> STEP_SHIFT)
        ended = np.zeros(len(self.first), np.bool_)
        ended[self.run[self._kind("run_ended")]] = True
        ended_here = ended[self.run[a_record]]
        acknowledged = (state == STATES.index("ACKNOWLEDGED")) & (count == 0)
        wrong = {
            Harm.DUPLICATE: (count > 1, second),
            Harm.LOSS: (acknowledged & ended_here & self._output_expected(a_record), step),
            Harm.STUCK: ((state == STATES.index("TX_PENDING")) & ended_here, step),
        }
        tables = []
        for finding, (is_wrong, at) in wrong.items():
            here = np.flatnonzero(is_wrong)
            told = {
                "finding": [finding.value] * len(here),
                "step": at[here],
                "outputs": count[here],
                "deliveries": pa.array(deliveries[here], mask=deliveries[here] == -_NEVER),
            }
            tables.append(self._table(a_record[here], told, ("source", "offset")))
        return pa.concat_tables(tables)

    def _find_committed(self) -> tuple[Numbers, Numbers]:
        """Return the events that appended a committed output, with the steps of their commits.

        A transaction's decision decides what its producer has appended since the decision before it. An output without
        a producer id belongs to no transaction and counts from its own step.
        """
        columns = self.columns
        is_decision = self._kind("transaction_decided")
        events = np.flatnonzero(self._kind("output_appended") | is_decision)
        turn = columns["step"][events] * 2 + is_decision[events]
        producers = [
            self.run[events],
            columns["producer_id"][events],
            columns["producer_epoch"][events],
        ]
        order = np.lexsort((turn, *reversed(producers)))
        events = events[order]
        changes = reduce(np.logical_or, (_changes(each[order]) for each in producers))
        producer = np.cumsum(changes)
        decides = is_decision[events]
        places = np.arange(len(events))
        following = np.where(decides, places, len(events))
        following = np.minimum.accumulate(following[::-1])[::-1]
        there = np.minimum(following, max(0, len(events) - 1))
        decided = (following < len(events)) & (producer[there] == producer)
        commits = decided & (columns["committed"][events[there]] == 1)
        alone = columns["producer_id"][events] == -1
        at = np.where(alone, columns["step"][events], columns["step"][events[there]])
        chosen = ~decides & (alone | commits)
        return events[chosen], at[chosen]

    def _order(self, states: Numbers) -> Numbers:
        """Return a number that grows with a record's life: step, then delivery, then state."""
        ranks = np.array([_rank(name) for name in self.names["state"]], np.int64)
        rank = ranks[self.columns["state"][states]]
        delivery = np.clip(self.columns["delivery_count"][states], -1, DELIVERIES_MAX - 2) + 1
        order = (self.columns["step"][states] * DELIVERIES_MAX + delivery) * ORDER_BASE + rank
        return np.where(rank < 0, -_NEVER, order)

    def _greatest(
        self, states: Numbers, values: Numbers, order: Numbers, first: Numbers, size: int
    ) -> Numbers:
        """Return the greatest value that a state gives, for each record; -_NEVER where there is no state."""
        padded = np.full(size, -_NEVER, np.int64)
        padded[: len(states)] = values
        return np.maximum.reduceat(padded[order], first) if len(first) else first

    def _second(
        self, committed_at: Numbers, states: int, order: Numbers, first: Numbers, count: Numbers
    ) -> Numbers:
        """Return the step of the second committed output, for each record that has two."""
        record = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
        twice = (order >= states) & (count[record] > 1)
        steps, record = committed_at[order[twice] - states], record[twice]
        sorted_ = np.lexsort((steps, record))
        begins = np.flatnonzero(np.append(True, _changes(record)[1:])) if len(record) else record
        second = np.full(len(first), -1, np.int64)
        second[record[begins]] = steps[sorted_[begins + 1]]
        return second

    def _output_expected(self, events: Numbers) -> Flags:
        """Return for each event whether a group of its run that writes outputs reads its source."""
        silent = np.flatnonzero(self._kind("no_output_expected"))
        return ~np.isin(self._source(events), self._source(silent))

    def _source(self, events: Numbers) -> Numbers:
        return self.run[events] * len(self.names["source"]) + self.columns["source"][events]

    def _record(self, events: Numbers) -> Numbers:
        """Return one number for the run, the source and the offset of each event."""
        offsets = self.columns["offset"][events]
        low = int(offsets.min()) if len(offsets) else 0
        span = int(offsets.max()) - low + 1 if len(offsets) else 1
        if span >= 2**20:  # the number of a run, of a source and of an offset must fit 63 bits
            known, offsets = np.unique(offsets, return_inverse=True)
            low, span = 0, len(known)
        return self._source(events) * span + (offsets - low)

    def _kind(self, name: str) -> Flags:
        return self.columns["kind"] == self.names["kind"].get(name, -1)

    def _table(
        self, events: Numbers, told: dict[str, object], also: tuple[str, ...] = ()
    ) -> pa.Table:
        taken = self.events.select([*RUN, *also]).take(pa.array(events))
        columns = [
            taken[field.name].cast(field.type)
            if field.name in taken.column_names
            else pa.array(told[field.name], field.type)
            if field.name in told
            else pa.nulls(len(events), field.type)
            for field in ROWS
        ]
        return pa.table(columns, schema=ROWS)


def _rank(name: str) -> int:
    return STATES.index(name) if name in STATES else -1


def _names(column: pa.ChunkedArray) -> dict[str, int]:
    """Number the different names of a column, in the order in which its dictionaries list them."""
    named: dict[str, int] = {}
    for chunk in column.chunks:
        for name in _dictionary(chunk).dictionary.to_pylist():
            named.setdefault(name, len(named))
    return named


def _dictionary(chunk: pa.Array) -> pa.DictionaryArray:
    return chunk if isinstance(chunk, pa.DictionaryArray) else pc.dictionary_encode(chunk)


def _columns(
    events: pa.Table, wanted: Iterable[str], names: dict[str, dict[str, int]] | None = None
) -> dict[str, Numbers]:
    """Return columns as whole numbers."""
    found = {}
    for name in wanted:
        column = events[name]
        if column.null_count:
            msg = f"a value of the column {name} is missing"
            raise UnknownLayout(msg)
        if name not in _WORDS:
            found[name] = column.cast(pa.int64()).to_numpy()
            continue
        named = (names or {}).get(name) or _names(column)
        chunks = [_number_chunk(_dictionary(chunk), named) for chunk in column.chunks]
        found[name] = np.concatenate(chunks) if chunks else np.zeros(0, np.int64)
    return found


def _number_chunk(chunk: pa.DictionaryArray, named: dict[str, int]) -> Numbers:
    numbers = np.array([named[name] for name in chunk.dictionary.to_pylist()], np.int64)
    taken: Numbers = numbers[chunk.indices.to_numpy()] if len(chunk) else np.zeros(0, np.int64)
    return taken


def _starts(columns: dict[str, Numbers]) -> Numbers:
    """Return the places where another run begins."""
    return np.flatnonzero(reduce(np.logical_or, (_changes(columns[name]) for name in RUN)))


def _changes(values: Numbers) -> Flags:
    """Return for each value whether it differs from the previous one; the first one does not."""
    changes = np.zeros(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _group_keys(keys: Numbers) -> tuple[Numbers, Numbers]:
    """Return an order in which equal keys are together, and where each key begins in it."""
    order = np.argsort(keys, kind="stable")
    changes = _changes(keys[order])
    changes[:1] = True
    return order, np.flatnonzero(changes)
