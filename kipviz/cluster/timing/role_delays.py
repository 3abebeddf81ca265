"""Delays of roles before they continue; their end costs no fault budget."""

from __future__ import annotations

from typing import Any

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.groups import group_coordinator
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.share_leaders import share_sessions
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.brokers.timers import RoleDelay
from kipviz.cluster.world import BrokerRole

# By the kind of role: the module with its `delays` and its `on_delay`.
DELAYED_BY: dict[type[BrokerRole], Any] = {
    GroupCoordinator: group_coordinator,
    ShareLeader: share_sessions,
}


def delays(role: BrokerRole) -> tuple[RoleDelay, ...]:
    """Return the delays of a role now."""
    module = DELAYED_BY.get(type(role))
    found: tuple[RoleDelay, ...] = module.delays(role) if module is not None else ()
    return found


def over(role: BrokerRole, delay: RoleDelay, on: Context) -> Effects[BrokerRole]:
    """Continue a role after its delay."""
    done: Effects[BrokerRole] = DELAYED_BY[type(role)].on_delay(role, delay, on)
    return done
