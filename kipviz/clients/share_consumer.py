"""The share consumer: polls records, holds them under a lock, says what became of them.

WHO: a client process. WHERE IN KAFKA: KafkaShareConsumer, ShareConsumerImpl,
  ShareConsumeRequestManager, ShareSessionHandler.
KIPS: KIP-932; KIP-1289 (draft) adds shareGroupMetadata().
DURABILITY: none; its member id is new in every process.
PARTS: `share_member` is its membership, if it joins its group in the run; `share_holding` is what it
  has in hand of several partitions.
NOT MODELLED: requests to several brokers at once (one is on the wire); wakeup() and poll's time limit
  (it waits for records); what deserializers throw; acknowledgements are not sent again, an ambiguous
  outcome is reported as NETWORK_EXCEPTION.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.clients import share_holding
from kipviz.clients.consumer import NOT_ALLOWED
from kipviz.clients.producer_errors import may_be_asked_again
from kipviz.clients.share_holding import Held, Owed
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.features import Features
from kipviz.messages.message import Message
from kipviz.messages.producing import FetchedRecord
from kipviz.messages.share_groups import (
    BATCH_OPTIMIZED,
    AcknowledgementBatch,
    AcknowledgeType,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
    batches_of,
    batches_of_each,
)

NextPoll = Callable[[tuple[int, ...], tuple[int, ...]], tuple[AcknowledgementBatch, ...]]
FETCH_WAIT = "the fetch wait"
FINAL_EPOCH = -1
NO_SNAPSHOT = ("", -1)
NOBODY_ASKS, NOT_TOLD, TOLD = -1, 0, 1
SESSION_ERRORS = (Errors.SHARE_SESSION_NOT_FOUND, Errors.INVALID_SHARE_SESSION_EPOCH)


class Completed(Value, frozen=True):
    """What acknowledgements came to, for the application's callback."""

    acknowledgements: tuple[AcknowledgementBatch, ...]
    error: Errors


class ShareConsumer(Part, frozen=True, dict=True):
    """What the share consumer holds between two calls.

    `explicit` is share.acknowledgement.mode. `batch` are the offsets of the last poll, `staged`
    those that were staged through a producer, `verdicts` what acknowledge() said of the others,
    `gaps` acquired offsets without a record. `acknowledge_error` is what the acknowledgements
    sent last came to. `voting` is what acknowledgeTransactionally() has to send (KIP-1310, draft),
    `vote_error` what the last one came to. Records that are being renewed come back by the poll
    after the broker has said yes (`renewing`, `renewed`); `committing` is what commitAsync() has to
    send, and `completed` what the callback has not been told yet. A consumer of several partitions
    has them in `assigned`; `partition` is where the records of the last poll() are from, and
    `delivered_by` the broker. `sessions` are (broker, epoch, partition) of the sessions with other
    brokers, and `asked` is the partition that the present one was asked for. It asks one broker
    after the other, without waiting there, and rests when none has anything. One that is a `member`
    is told by its group's coordinator what it has, and may be `awaiting` that. `dropped` are votes of
    its own that were refused, noted for one step; poll() `waits_for_staging`. One that `gathers` comes
    back from poll() with what all its partitions have; that is in `beside`, `batch` stays empty, and
    `owed` is said of each partition with its next fetch. `snapshot` is what shareGroupMetadata() gave
    last, a member id and its epoch; a program has no variables of its own. `staging_told` is whether the last
    new connection told of a level that has KIP-1289, 1 before there is one, -1 where nobody asks.
    """

    source: str
    group_id: str
    member_id: str
    member_epoch: int
    partition: str
    max_records: int
    explicit: bool = False
    session_epoch: int = 0
    session_broker: int = -1
    batch: tuple[int, ...] = ()
    staged: tuple[int, ...] = ()
    verdicts: tuple[tuple[int, AcknowledgeType], ...] = ()
    gaps: tuple[int, ...] = ()
    to_send: Message | None = None
    on_wire: Message | None = None
    on_wire_broker: int = -1
    records: tuple[FetchedRecord, ...] = ()
    acknowledge_error: Errors = Errors.NONE
    done: bool = False
    voting: TxnShareAcknowledge | None = None
    vote_error: Errors = Errors.NONE
    error: str = ""
    acquire_mode: int = BATCH_OPTIMIZED
    callback: bool = False
    renewing: tuple[FetchedRecord, ...] = ()
    renewed: tuple[FetchedRecord, ...] = ()
    committing: tuple[AcknowledgementBatch, ...] = ()
    in_background: bool = False
    completed: tuple[Completed, ...] = ()
    closed: bool = False
    assigned: tuple[str, ...] = ()
    sessions: tuple[tuple[int, int, str], ...] = ()
    asked: str = ""
    delivered_by: int = -1
    asking: tuple[str, ...] = ()
    resting: bool = False
    member: bool = False
    awaiting: bool = False
    dropped: tuple[TxnShareAcknowledge, ...] = ()
    waits_for_staging: bool = False
    gathers: bool = False
    beside: tuple[Held, ...] = ()
    owed: tuple[Owed, ...] = ()
    snapshot: tuple[str, int] = NO_SNAPSHOT
    staging_told: int = NOBODY_ASKS

    @property
    def held(self) -> tuple[Held, ...]:
        """What is in hand of each partition, and what of it was said or staged already."""
        if self.gathers:
            return self.beside
        said = (*self.staged, *(offset for offset, _ in self.verdicts))
        return (Held(self.partition, self.delivered_by, self.batch, said, self.gaps),)

    @property
    def in_hand(self) -> tuple[int | str, ...]:
        """The records of the last poll(): offsets, or names where they are of several partitions."""
        if not self.gathers:
            return self.batch
        return tuple(f"{held.partition}@{offset}" for held in self.beside for offset in held.batch)


# -- calls of the application thread ----------------------------------------------------------


def why_closed(me: ShareConsumer) -> str | None:
    """Say why any call throws: nothing can be asked of a consumer that was closed."""
    return "IllegalStateException: this consumer has already been closed" if me.closed else None


def why_no_metadata(me: ShareConsumer) -> str | None:
    """Say why shareGroupMetadata() throws: the cluster does not have KIP-1289, as far as is known.

    Which connection tells that is our inference. Clause: KIP-1289 ShareConsumer javadoc (draft).
    """
    if me.staging_told == NOT_TOLD:
        return "UnsupportedVersionException: no connection has told of a level with KIP-1289"
    return None


def why_no_acknowledge(me: ShareConsumer, offset: int | None) -> str | None:
    """Say why acknowledge() throws: in implicit mode, or for a record that is not of this batch."""
    if not me.explicit:
        return "IllegalStateException: implicit acknowledgement of delivery is being used"
    if offset is not None and offset not in me.batch:
        return "IllegalStateException: the record cannot be acknowledged"
    return None


def why_no_poll(me: ShareConsumer) -> str | None:
    """Say why poll() throws: in explicit mode every record has to be acknowledged before it."""
    said = {*me.staged, *(offset for offset, _ in me.verdicts)}
    if me.explicit and any(offset not in said for offset in me.batch):
        return "IllegalStateException: all records must be acknowledged in explicit mode"
    return None


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
    """Send what acknowledge() said and wait until it is durable. Its errors are a result."""
    me, said = _taken(me)
    me = me.but(acknowledge_error=Errors.NONE)
    if not said:
        return me.but(done=True)
    if not me.session_epoch:
        return me.but(done=True, acknowledge_error=Errors.NETWORK_EXCEPTION)
    return me.but(to_send=_acknowledging(me, said), done=False)


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


def acknowledge_transactionally(
    me: ShareConsumer, request: TxnShareAcknowledge, offsets: tuple[int, ...]
) -> ShareConsumer:
    """Stage acknowledgements in the transaction of a session. Returns at once; status: draft.

    Clause: KIP-1310 2.4. The consumer sends them on its own connection, with the identity that the
    session has now.
    """
    return me.but(voting=request, staged=tuple(sorted({*me.staged, *offsets})))


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
        return me.but(voting=None, on_wire=request, on_wire_broker=broker), request
    if me.committing and isinstance(request, ShareAcknowledge):
        me = me.but(committing=(), in_background=True)
        return me.but(on_wire=request, on_wire_broker=broker), request
    wanted = me.to_send
    me = _with_session_of(me, broker)
    request = _addressed(me, request, broker)
    if isinstance(wanted, ShareFetch) and isinstance(request, ShareFetch) and me.assigned:
        left = tuple(p for p in wanted.further if p not in request.further)
        me = me.but(asking=left, asked=request.partition)
        me = me.but(owed=tuple(o for o in me.owed if o.partition != request.partition))
    me = me.but(to_send=None, on_wire=request, on_wire_broker=broker)
    if isinstance(request, ShareFetch) and not request.session_epoch:
        return me.but(session_epoch=0, session_broker=broker), request
    return me, request


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
            return me.but(voting=request)
        refused = (request,) if answer.error is not Errors.NONE else ()
        return me.but(vote_error=answer.error, dropped=refused)
    if isinstance(answer, ShareAcknowledgeResponse):
        lost = answer.error in SESSION_ERRORS or me.closed
        me = _acknowledged(me, request, answer.error)
        me = me.but(session_epoch=0 if lost else me.session_epoch + 1)
        if lost:
            me = _without_commit(me)
        if me.in_background:
            return me.but(in_background=False)
        me = me.but(acknowledge_error=answer.error)
        return _close_next(me) if me.closed and me.sessions else me.but(done=True)
    assert isinstance(answer, ShareFetchResponse), type(answer)
    if answer.error in NOT_ALLOWED:
        return me.but(done=True, error=f"ShareFetch: {answer.error.name}")
    if answer.error is not Errors.NONE:
        return _reopen(me)
    delivered = tuple(r.offset for r in answer.records)
    if answer.refused and not delivered:
        # What was found comes first; the error is thrown by the poll that finds nothing else.
        me = me.but(session_epoch=me.session_epoch + 1)
        return me.but(done=True, error=f"ShareFetch: {Errors.TOPIC_AUTHORIZATION_FAILED.name}")
    acquired = (o for run in answer.acquired for o in range(run.first, run.last + 1))
    me = _acknowledged(me, request, answer.acknowledge_error).but(
        session_epoch=me.session_epoch + 1,
        acknowledge_error=answer.acknowledge_error,
        gaps=tuple(o for o in acquired if o not in delivered),
    )
    if me.renewed:
        kept = me.renewed
        return me.but(records=kept, batch=tuple(r.offset for r in kept), renewed=(), done=True)
    if me.gathers:
        return _gathered(me, answer, delivered)
    if delivered:
        if me.assigned or me.member:
            me = me.but(partition=answer.partition, delivered_by=me.session_broker, asking=())
        return me.but(records=answer.records, batch=delivered, done=True)
    if not (me.assigned or me.member):
        return me.but(to_send=_fetch(me, ()), gaps=())
    return _ask_on(me.but(partition=answer.partition, delivered_by=me.session_broker))


def _gathered(
    me: ShareConsumer, answer: ShareFetchResponse, delivered: tuple[int, ...]
) -> ShareConsumer:
    """Put what a partition had to the rest, and ask the next one; the last one ends the poll()."""
    if delivered or me.gaps:
        fresh = Held(answer.partition, me.session_broker, delivered, gaps=me.gaps)
        me = me.but(beside=(*me.beside, fresh), records=(*me.records, *answer.records), gaps=())
    me = me.but(partition=answer.partition, delivered_by=me.session_broker)
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


def _acknowledged(me: ShareConsumer, request: Message | None, error: Errors) -> ShareConsumer:
    """Note what the acknowledgements of a request came to; what was renewed comes back by poll()."""
    assert isinstance(request, ShareFetch | ShareAcknowledge), type(request)
    if me.renewing:
        me = me.but(renewing=(), renewed=me.renewing if error is Errors.NONE else ())
    if me.callback and request.acknowledgements:
        told = Completed(request.acknowledgements, error)
        me = me.but(completed=(*me.completed, told))
    return me


def on_disconnected(me: ShareConsumer, broker: int) -> ShareConsumer:
    """The share session is gone with its connection; acknowledgements on the wire are lost."""
    if isinstance(me.on_wire, TxnShareAcknowledge) and me.on_wire_broker == broker:
        epoch = 0 if broker == me.session_broker else me.session_epoch
        return me.but(on_wire=None, on_wire_broker=-1, voting=me.on_wire, session_epoch=epoch)
    if me.on_wire is not None and me.on_wire_broker == broker:
        fetching = isinstance(me.on_wire, ShareFetch)
        me = _acknowledged(me, me.on_wire, Errors.NETWORK_EXCEPTION)
        me = me.but(on_wire=None, on_wire_broker=-1)
        if fetching:
            return _reopen(me)
        me = _without_commit(me)
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
