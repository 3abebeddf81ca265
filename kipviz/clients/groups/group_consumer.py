"""A consumer with group.protocol=consumer: it joins, sends heartbeats, revokes partitions, and reads on.

With assign() it does not join: it reads on from its group's committed offsets, and sends no heartbeats.
WHO: a client process. WHERE IN KAFKA: AsyncKafkaConsumer with ConsumerMembershipManager,
  ConsumerHeartbeatRequestManager, CommitRequestManager, FetchRequestManager.
KIPS: KIP-848 (group.protocol=consumer), KIP-447 (stable offsets, groupMetadata()).
PARTS: `membership` is a `ConsumerMembership`; every consumer has the other parts (`consumer`).
DURABILITY: none; the next life of the process is another member, with the same instance id if it is static.
NOT MODELLED: fetching ahead of poll(), automatic commits; one request at a time is in flight. A Fetch without records
  is answered at once, and fetch.max.wait.ms passes here. What is fetched from a partition is dropped when it is
  revoked; Kafka's consumer returns it if the partition comes back at the same position before the next poll().
"""

from __future__ import annotations

from kipviz.clients.groups import group_reading
from kipviz.clients.groups.consumer import GroupConsumer
from kipviz.clients.groups.consumer_membership import FENCING, OUT, MemberState
from kipviz.clients.throwing.client_errors import request_error
from kipviz.clients.timers import HeartbeatInterval, TimerOfClient
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups.groups import (
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
)
from kipviz.messages.groups.membership import (
    JOINING,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kipviz.messages.logs.producing import FetchResponse
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response

NO_EPOCH = -1
S = MemberState


# -- calls of the application thread ----------------------------------------------------------


def poll(me: GroupConsumer) -> GroupConsumer:
    """Join if necessary, apply a new assignment, and return what is already fetched, or ask for records. Blocks."""
    error = me.error if me.state is S.FATAL else ""
    me = group_reading.begin_poll(me).but(error=error)
    if me.subscription.user_assigned:
        return group_reading.collect(me)
    if me.state is S.STALE:
        me = me.reading(me.subscription.without_partitions)
    if me.state in (S.UNSUBSCRIBED, S.FENCED, S.STALE):
        return me.but(membership=me.membership.joining)
    return group_reading.collect(_reconcile(me))


def commit_sync(me: GroupConsumer) -> GroupConsumer:
    """Commit the positions after everything that poll() returned, and wait for the response. Blocks."""
    offsets = me.subscription.read_so_far
    return me.but(offsets=me.offsets.but(committing=offsets), done=not offsets, error="")


def subscribe(me: GroupConsumer, topics: tuple[str, ...], regex: str = "") -> GroupConsumer:
    """Subscribe to exactly these topics, or to those that the broker finds for a regular expression.

    The next heartbeat that is due carries the subscription. What was fetched from other topics is dropped. Source:
    ConsumerHeartbeatRequestManager.HeartbeatState, AsyncKafkaConsumer.subscribeInternal.
    """
    told = regex or (None if me.subscription.regex is None else "")
    after = me.subscription.subscribe_to(topics).but(regex=told)
    if after == me.subscription:
        return me
    return me.reading(after).but(membership=me.membership.but(resubscribed=True))


def unsubscribe(me: GroupConsumer) -> GroupConsumer:
    """Revoke all partitions and leave the group. Blocks until the coordinator knows.

    A member that is already out of the group sends nothing: a fenced member is unsubscribed at once, and a stale one
    stays stale until it polls again. Source: AbstractMembershipManager.leaveGroup, isNotInGroup.
    """
    membership = me.membership.but(target=())
    me = me.reading(me.subscription.without_partitions).but(membership=membership, records=())
    if me.state in (S.UNSUBSCRIBED, S.STALE, S.FATAL):
        return me.but(done=True)
    if me.state is S.FENCED:
        return me.but(membership=membership.to(S.UNSUBSCRIBED).but(member_epoch=0), done=True)
    return me.but(membership=membership.to(S.LEAVING).but(beat=True), done=False)


# -- the network thread -------------------------------------------------------------------------


def next_request(me: GroupConsumer) -> Message | None:
    """Return the next request: a heartbeat that is due, an OffsetFetch, or a Fetch."""
    mine = me.membership
    if me.on_wire is not None:
        return None
    if mine.leaving is not None:
        return mine.leaving
    if me.offsets.committing and mine.state in OUT:
        return _commit(me, NO_EPOCH)
    if _is_out(me):
        return None
    if mine.beat:
        return _heartbeat(me)
    if me.offsets.committing:
        return _commit(me, mine.member_epoch)
    if not me.polling or me.backing_off:
        return None
    member = group_reading.NOBODY if me.subscription.user_assigned else mine.group_metadata
    return group_reading.next_read(me, member)


def note_sent(me: GroupConsumer, request: Message, broker: int) -> tuple[GroupConsumer, Message]:
    """Note that a request is in flight."""
    mine = me.membership
    if mine.leaving is not None:
        me = me.but(membership=mine.but(leaving=None))
    elif isinstance(request, ConsumerGroupHeartbeat):
        subscription = me.subscription.but(regex=me.subscription.regex or None)
        told = mine.but(beat=False, told=me.owned, resubscribed=False)
        me = me.but(membership=told, subscription=subscription)
    return me.but(on_wire=request, on_wire_broker=broker), request


def on_response(me: GroupConsumer, answer: Message) -> GroupConsumer:
    """Handle a response: an epoch and an assignment, a committed offset, or records.

    The response to a heartbeat is ignored if the member has left, or began to leave, since it was sent.
    """
    asked, me = me.on_wire, me.but(on_wire=None, on_wire_broker=-1)
    match answer:
        case ConsumerGroupHeartbeatResponse() if _is_forgotten(me, asked):
            return me
        case ConsumerGroupHeartbeatResponse():
            return _on_heartbeat(me, answer)
        case OffsetCommitResponse():
            return group_reading.on_committed(me, answer)
        case FetchResponse():
            return group_reading.on_fetched(me, asked, answer)
        case _:
            return group_reading.on_response(me, answer) or _on_failed_fetch(me, answer)


def on_disconnected(me: GroupConsumer, broker: int) -> GroupConsumer:
    """Retry the request of a broken connection; the next heartbeat then reports everything."""
    if me.on_wire is None or me.on_wire_broker != broker:
        return me
    if isinstance(me.on_wire, ConsumerGroupHeartbeat) and not _is_forgotten(me, me.on_wire):
        me = me.but(membership=me.membership.but(beat=True, told=None))
    return me.but(on_wire=None, on_wire_broker=-1)


# -- timers ---------------------------------------------------------------------------------------


def running(me: GroupConsumer) -> tuple[TimerOfClient, ...]:
    """Return the timers that run, also while a request is in flight."""
    if _is_out(me):
        return ()
    heartbeats = () if me.subscription.user_assigned else (HeartbeatInterval(),)
    return (*heartbeats, *group_reading.timers(me))


def on_missed_poll(me: GroupConsumer) -> GroupConsumer:
    """Leave the group, because the application has not called poll() for max.poll.interval.ms.

    The member sends its last heartbeat at once and does not wait for the response. It loses its partitions: a
    listener is called in the next poll(), and until then the application can go on as if it still owned them.
    Source: AbstractHeartbeatRequestManager.poll, AbstractMembershipManager.transitionToStale.
    """
    mine = me.membership
    stale = mine.to(S.LEAVING).to(S.STALE)
    gone = stale.but(leaving=mine.goodbye(me.group_id), beat=False, target=(), told=None)
    me = me.but(membership=gone)
    if mine.listener:
        return me
    return me.reading(me.subscription.without_partitions)


# -- pieces -----------------------------------------------------------------------------------------


def _is_out(me: GroupConsumer) -> bool:
    """Return whether it sends nothing: it is out of its group, and has no partitions by assign() either."""
    state = me.state
    return state in (*OUT, S.FATAL) or (
        state is S.UNSUBSCRIBED and not me.subscription.user_assigned
    )


def _is_forgotten(me: GroupConsumer, asked: Message | None) -> bool:
    """Return whether a heartbeat belongs to an earlier membership: sent before the member left, or to leave."""
    said = isinstance(asked, ConsumerGroupHeartbeat) and asked.member_epoch < JOINING
    return me.state in OUT or said != (me.state is S.LEAVING)


def _commit(me: GroupConsumer, epoch: int) -> OffsetCommit:
    mine = me.membership
    return OffsetCommit(me.group_id, mine.member_id, epoch, me.offsets.committing, mine.instance_id)


def _heartbeat(me: GroupConsumer) -> Message:
    mine, subscription = me.membership, me.subscription
    if mine.state is S.LEAVING:
        return mine.goodbye(me.group_id)
    changed = mine.told is None or mine.told != subscription.owned
    says = mine.told is None or mine.resubscribed
    return ConsumerGroupHeartbeat(
        me.group_id,
        mine.member_id,
        mine.member_epoch,
        subscription.topics if says else None,
        subscription.owned if changed else None,
        mine.instance_id,
        subscription.regex if says else None,
        mine.rack if mine.told is None else "",
    )


def _on_heartbeat(me: GroupConsumer, answer: ConsumerGroupHeartbeatResponse) -> GroupConsumer:
    mine = me.membership
    if mine.state is S.LEAVING:
        if answer.error in RETRIABLE:
            return me.but(membership=mine.but(beat=True))
        out = mine.to(S.UNSUBSCRIBED).but(member_epoch=0, told=None)
        return me.but(membership=out, polling=False, done=True)
    if answer.error in FENCING:
        return _fence_member(me)
    if answer.error in RETRIABLE:
        return me.but(membership=mine.but(beat=True, told=None))
    if answer.error is not Errors.NONE:
        error = request_error(ConsumerGroupHeartbeat, answer.error)
        me = me.but(done=True, error=error)
        if answer.error is Errors.TOPIC_AUTHORIZATION_FAILED:
            # poll() throws it, and the member keeps its state: an operator may still grant the right.
            return me.but(membership=mine.but(told=None), polling=False)
        return me.but(membership=mine.to(S.FATAL)).reading(me.subscription.without_partitions)
    mine = mine.but(member_epoch=answer.member_epoch)
    if answer.assignment is not None:
        mine = mine.but(target=answer.assignment.partitions)
    if mine.target != me.owned:
        me = me.but(membership=mine.to(S.RECONCILING))
        return _reconcile(me) if me.polling or not mine.listener else me
    return me.but(membership=mine if mine.state is S.STABLE else mine.to(S.STABLE))


def _reconcile(me: GroupConsumer) -> GroupConsumer:
    """Revoke the partitions that are no longer assigned, add the new ones, and acknowledge the assignment."""
    mine = me.membership
    if mine.state is not S.RECONCILING:
        return me
    acknowledging = mine.to(S.ACKNOWLEDGING).but(beat=True)
    me = me.but(membership=acknowledging, backing_off=False)
    return me.reading(me.subscription.owning(mine.target))


def _fence_member(me: GroupConsumer) -> GroupConsumer:
    """Lose all partitions and join again; with a listener, which must learn of the loss, in poll()."""
    mine = me.membership.to(S.FENCED).but(target=(), beat=False)
    again = mine.joining if me.polling or not mine.listener else mine
    me = me.but(membership=again, backing_off=False)
    return me.reading(me.subscription.without_partitions)


def _on_failed_fetch(me: GroupConsumer, answer: Message) -> GroupConsumer:
    """Learn from an OffsetFetch that the membership is outdated; with assign() poll() throws the error.

    Source: CommitRequestManager.OffsetFetchRequestState.onFailure.
    """
    if me.subscription.user_assigned:
        return group_reading.throw_out_of_poll(me, OffsetFetch, error_of_response(answer))
    # A stale member: the next heartbeat finds out.
    return me.but(backing_off=True, membership=me.membership.but(beat=True))
