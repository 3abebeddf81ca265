"""Before a write in a transaction: add the partition to it, or verify that it was added.

Partition leader, group coordinator and share coordinator all do the same. They keep the request, ask the transaction
coordinator, and continue with its answer, unless a marker of that producer arrived in between: then the answer belongs
to a transaction that has ended (VerificationGuard, KIP-890). A request after that marker asks again, and its question
differs from the earlier one. A question is sent alone, or together with other questions of this broker
(`asks_together`). Under transaction version 2 the question adds the partition to the transaction. A client of version 0
or 1 has added it before, and the question only verifies that (KIP-890 part 1).
Source: AddPartitionsToTxnManager, UnifiedLog.maybeStartTransactionVerification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

from kipviz.brokers.checks import Check, Checks, add_translation, error_of, in_order
from kipviz.brokers.context import (
    NOBODY,
    NOT_ASKED,
    Channel,
    Context,
    Effects,
    LocalCall,
    ReplyTo,
    Request,
    TransactionQuestion,
    with_effects,
)
from kipviz.brokers.local_calls import AddOrVerify, Enlisted
from kipviz.brokers.logs import partition_log as logs
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.core.values import Value
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import api_of
from kipviz.messages.errors import Errors
from kipviz.messages.groups.groups import TxnOffsetCommit
from kipviz.messages.logs.producing import Produce
from kipviz.messages.message import Message
from kipviz.messages.shares.share_groups import TxnShareAcknowledge
from kipviz.messages.shares.share_state import TxnWriteShareGroupState
from kipviz.messages.transactions.transactions import (
    AddPartitionsToTxn,
    TxnPartitions,
)

# The state of the role that is served.
S = TypeVar("S")

# The error for the client of a coordinator, by the transaction coordinator's error.
COORDINATOR_ERROR = {
    Errors.PRODUCER_FENCED: Errors.INVALID_PRODUCER_EPOCH,
    Errors.NETWORK_EXCEPTION: Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
}

# The client of a broker that asks transaction coordinators.
# The number of a question that KafkaApis asks: its answer is found by the request that waits.
TOGETHER = -1


# The requests of a transaction that wait until their partition is in it.
InTransaction: TypeAlias = Produce | TxnOffsetCommit | TxnShareAcknowledge | TxnWriteShareGroupState


class Enlisting(Value, frozen=True):
    """A request that waits until the coordinator has added the partitions to the transaction.

    `guarded` becomes false when a marker of the producer is written in the meantime: then the coordinator's answer is
    for a transaction that has ended. `asking` comes back with the answer. It is higher than that of an equal question
    from before such a marker, and TOGETHER if KafkaApis asks for several batches at once. `settled` means that no
    client waits any longer, while the answer is still to come.
    """

    request: InTransaction
    reply_to: ReplyTo
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]
    guarded: bool = True
    asking: int = 0
    settled: bool = False

    @property
    def question(self) -> tuple[int, int, tuple[str, ...]]:
        """The question to the coordinator, as a key."""
        return (self.producer_id, self.producer_epoch, self.partitions)


def enlists(request: Message) -> bool:
    """Return whether the broker adds the partition to the transaction; otherwise the client has done so."""
    return request.spoken >= api_of(request).adds_partitions_from


def is_asked(request: Message, on: Context) -> bool:
    """Return whether the coordinator is asked before the first batch of a transaction is appended.

    A broker may be configured not to ask (transaction.partition.verification.enable), but only where it would merely
    verify; a release from before KIP-890 cannot ask. Source:
    ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
    """
    verifies = on.settings.partition_verification and on.image.release_of(on.broker).verifies
    return enlists(request) or verifies


def checks_epoch_first(on: Context) -> bool:
    """Return whether this broker's release compares a producer's epoch before the verification.

    A release from before KAFKA-19690 learns of a wrong epoch from the coordinator, or at the append, and there only
    after it has looked for the verification. Source: UnifiedLog.maybeStartTransactionVerification,
    analyzeAndValidateProducerState.
    """
    return on.image.release_of(on.broker).epoch_first


@in_order
def fence_checks(
    request: Produce | TxnOffsetCommit, producer: tuple[int, int], log: PartitionLog, on: Context
) -> Iterator[Check]:
    """Compare a producer's epoch with the log's, if the release does that before it asks the coordinator.

    `producer` is the producer id and epoch that the batch or the commit for this log names.
    """
    if request.transactional_id and checks_epoch_first(on):
        yield logs.epoch_check(log, *producer, on.rules)


def is_new(
    request: Produce | TxnOffsetCommit, producer: tuple[int, int], log: PartitionLog, on: Context
) -> bool:
    """Return whether the coordinator has to be asked about a log, because the producer's transaction starts there."""
    if not request.transactional_id or not is_asked(request, on):
        return False
    return not logs.has_ongoing_transaction(log, *producer)


def client_adds_participant(transactional_id: str, on: Context) -> bool:
    """Return whether the client, not the broker, adds the participant of a transactional acknowledgement.

    OPEN: enlistment.
    """
    return on.rules.enlistment(on.broker, coordinator_of(transactional_id, on)) == NOT_ASKED


def coordinator_of(transactional_id: str, on: Context) -> int:
    """Return the broker that coordinates a transactional id, or -1."""
    return on.image.leader_of(on.image.home_of_transactions(transactional_id))


def question(
    transactional_id: str, waiting: Enlisting, role: str, shard: str, broker: int
) -> Request | None:
    """Return the request that adds or verifies partitions, or None without a coordinator."""
    if broker == NOBODY:
        return None
    asked = TxnPartitions(
        transactional_id,
        waiting.producer_id,
        waiting.producer_epoch,
        waiting.partitions,
        verify_only=not enlists(waiting.request),
    )
    tag = str(waiting.asking) if waiting.asking else ""
    return Request(Channel.ADD_PARTITIONS, broker, AddPartitionsToTxn((asked,)), role, shard, tag)


def ask(done: Effects[S], asked: Request, on: Context) -> Effects[S]:
    """Send a question, or pass it to the manager that batches this broker's questions (`add_partitions_manager`)."""
    if not on.settings.asks_together:
        assert isinstance(asked.message, AddPartitionsToTxn)
        (only,) = asked.message.transactions
        alone = asked.but(tag=TransactionQuestion(only, str(asked.tag)))
        return done.but(requests=(*done.requests, alone))
    return done.but(local=(*done.local, LocalCall(Role.KAFKA_APIS, "", AddOrVerify(asked))))


def number_question(waiting: tuple[Enlisting, ...], new: Enlisting, on: Context) -> Enlisting:
    """Assign a question a number that no unanswered question from before a marker has.

    Where questions are batched, one of two equal ones may be rejected alone, so each has its own number. Source:
    VerificationGuard, which is unique; AddPartitionsToTxnManager, one callback per request.
    """
    each = on.settings.asks_together
    alike = (w for w in waiting if w.question == new.question and (each or not w.guarded))
    return new.but(asking=1 + max((w.asking for w in alike), default=-1))


def add_waiting(waiting: tuple[Enlisting, ...], new: Enlisting) -> tuple[Enlisting, ...]:
    """Add a waiting request; an equal one of the same client becomes settled.

    A client repeats a request only after its connection broke. The answer to the first one is still to come.
    """
    same = (new.request, new.reply_to.source)
    before = (w.but(settled=True) if (w.request, w.reply_to.source) == same else w for w in waiting)
    return (*before, new)


def split_waiting(
    waiting: tuple[Enlisting, ...], call: Enlisted
) -> tuple[tuple[Enlisting, ...], tuple[Enlisting, ...]]:
    """Split the waiting requests into those that an answer is for, and the rest.

    All requests with the same question and no marker in between continue with the first answer. The others' answers are
    still to come, and no request will wait for them.
    """
    asked = (call.asked.producer_id, call.asked.producer_epoch, call.asked.partitions)
    asking = int(call.number or 0)
    mine: list[Enlisting] = []
    rest: list[Enlisting] = []
    owed = 0
    for each in waiting:
        if each.question != asked or each.asking != asking:
            rest.append(each)
            continue
        if not each.settled:
            mine.append(each)
        if owed:
            rest.append(each.but(settled=True))
        owed += 1
    return tuple(mine), tuple(rest)


def continue_each(
    me: S,
    mine: tuple[Enlisting, ...],
    error: Errors,
    on: Context,
    go_on: Callable[[S, Enlisting, Errors, Context], Effects[S]],
) -> Effects[S]:
    """Continue every request that waited for an answer, in order, each with the effects of the previous ones."""
    parts: list[Effects[S]] = []
    for waiting in mine:
        part = go_on(me, waiting, error, on.after(*parts))
        me = part.state
        parts.append(part)
    return with_effects(me, *parts)


def answer_checks(waiting: Enlisting, error: Errors) -> Checks:
    """Return the check that decides whether a waiting request continues: the coordinator's answer.

    A positive answer no longer counts if a marker of the producer was written after the question.
    """
    guard = (Check("marker since the request", None, not waiting.guarded),)
    told = (Check("answer of the coordinator", waiting.partitions, error, error),)
    return told if error is not Errors.NONE else (*told, *guard)


def meaning_checks(checks: Checks) -> Checks:
    """Add the check that translates the coordinator's error into the error for its client."""
    error = error_of(checks)
    return add_translation(checks, "error to a client", None, COORDINATOR_ERROR.get(error, error))


def no_coordinator_checks() -> Checks:
    """Return the check that rejects a request whose transaction has no coordinator."""
    return (Check("transaction coordinator", None, NOBODY, Errors.COORDINATOR_NOT_AVAILABLE),)


def still_waiting(waiting: tuple[Enlisting, ...]) -> tuple[Enlisting, ...]:
    """Return the waiting requests whose clients still wait."""
    return tuple(w for w in waiting if not w.settled)


def remove_guards(
    waiting: tuple[Enlisting, ...], producer_id: int, marker_epoch: int
) -> tuple[Enlisting, ...]:
    """Remove the guard of requests that wait for a transaction that a marker has just ended.

    Under transaction version 2 a marker with the same epoch as the request ended the previous transaction; in lower
    versions it ends this transaction. Source: ProducerStateManager.clearVerificationStateEntry.
    """
    return tuple(
        w.but(guarded=False)
        if w.producer_id == producer_id
        and not (w.producer_epoch == marker_epoch and enlists(w.request))
        else w
        for w in waiting
    )
