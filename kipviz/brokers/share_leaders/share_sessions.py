"""Share sessions: one for each member on each broker, counted by an epoch.

Epoch 0 opens a session, and an older one is dropped without releasing its records; n continues; -1 closes. Source:
ShareSessionCache, ShareSessionContext (KIP-932 "Share sessions"). A broker with the maximum number of sessions rejects
another one when the fetch has waited for its maximum time.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import Check, Checks, compare, error_of, in_order
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.share_leaders.share_partition import Refused, Session, ShareLeader
from kipviz.brokers.timers import RefusedFetchWait
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    ShareAcknowledge,
    ShareFetch,
    ShareFetchResponse,
    next_session_epoch,
)

OPENS, FINAL_EPOCH = 0, -1


def form_checks(request: ShareFetch) -> tuple[Check, ...]:
    """Check that a fetch does not contradict itself, before its session is checked.

    A request that renews locks fetches no records, and a session's first request acknowledges nothing. Source:
    KafkaApis.handleShareFetchRequest, SharePartitionManager.newContext.
    """
    error = Errors.INVALID_REQUEST
    batches = tuple(b for part in request.partitions for b in part.acknowledgements)
    if any(b.type == AcknowledgeType.RENEW for b in batches):
        most = request.max_records
        renews = compare("records requested with a renewal", most, 0, most <= 0, error)
        if most > 0:
            return (renews,)
    if not batches:
        return ()
    is_open = request.session_epoch != OPENS
    return (compare("session is open", None, is_open, is_open, error),)


@in_order
def _session_checks(
    known: Session | None, others: int, request: ShareFetch | ShareAcknowledge, on: Context
) -> Iterator[Check]:
    epoch = request.session_epoch
    if epoch == OPENS:
        if isinstance(request, ShareAcknowledge):
            error = Errors.INVALID_SHARE_SESSION_EPOCH
            yield compare("session epoch", epoch, None, False, error)
        most, error = on.settings.share_sessions_max, Errors.SHARE_SESSION_LIMIT_REACHED
        yield compare("share sessions", most, others, others < most, error)
        return
    found = request.member_id if known is not None else None
    there, error = known is not None, Errors.SHARE_SESSION_NOT_FOUND
    yield compare("share session", request.member_id, found, there, error)
    assert known is not None
    if epoch != FINAL_EPOCH:
        error = Errors.INVALID_SHARE_SESSION_EPOCH
        yield compare("session epoch", epoch, known.epoch, known.epoch == epoch, error)


def after(
    me: ShareLeader, request: ShareFetch | ShareAcknowledge, reply_to: ReplyTo, on: Context
) -> tuple[ShareLeader, Checks]:
    """Check the session's epoch and advance it (ShareSessionContext).

    A new session replaces the member's older one, never another member's: live sessions stay. Only a fetch opens one.
    Which partitions a session has is stored by `with_partitions`.
    """
    who, epoch = (request.group_id, request.member_id), request.session_epoch
    known, others = me.sessions.get(who), me.sessions
    if epoch == OPENS and isinstance(request, ShareFetch):
        others = me.sessions.without(who)
    checks = _session_checks(known, len(others), request, on)
    if error_of(checks) is not Errors.NONE:
        return me.but(sessions=others), checks
    if epoch == FINAL_EPOCH:
        return me, checks
    if epoch == OPENS:
        fresh = Session(1, reply_to.source)
        return me.but(sessions=me.sessions.set(who, fresh)), checks
    assert known is not None
    moved = Session(next_session_epoch(epoch), reply_to.source, known.partitions)
    return me.but(sessions=me.sessions.set(who, moved)), checks


def with_partitions(me: ShareLeader, request: ShareFetch) -> ShareLeader:
    """Store which partitions a session has after a request: new ones come last (ShareSession.update).

    A request that closes its session changes none.
    """
    if request.session_epoch == FINAL_EPOCH or not (request.partitions or request.forgotten):
        return me
    who = (request.group_id, request.member_id)
    session = me.sessions[who]
    known = session.partitions
    every = (*known, *(p for p in request.names if p not in known))
    left = tuple(p for p in every if p not in request.forgotten)
    return me.but(sessions=me.sessions.set(who, session.but(partitions=left)))


def keep_waiting(me: ShareLeader, request: ShareFetch, reply_to: ReplyTo) -> Effects[ShareLeader]:
    """Keep a fetch waiting for which there is no room, so that its client does not retry at once.

    Clause: KIP-932 "Share sessions"; KafkaApis.handleShareFetchRequest, createIdleShareFetchTimerTask.
    """
    waits = Refused(request.member_id, reply_to)
    return Effects(me.but(refused=(*me.refused, waits)))


def delays(me: ShareLeader) -> tuple[RefusedFetchWait, ...]:
    """Return the fetches that wait for their rejection; the end of the wait costs no fault budget."""
    return tuple(RefusedFetchWait(waits.member_id) for waits in me.refused)


def on_delay(me: ShareLeader, delay: RefusedFetchWait, on: Context) -> Effects[ShareLeader]:
    """Reject a fetch that has waited, without checking whether there is room by now."""
    waits = next(w for w in me.refused if delay.member_id == w.member_id)
    error = Errors.SHARE_SESSION_LIMIT_REACHED
    checks = (Check("no room when it arrived", None, True, error),)
    answer = ShareFetchResponse(error)
    left = me.but(refused=tuple(w for w in me.refused if w is not waits))
    return Effects(left, replies=(Reply(waits.reply_to, answer),), checks=checks)
