"""What is forgotten of groups that nobody uses: their offsets, and then the groups themselves.

A part of the group coordinator's role (`group_coordinator`). WHERE IN KAFKA: OffsetMetadataManager.
  cleanupExpiredOffsets, GroupMetadataManager.maybeDeleteGroup. KIPS: KIP-211.
NOT MODELLED: offsets of topics that no member of a group with members subscribes to any more; share groups.
  What an operator deletes is in `group_administration`. How long a week is no clock here can say, a timed one
  neither: the retention of a group that is empty may run out at any moment, if the brokers' `offsets_expire`
  says so.
"""

from __future__ import annotations

from kipviz.brokers.classic_group import GroupState
from kipviz.brokers.context import Context, Effects
from kipviz.brokers.group_state import GroupCoordinator
from kipviz.brokers.group_writes import written
from kipviz.core.values import Value
from kipviz.messages.events import OffsetsExpired
from kipviz.records.consumer_offsets import (
    GROUP_EPOCH,
    GROUP_METADATA,
    TARGET_EPOCH,
    GroupTombstone,
    OffsetTombstone,
)

RETENTION = "the retention of the offsets of "


def timers(me: GroupCoordinator, on: Context) -> tuple[str, ...]:
    """Give the groups without members of which something can be forgotten."""
    if not on.settings.offsets_expire:
        return ()
    known = dict.fromkeys((*(g for g, _ in me.offsets), *me.groups, *me.classic_groups))
    return tuple(f"{RETENTION}{group_id}" for group_id in known if _forgotten(me, group_id))


def on_timer(me: GroupCoordinator, timer: str, on: Context) -> Effects:
    """Forget the offsets of an empty group, and the group when nothing is left of it.

    WHEN: offsets.retention.minutes are over, a week by default. CHECKS: the group has no members; what is
      pending in a transaction stays, and with it the group.
    DOES: a tombstone for each offset and, if they were all, for the group.
    ANSWERS: nobody. Whoever comes again finds no offset, and begins where auto.offset.reset says.
    Clause: KIP-211; OffsetMetadataManager.cleanupExpiredOffsets.
    """
    group_id = timer.removeprefix(RETENTION)
    records = _forgotten(me, group_id)
    partitions = tuple(r.partition for r in records if isinstance(r, OffsetTombstone))
    deleted = any(isinstance(r, GroupTombstone) for r in records)
    return written(me, records, (OffsetsExpired(group_id, partitions, deleted),), None, on)


def _forgotten(me: GroupCoordinator, group_id: str) -> tuple[Value, ...]:
    """Give the tombstones of what can be forgotten of a group now, none if somebody uses it."""
    if not is_empty(me, group_id):
        return ()
    pending = {
        p.partition for staged in me.pending.values() for p in staged if p.group_id == group_id
    }
    places = tuple(place for place in me.offsets if place[0] == group_id)
    offsets = tuple(OffsetTombstone(*place) for place in places if place[1] not in pending)
    if pending or len(offsets) < len(places):
        return offsets
    return (*offsets, *tombstones(me, group_id))


def tombstones(me: GroupCoordinator, group_id: str) -> tuple[Value, ...]:
    """Give what deletes a group without members and offsets; a group of offsets alone has no record."""
    of: tuple[str, ...] = ()
    if group_id in me.classic_groups:
        of = (GROUP_METADATA,)
    elif group_id in me.groups:
        of = (TARGET_EPOCH, GROUP_EPOCH)
    return tuple(GroupTombstone(group_id, each) for each in of)


def is_empty(me: GroupCoordinator, group_id: str) -> bool:
    """Say whether a group has no members; those that were there before the run stay for ever."""
    classic, group = me.classic_groups.get(group_id), me.groups.get(group_id)
    if classic is not None:
        return classic.state is GroupState.EMPTY
    given = any(known == group_id for known, _ in me.members)
    return not given and (group is None or not len(group.members))
