"""The records that a share consumer holds of several partitions, if its poll() gathers from all of them.

WHO: a client process. WHERE IN KAFKA: ShareFetchBuffer, ShareCompletedFetch, ShareInFlightBatch (one for each
  partition, collected by ShareConsumerImpl.collect).
KIPS: KIP-932. A consumer that gathers returns the records of all partitions that have some. It sends one ShareFetch
  for each partition, or one to each broker for all partitions of its share session (`by_session`, as Kafka does).
DURABILITY: none.
NOT MODELLED: explicit mode.
"""

from __future__ import annotations

from collections.abc import Callable

from kipviz.core.values import Value
from kipviz.messages.shares.share_groups import (
    AcknowledgementBatch,
    AcknowledgeType,
    FetchedPartition,
    PartitionAcknowledgements,
    batches_of,
)


class Held(Value, frozen=True):
    """The records of one partition from the last poll(), and the broker that delivered them."""

    partition: str
    broker: int
    batch: tuple[int, ...] = ()
    staged: tuple[int, ...] = ()
    gaps: tuple[int, ...] = ()


class Owed(Value, frozen=True):
    """Acknowledgements to send with the next fetch of their partition, to the broker that delivered the records."""

    partition: str
    broker: int
    acknowledgements: tuple[AcknowledgementBatch, ...]


def fresh(part: FetchedPartition, broker: int) -> Held:
    """Return the records that a broker delivered for a partition; acquired offsets without a record are gaps."""
    delivered = tuple(record.offset for record in part.records)
    acquired = (o for run in part.acquired for o in range(run.first, run.last + 1))
    gaps = tuple(o for o in acquired if o not in delivered)
    return Held(part.partition, broker, delivered, gaps=gaps)


def owed_acknowledgements(
    held: tuple[Held, ...], said: tuple[tuple[AcknowledgementBatch, ...], ...]
) -> tuple[Owed, ...]:
    """Return the acknowledgements of each partition that has some, including its gaps."""
    found = []
    for one, batches in zip(held, said, strict=True):
        gaps = batches_of(one.gaps, AcknowledgeType.GAP)
        every = tuple(sorted((*batches, *gaps), key=lambda batch: batch.first))
        if every:
            found.append(Owed(one.partition, one.broker, every))
    return tuple(found)


def for_fetch(
    owing: tuple[Owed, ...], partition: str, broker: int
) -> tuple[AcknowledgementBatch, ...]:
    """Return the acknowledgements to send with a fetch: they belong to the broker that delivered the records."""
    return next(
        (o.acknowledgements for o in owing if (o.partition, o.broker) == (partition, broker)), ()
    )


class SessionFetch(Value, frozen=True):
    """What a fetch of a session names: partitions to add or with acknowledgements, and those to remove.

    `lost` are acknowledgements that cannot be sent, `others` those owed to other brokers.
    """

    partitions: tuple[PartitionAcknowledgements, ...]
    forgotten: tuple[str, ...]
    lost: tuple[Owed, ...]
    others: tuple[Owed, ...]


def of_session(
    mine: tuple[str, ...], known: tuple[str, ...] | None, owing: tuple[Owed, ...], broker: int
) -> SessionFetch:
    """Return what a fetch of a session names.

    `known` are the session's partitions, None if it begins: then every partition is added and nothing can be
    acknowledged. Acknowledgements for a broker that no longer leads the partition are lost.
    Source: ShareSessionHandler.newShareFetchBuilder, ShareConsumeRequestManager.maybeAddAcknowledgements.
    """
    told: dict[str, tuple[AcknowledgementBatch, ...]] = {}
    lost, others = [], []
    for each in owing:
        if each.broker != broker and each.partition not in mine:
            others.append(each)
        elif known is None or each.broker != broker or each.partition not in mine:
            lost.append(each)
        else:
            told[each.partition] = each.acknowledgements
    before = known or ()
    named = dict.fromkeys((*(p for p in mine if p not in before), *told))
    return SessionFetch(
        tuple(PartitionAcknowledgements(p, told.get(p, ())) for p in named),
        tuple(p for p in before if p not in mine),
        tuple(lost),
        tuple(others),
    )


def staging(held: tuple[Held, ...], partition: str, offsets: tuple[int, ...]) -> tuple[Held, ...]:
    """Note that a producer stages some records of a partition."""
    return _change_staged(held, partition, lambda staged: tuple(sorted({*staged, *offsets})))


def unstage_records(
    held: tuple[Held, ...], partition: str, offsets: tuple[int, ...]
) -> tuple[Held, ...]:
    """Count records as not staged, because their staging failed."""
    return _change_staged(
        held, partition, lambda staged: tuple(o for o in staged if o not in offsets)
    )


def _change_staged(
    held: tuple[Held, ...],
    partition: str,
    after: Callable[[tuple[int, ...]], tuple[int, ...]],
) -> tuple[Held, ...]:
    return tuple(
        one.but(staged=after(one.staged)) if one.partition == partition else one for one in held
    )
