"""The deadlines of roles' timers: where each is kept, and which timer a deadline is of."""

from __future__ import annotations

from typing import assert_never

from kipviz.brokers.timers import (
    AppendTimeout,
    ColdSnapshot,
    GroupRebalance,
    GroupRetention,
    GroupSync,
    LogRetention,
    MemberRebalance,
    MemberSession,
    OffsetRetention,
    ProducerExpiry,
    RoleTimer,
    StatePruning,
    TransactionalIdExpiry,
    TransactionLiveness,
)
from kipviz.cluster.timing import retention, timers
from kipviz.cluster.timing.clock import Deadline, Due, Place
from kipviz.cluster.world import RoleKey, World
from kipviz.messages.apis.api import leading_role


def place_of(world: World, key: RoleKey, timer: RoleTimer) -> Place:
    """Return the deadline of a timer; a timer whose time is in a log does not depend on its leader."""
    match timer:
        case TransactionalIdExpiry(name):
            return Due.TRANSACTIONAL_ID, (name,)
        case ProducerExpiry(producer_id, partition):
            return Due.PRODUCER_ID, (partition, producer_id)
        case LogRetention(partition):
            return timers.front_of(world, partition)
        case GroupRetention() | OffsetRetention():
            return retention.place_of(timer)
        case (
            MemberSession()
            | MemberRebalance()
            | GroupRebalance()
            | GroupSync()
            | AppendTimeout()
            | TransactionLiveness()
            | StatePruning()
            | ColdSnapshot()
        ):
            return Due.ROLE_TIMER, (*key, timer)
        case _:
            assert_never(timer)


def timer_at(world: World, deadline: Deadline) -> tuple[int, str, str, RoleTimer]:
    """Return the broker, role, shard and timer of a deadline; where the time is in a log, its leader has the timer."""
    timer: RoleTimer
    match deadline.kind, deadline.place:
        case Due.ROLE_TIMER, (int(broker), str(role), str(shard), named) if isinstance(
            named, RoleTimer
        ):
            return broker, role, shard, named
        case Due.TRANSACTIONAL_ID, (str(name),):
            shard, timer = world.image.home_of_transactions(name), TransactionalIdExpiry(name)
        case Due.PRODUCER_ID, (str(shard), int(producer_id)):
            timer = ProducerExpiry(producer_id, shard)
        case Due.LOG_FRONT, (str(shard), *_):
            timer = LogRetention(shard)
        case kind, place:
            shard, timer = retention.home(world, place), retention.timer_of(kind, place)
    return world.image.leader_of(shard), leading_role(shard), shard, timer
