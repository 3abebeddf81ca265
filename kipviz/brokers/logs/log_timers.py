"""The timers of a partition's log: what it forgets of producers, and what it deletes."""

from __future__ import annotations

from kipviz.brokers.context import Context, Effects
from kipviz.brokers.logs import log_retention, producer_expiry
from kipviz.brokers.logs.partition_leader import PartitionLeader


def timers(me: PartitionLeader, on: Context) -> tuple[str, ...]:
    """Give the timers of a log that are set."""
    return (*producer_expiry.timers(me, on), *log_retention.timers(me, on))


def on_timer(me: PartitionLeader, timer: str, on: Context) -> Effects:
    """Let one of them run out."""
    if timer.startswith(log_retention.RETAINS):
        return log_retention.on_timer(me, timer, on)
    return producer_expiry.on_timer(me, timer, on)
