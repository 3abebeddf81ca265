"""A consumer of the classic protocol: it joins, receives the leader's assignment, and reads on.

WHO: a client process. WHERE IN KAFKA: ClassicKafkaConsumer with ConsumerCoordinator, AbstractCoordinator. KIPS:
  KIP-62 (heartbeats in the background), KIP-429 (cooperative), KIP-345 (static members), KIP-394
  (MEMBER_ID_REQUIRED), KIP-447 (stable offsets, groupMetadata()).
PARTS: `membership` is a `ConsumerCoordinator`; every consumer has the other parts (`consumer`).
DURABILITY: none; the next life of the process is another member, and only a static member keeps its instance id.
NOT MODELLED: assignors other than range and cooperative-sticky, automatic commits, fetching ahead of poll(): one
  request at a time is in flight, besides the JoinGroup or SyncGroup of a cooperative consumer. A broker that is both
  coordinator and leader has one connection (in Kafka two), so a fetch waits behind the JoinGroup. The leader knows
  the partitions of the topic as they were when it was made.
"""

from __future__ import annotations

from kipviz.clients.groups import group_reading
from kipviz.clients.groups.assignors import assign
from kipviz.clients.groups.consumer import ClassicConsumer
from kipviz.clients.groups.consumer_coordinator import BETWEEN, MemberState
from kipviz.clients.throwing.client_errors import BetweenGenerations, NoSuchPartition, NotInGroup
from kipviz.clients.timers import HeartbeatInterval, TimerOfClient
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups.classic_groups import (
    NO_MEMBER,
    Assigned,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    SyncGroup,
    SyncGroupResponse,
)
from kipviz.messages.groups.groups import (
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
)
from kipviz.messages.logs.producing import FetchResponse
from kipviz.messages.message import Message
from kipviz.messages.message_errors import error_of_response
from kipviz.records.classic_groups import NO_GENERATION, Subscription
from kipviz.records.placement import topic_of

# The errors after which the consumer is no member. Only an illegal generation leaves it its member id.
OUT = (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION)
S = MemberState


# -- calls of the application thread ----------------------------------------------------------


def poll(me: ClassicConsumer) -> ClassicConsumer:
    """Join if necessary, and return what is already fetched, or ask for records. Blocks.

    A JoinGroup that poll() has to send goes first; then it returns what is fetched, without waiting for the response.
    If poll() returned records while a JoinGroup or SyncGroup was in flight (KIP-429), only the next poll() reads the
    response. Committed offsets are waited for, unless the consumer joins. A consumer that left while its request was in
    flight loses its partitions now. Source: ConsumerCoordinator.poll with waitForJoinGroup false,
    AbstractCoordinator.joinGroupIfNeeded, ClassicKafkaConsumer.updateFetchPositions.
    """
    mine = me.membership
    me = group_reading.begin_poll(me)
    under_way = mine.joining is not None or mine.state in BETWEEN
    if mine.unread is not None:
        me = _read(me.but(membership=mine.but(unread=None)), mine.unread)
    elif mine.rejoin and not under_way:
        me = _prepare_join(me)
    elif mine.state is S.UNJOINED:
        me = me.reading(me.subscription.without_partitions)
    return me if _asks_first(me) else group_reading.collect(me)


def _asks_first(me: ClassicConsumer) -> bool:
    """Return whether poll() has to send a JoinGroup, or to wait for committed offsets, before it returns records."""
    if me.state is S.PREPARING_REBALANCE:
        return me.membership.joining is None and not me.backing_off
    return me.state is S.STABLE and bool(group_reading.without_offset(me))


def commit_sync(me: ClassicConsumer) -> ClassicConsumer:
    """Commit the positions after everything that poll() returned, and wait for the response. Blocks.

    Between two generations it throws at once: RebalanceInProgressException, or CommitFailedException if the consumer is
    out of its group.
    """
    offsets = me.subscription.read_so_far
    if offsets and me.state is S.UNJOINED:
        return me.but(done=True, error=NotInGroup())
    if offsets and me.state is not S.STABLE:
        return me.but(done=True, error=BetweenGenerations(me.state.value))
    return me.but(offsets=me.offsets.but(committing=offsets), done=not offsets, error="")


def subscribe(me: ClassicConsumer, topics: tuple[str, ...], regex: str = "") -> ClassicConsumer:
    """Subscribe to exactly these topics; the next poll() joins again if the topics changed.

    What was fetched from other topics is dropped. Source: ConsumerCoordinator.rejoinNeededOrPending
    (joinedSubscription), Fetcher.clearBufferedDataForUnassignedPartitions.
    """
    assert not regex, "an expression is resolved for members by KIP-848 only"
    again = me.membership.rejoin or topics != me.subscription.topics
    after = me.subscription.subscribe_to(topics)
    return me.reading(after).but(membership=me.membership.but(rejoin=again))


def unsubscribe(me: ClassicConsumer) -> ClassicConsumer:
    """Revoke all partitions and send a LeaveGroup, without waiting for the response.

    A static member sends nothing, because it is expected back.
    """
    goodbye = me.membership.saying_goodbye(me.group_id)
    me = me.reading(me.subscription.without_partitions).but(membership=goodbye, records=())
    return _reset(me, forget=True).but(done=True, polling=False)


# -- the network thread -------------------------------------------------------------------------


def next_request(me: ClassicConsumer) -> Message | None:
    """Return the next request: to join the group, to stay in it, or to read.

    Between two generations it reads from the positions that it has. Source: ConsumerCoordinator.poll, which returns
    false until the consumer has joined, and ClassicKafkaConsumer.updateAssignmentMetadataIfNeeded.
    """
    mine = me.membership
    if me.on_wire is not None:
        return None
    if mine.leaving is not None:
        return mine.leaving
    if mine.joining is None and mine.unread is None:
        joins = _next_to_join(me)
        if joins is not None:
            return joins
    if mine.beat and mine.state is S.STABLE:
        return Heartbeat(me.group_id, mine.generation, mine.member_id, mine.instance_id)
    if me.offsets.committing and mine.state is S.STABLE:
        whose = (me.group_id, mine.member_id, mine.generation)
        return OffsetCommit(*whose, me.offsets.committing, mine.instance_id)
    if not me.polling or me.backing_off or mine.listening:
        return None
    return group_reading.next_fetch(me) if mine.state in BETWEEN else group_reading.next_read(me)


def _next_to_join(me: ClassicConsumer) -> Message | None:
    """Return the next request of a rebalance. Only poll() sends the first one."""
    mine, reads = me.membership, me.subscription
    if me.polling and mine.state is S.PREPARING_REBALANCE and not me.backing_off:
        subscription = Subscription(reads.topics, reads.owned, mine.generation)
        joins = (mine.member_id, subscription, mine.instance_id)
        return JoinGroup(me.group_id, *joins, mine.assignors)
    if mine.state is S.COMPLETING_REBALANCE:
        who = (mine.generation, mine.member_id)
        return SyncGroup(me.group_id, *who, mine.to_bring, mine.instance_id, mine.chosen)
    return None


def note_sent(
    me: ClassicConsumer, request: Message, broker: int
) -> tuple[ClassicConsumer, Message]:
    """Note that a request is in flight.

    A cooperative consumer keeps fetching while its JoinGroup waits for other members.
    """
    mine = me.membership
    if isinstance(request, JoinGroup | SyncGroup) and me.owned:
        sent = me.but(membership=mine.but(joining=request, joining_broker=broker))
        return group_reading.collect(sent), request
    if isinstance(request, Heartbeat):
        me = me.but(membership=mine.but(beat=False))
    if isinstance(request, LeaveGroup):
        me = me.but(membership=mine.but(leaving=None))
    return me.but(on_wire=request, on_wire_broker=broker), request


def on_response(me: ClassicConsumer, answer: Message) -> ClassicConsumer:
    """Handle a response: a generation, an assignment, a committed offset, or records."""
    mine = me.membership
    if mine.joining is None or not isinstance(answer, JoinGroupResponse | SyncGroupResponse):
        asked, me = me.on_wire, me.but(on_wire=None, on_wire_broker=-1)
        if isinstance(answer, FetchResponse):
            return group_reading.on_fetched(me, asked, answer)
        return _read(me, answer)
    if me.polling:
        return _read(me.but(membership=mine.answered), answer)
    return me.but(membership=mine.answered.but(unread=answer))


def _read(me: ClassicConsumer, answer: Message) -> ClassicConsumer:
    match answer:
        case JoinGroupResponse():
            return _on_joined(me, answer)
        case SyncGroupResponse():
            return _on_synced(me, answer)
        case HeartbeatResponse():
            return _on_heard(me, answer.error)
        case LeaveGroupResponse():
            return me
        case OffsetCommitResponse():
            return _on_committed(me, answer)
        case OffsetFetchResponse() if lost := group_reading.unknown_partition(me, answer):
            return me.but(polling=False, done=True, error=NoSuchPartition(lost))
        case _:
            known = group_reading.on_response(me, answer)
            if known is not None:
                return known
            error = error_of_response(answer)
            return group_reading.throw_out_of_poll(me, OffsetFetch, error)


def on_disconnected(me: ClassicConsumer, broker: int) -> ClassicConsumer:
    """Retry the request of a broken connection; a consumer that was joining joins again after a back-off."""
    mine = me.membership
    if mine.joining is not None and mine.joining_broker == broker:
        me = me.but(membership=mine.answered)
        me = _again(me) if me.state in BETWEEN else me
    if me.on_wire is None or me.on_wire_broker != broker:
        return me
    lost = me.on_wire
    me = me.but(on_wire=None, on_wire_broker=-1)
    if isinstance(lost, JoinGroup | SyncGroup):
        return _again(me)
    return me


# -- timers ---------------------------------------------------------------------------------------


def on_missed_poll(me: ClassicConsumer) -> ClassicConsumer:
    """Leave the group, because the application has not called poll() for max.poll.interval.ms.

    The application learns it at its next call. A static member sends no LeaveGroup: it stops its heartbeats, and its
    session times out. Source: AbstractCoordinator.HeartbeatThread, maybeLeaveGroup.
    """
    goodbye = me.membership.saying_goodbye(me.group_id)
    return _reset(me.but(membership=goodbye), forget=True)


def running(me: ClassicConsumer) -> tuple[TimerOfClient, ...]:
    """Return the timers that run, also while a request is in flight."""
    return (*((HeartbeatInterval(),) if me.state is S.STABLE else ()), *group_reading.timers(me))


# -- pieces -----------------------------------------------------------------------------------------


def _prepare_join(me: ClassicConsumer) -> ClassicConsumer:
    """Prepare to join: an eager consumer revokes all partitions first (onPartitionsRevoked, -Lost).

    A cooperative consumer keeps them, unless it has lost its generation or its member id, or no longer subscribes to
    the topic. Source: ConsumerCoordinator.onJoinPrepare.
    """
    mine, reads = me.membership, me.subscription
    keeps = mine.generation != NO_GENERATION and mine.member_id != NO_MEMBER
    if mine.cooperative and keeps:
        kept = tuple(p for p in reads.owned if topic_of(p) in reads.topics)
        reads = reads if kept == reads.owned else reads.owning(kept)
    else:
        reads = reads.without_partitions
    prepared = mine.to(S.PREPARING_REBALANCE).but(beat=False, rejoin=True, to_bring=())
    return me.but(membership=prepared).reading(reads)


def _again(me: ClassicConsumer) -> ClassicConsumer:
    """Join again after a back-off."""
    return _prepare_join(me).but(backing_off=True)


def _reset(me: ClassicConsumer, *, forget: bool) -> ClassicConsumer:
    """Leave the generation, and forget the member id if the coordinator no longer knows it.

    A commit that was not sent yet fails, because no member is left to commit it.
    """
    if me.offsets.committing and not isinstance(me.on_wire, OffsetCommit):
        none = me.offsets.but(committing=())
        me = me.but(offsets=none, done=True, error=NotInGroup())
    return me.but(membership=me.membership.reset(forget=forget), backing_off=False)


def _on_late_answer(me: ClassicConsumer) -> ClassicConsumer:
    """Ignore the response to a request of an earlier membership; a consumer that is in poll() again joins again."""
    return _prepare_join(me) if me.polling and me.state is S.UNJOINED else me


def _on_joined(me: ClassicConsumer, answer: JoinGroupResponse) -> ClassicConsumer:
    mine = me.membership
    if mine.state is not S.PREPARING_REBALANCE:
        return _on_late_answer(me)
    match answer.error:
        case Errors.NONE:
            made: tuple[Assigned, ...] = ()
            if answer.leader == answer.member_id and not answer.skip_assignment:
                made = assign(answer.protocol, mine.topic_partitions, answer.members)
            joined = mine.to(S.COMPLETING_REBALANCE).but(
                member_id=answer.member_id,
                generation=answer.generation,
                to_bring=made,
                chosen=answer.protocol,
            )
            return me.but(membership=joined)
        case Errors.MEMBER_ID_REQUIRED:
            named = mine.but(member_id=answer.member_id, generation=NO_GENERATION)
            return me.but(membership=named)
        case Errors.UNKNOWN_MEMBER_ID:
            return _prepare_join(_reset(me, forget=True))
        case error if error in RETRIABLE:
            return _again(me)
        case error:
            return _throw_out_of_poll(me, JoinGroup, error)


def _on_synced(me: ClassicConsumer, answer: SyncGroupResponse) -> ClassicConsumer:
    mine = me.membership
    if mine.state is not S.COMPLETING_REBALANCE:
        return _on_late_answer(me)
    error = answer.error
    if error is Errors.NONE:
        gone = tuple(p for p in me.owned if p not in answer.partitions)
        stable = mine.to(S.STABLE).but(
            metadata=(mine.member_id, mine.generation), rejoin=bool(gone), to_bring=()
        )
        me = me.but(membership=stable).reading(me.subscription.owning(answer.partitions))
        # Only a cooperative consumer had partitions left to revoke. It revokes them and joins again.
        return _prepare_join(me) if gone and me.polling else me
    if error is Errors.REBALANCE_IN_PROGRESS:
        return _prepare_join(me)
    if error in OUT:
        return _prepare_join(_reset(me, forget=error is not Errors.ILLEGAL_GENERATION))
    return _again(me) if error in RETRIABLE else _throw_out_of_poll(me, SyncGroup, error)


def _on_heard(me: ClassicConsumer, error: Errors) -> ClassicConsumer:
    """Learn that the group rebalances, or that the consumer is no longer a member; poll() acts on it."""
    if me.state is not S.STABLE or error is Errors.NONE or error in RETRIABLE:
        return me
    if error is Errors.REBALANCE_IN_PROGRESS:
        me = me.but(membership=me.membership.but(rejoin=True))
    elif error in OUT:
        me = _reset(me, forget=error is not Errors.ILLEGAL_GENERATION)
    else:
        return _throw_out_of_poll(me, Heartbeat, error)
    return _prepare_join(me) if me.polling else me


def _on_committed(me: ClassicConsumer, answer: OffsetCommitResponse) -> ClassicConsumer:
    error = group_reading.error_of_commit(answer)
    if error is Errors.REBALANCE_IN_PROGRESS:
        me = me.but(membership=me.membership.but(rejoin=True))
    if error in OUT:
        me = _reset(me, forget=error is not Errors.ILLEGAL_GENERATION)
    if me.state is S.UNJOINED and error in RETRIABLE:
        return me.but(offsets=me.offsets.but(committing=()), done=True, error=NotInGroup())
    return group_reading.on_committed(me, answer)


def _throw_out_of_poll(
    me: ClassicConsumer, request: type[Message], error: Errors
) -> ClassicConsumer:
    """Throw the error of a request about the membership out of poll(); the next poll() tries to join again."""
    return group_reading.throw_out_of_poll(_reset(me, forget=False), request, error)
