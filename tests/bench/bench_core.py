"""What the core costs, side by side: run `python tests/bench/bench_core.py`.

It prints and asserts nothing: a number on a busy machine is no verdict. What matters is the
ratios, above all those that should be near 1 because a cost must not grow with the length.
"""

import pickle
import timeit
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kipviz.core.log import Log
from kipviz.core.model import Action, Outcome
from kipviz.core.table import Table
from kipviz.core.traces.trace import Trace
from kipviz.core.values import Part, Value, encoding, fingerprint

LONG, SHORT = 100_000, 1_000


class Record(Value, frozen=True):
    offset: int
    key: str = "k"
    value: bytes = b"some bytes"
    producer_id: int = 4711
    producer_epoch: int = 1
    sequence: int = 0
    control: bool = False


class Role(Part, frozen=True):
    name: str
    term: int = 0
    rows: Table[str, Record] = Table.of()
    log: Log[Record] = Log.of()
    high_watermark: int = 0
    last_stable_offset: int = 0


class World(Value, frozen=True):
    roles: Table[str, Role]
    messages: Table[int, Record]
    step: int = 0


class Go(Action, frozen=True):
    by: int = 1


@dataclass(frozen=True)
class DataclassRecord:
    offset: int
    key: str = "k"
    value: bytes = b"some bytes"
    producer_id: int = 4711
    producer_epoch: int = 1
    sequence: int = 0
    control: bool = False


class Typical:
    """A model whose step does what a step of the real one does: 10 changes, 3 sets, 1 append."""

    action_type = Go

    def initial(self) -> World:
        record = Record(0)
        rows = Table.of({f"row {number:02}": record for number in range(12)})
        roles = {f"role {number}": Role(f"role {number}", rows=rows) for number in range(12)}
        return World(Table.of(roles), Table.of(dict.fromkeys(range(8), record)))

    def enabled(self, world: World, /) -> tuple[Go, ...]:
        return (Go(),)

    def why_not(self, world: World, action: Go, /) -> str | None:
        return None

    def step(self, world: World, action: Go, /) -> Outcome:
        name = f"role {world.step % 12}"
        role = world.roles[name]
        record = Record(len(role.log))
        for number in range(4):
            record = record.but(sequence=number)
        rows = role.rows.set(f"row {world.step % 12:02}", record)
        role = role.but(log=role.log.append(record), rows=rows)
        for number in range(4):
            role = role.but(term=number, high_watermark=len(role.log))
        return Outcome(
            world.but(
                roles=world.roles.set(name, role),
                messages=world.messages.set(world.step % 8, record),
                step=world.step + action.by,
            )
        )

    def share_tables(self, world: World, /) -> World:
        return world

    def search_key(self, world: World, /) -> bytes:
        return fingerprint(world)

    def kind(self, action: Go, /) -> str:
        return "deliver"


def nanoseconds(work: Callable[[], Any], rounds: int = 20_000) -> float:
    """Return the best of five runs: the least disturbed one."""
    return min(timeit.repeat(work, number=rounds, repeat=5)) / rounds * 1e9


def row(title: str, here: float, what: str, there: float, unit: str = "ns") -> None:
    print(f"{title:<47}{here:>11,.0f} {unit:<3}{what:>36}{there:>12,.0f}   {here / there:>8.2f}")


def heading(title: str) -> None:
    print(f"\n{title:<61}{'compared with':>36}{'':>12}{'ratio':>11}")


def values() -> None:
    heading("Values")
    record, plain = Record(1), DataclassRecord(1)
    row(
        "change a field of seven",
        nanoseconds(lambda: record.but(offset=2)),
        "frozen dataclass",
        nanoseconds(lambda: replace(plain, offset=2)),
    )
    row(
        "fingerprint of seven fields",
        nanoseconds(lambda: fingerprint(record)),
        "hash() of a frozen dataclass",
        nanoseconds(lambda: hash(plain)),
    )
    role = Role("r", rows=Table.of({f"{n}": record for n in range(20)}), log=Log.of([record] * 99))
    role.digest  # noqa: B018  remembered from here on
    row(
        "fingerprint of a role with one field changed",
        nanoseconds(lambda: fingerprint(role.but(term=1))),
        "all of it anew",
        nanoseconds(lambda: encoding((tuple(role.rows.items()), tuple(role.log))), 1_000),
    )


def tables() -> None:
    heading("Table: set a key that is there")
    for size in (8, 32, 33, 1_000, 100_000):
        entries = {f"key {number:06}": number for number in range(size)}
        table, key = Table.of(entries), f"key {size // 2:06}"
        row(
            f"of {size:,}",
            nanoseconds(lambda t=table, k=key: t.set(k, -1)),  # type: ignore[misc]
            "copy of a dict",
            nanoseconds(lambda d=entries, k=key: {**d, k: -1}, max(20, 200_000 // size)),  # type: ignore[misc]
        )
    heading("Table: get")
    for size in (8, 32, 33, 1_000, 100_000):
        entries = {f"key {number:06}": number for number in range(size)}
        table, key = Table.of(entries), f"key {size // 2:06}"
        row(
            f"of {size:,}",
            nanoseconds(lambda t=table, k=key: t.get(k)),  # type: ignore[misc]
            "dict.get",
            nanoseconds(lambda d=entries, k=key: d.get(k)),  # type: ignore[misc]
        )


def time_appends(log: Log[Record], count: int = 1024) -> float:
    """Return the nanoseconds per append, over whole chunks."""
    record = Record(1)

    def work() -> None:
        grown = log
        for _ in range(count):
            grown = grown.append(record)

    return nanoseconds(work, 20) / count


def time_digests(log: Log[Record], count: int = 1024) -> float:
    """Return the nanoseconds per append when every digest is asked for."""
    record = Record(1)
    log.digest  # noqa: B018  remembered from here on

    def work() -> None:
        grown = log
        for _ in range(count):
            grown = grown.append(record)
            grown.digest  # noqa: B018  that is the work

    return nanoseconds(work, 4) / count


def bytes_per_append(log: Log[Record], count: int = 1024) -> float:
    """Return the memory of one more version of a log, when every version is kept."""
    record, kept = Record(1), [log] * (count + 1)
    tracemalloc.start()
    for number in range(count):
        kept[number + 1] = kept[number].append(record)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return used / count


def logs() -> None:
    heading("Log: append")
    short, long = Log.of([Record(0)] * SHORT), Log.of([Record(0)] * LONG)
    plain = (Record(0),) * LONG
    row(f"number {LONG:,}", time_appends(long), f"number {SHORT:,}", time_appends(short))
    row("  with its digest", time_digests(long), f"number {SHORT:,}", time_digests(short))
    row("  memory", bytes_per_append(long), f"number {SHORT:,}", bytes_per_append(short), "B")
    row(
        f"number {LONG:,}",
        time_appends(long),
        "a tuple that long",
        nanoseconds(lambda: (*plain, plain[0]), 50),
    )
    heading("Log: look up the middle")
    row(
        f"of {LONG:,}",
        nanoseconds(lambda: long[LONG // 2]),
        f"of {SHORT:,}",
        nanoseconds(lambda: short[SHORT // 2]),
    )


def walk(trace: Trace, steps: int) -> Trace:
    go = Go()
    for _ in range(steps):
        trace = trace.take(go)
    return trace


def steps() -> None:
    heading("A typical step (10 changes, 3 sets, 1 append) with full history")
    model = Typical()
    world, go = model.initial(), Go()
    bare = nanoseconds(lambda: model.step(world, go))
    count = 2_000
    near = nanoseconds(lambda: walk(Trace.start(model), count), 3) / count
    late = walk(Trace.start(model), 20_000)
    far = nanoseconds(lambda: walk(late, count), 3) / count
    row("take: the step and its node", near, "the step alone", bare)
    row("take: steps from 20,000 on", far, "steps from 0 on", near)

    def search() -> None:
        here = world
        for _ in range(count):
            here = model.step(here, go).world
            model.search_key(here)

    row("step and search key", nanoseconds(search, 2) / count, "the step alone", bare)
    tracemalloc.start()
    kept = walk(Trace.start(model), count)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    whole = len(pickle.dumps(kept.world))
    row("memory of a step, world and all", used / count, "the last world, pickled", whole, "B")


if __name__ == "__main__":
    values()
    tables()
    logs()
    steps()
