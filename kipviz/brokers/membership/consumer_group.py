"""A regular group of the consumer protocol as its coordinator sees it: epochs and assignments.

WHERE IN KAFKA: ConsumerGroup, ConsumerGroupMember, CurrentAssignmentBuilder, UniformHomogeneous- and
UniformHeterogeneousAssignmentBuilder. KIPS: KIP-848, KIP-1251 (the epoch at which a member got a partition).
DURABILITY: everything here is replayed from records; nothing else changes it.
NOT MODELLED: a new epoch when replicas move to other racks (KIP-1101); members of the classic protocol in such a group;
the computation of a target in the background (KIP-1263: here it is computed in the heartbeat that needs it, or it
waits: `targets_wait`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never

from kipviz.brokers.checks import Check, compare, in_order, report_value
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups.membership import JOINING
from kipviz.records.balance import balance_partitions
from kipviz.records.consumer_offsets import (
    STABLE,
    UNRELEASED,
    UNREVOKED,
    GroupEpochRecord,
    MemberRecord,
    MemberTombstone,
    RegexRecord,
    SubscriptionRecord,
    TargetEpochRecord,
    TargetRecord,
)

Held = tuple[tuple[str, int], ...]


class GroupMember(Value, frozen=True):
    """A member: `target` is its target assignment, `assigned` its current one.

    `assigned` and `revoking` are (partition, epoch at which it got it). A previous epoch of -1 means that the member
    has just joined, an epoch of -2 that it is a static member which is away. `regex` matches further
    topics. `rack` is the rack that it names; no assignor of 4.4
    uses it.
    """

    subscribed_topic_names: tuple[str, ...]
    target: tuple[str, ...] = ()
    epoch: int = 0
    previous_epoch: int = -1
    state: str = STABLE
    assigned: Held = ()
    revoking: Held = ()
    instance_id: str = ""
    regex: str = ""
    rack: str = ""

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions that it may have now."""
        return tuple(p for p, _ in self.assigned)


class ConsumerGroup(Part, frozen=True):
    """A group: a new one starts at epoch 1, and its first member bumps that (recorded from 4.4.0).

    `target_epoch` is the epoch of the group for which the target assignment was computed. `regexes` are the topics that
    match regular expressions of members.
    """

    epoch: int = 1
    target_epoch: int = 1
    members: Table[str, GroupMember] = Table.of()
    regexes: Table[str, tuple[str, ...]] = Table.of()


GroupRecord: TypeAlias = (
    GroupEpochRecord
    | SubscriptionRecord
    | TargetEpochRecord
    | TargetRecord
    | MemberRecord
    | MemberTombstone
    | RegexRecord
)


def replay_record(group: ConsumerGroup, record: GroupRecord) -> ConsumerGroup:
    """Apply one record of the log."""
    if isinstance(record, GroupEpochRecord):
        return group.but(epoch=record.epoch)
    if isinstance(record, TargetEpochRecord):
        return group.but(target_epoch=record.epoch)
    if isinstance(record, RegexRecord):
        return group.but(regexes=group.regexes.set(record.regex, record.topics))
    if isinstance(record, MemberTombstone):
        return group.but(members=group.members.without(record.member_id))
    known = group.members.get(record.member_id) or GroupMember(())
    match record:
        case SubscriptionRecord():
            known = known.but(
                subscribed_topic_names=record.subscribed_topic_names,
                instance_id=record.instance_id,
                regex=record.regex,
                rack=record.rack,
            )
        case TargetRecord():
            known = known.but(target=record.partitions)
        case MemberRecord():
            known = known.but(
                epoch=record.member_epoch,
                previous_epoch=record.previous_epoch,
                state=record.state,
                assigned=record.assigned,
                revoking=record.revoking,
            )
        case _:
            assert_never(record)
    return group.but(members=group.members.set(record.member_id, known))


def topics_of(group: ConsumerGroup, member: GroupMember) -> tuple[str, ...]:
    """Return the topics that a member subscribes to, by name or by its regular expression."""
    return tuple(
        dict.fromkeys((*member.subscribed_topic_names, *group.regexes.get(member.regex, ())))
    )


def subscribed_topics(group: ConsumerGroup) -> tuple[str, ...]:
    """Return the topics to which at least one member of a group subscribes."""
    found = (topic for member in group.members.values() for topic in topics_of(group, member))
    return tuple(dict.fromkeys(found))


def heartbeat_check(member: GroupMember, epoch: int, owned: tuple[str, ...] | None) -> Check:
    """Check that a member's heartbeat has the right epoch.

    The previous epoch is accepted if the member owns only what it may have: then only the response with the newer epoch
    was lost. With epoch 0 a member joins again, at any time.
    Source: GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid.
    """
    lost = owned is not None and all(p in member.partitions for p in owned)
    before = epoch < member.epoch and epoch == member.previous_epoch and lost
    fits = epoch in (JOINING, member.epoch) or before
    return compare("member epoch", epoch, member.epoch, fits, Errors.FENCED_MEMBER_EPOCH)


@in_order
def commit_checks(
    group: ConsumerGroup,
    name: str,
    epoch: int,
    partitions: tuple[str, ...],
    *,
    transactional: bool,
    instance_id: str = "",
) -> Iterator[Check]:
    """Check that a member of that epoch may commit offsets for these partitions.

    A transaction whose producer names no member passes, whatever the members are: then nothing fences it. Outside
    transactions that holds for a group without members only. A request with a group.instance.id names a member, which
    is found by its member id like any other. The current holder of the instance id is not checked, so only heartbeats
    get FENCED_INSTANCE_ID. An older epoch is valid for partitions that the member has had since then (KIP-1251), so
    that a commit that crosses a heartbeat is not lost. The member's own epoch is valid for every partition, assigned to
    it or not.
    Source: ConsumerGroup.validateOffsetCommit, createAssignmentEpochValidator.
    """
    if epoch < 0 and not len(group.members):
        yield report_value("members", ())
        return
    if transactional and epoch == -1 and not name and not instance_id:
        yield Check("member id", name, None)
        return
    member = group.members.get(name)
    found = name if member is not None else None
    yield compare("member id", name, found, member is not None, Errors.UNKNOWN_MEMBER_ID)
    assert member is not None
    fits = epoch == member.epoch
    if epoch < member.epoch:
        since = dict((*member.assigned, *member.revoking))
        fits = all(p in since and epoch >= since[p] for p in partitions)
    yield compare("member epoch", epoch, member.epoch, fits, Errors.STALE_MEMBER_EPOCH)


# -- the assignor ---------------------------------------------------------------------------------


def target_of(group: ConsumerGroup, partitions: tuple[str, ...]) -> Table[str, tuple[str, ...]]:
    """Return each member's target: evenly for equal subscriptions, otherwise as evenly as possible.

    Source: UniformAssignor.
    """
    topics = {name: topics_of(group, member) for name, member in group.members.items()}
    if len({tuple(sorted(mine)) for mine in topics.values()}) <= 1:
        return uniform(group, partitions)
    had = {name: member.target for name, member in group.members.items()}
    shares = balance_partitions(partitions, topics, had)
    return Table.of({name: tuple(sorted(mine)) for name, mine in shares.items()})


def uniform(group: ConsumerGroup, partitions: tuple[str, ...]) -> Table[str, tuple[str, ...]]:
    """Return each member's partitions, evenly divided, with as few moves as possible.

    A member keeps its earlier target up to its share; the rest goes to members with room, in the order of their names
    (in Kafka the order of a hash table). All of them subscribe to the same topics.
    Source: UniformHomogeneousAssignmentBuilder.
    """
    count = len(group.members)
    if not count:
        return Table.of()
    least, more = divmod(len(partitions), count)
    kept: dict[str, tuple[str, ...]] = {}
    for name, member in group.members.items():
        mine = tuple(p for p in member.target if p in partitions)
        if more and len(mine) > least:
            kept[name], more = mine[: least + 1], more - 1
        else:
            kept[name] = mine[:least]
    taken = tuple(p for mine in kept.values() for p in mine)
    free = [p for p in partitions if p not in taken]
    for name, mine in kept.items():
        room = max(least - len(mine), 0)
        kept[name], free = (*mine, *free[:room]), free[room:]
    # As many are left as members may have one more.
    for name, mine in kept.items():
        if free and len(mine) == least:
            kept[name], free = (*mine, free[0]), free[1:]
    return Table.of({name: tuple(sorted(mine)) for name, mine in kept.items()})


# -- reconciliation of a member with its target -----------------------------------------------------


def reconcile(group: ConsumerGroup, name: str, owned: tuple[str, ...] | None) -> GroupMember:
    """Move a member one step towards its target: it revokes partitions first, then gets free ones.

    `owned` is what the member reports as its partitions, None if it reports nothing. Source:
    CurrentAssignmentBuilder.build.
    """
    member = group.members[name]
    if member.state == STABLE and member.epoch == group.target_epoch:
        return member
    epoch = member.epoch
    if member.state == UNREVOKED:
        if _still_has(owned, member.revoking):
            return member
        epoch = min(epoch + 1, group.target_epoch)
    return _next(group, member, epoch, owned)


def _next(
    group: ConsumerGroup, member: GroupMember, epoch: int, owned: tuple[str, ...] | None
) -> GroupMember:
    kept = tuple(held for held in member.assigned if held[0] in member.target)
    revoking = tuple(held for held in member.assigned if held[0] not in member.target)
    had = tuple(p for p, _ in kept)
    wanted = [p for p in member.target if p not in had]
    got = tuple(p for p in wanted if not _is_held(group, p))
    waits = len(got) < len(wanted)
    if revoking and _still_has(owned, revoking):
        return _advance_member(member, epoch, UNREVOKED, kept, revoking)
    held = tuple(sorted((*kept, *((p, group.target_epoch) for p in got))))
    return _advance_member(member, group.target_epoch, UNRELEASED if waits else STABLE, held, ())


def _advance_member(
    member: GroupMember, epoch: int, state: str, assigned: Held, revoking: Held
) -> GroupMember:
    """Return the member at an epoch, which may be its current one."""
    return member.but(
        epoch=epoch,
        previous_epoch=member.epoch,
        state=state,
        assigned=assigned,
        revoking=revoking,
    )


def _still_has(owned: tuple[str, ...] | None, revoking: Held) -> bool:
    return owned is None or any(p in owned for p, _ in revoking)


def _is_held(group: ConsumerGroup, partition: str) -> bool:
    """Return whether a member has a partition, or was asked to revoke it; that may be the member that is to get it.

    Source: ConsumerGroup.currentPartitionEpoch.
    """
    held = (each for m in group.members.values() for each in (*m.assigned, *m.revoking))
    return any(p == partition for p, _ in held)
