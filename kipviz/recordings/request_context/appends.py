"""The batch that a produce request appended, as the other requests and the log show it.

A request log has the sizes of batches and not the batches. Finding the batch by the offset in the response would use
the answer that is to be judged. So the batch is one that no other request claims: it is after the batches of requests
that were answered before this one can have arrived, and before those of requests that arrived later. Only a request
that finds no such batch may repeat one that another request of its client appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kipviz.cluster.real.rebuilt_cluster import RebuiltBatch
from kipviz.core.values import Value
from kipviz.recordings.decoded.elections import LeaderDecision, leaders_of
from kipviz.recordings.recorded import Exchange, Plain
from kipviz.recordings.replayed_roles.answer_text import topic_name
from kipviz.recordings.request_context.arrival import span_of
from kipviz.records.batches import Batch
from kipviz.records.placement import TRANSACTION_STATE, topic_of

PRODUCE, MARKERS = "PRODUCE", "WRITE_TXN_MARKERS"
# The acks of a request that is answered when all in-sync replicas have its batch.
ALL = -1
Place = tuple[str, int]


class ClaimedOffset(Value, frozen=True):
    """The offset of a batch in the answer to a request."""

    number: int
    client: str
    offset: int
    earliest_ms: int
    answered_ms: int


class Appends:
    """The batches of producers, and the requests that claim them."""

    def __init__(
        self,
        exchanges: Iterable[Exchange],
        names: Mapping[str, str],
        batches: Mapping[Place, Batch],
    ) -> None:
        """Store the batches by partition and first offset, and the claims.

        Raises:
            KeyError, TypeError, ValueError: if a request or its answer lacks a field of its version.
        """
        self.batches = batches
        self._offsets: dict[str, list[int]] = {}
        for partition, offset in sorted(batches):
            self._offsets.setdefault(partition, []).append(offset)
        self._claims: dict[str, list[ClaimedOffset]] = {}
        for number, exchange in enumerate(exchanges):
            if exchange.api != PRODUCE:
                continue
            for partition, told in answers_of(exchange, names):
                if told["errorCode"] == 0:
                    times = (exchange.earliest_ms, exchange.answered_ms)
                    claim = ClaimedOffset(number, exchange.client, told["baseOffset"], *times)
                    self._claims.setdefault(partition, []).append(claim)

    def of(
        self, number: int, exchange: Exchange, partition: str
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the offsets of batches that a request may have appended, and of those that it may repeat.

        Its own answer does not count. If there is one that it may have appended, there are none to repeat.
        """
        others = [c for c in self._claims.get(partition, ()) if c.number != number]
        claimed = {c.offset for c in others}
        before = [c.offset for c in others if c.answered_ms < exchange.earliest_ms]
        after = [c.offset for c in others if exchange.answered_ms < c.earliest_ms]
        offsets = self._offsets.get(partition, ())
        first = max(before, default=-1)
        last = min((o for o in after if o > first), default=None)
        transactional = bool(exchange.request["transactionalId"])
        own = tuple(
            o
            for o in offsets
            if o > first
            and (last is None or o < last)
            and o not in claimed
            and self.batches[partition, o].transactional == transactional
        )
        of_client = (c.offset for c in others if c.client == exchange.client)
        known = (o for o in dict.fromkeys(of_client) if (partition, o) in self.batches)
        return (own, ()) if own else ((), tuple(known))


def answers_of(exchange: Exchange, names: Mapping[str, str]) -> Iterable[tuple[str, Plain]]:
    """Return the answer to a produce request for each partition.

    Raises:
        KeyError, TypeError, ValueError: if the answer lacks a field of its version.
    """
    return tuple(
        (f"{topic_name(topic, names)}-{part['index']}", part)
        for topic in exchange.response["responses"]
        for part in topic["partitionResponses"]
    )


class VisibleExtent(Value, frozen=True):
    """How far an answer shows a partition to every reader, and when it may have been given."""

    earliest_ms: int
    answered_ms: int
    broker: int
    end: int


class SeenEnds:
    """How far a broker's answers show that every reader may read a partition.

    A new leader takes a while to learn from its followers how far they have copied, however slow its machine is.
    Until then its high watermark may be lower than the previous one. The bounds are its own answers since its
    election: that all replicas have a batch (acks=all), or a high watermark to readers. A transaction coordinator
    reads its log to the end before it answers, so only its own writes since its election may not be visible yet.
    A single broker gives a batch its time, then it appends the batch, and then the high watermark reaches it: readers may
    not see a batch whose request is still under way.
    Source: Partition.makeLeader, Partition.maybeIncrementLeaderHW, ReplicaManager.appendRecords,
    TransactionStateManager.loadTransactionMetadata, LogValidator.validateMessagesAndAssignOffsets,
    Partition.appendRecordsToLeader.
    """

    def __init__(
        self,
        exchanges: Iterable[Exchange],
        names: Mapping[str, str],
        batches: Mapping[Place, Batch],
        decisions: Iterable[LeaderDecision],
        entries: Sequence[RebuiltBatch],
    ) -> None:
        """Collect the answers, by partition.

        Raises:
            KeyError, TypeError, ValueError: if a request or its answer lacks a field of its version.
        """
        self._standing: dict[str, list[RebuiltBatch]] = {}
        for entry in entries:
            self._standing.setdefault(entry.partition, []).append(entry)
        self._terms = leaders_of(decisions)
        self._markers: dict[tuple[str, int, int], list[RebuiltBatch]] = {}
        for entry in () if self._terms else entries:
            if entry.batch.control:
                of = (entry.partition, entry.batch.producer_id, entry.batch.producer_epoch)
                self._markers.setdefault(of, []).append(entry)
        self._told: dict[str, list[VisibleExtent]] = {}
        # When the request that appended a batch was answered.
        self._answered: dict[Place, int] = {}
        for exchange in exchanges:
            for place in self._appended_batches(exchange, names):
                self._answered.setdefault(place, exchange.answered_ms)
            begin, answered = span_of(exchange)
            for partition, end in _ends_in(exchange, names, batches):
                told = VisibleExtent(begin, answered, exchange.broker, end)
                self._told.setdefault(partition, []).append(told)

    def _appended_batches(self, exchange: Exchange, names: Mapping[str, str]) -> Iterable[Place]:
        """Yield the batches that a request appended: a producer's, and markers."""
        if exchange.api == PRODUCE:
            for partition, told in answers_of(exchange, names):
                if told["errorCode"] == 0:
                    yield partition, told["baseOffset"]
        if exchange.api != MARKERS or not self._markers:
            return
        begin, end = span_of(exchange)
        for marker in exchange.request["markers"]:
            topics = marker["topics"]
            for partition in (f"{t['name']}-{p}" for t in topics for p in t["partitionIndexes"]):
                of = (partition, marker["producerId"], marker["producerEpoch"])
                for entry in self._markers.get(of, ()):
                    if begin <= entry.at_ms <= end:
                        yield partition, entry.batch.base_offset

    def not_shown_ms(self, partition: str, exchange: Exchange, *, asks: bool = False) -> int:
        """Return for how long (ms) the oldest batch in a log has not been shown by its leader to any reader.

        With a single broker that is a batch whose request is under way.
        The leader is the broker of the exchange; with `asks` the one that this broker asks in turn.
        The line of the exchange may be late: an answer bounds it only if it was given before the exchange can have
        arrived at all. In each term the earliest arrival leaves the most open.
        """
        begin = span_of(exchange)[0]
        terms = (term.at_ms for term in self._terms.get(partition, ()))
        elected = (at_ms for at_ms in terms if begin < at_ms <= exchange.received_ms)
        oldest = min(
            (self._find_hidden(partition, exchange, came, asks=asks) for came in (begin, *elected)),
        )
        return max(0, begin + 1 - oldest)

    def _find_hidden(self, partition: str, exchange: Exchange, came: int, *, asks: bool) -> int:
        """Return the time of the oldest batch that may be hidden from an exchange that arrives at a time.

        If there is none, it is the time after the beginning of the exchange.
        """
        terms = [term for term in self._terms.get(partition, ()) if term.at_ms <= came]
        elected, leader, epoch = 0, exchange.broker, 0
        if terms:
            elected, leader, epoch = terms[-1].at_ms, terms[-1].leader, terms[-1].leader_epoch
        shows = leader if asks else exchange.broker
        # Under its earlier term a broker may have given an answer whose line was written after its next election.
        came_back = any(term.leader == shows for term in terms[:-1])
        end = max(
            (
                told.end
                for told in self._told.get(partition, ())
                if elected <= (told.earliest_ms if came_back else told.answered_ms)
                and told.answered_ms < came
                and told.broker == shows
            ),
            default=0,
        )
        hidden = (
            entry.at_ms
            for entry in self._standing.get(partition, ())
            if entry.batch.last_offset >= end
            and (
                self._terms or came <= self._answered.get((partition, entry.batch.base_offset), -1)
            )
            and (entry.leader_epoch >= epoch or topic_of(partition) != TRANSACTION_STATE)
        )
        return min(hidden, default=span_of(exchange)[0] + 1)


def _ends_in(
    exchange: Exchange, names: Mapping[str, str], batches: Mapping[Place, Batch]
) -> Iterable[tuple[str, int]]:
    if exchange.api == PRODUCE and exchange.request.get("acks") == ALL:
        for partition, told in answers_of(exchange, names):
            batch = batches.get((partition, told["baseOffset"]))
            if told["errorCode"] == 0 and batch is not None:
                yield partition, batch.last_offset + 1
    elif exchange.api == "FETCH" and exchange.request.get("replicaId", -1) < 0:
        for topic in exchange.response["responses"]:
            for part in topic["partitions"]:
                if part["errorCode"] == 0:
                    yield (
                        f"{topic_name(topic, names)}-{part['partitionIndex']}",
                        part["highWatermark"],
                    )
