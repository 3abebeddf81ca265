"""How the targets of an operator's calls about groups are parsed, where they are more than names."""

from __future__ import annotations

from kipviz.clients.operators import several_groups
from kipviz.messages.groups.classic_groups import NO_MEMBER, Leaver
from kipviz.messages.groups.group_admin import GROUP_TYPES, OffsetDelete
from kipviz.messages.groups.groups import NAMES_TOPICS, OffsetFetch, OffsetFetchGroup


def group_filters_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parse the filters of a list of groups, "state=Stable type=classic", into (states, types).

    Raises:
        ValueError: if a word is not a filter.
    """
    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    for word in text.split():
        name, _, value = word.partition("=")
        if name == "state" and value:
            states = (*states, value)
        elif name == "type" and value.lower() in GROUP_TYPES:
            types = (*types, value)
        else:
            known = ", ".join(GROUP_TYPES)
            raise ValueError(
                f"{word!r} is not a filter: write state=Stable, or type= and one of {known}"
            )
    return states, types


def group_offsets_of(text: str) -> OffsetDelete:
    """Parse a group and the partitions whose offsets it deletes: "g1 src-0 src-1".

    Raises:
        ValueError: if the group or the partitions are missing.
    """
    group_id, *partitions = text.split() or [""]
    if not partitions:
        raise ValueError(f"{text!r} is not a group and its partitions: write 'g1 src-0 src-1'")
    return OffsetDelete(group_id, tuple(partitions))


REQUIRE_STABLE = "requireStable="


def parse_offset_groups(text: str) -> OffsetFetch:
    """Parse the groups of an OffsetFetch, each of them once: "g1 g2 requireStable=true".

    Raises:
        ValueError: if there is no group, or requireStable is neither true nor false.
    """
    words = text.split()
    said = [word for word in words if word.startswith(REQUIRE_STABLE)]
    for word in said:
        if word.removeprefix(REQUIRE_STABLE) not in ("true", "false"):
            raise ValueError(
                f"{word!r} is not an option: write {REQUIRE_STABLE}true or {REQUIRE_STABLE}false"
            )
    groups = several_groups.parse_groups(" ".join(w for w in words if w not in said))
    stable = f"{REQUIRE_STABLE}true" in said[-1:]
    return OffsetFetch(tuple(map(OffsetFetchGroup, groups)), stable, NAMES_TOPICS)


def members_of(text: str) -> tuple[str, tuple[Leaver, ...]]:
    """Parse a group and the members to remove: "g1 C1.1 instance=i2"; no member means all of them.

    Raises:
        ValueError: if there is no group, or an instance without a name.
    """
    group_id, *words = text.split() or [""]
    leavers: tuple[Leaver, ...] = ()
    for word in words:
        name, is_static, instance = word.partition("=")
        if is_static and (name != "instance" or not instance):
            raise ValueError(f"{word!r} is not a member: write C1.1 or instance=i1")
        leavers = (*leavers, Leaver(NO_MEMBER, instance) if is_static else Leaver(word))
    if not group_id:
        raise ValueError("members are taken out of a group: 'g1' means all of g1, 'g1 C1.1' one")
    return group_id, leavers
