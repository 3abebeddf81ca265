"""The timers of a partition's log: expiry of producers, and retention."""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.logs import log_retention, producer_expiry
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.timers import LogRetention, ProducerExpiry, RoleTimer


def timers(me: PartitionLeader, on: Context) -> tuple[RoleTimer, ...]:
    """Return the running timers of a log."""
    return (*producer_expiry.timers(me, on), *log_retention.timers(me, on))


def on_timer(me: PartitionLeader, timer: RoleTimer, on: Context) -> Effects[PartitionLeader]:
    """Handle the expiry of one of them."""
    if isinstance(timer, LogRetention):
        return log_retention.on_timer(me, timer, on)
    assert isinstance(timer, ProducerExpiry), timer
    return producer_expiry.on_timer(me, timer, on)
