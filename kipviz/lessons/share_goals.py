"""Goals about share groups: what happened to delivered records."""

from __future__ import annotations

from collections.abc import Mapping

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.lessons.moment import Goal, Moment
from kipviz.messages.events import (
    ABORTED_AT_SOURCE,
    COPIED,
    LOCK_RAN_OUT,
    SESSION_CLOSED,
    LockRenewed,
    LogPruned,
    RecordsMoved,
    SharePartitionLoaded,
    ShareStateReset,
)
from kipviz.records.share_group_state import RecordState


def _has_moved(moment: Moment, because: str) -> bool:
    """Return whether a record just moved for this reason."""
    return any(
        isinstance(event, RecordsMoved) and event.because == because for event in moment.events
    )


def _lock_ran_out(moment: Moment) -> bool:
    """A record was just released because its lock expired."""
    return _has_moved(moment, LOCK_RAN_OUT)


def _lock_renewed(moment: Moment) -> bool:
    """A member has just renewed a lock."""
    return any(isinstance(event, LockRenewed) for event in moment.events)


def _released_by_close(moment: Moment) -> bool:
    """Records were just released because a session was closed."""
    return _has_moved(moment, SESSION_CLOSED)


def _aborted_archived(moment: Moment) -> bool:
    """Records of an aborted transaction were just archived."""
    return _has_moved(moment, ABORTED_AT_SOURCE)


def _state_reset(moment: Moment) -> bool:
    """An operator has just reset the start offset of a share-partition."""
    resets = (e for e in moment.events if isinstance(e, ShareStateReset))
    return any(event.state_epoch >= 0 and event.start_offset >= 0 for event in resets)


def _state_deleted(moment: Moment) -> bool:
    """The durable state of a share-partition was just deleted."""
    return any(isinstance(e, ShareStateReset) and e.state_epoch < 0 for e in moment.events)


def _log_pruned(moment: Moment) -> bool:
    """The start of an internal log was just deleted."""
    return any(isinstance(event, LogPruned) for event in moment.events)


def _archiving(moment: Moment) -> bool:
    """A record is archived and waits for its copy in the dead-letter queue."""
    return any(
        record.state is RecordState.ARCHIVING
        for role in moment.world.roles.values()
        if isinstance(role, ShareLeader)
        for share in role.shares.values()
        for record in share.records.values()
    )


def _dead_letter(moment: Moment) -> bool:
    """The copy of an archived record was just confirmed."""
    return _has_moved(moment, COPIED)


def _is_refused(moment: Moment) -> bool:
    """A member's acknowledgements were rejected."""
    return any(
        isinstance(app.consumer, ShareConsumer) and bool(app.consumer.acknowledging.error)
        for app in moment.world.applications.values()
    )


def _start_moved(moment: Moment) -> bool:
    """A share-partition starts after a record that was delivered: the record is done."""
    return any(
        isinstance(role, ShareLeader)
        and any(
            share.start_offset > moment.world.logs[share.partition].start_offset
            for share in role.shares.values()
        )
        for role in moment.world.roles.values()
    )


def _loaded_again(moment: Moment) -> bool:
    """A share-partition was just loaded by a leader that is not the first one."""
    return any(
        isinstance(event, SharePartitionLoaded)
        and moment.world.image.leaders[event.partition].epoch > 0
        for event in moment.events
    )


SHARE_GOALS: Mapping[str, Goal] = {
    "lock ran out": _lock_ran_out,
    "lock renewed": _lock_renewed,
    "released by close": _released_by_close,
    "aborted data archived": _aborted_archived,
    "record archiving": _archiving,
    "dead letter written": _dead_letter,
    "acknowledgement refused": _is_refused,
    "start offset moved": _start_moved,
    "loaded again": _loaded_again,
    "state reset": _state_reset,
    "state deleted": _state_deleted,
    "log pruned": _log_pruned,
}
