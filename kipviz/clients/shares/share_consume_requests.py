"""The requests of a share consumer: fetches and acknowledgements, and their responses.

WHO: the network thread of a share consumer. WHERE IN KAFKA: ShareConsumeRequestManager, ShareSessionHandler. KIPS:
KIP-932.
DURABILITY: none. The calls of the application, and what is not modelled, are in `share_consumer`.
"""

from __future__ import annotations

from kipviz.clients.addressed import Addressed, Outgoing, broker_of, message_of
from kipviz.clients.groups.group_reading import NOT_ALLOWED
from kipviz.clients.shares import share_holding
from kipviz.clients.shares.current_fetch import in_order
from kipviz.clients.shares.handover import NOBODY_ASKS, NOT_TOLD, TOLD
from kipviz.clients.shares.share_holding import Held, Owed
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import request_error
from kipviz.clients.timers import FetchWait, TimerOfClient
from kipviz.clients.transactions.producer_errors import may_be_asked_again
from kipviz.messages.cluster.features import Features
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.messages.shares.share_groups import (
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
from kipviz.settings.consumer_configs import FETCH_MAX_WAIT_MS

FINAL_EPOCH = -1
SESSION_ERRORS = (Errors.SHARE_SESSION_NOT_FOUND, Errors.INVALID_SHARE_SESSION_EPOCH)


def note_features(me: ShareConsumer, features: Features) -> ShareConsumer:
    """Learn from a new connection (ApiVersions) whether the cluster has KIP-1289, if the consumer checks it."""
    if me.handover.staging_told == NOBODY_ASKS:
        return me
    told = TOLD if features.staging else NOT_TOLD
    return me.but(handover=me.handover.but(staging_told=told))


def next_request(me: ShareConsumer) -> Message | None:
    """Return the request that the network thread sends next, or None; transactional acknowledgements come first."""
    return message_of(_next_outgoing(me))


def next_broker(me: ShareConsumer) -> int:
    """Return the broker that the next request is addressed to, -1 if it is for the leader of what it names."""
    return broker_of(_next_outgoing(me))


def _next_outgoing(me: ShareConsumer) -> Outgoing | None:
    if isinstance(me.on_wire, TxnShareAcknowledge):
        return None
    if me.transactional.next is not None and me.on_wire is None:
        return me.transactional.next
    if me.acknowledging.in_background:
        return None
    if me.acknowledging.committing and me.sessions.epoch:
        return acknowledging(me, me.acknowledging.committing)
    return me.to_send


def note_sent(me: ShareConsumer, request: Message, broker: int) -> tuple[ShareConsumer, Message]:
    """Note that a request is in flight, and return it as it is sent to that broker."""
    if isinstance(request, TxnShareAcknowledge):
        me = me.but(transactional=me.transactional.without_next)
        return me.but(on_wire=request, on_wire_broker=broker), request
    if me.acknowledging.committing and isinstance(request, ShareAcknowledge):
        me = me.but(acknowledging=me.acknowledging.but(committing=(), in_background=True))
        return me.but(on_wire=request, on_wire_broker=broker), request
    wanted = me.to_send
    if me.subscription.assigned:
        me = me.but(sessions=me.sessions.switch_to(broker))
    if me.by_session and isinstance(wanted, ShareFetch) and isinstance(request, ShareFetch):
        return _sent_by_session(me, wanted, request, broker)
    request = _address_request(me, request, broker)
    if (
        isinstance(wanted, ShareFetch)
        and isinstance(request, ShareFetch)
        and me.subscription.assigned
    ):
        first = request.first.partition
        left = tuple(p for p in wanted.names if p not in request.names)
        me = me.but(asking=left, sessions=me.sessions.but(asked=first))
        me = owing(me, tuple(o for o in me.acknowledging.owed if o.partition != first))
    me = me.but(to_send=None, on_wire=request, on_wire_broker=broker)
    if isinstance(request, ShareFetch) and not request.session_epoch:
        return me.but(sessions=me.sessions.but(epoch=0, broker=broker)), request
    return me, request


def _sent_by_session(
    me: ShareConsumer, wanted: ShareFetch, request: ShareFetch, broker: int
) -> tuple[ShareConsumer, ShareFetch]:
    """Ask a broker for all partitions that it leads, and wait there if it leads all of them."""
    mine = request.names
    sessions, requests = me.sessions, me.acknowledging
    said = share_holding.of_session(mine, sessions.known_partitions(broker), requests.owed, broker)
    for each in said.lost:
        here = each.broker == broker and each.partition in mine
        error = Errors.NETWORK_EXCEPTION if here else Errors.NOT_LEADER_OR_FOLLOWER
        requests = requests.come_to(each.acknowledgements, error, each.partition)
    left = tuple(p for p in wanted.names if p not in mine)
    request = request.but(
        session_epoch=sessions.epoch,
        partitions=said.partitions,
        forgotten=said.forgotten,
        max_wait_ms=_wait_ms(leads_all=len(mine) == len(me.subscription.assigned)),
    )
    sessions = sessions.but(asked=mine[0]).with_told(broker, mine)
    me = me.but(asking=left, sessions=sessions, acknowledging=requests.but(owed=said.others))
    return me.but(to_send=None, on_wire=request, on_wire_broker=broker), request


def _address_request(me: ShareConsumer, request: Message, broker: int) -> Message:
    """Return the request as it is sent to a broker: without a session it opens one.

    Acknowledgements belong to the session in which the records were delivered.
    """
    if not isinstance(request, ShareFetch):
        return request
    epoch = me.sessions.epoch
    if me.gathers:
        first = request.first.partition
        owed = share_holding.for_fetch(me.acknowledging.owed, first, broker) if epoch else ()
        return request.but(
            session_epoch=epoch, partitions=(PartitionAcknowledgements(first, owed),)
        )
    if me.subscription.assigned:
        goes_along = epoch and broker == me.current_fetch.delivered_by
        return _from_epoch(request, epoch, acknowledges=bool(goes_along))
    if not request.session_epoch:
        return request
    if epoch and me.sessions.broker == broker:
        return request.but(session_epoch=epoch)
    return _from_epoch(request, 0, acknowledges=False)


def _from_epoch(request: ShareFetch, epoch: int, *, acknowledges: bool) -> ShareFetch:
    """Return a fetch with a session epoch; without acknowledgements if these belong to another session."""
    if acknowledges:
        return request.but(session_epoch=epoch)
    bare = tuple(map(PartitionAcknowledgements, request.names))
    return request.but(session_epoch=epoch, partitions=bare)


def on_response(me: ShareConsumer, answer: Message) -> ShareConsumer:
    """Handle a response: its records, or a lost session, which is opened again."""
    request = me.on_wire
    me = me.but(on_wire=None, on_wire_broker=-1)
    match answer:
        case TxnShareAcknowledgeResponse():
            assert isinstance(request, TxnShareAcknowledge), type(request)
            mine, error = me.transactional, error_of_response(answer)
            if may_be_asked_again(request, error):
                return me.but(transactional=mine.send_again(request))
            return me.but(transactional=mine.note_result(request, error))
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
    # A ShareAcknowledge opens no session, so it cannot be sent again.
    error = Errors.NETWORK_EXCEPTION if unknown else error_of_response(answer)
    lost = unknown or me.closed
    me = _note_results(me, request, error, answer)
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
    error = answer.error if me.by_session else error_of_response(answer)
    if error in NOT_ALLOWED:
        me = _note_results(me, request, error)
        return me.but(done=True, error=request_error(ShareFetch, error))
    if error is not Errors.NONE:
        return _reopen(_note_results(me, request, Errors.NETWORK_EXCEPTION))
    if me.by_session:
        return _answered_by_session(me, request, answer)
    broker = me.sessions.broker
    part, *refused = answer.responses
    fresh = share_holding.fresh(part, broker)
    if refused and not fresh.batch:
        # Records come first; the error is thrown by a poll() that finds nothing else.
        me = me.but(sessions=me.sessions.advanced)
        return me.but(done=True, error=request_error(ShareFetch, Errors.TOPIC_AUTHORIZATION_FAILED))
    me = _note_results(me, request, part.acknowledge_error)
    me = with_error(me, part.acknowledge_error).but(sessions=me.sessions.advanced)
    me = me.but(current_fetch=me.current_fetch.but(gaps=fresh.gaps))
    fetch = me.current_fetch
    if fetch.renewed:
        return me.but(records=fetch.renewed, current_fetch=fetch.with_renewed, done=True)
    from_here = fetch.but(delivered_by=broker)
    if me.gathers:
        me = me.but(current_fetch=from_here.but(gaps=()), partition=part.partition)
        return _ask_the_rest(_add_records(me, fresh, part))
    several = me.subscription.has_several
    if fresh.batch:
        if several:
            me, fetch = me.but(partition=part.partition, asking=()), from_here
        return me.but(records=part.records, current_fetch=fetch.but(batch=fresh.batch), done=True)
    if not several:
        return me.but(to_send=fetch_request(me, ()), current_fetch=fetch.but(gaps=()))
    return _ask_on(me.but(partition=part.partition, current_fetch=from_here))


def _add_records(me: ShareConsumer, fresh: Held, part: FetchedPartition) -> ShareConsumer:
    """Add the records of a partition to the others."""
    if not (fresh.batch or fresh.gaps):
        return me
    fetch = me.current_fetch
    more = fetch.but(beside=(*fetch.beside, fresh))
    return me.but(current_fetch=more, records=(*me.records, *part.records))


def _answered_by_session(
    me: ShareConsumer, request: ShareFetch, answer: ShareFetchResponse
) -> ShareConsumer:
    """Handle the results of each partition: an error of one does not affect the others.

    A partition with another leader is fetched there next time. A poll() that finds nothing else throws the error of a
    topic that it may not read. Source: handleShareFetchSuccess.
    """
    me = me.but(sessions=me.sessions.advanced)
    me = _note_results(me, request, Errors.NONE, answer)
    broker = me.sessions.broker
    for part in answer.responses:
        me = _add_records(me, share_holding.fresh(part, broker), part)
    if not me.records and any(part.error in NOT_ALLOWED for part in answer.responses):
        refused = request_error(ShareFetch, Errors.TOPIC_AUTHORIZATION_FAILED)
        return me.but(done=True, error=refused, asking=())
    if request.max_wait_ms and not me.current_fetch.beside:
        return _again(me)
    fetch = me.current_fetch.but(delivered_by=broker)
    return _ask_the_rest(me.but(partition=me.sessions.asked, current_fetch=fetch))


def _ask_the_rest(me: ShareConsumer) -> ShareConsumer:
    """Ask for the remaining partitions; after the last one poll() returns, or starts again."""
    if me.asking:
        return me.but(to_send=_fetch(me, me.asking, ()))
    if me.records:
        return me.but(done=True)
    held = me.current_fetch.beside
    if held:  # gaps alone: the next fetches acknowledge them
        me = owing(me, share_holding.owed_acknowledgements(held, tuple(() for _ in held)))
        return _again(me.but(current_fetch=me.current_fetch.but(beside=())))
    return me.but(resting=True)


def _again(me: ShareConsumer) -> ShareConsumer:
    """Fetch again, or wait for an assignment; if records were gathered, return them."""
    if me.gathers and me.records:
        return me.but(done=True, to_send=None, asking=())
    mine = me.subscription
    if mine.joins and not mine.assigned:
        return me.but(subscription=mine.but(awaiting=True), to_send=None)
    return me.but(to_send=fetch_request(me, ()))


def _ask_on(me: ShareConsumer) -> ShareConsumer:
    """Ask the next broker, or wait if every broker had no records."""
    if me.current_fetch.gaps:
        me = _again(me)
        return me.but(current_fetch=me.current_fetch.but(gaps=()), asking=())
    if me.subscription.joins and not me.subscription.assigned:
        return _again(me)
    if me.asking:
        return me.but(to_send=_fetch(me, me.asking, ()))
    return me.but(resting=True)


def timers(me: ShareConsumer) -> tuple[TimerOfClient, ...]:
    """Return the timers that are set. They cost nothing, and each may fire at any moment."""
    return (FetchWait(),) if me.resting else ()


def on_timer(me: ShareConsumer, timer: TimerOfClient) -> ShareConsumer:
    """Ask all brokers again for new records."""
    assert isinstance(timer, FetchWait), timer
    return _again(me.but(resting=False))


def _note_results(
    me: ShareConsumer,
    request: Message | None,
    error: Errors,
    answer: ShareFetchResponse | ShareAcknowledgeResponse | None = None,
) -> ShareConsumer:
    """Note the results of a request's acknowledgements; poll() returns renewed records.

    The response to a fetch of a session has the result for each partition.
    """
    assert isinstance(request, ShareFetch | ShareAcknowledge), type(request)
    fetch = me.current_fetch
    if fetch.renewing:
        renewed = fetch.renewing if error is Errors.NONE else ()
        me = me.but(current_fetch=fetch.but(renewing=(), renewed=renewed))
    requests = me.acknowledging
    if not me.by_session:
        every = request.partitions[0].acknowledgements
        return me.but(acknowledging=requests.come_to(every, error))
    results = _results(answer)
    for said in _said_of_each(request):
        came_to = results.get(said.partition, error)
        requests = requests.come_to(said.acknowledgements, came_to, said.partition)
    return me.but(acknowledging=requests)


def _said_of_each(request: ShareFetch | ShareAcknowledge) -> tuple[PartitionAcknowledgements, ...]:
    if isinstance(request, ShareAcknowledge):
        return request.partitions
    return tuple(part for part in request.partitions if part.acknowledgements)


def _results(answer: ShareFetchResponse | ShareAcknowledgeResponse | None) -> dict[str, Errors]:
    """Return the results of each partition's acknowledgements, as far as a response has them."""
    if isinstance(answer, ShareFetchResponse):
        return {part.partition: part.acknowledge_error for part in answer.responses}
    return {each.partition: each.error for each in answer.responses} if answer is not None else {}


def on_disconnected(me: ShareConsumer, broker: int) -> ShareConsumer:
    """Handle a broken connection: its share session is gone, and acknowledgements in flight are lost."""
    here = broker == me.sessions.broker
    if isinstance(me.on_wire, TxnShareAcknowledge) and me.on_wire_broker == broker:
        lost = me.but(transactional=me.transactional.send_again(me.on_wire))
        lost = lost.but(on_wire=None, on_wire_broker=-1)
        return lost.but(sessions=me.sessions.lost) if here else lost
    if me.on_wire is not None and me.on_wire_broker == broker:
        fetching = isinstance(me.on_wire, ShareFetch)
        me = _note_results(me, me.on_wire, Errors.NETWORK_EXCEPTION)
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
        me = _fail_unsent(me)
        return me.but(sessions=me.sessions.lost)
    sessions = me.sessions.without(broker)
    return me if sessions is me.sessions else me.but(sessions=sessions)


def _fail_unsent(me: ShareConsumer) -> ShareConsumer:
    """Fail the acknowledgements that were not sent yet: they belong to the lost session."""
    if isinstance(me.to_send, Addressed):
        me = _note_results(me, me.to_send.message, Errors.NETWORK_EXCEPTION)
        me = with_error(me, Errors.NETWORK_EXCEPTION).but(to_send=None, done=True)
    return without_commit(me)


def without_commit(me: ShareConsumer) -> ShareConsumer:
    """Fail a commitAsync() that was not sent yet; only a fetch opens a session."""
    committing = me.acknowledging.committing
    if not committing:
        return me
    me = _note_results(me, acknowledging(me, committing).message, Errors.NETWORK_EXCEPTION)
    return me.but(acknowledging=me.acknowledging.but(committing=()))


def _reopen(me: ShareConsumer) -> ShareConsumer:
    me = with_error(me, Errors.NETWORK_EXCEPTION).but(sessions=me.sessions.lost)
    return _again(without_commit(me.but(current_fetch=me.current_fetch.but(renewing=()))))


def fetch_request(me: ShareConsumer, said: tuple[AcknowledgementBatch, ...]) -> ShareFetch:
    """Return a request for records that also acknowledges earlier ones."""
    said = in_order((*said, *me.current_fetch.gap_batches)) if me.sessions.epoch else ()
    assigned = me.subscription.assigned
    return _fetch(me, _turn(me, stays=bool(said)) if assigned else (me.partition,), said)


def _fetch(
    me: ShareConsumer, partitions: tuple[str, ...], said: tuple[AcknowledgementBatch, ...]
) -> ShareFetch:
    """Return a request for records of some partitions; the acknowledgements are for the first one."""
    first, *further = partitions
    return ShareFetch(
        me.group_id,
        me.member_id,
        me.sessions.epoch,
        (PartitionAcknowledgements(first, said), *map(PartitionAcknowledgements, further)),
        me.max_records,
        me.acquire_mode,
        _wait_ms(leads_all=not me.subscription.has_several),
    )


def _wait_ms(*, leads_all: bool) -> int:
    """Return how long a broker may wait for records: only the leader of all partitions that are fetched waits."""
    return FETCH_MAX_WAIT_MS.default if leads_all else 0


def _turn(me: ShareConsumer, *, stays: bool) -> tuple[str, ...]:
    """Return the partitions in the order in which they are fetched: each has its turn.

    Acknowledgements go with the first one, so it keeps its place while there are some.
    """
    assigned = me.subscription.assigned
    at = assigned.index(me.partition) if me.partition in assigned else -1
    at += not stays and me.current_fetch.delivered_by >= 0
    return (*assigned[at:], *assigned[:at])


# -- acknowledgements and errors -------------------------------------------------------------------


def commit_next(me: ShareConsumer) -> ShareConsumer:
    """Send the acknowledgements owed to one broker; the call ends when none are left.

    If the session is lost, or another broker leads the partition, they cannot be sent.
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
    parts = (PartitionAcknowledgements(each.partition, each.acknowledgements) for each in mine)
    request = ShareAcknowledge(me.group_id, me.member_id, epoch, tuple(parts))
    return me.but(acknowledging=requests, to_send=Addressed(broker, request), done=False)


def acknowledging(me: ShareConsumer, said: tuple[AcknowledgementBatch, ...]) -> Addressed:
    """Return a request to the broker that delivered the records."""
    return _to_session(me, me.sessions.epoch, said)


def closing(me: ShareConsumer, said: tuple[AcknowledgementBatch, ...]) -> Addressed:
    """Return the last request of the current session, which closes it."""
    return _to_session(me, FINAL_EPOCH, said)


def _to_session(me: ShareConsumer, epoch: int, said: tuple[AcknowledgementBatch, ...]) -> Addressed:
    only = PartitionAcknowledgements(me.partition, said)
    request = ShareAcknowledge(me.group_id, me.member_id, epoch, (only,))
    return Addressed(me.sessions.broker, request)


def close_next(me: ShareConsumer) -> ShareConsumer:
    """Close the session with another broker; the call ends when all are closed."""
    (broker, _, partition), *rest = me.sessions.others
    named = PartitionAcknowledgements(partition, ())
    last = ShareAcknowledge(me.group_id, me.member_id, FINAL_EPOCH, (named,))
    return me.but(
        to_send=Addressed(broker, last), sessions=me.sessions.but(others=tuple(rest)), done=False
    )


def owing(me: ShareConsumer, owed: tuple[Owed, ...]) -> ShareConsumer:
    """Note the acknowledgements to send with the next fetch of each partition."""
    return me.but(acknowledging=me.acknowledging.but(owed=owed))


def with_error(me: ShareConsumer, error: Errors) -> ShareConsumer:
    """Note the result of the acknowledgements that were sent last."""
    return me.but(acknowledging=me.acknowledging.but(error=error))
