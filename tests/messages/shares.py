"""Messages of share consumers about one partition, as most tests need them."""

from __future__ import annotations

from kipviz.messages.apis.shares.acknowledgements import OF_A_SESSION
from kipviz.messages.apis.shares.share_fetch import OF_THE_FETCH
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import (
    BATCH_OPTIMIZED,
    AcknowledgementBatch,
    AcquiredRecords,
    FetchedPartition,
    PartitionAcknowledgements,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
    TxnPartitionAcknowledgements,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.transactions.transactions import PartitionResult


def fetches(
    member_id: str,
    epoch: int,
    partition: str,
    most: int,
    *said: AcknowledgementBatch,
    group_id: str = "g1",
    further: tuple[str, ...] = (),
    max_wait_ms: int = 500,
    mode: int = BATCH_OPTIMIZED,
) -> ShareFetch:
    """A ShareFetch of a partition with its acknowledgements, and of further ones without."""
    parts = (PartitionAcknowledgements(partition, said), *map(PartitionAcknowledgements, further))
    return ShareFetch(group_id, member_id, epoch, parts, most, mode, max_wait_ms)


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


def acknowledge_response(
    error: Errors, partition: str, *others: tuple[str, Errors]
) -> ShareAcknowledgeResponse:
    """A response with an error of the whole request, or with the result for each partition."""
    if error in OF_A_SESSION:
        return ShareAcknowledgeResponse(error)
    results = (PartitionResult(*each) for each in ((partition, error), *others))
    return ShareAcknowledgeResponse(Errors.NONE, tuple(results))


def stages(
    transactional_id: str,
    group_id: str,
    producer_id: int,
    producer_epoch: int,
    member_id: str,
    member_epoch: int,
    partition: str,
    said: tuple[AcknowledgementBatch, ...],
    *others: tuple[str, tuple[AcknowledgementBatch, ...]],
    deliveries: tuple[tuple[int, int], ...] = (),
) -> TxnShareAcknowledge:
    """A staging about a partition, and about others if some are named."""
    parts = (
        TxnPartitionAcknowledgements(partition, said, deliveries),
        *(TxnPartitionAcknowledgements(*each) for each in others),
    )
    producer, member = (producer_id, producer_epoch), (member_id, member_epoch)
    return TxnShareAcknowledge(transactional_id, group_id, *producer, *member, parts)


def staging_response(
    error: Errors, partition: str, *others: tuple[str, Errors]
) -> TxnShareAcknowledgeResponse:
    """The response to a staging of a partition, and of others if some are named."""
    results = (PartitionResult(*each) for each in ((partition, error), *others))
    return TxnShareAcknowledgeResponse(tuple(results))


def fetch_response(
    error: Errors,
    partition: str,
    acknowledge_error: Errors = Errors.NONE,
    records: tuple[FetchedRecord, ...] = (),
    acquired: tuple[AcquiredRecords, ...] = (),
    refused: tuple[str, ...] = (),
) -> ShareFetchResponse:
    """The response to a fetch of one partition; `refused` are others of a topic that the member may not read."""
    if error in OF_THE_FETCH:
        return ShareFetchResponse(error)
    own = FetchedPartition(partition, error, acknowledge_error, records, acquired)
    others = (FetchedPartition(p, Errors.TOPIC_AUTHORIZATION_FAILED) for p in refused)
    return ShareFetchResponse(Errors.NONE, (own, *others))
