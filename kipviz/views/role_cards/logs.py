"""Partition logs: a tape of batches for users' topics, keys and values for the internal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, assert_never

from kipviz.brokers.logs import partition_log
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.cluster.behaviour.naming import short_name
from kipviz.cluster.real.rebuilt_cluster import GONE, PassedOver
from kipviz.cluster.timing.clock import ms
from kipviz.core.values import Value
from kipviz.messages.shares.share_groups import AcknowledgeType
from kipviz.records.batches import NO_TIMESTAMP, Batch, DataRecord
from kipviz.records.classic_groups import GroupMetadataRecord
from kipviz.records.consumer_offsets import (
    GroupEpochRecord,
    GroupTombstone,
    MemberRecord,
    MemberTombstone,
    OffsetCommitRecord,
    OffsetTombstone,
    RegexRecord,
    SubscriptionRecord,
    TargetEpochRecord,
    TargetRecord,
)
from kipviz.records.share_group_members import (
    ShareGroupAssignmentRecord,
    ShareGroupDeleted,
    ShareGroupEpochRecord,
    ShareGroupMemberRecord,
    ShareGroupRecord,
    ShareGroupStatePartitionsRecord,
    ShareGroupTargetEpochRecord,
    ShareGroupTargetRecord,
    ShareGroupTombstone,
)
from kipviz.records.share_group_state import (
    ShareSnapshotRecord,
    ShareStagedRecord,
    ShareTombstone,
    ShareUpdateRecord,
    StateBatch,
)
from kipviz.records.transaction_state import GroupAssignmentRecord, Tombstone, TransactionRecord
from kipviz.views.page_parts import TonedCells
from kipviz.views.role_cards.card_rows import Card, span
from kipviz.views.role_cards.shares import SHORT

TEXT_MAX = 8
OPEN = "open"  # the outcome of a transaction that has none yet
MEANING = {"LSO": "last stable offset", "HW": "high watermark", "LEO": "end of the log"}

NameOf = Callable[[str], str]


class Tape:
    """The picture of a log of a user's topic along a run.

    A log grows at its end: the rows of a batch are made once for each outcome of its transaction.
    """

    def __init__(self) -> None:
        self._rows = _BatchRows(_tape_rows)

    def __call__(self, log: PartitionLog) -> Card:
        """Return every offset with its batch and its outcome, and the log's marks."""
        return self._rows.of(log) | _marks(log)


class Entries:
    """The records of an internal topic along a run; `name_of` returns the name of a share-partition from its key."""

    def __init__(self, name_of: NameOf) -> None:
        self._rows = _BatchRows(lambda batch, whose: _entry_rows(batch, whose, name_of))

    def __call__(self, log: PartitionLog) -> Card:
        """Return every record as key and value, and the marks between them."""
        return self._rows.of(log) | _levels(log)


class _Whose(NamedTuple):
    """The epoch of a batch's transaction, and its outcome; "" for a marker."""

    epoch: int = -1
    fate: str = ""


class _BatchRows:
    """The rows of a log's batches; a batch is remembered by its identity, with whose it was."""

    def __init__(self, make: Callable[[Batch, _Whose], Card]) -> None:
        self._make = make
        self._known: dict[int, tuple[Batch, _Whose, Card]] = {}
        self._parts: list[Card] = []
        self._whole: Card = {}

    def of(self, log: PartitionLog) -> Card:
        decided = _Decided()
        before, self._known = self._known, {}
        parts: list[Card] = []
        undecided = log.open[0][0] if log.open else log.end_offset
        for batch in log.batches:
            epoch = decided.epoch_of(batch)
            known = before.get(id(batch))
            # The outcome of a batch below every open transaction is known for good; the epoch of a marker is not,
            # because the batches before it may be deleted.
            settled = known is not None and not batch.control and known[1].fate != OPEN
            if known is None or not settled or batch.last_offset >= undecided:
                whose = _whose(log, batch, epoch)
                if known is None or known[1] != whose:
                    known = (batch, whose, self._make(batch, whose))
            self._known[id(batch)] = known
            parts.append(known[2])
        first = len(self._parts)
        if parts[:first] != self._parts:
            first, self._whole = 0, {}
        self._whole = dict(self._whole)
        for part in parts[first:]:
            self._whole |= part
        self._parts = parts
        return self._whole


def _tape_rows(batch: Batch, whose: _Whose) -> Card:
    about = _describe_batch(batch, whose)
    if batch.control:
        cells: TonedCells = {
            "offset": batch.base_offset,
            "text": batch.control[0],
            **about,
        }
        return {f"offset {batch.base_offset}": cells}
    if batch.count > 1:
        about["span"] = span(batch.base_offset, batch.last_offset)
    card: Card = {}
    for offset, record in enumerate(batch.records, batch.base_offset):
        assert isinstance(record, DataRecord)
        text = record.value[:TEXT_MAX]
        card[f"offset {offset}"] = {"offset": offset, "text": text, **about}
    return card


def _entry_rows(batch: Batch, whose: _Whose, name_of: NameOf) -> Card:
    about = _describe_batch(batch, whose)
    owner = ": ".join(filter(None, (about["batch"], about.get("fate"))))
    if batch.control:
        value = f"{batch.control} marker of {owner}, in epoch {batch.producer_epoch}"
        return _entry(batch.base_offset, value)
    card: Card = {}
    for offset, record in enumerate(batch.records, batch.base_offset):
        key, value = _key_and_value(record, name_of)
        card |= _entry(offset, " \u00b7 ".join(filter(None, (f"{key} \u2192 {value}", owner))))
    return card


def _levels(log: PartitionLog) -> Card:
    """Return the marks as lines between the records; those at the same offset share a line."""
    card: Card = {}
    marks = _marks(log)
    for name, cells in marks.items():
        at = cells["at"]
        if name != "HW" and at == log.high_watermark:
            continue
        names = [n for n in MEANING if marks[n]["at"] == at]
        card[name] = {
            "label": f"{' = '.join(names)} {at}",
            "value": cells.get("by", MEANING[name]),
            "order": 2 * at - 1,
            "line": name,
        }
    return card


def _entry(offset: int, value: str) -> Card:
    return {f"offset {offset}": {"label": str(offset), "value": value, "order": 2 * offset}}


def _whose(log: PartitionLog, batch: Batch, epoch: int) -> _Whose:
    if batch.producer_id < 0 or not batch.transactional:
        return _Whose()
    return _Whose(epoch, "" if batch.control else _fate(log, batch))


def _describe_batch(batch: Batch, whose: _Whose) -> TonedCells:
    """Return whose a batch is, whether it is a marker, and the outcome of its transaction."""
    about: TonedCells = {"batch": "", "control": batch.control[:1]}
    if batch.producer_id < 0 or not batch.transactional:
        return about
    about["batch"] = f"pid {batch.producer_id} epoch {whose.epoch}"
    if not batch.control:
        about["fate"] = whose.fate
    return about


class _Decided:
    """The epoch that each batch of a log has in the picture; batches are passed in the order of the log.

    A marker belongs to the batches that it decides: their epoch is one below its own, or the same below transaction
    version 2. A marker without a batch of its producer stands alone.
    """

    def __init__(self) -> None:
        self._last: dict[int, Batch] = {}

    def epoch_of(self, batch: Batch) -> int:
        before = self._last.get(batch.producer_id)
        self._last[batch.producer_id] = batch
        if not batch.control or before is None or before.control:
            return batch.producer_epoch
        close = batch.producer_epoch - before.producer_epoch in {0, 1}
        return before.producer_epoch if close else batch.producer_epoch


def _fate(log: PartitionLog, batch: Batch) -> str:
    is_open = any(
        producer_id == batch.producer_id and first <= batch.base_offset
        for first, producer_id in log.open
    )
    if is_open:
        return OPEN
    return "aborted" if partition_log.is_aborted(log, batch) else "committed"


def _marks(log: PartitionLog) -> Card:
    stable = log.last_stable_offset
    lso: TonedCells = {"at": stable}
    if stable < log.high_watermark:
        lso["by"] = _holder(log, stable)
    return {"HW": {"at": log.high_watermark}, "LSO": lso, "LEO": {"at": log.end_offset}}


def _holder(log: PartitionLog, stable: int) -> str:
    """Return what keeps the last stable offset below the high watermark."""
    # A transaction that begins before the log's start keeps the offset there: its first records were deleted.
    for first, producer_id in log.open:
        if max(first, log.start_offset) == stable:
            epoch = log.producers[producer_id].epoch
            return f"pid {producer_id} epoch {epoch}, open since offset {first}"
    marker = next(at for first, at in log.unreplicated if max(first, log.start_offset) == stable)
    return f"the marker at offset {marker} is not on every replica yet"


def _key_and_value(record: Value, name_of: NameOf) -> tuple[str, str]:
    match record:
        case TransactionRecord() | GroupAssignmentRecord() | Tombstone():
            return _of_transactions(record)
        case OffsetCommitRecord(group_id=group, partition=partition, offset=offset):
            kept = f", topic id {record.topic_id}" if record.topic_id else ""
            return f"{group}, {partition}", f"offset {offset}{kept}"
        case OffsetTombstone(group_id=group, partition=partition):
            return f"{group}, {partition}", "tombstone: the offset is deleted"
        case GroupTombstone(group_id=group, of=of):
            return group, f"tombstone: {of}"
        case MemberRecord(group_id=group, member_id=member, member_epoch=epoch):
            return f"{group}, member {member}", f"member epoch {epoch}{_render_assigned(record)}"
        case GroupMetadataRecord(group_id=group, generation=generation):
            return group, f"generation {generation}{_members(record)}"
        case GroupEpochRecord(group_id=group, epoch=epoch):
            return group, f"group epoch {epoch}"
        case TargetEpochRecord(group_id=group, epoch=epoch):
            return f"{group}, target assignment", f"for group epoch {epoch}"
        case RegexRecord(group_id=group, regex=regex, topics=topics):
            return f"{group}, expression {regex}", f"matches {', '.join(topics) or 'no topic'}"
        case SubscriptionRecord(group_id=group, member_id=member):
            named = f" as {record.instance_id}" if record.instance_id else ""
            by_regex = (record.regex,) if record.regex else ()
            wants = ", ".join((*record.subscribed_topic_names, *by_regex)) or "nothing"
            where = f", in rack {record.rack}" if record.rack else ""
            return f"{group}, member {member}", f"subscribes to {wants}{named}{where}"
        case TargetRecord(group_id=group, member_id=member, partitions=partitions):
            return f"{group}, member {member}", f"is assigned {', '.join(partitions) or 'nothing'}"
        case MemberTombstone(group_id=group, member_id=member, of=of):
            return f"{group}, member {member}", f"tombstone: {of}"
        case ShareGroupDeleted(group_id=group, of=of):
            return group, f"tombstone: {of}"
        case _ if isinstance(record, ShareGroupRecord):
            return _of_share_group(record)
        case ShareTombstone(key=key):
            return name_of(key), "tombstone: the state is deleted"
        case ShareSnapshotRecord():
            epochs = f"state epoch {record.state_epoch}, leader epoch {record.leader_epoch}"
            cold = "cold snapshot" if record.cold else "snapshot"
            value = f"{cold} {record.snapshot_epoch}: {epochs}, {_state(record)}"
            return name_of(record.key), value
        case ShareUpdateRecord():
            value = f"update: leader epoch {record.leader_epoch}, {_state(record)}"
            return name_of(record.key), value
        case ShareStagedRecord():
            acknowledgements = ", ".join(
                f"{span(s.first, s.last)} {AcknowledgeType(s.acknowledge_type).name} "
                f"d{s.delivery_count}"
                for s in record.staged
            )
            return name_of(record.key), f"TX_PENDING: {acknowledgements}"
        case PassedOver():
            return record.key, "deleted" if record.kind == GONE else f"{record.kind}, not read here"
        case _:
            raise AssertionError(f"no log holds a {type(record).__name__}")


OfTransactions: TypeAlias = TransactionRecord | GroupAssignmentRecord | Tombstone


def _of_transactions(record: OfTransactions) -> tuple[str, str]:
    name = record.transactional_id
    match record:
        case TransactionRecord():
            return name, _transaction(record)
        case GroupAssignmentRecord(group_id=group, generation=generation):
            has = ", ".join(record.assigned) or "nothing"
            return f"{group}, {name}", f"generation {generation}, has {has}"
        case Tombstone():
            return name, "tombstone: the id is deleted"


def _of_share_group(record: ShareGroupRecord) -> tuple[str, str]:
    group = record.group_id
    match record:
        case ShareGroupEpochRecord(epoch=epoch):
            return group, f"group epoch {epoch}"
        case ShareGroupTargetEpochRecord(epoch=epoch):
            return f"{group}, target assignment", f"for group epoch {epoch}"
        case ShareGroupStatePartitionsRecord(initializing=asked, initialized=there):
            parts = [f"asked for {', '.join(asked)}"] if asked else []
            parts += [f"there: {', '.join(there)}"] if there else []
            parts += [f"deleting {', '.join(record.deleting)}"] if record.deleting else []
            return f"{group}, states", "; ".join(parts) or "none"
        case ShareGroupMemberRecord(member_id=member, subscribed_topic_names=names):
            return f"{group}, member {member}", f"subscribes to {', '.join(names) or 'nothing'}"
        case ShareGroupTargetRecord(member_id=member, partitions=partitions):
            return f"{group}, member {member}", f"is assigned {', '.join(partitions) or 'nothing'}"
        case ShareGroupAssignmentRecord(member_id=member, partitions=partitions):
            has = ", ".join(partitions) or "nothing"
            return f"{group}, member {member}", f"epoch {record.member_epoch}, has {has}"
        case ShareGroupTombstone(member_id=member, of=of):
            return f"{group}, member {member}", f"tombstone: {of}"
        case _:
            assert_never(record)


def _members(record: GroupMetadataRecord) -> str:
    """Return the members of a generation, and the assignment of each, in words."""
    if not record.members:
        return ", empty"
    each = (f"{m.member_id} has {', '.join(m.assigned) or 'nothing'}" for m in record.members)
    return f", led by {record.leader}: {'; '.join(each)}"


def _render_assigned(record: MemberRecord) -> str:
    """Return what a member has and must revoke, in words; empty lists are left out."""
    has = ", ".join(p for p, _ in record.assigned)
    gives = ", ".join(p for p, _ in record.revoking)
    told = f", has {has}" if has else ""
    return told + (f", revokes {gives}" if gives else "")


def _transaction(record: TransactionRecord) -> str:
    parts = [record.state.value, f"pid {record.producer_id} epoch {record.producer_epoch}"]
    if record.partitions:
        parts.append(", ".join(map(short_name, record.partitions)))
    if record.next_producer_id >= 0:
        parts.append(f"next pid {record.next_producer_id}")
    if record.next_producer_epoch >= 0:
        parts.append(f"next epoch {record.next_producer_epoch}")
    if record.start_timestamp_ms != NO_TIMESTAMP:
        parts.append(f"began at {ms(record.start_timestamp_ms)}")
    if record.last_update_timestamp_ms != NO_TIMESTAMP:
        parts.append(f"update at {ms(record.last_update_timestamp_ms)}")
    return " · ".join(parts)


def _state(record: ShareSnapshotRecord | ShareUpdateRecord) -> str:
    start = "by reset policy" if record.start_offset < 0 else str(record.start_offset)
    batches = ", ".join(map(_batch, record.batches))
    return f"start offset {start}" + (f", {batches}" if batches else "")


def _batch(batch: StateBatch) -> str:
    return f"{span(batch.first, batch.last)} {SHORT[batch.state]} d{batch.delivery_count}"
