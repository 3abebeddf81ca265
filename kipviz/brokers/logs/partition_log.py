"""A partition's log and everything that is derived from its content alone.

WHO: the log of a partition on its leader, replicated to the in-sync replicas.
WHERE IN KAFKA: UnifiedLog, ProducerStateManager, ProducerAppendInfo, TransactionIndex.
KIPS: KIP-98 (idempotence, transactions), KIP-890 (epoch per transaction), KIP-1228 (marker epoch).
DURABILITY: the state is the log. A crash keeps what is below the high watermark; the rest is recomputed by reading the
log again (`rebuild`).
NOT MODELLED: single followers (what is below the high watermark is on all of them, what is above on the leader alone);
segments; retention by time or size.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from operator import attrgetter

from kipviz.brokers.checks import Check, compare, in_order, report_value
from kipviz.brokers.logs.verification import Verification
from kipviz.brokers.rules import BrokerRules
from kipviz.core.log import Log
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.records.batches import ABORT, NO_TIMESTAMP, Batch, DataRecord
from kipviz.records.sequences import SEQUENCE_MAX, last_sequence, sequence_after
from kipviz.records.transaction_state import EPOCH_MAX

CACHED_BATCHES = 5


class SequenceRange(Value, frozen=True):
    """A batch that the log remembers to recognize its duplicates (BatchMetadata)."""

    first: int
    last: int
    base_offset: int


class ProducerEntry(Value, frozen=True):
    """A log's state of one producer id (ProducerStateEntry).

    `transaction_first_offset` is -1 when no transaction of this producer is open here; `last_timestamp_ms` is the
    timestamp of its last batch or marker, if records carry timestamps.
    """

    epoch: int
    batches: tuple[SequenceRange, ...] = ()
    transaction_first_offset: int = -1
    coordinator_epoch: int = -1
    last_timestamp_ms: int = NO_TIMESTAMP


class AbortedTransaction(Value, frozen=True):
    """One entry of the aborted-transaction index (AbortedTxn.java).

    `last_offset` is the marker's. `last_stable_offset` is the first offset of the earliest transaction that was still
    open then, or the offset after the marker: nothing below it can belong to a transaction that is aborted later.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class LogStart(Value, frozen=True):
    """The state of a log's producers at its start offset, from the records before it that were deleted."""

    producers: Table[int, ProducerEntry]
    open: tuple[tuple[int, int], ...]


class PartitionLog(Part, frozen=True, cache_hash=True):
    """The batches of a partition, its high watermark and its producers.

    `open` holds (first offset, producer id) of transactions without a marker, in order; `unreplicated` holds (first
    offset, marker offset) of those whose marker is not below the high watermark yet. `start_offset` is the first offset
    that exists. `given_up` are the offsets of records whose writer received an error: they may be replicated all the
    same, and the next reader of the log takes them as valid. `at_start` is set if records were deleted whose producers
    the log still knows, as the followers do. `forgotten` are (producer id, offset): nothing below the offset counts for
    the state of that producer.
    """

    name: str
    start_offset: int = 0
    batches: Log[Batch] = Log.of()
    end_offset: int = 0
    high_watermark: int = 0
    producers: Table[int, ProducerEntry] = Table.of()
    open: tuple[tuple[int, int], ...] = ()
    unreplicated: tuple[tuple[int, int], ...] = ()
    aborted: Log[AbortedTransaction] = Log.of()
    given_up: tuple[int, ...] = ()
    at_start: LogStart | None = None
    forgotten: tuple[tuple[int, int], ...] = ()

    @property
    def first_unstable_offset(self) -> int | None:
        """The start of the oldest transaction whose marker is not below the high watermark."""
        firsts = [first for first, _ in self.unreplicated]
        if self.open:
            firsts.append(self.open[0][0])
        return min(firsts, default=None)

    @property
    def last_stable_offset(self) -> int:
        """The LSO: a read_committed consumer reads below it.

        It is the first unstable offset if that is below the high watermark, and otherwise the high watermark; but it is
        never below the log's start (UnifiedLog.maybeIncrementFirstUnstableOffset).
        """
        unstable = self.first_unstable_offset
        if unstable is None:
            return self.high_watermark
        return min(max(unstable, self.start_offset), self.high_watermark)

    def readable_up_to(self, *, committed: bool) -> int:
        """Return the offset below which consumers read: the LSO under read_committed, or the high watermark."""
        return self.last_stable_offset if committed else self.high_watermark


def has_ongoing_transaction(log: PartitionLog, producer_id: int, epoch: int) -> bool:
    """Return whether the log has data of this producer id and epoch without a marker after it.

    Then the coordinator knows already that the partition is in the transaction. Source:
    UnifiedLog.hasOngoingTransaction.
    """
    entry = log.producers.get(producer_id)
    return entry is not None and entry.transaction_first_offset >= 0 and entry.epoch == epoch


def is_fenced(log: PartitionLog, producer_id: int, epoch: int, rules: BrokerRules) -> bool:
    """Return whether the log rejects this epoch, because it has seen a higher one.

    Since KAFKA-19690 this is checked before the coordinator is asked: UnifiedLog.maybeStartTransactionVerification.
    """
    entry = log.producers.get(producer_id)
    return entry is not None and rules.epoch_check(epoch, entry.epoch)


def epoch_check(log: PartitionLog, producer_id: int, epoch: int, rules: BrokerRules) -> Check:
    """Compare a producer's epoch with the one that the log has seen."""
    entry = log.producers.get(producer_id)
    seen = entry.epoch if entry is not None else -1
    fenced = is_fenced(log, producer_id, epoch, rules)
    return compare("producer epoch", epoch, seen, not fenced, Errors.INVALID_PRODUCER_EPOCH)


@in_order
def check_client_batch(
    log: PartitionLog,
    batch: Batch,
    rules: BrokerRules,
    *,
    verified: bool,
    origin_client: bool,
    epoch_first: bool = True,
    verification: Verification | None = None,
) -> Iterator[Check]:
    """Check that the leader may append a producer's batch, in Kafka's order.

    A duplicate is not an error: call `duplicate_of` first. `verified` means that the coordinator has added the
    partition to the transaction for this (producer id, epoch). Sequences are checked for batches of clients only.
    `epoch_first` is false for releases before KAFKA-19690, which check the verification first. `verification` is the
    log's entry of one: a producer without a batch in the log starts at 0 under transaction version 2, and no batch is
    appended before the one with the lowest sequence.
    Source: UnifiedLog.analyzeAndValidateProducerState, ProducerAppendInfo.checkSequence.
    """
    entry = log.producers.get(batch.producer_id)
    first = entry.transaction_first_offset if entry is not None else -1
    known = has_ongoing_transaction(log, batch.producer_id, batch.producer_epoch)
    enlisted = known or verified
    is_enlisted = compare("partition added", None, enlisted, enlisted, Errors.INVALID_TXN_STATE)
    if batch.transactional and not epoch_first:
        yield is_enlisted
    yield epoch_check(log, batch.producer_id, batch.producer_epoch, rules)
    if batch.transactional and epoch_first:
        yield is_enlisted
    if batch.producer_id < 0:
        return
    if origin_client and rules.sequence_check():
        yield from _sequence_checks(entry, batch, verification)
    mixed = first >= 0 and not batch.transactional
    yield compare("open transaction", None, first, not mixed, Errors.INVALID_TXN_STATE)


def _sequence_checks(
    entry: ProducerEntry | None, batch: Batch, verification: Verification | None
) -> Iterator[Check]:
    """Compare a batch's first sequence with a failed verification and with the producer's last batch.

    If no sequence below 0 can have arrived, the lowest sequence is not reported.
    """
    asked, error = batch.base_sequence, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    bumps = verification is not None and verification.supports_epoch_bump
    if bumps and (entry is None or not entry.batches):
        yield compare("sequence", asked, -1, asked == 0, error)
        return
    lowest = verification.lowest if verification is not None else SEQUENCE_MAX
    if entry is None or (verification is not None and asked > 0):
        yield compare("lowest sequence", asked, lowest, asked <= lowest, error)
    if entry is not None:
        last = entry.batches[-1].last if entry.batches else -1
        yield compare("sequence", asked, last, _sequence_follows(entry, batch), error)


def _sequence_follows(entry: ProducerEntry, batch: Batch) -> bool:
    if entry.epoch != batch.producer_epoch or not entry.batches:
        return batch.base_sequence == 0
    return batch.base_sequence == sequence_after(entry.batches[-1].last, 1)


def duplicate_of(log: PartitionLog, batch: Batch, rules: BrokerRules) -> SequenceRange | None:
    """Return the cached batch that this one repeats, if it is among the producer's last five."""
    entry = log.producers.get(batch.producer_id)
    if entry is None or entry.epoch != batch.producer_epoch:
        return None
    if not rules.sequence_check():
        return None
    last = last_sequence(batch.base_sequence, len(batch.records))
    for cached in entry.batches:
        if cached.first == batch.base_sequence and cached.last == last:
            return cached
    return None


@in_order
def check_marker(
    log: PartitionLog,
    producer_id: int,
    epoch: int,
    coordinator_epoch: int,
    version: int,
    rules: BrokerRules,
) -> Iterator[Check]:
    """Check that a marker may end the producer's transaction on this partition.

    Transaction version 2: the marker's epoch must be above the log's, or equal to it without an open transaction (a
    repeated marker), or the highest possible epoch. Older versions: not below the log's. A marker from an older
    coordinator epoch is rejected.
    Source: ProducerAppendInfo.checkProducerEpoch (KIP-1228, KAFKA-19999).
    """
    entry = log.producers.get(producer_id)
    if entry is None:
        yield Check("producer epoch", epoch, -1)
        return
    is_open = entry.transaction_first_offset >= 0
    if version >= 2:
        ok = epoch > entry.epoch or (epoch == entry.epoch and (not is_open or epoch == EPOCH_MAX))
    else:
        ok = epoch >= entry.epoch
    yield report_value("open transaction", entry.transaction_first_offset)
    yield compare("producer epoch", epoch, entry.epoch, ok, Errors.INVALID_PRODUCER_EPOCH)
    last = entry.coordinator_epoch
    fenced = rules.marker_fencing(coordinator_epoch, last)
    error = Errors.TRANSACTION_COORDINATOR_FENCED
    yield compare("coordinator epoch", coordinator_epoch, last, not fenced, error)


def append(log: PartitionLog, batch: Batch) -> PartitionLog:
    """Append a batch to the log and update the producers' state."""
    producers, open_, unreplicated, aborted = log.producers, log.open, log.unreplicated, log.aborted
    entry = producers.get(batch.producer_id)
    if batch.control:
        first = entry.transaction_first_offset if entry else -1
        if first >= 0:
            open_ = tuple(o for o in open_ if o[1] != batch.producer_id)
            unreplicated = (*unreplicated, (first, batch.base_offset))
            if batch.control == ABORT:
                stable = open_[0][0] if open_ else batch.base_offset + 1
                aborted = aborted.append(
                    AbortedTransaction(batch.producer_id, first, batch.base_offset, stable)
                )
        kept = entry.batches if entry and entry.epoch == batch.producer_epoch else ()
        producers = producers.set(
            batch.producer_id,
            ProducerEntry(
                batch.producer_epoch, kept, -1, batch.coordinator_epoch, batch.max_timestamp_ms
            ),
        )
    elif batch.producer_id >= 0:
        kept = entry.batches if entry and entry.epoch == batch.producer_epoch else ()
        first = entry.transaction_first_offset if entry else -1
        if batch.base_sequence >= 0:
            last = last_sequence(batch.base_sequence, len(batch.records))
            span = SequenceRange(batch.base_sequence, last, batch.base_offset)
            kept = (*kept, span)[-CACHED_BATCHES:]
        if batch.transactional and first < 0:
            first = batch.base_offset
            open_ = (*open_, (first, batch.producer_id))
        coordinator_epoch = entry.coordinator_epoch if entry else -1
        fresh = ProducerEntry(
            batch.producer_epoch, kept, first, coordinator_epoch, batch.max_timestamp_ms
        )
        producers = producers.set(batch.producer_id, fresh)
    return log.but(
        batches=log.batches.append(batch),
        end_offset=batch.last_offset + 1,
        producers=producers,
        open=open_,
        unreplicated=unreplicated,
        aborted=aborted,
    )


def replicate(log: PartitionLog, up_to: int = -1) -> PartitionLog:
    """Advance the high watermark to the log's end, or to an offset, because every in-sync replica has that."""
    high_watermark = log.end_offset if up_to < 0 else up_to
    if log.high_watermark == high_watermark and not log.unreplicated:
        return log
    still = tuple(u for u in log.unreplicated if u[1] >= high_watermark)
    return log.but(high_watermark=high_watermark, unreplicated=still)


def forget(log: PartitionLog, producer_id: int) -> PartitionLog:
    """Remove the state of a producer, which has no transaction open here.

    Source: ProducerStateManager.removeExpiredProducers.
    """
    return log.but(
        producers=log.producers.without(producer_id),
        forgotten=(*log.forgotten, (producer_id, log.end_offset)),
    )


def _read_again(log: PartitionLog, up_to: int) -> PartitionLog:
    """Return a log with only its batches below an offset, and its producers' state there."""
    fresh = _at_start(log)
    forgotten: dict[int, list[int]] = {}
    for producer_id, at in log.forgotten:
        forgotten.setdefault(at, []).append(producer_id)
    for batch in log.batches:
        if batch.last_offset >= up_to:
            break
        fresh = append(_remove_producers(fresh, forgotten.get(fresh.end_offset, ())), batch)
    return _remove_producers(fresh, forgotten.get(fresh.end_offset, ()))


def _remove_producers(log: PartitionLog, producer_ids: Iterable[int]) -> PartitionLog:
    """Remove the producers that were forgotten at the end of a log."""
    for producer_id in producer_ids:
        log = log.but(producers=log.producers.without(producer_id))
    return log


def delete_records(log: PartitionLog, up_to: int) -> PartitionLog:
    """Delete the front of a log; a batch that contains the new start stays whole.

    The state of producers stays as well, and with it a transaction whose first records are deleted: its marker is still
    to come. Source: UnifiedLog.maybeIncrementLogStartOffset (KIP-107),
    ProducerStateManager.onLogStartOffsetIncremented.
    """
    before = _read_again(log, up_to)
    known = bool(before.producers)
    return log.but(
        start_offset=up_to,
        batches=Log.of(batch for batch in log.batches if batch.last_offset >= up_to),
        aborted=Log.of(entry for entry in log.aborted if entry.last_offset >= up_to),
        at_start=LogStart(before.producers, before.open) if known else None,
        forgotten=tuple(f for f in log.forgotten if f[1] > up_to),
    )


def _at_start(log: PartitionLog) -> PartitionLog:
    """Return a log without its batches, with the producers' state at its start."""
    start = log.start_offset
    fresh = PartitionLog(log.name, start, end_offset=start, high_watermark=start)
    known = log.at_start
    if known is None:
        return fresh
    return fresh.but(producers=known.producers, open=known.open, at_start=known)


def rebuild(log: PartitionLog) -> PartitionLog:
    """Return the log as a new leader finds it: truncated to the high watermark and read from the start."""
    if log.high_watermark == log.end_offset:
        return log
    end = log.high_watermark
    # A producer that was forgotten above that offset was idle for long enough: the new leader has forgotten it, too.
    forgotten = tuple((producer_id, min(at, end)) for producer_id, at in log.forgotten)
    fresh = _read_again(log.but(forgotten=forgotten), end).but(forgotten=forgotten)
    return replicate(fresh.but(given_up=tuple(o for o in log.given_up if o < fresh.end_offset)))


_last_offset = attrgetter("last_offset")
_max_timestamp_ms = attrgetter("max_timestamp_ms")


def read(log: PartitionLog, offset: int, up_to: int, most: int = -1) -> tuple[Batch, ...]:
    """Return the batches that hold the offsets from `offset` up to, not including, `up_to`.

    With `most` it ends with the batch that reaches that many offsets, counted from the first existing one: a fetch does
    not read a log to its end. If the count ends in a gap of the log, that is the batch behind the gap.
    """
    batches = log.batches
    low = bisect_left(batches, offset, key=_last_offset)
    enough = up_to
    if most >= 0 and low < len(batches):
        enough = max(offset, batches[low].base_offset) + most - 1
    out = []
    while low < len(batches) and (batch := batches[low]).base_offset < up_to:
        out.append(batch)
        if batch.last_offset >= enough:
            break
        low += 1
    return tuple(out)


def offset_at(log: PartitionLog, time_ms: int) -> int | None:
    """Return the offset of the first record that is not older than a time, or None."""
    found = find_by_time(log, time_ms)
    return None if found is None else found[0]


def find_by_time(log: PartitionLog, time_ms: int) -> tuple[int, int] | None:
    """Return the offset of the first record that is not older than a time, and the record's own time.

    A record without a timestamp counts as written at 0. Source: UnifiedLog.fetchOffsetByTimestamp.
    """
    for batch in log.batches:
        if max(batch.max_timestamp_ms, 0) < time_ms or batch.last_offset < log.start_offset:
            continue
        for offset, written_ms in _times_in(batch):
            if max(written_ms, 0) >= time_ms and offset >= log.start_offset:
                return offset, max(written_ms, 0)
    return None


def find_highest_time(log: PartitionLog) -> tuple[int, int] | None:
    """Return the offset of the first record with the highest timestamp of a log, and that; None without any.

    Source: UnifiedLog.fetchOffsetByTimestamp, RecordBatch.offsetOfMaxTimestamp.
    """
    newest = max(log.batches, key=_max_timestamp_ms, default=None)
    if newest is None or newest.max_timestamp_ms == NO_TIMESTAMP:
        return None
    return next((each for each in _times_in(newest) if each[1] == newest.max_timestamp_ms), None)


def _times_in(batch: Batch) -> Iterator[tuple[int, int]]:
    """Yield the offset and the timestamp of each record: its producer's, or else the time of the append."""
    for place in range(batch.count):
        record = None if batch.control else batch.records[place]
        own_ms = record.create_time_ms if isinstance(record, DataRecord) else 0
        yield batch.base_offset + place, own_ms or batch.max_timestamp_ms


def is_aborted(log: PartitionLog, batch: Batch) -> bool:
    """Return whether a data batch belongs to an aborted transaction.

    Entries are in the order of their markers. After the first entry whose last stable offset is past the batch, no
    other entry can cover it. Source: TransactionIndex.collectAbortedTxns.
    """
    if not batch.transactional:
        return False
    at, end = _first_aborted_behind(log, batch.base_offset), len(log.aborted)
    while at < end:
        entry = log.aborted[at]
        if entry.producer_id == batch.producer_id and entry.first_offset <= batch.base_offset:
            return True
        if entry.last_stable_offset > batch.last_offset:
            return False
        at += 1
    return False


def _first_aborted_behind(log: PartitionLog, offset: int) -> int:
    low, high = 0, len(log.aborted)
    while low < high:
        middle = (low + high) // 2
        if log.aborted[middle].last_offset < offset:
            low = middle + 1
        else:
            high = middle
    return low
