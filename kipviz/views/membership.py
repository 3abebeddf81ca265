"""What a group's coordinator looks at when a member speaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kipviz.views.facts import listed, number


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
    yield "member epoch", f"request {number(message.member_epoch)} · group {number(known)}"
    yield "says it owns", "as before" if message.owned is None else listed(message.owned)
    group = role.groups.get(message.group_id)
    if group is None:
        return
    yield "group epoch", f"{group.epoch}, target made for {group.target_epoch}"
    member = group.members.get(message.member_id)
    if member is not None:
        yield "may have", listed(member.partitions)
        yield "has to give up", listed(tuple(p for p, _ in member.revoking))
        yield "target", listed(member.target)
