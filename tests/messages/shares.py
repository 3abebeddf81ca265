"""Messages of share consumers about one partition, as most tests need them."""

from __future__ import annotations

from kipviz.messages.apis.shares.acknowledgements import OF_A_SESSION
from kipviz.messages.errors import Errors
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    PartitionAcknowledgements,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
)
from kipviz.messages.transactions import PartitionResult


def acknowledges(
    group_id: str,
    member_id: str,
    epoch: int,
    partition: str,
    said: tuple[AcknowledgementBatch, ...],
    *others: PartitionAcknowledgements,
) -> ShareAcknowledge:
    """A ShareAcknowledge about a partition, and about others if some are named."""
    parts = (PartitionAcknowledgements(partition, said), *others)
    return ShareAcknowledge(group_id, member_id, epoch, parts)


def acknowledged(
    error: Errors, partition: str, *others: tuple[str, Errors]
) -> ShareAcknowledgeResponse:
    """A response with an error of the whole request, or with the result for each partition."""
    if error in OF_A_SESSION:
        return ShareAcknowledgeResponse(error)
    results = (PartitionResult(*each) for each in ((partition, error), *others))
    return ShareAcknowledgeResponse(Errors.NONE, tuple(results))
