"""The errors of clients: the error of a request, or an exception that a client throws by itself.

Each is a value. Code asks for its request and its error code, or for its class. The text of each is a language, as that
of the clients' timers is (`clients.timers`): states have it, so it is never reworded. What a reader sees is `WORDS`,
where an error has any. `clients.throwing.exceptions` says what an error is for the application.
WHERE IN KAFKA: the exceptions of KafkaProducer, KafkaConsumer, KafkaShareConsumer and KafkaAdminClient.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias

from msgspec.structs import astuple

from kipviz.clients.transactions.prepared_txn_state import PreparedTxnState
from kipviz.core.values import TextValue
from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.errors import Errors
from kipviz.messages.message import Message
from kipviz.settings.client_configs import (
    MAX_BLOCK_MS,
    TRANSACTION_TWO_PHASE_COMMIT_ENABLE,
    TRANSACTIONAL_ID,
)

REQUESTS: dict[str, type[Message]] = {api.name: api.request for api in APIS}


class RequestError(TextValue, frozen=True):
    """The error of a request, by the name of its class; `request_error` makes it."""

    TEXT: ClassVar[str] = "%s: %s"
    name: str
    error: Errors

    @property
    def request(self) -> type[Message]:
        """The class of the request."""
        return REQUESTS[self.name]

    @property
    def text(self) -> str:
        """The request's name and the error's, such as "EndTxn: PRODUCER_FENCED"."""
        return self.TEXT % (self.name, self.error.name)

    @property
    def words(self) -> str:
        """The words for it on the screen."""
        return (self.WORDS or self.TEXT) % (self.name, self.error.name)


class ExceptionClass(StrEnum):
    """The class of an exception that a client throws by itself."""

    COMMIT_FAILED = "CommitFailedException"
    CONCURRENT_MODIFICATION = "ConcurrentModificationException"
    CONFIG = "ConfigException"
    EXECUTION = "ExecutionException"
    ILLEGAL_ARGUMENT = "IllegalArgumentException"
    ILLEGAL_STATE = "IllegalStateException"
    INVALID_TXN_STATE = "InvalidTxnStateException"
    KAFKA = "KafkaException"
    NO_OFFSET_FOR_PARTITION = "NoOffsetForPartitionException"
    NULL_POINTER = "NullPointerException"
    OFFSET_OUT_OF_RANGE = "OffsetOutOfRangeException"
    REBALANCE_IN_PROGRESS = "RebalanceInProgressException"
    REJECTED_EXECUTION = "RejectedExecutionException"
    STALE_WRITER = "StaleWriterException"
    TIMEOUT = "TimeoutException"
    UNSUPPORTED_VERSION = "UnsupportedVersionException"


E = ExceptionClass


class OwnError(TextValue, frozen=True):
    """An exception that a client throws by itself: its class, and a message.

    `TEXT` and `WORDS` are those of the message; the class is before it.
    """

    EXCEPTION: ClassVar[ExceptionClass]

    @property
    def text(self) -> str:
        """The class and the message, such as "TimeoutException: commitTransaction() took longer than max.block.ms"."""
        return f"{self.EXCEPTION.value}: {self.TEXT % astuple(self)}"

    @property
    def words(self) -> str:
        """The words for it on the screen."""
        return f"{self.EXCEPTION.value}: {(self.WORDS or self.TEXT) % astuple(self)}"


ClientError: TypeAlias = RequestError | OwnError
"""An error of a client."""

Raised: TypeAlias = ClientError | Literal[""]
"""An error of a client, or "" if there is none."""


def request_error(request: type[Message], error: Errors) -> RequestError:
    """Return the error of a request."""
    return RequestError(request.__name__, error)


def exception_class(raised: TextValue | Literal[""]) -> ExceptionClass | None:
    """Return the class of an exception that a client threw by itself, None for the error of a request and for no error."""
    return raised.EXCEPTION if isinstance(raised, OwnError) else None


# -- producers and sessions -------------------------------------------------------------------


class TopicUnknown(OwnError, frozen=True):
    """A send() whose topic is still unknown after max.block.ms."""

    EXCEPTION = E.TIMEOUT
    TEXT: ClassVar[str] = f"Topic %s not present in metadata after {MAX_BLOCK_MS.name}"
    topic: str


class CallTimedOut(OwnError, frozen=True):
    """A call that takes longer than max.block.ms."""

    EXCEPTION = E.TIMEOUT
    TEXT: ClassVar[str] = f"%s() took longer than {MAX_BLOCK_MS.name}"
    call: str


class WrongTransition(OwnError, frozen=True):
    """A send() whose error would change the producer's state where that is not possible."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "Invalid transition attempted from state %s to state %s"
    state: str
    target: str


class StatePoisoned(OwnError, frozen=True):
    """Every call after the sender attempted an invalid state transition: the state is poisoned.

    Source: TransactionManager.transitionTo, shouldPoisonStateOnInvalidTransition, maybeFailWithError (KAFKA-14831).
    """

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "previous invalid state transition attempt"


class CallUnfinished(OwnError, frozen=True):
    """A call that follows one whose result is not collected."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "%s(), because %s() timed out and must be retried"
    call: str
    unfinished: str


class WrongState(OwnError, frozen=True):
    """A call that is illegal in the producer's state."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "%s() in state %s"
    call: str
    state: str


class WrongTxnState(OwnError, frozen=True):
    """A call of KIP-939 that is illegal in the producer's state, even in an error state."""

    EXCEPTION = E.INVALID_TXN_STATE
    TEXT: ClassVar[str] = WrongState.TEXT
    call: str
    state: str


class TwoPhaseDisabled(OwnError, frozen=True):
    """A prepareTransaction() of a producer without two-phase commit (KIP-939)."""

    EXCEPTION = E.INVALID_TXN_STATE
    TEXT: ClassVar[str] = f"{TRANSACTION_TWO_PHASE_COMMIT_ENABLE.name} is false"


class NotTransactional(OwnError, frozen=True):
    """A call about transactions on a producer without a transactional id."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "%s() on a non-transactional producer"
    call: str


class NoSession(OwnError, frozen=True):
    """A call on the session of a producer that has none (KIP-1310, draft)."""

    EXCEPTION = E.NULL_POINTER
    TEXT: ClassVar[str] = "%s is null: it is a non-transactional producer"
    session: str


class ShareVersionTooLow(OwnError, frozen=True):
    """A staging before a connection has reported the level of share.version that it needs (KIP-1289, draft)."""

    EXCEPTION = E.UNSUPPORTED_VERSION
    TEXT: ClassVar[str] = "no connection has reported share.version %s"
    level: int


class SessionClosed(OwnError, frozen=True):
    """A call of a session that is closed (KIP-1310, draft)."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "%s() of a session that is closed"
    call: str


class CallOfTheSession(OwnError, frozen=True):
    """A call on a bound producer that only its session has (KIP-1310, draft)."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "%s() is for the session that this producer is bound to"
    call: str


class SecondProducer(OwnError, frozen=True):
    """A send() of a producer that a session does not allow beside its first one (KIP-1310, draft)."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "this session has a producer already"


class SessionOnlyEnds(OwnError, frozen=True):
    """A send() in a session that was resumed (KIP-1310, draft)."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "a resumed session can only end its transaction"


class NothingToResume(OwnError, frozen=True):
    """A resume() without an identity (KIP-1310, draft)."""

    EXCEPTION = E.ILLEGAL_ARGUMENT
    TEXT: ClassVar[str] = "resume() needs a producer id and an epoch from 0, not -1 and -1"


class TwoIdentities(OwnError, frozen=True):
    """A producer that has a transactional id of its own beside that of its session (KIP-1310, draft)."""

    EXCEPTION = E.CONFIG
    TEXT: ClassVar[str] = (
        f"{TRANSACTIONAL_ID.name} is %s, and the session's is %s: a producer has one of them"
    )
    own: str
    of_session: str


class SessionInUse(OwnError, frozen=True):
    """A call beside a call of another thread on the same session (KIP-1310, draft)."""

    EXCEPTION = E.CONCURRENT_MODIFICATION
    TEXT: ClassVar[str] = "another thread is in %s()"
    call: str


# -- consumers --------------------------------------------------------------------------------


class ConsumerInUse(OwnError, frozen=True):
    """A call beside a call of another thread on the same consumer, which is not thread-safe."""

    EXCEPTION = E.CONCURRENT_MODIFICATION
    TEXT: ClassVar[str] = "%s is not safe for multi-threaded access"
    consumer: str


class NoOffset(OwnError, frozen=True):
    """A poll() without a committed offset of some partitions, with auto.offset.reset=none."""

    EXCEPTION = E.NO_OFFSET_FOR_PARTITION
    TEXT: ClassVar[str] = "%s"
    partitions: str


class NoSuchPartition(OwnError, frozen=True):
    """A poll() of a classic consumer that asks for the committed offset of a partition that does not exist."""

    EXCEPTION = E.KAFKA
    TEXT: ClassVar[str] = "Topic or Partition %s does not exist"
    partition: str


class OffsetOutOfRange(OwnError, frozen=True):
    """A poll() whose position the log does not have, with auto.offset.reset=none."""

    EXCEPTION = E.OFFSET_OUT_OF_RANGE
    TEXT: ClassVar[str] = "%s@%s"
    partition: str
    offset: int


class NotInGroup(OwnError, frozen=True):
    """A commitSync() of a consumer that is out of its group."""

    EXCEPTION = E.COMMIT_FAILED
    TEXT: ClassVar[str] = "the consumer is UNJOINED"


class BetweenGenerations(OwnError, frozen=True):
    """A commitSync() while the consumer joins its group."""

    EXCEPTION = E.REBALANCE_IN_PROGRESS
    TEXT: ClassVar[str] = "the consumer is %s"
    state: str


class ConsumerClosed(OwnError, frozen=True):
    """A call of a share consumer that is closed."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "this consumer has already been closed"


class ImplicitMode(OwnError, frozen=True):
    """A call of a share consumer that needs share.acknowledgement.mode=explicit."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "implicit acknowledgement of delivery is being used"


class NotDelivered(OwnError, frozen=True):
    """An acknowledge() of a record that is not in the batch of the last poll()."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "the record cannot be acknowledged"


class NotAllAcknowledged(OwnError, frozen=True):
    """A poll() in explicit mode before every record is acknowledged."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "all records must be acknowledged in explicit mode"


class NotAllStaged(OwnError, frozen=True):
    """A poll() in a transaction before every record is staged (KIP-1289, draft)."""

    EXCEPTION = E.ILLEGAL_STATE
    TEXT: ClassVar[str] = "all records must be staged before the next poll() in a transaction"


class NoStagingLevel(OwnError, frozen=True):
    """A shareGroupMetadata() in a cluster that does not have KIP-1289 (draft), as far as the consumer knows."""

    EXCEPTION = E.UNSUPPORTED_VERSION
    TEXT: ClassVar[str] = "no connection has reported a level with KIP-1289"


class NoMemberEpoch(OwnError, frozen=True):
    """A shareGroupMetadata() of a consumer that is no member (KIP-1289, draft)."""

    EXCEPTION = E.TIMEOUT
    TEXT: ClassVar[str] = "the consumer has not joined its group, so it has no member epoch"


# -- operators, threads and databases ---------------------------------------------------------


class ProducersUnknown(OwnError, frozen=True):
    """An abortTransaction() about a partition whose producers were not described."""

    EXCEPTION = E.ILLEGAL_ARGUMENT
    TEXT: ClassVar[str] = "describeProducers(%s) comes first"
    partition: str


class NothingToAbort(OwnError, frozen=True):
    """An abortTransaction() about a partition without an open transaction."""

    EXCEPTION = E.KAFKA
    TEXT: ClassVar[str] = "no transaction to abort is known in %s"
    partition: str


class WorkerBusy(OwnError, frozen=True):
    """A submit() to a thread that is at work."""

    EXCEPTION = E.REJECTED_EXECUTION
    TEXT: ClassVar[str] = "%s is at work"
    worker: str


class WorkerFailed(OwnError, frozen=True):
    """A future.get() of a thread that has ended with an exception."""

    EXCEPTION = E.EXECUTION
    TEXT: ClassVar[str] = "%s"
    ended: str


class StaleWriter(OwnError, frozen=True):
    """A commit to a database whose place another writer has claimed."""

    EXCEPTION = E.STALE_WRITER
    TEXT: ClassVar[str] = "%s is written by %s now, not by %s"
    place: str
    newest: PreparedTxnState
    mine: PreparedTxnState
