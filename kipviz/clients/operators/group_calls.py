"""The calls of an operator about groups: the kind of group, and how their targets are parsed."""

from __future__ import annotations

from collections.abc import Callable

from kipviz.clients.application import Call, Line
from kipviz.clients.operators import admin, group_targets
from kipviz.clients.operators.admin import Admin
from kipviz.clients.operators.several_groups import parse_groups
from kipviz.messages.groups import several_groups

# The calls of an operator about a share group, whose id is the first word of their target.
OF_SHARE_GROUPS = (
    Call.DESCRIBE_SHARE_GROUPS,
    Call.LIST_SHARE_GROUP_OFFSETS,
    Call.ALTER_SHARE_GROUP_OFFSETS,
    Call.DELETE_SHARE_GROUP_OFFSETS,
    Call.DELETE_SHARE_GROUPS,
)
# Those that change the group's start offsets.
RESETTING = OF_SHARE_GROUPS[2:]
# The calls about a regular group, likewise.
OF_REGULAR_GROUPS = (
    Call.DESCRIBE_CONSUMER_GROUPS,
    Call.DELETE_CONSUMER_GROUPS,
    Call.DELETE_CONSUMER_GROUP_OFFSETS,
    Call.REMOVE_MEMBERS,
    Call.LIST_CONSUMER_GROUP_OFFSETS,
)

# The calls of both kinds that take several groups at once.
OF_SEVERAL_GROUPS = (
    Call.DESCRIBE_SHARE_GROUPS,
    Call.DELETE_SHARE_GROUPS,
    Call.DESCRIBE_CONSUMER_GROUPS,
    Call.DELETE_CONSUMER_GROUPS,
)

# The admin client's function for each call about groups of any kind, or about regular ones.
OF_ANY_GROUP: dict[Call, Callable[[Admin, str], Admin]] = {
    Call.LIST_GROUPS: admin.list_groups,
    Call.DESCRIBE_CONSUMER_GROUPS: admin.describe_consumer_group,
    Call.DELETE_CONSUMER_GROUPS: admin.delete_consumer_group,
    Call.DELETE_CONSUMER_GROUP_OFFSETS: admin.delete_consumer_group_offsets,
    Call.REMOVE_MEMBERS: admin.remove_members,
    Call.LIST_CONSUMER_GROUP_OFFSETS: admin.list_consumer_group_offsets,
}


def groups_of(line: Line) -> tuple[str, ...]:
    """Return the groups that a line of an operator's program is about: the first word, or all of them."""
    if line.call not in (*OF_SHARE_GROUPS, *OF_REGULAR_GROUPS):
        return ()
    if line.call is Call.LIST_CONSUMER_GROUP_OFFSETS:
        return several_groups.groups_of(group_targets.parse_offset_groups(line.target))
    names = parse_groups(line.target)
    return names if line.call in OF_SEVERAL_GROUPS else names[:1]


# How the target of an operator's call is parsed, where it is more than a name.
READ_BY_OPERATORS: dict[Call, Callable[[str], object]] = {
    **dict.fromkeys(OF_SEVERAL_GROUPS, parse_groups),
    Call.LIST_TRANSACTIONS: admin.filters_of,
    Call.ALTER_SHARE_GROUP_OFFSETS: admin.starts_of,
    Call.DELETE_SHARE_GROUP_OFFSETS: admin.topic_offsets_of,
    Call.LIST_GROUPS: group_targets.group_filters_of,
    Call.DELETE_CONSUMER_GROUP_OFFSETS: group_targets.group_offsets_of,
    Call.REMOVE_MEMBERS: group_targets.members_of,
    Call.LIST_CONSUMER_GROUP_OFFSETS: group_targets.parse_offset_groups,
}
