"""A fetch of all partitions of a share session: one request, one response, each partition on its own.

WHEN: a share consumer polls that has a share session with this broker for several partitions.
DOES: the session keeps its partitions. They are searched in an order that starts with another one at each epoch, and
records are acquired up to the requested number. The result for one partition, an error or the result of its
acknowledgements, does not affect the others.
Source: KafkaApis.handleShareFetchRequest, SharePartitionManager.processShareFetch, DelayedShareFetch,
ShareFetchUtils.processFetchResponse, ShareSessionContext, PartitionRotateStrategy (KIP-932).
NOT MODELLED: sizes in bytes; the order of partitions in the response, which in Kafka is that of a hash map (here the
order in which records were acquired); that an error waits for MaxWaitMs while no other partition has records (here it
is returned at once); that a partition is returned again without records once its error is over.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers import deleted_topics
from kipviz.brokers.authorizer import may, principal_of
from kipviz.brokers.checks import Check, Checks, compare, error_of, in_order, report_value
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo, with_effects
from kipviz.brokers.handling import takes
from kipviz.brokers.share_leaders import (
    share_acquiring,
    share_partition,
    share_partition_leader,
    share_sessions,
    share_validation,
    share_writes,
)
from kipviz.brokers.share_leaders.share_partition import (
    ParkedFetch,
    SessionCall,
    ShareLeader,
    SharePartition,
    Status,
)
from kipviz.brokers.share_leaders.share_sessions import FINAL_EPOCH, OPENS
from kipviz.core.model import Event
from kipviz.messages.apis.rights import Operation, Resource
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    FetchedPartition,
    PartitionAcknowledgements,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
)
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.records.placement import topic_of


@takes(ShareFetch)
def on_share_fetch(
    me: ShareLeader, request: ShareFetch, reply_to: ReplyTo, on: Context
) -> Effects[ShareLeader]:
    """Fetch from every partition of a share session, and apply the acknowledgements that came along.

    WHEN: a share consumer polls. CHECKS: that a session's first request has no acknowledgements, that a request that
    renews locks fetches no records, the session's epoch; then for each partition the right to read it, and its leader.
    DOES: adds partitions to the session and removes them, and loads those that are not in memory yet. ANSWERS: when all
    acknowledgements are durable and there are records to deliver.
    Clause: KIP-932 "ShareFetch"; SharePartitionManager.newContext, fetchMessages.
    """
    if not on.simplified.fetches_by_session(reply_to.source):
        return share_partition_leader.on_share_fetch(me, request, reply_to, on)

    def reject(checks: Checks) -> Effects[ShareLeader]:
        answer = ShareFetchResponse(error_of(checks))
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)

    checks = share_sessions.form_checks(request)
    if error_of(checks) is not Errors.NONE:
        return reject(checks)
    me, session = share_sessions.after(me, request, reply_to, on)
    checks += session
    if error_of(checks) is Errors.SHARE_SESSION_LIMIT_REACHED and request.max_wait_ms:
        return share_sessions.keep_waiting(me, request, reply_to).after(checks)
    if error_of(checks) is not Errors.NONE:
        return reject(checks)
    me = share_sessions.with_partitions(me, request)
    call = SessionCall(reply_to, request)
    acknowledged = tuple(part for part in request.partitions if part.acknowledgements)
    taken = _apply_acknowledgements(me, call, acknowledged, on).after(checks)
    begun = _begin_call(taken, request, on)
    if request.session_epoch != FINAL_EPOCH:
        return begun
    return share_partition_leader.close_session(begun, request, reply_to, on)


@takes(ShareAcknowledge)
def on_share_acknowledge(
    me: ShareLeader, request: ShareAcknowledge, reply_to: ReplyTo, on: Context
) -> Effects[ShareLeader]:
    """Apply acknowledgements of several partitions, each on its own.

    WHEN: commitSync() of a consumer with a share session. CHECKS: the session's epoch, then each partition. DOES:
    applies all acknowledgements of a partition or none. ANSWERS: when each partition has its result.
    Clause: KIP-932 "ShareAcknowledge"; SharePartitionManager.acknowledge.
    """
    if len(request.partitions) == 1:
        return share_partition_leader.on_share_acknowledge(me, request, reply_to, on)
    me, checks = share_sessions.after(me, request, reply_to, on)
    if error_of(checks) is not Errors.NONE:
        answer = ShareAcknowledgeResponse(error_of(checks))
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
    call = SessionCall(reply_to, request, fetched=())
    done = _apply_acknowledgements(me, call, request.partitions, on).after(checks)
    if request.session_epoch != FINAL_EPOCH:
        return done
    return share_partition_leader.close_session(done, request, reply_to, on)


def rotate_partitions(partitions: tuple[str, ...], epoch: int) -> tuple[str, ...]:
    """Return partitions in their turn: each epoch starts with another one, the first epoch does not.

    Source: PartitionRotateStrategy.rotateRoundRobin.
    """
    if epoch <= OPENS or not partitions:
        return partitions
    first = epoch % len(partitions)
    return (*partitions[first:], *partitions[:first])


def answer_fetches(done: Effects[ShareLeader], on: Context) -> Effects[ShareLeader]:
    """Store which acknowledgements are durable, and respond to the fetches that can be answered now."""
    me: ShareLeader = done.state
    replies: list[Reply] = []
    for reply in done.replies:
        call = next((c for c in me.waiting if c.reply_to == reply.to), None)
        if call is None or not isinstance(reply.message, ShareAcknowledgeResponse):
            replies.append(reply)
            continue
        (told,) = reply.message.responses
        known = call.but(
            owed=tuple(p for p in call.owed if p != told.partition),
            acknowledged=(*call.acknowledged, (told.partition, told.error)),
        )
        me = _replace_call(me, call, known)
    done = done.but(state=me, replies=tuple(replies))
    for call in me.waiting:
        tried = _try_acquire(done.state, call, on)
        done = with_effects(tried.state, done, tried)
    return done


def on_disconnected(me: ShareLeader, source: str) -> ShareLeader:
    """Remove the fetches of a closed connection."""
    left = tuple(call for call in me.waiting if call.reply_to.source != source)
    return me if len(left) == len(me.waiting) else me.but(waiting=left)


def _apply_acknowledgements(
    me: ShareLeader,
    call: SessionCall,
    every: tuple[PartitionAcknowledgements, ...],
    on: Context,
) -> Effects[ShareLeader]:
    """Apply the acknowledgements of each partition, all or none of them; the call continues to wait."""
    parts: list[Effects[ShareLeader]] = []
    member_id, to = call.request.member_id, call.reply_to
    for said in every:
        share = me.shares.get(_key(call, said.partition, on))
        checks = _part_checks(said, share, call, on)
        error = error_of(checks)
        done = Effects(me)
        if error is Errors.NONE and not said.acknowledgements:
            parts.append(done.after(checks))
            call = call.but(acknowledged=(*call.acknowledged, (said.partition, error)))
            continue
        if error is Errors.NONE and share is not None:
            taken, error = share_writes.acknowledge(
                share, member_id, said.acknowledgements, to, on, with_fetch=False
            )
            done = share_partition.keep(me, taken)
            me = done.state
        parts.append(done.after(checks))
        if error is Errors.NONE:
            call = call.but(owed=(*call.owed, said.partition))
        else:
            call = call.but(acknowledged=(*call.acknowledged, (said.partition, error)))
    return with_effects(me.but(waiting=(*me.waiting, call)), *parts)


@in_order
def _part_checks(
    said: PartitionAcknowledgements, share: SharePartition | None, call: SessionCall, on: Context
) -> Iterator[Check]:
    """Check the acknowledgements of one partition, before any of its records is checked."""
    yield report_value("partition", said.partition)
    yield _topic_check(said.partition, on)
    yield from share_validation.form_checks(said.acknowledgements)
    yield from _right_checks(said.partition, call, on)
    if said.acknowledgements:
        there = share is not None
        error = Errors.UNKNOWN_TOPIC_OR_PARTITION
        yield compare("share-partition in memory", None, there, there, error)


def _begin_call(
    done: Effects[ShareLeader], request: ShareFetch, on: Context
) -> Effects[ShareLeader]:
    """Check for each partition of the last call whether it can be read here, and load those not in memory."""
    me: ShareLeader = done.state
    call = me.waiting[-1]
    session = me.sessions[request.group_id, request.member_id]
    wanted = session.partitions if request.session_epoch != FINAL_EPOCH else ()
    if not wanted or request.max_records <= 0:
        return done.but(state=_replace_call(me, call, call.but(fetched=())))
    parts: list[Effects[ShareLeader]] = []
    refused: list[tuple[str, Errors]] = []
    ordered = rotate_partitions(wanted, request.session_epoch)
    parts.append(Effects(me, checks=(report_value("order of partitions", ordered),)))
    for partition in ordered:
        checks = _fetch_checks(partition, call, on)
        if error_of(checks) is not Errors.NONE:
            refused.append((partition, error_of(checks)))
            parts.append(Effects(me, checks=checks))
            continue
        key = _key(call, partition, on)
        share, loading = share_partition_leader.ensure(me, key, request.group_id, partition, on)
        status = report_value("share-partition", share.status)
        kept = share_partition.keep(me, loading.but(state=share))
        parts.append(kept.after((*checks, status)))
        me = parts[-1].state
    going = call.but(partitions=ordered, refused=tuple(refused))
    return with_effects(_replace_call(me, call, going), done, *parts)


@in_order
def _fetch_checks(partition: str, call: SessionCall, on: Context) -> Iterator[Check]:
    """Check that a member may read a partition, then that this broker leads it."""
    yield report_value("partition", partition)
    yield _topic_check(partition, on)
    yield from _right_checks(partition, call, on)
    yield deleted_topics.leader_check(partition, on)


def _topic_check(partition: str, on: Context) -> Check:
    """Check that the topic of a partition exists."""
    there = topic_of(partition) in on.image.topic_ids
    return compare("topic there", None, there, there, deleted_topics.unknown(partition, on.image))


def _right_checks(partition: str, call: SessionCall, on: Context) -> Iterator[Check]:
    """Check that the member may read the topic of a partition, if there are ACLs."""
    acls, source = on.image.acls, call.reply_to.source
    if acls is not None:
        topic, who = topic_of(partition), principal_of(source)
        allowed = may(acls, who, Operation.READ, Resource.TOPIC, topic)
        yield compare("rights", source, allowed, allowed, Errors.TOPIC_AUTHORIZATION_FAILED)


def _try_acquire(me: ShareLeader, call: SessionCall, on: Context) -> Effects[ShareLeader]:
    """Acquire records if there are some, and respond once every acknowledgement has its result."""
    done = Effects(me)
    asked = call.request
    if call.fetched is None and isinstance(asked, ShareFetch):
        ready, looked = _ready(me, call, asked, on)
        done = _acquire_records(me, call, asked, on) if ready else done.after(looked)
        me = done.state
        call = next(c for c in me.waiting if c.reply_to == call.reply_to)
    if call.fetched is None or call.owed:
        return done
    others = tuple(c for c in me.waiting if c is not call)
    answer = Reply(call.reply_to, _answer(call, asked))
    checks = (*done.checks, *_results(call))
    return done.but(state=me.but(waiting=others), replies=(answer,), checks=checks)


def _results(call: SessionCall) -> Checks:
    """Return the errors of a response, as decided when the request arrived or since."""
    return tuple(
        Check(name, partition, error, error)
        for name, each in (("acknowledged", call.acknowledged), ("fetched", call.refused))
        for partition, error in each
        if error is not Errors.NONE
    )


def _ready(
    me: ShareLeader, call: SessionCall, request: ShareFetch, on: Context
) -> tuple[bool, Checks]:
    """Return whether the fetch has records, or need not wait any longer, and the checks."""
    keys = tuple(_key(call, partition, on) for partition in _readable(call))
    shares = tuple(me.shares[key] for key in keys if key in me.shares)
    loaded = tuple(share for share in shares if share.status is Status.ACTIVE)
    looked: list[Check] = []
    for share in loaded:
        catch = share_acquiring.catch_records(share, request, on)
        if catch.too_early or not catch.nothing:
            return True, ()
        looked.append(report_value("partition", share.partition))
        looked += share_acquiring.catch_checks(share, request, catch, on)
    if len(loaded) < len(shares):
        return False, tuple(looked)
    ready = not request.max_wait_ms or bool(call.refused) or len(shares) < len(keys)
    return ready, tuple(looked)


def _acquire_records(
    me: ShareLeader, call: SessionCall, request: ShareFetch, on: Context
) -> Effects[ShareLeader]:
    """Acquire records from one partition after the other, up to the requested number."""
    left = request.max_records
    found: list[FetchedPartition] = []
    events: list[Event] = []
    checks: list[Check] = []
    for partition in _readable(call):
        share = me.shares.get(_key(call, partition, on))
        if share is None or share.status is not Status.ACTIVE:
            continue
        parked = ParkedFetch(request.but(max_records=left), call.reply_to)
        share, part, moves, looked = share_acquiring.take_partition(share, parked, on)
        checks += (report_value("partition", partition), *looked)
        me = me.but(shares=me.shares.set(share.key, share))
        events += moves
        left -= sum(run.last - run.first + 1 for run in part.acquired)
        found.append(part)
    refused = tuple(FetchedPartition(partition, error) for partition, error in call.refused)
    me = _replace_call(me, call, call.but(fetched=(*found, *refused)))
    full = tuple(part.partition for part in found if part.acquired)
    after = _after_turn(me, request, full)
    return Effects(after, events=tuple(events), checks=tuple(checks))


def _after_turn(me: ShareLeader, request: ShareFetch, full: tuple[str, ...]) -> ShareLeader:
    """Move partitions that returned records behind the others of their session.

    Source: ShareSessionContext.PartitionIterator; the first response of a session does not change the order.
    """
    who = (request.group_id, request.member_id)
    session = me.sessions.get(who)
    if session is None or request.session_epoch <= OPENS:
        return me
    kept = tuple(p for p in session.partitions if p not in full)
    behind = tuple(p for p in full if p in session.partitions)
    return me.but(sessions=me.sessions.set(who, session.but(partitions=(*kept, *behind))))


def _answer(
    call: SessionCall, request: ShareFetch | ShareAcknowledge
) -> ShareFetchResponse | ShareAcknowledgeResponse:
    """Build the response: acquired records and results of acknowledgements, partition by partition.

    A partition without anything new is left out, unless this request names it.
    """
    results = dict(call.acknowledged)
    if isinstance(request, ShareAcknowledge):
        each = (PartitionResult(p.partition, results[p.partition]) for p in request.partitions)
        return ShareAcknowledgeResponse(Errors.NONE, tuple(each))
    named = request.names
    found = []
    for part in call.fetched or ():
        told = part.but(acknowledge_error=results.pop(part.partition, Errors.NONE))
        if told != FetchedPartition(part.partition) or part.partition in named:
            found.append(told)
    return ShareFetchResponse(
        Errors.NONE,
        tuple(found)
        + tuple(
            FetchedPartition(partition, acknowledge_error=error)
            for partition, error in results.items()
        ),
    )


def _readable(call: SessionCall) -> tuple[str, ...]:
    refused = dict(call.refused)
    return tuple(p for p in call.partitions if p not in refused)


def _key(call: SessionCall, partition: str, on: Context) -> str:
    return on.image.share_key(call.request.group_id, partition)


def _replace_call(me: ShareLeader, call: SessionCall, known: SessionCall) -> ShareLeader:
    return me.but(waiting=tuple(known if c is call else c for c in me.waiting))
