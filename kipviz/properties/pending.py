"""Progress: nothing stays pending forever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias, TypeVar, assert_never, get_args

from kipviz.cluster.world import World
from kipviz.core.model import Outcome
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.events import (
    BatchAppended,
    DatabaseChanged,
    OffsetResolved,
    OffsetStaged,
    RecordsMoved,
    SharePartitionDropped,
    SharePartitionLoaded,
    TopicDeleted,
    TransactionMoved,
)
from kipviz.properties.facts.share_facts import share_partitions
from kipviz.properties.facts.share_record import ShareRecord, moved_records, without_partition
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import HOLDS, PENDING, Finding
from kipviz.records.consumer_offsets import OffsetTombstone
from kipviz.records.placement import topic_of
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState

K = TypeVar("K")

# The events after which something is pending, or no longer is.
_Heeded: TypeAlias = (
    BatchAppended
    | DatabaseChanged
    | OffsetResolved
    | OffsetStaged
    | RecordsMoved
    | SharePartitionDropped
    | SharePartitionLoaded
    | TopicDeleted
    | TransactionMoved
)
_HEEDED: frozenset[type] = frozenset(get_args(_Heeded))

Records: TypeAlias = Table[ShareRecord, bool]
UNDECIDED = (
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
)


class Staged(NamedTuple):
    """A staged offset: two producers may have one for the same group and partition."""

    group_id: str
    partition: str
    producer_id: int


class Open(Part, frozen=True):
    """Everything that waits for an outcome now.

    `databases` are the applications whose database has a prepared transaction, `held` the partitions whose last stable
    offset is held back, `offsets` the staged offsets of groups, `records` the staged records of share groups,
    `transactions` the undecided transactional ids with their states.
    """

    databases: Table[str, bool] = Table.of()
    held: Table[str, bool] = Table.of()
    offsets: Table[Staged, bool] = Table.of()
    records: Records = Table.of()
    transactions: Table[str, TransactionState] = Table.of()

    @property
    def count(self) -> int:
        """How many things are pending."""
        return (
            len(self.databases)
            + len(self.held)
            + len(self.offsets)
            + len(self.records)
            + len(self.transactions)
        )

    @property
    def words(self) -> str:
        """What is pending and how, in one clause."""
        return ", ".join(self._clauses())

    def _clauses(self) -> Iterator[str]:
        for application in self.databases:
            yield f"database transaction of {application} is in doubt"
        for partition in self.held:
            yield f"last stable offset of {partition} is held"
        for group_id, partition, producer_id in self.offsets:
            yield f"offset of {group_id} in {partition} by producer {producer_id} is staged"
        several = len({record.group_id for record in self.records}) > 1
        for group_id, partition, offset in self.records:
            whose = f" of {group_id}" if several else ""
            yield f"record {partition}@{offset}{whose} is TX_PENDING"
        for transactional_id, state in self.transactions.items():
            yield f"transaction {transactional_id} is {state.value}"


class NothingPending:
    """The property: while something is pending it is undecided.

    A single run cannot break it, because more steps may always come. `checking.search.liveness` decides it: forever
    means that no continuation without further faults resolves it.
    """

    name = "no stuck transactions or records"
    sentence = "Every transaction, transactional acknowledgement and staged offset is eventually resolved, and every last stable offset eventually advances."

    def initial(self, world: World) -> Open:
        """Start with nothing pending."""
        return Open()

    def observe(self, state: Open, action: object, outcome: Outcome) -> Open:
        """Fold one step."""
        after = state
        for event in outcome.events:
            if type(event) not in _HEEDED:  # few are, and a look costs less than nine patterns
                continue
            after = _fold(after, event, outcome.world)  # type: ignore[arg-type]  # it is one of these
        same = all(getattr(after, name) is getattr(state, name) for name in Open.__struct_fields__)
        return state if same else after

    def finding(self, state: Open) -> Finding:
        """Return what is still pending."""
        return Finding(PENDING, state.words) if state.count else Finding(HOLDS)


def harm_of_stuck(state: Open) -> Harm:
    """Return what it costs that things are never resolved: a database in doubt costs most."""
    return Harm.IN_DOUBT if state.databases else Harm.STUCK


def without_former_leaders(state: Open, world: World) -> Open:
    """Remove the records of former leaders: such a record is no longer staged anywhere.

    A durable transactional acknowledgement is still pending: it holds back the last stable offset of its log. A new
    leader loads it only when a request arrives, and in a run that ends there may be none.
    """
    if not state.records:
        return state
    held = {
        (share.group_id, share.partition, offset)
        for share in share_partitions(world)
        for offset, record in share.records.items()
        if record.state is RecordState.TX_PENDING
    }
    records = state.records
    for record in records:
        if record not in held:
            records = records.without(record)
    return state if records is state.records else state.but(records=records)


def _fold(state: Open, event: _Heeded, world: World) -> Open:
    """Return what is pending after an event."""
    match event:
        case TransactionMoved(transactional_id=name, after=after):
            known = state.transactions
            moved = known.set(name, after) if after in UNDECIDED else known.without(name)
            return state.but(transactions=moved)
        case RecordsMoved():
            return state.but(records=_fold_records(state.records, event))
        case SharePartitionDropped(partition=partition, group_id=group_id):
            return state.but(records=without_partition(state.records, group_id, partition))
        case SharePartitionLoaded():
            return state.but(records=_replace_records(state.records, event, world))
        case BatchAppended(partition=partition):
            offsets = _without_deleted(state.offsets, event)
            held = _mark(state.held, partition, bool(world.logs[partition].open))
            return state.but(offsets=offsets, held=held)
        case TopicDeleted(topic=topic):
            return state.but(held=_of_other_topics(state.held, topic))
        case DatabaseChanged(application=name, what=what):
            return state.but(databases=_mark(state.databases, name, what == "prepared"))
        case OffsetStaged():
            return state.but(offsets=_mark(state.offsets, _make_staged(event), True))
        case OffsetResolved():
            return state.but(offsets=_mark(state.offsets, _make_staged(event), False))
        case _:
            assert_never(event)


def _mark(known: Table[K, bool], key: K, pending: bool) -> Table[K, bool]:
    return known.set(key, True) if pending else known.without(key)


def _make_staged(event: OffsetStaged | OffsetResolved) -> Staged:
    return Staged(event.group_id, event.partition, event.producer_id)


def _without_deleted(offsets: Table[Staged, bool], event: BatchAppended) -> Table[Staged, bool]:
    """Remove the pending offsets whose tombstone is in the log: their topic, or group, was deleted."""
    for record in event.records:
        if isinstance(record, OffsetTombstone):
            for staged in offsets:
                if (staged.group_id, staged.partition) == (record.group_id, record.partition):
                    offsets = offsets.without(staged)
    return offsets


def _of_other_topics(held: Table[str, bool], topic: str) -> Table[str, bool]:
    """Remove what was pending in the logs of a deleted topic."""
    for partition in held:
        if topic_of(partition) == topic:
            held = held.without(partition)
    return held


def _fold_records(records: Records, event: RecordsMoved) -> Records:
    for record in moved_records(event):
        records = _mark(records, record, event.after is RecordState.TX_PENDING)
    return records


def _replace_records(records: Records, event: SharePartitionLoaded, world: World) -> Records:
    """Replace the staged records of a partition by those of its new share-partition leader."""
    records = without_partition(records, event.group_id, event.partition)
    for share in share_partitions(world):
        if share.partition != event.partition or share.group_id != event.group_id:
            continue
        for offset, record in share.records.items():
            if record.state is RecordState.TX_PENDING:
                records = records.set(ShareRecord(share.group_id, share.partition, offset), True)
    return records
