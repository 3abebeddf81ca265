"""A consumer of the classic protocol: it stops, joins, is told its share by the leader, and reads on.

WHO: a client process. WHERE IN KAFKA: ClassicKafkaConsumer with ConsumerCoordinator,
  AbstractCoordinator. KIPS: KIP-62 (heartbeats in the background), KIP-429 (cooperative), KIP-345 (static
  members), KIP-394 (MEMBER_ID_REQUIRED), KIP-447 (stable offsets, groupMetadata()).
DURABILITY: none; the next life of the process is another member, but for a static one's name.
NOT MODELLED: other assignors than range and cooperative-sticky, automatic commits, fetching ahead of
  poll(): one request at a time is on the wire, besides the JoinGroup or SyncGroup of a cooperative consumer.
  To a broker that is coordinator and leader there is one connection (in Kafka two): there a fetch waits behind
  the JoinGroup. The leader knows the partitions of the topic as they were when it was made.
"""

from __future__ import annotations

from enum import StrEnum

from kipviz.clients.groups import group_reading
from kipviz.clients.groups.assignors import assigned
from kipviz.clients.groups.consumer import NOT_ALLOWED
from kipviz.clients.groups.group_reading import HEARTBEAT
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.classic_groups import (
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
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups import (
    GroupOffset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetchResponse,
)
from kipviz.messages.list_offsets import ListOffsetsResponse
from kipviz.messages.message import Message
from kipviz.messages.producing import FetchedRecord, FetchResponse
from kipviz.records.classic_groups import (
    COOPERATIVE_STICKY,
    NO_GENERATION,
    RANGE,
    Subscription,
)
from kipviz.records.placement import topic_of

# What says that the member is none any more; only a wrong generation leaves it its name.
OUT = (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION)
NOT_IN_A_GROUP = "CommitFailedException: the consumer is UNJOINED"


class MemberState(StrEnum):
    """Where a consumer stands with its group (AbstractCoordinator.MemberState)."""

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


S = MemberState
# Where the next generation is on its way: what is read in poll() goes on beside that.
BETWEEN = (S.PREPARING_REBALANCE, S.COMPLETING_REBALANCE)

# state -> states it may go to, read from the code: Kafka has no table of them.
TRANSITIONS: dict[MemberState, tuple[MemberState, ...]] = {
    S.UNJOINED: (S.PREPARING_REBALANCE, S.UNJOINED),
    S.PREPARING_REBALANCE: (S.COMPLETING_REBALANCE, S.PREPARING_REBALANCE, S.UNJOINED),
    S.COMPLETING_REBALANCE: (S.STABLE, S.PREPARING_REBALANCE, S.UNJOINED),
    S.STABLE: (S.PREPARING_REBALANCE, S.UNJOINED),
}


class ClassicConsumer(Part, frozen=True):
    """What the consumer holds between two calls.

    `member_id` is what the coordinator calls it, `generation` the one it is in, -1 for none.
    `rejoin` says that it has to join again, in poll() and not before. `metadata` is groupMetadata():
    the member and generation of the last assignment, also when it has lost them since. `to_bring` is
    the assignment that it made as the leader. `leaving` is a LeaveGroup that is not sent yet.
    `joining` is the JoinGroup or SyncGroup that waits at `joining_broker` while a cooperative consumer
    fetches what it has, `unread` the answer to it that no poll() has looked at yet. `later_assignors` are
    those of the next lives of its process. `further_topics` are what it subscribes to besides `topic`,
    `first_topic` is what it began with where that is another one, as the next life of its process does again,
    `topic_partitions` are those of every topic that somebody in its group may subscribe to.
    `listening` says that it joins and does not read yet: onPartitionsAssigned() has not returned, or
    initTransactions(consumer) has not (KIP-447, drafts). `assignors` are those that it knows, `chosen` is
    that of its generation. Everything
    else is as in a member of KIP-848.
    """

    source: str
    group_id: str
    client_id: str
    topic: str
    partition: str
    max_records: int
    topic_partitions: tuple[str, ...]
    state: MemberState = S.UNJOINED
    member_id: str = NO_MEMBER
    generation: int = NO_GENERATION
    rejoin: bool = True
    metadata: tuple[str, int] = (NO_MEMBER, NO_GENERATION)
    to_bring: tuple[Assigned, ...] = ()
    leaving: LeaveGroup | None = None
    owned: tuple[str, ...] = ()
    positions: Table[str, int] = Table.of()
    polling: bool = False
    beat: bool = False
    backing_off: bool = False
    resting: tuple[str, ...] = ()
    on_wire: Message | None = None
    on_wire_broker: int = -1
    records: tuple[FetchedRecord, ...] = ()
    done: bool = False
    error: str = ""
    offset_fetch_version: int = 10
    committing: tuple[GroupOffset, ...] = ()
    instance_id: str = ""
    listening: bool = False
    assignors: tuple[str, ...] = (RANGE,)
    chosen: str = RANGE
    joining: Message | None = None
    joining_broker: int = -1
    unread: Message | None = None
    later_assignors: tuple[tuple[str, ...], ...] = ()
    auto_offset_reset: str = ""
    further_topics: tuple[str, ...] = ()
    first_topic: str = ""
    unfound: tuple[str, ...] = ()
    read_uncommitted: bool = False

    @property
    def topics(self) -> tuple[str, ...]:
        """All topics that it subscribes to."""
        return (self.topic, *self.further_topics)

    @property
    def cooperative(self) -> bool:
        """Whether it keeps its partitions while it joins: all of its assignors have to allow that."""
        return all(each == COOPERATIVE_STICKY for each in self.assignors)

    @property
    def position(self) -> int:
        """From where it reads on in the partition of its last records; -1 is not known."""
        return self.positions.get(self.partition, -1)

    @property
    def member_epoch(self) -> int:
        """What stands for the member epoch: the generation."""
        return self.generation

    @property
    def in_group(self) -> bool:
        """Whether the thread that beats runs: it looks after max.poll.interval.ms, too."""
        return self.state is not S.UNJOINED

    @property
    def to_send(self) -> Message | None:
        """What would go on the wire next."""
        return next_request(self)


# -- calls of the application thread ----------------------------------------------------------


def poll(me: ClassicConsumer) -> ClassicConsumer:
    """Join if that has to be, and ask for records. Blocks.

    Only here it is looked at what JoinGroup and SyncGroup were answered, if poll() has come back meanwhile
    with records of what the consumer keeps (KIP-429). Source: ConsumerCoordinator.poll with
    waitForJoinGroup false, AbstractCoordinator.joinGroupIfNeeded.
    """
    me = me.but(polling=True, done=False, records=(), resting=(), error="")
    if me.unread is not None:
        return _read(me.but(unread=None), me.unread)
    under_way = me.joining is not None or me.state in BETWEEN
    return _prepared(me) if me.rejoin and not under_way else me


def commit_sync(me: ClassicConsumer) -> ClassicConsumer:
    """Say how far everything that poll() gave was read, and wait for the answer. Blocks.

    Between two generations it throws at once: RebalanceInProgressException, or CommitFailedException
    for who is out of its group.
    """
    offsets = group_reading.read_so_far(me)
    if offsets and me.state is S.UNJOINED:
        return me.but(done=True, error=NOT_IN_A_GROUP)
    if offsets and me.state is not S.STABLE:
        thrown = "RebalanceInProgressException"
        return me.but(done=True, error=f"{thrown}: the consumer is {me.state.value}")
    return me.but(committing=offsets, done=not offsets, error="")


def subscribe(me: ClassicConsumer, topics: tuple[str, ...]) -> ClassicConsumer:
    """Subscribe to these topics and no others; the next poll() joins again if that is something new.

    Source: ConsumerCoordinator.rejoinNeededOrPending (joinedSubscription).
    """
    again = me.rejoin or topics != me.topics
    return group_reading.subscribed_to(me, topics).but(rejoin=again)


def unsubscribe(me: ClassicConsumer) -> ClassicConsumer:
    """Give everything up and say so to the coordinator, without waiting for an answer.

    A static member says nothing: it is expected back.
    """
    me = _goodbye(me).but(owned=(), positions=Table.of(), resting=(), records=())
    return _reset(me, forget=True).but(done=True, polling=False)


def forget_positions(me: ClassicConsumer) -> ClassicConsumer:
    """Go back to the committed offsets, as an application does after an abort."""
    return me.but(positions=Table.of())


# -- the network thread -------------------------------------------------------------------------


def next_request(me: ClassicConsumer) -> Message | None:
    """Give what goes on the wire next: to be in the group, to stay in it, or to read."""
    if me.on_wire is not None:
        return None
    if me.leaving is not None:
        return me.leaving
    if me.joining is None and me.unread is None:
        joins = _next_to_join(me)
        if joins is not None:
            return joins
    if me.beat and me.state is S.STABLE:
        return Heartbeat(me.group_id, me.generation, me.member_id, me.instance_id)
    if me.committing and me.state is S.STABLE:
        whose = (me.group_id, me.member_id, me.generation)
        return OffsetCommit(*whose, me.committing, me.instance_id)
    reads = me.polling and not me.backing_off and not me.listening and me.state is not S.UNJOINED
    return group_reading.next_read(me) if reads else None


def _next_to_join(me: ClassicConsumer) -> Message | None:
    """Give what brings the consumer nearer to the next generation; the first of it only in poll()."""
    if me.polling and me.state is S.PREPARING_REBALANCE and not me.backing_off:
        subscription = Subscription(me.topic, me.owned, me.generation, me.further_topics)
        joins = (me.member_id, me.client_id, subscription, me.instance_id)
        return JoinGroup(me.group_id, *joins, me.assignors)
    if me.state is S.COMPLETING_REBALANCE:
        who = (me.generation, me.member_id)
        return SyncGroup(me.group_id, *who, me.to_bring, me.instance_id, me.chosen)
    return None


def sent(me: ClassicConsumer, request: Message, broker: int) -> tuple[ClassicConsumer, Message]:
    """Note that a request is on the wire; while who joins waits for others, it goes on with what it has."""
    if isinstance(request, JoinGroup | SyncGroup) and me.owned:
        return me.but(joining=request, joining_broker=broker), request
    if isinstance(request, Heartbeat):
        me = me.but(beat=False)
    if isinstance(request, LeaveGroup):
        me = me.but(leaving=None)
    return me.but(on_wire=request, on_wire_broker=broker), request


def on_response(me: ClassicConsumer, answer: Message) -> ClassicConsumer:
    """Take an answer: a generation, an assignment, a committed offset, or records."""
    if me.joining is None or not isinstance(answer, JoinGroupResponse | SyncGroupResponse):
        return _read(me.but(on_wire=None, on_wire_broker=-1), answer)
    me = me.but(joining=None, joining_broker=-1)
    return _read(me, answer) if me.polling else me.but(unread=answer)


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
        case OffsetFetchResponse() | FetchResponse() | ListOffsetsResponse() if (
            answer.error in NOT_ALLOWED
        ):
            return _thrown(me, type(answer).__name__.removesuffix("Response"), answer.error)
        case OffsetCommitResponse():
            return _on_committed(me, answer)
        case OffsetFetchResponse():
            known = group_reading.on_offset(me, answer)
            return known or _thrown(me, "OffsetFetch", answer.error)
        case FetchResponse():
            return group_reading.on_records(me, answer)
        case ListOffsetsResponse():
            return group_reading.on_told(me, answer)
        case _:
            raise AssertionError(f"no consumer asked for {type(answer).__name__}")


def on_disconnected(me: ClassicConsumer, broker: int) -> ClassicConsumer:
    """Ask again what was on a broken connection; who was joining joins again, after a back-off."""
    if me.joining is not None and me.joining_broker == broker:
        me = me.but(joining=None, joining_broker=-1)
        me = _again(me) if me.state in BETWEEN else me
    if me.on_wire is None or me.on_wire_broker != broker:
        return me
    lost = me.on_wire
    me = me.but(on_wire=None, on_wire_broker=-1)
    if isinstance(lost, JoinGroup | SyncGroup):
        return _again(me)
    return me


def restarted(me: ClassicConsumer, life: int) -> ClassicConsumer:
    """Give the consumer of the process's next life: it has no id yet, a static one its old name."""
    return ClassicConsumer(
        me.source,
        me.group_id,
        me.client_id,
        me.first_topic or me.topic,
        me.partition,
        me.max_records,
        me.topic_partitions,
        offset_fetch_version=me.offset_fetch_version,
        instance_id=me.instance_id,
        assignors=me.later_assignors[0] if me.later_assignors else me.assignors,
        later_assignors=me.later_assignors[1:],
        auto_offset_reset=me.auto_offset_reset,
        read_uncommitted=me.read_uncommitted,
    )


# -- timers ---------------------------------------------------------------------------------------


def on_missed_poll(me: ClassicConsumer) -> ClassicConsumer:
    """Leave the group: the application has not called poll() for max.poll.interval.ms.

    The application is not told before its next call. A static member sends no LeaveGroup; it beats no
    more, and its session runs out. Source: AbstractCoordinator.HeartbeatThread, maybeLeaveGroup.
    """
    return _reset(_goodbye(me), forget=True)


def timers(me: ClassicConsumer) -> tuple[str, ...]:
    """Give the timers that are set: they cost nothing and may run out at any moment."""
    return () if me.on_wire is not None or me.beat else running(me)


def running(me: ClassicConsumer) -> tuple[str, ...]:
    """Give the timers whose time passes, also while a request is under way."""
    return (*((HEARTBEAT,) if me.state is S.STABLE else ()), *group_reading.timers(me))


def on_timer(me: ClassicConsumer, timer: str) -> ClassicConsumer:
    """Let a timer run out: beat, try again, or ask for new records."""
    return me.but(beat=True) if timer == HEARTBEAT else group_reading.on_timer(me, timer)


# -- pieces -----------------------------------------------------------------------------------------


def _goodbye(me: ClassicConsumer) -> ClassicConsumer:
    """Say to the coordinator that it is going; a static member says nothing: it is expected back."""
    there = me.state is not S.UNJOINED and me.member_id != NO_MEMBER
    goes = there and not me.instance_id
    return me.but(leaving=LeaveGroup(me.group_id, me.member_id) if goes else None)


def _prepared(me: ClassicConsumer) -> ClassicConsumer:
    """Stop: an eager consumer gives up all it has before it joins (onPartitionsRevoked, -Lost).

    A cooperative one keeps it, unless it has lost its generation or its name, or does not subscribe to
    the topic any more. Source: ConsumerCoordinator.onJoinPrepare.
    """
    if me.cooperative and me.generation != NO_GENERATION and me.member_id != NO_MEMBER:
        kept = tuple(p for p in me.owned if topic_of(p) in me.topics)
        if kept != me.owned:
            known = {p: at for p, at in me.positions.items() if p in kept}
            me = me.but(owned=kept, positions=Table.of(known))
        return _to(me, S.PREPARING_REBALANCE).but(resting=(), beat=False, rejoin=True, to_bring=())
    return _to(me, S.PREPARING_REBALANCE).but(
        owned=(), positions=Table.of(), resting=(), beat=False, rejoin=True, to_bring=()
    )


def _again(me: ClassicConsumer) -> ClassicConsumer:
    """Join once more, after a back-off."""
    return _prepared(me).but(backing_off=True)


def _reset(me: ClassicConsumer, *, forget: bool) -> ClassicConsumer:
    """Be in no generation any more, and without a name if that is not the coordinator's any more.

    A commit that was not sent yet has nobody left in whose name it could be.
    """
    if me.committing and not isinstance(me.on_wire, OffsetCommit):
        me = me.but(committing=(), done=True, error=NOT_IN_A_GROUP)
    return _to(me, S.UNJOINED).but(
        generation=NO_GENERATION,
        member_id=NO_MEMBER if forget else me.member_id,
        rejoin=True,
        beat=False,
        backing_off=False,
        to_bring=(),
    )


def _on_joined(me: ClassicConsumer, answer: JoinGroupResponse) -> ClassicConsumer:
    if me.state is not S.PREPARING_REBALANCE:
        # It has left since it asked. Whoever is in poll() again asks anew.
        return _prepared(me) if me.polling and me.state is S.UNJOINED else me
    match answer.error:
        case Errors.NONE:
            made: tuple[Assigned, ...] = ()
            if answer.leader == answer.member_id and not answer.skip_assignment:
                made = assigned(answer.protocol, me.topic_partitions, answer.members)
            return _to(me, S.COMPLETING_REBALANCE).but(
                member_id=answer.member_id,
                generation=answer.generation,
                to_bring=made,
                chosen=answer.protocol,
            )
        case Errors.MEMBER_ID_REQUIRED:
            return me.but(member_id=answer.member_id, generation=NO_GENERATION)
        case Errors.UNKNOWN_MEMBER_ID:
            return _prepared(_reset(me, forget=True))
        case error if error in RETRIABLE:
            return _again(me)
        case error:
            return _thrown(me, "JoinGroup", error)


def _on_synced(me: ClassicConsumer, answer: SyncGroupResponse) -> ClassicConsumer:
    if me.state is not S.COMPLETING_REBALANCE:
        return me
    error = answer.error
    if error is Errors.NONE:
        gone = tuple(p for p in me.owned if p not in answer.partitions)
        kept = Table.of({p: at for p, at in me.positions.items() if p in answer.partitions})
        me = _to(me, S.STABLE).but(
            owned=answer.partitions,
            positions=kept,
            metadata=(me.member_id, me.generation),
            rejoin=bool(gone),
            to_bring=(),
        )
        # Only a cooperative consumer had anything left to give up; now it has, and says so by joining.
        return _prepared(me) if gone and me.polling else me
    if error is Errors.REBALANCE_IN_PROGRESS:
        return _prepared(me)
    if error in OUT:
        return _prepared(_reset(me, forget=error is not Errors.ILLEGAL_GENERATION))
    return _again(me) if error in RETRIABLE else _thrown(me, "SyncGroup", error)


def _on_heard(me: ClassicConsumer, error: Errors) -> ClassicConsumer:
    """Learn that the group rebalances, or that one is out; poll() does what follows from that."""
    if me.state is not S.STABLE or error is Errors.NONE or error in RETRIABLE:
        return me
    if error is Errors.REBALANCE_IN_PROGRESS:
        me = me.but(rejoin=True)
    elif error in OUT:
        me = _reset(me, forget=error is not Errors.ILLEGAL_GENERATION)
    else:
        return _thrown(me, "Heartbeat", error)
    return _prepared(me) if me.polling else me


def _on_committed(me: ClassicConsumer, answer: OffsetCommitResponse) -> ClassicConsumer:
    error = answer.error
    if error is Errors.REBALANCE_IN_PROGRESS:
        me = me.but(rejoin=True)
    if error in OUT:
        me = _reset(me, forget=error is not Errors.ILLEGAL_GENERATION)
    if me.state is S.UNJOINED and error in RETRIABLE:
        return me.but(committing=(), done=True, error=NOT_IN_A_GROUP)
    return group_reading.on_committed(me, answer)


def _thrown(me: ClassicConsumer, request: str, error: Errors) -> ClassicConsumer:
    """Throw out of poll(); the next poll() tries again to join."""
    if request not in {"Fetch", "OffsetFetch"}:
        me = _reset(me, forget=False)
    return me.but(polling=False, done=True, error=f"{request}: {error.name}")


def _to(me: ClassicConsumer, state: MemberState) -> ClassicConsumer:
    """Go to another state; the table says which ones there are from here."""
    assert state in TRANSITIONS[me.state], (me.state, state)
    return me.but(state=state)
