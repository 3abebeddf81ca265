"""The share consumer: it polls records, holds their acquisition locks, and acknowledges them.

WHO: a client process. WHERE IN KAFKA: KafkaShareConsumer, ShareConsumerImpl, ShareConsumeRequestManager,
  ShareSessionHandler.
KIPS: KIP-932; KIP-1289 (draft) adds shareGroupMetadata().
DURABILITY: none; its member id is new in every process.
PARTS: `share_memory` has its parts, `share_consume_requests` its requests and responses. `share_throws` has the
  exceptions of its calls, `share_member` its membership, if it joins its group in the run.
NOT MODELLED: requests to several brokers at once (one is in flight); wakeup() and poll()'s timeout (it waits for
  records); what deserializers throw; acknowledgements are not sent again, an ambiguous outcome is reported as
  NETWORK_EXCEPTION.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.clients.shares import share_consume_requests as requesting
from kipviz.clients.shares import share_holding
from kipviz.clients.shares.acknowledge_requests import AcknowledgeRequests
from kipviz.clients.shares.current_fetch import CurrentFetch, in_order
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    ShareFetch,
    batches_of,
    batches_of_each,
)

NextPoll = Callable[[tuple[int, ...], tuple[int, ...]], tuple[AcknowledgementBatch, ...]]

# The network thread's functions, under the names that every client has.
next_request, next_broker = requesting.next_request, requesting.next_broker
note_sent, note_features = requesting.note_sent, requesting.note_features
on_response, on_disconnected = requesting.on_response, requesting.on_disconnected
timers, on_timer = requesting.timers, requesting.on_timer


# -- calls of the application thread ----------------------------------------------------------


def poll(me: ShareConsumer, next_poll: NextPoll) -> ShareConsumer:
    """Ask for records, and acknowledge the previous batch. Blocks until there are some.

    In explicit mode it sends the acknowledge() calls, in implicit mode what the design says.
    Source: ShareConsumerImpl.acknowledgeBatchIfImplicitAcknowledgement.
    """
    before = me.current_fetch
    if before.renewed and not before.verdicts:
        again = before.with_renewed.but(staged=())
        return me.but(records=before.renewed, current_fetch=again, done=True)
    if me.subscription.joins and not me.subscription.assigned:
        me = me.but(subscription=me.subscription.but(awaiting=True))
        return _polling(me, before.done_with.but(renewed=()))
    if me.gathers:
        said_of_each = tuple(next_poll(held.batch, held.staged) for held in before.beside)
        me = requesting.owing(me, share_holding.owed_acknowledgements(before.beside, said_of_each))
        before = before.but(beside=())
    if me.explicit:
        said = batches_of_each(before.verdicts)
    else:
        said = next_poll(before.batch, before.staged)
    renewing = before.asked_to_renew(me.records)
    fetch = requesting.fetch_request(me, said)
    # While renewals are in flight, no new records are fetched.
    me = me.but(to_send=fetch.but(max_records=0) if renewing else fetch)
    return _polling(me, before.done_with.but(renewing=renewing))


def _polling(me: ShareConsumer, fetch: CurrentFetch) -> ShareConsumer:
    me = me.but(acknowledging=me.acknowledging.but(error=Errors.NONE))
    return me.but(current_fetch=fetch, records=(), done=False, error="")


def share_group_metadata(me: ShareConsumer) -> ShareConsumer:
    """Take a snapshot of the member id and its epoch; later heartbeats do not change it.

    Clause: KIP-1289 ShareConsumer.shareGroupMetadata(), 'immutable snapshot' (draft).
    """
    return me.but(handover=me.handover.but(snapshot=me.metadata))


def acknowledge(
    me: ShareConsumer, verdicts: tuple[tuple[int, AcknowledgeType], ...]
) -> ShareConsumer:
    """Acknowledge records of the last batch; nothing is sent yet, and a later call replaces an earlier one."""
    fetch, offsets = me.current_fetch, {offset for offset, _ in verdicts}
    kept = tuple(v for v in fetch.verdicts if v[0] not in offsets)
    return me.but(current_fetch=fetch.but(verdicts=tuple(sorted((*kept, *verdicts)))))


def commit_sync(me: ShareConsumer) -> ShareConsumer:
    """Send the acknowledgements and wait until they are durable. Their errors are a result.

    A consumer with a share session accepts its current records, in one request to each broker that delivered some.
    """
    if me.by_session:
        held = me.current_fetch.beside
        said_of_each = tuple(batches_of(h.batch, AcknowledgeType.ACCEPT) for h in held)
        owed = share_holding.owed_acknowledgements(held, said_of_each)
        me = me.but(current_fetch=me.current_fetch.but(beside=()))
        return requesting.commit_next(
            requesting.owing(requesting.with_error(me, Errors.NONE), owed)
        )
    me, said = _take_acknowledged(me)
    me = requesting.with_error(me, Errors.NONE)
    if not said:
        return me.but(done=True)
    if not me.sessions.epoch:
        return requesting.with_error(me, Errors.NETWORK_EXCEPTION).but(done=True)
    return me.but(to_send=requesting.acknowledging(me, said), done=False)


def commit_async(me: ShareConsumer) -> ShareConsumer:
    """Send the acknowledgements and return at once; the callback gets the results.

    An acknowledgement belongs to the session in which its records were delivered, and fails if that is lost.
    Source: ShareConsumeRequestManager.failPendingAcknowledgementsCannotBeSent.
    """
    me, said = _take_acknowledged(me)
    committing = in_order((*me.acknowledging.committing, *said))
    me = me.but(acknowledging=me.acknowledging.but(committing=committing))
    return me if me.sessions.epoch else requesting.without_commit(me)


def close(me: ShareConsumer) -> ShareConsumer:
    """Send the last acknowledgements and close the share session, which releases all held records.

    In implicit mode the last batch is not accepted. Source: ShareConsumeRequestManager.acknowledgeOnClose.
    """
    me, said = _take_acknowledged(me)
    said = in_order((*me.acknowledging.committing, *said))
    me = me.but(
        closed=True,
        current_fetch=me.current_fetch.but(batch=(), renewed=(), beside=()),
        acknowledging=me.acknowledging.but(committing=(), owed=(), error=Errors.NONE),
    )
    if not me.sessions.epoch:
        return requesting.close_next(me) if me.sessions.others else me.but(done=True)
    return me.but(to_send=requesting.closing(me, said), done=False)


def _take_acknowledged(me: ShareConsumer) -> tuple[ShareConsumer, tuple[AcknowledgementBatch, ...]]:
    """Remove the acknowledged records from the batch, and return their acknowledgements with the gaps."""
    fetch = me.current_fetch
    told = {offset for offset, _ in fetch.verdicts}
    batch = tuple(offset for offset in fetch.batch if offset not in told)
    renewing = (*fetch.renewing, *fetch.asked_to_renew(me.records))
    left = fetch.but(verdicts=(), gaps=(), batch=batch, renewing=renewing)
    return me.but(current_fetch=left), fetch.acknowledgements


def assigned_now(
    me: ShareConsumer, partitions: tuple[str, ...], member_epoch: int
) -> ShareConsumer:
    """Apply an assignment; a poll() that waits for it continues.

    Records of revoked partitions stay held, and can still be acknowledged.
    """
    mine = me.subscription
    if not mine.joins or me.closed:
        return me
    if (mine.assigned, me.member_epoch) != (partitions, member_epoch):
        mine = mine.but(assigned=partitions)
        if not partitions and isinstance(me.to_send, ShareFetch):
            me, mine = me.but(to_send=None), mine.but(awaiting=True)
        if not partitions and me.resting:
            me, mine = me.but(resting=False), mine.but(awaiting=True)
        me = me.but(subscription=mine, member_epoch=member_epoch)
    if mine.awaiting and partitions:
        me = me.but(subscription=mine.but(awaiting=False))
        return me.but(to_send=requesting.fetch_request(me, ()))
    return me


def restart(me: ShareConsumer, life: int) -> ShareConsumer:
    """Return the share consumer of the process's next life: it joins under a new member id."""
    stem = me.member_id.partition("#")[0]
    return ShareConsumer(
        me.source,
        me.group_id,
        f"{stem}#{life}",
        me.member_epoch,
        me.partition,
        me.max_records,
        me.explicit,
        me.acquire_mode,
        me.gathers,
        me.by_session,
        me.subscription.anew,
        acknowledging=AcknowledgeRequests(callback=me.acknowledging.callback),
        handover=me.handover.anew,
    )
