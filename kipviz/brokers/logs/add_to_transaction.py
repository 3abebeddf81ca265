"""Whoever is about to write for a transaction first adds the partition to the transaction it writes to.

Partition leader, group coordinator and share coordinator do it alike: keep the request, ask the transaction
coordinator, continue with the answer, unless a marker of that producer came by in between, because then the yes belongs
to a transaction that is over (VerificationGuard, KIP-890). Whoever asks after that marker asks again, and is told apart
from who asked before it. A question goes out by itself, or with whatever else this broker asks (`asks_together`). Under
transaction version 2 the question adds the partition to the transaction; a client of version 0 or 1 has added it
before, and the question only asks whether that is so (KIP-890 part 1).
Source: AddPartitionsToTxnManager, UnifiedLog.maybeStartTransactionVerification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kipviz.brokers.checks import Check, Checks, error_of, in_order, translated
from kipviz.brokers.context import (
    NOBODY,
    NOT_ASKED,
    Context,
    Effects,
    LocalCall,
    ReplyTo,
    Request,
    with_effects,
)
from kipviz.brokers.local_calls import AddOrVerify
from kipviz.brokers.logs import partition_log as logs
from kipviz.brokers.logs.partition_log import PartitionLog
from kipviz.core.values import Value
from kipviz.messages.errors import Errors
from kipviz.messages.groups import TxnOffsetCommit
from kipviz.messages.message import Message
from kipviz.messages.producing import Produce
from kipviz.messages.transactions import AddPartitionsToTxn, AddPartitionsToTxnResponse

# What the answer to an addition to the transaction means to whoever asked a coordinator to write.
COORDINATOR_ERROR = {
    Errors.PRODUCER_FENCED: Errors.INVALID_PRODUCER_EPOCH,
    Errors.NETWORK_EXCEPTION: Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
}

# The first version of a request whose sender leaves it to the broker to add the partition to the transaction.
ENLISTS_FROM: dict[type[Message], int] = {Produce: 12, TxnOffsetCommit: 5}


# The client of a broker that asks transaction coordinators.
CHANNEL = "add-partitions"
# The number of a question that KafkaApis asks: its answer comes by the request that waits.
TOGETHER = -1


class Enlisting(Value, frozen=True):
    """A request that waits until the coordinator has enlisted the partitions.

    `guarded` is false once a marker of the producer passed by in the meantime: then the coordinator's yes came for a
    transaction that is over. `asking` restarts with the answer: it is higher than that of an equal question that is
    still out from before such a marker, and TOGETHER where KafkaApis asks for several batches at once. `settled` says
    that nobody waits any more, while the answer is still to come.
    """

    request: Message
    reply_to: ReplyTo
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]
    guarded: bool = True
    asking: int = 0
    settled: bool = False

    @property
    def question(self) -> tuple[int, int, tuple[str, ...]]:
        """What the coordinator is asked about."""
        return (self.producer_id, self.producer_epoch, self.partitions)


def enlists(request: Message) -> bool:
    """Return whether the broker adds the partition to the transaction for this request; else the client has done so."""
    return request.spoken >= ENLISTS_FROM.get(type(request), 0)


def is_asked(request: Message, on: Context) -> bool:
    """Return whether the coordinator is asked before the first batch of a transaction is appended.

    A broker may be told not to (transaction.partition.verification.enable), but only where it would merely verify; a
    release from before KIP-890 does not know how to. Source:
    ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
    """
    verifies = on.settings.partition_verification and on.image.release_of(on.broker).verifies
    return enlists(request) or verifies


def looks_at_the_epoch_first(on: Context) -> bool:
    """Return whether this broker's release compares a producer's epoch before it asks, or was asked.

    One from before KAFKA-19690 finds out from the coordinator, or when it appends, and there only after it has looked
    for the verification. Source: UnifiedLog.maybeStartTransactionVerification, analyzeAndValidateProducerState.
    """
    return on.image.release_of(on.broker).epoch_first


@in_order
def fence_checks(
    request: Produce | TxnOffsetCommit, log: PartitionLog, on: Context
) -> Iterator[Check]:
    """Compare a transaction's epoch with the log's, where that is done before anybody is asked."""
    if request.transactional_id and looks_at_the_epoch_first(on):
        yield logs.epoch_check(log, request.producer_id, request.producer_epoch, on.rules)


def is_new(request: Produce | TxnOffsetCommit, log: PartitionLog, on: Context) -> bool:
    """Return whether the coordinator has to be asked about a log: the transaction begins there."""
    if not request.transactional_id or not is_asked(request, on):
        return False
    return not logs.has_ongoing_transaction(log, request.producer_id, request.producer_epoch)


def is_left_to_the_client(transactional_id: str, on: Context) -> bool:
    """Return whether nobody is asked to add the participant to the transaction of a transactional acknowledgement.
    OPEN: addition to the transaction.
    """
    return on.rules.enlistment(on.broker, coordinator_of(transactional_id, on)) == NOT_ASKED


def coordinator_of(transactional_id: str, on: Context) -> int:
    """Return the broker that coordinates a transactional id, or -1."""
    return on.image.leader_of(on.image.home_of_transactions(transactional_id))


def question(
    transactional_id: str, waiting: Enlisting, role: str, shard: str, broker: int
) -> Request | None:
    """Return the request that enlists or verifies partitions; nothing when there is nobody to ask."""
    if broker == NOBODY:
        return None
    message = AddPartitionsToTxn(
        transactional_id,
        waiting.producer_id,
        waiting.producer_epoch,
        waiting.partitions,
        verify_only=not enlists(waiting.request),
    )
    tag = str(waiting.asking) if waiting.asking else ""
    return Request(CHANNEL, broker, message, role, shard, tag)


def ask(done: Effects, asked: Request, on: Context) -> Effects:
    """Send a question, or hand it to who gathers what this broker asks (`add_partitions_manager`)."""
    if not on.settings.asks_together:
        return done.but(requests=(*done.requests, asked))
    return done.but(local=(*done.local, LocalCall("kafka_apis", "", AddOrVerify(asked))))


def told_apart(waiting: tuple[Enlisting, ...], new: Enlisting, on: Context) -> Enlisting:
    """Return a request that is about to ask a number that no answer from before a marker has.

    Where questions are gathered one of two equal ones may be refused alone, so each has a number of its own.
    Source: VerificationGuard, which is unique; AddPartitionsToTxnManager, one callback a request.
    """
    each = on.settings.asks_together
    alike = (w for w in waiting if w.question == new.question and (each or not w.guarded))
    return new.but(asking=1 + max((w.asking for w in alike), default=-1))


def joined(waiting: tuple[Enlisting, ...], new: Enlisting) -> tuple[Enlisting, ...]:
    """Let a request wait; nobody waits any more for an equal one from the same client.

    A client repeats a request only after its connection broke. The answer to the first one is still
    to come.
    """
    same = (new.request, new.reply_to.source)
    before = (w.but(settled=True) if (w.request, w.reply_to.source) == same else w for w in waiting)
    return (*before, new)


def answered(
    waiting: tuple[Enlisting, ...], answer: AddPartitionsToTxnResponse, tag: str
) -> tuple[tuple[Enlisting, ...], tuple[Enlisting, ...]]:
    """Split what waits into what this answer is for and the rest.

    All that asked the same with no marker in between continue with the first answer; the others' are still to come, and
    then nobody waits for them.
    """
    asked = (answer.producer_id, answer.producer_epoch, answer.partitions)
    asking = int(tag or 0)
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


def each_goes_on(
    me: Any,
    mine: tuple[Enlisting, ...],
    error: Errors,
    on: Context,
    go_on: Callable[[Any, Enlisting, Errors, Context], Effects],
) -> Effects:
    """Let all that waited for an answer continue, one behind the other, each with what the others have done."""
    parts: list[Effects] = []
    for waiting in mine:
        part = go_on(me, waiting, error, on.after(*parts))
        me = part.state
        parts.append(part)
    return with_effects(me, *parts)


def answer_checks(waiting: Enlisting, error: Errors) -> Checks:
    """Return the check by which a request that waited continues, or not: what the coordinator has answered.

    A yes does not count any more if a marker of the producer has been written since the question.
    """
    guard = (Check("marker since the question", None, not waiting.guarded),)
    told = (Check("answer of the coordinator", waiting.partitions, error, error),)
    return told if error is not Errors.NONE else (*told, *guard)


def meaning_checks(checks: Checks) -> Checks:
    """Add the check by which the coordinator's error becomes the one that a client of a coordinator gets."""
    error = error_of(checks)
    return translated(checks, "error to a client", None, COORDINATOR_ERROR.get(error, error))


def nobody_to_ask() -> Checks:
    """Return the check by which a request is refused whose transaction nobody coordinates."""
    return (Check("transaction coordinator", None, NOBODY, Errors.COORDINATOR_NOT_AVAILABLE),)


def still_waiting(waiting: tuple[Enlisting, ...]) -> tuple[Enlisting, ...]:
    """Return those for whose answer somebody waits."""
    return tuple(w for w in waiting if not w.settled)


def unguarded(
    waiting: tuple[Enlisting, ...], producer_id: int, marker_epoch: int
) -> tuple[Enlisting, ...]:
    """Take the guard from what waits for a transaction that a marker has just ended.

    Under transaction version 2 a marker with the very epoch that waits ended the transaction before
    it; below, it is the one that ends this transaction. Source:
    ProducerStateManager.clearVerificationStateEntry.
    """
    return tuple(
        w.but(guarded=False)
        if w.producer_id == producer_id
        and not (w.producer_epoch == marker_epoch and enlists(w.request))
        else w
        for w in waiting
    )
