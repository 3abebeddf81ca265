"""What expires in a served cluster that runs for days, by number: producer ids, transactional ids, groups.

In Kafka these expire after a day or a week without use. Here the ones that were used longest ago expire when there are
more than a bound, and what is done then is Kafka's: a log forgets a producer, a coordinator writes tombstones. Nothing
expires that is in use: a producer with an open transaction, a transactional id with one, a group with members or with
offsets in an open transaction. A share group does not expire.

Source: ProducerStateManager.removeExpiredProducers, TransactionStateManager.removeExpiredTransactionalIds,
GroupCoordinatorShard.cleanupExpiredOffsets, ShareCoordinatorShard.snapshotColdPartitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from kipviz.brokers.groups import group_retention
from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.share_coordinators.share_state import ShareCoordinator
from kipviz.brokers.timers import ColdSnapshot, GroupRetention, RoleTimer, TransactionalIdExpiry
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.cluster.actions import Replicate, RunOut
from kipviz.cluster.behaviour.catalogue import BEHAVIOUR_OF
from kipviz.cluster.model import ClusterModel
from kipviz.cluster.world import World
from kipviz.core.table import Table, pairs
from kipviz.records.batches import Batch
from kipviz.records.transaction_state import VALID_PREVIOUS, TransactionState

PRODUCERS_MAX = 1_000  # of a partition's log
IDS_MAX = 1_000  # transactional ids, or groups, of a coordinator
SLACK = 200  # so many more are there before the oldest expire
T = TypeVar("T")


def forget_producers(log: PartitionLog) -> PartitionLog:
    """Return a log without the producers that wrote to it longest ago, if it knows too many."""
    if len(log.producers) <= PRODUCERS_MAX + SLACK:
        return log
    writers = (batch.producer_id for batch in _newest_first(log) if batch.producer_id >= 0)
    newest = _first_of(writers, PRODUCERS_MAX)
    gone = {
        producer_id
        for producer_id, entry in pairs(log.producers)
        if producer_id not in newest and entry.transaction_first_offset < 0
    }
    here = {batch.producer_id for batch in log.batches}
    here |= set(log.at_start.producers.keys()) if log.at_start is not None else set()
    # A replica that reads the log again forgets at the same place; without a batch there is nothing to forget.
    places = (*log.forgotten, *((producer_id, log.end_offset) for producer_id in sorted(gone)))
    return log.but(
        producers=Table.of(each for each in pairs(log.producers) if each[0] not in gone),
        forgotten=tuple(place for place in places if place[0] in here),
    )


def expire_unused(model: ClusterModel, world: World) -> World:
    """Return a world in which the transactional ids and groups that were used longest ago have expired."""
    actions: list[RunOut] = []
    for key, role in pairs(world.roles):
        timers: Iterable[RoleTimer] = ()
        if isinstance(role, TransactionCoordinator) and not role.loading:
            timers = _unused_ids(role, world.logs[role.shard])
        elif isinstance(role, GroupCoordinator) and not role.loading:
            timers = _unused_groups(role, world.logs[role.shard])
        actions += (RunOut(*key, timer) for timer in timers)
    return _expire(model, world, actions)


def repeat_snapshots(model: ClusterModel, world: World, partition: str) -> World:
    """Return a world in which each share-partition's state is in a new snapshot, so that its log can be pruned."""
    for key, role in pairs(world.roles):
        if isinstance(role, ShareCoordinator) and role.shard == partition and not role.loading:
            changed = (name for name, state in pairs(role.states) if not state.cold)
            world = _expire(model, world, [RunOut(*key, ColdSnapshot(name)) for name in changed])
    replicated = Replicate(partition)
    if model.why_not(world, replicated) is None:
        world = model.step(world, replicated).world
    return world


def _expire(model: ClusterModel, world: World, actions: Iterable[RunOut]) -> World:
    """Let timers expire in one step, which is not kept."""
    turn = model.turn(world)
    any_expired = False
    for action in actions:
        BEHAVIOUR_OF[RunOut].apply(turn, action)
        any_expired = True
    return turn.world() if any_expired else world


def _unused_ids(role: TransactionCoordinator, log: PartitionLog) -> Iterator[RoleTimer]:
    known = role.transactions
    if len(known) <= IDS_MAX + SLACK:
        return
    names = (r.transactional_id for b in _newest_first(log) for r in b.records)  # type: ignore[attr-defined]
    newest = _first_of(names, IDS_MAX)
    for name, metadata in pairs(known):
        idle = metadata.pending_state is None
        if name not in newest and idle and metadata.state in VALID_PREVIOUS[TransactionState.DEAD]:
            yield TransactionalIdExpiry(name)


def _unused_groups(role: GroupCoordinator, log: PartitionLog) -> Iterator[RoleTimer]:
    known = dict.fromkeys((*(g for g, _ in role.offsets), *role.groups, *role.classic_groups))
    if len(known) <= IDS_MAX + SLACK:
        return
    names = (r.group_id for b in _newest_first(log) for r in b.records)  # type: ignore[attr-defined]
    newest = _first_of((name for name in names if name in known), IDS_MAX)
    for name in known:
        used = name in newest or group_retention.pending_of(role, name)
        if not used and group_retention.is_empty(role, name):
            yield GroupRetention(name)


def _newest_first(log: PartitionLog) -> Iterator[Batch]:
    for at in reversed(range(len(log.batches))):
        yield log.batches[at]


def _first_of(found: Iterable[T], count: int) -> set[T]:
    """Return the first different ones, so many at most."""
    first: set[T] = set()
    for each in found:
        first.add(each)
        if len(first) == count:
            break
    return first
