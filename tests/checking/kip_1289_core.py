"""The core of KIP-1289, small enough to write by hand twice: here, and in TLA+ (tests/checking/tla).

Members of a share group acquire records, producers put out what was made of them and stage the
acknowledgements in their transactions, markers resolve them. A world is plain tuples, and the
steps are exactly those of KIP1289Core.tla, so both have the same number of distinct states.
"""

from __future__ import annotations

import marshal
from hashlib import blake2b
from itertools import permutations
from typing import Any, NamedTuple

from kipviz.core.model import Outcome
from kipviz.properties.verdict import BROKEN, HOLDS, Finding

NOBODY = -1
AVAILABLE, ACQUIRED, PENDING, ACKNOWLEDGED = range(4)
EMPTY, ONGOING, COMMITTED, ABORTED = range(4)


class Size(NamedTuple):
    """How many there are of everything, and the two questions on which designs disagree."""

    members: int = 2
    producers: int = 2
    records: int = 2
    epochs: int = 1
    locks: int = 0
    crashes: int = 0
    durable: bool = True
    pinned: bool = True


class World(NamedTuple):
    """Per record (state, holder, staged_by, committed); per producer (txn, epoch, outs, staged, markers).

    `outs` and `staged` are bit sets of records; of the markers on the wire bit 1 is the output's,
    bit 2 the share side's.
    """

    records: tuple[tuple[int, int, int, int], ...]
    producers: tuple[tuple[int, int, int, int, int], ...]
    locks: int
    crashes: int


class Act(NamedTuple):
    """One atomic step: its name, and who and what it is about."""

    name: str
    member: int = NOBODY
    producer: int = NOBODY
    record: int = NOBODY


class Core:
    """The model."""

    action_type = Act

    def __init__(self, size: Size) -> None:
        self.size = size

    def initial(self) -> World:
        size = self.size
        return World(
            ((AVAILABLE, NOBODY, NOBODY, 0),) * size.records,
            ((EMPTY, 0, 0, 0, 0),) * size.producers,
            size.locks,
            size.crashes,
        )

    def enabled(self, world: World) -> tuple[Act, ...]:
        found: list[Act] = []
        size, held = self.size, []
        free = NOBODY
        for r, (state, holder, _, _) in enumerate(world.records):
            if state == ACQUIRED:
                held.append((holder, r))
            elif state == AVAILABLE and free < 0:
                free = r
        if free >= 0:
            found += [Act("Acquire", m, NOBODY, free) for m in range(size.members)]
        for p, (txn, epoch, outs, staged, markers) in enumerate(world.producers):
            if txn == ONGOING:
                for m, r in held:
                    found.append(Act("Stage" if outs >> r & 1 else "Send", m, p, r))
                if outs and outs == staged:
                    found.append(Act("Commit", NOBODY, p))
                found.append(Act("Abort", NOBODY, p))
            elif txn == EMPTY:
                if epoch < size.epochs:
                    found.append(Act("Begin", NOBODY, p))
            elif not markers:
                found.append(Act("Complete", NOBODY, p))
            else:
                if markers & 1:
                    found.append(Act("OutMarker", NOBODY, p))
                if markers & 2:
                    found.append(Act("ShareMarker", NOBODY, p))
        if world.locks:
            for r, (state, _, _, _) in enumerate(world.records):
                if state == ACQUIRED or (state == PENDING and not size.pinned):
                    found.append(Act("Expire", NOBODY, NOBODY, r))
        if world.crashes:
            found.append(Act("Crash"))
        return tuple(found)

    def step(self, world: World, action: Act) -> Outcome:
        return Outcome(getattr(self, f"_{action.name.lower()}")(world, action))

    def why_not(self, world: World, action: Act) -> str | None:
        return None if action in self.enabled(world) else "it is not possible"

    def share_tables(self, world: World) -> World:
        return world

    def search_key(self, world: World) -> bytes:
        return key_of(world)

    def kind(self, action: Act) -> str:
        return (
            "expiry"
            if action.name == "Expire"
            else "fault"
            if action.name == "Crash"
            else "deliver"
        )

    def _acquire(self, w: World, a: Act) -> World:
        return _record(w, a.record, (ACQUIRED, a.member, NOBODY, w.records[a.record][3]))

    def _begin(self, w: World, a: Act) -> World:
        _, epoch, outs, staged, markers = w.producers[a.producer]
        return _producer(w, a.producer, (ONGOING, epoch, outs, staged, markers))

    def _send(self, w: World, a: Act) -> World:
        txn, epoch, outs, staged, markers = w.producers[a.producer]
        return _producer(w, a.producer, (txn, epoch, outs | 1 << a.record, staged, markers))

    def _stage(self, w: World, a: Act) -> World:
        txn, epoch, outs, staged, markers = w.producers[a.producer]
        w = _record(w, a.record, (PENDING, NOBODY, a.producer, w.records[a.record][3]))
        return _producer(w, a.producer, (txn, epoch, outs, staged | 1 << a.record, markers))

    def _commit(self, w: World, a: Act) -> World:
        _, epoch, outs, _, _ = w.producers[a.producer]
        records = tuple(
            (state, holder, staged_by, committed + (outs >> r & 1))
            for r, (state, holder, staged_by, committed) in enumerate(w.records)
        )
        w = World(records, w.producers, w.locks, w.crashes)
        return _producer(w, a.producer, (COMMITTED, epoch + 1, 0, 0, 3))

    def _abort(self, w: World, a: Act) -> World:
        return _producer(w, a.producer, (ABORTED, w.producers[a.producer][1] + 1, 0, 0, 3))

    def _outmarker(self, w: World, a: Act) -> World:
        txn, epoch, outs, staged, markers = w.producers[a.producer]
        return _producer(w, a.producer, (txn, epoch, outs, staged, markers & ~1))

    def _sharemarker(self, w: World, a: Act) -> World:
        txn, epoch, outs, staged, markers = w.producers[a.producer]
        after = ACKNOWLEDGED if txn == COMMITTED else AVAILABLE
        records = tuple(
            (after, holder, NOBODY, committed)
            if staged_by == a.producer
            else (state, holder, staged_by, committed)
            for state, holder, staged_by, committed in w.records
        )
        w = World(records, w.producers, w.locks, w.crashes)
        return _producer(w, a.producer, (txn, epoch, outs, staged, markers & ~2))

    def _complete(self, w: World, a: Act) -> World:
        _, epoch, outs, staged, markers = w.producers[a.producer]
        return _producer(w, a.producer, (EMPTY, epoch, outs, staged, markers))

    def _expire(self, w: World, a: Act) -> World:
        w = _record(w, a.record, (AVAILABLE, NOBODY, NOBODY, w.records[a.record][3]))
        return World(w.records, w.producers, w.locks - 1, w.crashes)

    def _crash(self, w: World, a: Act) -> World:
        durable = self.size.durable
        records = tuple(
            (AVAILABLE, NOBODY, NOBODY, committed)
            if state == ACQUIRED or (state == PENDING and not durable)
            else (state, NOBODY, staged_by, committed)
            for state, _, staged_by, committed in w.records
        )
        return World(records, w.producers, w.locks, w.crashes - 1)


class Judged(NamedTuple):
    """What the property remembers: nothing but what it says of this world."""

    broken: str = ""

    @property
    def digest(self) -> bytes:
        return b""


WELL = Judged()


class Atomic:
    """The invariant `Atomic` of KIP1289Core.tla."""

    name = "atomic"
    sentence = "A record is acknowledged if and only if its output is committed, once."

    def initial(self, world: World) -> Judged:
        return WELL

    def observe(self, state: Judged, action: Act, outcome: Outcome) -> Judged:
        for record, (at, _, _, committed) in enumerate(outcome.world.records):
            if committed > 1:
                return Judged(f"record {record} has {committed} committed outputs")
            if at == ACKNOWLEDGED and not committed:
                return Judged(f"record {record} is acknowledged without an output")
            if committed and at < PENDING:
                return Judged(f"record {record} is free although its output is committed")
        return state

    def finding(self, state: Judged) -> Finding:
        return Finding(BROKEN, state.broken) if state.broken else _HOLDS


_HOLDS = Finding(HOLDS)


class Symmetric:
    """Members and producers are interchangeable; records are in order."""

    name = "symmetry"
    alone = None

    def fit(self, model: Core, *, full_states: bool) -> None:
        self.size = model.size

    def key(self, world: World, states: tuple[Any, ...]) -> bytes:
        return key_of(canonical(world))


def canonical(world: World) -> World:
    """Give the representative: producers by what they are like, members as they turn up."""
    likeness = sorted(
        range(len(world.producers)),
        key=lambda p: (world.producers[p], tuple(r[2] == p for r in world.records)),
    )
    place = [0] * len(likeness)
    for at, p in enumerate(likeness):
        place[p] = at
    names: dict[int, int] = {NOBODY: NOBODY}
    records = tuple(
        (
            state,
            names.setdefault(holder, len(names) - 1),
            place[staged_by] if staged_by >= 0 else NOBODY,
            committed,
        )
        for state, holder, staged_by, committed in world.records
    )
    producers = tuple(world.producers[p] for p in likeness)
    return World(records, producers, world.locks, world.crashes)


def orbit(world: World, size: Size) -> int:
    """Give how many worlds become one with this one by other names."""
    seen = set()
    for members in permutations(range(size.members)):
        for producers in permutations(range(size.producers)):
            records = tuple(
                (s, members[h] if h >= 0 else h, producers[v] if v >= 0 else v, c)
                for s, h, v, c in world.records
            )
            moved = dict(zip(producers, world.producers, strict=True))
            seen.add((records, tuple(moved[p] for p in range(size.producers))))
    return len(seen)


class LoneSteps:
    """Steps of a producer that nobody can get in the way of: begin, its output marker, complete."""

    name = "order"
    key = None

    def fit(self, model: Core, *, full_states: bool) -> None:
        self.size = model.size

    def alone(self, world: World, enabled: tuple[Act, ...]) -> Act | None:
        for action in enabled:
            if action.name in ("Begin", "OutMarker", "Complete"):
                return action
        return None


def tlc_config(size: Size) -> str:
    """Give the .cfg file with which TLC searches KIP1289Core.tla in this size."""
    members = ", ".join(f"m{each}" for each in range(size.members))
    producers = ", ".join(f"p{each}" for each in range(size.producers))
    constants = {
        "Nobody": "Nobody",
        "Members": f"{{{members}}}",
        "Producers": f"{{{producers}}}",
        "LastRecord": size.records,
        "LastEpoch": size.epochs,
        "Locks": size.locks,
        "Crashes": size.crashes,
        "Durable": str(size.durable).upper(),
        "Pinned": str(size.pinned).upper(),
    }
    lines = [f"    {name} = {value}" for name, value in constants.items()]
    return "\n".join(["SPECIFICATION Spec", "CONSTANTS", *lines, "INVARIANT Atomic", ""])


def key_of(world: World) -> bytes:
    """Sixteen bytes of a world: small ints only, so their plain form is one and the same."""
    return blake2b(
        marshal.dumps(tuple(map(tuple, world[:2])) + world[2:], 2), digest_size=16
    ).digest()


def _record(w: World, at: int, record: tuple[int, int, int, int]) -> World:
    return World((*w.records[:at], record, *w.records[at + 1 :]), w.producers, w.locks, w.crashes)


def _producer(w: World, at: int, producer: tuple[int, int, int, int, int]) -> World:
    return World(
        w.records, (*w.producers[:at], producer, *w.producers[at + 1 :]), w.locks, w.crashes
    )
