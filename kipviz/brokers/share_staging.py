"""What a staging is refused for before any record is looked at (KIP-1289, draft)."""

from __future__ import annotations

from kipviz.brokers.context import Context
from kipviz.messages.errors import Errors
from kipviz.messages.features import STAGING_LEVEL
from kipviz.messages.share_groups import AcknowledgeType, TxnShareAcknowledge
from kipviz.records.placement import CONSUMER_OFFSETS

STAGEABLE = (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT)


def refused_at_once(request: TxnShareAcknowledge, on: Context) -> Errors:
    """Check leadership, the acknowledge types, the feature's level and the member.

    OPEN: member_check. Clause: KIP-1289 "TxnShareAcknowledgeRequest", corner cases 8, 9 and 10.
    """
    if on.image.leader_of(request.partition) != on.broker:
        return Errors.NOT_LEADER_OR_FOLLOWER
    if any(b.type not in STAGEABLE for b in request.acknowledgements):
        return Errors.INVALID_RECORD_STATE
    if on.image.features.share_version < STAGING_LEVEL:
        return Errors.UNSUPPORTED_VERSION
    home = on.image.leader_of(on.image.home_of(CONSUMER_OFFSETS, request.group_id))
    return on.rules.member_check(on.broker, home)
