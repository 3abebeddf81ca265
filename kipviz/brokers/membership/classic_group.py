"""A group of the classic protocol as its coordinator sees it: state, generation, members that are awaited.

WHERE IN KAFKA: ClassicGroup, ClassicGroupMember, ClassicGroupState. KIPS: KIP-62, KIP-345, KIP-394.
DURABILITY: none. A generation with its assignment is in the log (`GroupMetadataRecord`), and a new coordinator
continues from the last one; members that were joining have to join again.
NOT MODELLED: KIP-848 members in the same group, and the migration between the two protocols.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from kipviz.brokers.checks import Check, compare, in_order, report_value
from kipviz.brokers.context import ReplyTo
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups.classic_groups import Assigned, Subscribed
from kipviz.records.classic_groups import RANGE, GroupMetadataRecord, MemberMetadata, Subscription
from kipviz.settings.consumer_configs import GROUP_INSTANCE_ID


class GroupState(StrEnum):
    """The state of a group between two generations (ClassicGroupState)."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


S = GroupState

# state -> states from which it may be entered (ClassicGroupState.validPreviousStates).
VALID_PREVIOUS: dict[GroupState, tuple[GroupState, ...]] = {
    S.EMPTY: (S.PREPARING_REBALANCE,),
    S.PREPARING_REBALANCE: (S.STABLE, S.COMPLETING_REBALANCE, S.EMPTY),
    S.COMPLETING_REBALANCE: (S.PREPARING_REBALANCE,),
    S.STABLE: (S.COMPLETING_REBALANCE,),
    S.DEAD: (S.STABLE, S.PREPARING_REBALANCE, S.COMPLETING_REBALANCE, S.EMPTY, S.DEAD),
}


class ClassicMember(Value, frozen=True):
    """A member: `joining` and `syncing` are the connections on which it waits for a response.

    `is_new` means that it has not been in a generation yet: only then may its session expire while it waits.
    `assignment` are the bytes of its assignment, if they say more than `assigned`.
    """

    client_id: str
    subscription: Subscription
    assigned: tuple[str, ...] = ()
    joining: ReplyTo | None = None
    syncing: ReplyTo | None = None
    is_new: bool = False
    instance_id: str = ""
    protocols: tuple[str, ...] = (RANGE,)
    assignment: bytes | None = None

    def metadata_for(self, protocol: str) -> bytes | None:
        """Return the bytes of its subscription for an assignor, if they say more than the subscription."""
        known = dict(zip(self.protocols, self.subscription.metadata, strict=False))
        return known.get(protocol)

    @property
    def waits(self) -> bool:
        """Whether it has a request that is not answered: then it need not send heartbeats."""
        return self.joining is not None or self.syncing is not None


class ClassicGroup(Part, frozen=True):
    """A group.

    `pending` are member ids that were assigned but not used yet (KIP-394), `unsynced` the members of the generation
    that have not sent SyncGroup. `growing` means that a member joined while the group waits for its first generation.
    `protocol` is the assignor of the current generation.
    """

    state: GroupState = S.EMPTY
    previous: GroupState = S.DEAD
    generation: int = 0
    leader: str = ""
    members: Table[str, ClassicMember] = Table.of()
    pending: tuple[str, ...] = ()
    unsynced: tuple[str, ...] = ()
    growing: bool = False
    protocol: str = RANGE

    @property
    def all_joined(self) -> bool:
        """Whether all known members have joined the next generation."""
        return not self.pending and all(m.joining is not None for m in self.members.values())

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may begin now."""
        return self.state in VALID_PREVIOUS[S.PREPARING_REBALANCE]

    @property
    def is_first(self) -> bool:
        """Whether an empty group waits for its first generation."""
        return self.state is S.PREPARING_REBALANCE and self.previous is S.EMPTY


def to(group: ClassicGroup, state: GroupState) -> ClassicGroup:
    """Go to another state; the table has the states from which that is allowed."""
    assert group.state in VALID_PREVIOUS[state], (group.state, state)
    return group.but(state=state, previous=group.state)


def with_member(group: ClassicGroup, name: str, member: ClassicMember) -> ClassicGroup:
    """Add or update a member; the first one becomes the leader."""
    return group.but(
        members=group.members.set(name, member),
        leader=group.leader or name,
        pending=tuple(p for p in group.pending if p != name),
    )


def without(group: ClassicGroup, name: str) -> ClassicGroup:
    """Remove a member, or a pending member id.

    The next leader is the first member by name; in Kafka it is the first of a hash table.
    """
    members = group.members.without(name)
    return group.but(
        members=members,
        leader=next(iter(members), "") if group.leader == name else group.leader,
        pending=tuple(p for p in group.pending if p != name),
        unsynced=tuple(p for p in group.unsynced if p != name),
    )


def elect_joined_leader(group: ClassicGroup) -> ClassicGroup | None:
    """Return the group with a leader that has joined, or None if no member has.

    Source: ClassicGroup.maybeElectNewJoinedLeader.
    """
    joined = [name for name, member in group.members.items() if member.joining is not None]
    if group.leader in joined:
        return group
    return group.but(leader=joined[0]) if joined else None


def next_generation(group: ClassicGroup) -> ClassicGroup:
    """Start the next generation: with members it waits for their assignment, without members it is empty."""
    there = bool(len(group.members))
    after = to(group, S.COMPLETING_REBALANCE if there else S.EMPTY)
    chosen = chosen_protocol(group) if there else group.protocol
    return after.but(generation=group.generation + 1, unsynced=(), growing=False, protocol=chosen)


def common(group: ClassicGroup) -> tuple[str, ...]:
    """Return the assignors that every member supports."""
    known = [m.protocols for m in group.members.values()]
    return tuple(p for p in known[0] if all(p in each for each in known)) if known else ()


def accepts(group: ClassicGroup, name: str, limit: int) -> bool:
    """Return whether a member may join or rejoin a group of at most `limit` members.

    During a rebalance the waiting members are counted, so the last one to come is rejected although it was a member;
    otherwise all members are counted. A restarted static member has no member id yet and counts as new.
    Source: GroupMetadataManager.acceptJoiningMember.
    """
    known = group.members.get(name)
    if group.state in (S.EMPTY, S.DEAD):
        return True
    if group.state is S.PREPARING_REBALANCE:
        waiting = sum(member.joining is not None for member in group.members.values())
        return waiting < limit or (known is not None and known.joining is not None)
    return known is not None or len(group.members) < limit


def supports(group: ClassicGroup, protocols: tuple[str, ...]) -> bool:
    """Return whether a member with these assignors fits the group's current members.

    Source: ClassicGroup.supportsProtocols.
    """
    if not len(group.members):
        return bool(protocols)
    return any(each in protocols for each in common(group))


def chosen_protocol(group: ClassicGroup) -> str:
    """Return the assignor of the next generation: each member votes for the first one that all support.

    Of several with equally many votes it is the one that the first member prefers (in Kafka the order of a hash table).
    Source: ClassicGroup.selectProtocol.
    """
    all_know = common(group)
    votes = [next(p for p in m.protocols if p in all_know) for m in group.members.values()]
    return max(all_know, key=votes.count)


def roster(group: ClassicGroup) -> tuple[Subscribed, ...]:
    """Return the members as the leader receives them, each with its bytes for the assignor of the generation."""
    found = []
    for name, member in group.members.items():
        data = member.metadata_for(group.protocol)
        subscription = member.subscription.but(metadata=() if data is None else (data,))
        found.append(Subscribed(name, subscription, member.instance_id))
    return tuple(found)


def holder_of(group: ClassicGroup, instance_id: str) -> str:
    """Return the member that has a group.instance.id now, or "" (KIP-345)."""
    if not instance_id:
        return ""
    named = (name for name, member in group.members.items() if member.instance_id == instance_id)
    return next(named, "")


@in_order
def member_checks(group: ClassicGroup, name: str, instance_id: str = "") -> Iterator[Check]:
    """Check that a member id is known; for a static member only the newest id is valid.

    Source: ClassicGroup.validateMember.
    """
    if instance_id:
        holder = holder_of(group, instance_id)
        error = Errors.FENCED_INSTANCE_ID if holder else Errors.UNKNOWN_MEMBER_ID
        yield compare(f"who has the {GROUP_INSTANCE_ID.name}", name, holder, holder == name, error)
    there = name in group.members
    found = name if there else None
    yield compare("member id", name, found, there, Errors.UNKNOWN_MEMBER_ID)


@in_order
def generation_checks(
    group: ClassicGroup, name: str, generation: int, instance_id: str = ""
) -> Iterator[Check]:
    """Check that a member id is known and its generation is the current one."""
    yield from member_checks(group, name, instance_id)
    now = group.generation
    yield compare("generation", generation, now, generation == now, Errors.ILLEGAL_GENERATION)


@in_order
def commit_checks(
    group: ClassicGroup, name: str, generation: int, *, transactional: bool, instance_id: str = ""
) -> Iterator[Check]:
    """Check that a member of that generation may commit offsets.

    While a group prepares its next generation the current one may still commit: in that time members finish their work.
    A transaction whose producer names no member passes; outside of transactions that holds for an empty group only.
    Once all members have joined, a commit outside of transactions gets REBALANCE_IN_PROGRESS.
    Source: ClassicGroup.validateOffsetCommit.
    """
    if generation < 0 and group.state is S.EMPTY:
        yield report_value("group state", group.state)
        return
    if generation >= 0 or name or instance_id:
        yield from generation_checks(group, name, generation, instance_id)
    else:
        yield compare("member id", name, None, transactional, Errors.UNKNOWN_MEMBER_ID)
    waits = not transactional and group.state is S.COMPLETING_REBALANCE
    yield compare("group state", None, group.state, not waits, Errors.REBALANCE_IN_PROGRESS)


# -- in the log -----------------------------------------------------------------------------------


class _NoBytes(dict[str, Assigned]):
    """The assignments of a leader: a member that it leaves out gets no bytes (GroupMetadataManager.classicGroupSync)."""

    def __missing__(self, name: str) -> Assigned:
        return Assigned(name, (), b"")


def assignments_by_member(given: tuple[Assigned, ...]) -> Mapping[str, Assigned]:
    """Return the assignment of each member of a generation; a member that the leader left out gets no bytes."""
    return _NoBytes((each.member_id, each) for each in given)


def make_record(
    group_id: str, group: ClassicGroup, given: tuple[Assigned, ...] | None = None
) -> GroupMetadataRecord:
    """Return the record of a group with an assignment; without one, members keep what they have."""
    to_each = assignments_by_member(given or ())
    members = tuple(
        MemberMetadata(
            name,
            m.client_id,
            m.subscription,
            m.assigned if given is None else to_each[name].partitions,
            m.instance_id,
            m.protocols,
            m.assignment if given is None else to_each[name].assignment,
        )
        for name, m in group.members.items()
    )
    return GroupMetadataRecord(group_id, group.generation, group.leader, members, group.protocol)


def load_group(record: GroupMetadataRecord) -> ClassicGroup:
    """Return a group as a new coordinator loads it: stable in any case, or empty."""
    members = {
        m.member_id: ClassicMember(
            m.client_id,
            m.subscription,
            m.assigned,
            instance_id=m.instance_id,
            protocols=m.protocols,
            assignment=m.assignment,
        )
        for m in record.members
    }
    return ClassicGroup(
        S.STABLE if members else S.EMPTY,
        generation=record.generation,
        leader=record.leader,
        members=Table.of(members),
        protocol=record.protocol,
    )
