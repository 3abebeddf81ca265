"""The records that a fetch gets: their order, the limits, poison records, aborted records.

Kafka keeps in-flight records in batches and splits them when needed; here each offset has its own entry, which shows
the same states. Batches are kept only where they matter: the batches of the log (a fetch takes whole ones), and the
batch in which a record was delivered when it became suspect. Source: SharePartition.acquire, .nextFetchOffset,
.canAcquireRecords.
NOT MODELLED: that a redelivery in share.acquire.mode batch_optimized also brings the rest of its in-flight batch,
beyond the requested number.
"""

from __future__ import annotations

from kipviz.brokers.checks import Check, Checks, report_value
from kipviz.brokers.context import Context, Effects, LocalCall, Reply
from kipviz.brokers.local_calls import FetchFurther
from kipviz.brokers.logs import partition_log
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.brokers.settings import READ_COMMITTED
from kipviz.brokers.share_leaders.in_flight import InFlight
from kipviz.brokers.share_leaders.share_partition import (
    ParkedFetch,
    SharePartition,
    Status,
    log_start_moved,
    record_moved,
)
from kipviz.core.model import Event
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.events import ABORTED_AT_SOURCE, DELIVERED, NOT_IN_LOG
from kipviz.messages.logs.producing import FetchedRecord
from kipviz.messages.shares.share_groups import (
    RECORD_LIMIT,
    AcquiredRecords,
    FetchedPartition,
    ShareFetch,
    ShareFetchResponse,
)
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.share_group_state import RecordState

S = RecordState


class Catch(Value, frozen=True):
    """What one fetch takes: offsets to deliver, and what happens to others on the way.

    `aborted` belong to aborted transactions of the source, `vanished` are no longer in the log; both are archived.
    `spare` came along in the last log batch and stays free. A fetch that is `too_early` starts before the log's start:
    it takes nothing. It starts at `first` and ends before `end`, with at most `room` records.
    """

    first: int
    end: int
    room: int

    offsets: tuple[int, ...] = ()
    aborted: tuple[int, ...] = ()
    vanished: tuple[int, ...] = ()
    spare: tuple[int, ...] = ()
    too_early: bool = False

    @property
    def nothing(self) -> bool:
        """Whether the fetch has to wait."""
        return not (self.offsets or self.aborted or self.vanished)


def serve(me: SharePartition, on: Context) -> Effects[SharePartition]:
    """Respond to the waiting fetches that can be answered now, first come first served.

    A fetch that requests no records, because it closes the session or renews locks, gets none. A fetch that does not
    wait continues with its further partitions. Only a read before the log's start discovers that the start has moved
    (OFFSET_OUT_OF_RANGE): the SPSO follows it, and the response is empty and without an error. Source:
    ShareFetchUtils.processFetchResponse.
    """
    if me.status is not Status.ACTIVE:
        return Effects(me)
    replies: list[Reply] = []
    events: list[Event] = []
    further: list[LocalCall] = []
    checks: Checks = ()
    for parked in me.parked:
        if parked.acknowledging:
            continue
        catch = catch_records(me, parked.request, on)
        request = parked.request
        checks += (*catch_checks(me, request, catch, on), *_check_acknowledgements(parked))
        if catch.too_early:
            me, followed = log_start_moved(me, on.log(me.partition).start_offset)
            events += followed
        if catch.nothing and not parked.acknowledge_error and request.max_records > 0:
            if request.max_wait_ms and not catch.too_early:
                continue
            if len(request.partitions) > 1:
                following = request.but(partitions=request.partitions[1:])
                further.append(
                    LocalCall(
                        Role.SHARE_PARTITION_LEADER, "", FetchFurther(following, parked.reply_to)
                    )
                )
                me = me.but(parked=tuple(p for p in me.parked if p is not parked))
                continue
        me, part, moves = _acquire(me, parked, catch, on)
        events += moves
        replies.append(Reply(parked.reply_to, ShareFetchResponse(Errors.NONE, (part,))))
        me = me.but(parked=tuple(p for p in me.parked if p is not parked))
    return Effects(
        me, replies=tuple(replies), local=tuple(further), events=tuple(events), checks=checks
    )


def catch_checks(
    me: SharePartition, request: ShareFetch, catch: Catch, on: Context
) -> tuple[Check, ...]:
    """Return the checks of a fetch: where it starts, where reading ends, and how much room there is."""
    if catch.too_early:
        start = on.log(me.partition).start_offset
        return (Check("log start offset", catch.first, start),)
    committed = on.image.group_config(me.group_id).isolation_level == READ_COMMITTED
    bound = "last stable offset" if committed else "high watermark"
    return (
        Check(f"below the {bound}", catch.first, catch.end),
        Check("room for records", request.max_records, max(catch.room, 0)),
        report_value("records to deliver", len(catch.offsets)),
    )


def _check_acknowledgements(parked: ParkedFetch) -> tuple[Check, ...]:
    """Return the error of the acknowledgements that came with a fetch, as a check."""
    error = parked.acknowledge_error
    refused = error is not Errors.NONE
    return (Check("acknowledgements accepted", None, False, error),) if refused else ()


def take_partition(
    me: SharePartition, parked: ParkedFetch, on: Context
) -> tuple[SharePartition, FetchedPartition, list[Event], Checks]:
    """Return the result of one partition of a fetch of several, which may be empty, and the checks."""
    catch = catch_records(me, parked.request, on)
    checks = catch_checks(me, parked.request, catch, on)
    followed: tuple[Event, ...] = ()
    if catch.too_early:
        me, followed = log_start_moved(me, on.log(me.partition).start_offset)
    me, part, moves = _acquire(me, parked, catch, on)
    return me, part, [*followed, *moves], checks


def next_fetch_offset(me: SharePartition) -> int:
    """Return the offset at which the next fetch starts: the first free one, or the first new one."""
    if me.start_offset >= me.next_offset:  # the log starts after everything in memory
        return me.next_offset
    for offset, record in me.records.items():
        if record.state is S.AVAILABLE and not record.ongoing:
            return offset
    return me.next_offset


def catch_records(me: SharePartition, request: ShareFetch, on: Context) -> Catch:
    """Return what a fetch takes: first released records, then new ones from the log.

    It takes records below the high watermark, or below the last stable offset for a read_committed group.
    """
    log = on.log(me.partition)
    committed = on.image.group_config(me.group_id).isolation_level == READ_COMMITTED
    up_to = log.readable_up_to(committed=committed)
    first = next_fetch_offset(me)
    most, end = _room(me, request.max_records, first, up_to, on)
    bounds = Catch(first, up_to, most)
    if most > 0 and first < log.start_offset:
        return bounds.but(too_early=True)
    batches = _batches(me, log, first, up_to, most) if most > 0 else ()
    if not batches:
        return bounds
    base = batches[0].base_offset
    vanished = tuple(
        o for o, r in me.records.items() if first <= o < base and r.state is S.AVAILABLE
    )
    offsets, stopped = _again(me, most, max(base, first), end, on)
    spare: tuple[int, ...] = ()
    if not stopped and len(offsets) < most:
        fresh, spare = _fresh(me, most - len(offsets), end, batches, request.acquire_mode, offsets)
        offsets += fresh
    aborted = _aborted_offsets(log, batches, offsets) if committed else ()
    return bounds.but(
        offsets=tuple(o for o in offsets if o not in aborted),
        aborted=aborted,
        vanished=vanished,
        spare=spare,
    )


def _batches(
    me: SharePartition, log: PartitionLog, first: int, up_to: int, most: int
) -> tuple[Batch, ...]:
    """Return the log's batches that a fetch may use: those in flight, and enough new ones."""
    known = partition_log.read(log, first, min(me.next_offset, up_to))
    fresh = partition_log.read(log, max(first, me.next_offset), up_to, most)
    # It is possible that only the beginning of a batch is in flight.
    both = bool(known and fresh and known[-1] is fresh[0])
    return known + fresh[1:] if both else known + fresh


def _room(me: SharePartition, asked: int, first: int, up_to: int, on: Context) -> tuple[int, int]:
    """Return how many records may be taken, and the offset that ends them.

    The span from the SPSO to the last offset that was ever acquired is limited, whatever the state of the records in
    it: one that stays pending at the front blocks the whole share-partition. Inside the span records can always be
    redelivered.
    """
    span = max(1, me.next_offset - me.start_offset) if len(me.records) else 0
    room = min(asked, on.record_locks_max(me.group_id) - span)
    if room > 0:
        return room, up_to
    return min(asked, me.next_offset - first), min(up_to, me.next_offset)


def _again(
    me: SharePartition, most: int, first: int, end: int, on: Context
) -> tuple[tuple[int, ...], bool]:
    """Return the free offsets that are redelivered, and whether the fetch stops with them.

    A record with too many deliveries might be what kills its consumers. So a batch with such a record is delivered
    alone, half of it at each further attempt, and a record at its last attempt by itself (KIP-932, throttling of poison
    records).
    """
    limit = on.delivery_count_limit(me.group_id)
    suspects = _suspects(me, suspect_from(limit))
    taken: list[int] = []
    batch, cap = None, 0
    for offset, record in me.records.items():
        if record.state is not S.AVAILABLE or record.ongoing or not first <= offset < end:
            continue
        mine = next((b for b in suspects if b[0] <= offset <= b[1]), None)
        count = record.delivery_count
        last_attempt = limit > 2 and count == limit - 1
        if taken and (mine != batch or (batch and last_attempt)):
            return tuple(taken), True
        batch = mine
        if batch and not cap and count >= suspect_from(limit):
            size = batch[1] - batch[0] + 1
            cap = max(1, size >> (count - suspect_from(limit) + 1))
        taken.append(offset)
        if len(taken) == most or (batch and (last_attempt or len(taken) == cap)):
            return tuple(taken), True
    return tuple(taken), batch is not None


def suspect_from(limit: int) -> int:
    """Return the delivery count from which on a released record is suspect."""
    return max(2, (limit + 1) // 2)


def _suspects(me: SharePartition, count: int) -> tuple[tuple[int, int], ...]:
    """Return the batches, by their ends, with a free record that is suspect."""
    return tuple(
        dict.fromkeys(
            (record.batch_first, record.batch_last) if record.batch_first >= 0 else (offset, offset)
            for offset, record in me.records.items()
            if record.delivery_count >= count and record.state is S.AVAILABLE and not record.ongoing
        )
    )


def _fresh(
    me: SharePartition,
    most: int,
    end: int,
    batches: tuple[Batch, ...],
    mode: int,
    taken: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the new offsets, and those of the last log batch beyond the requested number.

    The limit is soft: whole batches of the log are taken. With share.acquire.mode record_limit (KIP-1206) the excess
    stays free.
    """
    new = [b for b in batches if b.last_offset >= me.next_offset]
    if not new or me.next_offset >= end:
        return (), ()
    # A gap in the log belongs to the batch before it, if one fetch takes both.
    begin = me.next_offset if taken else max(me.next_offset, new[0].base_offset)
    last, wanted = min(new[-1].last_offset, end - 1), begin + most - 1
    if last > wanted:
        # Up to the end of the batch that has the offset; in a gap of the log no further than the offset itself.
        ends = (b.last_offset for b in new if b.base_offset <= wanted <= b.last_offset)
        last = next(ends, wanted)
    if mode == RECORD_LIMIT and last > wanted:
        return tuple(range(begin, wanted + 1)), tuple(range(wanted + 1, last + 1))
    return tuple(range(begin, last + 1)), ()


def _aborted_offsets(
    log: PartitionLog, batches: tuple[Batch, ...], offsets: tuple[int, ...]
) -> tuple[int, ...]:
    """Return those of some offsets whose transaction was aborted, without markers."""
    gone = [b for b in batches if not b.control and partition_log.is_aborted(log, b)]
    return tuple(o for o in offsets if any(b.base_offset <= o <= b.last_offset for b in gone))


def _acquire(
    me: SharePartition, parked: ParkedFetch, catch: Catch, on: Context
) -> tuple[SharePartition, FetchedPartition, list[Event]]:
    """Lock the records of a catch for the member that fetches, and return the partition's result."""
    new = (*catch.offsets, *catch.aborted)
    if new and not len(me.records):
        me = me.but(start_offset=min(new))
    records = me.records
    events: list[Event] = []
    for offset in sorted((*catch.aborted, *catch.vanished)):
        before = records.get(offset) or InFlight(S.AVAILABLE)
        counted = before.delivery_count + (offset in catch.aborted)
        after = before.without_staging(S.ARCHIVED, delivery_count=counted)
        records = records.set(offset, after)
        because = ABORTED_AT_SOURCE if offset in catch.aborted else NOT_IN_LOG
        events.append(record_moved(me, offset, before, after, because))
    lock = free_lock(me, catch.offsets[0]) if catch.offsets else -1
    runs = _runs(me, catch.offsets)
    care = suspect_from(on.delivery_count_limit(me.group_id))
    for run in runs:
        bounds = (
            (run.first, run.last) if run.delivery_count >= care and run.last > run.first else ()
        )
        for offset in range(run.first, run.last + 1):
            before = records.get(offset) or InFlight(S.AVAILABLE)
            after = InFlight(
                S.ACQUIRED,
                run.delivery_count,
                parked.request.member_id,
                lock,
                batch_first=before.batch_first,
                batch_last=before.batch_last,
            )
            if bounds and before.batch_first < 0:
                after = after.but(batch_first=bounds[0], batch_last=bounds[1])
            records = records.set(offset, after)
            events.append(record_moved(me, offset, before, after, DELIVERED))
    for offset in catch.spare:
        records = records.set(offset, InFlight(S.AVAILABLE))
    last = max((*new, *catch.spare), default=-1)
    delivered = _fetch_acquired(me, runs, on)
    me = me.but(records=records, next_offset=max(me.next_offset, last + 1))
    error = parked.acknowledge_error
    return me, FetchedPartition(me.partition, Errors.NONE, error, delivered, runs), events


def _runs(me: SharePartition, offsets: tuple[int, ...]) -> tuple[AcquiredRecords, ...]:
    """Return acquired offsets as runs of neighbours with equal delivery counts."""
    runs: list[AcquiredRecords] = []
    for offset in offsets:
        before = me.records.get(offset)
        count = before.delivery_count + 1 if before is not None else 1
        if runs and (runs[-1].last, runs[-1].delivery_count) == (offset - 1, count):
            runs[-1] = runs[-1].but(last=offset)
        else:
            runs.append(AcquiredRecords(offset, offset, count))
    return tuple(runs)


def free_lock(me: SharePartition, first: int) -> int:
    """Return a lock's name: the first offset that it holds, or the next unused number."""
    used = {r.lock for r in me.records.values()}
    while first in used:
        first += 1
    return first


def _fetch_acquired(
    me: SharePartition, runs: tuple[AcquiredRecords, ...], on: Context
) -> tuple[FetchedRecord, ...]:
    """Return the acquired records; a marker's offset has none."""
    if not runs:
        return ()
    values = {}
    for batch in partition_log.read(on.log(me.partition), runs[0].first, runs[-1].last + 1):
        for i, record in enumerate(batch.records):
            assert isinstance(record, DataRecord)
            values[batch.base_offset + i] = record.value
    return tuple(
        FetchedRecord(me.partition, offset, values[offset], run.delivery_count)
        for run in runs
        for offset in range(run.first, run.last + 1)
        if offset in values
    )
