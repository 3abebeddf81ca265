"""The transactional producer: an application thread that calls, a sender that talks.

WHO: a client process. WHERE IN KAFKA: KafkaProducer, TransactionManager, Sender.
KIPS: KIP-98, KIP-360, KIP-447, KIP-890; KIP-939: prepareTransaction, completeTransaction and
  initTransactions(keepPreparedTxn) are in the client since 4.1, the broker's part is a draft;
  KIP-1289 (draft) adds one call.
DURABILITY: none; a crash loses all of it, and the next process fences it.
NOT MODELLED: batching by size and time (what one send() brings is one batch), FindCoordinator where
  there are no ACLs and for groups, Metadata (but for topics that are waited for and for the ids that
  `topic_ids` asks for), compression; the futures of send(): a record that an abort drops has a
  TransactionAbortedException there (RecordAccumulator.abortUndrainedBatches); that under transaction version 2 an abort goes on with a batch
  whose connection broke until delivery.timeout.ms, and several batches of a partition in flight:
  `pipelined_producer` has both.
"""

from __future__ import annotations

from typing import TypeVar

from kipviz.clients.sending import awaited_topics, sender, stray_records
from kipviz.clients.sending.awaited_topics import KnownTopics
from kipviz.clients.sending.outgoing import OutgoingBatch, without, without_unsent
from kipviz.clients.transactions import (
    producer_errors,
    producer_state,
    producer_timers,
    stagings,
    topic_ids,
)
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_errors import EXPIRED, NOT_ALLOWED, ends_the_transaction
from kipviz.clients.transactions.stagings import dropping
from kipviz.clients.transactions.topic_ids import BY_ID, TopicIds
from kipviz.core.table import Table
from kipviz.core.values import Part
from kipviz.messages.coordinators import FindCoordinator, FindCoordinatorResponse
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.features import (
    LAST_END_TXN,
    LAST_TXN_OFFSET_COMMIT,
    STAGING_LEVEL,
    Features,
)
from kipviz.messages.group_transactions import InitProducerIdOfGroup
from kipviz.messages.groups import GroupOffset, TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.messages.liveness import TxnHeartbeatResponse
from kipviz.messages.message import Message
from kipviz.messages.metadata import MetadataResponse
from kipviz.messages.producing import Produce, ProduceResponse
from kipviz.messages.share_groups import (
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
)
from kipviz.messages.two_phase import (
    NO_TIME_LIMIT,
    InitProducerId2Pc,
    InitProducerId2PcResponse,
)
from kipviz.records.batches import DataRecord
from kipviz.records.sequences import sequence_after

ProducerState = producer_state.ProducerState
TRANSITIONS = producer_state.TRANSITIONS
S = ProducerState
BEFORE_THE_END = (AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit)


class Producer(Part, frozen=True):
    """What the producer holds between two calls.

    `queue` are the transactional requests to send, `on_wire` the one that is; only one is at a time, as in
    Kafka. `done` says that the call the application waits for has ended. `session` names the
    TransactionSession that the producer is bound to (KIP-1310, draft), "" where it has its own.
    `two_phase_commit` is transaction.two.phase.commit.enable. `preparing` says that prepareTransaction()
    waits for the batches, and for stagings with `votes_first`, `prepared` is what it gave, or what was
    recovered.

    `finalized` is the level of transaction.version that the last new connection told, `version` the
    one in which the present transaction is carried out: it changes between two transactions only.
    Below 2, `partitions` have been added to the transaction, `to_add` have to be, and `bump` says
    that the epoch has to be bumped by the client when the transaction is over. `topics` are the ids
    of topics that it has looked up, `newest_offset_commit` the version that the brokers know,
    `share_version` the level of that feature that the last new connection told, and `staging_level` the
    one that staging takes. `dropped` are stagings that came to nothing; who staged is told in the same
    step. `timed_out` is the call that came back after max.block.ms and has to be made again. `group_id` is
    transactional.group.id (KIP-447, first draft): the identity is good for one generation of that group.
    `network` is the producer of whose sender and connections this is one transactional id more (KIP-447,
    a rejected alternative), "" for one that has its own. `backs_off` says that
    the sender rests before a request goes out again, `rests` which rest it has now. `there` are the
    topics that it may write to without asking first. `finds` says that it looks for its coordinator
    before anything is sent there (where ACLs may forbid that), `found` that it has it. `results` are what
    several threads wait for (`kipviz.clients.transactions.results`), `stray` what a send() that threw has left.
    """

    source: str
    transactional_id: str
    transaction_timeout_ms: int = 60_000
    state: ProducerState = S.UNINITIALIZED
    producer_id: int = -1
    producer_epoch: int = -1
    transaction_started: bool = False
    sequences: Table[str, int] = Table.of()
    batches: tuple[OutgoingBatch, ...] = ()
    queue: tuple[Message, ...] = ()
    on_wire: Message | None = None
    on_wire_broker: int = -1
    done: bool = False
    error: str = ""
    session: str = ""
    two_phase_commit: bool = False
    preparing: bool = False
    prepared: PreparedTxnState = PreparedTxnState()
    finalized: int = 2
    version: int = 2
    partitions: tuple[str, ...] = ()
    to_add: tuple[str, ...] = ()
    bump: bool = False
    member_at_init: tuple[str, int] = ("", -1)
    topics: TopicIds = TopicIds()
    newest_offset_commit: int = BY_ID
    heartbeat_interval_ms: int = 0
    share_version: int = STAGING_LEVEL
    dropped: tuple[TxnShareAcknowledge, ...] = ()
    timed_out: str = ""
    staging_level: int = STAGING_LEVEL
    votes_first: bool = False
    group_id: str = ""
    network: str = ""
    backs_off: bool = False
    rests: str = ""
    there: KnownTopics = KnownTopics()
    finds: bool = False
    found: bool = False
    results: tuple[producer_state.Result, ...] = ()
    stray: tuple[OutgoingBatch, ...] = ()

    @property
    def state_name(self) -> str:
        """The state as the client itself calls it."""
        return self.state.value

    @property
    def implicit(self) -> bool:
        """Whether brokers enlist partitions by themselves (transaction version 2)."""
        return self.version >= 2


# A producer, or what has its TransactionManager: a TransactionSession (KIP-1310).
P = TypeVar("P", bound=Producer)

# -- calls of the application thread ----------------------------------------------------------


def init_transactions(
    me: Producer, *, keep_prepared_txn: bool = False, told_ms: int = -1
) -> Producer:
    """Ask for an identity; earlier producers with the same name are fenced. Blocks.

    An open transaction of theirs is aborted, or kept, if `keep_prepared_txn` says so (KIP-939). What is
    told of heartbeats is their interval, or `told_ms`.
    """
    request = InitProducerId(me.transactional_id, me.transaction_timeout_ms)
    if me.two_phase_commit or keep_prepared_txn or me.heartbeat_interval_ms:
        limit = NO_TIME_LIMIT if me.two_phase_commit else me.transaction_timeout_ms
        request = InitProducerId2Pc(
            me.transactional_id,
            limit,
            enable_2pc=me.two_phase_commit,
            keep_prepared_txn=keep_prepared_txn,
            heartbeat_interval_ms=me.heartbeat_interval_ms if told_ms < 0 else told_ms,
        )
    return _to(me, S.INITIALIZING).but(queue=(*me.queue, request), done=False, error="")


def begin_transaction(me: Producer) -> Producer:
    """Start a transaction, purely locally."""
    return _to(me, S.IN_TRANSACTION).but(transaction_started=False)


def send(me: Producer, partition: str, records: tuple[DataRecord, ...]) -> Producer:
    """Put records into the accumulator; the sender takes them from there.

    It waits for the metadata of a topic of which the producer knows nothing, max.block.ms at most.
    """
    if awaited_topics.is_unknown(me.there, partition):
        return awaited_topics.asking(me, partition, records)
    me, records = stray_records.taken_along(me, partition, records)
    sequence = me.sequences.get(partition, 0)
    batch = OutgoingBatch(partition, records, sequence)
    me = me.but(
        batches=(*me.batches, batch),
        sequences=me.sequences.set(partition, sequence_after(sequence, len(records))),
    )
    return enlisting(me, partition)


def enlisting(me: P, partition: str) -> P:
    """Note that a partition is in the transaction; below version 2 it has to be added first."""
    return me.but(transaction_started=True) if me.implicit else adding(me, (partition,))


def adding(me: P, partitions: tuple[str, ...]) -> P:
    """Note that AddPartitionsToTxn has to go out for those of some partitions that are not in it."""
    known = (*me.partitions, *me.to_add, *producer_state.being_added(me))
    new = tuple(partition for partition in partitions if partition not in known)
    return me.but(to_add=(*me.to_add, *new)) if new else me


def send_offsets(
    me: Producer,
    group_id: str,
    member_id: str,
    member_epoch: int,
    offsets: tuple[GroupOffset, ...],
    instance_id: str = "",
) -> Producer:
    """Stage a group's offsets in the transaction. Blocks until the group coordinator has them.

    Under transaction versions 0 and 1 AddOffsetsToTxn goes to the transaction coordinator first.
    """
    who = (me.transactional_id, group_id, me.producer_id, me.producer_epoch)
    version = me.newest_offset_commit if me.implicit else LAST_TXN_OFFSET_COMMIT
    request = TxnOffsetCommit(
        *who, member_id, member_epoch, offsets, version, instance_id=instance_id
    )
    asked = topic_ids.asked(me.topics, request, me.newest_offset_commit)
    if me.implicit:
        return me.but(queue=(*me.queue, *asked, request), transaction_started=True, done=False)
    first = AddOffsetsToTxn(me.transactional_id, me.producer_id, me.producer_epoch, group_id)
    return me.but(queue=(*me.queue, *asked, first, request), done=False)


# What a share group's member stages, too.
send_share_acknowledgements = stagings.send_share_acknowledgements


def prepare_transaction(me: Producer, *, votes_first: bool = False) -> Producer:
    """Flush, and then accept no more records: from here on both outcomes are possible. Blocks.

    No request says so: the coordinator sees an ongoing transaction as before (KIP-939).
    """
    me = me.but(preparing=True, done=False, error="", votes_first=votes_first)
    return prepared_when_flushed(me)


def complete_transaction(me: P, stored: PreparedTxnState) -> P:
    """End a prepared transaction as the database says: commit if it has this one's state, else abort.

    There is no third outcome: what the database has not heard of is aborted (KIP-939).
    """
    return end_transaction(me, committed=stored == me.prepared)


def end_transaction(me: P, *, committed: bool) -> P:
    """Commit or abort. Blocks until the coordinator has decided, not until markers are written.

    An abort drops what was not sent yet. A transaction in which nothing was sent ends locally. It
    ends in the version in which it began; the next one has the version that the cluster has told
    by now, and a client that comes from below 2 bumps its epoch before.
    """
    me = _to(me, S.COMMITTING_TRANSACTION if committed else S.ABORTING_TRANSACTION)
    end = EndTxn(
        me.transactional_id,
        me.producer_id,
        me.producer_epoch,
        committed,
        5 if me.implicit else LAST_END_TXN,
    )
    if not committed and me.stray:
        me = me.but(stray=())
    if me.implicit and not me.transaction_started and not me.stray:
        me = _to(_with_finalized(me), S.READY)
        return me.but(done=True, error="", prepared=PreparedTxnState())
    if not committed:
        # What was asked for is sent all the same, and goes before the end (TransactionManager.Priority).
        asked = tuple(m for m in me.queue if isinstance(m, BEFORE_THE_END))
        me = dropping(without_unsent(me), *me.queue).but(queue=asked, to_add=())
    me = _with_finalized(me)
    me = me.but(queue=(*me.queue, end, *producer_state.bumping(me)), done=False, error="")
    return ended_locally(me)


def _with_finalized(me: P) -> P:
    """Take the transaction version that the cluster has told for the next transaction.

    Source: TransactionManager.maybeUpdateTransactionV2Enabled.
    """
    if (me.finalized >= 2) == me.implicit:
        return me
    return me.but(version=me.finalized, bump=me.bump or me.finalized >= 2)


def connected(me: Producer, features: Features) -> Producer:
    """Learn the finalized feature levels, as a new connection tells them (ApiVersions)."""
    me = me.but(share_version=features.share_version, staging_level=features.staging_level)
    told = (features.transaction_version, features.txn_offset_commit)
    return me.but(finalized=told[0], newest_offset_commit=told[1])


# -- the sender ---------------------------------------------------------------------------------


def next_request(me: Producer) -> Message | None:
    """Give what the sender puts on the wire next, or None when it has nothing to send.

    A transactional request goes before a batch, and no batch goes while one is on the wire. EndTxn waits
    until no batch is left. Below transaction version 2 a batch waits until its partition is added, and
    partitions are added before anything else but InitProducerId. Source: Sender.runOnce,
    TransactionManager.nextRequest.
    """
    if me.state is S.FATAL_ERROR or me.rests:
        return None
    request = next_transactional(me)
    return request if request is not None or me.on_wire is not None else sender.next_batch(me)


def next_transactional(me: Producer) -> Message | None:
    """Give the transactional request that goes out next, if none is on the wire."""
    if me.on_wire is not None:
        return None
    return sender.finding_first(me, sender.next_in_turn(me))


def sent(me: P, request: Message, broker: int) -> tuple[P, Message]:
    """Note that a request is on the wire to a broker."""
    if isinstance(request, Produce):
        out = tuple((part.partition, part.base_sequence) for part in request.parts)
        batches = tuple(
            b.but(broker=broker, sent=not me.implicit)
            if (b.partition, b.base_sequence) in out
            else b
            for b in me.batches
        )
        return me.but(batches=batches), request
    if isinstance(request, AddPartitionsToTxn) and request.partitions == me.to_add:
        return me.but(on_wire=request, on_wire_broker=broker, to_add=()), request
    if isinstance(request, FindCoordinator):
        return me.but(on_wire=request, on_wire_broker=broker), request
    queue = (*stagings.left_over(me.queue[0], request), *me.queue[1:])
    return me.but(on_wire=request, on_wire_broker=broker, queue=queue), request


def on_response(me: P, message: Message) -> P:
    """Take an answer: go on, try again, or enter an error state.

    Clause: KIP-98 "Producer", KIP-890 (identity of the next transaction in EndTxn version 5);
    TransactionManager's handlers.
    """
    if isinstance(message, ProduceResponse):
        for part in message.parts:
            me = _on_produced(me, part)
        return ended_locally(me)
    return ended_locally(_on_answer(me, message))


def _on_answer(me: P, message: Message) -> P:
    request = me.on_wire
    if request is None:
        return me
    me = me.but(on_wire=None, on_wire_broker=-1)
    error = producer_errors.said(message)
    request, error = stagings.refused(request, message, error)
    if error is not Errors.NONE:
        return _on_error(me, request, error)
    match message:
        case InitProducerIdResponse():
            assert isinstance(request, InitProducerId)
            version = me.finalized if request.producer_id < 0 else me.version
            if isinstance(request, InitProducerIdOfGroup):
                me = producer_state.anew(me)
            return _initialised(me.but(version=version, bump=False), message)
        case AddPartitionsToTxnResponse():
            return me.but(
                partitions=(*me.partitions, *message.partitions), transaction_started=True
            )
        case AddOffsetsToTxnResponse():
            return me.but(transaction_started=True)
        case EndTxnResponse() if message.producer_id < 0:
            return _begins_anew(me)
        case EndTxnResponse():
            bumped = me.but(
                producer_id=message.producer_id,
                producer_epoch=message.producer_epoch,
                sequences=Table.of(),
                prepared=PreparedTxnState(),
            )
            return _begins_anew(bumped)
        case FindCoordinatorResponse():
            return me.but(found=True)
        case MetadataResponse():
            refused = awaited_topics.why_refused(me.there, message)
            if refused is not Errors.NONE:
                return fail(me, ProduceResponse(refused, me.there.held[0][0], -1), refused)
            known = me.but(topics=topic_ids.learned(me.topics, message.topics))
            return awaited_topics.told(known, message)
        case TxnOffsetCommitResponse() if message.refused and me.state is S.IN_TRANSACTION:
            assert isinstance(request, TxnOffsetCommit)
            return _on_error(me, topic_ids.left(request, message), message.refused[0].error)
        case TxnOffsetCommitResponse() if me.state is S.IN_TRANSACTION:
            return me.but(done=not any(isinstance(m, TxnOffsetCommit) for m in me.queue))
        case TxnShareAcknowledgeResponse():
            return prepared_when_flushed(me)
        case TxnOffsetCommitResponse() | TxnHeartbeatResponse():
            return me  # nobody waits: the call was over with an error, or it never waits
        case _:
            raise AssertionError(f"no producer asked for {type(message).__name__}")


def _begins_anew(me: P) -> P:
    """Begin anew after EndTxn: up to version 4 with the same epoch, unless the client has to bump it.

    The bump is an InitProducerId with the identity so far (KIP-360), and the call that ended the
    transaction waits for it, too. It is in the queue if that call knew of it: what comes to light
    later, while the transaction ends, is asked for by nobody, and the producer stays INITIALIZING.
    A client that heard of version 2 when it wanted to commit, and has to abort, sends EndTxn 5 and bumps its
    epoch all the same. Sequences go on where the epoch does. Source: TransactionManager.resetTransactionState.
    """
    me = me.but(partitions=(), transaction_started=False)
    if not me.bump:
        return _to(me, S.READY).but(done=True)
    asked = any(isinstance(m, InitProducerId) for m in me.queue)
    return _to(me, S.INITIALIZING).but(bump=asked, done=not asked)


def ended_locally(me: P) -> P:
    """End a transaction of which the coordinator has never heard (transaction versions 0 and 1)."""
    ends = bool(me.queue) and isinstance(me.queue[0], EndTxn)
    waits = me.on_wire is not None or me.batches or me.to_add or me.stray
    if not ends or me.transaction_started or waits:
        return me
    return _begins_anew(me.but(queue=me.queue[1:]))


def on_disconnected(me: P, broker: int) -> P:
    """Send again what was on a broken connection; the brokers recognise repeats."""
    me = me.but(batches=tuple(b.but(broker=-1) if b.broker == broker else b for b in me.batches))
    if me.on_wire is not None and me.on_wire_broker == broker:
        me = sender.taken_back(sender.resting(me, me.on_wire))
    return ended_locally(me if me.state is not S.ABORTING_TRANSACTION else without_unsent(me))


def expiring(me: Producer) -> OutgoingBatch | None:
    """Give the batch for which delivery.timeout.ms may be over: the oldest that is not on the wire."""
    return next((b for b in (*me.stray, *me.batches) if b.broker < 0), None)


def expired(me: P) -> P:
    """Give a batch up after delivery.timeout.ms.

    Whether it arrived is not known if it was sent: below transaction version 2 the client bumps its
    epoch when the transaction is over, so that its sequences can begin anew (KIP-360). Source:
    Sender.sendProducerData, TransactionManager.maybeResolveSequences.
    """
    batch = expiring(me)
    assert batch is not None
    unknown = batch.sent and not me.implicit
    if unknown:
        me = me.but(batches=tuple(b for b in me.batches if b is not batch), bump=True)
    else:
        me = without(me, (batch,)).but(stray=tuple(b for b in me.stray if b is not batch))
    if me.state is S.ABORTING_TRANSACTION:
        return ended_locally(me)
    return fail(me, ProduceResponse(EXPIRED, batch.partition, batch.base_sequence), EXPIRED)


def restarted(me: P, life: int) -> P:
    """Give the producer of the process's next life: it has the transactional id, no identity."""
    return type(me)(
        me.source,
        me.transactional_id,
        me.transaction_timeout_ms,
        session=me.session,
        two_phase_commit=me.two_phase_commit,
        heartbeat_interval_ms=me.heartbeat_interval_ms,
        topics=me.topics.anew,
        group_id=me.group_id,
        network=me.network,
        backs_off=me.backs_off,
        there=me.there.anew,
        finds=me.finds,
    )


# What is due of itself, and what happens then.
timers = producer_timers.timers
running = producer_timers.running
on_timer = producer_timers.on_timer


def _initialised(me: P, answer: InitProducerIdResponse) -> P:
    """Take the identity; a transaction that was kept is prepared, whoever wrote it."""
    me = me.but(
        producer_id=answer.producer_id,
        producer_epoch=answer.producer_epoch,
        sequences=Table.of(),
        done=True,
    )
    if not isinstance(answer, InitProducerId2PcResponse) or answer.ongoing_txn_producer_id < 0:
        return _to(me, S.READY)
    prepared = PreparedTxnState(answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)
    return _to(me, S.PREPARED_TRANSACTION).but(prepared=prepared, transaction_started=True)


def prepared_when_flushed(me: P) -> P:
    """Enter PREPARED_TRANSACTION as soon as no batch is left, if the application waits for that."""
    waits = me.batches or me.stray or (me.votes_first and stagings.unanswered(me))
    if not me.preparing or waits or me.state is not S.IN_TRANSACTION:
        return me
    prepared = PreparedTxnState(me.producer_id, me.producer_epoch)
    return _to(me, S.PREPARED_TRANSACTION).but(preparing=False, prepared=prepared, done=True)


def _on_produced(me: P, answer: ProduceResponse) -> P:
    key = (answer.partition, answer.base_sequence)
    batch = next((b for b in me.batches if (b.partition, b.base_sequence) == key), None)
    if batch is None:
        return me
    if answer.error in RETRIABLE and not (me.state is S.ABORTING_TRANSACTION and me.implicit):
        return me.but(batches=tuple(b.but(broker=-1) if b is batch else b for b in me.batches))
    if answer.error is Errors.NONE:
        return prepared_when_flushed(me.but(batches=tuple(b for b in me.batches if b is not batch)))
    me = without(me, (batch,))
    if me.state is S.ABORTING_TRANSACTION:
        return me
    return fail(me, answer, answer.error)


def _on_error(me: P, request: Message, error: Errors) -> P:
    me = sender.looking_again(me, request, error)
    if producer_errors.may_be_asked_again(request, error):
        if isinstance(request, FindCoordinator):
            return me
        if error is Errors.UNKNOWN_TOPIC_ID:
            me = me.but(topics=me.topics.but(refused=True))
        else:
            me = sender.resting(me, request, error)
        return me.but(queue=(request, *me.queue))
    return fail(me, request, error)


def fail(me: P, about: Message, error: Errors) -> P:
    """Enter ABORTABLE_ERROR or FATAL_ERROR and drop what was to be sent.

    While an abort is under way an abortable error changes nothing, unless it is the abort's own:
    nothing is left to do then.
    """
    if me.state is S.FATAL_ERROR:
        return me
    name = type(about).__name__.removesuffix("Response")
    if error is Errors.INVALID_PRODUCER_EPOCH and name != "Produce":
        error = Errors.PRODUCER_FENCED  # to every transactional request the two are one
    fenced_by_group = bool(me.group_id) and error is Errors.PRODUCER_FENCED
    abortable = fenced_by_group or ends_the_transaction(name, error)
    if me.state is S.ABORTING_TRANSACTION and abortable:
        if not isinstance(about, EndTxn):
            return dropping(me, about)
        abortable = False
    # From READY, where no transaction is open, the sender may not step there, and poisons the state.
    poisoned = abortable and not (me.session or S.ABORTABLE_ERROR in TRANSITIONS[me.state])
    abortable = abortable and not poisoned
    completing = (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION)
    fails_batch = isinstance(about, ProduceResponse) and me.state not in completing
    me = _to(without_unsent(me), S.ABORTABLE_ERROR if abortable else S.FATAL_ERROR)
    if isinstance(about, InitProducerId) and error in NOT_ALLOWED:
        me = _to(me, S.UNINITIALIZED)
    me = awaited_topics.after_failure(me, about, error)
    return dropping(me, about, *me.queue).but(
        queue=(),
        to_add=(),
        bump=me.bump or (fails_batch and not me.implicit),
        done=True,
        preparing=False,
        stray=(),
        rests="",
        error=producer_errors.POISONED if poisoned else f"{name}: {error.name}",
    )


def _to(me: P, state: ProducerState) -> P:
    """Go to another state; the table says which ones there are from here.

    A bound producer has no life cycle of its own: its session has.
    """
    assert me.session or state in TRANSITIONS[me.state], (me.state, state)
    return me.but(state=state)
