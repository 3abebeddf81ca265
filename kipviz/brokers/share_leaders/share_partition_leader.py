"""The share-partition leader: which member holds which record, and for how long.

WHO: the leader of the source partition; one object per broker holds all its share-partitions.
WHERE IN KAFKA: SharePartitionManager, SharePartition, InFlightState, ShareSessionCache; the persister's client side
(PersisterStateManager).
KIPS: KIP-932; KIP-1289 (draft): staging acknowledgements in a transaction.
DURABILITY: volatile, written through the share coordinator. What was not written is lost with the broker: ACQUIRED is
never written, so a crash releases every lock.
NOT MODELLED: batches of in-flight records (each offset has its own entry, which shows the same states); the maximum
wait of a fetch (it waits until there are records); that the log is read before records are acquired, in a step of its
own under the fetch lock (DelayedShareFetch, ShareFetchUtils.processFetchResponse): here it is one step; that a fetch
may acquire records while the acknowledgements that came with it are being made durable (it is answered after that in
either case); that a fenced leader does not stop the timers of its locks, and writes their effects
(SharePartition.releaseAcquisitionLockOnTimeout): here it drops all its state.
"""

from __future__ import annotations

from collections.abc import Sequence

from kipviz.brokers import deleted_topics
from kipviz.brokers.checks import Checks, compare, error_of, one_after_another, report_value
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo, with_effects
from kipviz.brokers.local_calls import ApplyMarkerToShares, Enlisted, FetchFurther
from kipviz.brokers.logs import add_to_transaction
from kipviz.brokers.logs.replication import moved_check
from kipviz.brokers.share_leaders import (
    acknowledgement_checks,
    share_acquiring,
    share_partition,
    share_sessions,
    share_validation,
    share_writes,
)
from kipviz.brokers.share_leaders.in_flight import staged_batches
from kipviz.brokers.share_leaders.share_partition import (
    Closing,
    ParkedFetch,
    ShareLeader,
    SharePartition,
    Status,
    keep,
)
from kipviz.brokers.share_leaders.share_sessions import FINAL_EPOCH
from kipviz.brokers.share_transactions import share_outcomes, share_staging, share_staging_steps
from kipviz.messages.apis.shares.share_fetch import reject_fetch
from kipviz.messages.cluster.topic_creation import CreateTopicsResponse
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import ProduceResponse
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import (
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    TxnShareAcknowledge,
)
from kipviz.messages.shares.share_state import (
    ReadShareGroupStateResponse,
    WriteShareGroupStateResponse,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.share_group_state import RecordState

# -- handlers, in protocol order --------------------------------------------------------------


def on_share_fetch(
    me: ShareLeader, request: ShareFetch, reply_to: ReplyTo, on: Context
) -> Effects[ShareLeader]:
    """Return records to a member and lock them for it; apply the acknowledgements that came along.

    WHEN: a share consumer polls. CHECKS: leadership, the share session's epoch (Kafka checks the session first:
    `share_fetching`). DOES: the first fetch after a start loads the durable state. ANSWERS: when the acknowledgements
    are durable and there are records to deliver.
    Clause: KIP-932 "ShareFetch"; SharePartitionManager.fetchMessages.
    """
    partition, said = request.first.partition, request.first.acknowledgements

    def reject(checks: Checks) -> Effects[ShareLeader]:
        answer = reject_fetch(partition, error_of(checks))
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)

    checks = one_after_another(
        lambda: (deleted_topics.leader_check(partition, on),),
        lambda: share_sessions.form_checks(request),
    )
    if error_of(checks) is not Errors.NONE:
        return reject(checks)
    me, session = share_sessions.after(me, request, reply_to, on)
    checks += session
    if error_of(checks) is Errors.SHARE_SESSION_LIMIT_REACHED and request.max_wait_ms:
        return share_sessions.keep_waiting(me, request, reply_to).after(checks)
    if error_of(checks) is not Errors.NONE:
        return reject(checks)
    key = on.image.share_key(request.group_id, partition)
    known = key in me.shares
    share, loading = ensure(me, key, request.group_id, partition, on)
    acked, parked = Effects(share), ParkedFetch(request, reply_to)
    error = Errors.UNKNOWN_TOPIC_OR_PARTITION
    taken = one_after_another(
        lambda: share_validation.form_checks(said), lambda: _in_memory(said, known, error)
    )
    checks = (*checks, *taken, report_value("share-partition", share.status))
    if error_of(taken) is not Errors.NONE:
        parked = parked.but(acknowledge_error=error_of(taken))
    elif said:
        acked, error = share_writes.acknowledge(
            share, request.member_id, said, reply_to, on, with_fetch=True
        )
        share = acked.state
        waits = any(w.fetch == reply_to for w in share.writes)
        parked = parked.but(acknowledging=waits, acknowledge_error=error)
    served = share_acquiring.serve(share.but(parked=(*share.parked, parked)), on)
    done = keep(me, with_effects(served.state, loading, acked, served)).after(checks)
    if request.session_epoch != FINAL_EPOCH:
        return done
    return close_session(done, request, reply_to, on)


def on_fetch_further(me: ShareLeader, call: FetchFurther, on: Context) -> Effects[ShareLeader]:
    """Continue with a fetch in the next of its partitions; the session was checked before.

    WHEN: the previous partition had no records, and the fetch does not wait. ANSWERS: with the first records found; one
    response has records of one partition only.
    Clause: KIP-932 "ShareFetch"; SharePartitionManager.processShareFetch.
    """
    request, reply_to = call.request, call.reply_to
    partition = request.first.partition
    checks = (deleted_topics.leader_check(partition, on),)
    if error_of(checks) is not Errors.NONE:
        refused = reject_fetch(partition, error_of(checks))
        return Effects(me, replies=(Reply(reply_to, refused),), checks=checks)
    key = on.image.share_key(request.group_id, partition)
    share, loading = ensure(me, key, request.group_id, partition, on)
    parked = (*share.parked, ParkedFetch(request, reply_to))
    served = share_acquiring.serve(share.but(parked=parked), on)
    return keep(me, with_effects(served.state, loading, served)).after(checks)


def on_share_acknowledge(
    me: ShareLeader, request: ShareAcknowledge, reply_to: ReplyTo, on: Context
) -> Effects[ShareLeader]:
    """Apply acknowledgements of one partition: all of them or none, durable before the response.

    Epoch -1 closes the session as well: what the member still holds is released.
    Clause: KIP-932 "ShareAcknowledge"; SharePartition.acknowledge.
    """
    (only,) = request.partitions
    partition, said = only.partition, only.acknowledgements

    def respond_for_all(error: Errors) -> Effects[ShareLeader]:
        answer = ShareAcknowledgeResponse(Errors.NONE, (PartitionResult(partition, error),))
        return Effects(me, replies=(Reply(reply_to, answer),))

    me, checks = share_sessions.after(me, request, reply_to, on)
    if error_of(checks) is not Errors.NONE:
        refused = Reply(reply_to, ShareAcknowledgeResponse(error_of(checks)))
        return Effects(me, replies=(refused,), checks=checks)
    share = me.shares.get(on.image.share_key(request.group_id, partition))
    unknown = deleted_topics.unknown(partition, on.image)
    checks = one_after_another(
        lambda: checks,
        lambda: share_validation.form_checks(said),
        lambda: _in_memory(said, share is not None, unknown),
    )
    if not said or share is None or error_of(checks) is not Errors.NONE:
        done = respond_for_all(error_of(checks))
    else:
        acked, error = share_writes.acknowledge(
            share, request.member_id, said, reply_to, on, with_fetch=False
        )
        done = keep(me, acked)
        if error is not Errors.NONE:
            done = with_effects(done.state, done, respond_for_all(error))
    done = done.after(checks)
    if request.session_epoch != FINAL_EPOCH:
        return done
    return close_session(done, request, reply_to, on)


def on_txn_share_acknowledge(
    me: ShareLeader, request: TxnShareAcknowledge, reply_to: ReplyTo, on: Context
) -> Effects[ShareLeader]:
    """Stage acknowledgements in a transaction: TX_PENDING until a marker decides.

    WHEN: sendShareAcknowledgementsToTransaction. CHECKS: leadership, the types, the owner and state of every record.
    DOES: makes the transactional acknowledgement durable, or only keeps it in memory, depending on the design.
    ANSWERS: when the design regards it as staged. OPEN: staged_acks, participant, stage_retry, member_check.
    Clause: KIP-1289 "Flow - Share Group", corner cases 10 and 11 (draft).
    """
    checks = share_staging.checks_at_once(request, on)
    if error_of(checks) is not Errors.NONE:
        return share_staging.respond_at_once(me, request, reply_to, checks)
    share, made = share_staging_steps.find_stageable(me, request, on)
    checks += made
    if share is None or error_of(checks) is not Errors.NONE:
        return share_staging.respond_at_once(me, request, reply_to, checks)
    if acknowledgement_checks.is_staged_again(share, request):
        return share_staging_steps.stage_again(me, share, request, reply_to).after(checks)
    staged, events = share_partition.stage(share, request)
    acknowledgements = on.rules.staged_acks(
        staged_batches(share_partition.cells_of(staged, request))
    )
    if acknowledgements and not on.rules.acknowledgement_form():
        kept = share_writes.stage(staged, request, acknowledgements, reply_to, events, on)
        return keep(me, kept).after(checks)
    return share_staging_steps.add_then_stage(me, share, request, reply_to, on, checks)


def on_enlisted(me: ShareLeader, call: Enlisted, on: Context) -> Effects[ShareLeader]:
    """Stage what waited until its participant was added, or respond for what was staged before that.

    Only reached by designs whose share-partition leader adds the participant itself (KIP-1289 as written, and its draft
    implementation).
    """
    mine, rest = add_to_transaction.split_waiting(me.staging, call)
    return add_to_transaction.continue_each(
        me.but(staging=rest), mine, call.answer.error, on, share_staging_steps.go_on
    )


def on_state_answered(
    me: ShareLeader, key: str, tag: str, answer: Message, on: Context
) -> Effects[ShareLeader]:
    """Continue the work that waited for the share coordinator."""
    share = _asking(me, key, tag)
    if share is None:
        return Effects(me)
    done, gone = share_writes.on_answer(share, answer, on)
    if key not in me.shares or me.shares[key] is not share:
        # A dropped object may still change, but its state belongs to no share-partition any longer (FENCED).
        return _leave(me, done.but(events=()))
    if gone is not Errors.NONE:
        kept, because = keep(me, done), "the share coordinator rejected its request"
        if isinstance(answer, ReadShareGroupStateResponse) and share.status is Status.ACTIVE:
            because = share_writes.LOOKED.get(answer.only.error, because)
        return _end_sessions(drop(kept.state, key, because, gone, kept), on)
    served = share_acquiring.serve(done.state, on)
    told = _end_sessions(keep(me, with_effects(served.state, done, served)), on)
    write = share.writes[0]
    if write.enlists is None or write.reply_to is None or not _is_written(answer):
        return told
    asking = share_staging_steps.enlist(told.state, share, write.enlists, write.reply_to, on, ())
    return with_effects(asking.state, told, asking)


def _is_written(answer: Message) -> bool:
    return isinstance(answer, WriteShareGroupStateResponse) and answer.only.error is Errors.NONE


def on_state_lost(me: ShareLeader, key: str, tag: str, on: Context) -> Effects[ShareLeader]:
    """Retry at the current share coordinator, because the connection to it broke."""
    share = _asking(me, key, tag)
    if share is None:
        return Effects(me)
    done = share_writes.resend(share, on)
    if key not in me.shares or me.shares[key] is not share:
        return _leave(me, done.but(events=()))
    served = share_acquiring.serve(done.state, on)
    return _end_sessions(keep(me, with_effects(served.state, done, served)), on)


def on_marker(me: ShareLeader, marker: ApplyMarkerToShares, on: Context) -> Effects[ShareLeader]:
    """Resolve matching transactional acknowledgements in memory: the hook of KIP-1289.

    OPEN: marker_reach (which share-partitions), marker_epoch (which transactional acknowledgements), abort_target,
    marker_below_level (after a downgrade), outcome_write (whether the marker waits).
    """
    known = on.rules.marker_below_level(on.image.features.staging)
    parts = []
    for key in on.rules.marker_reach(tuple(me.shares)) if known else ():
        resolved = share_writes.apply_marker(me.shares[key], marker, on)
        served = share_acquiring.serve(resolved.state, on)
        part = keep(me, with_effects(served.state, resolved, served))
        me = part.state
        parts.append(part)
    waiting = share_outcomes.report_awaited(me, marker)
    return with_effects(waiting.state, *parts, waiting)


def on_dead_letter_answered(
    me: ShareLeader,
    key: str,
    tag: str,
    answer: ProduceResponse | CreateTopicsResponse | None,
    on: Context,
) -> Effects[ShareLeader]:
    """Continue after an attempt to copy records to the dead-letter queue; None: its response is lost.

    WHEN: the leader of the dead-letter topic has answered, or the broker asked to create the topic. DOES: archives the
    records, with or without a copy. An object that was dropped meanwhile does nothing: the next one retries.
    Clause: KIP-1191 "Record state changes"; ShareGroupDLQManager.
    """
    share = me.shares.get(key)
    if share is None or str(share.incarnation) != tag:
        return Effects(me)
    done = share_writes.on_dead_letter(share, answer, on)
    served = share_acquiring.serve(done.state, on)
    return keep(me, with_effects(served.state, done, served))


def on_replicated(me: ShareLeader, partition: str, on: Context) -> Effects[ShareLeader]:
    """Serve the fetches that wait for records, because the high watermark has advanced."""
    parts = []
    for share in me.shares.values():
        if share.partition == partition and share.parked:
            part = keep(me, share_acquiring.serve(share, on))
            me = part.state
            parts.append(part)
    return with_effects(me, *parts)


# -- timers ------------------------------------------------------------------------------------


def on_lock_expiry(me: ShareLeader, key: str, lock: int, on: Context) -> Effects[ShareLeader]:
    """Release the records of an acquisition whose member was too slow.

    Memory first, then one write whose failure is ignored. Clause: KIP-932 "acquisition lock";
    SharePartition.releaseAcquisitionLockOnTimeout. OPEN: lock_expiry for TX_PENDING records.
    """
    expired = share_writes.expire(me.shares[key], lock, on)
    served = share_acquiring.serve(expired.state, on)
    return keep(me, with_effects(served.state, expired, served))


def on_refresh(me: ShareLeader, key: str, on: Context) -> Effects[ShareLeader]:
    """Ask the share coordinator for the outcome of transactional acknowledgements. Status: our inference."""
    share = me.shares[key]
    pending = (offset for offset, _ in share_partition.pending_cells(share))
    looked = acknowledgement_checks.states(share.records, pending)
    return keep(me, share_writes.read(share, "refresh", on)).after(looked)


# -- sessions and leadership -------------------------------------------------------------------


def on_disconnected(me: ShareLeader, source: str, on: Context) -> Effects[ShareLeader]:
    """Release what a member holds, because its connection broke.

    When no member of a group is left on this broker, all its share-partitions are dropped from memory. OPEN: eviction.
    Clause: ShareSessionCache, SharePartitionManager.ShareGroupListenerImpl.
    """
    parts: list[Effects[ShareLeader]] = []
    groups = [me.closed[source]] if source in me.closed else []
    closing = tuple(c for c in me.closing if c.reply_to.source != source)
    me = me.but(closed=me.closed.without(source), closing=closing)
    if me.refused:
        me = me.but(refused=tuple(w for w in me.refused if w.reply_to.source != source))
    for (group_id, member_id), session in me.sessions.items():
        if session.source == source:
            part = _release(me, group_id, member_id, on)
            parts.append(part)
            me = part.state
            groups.append(group_id)
    for group_id in groups:
        if not any(group == group_id for group, _ in me.sessions):
            part = _drop_group(me, group_id, on)
            parts.append(part)
            me = part.state
    return with_effects(me, *parts)


def on_leadership_lost(me: ShareLeader, partition: str, on: Context) -> Effects[ShareLeader]:
    """Drop a share-partition whose source partition has another leader, or none, and respond to its waiting fetches.

    Clause: SharePartitionManager.SharePartitionListener (onBecomingFollower, onDeleted).
    """
    done = Effects(me)
    error, because = deleted_topics.why_lost(partition, on.image)
    moved = moved_check(partition, on, error)
    for key, share in me.shares.items():
        if share.partition == partition:
            done = done if done.checks else done.after((moved,))
            done = drop(done.state, key, because, error, done)
    return done


def drop(
    me: ShareLeader, key: str, because: str, error: Errors, so_far: Effects[ShareLeader]
) -> Effects[ShareLeader]:
    """Drop a share-partition: locks, counts of the unacknowledged, and transactional acknowledgements in memory.

    The object is kept while a response of the share coordinator is outstanding.
    """
    share = me.shares[key]
    gone = share_partition.drop_state(share, because, error)
    if share.status is Status.INITIALIZING and me.waiting:
        me = share_partition.not_loaded(me, share, error)
    left = _leave(me.but(shares=me.shares.without(key)), gone)
    if gone.replies or me.waiting:
        left = left.after((compare("share-partition kept", None, False, False, error),))
    return with_effects(left.state, so_far, left)


def on_image_changed(me: ShareLeader, on: Context) -> Effects[ShareLeader]:
    """Send the requests that waited because the share coordinator's partition had no leader."""
    parts: list[Effects[ShareLeader]] = []
    for share in me.shares.values():
        part = keep(me, share_writes.send(share, on))
        me = part.state
        parts.append(part)
    for share in me.leaving.values():
        part = _leave(me, share_writes.send(share, on))
        me = part.state
        parts.append(part)
    return with_effects(me, *parts)


# -- pieces ------------------------------------------------------------------------------------


def _leave(me: ShareLeader, done: Effects[SharePartition]) -> Effects[ShareLeader]:
    """Keep the rest of a dropped share-partition while its writes are in progress."""
    share = done.state
    place = (share.key, share.incarnation)
    leaving = me.leaving.set(place, share) if share.writes else me.leaving.without(place)
    return done.with_state(me.but(leaving=leaving))


def _asking(me: ShareLeader, key: str, tag: str) -> SharePartition | None:
    """Return the object that sent a request to the share coordinator: the current one or a dropped one."""
    share = me.shares.get(key)
    if share is not None and str(share.incarnation) == tag:
        return share
    return me.leaving.get((key, int(tag)))


def close_session(
    done: Effects[ShareLeader],
    request: ShareFetch | ShareAcknowledge,
    reply_to: ReplyTo,
    on: Context,
) -> Effects[ShareLeader]:
    """Close a session after its last request, once the acknowledgements in it are durable or failed."""
    last = Closing(request.group_id, request.member_id, reply_to)
    return _end_sessions(done.but(state=done.state.but(closing=(*done.state.closing, last))), on)


def _end_sessions(done: Effects[ShareLeader], on: Context) -> Effects[ShareLeader]:
    """End the sessions whose last request no longer waits for the share coordinator.

    The connection is remembered until it breaks; then the broker checks whether the group has another member here.
    """
    me: ShareLeader = done.state
    owed = {
        to for share in me.shares.values() for w in share.writes for to in (w.reply_to, w.fetch)
    }
    for last in me.closing:
        if last.reply_to not in owed:
            left = tuple(c for c in me.closing if c is not last)
            part = _release(me.but(closing=left), last.group_id, last.member_id, on, last.reply_to)
            me = part.state.but(closed=part.state.closed.set(last.reply_to.source, last.group_id))
            done = with_effects(me, done, part)
    return done


def _release(
    me: ShareLeader, group_id: str, member_id: str, on: Context, but: ReplyTo | None = None
) -> Effects[ShareLeader]:
    """End a member's session: its records are released, and its fetches are dropped.

    The fetch that closes the session is still answered.
    """
    me = me.but(sessions=me.sessions.without((group_id, member_id)))
    parts: list[Effects[ShareLeader]] = []
    for share in me.shares.values():
        if share.group_id != group_id:
            continue
        parked = tuple(
            p for p in share.parked if p.request.member_id != member_id or p.reply_to == but
        )
        released = share_writes.release(share.but(parked=parked), member_id, on)
        served = share_acquiring.serve(released.state, on)
        part = keep(me, with_effects(served.state, released, served))
        me = part.state
        parts.append(part)
    return with_effects(me, *parts)


def ensure(
    me: ShareLeader, key: str, group_id: str, partition: str, on: Context
) -> tuple[SharePartition, Effects[SharePartition]]:
    """Return the share-partition; a new one starts to load its durable state."""
    known = me.shares.get(key)
    if known is not None:
        return known, Effects(known)
    epoch = on.image.leaders[partition].epoch
    incarnation = 0
    while (key, incarnation) in me.leaving:
        incarnation += 1
    fresh = SharePartition(key, group_id, partition, epoch, incarnation)
    loading = share_writes.read(fresh, "load", on)
    return loading.state, loading


def _in_memory(said: Sequence[object], known: bool, otherwise: Errors) -> Checks:
    """Check that a share-partition is in memory if the request acknowledges records in it."""
    return (compare("share-partition in memory", None, known, known, otherwise),) if said else ()


def _drop_group(me: ShareLeader, group_id: str, on: Context) -> Effects[ShareLeader]:
    done = Effects(me)
    for key, share in me.shares.items():
        pending = any(r.state is RecordState.TX_PENDING for r in share.records.values())
        if share.group_id == group_id and (not pending or on.rules.eviction()):
            because = "no member of the group is left on this broker"
            done = drop(done.state, key, because, Errors.NOT_LEADER_OR_FOLLOWER, done)
    return done
