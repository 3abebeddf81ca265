"""The metrics that KIP-1289 (draft) proposes, folded over the events of a run, with its alert.

Six are new and one is called existing, although Kafka has none of that name (finding X22); the last row is the one that
the KIP defers. A gauge shows the current value, a counter adds up, and a rate is shown as its count and, on a timed
clock, also as the rate of a Kafka client's metric. The alert is the KIP's: TxnPendingRecordsCount above 0 for more than
60 s. On an untimed clock the card shows the number of steps instead of the time.
"""

from __future__ import annotations

from kipviz.brokers.share_leaders.share_partition import ShareLeader
from kipviz.clients.application import Call
from kipviz.cluster.world import World
from kipviz.core.model import Event
from kipviz.messages.errors import Errors
from kipviz.messages.events import (
    LOCK_RAN_OUT,
    CallStarted,
    MessageDelivered,
    MessageSent,
    RecordsMoved,
    TimePassed,
    TransactionMoved,
)
from kipviz.messages.message_errors import error_in
from kipviz.messages.shares.share_groups import TxnShareAcknowledge, TxnShareAcknowledgeResponse
from kipviz.properties.facts.share_record import ShareRecord, moved_records
from kipviz.records.share_group_state import RecordState
from kipviz.records.transaction_state import TransactionState
from kipviz.views.measures import histogram
from kipviz.views.measures.rates import Rate
from kipviz.views.role_cards.card_rows import Card, facts

PENDING = "TxnPendingRecordsCount"
LATENCY = "TxnShareAcknowledgeRequestLatencyMs"
EXPIRED = "TxnPendingLockExpiredCount"
PARTITIONS = "TransactionPartitionsCount"
SENDS = "share-ack-txn-send-rate"
ERRORS = "share-ack-txn-send-error-rate"
METADATA = "share-group-metadata-fetch-rate"
RESIDENCY = "TX_PENDING residency"
ALERT = "alert"
ALERT_AFTER_MS = 60_000

# The kind of each metric, its location, and its purpose according to the KIP.
ABOUT: dict[str, str] = {
    ALERT: "KIP-1289 (draft): TxnPendingRecordsCount > 0 sustained for > 60s",
    PENDING: "gauge, broker, SharePartitionManager: records in TX_PENDING now",
    LATENCY: "histogram, broker, SharePartitionManager: from a staging's arrival to its answer",
    EXPIRED: "counter, broker, SharePartitionManager: any other number than 0 is critical",
    PARTITIONS: "gauge, broker, TransactionCoordinator: called existing; Kafka has none of this name",
    SENDS: "meter, producer: requests sent",
    ERRORS: "meter, producer: stagings answered with an error",
    METADATA: "meter, consumer: calls of shareGroupMetadata()",
    RESIDENCY: "histogram, deferred to a follow-up KIP: how long records were in TX_PENDING",
}
METERS = (SENDS, ERRORS, METADATA)
OVER = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT, TransactionState.EMPTY)
# KIP-1289's loop calls shareGroupMetadata() as an argument of this call; a program that takes a snapshot before it has
# its own line for that.
TAKES_METADATA = Call.SEND_SHARE_ACKNOWLEDGEMENTS.value
SNAPSHOT = Call.SHARE_GROUP_METADATA.value


class ProposedMetrics:
    """The KIP's metrics along one branch of a trace.

    Attributes:
        card: their current values, as rows of plain words.
    """

    def __init__(self, *, timed: bool = False) -> None:
        """Start at zero, on a timed or an untimed clock."""
        self._timed = timed
        self.counts: dict[str, int] = dict.fromkeys(
            (PENDING, EXPIRED, PARTITIONS, SENDS, ERRORS), 0
        )
        self.counts[METADATA] = 0
        self.rates: dict[str, Rate] = {name: Rate() for name in METERS}
        self.latencies: list[tuple[int, int]] = []
        self.residencies: dict[str, list[tuple[int, int]]] = {}
        self._staged: dict[ShareRecord, tuple[int, int]] = {}
        self._asked: dict[tuple[str, int], tuple[int, int]] = {}
        self._partitions: dict[str, int] = {}
        self._with_snapshot: dict[str, bool] = {}
        self._step = self._now = 0
        self._since: tuple[int, int] | None = None
        # The number of durations in a histogram, and its words: few steps add one.
        self._told_of: dict[str, tuple[int, str]] = {}
        self.card: Card = self._render_card()

    def observe(self, world: World, events: tuple[Event, ...]) -> None:
        """Record one step; without anything new the card stays the same object."""
        self._step += bool(events)
        for event in events:
            before = {name: self.counts[name] for name in METERS}
            self._count(event)
            for name in METERS:
                if self.counts[name] > before[name]:
                    self.rates[name].record(self._now)
        self.counts[PENDING] = _pending(world)
        self.counts[PARTITIONS] = sum(self._partitions.values())
        if not self.counts[PENDING]:
            self._since = None
        elif self._since is None:
            self._since = (self._step, self._now)
        told = self._render_card()
        if told != self.card:
            self.card = told

    @property
    def pending_ms(self) -> int:
        """For how long records have been pending without interruption, on a timed clock."""
        return self._now - self._since[1] if self._since else 0

    @property
    def alert(self) -> bool:
        """Whether the KIP's alert is raised; False on an untimed clock, where it is unknown."""
        return self._timed and self.pending_ms > ALERT_AFTER_MS

    def _count(self, event: Event) -> None:
        counts = self.counts
        match event:
            case TimePassed(ms=ms):
                self._now += ms
            case CallStarted(application=name, call=call) if call == SNAPSHOT:
                counts[METADATA] += 1
                self._with_snapshot[name] = True
            case CallStarted(application=name, call=call) if call == TAKES_METADATA:
                counts[METADATA] += name not in self._with_snapshot
            case MessageSent(way="request", message=TxnShareAcknowledge()):
                counts[SENDS] += 1
            case MessageDelivered(way="request", message=TxnShareAcknowledge()):
                self._asked[event.source, event.broker] = (self._step, self._now)
            case MessageSent(way="response", message=TxnShareAcknowledgeResponse() as answer):
                counts[ERRORS] += error_in(answer) is not Errors.NONE
                asked = self._asked.pop((event.source, event.broker), None)
                if asked is not None:
                    self.latencies.append((self._step - asked[0], self._now - asked[1]))
            case RecordsMoved():
                self._count_moves(event)
            case TransactionMoved():
                open_ = 0 if event.after in OVER else len(event.partitions)
                self._partitions[event.transactional_id] = open_
            case _:
                pass

    def _count_moves(self, event: RecordsMoved) -> None:
        for record in moved_records(event):
            if event.after is RecordState.TX_PENDING:
                self._staged.setdefault(record, (self._step, self._now))
            elif event.before is RecordState.TX_PENDING:
                self.counts[EXPIRED] += event.because == LOCK_RAN_OUT
                since = self._staged.pop(record, None)
                if since is not None:
                    took = (self._step - since[0], self._now - since[1])
                    self.residencies.setdefault(event.partition, []).append(took)

    def _render_card(self) -> Card:
        rows = [(ALERT, *self._alert_words())]
        for name in ABOUT:
            if name == LATENCY:
                words = self._histogram(LATENCY, self.latencies, "answered")
                rows.append((name, words, "calm"))
            elif name == RESIDENCY:
                rows.append((name, self._residency(), "calm"))
            elif name != ALERT:
                rows.append((name, self._render_count(name), self._tone(name)))
        return facts(rows)

    def _render_count(self, name: str) -> str:
        """Render a count and, on a timed clock, its rate."""
        count = self.counts[name]
        if name not in METERS or not self._timed or not count:
            return str(count)
        return f"{count}, {self.rates[name].per_second(self._now):.3f} a second"

    def _tone(self, name: str) -> str:
        if not self.counts[name]:
            return "calm"
        return {PENDING: "pending", EXPIRED: "broken", ERRORS: "warning"}.get(name, "calm")

    def _alert_words(self) -> tuple[str, str]:
        if self._since is None:
            return "no: nothing is pending", "calm"
        if self.alert:
            return f"raised: pending for {self.pending_ms / 1000:g} s", "broken"
        if self._timed:
            return f"not yet: pending for {self.pending_ms / 1000:g} s", "pending"
        steps = self._step - self._since[0]
        return f"pending since {steps} steps; without a clock the time is unknown", "pending"

    def _residency(self) -> str:
        """Render the histogram of each share-partition separately, as the follow-up KIP wants it."""
        of = self.residencies
        told = [self._histogram(partition, of[partition], "resolved") for partition in of]
        if len(told) < 2:
            return told[0] if told else "none yet"
        return "; ".join(f"{partition}: {words}" for partition, words in zip(of, told, strict=True))

    def _histogram(self, name: str, durations: list[tuple[int, int]], what: str) -> str:
        if not durations:
            return "none yet"
        count, words = self._told_of.get(name, (0, ""))
        if count != len(durations):
            steps, times = zip(*durations, strict=True)
            told = histogram.words(times if self._timed else steps, timed=self._timed)
            words = f"{len(steps)} {what}, {told}"
            self._told_of[name] = (len(durations), words)
        return words


def _pending(world: World) -> int:
    return sum(
        record.state is RecordState.TX_PENDING
        for role in world.roles.values()
        if isinstance(role, ShareLeader)
        for share in role.shares.values()
        for record in share.records.values()
    )
