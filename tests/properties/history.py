"""Hand-made histories: events without a cluster, and what a property makes of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.cluster.specs.spec import FaultBudget
from kipviz.core.model import Event, Outcome
from kipviz.core.table import Table
from kipviz.messages.cluster.features import Features
from kipviz.messages.events import (
    BatchAppended,
    OffsetResolved,
    OffsetStaged,
    RecordsMoved,
    SharePartitionDropped,
    SharePartitionLoaded,
    TransactionDecided,
    TransactionMoved,
)
from kipviz.properties.invariants import INVARIANTS, Facts
from kipviz.properties.verdict import Finding, Property
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.share_group_state import (
    RecordState,
    ShareSnapshotRecord,
    ShareUpdateRecord,
    StateBatch,
)
from kipviz.records.transaction_state import TransactionState

KEY = "g1:SRC-ID:0"
WORLD = SimpleNamespace(
    image=SimpleNamespace(topic_ids=Table.of({"src": "SRC-ID"}), features=Features()),
    logs=Table.of(
        {"src-0": SimpleNamespace(start_offset=100, batches=(Batch(100, (DataRecord("a"),)),))}
    ),
    roles=Table.of(),
    applications=Table.of(),
    budget=FaultBudget(),
)


def states(prop: Property, *events: Event | tuple[Event, ...], world: Any = WORLD) -> list[Any]:
    """The property's states along a history; events in a tuple happen in one step."""
    found = [prop.initial(WORLD)]
    for event in events:
        together = event if isinstance(event, tuple) else (event,)
        found.append(prop.observe(found[-1], None, Outcome(world, together)))
    return found


def world(**parts: Any) -> SimpleNamespace:
    """The small world of these histories with other parts."""
    return SimpleNamespace(**vars(WORLD) | parts)


def with_log(log: PartitionLog) -> SimpleNamespace:
    """The small world of these histories with one more log, or with another one."""
    return world(logs=WORLD.logs.set(log.name, log))


def states_from(prop: Property, state: Any, event: Event, world: Any) -> Any:
    """The property's state after one more step."""
    return prop.observe(state, None, Outcome(world, (event,)))


def findings(
    prop: Property, *events: Event | tuple[Event, ...], world: Any = WORLD
) -> list[Finding]:
    """What the property says at the start and after each step."""
    return [prop.finding(state) for state in states(prop, *events, world=world)]


# -- transactions -----------------------------------------------------------------------------


def output(offset: int, *more: int, pid: int = 9, epoch: int = 0, to: str = "out-0") -> Event:
    """The outputs of one or more source records are in the log, in an open transaction."""
    records = tuple(DataRecord(f"f({o})", f"src-0@{o}") for o in (offset, *more))
    return BatchAppended(to, 0, records, pid, epoch, "")


def decision(*, committed: bool, pid: int = 9, epoch: int = 0) -> Event:
    return TransactionDecided("my-txn", pid, epoch, committed)


def marker(control: str, pid: int = 9, epoch: int = 1, to: str = "out-0") -> Event:
    return BatchAppended(to, 1, (), pid, epoch, control)


def transaction(after: TransactionState, name: str = "my-txn") -> Event:
    return TransactionMoved(name, 9, 0, None, after, ())


# -- share groups -----------------------------------------------------------------------------


def moves(
    after: RecordState, first: int = 100, last: int = -1, because: str = "it was so"
) -> Event:
    return RecordsMoved(
        "src-0", "g1", first, max(first, last), RecordState.ACQUIRED, after, 1, "M1", because
    )


def completion(
    first: int = 100,
    last: int = -1,
    *,
    before: RecordState = RecordState.TX_PENDING,
    after: RecordState = RecordState.ACKNOWLEDGED,
) -> Event:
    """The marker of a committed transaction has completed its acknowledgements of some records."""
    return RecordsMoved("src-0", "g1", first, max(first, last), before, after, 1, "M1", "a marker")


def durable(
    state: RecordState, first: int = 100, last: int = -1, *, snapshot: bool = False
) -> Event:
    """The share coordinator has logged the delivery state of some records."""
    batches = (StateBatch(first, max(first, last), state, 1),)
    record = (
        ShareSnapshotRecord(KEY, 1, 1, 0, 100, 0, batches)
        if snapshot
        else ShareUpdateRecord(KEY, 0, 0, 100, 0, batches)
    )
    return BatchAppended("__share_group_state-7", 1, (record,), -1, -1, "")


def load_event(*held: int, start: int = 100, partition: str = "src-0") -> Event:
    return SharePartitionLoaded(partition, "g1", start, held)


def drop_event() -> Event:
    return SharePartitionDropped("src-0", "g1", "its broker crashed")


# -- regular groups ---------------------------------------------------------------------------


def staging(offset: int, pid: int = 9, group: str = "cg") -> Event:
    return OffsetStaged(group, "src-0", offset, pid)


def resolution(offset: int, *, committed: bool = True, pid: int = 9, group: str = "cg") -> Event:
    return OffsetResolved(group, "src-0", offset, pid, committed)


def after(events: tuple[Event, ...], world: object = WORLD) -> Facts:
    """The facts that the invariants have learned from a history."""
    facts = INVARIANTS[0].initial(WORLD)
    for event in events:
        facts = INVARIANTS[0].observe(facts, None, Outcome(world, (event,)))
    return facts
