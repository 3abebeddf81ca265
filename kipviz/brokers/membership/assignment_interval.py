"""The minimum time for which a KIP-848 group keeps its target, so that many changes become one.

A part of the group coordinator's role (`group_coordinator`). WHERE IN KAFKA:
GroupMetadataManager.canComputeNextTargetAssignment. KIPS: KIP-1263.
DURABILITY: none here: a new coordinator computes the next target at once. Kafka's record of a target has the time at
which it was computed.
NOT MODELLED: the same for share groups (group.share.assignment.interval.ms); the computation of a target in the
background.
"""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.timers import AssignmentInterval
from kipviz.core.values import Value
from kipviz.records.consumer_offsets import TargetEpochRecord


def start_interval(
    done: Effects[GroupCoordinator], records: tuple[Value, ...], group_id: str, on: Context
) -> Effects[GroupCoordinator]:
    """Start the interval of a group if its target was among the records written.

    Source: group.consumer.assignment.interval.ms; with 0, the default here, the next target is computed at once.
    """
    made = any(isinstance(record, TargetEpochRecord) for record in records)
    if not made or not done.appends or not on.settings.consumer_assignment_interval_ms:
        return done
    me = done.state
    return done.but(state=me.but(fresh=(*me.fresh, group_id)))


def delays(me: GroupCoordinator) -> tuple[AssignmentInterval, ...]:
    """Return the groups whose target is younger than the interval; the first target is computed at once."""
    return tuple(AssignmentInterval(group_id) for group_id in me.fresh)


def on_delay(
    me: GroupCoordinator, delay: AssignmentInterval, on: Context
) -> Effects[GroupCoordinator]:
    """Allow the next target: the next heartbeat of any member computes it.

    Clause: KIP-1263; GroupMetadataManager.canComputeNextTargetAssignment.
    """
    return Effects(
        me.but(fresh=tuple(group_id for group_id in me.fresh if group_id != delay.group_id))
    )
