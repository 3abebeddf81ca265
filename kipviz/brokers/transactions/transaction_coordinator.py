"""The transaction coordinator: the participants of a transaction, and how it ends.

WHO: the leader of one partition of `__transaction_state`.
WHERE IN KAFKA: TransactionCoordinator, TransactionMetadata.
KIPS: KIP-98, KIP-360 (epoch bump), KIP-890 (part 1: verification; part 2: transaction version 2); KIP-939 (see
two_phase).
DURABILITY: append, then apply; appends and replay are in `transaction_state_manager`.
NOT MODELLED: the start of the scan for transactions that took too long: on a timed clock one scan finds all overdue
ones, at most its interval late, whatever it found before; untimed each is found by itself. Throttling;
PREPARE_EPOCH_FENCE, in memory between two locks of one InitProducerId: one step here.
"""

from __future__ import annotations

from kipviz.brokers.checks import Checks, error_of
from kipviz.brokers.context import Context, Effects, MarkersOf, Reply, ReplyTo, with_effects
from kipviz.brokers.handling import takes
from kipviz.brokers.timers import AppendTimeout, RoleTimer, TransactionalIdExpiry
from kipviz.brokers.transactions import transaction_state_manager, two_phase
from kipviz.brokers.transactions.transaction_append import (
    NEEDS_NO_MARKER,
    RETRY_MARKER,
    PendingAppend,
    answer_add,
    answers_of,
    append_of,
    append_timers,
    merge_markers,
    nameless,
    needs_image,
    partitions_of_lost,
)
from kipviz.brokers.transactions.transaction_checks import (
    asking_checks,
    ending_checks,
    identity_checks,
    init_producer_id_checks,
    joining_checks,
    version_checks,
)
from kipviz.brokers.transactions.transaction_metadata import (
    COMPLETED,
    PREPARED,
    TransactionMetadata,
    add_partitions,
    decision_of,
    is_end_txn_retry,
    next_identity,
    record_of,
    why_not_timed_out,
)
from kipviz.brokers.transactions.transaction_state_manager import (
    TransactionCoordinator,
    append_record,
    fail_append,
    next_offset,
    send_markers,
    with_metadata,
)
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    TxnMarker,
    TxnMarkerResult,
)
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.records.transaction_state import (
    VALID_PREVIOUS,
    TransactionState,
)

S = TransactionState

# The functions for the log, which every role has under these names.
on_replicated, replay = transaction_state_manager.on_replicated, transaction_state_manager.replay
on_loaded, on_resigned = transaction_state_manager.on_loaded, transaction_state_manager.on_resigned


# -- handlers, in protocol order --------------------------------------------------------------


@takes(InitProducerId)
def on_init_producer_id(
    me: TransactionCoordinator, request: InitProducerId, reply_to: ReplyTo, on: Context
) -> Effects[TransactionCoordinator]:
    """Return an identity to a producer and fence the previous one.

    WHEN: a producer starts, or recovers. CHECKS: KIP-939's fields, the timeout, loading, a transition in progress, a
    stale expected identity, the state. DOES: logs EMPTY with the next epoch, or aborts an ongoing transaction, or keeps
    it and logs the identity that may end it. ANSWERS: the identity, or CONCURRENT_TRANSACTIONS while something has to
    end first.
    Clause: KIP-98 "InitPidRequest", KIP-360; KIP-939 (draft where it keeps).
    """
    if request.transactional_id is None:
        return nameless(me, request, reply_to, on)

    def reject(checks: Checks) -> Effects[TransactionCoordinator]:
        checks = version_checks(request.version, checks, since=4)
        refused = InitProducerIdResponse(error_of(checks))
        return Effects(me, replies=(Reply(reply_to, refused),), checks=checks)

    name, fresh = request.transactional_id, on.next_producer_id
    checks = asking_checks(me.loading, request, on)
    if error_of(checks) is not Errors.NONE:
        return reject(checks)
    known = me.transactions.get(name)
    new_producer_ids = 0
    if known is None:
        known, new_producer_ids = TransactionMetadata(name, fresh, -1, S.EMPTY), 1
    checks = (*checks, *init_producer_id_checks(known, request))
    if error_of(checks) is not Errors.NONE:
        return reject(checks)
    if known.state is S.ONGOING and request.keep_prepared_txn:
        return _keep(me, known, reply_to, on).after(checks)
    if known.state is S.ONGOING:
        return _fence(me, known, "fence", reply_to, on).after(checks)
    checks = (*checks, *identity_checks(known, request))
    if error_of(checks) is not Errors.NONE:
        return reject(checks)
    identity = next_identity(known, request, fresh)
    record = record_of(known, S.EMPTY).but(
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        partitions=(),
        **two_phase.limits_of(request),
        next_producer_id=-1,
        next_producer_epoch=-1,
        start_timestamp_ms=NO_TIMESTAMP,
    )
    wait = PendingAppend(
        next_offset(me, on),
        record,
        identity.last_producer_epoch,
        "init",
        reply_to,
    )
    done = append_record(me, known, wait, on, new_producer_ids + identity.new_producer_ids)
    return done.after(checks)


def on_add_partitions(
    me: TransactionCoordinator, request: AddPartitionsToTxn, reply_to: ReplyTo, on: Context
) -> Effects[TransactionCoordinator]:
    """Add partitions to a transaction, so that its markers will reach them, or verify them.

    WHEN: a partition leader or coordinator is about to append the first batch of a transaction; below version 4: a
    client is about to send one. CHECKS: `joining_checks`. DOES: logs ONGOING with the union; nothing if they are all in
    it. ANSWERS: after replication.
    Clause: KIP-98 "AddPartitionsToTxnRequest"; KIP-890 "Transaction version 2",
    TransactionCoordinator.handleAddPartitionsToTransaction, handleVerifyPartitionsInTransaction.
    """
    (asked,) = request.transactions
    known = me.transactions.get(asked.transactional_id)
    checks = joining_checks(me.loading, me.assignments, known, asked, on.rules)
    error = error_of(checks)
    if error is not Errors.NONE or known is None or asked.verify_only:
        told = answer_add(error, asked, request.version, known)
        checks = version_checks(request.version, checks)
        return Effects(me, replies=(Reply(reply_to, told),), checks=checks)
    wait = PendingAppend(
        next_offset(me, on),
        add_partitions(known, asked.partitions, 2 if request.version >= 4 else 0, on.now_ms),
        known.last_producer_epoch,
        "add",
        reply_to,
        asked.partitions,
    )
    return _join(me, known, wait, on).after(checks)


@takes(AddOffsetsToTxn)
def on_add_offsets(
    me: TransactionCoordinator, request: AddOffsetsToTxn, reply_to: ReplyTo, on: Context
) -> Effects[TransactionCoordinator]:
    """Add the partition that holds a group's offsets to the transaction, at a client's request.

    WHEN: a client of transaction version 0 or 1 is about to send TxnOffsetCommit. CHECKS and DOES: as for data.
    ANSWERS: after replication. Clause: KIP-98, KafkaApis.handleAddOffsetsToTxnRequest.
    """
    known = me.transactions.get(request.transactional_id)
    checks = joining_checks(me.loading, me.assignments, known, request, on.rules)
    if error_of(checks) is not Errors.NONE or known is None:
        checks = version_checks(request.version, checks)
        refused = AddOffsetsToTxnResponse(error_of(checks))
        return Effects(me, replies=(Reply(reply_to, refused),), checks=checks)
    partition = on.image.home_of(CONSUMER_OFFSETS, request.group_id)
    wait = PendingAppend(
        next_offset(me, on),
        add_partitions(known, (partition,), 0, on.now_ms),
        known.last_producer_epoch,
        "offsets",
        reply_to,
    )
    return _join(me, known, wait, on).after(checks)


@takes(EndTxn)
def on_end_txn(
    me: TransactionCoordinator, request: EndTxn, reply_to: ReplyTo, on: Context
) -> Effects[TransactionCoordinator]:
    """Decide a transaction.

    WHEN: the producer commits or aborts. CHECKS: `ending_checks`, in Kafka's order for version 5: a transition in
    progress, the producer id, the epoch, the state; another order for older versions. DOES: logs PREPARE_COMMIT or
    PREPARE_ABORT, since version 5 with the next epoch.
    ANSWERS: as soon as that is replicated, before any marker is written. OPEN: end_txn_response.
    Clause: KIP-98 "EndTxnRequest"; KIP-890 "EndTxn v5", TransactionCoordinator.endTransaction.
    """

    def answer(
        checks: Checks, producer_id: int = -1, producer_epoch: int = -1
    ) -> Effects[TransactionCoordinator]:
        checks = version_checks(request.version, checks)
        response = EndTxnResponse(error_of(checks), producer_id, producer_epoch)
        return Effects(me, replies=(Reply(reply_to, response),), checks=checks)

    known = me.transactions.get(request.transactional_id)
    checks = ending_checks(me.loading, me.assignments, known, request, on.rules)
    bumps = request.version >= 5
    if error_of(checks) is not Errors.NONE or known is None:
        # A commit that fails at the last epoch has allocated a producer id (`transaction_checks.wastes_producer_id`).
        drawn = int(error_of(checks) is Errors.UNKNOWN_SERVER_ERROR)
        return answer(checks).but(new_producer_ids=drawn)
    if known.state in COMPLETED and not bumps:
        return answer(checks)
    if known.state in COMPLETED and is_end_txn_retry(known, request):
        return answer(checks, known.producer_id, known.producer_epoch)
    done = _decide(me, known, "end", reply_to, on, committed=request.committed, bumps=bumps)
    return done.after(checks)


def on_markers_answered(
    me: TransactionCoordinator, response: TxnMarkerResult, tag: MarkersOf, on: Context
) -> Effects[TransactionCoordinator]:
    """Remove the partitions that have their marker, and resend it to the others.

    WHEN: a broker answers WriteTxnMarkers. CHECKS: that this coordinator sent the request, not an earlier one on the
    same broker. DOES: when no partition is left, logs COMPLETE_*. An epoch error or a coordinator fence ends the
    completion, and what this response would resend: the transaction stays in PREPARE_* until it is loaded again.
    Clause: TransactionMarkerRequestCompletionHandler.
    """
    known = _sending(me, tag)
    if known is None:
        return Effects(me)
    answered = {r.partition for r in response.results}
    sent = tuple(s for s in known.sent if s[0] not in answered)
    done = {r.partition for r in response.results if r.error in NEEDS_NO_MARKER}
    again = tuple(r.partition for r in response.results if r.error in RETRY_MARKER)
    known = known.but(partitions=tuple(p for p in known.partitions if p not in done), sent=sent)
    if len(done) + len(again) < len(answered):
        return Effects(with_metadata(me, known.but(cancelled=True)))
    return send_markers(me, known, again, on)


def on_markers_lost(
    me: TransactionCoordinator,
    lost: TxnMarker | TxnMarkerResult,
    tag: MarkersOf,
    on: Context,
) -> Effects[TransactionCoordinator]:
    """Send a marker again after a connection broke, before or after the response."""
    known = _sending(me, tag)
    if known is None:
        return Effects(me)
    again = partitions_of_lost(lost)
    kept = tuple(s for s in known.sent if s[0] not in again)
    return send_markers(me, known.but(sent=kept), again, on)


def on_image_changed(me: TransactionCoordinator, on: Context) -> Effects[TransactionCoordinator]:
    """Send markers that waited for a leader, and complete what could not be logged for lack of replicas."""
    parts: list[Effects[TransactionCoordinator]] = []
    for known in me.transactions.values():
        if needs_image(known, me.waiting):
            part = send_markers(me, known.but(to_send=()), known.to_send, on.after(*parts))
            me = part.state
            parts.append(part)
    return merge_markers(with_effects(me, *parts))


# -- timers ------------------------------------------------------------------------------------


def why_no_timeout(me: TransactionCoordinator, transactional_id: str) -> str | None:
    """Return why a transaction cannot time out now, or None if it can.

    Only ONGOING is subject to transaction.timeout.ms: once PREPARE_* is logged, time no longer matters.
    """
    known = me.transactions.get(transactional_id)
    if me.loading:
        return f"the coordinator of {me.shard} still reads its log"
    if known is None:
        return f"the coordinator of {me.shard} knows no transactional id {transactional_id}"
    return why_not_timed_out(known)


def on_timeout(
    me: TransactionCoordinator, transactional_id: str, on: Context
) -> Effects[TransactionCoordinator]:
    """Abort a transaction that took longer than transaction.timeout.ms, and fence its producer."""
    known = me.transactions[transactional_id]
    return _fence(me, known, "timeout", None, on)


def timers(me: TransactionCoordinator, on: Context) -> tuple[RoleTimer, ...]:
    """Return the timers of appends, and those of unused transactional ids.

    An append has the transaction's own timeout; it can expire only where replicas may be missing.
    """
    if on.image.min_insync_replicas and me.waiting:
        return append_timers(me.shard, me.waiting)
    if me.loading or not on.settings.transactional_ids_expire:
        return ()
    known = me.transactions.values()
    idle = (t for t in known if t.pending_state is None and t.state in VALID_PREVIOUS[S.DEAD])
    return tuple(TransactionalIdExpiry(t.transactional_id) for t in idle)


def on_timer(
    me: TransactionCoordinator, timer: RoleTimer, on: Context
) -> Effects[TransactionCoordinator]:
    """Fail an append, or expire a transactional id: log its tombstone; it cannot be used meanwhile (DEAD).

    Clause: KIP-98 transactional.id.expiration.ms, TransactionStateManager.removeExpiredTransactionalIds.
    """
    if isinstance(timer, AppendTimeout):
        wait = append_of(timer, me.waiting)
        failed = fail_append(
            me.but(waiting=tuple(w for w in me.waiting if w is not wait)), wait, on
        )
        return failed.but(given_up=((me.shard, wait.offset),))
    assert isinstance(timer, TransactionalIdExpiry), timer
    known = me.transactions[timer.transactional_id]
    record = record_of(known, S.DEAD).but(partitions=())
    wait = PendingAppend(next_offset(me, on), record, known.last_producer_epoch, "expire")
    return append_record(me, known, wait, on)


# -- pieces ------------------------------------------------------------------------------------


def _sending(me: TransactionCoordinator, tag: MarkersOf) -> TransactionMetadata | None:
    """Return the transaction whose markers a tag belongs to, if this coordinator still sends them."""
    known = me.transactions.get(tag.transactional_id)
    if known is None or tag.coordinator_epoch != me.coordinator_epoch:
        return None
    return known if known.state in PREPARED and known.partitions else None


def _join(
    me: TransactionCoordinator, known: TransactionMetadata, wait: PendingAppend, on: Context
) -> Effects[TransactionCoordinator]:
    """Log that partitions are added; respond at once if they are all in the transaction already."""
    if known.state is S.ONGOING and wait.record.partitions == known.partitions:
        return Effects(me, replies=answers_of(wait, known))
    return append_record(me, known, wait, on)


def _keep(
    me: TransactionCoordinator, known: TransactionMetadata, reply_to: ReplyTo, on: Context
) -> Effects[TransactionCoordinator]:
    """Keep a transaction open for its next producer, and log the identity that may end it now."""
    kept = two_phase.keep_transaction(known, on)
    if kept.record is None:
        return Effects(me, replies=(Reply(reply_to, two_phase.kept_answer(known)),))
    wait = PendingAppend(
        next_offset(me, on), kept.record, known.last_producer_epoch, "keep", reply_to
    )
    return append_record(me, known, wait, on, kept.new_producer_ids)


def _decide(
    me: TransactionCoordinator,
    known: TransactionMetadata,
    answer: str,
    reply_to: ReplyTo | None,
    on: Context,
    *,
    committed: bool,
    bumps: bool,
    fence: bool = False,
) -> Effects[TransactionCoordinator]:
    how = {"committed": committed, "bumps": bumps, "fence": fence}
    record = decision_of(known, on.next_producer_id, **how, now_ms=on.now_ms)
    if known.is_kept:
        record = two_phase.decision_of_kept(known, record, on)
    wait = PendingAppend(
        next_offset(me, on),
        record,
        known.producer_epoch if bumps else -1 if fence else known.last_producer_epoch,
        answer,
        reply_to,
    )
    fresh = record.next_producer_id == on.next_producer_id
    return append_record(me, known, wait, on, new_producer_ids=1 if fresh else 0)


def _fence(
    me: TransactionCoordinator,
    known: TransactionMetadata,
    answer: str,
    reply_to: ReplyTo | None,
    on: Context,
) -> Effects[TransactionCoordinator]:
    """Abort a transaction without its producer, and fence that with a higher epoch.

    Whether the decision is one of transaction version 2 depends on the cluster, not on the client.
    """
    bumps = on.image.features.transaction_version >= 2
    return _decide(me, known, answer, reply_to, on, committed=False, bumps=bumps, fence=True)
