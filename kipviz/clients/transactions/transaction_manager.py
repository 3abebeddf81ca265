"""The transaction manager: an identity, the life cycle of its transactions, and their requests.

WHO: a part of a client process. A producer holds one beside its batches; a TransactionSession (KIP-1310, draft) is
  one that no producer holds.
WHERE IN KAFKA: TransactionManager, with its TxnRequestHandlers.
KIPS: KIP-98, KIP-360, KIP-447, KIP-890; KIP-939: prepareTransaction, completeTransaction and
  initTransactions(keepPreparedTxn) are in the client since 4.1, the broker's part is a draft; KIP-1289 (draft) adds
  one call, KIP-1309 (draft) a heartbeat.
DURABILITY: none; a crash loses all of it, and the next process fences it.
NOT MODELLED: FindCoordinator where there are no ACLs and for groups; Metadata (but for topics that are waited for and
  for the ids that `topic_ids` asks for).

It knows no batch. Like Kafka's nextRequest(hasIncompleteBatches), it gets whether some are `incomplete`: in the
accumulator, or in flight. Batches and their sequences are in `kipviz.clients.sending`.
"""

from __future__ import annotations

from typing import Literal

from kipviz.clients.throwing.client_errors import Raised, StatePoisoned, request_error
from kipviz.clients.timers import SenderBackOff, SenderRest, ShortSenderBackOff
from kipviz.clients.transactions import producer_errors, stagings, topic_ids
from kipviz.clients.transactions.partitions_to_add import adding, partitions_of
from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.clients.transactions.producer_errors import ends_the_transaction
from kipviz.clients.transactions.producer_state import TRANSITIONS, ProducerState, Result
from kipviz.clients.transactions.topic_ids import BY_ID, TopicIds
from kipviz.core.values import Part, Value
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.apis.client_errors import NOT_ALLOWED
from kipviz.messages.cluster.coordinators import (
    TRANSACTION,
    FindCoordinator,
    FindCoordinatorResponse,
)
from kipviz.messages.cluster.features import (
    LAST_ADD_PARTITIONS,
    LAST_END_TXN,
    LAST_TXN_OFFSET_COMMIT,
    STAGING_LEVEL,
    Features,
)
from kipviz.messages.cluster.metadata import MetadataResponse
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups.groups import GroupOffset, TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.messages.logs.producing import PartitionProduceResponse, Produce
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import TxnShareAcknowledge, TxnShareAcknowledgeResponse
from kipviz.messages.transactions.group_transactions import InitProducerIdOfGroup
from kipviz.messages.transactions.liveness import TxnHeartbeatResponse
from kipviz.messages.transactions.transactions import (
    NO_TIME_LIMIT,
    TWO_PHASE,
    AddOffsetsToTxn,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    EndTxn,
    EndTxnResponse,
    InitProducerId,
    InitProducerIdResponse,
    TxnPartitions,
)
from kipviz.settings.client_configs import TRANSACTION_TIMEOUT_MS

S = ProducerState
BEFORE_THE_END = (AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit)
# After these errors the coordinator is looked up again. Source: TransactionManager's handlers.
MOVED = (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE)
SENDS = (S.IN_TRANSACTION, S.COMMITTING_TRANSACTION)


class TransactionManager(Part, frozen=True):
    """An identity and the life cycle of its transactions, with the requests in its name.

    `queue` are the transactional requests to send, `on_wire` the one in flight; only one is at a time, as in Kafka.
    `done` says that the call the application waits for has ended. `session` names the TransactionSession that has lent
    this manager to a producer (KIP-1310, draft), "" where it is held. `two_phase_commit` is
    transaction.two.phase.commit.enable. `preparing` says that prepareTransaction() waits for the batches, and for
    stagings with `acknowledgements_first`; `prepared` is its result, or the recovered one.

    `finalized` is the level of transaction.version that the last new connection reported, `version` that of the current
    transaction: it changes only between two transactions. Below 2, `partitions` have been added to the transaction,
    `to_add` still have to be, and `bump` says that the client must bump the epoch when the transaction ends. `topics`
    are the topic ids that it has looked up, `accepted` the partitions of a TxnOffsetCommit that is sent again whose
    offsets the group coordinator has, `newest_offset_commit` the version that the brokers know, `share_version`
    the level of that feature that the last new connection reported, and `staging_level` the level that staging needs.
    `dropped` are stagings that failed; their consumer learns of it in the same step. `timed_out` is the call that timed
    out after max.block.ms and must be repeated. `group_id` is transactional.group.id (KIP-447, first draft): the
    identity is valid for one generation of that group. `backs_off` says that the sender backs off before a retry,
    `rests` is its current back-off, "" if none. `finds` says that it looks up its coordinator before it sends anything there (where
    ACLs may forbid that), `found` that it knows the coordinator. `results` are what several threads wait for
    (`kipviz.clients.transactions.results`).
    """

    transactional_id: str
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS.default
    state: ProducerState = S.UNINITIALIZED
    producer_id: int = -1
    producer_epoch: int = -1
    transaction_started: bool = False
    queue: tuple[Message, ...] = ()
    on_wire: Message | None = None
    on_wire_broker: int = -1
    done: bool = False
    error: Raised = ""
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
    accepted: tuple[str, ...] = ()
    newest_offset_commit: int = BY_ID
    heartbeat_interval_ms: int = 0
    share_version: int = STAGING_LEVEL
    dropped: tuple[TxnShareAcknowledge, ...] = ()
    timed_out: str = ""
    staging_level: int = STAGING_LEVEL
    acknowledgements_first: bool = False
    group_id: str = ""
    backs_off: bool = False
    rests: SenderRest | Literal[""] = ""
    finds: bool = False
    found: bool = False
    results: tuple[Result, ...] = ()

    @property
    def implicit(self) -> bool:
        """Whether brokers add partitions by themselves (transaction version 2)."""
        return self.version >= 2

    @property
    def identity(self) -> tuple[int, int]:
        """The producer id and epoch."""
        return (self.producer_id, self.producer_epoch)


class Failure(Value, frozen=True):
    """A failed request, or the response to one, and its error; of a batch, the result for its partition."""

    about: Message | PartitionProduceResponse
    error: Errors


# -- calls of the application thread ----------------------------------------------------------


def init_transactions(
    me: TransactionManager, *, keep_prepared_txn: bool = False, told_ms: int = -1
) -> TransactionManager:
    """Ask for a producer id and epoch; earlier producers with the same transactional id are fenced. Blocks.

    Their open transaction is aborted, or kept with `keep_prepared_txn` (KIP-939). The request reports the heartbeat
    interval, or `told_ms`.
    """
    request = InitProducerId(me.transactional_id, me.transaction_timeout_ms)
    if me.two_phase_commit or keep_prepared_txn or me.heartbeat_interval_ms:
        limit = NO_TIME_LIMIT if me.two_phase_commit else me.transaction_timeout_ms
        request = InitProducerId(
            me.transactional_id,
            limit,
            version=TWO_PHASE,
            enable_2pc=me.two_phase_commit,
            keep_prepared_txn=keep_prepared_txn,
            heartbeat_interval_ms=me.heartbeat_interval_ms if told_ms < 0 else told_ms,
        )
    return _change_state(me, S.INITIALIZING).but(queue=(*me.queue, request), done=False, error="")


def begin_transaction(me: TransactionManager) -> TransactionManager:
    """Begin a transaction, purely locally."""
    return _change_state(me, S.IN_TRANSACTION).but(transaction_started=False)


def resume(
    me: TransactionManager, identity: tuple[str, int, int], version: int = -1
) -> TransactionManager:
    """Continue a transaction that another process began: (transactional id, producer id, epoch).

    It starts IN_TRANSACTION. No request is sent, and no producer is fenced. `version` is the transaction version in
    which it began, -1 if unknown.
    """
    name, producer_id, epoch = identity
    return me.but(
        transactional_id=name,
        producer_id=producer_id,
        producer_epoch=epoch,
        state=S.IN_TRANSACTION,
        transaction_started=True,
        version=version if version >= 0 else me.version,
    )


def enlisting(me: TransactionManager, partition: str) -> TransactionManager:
    """Note that a partition is in the transaction; below version 2 it must be added first."""
    return me.but(transaction_started=True) if me.implicit else adding(me, (partition,))


def send_offsets(
    me: TransactionManager,
    group_id: str,
    member_id: str,
    member_epoch: int,
    offsets: tuple[GroupOffset, ...],
    instance_id: str = "",
) -> TransactionManager:
    """Add a group's offsets to the transaction. Blocks until the group coordinator has them.

    Under transaction versions 0 and 1 AddOffsetsToTxn goes to the transaction coordinator first.
    """
    who = (me.transactional_id, group_id, me.producer_id, me.producer_epoch)
    version = me.newest_offset_commit if me.implicit else LAST_TXN_OFFSET_COMMIT
    request = TxnOffsetCommit(
        *who, member_id, member_epoch, offsets, version, instance_id=instance_id
    )
    asked = topic_ids.next_metadata(me.topics, request, me.newest_offset_commit)
    if me.implicit:
        return me.but(queue=(*me.queue, *asked, request), transaction_started=True, done=False)
    first = AddOffsetsToTxn(me.transactional_id, me.producer_id, me.producer_epoch, group_id)
    return me.but(queue=(*me.queue, *asked, first, request), done=False)


# A share group's acknowledgements are added in the same way.
send_share_acknowledgements = stagings.send_share_acknowledgements


def prepare_transaction(
    me: TransactionManager, *, incomplete: bool, acknowledgements_first: bool = False
) -> TransactionManager:
    """Flush, and accept no more records: afterwards both outcomes are possible. Blocks.

    No request is sent for it: the coordinator sees an ongoing transaction as before (KIP-939).
    """
    me = me.but(preparing=True, done=False, error="", acknowledgements_first=acknowledgements_first)
    return prepared_when_flushed(me, incomplete=incomplete)


def prepared_when_flushed(me: TransactionManager, *, incomplete: bool) -> TransactionManager:
    """Enter PREPARED_TRANSACTION as soon as no batch is left, if the application waits for that."""
    waits = incomplete or (me.acknowledgements_first and stagings.unanswered(me))
    if not me.preparing or waits or me.state is not S.IN_TRANSACTION:
        return me
    prepared = PreparedTxnState(me.producer_id, me.producer_epoch)
    return _change_state(me, S.PREPARED_TRANSACTION).but(
        preparing=False, prepared=prepared, done=True
    )


def ends_at_once(me: TransactionManager) -> bool:
    """Return whether a transaction of version 2 ends without a request, because nothing was sent in it."""
    return me.implicit and not me.transaction_started


def end_transaction(
    me: TransactionManager, *, committed: bool, incomplete: bool
) -> TransactionManager:
    """Commit or abort. Blocks until the coordinator has decided, not until the markers are written.

    A transaction in which nothing was sent ends locally. It ends in the version in which it began; the next one has the
    version that the cluster has reported by then, and a client that comes from below 2 bumps its epoch before.
    """
    me = _change_state(me, S.COMMITTING_TRANSACTION if committed else S.ABORTING_TRANSACTION)
    end = EndTxn(
        me.transactional_id,
        me.producer_id,
        me.producer_epoch,
        committed,
        5 if me.implicit else LAST_END_TXN,
    )
    if ends_at_once(me) and not incomplete:
        me = _change_state(_with_finalized(me), S.READY)
        return me.but(done=True, error="", prepared=PreparedTxnState())
    if not committed:
        # Queued requests are still sent, and go before the end (TransactionManager.Priority).
        asked = tuple(m for m in me.queue if isinstance(m, BEFORE_THE_END))
        me = stagings.dropping(me, *me.queue).but(queue=asked, to_add=())
    me = _with_finalized(me)
    me = me.but(queue=(*me.queue, end, *_bumping(me)), done=False, error="")
    return ended_locally(me, incomplete=incomplete)


def _with_finalized(me: TransactionManager) -> TransactionManager:
    """Use the transaction version that the cluster has reported for the next transaction.

    Source: TransactionManager.maybeUpdateTransactionV2Enabled.
    """
    if (me.finalized >= 2) == me.implicit:
        return me
    return me.but(version=me.finalized, bump=me.bump or me.finalized >= 2)


def _bumping(me: TransactionManager) -> tuple[InitProducerId, ...]:
    """Return the request for the next epoch, if the client must bump it itself (KIP-360)."""
    who = (me.transactional_id, me.transaction_timeout_ms, me.producer_id, me.producer_epoch)
    return (InitProducerId(*who),) if me.bump else ()


# -- its requests ---------------------------------------------------------------------------------


def note_features(me: TransactionManager, features: Features) -> TransactionManager:
    """Learn the finalized feature levels from a new connection (ApiVersions)."""
    return me.but(
        share_version=features.share_version,
        staging_level=features.staging_level,
        finalized=features.transaction_version,
        newest_offset_commit=features.txn_offset_commit,
    )


def next_request(
    me: TransactionManager, *, incomplete: bool = False, flying: bool = False
) -> Message | None:
    """Return the transactional request to send next, if none is in flight.

    EndTxn waits until no batch is left, and a new identity for a group's generation until none is `flying`. Below
    transaction version 2 partitions are added before anything else but InitProducerId. Source:
    TransactionManager.nextRequest.
    """
    if me.on_wire is not None:
        return None
    return _finding_first(me, _next_in_turn(me, incomplete=incomplete, flying=flying))


def _next_in_turn(me: TransactionManager, *, incomplete: bool, flying: bool) -> Message | None:
    """Return the next request, whether or not its coordinator is known."""
    if me.to_add and me.state in SENDS:
        identity = (me.transactional_id, me.producer_id, me.producer_epoch)
        asked = TxnPartitions(*identity, me.to_add)
        return AddPartitionsToTxn((asked,), LAST_ADD_PARTITIONS)
    if not me.queue:
        return None
    request: Message = me.queue[0]
    if isinstance(request, EndTxn) and incomplete:
        return None
    if isinstance(request, InitProducerIdOfGroup) and flying:
        return None
    if isinstance(request, TxnOffsetCommit):
        return None if me.topics.refused else topic_ids.build_request(me.topics, request)
    return request


def _finding_first(me: TransactionManager, request: Message | None) -> Message | None:
    """Return the request to send now: without a known coordinator, FindCoordinator comes first.

    Source: Sender.maybeSendAndPollTransactionalRequest, TransactionManager.lookupCoordinator.
    """
    if request is None or not me.finds or me.found or not _is_for_coordinator(request):
        return request
    return FindCoordinator(TRANSACTION, (me.transactional_id,))


def _is_for_coordinator(request: Message) -> bool:
    """Return whether the transaction coordinator serves a request, and no other broker."""
    return api_of(request).role is Role.TRANSACTION_COORDINATOR


def note_sent(me: TransactionManager, request: Message, broker: int) -> TransactionManager:
    """Note that a request to a broker is in flight."""
    if isinstance(request, AddPartitionsToTxn) and partitions_of(request) == me.to_add:
        return me.but(on_wire=request, on_wire_broker=broker, to_add=())
    if isinstance(request, FindCoordinator):
        return me.but(on_wire=request, on_wire_broker=broker)
    queue = (*stagings.remaining_staging(me.queue[0], request), *me.queue[1:])
    return me.but(on_wire=request, on_wire_broker=broker, queue=queue)


def on_answer(
    me: TransactionManager, message: Message, *, incomplete: bool
) -> tuple[TransactionManager, Failure | None]:
    """Handle a response: continue, retry, or return what has failed.

    Clause: KIP-98 "Producer", KIP-890 (identity of the next transaction in EndTxn version 5); TransactionManager's
    handlers.
    """
    request = me.on_wire
    if request is None:
        return me, None
    me = me.but(on_wire=None, on_wire_broker=-1)
    error = producer_errors.error_of(message)
    request, error = stagings.rejected_parts(request, message, error)
    if isinstance(request, TxnOffsetCommit) and isinstance(message, TxnOffsetCommitResponse):
        me, error = _note_accepted(me, request, message, error)
    if error is not Errors.NONE:
        return _on_error(me, request, error)
    match message:
        case InitProducerIdResponse():
            assert isinstance(request, InitProducerId)
            version = me.finalized if request.producer_id < 0 else me.version
            if isinstance(request, InitProducerIdOfGroup):
                me = _forget_identity(me)
            return _use_identity(me.but(version=version, bump=False), message), None
        case AddPartitionsToTxnResponse():
            (only,) = message.results
            added = (*me.partitions, *only.partitions)
            return me.but(partitions=added, transaction_started=True), None
        case AddOffsetsToTxnResponse():
            return me.but(transaction_started=True), None
        case EndTxnResponse() if message.producer_id < 0:
            return _begins_anew(me), None
        case EndTxnResponse():
            bumped = me.but(
                producer_id=message.producer_id,
                producer_epoch=message.producer_epoch,
                prepared=PreparedTxnState(),
            )
            return _begins_anew(bumped), None
        case FindCoordinatorResponse():
            return me.but(found=True), None
        case MetadataResponse():
            return me.but(topics=topic_ids.learn_ids(me.topics, message.topics)), None
        case TxnOffsetCommitResponse() if me.state is S.IN_TRANSACTION:
            return me.but(done=not any(isinstance(m, TxnOffsetCommit) for m in me.queue)), None
        case TxnShareAcknowledgeResponse():
            return prepared_when_flushed(me, incomplete=incomplete), None
        case TxnOffsetCommitResponse() | TxnHeartbeatResponse():
            return me, None  # no call waits: it ended with an error, or never waits
        case _:
            raise AssertionError(f"no producer asked for {type(message).__name__}")


def _note_accepted(
    me: TransactionManager, request: TxnOffsetCommit, answer: TxnOffsetCommitResponse, error: Errors
) -> tuple[TransactionManager, Errors]:
    """Note the partitions whose offsets the group coordinator has, and return the error that is left.

    A retry sends the whole request again. It is done once each partition was accepted, in whichever response.
    Source: TransactionManager.TxnOffsetCommitHandler (pendingTxnOffsetCommits). NOT MODELLED: Kafka's producer keeps
    one set for all of its requests. If a call timed out and a second one sends other offsets of the same partitions,
    the response to the first request takes them from the set, and a rejected second request is not sent again.
    """
    if error not in RETRIABLE:
        return me.but(accepted=()), error
    has = {*me.accepted, *(r.partition for r in answer.results if r.error is Errors.NONE)}
    accepted = tuple(o.partition for o in request.offsets if o.partition in has)
    if len(accepted) == len(request.offsets):
        return me.but(accepted=()), Errors.NONE
    return me.but(accepted=accepted), error


def _forget_identity(me: TransactionManager) -> TransactionManager:
    """Forget the state of the previous identity (KIP-447, first draft)."""
    return me.but(partitions=(), to_add=(), transaction_started=False)


def _use_identity(me: TransactionManager, answer: InitProducerIdResponse) -> TransactionManager:
    """Use the identity; a transaction that was kept is prepared, whichever producer wrote it."""
    me = me.but(producer_id=answer.producer_id, producer_epoch=answer.producer_epoch, done=True)
    if answer.ongoing_txn_producer_id < 0:
        return _change_state(me, S.READY)
    prepared = PreparedTxnState(answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)
    return _change_state(me, S.PREPARED_TRANSACTION).but(
        prepared=prepared, transaction_started=True
    )


def _begins_anew(me: TransactionManager) -> TransactionManager:
    """Start again after EndTxn: up to version 4 with the same epoch, unless the client must bump it.

    The bump is an InitProducerId with the current identity (KIP-360), and the call that ended the transaction waits for
    it, too. It is in the queue if that call knew of it. If the need appears later, while the transaction ends, no call
    requests it, and the producer stays INITIALIZING. A client that learned of version 2 when it wanted to commit, and
    must abort, sends EndTxn 5 and still bumps its epoch. Sequences continue as long as the epoch does. Source:
    TransactionManager.resetTransactionState.
    """
    me = me.but(partitions=(), transaction_started=False)
    if not me.bump:
        return _change_state(me, S.READY).but(done=True)
    asked = any(isinstance(m, InitProducerId) for m in me.queue)
    return _change_state(me, S.INITIALIZING).but(bump=asked, done=not asked)


def ended_locally(me: TransactionManager, *, incomplete: bool) -> TransactionManager:
    """End a transaction that the coordinator never learned of (transaction versions 0 and 1)."""
    ends = bool(me.queue) and isinstance(me.queue[0], EndTxn)
    waits = me.on_wire is not None or incomplete or me.to_add
    if not ends or me.transaction_started or waits:
        return me
    return _begins_anew(me.but(queue=me.queue[1:]))


def on_disconnected(me: TransactionManager, broker: int) -> TransactionManager:
    """Put the request of a broken connection back; its coordinator must be looked up again."""
    lost = me.on_wire
    if lost is None or me.on_wire_broker != broker:
        return me
    me = _resting(me, lost)
    again = () if isinstance(lost, FindCoordinator) else (lost,)
    known = me.found and not _is_for_coordinator(lost)
    return me.but(queue=(*again, *me.queue), on_wire=None, on_wire_broker=-1, found=known)


def _on_error(
    me: TransactionManager, request: Message, error: Errors
) -> tuple[TransactionManager, Failure | None]:
    if error in MOVED and _is_for_coordinator(request):
        me = me.but(found=False)  # it is not the coordinator, or no longer
    if not producer_errors.may_be_asked_again(request, error):
        return me, Failure(request, error)
    if isinstance(request, FindCoordinator):
        return me, None
    if error is Errors.UNKNOWN_TOPIC_ID:
        me = me.but(topics=me.topics.but(refused=True))
    else:
        me = _resting(me, request, error)
    return me.but(queue=(request, *me.queue)), None


def _resting(
    me: TransactionManager, request: Message, error: Errors = Errors.NONE
) -> TransactionManager:
    """Let the sender back off before it retries a transactional request, if it backs off at all."""
    if not me.backs_off:
        return me
    first = isinstance(request, AddPartitionsToTxn) and not me.partitions
    short = first and error is Errors.CONCURRENT_TRANSACTIONS
    return me.but(rests=ShortSenderBackOff() if short else SenderBackOff())


def enter_error(me: TransactionManager, failure: Failure) -> TransactionManager:
    """Enter ABORTABLE_ERROR or FATAL_ERROR and drop the requests to send.

    During an abort an abortable error changes nothing, unless it is the abort's own: then nothing is left to do.
    """
    about, error = failure.about, failure.error
    if me.state is S.FATAL_ERROR:
        return me
    of_batch = isinstance(about, PartitionProduceResponse)
    request = api_of(about).request if isinstance(about, Message) else Produce
    if error is Errors.INVALID_PRODUCER_EPOCH and not of_batch:
        error = Errors.PRODUCER_FENCED  # transactional requests treat the two as one
    fenced_by_group = bool(me.group_id) and error is Errors.PRODUCER_FENCED
    abortable = fenced_by_group or ends_the_transaction(request, error)
    if me.state is S.ABORTING_TRANSACTION and abortable:
        if not isinstance(about, EndTxn):
            return stagings.dropping(me, about)
        abortable = False
    # From READY, where no transaction is open, the sender must not enter that state, and poisons the state.
    poisoned = abortable and not (me.session or S.ABORTABLE_ERROR in TRANSITIONS[me.state])
    abortable = abortable and not poisoned
    completing = (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION)
    fails_batch = of_batch and me.state not in completing
    me = _change_state(me, S.ABORTABLE_ERROR if abortable else S.FATAL_ERROR)
    if isinstance(about, InitProducerId) and error in NOT_ALLOWED:
        me = _change_state(me, S.UNINITIALIZED)
    return stagings.dropping(me, about, *me.queue).but(
        queue=(),
        to_add=(),
        accepted=(),
        bump=me.bump or (fails_batch and not me.implicit),
        done=True,
        preparing=False,
        rests="",
        error=StatePoisoned() if poisoned else request_error(request, error),
    )


def restart(me: TransactionManager) -> TransactionManager:
    """Return the manager of the process's next life: with its transactional id, without an identity."""
    return TransactionManager(
        me.transactional_id,
        me.transaction_timeout_ms,
        session=me.session,
        two_phase_commit=me.two_phase_commit,
        heartbeat_interval_ms=me.heartbeat_interval_ms,
        topics=me.topics.anew,
        group_id=me.group_id,
        backs_off=me.backs_off,
        finds=me.finds,
    )


def _change_state(me: TransactionManager, state: ProducerState) -> TransactionManager:
    """Change the state; `TRANSITIONS` has the valid next states.

    The failure of a producer that has borrowed a manager is its own, and may come in any state of the session.
    """
    assert me.session or state in TRANSITIONS[me.state], (me.state, state)
    return me.but(state=state)
