"""The records of a share consumer's last poll(), and their acknowledgements so far.

WHERE IN KAFKA: ShareConsumerImpl.currentFetch (ShareFetch, with a ShareInFlightBatch for each partition). KIPS:
KIP-932.
DURABILITY: none.
"""

from __future__ import annotations

from kipviz.clients.shares.share_holding import Held
from kipviz.core.values import Value
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    batches_of,
    batches_of_each,
)


class CurrentFetch(Value, frozen=True):
    """The current records: the offsets of one partition, or of several if the consumer gathers.

    `batch` are the offsets, `staged` those that are acknowledged through a producer or a session, `verdicts` the
    acknowledge() calls for the others, `gaps` acquired offsets without a record, `delivered_by` the broker that
    delivered them. Renewed records are returned by the poll() after the broker has confirmed the renewal (`renewing`,
    `renewed`). The records of a consumer that gathers are in `beside`, and `batch` stays empty then.
    """

    batch: tuple[int, ...] = ()
    staged: tuple[int, ...] = ()
    verdicts: tuple[tuple[int, AcknowledgeType], ...] = ()
    gaps: tuple[int, ...] = ()
    renewing: tuple[FetchedRecord, ...] = ()
    renewed: tuple[FetchedRecord, ...] = ()
    delivered_by: int = -1
    beside: tuple[Held, ...] = ()

    @property
    def said(self) -> tuple[int, ...]:
        """The offsets that are acknowledged or staged."""
        return (*self.staged, *(offset for offset, _ in self.verdicts))

    @property
    def gap_batches(self) -> tuple[AcknowledgementBatch, ...]:
        """The acknowledgements of the gaps."""
        return batches_of(self.gaps, AcknowledgeType.GAP)

    @property
    def acknowledgements(self) -> tuple[AcknowledgementBatch, ...]:
        """The acknowledgements of acknowledge() so far, and those of the gaps."""
        return in_order((*batches_of_each(self.verdicts), *self.gap_batches))

    @property
    def done_with(self) -> CurrentFetch:
        """The same without its records, as at the start of the next poll()."""
        return self.but(batch=(), staged=(), verdicts=(), gaps=())

    @property
    def with_renewed(self) -> CurrentFetch:
        """The same with the renewed records as its batch."""
        return self.but(batch=tuple(r.offset for r in self.renewed), renewed=())

    def asked_to_renew(self, records: tuple[FetchedRecord, ...]) -> tuple[FetchedRecord, ...]:
        """Return the records for which acknowledge() asked for more time."""
        asked = {offset for offset, kind in self.verdicts if kind is AcknowledgeType.RENEW}
        return tuple(r for r in records if r.offset in asked) if asked else ()

    def staging(self, offsets: tuple[int, ...]) -> CurrentFetch:
        """Note that a producer or a session acknowledges records of the batch."""
        return self.but(staged=tuple(sorted({*self.staged, *offsets})))


def in_order(batches: tuple[AcknowledgementBatch, ...]) -> tuple[AcknowledgementBatch, ...]:
    """Return acknowledgements in the order of their offsets."""
    return tuple(sorted(batches, key=lambda batch: batch.first))
