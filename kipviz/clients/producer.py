"""The transactional producer: an application thread that calls, a sender that talks.

WHO: a client process. WHERE IN KAFKA: KafkaProducer, TransactionManager, Sender.
KIPS: KIP-98, KIP-360, KIP-447, KIP-890 part 2; KIP-939: prepareTransaction, completeTransaction and
  initTransactions(keepPreparedTxn) are in the client since 4.1, the broker's part is a draft;
  KIP-1289 (draft) adds one call.
DURABILITY: none; a crash loses all of it, and the next process fences it.
NOT MODELLED: batching by size and time (what one send() brings is one batch), max.block.ms and
  delivery timeouts, FindCoordinator and Metadata, several batches in flight per partition,
  transaction versions 0 and 1, compression.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from kipviz.clients.prepared_txn_state import PreparedTxnState
from kipviz.core.table import Table
from kipviz.core.values import Part, Value
from kipviz.messages.errors import RETRIABLE, Errors
from kipviz.messages.groups import GroupOffset, TxnOffsetCommit, TxnOffsetCommitResponse
from kipviz.messages.message import Message
from kipviz.messages.producing import Produce, ProduceResponse
from kipviz.messages.share_groups import (
    AcknowledgementBatch,
    TxnShareAcknowledge,
    TxnShareAcknowledgeResponse,
)
from kipviz.messages.transactions import (
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


class ProducerState(StrEnum):
    """The states of the client's TransactionManager."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    PREPARED_TRANSACTION = "PREPARED_TRANSACTION"
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


S = ProducerState

# state -> states it may go to (TransactionManager.State.isTransitionValid)
TRANSITIONS: dict[ProducerState, tuple[ProducerState, ...]] = {
    S.UNINITIALIZED: (S.INITIALIZING, S.FATAL_ERROR),
    S.INITIALIZING: (S.READY, S.PREPARED_TRANSACTION, S.ABORTABLE_ERROR, S.FATAL_ERROR),
    S.READY: (S.IN_TRANSACTION, S.FATAL_ERROR),
    S.IN_TRANSACTION: (
        S.PREPARED_TRANSACTION,
        S.COMMITTING_TRANSACTION,
        S.ABORTING_TRANSACTION,
        S.ABORTABLE_ERROR,
        S.FATAL_ERROR,
    ),
    S.PREPARED_TRANSACTION: (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION, S.FATAL_ERROR),
    S.COMMITTING_TRANSACTION: (S.READY, S.ABORTABLE_ERROR, S.FATAL_ERROR),
    S.ABORTING_TRANSACTION: (S.READY, S.FATAL_ERROR),
    S.ABORTABLE_ERROR: (S.ABORTING_TRANSACTION, S.ABORTABLE_ERROR, S.FATAL_ERROR),
    S.FATAL_ERROR: (S.FATAL_ERROR,),
}

# The errors of a batch that end the producer; any other one ends only the transaction.
# Source: TransactionManager.maybeTransitionToErrorState.
FATAL_OF_PRODUCE = (Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_ID_MAPPING)

# Which errors of a transactional request end only the transaction; any other that is not
# retriable ends the producer.
ABORTABLE: dict[str, tuple[Errors, ...]] = {
    "TxnOffsetCommit": (
        Errors.ILLEGAL_GENERATION,
        Errors.UNKNOWN_MEMBER_ID,
        Errors.STALE_MEMBER_EPOCH,
        Errors.GROUP_ID_NOT_FOUND,
        Errors.TRANSACTION_ABORTABLE,
    ),
    # KIP-1289: "KafkaException for other non-fatal errors that may be retried by aborting".
    # A new leader has no lock of ours, so being sent there ends the transaction too (X10).
    "TxnShareAcknowledge": (
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.INVALID_RECORD_STATE,
        Errors.INVALID_REQUEST,
        Errors.NOT_COORDINATOR,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.UNKNOWN_MEMBER_ID,
        Errors.STALE_MEMBER_EPOCH,
        Errors.FENCED_LEADER_EPOCH,
        Errors.FENCED_STATE_EPOCH,
        Errors.TRANSACTION_ABORTABLE,
    ),
    "EndTxn": (Errors.TRANSACTION_ABORTABLE,),
    "InitProducerId": (Errors.TRANSACTION_ABORTABLE,),
    "InitProducerId2Pc": (
        Errors.TRANSACTION_ABORTABLE,
        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
}


class OutgoingBatch(Value, frozen=True):
    """One batch on its way to a partition leader; `broker` is -1 while it is not on the wire."""

    partition: str
    records: tuple[DataRecord, ...]
    base_sequence: int
    broker: int = -1


class Producer(Part, frozen=True, dict=True):
    """What the producer holds between two calls.

    `queue` are the transactional requests to send, `on_wire` the one that is; only one is at a
    time, as in Kafka. `done` says that the call the application waits for has ended. `session` names
    the TransactionSession that the producer is bound to (KIP-1310, draft), "" where it has its own.
    `two_phase_commit` is transaction.two.phase.commit.enable. `preparing` says that
    prepareTransaction() waits for the batches, `prepared` is what it gave, or what was recovered.
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

    @property
    def state_name(self) -> str:
        """The state as the client itself calls it."""
        return self.state.value


# A producer, or what has its TransactionManager: a TransactionSession (KIP-1310).
P = TypeVar("P", bound=Producer)


# -- calls of the application thread ----------------------------------------------------------


def init_transactions(me: Producer, *, keep_prepared_txn: bool = False) -> Producer:
    """Ask for an identity; earlier producers with the same name are fenced. Blocks.

    An open transaction of theirs is aborted, or kept, if `keep_prepared_txn` says so (KIP-939).
    """
    request = InitProducerId(me.transactional_id, me.transaction_timeout_ms)
    if me.two_phase_commit or keep_prepared_txn:
        limit = NO_TIME_LIMIT if me.two_phase_commit else me.transaction_timeout_ms
        request = InitProducerId2Pc(
            me.transactional_id,
            limit,
            enable_2pc=me.two_phase_commit,
            keep_prepared_txn=keep_prepared_txn,
        )
    return _to(me, S.INITIALIZING).but(queue=(*me.queue, request), done=False)


def begin_transaction(me: Producer) -> Producer:
    """Start a transaction, purely locally."""
    return _to(me, S.IN_TRANSACTION).but(transaction_started=False)


def send(me: Producer, partition: str, records: tuple[DataRecord, ...]) -> Producer:
    """Put records into the accumulator; the sender takes them from there."""
    sequence = me.sequences.get(partition, 0)
    batch = OutgoingBatch(partition, records, sequence)
    return me.but(
        batches=(*me.batches, batch),
        sequences=me.sequences.set(partition, sequence + len(records)),
        transaction_started=True,
    )


def send_offsets(
    me: Producer, group_id: str, member_id: str, member_epoch: int, offsets: tuple[GroupOffset, ...]
) -> Producer:
    """Stage a group's offsets in the transaction. Blocks until the group coordinator has them."""
    request = TxnOffsetCommit(
        me.transactional_id,
        group_id,
        me.producer_id,
        me.producer_epoch,
        member_id,
        member_epoch,
        offsets,
    )
    return me.but(queue=(*me.queue, request), transaction_started=True, done=False)


def send_share_acknowledgements(
    me: P,
    group_id: str,
    member_id: str,
    member_epoch: int,
    partition: str,
    acknowledgements: tuple[AcknowledgementBatch, ...],
) -> P:
    """Stage a share group's acknowledgements. Returns at once; errors surface at commit.

    Status: draft (KIP-1289). The draft does not say that this starts the transaction; without
    that a transaction of acknowledgements alone would never send EndTxn (finding X11).
    """
    request = TxnShareAcknowledge(
        me.transactional_id,
        group_id,
        me.producer_id,
        me.producer_epoch,
        member_id,
        member_epoch,
        partition,
        acknowledgements,
    )
    return me.but(queue=(*me.queue, request), transaction_started=True)


def prepare_transaction(me: Producer) -> Producer:
    """Flush, and then accept no more records: from here on both outcomes are possible. Blocks.

    No request says so: the coordinator sees an ongoing transaction as before (KIP-939).
    """
    return _prepared(me.but(preparing=True, done=False, error=""))


def complete_transaction(me: Producer, stored: PreparedTxnState) -> Producer:
    """End a prepared transaction as the database says: commit if it has this one's state, else abort.

    There is no third outcome: what the database has not heard of is aborted (KIP-939).
    """
    return end_transaction(me, committed=stored == me.prepared)


def end_transaction(me: Producer, *, committed: bool) -> Producer:
    """Commit or abort. Blocks until the coordinator has decided, not until markers are written.

    An abort drops what was not sent yet. A transaction in which nothing was sent ends locally.
    """
    me = _to(me, S.COMMITTING_TRANSACTION if committed else S.ABORTING_TRANSACTION)
    if not me.transaction_started:
        return _to(me, S.READY).but(done=True, error="", prepared=PreparedTxnState())
    queue = me.queue if committed else ()
    batches = me.batches if committed else tuple(b for b in me.batches if b.broker >= 0)
    end = EndTxn(me.transactional_id, me.producer_id, me.producer_epoch, committed)
    return me.but(queue=(*queue, end), batches=batches, done=False, error="")


# -- the sender ---------------------------------------------------------------------------------


def next_request(me: Producer) -> Message | None:
    """Give what the sender puts on the wire next, or None when it has nothing to send.

    A batch goes before a transactional request, and EndTxn waits until no batch is left.
    """
    if me.state is S.FATAL_ERROR:
        return None
    for batch in me.batches:
        earlier = (b for b in me.batches if b.partition == batch.partition)
        if batch.broker < 0 and next(earlier) is batch and me.state is not S.ABORTABLE_ERROR:
            return Produce(
                me.transactional_id,
                batch.partition,
                me.producer_id,
                me.producer_epoch,
                batch.base_sequence,
                batch.records,
            )
    if not me.queue or me.on_wire is not None:
        return None
    request = me.queue[0]
    if isinstance(request, EndTxn) and me.batches:
        return None
    return request


def sent(me: Producer, request: Message, broker: int) -> tuple[Producer, Message]:
    """Note that a request is on the wire to a broker."""
    if isinstance(request, Produce):
        key = (request.partition, request.base_sequence)
        batches = tuple(
            b.but(broker=broker) if (b.partition, b.base_sequence) == key else b for b in me.batches
        )
        return me.but(batches=batches), request
    return me.but(on_wire=request, on_wire_broker=broker, queue=me.queue[1:]), request


def on_response(me: Producer, message: Message) -> Producer:
    """Take an answer: go on, try again, or enter an error state.

    Clause: KIP-98 "Producer", KIP-890 (identity of the next transaction in EndTxn version 5);
    TransactionManager's handlers.
    """
    if isinstance(message, ProduceResponse):
        return _on_produced(me, message)
    request = me.on_wire
    if request is None:
        return me
    me = me.but(on_wire=None, on_wire_broker=-1)
    error: Errors = getattr(message, "error")  # noqa: B009  every answer to a producer has one
    if error is not Errors.NONE:
        return _on_error(me, request, error)
    match message:
        case InitProducerIdResponse():
            return _initialised(me, message)
        case EndTxnResponse():
            return _to(me, S.READY).but(
                producer_id=message.producer_id,
                producer_epoch=message.producer_epoch,
                sequences=Table.of(),
                transaction_started=False,
                done=True,
                prepared=PreparedTxnState(),
            )
        case TxnOffsetCommitResponse() if me.state is S.IN_TRANSACTION:
            return me.but(done=True)
        case TxnOffsetCommitResponse() | TxnShareAcknowledgeResponse():
            return me  # nobody waits: the call was over with an error, or it never waits
        case _:
            raise AssertionError(f"no producer asked for {type(message).__name__}")


def on_disconnected(me: Producer, broker: int) -> Producer:
    """Send again what was on a broken connection; the brokers recognise repeats."""
    me = me.but(batches=tuple(b.but(broker=-1) if b.broker == broker else b for b in me.batches))
    if me.on_wire is not None and me.on_wire_broker == broker:
        me = me.but(queue=(me.on_wire, *me.queue), on_wire=None, on_wire_broker=-1)
    return me if me.state is not S.ABORTING_TRANSACTION else _without_unsent(me)


def restarted(me: Producer, life: int) -> Producer:
    """Give the producer of the process's next life: it has the transactional id, no identity."""
    return Producer(
        me.source,
        me.transactional_id,
        me.transaction_timeout_ms,
        session=me.session,
        two_phase_commit=me.two_phase_commit,
    )


def _initialised(me: Producer, answer: InitProducerIdResponse) -> Producer:
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


def _prepared(me: Producer) -> Producer:
    """Enter PREPARED_TRANSACTION as soon as no batch is left, if the application waits for that."""
    if not me.preparing or me.batches:
        return me
    prepared = PreparedTxnState(me.producer_id, me.producer_epoch)
    return _to(me, S.PREPARED_TRANSACTION).but(preparing=False, prepared=prepared, done=True)


def _on_produced(me: Producer, answer: ProduceResponse) -> Producer:
    key = (answer.partition, answer.base_sequence)
    batch = next((b for b in me.batches if (b.partition, b.base_sequence) == key), None)
    if batch is None:
        return me
    if answer.error in RETRIABLE and me.state is not S.ABORTING_TRANSACTION:
        return me.but(batches=tuple(b.but(broker=-1) if b is batch else b for b in me.batches))
    me = me.but(batches=tuple(b for b in me.batches if b is not batch))
    if answer.error is Errors.NONE or me.state is S.ABORTING_TRANSACTION:
        return _prepared(me)
    return fail(me, answer, answer.error)


def _on_error(me: Producer, request: Message, error: Errors) -> Producer:
    if may_be_asked_again(request, error):
        return me.but(queue=(request, *me.queue))
    return fail(me, request, error)


def may_be_asked_again(request: Message, error: Errors) -> bool:
    """Say whether a transactional request goes out again after this error."""
    return error in RETRIABLE and error not in ABORTABLE.get(type(request).__name__, ())


def fail(me: P, about: Message, error: Errors) -> P:
    """Enter ABORTABLE_ERROR or FATAL_ERROR and drop what was to be sent.

    While an abort is under way an abortable error changes nothing, unless it is the abort's own:
    nothing is left to do then.
    """
    if me.state is S.FATAL_ERROR:
        return me
    name = type(about).__name__.removesuffix("Response")
    if isinstance(about, ProduceResponse):
        abortable = error not in FATAL_OF_PRODUCE
    else:
        abortable = error in ABORTABLE.get(name, ())
    if me.state is S.ABORTING_TRANSACTION and abortable:
        if not isinstance(about, EndTxn):
            return me
        abortable = False
    return _to(me, S.ABORTABLE_ERROR if abortable else S.FATAL_ERROR).but(
        queue=(),
        batches=tuple(b for b in me.batches if b.broker >= 0),
        done=True,
        preparing=False,
        error=f"{name}: {error.name}",
    )


def _to(me: P, state: ProducerState) -> P:
    """Go to another state; the table says which ones there are from here.

    A bound producer has no life cycle of its own: its session has.
    """
    assert me.session or state in TRANSITIONS[me.state], (me.state, state)
    return me.but(state=state)


def _without_unsent(me: Producer) -> Producer:
    return me.but(batches=tuple(b for b in me.batches if b.broker >= 0))
