"""Exactly once: a source record is acknowledged if and only if its output is committed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, assert_never, get_args

from kipviz.brokers.logs.partition_log import PartitionLog, is_aborted
from kipviz.clients.application import Application
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.cluster.world import World
from kipviz.core.model import Outcome
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.events import (
    BatchAppended,
    LeaderMoved,
    LogPruned,
    OffsetCommitted,
    OffsetResolved,
    RecordsMoved,
    SharePartitionLoaded,
    ShareStateReset,
    TopicDeleted,
    TopicRemade,
    TransactionDecided,
)
from kipviz.properties.agreement import Stores, fold, looked_at
from kipviz.properties.facts import outputs
from kipviz.properties.facts.outputs import Open, Output
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import BROKEN, HOLDS, Finding
from kipviz.records.placement import INTERNAL_TOPICS, topic_of
from kipviz.records.record_name import name_record, place_of
from kipviz.records.share_group_state import (
    RecordState,
    ShareSnapshotRecord,
    ShareUpdateRecord,
    StateBatch,
)

FREE = (RecordState.AVAILABLE, RecordState.ACQUIRED)

# The events that say something of outputs or of acknowledgements.
_Heeded: TypeAlias = (
    BatchAppended
    | LeaderMoved
    | LogPruned
    | OffsetCommitted
    | OffsetResolved
    | RecordsMoved
    | SharePartitionLoaded
    | ShareStateReset
    | TopicDeleted
    | TopicRemade
    | TransactionDecided
)
_HEEDED: frozenset[type] = frozenset(get_args(_Heeded))


class Ledger(Part, frozen=True):
    """The outputs and acknowledgements so far.

    `starts` are the first offsets of the partitions; `open` are the outputs of undecided transactions, each with its
    partition, by (producer id, epoch), in the order of their names, so that the order of appends does not matter;
    `committed` counts the committed outputs of each source record; `free` are the source records that can be delivered
    (again), according to their leader; `read_to` is the committed offset of each group. `stores` is set if an external
    database is written, too: then records are acknowledged there. `silent` are groups without a member that produces
    outputs; the property does not apply to them. `groups` are those of the world's applications, None if it has none:
    another group is a real client's, whose records do not say what they were made from. `plain` are the outputs of producers without a transactional id that
    not all replicas have, by partition and offset: such an output counts once they have it. `taken` are the records
    that retention or DeleteRecords deleted from their log before an output of them was committed. `owed` are the
    records that a committed transaction has acknowledged while an output of them was open in another one: that one has
    to commit. `cut` are the outputs of undecided transactions that a new leader lacks: their producer sends them again,
    so a record of one of them may still be produced and committed. `broken` is the reason of the violation, and `harm`
    what it costs.
    """

    topic_ids: Table[str, str]
    starts: Table[str, int] = Table.of()
    open: Open = Table.of()
    committed: Table[str, int] = Table.of()
    free: Table[str, bool] = Table.of()
    read_to: Table[tuple[str, str], int] = Table.of()
    broken: str = ""
    stores: Stores | None = None
    silent: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    plain: Table[tuple[str, int], tuple[Output, ...]] = Table.of()
    taken: Table[str, bool] = Table.of()
    owed: Table[str, bool] = Table.of()
    cut: Open = Table.of()
    harm: Harm | None = None

    def is_judged(self, group_id: str) -> bool:
        """Return whether the property applies to a group."""
        return group_id not in self.silent and (self.groups is None or group_id in self.groups)

    def add_violation(self, reason: str, harm: Harm | None = None) -> Ledger:
        """Return the same ledger with a violation: its reason, and what it costs."""
        return self.but(broken=reason, harm=harm)


class Atomic:
    """The property itself.

    It breaks at the earliest step that cannot be undone: when a second output of a record is decided, when an
    acknowledgement is durable without a committed output, or when a record whose output is committed can be delivered
    again.
    """

    name = "atomic"
    sentence = "A source record is acknowledged if and only if its output is committed."

    def initial(self, world: World) -> Ledger:
        """Start without any outputs."""
        ids = {topic_id: topic for topic, topic_id in world.image.topic_ids.items()}
        starts = {
            name: log.batches[0].base_offset for name, log in world.logs.items() if log.batches
        }
        stores = Stores() if looked_at(world) else None
        return Ledger(
            Table.of(ids),
            Table.of(starts),
            stores=stores,
            silent=silent_groups(world),
            groups=groups_of_applications(world),
        )

    def observe(self, ledger: Ledger, action: object, outcome: Outcome) -> Ledger:
        """Fold one step."""
        if ledger.broken:
            return ledger
        for event in outcome.events:
            if type(event) not in _HEEDED:  # few are, and a look costs less than ten patterns
                continue
            ledger = _fold(ledger, event, outcome.world)  # type: ignore[arg-type]  # it is one of these
            if ledger.broken:
                break
        if ledger.plain and not ledger.broken:
            ledger = _count_replicated(ledger, outcome.world)
        if ledger.stores is not None:
            stores = fold(ledger.stores, outcome.events)
            ledger = ledger.but(stores=stores)
            if stores.torn and not ledger.broken:
                ledger = ledger.add_violation(stores.torn, stores.harm)
        return ledger

    def finding(self, ledger: Ledger) -> Finding:
        """Return whether it still holds."""
        return Finding(BROKEN, ledger.broken, ledger.harm) if ledger.broken else Finding(HOLDS)


def silent_sources(world: World) -> tuple[str, ...]:
    """Return the partitions that only silent groups read: an acknowledged record there has no output."""
    silent = silent_groups(world)
    read: dict[str, bool] = {}
    for application in world.applications.values():
        consumer = application.consumer
        assigned: tuple[str, ...] = ()
        if isinstance(consumer, ShareConsumer):
            assigned = consumer.subscription.assigned
        quiet = isinstance(consumer, ShareConsumer) and consumer.group_id in silent
        for partition in (consumer.partition, *assigned):
            read[partition] = quiet and read.get(partition, True)
    return tuple(sorted(partition for partition, quiet in read.items() if partition and quiet))


def silent_groups(world: World) -> tuple[str, ...]:
    """Return the share groups without a member that ever sends anything."""
    # The world of a recording or of a test may have no applications, or no consumers in them.
    applications = getattr(world, "applications", Table[str, Application].of()).values()
    consumers = ((a, getattr(a, "consumer", None)) for a in applications)
    members = [(a, c) for a, c in consumers if isinstance(c, ShareConsumer)]
    speaking = {c.group_id for a, c in members if any(n.call == "send" for n in a.program)}
    return tuple(sorted({c.group_id for _, c in members} - speaking))


def groups_of_applications(world: World) -> tuple[str, ...] | None:
    """Return the groups in which an application of the world reads, None if it has no application."""
    applications = getattr(world, "applications", Table[str, Application].of()).values()
    clients = (client for each in applications for client in getattr(each, "clients", ()))
    found = {getattr(client, "group_id", "") for client in clients} - {""}
    return tuple(sorted(found)) if found else None


def _fold(ledger: Ledger, event: _Heeded, world: World) -> Ledger:
    """Return the ledger after an event."""
    match event:
        case BatchAppended():
            ledger = _fold_append(ledger, event)
            if event.control and world.image.features.transaction_version < 2:
                opened, ended = outputs.end_late_batches(ledger.open, event)
                ledger = _count_outputs(ledger.but(open=opened), ended)
        case TransactionDecided():
            ledger = _fold_decision(ledger, event)
        case RecordsMoved():
            ledger = _fold_records(ledger, event)
        case SharePartitionLoaded():
            ledger = _fold_load(ledger, event)
        case ShareStateReset():
            ledger = _forget_decided(ledger, event)
        case LogPruned():
            ledger = _note_pruned(ledger, event)
        case TopicRemade(topic=topic) | TopicDeleted(topic=topic):
            ledger = _forget_topic(ledger, topic)
        case OffsetResolved(committed=True) | OffsetCommitted():
            ledger = _read(ledger, event, world)
        case LeaderMoved(partition=partition):
            opened = outputs.forget_truncated(ledger.open, partition, world)
            if opened is not ledger.open:
                cut = outputs.add_lost(ledger.cut, ledger.open, opened)
                ledger = ledger.but(open=opened, cut=cut)
        case OffsetResolved():
            pass
        case _:
            assert_never(event)
    return ledger


def _fold_append(ledger: Ledger, event: BatchAppended) -> Ledger:
    opened = outputs.fold_batch(ledger.open, event)
    if opened is not ledger.open:
        return ledger.but(open=opened, cut=outputs.without(ledger.cut, event))
    if event.plain and (put := outputs.outputs_in(event)):
        return ledger.but(plain=ledger.plain.set((event.partition, event.base_offset), put))
    for record in () if event.control else event.records:
        if isinstance(record, ShareUpdateRecord | ShareSnapshotRecord):
            ledger = _fold_acknowledgement(ledger, record.key, record.batches)
    return ledger


def _fold_acknowledgement(ledger: Ledger, key: str, batches: tuple[StateBatch, ...]) -> Ledger:
    group_id, topic_id, index = key.rsplit(":", 2)
    if not ledger.is_judged(group_id):
        return ledger
    partition = f"{ledger.topic_ids.get(topic_id, topic_id)}-{index}"
    for batch in batches:
        if batch.state is not RecordState.ACKNOWLEDGED:
            continue
        for offset in range(batch.first, batch.last + 1):
            record = name_record(partition, offset)
            if not ledger.committed.get(record, 0):
                return ledger.add_violation(
                    f"{record} is acknowledged, but none of its outputs is committed: it is lost",
                    Harm.LOSS,
                )
    return ledger


def _count_replicated(ledger: Ledger, world: World) -> Ledger:
    """Count outputs outside transactions once no new leader can lack them; drop those that one lacks."""
    for (partition, offset), put in ledger.plain.items():
        log = world.logs[partition]
        there = any(batch.base_offset == offset for batch in log.batches)
        if there and log.high_watermark <= offset:
            continue
        ledger = ledger.but(plain=ledger.plain.without((partition, offset)))
        ledger = _count_outputs(ledger, put) if there and not ledger.broken else ledger
    return ledger


def _fold_decision(ledger: Ledger, event: TransactionDecided) -> Ledger:
    opened, ended = outputs.end_transaction(ledger.open, event)
    cut = ledger.cut.without((event.producer_id, event.producer_epoch))
    ledger = _count_outputs(ledger.but(open=opened, cut=cut), ended)
    for record in () if ledger.broken else ledger.owed:
        if ledger.committed.get(record, 0):
            ledger = ledger.but(owed=ledger.owed.without(record))
        elif not _is_open(ledger, record):
            return ledger.add_violation(_LOST.format(record), Harm.LOSS)
    return ledger


def _count_outputs(ledger: Ledger, ended: tuple[Output, ...]) -> Ledger:
    for record, _ in ended:
        count = ledger.committed.get(record, 0) + 1
        ledger = ledger.but(
            committed=ledger.committed.set(record, count), taken=ledger.taken.without(record)
        )
        if count > 1:
            return ledger.add_violation(
                f"{record} has {count} committed outputs: it is duplicated", Harm.DUPLICATE
            )
        if record in ledger.free:
            return ledger.add_violation(
                f"the output of {record} is committed, but the record is available to be delivered again",
                Harm.AGAIN,
            )
    return ledger


def _fold_records(ledger: Ledger, event: RecordsMoved) -> Ledger:
    free = ledger.free
    for offset in range(event.first, event.last + 1):
        record = name_record(event.partition, offset)
        if _is_for_good(ledger, event) and not ledger.committed.get(record, 0):
            if not _is_open(ledger, record):
                return ledger.add_violation(_LOST.format(record), Harm.LOSS)
            ledger = ledger.but(owed=ledger.owed.set(record, True))
        if event.after not in FREE:
            free = free.without(record)
        elif ledger.committed.get(record, 0):
            return ledger.add_violation(
                f"the output of {record} is committed, but {event.because} and made it "
                f"{event.after.name}: it will be delivered again",
                Harm.AGAIN,
            )
        else:
            free = free.set(record, True)
    return ledger if free is ledger.free else ledger.but(free=free)


def _is_for_good(ledger: Ledger, event: RecordsMoved) -> bool:
    """Return whether a committed transaction has acknowledged records.

    An output of the same transaction is committed by then. One of another producer's may still be open, be aborted, or
    never come.
    """
    staged = event.before is RecordState.TX_PENDING and event.after is RecordState.ACKNOWLEDGED
    return staged and ledger.is_judged(event.group_id)


def _is_open(ledger: Ledger, record: str) -> bool:
    """Return whether an undecided transaction has an output of a record, or sends one again that a new leader lacks."""
    return record in _undecided_records(ledger)


def _undecided_records(ledger: Ledger) -> Iterator[str]:
    """Yield the records with an output in an undecided transaction, or with one that is sent again."""
    for each in (*ledger.open.values(), *ledger.cut.values()):
        for record, _ in each:
            yield record


_LOST = "{} is acknowledged by its transaction, but no output of it is committed: it is lost"


def _fold_load(ledger: Ledger, event: SharePartitionLoaded) -> Ledger:
    """Compare a new leader's state with the outputs; a record without state is free."""
    for record in ledger.committed:
        if _is_forgotten(record, event):
            return ledger.add_violation(
                f"the output of {record} is committed, but the new share-partition leader "
                f"finds no trace of its acknowledgement: it will be delivered again",
                Harm.AGAIN,
            )
    free = ledger.free
    for record in _undecided_records(ledger):
        if _is_forgotten(record, event):
            free = free.set(record, True)
    for offset in event.held:
        free = free.without(name_record(event.partition, offset))
    return ledger.but(free=free)


def _is_forgotten(record: str, event: SharePartitionLoaded) -> bool:
    partition, offset = place_of(record)
    return (
        partition == event.partition and offset >= event.start_offset and offset not in event.held
    )


def _forget_decided(ledger: Ledger, event: ShareStateReset) -> Ledger:
    """Forget the decided outputs of records that an operator wants to be delivered again.

    Only decided ones: a transaction that commits after the reset has to count.
    """
    _, topic_id, index = event.key.rsplit(":", 2)
    partition = f"{ledger.topic_ids.get(topic_id, topic_id)}-{index}"
    committed = ledger.committed
    for record in committed:
        of, offset = place_of(record)
        if of == partition and offset >= event.start_offset:
            committed = committed.without(record)
    return ledger.but(committed=committed)


def _forget_topic(ledger: Ledger, topic: str) -> Ledger:
    """Forget a deleted topic; open outputs of its records no longer belong to a record."""

    def of(record: str) -> bool:
        return topic_of(place_of(record)[0]) == topic

    def without(undecided: Open) -> Open:
        for identity, each in undecided.items():
            undecided = undecided.set(identity, tuple(o for o in each if not of(o[0])))
        return undecided

    gone = [record for record in ledger.committed if of(record)]
    committed, read_to = ledger.committed, ledger.read_to
    taken = ledger.taken
    for record in taken:
        taken = taken.without(record) if of(record) else taken
    owed = ledger.owed
    for record in owed:
        owed = owed.without(record) if of(record) else owed
    for record in gone:
        committed = committed.without(record)
    for place in read_to:
        if topic_of(place[1]) == topic:
            read_to = read_to.without(place)
    starts = ledger.starts
    for partition in starts:
        if topic_of(partition) == topic:
            starts = starts.set(partition, 0)
    return ledger.but(
        committed=committed,
        open=without(ledger.open),
        read_to=read_to,
        starts=starts,
        taken=taken,
        owed=owed,
        cut=without(ledger.cut),
    )


def _note_pruned(ledger: Ledger, event: LogPruned) -> Ledger:
    """Note the deleted records without a committed output."""
    taken = ledger.taken
    if topic_of(event.partition) in INTERNAL_TOPICS:
        return ledger
    for offset in range(event.before, event.after):
        record = name_record(event.partition, offset)
        if not ledger.committed.get(record, 0):
            taken = taken.set(record, True)
    return ledger.but(taken=taken)


def _read(ledger: Ledger, event: OffsetResolved | OffsetCommitted, world: World) -> Ledger:
    if not ledger.is_judged(event.group_id):
        return ledger
    place = (event.group_id, event.partition)
    before = ledger.read_to.get(place, ledger.starts.get(event.partition, 0))
    for offset in range(before, event.offset):
        record = name_record(event.partition, offset)
        if not ledger.committed.get(record, 0) and not _is_hidden(world, event.partition, offset):
            passed = f"group {event.group_id} has read past {record}"
            if record in ledger.taken:
                return ledger.add_violation(
                    f"{passed}, which retention or DeleteRecords took from the log before an output of it was "
                    "committed: it can no longer be read, and no transaction lost it"
                )
            return ledger.add_violation(
                f"{passed}, but no output of it is committed: it is lost", Harm.LOSS
            )
    return ledger.but(read_to=ledger.read_to.set(place, event.offset))


def _is_hidden(world: Any, partition: str, offset: int) -> bool:
    """Return whether a consumer skips an offset: it is a marker's, or of an aborted transaction.

    A source may be another application's output, as a share group's ingress topic is.
    """
    log = getattr(world, "logs", Table[str, PartitionLog].of()).get(partition)
    if log is None:
        return False
    found = (b for b in log.batches if b.base_offset <= offset <= b.last_offset)
    return any(bool(b.control) or is_aborted(log, b) for b in found)
