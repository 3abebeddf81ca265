"""What a broker refuses of acknowledgements before it looks at any share-partition.

WHERE IN KAFKA: KafkaApis.validateAcknowledgementBatches, for ShareFetch and ShareAcknowledge alike.
Of a partition with one wrong batch nothing is taken; other partitions of the request are not touched. A
topic id that nobody knows comes before it, rights and the share-partition come after it.
STATUS of TxnShareAcknowledge (KIP-1289, draft): the same checks, which is our inference.
"""

from __future__ import annotations

from kipviz.messages.errors import Errors
from kipviz.messages.share_groups import AcknowledgementBatch, AcknowledgeType

LOWEST, HIGHEST = AcknowledgeType.GAP, AcknowledgeType.RENEW


def validated(batches: tuple[AcknowledgementBatch, ...]) -> Errors:
    """Return INVALID_REQUEST for the first batch that is malformed, or NONE.

    A batch may not end before it begins, nor begin before the one in front of it ends, and its type has to
    exist.
    """
    end = -1
    for batch in batches:
        exists = LOWEST <= batch.type <= HIGHEST
        if batch.first > batch.last or batch.first < end or not exists:
            return Errors.INVALID_REQUEST
        end = batch.last
    return Errors.NONE
