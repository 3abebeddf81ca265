"""Open transactions in the logs of a broker: a row for each, with the ways to end it, and the pending offsets.

Logs do not show whether a producer still runs, and the transactions that another broker coordinates are in that
broker's logs. A row states what these logs show.
"""

from __future__ import annotations

from kipviz.brokers.groups.group_state import GroupCoordinator
from kipviz.brokers.transactions.transaction_metadata import TransactionMetadata
from kipviz.brokers.transactions.transaction_state_manager import TransactionCoordinator
from kipviz.clients.operators.operator_commands import (
    HANGING,
    MAY_HANG,
    NOT_HANGING,
    Owner,
    ways_out,
)
from kipviz.cluster.real.rebuilt_cluster import RebuiltModel
from kipviz.cluster.world import World
from kipviz.records.placement import INTERNAL_TOPICS, TRANSACTION_STATE, topic_of
from kipviz.views.reasons.blockers import what_ends_transaction
from kipviz.views.reasons.open_transactions import Blocked, PendingOffsets
from kipviz.views.reasons.request_position import NEVER, Reason

ELSEWHERE = (
    "No coordinator in what was read of these logs knows its producer id. It hangs if none in the cluster does: not all "
    f"of {TRANSACTION_STATE} was read."
)


def find_blocked(
    model: RebuiltModel, world: World, *, coordinators_complete: bool = False
) -> tuple[Blocked, ...]:
    """Return every open transaction of the users' logs, oldest first in each log.

    `coordinators_complete` is True if all partitions of __transaction_state were read, so that a producer id which is
    in none of them is known to no coordinator.
    """
    found = []
    for name, log in world.logs.items():
        if topic_of(name) in INTERNAL_TOPICS:
            continue
        for place, (first, producer_id) in enumerate(log.open):
            epoch = log.producers[producer_id].epoch
            known = _find_known(world, producer_id)
            reason = what_ends_transaction(world, name, producer_id, epoch)
            hanging = _hanging(reason, known, complete=coordinators_complete)
            unknown = hanging == MAY_HANG and reason.how == NEVER
            found.append(
                Blocked(
                    name,
                    log.last_stable_offset,
                    log.high_watermark,
                    first,
                    place == 0,
                    hanging,
                    producer_id,
                    epoch,
                    _render_written(model, name, first),
                    "" if known is None else known.transactional_id,
                    "" if known is None else known.state.value,
                    ELSEWHERE if unknown else reason.text,
                    _ways(name, first, hanging, known, reason.free),
                )
            )
    return tuple(found)


def pending_offsets(
    model: RebuiltModel, world: World, *, coordinators_complete: bool = False
) -> tuple[PendingOffsets, ...]:
    """Return the offsets of groups that are pending in transactions, by log and producer id."""
    found = []
    for (_, _, log), role in world.roles.items():
        if not isinstance(role, GroupCoordinator):
            continue
        for producer_id, staged in role.pending.items():
            known = _find_known(world, producer_id)
            for group in dict.fromkeys(each.group_id for each in staged):
                own = [each for each in staged if each.group_id == group]
                first = min(each.at for each in own)
                epoch = world.logs[log].producers[producer_id].epoch
                reason = what_ends_transaction(world, log, producer_id, epoch)
                hanging = _hanging(reason, known, complete=coordinators_complete)
                found.append(
                    PendingOffsets(
                        group,
                        log,
                        producer_id,
                        "" if known is None else known.transactional_id,
                        hanging,
                        _render_written(model, log, first),
                        tuple((each.partition, each.offset) for each in own),
                        _ways(
                            log,
                            _begins(world, log, producer_id, first),
                            hanging,
                            known,
                            reason.free,
                        ),
                    )
                )
    return tuple(found)


def _find_known(world: World, producer_id: int) -> TransactionMetadata | None:
    """Return the state of a producer id in a coordinator whose log is here, or None."""
    return next(
        (
            t
            for role in world.roles.values()
            if isinstance(role, TransactionCoordinator)
            for t in role.transactions.values()
            if t.producer_id == producer_id
        ),
        None,
    )


def _hanging(reason: Reason, known: TransactionMetadata | None, *, complete: bool) -> str:
    """Return whether a transaction hangs, as far as the coordinators in these logs show."""
    if known is None:
        return HANGING if complete and reason.how == NEVER else MAY_HANG
    return HANGING if reason.how == NEVER else NOT_HANGING


def _begins(world: World, log: str, producer_id: int, first: int) -> int:
    """Return the offset at which a producer's transaction begins in a log."""
    return next((at for at, of in world.logs[log].open if of == producer_id), first)


def _ways(
    partition: str, first: int, hanging: str, known: TransactionMetadata | None, otherwise: str
) -> tuple[str, ...]:
    owner = None
    if known is not None:
        owner = Owner(known.transactional_id, known.state, known.timeout_ms)
    return ways_out(partition, first, hanging, owner, otherwise)


def _render_written(model: RebuiltModel, partition: str, offset: int) -> str:
    return next(
        entry.at
        for entry in model.entries
        if entry.partition == partition
        and entry.batch.base_offset <= offset <= entry.batch.last_offset
    )
