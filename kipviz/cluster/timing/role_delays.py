"""Delays of roles before they continue; their end costs no fault budget."""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.groups import group_coordinator
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.share_leaders import share_sessions
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.timers import RefusedFetchWait, RoleDelay
from kipviz.cluster.world import BrokerRole, role_as


def delays(role: BrokerRole) -> tuple[RoleDelay, ...]:
    """Return the delays of a role now; most roles have none."""
    # By its type alone: every role is asked this.
    if type(role) is GroupCoordinator:
        return group_coordinator.delays(role)
    return share_sessions.delays(role) if type(role) is ShareLeader else ()


def over(role: BrokerRole, delay: RoleDelay, on: Context) -> Effects[BrokerRole]:
    """Continue a role after its delay."""
    if isinstance(delay, RefusedFetchWait):
        return share_sessions.on_delay(role_as(role, ShareLeader), delay, on)
    return group_coordinator.on_delay(role_as(role, GroupCoordinator), delay, on)
