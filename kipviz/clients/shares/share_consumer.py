"""The share consumer: polls records, holds them under a lock, says what became of them.

WHO: a client process. WHERE IN KAFKA: KafkaShareConsumer, ShareConsumerImpl,
  ShareConsumeRequestManager, ShareSessionHandler.
KIPS: KIP-932; KIP-1289 (draft) adds shareGroupMetadata().
DURABILITY: none; its member id is new in every process.
PARTS: `share_memory` is its state, `share_holding` what it has in hand of several partitions,
  `share_throws` what its calls refuse, `share_member` its membership, if it joins its group in the run.
NOT MODELLED: requests to several brokers at once (one is on the wire); wakeup() and poll's time limit
  (it waits for records); what deserializers throw; acknowledgements are not sent again, an ambiguous
  outcome is reported as NETWORK_EXCEPTION.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.clients.groups.consumer import NOT_ALLOWED
from kipviz.clients.sessions import session_votes
from kipviz.clients.shares import share_holding
from kipviz.clients.shares.share_holding import Held
from kipviz.clients.shares.share_memory import NOBODY_ASKS, NOT_TOLD, TOLD, Completed, ShareConsumer
from kipviz.clients.transactions.producer_errors import may_be_asked_again
from kipviz.messages.errors import Errors
from kipviz.messages.features import Features
from kipviz.messages.message import Message
from kipviz.messages.producing import FetchedRecord
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    FetchedPartition,
    PartitionAcknowledgements,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
    batches_of,
    batches_of_each,
    next_session_epoch,
)

NextPoll = Callable[[tuple[int, ...], tuple[int, ...]], tuple[AcknowledgementBatch, ...]]
FETCH_WAIT = "the fetch wait"
FINAL_EPOCH = -1
SESSION_ERRORS = (Errors.SHARE_SESSION_NOT_FOUND, Errors.INVALID_SHARE_SESSION_EPOCH)


# -- calls of the application thread ----------------------------------------------------------


def poll(me: ShareConsumer, next_poll: NextPoll) -> ShareConsumer:
    """Ask for records and say what became of the batch before. Blocks until there are some.

    In explicit mode that is what acknowledge() said, in implicit mode what the design has.
    Source: ShareConsumerImpl.acknowledgeBatchIfImplicitAcknowledgement.
    """
    if me.renewed and not me.verdicts:
        kept = me.renewed
        return me.but(
            records=kept, batch=tuple(r.offset for r in kept), renewed=(), staged=(), done=True
        )
    if me.member and not me.assigned:
        me = me.but(awaiting=True, batch=(), staged=(), verdicts=(), gaps=(), renewed=())
        return me.but(records=(), acknowledge_error=Errors.NONE, done=False, error="")
    if me.gathers:
        said_of_each = tuple(next_poll(held.batch, held.staged) for held in me.beside)
        me = me.but(owed=share_holding.owed(me.beside, said_of_each), beside=())
    said = batches_of_each(me.verdicts) if me.explicit else next_poll(me.batch, me.staged)
    renewing = _renewing(me)
    fetch = _fetch(me, said)
    # While renewals are on their way no new records are asked for.
    me = me.but(to_send=fetch.but(max_records=0) if renewing else fetch, renewing=renewing)
    me = me.but(batch=(), staged=(), verdicts=(), gaps=())
    return me.but(records=(), acknowledge_error=Errors.NONE, done=False, error="")


def share_group_metadata(me: ShareConsumer) -> ShareConsumer:
    """Take down the member id and its epoch as they are now; they stay so whatever the heartbeats bring.

    Clause: KIP-1289 ShareConsumer.shareGroupMetadata(), 'immutable snapshot' (draft).
    """
    return me.but(snapshot=(me.member_id, me.member_epoch))


def acknowledge(
    me: ShareConsumer, verdicts: tuple[tuple[int, AcknowledgeType], ...]
) -> ShareConsumer:
    """Say what became of records of the last batch; nothing is sent yet, the last word counts."""
    offsets = {offset for offset, _ in verdicts}
    kept = tuple(v for v in me.verdicts if v[0] not in offsets)
    return me.but(verdicts=tuple(sorted((*kept, *verdicts))))


def commit_sync(me: ShareConsumer) -> ShareConsumer:
    """Send what acknowledge() said and wait until it is durable. Its errors are a result.

    Who reads by session accepts what is in hand, in one request to each broker that delivered some.
    """
    if me.by_session:
        said_of_each = tuple(batches_of(h.batch, AcknowledgeType.ACCEPT) for h in me.beside)
        owed = share_holding.owed(me.beside, said_of_each)
        return _commit_next(me.but(owed=owed, beside=(), acknowledge_error=Errors.NONE))
    me, said = _taken(me)
    me = me.but(acknowledge_error=Errors.NONE)
    if not said:
        return me.but(done=True)
    if not me.session_epoch:
        return me.but(done=True, acknowledge_error=Errors.NETWORK_EXCEPTION)
    return me.but(to_send=_acknowledging(me, said), done=False)


def _commit_next(me: ShareConsumer) -> ShareConsumer:
    """Send what is owed to one broker; the call has ended when nothing is owed to any.

    Where the session is lost, or another broker leads the partition, there is nobody to say it to.
    """
    if not me.owed:
        return me.but(done=True)
    broker = me.owed[0].broker
    mine = tuple(each for each in me.owed if each.broker == broker)
    me = me.but(owed=tuple(each for each in me.owed if each.broker != broker))
    here = broker == me.session_broker
    epoch = me.session_epoch if here else next((e for b, e, _ in me.sessions if b == broker), 0)
    if not epoch:
        for each in mine:
            said, error = each.acknowledgements, Errors.NETWORK_EXCEPTION
            me = _completed(me, said, error, each.partition)
        return _commit_next(me)
    (first, batches), *others = ((each.partition, each.acknowledgements) for each in mine)
    request = ShareAcknowledge(me.group_id, me.member_id, epoch, first, batches, broker)
    several = tuple(PartitionAcknowledgements(p, said) for p, said in others)
    return me.but(to_send=request.but(others=several), done=False)


def commit_async(me: ShareConsumer) -> ShareConsumer:
    """Send what acknowledge() said, and come back at once; the callback is told what it came to.

    An acknowledgement belongs to the session in which its records came: where that is lost it fails.
    Source: ShareConsumeRequestManager.failPendingAcknowledgementsCannotBeSent.
    """
    me, said = _taken(me)
    me = me.but(committing=tuple(sorted((*me.committing, *said), key=_first)))
    return me if me.session_epoch else _without_commit(me)


def close(me: ShareConsumer) -> ShareConsumer:
    """Say the last word and close the share session: what is held is given back at once.

    In implicit mode the last batch is not accepted. Source: ShareConsumeRequestManager.acknowledgeOnClose.
    """
    me, said = _taken(me)
    said = tuple(sorted((*me.committing, *said), key=_first))
    me = me.but(closed=True, batch=(), renewed=(), committing=(), acknowledge_error=Errors.NONE)
    me = me.but(beside=(), owed=())
    if not me.session_epoch:
        return _close_next(me) if me.sessions else me.but(done=True)
    last = _acknowledging(me, said).but(session_epoch=FINAL_EPOCH)
    return me.but(to_send=last, done=False)


def _acknowledging(me: ShareConsumer, said: tuple[AcknowledgementBatch, ...]) -> ShareAcknowledge:
    """Give a request to the broker that the records are from."""
    return ShareAcknowledge(
        me.group_id, me.member_id, me.session_epoch, me.partition, said, me.session_broker
    )


def _close_next(me: ShareConsumer) -> ShareConsumer:
    """Close the session with another broker; the call has ended when all are closed."""
    (broker, _, partition), *rest = me.sessions
    last = ShareAcknowledge(me.group_id, me.member_id, FINAL_EPOCH, partition, (), broker)
    return me.but(to_send=last, sessions=tuple(rest), done=False)


def _taken(me: ShareConsumer) -> tuple[ShareConsumer, tuple[AcknowledgementBatch, ...]]:
    """Take what acknowledge() said so far out of the batch, together with the gaps."""
    said = tuple(sorted((*batches_of_each(me.verdicts), *_gap_batches(me)), key=_first))
    told = {offset for offset, _ in me.verdicts}
    batch = tuple(offset for offset in me.batch if offset not in told)
    renewing = (*me.renewing, *_renewing(me))
    return me.but(verdicts=(), gaps=(), batch=batch, renewing=renewing), said


def _renewing(me: ShareConsumer) -> tuple[FetchedRecord, ...]:
    """Give the records for which acknowledge() asked for more time."""
    asked = {offset for offset, kind in me.verdicts if kind is AcknowledgeType.RENEW}
    return tuple(r for r in me.records if r.offset in asked) if asked else ()


# -- the network thread -------------------------------------------------------------------------


def connected(me: ShareConsumer, features: Features) -> ShareConsumer:
    """Learn from a new connection (ApiVersions) whether the cluster has KIP-1289, if anybody asks."""
    if me.staging_told == NOBODY_ASKS:
        return me
    return me.but(staging_told=TOLD if features.staging else NOT_TOLD)


def next_request(me: ShareConsumer) -> Message | None:
    """Give what the network thread puts on the wire next, or None; votes go before anything else."""
    if isinstance(me.on_wire, TxnShareAcknowledge):
        return None
    if me.voting is not None and me.on_wire is None:
        return me.voting
    if me.in_background:
        return None
    if me.committing and me.session_epoch:
        return _acknowledging(me, me.committing)
    return me.to_send


def sent(me: ShareConsumer, request: Message, broker: int) -> tuple[ShareConsumer, Message]:
    """Note that a request is on the wire, as it goes out to that broker."""
    if isinstance(request, TxnShareAcknowledge):
        rest = session_votes.taken(me)
        return rest.but(on_wire=request, on_wire_broker=broker), request
    if me.committing and isinstance(request, ShareAcknowledge):
        me = me.but(committing=(), in_background=True)
        return me.but(on_wire=request, on_wire_broker=broker), request
    wanted = me.to_send
    me = _with_session_of(me, broker)
    if me.by_session and isinstance(wanted, ShareFetch) and isinstance(request, ShareFetch):
        return _sent_by_session(me, wanted, request, broker)
    request = _addressed(me, request, broker)
    if isinstance(wanted, ShareFetch) and isinstance(request, ShareFetch) and me.assigned:
        left = tuple(p for p in wanted.further if p not in request.further)
        me = me.but(asking=left, asked=request.partition)
        me = me.but(owed=tuple(o for o in me.owed if o.partition != request.partition))
    me = me.but(to_send=None, on_wire=request, on_wire_broker=broker)
    if isinstance(request, ShareFetch) and not request.session_epoch:
        return me.but(session_epoch=0, session_broker=broker), request
    return me, request


def _sent_by_session(
    me: ShareConsumer, wanted: ShareFetch, request: ShareFetch, broker: int
) -> tuple[ShareConsumer, ShareFetch]:
    """Ask a broker for all partitions that it leads, and wait there if it leads all there are."""
    mine = (request.partition, *request.further)
    sessions = dict(me.in_session)
    known = sessions.get(broker, ()) if me.session_epoch else None
    said, lost, owed = share_holding.of_session(mine, known, me.owed, broker)
    for each in lost:
        here = each.broker == broker and each.partition in mine
        error = Errors.NETWORK_EXCEPTION if here else Errors.NOT_LEADER_OR_FOLLOWER
        me = _completed(me, each.acknowledgements, error, each.partition)
    left = tuple(p for p in wanted.further if p not in mine)
    request = request.but(session_epoch=me.session_epoch, further=(), of_session=said)
    request = request.but(acknowledgements=(), wait=len(mine) == len(me.assigned))
    told = tuple(sorted({**sessions, broker: mine}.items()))
    me = me.but(asking=left, asked=request.partition, owed=owed, in_session=told)
    return me.but(to_send=None, on_wire=request, on_wire_broker=broker), request


def _with_session_of(me: ShareConsumer, broker: int) -> ShareConsumer:
    """Take up the session with a broker: there is one for each, with an epoch of its own."""
    if broker == me.session_broker or not me.assigned:
        return me
    epoch = next((s[1] for s in me.sessions if s[0] == broker), 0)
    others = tuple(s for s in me.sessions if s[0] != broker)
    if me.session_epoch:
        others = tuple(sorted((*others, (me.session_broker, me.session_epoch, me.asked))))
    return me.but(session_broker=broker, session_epoch=epoch, sessions=others)


def _addressed(me: ShareConsumer, request: Message, broker: int) -> Message:
    """Give the request as it goes to a broker: where there is no session it opens one.

    Acknowledgements belong to the session in which the records were delivered.
    """
    if not isinstance(request, ShareFetch):
        return request
    if me.gathers:
        owed = share_holding.for_fetch(me.owed, request.partition, broker)
        told = owed if me.session_epoch else ()
        return request.but(session_epoch=me.session_epoch, acknowledgements=told, further=())
    if me.assigned:
        goes_along = me.session_epoch and broker == me.delivered_by
        told = request.acknowledgements if goes_along else ()
        return request.but(session_epoch=me.session_epoch, acknowledgements=told)
    if not request.session_epoch:
        return request
    if me.session_epoch and me.session_broker == broker:
        return request.but(session_epoch=me.session_epoch)
    return request.but(session_epoch=0, acknowledgements=())


def on_response(me: ShareConsumer, answer: Message) -> ShareConsumer:
    """Take the records, or open a new session where this one is not known any more."""
    request = me.on_wire
    me = me.but(on_wire=None, on_wire_broker=-1)
    if isinstance(answer, TxnShareAcknowledgeResponse):
        assert isinstance(request, TxnShareAcknowledge), type(request)
        if may_be_asked_again(request, answer.error):
            return session_votes.again(me, request)
        return session_votes.answered(me, request, answer.error)
    if isinstance(answer, ShareAcknowledgeResponse):
        unknown = answer.error in SESSION_ERRORS
        # It would be sent again, and a ShareAcknowledge opens no session: it cannot be sent any more.
        error = Errors.NETWORK_EXCEPTION if unknown else answer.error
        lost = unknown or me.closed
        me = _acknowledged(me, request, error, answer)
        me = me.but(session_epoch=0 if lost else next_session_epoch(me.session_epoch))
        if me.by_session and not me.closed:
            return _commit_next(me)
        if lost:
            me = _without_commit(me)
        if me.in_background:
            return me.but(in_background=False)
        me = me.but(acknowledge_error=error)
        return _close_next(me) if me.closed and me.sessions else me.but(done=True)
    assert isinstance(answer, ShareFetchResponse), type(answer)
    if answer.error in NOT_ALLOWED:
        me = _acknowledged(me, request, answer.error)
        return me.but(done=True, error=f"ShareFetch: {answer.error.name}")
    if answer.error is not Errors.NONE:
        return _reopen(_acknowledged(me, request, Errors.NETWORK_EXCEPTION))
    if me.by_session:
        assert isinstance(request, ShareFetch), type(request)
        return _answered_by_session(me, request, answer)
    fresh = share_holding.fresh(answer, me.session_broker)
    if answer.refused and not fresh.batch:
        # What was found comes first; the error is thrown by the poll that finds nothing else.
        me = me.but(session_epoch=next_session_epoch(me.session_epoch))
        return me.but(done=True, error=f"ShareFetch: {Errors.TOPIC_AUTHORIZATION_FAILED.name}")
    me = _acknowledged(me, request, answer.acknowledge_error).but(
        session_epoch=next_session_epoch(me.session_epoch),
        acknowledge_error=answer.acknowledge_error,
        gaps=fresh.gaps,
    )
    if me.renewed:
        kept = me.renewed
        return me.but(records=kept, batch=tuple(r.offset for r in kept), renewed=(), done=True)
    if me.gathers:
        me = _beside(me, fresh, answer).but(gaps=())
        return _ask_the_rest(me.but(partition=answer.partition, delivered_by=me.session_broker))
    if fresh.batch:
        if me.assigned or me.member:
            me = me.but(partition=answer.partition, delivered_by=me.session_broker, asking=())
        return me.but(records=answer.records, batch=fresh.batch, done=True)
    if not (me.assigned or me.member):
        return me.but(to_send=_fetch(me, ()), gaps=())
    return _ask_on(me.but(partition=answer.partition, delivered_by=me.session_broker))


def _beside(
    me: ShareConsumer, fresh: Held, part: FetchedPartition | ShareFetchResponse
) -> ShareConsumer:
    """Put what a partition had to the rest."""
    if not (fresh.batch or fresh.gaps):
        return me
    return me.but(beside=(*me.beside, fresh), records=(*me.records, *part.records))


def _answered_by_session(
    me: ShareConsumer, request: ShareFetch, answer: ShareFetchResponse
) -> ShareConsumer:
    """Take what is said of each partition: an error of one does not touch the others.

    A partition that is led elsewhere is asked for there next time; a topic that may not be read is
    thrown by a poll that has found nothing else. Source: handleShareFetchSuccess.
    """
    me = me.but(session_epoch=next_session_epoch(me.session_epoch))
    me = _acknowledged(me, request, Errors.NONE, answer)
    for part in answer.fetched:
        me = _beside(me, share_holding.fresh(part, me.session_broker), part)
    if not me.records and any(part.error in NOT_ALLOWED for part in answer.fetched):
        refused = Errors.TOPIC_AUTHORIZATION_FAILED.name
        return me.but(done=True, error=f"ShareFetch: {refused}", asking=())
    if request.wait and not me.beside:
        return _again(me)
    return _ask_the_rest(me.but(partition=request.partition, delivered_by=me.session_broker))


def _ask_the_rest(me: ShareConsumer) -> ShareConsumer:
    """Ask the next one of what is left; after the last one poll() comes back, or begins again."""
    if me.asking:
        following = _fetch(me, ()).but(partition=me.asking[0], further=me.asking[1:])
        return me.but(to_send=following)
    if me.records:
        return me.but(done=True)
    if me.beside:  # gaps alone: they are said with the next fetches
        nothing = tuple(() for _ in me.beside)
        return _again(me.but(owed=share_holding.owed(me.beside, nothing), beside=()))
    return me.but(resting=True)


def assigned_now(
    me: ShareConsumer, partitions: tuple[str, ...], member_epoch: int
) -> ShareConsumer:
    """Take over what is assigned; a poll() that waits for it goes on.

    What is held of partitions that are gone stays held, and can still be acknowledged.
    """
    if not me.member or me.closed:
        return me
    if (me.assigned, me.member_epoch) != (partitions, member_epoch):
        me = me.but(assigned=partitions, member_epoch=member_epoch)
        if not partitions and isinstance(me.to_send, ShareFetch):
            me = me.but(to_send=None, awaiting=True)
        if not partitions and me.resting:
            me = me.but(resting=False, awaiting=True)
    if me.awaiting and partitions:
        me = me.but(awaiting=False)
        return me.but(to_send=_fetch(me, ()))
    return me


def _again(me: ShareConsumer) -> ShareConsumer:
    """Fetch again, or wait for partitions where there are none; what was gathered is enough."""
    if me.gathers and me.records:
        return me.but(done=True, to_send=None, asking=())
    if me.member and not me.assigned:
        return me.but(awaiting=True, to_send=None)
    return me.but(to_send=_fetch(me, ()))


def _ask_on(me: ShareConsumer) -> ShareConsumer:
    """Ask the next broker, or rest where every one of them had nothing."""
    if me.gaps:
        return _again(me).but(gaps=(), asking=())
    if me.member and not me.assigned:
        return _again(me)
    if me.asking:
        following = _fetch(me, ()).but(partition=me.asking[0], further=me.asking[1:])
        return me.but(to_send=following)
    return me.but(resting=True)


def timers(me: ShareConsumer) -> tuple[str, ...]:
    """Give the timers that are set: they cost nothing and may run out at any moment."""
    return (FETCH_WAIT,) if me.resting else ()


def on_timer(me: ShareConsumer, timer: str) -> ShareConsumer:
    """Ask all brokers again for new records."""
    assert timer == FETCH_WAIT, timer
    return _again(me.but(resting=False))


def _acknowledged(
    me: ShareConsumer,
    request: Message | None,
    error: Errors,
    answer: ShareFetchResponse | ShareAcknowledgeResponse | None = None,
) -> ShareConsumer:
    """Note what the acknowledgements of a request came to; what was renewed comes back by poll().

    The answer to a fetch of a session says of each partition what its acknowledgements came to.
    """
    assert isinstance(request, ShareFetch | ShareAcknowledge), type(request)
    if me.renewing:
        me = me.but(renewing=(), renewed=me.renewing if error is Errors.NONE else ())
    if me.by_session:
        results = _results(answer)
        for said in _said_of_each(request):
            came_to = results.get(said.partition, error)
            me = _completed(me, said.acknowledgements, came_to, said.partition)
        return me
    return _completed(me, request.acknowledgements, error)


def _said_of_each(request: ShareFetch | ShareAcknowledge) -> tuple[PartitionAcknowledgements, ...]:
    if isinstance(request, ShareAcknowledge):
        return request.parts
    return request.of_session.acknowledgements if request.of_session is not None else ()


def _results(answer: ShareFetchResponse | ShareAcknowledgeResponse | None) -> dict[str, Errors]:
    """Give what the acknowledgements of each partition came to, as far as an answer says it."""
    if isinstance(answer, ShareFetchResponse):
        return {part.partition: part.acknowledge_error for part in answer.fetched}
    return dict(answer.of_each) if answer is not None and answer.others else {}


def _completed(
    me: ShareConsumer, said: tuple[AcknowledgementBatch, ...], error: Errors, partition: str = ""
) -> ShareConsumer:
    """Note an error of acknowledgements, and what the callback is to be told."""
    if partition and error is not Errors.NONE:
        me = me.but(acknowledge_error=error)
    if not me.callback or not said:
        return me
    return me.but(completed=(*me.completed, Completed(said, error, partition)))


def on_disconnected(me: ShareConsumer, broker: int) -> ShareConsumer:
    """The share session is gone with its connection; acknowledgements on the wire are lost."""
    if isinstance(me.on_wire, TxnShareAcknowledge) and me.on_wire_broker == broker:
        epoch = 0 if broker == me.session_broker else me.session_epoch
        lost = session_votes.again(me, me.on_wire)
        return lost.but(on_wire=None, on_wire_broker=-1, session_epoch=epoch)
    if me.on_wire is not None and me.on_wire_broker == broker:
        fetching = isinstance(me.on_wire, ShareFetch)
        me = _acknowledged(me, me.on_wire, Errors.NETWORK_EXCEPTION)
        me = me.but(on_wire=None, on_wire_broker=-1)
        if fetching:
            return _reopen(me)
        me = _without_commit(me)
        if me.by_session and not me.closed:
            return _commit_next(me.but(session_epoch=0))
        if me.in_background:
            return me.but(session_epoch=0, in_background=False)
        return me.but(session_epoch=0, acknowledge_error=Errors.NETWORK_EXCEPTION, done=True)
    if broker == me.session_broker:
        return _unsent(me).but(session_epoch=0)
    if not me.sessions:
        return me
    return me.but(sessions=tuple(s for s in me.sessions if s[0] != broker))


def _unsent(me: ShareConsumer) -> ShareConsumer:
    """Give up what was not sent yet: it belongs to the session that is gone."""
    if isinstance(me.to_send, ShareAcknowledge):
        me = _acknowledged(me, me.to_send, Errors.NETWORK_EXCEPTION)
        me = me.but(to_send=None, acknowledge_error=Errors.NETWORK_EXCEPTION, done=True)
    return _without_commit(me)


def _without_commit(me: ShareConsumer) -> ShareConsumer:
    """Give up a commitAsync() that was not sent yet; no request but a fetch opens a session."""
    if not me.committing:
        return me
    me = _acknowledged(me, _acknowledging(me, me.committing), Errors.NETWORK_EXCEPTION)
    return me.but(committing=())


def restarted(me: ShareConsumer, life: int) -> ShareConsumer:
    """Give the share consumer of the process's next life: it joins under a new member id."""
    stem = me.member_id.partition("#")[0]
    return ShareConsumer(
        me.source,
        me.group_id,
        f"{stem}#{life}",
        me.member_epoch,
        me.partition,
        me.max_records,
        me.explicit,
        acquire_mode=me.acquire_mode,
        callback=me.callback,
        assigned=() if me.member else me.assigned,
        member=me.member,
        gathers=me.gathers,
        by_session=me.by_session,
        staging_told=NOBODY_ASKS if me.staging_told == NOBODY_ASKS else TOLD,
    )


def _reopen(me: ShareConsumer) -> ShareConsumer:
    me = me.but(session_epoch=0, acknowledge_error=Errors.NETWORK_EXCEPTION, renewing=())
    return _again(_without_commit(me))


def _fetch(me: ShareConsumer, said: tuple[AcknowledgementBatch, ...]) -> ShareFetch:
    said = tuple(sorted((*said, *_gap_batches(me)), key=_first)) if me.session_epoch else ()
    first, *further = (me.partition,) if not me.assigned else _turn(me, stays=bool(said))
    return ShareFetch(
        me.group_id,
        me.member_id,
        me.session_epoch,
        first,
        me.max_records,
        said,
        me.acquire_mode,
        tuple(further),
        not (me.assigned or me.member),
    )


def _turn(me: ShareConsumer, *, stays: bool) -> tuple[str, ...]:
    """Give the partitions in the order in which they are asked: everyone has its turn.

    Acknowledgements go along for the first one, so it stays where it is while there are some.
    """
    at = me.assigned.index(me.partition) if me.partition in me.assigned else -1
    at += not stays and me.delivered_by >= 0
    return (*me.assigned[at:], *me.assigned[:at])


def _gap_batches(me: ShareConsumer) -> tuple[AcknowledgementBatch, ...]:
    return batches_of(me.gaps, AcknowledgeType.GAP)


def _first(batch: AcknowledgementBatch) -> int:
    return batch.first
