"""The leader of a partition: what may be appended, and what a consumer may read.

WHO: the leader of one partition of a user's topic.
WHERE IN KAFKA: ReplicaManager, UnifiedLog, AddPartitionsToTxnManager (verification).
KIPS: KIP-98, KIP-890 part 2 (the leader enlists its partition; no client adds partitions).
DURABILITY: the state is the log; only what waits for an answer is held here, and a crash loses
  it together with the connections that wait.
NOT MODELLED: the broker's own short retries of CONCURRENT_TRANSACTIONS (20 ms steps up to
  100 ms), the client retries instead; min.insync.replicas; the wait limit of a fetch (it waits
  until there is something).
"""

from __future__ import annotations

from kipviz.brokers import partition_log as logs
from kipviz.brokers.context import (
    NOBODY,
    Context,
    Effects,
    LocalCall,
    Reply,
    ReplyTo,
    Request,
    with_effects,
)
from kipviz.brokers.local import MarkerWritten, WriteMarker
from kipviz.brokers.replication import WaitingForReplicas, appended, due, marker_batch, resigned
from kipviz.core.values import Part, Value
from kipviz.messages.errors import Errors
from kipviz.messages.producing import Fetch, FetchedRecord, FetchResponse, Produce, ProduceResponse
from kipviz.messages.transactions import AddPartitionsToTxn, AddPartitionsToTxnResponse
from kipviz.records.batches import Batch, DataRecord
from kipviz.records.placement import TRANSACTION_STATE

ROLE = "partition_leader"

# What the coordinator's answer to the enlistment means for a Produce request.
PRODUCE_ERROR = {
    Errors.PRODUCER_FENCED: Errors.INVALID_PRODUCER_EPOCH,
    Errors.NETWORK_EXCEPTION: Errors.NOT_ENOUGH_REPLICAS,
    Errors.COORDINATOR_LOAD_IN_PROGRESS: Errors.NOT_ENOUGH_REPLICAS,
    Errors.COORDINATOR_NOT_AVAILABLE: Errors.NOT_ENOUGH_REPLICAS,
    Errors.NOT_COORDINATOR: Errors.NOT_ENOUGH_REPLICAS,
}


class Verifying(Value, frozen=True):
    """A batch that waits until the coordinator has enlisted the partition.

    `guarded` is false once a marker of the producer passed by in the meantime: then the
    coordinator's yes came for a transaction that is over (VerificationGuard).
    """

    request: Produce
    reply_to: ReplyTo
    guarded: bool = True


class ParkedFetch(Value, frozen=True):
    """A fetch that waits until there is something to read (fetch.min.bytes of 1)."""

    request: Fetch
    reply_to: ReplyTo


class PartitionLeader(Part, frozen=True, dict=True):
    """What the leader of a partition holds beside the log."""

    shard: str
    leader_epoch: int
    verifying: tuple[Verifying, ...] = ()
    waiting: tuple[WaitingForReplicas, ...] = ()
    parked: tuple[ParkedFetch, ...] = ()


def on_produce(
    me: PartitionLeader, request: Produce, reply_to: ReplyTo, on: Context
) -> Effects:
    """Append a producer's batch, enlisting the partition first if the transaction is new here.

    WHEN: the producer's sender delivers a batch. CHECKS: duplicate, open transaction, epoch,
    sequence. DOES: asks the coordinator before the first batch of a transaction (KIP-890).
    ANSWERS: when the batch is below the high watermark (acks=all).
    Clause: KIP-890 "Produce v12", ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
    """
    log = on.log(me.shard)
    cached = logs.duplicate_of(log, _batch_of(request, log))
    if cached is not None:
        return _answer_duplicate(me, request, reply_to, cached, on)
    entry = log.producers.get(request.producer_id)
    if (
        entry is not None
        and entry.transaction_first_offset >= 0
        and entry.epoch == request.producer_epoch
    ):
        return _append(me, log, request, reply_to, on, verified=True)
    home = on.image.home_of(TRANSACTION_STATE, request.transactional_id)
    coordinator = on.image.leader_of(home)
    if coordinator == NOBODY:
        return _refuse(me, request, reply_to, Errors.COORDINATOR_NOT_AVAILABLE)
    ask = AddPartitionsToTxn(
        request.transactional_id, request.producer_id, request.producer_epoch, (me.shard,)
    )
    waiting = Verifying(request, reply_to)
    return Effects(
        me.but(verifying=(*me.verifying, waiting)),
        requests=(Request("add-partitions", coordinator, ask, ROLE, me.shard),),
    )


def on_enlisted(
    me: PartitionLeader, answer: AddPartitionsToTxnResponse, on: Context
) -> Effects:
    """Go on with the batches that waited for this enlistment."""
    mine = tuple(
        v
        for v in me.verifying
        if (v.request.producer_id, v.request.producer_epoch)
        == (answer.producer_id, answer.producer_epoch)
    )
    me = me.but(verifying=tuple(v for v in me.verifying if v not in mine))
    log = on.log(me.shard)
    parts = []
    for v in mine:
        if answer.error is Errors.NONE:
            part = _append(me, log, v.request, v.reply_to, on, verified=v.guarded)
        else:
            part = _refuse(me, v.request, v.reply_to, answer.error)
        me = part.state
        for _, batch in part.appends:
            log = logs.append(log, batch)
        parts.append(part)
    return with_effects(me, *parts)


def on_enlistment_lost(me: PartitionLeader, on: Context) -> Effects:
    """The connection to the coordinator broke: the client will have to try again."""
    parts = [_refuse(me, v.request, v.reply_to, Errors.NETWORK_EXCEPTION) for v in me.verifying]
    return with_effects(me.but(verifying=()), *parts)


def on_fetch(me: PartitionLeader, request: Fetch, reply_to: ReplyTo, on: Context) -> Effects:
    """Give records below the LSO (read_committed) or below the high watermark.

    ANSWERS: when there is something to read. Clause: KIP-98 "Read Committed".
    """
    return _serve(me.but(parked=(*me.parked, ParkedFetch(request, reply_to))), on)


def on_write_marker(me: PartitionLeader, marker: WriteMarker, on: Context) -> Effects:
    """End a producer's transaction on this partition with a control batch.

    Clause: KIP-98 "Control Messages"; KIP-1228 for the epoch rule.
    """
    log = on.log(me.shard)
    error = logs.check_marker(
        log,
        marker.producer_id,
        marker.producer_epoch,
        marker.coordinator_epoch,
        marker.transaction_version,
    )
    if error is not Errors.NONE:
        done = MarkerWritten(marker.ticket, me.shard, error)
        return Effects(me, local=(LocalCall("kafka_apis", "", done),))
    batch = marker_batch(log.end_offset, marker)
    verifying = tuple(
        v.but(guarded=False)
        if v.request.producer_id == marker.producer_id
        and v.request.producer_epoch != marker.producer_epoch
        else v
        for v in me.verifying
    )
    done = MarkerWritten(marker.ticket, me.shard, Errors.NONE)
    wait = WaitingForReplicas(batch.base_offset, call=LocalCall("kafka_apis", "", done))
    return Effects(
        me.but(verifying=verifying, waiting=(*me.waiting, wait)),
        appends=((me.shard, batch),),
        events=(appended(me.shard, batch),),
    )


def on_replicated(me: PartitionLeader, on: Context) -> Effects:
    """Say what had to wait for the replicas, and serve the fetches that wait for records."""
    now = due(me.waiting, on.log(me.shard).high_watermark)
    said = Effects(me.but(waiting=now.waiting), replies=now.replies, local=now.local)
    served = _serve(said.state, on)
    return with_effects(served.state, said, served)


def on_resigned(me: PartitionLeader, on: Context) -> Effects:
    """Tell everybody who waits that the partition is led elsewhere now."""
    error = Errors.NOT_LEADER_OR_FOLLOWER
    owed = resigned(me.waiting, error)
    refused = [_refuse(me, v.request, v.reply_to, error) for v in me.verifying]
    parked = tuple(Reply(p.reply_to, FetchResponse(error, me.shard)) for p in me.parked)
    done = Effects(None, replies=(*owed.replies, *parked), local=owed.local)
    return with_effects(None, done, *refused)


def _serve(me: PartitionLeader, on: Context) -> Effects:
    replies, parked = [], []
    for fetch in me.parked:
        answer = _read(me, fetch.request, on)
        if answer.records:
            replies.append(Reply(fetch.reply_to, answer))
        else:
            parked.append(fetch)
    return Effects(me.but(parked=tuple(parked)), replies=tuple(replies))


def _read(me: PartitionLeader, request: Fetch, on: Context) -> FetchResponse:
    """Read on over markers and aborted records, which move the position and are not shown."""
    log = on.log(me.shard)
    up_to = log.last_stable_offset if request.read_committed else log.high_watermark
    records: list[FetchedRecord] = []
    position = request.offset
    for batch in logs.read(log, request.offset, up_to):
        hidden = bool(batch.control) or (request.read_committed and logs.is_aborted(log, batch))
        for i in range(batch.count):
            offset = batch.base_offset + i
            if offset < position or len(records) == request.max_records:
                continue
            if not hidden:
                record = batch.records[i]
                assert isinstance(record, DataRecord)
                records.append(FetchedRecord(me.shard, offset, record.value))
            position = offset + 1
    return FetchResponse(Errors.NONE, me.shard, tuple(records), position)


def _batch_of(request: Produce, log: logs.PartitionLog) -> Batch:
    return Batch(
        log.end_offset,
        request.records,
        request.producer_id,
        request.producer_epoch,
        request.base_sequence,
        transactional=True,
    )


def _append(
    me: PartitionLeader,
    log: logs.PartitionLog,
    request: Produce,
    reply_to: ReplyTo,
    on: Context,
    *,
    verified: bool,
) -> Effects:
    batch = _batch_of(request, log)
    cached = logs.duplicate_of(log, batch)
    if cached is not None:
        # Two copies of one batch waited for the same enlistment; the first one is in the log.
        return _answer_duplicate(me, request, reply_to, cached, on)
    error = logs.check_client_batch(log, batch, verified=verified, origin_client=True)
    if error is not Errors.NONE:
        return _refuse(me, request, reply_to, error)
    answer = ProduceResponse(Errors.NONE, me.shard, request.base_sequence, batch.base_offset)
    wait = WaitingForReplicas(batch.last_offset, Reply(reply_to, answer))
    return Effects(
        me.but(waiting=(*me.waiting, wait)),
        appends=((me.shard, batch),),
        events=(appended(me.shard, batch),),
    )


def _answer_duplicate(
    me: PartitionLeader,
    request: Produce,
    reply_to: ReplyTo,
    cached: logs.SequenceRange,
    on: Context,
) -> Effects:
    """Answer a batch that is in the log already, as soon as it is replicated."""
    answer = ProduceResponse(Errors.NONE, me.shard, request.base_sequence, cached.base_offset)
    wait = WaitingForReplicas(cached.base_offset, Reply(reply_to, answer))
    return on_replicated(me.but(waiting=(*me.waiting, wait)), on)


def _refuse(
    me: PartitionLeader, request: Produce, reply_to: ReplyTo, error: Errors
) -> Effects:
    answer = ProduceResponse(PRODUCE_ERROR.get(error, error), me.shard, request.base_sequence)
    return Effects(me, replies=(Reply(reply_to, answer),))
