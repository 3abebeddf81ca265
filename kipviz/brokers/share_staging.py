"""What a staging is refused for before any record is looked at, and how it is answered (KIP-1289, draft)."""

from __future__ import annotations

from kipviz.brokers import share_validation
from kipviz.brokers.context import Context, Effects, Reply, ReplyTo
from kipviz.brokers.partition_log import PartitionLog
from kipviz.brokers.share_partition import ShareLeader
from kipviz.messages.errors import Errors
from kipviz.messages.share_groups import (
    AcknowledgeType,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.records.placement import CONSUMER_OFFSETS
from kipviz.records.share_group_members import (
    ShareGroupAssignmentRecord,
    ShareGroupEpochRecord,
    ShareGroupTombstone,
)

STAGEABLE = (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT)


def refused_at_once(request: TxnShareAcknowledge, on: Context) -> Errors:
    """Check the form of the acknowledgements, leadership, the types, the feature's level and the member.

    OPEN: member_check, member_epoch. Clause: KIP-1289 "TxnShareAcknowledgeRequest", corner cases 8, 9 and 10.
    """
    wrong = share_validation.validated(request.acknowledgements)
    if wrong is not Errors.NONE:
        return wrong
    if on.image.leader_of(request.partition) != on.broker:
        return Errors.NOT_LEADER_OR_FOLLOWER
    if any(b.type not in STAGEABLE for b in request.acknowledgements):
        return Errors.INVALID_RECORD_STATE
    if not on.image.features.staging:
        return Errors.UNSUPPORTED_VERSION
    home = on.image.home_of(CONSUMER_OFFSETS, request.group_id)
    error = on.rules.member_check(on.broker, on.image.leader_of(home))
    log = on.logs.get(home)
    if error is not Errors.NONE or log is None:
        return error
    known, grouped = _epochs(log, request)
    return on.rules.member_epoch(request.member_epoch, known) if grouped else Errors.NONE


def _epochs(log: PartitionLog, request: TxnShareAcknowledge) -> tuple[tuple[int, int] | None, bool]:
    """Give the epochs at which a group has a member, and whether the group has members at all.

    No leader can look into that log, and no request asks its coordinator: this is what it would
    have to know if the member's epoch counted (finding X8).
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


def answered(
    me: ShareLeader, request: TxnShareAcknowledge, reply_to: ReplyTo, error: Errors
) -> Effects:
    """Answer a staging at once: it changes nothing, or nothing more."""
    answer = TxnShareAcknowledgeResponse(error, request.partition)
    return Effects(me, replies=(Reply(reply_to, answer),))
