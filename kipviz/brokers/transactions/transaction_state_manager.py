"""The table of a transaction coordinator and the log behind it: append, replay, completion.

WHO: the leader of one partition of `__transaction_state`.
WHERE IN KAFKA: TransactionStateManager, TransactionMarkerChannelManager.
KIPS: KIP-98, KIP-890 (transaction version 2), KIP-939 (see two_phase).
DURABILITY: append, then apply. A transition is prepared (`pending_state`), its record appended, and only when that is
replicated does the table change. A crash loses the prepared transition; the next coordinator redoes the rest from the
log. An append to a log without min.insync.replicas fails at once; one that is not replicated in time fails later, and
its record stays in the log: see `fail_append`.
"""

from __future__ import annotations

from kipviz.brokers.checks import Check
from kipviz.brokers.context import Context, Effects, MarkersOf, with_effects
from kipviz.brokers.logs.replication import append_checks, moved_check
from kipviz.brokers.transactions.transaction_append import (
    PendingAppend,
    add_time,
    after_failure,
    answers_of,
    before_logging,
    completing,
    markers_of,
    merge_markers,
    owed_answers,
    refusals,
    transition_decision,
    unreported_decisions,
)
from kipviz.brokers.transactions.transaction_metadata import (
    PREPARED,
    TransactionMetadata,
    metadata_of,
    prepare_completion,
)
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionForgotten, TransactionMoved
from kipviz.records.batches import Batch
from kipviz.records.transaction_state import (
    VALID_PREVIOUS,
    GroupAssignmentRecord,
    Tombstone,
    TransactionRecord,
    TransactionState,
)

S = TransactionState


class TransactionCoordinator(Part, frozen=True, cache_hash=True):
    """The coordinator of one partition of `__transaction_state`; for `assignments` see producer_groups."""

    shard: str
    coordinator_epoch: int
    loading: bool = False
    transactions: Table[str, TransactionMetadata] = Table.of()
    waiting: tuple[PendingAppend, ...] = ()
    assignments: Table[str, GroupAssignmentRecord] = Table.of()


# -- the log -----------------------------------------------------------------------------------


def on_replicated(me: TransactionCoordinator, on: Context) -> Effects[TransactionCoordinator]:
    """Apply the transitions whose record is now below the high watermark, and respond."""
    parts: list[Effects[TransactionCoordinator]] = []
    while me.waiting and me.waiting[0].offset < on.log(me.shard).high_watermark:
        wait = me.waiting[0]
        part = _apply(me.but(waiting=me.waiting[1:]), wait, on.after(*parts))
        me = part.state
        parts.append(part)
    return merge_markers(with_effects(me, *parts))


def replay(
    me: TransactionCoordinator, record: TransactionRecord | Tombstone | GroupAssignmentRecord
) -> TransactionCoordinator:
    """Apply one record of the log: the only way in which a coordinator's table changes."""
    if isinstance(record, GroupAssignmentRecord):
        return me.but(assignments=me.assignments.set(record.transactional_id, record))
    if isinstance(record, Tombstone):
        return me.but(transactions=me.transactions.without(record.transactional_id))
    return with_metadata(me, metadata_of(record))


def on_loaded(me: TransactionCoordinator, on: Context) -> Effects[TransactionCoordinator]:
    """Load the state: read the whole log, then send the markers of every decided transaction again.

    Some partitions may have their marker already; the record does not say which. A decision whose append timed out at
    its coordinator counts now, if it is the last record of its transaction.
    Clause: TransactionStateManager.loadTransactionsForTxnTopicPartition.
    """
    log = on.log(me.shard)
    for batch in log.batches:
        for record in batch.records:
            assert isinstance(record, TransactionRecord | Tombstone | GroupAssignmentRecord)
            me = replay(me, record)
    me = me.but(loading=False)
    parts: list[Effects[TransactionCoordinator]] = [Effects(me, events=unreported_decisions(log))]
    for known in me.transactions.values():
        if known.state in PREPARED:
            ready = prepare_completion(known, on.now_ms)
            part = send_markers(me, ready, known.partitions, on.after(*parts))
            me = part.state
            parts.append(part)
    return merge_markers(with_effects(me, *parts))


def on_resigned(me: TransactionCoordinator, on: Context) -> Effects[TransactionCoordinator | None]:
    """Respond to all requests that wait for a record that the coordinator has moved."""
    replies = owed_answers(me.waiting, me.transactions, Errors.NOT_COORDINATOR)
    checks = (moved_check(me.shard, on, Errors.NOT_COORDINATOR),) if replies else ()
    return Effects(None, replies=replies, checks=checks)


# -- a transition ------------------------------------------------------------------------------


def with_metadata(
    me: TransactionCoordinator, metadata: TransactionMetadata
) -> TransactionCoordinator:
    """Return the coordinator with another state of one transaction."""
    return me.but(transactions=me.transactions.set(metadata.transactional_id, metadata))


def next_offset(me: TransactionCoordinator, on: Context) -> int:
    """Return the offset of the record that is appended next."""
    return on.log(me.shard).end_offset


def append_record(
    me: TransactionCoordinator,
    known: TransactionMetadata,
    wait: PendingAppend,
    on: Context,
    new_producer_ids: int = 0,
) -> Effects[TransactionCoordinator]:
    """Prepare a transition: append its record, and allow no other one until it is applied."""
    target = wait.record.state
    assert known.state in VALID_PREVIOUS[target], (known.state, target)
    known = before_logging(wait, known)
    if not on.image.has_enough_replicas(me.shard):
        failed = fail_append(with_metadata(me, known), wait, on)
        return failed.but(new_producer_ids=new_producer_ids)
    wait, written = add_time(wait, known, on.now_ms, on.image.features.transaction_version)
    batch = Batch(wait.offset, (written,))
    state = with_metadata(me, known.but(pending_state=target)).but(waiting=(*me.waiting, wait))
    return Effects(state, appends=((me.shard, batch),), new_producer_ids=new_producer_ids)


def fail_append(
    me: TransactionCoordinator, wait: PendingAppend, on: Context
) -> Effects[TransactionCoordinator]:
    """Undo a prepared transition: its record is not replicated, and the waiting request may be retried.

    Only the completion of a transaction is not undone: it is logged again.
    Clause: TransactionStateManager.appendTransactionToLog; its errors NOT_ENOUGH_REPLICAS and REQUEST_TIMED_OUT are
    COORDINATOR_NOT_AVAILABLE to a client.
    """
    known = me.transactions[wait.record.transactional_id]
    if wait.answer != "complete":
        replies = refusals(wait, known, Errors.COORDINATOR_NOT_AVAILABLE)
        checks = append_checks(me.shard, on) if replies else ()
        return Effects(
            with_metadata(me, after_failure(wait, known)), replies=replies, checks=checks
        )
    me = with_metadata(me, known.but(pending_state=wait.record.state, owed=wait.reply_to))
    if not on.image.has_enough_replicas(me.shard):
        return Effects(me)
    return send_markers(me, me.transactions[known.transactional_id], (), on)


def _apply(
    me: TransactionCoordinator, wait: PendingAppend, on: Context
) -> Effects[TransactionCoordinator]:
    """Complete a transition: its record is replicated."""
    record = wait.record
    if record.state is S.DEAD:
        gone = replay(me, Tombstone(record.transactional_id))
        return Effects(gone, events=(TransactionForgotten(record.transactional_id),))
    before = me.transactions[record.transactional_id]
    known = metadata_of(record).but(last_producer_epoch=wait.last_producer_epoch)
    waits = wait.answer == "end" and on.rules.end_txn_response()
    known = known.but(owed=wait.reply_to) if waits else known
    me = with_metadata(me, known)
    moved = TransactionMoved(
        known.transactional_id,
        known.producer_id,
        known.producer_epoch,
        None if before.producer_epoch == -1 else before.state,
        known.state,
        known.partitions,
        known.kept_for,
    )
    open_yet = Check("state", None, before.state, Errors.CONCURRENT_TRANSACTIONS)
    checks = (open_yet,) if wait.answer == "fence" and wait.reply_to is not None else ()
    replies = () if waits else answers_of(wait, known)
    done = Effects(me, replies=replies, events=(moved,), checks=checks)
    if known.state not in PREPARED:
        return done
    ready = prepare_completion(known, on.now_ms)
    sending = send_markers(me, ready, known.partitions, on)
    return with_effects(
        sending.state,
        done.but(events=(moved, transition_decision(wait, before))),
        sending,
    )


def send_markers(
    me: TransactionCoordinator, known: TransactionMetadata, partitions: tuple[str, ...], on: Context
) -> Effects[TransactionCoordinator]:
    """Send markers, one request per broker; log COMPLETE_* when none is left.

    A deleted partition needs no marker; one without a leader waits.
    Source: TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue.
    """
    there = on.image.leaders
    known = known.but(partitions=tuple(p for p in known.partitions if p in there))
    partitions = tuple(p for p in partitions if p in there)
    if not known.partitions and not known.cancelled:
        ready = known.but(sent=(), to_send=(), pending_state=None, owed=None)
        return append_record(me, ready, completing(next_offset(me, on), known), on)
    whose = (
        Role.TRANSACTION_COORDINATOR,
        me.shard,
        MarkersOf(me.coordinator_epoch, known.transactional_id),
    )
    requests, sent, nobody = markers_of(known, partitions, whose, me.coordinator_epoch, on)
    known = known.but(sent=(*known.sent, *sent), to_send=(*known.to_send, *nobody))
    return Effects(with_metadata(me, known), requests=requests)
