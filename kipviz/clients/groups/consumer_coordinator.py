"""The membership of a consumer in its group by the classic protocol.

WHERE IN KAFKA: ConsumerCoordinator, AbstractCoordinator. KIPS: KIP-62, KIP-345, KIP-394, KIP-429.
DURABILITY: none.
"""

from __future__ import annotations

from enum import StrEnum

from kipviz.core.values import Value
from kipviz.messages.groups.classic_groups import NO_MEMBER, Assigned, LeaveGroup, Leaver
from kipviz.messages.message import Message
from kipviz.records.classic_groups import COOPERATIVE_STICKY, NO_GENERATION, RANGE


class MemberState(StrEnum):
    """The state of a consumer's membership (AbstractCoordinator.MemberState)."""

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


S = MemberState
# The next generation is being made; poll() keeps reading meanwhile.
BETWEEN = (S.PREPARING_REBALANCE, S.COMPLETING_REBALANCE)

# state -> allowed next states, read from the code: Kafka has no table of them.
TRANSITIONS: dict[MemberState, tuple[MemberState, ...]] = {
    S.UNJOINED: (S.PREPARING_REBALANCE, S.UNJOINED),
    S.PREPARING_REBALANCE: (S.COMPLETING_REBALANCE, S.PREPARING_REBALANCE, S.UNJOINED),
    S.COMPLETING_REBALANCE: (S.STABLE, S.PREPARING_REBALANCE, S.UNJOINED),
    S.STABLE: (S.PREPARING_REBALANCE, S.UNJOINED),
}


class ConsumerCoordinator(Value, frozen=True):
    """What the consumer knows of its group, and what it still has to send.

    `member_id` is the id that the group coordinator assigned, `generation` the current one, -1 without one.
    `topic_partitions` are those of every topic to which a member of its group may subscribe. `assignors` are those that
    it supports, `later_assignors` those of the next lives of its process, `chosen` is the one of its generation.
    `rejoin` says that the next poll() must join again. `metadata` is groupMetadata(): the member id and generation of
    the last assignment, also after it has lost them. `to_bring` is the assignment that it made as the leader. `leaving`
    is a LeaveGroup that is not sent yet. `joining` is the JoinGroup or SyncGroup that waits at `joining_broker` while a
    cooperative consumer fetches from its partitions, `unread` the response to it that no poll() has read yet. `beat`
    says that a heartbeat is due. `listening` says that it joins and does not read yet: onPartitionsAssigned() has not
    returned, or initTransactions(consumer) has not (KIP-447, drafts).
    """

    client_id: str
    topic_partitions: tuple[str, ...]
    instance_id: str = ""
    assignors: tuple[str, ...] = (RANGE,)
    later_assignors: tuple[tuple[str, ...], ...] = ()
    state: MemberState = S.UNJOINED
    member_id: str = NO_MEMBER
    generation: int = NO_GENERATION
    chosen: str = RANGE
    rejoin: bool = True
    metadata: tuple[str, int] = (NO_MEMBER, NO_GENERATION)
    to_bring: tuple[Assigned, ...] = ()
    beat: bool = False
    leaving: LeaveGroup | None = None
    joining: Message | None = None
    joining_broker: int = -1
    unread: Message | None = None
    listening: bool = False

    @property
    def cooperative(self) -> bool:
        """Whether it keeps its partitions while it joins: all of its assignors must allow that."""
        return all(each == COOPERATIVE_STICKY for each in self.assignors)

    @property
    def member_epoch(self) -> int:
        """The generation, in place of a member epoch."""
        return self.generation

    @property
    def in_group(self) -> bool:
        """Whether the heartbeat thread runs; it also checks max.poll.interval.ms.

        Source: AbstractCoordinator.MemberState.hasNotJoinedGroup.
        """
        return self.state in (S.COMPLETING_REBALANCE, S.STABLE)

    @property
    def group_metadata(self) -> tuple[str, int]:
        """What groupMetadata() returns: the values of the last assignment, whatever the consumer has received since."""
        return self.metadata

    def anew(self, life: int) -> ConsumerCoordinator:
        """Return what the process's next life knows: no member id; a static member keeps its instance id."""
        return ConsumerCoordinator(
            self.client_id,
            self.topic_partitions,
            self.instance_id,
            self.later_assignors[0] if self.later_assignors else self.assignors,
            self.later_assignors[1:],
        )

    @property
    def answered(self) -> ConsumerCoordinator:
        """The same without a JoinGroup or SyncGroup that waits beside the fetches."""
        return self.but(joining=None, joining_broker=-1)

    def to(self, state: MemberState) -> ConsumerCoordinator:
        """Change the state; `TRANSITIONS` has the allowed next states."""
        assert state in TRANSITIONS[self.state], (self.state, state)
        return self.but(state=state)

    def reset(self, *, forget: bool) -> ConsumerCoordinator:
        """Leave the generation, and forget the member id if it is not valid either."""
        return self.to(S.UNJOINED).but(
            generation=NO_GENERATION,
            member_id=NO_MEMBER if forget else self.member_id,
            rejoin=True,
            beat=False,
            to_bring=(),
        )

    def saying_goodbye(self, group_id: str) -> ConsumerCoordinator:
        """Send a LeaveGroup before it leaves; a static member sends none, because it is expected back."""
        there = self.state is not S.UNJOINED and self.member_id != NO_MEMBER
        goes = there and not self.instance_id
        leaving = LeaveGroup(group_id, (Leaver(self.member_id),)) if goes else None
        return self.but(leaving=leaving)
