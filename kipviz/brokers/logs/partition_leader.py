"""The leader of a partition: it appends batches and serves fetches.

WHO: the leader of one partition of a user's topic.
WHERE IN KAFKA: ReplicaManager, UnifiedLog, AddPartitionsToTxnManager (verification).
KIPS: KIP-98, KIP-890 part 2 (the leader adds its partition to the transaction; no client adds partitions).
DURABILITY: the state is the log. Only waiting requests are held here; a crash loses them with their connections.
NOT MODELLED: the broker's own short retries of CONCURRENT_TRANSACTIONS (20 ms steps up to 100 ms), the client retries
  instead; NOT_ENOUGH_REPLICAS_AFTER_APPEND, for which the high watermark would have to move at the moment when replicas
  are lost; the maximum wait of a fetch (it waits until there are records) and of a batch that is not replicated (its
  client times out instead).
"""

from __future__ import annotations

from collections.abc import Iterator

from kipviz.brokers import deleted_topics
from kipviz.brokers.checks import (
    Check,
    Checks,
    add_translation,
    compare,
    error_of,
    in_order,
    report_value,
)
from kipviz.brokers.context import Context, Effects, LocalCall, Reply, ReplyTo, with_effects
from kipviz.brokers.local_calls import (
    AppendPart,
    Enlisted,
    MarkerWritten,
    PartVerified,
    WriteMarker,
)
from kipviz.brokers.logs import add_to_transaction
from kipviz.brokers.logs import partition_log as logs
from kipviz.brokers.logs.add_to_transaction import Enlisting
from kipviz.brokers.logs.replication import (
    WaitingForReplicas,
    batch_appended,
    due,
    fail_waiting,
    marker_batch,
    marker_checks,
    moved_check,
    replicas_check,
)
from kipviz.brokers.logs.verification import (
    Verification,
    Verifications,
    cannot_matter,
    survives_marker,
    verification_of,
    verifying,
    without,
)
from kipviz.core.values import Part, Value
from kipviz.messages.apis.api import Role
from kipviz.messages.errors import Errors
from kipviz.messages.logs.list_offsets import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsets,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
)
from kipviz.messages.logs.producing import (
    ACKS_ALL,
    Fetch,
    FetchedRecord,
    FetchResponse,
    PartitionData,
    PartitionProduceData,
    PartitionProduceResponse,
    Produce,
    ProduceResponse,
)
from kipviz.records.batches import NO_TIMESTAMP, Batch, DataRecord, size_in_bytes
from kipviz.records.sequences import sequence_after

# The error of a Produce request, by the transaction coordinator's error.
PRODUCE_ERROR = {
    Errors.PRODUCER_FENCED: Errors.INVALID_PRODUCER_EPOCH,
    Errors.NETWORK_EXCEPTION: Errors.NOT_ENOUGH_REPLICAS,
    Errors.COORDINATOR_LOAD_IN_PROGRESS: Errors.NOT_ENOUGH_REPLICAS,
    Errors.COORDINATOR_NOT_AVAILABLE: Errors.NOT_ENOUGH_REPLICAS,
    Errors.NOT_COORDINATOR: Errors.NOT_ENOUGH_REPLICAS,
}
# The same for a client that has added the partition itself: it retries the batch.
VERIFIED_ERROR = {**PRODUCE_ERROR, Errors.CONCURRENT_TRANSACTIONS: Errors.NOT_ENOUGH_REPLICAS}


class ParkedFetch(Value, frozen=True):
    """A fetch that waits until there are records (fetch.min.bytes of 1)."""

    request: Fetch
    reply_to: ReplyTo


class PartitionLeader(Part, frozen=True, cache_hash=True):
    """The state of a partition's leader beside the log.

    `verifications` are of producers whose transaction is being verified here, or whose verification failed.
    """

    shard: str
    leader_epoch: int
    verifying: tuple[Enlisting, ...] = ()
    waiting: tuple[WaitingForReplicas, ...] = ()
    parked: tuple[ParkedFetch, ...] = ()
    verifications: Verifications = ()


def on_produce(
    me: PartitionLeader, request: Produce, reply_to: ReplyTo, on: Context
) -> Effects[PartitionLeader]:
    """Append a producer's batch, after adding the partition to the transaction if it is new there.

    WHEN: the producer's sender delivers a batch. CHECKS: the epoch, before the coordinator is asked; then, at the
    append: duplicate, epoch, addition to the transaction, sequence. DOES: asks the coordinator before the first batch
    of a transaction: to add the partition to the transaction (version 12 and later, transaction version 2), or whether
    the client has added it (KIP-890 part 1, unless the broker is configured not to ask). ANSWERS: when the batch is
    below the high watermark (acks=all).
    Clause: KIP-890 "Produce", ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
    """
    log, (batch,) = on.log(me.shard), request.partition_data
    fence = add_to_transaction.fence_checks(request, batch.identity, log, on)
    if error_of(fence) is not Errors.NONE:
        return _reject(me, request, reply_to, fence)
    if not add_to_transaction.is_new(request, batch.identity, log, on):
        return _append(me, request, reply_to, on, verified=bool(request.transactional_id))
    waiting = Enlisting(request, reply_to, *batch.identity, (me.shard,))
    waiting = add_to_transaction.number_question(me.verifying, waiting, on)
    broker = add_to_transaction.coordinator_of(request.transactional_id, on)
    asked = add_to_transaction.question(
        request.transactional_id, waiting, Role.PARTITION_LEADER, me.shard, broker
    )
    me = _verifying(me, request)
    if asked is None:
        me = _remembering(me, batch.producer_id, on)
        return _reject(me, request, reply_to, add_to_transaction.no_coordinator_checks())
    enlisted = (*fence, report_value("partition added", False))
    waits = Effects(
        me.but(verifying=add_to_transaction.add_waiting(me.verifying, waiting)), checks=enlisted
    )
    return add_to_transaction.ask(waits, asked, on)


def on_enlisted(me: PartitionLeader, call: Enlisted, on: Context) -> Effects[PartitionLeader]:
    """Continue with the batches that waited until the partition was added to the transaction."""
    mine, rest = add_to_transaction.split_waiting(me.verifying, call)
    done = add_to_transaction.continue_each(
        me.but(verifying=rest), mine, call.answer.error, on, _go_on
    )
    return done.but(state=_remembering(done.state, call.asked.producer_id, on))


def on_part(me: PartitionLeader, call: AppendPart, on: Context) -> Effects[PartitionLeader]:
    """Append the batch of one partition of a request for several, or keep it.

    WHEN: KafkaApis has a Produce request for several partitions. CHECKS: as for a request of its own; KafkaApis has
    compared the epoch, and asks the coordinator. DOES: keeps the batch in the meantime.
    ANSWERS: with the result of this partition.
    Clause: ReplicaManager.handleProduceAppend.
    """
    request = call.request
    (batch,) = request.partition_data
    if call.error is not Errors.NONE:
        refused = add_to_transaction.no_coordinator_checks()
        me = _remembering(_verifying(me, request), batch.producer_id, on)
        return _reject(me, request, call.ticket, refused)
    if not call.question:
        return _append(me, request, call.ticket, on, verified=bool(request.transactional_id))
    waiting = Enlisting(
        request, call.ticket, *batch.identity, call.question, asking=add_to_transaction.TOGETHER
    )
    if me.shard in call.question:
        me = _verifying(me, request)
    return Effects(me.but(verifying=add_to_transaction.add_waiting(me.verifying, waiting)))


def on_part_verified(
    me: PartitionLeader, call: PartVerified, on: Context
) -> Effects[PartitionLeader]:
    """Continue with a batch of a request for several partitions, because the coordinator has answered.

    A batch whose partition was in the transaction before continues whatever the result for the others.
    """
    together = (w for w in me.verifying if w.asking == add_to_transaction.TOGETHER)
    waiting = next((w for w in together if w.reply_to == call.ticket), None)
    if waiting is None:
        return Effects(me)
    me = me.but(verifying=tuple(w for w in me.verifying if w is not waiting))
    if waiting.settled:
        return Effects(_remembering(me, waiting.producer_id, on))
    done = _go_on(me, waiting, call.error, on)
    return done.but(state=_remembering(done.state, waiting.producer_id, on))


def on_fetch(
    me: PartitionLeader, request: Fetch, reply_to: ReplyTo, on: Context
) -> Effects[PartitionLeader]:
    """Return records of one partition below the LSO (read_committed) or below the high watermark.

    CHECKS: that the log has the offset, unless the consumer has no auto.offset.reset here (profile small). ANSWERS: when
    there are records, or more batches than the bytes that the request allows; at once if the fetch may not wait;
    OFFSET_OUT_OF_RANGE before the log's start and after its end.
    Clause: KIP-98 "Read Committed"; LocalLog.read, UnifiedLog.checkLogStartOffset.
    """
    log = on.log(me.shard)
    checks = _fetch_checks(log, request, any_offset=on.simplified.reads_on(reply_to.source))
    error = error_of(checks)
    if error is not Errors.NONE:
        answer = FetchResponse((PartitionData(me.shard, error),))
        return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
    others = tuple(p for p in me.parked if p.reply_to.source != reply_to.source)
    return _serve(me.but(parked=(*others, ParkedFetch(request, reply_to))), on).after(checks)


@in_order
def _fetch_checks(log: logs.PartitionLog, request: Fetch, *, any_offset: bool) -> Iterator[Check]:
    """Check that the log has the offset, if it has to, and report where reading ends."""
    (wanted,) = request.partitions
    offset = wanted.fetch_offset
    if not any_offset:
        span = (log.start_offset, log.end_offset)
        there = span[0] <= offset <= span[1]
        yield compare("offset", offset, span, there, Errors.OFFSET_OUT_OF_RANGE)
    if request.read_committed:
        yield Check("last stable offset", offset, log.last_stable_offset)
    else:
        yield Check("high watermark", offset, log.high_watermark)


def on_list_offsets(
    me: PartitionLeader, request: ListOffsets, reply_to: ReplyTo, on: Context
) -> Effects[PartitionLeader]:
    """Return a partition's start or end offset, or the offset of the first record at or after a timestamp.

    WHEN: a consumer has no position, or one that the log does not have, or a client asks. CHECKS: nothing but the leader.
    DOES: nothing. ANSWERS: at once. The end is the last stable offset for a read_committed consumer, and the high
    watermark for others. A record beyond that end is not found by its timestamp either: the offset is then -1, without
    an error, as if the record did not exist. So is what only tiered storage has.
    Clause: KIP-98 "ListOffsets" (isolation level, version 2); KIP-734 (the highest timestamp); KIP-1106;
    Partition.fetchOffsetForTimestamp, UnifiedLog.fetchOffsetByTimestamp, ReplicaManager.fetchOffset.
    """
    (asked,) = request.partitions
    log = on.log(asked.partition)
    checks = (
        report_value("log start offset", log.start_offset),
        report_value("last stable offset", log.last_stable_offset),
        report_value("high watermark", log.high_watermark),
    )
    result = ListOffsetsPartitionResponse(asked.partition, Errors.NONE)
    found = _offset_for(log, asked, committed=request.read_committed)
    if found is not None:
        epoch = on.image.leaders[asked.partition].epoch
        result = result.but(offset=found[0], timestamp_ms=found[1], leader_epoch=epoch)
    return Effects(me, replies=(Reply(reply_to, ListOffsetsResponse((result,))),), checks=checks)


def _offset_for(
    log: logs.PartitionLog, asked: ListOffsetsPartition, *, committed: bool
) -> tuple[int, int] | None:
    """Return the offset that a request asks for, and the timestamp of its record if it was found by that."""
    end = log.readable_up_to(committed=committed)
    if asked.timestamp == LATEST_TIMESTAMP:
        return end, NO_TIMESTAMP
    if asked.timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        return log.start_offset, NO_TIMESTAMP
    found = None
    if asked.timestamp >= 0:
        found = logs.find_by_time(log, asked.timestamp)
    elif asked.timestamp == MAX_TIMESTAMP:
        found = logs.find_highest_time(log)
    return None if found is None or found[0] >= end else found


def on_write_marker(
    me: PartitionLeader, marker: WriteMarker, on: Context
) -> Effects[PartitionLeader]:
    """End a producer's transaction on this partition with a control batch.

    Clause: KIP-98 "Control Messages"; KIP-1228 for the epoch rule.
    """
    log = on.log(me.shard)
    checks = marker_checks(me.shard, log, marker, on, loading=False)
    if error_of(checks) is not Errors.NONE:
        done = MarkerWritten(marker.ticket, me.shard, error_of(checks))
        return Effects(me, local=(LocalCall(Role.KAFKA_APIS, "", done),), checks=checks)
    batch = marker_batch(log.end_offset, marker)
    me = _end_verification(me, marker)
    done = MarkerWritten(marker.ticket, me.shard, Errors.NONE)
    wait = WaitingForReplicas(batch.base_offset, call=LocalCall(Role.KAFKA_APIS, "", done))
    return Effects(
        me.but(waiting=(*me.waiting, wait)),
        appends=((me.shard, batch),),
        events=(batch_appended(me.shard, batch),),
        checks=checks,
    )


def on_replicated(me: PartitionLeader, on: Context) -> Effects[PartitionLeader]:
    """Send the responses that waited for the replicas, and serve the fetches that wait for records."""
    now = due(me.waiting, on.log(me.shard).high_watermark)
    said = Effects(me.but(waiting=now.waiting), replies=now.replies, local=now.local)
    served = _serve(said.state, on)
    return with_effects(served.state, said, served)


def on_resigned(me: PartitionLeader, on: Context) -> Effects[PartitionLeader | None]:
    """Respond to all waiting requests that the partition has another leader, or was deleted.

    Clause: ReplicaManager.getPartitionOrError, when a delayed operation is forced to complete.
    """
    error, _ = deleted_topics.why_lost(me.shard, on.image)
    owed = fail_waiting(me.waiting, error)
    lost = PartitionData(me.shard, error)
    parked = tuple(Reply(p.reply_to, FetchResponse((lost,))) for p in me.parked)
    moved = (moved_check(me.shard, on, error),)
    replies = (*owed.replies, *parked)
    done = Effects(None, replies=replies, local=owed.local, checks=moved if replies else ())
    return with_effects(
        None, done, *_reject_waiting(me, add_to_transaction.still_waiting(me.verifying), moved)
    )


def _serve(me: PartitionLeader, on: Context) -> Effects[PartitionLeader]:
    replies, parked = [], []
    for fetch in me.parked:
        read = _read(me, fetch.request, on)
        waits = fetch.request.max_wait_ms and not read.records
        (wanted,) = fetch.request.partitions
        end = on.log(me.shard).readable_up_to(committed=fetch.request.read_committed)
        if not waits or wanted.fetch_offset < read.next_offset < end:
            replies.append(Reply(fetch.reply_to, FetchResponse((read,))))
        else:
            parked.append(fetch)
    return Effects(me.but(parked=tuple(parked)), replies=tuple(replies))


def _read(me: PartitionLeader, request: Fetch, on: Context) -> PartitionData:
    """Read on over markers and aborted records, which advance the position but are not returned.

    The batches have at most the bytes that the request allows; the first one is returned whatever its size.
    Source: UnifiedLog.read, LogSegment.read (minOneMessage).
    """
    log = on.log(me.shard)
    up_to = log.readable_up_to(committed=request.read_committed)
    records: list[FetchedRecord] = []
    (wanted,) = request.partitions
    position = wanted.fetch_offset
    for batch in _within(wanted.partition_max_bytes, logs.read(log, position, up_to)):
        hidden = bool(batch.control) or (request.read_committed and logs.is_aborted(log, batch))
        for i in range(batch.count):
            offset = batch.base_offset + i
            if offset < position:
                continue
            if not hidden:
                record = batch.records[i]
                assert isinstance(record, DataRecord)
                records.append(FetchedRecord(me.shard, offset, record.value))
            position = offset + 1
    return PartitionData(me.shard, Errors.NONE, tuple(records), position)


def _within(most: int, batches: tuple[Batch, ...]) -> Iterator[Batch]:
    """Yield the batches that have so many bytes together, and the first one in any case."""
    last = len(batches) - 1
    for place, batch in enumerate(batches):
        size = size_in_bytes(batch) if last else 0
        if place and size > most:
            return
        yield batch
        most -= size


def batch_of(request: Produce, sent: PartitionProduceData, log: logs.PartitionLog) -> Batch:
    """Return the batch that is appended to a log for one partition of a request."""
    times = (record.create_time_ms for record in sent.records)
    return Batch(
        log.end_offset,
        sent.records,
        sent.producer_id,
        sent.producer_epoch,
        sent.base_sequence,
        transactional=bool(request.transactional_id),
        max_timestamp_ms=max(times, default=0) or NO_TIMESTAMP,
    )


def _append(
    me: PartitionLeader, request: Produce, reply_to: ReplyTo, on: Context, *, verified: bool
) -> Effects[PartitionLeader]:
    log = on.log(me.shard)
    waits = request.acks == ACKS_ALL
    enough: Checks = (replicas_check(me.shard, on, Errors.NOT_ENOUGH_REPLICAS),) if waits else ()
    if error_of(enough) is not Errors.NONE:
        return _reject(me, request, reply_to, enough)
    (sent,) = request.partition_data
    batch = batch_of(request, sent, log)
    cached = logs.duplicate_of(log, batch, on.rules)
    if cached is not None:
        base_offset, appends = cached.base_offset, False
        checks: Checks = (*enough, report_value("repeats the batch at", base_offset))
    else:
        checks = logs.check_client_batch(
            log,
            batch,
            on.rules,
            verified=verified,
            origin_client=True,
            epoch_first=add_to_transaction.checks_epoch_first(on),
            verification=verification_of(me.verifications, batch.producer_id),
        )
        if error_of(checks) is not Errors.NONE:
            return _reject(me, request, reply_to, checks)
        base_offset, appends = batch.base_offset, True
        me = _drop_verification(me, batch) if batch.transactional else me
    result = PartitionProduceResponse(me.shard, Errors.NONE, base_offset)
    answer = ProduceResponse((result,))
    last, reply = base_offset + len(batch.records) - 1, Reply(reply_to, answer)
    if waits and last >= log.high_watermark:
        me = me.but(waiting=(*me.waiting, WaitingForReplicas(last, reply)))
        replies: tuple[Reply, ...] = ()
    else:
        replies = (reply,)
    return Effects(
        me,
        appends=((me.shard, batch),) if appends else (),
        replies=replies,
        events=(batch_appended(me.shard, batch),) if appends else (),
        checks=checks,
    )


def _go_on(
    me: PartitionLeader, waiting: Enlisting, error: Errors, on: Context
) -> Effects[PartitionLeader]:
    """Append a batch that waited for the coordinator, or reject it with the coordinator's error."""
    request = waiting.request
    assert isinstance(request, Produce)
    answered = add_to_transaction.answer_checks(waiting, error)
    if error is Errors.NONE:
        verified = on.rules.verification_guard(waiting.guarded)
        return _append(me, request, waiting.reply_to, on, verified=verified).after(answered)
    return _reject(me, request, waiting.reply_to, answered)


def _verifying(me: PartitionLeader, request: Produce) -> PartitionLeader:
    """Store that the batch of a request is about to be verified."""
    (batch,) = request.partition_data
    new = Verification(*batch.identity, batch.base_sequence, add_to_transaction.enlists(request))
    return me.but(verifications=verifying(me.verifications, new))


def _remembering(me: PartitionLeader, producer_id: int, on: Context) -> PartitionLeader:
    """Remove a failed verification that would reject nothing of its producer's current epoch, to save states.

    An append has already removed it. Kafka keeps it, and so does a leader if `BrokerSettings.remembers_verifications` is set.
    """
    entry = verification_of(me.verifications, producer_id)
    if entry is None or on.settings.remembers_verifications:
        return me
    if any(waiting.producer_id == producer_id for waiting in me.verifying):
        return me
    known = on.log(me.shard).producers.get(producer_id)
    epoch = known.epoch if known is not None else -1
    following = sequence_after(known.batches[-1].last, 1) if known and known.batches else 0
    if not cannot_matter(entry, epoch, following):
        return me
    return me.but(verifications=without(me.verifications, producer_id))


def _drop_verification(me: PartitionLeader, batch: Batch) -> PartitionLeader:
    """Remove the verification of a producer whose batch is appended: its transaction is now open here.

    Waiting requests with another epoch lose their guard with it; those with the same epoch need none.
    """
    others = (
        w.but(guarded=False)
        if w.producer_id == batch.producer_id and w.producer_epoch != batch.producer_epoch
        else w
        for w in me.verifying
    )
    left = without(me.verifications, batch.producer_id)
    return me.but(verifications=left, verifying=tuple(others))


def _end_verification(me: PartitionLeader, marker: WriteMarker) -> PartitionLeader:
    """Remove the verification of a producer whose transaction a marker has ended, and its waiting requests' guards."""
    who = marker.producer_id
    if survives_marker(me.verifications, who, marker.producer_epoch):
        return me
    waiting = (w.but(guarded=False) if w.producer_id == who else w for w in me.verifying)
    return me.but(verifying=tuple(waiting), verifications=without(me.verifications, who))


def _reject_waiting(
    me: PartitionLeader, waiting: tuple[Enlisting, ...], checks: Checks
) -> tuple[Effects[PartitionLeader], ...]:
    rejected = []
    for each in waiting:
        assert isinstance(each.request, Produce)
        rejected.append(_reject(me, each.request, each.reply_to, checks))
    return tuple(rejected)


def _reject(
    me: PartitionLeader, request: Produce, reply_to: ReplyTo, checks: Checks
) -> Effects[PartitionLeader]:
    means = PRODUCE_ERROR if add_to_transaction.enlists(request) else VERIFIED_ERROR
    error = error_of(checks)
    checks = add_translation(checks, "error to a producer", None, means.get(error, error))
    result = PartitionProduceResponse(me.shard, error_of(checks))
    answer = ProduceResponse((result,))
    return Effects(me, replies=(Reply(reply_to, answer),), checks=checks)
