"""The timers of a partition's log: what it forgets of producers, and what it deletes."""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.logs import log_retention, producer_expiry
from kipviz.brokers.logs.partition_leader import PartitionLeader
from kipviz.brokers.timers import LogRetention, ProducerExpiry, RoleTimer


def timers(me: PartitionLeader, on: Context) -> tuple[RoleTimer, ...]:
    """Return the timers of a log that are set."""
    return (*producer_expiry.timers(me, on), *log_retention.timers(me, on))


def on_timer(me: PartitionLeader, timer: RoleTimer, on: Context) -> Effects:
    """Let one of them run out."""
    if isinstance(timer, LogRetention):
        return log_retention.on_timer(me, timer, on)
    assert isinstance(timer, ProducerExpiry), timer
    return producer_expiry.on_timer(me, timer, on)
