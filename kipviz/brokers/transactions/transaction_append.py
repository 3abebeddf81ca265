"""The append of a transaction's transition, and the responses that wait for its replication.

WHERE IN KAFKA: the callbacks of TransactionStateManager.appendTransactionToLog.
"""

from __future__ import annotations

from itertools import chain
from typing import TypeVar

from kipviz.brokers.checks import error_of
from kipviz.brokers.context import (
    NOBODY,
    Channel,
    Context,
    Effects,
    MarkersOf,
    Reply,
    ReplyTo,
    Request,
)
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.timers import AppendTimeout
from kipviz.brokers.transactions import two_phase
from kipviz.brokers.transactions.transaction_metadata import (
    PREPARED,
    TransactionMetadata,
    completion_of,
    error_for_version,
)
from kipviz.core.model import Event
from kipviz.core.table import Table
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionDecided, TransactionMoved
from kipviz.messages.message import Message
from kipviz.messages.message_errors import with_error
from kipviz.messages.transactions.transactions import (
    NO_TIME_LIMIT,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    PartitionResult,
    TxnMarker,
    TxnMarkerResult,
    TxnPartitions,
    TxnPartitionsResult,
    WriteTxnMarkers,
)
from kipviz.records.transaction_state import (
    GroupAssignmentRecord,
    Tombstone,
    TransactionRecord,
    TransactionState,
)

# The state of the role that is served.
S = TypeVar("S")

# What ends a transaction without its producer: InitProducerId, and a timer.
FENCING = ("fence", "timeout")
# Errors of a marker after which the coordinator looks up the leader again and resends.
RETRY_MARKER = (
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.NOT_ENOUGH_REPLICAS,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Errors.REQUEST_TIMED_OUT,
    Errors.KAFKA_STORAGE_ERROR,
)
# Errors after which a partition needs no marker: it cannot contain anything of the transaction. Any other error that is
# not retriable (INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED) ends the sending.
NEEDS_NO_MARKER = (
    Errors.NONE,
    Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    Errors.UNSUPPORTED_VERSION,
)


class PendingAppend(Value, frozen=True):
    """A record in the log that is not replicated yet, and what to do when it is.

    `answer` is the kind of the waiting request: "init", "fence" (InitProducerId that has to end a transaction first),
    "keep" (one that keeps it), "add", "offsets" (AddOffsetsToTxn), "end", or of none: "timeout", "expire", "complete"
    (also an EndTxn's if the coordinator responds at completion).
    """

    offset: int
    record: TransactionRecord
    last_producer_epoch: int
    answer: str
    reply_to: ReplyTo | None = None
    asked: tuple[str, ...] = ()


def add_time(
    wait: PendingAppend, known: TransactionMetadata, now_ms: int, transaction_version: int
) -> tuple[PendingAppend, TransactionRecord | Tombstone]:
    """Return a transition with the time at which it is prepared, and the record that is appended.

    A completion was prepared when its decision was replicated; a transactional id that expires keeps its time. Below
    transaction version 1 a record has no fields for later additions.
    """
    record = wait.record
    if record.state is TransactionState.DEAD:
        return wait, Tombstone(record.transactional_id)
    at_ms = known.complete_timestamp_ms if wait.answer == "complete" else now_ms
    record = record.but(last_update_timestamp_ms=at_ms)
    written = record
    if transaction_version < 1:
        written = record.but(
            previous_producer_id=-1, next_producer_id=-1, client_transaction_version=0, version=0
        )
    return wait.but(record=record), written


def nameless(role: S, request: InitProducerId, reply_to: ReplyTo, on: Context) -> Effects[S]:
    """Return an identity that is not stored to a producer without a transactional id.

    Any broker does that, and logs nothing: TransactionCoordinator.handleInitProducerId.
    """
    checks = two_phase.nameless_checks(request)
    error = error_of(checks)
    if error is not Errors.NONE:
        refused = InitProducerIdResponse(error)
        return Effects(role, replies=(Reply(reply_to, refused),), checks=checks)
    answer = InitProducerIdResponse(Errors.NONE, on.next_producer_id, 0)
    return Effects(role, replies=(Reply(reply_to, answer),), new_producer_ids=1, checks=checks)


def append_timers(shard: str, waiting: tuple[PendingAppend, ...]) -> tuple[AppendTimeout, ...]:
    """Return the timers of appends that may take too long; they have the timeout of their transaction."""
    timed = (w for w in waiting if w.record.timeout_ms < NO_TIME_LIMIT)
    return tuple(AppendTimeout(w.offset, shard) for w in timed)


def append_of(timer: AppendTimeout, waiting: tuple[PendingAppend, ...]) -> PendingAppend:
    """Return the append of a timer."""
    return next(w for w in waiting if w.offset == timer.offset)


def refusals(wait: PendingAppend, known: TransactionMetadata, error: Errors) -> tuple[Reply, ...]:
    """Return the error for the request that waits for a record; it contains no identity."""
    found = []
    for reply in answers_of(wait, known):
        told = with_error(reply.message, error)
        if isinstance(told, InitProducerIdResponse | EndTxnResponse):
            told = told.but(producer_id=-1, producer_epoch=-1)
        found.append(reply.but(message=told))
    return tuple(found)


def is_fence(wait: PendingAppend) -> bool:
    """Return whether a transition is a fence whose epoch is in memory before it is logged.

    That is so below transaction version 2: from then on the old epoch is rejected. Source:
    TransactionCoordinator.endTransactionWithTV1.
    """
    return wait.answer in FENCING and wait.record.client_transaction_version < 2


def before_logging(wait: PendingAppend, known: TransactionMetadata) -> TransactionMetadata:
    """Return the metadata of a transaction as soon as one of its transitions is prepared."""
    if not is_fence(wait):
        return known
    return known.but(producer_epoch=wait.record.producer_epoch, last_producer_epoch=-1)


def after_failure(wait: PendingAppend, known: TransactionMetadata) -> TransactionMetadata:
    """Return the metadata of a transaction after a failed append: the earlier state.

    A fence below transaction version 2 keeps its epoch: the next attempt does not bump it again, so that no unused
    epochs are skipped. Source: TransactionMetadata.hasFailedEpochFence.
    """
    known = known.but(pending_state=None)
    return known.but(has_failed_epoch_fence=True) if is_fence(wait) else known


def needs_image(known: TransactionMetadata, waiting: tuple[PendingAppend, ...]) -> bool:
    """Return whether a decided transaction waits for a leader, or for replicas of its own log."""
    if known.state not in PREPARED:
        return False
    logged = any(w.record.transactional_id == known.transactional_id for w in waiting)
    return bool(known.to_send) or not (known.partitions or known.cancelled or logged)


def markers_of(
    known: TransactionMetadata,
    partitions: tuple[str, ...],
    whose: tuple[str, str, MarkersOf],
    coordinator_epoch: int,
    on: Context,
) -> tuple[tuple[Request, ...], tuple[tuple[str, int], ...], tuple[str, ...]]:
    """Return the markers of a decided transaction, one request per broker, and their receivers.

    `whose` are the role, shard and tag that the responses go to. The third result has the partitions that have no
    leader now.
    """
    role, shard, tag = whose
    by_broker: dict[int, list[str]] = {}
    for partition in partitions:
        by_broker.setdefault(on.image.leader_of(partition), []).append(partition)
    nobody = tuple(by_broker.pop(NOBODY, ()))
    requests: list[Request] = []
    sent: list[tuple[str, int]] = []
    for broker in sorted(by_broker):
        marker = TxnMarker(
            known.producer_id,
            known.producer_epoch,
            known.state is TransactionState.PREPARE_COMMIT,
            tuple(by_broker[broker]),
            coordinator_epoch,
            known.client_transaction_version,
        )
        message = WriteTxnMarkers((marker,))
        requests.append(Request(Channel.MARKERS, broker, message, role, shard, tag))
        sent += [(p, broker) for p in by_broker[broker]]
    return tuple(requests), tuple(sent), nobody


def merge_markers(done: Effects[S]) -> Effects[S]:
    """Merge the markers of several transactions that one step sends to one broker into one request.

    Its tag is the first one's; the others are found by their producer ids. Source:
    TransactionMarkerChannelManager.generateRequests, which drains the queue of a broker.
    """
    found: dict[int, Request] = {}
    for request in done.requests:
        first = found.setdefault(request.broker, request)
        if first is not request:
            here, more = first.message, request.message
            assert isinstance(here, WriteTxnMarkers)
            assert isinstance(more, WriteTxnMarkers)
            both = WriteTxnMarkers((*here.markers, *more.markers))
            found[request.broker] = first.but(message=both)
    return done.but(requests=tuple(found.values()))


def partitions_of_lost(lost: TxnMarker | TxnMarkerResult) -> tuple[str, ...]:
    """Return the partitions of a marker whose request or response was lost."""
    if isinstance(lost, TxnMarker):
        return lost.partitions
    return tuple(result.partition for result in lost.results)


def decision_event(
    before: TransactionMetadata | TransactionRecord, producer_id: int, state: TransactionState
) -> TransactionDecided:
    """Return the event that a decision is durable; it is about the batches of the previous epoch."""
    committed = state is TransactionState.PREPARE_COMMIT
    return TransactionDecided(
        before.transactional_id, producer_id, before.producer_epoch, committed
    )


def transition_decision(wait: PendingAppend, before: TransactionMetadata) -> TransactionDecided:
    """Return the event of a transition's decision; a fence may already have its own epoch in memory."""
    record = wait.record
    if is_fence(wait):
        before = before.but(producer_epoch=record.producer_epoch - 1)
    return decision_event(before, record.producer_id, record.state)


def unreported_decisions(log: PartitionLog) -> tuple[Event, ...]:
    """Return the decisions in a log that count from now on and that no event has reported yet.

    The append of such a record timed out at the coordinator that wrote it, and was replicated after that.
    """
    found: dict[str, tuple[Event, ...]] = {}
    before: dict[str, TransactionRecord] = {}
    for batch in log.batches if log.given_up else ():
        for record in batch.records:
            if isinstance(record, GroupAssignmentRecord):
                continue
            assert isinstance(record, TransactionRecord | Tombstone)
            name = record.transactional_id
            found.pop(name, None)
            if isinstance(record, Tombstone):
                before.pop(name, None)
            elif record.state not in PREPARED:
                before[name] = record
            elif batch.base_offset in log.given_up:
                was = before[name]
                ids, state = (record.producer_id, record.producer_epoch), record.state
                moved = TransactionMoved(name, *ids, was.state, state, record.partitions)
                found[name] = (moved, decision_event(was, record.producer_id, state))
    return tuple(event for events in found.values() for event in events)


def answer_add(
    error: Errors, asked: TxnPartitions, version: int, known: TransactionMetadata | None
) -> AddPartitionsToTxnResponse:
    """Return the response to AddPartitionsToTxn: one error for all partitions, or one each for a verification.

    TRANSACTION_ABORTABLE is then for those that are not in the transaction.
    """
    told = error_for_version(version, error)
    members = () if known is None or error is not Errors.TRANSACTION_ABORTABLE else known.partitions
    results = (PartitionResult(p, Errors.NONE if p in members else told) for p in asked.partitions)
    result = TxnPartitionsResult(asked.transactional_id, tuple(results))
    return AddPartitionsToTxnResponse((result,))


def completing(offset: int, known: TransactionMetadata) -> PendingAppend:
    """Return the append of a completion; a waiting EndTxn is answered when it is replicated."""
    record = completion_of(known)
    return PendingAppend(offset, record, known.last_producer_epoch, "complete", known.owed)


def owed_answers(
    waiting: tuple[PendingAppend, ...], transactions: Table[str, TransactionMetadata], error: Errors
) -> tuple[Reply, ...]:
    """Return an error to all requests that wait for a record, and to those that wait for a completion."""
    appends = (
        refusals(wait, transactions[wait.record.transactional_id], error) for wait in waiting
    )
    owed = (each.owed for each in transactions.values() if each.owed is not None)
    ends = (Reply(reply_to, EndTxnResponse(error)) for reply_to in owed)
    return (*chain.from_iterable(appends), *ends)


def answers_of(wait: PendingAppend, known: TransactionMetadata) -> tuple[Reply, ...]:
    """Return the response to the request that waits for a record."""
    if wait.reply_to is None:
        return ()
    match wait.answer:
        case "init":
            answer: Message = InitProducerIdResponse(
                Errors.NONE, known.producer_id, known.producer_epoch
            )
        case "fence":
            answer = InitProducerIdResponse(Errors.CONCURRENT_TRANSACTIONS)
        case "keep":
            answer = two_phase.kept_answer(known)
        case "add":
            results = tuple(PartitionResult(p, Errors.NONE) for p in wait.asked)
            result = TxnPartitionsResult(known.transactional_id, results)
            answer = AddPartitionsToTxnResponse((result,))
        case "offsets":
            answer = AddOffsetsToTxnResponse(Errors.NONE)
        case "end" | "complete" if known.client_transaction_version < 2:
            answer = EndTxnResponse(Errors.NONE)
        case "end" if known.next_producer_id >= 0:
            later = max(known.next_producer_epoch, 0)
            answer = EndTxnResponse(Errors.NONE, known.next_producer_id, later)
        case "end" | "complete":
            answer = EndTxnResponse(Errors.NONE, known.producer_id, known.producer_epoch)
        case other:
            raise AssertionError(f"no request waits for {other}")
    return (Reply(wait.reply_to, answer),)
