"""The coordinator's state of one transactional id, and the decision tables for it.

WHERE IN KAFKA: TransactionMetadata.java, and the decision tables inside TransactionCoordinator's endTransaction and
prepareInitProducerIdTransit. Nothing here appends, sends or responds.
"""

from __future__ import annotations

from kipviz.brokers.context import ReplyTo
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.transactions import (
    NO_TIME_LIMIT,
    EndTxn,
    InitProducerId,
)
from kipviz.records.batches import NO_TIMESTAMP
from kipviz.records.transaction_state import (
    EPOCH_MAX,
    LAST_CLIENT_EPOCH,
    TransactionRecord,
    TransactionState,
)
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS

S = TransactionState

PREPARED = (S.PREPARE_COMMIT, S.PREPARE_ABORT)
COMPLETED = (S.COMPLETE_COMMIT, S.COMPLETE_ABORT)
# No transaction is open: the next partition starts one.
BETWEEN = (S.EMPTY, *COMPLETED)
COMPLETE_OF = {S.PREPARE_COMMIT: S.COMPLETE_COMMIT, S.PREPARE_ABORT: S.COMPLETE_ABORT}


class TransactionMetadata(Part, frozen=True):
    """One transactional id (TransactionMetadata.java).

    `partitions` shrinks while markers are answered. `to_send` are partitions whose marker is not in flight, because
    they have no leader; `sent` are (partition, broker) in flight. `cancelled` means that a marker failed for good: the
    transaction is not completed until its partition is loaded again, though markers to other brokers continue.
    `last_producer_epoch` is not persisted, as in Kafka (KAFKA-20357). `next_producer_epoch` is set only while KIP-939
    keeps the transaction: then the next identity is the one that may end it. `heartbeat_interval_ms` is KIP-1309's
    (draft). `has_failed_epoch_fence` means that the record with this epoch could not be written.
    `complete_timestamp_ms` is when the completion of a decided transaction was prepared: Kafka prepares that record
    before it sends the markers, so it has that earlier time. `owed` is the EndTxn that is answered at completion, if
    the coordinator waits for that (slot end_txn_response).
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: TransactionState
    pending_state: TransactionState | None = None
    last_producer_epoch: int = -1
    partitions: tuple[str, ...] = ()
    previous_producer_id: int = -1
    next_producer_id: int = -1
    timeout_ms: int = TRANSACTION_TIMEOUT_MS.default
    client_transaction_version: int = 0
    to_send: tuple[str, ...] = ()
    sent: tuple[tuple[str, int], ...] = ()
    cancelled: bool = False
    next_producer_epoch: int = -1
    heartbeat_interval_ms: int = 0
    has_failed_epoch_fence: bool = False
    start_timestamp_ms: int = NO_TIMESTAMP
    last_update_timestamp_ms: int = NO_TIMESTAMP
    complete_timestamp_ms: int = NO_TIMESTAMP
    owed: ReplyTo | None = None

    @property
    def is_kept(self) -> bool:
        """Whether a later producer has kept this open transaction, to end it (KIP-939)."""
        return self.state is S.ONGOING and self.next_producer_epoch >= 0

    @property
    def kept_for(self) -> str:
        """The identity for which an open transaction is kept, such as "9:1", or ""."""
        return f"{self.next_producer_id}:{self.next_producer_epoch}" if self.is_kept else ""

    @property
    def as_its_client_knows_it(self) -> TransactionMetadata:
        """The same metadata with the identity that may end the transaction; it differs only if it is kept."""
        if not self.is_kept:
            return self
        return self.but(producer_id=self.next_producer_id, producer_epoch=self.next_producer_epoch)

    @property
    def is_exhausted(self) -> bool:
        """Whether this producer id has no further epoch for a client."""
        return self.producer_epoch >= LAST_CLIENT_EPOCH


class Identity(Value, frozen=True):
    """The identity that InitProducerId returns, and how it was chosen.

    `last_producer_epoch` recognizes a retry of the same request; `new_producer_ids` is 1 if the producer id is new.
    """

    producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    new_producer_ids: int = 0


def why_not_timed_out(known: TransactionMetadata) -> str | None:
    """Return why a transaction cannot time out now, or None if it can."""
    if known.pending_state is not None:
        states = f"from {known.state.value} to {known.pending_state.value}"
        return f"the transition of {known.transactional_id} {states} is being logged"
    if known.timeout_ms == NO_TIME_LIMIT:
        return f"{known.transactional_id} is part of a two-phase commit: it has no time limit (KIP-939)"
    if known.state is not S.ONGOING:
        return f"only ONGOING can time out; {known.transactional_id} is {known.state.value}"
    return None


def add_partitions(
    known: TransactionMetadata, partitions: tuple[str, ...], version: int, now_ms: int
) -> TransactionRecord:
    """Return the record of a transaction with added partitions; the first of them starts it.

    Source: TransactionMetadata.prepareAddPartitions.
    """
    union = tuple(sorted({*known.partitions, *partitions}))
    begins = now_ms if known.state in BETWEEN else known.start_timestamp_ms
    return record_of(known, S.ONGOING).but(
        partitions=union, client_transaction_version=version, start_timestamp_ms=begins
    )


def metadata_of(record: TransactionRecord) -> TransactionMetadata:
    """Return the metadata of a record in the log; what is not persisted starts over."""
    return TransactionMetadata(
        record.transactional_id,
        record.producer_id,
        record.producer_epoch,
        record.state,
        partitions=record.partitions,
        previous_producer_id=record.previous_producer_id,
        next_producer_id=record.next_producer_id,
        timeout_ms=record.timeout_ms,
        client_transaction_version=record.client_transaction_version,
        next_producer_epoch=record.next_producer_epoch,
        heartbeat_interval_ms=record.heartbeat_interval_ms,
        start_timestamp_ms=record.start_timestamp_ms,
        last_update_timestamp_ms=record.last_update_timestamp_ms,
    )


def record_of(known: TransactionMetadata, state: TransactionState) -> TransactionRecord:
    """Return the record of a transition, with the earlier producer id.

    The time of its last update is set when it is logged (`transaction_append.add_time`).
    """
    return TransactionRecord(
        known.transactional_id,
        known.producer_id,
        known.producer_epoch,
        state,
        known.partitions,
        known.producer_id,
        known.next_producer_id,
        known.timeout_ms,
        known.client_transaction_version,
        known.next_producer_epoch,
        heartbeat_interval_ms=known.heartbeat_interval_ms,
        start_timestamp_ms=known.start_timestamp_ms,
    )


def next_identity(
    known: TransactionMetadata, request: InitProducerId, fresh_producer_id: int
) -> Identity:
    """Bump the epoch, recognize a retry, or rotate to a new producer id at the last epoch.

    `identity_checks` have passed. A request that names a group gets another producer id every time (KIP-447, first
    draft). Source: prepareProducerIdRotation and prepareIncrementProducerEpoch.
    """
    if isinstance(request, InitProducerIdOfGroup):
        return Identity(fresh_producer_id, 0, -1, int(known.producer_id != fresh_producer_id))
    epoch, expected = known.producer_epoch, request.producer_epoch
    given = request.producer_id >= 0
    if known.is_exhausted:
        return Identity(fresh_producer_id, 0, epoch if given else -1, 1)
    if not given:
        return Identity(known.producer_id, epoch + 1, -1)
    if epoch in (-1, expected):
        return Identity(known.producer_id, epoch + 1, epoch)
    return Identity(known.producer_id, epoch, expected)


def is_end_txn_retry(known: TransactionMetadata, request: EndTxn) -> bool:
    """Return whether a request has the identity from before the stored decision."""
    return known.producer_epoch == request.producer_epoch + 1 or is_overflow_retry(known, request)


def is_overflow_retry(known: TransactionMetadata, request: EndTxn) -> bool:
    """Return whether a request is from before the decision that rotated the producer id."""
    return (
        known.producer_epoch == 0
        and request.producer_epoch == LAST_CLIENT_EPOCH
        and known.previous_producer_id == request.producer_id
    )


def error_for_version(version: int, error: Errors, since: int = 2) -> Errors:
    """Return an error as a client's version encodes it: older versions do not have PRODUCER_FENCED.

    Clause: KIP-588; KafkaApis.handleEndTxnRequest, handleAddPartitionsToTxnRequest, and for handleInitProducerIdRequest
    since version 4.
    """
    older = version < since and error is Errors.PRODUCER_FENCED
    return Errors.INVALID_PRODUCER_EPOCH if older else error


def decision_of(
    known: TransactionMetadata,
    fresh_producer_id: int,
    *,
    committed: bool,
    bumps: bool = True,
    fence: bool = False,
    now_ms: int = NO_TIMESTAMP,
) -> TransactionRecord:
    """Return the record of a decision, with the next epoch (KIP-890: every transaction bumps it).

    Without `bumps` (transaction versions 0 and 1) the epoch stays, unless the coordinator ends the transaction itself
    to `fence` its producer. At the last epoch the next producer id is allocated now and becomes valid with COMPLETE_*.
    An epoch that is already the highest one is not bumped, so that a broken state can be aborted. An abort of a
    transaction that never began has this moment as its start.
    Source: TransactionMetadata.prepareAbortOrCommit, prepareFenceProducerEpoch.
    """
    target = S.PREPARE_COMMIT if committed else S.PREPARE_ABORT
    if not bumps:
        return record_of(known, target).but(
            producer_epoch=fencing_epoch(known) if fence else known.producer_epoch,
            next_producer_id=-1,
            client_transaction_version=0,
        )
    return record_of(known, target).but(
        producer_epoch=min(known.producer_epoch + 1, EPOCH_MAX),
        next_producer_id=fresh_producer_id if known.is_exhausted else -1,
        client_transaction_version=2,
        start_timestamp_ms=now_ms if known.state in BETWEEN else known.start_timestamp_ms,
    )


def fencing_epoch(known: TransactionMetadata) -> int:
    """Return the epoch that fences a producer below transaction version 2: the next one.

    It stays the same if a fence with it was not written, and at 32767, the highest one.
    Source: TransactionMetadata.prepareFenceProducerEpoch.
    """
    if known.has_failed_epoch_fence:
        return known.producer_epoch
    return min(known.producer_epoch + 1, EPOCH_MAX)


def prepare_completion(known: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """Return a decided transaction whose completion is prepared: its markers are about to be sent.

    Source: TransactionMetadata.prepareComplete.
    """
    return known.but(pending_state=COMPLETE_OF[known.state], complete_timestamp_ms=now_ms)


def completion_of(known: TransactionMetadata) -> TransactionRecord:
    """Return the record of a transaction that is complete everywhere; a rotation becomes valid."""
    target = COMPLETE_OF[known.state]
    if known.next_producer_id < 0:
        return record_of(known, target).but(partitions=())
    record = record_of(known, target).but(
        partitions=(),
        producer_id=known.next_producer_id,
        producer_epoch=max(known.next_producer_epoch, 0),
        next_producer_id=-1,
        next_producer_epoch=-1,
    )
    kept = known.next_producer_epoch >= 0
    return record.but(previous_producer_id=known.previous_producer_id) if kept else record
