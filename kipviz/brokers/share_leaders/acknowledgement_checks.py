"""The checks of acknowledgements at a share-partition leader, against the records in memory.

WHERE IN KAFKA: SharePartition.fetchSubMapForAcknowledgementBatch, acknowledgePerOffsetBatchRecords. KIPS: KIP-932;
KIP-1289 (draft) for stagings, whose checks of records are the same (corner case 10).

Each function returns the checks up to the first one that fails; see `checks`. Neighbouring records that are alike are
checked as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kipviz.brokers.checks import Check, compare, in_order, report_value
from kipviz.brokers.context import Context
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import SharePartition
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    TxnShareAcknowledge,
    offsets_of,
)
from kipviz.records.share_group_state import RecordState
from kipviz.settings.topic_configs import SHARE_RENEW_ACKNOWLEDGE_ENABLE

S = RecordState
Records = Table[int, InFlight]


class Alike(Value, frozen=True):
    """Neighbouring offsets with the same state, holder and delivery count, and the first record."""

    first: int
    last: int
    record: InFlight | None

    @property
    def offsets(self) -> str:
        """The offsets as text: "100", "100-102"."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def is_held_by(record: InFlight | None, member_id: str) -> bool:
    """Return whether a member holds a record, with no write of the record in progress."""
    if record is None or record.state is not S.ACQUIRED or record.ongoing:
        return False
    return record.member_id == member_id


def is_staged_by(record: InFlight | None, request: TxnShareAcknowledge, kind: int) -> bool:
    """Return whether a record is already staged with this type by this producer in this epoch."""
    if record is None or record.state is not S.TX_PENDING:
        return False
    acknowledgement = (record.staged_producer_id, record.staged_producer_epoch, record.staged_type)
    return acknowledgement == (request.producer_id, request.producer_epoch, kind)


def is_staged_again(me: SharePartition, request: TxnShareAcknowledge) -> bool:
    """Return whether a staging repeats an earlier one: all its records are already staged the same way."""
    each = tuple(
        (o, b.type) for b in request.only.acknowledgements for o in range(b.first, b.last + 1)
    )
    return bool(each) and all(is_staged_by(me.records.get(o), request, k) for o, k in each)


def alike(records: Records, offsets: Iterable[int]) -> tuple[Alike, ...]:
    """Return the records of some offsets, with equal neighbours as one entry."""
    runs: list[Alike] = []
    for offset in offsets:
        record = records.get(offset)
        if runs and runs[-1].last == offset - 1 and _looks(runs[-1].record) == _looks(record):
            runs[-1] = runs[-1].but(last=offset)
        else:
            runs.append(Alike(offset, offset, record))
    return tuple(runs)


@in_order
def batch_checks(me: SharePartition, batch: AcknowledgementBatch, on: Context) -> Iterator[Check]:
    """Check an acknowledgement batch against the state in memory, before any of its records is checked."""
    yield report_value("acknowledge type", batch.type)
    if batch.type == AcknowledgeType.RENEW:
        allowed = on.image.group_config(me.group_id).renew_acknowledge_enable
        error = Errors.INVALID_RECORD_STATE
        yield compare(SHARE_RENEW_ACKNOWLEDGE_ENABLE.name, True, allowed, allowed, error)
    first, lowest = (
        max(batch.first, me.start_offset),
        me.records.keys()[0] if len(me.records) else -1,
    )
    known = lowest >= 0 and (first <= me.start_offset or first >= lowest)
    yield compare("first offset", first, lowest, known, Errors.INVALID_RECORD_STATE)
    there = me.records.get(batch.last) is not None
    last = me.next_offset - 1
    yield compare("last offset", batch.last, last, there, Errors.INVALID_REQUEST)


@in_order
def held_checks(records: Records, offsets: Iterable[int], member_id: str) -> Iterator[Check]:
    """Check that a member holds records: each is ACQUIRED by this member, with no write in progress."""
    for run in alike(records, offsets):
        record = run.record
        if record is None:
            continue  # a gap of the log between two fetches
        yield report_value("records", run.offsets)
        yield from _check_holder(record, member_id)


@in_order
def stage_checks(me: SharePartition, request: TxnShareAcknowledge, on: Context) -> Iterator[Check]:
    """Check that a member may stage every record that it names, or find the response to an equal second staging.

    A request that names delivery counts must match them (our inference). OPEN: stage_retry. Clause: KIP-1289 corner
    case 10 (draft), finding K.
    """
    if is_staged_again(me, request):
        error = on.rules.stage_retry()
        yield report_value("records", ", ".join(run.offsets for run in _group_records(me, request)))
        yield Check("equal staging before", None, True, error)
        return
    for run in _group_records(me, request):
        yield report_value("records", run.offsets)
        there = run.record is not None
        yield compare("in flight", None, there, there, Errors.INVALID_RECORD_STATE)
        assert run.record is not None
        yield from _check_holder(run.record, request.member_id)
    for offset, count in request.only.deliveries:
        record = me.records.get(offset)
        found = record.delivery_count if record is not None else None
        error = Errors.INVALID_RECORD_STATE
        yield compare("delivery that is staged", count, found, found == count, error)


def states(records: Records, offsets: Iterable[int]) -> tuple[Check, ...]:
    """Return checks that report the state of records and never fail."""
    return tuple(check for run in alike(records, offsets) for check in _state(run))


def _state(run: Alike) -> Iterator[Check]:
    yield report_value("records", run.offsets)
    record = run.record
    yield report_value("record state", record.state if record is not None else None)
    if record is None:
        return
    holder = record.member_id or record.before_member
    if holder:
        yield report_value("held by", holder)
    yield report_value("delivery count", record.delivery_count)
    if record.staged_producer_id >= 0:
        staged = (record.staged_producer_id, record.staged_producer_epoch)
        yield report_value("staged by producer id and epoch", staged)


def _check_holder(record: InFlight, member_id: str) -> Iterator[Check]:
    """Check that a member may acknowledge one record, in Kafka's order."""
    error, state, ongoing = Errors.INVALID_RECORD_STATE, record.state, record.ongoing
    yield compare("record state", S.ACQUIRED, state, state is S.ACQUIRED, error)
    if ongoing:
        yield compare("write under way", None, True, False, error)
    same = record.member_id == member_id
    yield compare("held by", member_id, record.member_id, same, error)
    yield report_value("delivery count", record.delivery_count)


def _group_records(me: SharePartition, request: TxnShareAcknowledge) -> tuple[Alike, ...]:
    return alike(me.records, offsets_of(request.only.acknowledgements))


def _looks(record: InFlight | None) -> tuple[object, ...]:
    """Return the fields that records must share to be checked as one."""
    if record is None:
        return ()
    holder = record.member_id or record.before_member
    acknowledgement = (record.staged_producer_id, record.staged_producer_epoch, record.staged_type)
    return (record.state, record.ongoing, holder, record.delivery_count, acknowledgement)
