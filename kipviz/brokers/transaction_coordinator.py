"""The transaction coordinator: who is in a transaction, and how it ends.

WHO: the leader of one partition of `__transaction_state`.
WHERE IN KAFKA: TransactionCoordinator, TransactionMetadata, TransactionStateManager,
  TransactionMarkerChannelManager.
KIPS: KIP-98, KIP-360 (epoch bump), KIP-890 part 2 (transaction version 2).
DURABILITY: append, then apply. A transition is prepared (`pending_state`), its record appended,
  and only when that is replicated does the table change. A crash loses the prepared step; the
  next coordinator redoes the rest from the log.
NOT MODELLED: transaction versions 0 and 1; expiry of transactional ids; the 10 s scan (a timeout
  is one action); authorisation; KIP-939; throttling.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects, Reply, ReplyTo, Request, with_effects
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.events import TransactionDecided, TransactionMoved
from kipviz.messages.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from kipviz.records.batches import Batch
from kipviz.records.transaction_state import (
    LAST_CLIENT_EPOCH,
    VALID_PREVIOUS,
    TransactionRecord,
    TransactionState,
)

ROLE = "transaction_coordinator"
S = TransactionState

PREPARED = (S.PREPARE_COMMIT, S.PREPARE_ABORT)
COMPLETE_OF = {S.PREPARE_COMMIT: S.COMPLETE_COMMIT, S.PREPARE_ABORT: S.COMPLETE_ABORT}

# Answers to a marker after which the coordinator resolves the leader again and resends.
RETRY_MARKER = (
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.NETWORK_EXCEPTION,
)


class TransactionMetadata(Value, frozen=True):
    """What the coordinator knows of one transactional id (TransactionMetadata.java).

    `partitions` shrinks while markers are answered. `to_send` are partitions whose marker is
    not on the wire, because nobody leads them; `sent` are (partition, broker) on the wire.
    `last_producer_epoch` is not persisted, as in Kafka (KAFKA-20357).
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: TransactionState
    pending_state: TransactionState | None = None
    last_producer_epoch: int = -1
    partitions: tuple[str, ...] = ()
    previous_producer_id: int = -1
    next_producer_id: int = -1
    timeout_ms: int = 60_000
    client_transaction_version: int = 0
    to_send: tuple[str, ...] = ()
    sent: tuple[tuple[str, int], ...] = ()


class PendingAppend(Value, frozen=True):
    """A record that is in the log but not replicated: what to do when it is."""

    offset: int
    record: TransactionRecord
    last_producer_epoch: int
    answer: str
    reply_to: ReplyTo | None = None
    asked: tuple[str, ...] = ()


class TransactionCoordinator(Part, frozen=True, dict=True):
    """The coordinator of one partition of `__transaction_state`."""

    shard: str
    coordinator_epoch: int
    loading: bool = False
    transactions: Table[str, TransactionMetadata] = Table.of()
    waiting: tuple[PendingAppend, ...] = ()


# -- handlers, in protocol order --------------------------------------------------------------


def on_init_producer_id(
    me: TransactionCoordinator, request: InitProducerId, reply_to: ReplyTo, on: Context
) -> Effects:
    """Give a producer its identity and fence whoever had it before.

    WHEN: a producer starts, or recovers. CHECKS: loading, a transition in progress, a stale
    expected identity, the state. DOES: logs EMPTY with the next epoch, or aborts what is
    ongoing. ANSWERS: the identity, or CONCURRENT_TRANSACTIONS while something has to end first.
    Clause: KIP-98 "InitPidRequest", KIP-360.
    """

    def refuse(error: Errors) -> Effects:
        return Effects(me, replies=(Reply(reply_to, InitProducerIdResponse(error)),))

    if me.loading:
        return refuse(Errors.COORDINATOR_LOAD_IN_PROGRESS)
    known = me.transactions.get(request.transactional_id)
    if known is None:
        record = TransactionRecord(
            request.transactional_id,
            on.next_producer_id,
            0,
            S.EMPTY,
            timeout_ms=request.transaction_timeout_ms,
        )
        fresh = TransactionMetadata(
            request.transactional_id, on.next_producer_id, -1, S.EMPTY, S.EMPTY
        )
        wait = PendingAppend(_next_offset(me, on), record, -1, "init", reply_to)
        return _log(me, fresh, wait, on, new_producer_ids=1)
    if known.pending_state is not None:
        return refuse(Errors.CONCURRENT_TRANSACTIONS)
    if request.producer_id >= 0 and not _is_expected_producer(known, request):
        return refuse(Errors.PRODUCER_FENCED)
    if known.state in PREPARED:
        return refuse(Errors.CONCURRENT_TRANSACTIONS)
    if known.state is S.ONGOING:
        return _prepare(me, known, False, "fence", reply_to, on)
    return _next_identity(me, known, request, reply_to, on, refuse(Errors.PRODUCER_FENCED))


def on_add_partitions(
    me: TransactionCoordinator, request: AddPartitionsToTxn, reply_to: ReplyTo, on: Context
) -> Effects:
    """Enlist partitions, so that the end of the transaction will reach them.

    WHEN: a partition leader or coordinator is about to append the first batch of a transaction.
    CHECKS: a transition in progress comes before producer id and epoch, so that a rotation of
    the producer id can finish. DOES: logs ONGOING with the union. ANSWERS: after replication.
    Clause: KIP-890 "Transaction version 2", TransactionCoordinator.handleAddPartitionsToTransaction.
    """
    known = me.transactions.get(request.transactional_id)
    error = Errors.NONE
    if me.loading:
        error = Errors.COORDINATOR_LOAD_IN_PROGRESS
    elif known is None:
        error = Errors.INVALID_PRODUCER_ID_MAPPING
    elif known.pending_state is not None:
        error = Errors.CONCURRENT_TRANSACTIONS
    elif known.producer_id != request.producer_id:
        error = Errors.INVALID_PRODUCER_ID_MAPPING
    elif known.producer_epoch != request.producer_epoch:
        error = Errors.PRODUCER_FENCED
    elif known.state in PREPARED:
        error = Errors.CONCURRENT_TRANSACTIONS
    if error or known is None:
        return Effects(me, replies=(Reply(reply_to, _answer_add(error, request)),))
    if known.state is S.ONGOING and set(request.partitions) <= set(known.partitions):
        return Effects(me, replies=(Reply(reply_to, _answer_add(Errors.NONE, request)),))
    record = _record_of(
        known,
        S.ONGOING,
        partitions=tuple(sorted({*known.partitions, *request.partitions}))
        if known.state is S.ONGOING
        else tuple(sorted(request.partitions)),
        client_transaction_version=2,
    )
    wait = PendingAppend(
        _next_offset(me, on),
        record,
        known.last_producer_epoch,
        "add",
        reply_to,
        request.partitions,
    )
    return _log(me, known.but(pending_state=S.ONGOING), wait, on)


def on_end_txn(
    me: TransactionCoordinator, request: EndTxn, reply_to: ReplyTo, on: Context
) -> Effects:
    """Decide a transaction.

    WHEN: the producer commits or aborts. CHECKS: in Kafka's order for version 5: a transition
    in progress, the producer id, the epoch, the state. DOES: logs PREPARE_COMMIT or
    PREPARE_ABORT with the next epoch. ANSWERS: as soon as that is replicated, before any marker
    is written. Clause: KIP-890 "EndTxn v5", TransactionCoordinator.endTransaction.
    """
    known = me.transactions.get(request.transactional_id)
    error = Errors.NONE
    if me.loading:
        error = Errors.COORDINATOR_LOAD_IN_PROGRESS
    elif known is None:
        error = Errors.INVALID_PRODUCER_ID_MAPPING
    elif known.pending_state is not None:
        error = Errors.CONCURRENT_TRANSACTIONS
    else:
        error = _end_txn_error(known, request)
        if error is Errors.NONE and known.state in COMPLETE_OF.values():
            is_retry = known.producer_epoch != request.producer_epoch
            if is_retry or known.producer_id != request.producer_id:
                answer = EndTxnResponse(Errors.NONE, known.producer_id, known.producer_epoch)
                return Effects(me, replies=(Reply(reply_to, answer),))
    if error or known is None:
        return Effects(me, replies=(Reply(reply_to, EndTxnResponse(error)),))
    return _prepare(me, known, request.committed, "end", reply_to, on)


def on_markers_answered(
    me: TransactionCoordinator, response: WriteTxnMarkersResponse, tag: str, on: Context
) -> Effects:
    """Cross off the partitions that have their marker; ask again for the others.

    WHEN: a broker answers WriteTxnMarkers. DOES: when nothing is left, logs COMPLETE_*. An
    epoch or coordinator fence gives the completion up: the transaction stays in PREPARE_* until
    the partition is loaded again. Clause: TransactionMarkerRequestCompletionHandler.
    """
    known = me.transactions.get(tag)
    if known is None or known.state not in PREPARED or known.producer_id != response.producer_id:
        return Effects(me)
    answered = {r.partition for r in response.results}
    sent = tuple(s for s in known.sent if s[0] not in answered)
    done = {r.partition for r in response.results if r.error is Errors.NONE}
    again = tuple(r.partition for r in response.results if r.error in RETRY_MARKER)
    fatal = any(r.error is not Errors.NONE and r.error not in RETRY_MARKER for r in response.results)
    if fatal:
        return Effects(_with(me, known.but(sent=(), to_send=())))
    left = tuple(p for p in known.partitions if p not in done)
    return _send_markers(me, known.but(partitions=left, sent=sent), again, on)


def on_markers_lost(
    me: TransactionCoordinator, broker: int, tag: str, on: Context
) -> Effects:
    """Send the markers again that were on a broken connection."""
    known = me.transactions.get(tag)
    if known is None or known.state not in PREPARED:
        return Effects(me)
    lost = tuple(p for p, b in known.sent if b == broker)
    kept = tuple(s for s in known.sent if s[1] != broker)
    return _send_markers(me, known.but(sent=kept), lost, on)


def on_image_changed(me: TransactionCoordinator, on: Context) -> Effects:
    """Send markers that had to wait because nobody led their partition."""
    parts = []
    for known in me.transactions.values():
        if known.to_send and known.state in PREPARED:
            part = _send_markers(me, known.but(to_send=()), known.to_send, on)
            me = part.state
            parts.append(part)
    return with_effects(me, *parts)


# -- timers ------------------------------------------------------------------------------------


def why_no_timeout(me: TransactionCoordinator, transactional_id: str) -> str | None:
    """Say why a transaction cannot time out now, or None when it can.

    Only ONGOING is subject to transaction.timeout.ms: once PREPARE_* is logged, time no longer
    matters.
    """
    known = me.transactions.get(transactional_id)
    if me.loading:
        return "the coordinator is loading"
    if known is None:
        return "the coordinator knows no such transactional id"
    if known.pending_state is not None:
        return f"a transition to {known.pending_state.value} is being logged"
    if known.state is not S.ONGOING:
        return f"only ONGOING can time out; it is {known.state.value}"
    return None


def on_timeout(me: TransactionCoordinator, transactional_id: str, on: Context) -> Effects:
    """Abort a transaction that took longer than transaction.timeout.ms, and fence its producer."""
    return _prepare(me, me.transactions[transactional_id], False, "timeout", None, on)


# -- the log -----------------------------------------------------------------------------------


def on_replicated(me: TransactionCoordinator, on: Context) -> Effects:
    """Apply the transitions whose record is below the high watermark now, and answer."""
    parts: list[Effects] = []
    while me.waiting and me.waiting[0].offset < on.log(me.shard).high_watermark:
        wait = me.waiting[0]
        part = _apply(me.but(waiting=me.waiting[1:]), wait, on)
        me = part.state
        parts.append(part)
    return with_effects(me, *parts)


def replay(me: TransactionCoordinator, record: TransactionRecord) -> TransactionCoordinator:
    """Take over one record of the log: the only way a coordinator's table changes."""
    metadata = TransactionMetadata(
        record.transactional_id,
        record.producer_id,
        record.producer_epoch,
        record.state,
        partitions=record.partitions,
        previous_producer_id=record.previous_producer_id,
        next_producer_id=record.next_producer_id,
        timeout_ms=record.timeout_ms,
        client_transaction_version=record.client_transaction_version,
    )
    return _with(me, metadata)


def on_loaded(me: TransactionCoordinator, on: Context) -> Effects:
    """Take office: read the whole log, then send the markers of every decided transaction again.

    Some partitions may have their marker already; the record does not say which.
    Clause: TransactionStateManager.loadTransactionsForTxnTopicPartition.
    """
    for batch in on.log(me.shard).batches:
        for record in batch.records:
            assert isinstance(record, TransactionRecord)
            me = replay(me, record)
    me = me.but(loading=False)
    parts = []
    for known in me.transactions.values():
        if known.state in PREPARED:
            ready = known.but(pending_state=COMPLETE_OF[known.state])
            part = _send_markers(me, ready, known.partitions, on)
            me = part.state
            parts.append(part)
    return with_effects(me, *parts)


def on_resigned(me: TransactionCoordinator, on: Context) -> Effects:
    """Tell everybody who waits for a record that the coordinator is elsewhere now."""
    error, replies = Errors.NOT_COORDINATOR, []
    for wait in me.waiting:
        known = me.transactions[wait.record.transactional_id]
        replies += [r.but(message=r.message.but(error=error)) for r in _answers(wait, known)]
    return Effects(None, replies=tuple(replies))


# -- pieces ------------------------------------------------------------------------------------


def _with(me: TransactionCoordinator, metadata: TransactionMetadata) -> TransactionCoordinator:
    return me.but(transactions=me.transactions.set(metadata.transactional_id, metadata))


def _next_offset(me: TransactionCoordinator, on: Context) -> int:
    return on.log(me.shard).end_offset


def _answer_add(error: Errors, request: AddPartitionsToTxn) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        error,
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        request.partitions,
    )


def _record_of(
    known: TransactionMetadata, state: TransactionState, **changes: object
) -> TransactionRecord:
    record = TransactionRecord(
        known.transactional_id,
        known.producer_id,
        known.producer_epoch,
        state,
        known.partitions,
        known.producer_id,
        known.next_producer_id,
        known.timeout_ms,
        known.client_transaction_version,
    )
    return record.but(**changes)


def _log(
    me: TransactionCoordinator,
    metadata: TransactionMetadata,
    wait: PendingAppend,
    on: Context,
    new_producer_ids: int = 0,
) -> Effects:
    assert metadata.state in VALID_PREVIOUS[wait.record.state], (metadata.state, wait.record.state)
    batch = Batch(_next_offset(me, on), (wait.record,))
    state = _with(me, metadata).but(waiting=(*me.waiting, wait))
    return Effects(state, appends=((me.shard, batch),), new_producer_ids=new_producer_ids)


def _is_expected_producer(known: TransactionMetadata, request: InitProducerId) -> bool:
    if known.producer_epoch == -1 or request.producer_id == known.producer_id:
        return True
    exhausted = request.producer_epoch >= LAST_CLIENT_EPOCH
    return request.producer_id == known.previous_producer_id and exhausted


def _next_identity(
    me: TransactionCoordinator,
    known: TransactionMetadata,
    request: InitProducerId,
    reply_to: ReplyTo,
    on: Context,
    fenced: Effects,
) -> Effects:
    """Bump the epoch, recognise a retry, or rotate to a new producer id at the last epoch."""
    expected, new_ids = request.producer_epoch, 0
    producer_id, last = known.producer_id, -1
    if known.producer_epoch >= LAST_CLIENT_EPOCH and expected in (-1, known.producer_epoch):
        producer_id, epoch, new_ids = on.next_producer_id, 0, 1
        last = known.producer_epoch if expected >= 0 else -1
    elif expected == -1:
        epoch = known.producer_epoch + 1
    elif known.producer_epoch in (-1, expected):
        epoch, last = known.producer_epoch + 1, known.producer_epoch
    elif expected == known.last_producer_epoch:
        epoch, last = known.producer_epoch, known.last_producer_epoch
    else:
        return fenced
    record = _record_of(
        known,
        S.EMPTY,
        producer_id=producer_id,
        producer_epoch=epoch,
        partitions=(),
        timeout_ms=request.transaction_timeout_ms,
        next_producer_id=-1,
    )
    wait = PendingAppend(_next_offset(me, on), record, last, "init", reply_to)
    return _log(me, known.but(pending_state=S.EMPTY), wait, on, new_producer_ids=new_ids)


def _end_txn_error(known: TransactionMetadata, request: EndTxn) -> Errors:
    """Give the answer table of EndTxn version 5 (a transition in progress is handled before)."""
    overflow_retry = (
        known.producer_epoch == 0
        and request.producer_epoch == LAST_CLIENT_EPOCH
        and known.previous_producer_id == request.producer_id
    )
    if known.producer_id != request.producer_id and not overflow_retry:
        return Errors.INVALID_PRODUCER_ID_MAPPING
    current = request.producer_epoch == known.producer_epoch
    retry = request.producer_epoch == known.producer_epoch - 1 or overflow_retry
    state, commit = known.state, request.committed
    if state is S.EMPTY and current:
        return Errors.INVALID_TXN_STATE if commit else Errors.NONE
    if state is S.ONGOING and current:
        return Errors.NONE
    if state in PREPARED and retry:
        same = commit == (state is S.PREPARE_COMMIT)
        return Errors.CONCURRENT_TRANSACTIONS if same else Errors.INVALID_TXN_STATE
    if state in COMPLETE_OF.values():
        if current:
            return Errors.INVALID_TXN_STATE if commit else Errors.NONE
        if retry:
            same = commit == (state is S.COMPLETE_COMMIT)
            return Errors.NONE if same else Errors.INVALID_TXN_STATE
    return Errors.PRODUCER_FENCED


def _prepare(
    me: TransactionCoordinator,
    known: TransactionMetadata,
    committed: bool,
    answer: str,
    reply_to: ReplyTo | None,
    on: Context,
) -> Effects:
    """Log the decision with the next epoch (KIP-890: every transaction ends with a bump).

    At the last epoch the next producer id is taken now and becomes valid with COMPLETE_*.
    """
    target = S.PREPARE_COMMIT if committed else S.PREPARE_ABORT
    exhausted = known.producer_epoch >= LAST_CLIENT_EPOCH
    record = _record_of(
        known,
        target,
        producer_epoch=known.producer_epoch + 1,
        next_producer_id=on.next_producer_id if exhausted else -1,
        client_transaction_version=2,
        partitions=known.partitions if known.state is S.ONGOING else (),
    )
    wait = PendingAppend(_next_offset(me, on), record, known.producer_epoch, answer, reply_to)
    return _log(
        me, known.but(pending_state=target), wait, on, new_producer_ids=1 if exhausted else 0
    )


def _apply(me: TransactionCoordinator, wait: PendingAppend, on: Context) -> Effects:
    record = wait.record
    before = me.transactions.get(record.transactional_id)
    me = replay(me, record)
    known = me.transactions[record.transactional_id].but(
        last_producer_epoch=wait.last_producer_epoch
    )
    me = _with(me, known)
    moved = TransactionMoved(
        known.transactional_id,
        known.producer_id,
        known.producer_epoch,
        before.state if before else None,
        known.state,
        known.partitions,
    )
    done = Effects(me, replies=_answers(wait, known), events=(moved,))
    if known.state not in PREPARED:
        return done
    decided = TransactionDecided(
        known.transactional_id,
        known.producer_id,
        wait.last_producer_epoch,
        known.state is S.PREPARE_COMMIT,
    )
    ready = known.but(pending_state=COMPLETE_OF[known.state])
    sending = _send_markers(me, ready, known.partitions, on)
    return with_effects(sending.state, done.but(events=(moved, decided)), sending)


def _answers(wait: PendingAppend, known: TransactionMetadata) -> tuple[Reply, ...]:
    if wait.reply_to is None:
        return ()
    match wait.answer:
        case "init":
            return (
                Reply(
                    wait.reply_to,
                    InitProducerIdResponse(Errors.NONE, known.producer_id, known.producer_epoch),
                ),
            )
        case "add":
            answer = AddPartitionsToTxnResponse(
                Errors.NONE,
                known.transactional_id,
                known.producer_id,
                known.producer_epoch,
                wait.asked,
            )
            return (Reply(wait.reply_to, answer),)
        case "fence":
            return (Reply(wait.reply_to, InitProducerIdResponse(Errors.CONCURRENT_TRANSACTIONS)),)
        case "end":
            if known.next_producer_id >= 0:
                identity = EndTxnResponse(Errors.NONE, known.next_producer_id, 0)
            else:
                identity = EndTxnResponse(Errors.NONE, known.producer_id, known.producer_epoch)
            return (Reply(wait.reply_to, identity),)
    return ()


def _send_markers(
    me: TransactionCoordinator, known: TransactionMetadata, partitions: tuple[str, ...], on: Context
) -> Effects:
    """Put markers on the wire, one request per broker; log COMPLETE_* when none is left."""
    if not known.partitions:
        target = COMPLETE_OF[known.state]
        changes: dict[str, object] = {"partitions": ()}
        if known.next_producer_id >= 0:
            changes |= {
                "producer_id": known.next_producer_id,
                "producer_epoch": 0,
                "next_producer_id": -1,
            }
        record = _record_of(known, target, **changes)
        wait = PendingAppend(_next_offset(me, on), record, known.last_producer_epoch, "complete")
        return _log(me, known.but(sent=(), to_send=()), wait, on)
    by_broker: dict[int, list[str]] = {}
    for partition in partitions:
        by_broker.setdefault(on.image.leader_of(partition), []).append(partition)
    nobody = tuple(by_broker.pop(-1, ()))
    requests, sent = [], list(known.sent)
    for broker in sorted(by_broker):
        marker = WriteTxnMarkers(
            known.producer_id,
            known.producer_epoch,
            known.state is S.PREPARE_COMMIT,
            tuple(by_broker[broker]),
            me.coordinator_epoch,
        )
        requests.append(
            Request("markers", broker, marker, ROLE, me.shard, known.transactional_id)
        )
        sent += [(p, broker) for p in by_broker[broker]]
    state = _with(me, known.but(sent=tuple(sent), to_send=(*known.to_send, *nobody)))
    return Effects(state, requests=tuple(requests))
