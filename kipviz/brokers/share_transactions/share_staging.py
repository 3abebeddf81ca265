"""The checks of a staging before any record is looked at, and its response (KIP-1289, draft)."""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import Check, Checks, compare, error_of, in_order
from kipviz.brokers.context import NOBODY, Context, Effects, Reply, ReplyTo
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.share_leaders import share_validation
from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import (
    AcknowledgeType,
    TxnShareAcknowledge,
    staging_result,
)
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.records.share_group_members import (
    ShareGroupAssignmentRecord,
    ShareGroupEpochRecord,
    ShareGroupTombstone,
)

STAGEABLE = (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT)
NAMES = tuple(kind.name for kind in STAGEABLE)


@in_order
def checks_at_once(request: TxnShareAcknowledge, on: Context) -> Iterator[Check]:
    """Check the form of the acknowledgements, leadership, the types, the feature's level and the member.

    OPEN: member_check, member_epoch. Clause: KIP-1289 "TxnShareAcknowledgeRequest", corner cases 8, 9 and 10.
    """
    yield from share_validation.form_checks(request.only.acknowledgements)
    leader = on.image.leader_of(request.only.partition)
    here = leader == on.broker
    yield compare("leader", on.broker, leader, here, Errors.NOT_LEADER_OR_FOLLOWER)
    for batch in request.only.acknowledgements:
        stageable, error = batch.type in STAGEABLE, Errors.INVALID_RECORD_STATE
        yield compare("acknowledge type", batch.type, NAMES, stageable, error)
    level = on.image.features.staging
    yield compare("transactional acknowledgements", None, level, level, Errors.UNSUPPORTED_VERSION)
    home = on.image.home_of(CONSUMER_OFFSETS, request.group_id)
    coordinator = on.image.leader_of(home)
    error = on.rules.member_check(on.broker, coordinator)
    if coordinator != NOBODY or error is not Errors.NONE:
        yield Check("group coordinator", on.broker, coordinator, error)
    log = on.logs.get(home)
    known, grouped = _epochs(log, request) if log is not None else (None, False)
    if grouped:
        found = known[0] if known is not None else None
        error = on.rules.member_epoch(request.member_epoch, known)
        yield Check("member epoch", request.member_epoch, found, error)


def _epochs(log: PartitionLog, request: TxnShareAcknowledge) -> tuple[tuple[int, int] | None, bool]:
    """Return the epochs at which a group has a member, and whether the group has members at all.

    No leader can read that log, and no request asks its coordinator: this is what a leader would need to know if the
    member's epoch mattered (finding X8).
    """
    known: tuple[int, int] | None = None
    grouped = False
    for batch in log.batches:
        for record in batch.records:
            if getattr(record, "group_id", "") != request.group_id:
                continue
            grouped = grouped or isinstance(record, ShareGroupEpochRecord)
            if getattr(record, "member_id", "") != request.member_id:
                continue
            if isinstance(record, ShareGroupAssignmentRecord):
                known = (record.member_epoch, record.previous_epoch)
            elif isinstance(record, ShareGroupTombstone):
                known = None
    return known, grouped


def respond_at_once(
    me: ShareLeader, request: TxnShareAcknowledge, reply_to: ReplyTo, checks: Checks
) -> Effects[ShareLeader]:
    """Respond to a staging at once: it changes nothing, or nothing more."""
    answer = staging_result(request.only.partition, error_of(checks))
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
