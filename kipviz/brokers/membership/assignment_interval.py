"""How long a group of KIP-848 keeps its target before the next one is made, so that many changes become one.

A part of the group coordinator's role (`group_coordinator`). WHERE IN KAFKA: GroupMetadataManager.
  canComputeNextTargetAssignment. KIPS: KIP-1263.
DURABILITY: none here: a new coordinator makes the next target at once. Kafka's record of a target has the time at
  which it was made.
NOT MODELLED: the same for share groups (group.share.assignment.interval.ms), and that a target may be made in the background.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.timers import AssignmentInterval
from kipviz.core.values import Value
from kipviz.records.consumer_offsets import TargetEpochRecord


def begun(done: Effects, records: tuple[Value, ...], group_id: str, on: Context) -> Effects:
    """Let the interval of a group begin, if what was written has a target of it.

    Source: group.consumer.assignment.interval.ms; 0, as here unless a spec says else, makes the next one at once.
    """
    made = any(isinstance(record, TargetEpochRecord) for record in records)
    if not made or not done.appends or not on.settings.consumer_assignment_interval_ms:
        return done
    me: GroupCoordinator = done.state
    return done.but(state=me.but(fresh=(*me.fresh, group_id)))


def delays(me: GroupCoordinator) -> tuple[AssignmentInterval, ...]:
    """Return the groups whose target is younger than the interval; the first one of a group was made at once."""
    return tuple(AssignmentInterval(group_id) for group_id in me.fresh)


def on_delay(me: GroupCoordinator, delay: AssignmentInterval, on: Context) -> Effects:
    """Let the next target be made: that happens in the next heartbeat of any member.

    Clause: KIP-1263; GroupMetadataManager.canComputeNextTargetAssignment.
    """
    return Effects(
        me.but(fresh=tuple(group_id for group_id in me.fresh if group_id != delay.group_id))
    )
