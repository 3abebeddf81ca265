"""The code that a worker executes for a search: iterators from states to their successors, without Spark.

A waiting state is its key, the path to it and its bytes (``state_bytes``). A path has the index of each action among
the enabled ones, two bytes each, the high one first. Of the shortest paths to a state the smallest is the one that a
search in one process finds, whatever worker reaches it first.

Parts of worlds are sent in rows of their own (``PART``) to the dictionary that every task gets (``state_bytes``).
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kipviz.checking.search.explore import Search, render_error
from kipviz.checking.search.liveness import ORDER as FREE_KINDS
from kipviz.checking.search.liveness import Futures, settle
from kipviz.properties.verdict import BROKEN, HOLDS
from kipviz.spark.workers.state_bytes import Packing
from kipviz.spark.workers.worker_runs import as_batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kipviz.checking.search.reductions import Reduction
    from kipviz.core.model import Model
    from kipviz.properties.verdict import Property

# The kind of a row: a state in which something is pending, nothing is, or a property is broken; a part of worlds; a
# known key; a timer that fired, by its name, and when (`broken`).
WAITING, CALM, BROKEN_HERE, PART, KNOWN, TIMER = range(6)
REACHED_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("way", pa.binary()),
        ("state", pa.binary()),
        ("mood", pa.int64()),
        ("broken", pa.string()),
        ("times", pa.int64()),
        ("before", pa.list_(pa.binary())),
        ("error", pa.string()),
    ]
)
LEVEL_SCHEMA = REACHED_SCHEMA.append(pa.field("depth", pa.int64())).append(
    pa.field("new", pa.bool_())
)
SETTLED_SCHEMA = pa.schema([("way", pa.binary()), ("answer", pa.string())])
RESOLVED_SCHEMA = pa.schema([("key", pa.binary())])
REACHED_PER_BATCH = 2_000
# The number of states for which one worker needs as long as a job costs (measured: 0.7 s, 0.35 ms each).
NARROW = 2_000
STATES_PER_TASK = 20_000  # about seven seconds, which is the cost of a lost worker
SEPARATOR = "\n"
_PLACE_BYTES = 2


def encode_question(
    model: Model, properties: tuple[Property, ...], reductions: Iterable[Reduction]
) -> bytes:
    """The question of a search, as bytes for the workers.

    Raises:
        ValueError: if the model cannot be sent.
    """
    try:
        return pickle.dumps((model, properties, tuple(reductions)))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ValueError(f"this model cannot be sent to a worker: {error}") from None


@lru_cache(maxsize=2)
def search_of(question: bytes) -> Search:
    """The search that a worker continues, made once per process."""
    return Search(*pickle.loads(question))  # noqa: S301 - made by `asked`


def places(way: bytes) -> list[int]:
    """A path as numbers: the index of each action among the enabled ones."""
    return [
        int.from_bytes(way[at : at + _PLACE_BYTES], "big")
        for at in range(0, len(way), _PLACE_BYTES)
    ]


def reached_batches(
    batches: Iterable[pa.RecordBatch], question: bytes, dictionary: dict[bytes, bytes]
) -> Iterator[pa.RecordBatch]:
    """The states that are reached in one step from the waiting ones, each once per batch.

    ``times`` counts the transitions into it and ``before`` lists the states that lead to it without a new fault. An
    exception is a row with its reason, under the key of the state where it happened.
    """
    search, packing = search_of(question), Packing(dictionary)
    reached: dict[bytes, list[Any]] = {}
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("key", "way", "state"))
        for key, way, state in zip(*columns, strict=True):
            _expand(search, packing, reached, key, way, state)
            if len(reached) >= REACHED_PER_BATCH:
                yield as_batch(_rows(reached), REACHED_SCHEMA)
                reached = {}
    beside = part_rows(packing.fresh) + _timer_rows(search)
    yield as_batch(_rows(reached) + beside, REACHED_SCHEMA)


def once_batches(batches: Iterable[pa.RecordBatch], depth: int) -> Iterator[pa.RecordBatch]:
    """Each key of a task once, with the smallest path to it, and whether it is new.

    The task has every row of its keys, including those that were known before.
    """
    known: set[bytes] = set()
    reached: dict[tuple[bytes, bool], list[Any]] = {}
    for batch in batches:
        moods = batch.column("mood").to_pylist()
        if moods.count(KNOWN) == len(moods):
            known.update(batch.column("key").to_pylist())
            continue
        columns = (batch.column(name).to_pylist() for name in REACHED_SCHEMA.names)
        for row in zip(*columns, strict=True):
            if row[3] == KNOWN:
                known.add(row[0])
            else:
                _merge(reached, row)
    rows = [_of_level(row, depth, known) for row in reached.values()]
    for start in range(0, len(rows), REACHED_PER_BATCH):
        yield as_batch(rows[start : start + REACHED_PER_BATCH], LEVEL_SCHEMA)


def narrow_batches(
    batches: Iterable[pa.RecordBatch],
    question: bytes,
    dictionary: dict[bytes, bytes],
    depth: int,
    levels: int,
    states: int,
) -> Iterator[pa.RecordBatch]:
    """Level after level in one worker while few states wait, with all known keys in one place.

    A row without a state is a known key. It ends before more than ``levels`` levels, after the level in which
    ``states`` new states are reached or in which an exception occurs.
    """
    search, packing = search_of(question), Packing(dictionary)
    known: set[bytes] = set()
    waiting: list[tuple[bytes, bytes, bytes]] = []
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("key", "way", "state"))
        for row in zip(*columns, strict=True):
            known.add(row[0])
            if row[2] is not None:
                waiting.append(row)
    most = len(known) + min(states, STATES_PER_TASK)
    while waiting and levels and len(waiting) <= NARROW and len(known) < most:
        depth, levels = depth + 1, levels - 1
        reached: dict[bytes, list[Any]] = {}
        for key, way, state in waiting:
            _expand(search, packing, reached, key, way, state)
        rows = [_of_level(row, depth, known) for row in reached.values()]
        yield as_batch(rows, LEVEL_SCHEMA)
        if any(row[7] is not None for row in rows):
            break
        new = [row for row in rows if row[-1]]
        known.update(row[0] for row in new)
        waiting = [(row[0], row[1], row[2]) for row in new if row[3] != BROKEN_HERE]
    beside = part_rows(packing.fresh) + _timer_rows(search)
    yield as_batch([_of_level(row, depth, known) for row in beside], LEVEL_SCHEMA)


def resolved_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The states that lead to calm, from all links of a graph in one place.

    A row is a link (before, after); a row without ``before`` means that ``after`` is calm.
    """
    into: dict[bytes, list[bytes]] = {}
    stack: list[bytes] = []
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("before", "after"))
        for before, after in zip(*columns, strict=True):
            if before is None:
                stack.append(after)
            else:
                into.setdefault(after, []).append(before)
    known = set(stack)
    resolved = list(stack)
    while stack:
        for before in into.get(stack.pop(), ()):
            if before not in known:
                known.add(before)
                stack.append(before)
                resolved.append(before)
    yield as_batch([(key,) for key in resolved], RESOLVED_SCHEMA)


def settled_batches(
    batches: Iterable[pa.RecordBatch], question: bytes, dictionary: dict[bytes, bytes]
) -> Iterator[pa.RecordBatch]:
    """Whether the pending things of a state are resolved in some future without new faults."""
    search: Any = search_of(question)
    packing = Packing(dictionary)
    futures = Futures()
    for batch in batches:
        rows = []
        columns = (batch.column(name).to_pylist() for name in ("way", "state"))
        for way, state in zip(*columns, strict=True):
            world, states = packing.unpack(state)
            answer = settle(search.model, world, states[search.progress_at], futures).answer
            rows.append((way, answer))
        yield as_batch(rows, SETTLED_SCHEMA)


def first_row(search: Search, packing: Packing) -> tuple[Any, ...]:
    """The initial state, which is the only waiting one."""
    _, world, states, _ = search.queue[0]
    mood, broken = _judge_states(search, states)
    key = search.key(world, states)
    return (key, b"", packing.pack(world, states), mood, broken, 0, [], None, 0, True)


def part_rows(parts: dict[bytes, bytes]) -> list[tuple[Any, ...]]:
    """The parts of worlds that are new, as rows."""
    return [(name, b"", data, PART, "", 0, [], None) for name, data in parts.items()]


def _timer_rows(search: Search) -> list[tuple[Any, ...]]:
    """The timers that fired in this process for this question, one row each, under a key that no state has."""
    return [
        (f"timer {when} {name}".encode(), b"", name.encode(), TIMER, when, 0, [], None)
        for name, when in sorted(search.noted)
    ]


def _expand(
    search: Search,
    packing: Packing,
    reached: dict[bytes, list[Any]],
    key: bytes,
    way: bytes,
    state: bytes,
) -> None:
    """Note the successors of a state; an exception is a row under the state's own key, so it is not new."""
    try:
        for at, action, after, observed in search.successors(*packing.unpack(state)):
            next_way = way + at.to_bytes(_PLACE_BYTES, "big")
            next_key = search.key(after, observed)
            row = reached.get(next_key)
            if row is None:
                mood, broken = _judge_states(search, observed)
                data = packing.pack(after, observed)
                row = reached[next_key] = [next_key, next_way, data, mood, broken, 0, [], None]
            elif next_way < row[1]:
                row[1:3] = next_way, packing.pack(after, observed)
            row[5] += 1
            if search.progress_at >= 0 and search.model.kind(action) in FREE_KINDS:
                row[6].append(key)
    except Exception as error:  # noqa: BLE001 - an answer of the search, not its end
        reached[b"error" + key] = [key, way, b"", WAITING, "", 0, [], render_error(error)]


def _merge(reached: dict[tuple[bytes, bool], list[Any]], row: tuple[Any, ...]) -> None:
    """Merge a row from another task: of two rows of a state one remains."""
    place = (row[0], row[7] is not None)  # an exception stays beside the reached state
    first = reached.get(place)
    if first is None:
        reached[place] = list(row)
        return
    if row[1] < first[1]:
        first[1:5] = row[1:5]
    first[5] += row[5]
    first[6] += row[6]


def _of_level(row: Any, depth: int, known: set[bytes]) -> tuple[Any, ...]:
    """A row of a level; a part or a timer is neither new nor known, and only a new state keeps its bytes."""
    if row[3] in (PART, TIMER):
        return (*row, depth, None)
    new = row[0] not in known
    return (*row[:2], row[2] if new else None, *row[3:], depth, new)


def _rows(reached: dict[bytes, list[Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in reached.values()]


def _judge_states(search: Search, states: tuple[Any, ...]) -> tuple[int, str]:
    """The mood of a state, and the names of the properties that are broken in it."""
    findings = list(search.findings(states))
    broken = [
        prop.name
        for prop, finding in zip(search.properties, findings, strict=True)
        if finding.status == BROKEN
    ]
    if broken:
        return BROKEN_HERE, SEPARATOR.join(broken)
    at = search.progress_at
    return (CALM if at >= 0 and findings[at].status == HOLDS else WAITING), ""
