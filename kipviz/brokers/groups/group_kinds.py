"""Kinds of groups: an id belongs to a classic group, a KIP-848 group, or a share group.

A part of the group coordinator's role (`group_coordinator`), with the same state.
WHERE IN KAFKA: Group.type(), and the getOrMaybeCreate...Group methods of GroupMetadataManager. KIPS: KIP-848, KIP-932.
NOT MODELLED: the conversion of an empty group of one regular protocol into the other (a spec has one of them).
"""

from __future__ import annotations

from kipviz.brokers.checks import Check, compare
from kipviz.brokers.groups import group_retention
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.messages.errors import Errors
from kipviz.messages.groups.group_admin import CLASSIC, CONSUMER, SHARE


def kind_of(me: GroupCoordinator, group_id: str) -> str:
    """Return the kind of a group id, "" for an unknown one; offsets alone are a classic group."""
    if group_id in me.share_groups:
        return SHARE
    if group_id in me.classic_groups:
        return CLASSIC
    if group_id in me.groups or group_retention.is_given(me, group_id):
        return CONSUMER
    kept = any(known == group_id for known, _ in me.offsets)
    return CLASSIC if kept or group_retention.pending_of(me, group_id) else ""


def why_not_regular(me: GroupCoordinator, group_id: str) -> Errors:
    """Return the error if an id cannot have offsets or members of a regular group: a share group has it.

    The error is GROUP_ID_NOT_FOUND in every version of a request.
    Source: ShareGroup.validateOffsetCommit, GroupMetadataManager.getOrMaybeCreateConsumerGroup.
    """
    return Errors.GROUP_ID_NOT_FOUND if group_id in me.share_groups else Errors.NONE


def regular_check(me: GroupCoordinator, group_id: str) -> Check:
    """Check that an id does not belong to a share group (`why_not_regular`)."""
    return Check("kind of group", group_id, kind_of(me, group_id), why_not_regular(me, group_id))


def why_not_shared(me: GroupCoordinator, group_id: str) -> Errors:
    """Return the error if an id cannot be a share group, because a regular group or its offsets have it.

    Source: GroupMetadataManager.getOrMaybeCreateShareGroup.
    """
    regular = kind_of(me, group_id) in (CLASSIC, CONSUMER)
    return Errors.GROUP_ID_NOT_FOUND if regular else Errors.NONE


def shared_check(me: GroupCoordinator, group_id: str) -> Check:
    """Check that an id is free for a share group, or belongs to one (`why_not_shared`)."""
    kind, error = kind_of(me, group_id), why_not_shared(me, group_id)
    return Check("kind of group", group_id, kind, error, (Errors.GROUP_ID_NOT_FOUND,))


def known_share_group_check(me: GroupCoordinator, group_id: str) -> Check:
    """Check that an id belongs to a share group."""
    kind = kind_of(me, group_id)
    return compare("kind of group", group_id, kind, kind == SHARE, Errors.GROUP_ID_NOT_FOUND)
