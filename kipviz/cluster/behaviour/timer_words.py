"""The words of timers and of waits on the screen.

A timer's name, such as "the session of C1 in g1", is part of worlds, links, saved runs and scripts: it begins with one
of `NAMES`, and what it is of follows. So a name is never reworded. The words that a reader sees are apart from it.
"""

from __future__ import annotations

from kipviz.brokers.groups import group_retention, group_writes
from kipviz.brokers.logs import log_retention, producer_expiry
from kipviz.brokers.membership import assignment_interval, classic_membership
from kipviz.brokers.share_coordinators import share_state_maintenance
from kipviz.brokers.share_leaders import share_sessions
from kipviz.brokers.transactions import (
    transaction_append,
    transaction_coordinator,
    transaction_liveness,
)
from kipviz.clients.groups import group_reading
from kipviz.clients.sending import producer
from kipviz.clients.transactions import topic_ids, transaction_manager

NAMES = (
    assignment_interval.INTERVAL,
    classic_membership.FIRST_GENERATION,
    group_retention.RETENTION,
    group_retention.OF_ONE,
    group_writes.SESSION,
    group_writes.REBALANCE,
    group_writes.SYNC,
    log_retention.RETAINS,
    producer_expiry.FORGETS,
    share_sessions.NO_ROOM,
    share_state_maintenance.PRUNE,
    share_state_maintenance.COLD,
    transaction_append.APPENDS,
    transaction_coordinator.EXPIRES,
    transaction_liveness.TIMER,
    group_reading.HEARTBEAT,
    group_reading.BACK_OFF,
    group_reading.FETCH_WAIT,
    group_reading.RESET_WAIT,
    producer.BATCH_BACK_OFF,
    transaction_manager.REST,
    transaction_manager.SHORT_REST,
    topic_ids.MAX_BLOCK,
    topic_ids.MAX_IDLE,
)
"""How the names of all timers begin, those of roles first, then those of clients."""

ON_SCREEN = {name: name for name in NAMES}
"""The words for each of them; an entry of its own rewords a timer and changes no world."""


def kind_of(timer: str) -> str:
    """Return the beginning of a timer's name that says which timer it is, "" for one that is not known."""
    return max((name for name in NAMES if timer.startswith(name)), key=len, default="")


def timer_words(timer: str) -> str:
    """Return the words for a timer."""
    kind = kind_of(timer)
    return ON_SCREEN[kind] + timer.removeprefix(kind) if kind else timer
