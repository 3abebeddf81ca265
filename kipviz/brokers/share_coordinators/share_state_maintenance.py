"""Maintenance of `__share_group_state`: deletion of state, repeated snapshots, pruning of the log.

A part of the share coordinator's role (`share_coordinator`), with the same state.
WHERE IN KAFKA: ShareCoordinatorShard, ShareCoordinatorOffsetsManager, the two periodic jobs of ShareCoordinatorService.
KIPS: KIP-932, KIP-1226 (summary).

The topic is not compacted. Everything before the oldest snapshot that is still needed is redundant, and a job deletes
it. An idle share-partition would prevent that with its old snapshot, so another job repeats the state of what has not
changed for a while.

NOT MODELLED: the intervals (where `state_upkeep` is set, either job may run at any moment); that the count of updates
continues across a snapshot that it did not cause.
"""

from __future__ import annotations

from kipviz.brokers.checks import error_of
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo, with_effects
from kipviz.brokers.handling import takes
from kipviz.brokers.logs import partition_log
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.logs.replication import respond_when_replicated
from kipviz.brokers.share_coordinators import share_state_checks
from kipviz.brokers.share_coordinators.share_coordinator import write
from kipviz.brokers.share_coordinators.share_state import NO_EPOCH, ShareCoordinator
from kipviz.brokers.timers import ColdSnapshot, RoleTimer, StatePruning
from kipviz.messages.errors import Errors
from kipviz.messages.events import LogPruned, ShareStateReset
from kipviz.messages.shares.share_state import (
    DeleteShareGroupState,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    ReadShareGroupStateSummary,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)
from kipviz.records.share_group_state import ShareSnapshotRecord, ShareStagedRecord, ShareTombstone


@takes(DeleteShareGroupState)
def on_delete(
    me: ShareCoordinator, request: DeleteShareGroupState, reply_to: ReplyTo, on: Context
) -> Effects[ShareCoordinator]:
    """Delete the state of a share-partition.

    WHEN: an operator deletes a share group, or its offsets. CHECKS: that the coordinator has loaded its log, and that
    the topic exists; state that does not exist counts as deleted. DOES: writes a tombstone. ANSWERS: when it is
    replicated.
    OPEN: reset_while_pending.
    Clause: KIP-932 "DeleteShareGroupState"; ShareCoordinatorShard.deleteState.
    """
    asked = request.only
    checks = share_state_checks.delete_checks(me, asked, on)
    answer = DeleteShareGroupStateResponse((DeleteStateResult(error_of(checks), asked.key),))
    if error_of(checks) is not Errors.NONE:
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
    if asked.key not in me.states:
        waiting, replies = respond_when_replicated(on.log(me.shard), Reply(reply_to, answer))
        return Effects(me.but(waiting=(*me.waiting, *waiting)), replies=replies, checks=checks)
    done = write(me, ShareTombstone(asked.key), reply_to, answer, on).after(checks)
    if not done.appends:
        return done
    return done.but(events=(ShareStateReset(asked.key, NO_EPOCH, -1), *done.events))


@takes(ReadShareGroupStateSummary)
def on_read_summary(
    me: ShareCoordinator, request: ReadShareGroupStateSummary, reply_to: ReplyTo, on: Context
) -> Effects[ShareCoordinator]:
    """Return the start offset of a share-partition and its epochs, without its batches.

    WHEN: an operator asks for a group's offsets. CHECKS: that the coordinator has loaded its log, and the topic. DOES:
    nothing; it fences no leader. ANSWERS: when everything that it has read is replicated.
    Clause: KIP-932 "ReadShareGroupStateSummary"; ShareCoordinatorShard.readStateSummary.
    """
    asked = request.only
    state = me.states.get(asked.key)
    checks = share_state_checks.summary_checks(me, asked, on)
    if error_of(checks) is not Errors.NONE:
        failed = ReadStateSummaryResult(error_of(checks), asked.key)
        refused = ReadShareGroupStateSummaryResponse((failed,))
        return Effects(me, replies=(Reply(reply_to, refused),), checks=checks)
    summary = ReadStateSummaryResult(Errors.NONE, asked.key)
    if state is not None:
        summary = summary.but(
            state_epoch=state.state_epoch,
            leader_epoch=state.leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.delivery_complete_count,
        )
    answer = ReadShareGroupStateSummaryResponse((summary,))
    waiting, replies = respond_when_replicated(on.log(me.shard), Reply(reply_to, answer))
    return Effects(me.but(waiting=(*me.waiting, *waiting)), replies=replies, checks=checks)


def on_topic_deleted(me: ShareCoordinator, topic_id: str, on: Context) -> Effects[ShareCoordinator]:
    """Delete the state of a deleted topic's share-partitions, for every group.

    WHEN: the controller has deleted the topic. CHECKS: nothing: neither a leader nor a group, nor whether a
    transactional acknowledgement is pending, which KIP-1289 does not mention (our inference). DOES: writes a tombstone
    for each. ANSWERS: no request.
    Clause: KIP-932; ShareCoordinatorShard.maybeCleanupShareState.
    """
    parts: list[Effects[ShareCoordinator]] = []
    for key in me.states:
        if key.rsplit(":", 2)[1] == topic_id:
            part = write(me, ShareTombstone(key), None, None, on.after(*parts))
            reset = ShareStateReset(key, NO_EPOCH, -1)
            # If the log cannot append now, the state stays as it is.
            parts.append(part.but(events=(reset, *part.events)) if part.appends else part)
            me = part.state
    return with_effects(me, *parts)


# -- timers ------------------------------------------------------------------------------------


def timers(me: ShareCoordinator, on: Context) -> tuple[RoleTimer, ...]:
    """Return the maintenance jobs that have something to do now, if maintenance is modelled at all."""
    if not on.settings.state_upkeep or me.loading:
        return ()
    found: list[RoleTimer] = [ColdSnapshot(key) for key in _resting(me)]
    if floor(me, on) > on.log(me.shard).start_offset:
        found.append(StatePruning(me.shard))
    return tuple(found)


def on_timer(me: ShareCoordinator, timer: RoleTimer, on: Context) -> Effects[ShareCoordinator]:
    """Prune the log, or repeat the snapshot of an idle share-partition.

    Clause: KIP-932 "Share-group state topic" (share.coordinator.state.topic.prune.interval.ms,
    share.coordinator.cold.partition.snapshot.interval.ms). OPEN: prune_floor.
    """
    if isinstance(timer, StatePruning):
        up_to = floor(me, on)
        event = LogPruned(me.shard, on.log(me.shard).start_offset, up_to)
        return Effects(me, deletes=((me.shard, up_to),), events=(event,))
    assert isinstance(timer, ColdSnapshot), timer
    key = timer.key
    state = me.states[key]
    record = ShareSnapshotRecord(
        key,
        state.snapshot_epoch + 1,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        state.delivery_complete_count,
        state.batches,
        cold=True,
    )
    return write(me, record, None, None, on)


def floor(me: ShareCoordinator, on: Context) -> int:
    """Return the offset up to which the log may be deleted now.

    A snapshot replaces earlier records only once it is replicated: the job reads like a write, whose response waits for
    everything written before. Source: ShareCoordinatorService.performRecordPruning.
    """
    log = on.log(me.shard)
    return on.rules.prune_floor(last_redundant_offset(log), first_acknowledgement_needed(log))


def last_redundant_offset(log: PartitionLog) -> int:
    """Return the offset of the oldest replicated snapshot that is still needed; records before it are redundant.

    Every share-partition that is not deleted counts with its latest snapshot. If all are deleted, it is the last
    tombstone. Source: ShareCoordinatorOffsetsManager.
    """
    latest, last_tombstone = _snapshots(log)
    return min(latest.values()) if latest else last_tombstone


def first_acknowledgement_needed(log: PartitionLog) -> int:
    """Return the offset of the first transactional acknowledgement whose outcome is in no snapshot.

    Without one it is the end of the log. A marker only says which producer's acknowledgements are decided: after a
    snapshot made while an acknowledgement was pending, it has no meaning without that acknowledgement. Status: our
    inference.
    """
    latest, _ = _snapshots(log)
    needed = [log.open[0][0] if log.open else log.end_offset]
    acknowledgements: dict[int, list[tuple[int, str]]] = {}
    for batch in log.batches:
        if batch.control:
            needed += [
                at
                for at, key in acknowledgements.pop(batch.producer_id, ())
                if at < latest.get(key, at) < batch.base_offset
            ]
        for at, record in enumerate(batch.records, batch.base_offset):
            if isinstance(record, ShareStagedRecord):
                acknowledgements.setdefault(batch.producer_id, []).append((at, record.key))
    return min(needed)


def _snapshots(log: PartitionLog) -> tuple[dict[str, int], int]:
    """Return the offset of the latest replicated snapshot of each share-partition, and of the last tombstone."""
    latest: dict[str, int] = {}
    last_tombstone = 0
    for batch in partition_log.read(log, log.start_offset, log.high_watermark):
        for at, record in enumerate(batch.records, batch.base_offset):
            if isinstance(record, ShareSnapshotRecord):
                latest[record.key] = at
            elif isinstance(record, ShareTombstone):
                latest.pop(record.key, None)
                last_tombstone = at
    return latest, last_tombstone


def _resting(me: ShareCoordinator) -> tuple[str, ...]:
    """Return the share-partitions whose snapshot may be repeated: none if nothing has changed anywhere."""
    if all(state.cold for state in me.states.values()):
        return ()
    return me.states.keys()
