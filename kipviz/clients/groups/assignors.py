"""The assignors of a classic group's leader: range and cooperative-sticky.

WHERE IN KAFKA: RangeAssignor, CooperativeStickyAssignor, AbstractStickyAssignor. KIPS: KIP-429.
"""

from __future__ import annotations

from kipviz.clients.process_spec import ProcessSpec
from kipviz.messages.groups.classic_groups import Assigned, Subscribed
from kipviz.records.balance import balance_partitions
from kipviz.records.classic_groups import COOPERATIVE_STICKY, RANGE
from kipviz.records.placement import topic_of

KNOWN = (RANGE, COOPERATIVE_STICKY)


def why_no_such_assignors(application: ProcessSpec) -> str:
    """Return why an application cannot have the assignors that it names, now or in a later life; "" if it can."""
    for assignors in (application.assignors, *application.later_assignors):
        if not assignors or any(each not in KNOWN for each in assignors):
            known, said = ", ".join(KNOWN), ", ".join(assignors) or "none"
            return f"the assignors of {application.name} must be one or both of {known}, not {said}"
    return ""


def assign(
    protocol: str, topic_partitions: tuple[str, ...], members: tuple[Subscribed, ...]
) -> tuple[Assigned, ...]:
    """Return the assignment that the assignor of a generation makes."""
    if protocol == COOPERATIVE_STICKY:
        return cooperative(topic_partitions, members)
    return ranges_of_topics(topic_partitions, members)


def ranges_of_topics(
    topic_partitions: tuple[str, ...], members: tuple[Subscribed, ...]
) -> tuple[Assigned, ...]:
    """Assign ranges of each topic in turn to its subscribers; the first members get more.

    With several topics the first members therefore have one more partition of every topic.
    Source: RangeAssignor.assignPartitions.
    """
    in_order = sorted(members, key=lambda m: _rank(m.member_id, m.instance_id))
    given: dict[str, tuple[str, ...]] = {m.member_id: () for m in in_order}
    for topic in dict.fromkeys(topic_of(p) for p in topic_partitions):
        partitions = tuple(p for p in topic_partitions if topic_of(p) == topic)
        readers = tuple(
            (m.member_id, m.instance_id) for m in members if topic in m.subscription.topics
        )
        for each in ranges(partitions, readers) if readers else ():
            given[each.member_id] += each.partitions
    return tuple(Assigned(name, mine) for name, mine in given.items())


def _rank(member_id: str, instance_id: str) -> tuple[int, str]:
    """Return the sort key of a member: static members first by instance id, then the others by member id."""
    return (0, instance_id) if instance_id else (1, member_id)


def ranges(
    topic_partitions: tuple[str, ...], members: tuple[tuple[str, str], ...]
) -> tuple[Assigned, ...]:
    """Assign each member a range of a topic's partitions; the first ones get one more if the division leaves a rest.

    `members` are (member id, group.instance.id). They are sorted by instance id or member id, static ones first.
    Source: RangeAssignor, AbstractPartitionAssignor.MemberInfo.compareTo.
    """
    in_order = sorted(members, key=lambda m: _rank(*m))
    each, more = divmod(len(topic_partitions), len(in_order))
    given, start = [], 0
    for at, (name, _) in enumerate(in_order):
        end = start + each + (1 if at < more else 0)
        given.append(Assigned(name, topic_partitions[start:end]))
        start = end
    return tuple(given)


def cooperative(
    topic_partitions: tuple[str, ...], members: tuple[Subscribed, ...]
) -> tuple[Assigned, ...]:
    """Assign each member its target partitions, except those that another member must still revoke.

    A member that loses a partition joins again after revoking it; the partition then goes to its next owner.
    Source: CooperativeStickyAssignor.assign, adjustAssignment.
    """
    owned = {m.member_id: m.subscription.owned for m in members}
    target = sticky(topic_partitions, members)
    moving = [p for name, had in owned.items() for p in had if p not in target[name]]
    return tuple(
        Assigned(name, tuple(p for p in mine if p in owned[name] or p not in moving))
        for name, mine in target.items()
    )


def sticky(
    topic_partitions: tuple[str, ...], members: tuple[Subscribed, ...]
) -> dict[str, tuple[str, ...]]:
    """Assign partitions evenly, and keep as many with their current owners as that allows.

    The owned partitions that a member of an older generation reports do not count: another member may have them.
    Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder; its GeneralAssignmentBuilder where members do not all
    subscribe to the same topics.
    """
    topics = {m.member_id: m.subscription.topics for m in members}
    newest = max(m.subscription.generation for m in members)
    had = {
        m.member_id: m.subscription.owned for m in members if m.subscription.generation == newest
    }
    if len({tuple(sorted(mine)) for mine in topics.values()}) > 1:
        return balance_partitions(topic_partitions, topics, had)
    topic_partitions = tuple(
        p for p in topic_partitions if topic_of(p) in members[0].subscription.topics
    )
    least, more = divmod(len(topic_partitions), len(members))
    kept: dict[str, tuple[str, ...]] = {}
    taken: tuple[str, ...] = ()
    for member in sorted(members, key=lambda m: (-len(m.subscription.owned), m.member_id)):
        claimed = had.get(member.member_id, ())
        mine = tuple(p for p in topic_partitions if p in claimed and p not in taken)
        kept[member.member_id] = mine[: least + 1] if more else mine[:least]
        more -= len(kept[member.member_id]) > least
        taken += kept[member.member_id]
    left = [p for p in topic_partitions if p not in taken]
    in_order = sorted(kept)
    for name in in_order:
        while len(kept[name]) < least:
            kept[name] += (left.pop(0),)
    for name in (name for name in in_order if len(kept[name]) == least):
        kept[name] += tuple(left[:1])
        left = left[1:]
    return {
        m.member_id: tuple(sorted(kept[m.member_id], key=topic_partitions.index)) for m in members
    }
