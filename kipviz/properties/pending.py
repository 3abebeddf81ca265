"""Progress: nothing stays pending forever."""

from __future__ import annotations

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
from kipviz.properties.harm import Harm
from kipviz.properties.verdict import HOLDS, PENDING, Finding
from kipviz.records.consumer_offsets import OffsetTombstone
from kipviz.records.placement import topic_of
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState

# How the name of a pending transaction of a database begins.
_OF_A_DATABASE = "database transaction of "
UNDECIDED = (
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
)


class Open(Part, frozen=True):
    """Everything that waits for an outcome now: its name and its state."""

    things: Table[str, str] = Table.of()


class NothingPending:
    """The property: while something is pending it is undecided.

    A single run cannot break it, because more steps may always come. `checking.search.liveness` decides it: forever
    means that no continuation without further faults resolves it.
    """

    name = "no stuck transactions or records"
    sentence = "Every transaction, staged acknowledgement and staged offset is eventually resolved, and every last stable offset eventually advances."

    def initial(self, world: World) -> Open:
        """Start with nothing pending."""
        return Open()

    def observe(self, state: Open, action: object, outcome: Outcome) -> Open:
        """Fold one step."""
        things = state.things
        for event in outcome.events:
            match event:
                case TransactionMoved(transactional_id=name, after=after):
                    key = f"transaction {name}"
                    if after in UNDECIDED:
                        things = things.set(key, after.value)
                    else:
                        things = things.without(key)
                case RecordsMoved(partition=partition, first=first, last=last, after=after):
                    for offset in range(first, last + 1):
                        key = f"record {partition}@{offset}"
                        if after is RecordState.TX_PENDING:
                            things = things.set(key, "TX_PENDING")
                        else:
                            things = things.without(key)
                case SharePartitionDropped(partition=partition):
                    things = _without_records(things, partition)
                case SharePartitionLoaded(partition=partition):
                    things = _replace_records(things, event, outcome.world)
                case BatchAppended(partition=partition):
                    things = _remove_deleted(things, event)
                    key = f"last stable offset of {partition}"
                    if outcome.world.logs[partition].open:
                        things = things.set(key, "held")
                    else:
                        things = things.without(key)
                case TopicDeleted(topic=topic):
                    things = _of_other_topics(things, topic)
                case DatabaseChanged(application=name, what=what):
                    key = f"{_OF_A_DATABASE}{name}"
                    if what == "prepared":
                        things = things.set(key, "in doubt")
                    else:
                        things = things.without(key)
                case OffsetStaged():
                    things = things.set(_offset(event), "staged")
                case OffsetResolved():
                    things = things.without(_offset(event))
                case _:
                    pass
        return state if things is state.things else state.but(things=things)

    def finding(self, state: Open) -> Finding:
        """Return what is still pending."""
        if not state.things:
            return Finding(HOLDS)
        due = ", ".join(f"{thing} is {how}" for thing, how in state.things.items())
        return Finding(PENDING, due)


def harm_of_stuck(state: Open) -> Harm:
    """Return what it costs that things are never resolved: what the first of them costs."""
    first = next(iter(state.things), "")
    return Harm.IN_DOUBT if first.startswith(_OF_A_DATABASE) else Harm.STUCK


def without_former_leaders(state: Open, world: World) -> Open:
    """Remove the records of former leaders: such a record is no longer staged anywhere.

    A durable transactional acknowledgement is still pending: it holds back the last stable offset of its log. A new
    leader loads it only when a request arrives, and in a run that ends there may be none.
    """
    records = [thing for thing in state.things if thing.startswith("record ")]
    if not records:
        return state
    held = {
        f"record {share.partition}@{offset}"
        for share in share_partitions(world)
        for offset, record in share.records.items()
        if record.state is RecordState.TX_PENDING
    }
    things = state.things
    for gone in (thing for thing in records if thing not in held):
        things = things.without(gone)
    return state if things is state.things else state.but(things=things)


def _offset(event: OffsetStaged | OffsetResolved) -> str:
    """Return the name of a staged offset: two producers may have one for the same group and partition."""
    return f"offset of {event.group_id} in {event.partition} by producer {event.producer_id}"


def _remove_deleted(things: Table[str, str], event: BatchAppended) -> Table[str, str]:
    """Remove the pending offsets whose tombstone is in the log: their topic, or group, was deleted."""
    for record in event.records:
        if isinstance(record, OffsetTombstone):
            start = f"offset of {record.group_id} in {record.partition} by "
            for key in things:
                if key.startswith(start):
                    things = things.without(key)
    return things


def _of_other_topics(things: Table[str, str], topic: str) -> Table[str, str]:
    """Remove what was pending in the logs of a deleted topic."""
    start = "last stable offset of "
    for key in things:
        if key.startswith(start) and topic_of(key.removeprefix(start)) == topic:
            things = things.without(key)
    return things


def _without_records(things: Table[str, str], partition: str) -> Table[str, str]:
    for key in things:
        if key.startswith(f"record {partition}@"):
            things = things.without(key)
    return things


def _replace_records(
    things: Table[str, str], event: SharePartitionLoaded, world: World
) -> Table[str, str]:
    """Replace the staged records of a partition by those of its new share-partition leader."""
    things = _without_records(things, event.partition)
    for share in share_partitions(world):
        if share.partition != event.partition or share.group_id != event.group_id:
            continue
        for offset, record in share.records.items():
            if record.state is RecordState.TX_PENDING:
                things = things.set(f"record {event.partition}@{offset}", "TX_PENDING")
    return things
