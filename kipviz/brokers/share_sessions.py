"""Share sessions: one for each member on each broker, counted by an epoch.

Epoch 0 opens a session, and an older one is forgotten without giving anything back; n goes on; -1
closes. Source: ShareSessionCache, ShareSessionContext (KIP-932 "Share sessions"). A broker that has as many
sessions as it may have refuses another one when the fetch has waited as long as it wants to.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.share_partition import Refused, Session, ShareLeader
from kipviz.messages.errors import Errors
from kipviz.messages.share_groups import (
    ShareAcknowledge,
    ShareFetch,
    ShareFetchResponse,
    next_session_epoch,
)

FINAL_EPOCH = -1
NO_ROOM = "the wait of the fetch of"


def after(
    me: ShareLeader, request: ShareFetch | ShareAcknowledge, reply_to: ReplyTo, on: Context
) -> tuple[ShareLeader, Errors]:
    """Check the session's epoch and move it on (ShareSessionContext).

    A new session takes the place of the member's older one, or of nobody's: live ones stay.
    """
    who, epoch = (request.group_id, request.member_id), request.session_epoch
    known = me.sessions.get(who)
    if epoch == 0:
        first = partitions_after(request, ())
        fresh, others = Session(1, reply_to.source, first), me.sessions.without(who)
        if len(others) >= on.settings.share_sessions_max:
            return me.but(sessions=others), Errors.SHARE_SESSION_LIMIT_REACHED
        return me.but(sessions=me.sessions.set(who, fresh)), Errors.NONE
    if known is None:
        return me, Errors.SHARE_SESSION_NOT_FOUND
    if epoch == FINAL_EPOCH:
        return me, Errors.NONE
    if known.epoch != epoch:
        return me, Errors.INVALID_SHARE_SESSION_EPOCH
    moved = Session(
        next_session_epoch(epoch), reply_to.source, partitions_after(request, known.partitions)
    )
    return me.but(sessions=me.sessions.set(who, moved)), Errors.NONE


def partitions_after(
    request: ShareFetch | ShareAcknowledge, known: tuple[str, ...]
) -> tuple[str, ...]:
    """Give the partitions of a session after a request: what is added comes last (ShareSession.update)."""
    if not isinstance(request, ShareFetch) or request.of_session is None:
        return known
    said = request.of_session
    every = (*known, *(p for p in said.added if p not in known))
    return tuple(p for p in every if p not in said.forgotten)


def kept_waiting(me: ShareLeader, request: ShareFetch, reply_to: ReplyTo) -> Effects:
    """Let a fetch wait for which there is no room, so that its client does not ask again at once.

    Clause: KIP-932 "Share sessions"; KafkaApis.handleShareFetchRequest, createIdleShareFetchTimerTask.
    """
    waits = Refused(request.member_id, request.partition, reply_to)
    return Effects(me.but(refused=(*me.refused, waits)))


def delays(me: ShareLeader) -> tuple[str, ...]:
    """Give the fetches that wait for their refusal: it costs nothing when their time is over."""
    return tuple(f"{NO_ROOM} {waits.member_id}" for waits in me.refused)


def on_delay(me: ShareLeader, delay: str, on: Context) -> Effects:
    """Refuse a fetch that has waited; whether there is room by now is not looked at."""
    waits = next(w for w in me.refused if delay == f"{NO_ROOM} {w.member_id}")
    answer = ShareFetchResponse(Errors.SHARE_SESSION_LIMIT_REACHED, waits.partition)
    left = me.but(refused=tuple(w for w in me.refused if w is not waits))
    return Effects(left, replies=(Reply(waits.reply_to, answer),))
