"""The metrics of a run: counters folded over its events, never stored in the world.

If Kafka counts the same thing, its own name is given. Kafka's meters show rates; the number here is their count.
"""

from __future__ import annotations

from kipviz.core.model import Event
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    LOCK_RAN_OUT,
    WRITE_FAILED,
    BatchAppended,
    MessageSent,
    RecordsMoved,
    TimePassed,
    TransactionMoved,
)
from kipviz.messages.message_errors import error_in
from kipviz.records.batches import DataRecord
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.views.page_parts import TonedCells
from kipviz.views.role_cards.card_rows import Card

COMMITTED = "transactions committed"
ABORTED = "transactions aborted"
MARKERS = "markers written"
PRODUCED = "records produced"
ACQUIRED = "records acquired"
REDELIVERED = "records delivered again"
STAGED = "records staged"
ACKNOWLEDGED = "records acknowledged"
EXPIRED = "locks expired, in records"
LATE = "partitions with late transactions"
REQUEST = "requests sent"
ERROR = "answers with an error"
BETWEEN = " · "

NONE = "not a metric of Kafka"

# Kafka's names of the counters; the last two exist once for each kind and code.
KAFKA: dict[str, str] = {
    COMMITTED: NONE,
    ABORTED: NONE,
    MARKERS: NONE,
    PRODUCED: "BrokerTopicMetrics MessagesInPerSec",
    ACQUIRED: NONE,
    REDELIVERED: NONE,
    STAGED: f"{NONE}; KIP-1289 (draft) names none",
    ACKNOWLEDGED: "ShareGroupMetrics RecordAcknowledgementsPerSec, ackType=Accept",
    EXPIRED: "SharePartitionMetrics AcquisitionLockTimeoutPerSec",
    LATE: "ReplicaManager PartitionsWithLateTransactionsCount; on a timed clock only",
    REQUEST: "RequestMetrics RequestsPerSec, which counts them when they are answered",
    ERROR: "RequestMetrics ErrorsPerSec",
}
ORDER = tuple(KAFKA)
FIRST = ORDER[: ORDER.index(LATE)]
# A transaction is late when it is open for this long beyond the maximum timeout (ProducerStateManager).
LATE_AFTER_MS = 300_000


class Metrics:
    """The counters along one branch of a trace."""

    def __init__(self, *, longest_ms: int = -1) -> None:
        """Start at zero.

        `longest_ms` is transaction.max.timeout.ms on a timed clock, -1 without one: then it is unknown which
        transactions are late (KIP-664).
        """
        self.card: Card = {name: _cells(name, 0) for name in FIRST}
        self._longest = longest_ms
        self._now = 0
        # When the producers of a partition's open transactions last wrote, the oldest first.
        self._open: dict[str, dict[int, int]] = {}
        if longest_ms >= 0:
            self.card = {**self.card, LATE: _cells(LATE, 0)}

    def observe(self, events: tuple[Event, ...]) -> None:
        """Count the events of a step; without anything to count the card stays the same object."""
        for event in events:
            if self._longest >= 0:
                self._watch(event)
            for name, count in increased_counters(event):
                before = int(self.card[name]["value"]) if name in self.card else 0
                self.card = {**self.card, name: _cells(name, before + count)}

    def _watch(self, event: Event) -> None:
        """Track the open transactions, and how long the oldest one has not been written to."""
        match event:
            case TimePassed(ms=ms):
                self._now += ms
            case BatchAppended(partition=partition, producer_id=producer, control=control) if (
                producer >= 0
            ):
                still = self._open.setdefault(partition, {})
                if control:
                    still.pop(producer, None)
                else:
                    still[producer] = self._now
        late = 0
        for written in self._open.values():
            oldest = next(iter(written.values()), self._now)
            late += self._now - oldest > self._longest + LATE_AFTER_MS
        if late != self.card[LATE]["value"]:
            self.card = {**self.card, LATE: _cells(LATE, late)}


def _cells(name: str, value: int) -> TonedCells:
    return {"value": value, "order": ORDER.index(name.partition(BETWEEN)[0])}


def increased_counters(event: Event) -> tuple[tuple[str, int], ...]:
    """Return the counters that an event increases, and by how much."""
    match event:
        case MessageSent(way="request", message=message):
            return ((f"{REQUEST}{BETWEEN}{type(message).__name__}", 1),)
        case MessageSent(message=message):
            error = error_in(message) or Errors.NONE
            return () if error is Errors.NONE else ((f"{ERROR}{BETWEEN}{error.name}", 1),)
        case TransactionMoved(after=TransactionState.COMPLETE_COMMIT):
            return ((COMMITTED, 1),)
        case TransactionMoved(after=TransactionState.COMPLETE_ABORT):
            return ((ABORTED, 1),)
        case BatchAppended(control=control, records=records):
            if control:
                return ((MARKERS, 1),)
            produced = sum(isinstance(record, DataRecord) for record in records)
            return ((PRODUCED, produced),) if produced else ()
        case RecordsMoved():
            return _count_moves(event)
        case _:
            return ()


def _count_moves(event: RecordsMoved) -> tuple[tuple[str, int], ...]:
    count = event.last - event.first + 1
    found = []
    if event.after is RecordState.TX_PENDING:
        found.append((STAGED, count))
    elif event.after is RecordState.ACKNOWLEDGED:
        found.append((ACKNOWLEDGED, count))
    elif event.before is RecordState.AVAILABLE and event.because != WRITE_FAILED:
        found.append((ACQUIRED, count))
        if event.delivery_count > 1:
            found.append((REDELIVERED, count))
    if event.because == LOCK_RAN_OUT:
        found.append((EXPIRED, count))
    return tuple(found)
