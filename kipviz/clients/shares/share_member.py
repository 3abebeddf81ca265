"""A member of a share group: it joins with the first poll(), sends heartbeats, and receives its partitions.

WHO: a client process, beside its share consumer. WHERE IN KAFKA: ShareMembershipManager,
  ShareHeartbeatRequestManager.
KIPS: KIP-932.
DURABILITY: none; the next life of the process is another member. A fenced member joins again under the same id, so
  that the leaders still know its records.
NOT MODELLED: several topics, racks; that close() waits for the response to the last heartbeat.
"""

from __future__ import annotations

from kipviz.clients.groups.consumer_membership import FENCING, MemberState
from kipviz.clients.throwing.client_errors import NoMemberEpoch, Raised, request_error
from kipviz.clients.timers import HeartbeatInterval, TimerOfClient
from kipviz.core.values import Part
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups.membership import JOINING, LEAVING
from kipviz.messages.message import Message
from kipviz.messages.shares.share_membership import ShareGroupHeartbeat, ShareGroupHeartbeatResponse

NAME = "member"
S = MemberState
SILENT = (S.UNSUBSCRIBED, S.FATAL)


class ShareMember(Part, frozen=True):
    """The state of the membership: its epoch and its partitions; `beat` says that a heartbeat is due."""

    source: str
    group_id: str
    member_id: str
    subscribed_topic_names: tuple[str, ...]
    state: MemberState = S.UNSUBSCRIBED
    member_epoch: int = 0
    partitions: tuple[str, ...] = ()
    beat: bool = False
    on_wire: Message | None = None
    on_wire_broker: int = -1
    done: bool = False
    error: Raised = ""


def name_of(member: str) -> str:
    """Return the name of a membership in its process: a further member's such as "M9", or "" for its own consumer."""
    return f"{member}-{NAME}" if member else NAME


def join(me: ShareMember) -> ShareMember:
    """Join, or join again under the same id."""
    return me.but(state=S.JOINING, member_epoch=JOINING, partitions=(), beat=True)


def why_no_metadata(me: ShareMember) -> NoMemberEpoch | None:
    """Return why shareGroupMetadata() throws: a member without an epoch has no snapshot.

    A member gets its epoch with a heartbeat, and those begin with the first poll(): our inference of what "cannot be
    obtained within default.api.timeout.ms" may mean. Clause: KIP-1289 javadoc (draft).
    """
    if me.member_epoch > 0:
        return None
    return NoMemberEpoch()


def leave(me: ShareMember) -> ShareMember:
    """Leave the group; the coordinator assigns the partitions to other members."""
    return me.but(state=S.LEAVING, partitions=(), beat=True)


def next_request(me: ShareMember) -> Message | None:
    """Return the heartbeat that is due."""
    if not me.beat or me.on_wire is not None:
        return None
    if me.state is S.LEAVING:
        return ShareGroupHeartbeat(me.group_id, me.member_id, LEAVING)
    names = me.subscribed_topic_names if me.member_epoch == JOINING else None
    return ShareGroupHeartbeat(me.group_id, me.member_id, me.member_epoch, names)


def note_sent(me: ShareMember, request: Message, broker: int) -> tuple[ShareMember, Message]:
    """Note that a heartbeat is in flight."""
    return me.but(beat=False, on_wire=request, on_wire_broker=broker), request


def on_response(me: ShareMember, answer: Message) -> ShareMember:
    """Apply the epoch and the partitions; join again if the coordinator does not know the member."""
    assert isinstance(answer, ShareGroupHeartbeatResponse), type(answer)
    me = me.but(on_wire=None, on_wire_broker=-1)
    if answer.error in RETRIABLE:
        return me.but(beat=True)
    if me.state is S.LEAVING:
        return me.but(state=S.UNSUBSCRIBED, member_epoch=0)
    if answer.error in FENCING:
        return join(me)
    if answer.error is not Errors.NONE:
        me = me.but(error=request_error(ShareGroupHeartbeat, answer.error))
        # Without the right to read the topic it keeps its state: an operator may still grant it.
        return me if answer.error is Errors.TOPIC_AUTHORIZATION_FAILED else me.but(state=S.FATAL)
    told = answer.assignment
    partitions = me.partitions if told is None else told.partitions
    return me.but(state=S.STABLE, member_epoch=answer.member_epoch, partitions=partitions)


def on_disconnected(me: ShareMember, broker: int) -> ShareMember:
    """Send the heartbeat again when the connection breaks."""
    if me.on_wire is None or me.on_wire_broker != broker:
        return me
    return me.but(on_wire=None, on_wire_broker=-1, beat=True)


def restart(me: ShareMember, life: int) -> ShareMember:
    """Return the membership of the process's next life, under the id of its consumer."""
    name = f"{me.member_id.partition('#')[0]}#{life}"
    return ShareMember(me.source, me.group_id, name, me.subscribed_topic_names)


def timers(me: ShareMember) -> tuple[TimerOfClient, ...]:
    """Return the heartbeat interval. It costs nothing; without a clock it may fire at any moment."""
    return () if me.on_wire is not None or me.beat else running(me)


def running(me: ShareMember) -> tuple[TimerOfClient, ...]:
    """Return the heartbeat interval, which also runs while a heartbeat is in flight."""
    return () if me.state in SILENT else (HeartbeatInterval(),)


def on_timer(me: ShareMember, timer: TimerOfClient) -> ShareMember:
    """Make a heartbeat due."""
    return me.but(beat=True)
