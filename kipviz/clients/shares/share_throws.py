"""The exceptions that the calls of a share consumer throw at once, before anything is sent.

WHO: a client process, in its application's thread. WHERE IN KAFKA: ShareConsumerImpl.
KIPS: KIP-932; KIP-1289 (draft) for shareGroupMetadata().
"""

from __future__ import annotations

from kipviz.clients.rules import ClientRules
from kipviz.clients.shares.handover import NOT_TOLD
from kipviz.clients.shares.share_memory import ShareConsumer

NOT_ALL_ACKNOWLEDGED = "IllegalStateException: all records must be acknowledged in explicit mode"


def why_closed(me: ShareConsumer) -> str | None:
    """Return why any call throws: the consumer is closed."""
    return "IllegalStateException: this consumer has already been closed" if me.closed else None


def why_no_metadata(me: ShareConsumer) -> str | None:
    """Return why shareGroupMetadata() throws: as far as the consumer knows, the cluster does not have KIP-1289.

    Which connection reports the level is our inference. Clause: KIP-1289 ShareConsumer javadoc (draft).
    """
    if me.handover.staging_told == NOT_TOLD:
        return "UnsupportedVersionException: no connection has reported a level with KIP-1289"
    return None


def why_no_acknowledge(me: ShareConsumer, offset: int | None) -> str | None:
    """Return why acknowledge() throws: in implicit mode, or for a record that is not in this batch."""
    if not me.explicit:
        return "IllegalStateException: implicit acknowledgement of delivery is being used"
    if offset is not None and offset not in me.current_fetch.batch:
        return "IllegalStateException: the record cannot be acknowledged"
    return None


def why_no_poll(me: ShareConsumer, rules: ClientRules) -> str | None:
    """Return why poll() throws: in explicit mode every record must be acknowledged before it.

    The design decides whether a record that a producer stages counts as acknowledged.
    Source: ShareConsumerImpl.collect, ShareInFlightBatch.takeAcknowledgedRecords.
    """
    fetch = me.current_fetch
    said = {*rules.explicit_mode(fetch.staged), *(offset for offset, _ in fetch.verdicts)}
    if me.explicit and any(offset not in said for offset in fetch.batch):
        return NOT_ALL_ACKNOWLEDGED
    return None
