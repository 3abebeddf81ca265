"""The expiry of unused offsets, and then of the groups themselves.

A part of the group coordinator's role (`group_coordinator`). WHERE IN KAFKA: OffsetMetadataManager.
  cleanupExpiredOffsets, ClassicGroup and ConsumerGroup.offsetExpirationCondition,
  GroupMetadataManager.maybeDeleteGroup.
KIPS: KIP-211, KIP-496.
DURABILITY: tombstones. The start of each period is in the log, so a new coordinator continues counting.
A share group never expires, so it stays until an operator deletes it (ShareGroup.shouldExpire).
NOT MODELLED: old commits that carry their own expiry time (OffsetCommit version 1). Deletion by operators
  is in `group_administration`. Expiry is off unless the brokers' setting `offsets_expire` is on: a week is longer than
  any story. In an untimed world the period may end at any moment, on a timed clock it ends after
  offsets.retention.minutes (`cluster.timing.retention`).
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.groups.group_writes import append_records
from kipviz.brokers.membership import consumer_group
from kipviz.brokers.membership.classic_group import GroupState
from kipviz.brokers.timers import GroupRetention, OffsetRetention
from kipviz.core.values import Value
from kipviz.messages.events import OffsetsExpired
from kipviz.records.consumer_offsets import (
    GROUP_EPOCH,
    GROUP_METADATA,
    TARGET_EPOCH,
    GroupTombstone,
    OffsetTombstone,
)
from kipviz.records.placement import topic_of


def timers(me: GroupCoordinator, on: Context) -> tuple[GroupRetention | OffsetRetention, ...]:
    """Return what can expire: a whole classic group without members, otherwise single offsets.

    For an empty classic group the period starts when its last member left. For everything else it starts at each
    offset's own commit: a KIP-848 group, a group of offsets alone, and topics to which no member of a group subscribes
    any longer.
    """
    if not on.settings.offsets_expire:
        return ()
    known = dict.fromkeys((*(g for g, _ in me.offsets), *me.groups, *me.classic_groups))
    found: list[GroupRetention | OffsetRetention] = []
    for group_id in known:
        if is_counted_together(me, group_id):
            found += [GroupRetention(group_id)] if _make_tombstones(me, group_id) else []
        else:
            found += [OffsetRetention(p, group_id) for _, p in _single(me, group_id)]
    return tuple(found)


def on_timer(
    me: GroupCoordinator, timer: GroupRetention | OffsetRetention, on: Context
) -> Effects[GroupCoordinator]:
    """Expire unused offsets, and delete the group when it is empty and has none left.

    WHEN: offsets.retention.minutes are over, a week by default. CHECKS: no member of the group subscribes to the topic.
    An offset that is pending in a transaction stays, and with it the group.
    DOES: writes a tombstone for each offset and, if these were all, for the group.
    ANSWERS: no request. A consumer that returns finds no offset, and starts where auto.offset.reset says.
    Clause: KIP-211; OffsetMetadataManager.cleanupExpiredOffsets.
    """
    group_id = timer.group_id
    if isinstance(timer, GroupRetention):
        records = _make_tombstones(me, group_id)
    else:
        place = (group_id, timer.partition)
        last = not any(known == group_id and (known, p) != place for known, p in me.offsets)
        ends = last and is_empty(me, group_id) and not pending_of(me, group_id)
        records = (OffsetTombstone(*place), *(tombstones(me, group_id) if ends else ()))
    partitions = tuple(r.partition for r in records if isinstance(r, OffsetTombstone))
    deleted = any(isinstance(r, GroupTombstone) for r in records)
    return append_records(me, records, (OffsetsExpired(group_id, partitions, deleted),), None, on)


def is_counted_together(me: GroupCoordinator, group_id: str) -> bool:
    """Return whether all of a group's offsets expire together, or the group has no offsets.

    Source: ClassicGroup.offsetExpirationCondition, ConsumerGroup.offsetExpirationCondition.
    """
    classic = me.classic_groups.get(group_id)
    if classic is not None and classic.state is GroupState.EMPTY:
        return True
    return is_empty(me, group_id) and not any(known == group_id for known, _ in me.offsets)


def subscribed_topics(me: GroupCoordinator, group_id: str) -> tuple[str, ...]:
    """Return the topics to which at least one member of a group subscribes."""
    classic, group = me.classic_groups.get(group_id), me.groups.get(group_id)
    if classic is not None:
        return tuple(topic for m in classic.members.values() for topic in m.subscription.topics)
    return consumer_group.subscribed_topics(group) if group is not None else ()


def is_given(me: GroupCoordinator, group_id: str) -> bool:
    """Return whether a group's members existed before the run; their subscriptions are unknown."""
    return group_id not in me.groups and any(known == group_id for known, _ in me.members)


def pending_of(me: GroupCoordinator, group_id: str) -> dict[str, bool]:
    """Return the partitions for which a group has an offset in an undecided transaction."""
    staged = (p for each in me.pending.values() for p in each)
    return {p.partition: True for p in staged if p.group_id == group_id}


def _single(me: GroupCoordinator, group_id: str) -> list[tuple[str, str]]:
    """Return the offsets of a group that may expire one by one.

    While a classic group rebalances none of its offsets expires.
    """
    classic = me.classic_groups.get(group_id)
    if is_given(me, group_id) or (classic is not None and classic.state is not GroupState.STABLE):
        return []
    used, pending = subscribed_topics(me, group_id), pending_of(me, group_id)
    return [
        place
        for place in me.offsets
        if place[0] == group_id and topic_of(place[1]) not in used and place[1] not in pending
    ]


def _make_tombstones(me: GroupCoordinator, group_id: str) -> tuple[Value, ...]:
    """Return the tombstones for everything that can expire of a group that has no members now."""
    pending = pending_of(me, group_id)
    places = tuple(place for place in me.offsets if place[0] == group_id)
    offsets = tuple(OffsetTombstone(*place) for place in places if place[1] not in pending)
    return offsets if pending else (*offsets, *tombstones(me, group_id))


def tombstones(me: GroupCoordinator, group_id: str) -> tuple[Value, ...]:
    """Return the tombstones of a group without members and offsets; a group of offsets alone needs none."""
    of: tuple[str, ...] = ()
    if group_id in me.classic_groups:
        of = (GROUP_METADATA,)
    elif group_id in me.groups:
        of = (TARGET_EPOCH, GROUP_EPOCH)
    return tuple(GroupTombstone(group_id, each) for each in of)


def is_empty(me: GroupCoordinator, group_id: str) -> bool:
    """Return whether a group has no members; members that existed before the run never leave."""
    classic, group = me.classic_groups.get(group_id), me.groups.get(group_id)
    if classic is not None:
        return classic.state is GroupState.EMPTY
    return not is_given(me, group_id) and (group is None or not len(group.members))
