"""The responses of a log's leader after replication, and the append of markers."""

from __future__ import annotations

from typing import TypeVar

from kipviz.brokers.checks import Check, Checks, compare
from kipviz.brokers.context import Context, Effects, LocalCall, Reply
from kipviz.brokers.local_calls import WriteMarker
from kipviz.brokers.logs.partition_log import PartitionLog, check_marker
from kipviz.brokers.rules import BrokerRules
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.events import BatchAppended
from kipviz.messages.message_errors import with_error
from kipviz.records.batches import ABORT, COMMIT, Batch

# The state of the role that is served.
S = TypeVar("S")


def replicas_check(
    partition: str, on: Context, otherwise: Errors = Errors.COORDINATOR_NOT_AVAILABLE
) -> Check:
    """Check that min.insync.replicas of a log are in sync; otherwise nothing is appended to it."""
    enough = on.image.has_enough_replicas(partition)
    return compare("enough replicas", None, enough, enough, otherwise)


def append_checks(partition: str, on: Context) -> tuple[Check, ...]:
    """Return the check by which an append failed: too few replicas, or they did not replicate it in time."""
    check = replicas_check(partition, on)
    if check.error is not Errors.NONE:
        return (check,)
    error = Errors.COORDINATOR_NOT_AVAILABLE
    return (compare("replicated in time", None, False, False, error),)


def moved_check(partition: str, on: Context, error: Errors) -> Check:
    """Return the check that rejects a request that waits at a leader: the partition has moved."""
    return Check("leader", on.broker, on.image.leader_of(partition), error)


class WaitingForReplicas(Value, frozen=True):
    """A reply or a call that is due once an offset is below the high watermark."""

    offset: int
    reply: Reply | None = None
    call: LocalCall | None = None


class Due(Value, frozen=True):
    """The replies and calls that are due now, and those that still wait."""

    waiting: tuple[WaitingForReplicas, ...]
    replies: tuple[Reply, ...]
    local: tuple[LocalCall, ...]


def due(waiting: tuple[WaitingForReplicas, ...], high_watermark: int) -> Due:
    """Split waiting replies and calls by a high watermark."""
    ready = tuple(w for w in waiting if w.offset < high_watermark)
    return Due(
        tuple(w for w in waiting if w.offset >= high_watermark),
        tuple(w.reply for w in ready if w.reply is not None),
        tuple(w.call for w in ready if w.call is not None),
    )


def respond_when_replicated(
    log: PartitionLog, reply: Reply
) -> tuple[tuple[WaitingForReplicas, ...], tuple[Reply, ...]]:
    """Send the response to a coordinator's read once everything that it has read is replicated, maybe now.

    Source: CoordinatorRuntime, a write operation without records.
    """
    if log.high_watermark >= log.end_offset:
        return (), (reply,)
    return (WaitingForReplicas(log.end_offset - 1, reply),), ()


def reject_write(role: S, reply: Reply | None) -> Effects[S]:
    """Reject a coordinator's write for lack of replicas: nothing is written, nothing changes.

    Source: CoordinatorRuntime, whose write fails with NOT_ENOUGH_REPLICAS; a client gets COORDINATOR_NOT_AVAILABLE
    (CoordinatorOperationExceptionHelper).
    """
    if reply is None:
        return Effects(role)
    error = Errors.COORDINATOR_NOT_AVAILABLE
    told = with_error(reply.message, error)
    check = compare("enough replicas", None, False, False, error)
    return Effects(role, replies=(reply.but(message=told),), checks=(check,))


def marker_checks(
    shard: str, log: PartitionLog, marker: WriteMarker, on: Context, *, loading: bool
) -> Checks:
    """Check that a log accepts a marker now; the marker is sent again unless the error is final."""
    if loading:
        return (compare("loading", None, True, False, Errors.NOT_LEADER_OR_FOLLOWER),)
    enough = replicas_check(shard, on, Errors.NOT_ENOUGH_REPLICAS)
    if enough.error is not Errors.NONE:
        return (enough,)
    return of_marker(log, marker, on.rules)


def of_marker(log: PartitionLog, marker: WriteMarker, rules: BrokerRules) -> Checks:
    """Compare a marker with the state of its log; every leader of a log does so before it appends one."""
    return check_marker(
        log,
        marker.producer_id,
        marker.producer_epoch,
        marker.coordinator_epoch,
        marker.transaction_version,
        rules,
    )


def marker_batch(base_offset: int, marker: WriteMarker) -> Batch:
    """Return the control batch of a marker."""
    return Batch(
        base_offset,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        transactional=True,
        control=COMMIT if marker.committed else ABORT,
        coordinator_epoch=marker.coordinator_epoch,
    )


def batch_appended(partition: str, batch: Batch) -> Event:
    """Return the event that a batch was appended."""
    return BatchAppended(
        partition,
        batch.base_offset,
        batch.records,
        batch.producer_id,
        batch.producer_epoch,
        batch.control,
        plain=batch.producer_id >= 0 and not batch.transactional,
    )


def fail_waiting(waiting: tuple[WaitingForReplicas, ...], error: Errors) -> Due:
    """Return the errors to send because the leadership is lost before replication is complete."""
    calls = tuple(w.call for w in waiting if w.call is not None)
    return Due(
        (),
        tuple(r.but(message=with_error(r.message, error)) for w in waiting if (r := w.reply)),
        tuple(c.but(message=c.message.but(error=Errors.NOT_LEADER_OR_FOLLOWER)) for c in calls),
    )
