"""ShareFetch, ShareAcknowledge (KIP-932) and TxnShareAcknowledge (KIP-1289)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import ClassVar

from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.message import Message
from kipviz.messages.transactions.transactions import PartitionResult
from kipviz.settings.consumer_configs import FETCH_MAX_WAIT_MS


class AcknowledgeType(IntEnum):
    """An acknowledgement type for a delivered record, with the protocol's ids.

    UNKNOWN stands for every byte that is not a type: a request may have one, and is rejected.
    """

    UNKNOWN = -1
    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


# share.acquire.mode (KIP-1206) with the protocol's ids.
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1


def next_session_epoch(epoch: int) -> int:
    """Return the epoch of a share session's next request: 1 follows 2147483647 (ShareRequestMetadata.nextEpoch)."""
    return 1 if epoch == 2**31 - 1 else epoch + 1


class AcknowledgementBatch(Value, frozen=True):
    """One acknowledgement type for a run of offsets, both ends inclusive."""

    first: int
    last: int
    type: AcknowledgeType


class PartitionAcknowledgements(Value, frozen=True):
    """A partition that a request names, and the acknowledgements of its records."""

    partition: str
    acknowledgements: tuple[AcknowledgementBatch, ...] = ()


class ShareFetch(Message, frozen=True):
    """A share consumer fetches records and may acknowledge earlier ones in the same request.

    Epoch 0 opens a share session, n > 0 continues, -1 closes. With `max_records` 0 it fetches none: the request closes
    the session or renews locks. It fetches from all partitions of the session. `partitions` are those that it adds to
    the session, and those with acknowledgements; `forgotten` are removed from the session, also with acknowledgements.
    Without records the leader waits for them, unless `max_wait_ms` is 0. A request for no records is sent with 0.
    A consumer that is not `by_session` in its cluster's spec names all partitions each time. Its request fetches from
    the first one, and if that has no records, from the next; the response has records of one.
    NOT MODELLED: min and max bytes, and so how those are divided among partitions (PartitionMaxBytesStrategy).
    """

    API_KEY: ClassVar[int] = 78
    VERSION: ClassVar[int] = 2
    IF_USED: ClassVar[tuple[str, ...]] = ("forgotten",)
    group_id: str
    member_id: str
    session_epoch: int
    partitions: tuple[PartitionAcknowledgements, ...]
    max_records: int
    acquire_mode: int = BATCH_OPTIMIZED
    max_wait_ms: int = FETCH_MAX_WAIT_MS.default
    forgotten: tuple[str, ...] = ()

    @property
    def first(self) -> PartitionAcknowledgements:
        """The partition that a request about one partition after the other fetches from first."""
        return self.partitions[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its partitions."""
        return tuple(part.partition for part in self.partitions)


class AcquiredRecords(Value, frozen=True):
    """A run of offsets that a member has acquired, all with the same delivery count.

    A run may hold offsets without a record (markers): the client acknowledges them as GAP.
    """

    first: int
    last: int
    delivery_count: int


class FetchedPartition(Value, frozen=True):
    """The result for one partition: an error of the fetch, one of the acknowledgements, records."""

    partition: str
    error: Errors = Errors.NONE
    acknowledge_error: Errors = Errors.NONE
    records: tuple[FetchedRecord, ...] = ()
    acquired: tuple[AcquiredRecords, ...] = ()


class ShareFetchResponse(Message, frozen=True):
    """The result for each partition, with the records that the member has acquired, or the `error` of the whole request.

    For a consumer that is not `by_session` the first result is that of the partition with records; the others are
    partitions of a topic that the member may not read.
    """

    API_KEY: ClassVar[int] = 78
    VERSION: ClassVar[int] = 2
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    responses: tuple[FetchedPartition, ...] = ()


class ShareAcknowledge(Message, frozen=True):
    """A share consumer acknowledges records that it holds, without fetching more.

    Epoch -1 closes the share session, with or without acknowledgements. It is sent to the broker that delivered the
    records, whichever broker leads the partitions now.
    """

    API_KEY: ClassVar[int] = 79
    VERSION: ClassVar[int] = 2
    group_id: str
    member_id: str
    session_epoch: int
    partitions: tuple[PartitionAcknowledgements, ...]


class ShareAcknowledgeResponse(Message, frozen=True):
    """The result for each partition, or the `error` of the whole request."""

    API_KEY: ClassVar[int] = 79
    VERSION: ClassVar[int] = 2
    IS_RESPONSE: ClassVar[bool] = True
    error: Errors
    responses: tuple[PartitionResult, ...] = ()


class TxnPartitionAcknowledgements(Value, frozen=True):
    """A partition whose acknowledgements are staged.

    `deliveries` are (offset, delivery count) of its records, in designs whose request names them: our inference, the
    draft's does not.
    """

    partition: str
    acknowledgements: tuple[AcknowledgementBatch, ...]
    deliveries: tuple[tuple[int, int], ...] = ()


class TxnShareAcknowledge(Message, frozen=True):
    """A producer stages acknowledgements of a share group in its transaction (KIP-1289).

    The draft gives it key 93, which Kafka has since given to another request; the number here is the draft's. The
    request has the member epoch, but only some designs compare it, because the share-partition leader never learns it
    (finding X8). Its partitions have the same leader.
    """

    API_KEY: ClassVar[int] = 93
    STATUS: ClassVar[str] = "draft"
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    member_id: str
    member_epoch: int
    partitions: tuple[TxnPartitionAcknowledgements, ...]

    @property
    def only(self) -> TxnPartitionAcknowledgements:
        """The partition of a request about one, as each share-partition handles it."""
        (only,) = self.partitions
        return only


class TxnShareAcknowledgeResponse(Message, frozen=True):
    """The acknowledgements of each partition are staged, TX_PENDING, or an error says why not; rejected ones come first.

    The draft lists some errors only for the whole response; its bytes have them there.
    """

    API_KEY: ClassVar[int] = 93
    STATUS: ClassVar[str] = "draft"
    IS_RESPONSE: ClassVar[bool] = True
    responses: tuple[PartitionResult, ...]


def staging_result(partition: str, error: Errors) -> TxnShareAcknowledgeResponse:
    """Return the response to a staging of one partition."""
    return TxnShareAcknowledgeResponse((PartitionResult(partition, error),))


def offsets_of(batches: tuple[AcknowledgementBatch, ...]) -> tuple[int, ...]:
    """Return every offset that acknowledgement batches name."""
    return tuple(o for b in batches for o in range(b.first, b.last + 1))


def batches_of(offsets: Iterable[int], kind: AcknowledgeType) -> tuple[AcknowledgementBatch, ...]:
    """Return runs of offsets as acknowledgement batches of one type."""
    return batches_of_each((offset, kind) for offset in offsets)


def batches_of_each(
    verdicts: Iterable[tuple[int, AcknowledgeType]],
) -> tuple[AcknowledgementBatch, ...]:
    """Return (offset, type) pairs as acknowledgement batches: neighbours of one type are one run."""
    out: list[AcknowledgementBatch] = []
    for offset, kind in sorted(verdicts):
        if out and (out[-1].last, out[-1].type) == (offset - 1, kind):
            out[-1] = out[-1].but(last=offset)
        else:
            out.append(AcknowledgementBatch(offset, offset, kind))
    return tuple(out)
