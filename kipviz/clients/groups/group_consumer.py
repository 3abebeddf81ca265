"""A consumer that is a member of its group: it joins, beats, gives up partitions, and reads on.

WHO: a client process. WHERE IN KAFKA: AsyncKafkaConsumer with ConsumerMembershipManager,
  ConsumerHeartbeatRequestManager, CommitRequestManager, FetchRequestManager.
KIPS: KIP-848 (group.protocol=consumer), KIP-447 (stable offsets, groupMetadata()).
DURABILITY: none; the next life of the process is another member, of the same name if it is static.
NOT MODELLED: fetching ahead of poll(), several partitions in one Fetch or OffsetFetch, automatic
  commits; one request at a time is on the wire. The answer to
  a Fetch without records comes at once, and fetch.max.wait.ms passes here.
"""

from __future__ import annotations

from enum import StrEnum

from kipviz.clients.groups import group_reading
from kipviz.clients.groups.consumer import NOT_ALLOWED
from kipviz.clients.groups.group_reading import HEARTBEAT
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups import (
    GroupOffset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetchResponse,
)
from kipviz.messages.list_offsets import ListOffsetsResponse
from kipviz.messages.membership import (
    JOINING,
    LEAVING,
    LEAVING_STATIC,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kipviz.messages.message import Message
from kipviz.messages.producing import FetchedRecord, FetchResponse

FENCING = (Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID)
NO_EPOCH = -1


class MemberState(StrEnum):
    """Where a member stands with its group (org.apache.kafka...consumer.internals.MemberState)."""

    UNSUBSCRIBED = "UNSUBSCRIBED"
    JOINING = "JOINING"
    RECONCILING = "RECONCILING"
    ACKNOWLEDGING = "ACKNOWLEDGING"
    STABLE = "STABLE"
    FENCED = "FENCED"
    STALE = "STALE"
    LEAVING = "LEAVING"
    FATAL = "FATAL"


S = MemberState

# state -> states it may go to (MemberState.previousValidStates, the other way round). Left out are
# PREPARE_LEAVING, in which callbacks run before a member leaves. STALE is who did not poll in time.
TRANSITIONS: dict[MemberState, tuple[MemberState, ...]] = {
    S.UNSUBSCRIBED: (S.JOINING, S.FATAL),
    S.JOINING: (S.STABLE, S.RECONCILING, S.FENCED, S.LEAVING, S.FATAL),
    S.RECONCILING: (S.RECONCILING, S.ACKNOWLEDGING, S.STABLE, S.FENCED, S.LEAVING, S.FATAL),
    S.ACKNOWLEDGING: (S.STABLE, S.RECONCILING, S.FENCED, S.LEAVING, S.FATAL),
    S.STABLE: (S.RECONCILING, S.FENCED, S.LEAVING, S.FATAL),
    S.FENCED: (S.JOINING, S.UNSUBSCRIBED),
    S.STALE: (S.JOINING,),
    S.LEAVING: (S.UNSUBSCRIBED, S.FENCED, S.STALE, S.FATAL),
    S.FATAL: (),
}


# Who is out of its group says no epoch any more (CommitRequestManager.onMemberEpochUpdated).
OUT = (S.FENCED, S.STALE)
# The states in which a member has a group to leave.
IN_GROUP = (S.JOINING, S.RECONCILING, S.ACKNOWLEDGING, S.STABLE)


class GroupConsumer(Part, frozen=True):
    """What the consumer holds between two calls.

    `listener` says that it has a ConsumerRebalanceListener: then partitions come and go in poll()
    only, else as soon as the coordinator says so. NOT MODELLED: that without one a partition is given up
    in poll() only, too, since KAFKA-20332 (AbstractMembershipManager.maybeReconcile, in trunk from April 2026). `target` is the assignment that it was told last,
    `owned` what it has taken over of it, `told` what of that it told the coordinator (None: tell
    all). `resting` are the partitions that had nothing new for this poll(). `partition` is where the
    records of the last poll() are from. `offset_fetch_version` is the newest OffsetFetch that the
    client knows, `committing` what commitSync() waits for. `leaving` is
    a goodbye that is not sent yet, and whose answer nobody waits for. `auto_offset_reset` is what it does
    without a position that the log has; "" is earliest without a round trip.
    `further_topics` and `regex` are what it subscribes to besides `topic`; an expression of "" is one that it
    has to take back. `resubscribed` says that it has not told that yet. `first_topic` is the topic that it
    began with where that is not `topic` any more: the next life of its process begins with it again. `rack` is
    its client.rack. `unfound` are partitions in which no record was young enough (by_duration): they are
    asked again after a while. `read_uncommitted` is its isolation.level.
    """

    source: str
    group_id: str
    member_id: str
    topic: str
    partition: str
    max_records: int
    listener: bool = True
    state: MemberState = S.UNSUBSCRIBED
    member_epoch: int = 0
    target: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    told: tuple[str, ...] | None = None
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
    leaving: ConsumerGroupHeartbeat | None = None
    instance_id: str = ""
    auto_offset_reset: str = ""
    further_topics: tuple[str, ...] = ()
    regex: str | None = None
    resubscribed: bool = False
    first_topic: str = ""
    rack: str = ""
    unfound: tuple[str, ...] = ()
    read_uncommitted: bool = False

    @property
    def in_group(self) -> bool:
        """Whether max.poll.interval.ms passes between two calls of poll()."""
        return self.state in IN_GROUP

    @property
    def position(self) -> int:
        """From where it reads on in the partition of its last records; -1 is not known."""
        return self.positions.get(self.partition, -1)

    @property
    def to_send(self) -> Message | None:
        """What would go on the wire next."""
        return next_request(self)


# -- calls of the application thread ----------------------------------------------------------


def poll(me: GroupConsumer) -> GroupConsumer:
    """Join if that was not done yet, take over a new assignment, and ask for records. Blocks."""
    error = me.error if me.state is S.FATAL else ""
    me = me.but(polling=True, done=False, records=(), resting=(), error=error)
    if me.state is S.STALE:
        me = me.but(owned=(), positions=Table.of())
    if me.state in (S.UNSUBSCRIBED, S.FENCED, S.STALE):
        return _join(me)
    return _reconcile(me)


def commit_sync(me: GroupConsumer) -> GroupConsumer:
    """Say how far everything that poll() gave was read, and wait for the answer. Blocks."""
    offsets = group_reading.read_so_far(me)
    return me.but(committing=offsets, done=not offsets, error="")


def subscribe(me: GroupConsumer, topics: tuple[str, ...], regex: str = "") -> GroupConsumer:
    """Subscribe to these topics and no others, or to those that the broker finds for an expression.

    The next heartbeat says so, whenever that is due. Source: ConsumerHeartbeatRequestManager.HeartbeatState.
    """
    told = regex or (None if me.regex is None else "")
    after = group_reading.subscribed_to(me, topics or ("",)).but(regex=told)
    return after if after == me else after.but(resubscribed=True)


def unsubscribe(me: GroupConsumer) -> GroupConsumer:
    """Give everything up and leave the group. Blocks until the coordinator knows.

    Who is out of the group already says nothing to the coordinator: a fenced member is unsubscribed at once, and a
    stale one stays stale until it polls again. Source: AbstractMembershipManager.leaveGroup, isNotInGroup.
    """
    me = me.but(owned=(), target=(), positions=Table.of(), resting=(), records=())
    if me.state in (S.UNSUBSCRIBED, S.STALE, S.FATAL):
        return me.but(done=True)
    if me.state is S.FENCED:
        return _to(me, S.UNSUBSCRIBED).but(member_epoch=0, done=True)
    return _to(me, S.LEAVING).but(beat=True, done=False)


def forget_positions(me: GroupConsumer) -> GroupConsumer:
    """Go back to the committed offsets, as an application does after an abort."""
    return me.but(positions=Table.of())


# -- the network thread -------------------------------------------------------------------------


def next_request(me: GroupConsumer) -> Message | None:
    """Give what goes on the wire next: a heartbeat that is due, an offset to look up, a fetch."""
    if me.on_wire is not None:
        return None
    if me.leaving is not None:
        return me.leaving
    if me.committing and me.state in OUT:
        return _commit(me, NO_EPOCH)
    if me.state in (*OUT, S.UNSUBSCRIBED, S.FATAL):
        return None
    if me.beat:
        return _heartbeat(me)
    if me.committing:
        return _commit(me, me.member_epoch)
    if not me.polling or me.backing_off:
        return None
    return group_reading.next_read(me, (me.member_id, me.member_epoch))


def sent(me: GroupConsumer, request: Message, broker: int) -> tuple[GroupConsumer, Message]:
    """Note that a request is on the wire."""
    if me.leaving is not None:
        me = me.but(leaving=None)
    elif isinstance(request, ConsumerGroupHeartbeat):
        me = me.but(beat=False, told=me.owned, resubscribed=False, regex=me.regex or None)
    return me.but(on_wire=request, on_wire_broker=broker), request


def on_response(me: GroupConsumer, answer: Message) -> GroupConsumer:
    """Take an answer: an epoch and an assignment, a committed offset, or records.

    A heartbeat's is of no interest any more if the member has left, or is leaving, since it was sent.
    """
    asked, me = me.on_wire, me.but(on_wire=None, on_wire_broker=-1)
    match answer:
        case ConsumerGroupHeartbeatResponse() if _is_forgotten(me, asked):
            return me
        case ConsumerGroupHeartbeatResponse():
            return _on_heartbeat(me, answer)
        case OffsetFetchResponse() | FetchResponse() | ListOffsetsResponse() if (
            answer.error in NOT_ALLOWED
        ):
            request = type(answer).__name__.removesuffix("Response")
            return me.but(polling=False, done=True, error=f"{request}: {answer.error.name}")
        case OffsetCommitResponse():
            return group_reading.on_committed(me, answer)
        case OffsetFetchResponse():
            return _on_offset(me, answer)
        case FetchResponse():
            return group_reading.on_records(me, answer)
        case ListOffsetsResponse():
            return group_reading.on_told(me, answer)
        case _:
            raise AssertionError(f"no consumer asked for {type(answer).__name__}")


def on_disconnected(me: GroupConsumer, broker: int) -> GroupConsumer:
    """Ask again what was on a broken connection; a heartbeat then tells everything again."""
    if me.on_wire is None or me.on_wire_broker != broker:
        return me
    if isinstance(me.on_wire, ConsumerGroupHeartbeat) and not _is_forgotten(me, me.on_wire):
        me = me.but(beat=True, told=None)
    return me.but(on_wire=None, on_wire_broker=-1)


def restarted(me: GroupConsumer, life: int) -> GroupConsumer:
    """Give the consumer of the process's next life: another member, who has not joined or subscribed anew."""
    name = f"{me.member_id.partition('/')[0]}/{life}"
    return GroupConsumer(
        me.source,
        me.group_id,
        name,
        me.first_topic or me.topic,
        me.partition,
        me.max_records,
        me.listener,
        offset_fetch_version=me.offset_fetch_version,
        instance_id=me.instance_id,
        auto_offset_reset=me.auto_offset_reset,
        rack=me.rack,
        read_uncommitted=me.read_uncommitted,
    )


# -- timers ---------------------------------------------------------------------------------------


def timers(me: GroupConsumer) -> tuple[str, ...]:
    """Give the timers that are set: they cost nothing; untimed they may run out at any moment."""
    return () if me.on_wire is not None or me.beat else running(me)


def running(me: GroupConsumer) -> tuple[str, ...]:
    """Give the timers whose time passes, also while a request is under way."""
    if me.state in (*OUT, S.UNSUBSCRIBED, S.FATAL):
        return ()
    return (HEARTBEAT, *group_reading.timers(me))


def on_timer(me: GroupConsumer, timer: str) -> GroupConsumer:
    """Let a timer run out: beat, try again, or ask for new records."""
    return me.but(beat=True) if timer == HEARTBEAT else group_reading.on_timer(me, timer)


def on_missed_poll(me: GroupConsumer) -> GroupConsumer:
    """Leave the group: the application has not called poll() for max.poll.interval.ms.

    The member says so at once, and does not wait for the answer. What it owned is lost: a listener is
    told in the next poll(), and until then the application can go on as if it had it.
    Source: AbstractHeartbeatRequestManager.poll, AbstractMembershipManager.transitionToStale.
    """
    me = _to(_to(me, S.LEAVING), S.STALE).but(
        leaving=_goodbye(me), beat=False, target=(), told=None
    )
    return me if me.listener else me.but(owned=(), positions=Table.of(), resting=())


# -- pieces -----------------------------------------------------------------------------------------


def _is_forgotten(me: GroupConsumer, asked: Message | None) -> bool:
    """Say whether a heartbeat was sent in another life: before the member left, or to leave."""
    said = isinstance(asked, ConsumerGroupHeartbeat) and asked.member_epoch < JOINING
    return me.state in OUT or said != (me.state is S.LEAVING)


def _goodbye(me: GroupConsumer) -> ConsumerGroupHeartbeat:
    """Say that it goes; a static member says that it will be back."""
    epoch = LEAVING_STATIC if me.instance_id else LEAVING
    return ConsumerGroupHeartbeat(me.group_id, me.member_id, epoch, instance_id=me.instance_id)


def _commit(me: GroupConsumer, epoch: int) -> OffsetCommit:
    return OffsetCommit(me.group_id, me.member_id, epoch, me.committing, me.instance_id)


def _heartbeat(me: GroupConsumer) -> Message:
    if me.state is S.LEAVING:
        return _goodbye(me)
    changed = me.told is None or me.told != me.owned
    says = me.told is None or me.resubscribed
    return ConsumerGroupHeartbeat(
        me.group_id,
        me.member_id,
        me.member_epoch,
        me.topic if says else "",
        me.owned if changed else None,
        me.instance_id,
        me.further_topics if says else (),
        me.regex if says else None,
        me.rack if me.told is None else "",
    )


def _on_heartbeat(me: GroupConsumer, answer: ConsumerGroupHeartbeatResponse) -> GroupConsumer:
    if me.state is S.LEAVING:
        if answer.error in RETRIABLE:
            return me.but(beat=True)
        return _to(me, S.UNSUBSCRIBED).but(member_epoch=0, told=None, polling=False, done=True)
    if answer.error in FENCING:
        return _fenced(me)
    if answer.error in RETRIABLE:
        return me.but(beat=True, told=None)
    if answer.error is Errors.TOPIC_AUTHORIZATION_FAILED:
        # poll() throws it, and the member stays what it is: somebody may yet give it the right.
        error = f"ConsumerGroupHeartbeat: {answer.error.name}"
        return me.but(told=None, polling=False, done=True, error=error)
    if answer.error is not Errors.NONE:
        return _to(me, S.FATAL).but(error=f"ConsumerGroupHeartbeat: {answer.error.name}", done=True)
    me = me.but(member_epoch=answer.member_epoch)
    if answer.assignment is not None:
        me = me.but(target=answer.assignment.partitions)
    if me.target != me.owned:
        me = _to(me, S.RECONCILING)
        return _reconcile(me) if me.polling or not me.listener else me
    return me if me.state is S.STABLE else _to(me, S.STABLE)


def _reconcile(me: GroupConsumer) -> GroupConsumer:
    """Give up what is not in the assignment any more, take over what is new, and say so."""
    if me.state is not S.RECONCILING:
        return me
    positions = Table.of({p: at for p, at in me.positions.items() if p in me.target})
    return _to(me, S.ACKNOWLEDGING).but(
        owned=me.target, positions=positions, resting=(), backing_off=False, beat=True
    )


def _fenced(me: GroupConsumer) -> GroupConsumer:
    """Lose everything; join again, in poll() if there is a listener to be told of the loss."""
    me = _to(me, S.FENCED).but(
        owned=(), target=(), positions=Table.of(), resting=(), backing_off=False, beat=False
    )
    return _join(me) if me.polling or not me.listener else me


def _join(me: GroupConsumer) -> GroupConsumer:
    return _to(me, S.JOINING).but(member_epoch=JOINING, told=None, beat=True)


def _on_offset(me: GroupConsumer, answer: OffsetFetchResponse) -> GroupConsumer:
    """Read on from the committed offset; wait before asking again for what is not stable yet."""
    known = group_reading.on_offset(me, answer)
    if known is not None:
        return known
    return me.but(backing_off=True, beat=True)  # a stale member: the heartbeat finds out


def _to(me: GroupConsumer, state: MemberState) -> GroupConsumer:
    """Go to another state; the table says which ones there are from here."""
    assert state in TRANSITIONS[me.state], (me.state, state)
    return me.but(state=state)
