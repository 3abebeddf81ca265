"""The exceptions that the calls of a share consumer throw at once, before anything is sent.

WHO: a client process, in its application's thread. WHERE IN KAFKA: ShareConsumerImpl.
KIPS: KIP-932; KIP-1289 (draft) for shareGroupMetadata().
"""

from __future__ import annotations

from kipviz.clients.rules import ClientRules
from kipviz.clients.shares.handover import NOT_TOLD
from kipviz.clients.shares.share_memory import ShareConsumer
from kipviz.clients.throwing.client_errors import (
    ClientError,
    ConsumerClosed,
    ImplicitMode,
    NoStagingLevel,
    NotAllAcknowledged,
    NotDelivered,
)


def why_closed(me: ShareConsumer) -> ConsumerClosed | None:
    """Return why any call throws: the consumer is closed."""
    return ConsumerClosed() if me.closed else None


def why_no_metadata(me: ShareConsumer) -> NoStagingLevel | None:
    """Return why shareGroupMetadata() throws: as far as the consumer knows, the cluster does not have KIP-1289.

    Which connection reports the level is our inference. Clause: KIP-1289 ShareConsumer javadoc (draft).
    """
    if me.handover.staging_told == NOT_TOLD:
        return NoStagingLevel()
    return None


def why_no_acknowledge(me: ShareConsumer, offset: int | None) -> ClientError | None:
    """Return why acknowledge() throws: in implicit mode, or for a record that is not in this batch."""
    if not me.explicit:
        return ImplicitMode()
    if offset is not None and offset not in me.current_fetch.batch:
        return NotDelivered()
    return None


def why_no_poll(me: ShareConsumer, rules: ClientRules) -> NotAllAcknowledged | None:
    """Return why poll() throws: in explicit mode every record must be acknowledged before it.

    The design decides whether a record that a producer stages counts as acknowledged.
    Source: ShareConsumerImpl.collect, ShareInFlightBatch.takeAcknowledgedRecords.
    """
    fetch = me.current_fetch
    said = {*rules.explicit_mode(fetch.staged), *(offset for offset, _ in fetch.verdicts)}
    if me.explicit and any(offset not in said for offset in fetch.batch):
        return NotAllAcknowledged()
    return None
