"""The form of acknowledgements, checked before any share-partition is looked up.

WHERE IN KAFKA: KafkaApis.validateAcknowledgementBatches, for ShareFetch and ShareAcknowledge alike. If one batch of a
partition is wrong, none of its batches is applied; other partitions of the request are not affected. The check for an
unknown topic id comes before this one, rights and the share-partition come after it. STATUS of TxnShareAcknowledge
(KIP-1289, draft): the same checks, which is our inference.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers.checks import Check, compare, in_order
from kipviz.messages.errors import Errors
from kipviz.messages.shares.share_groups import AcknowledgementBatch, AcknowledgeType

LOWEST, HIGHEST = AcknowledgeType.GAP, AcknowledgeType.RENEW
NAMES = tuple(kind.name for kind in AcknowledgeType if kind >= LOWEST)


@in_order
def form_checks(batches: tuple[AcknowledgementBatch, ...]) -> Iterator[Check]:
    """Check the form of acknowledgement batches: a malformed one is an INVALID_REQUEST.

    A batch may not end before it begins, nor begin before the previous one ends, and its type has to exist.
    """
    error, end = Errors.INVALID_REQUEST, -1
    for batch in batches:
        if batch.last < batch.first:
            yield compare("end of a batch", batch.last, batch.first, False, error)
        if batch.first < end:
            yield compare("begin of a batch", batch.first, end, False, error)
        if not LOWEST <= batch.type <= HIGHEST:
            yield compare("acknowledge type", batch.type, NAMES, False, error)
        end = batch.last
    if batches:
        yield compare("acknowledgements well-formed", None, True, True, error)
