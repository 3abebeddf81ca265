"""The requests of a share consumer: what it fetches and acknowledges, and what the answers bring.

WHO: the network thread of a share consumer. WHERE IN KAFKA: ShareConsumeRequestManager, ShareSessionHandler. KIPS: KIP-932.
DURABILITY: none. The calls of the application are in `share_consumer`; what is not modelled stands there.
"""

from __future__ import annotations

from kipviz.clients.groups.consumer import NOT_ALLOWED
from kipviz.clients.shares import share_holding
from kipviz.clients.shares.current_fetch import in_order
from kipviz.clients.shares.handover import NOBODY_ASKS, NOT_TOLD, TOLD
from kipviz.clients.shares.share_holding import Held, Owed
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.transactions.producer_errors import may_be_asked_again
from kipviz.messages.errors import Errors
from kipviz.messages.features import Features
from kipviz.messages.message import Message
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    FetchedPartition,
    PartitionAcknowledgements,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)

FETCH_WAIT = "the fetch wait"
FINAL_EPOCH = -1
SESSION_ERRORS = (Errors.SHARE_SESSION_NOT_FOUND, Errors.INVALID_SHARE_SESSION_EPOCH)


def connected(me: ShareConsumer, features: Features) -> ShareConsumer:
    """Learn from a new connection (ApiVersions) whether the cluster has KIP-1289, if anybody asks."""
    if me.handover.staging_told == NOBODY_ASKS:
        return me
    told = TOLD if features.staging else NOT_TOLD
    return me.but(handover=me.handover.but(staging_told=told))


def next_request(me: ShareConsumer) -> Message | None:
    """Give what the network thread puts on the wire next, or None; what is staged goes before anything else."""
    if isinstance(me.on_wire, TxnShareAcknowledge):
        return None
    if me.transactional.next is not None and me.on_wire is None:
        return me.transactional.next
    if me.acknowledging.in_background:
        return None
    if me.acknowledging.committing and me.sessions.epoch:
        return acknowledging(me, me.acknowledging.committing)
    return me.to_send


def sent(me: ShareConsumer, request: Message, broker: int) -> tuple[ShareConsumer, Message]:
    """Note that a request is on the wire, as it goes out to that broker."""
    if isinstance(request, TxnShareAcknowledge):
        me = me.but(transactional=me.transactional.without_next)
        return me.but(on_wire=request, on_wire_broker=broker), request
    if me.acknowledging.committing and isinstance(request, ShareAcknowledge):
        me = me.but(acknowledging=me.acknowledging.but(committing=(), in_background=True))
        return me.but(on_wire=request, on_wire_broker=broker), request
    wanted = me.to_send
    if me.subscription.assigned:
        me = me.but(sessions=me.sessions.turned_to(broker))
    if me.by_session and isinstance(wanted, ShareFetch) and isinstance(request, ShareFetch):
        return _sent_by_session(me, wanted, request, broker)
    request = _addressed(me, request, broker)
    if (
        isinstance(wanted, ShareFetch)
        and isinstance(request, ShareFetch)
        and me.subscription.assigned
    ):
        left = tuple(p for p in wanted.further if p not in request.further)
        me = me.but(asking=left, sessions=me.sessions.but(asked=request.partition))
        owed = me.acknowledging.owed
        me = owing(me, tuple(o for o in owed if o.partition != request.partition))
    me = me.but(to_send=None, on_wire=request, on_wire_broker=broker)
    if isinstance(request, ShareFetch) and not request.session_epoch:
        return me.but(sessions=me.sessions.but(epoch=0, broker=broker)), request
    return me, request


def _sent_by_session(
    me: ShareConsumer, wanted: ShareFetch, request: ShareFetch, broker: int
) -> tuple[ShareConsumer, ShareFetch]:
    """Ask a broker for all partitions that it leads, and wait there if it leads all there are."""
    mine = (request.partition, *request.further)
    sessions, requests = me.sessions, me.acknowledging
    said, lost, owed = share_holding.of_session(
        mine, sessions.told_to(broker), requests.owed, broker
    )
    for each in lost:
        here = each.broker == broker and each.partition in mine
        error = Errors.NETWORK_EXCEPTION if here else Errors.NOT_LEADER_OR_FOLLOWER
        requests = requests.come_to(each.acknowledgements, error, each.partition)
    left = tuple(p for p in wanted.further if p not in mine)
    request = request.but(session_epoch=sessions.epoch, further=(), of_session=said)
    request = request.but(acknowledgements=(), wait=len(mine) == len(me.subscription.assigned))
    sessions = sessions.but(asked=request.partition).with_told(broker, mine)
    me = me.but(asking=left, sessions=sessions, acknowledging=requests.but(owed=owed))
    return me.but(to_send=None, on_wire=request, on_wire_broker=broker), request


def _addressed(me: ShareConsumer, request: Message, broker: int) -> Message:
    """Give the request as it goes to a broker: where there is no session it opens one.

    Acknowledgements belong to the session in which the records were delivered.
    """
    if not isinstance(request, ShareFetch):
        return request
    epoch = me.sessions.epoch
    if me.gathers:
        owed = share_holding.for_fetch(me.acknowledging.owed, request.partition, broker)
        told = owed if epoch else ()
        return request.but(session_epoch=epoch, acknowledgements=told, further=())
    if me.subscription.assigned:
        goes_along = epoch and broker == me.current_fetch.delivered_by
        told = request.acknowledgements if goes_along else ()
        return request.but(session_epoch=epoch, acknowledgements=told)
    if not request.session_epoch:
        return request
    if epoch and me.sessions.broker == broker:
        return request.but(session_epoch=epoch)
    return request.but(session_epoch=0, acknowledgements=())


def on_response(me: ShareConsumer, answer: Message) -> ShareConsumer:
    """Take the records, or open a new session where this one is not known any more."""
    request = me.on_wire
    me = me.but(on_wire=None, on_wire_broker=-1)
    match answer:
        case TxnShareAcknowledgeResponse():
            assert isinstance(request, TxnShareAcknowledge), type(request)
            mine = me.transactional
            if may_be_asked_again(request, answer.error):
                return me.but(transactional=mine.sent_again(request))
            return me.but(transactional=mine.answered(request, answer.error))
        case ShareAcknowledgeResponse():
            return _on_acknowledged(me, request, answer)
        case ShareFetchResponse():
            assert isinstance(request, ShareFetch), type(request)
            return _on_fetched(me, request, answer)
        case _:
            raise AssertionError(f"no share consumer asked for {type(answer).__name__}")


def _on_acknowledged(
    me: ShareConsumer, request: Message | None, answer: ShareAcknowledgeResponse
) -> ShareConsumer:
    unknown = answer.error in SESSION_ERRORS
    # It would be sent again, and a ShareAcknowledge opens no session: it cannot be sent any more.
    error = Errors.NETWORK_EXCEPTION if unknown else answer.error
    lost = unknown or me.closed
    me = _acknowledged(me, request, error, answer)
    me = me.but(sessions=me.sessions.lost if lost else me.sessions.advanced)
    if me.by_session and not me.closed:
        return commit_next(me)
    if lost:
        me = without_commit(me)
    if me.acknowledging.in_background:
        return me.but(acknowledging=me.acknowledging.but(in_background=False))
    me = with_error(me, error)
    return close_next(me) if me.closed and me.sessions.others else me.but(done=True)


def _on_fetched(
    me: ShareConsumer, request: ShareFetch, answer: ShareFetchResponse
) -> ShareConsumer:
    if answer.error in NOT_ALLOWED:
        me = _acknowledged(me, request, answer.error)
        return me.but(done=True, error=f"ShareFetch: {answer.error.name}")
    if answer.error is not Errors.NONE:
        return _reopen(_acknowledged(me, request, Errors.NETWORK_EXCEPTION))
    if me.by_session:
        return _answered_by_session(me, request, answer)
    broker = me.sessions.broker
    fresh = share_holding.fresh(answer, broker)
    if answer.refused and not fresh.batch:
        # What was found comes first; the error is thrown by the poll that finds nothing else.
        me = me.but(sessions=me.sessions.advanced)
        return me.but(done=True, error=f"ShareFetch: {Errors.TOPIC_AUTHORIZATION_FAILED.name}")
    me = _acknowledged(me, request, answer.acknowledge_error)
    me = with_error(me, answer.acknowledge_error).but(sessions=me.sessions.advanced)
    me = me.but(current_fetch=me.current_fetch.but(gaps=fresh.gaps))
    fetch = me.current_fetch
    if fetch.renewed:
        return me.but(records=fetch.renewed, current_fetch=fetch.with_renewed, done=True)
    from_here = fetch.but(delivered_by=broker)
    if me.gathers:
        me = me.but(current_fetch=from_here.but(gaps=()), partition=answer.partition)
        return _ask_the_rest(_beside(me, fresh, answer))
    several = me.subscription.has_several
    if fresh.batch:
        if several:
            me, fetch = me.but(partition=answer.partition, asking=()), from_here
        return me.but(records=answer.records, current_fetch=fetch.but(batch=fresh.batch), done=True)
    if not several:
        return me.but(to_send=fetch_request(me, ()), current_fetch=fetch.but(gaps=()))
    return _ask_on(me.but(partition=answer.partition, current_fetch=from_here))


def _beside(
    me: ShareConsumer, fresh: Held, part: FetchedPartition | ShareFetchResponse
) -> ShareConsumer:
    """Put what a partition had to the rest."""
    if not (fresh.batch or fresh.gaps):
        return me
    fetch = me.current_fetch
    more = fetch.but(beside=(*fetch.beside, fresh))
    return me.but(current_fetch=more, records=(*me.records, *part.records))


def _answered_by_session(
    me: ShareConsumer, request: ShareFetch, answer: ShareFetchResponse
) -> ShareConsumer:
    """Take what is said of each partition: an error of one does not touch the others.

    A partition that is led elsewhere is asked for there next time; a topic that may not be read is
    thrown by a poll that has found nothing else. Source: handleShareFetchSuccess.
    """
    me = me.but(sessions=me.sessions.advanced)
    me = _acknowledged(me, request, Errors.NONE, answer)
    broker = me.sessions.broker
    for part in answer.fetched:
        me = _beside(me, share_holding.fresh(part, broker), part)
    if not me.records and any(part.error in NOT_ALLOWED for part in answer.fetched):
        refused = Errors.TOPIC_AUTHORIZATION_FAILED.name
        return me.but(done=True, error=f"ShareFetch: {refused}", asking=())
    if request.wait and not me.current_fetch.beside:
        return _again(me)
    fetch = me.current_fetch.but(delivered_by=broker)
    return _ask_the_rest(me.but(partition=request.partition, current_fetch=fetch))


def _ask_the_rest(me: ShareConsumer) -> ShareConsumer:
    """Ask the next one of what is left; after the last one poll() comes back, or begins again."""
    if me.asking:
        following = fetch_request(me, ()).but(partition=me.asking[0], further=me.asking[1:])
        return me.but(to_send=following)
    if me.records:
        return me.but(done=True)
    held = me.current_fetch.beside
    if held:  # gaps alone: they are said with the next fetches
        me = owing(me, share_holding.owed(held, tuple(() for _ in held)))
        return _again(me.but(current_fetch=me.current_fetch.but(beside=())))
    return me.but(resting=True)


def _again(me: ShareConsumer) -> ShareConsumer:
    """Fetch again, or wait for partitions where there are none; what was gathered is enough."""
    if me.gathers and me.records:
        return me.but(done=True, to_send=None, asking=())
    mine = me.subscription
    if mine.joins and not mine.assigned:
        return me.but(subscription=mine.but(awaiting=True), to_send=None)
    return me.but(to_send=fetch_request(me, ()))


def _ask_on(me: ShareConsumer) -> ShareConsumer:
    """Ask the next broker, or rest where every one of them had nothing."""
    if me.current_fetch.gaps:
        me = _again(me)
        return me.but(current_fetch=me.current_fetch.but(gaps=()), asking=())
    if me.subscription.joins and not me.subscription.assigned:
        return _again(me)
    if me.asking:
        following = fetch_request(me, ()).but(partition=me.asking[0], further=me.asking[1:])
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
    fetch = me.current_fetch
    if fetch.renewing:
        renewed = fetch.renewing if error is Errors.NONE else ()
        me = me.but(current_fetch=fetch.but(renewing=(), renewed=renewed))
    requests = me.acknowledging
    if not me.by_session:
        return me.but(acknowledging=requests.come_to(request.acknowledgements, error))
    results = _results(answer)
    for said in _said_of_each(request):
        came_to = results.get(said.partition, error)
        requests = requests.come_to(said.acknowledgements, came_to, said.partition)
    return me.but(acknowledging=requests)


def _said_of_each(request: ShareFetch | ShareAcknowledge) -> tuple[PartitionAcknowledgements, ...]:
    if isinstance(request, ShareAcknowledge):
        return request.parts
    return request.of_session.acknowledgements if request.of_session is not None else ()


def _results(answer: ShareFetchResponse | ShareAcknowledgeResponse | None) -> dict[str, Errors]:
    """Give what the acknowledgements of each partition came to, as far as an answer says it."""
    if isinstance(answer, ShareFetchResponse):
        return {part.partition: part.acknowledge_error for part in answer.fetched}
    return dict(answer.of_each) if answer is not None and answer.others else {}


def on_disconnected(me: ShareConsumer, broker: int) -> ShareConsumer:
    """The share session is gone with its connection; acknowledgements on the wire are lost."""
    here = broker == me.sessions.broker
    if isinstance(me.on_wire, TxnShareAcknowledge) and me.on_wire_broker == broker:
        lost = me.but(transactional=me.transactional.sent_again(me.on_wire))
        lost = lost.but(on_wire=None, on_wire_broker=-1)
        return lost.but(sessions=me.sessions.lost) if here else lost
    if me.on_wire is not None and me.on_wire_broker == broker:
        fetching = isinstance(me.on_wire, ShareFetch)
        me = _acknowledged(me, me.on_wire, Errors.NETWORK_EXCEPTION)
        me = me.but(on_wire=None, on_wire_broker=-1)
        if fetching:
            return _reopen(me)
        me = without_commit(me)
        me = me.but(sessions=me.sessions.lost)
        if me.by_session and not me.closed:
            return commit_next(me)
        if me.acknowledging.in_background:
            return me.but(acknowledging=me.acknowledging.but(in_background=False))
        return with_error(me, Errors.NETWORK_EXCEPTION).but(done=True)
    if here:
        me = _unsent(me)
        return me.but(sessions=me.sessions.lost)
    sessions = me.sessions.without(broker)
    return me if sessions is me.sessions else me.but(sessions=sessions)


def _unsent(me: ShareConsumer) -> ShareConsumer:
    """Give up what was not sent yet: it belongs to the session that is gone."""
    if isinstance(me.to_send, ShareAcknowledge):
        me = _acknowledged(me, me.to_send, Errors.NETWORK_EXCEPTION)
        me = with_error(me, Errors.NETWORK_EXCEPTION).but(to_send=None, done=True)
    return without_commit(me)


def without_commit(me: ShareConsumer) -> ShareConsumer:
    """Give up a commitAsync() that was not sent yet; no request but a fetch opens a session."""
    committing = me.acknowledging.committing
    if not committing:
        return me
    me = _acknowledged(me, acknowledging(me, committing), Errors.NETWORK_EXCEPTION)
    return me.but(acknowledging=me.acknowledging.but(committing=()))


def _reopen(me: ShareConsumer) -> ShareConsumer:
    me = with_error(me, Errors.NETWORK_EXCEPTION).but(sessions=me.sessions.lost)
    return _again(without_commit(me.but(current_fetch=me.current_fetch.but(renewing=()))))


def fetch_request(me: ShareConsumer, said: tuple[AcknowledgementBatch, ...]) -> ShareFetch:
    """Return a request for records that says what became of others."""
    epoch, several = me.sessions.epoch, me.subscription.has_several
    said = in_order((*said, *me.current_fetch.gap_batches)) if epoch else ()
    assigned = me.subscription.assigned
    first, *further = (me.partition,) if not assigned else _turn(me, stays=bool(said))
    return ShareFetch(
        me.group_id,
        me.member_id,
        epoch,
        first,
        me.max_records,
        said,
        me.acquire_mode,
        tuple(further),
        not several,
    )


def _turn(me: ShareConsumer, *, stays: bool) -> tuple[str, ...]:
    """Give the partitions in the order in which they are asked: everyone has its turn.

    Acknowledgements go along for the first one, so it stays where it is while there are some.
    """
    assigned = me.subscription.assigned
    at = assigned.index(me.partition) if me.partition in assigned else -1
    at += not stays and me.current_fetch.delivered_by >= 0
    return (*assigned[at:], *assigned[:at])


# -- what is to be said and asked ---------------------------------------------------------------


def commit_next(me: ShareConsumer) -> ShareConsumer:
    """Send what is owed to one broker; the call has ended when nothing is owed to any.

    Where the session is lost, or another broker leads the partition, there is nobody to say it to.
    """
    requests = me.acknowledging
    if not requests.owed:
        return me.but(done=True)
    broker = requests.owed[0].broker
    mine = requests.owed_to(broker)
    requests = requests.without_owed(mine)
    epoch = me.sessions.epoch_at(broker)
    if not epoch:
        for each in mine:
            said, error = each.acknowledgements, Errors.NETWORK_EXCEPTION
            requests = requests.come_to(said, error, each.partition)
        return commit_next(me.but(acknowledging=requests))
    (first, batches), *others = ((each.partition, each.acknowledgements) for each in mine)
    request = ShareAcknowledge(me.group_id, me.member_id, epoch, first, batches, broker)
    several = tuple(PartitionAcknowledgements(p, said) for p, said in others)
    return me.but(acknowledging=requests, to_send=request.but(others=several), done=False)


def acknowledging(me: ShareConsumer, said: tuple[AcknowledgementBatch, ...]) -> ShareAcknowledge:
    """Give a request to the broker that the records are from."""
    session = me.sessions
    return ShareAcknowledge(
        me.group_id, me.member_id, session.epoch, me.partition, said, session.broker
    )


def close_next(me: ShareConsumer) -> ShareConsumer:
    """Close the session with another broker; the call has ended when all are closed."""
    (broker, _, partition), *rest = me.sessions.others
    last = ShareAcknowledge(me.group_id, me.member_id, FINAL_EPOCH, partition, (), broker)
    return me.but(to_send=last, sessions=me.sessions.but(others=tuple(rest)), done=False)


def owing(me: ShareConsumer, owed: tuple[Owed, ...]) -> ShareConsumer:
    """Note what is to be said with the next fetch of each partition."""
    return me.but(acknowledging=me.acknowledging.but(owed=owed))


def with_error(me: ShareConsumer, error: Errors) -> ShareConsumer:
    """Note what the acknowledgements that were sent last came to."""
    return me.but(acknowledging=me.acknowledging.but(error=error))
