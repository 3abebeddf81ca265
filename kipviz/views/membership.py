"""What a group's coordinator looks at when a member speaks or a producer brings its offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.brokers import classic_group, static_members
from kipviz.cluster.world import World
from kipviz.messages.coordinators import FindCoordinator
from kipviz.messages.topic_creation import CreateTopics
from kipviz.views.facts import listed, number


def both(one: str, value: int, other: str, against: int) -> str:
    """Give two numbers that are compared, each with whose it is."""
    return f"{one} {number(value)} · {other} {number(against)}"


def epoch_in(entry: Any) -> int:
    """Give the epoch that a log has seen of a producer, -1 for none."""
    return int(entry.epoch) if entry is not None else -1


def enlisted(entry: Any, epoch: int) -> str:
    """Say whether the coordinator knows that a producer writes here."""
    if entry is not None and entry.transaction_first_offset >= 0 and entry.epoch == epoch:
        return "yes"
    return "no: the coordinator is asked first"


def epoch_of(role: Any, group_id: str, member_id: str) -> int:
    """Give the epoch at which a group's coordinator has a member; -1 is no member."""
    group = role.groups.get(group_id)
    member = group.members.get(member_id) if group is not None else None
    if member is not None:
        return int(member.epoch)
    return int(role.members.get((group_id, member_id), -1))


def heartbeat(role: Any, message: Any) -> Iterator[tuple[str, str]]:
    """Give what a heartbeat is checked against, and where its group stands."""
    known = epoch_of(role, message.group_id, message.member_id)
    yield "member epoch", both("request", message.member_epoch, "group", known)
    yield "says it owns", "as before" if message.owned is None else listed(message.owned)
    group = role.groups.get(message.group_id)
    if group is None:
        return
    yield "group epoch", f"{group.epoch}, target made for {group.target_epoch}"
    if message.instance_id:
        holder = static_members.holder_of(group, message.instance_id)
        yield f"who is {message.instance_id} now", holder or "nobody"
    member = group.members.get(message.member_id)
    if member is not None:
        yield "may have", listed(member.partitions)
        yield "has to give up", listed(tuple(p for p, _ in member.revoking))
        yield "target", listed(member.target)


def classic(role: Any, message: Any) -> Iterator[tuple[str, str]]:
    """Give what a request of the classic protocol is checked against, and where its group stands."""
    group = role.classic_groups.get(message.group_id)
    if group is None:
        yield "group", "not known here"
        return
    yield "group state", group.state.name
    if hasattr(message, "generation"):
        yield "generation", both("request", message.generation, "group", group.generation)
    if message.member_id in group.members:
        leads = ", the leader" if group.leader == message.member_id else ""
        yield "member", f"{message.member_id}{leads}"
    else:
        asked = message.member_id in group.pending
        yield "member", "none: its name was given out" if asked else "none"
    if message.instance_id:
        holder = classic_group.holder_of(group, message.instance_id)
        yield f"who is {message.instance_id} now", holder or "nobody"
    joined = (name for name, m in group.members.items() if m.joining is not None)
    yield "has joined", listed(tuple(joined))
    late = (name for name, m in group.members.items() if m.joining is None)
    yield "has not joined again", listed((*late, *group.pending))


def looked_up(world: World, message: Any) -> Iterator[tuple[str, str]]:
    """Give what a broker knows of what a client asks: ids of topics, or who coordinates a name."""
    if isinstance(message, FindCoordinator):
        home = world.image.home_of_transactions(message.transactional_id)
        yield f"leader of {home}", str(world.image.leader_of(home))
        return
    topics = (message.topic,) if isinstance(message, CreateTopics) else message.topics
    for topic in topics:
        yield f"id of {topic}", world.image.topic_ids.get(topic, "unknown")
