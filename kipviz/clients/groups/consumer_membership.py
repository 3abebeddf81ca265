"""The membership of a consumer in its group by KIP-848: its state, its epoch, and its next heartbeat.

A consumer that has called assign() stays UNSUBSCRIBED.

WHERE IN KAFKA: ConsumerMembershipManager, ConsumerHeartbeatRequestManager. KIPS: KIP-848, KIP-345 (static members).
DURABILITY: none.
"""

from __future__ import annotations

from enum import StrEnum

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups.membership import (
    JOINING,
    LEAVING,
    LEAVING_STATIC,
    ConsumerGroupHeartbeat,
)

FENCING = (Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID)


class MemberState(StrEnum):
    """The state of a member (org.apache.kafka...consumer.internals.MemberState)."""

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

# state -> allowed next states (MemberState.previousValidStates, reversed). PREPARE_LEAVING, in which callbacks run
# before a member leaves, is left out. A STALE member did not poll in time.
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

# A member that is out of its group sends no epoch (CommitRequestManager.onMemberEpochUpdated).
OUT = (S.FENCED, S.STALE)
# The states in which a member has a group to leave.
IN_GROUP = (S.JOINING, S.RECONCILING, S.ACKNOWLEDGING, S.STABLE)


class ConsumerMembership(Value, frozen=True):
    """What a member knows of itself, and what it has reported to the coordinator.

    `listener` says that it has a ConsumerRebalanceListener: then partitions are assigned and revoked in poll() only,
    else as soon as the coordinator says so. NOT MODELLED: since KAFKA-20332 a member without one also revokes a
    partition in poll() only (AbstractMembershipManager.maybeReconcile, in trunk from April 2026). `rack` is its
    client.rack. `target` is the assignment that it received last, `told` the partitions that it has reported as owned
    (None: report all), `resubscribed` says that it has not sent its subscription yet. `beat` says that a heartbeat is
    due. `leaving` is a last heartbeat that is not sent yet, and whose response the member does not wait for.
    A member that is in its group before the run (profile small) stays UNSUBSCRIBED, because it has called assign(), and
    has a `member_epoch` all the same; in Kafka assign() leaves a consumer without one.
    """

    member_id: str
    listener: bool = True
    instance_id: str = ""
    rack: str = ""
    state: MemberState = S.UNSUBSCRIBED
    member_epoch: int = 0
    target: tuple[str, ...] = ()
    told: tuple[str, ...] | None = None
    resubscribed: bool = False
    beat: bool = False
    leaving: ConsumerGroupHeartbeat | None = None

    @property
    def in_group(self) -> bool:
        """Whether it has a group to leave: then max.poll.interval.ms runs between two calls of poll()."""
        return self.state in IN_GROUP

    @property
    def group_metadata(self) -> tuple[str, int]:
        """The member id and epoch that groupMetadata() returns: those that the consumer knows now."""
        return self.member_id, self.member_epoch

    def to(self, state: MemberState) -> ConsumerMembership:
        """Change the state; `TRANSITIONS` has the allowed next states."""
        assert state in TRANSITIONS[self.state], (self.state, state)
        return self.but(state=state)

    @property
    def joining(self) -> ConsumerMembership:
        """The same when it joins, or joins again."""
        return self.to(S.JOINING).but(member_epoch=JOINING, told=None, beat=True)

    def anew(self, life: int) -> ConsumerMembership:
        """Return the membership of the process's next life: another member, with the same instance id if it is static."""
        name = f"{self.member_id.partition('/')[0]}/{life}"
        return ConsumerMembership(name, self.listener, self.instance_id, self.rack)

    def goodbye(self, group_id: str) -> ConsumerGroupHeartbeat:
        """Return the heartbeat with which it leaves; a static member announces that it will return."""
        epoch = LEAVING_STATIC if self.instance_id else LEAVING
        return ConsumerGroupHeartbeat(group_id, self.member_id, epoch, instance_id=self.instance_id)
