"""The acquisition locks and queries of outcomes that are possible now, and why others are not.

A part of the share-partition leader's role (`share_partition_leader`), which has the handlers. WHERE IN KAFKA:
SharePartition.AcquisitionLockTimerTask; querying the outcome of transactional acknowledgements is our inference.
"""

from __future__ import annotations

from kipviz.brokers.context import Context
from kipviz.brokers.share_leaders import share_partition
from kipviz.brokers.share_leaders.in_flight import staged_batches
from kipviz.brokers.share_leaders.share_partition import ShareLeader, Status


def locks(me: ShareLeader, on: Context) -> tuple[tuple[str, int], ...]:
    """Return the (share-partition, acquisition) pairs whose lock can expire now."""
    return tuple(
        (key, lock) for key, share in me.shares.items() for lock in share_partition.locks(share, on)
    )


def refreshes(me: ShareLeader, on: Context) -> tuple[str, ...]:
    """Return the share-partitions that may query the outcome of their transactional acknowledgements now."""
    return tuple(key for key, share in me.shares.items() if share_partition.can_refresh(share, on))


def why_no_lock_expiry(me: ShareLeader, key: str, lock: int, on: Context) -> str | None:
    """Return why an acquisition lock cannot expire now, or None if it can."""
    share = me.shares.get(key)
    if share is None:
        return f"broker {on.broker} has no share-partition {key} in memory"
    held = {o: r for o, r in share.records.items() if r.lock == lock}
    if not held:
        return f"no record of {share.partition} is held under the lock of offset {lock}"
    if any(share_partition.expire_lock(share, o, on) is not None for o in held):
        return None
    offset, record = next(iter(held.items()))
    state = f"{share.partition}@{offset} is {record.state.name}"
    if record.ongoing:
        return f"{state}, which is not durable yet: until then its lock does not expire"
    staged = f"producer id {record.staged_producer_id} in epoch {record.staged_producer_epoch}"
    by = f", staged by {staged}" if record.staged_producer_id >= 0 else ""
    return f"{state}{by}: in this design its lock does not expire"


def why_no_refresh(me: ShareLeader, key: str, on: Context) -> str | None:
    """Return why the leader does not query the outcome of its transactional acknowledgements now, or None if it may."""
    share = me.shares.get(key)
    if share is None or share.status is not Status.ACTIVE:
        return f"broker {on.broker} has not loaded the share-partition {key}"
    pending = share_partition.pending_cells(share)
    if not pending:
        return f"no record of {share.partition} is TX_PENDING"
    if not on.rules.staged_acks(staged_batches(pending)):
        return f"broker {on.broker} keeps transactional acknowledgements only in memory: there is nothing to look up"
    if not share_partition.is_resolved_elsewhere(on):
        return f"broker {on.broker} resolves the acknowledgements itself when a marker arrives"
    if share.writes:
        return (
            f"{type(share.writes[0].message).__name__} for {share.partition} is already under way"
        )
    return None
